"""Message properties of a group's messages: what Python values are put as, what is refused before anything is put, and what a
consumer gets of them.

What is on the queue is asked of MQINQMP, by ``fix_properties``. An application's own MQRFH2 comes as a program gets it that asks
for properties in a message handle (topic "PROPCTL queue options", q008230). MQTYPE_* and ranges: IBM MQ, topic "MQSETMP"
(q101910); names: topics "Property names" (q022940) and "Property name restrictions" (q022950).
"""

from __future__ import annotations

import enum
import re
from typing import Any

import pytest

from embedded_tests.fix_mqi import OK
from embedded_tests.fix_properties import MessageHandle, get, rfh2
from mqembedded import constants as mq
from mqgroups import errors
from mqgroups.mqi import property_folders

LONG = 2**31
CONVERTED = mq.MQIMPO_INQ_FIRST | mq.MQIMPO_CONVERT_VALUE


class Colour(enum.IntEnum):
    GREEN = 3


def on_queue(owner, name="p"):
    """Get a message: return the value of its property, and its length."""
    handle, received = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED), MessageHandle(owner.eye)
    assert get(handle, received, mq.MQGMO_PROPERTIES_IN_HANDLE).code == OK
    handle.close()
    inquiry = received.inquire(name)
    assert inquiry.code == OK
    return inquiry.value, inquiry.length


def type_on_queue(owner):
    """Get a message: return what its MQRFH2 says of the type of its property ("NameValueData", q099320)."""
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    answer = get(handle, options=mq.MQGMO_PROPERTIES_FORCE_MQRFH2)
    assert answer.code == OK
    handle.close()
    (attributes,) = re.findall(rb"<p(?: ([^>]*))?>", answer.data)
    return attributes.decode()


VALUES_ON_THE_QUEUE: list[tuple[Any, int, str]] = [
    (0, 4, "dt='i4'"),
    (-LONG, 4, "dt='i4'"),
    (LONG - 1, 4, "dt='i4'"),
    (LONG, 8, "dt='i8'"),
    (-LONG - 1, 8, "dt='i8'"),
    (2**40 + 5, 8, "dt='i8'"),
    (2**63 - 1, 8, "dt='i8'"),
    (-(2**63), 8, "dt='i8'"),
    (Colour.GREEN, 4, "dt='i4'"),
    (True, 4, "dt='boolean'"),
    (False, 4, "dt='boolean'"),
    (1.5, 8, "dt='r8'"),
    (-0.1, 8, "dt='r8'"),
    (5e-324, 8, "dt='r8'"),
    (1.7976931348623157e308, 8, "dt='r8'"),
    (b"", 0, "dt='bin.hex'"),
    (b"\0\xff", 2, "dt='bin.hex'"),
    ("", 0, ""),
    ("Grüße & <more>", 16, ""),
    (" blanks ", 8, ""),
    (None, 0, "xsi:nil='true'"),
]


def test_a_value_is_put_as_the_type_that_holds_it(owner):
    with owner.producer() as producer, producer.group() as group:
        for value, _, _ in VALUES_ON_THE_QUEUE:
            group.put(b"data", properties={"p": value})
            group.put(b"data", properties={"p": value})
    for value, length, attributes in VALUES_ON_THE_QUEUE:
        assert (*on_queue(owner), type_on_queue(owner)) == (value, length, attributes), value


def test_bytes_like_values_are_copied(owner):
    value = bytearray(b"first")
    with owner.producer() as producer, producer.group() as group:
        group.put(b"data", properties={"p": value})
        value[:] = b"other"
    assert on_queue(owner) == (b"first", 5)


def test_values_of_one_name_have_a_type_each(owner):
    values = [1, "1", True, 2**40, 1.0, b"1", None, 1]
    with owner.producer() as producer, producer.group() as group:
        for value in values:
            group.put(b"data", properties={"p": value})
    types = ["i4", None, "boolean", "i8", "r8", "bin.hex", None, "i4"]
    expected = [f"dt='{one}'" if one else "" for one in types]
    expected[6] = "xsi:nil='true'"
    assert [type_on_queue(owner) for _ in values] == expected


NAMES = [
    "colour",
    "_x",
    "$x",
    "größe",
    "shop.basket.id",
    "usr.colour",
    "mq_usr.a.b",
    "mqfoo",
    "JMSCorrelationID",
    "a" * 4095,
]


def test_names_that_properties_can_have(owner):
    with owner.producer() as producer, producer.group() as group:
        for name in NAMES:
            group.put(b"data", properties={name: "value"})
    assert [on_queue(owner, name)[0] for name in NAMES] == ["value"] * len(NAMES)


REFUSED: list[tuple[Any, str]] = [
    ({"p": 2**63}, r"property 'p' is an int of 64 bits; it must be between -2\*\*63 and 2\*\*63-1"),
    ({"p": -(2**63) - 1}, r"property 'p' is an int of 64 bits"),
    ({"p": float("nan")}, "property 'p' is a float that is not finite"),
    ({"p": float("-inf")}, "property 'p' is a float that is not finite"),
    ({"p": "a\0b"}, r"property 'p' is a str that contains U\+0000"),
    ({"p": "\ud800"}, "property 'p' is a str with half of a surrogate pair"),
    ({"p": [1]}, "property 'p' is list; it must be str, int, bool, float, bytes or None"),
    ({"p": {"a": 1}}, "property 'p' is dict"),
    ({"p": 1j}, "property 'p' is complex"),
    ({1: "x"}, "a property's name must be a str, got int"),
    ({"": "x"}, "the name '': it is empty"),
    ({"a b": "x"}, "the name 'a b': its parts"),
    ({"1a": "x"}, "the name '1a': its parts"),
    ({"a..b": "x"}, "the name 'a..b': its parts"),
    ({"a\nb": "x"}, r"the name 'a\\nb': its parts"),
    ({"a%": "x"}, "the name 'a%': its parts"),
    ({"\ud800": "x"}, r"the name '\\ud800': its parts"),
    ({"\U00010400": "x"}, "the name '\U00010400': its parts"),
    ({"Null": "x"}, "the name 'Null': it is a keyword of message selectors"),
    ({"usr.between": "x"}, "a keyword of message selectors"),
    ({"JMSTimestamp": 1}, "begin with JMS are reserved"),
    ({"usr.JMSType": "x"}, "begin with JMS are reserved"),
    ({"Body.x": "x"}, "begin with Body or Root are reserved"),
    ({"Root.MQMD.GroupId": b"x"}, "begin with Body or Root are reserved"),
    ({"JMSType": 1}, "property 'JMSType' is int; JMS defines it as str"),
    ({"JMSXGroupSeq": 2**31}, "property 'JMSXGroupSeq' is int; JMS defines it as an int of 32 bits"),
    ({"mqx.a.b": 1}, "only one dot"),
    ({"usr.a.b": 1}, "only one dot"),
    ({"a" * 4096: 1}, "longer than 4095 bytes"),
    ({"ä" * 2048: 1}, "longer than 4095 bytes"),
    (["p"], "properties must be a mapping of names to values, got list"),
]


def test_what_no_property_can_be_is_refused_and_the_group_goes_on(owner):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"0")
        for properties, sentence in REFUSED:
            with pytest.raises(errors.MessageRefused, match=sentence) as caught:
                group.put(b"1", properties=properties)
            assert len(str(caught.value)) < 400
        group.put(b"2")
    assert owner.data() == [b"0", b"2"]


# --- what a consumer gets

PROPCTL = pytest.mark.parametrize("control", ["COMPAT", "NONE", "ALL", "FORCE", "V6COMPAT"])
VALUES = {
    "text": "Grüße & <more>",
    "n": -7,
    "long": 2**40 + 5,
    "yes": True,
    "no": False,
    "tenth": 0.1,
    "raw": b"\0\xff",
    "nothing": None,
    "shop.basket.id": "of a folder of its own",
}


def messages(owner, **more):
    """Get one group."""
    with owner.consumer(**more) as consumer:
        return list(next(iter(consumer)))


@PROPCTL
def test_data_and_properties_come_apart_whatever_the_queue_s_propctl(make_owner, control):
    owner = make_owner(model=f"TEST.PROPCTL.{control}.MODEL")
    with owner.producer() as producer, producer.group() as group:
        group.put("grün", properties=VALUES)
        group.put(b"\0\1", format="BINARY", properties={"shop.a": 1})
        group.put(b"plain")
        group.put(b"", properties={"last": True})
    first, second, third, last = messages(owner)
    assert (first.data, first.text, first.format, first.ccsid) == ("grün".encode(), "grün", "MQSTR", 1208)
    given = owner.own(first.properties)
    assert given == VALUES
    assert {name: type(value) for name, value in given.items()} == {n: type(v) for n, v in VALUES.items()}
    assert (second.data, second.format, second.encoding) == (b"\0\1", "BINARY", mq.MQENC_NATIVE)
    assert (third.data, owner.own(third.properties), last.data) == (b"plain", {}, b"")
    assert (owner.own(second.properties), owner.own(last.properties)) == ({"shop.a": 1}, {"last": True})


@pytest.mark.usefixtures("no_api_exit")
def test_of_all_but_the_first_message_no_property_is_read_that_nobody_asks_for(owner, monkeypatch):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"first")
        group.put(b"data", properties={"n": 7})

    def read(folder):
        raise AssertionError(folder)

    with monkeypatch.context() as patched:
        patched.setattr(property_folders, "elements", read)
        _, message = messages(owner)
        assert message.data == b"data"
        with pytest.raises(AssertionError):
            _ = message.properties
    assert message.properties is message.properties
    assert message.properties == {"n": 7}


OWN = "<shop><a>1</a></shop>"


HEADERS: list[tuple[tuple[str, ...], tuple[str, ...] | None, dict[str, Any]]] = [
    ((OWN,), (OWN,), {}),
    (("<usr><a dt='i4'>1</a></usr>",), None, {"a": 1}),
    (("<mcd><Msd>jms_text</Msd></mcd>", OWN), (OWN,), {"mcd.Msd": "jms_text"}),
]


@PROPCTL
def test_an_own_header_keeps_the_folders_that_are_no_properties(make_owner, control):
    owner = make_owner(model=f"TEST.PROPCTL.{control}.MODEL")
    for folders, stays, found in HEADERS:
        payload = rfh2(*folders, encoding=273, ccsid=819) + b"data"
        for properties in ({}, {"colour": "green"}):
            with owner.producer() as producer, producer.group() as group:
                group.put(payload, format="MQHRF2", properties=properties or None)
            (message,) = messages(owner)
            assert owner.own(message.properties) == found | properties
            if stays is None:
                described = (message.data, message.format, message.ccsid, message.encoding)
                assert described == (b"data", "MQSTR", 819, 273)
            else:
                kept = rfh2(*stays, encoding=273, ccsid=819) + b"data"
                assert (message.data, message.format) == (kept, "MQHRF2")


def test_a_header_that_cannot_be_read_is_left_in_the_data(owner):
    payloads = [b"RFH " + bytes(40), b"no header at all", rfh2()[:20], b""]
    # MQPUT does not look into the data of segments, as they may begin anywhere.
    for payload in filter(None, payloads):
        flags = mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT
        owner.put_raw(payload, MsgFlags=flags, Format=mq.MQFMT_RF_HEADER_2)
        (message,) = messages(owner)
        assert (message.data, message.format, owner.own(message.properties)) == (payload, "MQHRF2", {})


@pytest.mark.parametrize("stream", [False, True])
def test_messages_in_segments_have_their_properties_and_clean_data(owner, stream):
    payloads = [b"x" * 250, b"y" * 250, b"short"]
    with owner.producer(commit_every=2, segment_bytes=100) as producer, producer.group() as group:
        group.put(payloads[0], properties={"n": 1})
        group.put(iter([payloads[1]]), last=False, properties={"n": 2})
        group.put(payloads[2], properties={"n": 3})
    found = []
    with owner.consumer(commit_every=2, stream=stream) as consumer:
        for message in next(iter(consumer)):
            found.append((message.properties["n"], b"".join(message.chunks())))
    assert found == list(enumerate(payloads, 1))


def test_a_message_that_is_resumed_in_the_middle_has_its_properties(owner):
    with owner.producer(segment_bytes=100) as producer, producer.group() as group:
        group.put(b"x" * 450, properties={"n": 1})
    qmgr = owner.connect()
    (message, *_) = [next(iter(next(iter(owner.consumer(qmgr, commit_every=1, stream=True)))))]
    chunks = message.chunks()
    assert [next(chunks) for _ in range(3)] == [b"x" * 100] * 3
    qmgr.close()
    (message,) = [next(iter(next(iter(owner.consumer(commit_every=1, stream=True)))))]
    assert (message.offset, owner.own(message.properties), b"".join(message.chunks())) == (200, {"n": 1}, b"x" * 250)


@pytest.mark.usefixtures("no_api_exit")
def test_a_stream_with_a_header_of_its_putter_s_own_is_got_whole(owner):
    header = rfh2("<usr><a>1</a></usr>")
    with owner.producer(segment_bytes=100) as producer, producer.group() as group:
        group.put(iter([header + b"x" * 250]), last=True, format="MQHRF2")
    with owner.consumer(stream=True) as consumer:
        (found,) = [(owner.own(message.properties), b"".join(message.chunks())) for message in next(iter(consumer))]
    assert found == ({"a": "1"}, b"x" * 250)


def test_what_goes_to_the_backout_queue_goes_with_its_properties(make_owner):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    with owner.producer() as producer, producer.group() as group:
        group.put("fails", properties=VALUES)
        group.put(b"good")
    owner.get_poison(data=b"fails", every=2)
    handle, received = owner.eye.open("TEST.BACKOUT", mq.MQOO_INPUT_SHARED), MessageHandle(owner.eye)
    answer = get(handle, received, mq.MQGMO_PROPERTIES_IN_HANDLE)
    assert (answer.code, answer.data, answer.md.Format) == (OK, b"fails", mq.MQFMT_STRING)
    assert {name: received.inquire(name, CONVERTED).value for name in VALUES} == VALUES
    handle.close()
    owner.empty("TEST.BACKOUT")


def test_a_pipe_gets_clean_data_and_properties(owner, make_queue):
    target = make_queue()
    with owner.producer() as producer, producer.group() as group:
        for number in range(3):
            group.put(f"row {number}", properties={"n": number})
    with owner.qmgr.group_pipe(owner.queue, target, name=owner.name, wait_s=0) as pipe:
        for incoming, outgoing in pipe:
            for message in incoming:
                outgoing.put(f"{message.text}: {message.properties['n']}")
    assert [found.data for found in owner.on_queue(target)] == [b"row 0: 0", b"row 1: 1", b"row 2: 2"]

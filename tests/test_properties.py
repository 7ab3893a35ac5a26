"""Message properties of a group's messages: what Python values are put as, and what is refused before anything is put.

What is on the queue is asked of MQINQMP, by ``fix_properties``. MQTYPE_* and ranges: IBM MQ, topic "MQSETMP" (q101910); names:
topics "Property names" (q022940) and "Property name restrictions" (q022950).
"""

from __future__ import annotations

import enum
import re

import pytest

from mqgroups import errors
from mqgroups.mqi import constants as mq
from tests.fix_mqi import OK
from tests.fix_properties import MessageHandle, get

LONG = 2**31


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


@pytest.mark.parametrize(
    ("value", "length", "attributes"),
    [
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
    ],
    ids=repr,
)
def test_a_value_is_put_as_the_type_that_holds_it(owner, value, length, attributes):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"data", properties={"p": value})
        group.put(b"data", properties={"p": value})
    assert on_queue(owner) == (value, length)
    assert type_on_queue(owner) == attributes


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


@pytest.mark.parametrize(
    "name",
    [
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
    ],
    ids=lambda name: name[:20],
)
def test_names_that_properties_can_have(owner, name):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"data", properties={name: "value"})
    assert on_queue(owner, name)[0] == "value"


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ({"p": 2**63}, r"property 'p' is an int of 64 bits; a property has -2\*\*63 to 2\*\*63-1"),
        ({"p": -(2**63) - 1}, r"property 'p' is an int of 64 bits"),
        ({"p": float("nan")}, "property 'p' is a float that is not finite"),
        ({"p": float("-inf")}, "property 'p' is a float that is not finite"),
        ({"p": "a\0b"}, r"property 'p' is a str with U\+0000"),
        ({"p": "\ud800"}, "property 'p' is a str with half of a surrogate pair"),
        ({"p": [1]}, "property 'p' is list; a property is str, int, bool, float, bytes or None"),
        ({"p": {"a": 1}}, "property 'p' is dict"),
        ({"p": 1j}, "property 'p' is complex"),
        ({1: "x"}, "a property's name is a str, got int"),
        ({"": "x"}, "the name '': it is empty"),
        ({"a b": "x"}, "the name 'a b': its parts"),
        ({"1a": "x"}, "the name '1a': its parts"),
        ({"a..b": "x"}, "the name 'a..b': its parts"),
        ({"a\nb": "x"}, r"the name 'a\\nb': its parts"),
        ({"a%": "x"}, "the name 'a%': its parts"),
        ({"\ud800": "x"}, r"the name '\\ud800': its parts"),
        ({"\U00010400": "x"}, "the name '\U00010400': its parts"),
        ({"Null": "x"}, "the name 'Null': it is a word of message selectors"),
        ({"usr.between": "x"}, "a word of message selectors"),
        ({"JMSTimestamp": 1}, "begin with JMS are reserved"),
        ({"usr.JMSType": "x"}, "begin with JMS are reserved"),
        ({"Body.x": "x"}, "begin with Body or Root are reserved"),
        ({"Root.MQMD.GroupId": b"x"}, "begin with Body or Root are reserved"),
        ({"mqx.a.b": 1}, "one dot at the most"),
        ({"usr.a.b": 1}, "one dot at the most"),
        ({"a" * 4096: 1}, "longer than 4095 bytes"),
        ({"ä" * 2048: 1}, "longer than 4095 bytes"),
        (["p"], "properties are a mapping of names to values, got list"),
    ],
    ids=lambda value: str(value)[:30].encode("ascii", "replace").decode(),
)
def test_what_no_property_can_be_is_refused_and_the_group_goes_on(owner, properties, sentence):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"0")
        with pytest.raises(errors.MessageRefused, match=sentence) as caught:
            group.put(b"1", properties=properties)
        assert len(str(caught.value)) < 400
        group.put(b"2")
    assert owner.data() == [b"0", b"2"]

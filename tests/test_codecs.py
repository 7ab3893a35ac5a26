"""Codecs: values instead of bytes; and a message that cannot be decoded is poison, by the queue's rules."""

from __future__ import annotations

import json
import pickle
import struct
import tracemalloc
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.fix_mqi import OK
from mqembedded import Fault
from mqgroups import codecs, errors
from mqgroups.mqi import constants as mq
from tests.get.test_poison import empty

VALUES = [{"order": 815, "lines": [1, 2.5, None, True]}, "Grüße", [], 0, None]
BACKOUT = "TEST.BACKOUT"
GOOD = [b"1", b"[2]", b'"3"', b"4", b"null"]
SECRET = b"{secret"
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NUMBER = SimpleNamespace(decode=lambda data: struct.unpack(">i", data)[0])


def put_values(owner, values, **more):
    """Put a group of values as JSON."""
    owner.put_group([codecs.json.encode(value) for value in values], **more)


def values(owner, **more):
    """Get all groups of values."""
    with owner.consumer(**more) as consumer:
        return [[message.value for message in group] for group in consumer]


@pytest.fixture
def poisoned(make_owner):
    """An owner whose queue has BOTHRESH(2) and a backout queue, which is empty afterwards; a bad message is the third of six."""
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_raw_group([*GOOD[:2], SECRET, *GOOD[2:]])
    yield owner
    empty(owner, BACKOUT)


# --- the codecs


@given(json_values)
def test_a_json_value_comes_back(value):
    assert codecs.json.decode(codecs.json.encode(value)) == value


@pytest.mark.parametrize(
    ("value", "why"),
    [(float("nan"), "not JSON compliant"), ({"inner": object()}, "Object of type object is not JSON serializable")],
    ids=["nan", "object"],
)
def test_a_value_that_is_not_json_is_refused(value, why):
    with pytest.raises(errors.MessageRefused, match=why):
        codecs.json.encode(value)


def test_data_that_is_no_such_value_is_not_decoded_and_not_shown():
    for codec, data, why in (
        (codecs.json, b"{secret", "it is not JSON: Expecting property name enclosed in double quotes at position 1"),
        (codecs.json, b"NaN", "it is not JSON: NaN is not defined in JSON"),
        (codecs.json, b"[" * 100_000, "it is not JSON: .*recursion"),
        (codecs.json, b"\xff", "it is not JSON: the byte at position 0 is not UTF-8"),
        (codecs.text, b"ab\xff", "the byte at position 2 is not UTF-8"),
    ):
        with pytest.raises(errors.NotDecoded, match=why) as caught:
            codec.decode(data)
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        assert "secret" not in str(caught.value)


# --- through a queue


@pytest.mark.parametrize("every", [2, 100])
def test_values_are_put_as_text_and_got_as_they_were(owner, every):
    put_values(owner, VALUES, commit_every=every)
    found = owner.on_queue()
    assert [json.loads(one.data) for one in found] == VALUES
    assert {(one.md.Format, one.md.CodedCharSetId) for one in found} == {(b"MQSTR   ", 1208)}
    assert values(owner, codec=codecs.json, commit_every=every) == [VALUES]


def shaped(begin, inner, end, times):
    one = begin * times + inner + end * times
    return b"[" + b",".join([one] * (400_000 // len(one))) + b"]"


@pytest.mark.parametrize(
    "data",
    [
        shaped(b"[", b"", b"]", 1),
        shaped(b"[", b"", b"]", 900),
        shaped(b'{"":', b"[]", b"}", 1),
        shaped(b'{"":', b"{}", b"}", 200),
        shaped(b"[", b"1.5", b"]", 3),
        b'"' + b"a" * 400_000 + "\N{GRINNING FACE}".encode() + b'"',
    ],
    ids=["lists", "deep lists", "objects", "deep objects", "numbers", "text"],
)
def test_json_of_any_shape_takes_at_most_fifty_times_its_length(data):
    """The figure of SECURITY.md."""
    tracemalloc.start()
    codecs.json.decode(data)
    took = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert took < 50 * len(data)


def test_every_object_with_decode_is_a_codec(owner):
    owner.put_group([struct.pack(">i", number) for number in (1, -2)])
    assert values(owner, codec=NUMBER) == [[1, -2]]


def test_text_in_another_ccsid_is_decoded_by_it(owner):
    owner.put_raw('{"käse": 1}'.encode("cp500"), Format=mq.MQFMT_STRING, CodedCharSetId=500)
    assert values(owner, codec=codecs.json) == [[{"käse": 1}]]


def test_a_value_without_a_codec_is_an_error_of_the_program(owner):
    owner.put_group([b"1"])
    with owner.consumer() as consumer:
        for group in consumer:
            for message in group:
                with pytest.raises(errors.GroupUsage, match="the consumer has no codec"):
                    _ = message.value


def test_a_codec_decodes_no_streams(owner):
    with pytest.raises(errors.ConfigurationError, match="cannot be combined with stream=True"):
        owner.consumer(codec=codecs.json, stream=True)


def test_a_pipe_decodes(owner, make_queue):
    put_values(owner, [1, 2, 3, 4, 5])
    target = make_queue()
    with owner.pipe(target, codec=codecs.json) as pipe:
        for incoming, outgoing in pipe:
            for message in incoming:
                if message.value < 5:
                    outgoing.put(codecs.json.encode({"twice": message.value * 2}))
    # The last message, for which nothing was put, ends the group without data.
    assert values(owner, queue=target, codec=codecs.json) == [[{"twice": number} for number in (2, 4, 6, 8)] + [None]]


# --- what cannot be decoded


def run(owner, **more):
    """Get everything with a checkpoint; returns what was handled, also in runs that fail, and what was flushed."""
    handled: list[object] = []
    flushed: list[object] = []
    with owner.consumer(codec=codecs.json, **more) as consumer:

        @consumer.before_commit
        def flush(group):
            flushed[:] = handled

        try:
            for group in consumer:
                for message in group:
                    handled.append(message.value)
        except errors.MQGroupsError as error:
            return handled, flushed, error
    return handled, flushed, None


@pytest.mark.parametrize("every", [1, 2, 3, 100])
def test_a_message_that_does_not_decode_halts_its_consumer_which_commits_those_before_it(poisoned, every):
    before, flushed, error = run(poisoned, commit_every=every)
    assert (before, flushed) == ([1, [2]], [1, [2]])
    assert isinstance(error, errors.PoisonMessage)
    assert (error.msg_seq_number, error.backout_count) == (3, 0)
    assert error.reason == "it is not JSON: Expecting property name enclosed in double quotes at position 1"
    assert "secret" not in str(error)
    assert pickle.loads(pickle.dumps(error)).reason == error.reason
    # It stays, whatever its backout count has become, and the rest comes once it can be decoded.
    for _ in range(4):
        again, _, error = run(poisoned, commit_every=every)
        assert (again, error.reason.startswith("it is not JSON")) == ([], True)
    assert poisoned.data() == [SECRET, *GOOD[2:]]
    assert poisoned.get_groups() == [[SECRET, *GOOD[2:]]]


@pytest.mark.parametrize("every", [1, 2, 100])
def test_a_message_that_does_not_decode_is_moved_away_with_the_rest_of_its_group(poisoned, every):
    handled, flushed, error = run(poisoned, commit_every=every, poison="quarantine")
    assert (handled, flushed) == ([1, [2]], [1, [2]])
    assert isinstance(error, errors.GroupQuarantined)
    assert (error.msg_seq_number, error.reason[:14]) == (3, "it is not JSON")
    assert [found.data for found in poisoned.on_queue(BACKOUT)] == [SECRET, *GOOD[2:]]


def test_where_the_queue_has_no_bothresh_nothing_is_moved(owner):
    owner.put_raw_group([b"1", SECRET])
    handled, _, error = run(owner, poison="quarantine")
    assert (handled, type(error), error.threshold) == ([1], errors.PoisonMessage, 0)
    assert owner.data() == [SECRET]
    owner.get_groups()


def put_text(owner, ccsid):
    """Put a group of three texts; that of the second one is in this CCSID."""
    for number in (1, 2, 3):
        flags = mq.MQMF_LAST_MSG_IN_GROUP if number == 3 else mq.MQMF_MSG_IN_GROUP
        place = {"GroupId": b"G" * 24, "MsgSeqNumber": number, "MsgFlags": flags}
        text = {"Format": mq.MQFMT_STRING, "CodedCharSetId": ccsid if number == 2 else 1208}
        owner.put_raw(b"%d" % number, **text, **place)


def fails_at(message, uses):
    """Process a message as the application that uses its text, its value, or only its data, and fails at the second one."""
    if uses == "text":
        assert message.text
    if uses == "data":
        assert message.data != b"2"


@pytest.mark.parametrize("ccsid", [1208, 930, 9999])
@pytest.mark.parametrize("uses", ["value", "text", "data"])
def test_text_without_a_code_page_stops_no_consumer_for_ever(poisoned, uses, ccsid):
    """Its sender chose the CCSID. Whether there is a page for it here matters only to whoever asks for text."""
    owner = poisoned
    owner.empty()
    put_text(owner, ccsid)
    owner.put_raw_group([b"4"])
    seen: list[type[Exception]] = []
    for _ in range(8):
        with owner.consumer(
            poison="quarantine", commit_every=100, codec=codecs.json if uses == "value" else None
        ) as consumer:
            try:
                for group in consumer:
                    for message in group:
                        fails_at(message, uses)
                break
            except (errors.EnvironmentFailure, AssertionError) as error:
                seen.append(type(error))
    if uses != "data" and ccsid == 1208:
        assert (seen, owner.on_queue(BACKOUT)) == ([], [])
        return
    assert set(seen[:-1]) == {AssertionError if uses == "data" else errors.CcsidUnknown}
    # With BOTHRESH(2) it is tried as often as any other message that fails; with a codec, it is known which one it is.
    assert (len(seen), seen[-1]) == (3 if uses == "value" else 5, errors.GroupQuarantined)
    assert owner.data(BACKOUT) == [b"2", b"3"]
    assert owner.data() == []


def test_text_without_a_code_page_halts_with_its_own_error_until_the_consumer_is_to_move_it(poisoned):
    owner = poisoned
    owner.empty()
    put_text(owner, 930)
    for _ in range(6):
        with pytest.raises(errors.CcsidUnknown, match="CCSID 930 ") as caught, owner.consumer(codec=codecs.json) as got:
            [list(group) for group in got]
        assert (caught.value.queue, caught.value.group_id, caught.value.msg_seq_number) == (owner.queue, b"G" * 24, 2)
    # The message before it is committed, so that it does not come again and again.
    assert owner.data() == [b"2", b"3"]
    # Its owner may let it move the message.
    with owner.consumer(codec=codecs.json, poison="quarantine") as got, pytest.raises(errors.GroupQuarantined) as moved:
        [list(group) for group in got]
    assert moved.value.reason == "there is no code page for CCSID 930 here"
    assert owner.data(BACKOUT) == [b"2", b"3"]


@pytest.mark.parametrize("ccsid", [-1, 65534, 65535])
def test_a_ccsid_that_no_code_page_can_have_is_not_a_gap_in_this_installation(make_owner, ccsid):
    """CDRA has 1 to 65533 for code pages, so nobody can register this one; it is poison at once."""
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    put_text(owner, ccsid)
    says = f"no code page can have CCSID {ccsid}, because code pages have 1 to 65533"
    with owner.consumer(codec=codecs.json) as consumer, pytest.raises(errors.PoisonMessage, match=says):
        [list(group) for group in consumer]
    with owner.consumer() as consumer, pytest.raises(errors.NotDecoded):
        [message.text for group in consumer for message in group]
    owner.empty()


def test_a_byte_order_mark_is_no_part_of_a_value(owner):
    owner.put_raw("\ufeff[1]".encode(), Format=mq.MQFMT_STRING, CodedCharSetId=1208)
    owner.put_raw("\ufeff[2]".encode("utf-16-be"), Format=mq.MQFMT_STRING, CodedCharSetId=1200, Encoding=273)
    owner.put_raw("\ufeff[3]".encode())
    assert values(owner, codec=codecs.json) == [[[1]], [[2]], [[3]]]


def test_a_format_that_ends_with_a_nul_is_text_too(owner):
    owner.put_raw('"ä"'.encode("cp500"), Format=b"MQSTR\0\0\0", CodedCharSetId=500)
    assert values(owner, codec=codecs.json) == [["ä"]]


def test_a_codec_of_ones_own_does_not_show_data_by_its_errors(owner):
    owner.put_raw_group([b"secret"])

    def decode(data):
        raise UnicodeDecodeError("x", data, 0, 1, data.decode())

    with owner.consumer(codec=SimpleNamespace(decode=decode)) as consumer:
        with pytest.raises(errors.PoisonMessage, match=r"cannot be decoded \(UnicodeDecodeError\)") as caught:
            [list(group) for group in consumer]
        assert "secret" not in repr(caught.value)
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    owner.get_groups()


def test_another_failure_of_a_codec_is_the_programs_own_and_the_group_goes_on(owner):
    put_values(owner, [1, 2, 3, 4, 5])
    failures = iter([False, False, False, True])

    def decode(data):
        if next(failures, False):
            raise ConnectionError("the schema registry does not answer")
        return json.loads(data)

    codec = SimpleNamespace(decode=decode)
    with owner.consumer(codec=codec) as consumer:
        with pytest.raises(ConnectionError):
            [list(group) for group in consumer]
        assert [[message.value for message in group] for group in consumer] == [[3, 4, 5]]


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("policy", ["quarantine", "halt"])
def test_it_is_moved_away_or_halted_at_once_whatever_commit_loses_the_connection(poisoned, faults, policy, when):
    connection = poisoned.connect(reconnect_wait_s=30)
    faults.arm(Fault("drop", when, verb="MQCMIT"))
    handled, flushed, error = run(poisoned, qmgr=connection, commit_every=100, poison=policy)
    assert faults.faults_fired() == 1
    assert (handled, flushed) == ([1, [2]], [1, [2]])
    if policy == "quarantine":
        assert isinstance(error, errors.GroupQuarantined)
        assert [found.data for found in poisoned.on_queue(BACKOUT)] == [SECRET, *GOOD[2:]]
    else:
        assert isinstance(error, errors.PoisonMessage)
        assert poisoned.data() == [SECRET, *GOOD[2:]]


def test_a_message_that_is_in_no_group_is_halted_at_too(owner):
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    assert handle.put(SECRET).code == OK
    handle.close()
    handled, _, error = run(owner)
    assert (handled, error.msg_seq_number) == ([], 1)
    owner.get_groups()

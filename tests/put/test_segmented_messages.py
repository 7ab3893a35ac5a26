"""Messages longer than one physical message: put in segments, got whole or segment by segment, and interrupted in between.

Offsets and flags on the queue are those of IBM's Table 1, looked at with a raw browse.
"""

from __future__ import annotations

import io

import pytest

from mqembedded import Fault
from mqgroups import errors
from mqgroups.core.status import decode
from mqgroups.mqi import constants as mq

RECONNECTS = {"reconnect_wait_s": 30}
LONG = bytes(number % 251 for number in range(1000))
G, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP
SEG, END = mq.MQMF_SEGMENT, mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT


class Breaks(io.BytesIO):
    """A stream that fails where it should end."""

    def read(self, size=-1):
        data = super().read(size)
        if not data:
            raise EOFError
        return data


def physical(owner):
    """Return sequence number, offset, flags and length of what is on the queue."""
    return [(one.msg_seq_number, one.md.Offset, one.msg_flags, len(one.data)) for one in owner.on_queue()]


def logical(owner):
    """Return the data by sequence number, put together from what is on the queue."""
    data: dict[int, bytes] = {}
    for one in owner.on_queue():
        assert len(data.get(one.msg_seq_number, b"")) == one.md.Offset
        data[one.msg_seq_number] = data.get(one.msg_seq_number, b"") + one.data
    return list(data.values())


@pytest.fixture(scope="module")
def without_properties_on_segments(module_queue_manager):
    """A queue manager that takes no properties on segments."""
    readings = {"properties on segments": "refused with 2443"}
    return module_queue_manager("DEFINE QLOCAL(LONG) DEFPSIST(YES)", "QMP", readings=readings)


# --- putting


def test_a_text_is_cut_between_characters(owner):
    """A channel or program that converts a segment converts whole characters only."""
    owner.put_group(["äöü€x" * 3], segment_bytes=4, commit_every=100)
    found = [one.data for one in owner.on_queue()]
    assert "".join(data.decode() for data in found) == "äöü€x" * 3
    assert {len(data) for data in found} <= {2, 3, 4}


def test_bytes_that_are_not_what_their_ccsid_says_are_cut_all_the_same(owner):
    with owner.producer(segment_bytes=4) as producer, producer.group() as group:
        group.put(b"\x80" * 9, format="MQSTR", ccsid=1208)
    assert b"".join(one.data for one in owner.on_queue()) == b"\x80" * 9


@pytest.mark.embedded
def test_where_segments_have_no_properties_the_error_says_how_to_put_them(without_properties_on_segments, make_owner):
    """2443, q044630: whether properties in a message handle count is not written."""
    owner = make_owner(without_properties_on_segments, "LONG")
    with owner.producer(commit_every=1, segment_bytes=400) as producer:
        with (
            pytest.raises(errors.MQIError, match=r"2443 .* no properties on segments. Put the message whole"),
            producer.group(name="its name") as group,
        ):
            group.put(LONG, last=True)
        assert owner.on_queue() == []
        with producer.group(name="its name") as group:
            group.put(b"with the name")
            group.put(LONG)
    assert logical(owner) == [b"with the name", LONG]


def test_a_long_message_is_put_in_segments_and_a_short_one_is_not(owner):
    owner.put_group([b"short", LONG, b"end"], segment_bytes=400, commit_every=100)
    assert physical(owner) == [
        (1, 0, G, 5),
        (2, 0, G | SEG, 400),
        (2, 400, G | SEG, 400),
        (2, 800, G | END, 200),
        (3, 0, LAST, 3),
    ]
    assert len({one.group_id for one in owner.on_queue()}) == 1


def test_all_segments_of_the_last_message_say_that_it_is_the_last(owner):
    owner.put_group([LONG[:500]], segment_bytes=250)
    assert physical(owner) == [(1, 0, LAST | SEG, 250), (1, 250, LAST | END, 250)]


def test_units_of_work_end_between_segments(owner):
    with owner.producer(commit_every=2, segment_bytes=100) as producer, producer.group() as group:
        group.put(LONG, last=False)
        assert len(owner.data()) == 10
        record = decode(owner.records("put")[0])
        assert (record.msg_seq_number, record.offset) == (1, 0)
        group.put(LONG[:250], last=False)
        record = decode(owner.records("put")[0])
        assert (record.msg_seq_number, record.offset, record.in_last_message) == (1, 200, False)
        group.put(b"end")
    assert logical(owner) == [LONG, LONG[:250], b"end"]
    assert owner.records("put") == []


@pytest.mark.parametrize(
    "stream",
    [
        lambda: io.BytesIO(LONG),
        lambda: [LONG[:1], LONG[1:700], b"", LONG[700:]],
        lambda: (LONG[at : at + 7] for at in range(0, 1000, 7)),
    ],
    ids=["a file", "a list", "a generator"],
)
def test_a_stream_is_put_in_segments_of_equal_length(owner, stream):
    with owner.producer(segment_bytes=400) as producer, producer.group() as group:
        group.put(b"before")
        group.put(stream(), last=False)
        group.put(stream(), last=True)
    assert physical(owner)[1:4] == [(2, 0, G | SEG, 400), (2, 400, G | SEG, 400), (2, 800, G | END, 200)]
    assert logical(owner) == [b"before", LONG, LONG]


def test_a_stream_that_fits_one_segment_is_a_message(owner):
    with owner.producer() as producer, producer.group() as group:
        group.put(io.BytesIO(b"short"), last=False)
        group.put([], last=True)
    assert physical(owner) == [(1, 0, G, 5), (2, 0, LAST, 0)]


def test_of_a_stream_it_has_to_be_said_whether_it_is_the_last(owner):
    with owner.producer() as producer, producer.group() as group:
        with pytest.raises(errors.GroupUsage, match=r"a stream needs last=True or last=False"):
            group.put(io.BytesIO(b"x"))
        group.put(b"0")
    assert owner.data() == [b"0"]


def test_a_message_that_is_said_to_be_the_last_ends_the_group_at_once(owner):
    with owner.producer() as producer:
        with producer.group() as group:
            group.put(b"0")
            group.put(b"1", last=True)
            assert owner.data() == [b"0", b"1"]
            with pytest.raises(errors.GroupUsage, match="has ended"):
                group.put(b"2")
        with producer.group() as group:
            group.put(b"0", last=True)
    assert owner.data() == [b"0", b"1", b"0"]


@pytest.mark.parametrize("bad", [["text"], [b"x" * 500, 3]], ids=repr)
def test_a_stream_of_something_else_stops_the_group_and_it_stays_resumable(owner, bad):
    with owner.producer(segment_bytes=100) as producer:
        with pytest.raises(errors.MessageRefused, match="a stream must return bytes"), producer.group() as group:
            group.put(iter(bad), last=False)
        group = producer.group()
        assert (group.resume_from, group.resume_offset) == (0, 400 if len(bad) == 2 else 0)


def interrupt(owner, payload, *, last, every=1, segment_bytes=100, segments=4):
    """Put the beginning of a message as segments, commit, and lose the connection."""
    qmgr = owner.connect()
    group = owner.producer(qmgr, commit_every=every, segment_bytes=segment_bytes).group()

    def beginning():
        # One more: whether a segment is the last is known when the next one is read.
        yield payload[: (segments + 1) * segment_bytes]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        group.put(beginning(), last=last)
    qmgr.close()


@pytest.mark.parametrize(
    ("last", "segment_bytes", "stream"),
    [(False, 100, False), (True, 333, True), (False, 333, True), (True, 5000, False)],
)
def test_a_message_that_was_interrupted_goes_on_behind_its_last_committed_segment(owner, last, segment_bytes, stream):
    interrupt(owner, LONG, last=last)
    assert len(owner.data()) == 4
    with owner.producer(segment_bytes=segment_bytes) as producer, producer.group() as group:
        assert (group.resume_from, group.resume_offset) == (0, 400)
        group.put(io.BytesIO(LONG) if stream else LONG)
        if not last:
            group.put(b"end")
    assert logical(owner) == [LONG] if last else [LONG, b"end"]
    assert [one.is_last for one in owner.on_queue()] == [last] * (len(owner.data()) - 1) + [True]
    assert owner.records("put") == []


def test_the_rest_of_a_message_cannot_say_otherwise_whether_it_is_the_last(owner):
    interrupt(owner, LONG, last=False)
    with owner.producer(segment_bytes=100) as producer, producer.group() as group:
        with pytest.raises(errors.GroupUsage, match="which were put with last=False"):
            group.put(LONG, last=True)
        group.put(LONG)
        group.put(b"end")
    assert logical(owner) == [LONG, b"end"]


def test_a_payload_shorter_than_what_is_committed_is_refused(owner):
    interrupt(owner, LONG, last=False)
    with owner.producer(segment_bytes=100) as producer:
        for payload in (LONG[:399], io.BytesIO(LONG[:399])):
            group = producer.group()
            with pytest.raises(errors.GroupUsage, match="400 bytes of this message are committed"), group:
                group.put(payload)
        with producer.group() as group:
            group.put(LONG[:400], last=False)
            group.put(b"end")
    assert logical(owner) == [LONG[:400], b"end"]
    assert physical(owner)[4] == (1, 400, G | END, 0)


@pytest.mark.embedded
def test_on_zos_there_are_no_segments(make_owner, own_queue_manager):
    owner = make_owner(own_queue_manager("QMZ", platform="zos"), "ORDERS")
    qmgr = owner.connect()
    with pytest.raises(
        errors.ConfigurationError, match="segment_bytes=100 cannot be used with queue manager QMZ: it is on z/OS"
    ):
        owner.producer(qmgr, segment_bytes=100)
    with owner.producer(qmgr) as producer, pytest.raises(errors.GroupUsage, match="on z/OS"):
        producer.group().put(io.BytesIO(b"x"), last=True)


# --- getting


def test_a_consumer_gets_messages_whole(owner):
    owner.put_group([b"a", LONG, b"b"], segment_bytes=100)
    owner.put_group([LONG], segment_bytes=99)
    assert owner.get_groups() == [[b"a", LONG, b"b"], [LONG]]
    assert owner.get_groups(complete_groups_only=True) == []
    assert owner.data() == []


def test_a_message_whose_last_segment_lacks_is_waited_for(owner):
    interrupt(owner, LONG, last=True)
    assert owner.get_groups() == []
    with owner.producer() as producer, producer.group() as group:
        group.put(LONG)
    assert owner.get_groups() == [[LONG]]


@pytest.mark.parametrize("every", [1, 3, 100])
def test_a_stream_is_got_segment_by_segment(owner, every):
    owner.put_group([b"a", LONG, b"b"], segment_bytes=400)
    got = []
    with owner.consumer(commit_every=every, stream=True) as consumer:
        for group in consumer:
            for message in group:
                got.append((message.msg_seq_number, message.is_segment, list(message.chunks())))
    assert got == [(1, False, [b"a"]), (2, True, [LONG[:400], LONG[400:800], LONG[800:]]), (3, False, [b"b"])]
    assert owner.data() == owner.records("get") == []


def test_what_is_not_looked_at_of_a_stream_is_processed_with_its_message(owner):
    owner.put_group([LONG, b"b"], segment_bytes=400)
    with owner.consumer(commit_every=1, stream=True) as consumer:
        assert [[message.data for message in group] for group in consumer] == [[LONG[:400], b"b"]]
    assert owner.data() == []


def test_a_stream_that_was_interrupted_goes_on_behind_its_last_committed_segment(owner):
    owner.put_group([b"a", LONG, b"b"], segment_bytes=100)
    qmgr = owner.connect()
    messages = iter(next(iter(owner.consumer(qmgr, commit_every=2, stream=True))))
    next(messages)
    chunks = next(messages).chunks()
    got = [next(chunks) for _ in range(5)]
    qmgr.close()
    # 1 + 3 segments in two units of work; the fourth was processed, the fifth only seen.
    record = decode(owner.records("get")[0])
    assert (record.msg_seq_number, record.offset) == (1, 300)
    with pytest.raises(
        errors.ConfigurationError, match=r"interrupted between two segments, after 300 bytes of message 2.*stream=True"
    ):
        owner.consumer()
    with owner.consumer(stream=True) as consumer:
        group = next(iter(consumer))
        assert group.resume_from == 1
        rest = [(message.offset, b"".join(message.chunks())) for message in group]
    assert b"".join(got[:3]) + rest[0][1] == LONG
    assert [offset for offset, _ in rest] == [300, 0]
    assert owner.data() == owner.records("get") == []


def test_a_syncpoint_in_a_stream_may_have_a_checkpoint(owner):
    owner.put_group([LONG], segment_bytes=100)
    done: list[int] = []
    with owner.consumer(commit_every=2, stream=True) as consumer:
        consumer.before_commit(lambda group: group.set_checkpoint(done[-1]))
        for group in consumer:
            for message in group:
                for chunk in message.chunks():
                    done.append(len(done) * 100 + len(chunk))
                    record = decode(owner.records("get")[0])
                    assert record.checkpoint == (record.offset or None)
    assert done[-1] == 1000


def test_a_stream_that_stalls_says_where_and_what_was_delivered(owner):
    qmgr = owner.connect()
    group = owner.producer(qmgr, commit_every=1, segment_bytes=100).group()
    with pytest.raises(EOFError):
        group.put(Breaks(LONG[:350]), last=False)
    qmgr.close()
    assert [found.md.Offset for found in owner.on_queue()] == [0, 100]
    got = []

    def get(consumer):
        for message in next(iter(consumer)):
            for chunk in message.chunks():
                got.append(chunk)

    with owner.consumer(stream=True) as consumer:
        for _ in range(2):
            with pytest.raises(errors.GroupStalled, match="the rest of message 1, from offset 200") as caught:
                get(consumer)
            assert (caught.value.msg_seq_number, caught.value.offset) == (1, 200)
            assert "The first 200 bytes of the message were delivered" in str(caught.value)
    assert b"".join(got) == LONG[:200]


def test_a_stream_after_its_group_was_left_is_a_clear_error(owner):
    owner.put_group([LONG], segment_bytes=100)
    with owner.consumer(stream=True) as consumer:
        message = next(iter(next(iter(consumer))))
        next(iter(consumer))
        with pytest.raises(errors.GroupUsage, match="gone on to another group"):
            list(message.chunks())


# --- and all of it with trouble


@pytest.mark.embedded
@pytest.mark.parametrize("every", [2, 100], ids=["many-units-of-work", "one-unit-of-work"])
def test_segments_are_put_again_by_themselves_whatever_call_loses_the_connection(owner, faults, every):
    connection = owner.connect(**RECONNECTS)
    faults.clear_faults()
    for verb, nth, when in (
        ("MQPUT", 5, "before"),
        ("MQPUT", 6, "after"),
        ("MQCMIT", 2, "before"),
        ("MQCMIT", 2, "after"),
    ):
        faults.arm(Fault("drop", when, verb=verb, nth=nth))
        with owner.producer(connection, commit_every=every, segment_bytes=300) as producer, producer.group() as group:
            group.put(b"a")
            group.put(io.BytesIO(LONG), last=False)
            group.put(LONG)
        assert logical(owner) == [b"a", LONG, LONG]
        assert [one.is_last for one in owner.on_queue()] == [False] * 5 + [True] * 4
        assert owner.records("put") == []
        owner.empty()
    assert faults.faults_fired() == 4


@pytest.mark.embedded
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("every", [2, 100], ids=["many-units-of-work", "one-unit-of-work"])
def test_segments_are_got_again_by_themselves_whatever_call_loses_the_connection(owner, faults, every, stream):
    connection = owner.connect(**RECONNECTS)
    for verb, nth, when in (
        ("MQGET", 4, "before"),
        ("MQGET", 5, "after"),
        ("MQCMIT", 2, "before"),
        ("MQCMIT", 2, "after"),
    ):
        owner.put_group([b"a", LONG, LONG[:500]], segment_bytes=300)
        faults.clear_faults()
        faults.arm(Fault("drop", when, verb=verb, nth=nth))
        got = []
        with owner.consumer(connection, commit_every=every, stream=stream) as consumer:
            for group in consumer:
                got += [b"".join(message.chunks()) for message in group]
        assert faults.faults_fired() == 1
        assert got == [b"a", LONG, LONG[:500]]
        assert owner.data() == owner.records("get") == []

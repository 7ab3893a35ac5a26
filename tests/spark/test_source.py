"""The source's readers on the queue manager under test, called as Spark calls them. ``test_session.py`` has what only a
session shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from embedded_tests.fix_mqi import OK, wait_until
from embedded_tests.fix_properties import MessageHandle
from mqembedded import constants
from mqgroups.connection.connection import Connection
from mqgroups.mqi import constants as mqi
from mqgroups.operate import move_group
from mqgroups.spark.errors import CheckpointUnusable, GroupGone, QueueReserved
from mqgroups.spark.option import Use
from mqgroups.spark.options import source_options
from tests.fix_batches import messages
from tests.spark.model import Checkpoint, Clock
from tests.spark.test_browse import put_pairs, put_stamped, put_to

pytest.importorskip("pyspark", reason="pyspark is not installed")

from mqgroups.errors import MQIError, StatusQueueUnusable, mqi_error
from mqgroups.spark import rows as rows_module
from mqgroups.spark import stream_source
from mqgroups.spark.batch_source import GroupBatchReader
from mqgroups.spark.older import ReadMaxRows
from mqgroups.spark.stream_source import GroupStreamReader
from mqgroups.spark.taker import Taker

PASS_CORREL_ID = 64  # MQRO_PASS_CORREL_ID


def rows(reader, partitions):
    """Return the rows that tasks read."""
    return [row for each in partitions for batch in reader.read(each) for row in batch.to_pylist()]


def values(reader, partitions):
    return sorted(row["value"] for row in rows(reader, partitions))


@pytest.fixture
def batch(owner, mq_options):
    """A function that plans a read of the queue; returns the reader and its partitions."""

    def plan(**options):
        reader = GroupBatchReader(source_options({**mq_options, "queue": owner.queue, **options}, Use.BATCH_READ))
        return reader, reader.partitions()

    return plan


# --- batch


def test_incomplete_groups_are_not_read(owner, batch):
    assert rows(*batch()) == []
    owner.put_raw_group([b"a1", b"a2", b"a3"])
    owner.put_raw_group([b"b1", b"b2"], whole=False)
    handle = owner.eye.open(owner.queue, mqi.MQOO_INPUT_SHARED)
    a2 = owner.on_queue()[1]
    assert handle.get(match=mqi.MQMO_MATCH_MSG_ID, MsgId=a2.md.MsgId).code == OK
    handle.close()
    assert rows(*batch()) == []


def test_headers_and_more_of_the_descriptor(owner, batch):
    handle = owner.eye.open(owner.queue, mqi.MQOO_OUTPUT)
    properties = MessageHandle(owner.eye)
    assert properties.set("colour", "green") == OK
    pmo = owner.eye.mqi.package.PMO(Version=3, OriginalMsgHandle=properties.hmsg)
    fields = {"Report": PASS_CORREL_ID, "ReplyToQ": owner.queue.encode().ljust(48), "ReplyToQMgr": b"QM7".ljust(48)}
    assert handle.put(b"data", pmo=pmo, Priority=3, Format=b"MQSTR   ", **fields).code == OK
    handle.close()
    (row,) = rows(*batch(includeHeaders="true", includeMqmd="true"))
    assert owner.own(dict(row["headers"])) == {"colour": b"green"}
    assert (row["value"], row["format"], row["priority"], row["backout_count"]) == (b"data", "MQSTR", 3, 0)
    assert (row["report"], row["reply_to_q"], row["reply_to_q_mgr"]) == (PASS_CORREL_ID, owner.queue, "QM7")
    (found,) = owner.on_queue()
    assert row["user_identifier"] == (found.md.UserIdentifier.decode().rstrip(" \0") or None)
    assert row["put_appl_name"] == (found.md.PutApplName.decode().rstrip(" \0") or None)
    (row,) = rows(*batch())
    assert (row["value"], row["format"]) == (b"data", "MQSTR")


def test_the_context_of_a_message_is_in_columns(owner, batch):
    handle = owner.eye.open(owner.queue, mqi.MQOO_OUTPUT | constants.MQOO_SET_ALL_CONTEXT)
    texts = {"AccountingToken": b"T" * 32, "ApplIdentityData": b"cost centre 7".ljust(32), "ApplOriginData": b"west"}
    put = {"PutApplType": 28, "PutApplName": b"loader".ljust(28), "PutDate": b"20240501", "PutTime": b"12000000"}
    assert handle.put(b"data", constants.MQPMO_SET_ALL_CONTEXT, **texts, **put).code == OK
    handle.close()
    (row,) = rows(*batch(includeMqmd="true"))
    assert (row["accounting_token"], row["appl_identity_data"]) == (b"T" * 32, "cost centre 7")
    assert (row["put_appl_type"], row["put_appl_name"], row["appl_origin_data"]) == (28, "loader", "west")


def test_a_planned_group_that_is_gone_fails_or_is_left_out(owner, batch):
    owner.put_raw_group([b"a1", b"a2"])
    owner.put_raw_group([b"b1", b"b2"])
    strict, lenient = batch(), batch(failOnDataLoss="false")
    assert owner.take(2) == [b"a1", b"a2"]
    with pytest.raises(GroupGone, match="was planned with 2 messages, but only 0 messages of it could be read"):
        rows(*strict)
    assert values(*lenient) == [b"b1", b"b2"]


# --- streams


class Stream:
    """A query over the queue that keeps what each micro-batch has: messages by group, in order."""

    def __init__(self, options):
        self._options = options
        self.checkpoint = Checkpoint(self._process)
        self.batches = []
        self.reports = []
        self.fails = False
        self._readers = []

    def reader(self, **options):
        reader = GroupStreamReader(source_options({**self._options, **options}, Use.STREAM_READ))
        self._readers.append(reader)
        return reader

    def run(self, *, available_now=True, **options):
        """Start a driver, which goes on until there is no more; returns its micro-batches."""
        before = len(self.batches)
        try:
            self.checkpoint.run(self.reader(pollTimeoutMs="0", **options), available_now=available_now)
        finally:
            self.stop()
        return self.batches[before:]

    def fail(self, **options):
        """Start a driver whose first micro-batch is not processed."""
        self.fails = True
        with pytest.raises(ZeroDivisionError):
            self.run(**options)
        self.fails = False

    def _process(self, reader, partitions, _):
        self.reports.append(reader.reportLatestOffset())
        if self.fails:
            raise ZeroDivisionError
        groups: dict[bytes, list[bytes]] = {}
        for row in rows(reader, partitions):
            groups.setdefault(row["key"], []).append(row["value"])
        self.batches.append(sorted(groups.values()))

    def stop(self):
        for reader in self._readers:
            reader.stop()


@pytest.fixture
def stream(owner, mq_options):
    stream = Stream({**mq_options, "queue": owner.queue, "mq.waitMs": "0"})
    yield stream
    stream.stop()


def test_an_incomplete_group_is_read_when_it_is_complete(owner, stream):
    first, second = (owner.eye.open(owner.queue, mqi.MQOO_OUTPUT) for _ in range(2))
    assert first.put(b"a1", mqi.MQPMO_LOGICAL_ORDER, MsgFlags=mqi.MQMF_MSG_IN_GROUP).code == OK
    assert second.put(b"b1", mqi.MQPMO_LOGICAL_ORDER, MsgFlags=mqi.MQMF_LAST_MSG_IN_GROUP).code == OK
    assert stream.run() == [[[b"b1"]]]
    assert owner.data() == [b"a1"]
    assert first.put(b"a2", mqi.MQPMO_LOGICAL_ORDER, MsgFlags=mqi.MQMF_LAST_MSG_IN_GROUP).code == OK
    assert stream.run() == [[[b"a1", b"a2"]]]
    assert owner.data() == []
    first.close()
    second.close()


@pytest.mark.parametrize("available_now", [True, False])
def test_groups_of_one_group_id_are_read_one_after_the_other(owner, stream, available_now):
    # A beginning that looks complete because of the group behind it.
    put_to(owner, b"I" * 24, (1, b"d1"), (2, b"d2"), (1, b"i1."))
    owner.put_raw_group([b"u1", b"u2"])
    put_to(owner, b"G" * 24, (1, b"a1"), (2, b"a2."), (1, b"b1"), (1, b"b1"), (2, b"b2"), (3, b"b3."), (1, b"c1."))
    put_stamped(owner, *[(b"%d" % number, b"13482001") for number in range(3)])
    assert stream.run(available_now=available_now) == [
        [[b"0", b"1", b"2"], [b"a1", b"a2."], [b"i1."], [b"u1", b"u2"]],
        [[b"b1", b"b2", b"b3."]],
        [[b"c1."]],
    ]
    # The message that came twice stays, and keeps nothing back.
    for name in (b"x1", b"y1"):
        owner.put_raw_group([name])
        assert stream.run(available_now=available_now) == [[[name]]]
    assert owner.data()[:3] == [b"d1", b"d2", b"b1"]
    assert b"c1." not in owner.data()


def test_all_that_is_on_the_queue_is_read_in_a_batch(owner, batch):
    put_to(owner, b"G" * 24, (1, b"a1"), (2, b"a2."), (1, b"b1"), (2, b"b2."))
    put_stamped(owner, *[(b"%d" % number, b"13482001") for number in range(2)])
    # These are of no complete group: the copy of a first message, and a beginning.
    put_to(owner, b"H" * 24, (1, b"c1"), (1, b"c1"), (2, b"c2."))
    put_to(owner, b"I" * 24, (1, b"d1"), (2, b"d2"), (1, b"e1."))
    assert values(*batch()) == [b"0", b"1", b"a1", b"a2.", b"b1", b"b2.", b"c1", b"c2.", b"e1."]


def test_limits_are_kept_by_whole_groups(owner, stream):
    for limits, sizes in (
        ({"maxMessagesPerTrigger": "5"}, [2, 1, 1]),
        ({"maxGroupsPerTrigger": "3", "maxMessagesPerTrigger": "3"}, [1, 1, 1, 1]),
        ({"maxMessagesPerTrigger": "1"}, [1, 1, 1, 1]),
    ):
        for number, size in enumerate([2, 2, 2, 4]):
            owner.put_raw_group([b"group%04d%d" % (number, message) for message in range(size)])
        assert [len(batch) for batch in stream.run(**limits)] == sizes, limits
        assert owner.data() == []


def test_the_progress_tells_what_waits(owner, stream):
    put_pairs(owner, b"abc")
    stream.run(maxGroupsPerTrigger="1")
    # The micro-batch before is being removed meanwhile.
    assert [(each["queue"], each["unfinished"], each["waiting"]) for each in stream.reports] == [
        (owner.queue, 1, 2),
        (owner.queue, 2, 1),
        (owner.queue, 2, 0),
    ]
    assert all(least <= each["depth"] <= 6 for least, each in zip((6, 4, 2), stream.reports, strict=True))


def test_the_lag_is_that_of_complete_groups_and_a_stalled_one_stands_apart(owner, stream):
    put_stamped(owner, (b"in no time", b"99999999"), *((b"%d" % number, b"1348200%d" % number) for number in range(4)))
    stalled = owner.eye.open(owner.queue, mqi.MQOO_OUTPUT)
    stalled.put(b"s1", mqi.MQPMO_LOGICAL_ORDER, MsgFlags=mqi.MQMF_MSG_IN_GROUP)
    owner.put_raw_group([b"a1", b"a2"])
    now = datetime.now(UTC)
    # Under any trigger: the others are looked for while the first ones are read.
    reader = stream.reader(pollTimeoutMs="0")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadMaxRows(2))
    told = reader.reportLatestOffset()
    assert (told["queue"], told["oldest"], told["incomplete"]) == (owner.queue, "2026-11-21T13:48:20Z", None)
    bundles = reader.partitions(start, end)
    _, _, arrivals = reader._opened
    wait_until(lambda: arrivals.waiting == 4)
    rows(reader, bundles)
    start, end = end, reader.latestOffset(end, ReadMaxRows(3))
    told = reader.reportLatestOffset()
    assert (told["unfinished"], told["waiting"]) == (5, 1)
    assert abs(now - datetime.fromisoformat(told["oldest"])) < timedelta(minutes=10)
    assert told["incomplete"] is None
    rows(reader, reader.partitions(start, end))
    start, end = end, reader.latestOffset(end, ReadMaxRows(3))
    rows(reader, reader.partitions(start, end))
    wait_until(
        lambda: reader.latestOffset(end, ReadMaxRows(3)) == end and not reader.reportLatestOffset()["unfinished"]
    )
    told = reader.reportLatestOffset()
    reader.stop()
    stalled.close()
    assert owner.data() == [b"s1"]
    assert (told["waiting"], told["oldest"]) == (0, None)
    assert abs(now - datetime.fromisoformat(told["incomplete"])) < timedelta(minutes=10)


def test_the_lag_of_a_group_that_waits_or_is_being_removed_is_no_stall(owner, stream):
    put_pairs(owner, b"a")
    reader = stream.reader(pollTimeoutMs="0")
    told = reader.reportLatestOffset()
    assert (told["waiting"], told["oldest"] is None, told["incomplete"]) == (1, False, None)
    reader.latestOffset(reader.initialOffset(), ReadMaxRows(1))
    # What is left of a group whose beginning is removed.
    handle = owner.eye.open(owner.queue, mqi.MQOO_INPUT_SHARED)
    assert handle.get().data == b"a1"
    told = reader.reportLatestOffset()
    assert (told["waiting"], told["depth"], told["incomplete"]) == (0, 1, None)
    handle.close()


@pytest.mark.parametrize("available_now", [True, False])
def test_an_idle_query_leaves_nothing_on_the_queue(owner, stream, available_now):
    put_pairs(owner, b"ab")
    found = stream.run(available_now=available_now, maxGroupsPerTrigger="1")
    assert found == [[[b"a1", b"a2"]], [[b"b1", b"b2"]]]
    if not available_now:
        # If a is still being removed at the last call, b stays until Spark calls again.
        assert stream.run(available_now=False) == []
    assert owner.data() == []


def test_a_second_query_on_a_queue_is_refused(owner, stream):
    first = stream.reader()
    nothing_new = first.initialOffset()
    assert first.partitions(nothing_new, nothing_new) == []
    said = f"queue {owner.queue} is still open for input by another application \\(2042\\)"
    for options in ({}, {"statusQueue": "MQGROUPS.SOURCE.ANOTHER"}):
        with pytest.raises(QueueReserved, match=said):
            stream.reader(**options).initialOffset()


def test_a_driver_that_waits_for_another_one_begins_where_that_one_ended(owner, stream):
    """Spark reads its log after it has asked for the read limit, so the queue is reserved by then."""
    owner.put_raw_group([b"a"])
    stream.run()
    first = stream.reader()
    limit = first.getDefaultReadLimit()
    with pytest.raises(QueueReserved):
        stream.reader().getDefaultReadLimit()
    owner.put_raw_group([b"b"])
    first.latestOffset(stream.checkpoint.offsets[-1], limit)
    first.stop()
    assert stream.reader().getDefaultReadLimit() == limit


def test_a_micro_batch_is_removed_while_the_next_one_is_planned_and_read(owner, stream, gate):
    put_pairs(owner, b"abc")
    read = stream.checkpoint._process

    def process(reader, partitions, number):
        read(reader, partitions, number)
        if number == 1:
            gate.reached()
            assert owner.data() == [b"a2", b"b1", b"b2", b"c1", b"c2"]
            gate.open()

    stream.checkpoint._process = process
    found = stream.run(available_now=False, maxGroupsPerTrigger="1")
    assert found == [[[b"a1", b"a2"]], [[b"b1", b"b2"]], [[b"c1", b"c2"]]]
    # If b is still being removed at the last call, c stays. A query that goes on removes c, and reads nothing.
    assert stream.run() == []
    assert owner.data() == []


def test_the_next_micro_batch_is_looked_for_while_one_is_read(owner, stream):
    put_pairs(owner, b"abc")
    found: list[list[bytes]] = []

    def process(reader, partitions, _):
        _, _, arrivals = reader._opened
        wait_until(lambda: arrivals.waiting == 2 - len(found))
        found.append(values(reader, partitions))

    stream.checkpoint._process = process
    stream.run(available_now=False, maxGroupsPerTrigger="1")
    assert found == [[b"a1", b"a2"], [b"b1", b"b2"], [b"c1", b"c2"]]


def test_no_handle_that_browses_or_gets_reads_ahead(owner, stream, monkeypatch):
    """With DEFREADA(YES) it would browse what is gone, and the next MQGET with other options would fail (2457)."""
    owner.put_raw_group([b"a1", b"a2"])
    opened: list[int] = []
    open_queue = Connection.open_queue

    def noted(connection, name, options, **more):
        opened.append(options)
        return open_queue(connection, name, options, **more)

    monkeypatch.setattr(Connection, "open_queue", noted)
    assert stream.run() == [[[b"a1", b"a2"]]]
    reads = [options for options in opened if options & mqi.MQOO_BROWSE]
    assert len(reads) >= 7  # the driver's, a task's and its sign's, a remover's
    assert all(options & mqi.MQOO_NO_READ_AHEAD for options in reads)
    assert owner.data() == []


def test_an_error_of_a_remover_fails_the_query_at_the_next_call(owner, stream, monkeypatch):
    for name in (b"a", b"b", b"c"):
        owner.put_raw_group([name])

    def refused(*_, **__):
        raise mqi_error("MQGET", f"queue {owner.queue}", mqi.MQCC_FAILED, mqi.MQRC_GET_INHIBITED)

    with monkeypatch.context() as patch:
        patch.setattr(Taker, "take", refused)
        with pytest.raises(MQIError, match="2016"):
            stream.run(maxGroupsPerTrigger="1")
    assert stream.batches == [[[b"a"]], [[b"b"]]]
    assert stream.run(maxGroupsPerTrigger="1") == [[[b"c"]]]
    assert owner.data() == []


def test_a_planned_group_that_is_gone_fails_the_query(owner, stream):
    owner.put_raw_group([b"a1", b"a2"])
    owner.put_raw_group([b"b1"])
    stream.fail()
    assert owner.take() == [b"a1"]
    with pytest.raises(GroupGone):
        stream.run()
    assert stream.run(failOnDataLoss="false") == [[[b"b1"]]]
    assert owner.data() == []


@pytest.mark.parametrize("read", [0, 1])
def test_a_micro_batch_that_was_not_read_to_its_end_is_not_removed(owner, stream, read):
    """Its number is that of an old output; or foreachBatch reads a part of its rows."""
    owner.put_raw_group([b"b1", b"b2"])
    owner.put_raw_group([b"c1"])
    stream.checkpoint._process = lambda reader, partitions, _: rows(reader, partitions[:read])
    said = f"only {read} of its 2 partitions were read to their end: .* Its 2 groups stay"
    for _ in range(2):
        with pytest.raises(CheckpointUnusable, match=said):
            stream.run()
    owner.put_raw_group([b"d1"])
    with pytest.raises(CheckpointUnusable, match=said):
        stream.run()
    assert owner.data() == [b"b1", b"b2", b"c1", b"d1"]


def test_a_partition_of_which_a_part_was_read_has_no_sign(owner, stream, monkeypatch):
    monkeypatch.setattr(rows_module, "_MOST_ROWS", 1)
    owner.put_raw_group([b"b1", b"b2"])
    stream.checkpoint._process = lambda reader, partitions, _: next(reader.read(partitions[0]))
    with pytest.raises(CheckpointUnusable, match="only 0 of its 1 partitions"):
        stream.run()
    assert owner.data() == [b"b1", b"b2"]


def test_a_group_that_always_fails_is_moved_away_and_comes_back(owner, stream, make_queue, monkeypatch):
    """What docs/spark/night.md says of such a group."""
    clock = Clock()
    monkeypatch.setattr(stream_source, "time", clock)
    for name in (b"a", b"b", b"c"):
        owner.put_raw_group([name])
    group_id, other = owner.on_queue()[1].group_id, make_queue()
    process = stream.checkpoint._process

    def poisoned(reader, partitions, number):
        assert b"b" not in [row["value"] for row in rows(reader, partitions)]
        process(reader, partitions, number)

    stream.checkpoint._process = poisoned
    for _ in range(2):
        with pytest.raises(AssertionError):
            stream.run()
    assert move_group(owner.qmgr, owner.queue, group_id, to=other).done
    with pytest.raises(GroupGone, match=group_id.hex()):
        stream.run()
    assert stream.run(failOnDataLoss="false") == [[[b"a"], [b"c"]]]
    assert owner.data() == []
    stream.checkpoint._process = process
    assert move_group(owner.qmgr, other, group_id, to=owner.queue).done
    # Ten minutes for messages that a dead program may have got; then the group is a new one.
    assert stream.run() == []
    clock.now_s += 600
    assert stream.run() == [[[b"b"]]]
    assert owner.data() == []


def test_a_micro_batch_keeps_its_partitions_when_it_is_repeated_with_another_number_of_them(owner, stream):
    for name in (b"a", b"b", b"c"):
        owner.put_raw_group([name])
    stream.fail(maxPartitions="2")
    seen = []
    process = stream.checkpoint._process

    def counted(reader, partitions, number):
        seen.append(len(partitions))
        process(reader, partitions, number)

    stream.checkpoint._process = counted
    assert stream.run(maxPartitions="8") == [[[b"a"], [b"b"], [b"c"]]]
    assert (seen, owner.data()) == ([2], [])


def test_a_status_queue_that_was_emptied_stops_the_query(owner, stream):
    owner.put_raw_group([b"a1"])
    stream.fail()
    owner.take(queue=f"MQGROUPS.SOURCE.{owner.queue}")
    with pytest.raises(CheckpointUnusable, match=f"is not on status queue MQGROUPS.SOURCE.{owner.queue}"):
        stream.run()
    assert owner.data() == [b"a1"]


def test_another_queue_with_the_same_checkpoint_is_named(owner, stream, make_queue):
    owner.put_raw_group([b"a"])
    stream.run()
    other = make_queue()
    with pytest.raises(CheckpointUnusable, match=f"is of queue {owner.queue}, and this source reads queue {other}"):
        stream.run(queue=other)
    owner.put_raw_group([b"b"])
    assert stream.run() == [[[b"b"]]]


def test_the_status_queue_of_a_sink_is_refused(owner, stream, batches):
    assert batches.attempt().put_group("A", messages("A", 1)) == 1
    with pytest.raises(StatusQueueUnusable, match=f"status queue {batches.status_queue} has a status record of "):
        stream.run(statusQueue=batches.status_queue)

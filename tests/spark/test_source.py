"""The source's readers on the queue manager under test, called as Spark calls them. ``test_session.py`` has what only a
session shows."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK
from embedded_tests.fix_properties import MessageHandle
from mqgroups.mqi import constants as mqi
from mqgroups.spark.errors import CheckpointUnusable, GroupGone, QueueReserved
from mqgroups.spark.options import Use, source_options
from tests.fix_batches import messages
from tests.spark.model import Checkpoint
from tests.spark.test_browse import put_stamped, put_to

pytest.importorskip("pyspark", reason="pyspark is not installed")
from pyspark.sql import datasource

from mqgroups.errors import StatusQueueUnusable
from mqgroups.spark.batch_source import FilteringBatchReader
from mqgroups.spark.stream_source import GroupStreamReader


def rows(reader, partitions):
    """Return the rows that tasks read."""
    return [row for each in partitions for batch in reader.read(each) for row in batch.to_pylist()]


def values(reader, partitions):
    return sorted(row["value"] for row in rows(reader, partitions))


def nothing(_):
    return False


@pytest.fixture
def batch(owner, mq_options):
    """A function that plans a read of the queue; returns the reader and its partitions."""

    def plan(*filters, **options):
        reader = FilteringBatchReader(
            source_options({**mq_options, "queue": owner.queue, **options}, Use.BATCH_READ),
        )
        assert list(reader.pushFilters(list(filters))) == []
        return reader, reader.partitions()

    return plan


# --- batch


def test_incomplete_groups_are_read_only_when_asked_for(owner, batch):
    assert rows(*batch()) == []
    owner.put_raw_group([b"a1", b"a2", b"a3"])
    owner.put_raw_group([b"b1", b"b2"], whole=False)
    handle = owner.eye.open(owner.queue, mqi.MQOO_INPUT_SHARED)
    a2 = owner.on_queue()[1]
    assert handle.get(match=mqi.MQMO_MATCH_MSG_ID, MsgId=a2.md.MsgId).code == OK
    handle.close()
    assert rows(*batch()) == []
    found = rows(*batch(includeIncomplete="true"))
    assert sorted((row["value"], row["msg_seq_number"]) for row in found) == [
        (b"a1", 1),
        (b"a3", 3),
        (b"b1", 1),
        (b"b2", 2),
    ]


def test_headers_and_more_of_the_descriptor(owner, batch):
    handle = owner.eye.open(owner.queue, mqi.MQOO_OUTPUT)
    properties = MessageHandle(owner.eye)
    assert properties.set("colour", "green") == OK
    pmo = owner.eye.mqi.package.PMO(Version=3, OriginalMsgHandle=properties.hmsg)
    assert handle.put(b"data", pmo=pmo, Priority=3, Format=b"MQSTR   ").code == OK
    handle.close()
    (row,) = rows(*batch(includeHeaders="true", includeMqmd="true"))
    assert row["headers"] == [("colour", b"green")]
    assert (row["value"], row["format"], row["priority"], row["backout_count"]) == (b"data", "MQSTR", 3, 0)
    (row,) = rows(*batch())
    assert (row["value"], row["format"]) == (b"data", "MQSTR")


def test_a_filter_that_the_source_evaluates_selects_the_rows_that_spark_would(owner, batch):
    for group in range(3):
        owner.put_raw_group([b"%d-%d" % (group, number) for number in range(1, 6)])
    owner.put_raw(b"single")
    third, msg_id = owner.on_queue()[10].group_id, owner.on_queue()[-1].md.MsgId
    by_id, by_number = ("group_id",), ("msg_seq_number",)
    for incomplete in ("false", "true"):
        everything = rows(*batch(includeIncomplete=incomplete))
        for filters, selects in (
            *(([datasource.EqualTo(by_id, value)], nothing) for value in (b"", b"\0", bytes(24), msg_id)),
            ([datasource.In(by_id, (b"\0", None))], nothing),
            ([datasource.In(by_id, (third, None, msg_id))], lambda row: row["group_id"] == third),
            (
                [datasource.EqualTo(by_id, third), datasource.GreaterThan(by_number, 3)],
                lambda row: row["group_id"] == third and row["msg_seq_number"] > 3,
            ),
            *(([datasource.EqualTo(by_number, value)], nothing) for value in (0, -1, 6)),
            ([datasource.EqualTo(by_number, 1)], lambda row: row["msg_seq_number"] == 1),
            ([datasource.LessThan(by_number, 3)], lambda row: row["msg_seq_number"] < 3),
            ([datasource.LessThanOrEqual(by_number, 3)], lambda row: row["msg_seq_number"] <= 3),
            ([datasource.GreaterThanOrEqual(by_number, 4)], lambda row: row["msg_seq_number"] >= 4),
            ([datasource.GreaterThan(by_number, 999_999_999)], nothing),
        ):
            found = rows(*batch(*filters, includeIncomplete=incomplete))
            assert found == [row for row in everything if selects(row)], (filters, incomplete)


@pytest.mark.embedded
def test_filters_decide_what_is_browsed(owner, batch, count_calls):
    for group in range(5):
        owner.put_raw_group([b"%d-%03d" % (group, number) for number in range(1, 51)])
    third = owner.on_queue()[100].group_id
    count_calls()
    filters = datasource.EqualTo(("group_id",), third), datasource.GreaterThan(("msg_seq_number",), 48)
    assert values(*batch(*filters)) == [b"2-049", b"2-050"]
    # The group, its size, and two messages.
    assert count_calls()["MQGET"] < 20


def test_a_planned_group_that_is_gone_fails_or_is_left_out(owner, batch):
    owner.put_raw_group([b"a1", b"a2"])
    owner.put_raw_group([b"b1", b"b2"])
    strict, lenient = batch(), batch(failOnDataLoss="false")
    handle = owner.eye.open(owner.queue, mqi.MQOO_INPUT_SHARED)
    assert [handle.get().data, handle.get().data] == [b"a1", b"a2"]
    handle.close()
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
    stream = Stream({**mq_options, "queue": owner.queue, "reservationTimeoutMs": "0"})
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


@pytest.mark.parametrize("eager", ["auto", "false"])
@pytest.mark.parametrize("available_now", [True, False])
def test_groups_of_one_group_id_are_read_one_after_the_other(owner, stream, available_now, eager):
    # A beginning that looks complete because of the group behind it.
    put_to(owner, b"I" * 24, (1, b"d1"), (2, b"d2"), (1, b"i1."))
    owner.put_raw_group([b"u1", b"u2"])
    put_to(owner, b"G" * 24, (1, b"a1"), (2, b"a2."), (1, b"b1"), (1, b"b1"), (2, b"b2"), (3, b"b3."), (1, b"c1."))
    put_stamped(owner, *[(b"%d" % number, b"13482001") for number in range(3)])
    options = {"eagerCommit": eager, "maxGroupsPerTrigger": "10"}
    found = stream.run(available_now=available_now, **options)
    # Spark lets a micro-batch be removed when there is a next one, so that one may be empty.
    assert list(filter(None, found)) == [
        [[b"0", b"1", b"2"], [b"a1", b"a2."], [b"i1."], [b"u1", b"u2"]],
        [[b"b1", b"b2", b"b3."]],
        [[b"c1."]],
    ]
    assert len(found) == 3 or not available_now or eager == "false"
    # The message that came twice stays, and keeps nothing back.
    for name in (b"x1", b"y1"):
        owner.put_raw_group([name])
        assert list(filter(None, stream.run(available_now=available_now, **options))) == [[[name]]]
    assert owner.data()[:3] == [b"d1", b"d2", b"b1"]
    assert b"c1." not in owner.data()


def test_all_that_is_on_the_queue_is_read_in_a_batch(owner, batch):
    put_to(owner, b"G" * 24, (1, b"a1"), (2, b"a2."), (1, b"b1"), (2, b"b2."))
    put_stamped(owner, *[(b"%d" % number, b"13482001") for number in range(2)])
    # These are of no complete group: the copy of a first message, and a beginning.
    put_to(owner, b"H" * 24, (1, b"c1"), (1, b"c1"), (2, b"c2."))
    put_to(owner, b"I" * 24, (1, b"d1"), (2, b"d2"), (1, b"e1."))
    assert values(*batch()) == [b"0", b"1", b"a1", b"a2.", b"b1", b"b2.", b"c1", b"c2.", b"e1."]
    assert values(*batch(datasource.EqualTo(("group_id",), b"G" * 24))) == [b"a1", b"a2.", b"b1", b"b2."]
    assert values(*batch(datasource.EqualTo(("msg_seq_number",), 2))) == [b"a2.", b"b2.", b"c2."]
    everything = [b"0", b"1", b"a1", b"a2.", b"b1", b"b2.", b"c1", b"c1", b"c2.", b"d1", b"d2", b"e1."]
    assert values(*batch(includeIncomplete="true")) == everything


def test_limits_are_kept_by_whole_groups(owner, stream):
    for limits, sizes in (
        ({"maxMessagesPerTrigger": "5"}, [2, 1, 1]),
        ({"maxBytesPerTrigger": "60"}, [3, 1]),
        ({"maxGroupsPerTrigger": "3", "maxMessagesPerTrigger": "3"}, [1, 1, 1, 1]),
        ({"maxMessagesPerTrigger": "1"}, [1, 1, 1, 1]),
    ):
        for number, size in enumerate([2, 2, 2, 4]):
            owner.put_raw_group([b"group%04d%d" % (number, message) for message in range(size)])
        assert [len(batch) for batch in stream.run(**limits)] == sizes, limits
        assert owner.data() == []


def test_the_progress_tells_what_waits(owner, stream):
    for name in (b"a", b"b", b"c"):
        owner.put_raw_group([name + b"1", name + b"2"])
    stream.run(maxGroupsPerTrigger="1")
    assert [(each["queue"], each["depth"], each["unfinished"], each["waiting"]) for each in stream.reports] == [
        (owner.queue, 6, 1, 2),
        (owner.queue, 4, 1, 1),
        (owner.queue, 2, 1, 0),
    ]


def test_without_eager_commit_the_last_micro_batch_stays_until_there_is_more(owner, stream):
    for name in (b"a", b"b"):
        owner.put_raw_group([name + b"1", name + b"2"])
    assert stream.run(maxGroupsPerTrigger="1", eagerCommit="false") == [[[b"a1", b"a2"]], [[b"b1", b"b2"]]]
    assert owner.data() == [b"b1", b"b2"]
    owner.put_raw_group([b"c1"])
    assert stream.run(eagerCommit="false") == [[[b"c1"]]]
    assert owner.data() == [b"c1"]
    # With it, an idle query that is not told to end leaves nothing.
    assert stream.run(eagerCommit="true", available_now=False) == []
    assert owner.data() == []


def test_a_second_query_on_a_queue_is_refused(owner, stream):
    first = stream.reader()
    nothing_new = first.initialOffset()
    assert first.partitions(nothing_new, nothing_new) == []
    said = f"queue {owner.queue} is still open for input by another application \\(2042\\)"
    with pytest.raises(QueueReserved, match=said):
        stream.reader().initialOffset()


def test_a_planned_group_that_is_gone_fails_the_query(owner, stream):
    owner.put_raw_group([b"a1", b"a2"])
    owner.put_raw_group([b"b1"])
    stream.fails = True
    with pytest.raises(ZeroDivisionError):
        stream.run()
    stream.fails = False
    handle = owner.eye.open(owner.queue, mqi.MQOO_INPUT_SHARED)
    assert handle.get().data == b"a1"
    handle.close()
    with pytest.raises(GroupGone):
        stream.run()
    assert stream.run(failOnDataLoss="false") == [[[b"b1"]]]
    assert owner.data() == []


def test_a_micro_batch_that_no_task_has_read_is_not_removed(owner, stream):
    """Spark's files of a new checkpoint are written by an old folder's account: the micro-batch is done already."""
    owner.put_raw_group([b"b1", b"b2"])
    stream.checkpoint._process = lambda *_: None
    with pytest.raises(CheckpointUnusable, match="its 1 groups were not read"):
        stream.run()
    assert stream.run(eagerCommit="false") == []
    owner.put_raw_group([b"c1"])
    with pytest.raises(CheckpointUnusable, match="its 1 groups were not read"):
        stream.run(eagerCommit="false")
    assert owner.data() == [b"b1", b"b2", b"c1"]


def test_a_status_queue_that_was_emptied_stops_the_query(owner, stream):
    owner.put_raw_group([b"a1"])
    stream.run(eagerCommit="false")
    handle = owner.eye.open(f"MQGROUPS.SOURCE.{owner.queue}", mqi.MQOO_INPUT_SHARED)
    assert handle.get().code == OK
    handle.close()
    with pytest.raises(CheckpointUnusable, match=f"is not on status queue MQGROUPS.SOURCE.{owner.queue}"):
        stream.run()
    assert owner.data() == [b"a1"]


def test_the_status_queue_of_a_sink_is_refused(owner, stream, batches):
    assert batches.attempt().put_group("A", messages("A", 1)) == 1
    with pytest.raises(StatusQueueUnusable, match=f"status queue {batches.status_queue} has a status record of "):
        stream.run(statusQueue=batches.status_queue)

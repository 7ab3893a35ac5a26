"""Channels between the queue managers of a cluster: every persistent message arrives once, whatever stops, breaks or dies; and
what becomes of messages that cannot be delivered.

Source: IBM MQ, topics "Channel message sequence numbering" (q015480), "What happens when a cluster queue manager fails"
(q039330), "What happens when a message cannot be delivered?" (q015720), "Dead-letter queues" (q002680), "MQOPEN and clusters"
(q027030).
"""

from __future__ import annotations

import contextlib
import os
import random
import struct
import time

import pytest

from embedded_tests.cluster_sites import NAMES
from embedded_tests.fix_cluster import DEAD_LETTERS, went_to
from embedded_tests.fix_mqi import OK, PATIENCE_MS, text, wait_until
from embedded_tests.tables import table
from mqembedded import ControlError, EmbeddedQueueManagerError, Fault
from mqembedded import constants as mq
from mqembedded.channels.settings import ChannelSettings

pytestmark = pytest.mark.embedded

LO = mq.MQPMO_LOGICAL_ORDER
IN, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP
DLH = struct.Struct("<4sii48s48sii8si28s8s8s")
OUT = {
    "open": mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_OPEN,
    "group": mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP,
    "not fixed": mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED,
}


def numbered(count):
    return [b"%d" % number for number in range(count)]


def to_qm2(cluster, attributes="", **more):
    """A queue at QM2 and a handle at QM1 that puts to it."""
    queue = cluster.define(attributes, at=("QM2",), **more)
    return queue, cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT)


def letters(cluster, q_mgr_name, queue):
    """Reason, data and descriptor of the dead letters that were for a queue."""
    found = []
    for letter in cluster.browse(q_mgr_name, DEAD_LETTERS):
        header = DLH.unpack_from(letter.data)
        if text(header[3]) == queue:
            found.append((header[2], letter.data[DLH.size :], letter.md))
    return found


# --- order


def test_more_than_a_batch_arrives_in_order(cluster):
    queue, out = to_qm2(cluster)
    for data in numbered(120):
        out.put(data)
    cluster.waits_for("QM2", queue, 120)
    assert cluster.data("QM2", queue) == numbered(120)
    assert cluster.depth("QM1", "SYSTEM.CLUSTER.TRANSMIT.GRPCLUS.QM2") == 0


def test_messages_travel_when_their_unit_of_work_is_committed(cluster):
    queue = cluster.define(at=("QM2",))
    connection = cluster.connect("QM1")
    out = connection.open(queue, mq.MQOO_OUTPUT)
    out.put(b"never", mq.MQPMO_SYNCPOINT)
    connection.back_out()
    out.put(b"committed", mq.MQPMO_SYNCPOINT)
    assert cluster.channel("QM1", "QM2")["waiting"] == 1
    out.put(b"outside")
    cluster.waits_for("QM2", queue, 1)
    connection.commit()
    cluster.waits_for("QM2", queue, 2)
    assert cluster.data("QM2", queue) == [b"outside", b"committed"]


def test_physical_order_differs_from_logical_order_where_messages_are_interleaved(cluster):
    """As in Figure 2 of "Logical and physical ordering": the same groups, another physical order."""
    queue = cluster.define(at=("QM2",))
    control = cluster.embedded["QM1"].control
    control.stop_channel("QM2")
    outs = [cluster.connect("QM1").open(queue, OUT["group"]) for _ in range(3)]
    for number in range(1, 6):
        for name, out in zip(b"YZX", outs, strict=True):
            out.put(b"%c%d" % (name, number), LO, MsgFlags=LAST if number == 5 else IN)
    control.interleave_channel("QM2", 7)
    control.start_channel("QM2")
    cluster.waits_for("QM2", queue, 15)
    groups = {name: [b"%c%d" % (name, number) for number in range(1, 6)] for name in b"YZX"}
    physical = cluster.data("QM2", queue)
    assert any([data for data in physical if data[0] == name] != group for name, group in groups.items())
    source = cluster.connect("QM2").open(queue, mq.MQOO_INPUT_SHARED)
    logical = [answer.data for answer in source.all(mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_ALL_MSGS_AVAILABLE)]
    taken = [logical[at : at + 5] for at in (0, 5, 10)]
    assert sorted(taken) == sorted(groups.values())


# --- what a message brings along


def test_a_message_arrives_as_it_was_put(cluster):
    queue, out = to_qm2(cluster)
    sent = out.put(
        b"data",
        CorrelId=b"correlation".ljust(24),
        Priority=7,
        Expiry=36_000,
        Format=b"MQHMDE  ",
        ReplyToQ=b"SOMEWHERE",
        Report=mq.MQRO_EXCEPTION,
    )
    cluster.waits_for("QM2", queue, 1)
    got = cluster.connect("QM2").open(queue, mq.MQOO_INPUT_SHARED).get()
    assert got.data == b"data"
    for field in ("MsgId", "CorrelId", "Priority", "Persistence", "Format", "PutDate", "PutTime", "UserIdentifier"):
        assert getattr(got.md, field) == getattr(sent.md, field)
    assert (got.md.Report, text(got.md.ReplyToQ), text(got.md.ReplyToQMgr)) == (mq.MQRO_EXCEPTION, "SOMEWHERE", "QM1")
    assert 0 < got.md.Expiry <= 36_000


def test_groups_and_segments_arrive_as_they_were_put(cluster):
    queue, out = to_qm2(cluster)
    flags = (IN | mq.MQMF_SEGMENT, IN | mq.MQMF_LAST_SEGMENT, LAST)
    sent = [out.put(b"x" * 10, LO, MsgFlags=each) for each in flags]
    cluster.waits_for("QM2", queue, 3)
    got = cluster.browse("QM2", queue)
    assert [each.place for each in got] == [(sent[0].md.GroupId, *place) for place in ((1, 0), (1, 10), (2, 0))]
    assert [each.md.MsgFlags for each in got] == [
        IN | mq.MQMF_SEGMENT,
        IN | mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT,
        IN | LAST,
    ]


def test_on_a_transmission_queue_a_message_has_an_mqxqh(cluster):
    queue, out = to_qm2(cluster)
    cluster.embedded["QM1"].control.stop_channel("QM2")
    sent = out.put(b"data", MsgFlags=LAST, MsgSeqNumber=1)
    (waiting,) = cluster.browse("QM1", "SYSTEM.CLUSTER.TRANSMIT.GRPCLUS.QM2")
    struc_id, version, to_queue, to_q_mgr = struct.unpack_from("<4si48s48s", waiting.data)
    assert (struc_id, version, text(to_queue), text(to_q_mgr)) == (b"XQH ", 1, queue, "QM2")
    assert waiting.md.Format == mq.MQFMT_XMIT_Q_HEADER
    assert waiting.md.CorrelId == b"GRPCLUS.QM2".ljust(24)
    assert waiting.data[104:108] + waiting.data[428:432] == b"MD  MDE "
    assert waiting.data[104 + 48 : 104 + 72] == sent.md.MsgId
    assert waiting.data.endswith(b"data")


@table("garbage", [b"", b"XQH " + b"?" * 500])
def test_what_is_no_transmission_stays_and_is_in_nobodys_way(cluster, connect, garbage):
    queue, out = to_qm2(cluster)
    transmission_queue = "SYSTEM.CLUSTER.TRANSMIT.GRPCLUS.QM2"
    connection = connect(to=cluster.embedded["QM1"])
    connection.put1(transmission_queue, garbage, Format=mq.MQFMT_XMIT_Q_HEADER)
    out.put(b"data")
    cluster.waits_for("QM2", queue, 1)
    source = connection.open(transmission_queue, mq.MQOO_INPUT_SHARED)
    assert [answer.data for answer in source.all()] == [garbage]


def test_what_expires_on_its_way_does_not_arrive(cluster):
    queue, out = to_qm2(cluster)
    cluster.embedded["QM1"].control.stop_channel("QM2")
    out.put(b"late", Expiry=1)
    deadline = time.monotonic() + 0.1
    wait_until(lambda: time.monotonic() > deadline)
    out.put(b"in time")
    cluster.embedded["QM1"].control.start_channel("QM2")
    cluster.waits_for("QM2", queue, 1)
    assert cluster.data("QM2", queue) == [b"in time"]


# --- batches in doubt


@table("when", ["before", "after"])
def test_a_batch_that_is_cut_arrives_once(cluster, when):
    queue, out = to_qm2(cluster)
    cluster.embedded["QM1"].control.cut_channel("QM2", when)
    for data in numbered(10):
        out.put(data)
    cluster.waits_for("QM2", queue, 10)
    assert cluster.data("QM2", queue) == numbered(10)
    wait_until(lambda: cluster.channel("QM1", "QM2")["in_doubt"] == 0)


@table(("when", "arrived"), [("before", 0), ("after", 3)])
def test_a_batch_in_doubt_waits_until_its_channel_is_started(cluster, when, arrived):
    queue = cluster.define(at=("QM2", "QM3"))
    connection = cluster.connect("QM1")
    control = cluster.embedded["QM1"].control
    control.cut_channel("QM2", when, stop=True)
    out = connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED)
    for data in numbered(6):
        out.put(data, mq.MQPMO_SYNCPOINT)
    connection.commit()
    cluster.waits_for_status("QM1", "QM2", "STOPPED")
    # Not even messages that are not fixed go anywhere else while nobody knows whether they have arrived.
    assert cluster.channel("QM1", "QM2")["in_doubt"] == 3
    cluster.waits_for("QM3", queue, 3)
    assert len(cluster.browse("QM2", queue)) == arrived
    control.start_channel("QM2")
    cluster.waits_for("QM2", queue, 3)
    assert sorted(cluster.data("QM2", queue) + cluster.data("QM3", queue)) == numbered(6)


def test_a_cut_that_is_taken_back_does_not_happen(cluster):
    queue, out = to_qm2(cluster)
    control = cluster.embedded["QM1"].control
    control.cut_channel("QM2", "before", stop=True)
    control.cut_channel("QM2", "")
    out.put(b"not cut")
    cluster.waits_for("QM2", queue, 1)
    wait_until(lambda: cluster.channel("QM1", "QM2")["in_doubt"] == 0)
    assert cluster.channel("QM1", "QM2")["status"] == "RUNNING"


@pytest.fixture
def cluster_of_two(make_cluster):
    return make_cluster(("QM1", "QM2"), ChannelSettings(batchsz=5, retry_s=0.02))


@table("when", ["before", "after"])
@table("dies", ["QM1", "QM2"])
def test_a_batch_in_doubt_arrives_once_though_an_end_of_the_channel_is_killed(cluster_of_two, dies, when):
    cluster = cluster_of_two
    queue = cluster.define(at=("QM2",))
    cluster.embedded["QM1"].control.cut_channel("QM2", when, stop=True)
    connection = cluster.connect("QM1")
    out = connection.open(queue, mq.MQOO_OUTPUT)
    for data in numbered(5):
        out.put(data, mq.MQPMO_SYNCPOINT)
    connection.commit()
    cluster.waits_for_status("QM1", "QM2", "STOPPED")
    assert cluster.channel("QM1", "QM2")["in_doubt"] == 5
    cluster.embedded[dies].kill()
    cluster.embedded[dies].start()
    # A queue manager that starts starts its channels; the other one's has to be.
    cluster.embedded["QM1"].control.start_channel("QM2")
    cluster.waits_for("QM2", queue, 5)
    assert cluster.data("QM2", queue) == numbered(5)
    wait_until(lambda: cluster.channel("QM1", "QM2")["waiting"] == 0)


@table("when", ["before", "after"])
@table("nth", [1, 2, 3])
@table("action", ["kill_server", "drop"])
def test_messages_arrive_once_whichever_call_of_a_channel_its_receiving_end_dies_at(cluster_of_two, action, nth, when):
    """The first call meets the partner, the others bring a batch each."""
    cluster = cluster_of_two
    queue = cluster.define(at=("QM2",))
    control = cluster.embedded["QM1"].control
    control.stop_channel("QM2")
    cluster.embedded["QM2"].arm(Fault(action, when, verb="CHANNEL", nth=nth))
    control.start_channel("QM2")
    connection = cluster.connect("QM1")
    out = connection.open(queue, mq.MQOO_OUTPUT)
    for data in numbered(12):
        out.put(data, mq.MQPMO_SYNCPOINT)
    connection.commit()
    if action == "kill_server":
        cluster.embedded["QM2"].wait()
        cluster.embedded["QM2"].start()
    cluster.waits_for("QM2", queue, 12)
    assert action == "kill_server" or cluster.embedded["QM2"].faults_fired() == 1
    wait_until(lambda: cluster.channel("QM1", "QM2")["in_doubt"] == 0)
    assert cluster.data("QM2", queue) == numbered(12)


def test_messages_wait_for_a_queue_manager_that_is_down(make_cluster):
    cluster = make_cluster()
    queue = cluster.define("DEFBIND(NOTFIXED)", at=("QM2", "QM3"))
    connection = cluster.connect("QM1")
    bound = connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    assert went_to(bound.put(b"g1", LO, MsgFlags=IN)) == "QM2"
    cluster.waits_for("QM2", queue, 1)
    cluster.embedded["QM2"].kill()
    assert went_to(bound.put(b"g2", LO, MsgFlags=LAST)) == "QM2"
    cluster.waits_for_status("QM1", "QM2", "RETRYING")
    # The cluster goes on without it, and knows its queue still.
    assert {went_to(connection.put1(queue, b"loose")) for _ in range(3)} == {"QM3"}
    assert {went_to(bound.put(b"whole", LO, MsgFlags=LAST)) for _ in range(2)} == {"QM3"}
    cluster.embedded["QM2"].start()
    cluster.waits_for("QM2", queue, 2)
    assert cluster.data("QM2", queue) == [b"g1", b"g2"]
    cluster.waits_for_status("QM1", "QM2", "RUNNING")
    assert {went_to(connection.put1(queue)) for _ in range(2)} == {"QM2", "QM3"}


def test_messages_that_are_not_fixed_leave_the_transmission_queue_of_a_stopped_channel(cluster):
    queue = cluster.define(at=("QM2", "QM3"))
    connection = cluster.connect("QM1")
    control = cluster.embedded["QM1"].control
    control.slow_channel("QM2", 3600)
    for option in OUT.values():
        out = connection.open(queue, option)
        while went_to(out.put(b"%d" % option, LO, MsgFlags=LAST)) != "QM2":
            pass
    control.stop_channel("QM2")
    control.slow_channel("QM2", 0)
    wait_until(lambda: b"%d" % OUT["not fixed"] in cluster.data("QM3", queue))
    assert cluster.channel("QM1", "QM2")["waiting"] == 2
    control.start_channel("QM2")
    cluster.waits_for("QM2", queue, 2)
    assert set(cluster.data("QM2", queue)) == {b"%d" % OUT["open"], b"%d" % OUT["group"]}


# --- messages that are not persistent


def test_a_message_that_is_not_persistent_is_lost_with_a_fast_channel(cluster):
    queue, out = to_qm2(cluster)
    cluster.embedded["QM1"].control.cut_channel("QM2", "before")
    out.put(b"lost", Persistence=mq.MQPER_NOT_PERSISTENT)
    wait_until(lambda: cluster.channel("QM1", "QM2")["waiting"] == 0)
    out.put(b"arrives", Persistence=mq.MQPER_NOT_PERSISTENT)
    cluster.waits_for("QM2", queue, 1)
    assert cluster.data("QM2", queue) == [b"arrives"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_message_that_is_not_persistent_arrives_once_over_a_normal_channel(make_cluster, when):
    cluster = make_cluster(("QM1", "QM2"), ChannelSettings(npmspeed="NORMAL", retry_s=0.05))
    queue, out = to_qm2(cluster)
    cluster.embedded["QM1"].control.cut_channel("QM2", when)
    out.put(b"n", Persistence=mq.MQPER_NOT_PERSISTENT)
    cluster.waits_for("QM2", queue, 1)
    wait_until(lambda: cluster.channel("QM1", "QM2")["in_doubt"] == 0)
    assert cluster.data("QM2", queue) == [b"n"]


# --- what cannot be delivered


@table(
    ("attributes", "reason", "first"),
    [
        ("MAXDEPTH(1)", mq.MQRC_Q_FULL, [b"1"]),
        ("MAXMSGL(2)", mq.MQRC_MSG_TOO_BIG_FOR_Q, [b"1"]),
    ],
)
@table("bound", OUT)
def test_what_a_queue_does_not_take_goes_to_the_dead_letter_queue(cluster, attributes, reason, first, bound):
    queue = cluster.define(attributes, at=("QM2",))
    out = cluster.connect("QM1").open(queue, OUT[bound])
    out.put(b"1", LO, MsgFlags=IN)
    sent = out.put(b"too much", LO, MsgFlags=LAST)
    assert sent.code == OK
    wait_until(lambda: bool(letters(cluster, "QM2", queue)))
    ((found, data, md),) = letters(cluster, "QM2", queue)
    assert (found, data) == (reason, b"too much")
    assert (md.Format, md.MsgId) == (mq.MQFMT_DEAD_LETTER_HEADER, sent.md.MsgId)
    assert (md.GroupId, md.MsgSeqNumber, md.MsgFlags) == (sent.md.GroupId, 2, IN | LAST)
    assert cluster.data("QM2", queue) == first


def test_an_mqdlh_says_where_a_message_was_going(cluster):
    queue = cluster.define(at=("QM2",))
    connection = cluster.connect("QM1")
    cluster.embedded["QM1"].control.stop_channel("QM2")
    connection.open(queue, OUT["open"]).put(b"data")
    cluster.mqsc("QM2", f"DELETE QLOCAL({queue})")
    cluster.embedded["QM1"].control.start_channel("QM2")
    wait_until(lambda: bool(letters(cluster, "QM2", queue)))
    letter = cluster.browse("QM2", DEAD_LETTERS)[-1]
    struc_id, version, reason, to_queue, to_q_mgr, _, _, format_, *_ = DLH.unpack_from(letter.data)
    assert (struc_id, version, reason) == (b"DLH ", 1, mq.MQRC_UNKNOWN_OBJECT_NAME)
    assert (text(to_queue), text(to_q_mgr), format_) == (queue, "QM2", mq.MQFMT_NONE)


def test_a_full_queue_is_tried_again(make_cluster):
    cluster = make_cluster(("QM1", "QM2"), ChannelSettings(mrrty=1000, mrtmr=20))
    queue, out = to_qm2(cluster, "MAXDEPTH(2)")
    for data in (b"0", b"1"):
        out.put(data)
    cluster.waits_for("QM2", queue, 2)
    for data in (b"2", b"3"):
        out.put(data)
    source = cluster.connect("QM2").open(queue, mq.MQOO_INPUT_SHARED)
    assert [source.get(wait_ms=PATIENCE_MS).data for _ in range(4)] == numbered(4)
    assert letters(cluster, "QM2", queue) == []


def inhibited_on_arrival(cluster, bound):
    """A queue with three instances, two messages of a group at QM2, and two more that arrive when it is put inhibited."""
    queue = cluster.define("CLWLUSEQ(ANY)")
    out = cluster.connect("QM1").open(queue, OUT[bound])
    while went_to(out.put(b"1", LO, MsgFlags=IN)) != "QM2":
        out.put(b"", LO, MsgFlags=LAST)
        if bound == "open":
            out = cluster.connect("QM1").open(queue, OUT[bound])
    assert went_to(out.put(b"2", LO, MsgFlags=IN)) == "QM2"
    wait_until(lambda: {b"1", b"2"} <= set(cluster.data("QM2", queue)))
    cluster.embedded["QM1"].control.stop_channel("QM2")
    cluster.mqsc("QM2", f"ALTER QLOCAL({queue}) PUT(DISABLED)")
    assert went_to(out.put(b"3", LO, MsgFlags=IN)) == "QM2"
    assert went_to(out.put(b"4", LO, MsgFlags=LAST)) == "QM2"
    cluster.embedded["QM1"].control.start_channel("QM2")
    return queue


def test_a_group_splits_when_its_instance_is_put_inhibited_in_the_middle_of_it(cluster):
    """The note in "MQOPEN and clusters": the receiving queue manager balances the rest of the group, one message after the
    other."""
    queue = inhibited_on_arrival(cluster, "group")
    wait_until(lambda: {b"3", b"4"} <= {*cluster.data("QM1", queue), *cluster.data("QM3", queue)})
    assert {b"3", b"4"}.isdisjoint(cluster.data("QM2", queue))
    assert [b"3" in cluster.data("QM1", queue), b"4" in cluster.data("QM1", queue)] in ([True, False], [False, True])
    assert letters(cluster, "QM2", queue) == []


def test_what_is_bound_on_open_does_not_go_anywhere_else(cluster):
    queue = inhibited_on_arrival(cluster, "open")
    wait_until(lambda: len(letters(cluster, "QM2", queue)) == 2)
    assert [(reason, data) for reason, data, _ in letters(cluster, "QM2", queue)] == [
        (mq.MQRC_PUT_INHIBITED, b"3"),
        (mq.MQRC_PUT_INHIBITED, b"4"),
    ]


def test_without_another_instance_an_inhibited_one_is_a_dead_letter_too(cluster):
    queue = cluster.define(at=("QM2",))
    out = cluster.connect("QM1").open(queue, OUT["group"])
    cluster.embedded["QM1"].control.stop_channel("QM2")
    out.put(b"1", LO, MsgFlags=LAST)
    cluster.mqsc("QM2", f"ALTER QLOCAL({queue}) PUT(DISABLED)")
    cluster.embedded["QM1"].control.start_channel("QM2")
    wait_until(lambda: [each[:2] for each in letters(cluster, "QM2", queue)] == [(mq.MQRC_PUT_INHIBITED, b"1")])


def test_without_a_dead_letter_queue_the_channel_cannot_go_on(make_cluster):
    cluster = make_cluster(("QM1", "QM2"), ChannelSettings(mrrty=0, retry_s=0.02))
    cluster.mqsc("QM2", "ALTER QMGR DEADQ(' ')")
    queue, out = to_qm2(cluster, "MAXDEPTH(2)")
    for data in numbered(5):
        out.put(data)
    cluster.waits_for_status("QM1", "QM2", "RETRYING")
    assert "MQRC_Q_FULL" in cluster.channel("QM1", "QM2")["problem"]
    source = cluster.connect("QM2").open(queue, mq.MQOO_INPUT_SHARED)
    cluster.mqsc("QM2", f"ALTER QLOCAL({queue}) MAXDEPTH(100)")
    assert [source.get(wait_ms=PATIENCE_MS).data for _ in range(5)] == numbered(5)


@table(("report", "kept"), [(mq.MQRO_EXCEPTION, 1), (mq.MQRO_EXCEPTION | mq.MQRO_DISCARD_MSG, 0)])
def test_an_exception_report_tells_the_sender(cluster, report, kept):
    queue, out = to_qm2(cluster, "MAXMSGL(2)")
    cluster.mqsc("QM1", f"DEFINE QLOCAL({queue}.REPLY)")
    way = "PROFILE('SYSTEM.CLUSTER.TRANSMIT.QUEUE')"
    cluster.mqsc("QM2", f"SET AUTHREC {way} OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT,PASSID)")
    sent = out.put(b"too long", Report=report, ReplyToQ=f"{queue}.REPLY".encode())
    told = cluster.connect("QM1").open(f"{queue}.REPLY", mq.MQOO_INPUT_SHARED).get(wait_ms=PATIENCE_MS)
    assert (told.md.MsgType, told.md.Feedback) == (mq.MQMT_REPORT, mq.MQRC_MSG_TOO_BIG_FOR_Q)
    assert told.md.CorrelId == sent.md.MsgId
    assert len(letters(cluster, "QM2", queue)) == kept


# --- everything at once


@pytest.mark.slow
def test_groups_arrive_whole_and_once_whatever_breaks_and_dies(make_cluster):
    """Producers at two queue managers, three instances, and between their groups a channel is cut, stopped, mixed up or slow, or
    a queue manager is killed, at a place that is drawn (MQEMBEDDED_CHANNELS_SEED for other places)."""
    draw = random.Random(int(os.environ.get("MQEMBEDDED_CHANNELS_SEED", "1")))
    cluster = make_cluster(NAMES, ChannelSettings(batchsz=7, mrrty=2, mrtmr=20, retry_s=0.02))
    queue = cluster.define("CLWLUSEQ(ANY) DEFBIND(GROUP) MAXDEPTH(100000)")
    expected: dict[bytes, tuple[str, int]] = {}

    def put_a_group(at):
        """A group in two units of work; nothing goes wrong at its own queue manager meanwhile."""
        connection = cluster.connect(at)
        out = connection.open(queue, mq.MQOO_OUTPUT)
        length = draw.randint(1, 12)
        answers = []
        for number in range(1, length + 1):
            answers.append(out.put(b"%d" % number, LO | mq.MQPMO_SYNCPOINT, MsgFlags=LAST if number == length else IN))
            if number in (length // 2, length):
                assert connection.commit() == OK
        assert len({went_to(answer) for answer in answers}) == 1
        expected[answers[0].md.GroupId] = (went_to(answers[0]), length)
        connection.disconnect()

    def break_something():
        at = draw.choice(["QM1", "QM2"])
        to = draw.choice([name for name in NAMES if name != at])
        control = cluster.embedded[at].control
        what = draw.choice(["cut", "cut", "stop", "start", "interleave", "slow", "kill", "kill at a batch"])
        if what == "cut":
            control.cut_channel(to, draw.choice(["before", "after"]))
        elif what == "stop":
            control.stop_channel(to)
        elif what == "start":
            control.start_channel(to)
        elif what == "interleave":
            control.interleave_channel(to, draw.randrange(1000))
        elif what == "slow":
            control.slow_channel(to, draw.choice([0, 0.02]))
        elif what == "kill":
            cluster.embedded[at].kill()
            cluster.embedded[at].start()
        else:
            # Nobody puts there, so it may die at any moment, and perhaps has already.
            fault = Fault("kill_server", draw.choice(["before", "after"]), verb="CHANNEL", nth=draw.randint(1, 3))
            with contextlib.suppress(ControlError, EmbeddedQueueManagerError):
                cluster.embedded["QM3"].arm(fault)

    def start_what_died():
        if not cluster.embedded["QM3"].is_running:
            cluster.embedded["QM3"].start()

    for _ in range(40):
        put_a_group(draw.choice(["QM1", "QM2"]))
        if draw.random() < 0.5:
            start_what_died()
            break_something()
    cluster.embedded["QM3"].kill()
    cluster.embedded["QM3"].start()
    for at in NAMES:
        for to in NAMES:
            if at != to:
                cluster.embedded[at].control.slow_channel(to, 0)
                cluster.embedded[at].control.start_channel(to)
    cluster.waits_for_all(queue, sum(length for _, length in expected.values()))
    for name in NAMES:
        arrived: dict[bytes, list[int]] = {}
        for answer in cluster.browse(name, queue):
            arrived.setdefault(answer.md.GroupId, []).append(answer.md.MsgSeqNumber)
        whole = {group: list(range(1, length + 1)) for group, (where, length) in expected.items() if where == name}
        assert {group: sorted(numbers) for group, numbers in arrived.items()} == whole

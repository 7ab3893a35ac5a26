"""MQOO_BIND_ON_GROUP: each sentence of IBM MQ, topic "Logical and physical ordering", section "Putting logically ordered groups
to a clustered queue", is a test.
"""

from __future__ import annotations

import itertools

import pytest

from embedded_tests.cluster_sites import NAMES
from embedded_tests.fix_cluster import until_all_were_chosen, went_to
from embedded_tests.fix_mqi import MOST, OK, failed
from embedded_tests.tables import table
from mqembedded import constants as mq

LO = mq.MQPMO_LOGICAL_ORDER
IN, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP


@pytest.fixture
def queue(cluster):
    """A cluster queue with three instances, among which the local one is like the others."""
    return cluster.define("CLWLUSEQ(ANY) DEFBIND(OPEN)")


def put_group(out, count, data=b"x"):
    """Put a group in logical order, all of which goes to one queue manager; returns which."""
    went = [went_to(out.put(data, LO, MsgFlags=IN if number < count else LAST)) for number in range(1, count + 1)]
    assert len(set(went)) == 1
    return went[0]


def test_bind_on_open_routes_all_messages_and_so_all_groups_to_one_instance(cluster, queue):
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_OPEN)
    assert len({put_group(out, 3) for _ in range(4)}) == 1


def test_groups_are_balanced_over_the_instances_and_each_stays_whole(cluster, queue):
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    numbers = itertools.count()
    went = until_all_were_chosen(lambda: put_group(out, 4, b"%d" % next(numbers)))
    for name in NAMES:
        here = [b"%d" % number for number, where in enumerate(went) if where == name]
        cluster.waits_for(name, queue, 4 * len(here))
        assert sorted(cluster.data(name, queue)) == sorted(here * 4)


@pytest.mark.usefixtures("embedded_cluster")
def test_groups_take_turns(cluster, queue):
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    assert [put_group(out, 4) for _ in range(6)] == ["QM1", "QM2", "QM3"] * 2


def test_without_logical_order_messages_of_a_group_are_not_kept_together_by_the_option_alone(cluster, queue):
    """The first message that is put without logical order, with no group active, is balanced; it makes a group active."""
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    until_all_were_chosen(lambda: went_to(out.put(b"", MsgFlags=LAST, MsgSeqNumber=1)))


@table("options", [0, mq.MQOO_BIND_AS_Q_DEF])
def test_bind_as_q_def_with_defbind_group_is_the_same(cluster, options):
    queue = cluster.define("CLWLUSEQ(ANY) DEFBIND(GROUP)")
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | options)
    until_all_were_chosen(lambda: put_group(out, 2))


def test_balancing_between_groups_needs_no_close_and_open(cluster, queue):
    out = cluster.connect("QM2").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    until_all_were_chosen(lambda: put_group(out, 2))


def test_while_a_group_is_in_progress_the_resolved_names_are_used_again(cluster, queue):
    connection = cluster.connect("QM1")
    out = connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    first = out.put(b"1", LO | mq.MQPMO_SYNCPOINT, MsgFlags=IN)
    # Others are chosen meanwhile, and units of work end.
    other = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED)
    for _ in range(2):
        other.put(b"")
        assert connection.commit() == OK
        assert went_to(out.put(b"2", LO | mq.MQPMO_SYNCPOINT, MsgFlags=IN)) == went_to(first)
    assert went_to(out.put(b"3", LO | mq.MQPMO_SYNCPOINT, MsgFlags=LAST)) == went_to(first)
    assert connection.commit() == OK


def test_mqback_brings_the_resolved_names_back_with_the_group(cluster, queue):
    connection = cluster.connect("QM1")
    out = connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    first = went_to(out.put(b"1", LO | mq.MQPMO_SYNCPOINT, MsgFlags=IN))
    assert connection.commit() == OK
    assert went_to(out.put(b"2", LO | mq.MQPMO_SYNCPOINT, MsgFlags=LAST)) == first
    for _ in range(MOST):
        if went_to(out.put(b"1 of another", LO | mq.MQPMO_SYNCPOINT, MsgFlags=IN)) != first:
            break
        out.put(b"2 of another", LO | mq.MQPMO_SYNCPOINT, MsgFlags=LAST)
    else:
        pytest.fail("all groups went to one queue manager")
    assert connection.back_out() == OK
    assert went_to(out.put(b"2 again", LO | mq.MQPMO_SYNCPOINT, MsgFlags=LAST)) == first


@pytest.mark.parametrize(
    ("logical_order", "stranger"),
    [(LO, {}), (0, {}), (0, {"MsgFlags": IN, "GroupId": b"another group".ljust(24)})],
    ids=["in no group, in logical order", "in no group", "in another group"],
)
@pytest.mark.parametrize("before", [0, LO], ids=["previous without", "previous with logical order"])
def test_a_message_that_is_not_part_of_the_group_in_progress_fails(cluster, queue, before, stranger, logical_order):
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    first = out.put(b"1", before, MsgFlags=IN, MsgSeqNumber=1)
    assert first.code == OK
    assert out.put(b"?", logical_order, **stranger).code == failed(mq.MQRC_INCOMPLETE_GROUP)
    # And the group can go on.
    again = out.put(b"2", LO, MsgFlags=LAST)
    assert (again.code, went_to(again)) == (OK, went_to(first))
    assert again.md.GroupId == first.md.GroupId != mq.MQGI_NONE


def test_messages_without_logical_order_and_without_a_group_are_balanced_one_by_one(cluster, queue):
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    until_all_were_chosen(lambda: went_to(out.put(b"")))


def test_a_group_that_is_continued_without_logical_order_goes_on_at_any_instance(cluster, queue):
    """A restart as the text on restarting describes it: the first put names the group itself, and is balanced alone."""
    connection = cluster.connect("QM1")
    begun = connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP).put(b"1", LO, MsgFlags=IN)

    def go_on():
        restarted = connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
        second = restarted.put(b"2", MsgFlags=IN, GroupId=begun.md.GroupId, MsgSeqNumber=2)
        # From there on it stays together again.
        assert went_to(restarted.put(b"3", LO, MsgFlags=LAST)) == went_to(second)
        return went_to(second)

    until_all_were_chosen(go_on)


def test_a_restart_that_names_the_queue_manager_keeps_the_group_together(cluster, queue, mqi):
    begun = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP).put(b"1", LO, MsgFlags=IN)
    other = "QM2"
    while went_to(begun) != other:
        begun = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP).put(b"1", LO, MsgFlags=IN)
    od = mqi.od(ObjectName=queue.encode(), ObjectQMgrName=other.encode())
    out = cluster.connect("QM1").open("", mq.MQOO_OUTPUT, od=od)
    assert went_to(out.put(b"2", MsgFlags=IN, GroupId=begun.md.GroupId, MsgSeqNumber=2)) == other
    assert went_to(out.put(b"3", LO, MsgFlags=LAST)) == other
    cluster.waits_for(other, queue, 3)
    assert [answer.place for answer in cluster.browse(other, queue)] == [(begun.md.GroupId, n, 0) for n in (1, 2, 3)]


def test_messages_bound_by_group_are_not_reallocated(cluster, embedded_cluster, queue):
    """They wait on the transmission queue for the instance their group went to; others do not."""
    connection = cluster.connect("QM1")
    control = embedded_cluster["QM1"].control
    bound = connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    loose = connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED)
    control.slow_channel("QM2", 3600)
    while (begun := went_to(bound.put(b"bound", LO, MsgFlags=IN))) != "QM2":
        bound.put(b"", LO, MsgFlags=LAST)
    while went_to(loose.put(b"loose")) != "QM2":
        pass
    control.stop_channel("QM2")
    control.slow_channel("QM2", 0)
    assert begun == "QM2"
    assert went_to(bound.put(b"bound", LO, MsgFlags=LAST)) == "QM2"
    assert cluster.data("QM2", queue) == []
    assert cluster.channel("QM1", "QM2")["waiting"] == 2
    control.start_channel("QM2")
    cluster.waits_for("QM2", queue, 2)
    assert cluster.data("QM2", queue) == [b"bound", b"bound"]


def test_the_option_means_nothing_to_a_queue_that_is_in_no_cluster(cluster):
    queue = cluster.name()
    cluster.mqsc("QM1", f"DEFINE QLOCAL({queue})")
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    assert out.put(b"1", MsgFlags=IN, MsgSeqNumber=1).code == OK
    assert out.put(b"2").code == OK

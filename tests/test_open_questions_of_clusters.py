"""What this project knows of IBM MQ from reading only: clusters. What did these queue managers do?

As ``test_open_questions.py``: the calls, what IBM's texts are sure of as assertions, the rest as findings.

Sources: IBM MQ, topics "ResolvedQMgrName" (q098260 of the MQOD, q098810 of the MQPMO), "MQOPEN and clusters" (q027030), "Access
control and multiple cluster transmission queues" (q017170), "Logical and physical ordering" (MQOO_BIND_ON_GROUP), reason codes
2085, 2189.
"""

from __future__ import annotations

import pytest

from embedded_tests.cluster_sites import NAMES
from embedded_tests.fix_cluster import DEAD_LETTERS, went_to
from embedded_tests.fix_mqi import OK, PATIENCE_MS, failed, text, wait_until
from mqgroups.mqi import constants as mq

LO = mq.MQPMO_LOGICAL_ORDER
IN, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP
BINDINGS = {
    "BIND_ON_OPEN": mq.MQOO_BIND_ON_OPEN,
    "BIND_NOT_FIXED": mq.MQOO_BIND_NOT_FIXED,
    "BIND_ON_GROUP": mq.MQOO_BIND_ON_GROUP,
}
TRANSMISSION_QUEUE = "SYSTEM.CLUSTER.TRANSMIT.QUEUE"


@pytest.fixture
def queue(cluster):
    """A cluster queue with three instances, among which the local one is like the others."""
    return cluster.define("CLWLUSEQ(ANY) DEFBIND(GROUP)")


@pytest.mark.parametrize("binding_option", BINDINGS)
def test_what_is_resolved_at_open(cluster, queue, finding, binding_option):
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | BINDINGS[binding_option])
    assert out.code == OK
    resolved = text(out.od.ResolvedQMgrName)
    if binding_option == "BIND_ON_OPEN":
        assert resolved in NAMES
    elif binding_option == "BIND_NOT_FIXED":
        assert resolved == ""
    finding(f"MQOD.ResolvedQMgrName after MQOPEN with {binding_option} is blank", resolved == "")
    finding(
        f"MQOD.ResolvedQName after MQOPEN with {binding_option} is the queue's name",
        text(out.od.ResolvedQName) == queue,
    )


def test_does_the_first_put_of_a_group_say_where_it_went(cluster, queue, finding):
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    said, is_there = [], []
    for _ in range(3):
        first = out.put(b"", LO, MsgFlags=IN)
        said.append(went_to(first))
        assert out.put(b"", LO, MsgFlags=LAST).code == OK
        cluster.waits_for_all(queue, 2 * len(said))
        found = places(cluster, queue, first.md.GroupId)
        assert sorted(found.values()) == [[], [], [1, 2]]
        is_there.append(found.get(said[-1]) == [1, 2])
    finding(
        "MQPMO.ResolvedQMgrName after the first put of a group with BIND_ON_GROUP",
        "where it arrived" if all(is_there) else "blank" if not any(said) else ", ".join(said),
        "bind on group",
        {"where it arrived": "tells the instance", "blank": "tells nothing"},
    )
    finding("members that three groups in a row went to", len({*said}))


@pytest.fixture
def elsewhere(cluster):
    """A cluster queue without an instance at QM1."""
    return cluster.define(at=("QM2", "QM3"))


@pytest.fixture
def give(cluster, elsewhere, queue):
    """A function that gives user app authorities for SYSTEM.CLUSTER.TRANSMIT.QUEUE at QM1; it has none until then.

    Afterwards it has PUT again, as by the cluster's own files. The queues come first: who waits until all know them opens them.
    """
    command = f"SET AUTHREC PROFILE('{TRANSMISSION_QUEUE}') PRINCIPAL('app') OBJTYPE(QUEUE)"
    cluster.mqsc("QM1", f"{command} AUTHRMV(INQ,PUT)")
    yield lambda authority: cluster.mqsc("QM1", f"{command} AUTHADD({authority})")
    cluster.mqsc("QM1", f"{command} AUTHRMV(INQ)", f"{command} AUTHADD(PUT)")


@pytest.mark.parametrize("named", [False, True], ids=["not named", "named"])
def test_which_authority_does_it_take_to_put_to_another_member(cluster, elsewhere, queue, give, finding, named):
    connection = cluster.connect("QM1")
    name, q_mgr_name = (queue, b"QM2") if named else (elsewhere, b"")
    how = "MQOPEN that names QM2" if named else "MQOPEN of a cluster queue without a local instance"

    def code(options=mq.MQOO_OUTPUT):
        handle = connection.open(name, options, ObjectQMgrName=q_mgr_name)
        handle.close()
        return handle.code

    finding(f"{how}, with no authority for {TRANSMISSION_QUEUE}", code())
    give("PUT")
    finding(f"{how}, with PUT on {TRANSMISSION_QUEUE}", code())
    finding(f"{how} to inquire too, with PUT on {TRANSMISSION_QUEUE}", code(mq.MQOO_OUTPUT | mq.MQOO_INQUIRE))
    # The cluster's own files give PUT.
    assert code() == OK
    give("INQ")
    finding(f"{how} to inquire too, with INQ and PUT on {TRANSMISSION_QUEUE}", code(mq.MQOO_OUTPUT | mq.MQOO_INQUIRE))


@pytest.mark.usefixtures("give")
def test_which_error_wins_where_a_queue_elsewhere_is_to_be_got_from(cluster, elsewhere, finding):
    code = cluster.connect("QM1").open(elsewhere, mq.MQOO_INPUT_SHARED).code
    assert code.comp == mq.MQCC_FAILED
    finding(f"MQOPEN for input of a queue that is elsewhere, with no authority for {TRANSMISSION_QUEUE}", code)


def test_where_does_the_rest_of_a_group_go_when_its_instance_is_put_inhibited(cluster, queue, finding):
    """IBM's text says that a group may be split where its destination fills or is inhibited."""
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)

    def arrived():
        found = places(cluster, queue, first.md.GroupId)
        return [name for name, numbers in found.items() if numbers == [1]]

    while True:
        first = out.put(b"1", LO, MsgFlags=IN)
        wait_until(arrived)
        (begun,) = arrived()
        if begun != "QM1":
            break
        out.put(b"", LO, MsgFlags=LAST)
    group_id = first.md.GroupId
    cluster.alter(begun, queue, "PUT(DISABLED)")
    second, last = out.put(b"2", LO, MsgFlags=IN), out.put(b"3", LO, MsgFlags=LAST)
    finding("MQPUT of the second message of a group whose instance is put inhibited", second.code)
    finding("and ResolvedQMgrName then is that of the first", went_to(second) == went_to(first))
    put = [answer for answer in (first, second, last) if answer.code == OK]

    # What is put has to be somewhere in the end: at an instance, or among the dead letters of one.
    def somewhere():
        return [*places(cluster, queue, group_id).values(), *places(cluster, DEAD_LETTERS, group_id).values()]

    wait_until(lambda: sum(map(len, somewhere())) == len(put))
    found, letters = places(cluster, queue, group_id), places(cluster, DEAD_LETTERS, group_id)
    cluster.alter(begun, queue, "PUT(ENABLED)")
    finding("messages of that group at its instance", found.pop(begun))
    finding(
        "messages of that group at other instances", sorted(number for numbers in found.values() for number in numbers)
    )
    finding("messages of that group among dead letters", sum(map(len, letters.values())))
    went_on = any(found.values())
    finding(
        "messages for an instance that is put inhibited",
        "went on" if went_on and not any(letters.values()) else "dead letters" if not went_on else "both",
        "group at an inhibited instance",
        {"went on": "goes on to another", "dead letters": "becomes dead letters"},
    )


def places(cluster, queue, group_id):
    """Return the sequence numbers of a group's messages at each instance."""
    return {
        name: sorted(answer.md.MsgSeqNumber for answer in cluster.browse(name, queue) if answer.md.GroupId == group_id)
        for name in NAMES
    }


def test_how_is_a_name_refused_that_nobody_in_the_cluster_knows(cluster, finding):
    code = cluster.connect("QM1").open(cluster.name(), mq.MQOO_OUTPUT).code
    finding("MQOPEN at a full repository of a name that no member knows", code)
    assert code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)
    partial = cluster.connect("QM3").open(cluster.name(), mq.MQOO_OUTPUT).code
    finding("MQOPEN at a partial repository of a name that no member knows", partial)
    assert partial != OK


def test_what_does_a_message_look_like_that_came_through_a_channel(cluster, finding):
    queue = cluster.define(at=("QM2",))
    sent = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT).put(b"m", LO, MsgFlags=LAST)
    answer = cluster.connect("QM2").open(queue, mq.MQOO_INPUT_SHARED).get(wait_ms=PATIENCE_MS)
    assert (answer.code, answer.md.MsgId, answer.md.GroupId) == (OK, sent.md.MsgId, sent.md.GroupId)
    finding("MsgFlags of the last message of a group that came through a channel", hex(answer.md.MsgFlags))
    finding("Format of a message of a group that came through a channel", text(answer.md.Format) or "blank")

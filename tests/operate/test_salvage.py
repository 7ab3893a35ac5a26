"""A status record that is lost or damaged: what lies on the queue is found by browsing, the record rebuilt, or the group moved.

Records are taken away by raw calls; what is on the queues at the end is looked at by raw calls.
"""

from __future__ import annotations

import io
import itertools
import json
import signal
import subprocess
from typing import Any

import pytest

import mqgroups.operate.command_server
from mqgroups import errors, operate
from mqgroups.connection.holder import connection_of
from mqgroups.core.inspection import Place, Run
from mqgroups.embedded import Fault
from mqgroups.mqi import constants as mq
from mqgroups.operate.browse import inspect_queue
from tests.fix_batches import messages
from tests.fix_mqi import EMPTY, OK, wait_until

THIS = [b"%d" % number for number in range(1, 8)]
MIG, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP
SEG = mq.MQMF_SEGMENT
A, B = b"A" * 24, b"B" * 24
# What no browsing can tell: the record's owner, and what the application gave.
NOT_ON_THE_QUEUE = {"sha256", "owner_id", "epoch", "unit_of_work", "checkpoint"}
statuses = pytest.mark.parametrize("status", ["classic", "segmented"])


class EndsEarly(io.BytesIO):
    """A stream that breaks after eight bytes."""

    def read(self, size=-1):
        if self.tell() >= 8:
            raise EOFError
        return super().read(size)


@pytest.fixture
def unasked(monkeypatch):
    """Nobody can ask the command server."""
    monkeypatch.setattr(mqgroups.operate.command_server, "_COMMAND_QUEUE", "NO.SUCH.QUEUE")


def lose(owner, role):
    """Take everything from a status queue; returns the last record there was."""
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_INPUT_EXCLUSIVE)
    assert handle.code == OK
    found = handle.all()
    assert handle.close() == OK
    return json.loads(found[-1].data)


def known(record):
    """What of a status record the messages of its group say."""
    return {name: value for name, value in record.items() if name not in NOT_ON_THE_QUEUE}


def resume_put(owner, payloads, **more):
    """Start the producer again and put the rest."""
    with owner.producer(**more) as producer, producer.group() as group:
        for payload in payloads[group.resume_from :]:
            group.put(payload)


def interrupt_get(owner, committed=4, **more):
    """Get messages in units of work of two, and lose the connection in the next one."""
    qmgr = owner.connect()
    for message in next(iter(owner.consumer(qmgr, **more))):
        if message.msg_seq_number == committed + 1:
            break
    qmgr.close()


def rest(owner, **more):
    """Start the consumer again; returns number and data of what it gets."""
    with owner.consumer(**more) as consumer:
        return [(message.msg_seq_number, message.data) for group in consumer for message in group]


def assert_whole(owner, payloads, queue=None):
    """The queue holds one group: each message once, in order, the last one last, one GroupId, one persistence."""
    found = owner.on_queue(queue)
    assert [(message.msg_seq_number, message.data) for message in found] == list(enumerate(payloads, 1))
    assert [message.is_last for message in found] == [False] * (len(payloads) - 1) + [True]
    assert len({message.group_id for message in found}) == 1
    assert {message.md.Persistence for message in found} == {mq.MQPER_PERSISTENT}


def put(owner, group_id, *places, flags=MIG, **fields):
    """Put messages of a group, with these numbers."""
    for number in places:
        data = b"%d" % number
        owner.put_raw(data, GroupId=group_id, MsgSeqNumber=number, MsgFlags=flags, Persistence=1, **fields)


def refused(owner, role, **more):
    """Return why an owner's record is not rebuilt; nothing may change."""
    before = [message.md.pack() for message in owner.on_queue()], owner.records(role)
    with pytest.raises(errors.SalvageRefused) as caught:
        operate.salvage_owner(owner.qmgr, owner.name, role, queue=owner.queue, **more)
    assert ([message.md.pack() for message in owner.on_queue()], owner.records(role)) == before
    can_be_accepted = caught.value.because in ("in-use", "other-owners", "begun", "nothing-interrupted")
    assert (f"accept {caught.value.because!r}" in str(caught.value)) is can_be_accepted
    return caught.value.because


# --- looking


def test_groups_are_found_without_a_record_and_nothing_is_removed(owner):
    owner.put_raw_group([b"one", b"two"])
    put(owner, A, 1, 2)
    put(owner, B, 5, 6)
    put(owner, B, 8, flags=LAST)
    owner.put_raw(b"alone")
    before = [message.md.pack() for message in owner.on_queue()]
    seen = operate.inspect_queue(owner.qmgr, owner.queue)
    assert [message.md.pack() for message in owner.on_queue()] == before
    whole, begun, tail = seen.groups
    assert (seen.queue, seen.others, seen.open_input, seen.open_output) == (owner.queue, 1, 0, 0)
    assert [group.group_id for group in (begun, tail)] == [A, B]
    assert [group.whole for group in seen.groups] == [True, False, False]
    assert [group.messages for group in seen.groups] == [2, 2, 3]
    assert [group.last for group in seen.groups] == [2, 0, 8]
    assert [(group.has_head, group.has_end) for group in seen.groups] == [(True, True), (True, False), (False, True)]
    assert (tail.first, tail.last_msg_seq_number, tail.gaps) == (Place(5), 8, (Run(Place(7), Place(8)),))
    assert (whole.persistences, tail.persistences) == (
        frozenset({mq.MQPER_NOT_PERSISTENT}),
        frozenset({mq.MQPER_PERSISTENT}),
    )


def test_who_put_a_group_and_how_often_it_was_backed_out_is_told(owner):
    owner.put_raw_group(THIS)
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    msg_id = owner.on_queue()[0].md.MsgId
    for _ in range(3):
        assert handle.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_MSG_ID, MsgId=msg_id).code == OK
        assert owner.eye.back_out() == OK
    handle.close()
    (group,) = operate.inspect_queue(owner.qmgr, owner.queue).groups
    md = [message.md for message in owner.on_queue()]
    assert group.backout_count == 3
    assert group.put_by == (md[0].PutApplName.decode().rstrip(),)
    assert group.first_put == (md[0].PutDate + md[0].PutTime).decode()
    assert group.last_put == (md[-1].PutDate + md[-1].PutTime).decode()


def test_a_group_in_any_order_of_arrival_is_seen_as_it_is(owner):
    put(owner, A, 3, flags=LAST)
    put(owner, A, 2, 1)
    (group,) = operate.inspect_queue(owner.qmgr, owner.queue).groups
    assert (group.runs, group.whole) == ((Run(Place(1), Place(4)),), True)


def test_segments_are_seen_with_their_offsets_and_their_bodies_are_left(owner):
    for offset, flags in ((0, SEG), (5, SEG)):
        fields = {"MsgSeqNumber": 2, "Offset": offset, "MsgFlags": LAST | flags}
        owner.put_raw(b"12345", GroupId=A, **fields)
    put(owner, A, 1)
    (group,) = operate.inspect_queue(owner.qmgr, owner.queue).groups
    assert (group.end, group.last, group.has_end, group.last_msg_seq_number) == (Place(2, 10), 2, False, 2)


def test_messages_in_somebodys_unit_of_work_are_counted(owner):
    owner.put_raw_group(THIS)
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    assert handle.get(mq.MQGMO_SYNCPOINT).code == OK
    seen = operate.inspect_queue(owner.qmgr, owner.queue)
    assert (seen.uncommitted, seen.unasked, seen.open_input, seen.open_output) == (1, "", 1, 0)
    # Whoever put or got it, and whether its handle is still there.
    assert handle.close() == OK
    seen = operate.inspect_queue(owner.qmgr, owner.queue)
    owner.eye.back_out()
    assert (seen.uncommitted, seen.open_input) == (1, 0)


def test_who_may_not_ask_the_command_server_is_told_that_nobody_knows(owner, unasked):
    owner.put_raw_group(THIS)
    seen = operate.inspect_queue(owner.qmgr, owner.queue)
    assert (seen.uncommitted, "2085 MQRC_UNKNOWN_OBJECT_NAME" in seen.unasked) == (None, True)
    assert seen.groups[0].whole


def test_a_group_that_is_there_twice_is_doubled_and_not_whole(owner):
    for number in (1, 2, 3):
        put(owner, A, number, number, flags=LAST if number == 3 else MIG)
    put(owner, B, 1, 2, 3)
    put(owner, B, 2)
    twice, once = operate.inspect_queue(owner.qmgr, owner.queue).groups
    assert [(group.is_doubled, group.whole, group.overlapping) for group in (twice, once)] == [
        (True, False, 3),
        (True, False, 1),
    ]
    assert (twice.runs, twice.messages) == ((Run(Place(1), Place(4)),), 6)


# --- rebuilding a producer's record


@statuses
def test_a_producer_goes_on_where_the_last_message_on_the_queue_says(owner, status):
    owner.interrupt_put(THIS[:6], status_layout=status)
    lost = lose(owner, "put")
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    assert salvage.record is not None
    assert (salvage.done, salvage.record.msg_seq_number) == (True, 4)
    assert known(owner.record("put")) == known(lost)
    resume_put(owner, THIS, status_layout=status)
    assert_whole(owner, THIS)
    assert owner.records("put") == []


@statuses
def test_a_producer_goes_on_inside_a_message_of_segments(owner, status):
    qmgr = owner.connect()
    group = owner.producer(qmgr, status_layout=status, segment_bytes=4, commit_every=4).group()
    group.put(b"first")
    group.put(b"abcdefghijklmnop")
    group.put(b"held back")
    qmgr.close()
    assert [message.data for message in owner.on_queue()] == [b"firs", b"t", b"abcd", b"efgh"]
    lost = lose(owner, "put")
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    assert known(owner.record("put")) == known(lost)
    assert (lost["msg_seq_number"], lost["offset"], lost["in_last_message"]) == (1, 8, False)
    resume_put(owner, [b"first", b"abcdefghijklmnop", b"end"], status_layout=status, segment_bytes=4)
    assert owner.get_groups() == [[b"first", b"abcdefghijklmnop", b"end"]]


def test_the_last_message_of_a_group_begun_in_segments_stays_its_last(owner):
    qmgr = owner.connect()
    group = owner.producer(qmgr, segment_bytes=4, commit_every=2).group()
    group.put(b"one")
    with pytest.raises(EOFError):
        group.put(EndsEarly(b"abcdefghijkl"), last=True)
    qmgr.close()
    lost = lose(owner, "put")
    assert (lost["offset"], lost["in_last_message"]) == (4, True)
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    assert known(owner.record("put")) == known(lost)


PUT = """
with connect().group_producer(queue, name=name, commit_every=2) as producer, producer.group() as group:
    for number in range(group.resume_from + 1, 8):
        group.put(b"%d" % number)
"""


@pytest.mark.embedded
def test_a_producer_killed_in_a_group_goes_on_after_its_record_was_lost(owner, program, faults):
    faults.arm(Fault("kill_client", nth=6, verb="MQPUT"))
    assert program.run(PUT).returncode == -signal.SIGKILL
    faults.clear_faults()
    wait_until(lambda: mqgroups.operate.command_server.uncommitted(connection_of(owner.qmgr), owner.queue) == 0)
    committed = len(owner.on_queue())
    assert 0 < committed < 7
    lose(owner, "put")
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, wait_s=30)
    assert salvage.record is not None
    assert salvage.record.msg_seq_number == committed
    done = program.run(PUT)
    assert (done.returncode, done.stderr) == (0, "")
    assert_whole(owner, THIS)


def test_nothing_is_written_when_only_asked(owner):
    owner.interrupt_put(THIS[:6])
    lose(owner, "put")
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, check=True)
    assert salvage.record is not None
    assert (salvage.done, salvage.record.msg_seq_number) == (False, 4)
    assert owner.records("put") == []


def test_a_checkpoint_is_what_the_application_gives(owner):
    owner.interrupt_put(THIS[:6], checkpoints=range(6))
    lose(owner, "put")
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, checkpoint={"row": 4})
    with owner.producer() as producer:
        assert producer.checkpoint == {"row": 4}


def test_a_lost_status_queue_is_made_again_and_not_by_asking(owner):
    owner.interrupt_put(THIS[:6])
    lose(owner, "put")
    handle = owner.eye.open(owner.status_queue("put"), mq.MQOO_INQUIRE)
    assert handle.close(mq.MQCO_DELETE) == OK
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, check=True)
    assert owner.eye.open(owner.status_queue("put"), mq.MQOO_INQUIRE).code.reason == mq.MQRC_UNKNOWN_OBJECT_NAME
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    resume_put(owner, THIS)
    assert_whole(owner, THIS)


def test_of_two_interrupted_groups_one_has_to_be_chosen(owner):
    owner.interrupt_put(THIS[:6])
    lose(owner, "put")
    ours = owner.on_queue()[0].group_id
    put(owner, A, 1, 2)
    assert refused(owner, "put") == "several-groups"
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, group_id=ours)
    resume_put(owner, THIS)
    found = [message for message in owner.on_queue() if message.group_id == ours]
    assert [message.data for message in found] == THIS


def test_a_record_that_is_there_is_never_replaced(owner):
    owner.interrupt_put(THIS[:6])
    assert refused(owner, "put") == "record-there"


def test_an_active_owner_keeps_its_status_queue(owner):
    with owner.producer(owner.connect()), pytest.raises(errors.OwnerActive):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_group_with_a_gap_is_refused(owner, role):
    put(owner, A, *((1, 2, 4) if role == "put" else (3, 4, 6)))
    assert refused(owner, role) == "gap"


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_group_with_a_message_twice_is_refused(owner, role):
    put(owner, A, *((1, 2, 2) if role == "put" else (3, 3)))
    assert refused(owner, role) == "disarray"


def test_a_group_of_two_persistences_is_refused(owner):
    put(owner, A, 1)
    owner.put_raw(b"2", GroupId=A, MsgSeqNumber=2, MsgFlags=MIG, Persistence=0)
    assert refused(owner, "put") == "disarray"


def test_messages_behind_the_last_are_refused(owner):
    put(owner, A, 1, 3)
    put(owner, A, 2, flags=LAST)
    assert refused(owner, "get", group_id=A) == "not-begun"
    put(owner, B, 3)
    put(owner, B, 2, flags=LAST)
    assert refused(owner, "get", group_id=B) == "disarray"


def test_a_complete_group_has_no_producer_to_go_on(owner):
    owner.put_raw_group(THIS)
    assert refused(owner, "put") == "nothing-interrupted"
    assert refused(owner, "put", group_id=owner.on_queue()[0].group_id) == "group-complete"


def test_a_group_that_is_not_there_is_refused(owner):
    put(owner, A, 1)
    assert refused(owner, "put", group_id=B) == "group-missing"


def test_a_group_put_on_another_queue_manager_is_refused(owner):
    put(owner, b"AMQ ELSEWHERE   " + b"12345678", 1, 2)
    assert refused(owner, "put") == "other-q-mgr"


def test_a_producers_group_that_is_being_consumed_is_a_doubt_that_can_be_accepted(owner):
    owner.interrupt_put([*THIS, b"held back"], commit_every=7)
    interrupt_get(owner)
    lose(owner, "put")
    assert refused(owner, "put") == "begun"
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["begun"])
    resume_put(owner, [*THIS, b"8"])
    assert rest(owner) == list(enumerate([*THIS, b"8"], 1))[4:]


def test_a_producers_group_in_a_consumers_unit_of_work_is_refused_whatever_is_accepted(owner):
    owner.interrupt_put(THIS[:6])
    lose(owner, "put")
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    assert handle.get(mq.MQGMO_SYNCPOINT).code == OK
    because = refused(owner, "put", accept=["begun", "in-use"])
    owner.eye.back_out()
    handle.close()
    assert because == "being-consumed"


def test_somebody_elses_open_queue_is_a_doubt_that_can_be_accepted(owner):
    owner.interrupt_put(THIS[:6])
    lose(owner, "put")
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    assert refused(owner, "put") == "in-use"
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept={"in-use"})
    handle.close()
    resume_put(owner, THIS)
    assert_whole(owner, THIS)


def test_what_is_put_and_not_committed_is_a_doubt(owner):
    owner.interrupt_put(THIS[:6])
    lose(owner, "put")
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    assert handle.put(b"unseen", mq.MQPMO_SYNCPOINT).code == OK
    handle.close()
    because = refused(owner, "put")
    owner.eye.back_out()
    assert because == "in-use"


def test_what_nobody_can_say_about_units_of_work_is_a_doubt(owner, unasked):
    owner.interrupt_put(THIS[:6])
    lose(owner, "put")
    assert refused(owner, "put", accept=["other-owners"]) == "in-use"
    assert refused(owner, "put", accept=["in-use"]) == "other-owners"
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["in-use", "other-owners"])
    resume_put(owner, THIS)
    assert_whole(owner, THIS)


# --- a record that is hidden, or gone without its anchor


def test_nothing_is_written_beside_a_record_that_a_unit_of_work_hides(owner, make_queue):
    owner.interrupt_put(THIS[:6])
    handle = owner.eye.open(owner.status_queue("put"), mq.MQOO_INPUT_SHARED)
    (record,) = owner.records("put")
    (lying,) = (found for found in owner.on_queue(owner.status_queue("put")) if found.data == record)
    assert handle.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_MSG_ID, MsgId=lying.md.MsgId).data == record
    assert handle.close() == OK
    for more in ({}, {"accept": ["in-use", "other-owners"]}, {"unreadable_to": make_queue()}):
        with pytest.raises(errors.OwnerActive, match="Units of work have 1 of its messages"):
            operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, **more)
    assert owner.eye.back_out() == OK
    assert owner.records("put") == [record]


@pytest.mark.parametrize("whose", ["own", "another's"])
def test_a_hidden_record_that_comes_back_in_time_is_waited_for(owner, make_owner, whose):
    other = owner if whose == "own" else make_owner(queue=owner.queue)
    other.interrupt_put(THIS[:6])
    handle = owner.eye.open(other.status_queue("put"), mq.MQOO_INPUT_SHARED)
    (lying,) = (found for found in owner.on_queue(other.status_queue("put")) if found.data in other.records("put"))
    assert handle.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_MSG_ID, MsgId=lying.md.MsgId).code == OK
    handle.close()
    qmgr, naps = owner.connect(), []
    connection_of(qmgr)

    def back_out(seconds):
        naps.append(seconds)
        owner.eye.back_out()

    connection_of(qmgr).sleep = back_out
    with pytest.raises(errors.SalvageRefused) as caught:
        operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue, wait_s=30)
    assert (caught.value.because, len(naps)) == ("record-there" if whose == "own" else "owned", 1)


def test_an_anchor_alone_is_no_lost_record_to_who_cannot_ask(owner, unasked):
    owner.interrupt_put(THIS[:6])
    owner.take_record("put")
    with pytest.raises(errors.OwnerActive, match="nobody can say which"):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["in-use", "other-owners"])
    assert (owner.records("put"), owner.anchors("put")) == ([], 1)


def test_a_record_that_is_lost_without_its_anchor_is_written_again_beside_one(owner):
    owner.interrupt_put(THIS[:6])
    lost = json.loads(owner.take_record("put"))
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    assert salvage.record is not None
    assert (salvage.orphaned, salvage.done, salvage.record.msg_seq_number) == (True, True, 4)
    assert (known(owner.record("put")), owner.anchors("put")) == (known(lost), 1)
    resume_put(owner, THIS)
    assert_whole(owner, THIS)


def test_an_anchor_whose_record_is_lost_is_removed_where_no_group_is_interrupted(owner):
    owner.interrupt_put(THIS[:6])
    owner.take_record("put")
    owner.empty()
    with pytest.raises(errors.StatusRecordHidden):
        owner.producer()
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["nothing-interrupted"])
    assert (salvage.orphaned, salvage.record, owner.anchors("put")) == (True, None, 0)
    owner.put_group(THIS)
    assert_whole(owner, THIS)


# --- other owners


@pytest.fixture
def alpha(owner, make_owner):
    """Another owner of the same queue."""
    return make_owner(queue=owner.queue)


@statuses
def test_a_group_that_another_producers_record_speaks_of_is_refused(owner, alpha, status):
    alpha.interrupt_put(THIS[:6], status_layout=status)
    for more in ({}, {"accept": ["in-use", "other-owners", "begun"]}, {"group_id": owner.on_queue()[0].group_id}):
        with pytest.raises(errors.GroupOwned) as caught:
            operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, **more)
        assert (caught.value.owner, caught.value.status_queue) == (alpha.name, alpha.status_queue("put"))
        assert (caught.value.group_id, caught.value.because) == (owner.on_queue()[0].group_id, "owned")
    assert owner.records("put") == []
    resume_put(alpha, THIS, status_layout=status)
    assert_whole(owner, THIS)


def test_a_group_that_another_consumers_record_speaks_of_is_refused(owner, alpha):
    owner.put_raw_group(THIS)
    interrupt_get(alpha)
    with pytest.raises(errors.GroupOwned, match=f"a record of {alpha.name}"):
        operate.salvage_owner(owner.qmgr, owner.name, "get", queue=owner.queue)
    assert rest(alpha) == list(enumerate(THIS, 1))[4:]


def test_records_of_other_groups_and_of_the_other_role_are_no_obstacle(owner, alpha, make_owner):
    other = make_owner()
    other.interrupt_put(THIS[:6])
    owner.interrupt_put([*THIS, b"held back"], commit_every=7)
    interrupt_get(alpha)
    lose(owner, "put")
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["begun"])
    assert owner.record("put")["msg_seq_number"] == 7


def test_another_owners_record_that_is_hidden_is_waited_for(owner, alpha):
    alpha.interrupt_put(THIS[:6])
    handle = owner.eye.open(alpha.status_queue("put"), mq.MQOO_INPUT_SHARED)
    (lying,) = (found for found in owner.on_queue(alpha.status_queue("put")) if found.data in alpha.records("put"))
    assert handle.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_MSG_ID, MsgId=lying.md.MsgId).code == OK
    assert handle.close() == OK
    with pytest.raises(errors.OwnerActive, match=alpha.status_queue("put")):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["in-use", "other-owners"])
    assert owner.eye.back_out() == OK
    with pytest.raises(errors.GroupOwned):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)


def test_another_owners_record_that_cannot_be_read_is_a_doubt(owner, alpha):
    alpha.interrupt_put(THIS[:6])
    damage(alpha, "put")
    with pytest.raises(errors.SalvageRefused, match=alpha.status_queue("put")) as caught:
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    assert caught.value.because == "other-owners"
    assert operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["other-owners"]).done


@pytest.mark.embedded
@pytest.mark.parametrize("reason", [mq.MQRC_NOT_AUTHORIZED, mq.MQRC_OBJECT_IN_USE])
def test_another_owners_queue_that_may_not_be_browsed_is_a_doubt(owner, alpha, reason, monkeypatch):
    alpha.interrupt_put(THIS[:6])
    qmgr = owner.connect()
    connection = connection_of(qmgr)
    opened = connection.open_queue

    def refusing(name, options, **more):
        if name == alpha.status_queue("put"):
            raise errors.mqi_error("MQOPEN", f"queue {name}", mq.MQCC_FAILED, reason)
        return opened(name, options, **more)

    monkeypatch.setattr(connection, "open_queue", refusing)
    with pytest.raises(errors.SalvageRefused, match=alpha.status_queue("put")) as caught:
        operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue)
    assert caught.value.because == "other-owners"
    assert operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue, accept=["other-owners"], check=True).record


def test_a_status_queue_of_another_name_is_looked_at_if_it_is_named(owner, alpha, make_queue):
    alpha.interrupt_put(THIS[:6])
    elsewhere = make_queue()
    for found in alpha.on_queue(alpha.status_queue("put")):
        owner.put_raw(found.data, elsewhere)
    lose(alpha, "put")
    with pytest.raises(errors.GroupOwned) as caught:
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, other_status_queues=[elsewhere])
    assert (caught.value.owner, caught.value.status_queue) == (alpha.name, elsewhere)
    with pytest.raises(errors.QueueMissing):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, other_status_queues=["NO.SUCH.QUEUE"])


def test_names_that_are_given_are_all_there_are_where_no_list_can_be_had(owner, alpha, unasked):
    alpha.interrupt_put(THIS[:6])
    given: Any = {"other_status_queues": [alpha.status_queue("put")], "accept": ["in-use"]}
    with pytest.raises(errors.GroupOwned):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, **given)
    lose(alpha, "put")
    assert operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, **given).done


def test_a_group_of_a_batch_has_an_owner_too(batches):
    def breaking():
        yield from messages("K", 5)
        raise EOFError

    owner, given = batches.owner, {"queue": batches.queue, "other_status_queues": [batches.status_queue]}
    with pytest.raises(EOFError):
        batches.attempt().put_group("K", breaking())
    assert len(owner.on_queue()) == 4
    with pytest.raises(errors.GroupOwned) as caught:
        operate.salvage_owner(owner.qmgr, owner.name, "put", **given)
    assert (caught.value.owner, caught.value.status_queue) == (f"{batches.sink}/0/K", batches.status_queue)
    # Its record is hidden, and the intent beside it says so.
    (lying,) = (found for found in owner.on_queue(batches.status_queue) if b'"kind":"status"' in found.data)
    handle = owner.eye.open(batches.status_queue, mq.MQOO_INPUT_SHARED)
    assert handle.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_MSG_ID, MsgId=lying.md.MsgId).code == OK
    with pytest.raises(errors.OwnerActive, match=batches.status_queue):
        operate.salvage_owner(owner.qmgr, owner.name, "put", **given)
    assert owner.eye.back_out() == OK
    batches.attempt().put_group("K", messages("K", 6))
    assert batches.groups() == {"K": [b"K:%d" % number for number in range(1, 7)]}


# --- rebuilding a consumer's record


@statuses
def test_a_consumer_goes_on_at_the_first_message_that_is_left(owner, status):
    owner.put_raw_group(THIS)
    interrupt_get(owner, status_layout=status)
    lost = lose(owner, "get")
    assert rest(owner) == []  # without a record, nobody sees the rest of the group
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "get", queue=owner.queue)
    assert salvage.record is not None
    assert (salvage.done, salvage.record.msg_seq_number) == (True, 4)
    assert known(owner.record("get")) == known(lost)
    assert rest(owner, status_layout=status) == list(enumerate(THIS, 1))[4:]
    assert owner.data() == owner.records("get") == []


def test_a_consumer_of_segments_goes_on_inside_a_message(owner):
    with owner.producer(segment_bytes=4) as producer, producer.group() as group:
        group.put(b"abcdefghijkl")
        group.put(b"end")
    qmgr = owner.connect()
    chunks = next(iter(next(iter(owner.consumer(qmgr, stream=True))))).chunks()
    assert [next(chunks) for _ in range(3)] == [b"abcd", b"efgh", b"ijkl"]
    qmgr.close()
    lost = lose(owner, "get")
    assert (lost["msg_seq_number"], lost["offset"]) == (0, 8)
    operate.salvage_owner(owner.qmgr, owner.name, "get", queue=owner.queue)
    assert known(owner.record("get")) == known(lost)
    with owner.consumer(stream=True) as consumer:
        got = [b"".join(message.chunks()) for group in consumer for message in group]
    assert got == [b"ijkl", b"end"]
    assert owner.data() == []


def test_a_group_that_was_not_begun_needs_no_consumers_record(owner):
    owner.put_raw_group(THIS)
    assert refused(owner, "get") == "nothing-interrupted"


def test_another_getter_is_a_doubt_for_a_consumer(owner):
    owner.put_raw_group(THIS)
    interrupt_get(owner)
    lose(owner, "get")
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    assert refused(owner, "get") == "in-use"
    handle.close()


GET = """
with connect().group_consumer(queue, name=name, commit_every=2, wait_s=0, group_wait_s=0) as consumer:
    for group in consumer:
        for message in group:
            print(message.msg_seq_number, message.data.decode())
"""


@pytest.mark.embedded
def test_a_consumer_killed_in_a_group_goes_on_after_its_record_was_lost(owner, program, faults):
    owner.put_raw_group(THIS)
    faults.arm(Fault("kill_client", nth=8, verb="MQGET"))
    assert program.run(GET).returncode == -signal.SIGKILL
    faults.clear_faults()
    wait_until(lambda: mqgroups.operate.command_server.uncommitted(connection_of(owner.qmgr), owner.queue) == 0)
    left = owner.data()
    assert 0 < len(left) < 7
    lose(owner, "get")
    operate.salvage_owner(owner.qmgr, owner.name, "get", queue=owner.queue, wait_s=30)
    done = program.run(GET)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{data.decode()} {data.decode()}" for data in left]
    assert owner.data() == owner.records("get") == []


@pytest.mark.embedded
def test_behind_an_alias_is_its_base_queue(owner, make_queue):
    owner.interrupt_put(THIS[:6], queue="TEST.ALIAS")
    lost = lose(owner, "put")
    seen = operate.inspect_queue(owner.qmgr, "TEST.ALIAS")
    ((group,), away) = seen.groups, make_queue()
    assert (seen.queue, seen.resolved_q_name, group.messages) == ("TEST.ALIAS", "TEST.BASE", 4)
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue="TEST.ALIAS")
    assert known(owner.record("put")) == known(lost)
    with pytest.raises(errors.ConfigurationError, match="itself: a group is moved"):
        operate.move_group(owner.qmgr, "TEST.BASE", group.group_id, to="TEST.ALIAS")
    assert operate.move_group(owner.qmgr, "TEST.ALIAS", group.group_id, to=away).done
    assert [message.data for message in owner.on_queue(away)] == THIS[:4]


# --- a damaged record


def damage(owner, role):
    """Put bytes in the place of the record."""
    lose(owner, role)
    owner.put_raw(b"\x00\xff damaged", owner.status_queue(role), Format=b"JUNK", CorrelId=b"c" * 24)


def test_a_damaged_record_is_moved_away_in_the_unit_of_work_of_the_new_one(owner, make_queue):
    owner.interrupt_put(THIS[:6])
    damage(owner, "put")
    (was,) = owner.on_queue(owner.status_queue("put"))
    away = make_queue()
    with pytest.raises(errors.StatusRecordCorrupt, match="mqgroups salvage rebuild"):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=away)
    assert (salvage.unreadable, salvage.unreadable_to, salvage.done) == (1, away, True)
    (moved,) = owner.on_queue(away)
    assert (moved.data, moved.md.MsgId, moved.md.CorrelId, moved.md.Format) == (
        was.data, was.md.MsgId, was.md.CorrelId, was.md.Format
    )  # fmt: skip
    resume_put(owner, THIS)
    assert_whole(owner, THIS)


def test_a_damaged_record_is_not_moved_to_where_it_is(owner):
    owner.interrupt_put(THIS[:6])
    damage(owner, "put")
    before = owner.records("put")
    with pytest.raises(errors.ConfigurationError, match="itself: what is moved"):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=owner.status_queue("put"))
    assert owner.records("put") == before


def test_segments_of_a_damaged_record_and_second_records_are_moved_away_too(owner, make_queue):
    owner.interrupt_put(THIS[:6], status_layout="segmented")
    handle = owner.eye.open(owner.status_queue("put"), mq.MQOO_INPUT_EXCLUSIVE)
    assert handle.get().code == OK
    handle.close()
    left = len(owner.records("put"))
    owner.put_raw(b"and this", owner.status_queue("put"))
    away = make_queue()
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=away)
    assert salvage.unreadable == len(owner.on_queue(away)) == left + 1 > 1
    resume_put(owner, THIS, status_layout="segmented")
    assert_whole(owner, THIS)


def test_a_damaged_record_of_no_group_is_moved_away_alone_when_that_is_accepted(owner, make_queue):
    owner.put_group(THIS)
    owner.put_raw(b"damaged", owner.status_queue("put"))
    away = make_queue()
    assert refused(owner, "put", unreadable_to=away) == "nothing-interrupted"
    salvage = operate.salvage_owner(
        owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=away, accept=["nothing-interrupted"]
    )
    assert (salvage.group, salvage.record, salvage.unreadable, salvage.done) == (None, None, 1, True)
    assert owner.records("put") == []
    assert [message.data for message in owner.on_queue(away)] == [b"damaged"]


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_moving_away_alone_goes_on_when_its_commit_had_no_answer(owner, faults, make_queue, when):
    owner.put_group(THIS)
    owner.put_raw(b"damaged", owner.status_queue("put"))
    away, qmgr = make_queue(), owner.connect(reconnect_wait_s=30)
    faults.arm(Fault("drop", when, verb="MQCMIT"))
    salvage = operate.salvage_owner(
        qmgr, owner.name, "put", queue=owner.queue, unreadable_to=away, accept=["nothing-interrupted"], wait_s=30
    )
    assert (salvage.record, salvage.unreadable, salvage.done) == (None, 1, True)
    assert (owner.records("put"), len(owner.on_queue(away))) == ([], 1)


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_wherever_the_connection_is_lost_the_record_is_written_once(owner, faults, make_queue, when):
    fired = nth = 1
    away = make_queue()
    while fired:
        owner.interrupt_put(THIS[:6])
        damage(owner, "put")
        qmgr = owner.connect(reconnect_wait_s=30)
        faults.clear_faults()
        faults.arm(Fault("drop", when, nth=nth))
        salvage = operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue, unreadable_to=away, wait_s=30)
        fired = faults.faults_fired()
        faults.clear_faults()
        assert (salvage.done, salvage.unreadable) == (True, 1)
        assert (len(owner.on_queue(away)), len(owner.records("put"))) == (nth, 1), nth
        qmgr.close()
        resume_put(owner, THIS)
        assert_whole(owner, THIS)
        owner.empty()
        nth += 1
    assert nth > 20


# --- moving a group


SAME = ("GroupId", "MsgSeqNumber", "Offset", "MsgFlags", "MsgId", "CorrelId", "Persistence", "Priority", "Format",
        "PutApplName", "PutDate", "PutTime", "UserIdentifier", "ApplOriginData")  # fmt: skip


def placed(found):
    """What has to be the same of a message wherever it is moved."""
    return [(message.data, *(getattr(message.md, name) for name in SAME)) for message in found]


def test_a_group_is_moved_as_it_is_and_the_others_stay(owner, make_queue):
    owner.put_raw_group(THIS)
    group_id = owner.on_queue()[0].group_id
    put(owner, A, 1, 2)
    was, away = owner.on_queue(), make_queue()
    moved = operate.move_group(owner.qmgr, owner.queue, group_id, to=away, commit_every=3)
    assert (moved.done, moved.to, moved.group.messages) == (True, away, 7)
    assert placed(owner.on_queue(away)) == placed(was[:7])
    assert placed(owner.on_queue()) == placed(was[7:])


def test_a_tail_of_segments_is_moved_as_it_is(owner, make_queue):
    for number, offset, flags in ((4, 8, MIG | SEG | mq.MQMF_LAST_SEGMENT), (5, 0, LAST | SEG), (5, 3, LAST | SEG)):
        owner.put_raw(b"abc", GroupId=A, MsgSeqNumber=number, Offset=offset, MsgFlags=flags, Priority=5)
    was, away = owner.on_queue(), make_queue()
    operate.move_group(owner.qmgr, owner.queue, A, to=away)
    assert placed(owner.on_queue(away)) == placed(was)
    assert owner.on_queue() == []


def test_properties_go_along(owner, make_queue):
    with owner.producer(commit_every=1) as producer, producer.group() as group:
        group.put(b"one")
        group.put(b"two")
        group.abandon(7, "because")

    def with_properties(queue):
        handle = owner.eye.open(queue, mq.MQOO_BROWSE)
        found = [message.data for message in handle.all(mq.MQGMO_BROWSE_NEXT | mq.MQGMO_PROPERTIES_FORCE_MQRFH2)]
        handle.close()
        return found

    was, away = with_properties(owner.queue), make_queue()
    assert b"because" in was[-1]
    operate.move_group(owner.qmgr, owner.queue, owner.on_queue()[0].group_id, to=away)
    assert with_properties(away) == was
    with owner.consumer(queue=away) as consumer, pytest.raises(errors.GroupAbandoned) as caught:
        list(next(iter(consumer)))
    assert caught.value.result == 7


def test_a_group_goes_to_the_backout_queue_by_default(make_owner):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    put(owner, A, 3, 4)
    assert operate.move_group(owner.qmgr, owner.queue, A, check=True).to == "TEST.BACKOUT"
    assert len(owner.on_queue()) == 2
    assert operate.move_group(owner.qmgr, owner.queue, A).done
    handle = owner.eye.open("TEST.BACKOUT", mq.MQOO_INPUT_SHARED)
    assert [handle.get(GroupId=A, match=mq.MQMO_MATCH_GROUP_ID).data for _ in range(2)] == [b"3", b"4"]
    assert handle.get(GroupId=A, match=mq.MQMO_MATCH_GROUP_ID).code == EMPTY
    handle.close()


def test_a_group_is_not_moved_to_where_it_is_nor_nowhere(owner):
    put(owner, A, 1)
    with pytest.raises(errors.ConfigurationError, match="itself: a group is moved"):
        operate.move_group(owner.qmgr, owner.queue, A, to=owner.queue)
    with pytest.raises(errors.ConfigurationError, match="no BOQNAME"):
        operate.move_group(owner.qmgr, owner.queue, A)
    with pytest.raises(errors.SalvageRefused):
        operate.move_group(owner.qmgr, owner.queue, B, to="TEST.BACKOUT")
    assert len(owner.on_queue()) == 1


def test_a_group_somebody_may_be_getting_is_not_moved_unless_that_is_accepted(owner, make_queue):
    put(owner, A, 1)
    away = make_queue()
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    with pytest.raises(errors.SalvageRefused) as caught:
        operate.move_group(owner.qmgr, owner.queue, A, to=away)
    assert caught.value.because == "in-use"
    assert operate.move_group(owner.qmgr, owner.queue, A, to=away, accept=["in-use"]).done
    handle.close()
    assert len(owner.on_queue(away)) == 1


def test_who_dies_between_the_look_and_the_move_is_waited_for(owner, make_queue, connect, monkeypatch):
    """Its handle is gone and the queue can be had exclusively, but the messages that it has got are not back."""
    owner.put_raw_group(THIS)
    was, away = owner.on_queue(), make_queue()
    dying, naps = connect(), []

    def looked(connection, queue):
        seen = inspect_queue(connection, queue)
        handle = dying.open(queue, mq.MQOO_INPUT_SHARED)
        assert handle.get(mq.MQGMO_SYNCPOINT).data == THIS[0]
        assert handle.close() == OK
        return seen

    def sleep(_):
        assert len(owner.on_queue()) == len(THIS) - 1
        naps.append(dying.back_out())

    monkeypatch.setattr("mqgroups.operate.move.inspected", looked)
    qmgr = owner.connect(reconnect_wait_s=30)
    connection_of(qmgr).sleep = sleep
    assert operate.move_group(qmgr, owner.queue, was[0].group_id, to=away).done
    assert naps == [OK]
    # Where a message lies that was backed out is not written anywhere.
    assert (owner.on_queue(), sorted(placed(owner.on_queue(away)))) == ([], sorted(placed(was)))


def test_who_put_a_message_is_the_mover_where_context_is_not_kept(owner, make_queue):
    put(owner, A, 1)
    (was,), away = owner.on_queue(), make_queue()
    operate.move_group(owner.qmgr, owner.queue, A, to=away, keep_context=False)
    (moved,) = owner.on_queue(away)
    assert (was.md.PutDate + was.md.PutTime) <= (moved.md.PutDate + moved.md.PutTime)
    assert moved.md.MsgId == was.md.MsgId


MOVE = """
mqgroups.operate.move_group(connect(), queue, bytes.fromhex(sys.argv[1]), to=sys.argv[2], commit_every=2)
"""


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_move_killed_at_every_call_leaves_each_message_once_and_is_finished_by_the_next(
    owner, program, faults, make_queue, when
):
    for nth in itertools.count(1):
        owner.put_raw_group(THIS)
        was, away = owner.on_queue(), make_queue()
        command = [*program.command(MOVE), was[0].group_id.hex(), away]
        faults.clear_faults()
        faults.arm(Fault("kill_client", when, nth=nth))
        code = subprocess.run(command, env=program.environment, capture_output=True, check=False).returncode
        faults.clear_faults()
        there = owner.on_queue(away)
        left = wait_for_backout(owner, len(was) - len(there))
        assert placed(there) + placed(left) == placed(was), nth
        if left:
            assert code == -signal.SIGKILL
            assert operate.move_group(owner.qmgr, owner.queue, was[0].group_id, to=away).done
        assert (owner.on_queue(), placed(owner.on_queue(away))) == ([], placed(was))
        if code == 0:
            break
    assert nth > 20


def wait_for_backout(owner, number):
    """Return what is on the queue once the unit of work of the dead is backed out."""
    wait_until(lambda: len(owner.on_queue()) == number)
    return owner.on_queue()


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_move_goes_on_by_itself_whatever_call_loses_the_connection(make_owner, faults, make_queue, when):
    fired = nth = 1
    while fired:
        owner, away = make_owner(), make_queue()
        owner.put_raw_group(THIS)
        was = owner.on_queue()
        qmgr = owner.connect(reconnect_wait_s=30)
        faults.clear_faults()
        faults.arm(Fault("drop", when, nth=nth))
        operate.move_group(qmgr, owner.queue, was[0].group_id, to=away, commit_every=2)
        fired = faults.faults_fired()
        faults.clear_faults()
        assert (owner.on_queue(), sorted(placed(owner.on_queue(away)))) == ([], sorted(placed(was))), nth
        qmgr.close()
        nth += 1
    assert nth > 20


# --- what cannot be


def test_arguments_that_cannot_be_are_refused_at_once(owner):
    qmgr = owner.qmgr
    for wrong in (
        lambda: operate.salvage_owner(qmgr, owner.name, "both", queue=owner.queue),  # type: ignore[arg-type]  # what mypy refuses too
        lambda: operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue, accept=["anything"]),  # type: ignore[list-item]  # the same
        lambda: operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue, accept="in-use"),  # type: ignore[arg-type]  # the same
        lambda: operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue, other_status_queues="ONE.NAME"),
        lambda: operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue, other_status_queues=["no name"]),
        lambda: operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue, group_id=b"short"),
        lambda: operate.move_group(qmgr, owner.queue, "A" * 24),  # type: ignore[arg-type]  # the same
        lambda: operate.inspect_queue(qmgr, "not a name"),
    ):
        with pytest.raises(errors.ConfigurationError):
            wrong()


def test_an_inspection_is_a_value(owner):
    put(owner, A, 1)
    (group,) = operate.inspect_queue(owner.qmgr, owner.queue).groups
    assert isinstance(group, operate.GroupInspection)
    assert group == operate.inspect_queue(owner.qmgr, owner.queue).groups[0]


# --- a pipe


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_pipe_that_has_lost_one_of_its_records_goes_on_exactly_once(owner, make_queue, role):
    owner.put_raw_group(THIS)
    target = make_queue()

    def run(qmgr, die_at=None):
        settings = {"name": owner.name, "commit_every": 2, "owner_wait_s": 0, "wait_s": 0, "group_wait_s": 0}
        with qmgr.group_pipe(owner.queue, target, **settings) as pipe:
            for incoming, outgoing in pipe:
                for message in incoming:
                    if message.msg_seq_number == die_at:
                        return qmgr.close()
                    outgoing.put(message.data)
        return None

    run(owner.connect(), die_at=6)
    lost = lose(owner, role)
    operate.salvage_owner(owner.qmgr, owner.name, role, queue=target if role == "put" else owner.queue)
    assert known(owner.record(role)) == known(lost)
    run(owner.connect())
    assert [(found.msg_seq_number, found.data) for found in owner.on_queue(target)] == list(enumerate(THIS, 1))
    assert owner.data() == owner.records("put") == owner.records("get") == []

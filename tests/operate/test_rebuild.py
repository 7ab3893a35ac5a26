"""A status record that is lost or damaged is written again from what lies on the queue.

Records are taken away by raw calls; what is on the queues at the end is looked at by raw calls.
"""

from __future__ import annotations

import io
import json

import pytest

from embedded_tests.fix_mqi import OK
from mqembedded import Fault
from mqgroups import errors, operate
from mqgroups.connection.holder import connection_of
from mqgroups.connection.queue import Queue
from mqgroups.errors import GroupUsage
from mqgroups.mqi import constants as mq
from tests.operate.lost_records import (
    LAST,
    MIG,
    THIS,
    A,
    B,
    assert_whole,
    damage,
    known,
    lose,
    put,
    refused,
    rest,
    statuses,
)

ROWS = [{"row": number} for number in range(1, 7)]


class EndsEarly(io.BytesIO):
    """A stream that breaks after eight bytes."""

    def read(self, size=-1):
        if self.tell() >= 8:
            raise EOFError
        return super().read(size)


def interrupt_and_lose(owner, **more):
    """Interrupt a producer, and take its record; returns that."""
    owner.interrupt_put(THIS[:6], **more)
    return lose(owner, "put")


def assert_resumed(owner, **more):
    """The next start of the producer completes the group."""
    owner.resume_put(THIS, **more)
    assert_whole(owner, THIS)


# --- rebuilding a producer's record


@statuses
def test_a_producer_goes_on_where_the_last_message_on_the_queue_says(owner, status):
    lost = interrupt_and_lose(owner, status_layout=status)
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    assert salvage.record is not None
    assert (salvage.done, salvage.record.msg_seq_number) == (True, 4)
    assert known(owner.record("put")) == known(lost)
    assert_resumed(owner, status_layout=status)
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
    owner.resume_put([b"first", b"abcdefghijklmnop", b"end"], status_layout=status, segment_bytes=4)
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


def test_nothing_is_written_when_only_asked(owner):
    interrupt_and_lose(owner)
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, check=True)
    assert salvage.record is not None
    assert (salvage.done, salvage.record.msg_seq_number) == (False, 4)
    assert owner.records("put") == []


def test_a_checkpoint_is_what_the_application_gives(owner):
    interrupt_and_lose(owner, checkpoints=range(6))
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, checkpoint={"row": 4})
    with owner.producer() as producer:
        assert producer.checkpoint == {"row": 4}


def test_a_lost_status_queue_is_made_again_and_not_by_asking(owner):
    interrupt_and_lose(owner)
    handle = owner.eye.open(owner.status_queue("put"), mq.MQOO_INQUIRE)
    assert handle.close(mq.MQCO_DELETE) == OK
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, check=True)
    assert owner.eye.open(owner.status_queue("put"), mq.MQOO_INQUIRE).code.reason == mq.MQRC_UNKNOWN_OBJECT_NAME
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    assert_resumed(owner)


def test_of_two_interrupted_groups_one_has_to_be_chosen(owner):
    interrupt_and_lose(owner)
    ours = owner.on_queue()[0].group_id
    put(owner, A, 1, 2)
    assert refused(owner, "put") == "several-groups"
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, group_id=ours)
    owner.resume_put(THIS)
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
    owner.interrupt_get()
    lose(owner, "put")
    assert refused(owner, "put") == "begun"
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["begun"])
    owner.resume_put([*THIS, b"8"])
    assert rest(owner) == list(enumerate([*THIS, b"8"], 1))[4:]


PROPERTIES = {"region": "north", "count": 7, "share": 0.5, "key": b"\x00\xff", "is_full": True, "none": None}


def test_a_rebuilt_record_knows_the_group_by_the_properties_of_its_first_message(owner):
    owner.interrupt_put(THIS[:6], group_name="day 1", properties=PROPERTIES)
    lost = lose(owner, "put")
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    assert owner.own(owner.record("put")["properties"]) == lost["properties"]
    with owner.producer() as producer:
        with pytest.raises(GroupUsage, match=r"group 'day 1' .* was interrupted after 4 messages"):
            producer.group("day 2")
        with producer.group("day 1", properties=PROPERTIES) as group:
            for row in THIS[group.resume_from :]:
                group.put(row)
        assert producer.group("day 1").is_complete
    assert [message.data for message in owner.on_queue()] == THIS


def test_a_group_whose_name_is_lost_is_taken_for_that_of_a_name_only_if_the_program_says_so(owner):
    owner.interrupt_put(THIS[:6], group_name="day 1")
    owner.interrupt_get(2)
    lose(owner, "put")
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["begun"])
    assert owner.record("put")["properties"] is None
    with owner.producer() as producer:
        assert list(producer.remaining(["day 1", "day 2"])) == ["day 1", "day 2"]
        with pytest.raises(
            GroupUsage, match=r"whose name is not known .*say so once: group\(properties={'mqgroups.Name': 'day 1'}\)"
        ):
            producer.group("day 1")
        with producer.group(properties={"mqgroups.Name": "day 1"}) as group:
            for row in THIS[group.resume_from :]:
                group.put(row)
        assert producer.group("day 1").is_complete


def test_a_producers_group_in_a_consumers_unit_of_work_is_refused_whatever_is_accepted(owner):
    interrupt_and_lose(owner)
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    assert handle.get(mq.MQGMO_SYNCPOINT).code == OK
    because = refused(owner, "put", accept=["begun", "in-use"])
    owner.eye.back_out()
    handle.close()
    assert because == "being-consumed"


def test_somebody_elses_open_queue_is_a_doubt_that_can_be_accepted(owner):
    interrupt_and_lose(owner)
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    assert refused(owner, "put") == "in-use"
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept={"in-use"})
    handle.close()
    assert_resumed(owner)


def test_what_is_put_and_not_committed_is_a_doubt(owner):
    interrupt_and_lose(owner)
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    assert handle.put(b"unseen", mq.MQPMO_SYNCPOINT).code == OK
    handle.close()
    because = refused(owner, "put")
    owner.eye.back_out()
    assert because == "in-use"


def test_a_group_that_is_hidden_as_a_whole_may_be_interrupted(owner):
    """A getter has all messages in its unit of work, so the queue shows no group. They come back if it dies."""
    interrupt_and_lose(owner)
    committed = len(owner.on_queue())
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    for _ in range(committed):
        assert handle.get(mq.MQGMO_SYNCPOINT).code == OK
    assert refused(owner, "put", accept=["nothing-interrupted"]) == "in-use"
    assert refused(owner, "put", accept=["in-use"]) == "nothing-interrupted"
    owner.eye.back_out()
    handle.close()
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    assert_resumed(owner)


def test_what_nobody_can_say_about_units_of_work_is_a_doubt(owner, unasked):
    interrupt_and_lose(owner)
    assert refused(owner, "put", accept=["other-owners"]) == "in-use"
    assert refused(owner, "put", accept=["in-use"]) == "other-owners"
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["in-use", "other-owners"])
    assert_resumed(owner)


# --- a record that is hidden, or gone without its anchor


def test_nothing_is_written_beside_a_record_that_a_unit_of_work_hides(owner, make_queue):
    owner.interrupt_put(THIS[:6])
    record = owner.take_record("put", mq.MQGMO_SYNCPOINT)
    for more in ({}, {"accept": ["in-use", "other-owners"]}, {"unreadable_to": make_queue()}):
        with pytest.raises(errors.OwnerActive, match="Uncommitted units of work have 1 of its messages"):
            operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, **more)
    assert owner.eye.back_out() == OK
    assert owner.records("put") == [record]


@pytest.mark.parametrize("whose", ["own", "another's"])
def test_a_hidden_record_that_comes_back_in_time_is_waited_for(owner, make_owner, whose):
    other = owner if whose == "own" else make_owner(queue=owner.queue)
    other.interrupt_put(THIS[:6])
    other.take_record("put", mq.MQGMO_SYNCPOINT)
    qmgr, naps = owner.connect(), []

    def back_out(seconds):
        naps.append(seconds)
        other.eye.back_out()

    connection_of(qmgr).sleep = back_out
    with pytest.raises(errors.RepairRefused) as caught:
        operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue, wait_s=30)
    assert (caught.value.because, len(naps)) == ("record-there" if whose == "own" else "owned", 1)


def test_an_anchor_alone_is_no_lost_record_to_who_cannot_ask(owner, unasked):
    owner.interrupt_put(THIS[:6])
    owner.take_record("put")
    with pytest.raises(errors.OwnerActive, match="could not be asked which"):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["in-use", "other-owners"])
    assert (owner.records("put"), owner.anchors("put")) == ([], 1)


def test_a_record_that_is_lost_without_its_anchor_is_written_again_beside_one(owner):
    owner.interrupt_put(THIS[:6])
    lost = json.loads(owner.take_record("put"))
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    assert salvage.record is not None
    assert (salvage.orphaned, salvage.done, salvage.record.msg_seq_number) == (True, True, 4)
    assert (known(owner.record("put")), owner.anchors("put")) == (known(lost), 1)
    assert_resumed(owner)


def test_a_record_that_is_lost_is_not_written_for_a_group_on_a_queue_that_its_owner_does_not_use(owner, make_owner):
    owner.interrupt_put(THIS[:6])
    owner.take_record("put")
    other = make_owner()
    other.put_raw(b"0", MsgFlags=MIG, MsgSeqNumber=1, GroupId=A)
    with pytest.raises(errors.StatusQueueUnusable, match=f"has queue '{owner.queue}', expected '{other.queue}'"):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=other.queue)
    assert (owner.records("put"), owner.anchors("put")) == ([], 1)


def test_an_anchor_whose_record_is_lost_is_removed_where_no_group_is_interrupted(owner):
    owner.interrupt_put(THIS[:6])
    owner.take_record("put")
    owner.empty()
    with pytest.raises(errors.StatusQueueUnusable, match="has an anchor, but its status record did not appear"):
        owner.producer()
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["nothing-interrupted"])
    assert (salvage.orphaned, salvage.record, owner.anchors("put")) == (True, None, 0)
    owner.put_group(THIS)
    assert_whole(owner, THIS)


# --- rebuilding a consumer's record


@statuses
def test_a_consumer_goes_on_at_the_first_message_that_is_left(owner, status):
    owner.interrupt_get(status_layout=status, of=THIS)
    lost = lose(owner, "get")
    assert rest(owner) == []  # without a record, nobody sees the rest of the group
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "get", queue=owner.queue)
    assert salvage.record is not None
    assert (salvage.done, salvage.record.msg_seq_number) == (True, 4)
    assert known(owner.record("get")) == known(lost)
    assert rest(owner, status_layout=status) == list(enumerate(THIS, 1))[4:]
    assert owner.data() == owner.records("get") == []


def test_a_consumer_of_segments_goes_on_inside_a_message(owner):
    owner.put_group([b"abcdefghijkl", b"end"], segment_bytes=4)
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
    owner.interrupt_get(of=THIS)
    lose(owner, "get")
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    assert refused(owner, "get") == "in-use"
    handle.close()


@pytest.mark.embedded
def test_behind_an_alias_is_its_base_queue(owner, make_queue):
    lost = interrupt_and_lose(owner, queue="TEST.ALIAS")
    owner.put_raw(b"damaged", queue=owner.status_queue("put"))
    with pytest.raises(errors.ConfigurationError, match="itself"):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue="TEST.BASE", unreadable_to="TEST.ALIAS")
    owner.empty(owner.status_queue("put"))
    (group,), away = owner.inspections("TEST.ALIAS"), make_queue()
    assert group.messages == 4
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue="TEST.ALIAS")
    assert known(owner.record("put")) == known(lost)
    owner.empty(owner.status_queue("put"))
    with pytest.raises(errors.ConfigurationError, match="itself"):
        operate.move_group(owner.qmgr, "TEST.BASE", group.group_id, to="TEST.ALIAS")
    assert operate.move_group(owner.qmgr, "TEST.ALIAS", group.group_id, to=away).done
    assert [message.data for message in owner.on_queue(away)] == THIS[:4]


# --- a damaged record


def test_a_damaged_record_is_moved_away_in_the_unit_of_work_of_the_new_one(owner, make_queue):
    owner.interrupt_put(THIS[:6])
    damage(owner, "put")
    (was,) = owner.on_queue(owner.status_queue("put"))
    away = make_queue()
    with pytest.raises(errors.StatusQueueUnusable, match="mqgroups salvage rebuild"):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=away)
    assert (salvage.unreadable, salvage.unreadable_to, salvage.done) == (1, away, True)
    (moved,) = owner.on_queue(away)
    assert (moved.data, moved.md.MsgId, moved.md.CorrelId, moved.md.Format) == (
        was.data, was.md.MsgId, was.md.CorrelId, was.md.Format
    )  # fmt: skip
    assert_resumed(owner)


def test_a_damaged_record_is_not_moved_to_where_it_is_nor_to_the_groups(owner):
    owner.interrupt_put(THIS[:6])
    damage(owner, "put")
    before = owner.records("put")
    # A consumer would get it from the queue of the groups.
    for away in (owner.status_queue("put"), owner.queue):
        with pytest.raises(errors.ConfigurationError, match="itself"):
            operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=away)
    assert owner.records("put") == before


def test_segments_of_a_damaged_record_and_second_records_are_moved_away_too(owner, make_queue):
    owner.interrupt_put(THIS[:6], status_layout="segmented")
    owner.take(1, owner.status_queue("put"))
    left = len(owner.records("put"))
    owner.put_raw(b"and this", owner.status_queue("put"))
    away = make_queue()
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=away)
    assert salvage.unreadable == len(owner.on_queue(away)) == left + 1 > 1
    assert_resumed(owner, status_layout="segmented")


@statuses
def test_a_valid_record_beside_an_unreadable_message_stays_with_its_checkpoint(owner, make_queue, status):
    owner.interrupt_put(THIS[:6], checkpoints=ROWS, status_layout=status)
    status_queue = owner.status_queue("put")
    before, away = owner.on_queue(status_queue), make_queue()
    owner.put_raw(b"foreign", status_queue)
    with pytest.raises(errors.ConfigurationError, match="itself"):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=owner.queue)
    for check in (True, False):
        salvage = operate.salvage_owner(
            owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=away, check=check
        )
        assert (salvage.record, salvage.group, salvage.unreadable, salvage.done) == (None, None, 1, not check)
        assert salvage.kept is not None
        assert (salvage.kept.msg_seq_number, salvage.kept.checkpoint) == (4, {"row": 4})
        assert salvage.moved == ()
    assert [message.md.pack() for message in owner.on_queue(status_queue)] == [message.md.pack() for message in before]
    assert [message.data for message in owner.on_queue(away)] == [b"foreign"]
    assert_resumed(owner, status_layout=status)


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("beside", [True, False], ids=["beside a valid record", "alone"])
def test_moving_away_goes_on_when_its_commit_had_no_answer(owner, faults, make_queue, when, beside):
    if beside:
        owner.interrupt_put(THIS[:6])
    else:
        owner.put_group(THIS)
    before = owner.records("put")
    owner.put_raw(b"foreign", owner.status_queue("put"))
    away, qmgr = make_queue(), owner.connect(reconnect_wait_s=30)
    faults.arm(Fault("drop", when, verb="MQCMIT"))
    given = {"queue": owner.queue, "unreadable_to": away, "wait_s": 30}
    salvage = operate.salvage_owner(qmgr, owner.name, "put", **given, accept=[] if beside else ["nothing-interrupted"])
    assert (salvage.record, salvage.kept is None, salvage.unreadable, salvage.done) == (None, not beside, 1, True)
    assert (owner.records("put"), owner.data(away)) == (before, [b"foreign"])
    assert len(before) == beside


def test_a_message_with_the_msg_id_of_the_record_is_not_taken_for_the_record(owner, make_queue):
    owner.interrupt_put(THIS[:6])
    status_queue = owner.status_queue("put")
    record = next(each for each in owner.on_queue(status_queue) if each.data in owner.records("put"))
    owner.put_raw(b"foreign", status_queue, MsgId=record.md.MsgId)
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=make_queue())
    assert (salvage.kept, salvage.unreadable) == (None, 3)
    assert_resumed(owner)


def test_an_older_segment_of_a_damaged_record_is_not_taken_for_the_record(owner, make_queue):
    owner.interrupt_put(THIS[:6], status_layout="segmented")
    status_queue = owner.status_queue("put")
    *_, last = owner.on_queue(status_queue)
    handle = owner.eye.open(status_queue, mq.MQOO_INPUT_EXCLUSIVE)
    assert handle.get(match=mq.MQMO_MATCH_MSG_ID, MsgId=last.md.MsgId).code == OK
    handle.close()
    same = {name: getattr(last.md, name) for name in ("MsgId", "CorrelId", "GroupId", "Offset", "MsgFlags")}
    owner.put_raw(b"damaged", status_queue, **same)
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=make_queue())
    assert (salvage.kept, salvage.record is None, salvage.moved != ()) == (None, False, True)
    assert_resumed(owner)


def test_records_that_are_moved_away_are_returned_for_their_checkpoints(owner, make_queue):
    owner.interrupt_put(THIS[:6], checkpoints=ROWS)
    (record,) = owner.records("put")
    owner.put_raw(record, owner.status_queue("put"))
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, unreadable_to=make_queue())
    assert salvage.record is not None
    assert [each.checkpoint for each in salvage.moved] == [{"row": 4}] * 2


def test_the_key_of_a_group_is_taken_from_the_records_that_are_moved_away(owner, make_queue):
    owner.put_group(THIS)
    key = bytes(owner.on_queue()[0].md.GroupId) + bytes(owner.on_queue()[0].md.MsgId)
    owner.interrupt_get(3)
    owner.put_raw(owner.records("get")[0], owner.status_queue("get"))
    get = {"queue": owner.queue, "unreadable_to": make_queue()}
    assert operate.salvage_owner(owner.qmgr, owner.name, "get", **get).done
    with owner.consumer() as consumer:
        assert next(iter(consumer)).key == key


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
@pytest.mark.parametrize(("verb", "when"), [("MQOPEN", "before"), ("MQCMIT", "before"), ("MQCMIT", "after")])
def test_wherever_the_connection_is_lost_the_record_is_written_once(owner, faults, make_queue, verb, when):
    away, qmgr = make_queue(), owner.connect(reconnect_wait_s=30)
    owner.interrupt_put(THIS[:6])
    damage(owner, "put")
    faults.arm(Fault("drop", when, verb=verb))
    salvage = operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue, unreadable_to=away, wait_s=30)
    assert faults.faults_fired() == 1
    assert (salvage.done, salvage.unreadable) == (True, 1)
    assert (len(owner.on_queue(away)), len(owner.records("put"))) == (1, 1)
    assert_resumed(owner)


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
    ):
        with pytest.raises(errors.ConfigurationError):
            wrong()


@pytest.mark.parametrize("checkpoint", [None, 7])
def test_a_consumer_that_ended_its_last_group_gets_the_rest_of_one_that_came_back(owner, checkpoint):
    """As after a quarantine: its record says that the group ended, and the rest is on the queue again."""
    owner.put_group(THIS[:1])
    qmgr = owner.connect()
    group = next(iter(owner.consumer(qmgr)))
    for _ in group:
        group.set_checkpoint(checkpoint)
    qmgr.close()
    before = owner.record("get")
    assert before["state"] == "completed"
    put(owner, A, 3, 4)
    put(owner, A, 5, flags=LAST)
    operate.salvage_owner(owner.qmgr, owner.name, "get", queue=owner.queue)
    record = owner.record("get")
    assert (record["epoch"], record["checkpoint"]) == (before["epoch"] + 1, before["checkpoint"])
    assert rest(owner) == [(3, b"3"), (4, b"4"), (5, b"5")]


# --- a pipe


@pytest.fixture
def pipe_of(owner, make_queue):
    """The pipe of the owner, from its queue to another one: the name of that, and a function that runs the pipe."""
    owner.put_raw_group(THIS)
    target = make_queue()

    def run(die_at=None, *, puts=True):
        qmgr = owner.connect()
        with owner.pipe(target, qmgr) as pipe:
            for incoming, outgoing in pipe:
                for message in incoming:
                    if message.msg_seq_number == die_at:
                        return qmgr.close()
                    if puts:
                        outgoing.put(message.data)
        return None

    return target, run


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_pipe_that_has_lost_one_of_its_records_goes_on_exactly_once(owner, pipe_of, role):
    target, run = pipe_of
    run(die_at=6)
    lost = lose(owner, role)
    operate.salvage_owner(owner.qmgr, owner.name, role, queue=target if role == "put" else owner.queue)
    assert known(owner.record(role)) == known(lost)
    run()
    assert [(found.msg_seq_number, found.data) for found in owner.on_queue(target)] == list(enumerate(THIS, 1))
    assert owner.data() == owner.records("put") == owner.records("get") == []


@pytest.mark.parametrize("got", [2, 4])
def test_the_producer_of_a_pipe_goes_on_where_its_consumers_record_says_whatever_was_got(owner, pipe_of, got):
    target, run = pipe_of
    run(die_at=6)
    first = [(found.msg_seq_number, found.data) for found in owner.on_queue(target)][:got]
    handle = owner.eye.open(target, mq.MQOO_INPUT_SHARED)
    for _ in range(got):
        handle.get()
    lost = lose(owner, "put")
    # A group of somebody else, whose end is missing too.
    put(owner, A, 1, 2, queue=target)
    salvage = operate.salvage_owner(owner.qmgr, owner.name, "put", queue=target)
    assert (salvage.done, salvage.group is None) == (True, got == 4)
    assert known(owner.record("put")) == known(lost)
    run()
    rest_of_it = [found for found in owner.on_queue(target) if found.group_id != A]
    assert first + [(found.msg_seq_number, found.data) for found in rest_of_it] == list(enumerate(THIS, 1))
    assert {found.group_id.hex() for found in rest_of_it} == {lost["group_id"]}
    assert [found.is_last for found in rest_of_it][-1:] == [True]


def test_a_pipe_that_put_nothing_has_no_producer_to_go_on(owner, pipe_of):
    target, run = pipe_of
    run(die_at=6, puts=False)
    lose(owner, "put")
    put(owner, A, 1, 2, queue=target)
    assert refused(owner, "put", queue=target) == "nothing-interrupted"


def test_messages_that_contradict_the_record_of_a_pipes_consumer_are_refused(owner, pipe_of):
    target, run = pipe_of
    run(die_at=6)
    group_id = bytes.fromhex(lose(owner, "put")["group_id"])
    assert refused(owner, "put", target, group_id=B) == "pipe"
    put(owner, group_id, 5, queue=target)
    assert refused(owner, "put", target) == "pipe"
    put(owner, group_id, 7, queue=target)
    assert refused(owner, "put", target) == "gap"


def test_the_instance_of_a_pipes_group_is_not_guessed_if_all_its_messages_were_got(owner, pipe_of, monkeypatch):
    target, run = pipe_of
    run(die_at=6)
    lose(owner, "put")
    owner.eye.open(target, mq.MQOO_INPUT_SHARED).all()
    monkeypatch.setattr(Queue, "is_in_cluster", True)
    assert refused(owner, "put", target) == "group-missing"

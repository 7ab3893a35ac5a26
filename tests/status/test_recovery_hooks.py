"""on_resume and on_in_doubt: what an application is told about recovery, when, how often, and what its own errors do."""

from __future__ import annotations

import pytest

import mqgroups
from mqembedded import Fault
from mqgroups import errors
from mqgroups.mqi import constants as mq
from tests.put.whole_groups import THIS, put_rest

BROKEN = mq.MQRC_CONNECTION_BROKEN
RECONNECTS = {"reconnect_wait_s": 30}
whens = pytest.mark.parametrize(
    ("when", "verdict", "status"), [("before", "backed out", "classic"), ("after", "committed", "segmented")]
)
every_unit = pytest.mark.parametrize(
    ("nth", "when", "status"),
    [(1, "before", "classic"), (2, "after", "segmented"), (4, "before", "segmented"), (4, "after", "classic")],
)


class NotNow(Exception):
    """What an application's function raises."""


def refuse(told):
    """Raise what was told."""
    raise NotNow(told)


def put_and_give_up(producer):
    """Put all but the message that ends the group, and fail."""
    with producer.group() as group:
        for data in THIS:
            group.put(data)
        raise NotNow


def complete_and_die(owner):
    """Put a group, and fail before the producer is closed in order: its record stays."""
    with owner.producer(commit_every=100) as producer:
        with producer.group() as group:
            group.set_checkpoint("a completed group's")
            group.put(b"")
        raise NotNow


@pytest.fixture
def told():
    """What the functions were told, in order."""
    return []


# --- on_resume


def test_a_producer_tells_of_the_interrupted_group_it_found(owner, told):
    owner.interrupt_put(THIS[:6], checkpoints=[{"line": number} for number in range(6)])
    group_id = owner.on_queue()[0].group_id
    with owner.producer(on_resume=told.append) as producer:
        assert told == [
            mqgroups.Resumed(
                role="put",
                name=owner.name,
                queue=owner.queue,
                group_id=group_id,
                msg_seq_number=4,
                offset=0,
                checkpoint={"line": 3},
                epoch=2,
                unit_of_work=2,
            )
        ]
        put_rest(producer)
    assert len(told) == 1
    assert owner.data() == THIS


def test_a_consumer_tells_of_the_interrupted_group_it_found(owner, told):
    owner.put_raw_group(THIS)
    group_id = owner.on_queue()[0].group_id
    owner.interrupt_get(3)
    with owner.consumer(on_resume=told.append) as consumer:
        (resumed,) = told
        assert (resumed.role, resumed.name, resumed.queue) == ("get", owner.name, owner.queue)
        assert (resumed.group_id, resumed.msg_seq_number, resumed.offset) == (group_id, 2, 0)
        assert (resumed.checkpoint, resumed.epoch, resumed.unit_of_work) == (None, 2, 1)
        assert [[message.data for message in group] for group in consumer] == [THIS[2:]]
    assert len(told) == 1


def test_on_resume_tells_of_a_message_that_is_half_put(owner, told):
    qmgr = owner.connect()
    group = owner.producer(qmgr, commit_every=3, segment_bytes=2).group()
    group.put(b"whole", last=False)
    with pytest.raises(NotNow):
        group.put(half(), last=True)
    qmgr.close()
    with owner.producer(segment_bytes=2, on_resume=told.append):
        assert [(resumed.msg_seq_number, resumed.offset) for resumed in told] == [(1, 6)]


def half():
    """A stream that ends in the middle."""
    yield b"abcdefghijk"
    raise NotNow


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_start_without_an_interrupted_group_tells_nothing(owner, told, role):
    with owner.start(role, on_resume=told.append):
        pass
    with pytest.raises(NotNow):
        complete_and_die(owner)
    with owner.producer(on_resume=told.append) as producer:
        assert producer.checkpoint is not None
    assert told == []


def test_a_group_that_was_interrupted_since_the_start_is_not_told(owner, told):
    with owner.producer(on_resume=told.append) as producer:
        with pytest.raises(NotNow):
            put_and_give_up(producer)
        assert put_rest(producer) == 6
    assert told == []


@pytest.mark.parametrize("role", ["put", "get"])
def test_what_on_resume_raises_stops_the_start_and_the_group_stays_as_it_was_found(owner, role):
    if role == "put":
        owner.interrupt_put(THIS)
    else:
        owner.interrupt_get(6, of=THIS)
    with pytest.raises(NotNow):
        owner.start(role, on_resume=refuse)
    # The name is free again at once, and the next start finds the same.
    again: list[mqgroups.Resumed] = []
    with owner.start(role, on_resume=again.append):
        assert [resumed.msg_seq_number for resumed in again] == [6]
    assert owner.record(role)["state"] == "in group"


@pytest.mark.embedded
def test_on_resume_is_told_once_though_the_start_took_two_connections(owner, faults, told):
    owner.interrupt_put(THIS)
    faults.arm(Fault("drop", "after", verb="MQCMIT"))
    with owner.producer(owner.connect(**RECONNECTS), on_resume=told.append) as producer:
        assert faults.faults_fired() == 1
        assert [resumed.msg_seq_number for resumed in told] == [6]
        put_rest(producer)
    assert owner.data() == THIS


# --- on_in_doubt


@pytest.mark.embedded
@whens
@pytest.mark.parametrize(("role", "unit_of_work", "messages"), [("put", 2, 2), ("get", 4, 1)])
def test_an_owner_tells_what_became_of_a_commit_without_an_answer(
    owner, faults, told, role, unit_of_work, messages, when, verdict, status
):
    if role == "get":
        owner.put_raw_group(THIS)
    with owner.start(role, owner.connect(**RECONNECTS), status_layout=status, on_in_doubt=told.append) as driver:
        # A commit of messages; that of the start is over.
        faults.arm(Fault("drop", when, verb="MQCMIT", nth=unit_of_work))
        if role == "put":
            put_rest(driver)
        else:
            assert [[message.data for message in group] for group in driver] == [THIS]
    doubt = {"unit_of_work": unit_of_work, "messages": messages, "reason": BROKEN, "outcome": verdict}
    assert told == [mqgroups.InDoubt(role=role, name=owner.name, queue=owner.queue, **doubt)]
    assert owner.data() == (THIS if role == "put" else [])


@pytest.mark.embedded
@whens
def test_a_unit_of_work_that_is_in_doubt_twice_is_told_twice(owner, faults, told, when, verdict, status):
    settings = {"commit_every": 100, "status_layout": status, "on_in_doubt": told.append}
    with owner.producer(owner.connect(**RECONNECTS), **settings) as producer:
        faults.arm(Fault("answer", when, verb="MQCMIT", times=2, reason=mq.MQRC_CALL_INTERRUPTED))
        for _ in range(2):
            with producer.group() as group:
                group.put(b"")
    said = [(doubt.unit_of_work, doubt.reason, doubt.outcome) for doubt in told]
    # Backed out, it is done again under its number; committed, the next one is the next to fail.
    assert said == [(1, 2549, verdict), (1 if when == "before" else 2, 2549, verdict)]
    assert len(owner.data()) == 2


@pytest.mark.embedded
def test_a_doubt_is_told_once_however_many_tries_it_takes_to_settle(owner, faults, told):
    with owner.producer(owner.connect(**RECONNECTS), on_in_doubt=told.append) as producer:
        faults.arm(Fault("drop", "after", verb="MQCMIT"))
        faults.arm(Fault("answer", verb="MQCONNX", times=3, reason=mq.MQRC_Q_MGR_NOT_AVAILABLE))
        put_rest(producer)
    assert faults.faults_fired() == 4
    assert [(doubt.unit_of_work, doubt.outcome) for doubt in told] == [(1, "committed")]


@pytest.mark.embedded
def test_what_the_queue_manager_says_it_backed_out_or_has_lost_in_another_call_is_no_doubt(owner, faults, told):
    with owner.producer(owner.connect(**RECONNECTS), on_in_doubt=told.append) as producer:
        for fault in (
            Fault("drop", "after", verb="MQPUT"),
            Fault("drop", "after", verb="MQGET"),
            Fault("answer", verb="MQCMIT", reason=mq.MQRC_BACKED_OUT),
        ):
            faults.arm(fault)
            put_rest(producer)
    assert faults.faults_fired() == 3
    assert owner.data() == THIS * 3
    assert told == []


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_the_commits_of_starting_and_closing_have_no_messages_and_are_not_told(owner, faults, told, when):
    qmgr = owner.connect(**RECONNECTS)
    faults.arm(Fault("drop", when, verb="MQCMIT"))
    producer = owner.producer(qmgr, on_in_doubt=told.append)
    faults.arm(Fault("drop", when, verb="MQCMIT"))
    producer.close()
    assert faults.faults_fired() == 2
    assert (told, owner.records("put")) == ([], [])


@pytest.mark.embedded
@every_unit
@pytest.mark.parametrize("role", ["put", "get"])
def test_what_on_in_doubt_raises_comes_out_and_the_owner_goes_on(owner, faults, role, when, nth, status):
    if role == "get":
        owner.put_raw_group(THIS)
    with owner.start(role, owner.connect(**RECONNECTS), status_layout=status, on_in_doubt=refuse) as driver:
        faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
        with pytest.raises(NotNow):
            put_rest(driver) if role == "put" else [list(group) for group in driver]
        # The unit of work is committed by then; what follows it is not. Of a whole group nothing is left to do.
        if role == "get":
            rest = [(group.resume_from, [message.data for message in group]) for group in driver]
            assert rest == ([(2 * nth, THIS[2 * nth :])] if nth < 4 else [])
        elif nth < 4:
            assert put_rest(driver) == 2 * nth
    assert owner.data() == (THIS if role == "put" else [])
    assert owner.records(role) == []


@pytest.mark.embedded
def test_a_doubt_that_cannot_be_settled_is_told_when_it_is(owner, faults, told):
    # Given a commit without an answer, and a queue manager that cannot be reached in the time given
    qmgr = owner.connect(reconnect_wait_s=0.05)
    producer = owner.producer(qmgr, on_in_doubt=told.append)
    faults.arm(Fault("drop", "after", verb="MQCMIT"))
    faults.arm(Fault("answer", verb="MQCONNX", times=0, reason=mq.MQRC_Q_MGR_NOT_AVAILABLE))
    with pytest.raises(errors.CommitOutcomeUnknown):
        put_rest(producer)
    assert told == []
    # When it is back
    faults.clear_faults()
    with producer.group() as group:
        # Then the verdict is known before the group goes on
        assert [(doubt.messages, doubt.outcome) for doubt in told] == [(2, "committed")]
        assert group.resume_from == 2
        owner.put_all(group, THIS[2:])
    producer.close()
    assert owner.data() == THIS


@pytest.mark.embedded
def test_closing_after_a_doubt_keeps_the_record_of_the_group_that_turns_out_to_be_interrupted(owner, faults):
    qmgr = owner.connect(reconnect_wait_s=0.05)
    producer = owner.producer(qmgr)
    faults.arm(Fault("drop", "after", verb="MQCMIT"))
    faults.arm(Fault("answer", verb="MQCONNX", times=0, reason=mq.MQRC_Q_MGR_NOT_AVAILABLE))
    with pytest.raises(errors.CommitOutcomeUnknown):
        put_rest(producer)
    faults.clear_faults()
    producer.close()
    assert owner.record("put")["msg_seq_number"] == 2


@pytest.mark.embedded
def test_an_outcome_is_told_before_the_progress_that_came_of_redoing_and_not_while_it_is_redone(owner, faults):
    told: list[str] = []

    def tell(what):
        assert not producer._putter.work.redoing
        told.append(what)

    hooks = {
        "on_in_doubt": lambda doubt: tell(doubt.outcome),
        "on_progress": lambda progress: tell(f"up to {progress.msg_seq_number}"),
    }
    with owner.producer(owner.connect(reconnect_wait_s=30), **hooks) as producer, producer.group() as group:
        faults.arm(Fault("drop", "before", verb="MQCMIT", nth=2))
        for number in range(6):
            group.put(b"%d" % number)
    assert told == ["up to 2", "backed out", "up to 4", "up to 6"]

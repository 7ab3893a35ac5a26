"""A connection is lost at any call of an attempt, or of the end of its batch: it goes on by itself, or the next one does."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import pytest

from mqgroups import errors
from mqgroups.core.claim import Claim, Sink
from mqgroups.embedded import Fault
from mqgroups.mqi import constants as mq
from tests.each_call import each_call
from tests.fix_batches import messages
from tests.fix_mqi import OK, wait_until

KEYS = ("A", "B")
WHOLE = {key: [f"{key}:{n}".encode() for n in range(1, 6)] for key in KEYS}
DEPTH = 10
# Of an attempt.
MOST_CALLS = 54
whenever = pytest.mark.parametrize("when", ["before", "after"])


def put_all(batches, qmgr, **more):
    attempt = batches.attempt(qmgr, **more)
    for key in KEYS:
        attempt.put_group(key, messages(key, 5))
    attempt.close()


def completed(batches):
    batches.complete(0, claim_wait_s=30)
    return batches.kinds() == ["high-water mark"]


def disturbed(make_batches, faults, fault, act):
    """Call ``act`` with a function that arms the fault, then do all of the batch again; returns whether the fault has fired."""
    batches = make_batches()
    faults.clear_faults()
    act(batches, lambda: faults.arm(fault))
    fired = faults.faults_fired()
    faults.clear_faults()
    batches.attempt()  # makes the status queue, if nobody has
    # What the lost connection had in its unit of work may be hidden for a while after its handles are gone.
    put_all(batches, batches.owner.connect(), claim_wait_s=30)
    wait_until(partial(completed, batches))
    assert batches.groups() == WHOLE
    assert batches.depth() == DEPTH
    return fired


@pytest.mark.embedded
@whenever
@each_call(least=40, most=MOST_CALLS)
def test_the_next_attempt_goes_on_whatever_call_ends_an_attempt(make_batches, faults, when, call):
    def act(batches, arm):
        qmgr = batches.owner.connect(reconnect_wait_s=0)
        arm()
        with suppress(errors.ConnectionBroken, errors.CommitOutcomeUnknown):
            put_all(batches, qmgr)

    call.check(disturbed(make_batches, faults, Fault("drop", when, nth=call.nth), act))


def put_with_patience(batches, arm):
    qmgr = batches.owner.connect(reconnect_wait_s=30)
    arm()
    put_all(batches, qmgr, claim_wait_s=30)


@pytest.mark.embedded
@whenever
@each_call(least=40, most=MOST_CALLS)
def test_an_attempt_goes_on_by_itself_whatever_call_loses_its_connection(make_batches, faults, when, call):
    call.check(disturbed(make_batches, faults, Fault("drop", when, nth=call.nth), put_with_patience))


@pytest.mark.embedded
@whenever
@pytest.mark.parametrize("reason", [mq.MQRC_CONNECTION_BROKEN, mq.MQRC_CALL_INTERRUPTED], ids=mq.reason_name)
@each_call(least=7, most=10)
def test_every_commit_of_an_attempt_gets_a_verdict(make_batches, faults, reason, when, call):
    fault = Fault("answer", when, verb="MQCMIT", nth=call.nth, reason=reason)
    call.check(disturbed(make_batches, faults, fault, put_with_patience))


@pytest.mark.embedded
@whenever
@pytest.mark.parametrize("reconnect_wait_s", [0, 30], ids=["the-next-driver", "by-itself"])
@each_call(least=10, most=19)
def test_a_batch_is_completed_whatever_call_loses_the_driver(make_batches, faults, when, reconnect_wait_s, call):
    def act(batches, arm):
        put_all(batches, batches.owner.connect())
        qmgr = batches.owner.connect(reconnect_wait_s=reconnect_wait_s)
        arm()
        try:
            batches.complete(0, qmgr)
        except errors.MQIError:
            assert reconnect_wait_s == 0

    call.check(disturbed(make_batches, faults, Fault("drop", when, nth=call.nth), act))


@pytest.mark.embedded
@whenever
def test_whether_a_batch_is_completed_is_asked_again_after_a_lost_connection(batches, faults, when):
    put_all(batches, batches.owner.connect())
    attempt = batches.attempt(batches.owner.connect(reconnect_wait_s=30))
    faults.arm(Fault("drop", when, verb="MQGET"))
    assert not attempt.completed()
    batches.complete(0)
    faults.arm(Fault("drop", when, verb="MQGET"))
    # The first MQOPEN is the new connection's own, of the queue manager; the second one opens the status queue again.
    faults.arm(Fault("drop", when, verb="MQOPEN", nth=2))
    fired = faults.faults_fired()
    assert attempt.completed()
    assert faults.faults_fired() == fired + 2
    attempt.close()


@pytest.mark.embedded
def test_without_patience_a_lost_connection_is_told_by_who_asks_whether_a_batch_is_completed(batches, faults):
    attempt = batches.attempt(batches.owner.connect(reconnect_wait_s=0))
    faults.arm(Fault("drop", verb="MQGET"))
    with pytest.raises(errors.ConnectionBroken):
        attempt.completed()


class Interrupted(Exception):
    pass


def unfinished(batches, key):
    """An attempt that commits the beginning of a group and no more."""

    def some():
        yield from messages(key, 3)
        raise Interrupted

    with pytest.raises(Interrupted):
        batches.attempt().put_group(key, some())


def test_a_group_whose_status_is_hidden_keeps_its_batch_from_being_completed(batches, connect):
    """Its unit of work may be one that dies, after its connection's handles and before it is backed out."""
    unfinished(batches, "A")
    dying = connect()
    hidden = dying.open(batches.status_queue, mq.MQOO_INPUT_SHARED)
    claim = Claim(Sink(batches.sink, batches.queue, ""), 0, "A", "", "", 0)
    took = hidden.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_CORREL_ID, CorrelId=claim.status_id, length=10_000)
    assert took.code == OK
    with pytest.raises(errors.OwnerActive, match="it is not known whether the group is complete"):
        batches.complete(0, claim_wait_s=0)
    assert batches.kinds() == ["intent"]
    assert dying.back_out() == OK
    with pytest.raises(errors.InputChanged):
        batches.complete(0, claim_wait_s=0)
    batches.attempt().put_group("A", messages("A", 5))
    batches.complete(0)
    assert batches.kinds() == ["high-water mark"]


def test_records_that_come_back_behind_the_high_water_mark_do_no_harm(batches, connect):
    """As the unit of work of a lost connection leaves them, that was taking them away."""
    put_all(batches, batches.owner.connect())
    dying = connect()
    hidden = dying.open(batches.status_queue, mq.MQOO_INPUT_SHARED)
    for _ in range(4):
        assert hidden.get(mq.MQGMO_SYNCPOINT, length=10_000).code == OK
    batches.complete(0)
    assert batches.kinds() == ["high-water mark"]
    assert dying.back_out() == OK
    assert len(batches.kinds()) == 5
    put_all(batches, batches.owner.connect(), run="run-2")
    assert batches.groups() == WHOLE
    assert batches.depth() == DEPTH
    batches.attempt(batch=1).put_group("C", [messages("C", 1)[0]])
    batches.complete(1)
    assert batches.kinds() == ["high-water mark"]


@pytest.mark.embedded
def test_without_a_status_queue_a_lost_connection_ends_the_attempt(batches, faults):
    qmgr = batches.owner.connect(reconnect_wait_s=30)
    attempt = batches.attempt(qmgr, status_queue=None)
    faults.arm(Fault("drop", verb="MQPUT", nth=4))
    with pytest.raises(errors.GroupNotResumable):
        attempt.put_group("A", messages("A", 5))
    assert batches.groups() == {}
    assert batches.attempt(status_queue=None).put_group("A", messages("A", 5)) == 5
    assert batches.groups() == {"A": WHOLE["A"]}


@pytest.mark.embedded
def test_the_rest_of_a_group_is_put_in_order_with_the_group_id_that_the_queue_manager_gave(batches, faults):
    qmgr = batches.owner.connect(reconnect_wait_s=0)
    attempt = batches.attempt(qmgr)
    faults.arm(Fault("drop", verb="MQPUT", nth=6))
    with pytest.raises(errors.ConnectionBroken):
        attempt.put_group("A", messages("A", 5))
    (group_id,) = {found.group_id for found in batches.owner.on_queue()}
    assert group_id.startswith(b"AMQ ")
    assert batches.status("A")["group_id"] == group_id.hex()
    batches.attempt().put_group("A", messages("A", 5))
    assert [(found.group_id, found.msg_seq_number) for found in batches.owner.on_queue()] == [
        (group_id, number) for number in range(1, 6)
    ]


# --- asynchronous puts


@pytest.mark.embedded
@pytest.mark.parametrize("keeps", [True, False], ids=["with a status queue", "without one"])
@pytest.mark.parametrize("reason", [mq.MQRC_Q_FULL, mq.MQRC_BACKED_OUT])
def test_an_asynchronous_put_that_fails_has_its_unit_of_work_put_again(batches, faults, keeps, reason):
    status_queue = {} if keeps else {"status_queue": None}
    attempt = batches.attempt(every=4, put_response="async", full_wait_s=30, **status_queue)
    for key in KEYS:
        # In the first unit of work of A, and in the second one of B; those that are kept put records first.
        faults.arm(Fault("answer", verb="MQPUT", nth=2 + 3 * keeps + 6 * (key == "B"), reason=reason))
        assert attempt.put_group(key, messages(key, 9)) == 9
    assert faults.faults_fired() == 2
    assert batches.groups() == {key: [f"{key}:{n}".encode() for n in range(1, 10)] for key in KEYS}


@pytest.mark.embedded
@whenever
@each_call(least=30, most=MOST_CALLS + 4)
def test_asynchronous_puts_go_on_by_themselves_whatever_call_loses_the_connection(make_batches, faults, when, call):
    def act(batches, arm):
        qmgr = batches.owner.connect(reconnect_wait_s=30)
        arm()
        put_all(batches, qmgr, every=3, put_response="async", claim_wait_s=30)

    call.check(disturbed(make_batches, faults, Fault("drop", when, nth=call.nth), act))

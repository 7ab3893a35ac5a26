"""A connection is lost at any call of an attempt, or of the end of its batch: it goes on by itself, or the next one does."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import pytest

from embedded_tests.fix_mqi import OK, wait_until
from mqembedded import Fault
from mqgroups import errors
from mqgroups.batch.errors import BatchRefused
from mqgroups.core.claim import Claim, Sink
from mqgroups.mqi import constants as mq
from tests.fix_batches import interrupt, messages

KEYS = ("A", "B")
WHOLE = {key: [f"{key}:{n}".encode() for n in range(1, 6)] for key in KEYS}
DEPTH = 10
LOST = pytest.raises((errors.ConnectionBroken, errors.CommitOutcomeUnknown))
whenever = pytest.mark.parametrize("when", ["before", "after"])
# Of the claim, in the middle of a group, and of its end.
commits = pytest.mark.parametrize(("when", "nth"), [("before", 1), ("after", 2), ("before", 4), ("after", 4)])


def put_all(batches, qmgr, **more):
    attempt = batches.attempt(qmgr, **more)
    for key in KEYS:
        attempt.put_group(key, messages(key, 5))
    attempt.close()


def completed(batches):
    batches.complete(0, owner_wait_s=30)
    return batches.kinds() == ["high-water mark"]


def finish(batches):
    """Do all of the batch again, complete it, and look at what is there."""
    # What the lost connection had in its unit of work may be hidden for a while after its handles are gone.
    put_all(batches, batches.owner.connect(), owner_wait_s=30)
    wait_until(partial(completed, batches))
    assert batches.groups() == WHOLE
    assert batches.depth() == DEPTH


@pytest.mark.embedded
@commits
@pytest.mark.parametrize("response", ["sync", "async"])
@pytest.mark.parametrize("reconnect_wait_s", [0, 30], ids=["the next one", "by itself"])
def test_an_attempt_goes_on_whatever_commit_loses_the_connection(
    batches, faults, reconnect_wait_s, response, when, nth
):
    qmgr = batches.owner.connect(reconnect_wait_s=reconnect_wait_s)
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
    with nullcontext() if reconnect_wait_s else LOST:
        put_all(batches, qmgr, every=3, put_response=response, owner_wait_s=reconnect_wait_s)
    assert faults.faults_fired() == 1
    finish(batches)


@pytest.mark.embedded
@whenever
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("reconnect_wait_s", [0, 30], ids=["the next one", "by itself"])
def test_a_batch_is_completed_whatever_commit_loses_the_driver(batches, faults, reconnect_wait_s, nth, when):
    put_all(batches, batches.owner.connect())
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
    with nullcontext() if reconnect_wait_s else LOST:
        batches.complete(0, batches.owner.connect(reconnect_wait_s=reconnect_wait_s))
    assert faults.faults_fired() == 1
    finish(batches)


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


def test_a_group_whose_status_is_hidden_keeps_its_batch_from_being_completed(batches, connect):
    """Its unit of work may be one that dies, after its connection's handles and before it is backed out."""
    interrupt(batches.attempt(), "A", 3, after=3)
    dying = connect()
    hidden = dying.open(batches.status_queue, mq.MQOO_INPUT_SHARED)
    claim = Claim(Sink(batches.sink, batches.queue, ""), 0, "A", "", "", 0)
    took = hidden.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_CORREL_ID, CorrelId=claim.status_id, length=10_000)
    assert took.code == OK
    with pytest.raises(errors.OwnerActive, match="it is not known whether the group is complete"):
        batches.complete(0, owner_wait_s=0)
    assert batches.kinds() == ["intent"]
    assert dying.back_out() == OK
    with pytest.raises(BatchRefused, match="the batch has none for it now"):
        batches.complete(0, owner_wait_s=0)
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
@pytest.mark.parametrize("reason", [mq.MQRC_Q_FULL, mq.MQRC_BACKED_OUT])
def test_an_asynchronous_put_that_fails_has_its_unit_of_work_put_again(batches, faults, reason):
    attempt = batches.attempt(every=4, put_response="async", full_wait_s=30)
    for key in KEYS:
        # In the first unit of work of A, and in the second one of B; each puts records first.
        faults.arm(Fault("answer", verb="MQPUT", nth=5 + 6 * (key == "B"), reason=reason))
        assert attempt.put_group(key, messages(key, 9)) == 9
    assert faults.faults_fired() == 2
    assert batches.groups() == {key: [f"{key}:{n}".encode() for n in range(1, 10)] for key in KEYS}

"""A connection is lost at any call of an attempt, or of the end of its batch: it goes on by itself, or the next one does."""

from __future__ import annotations

from contextlib import suppress

import pytest

from mqgroups import errors
from mqgroups.embedded import Fault
from mqgroups.mqi import constants as mq
from tests.fix_batches import messages

KEYS = ("A", "B")
WHOLE = {key: [f"{key}:{n}".encode() for n in range(1, 6)] for key in KEYS}
DEPTH = 10
whenever = pytest.mark.parametrize("when", ["before", "after"])


def put_all(batches, qmgr, **more):
    attempt = batches.attempt(qmgr, **more)
    for key in KEYS:
        attempt.put_group(key, messages(key, 5))
    attempt.close()


def until_it_does_not_fire(make_batches, faults, fault, act):
    """Call ``act`` with the fault at the first call, the second and so on; returns how many there were."""
    fired = nth = 1
    while fired:
        batches = make_batches()
        faults.clear_faults()
        act(batches, lambda nth=nth: faults.arm(fault(nth)))
        fired = faults.faults_fired()
        faults.clear_faults()
        batches.attempt()  # makes the status queue, if nobody has
        put_all(batches, batches.owner.connect())
        batches.complete(0)
        assert batches.groups() == WHOLE, nth
        assert batches.depth() == DEPTH, nth
        assert batches.kinds() == ["high-water mark"], nth
        nth += 1
    return nth


@pytest.mark.embedded
@whenever
def test_the_next_attempt_goes_on_whatever_call_ends_an_attempt(make_batches, faults, when):
    def act(batches, arm):
        qmgr = batches.owner.connect(reconnect_wait_s=0)
        arm()
        with suppress(errors.ConnectionBroken, errors.CommitOutcomeUnknown):
            put_all(batches, qmgr)

    assert until_it_does_not_fire(make_batches, faults, lambda nth: Fault("drop", when, nth=nth), act) > 40


@pytest.mark.embedded
@whenever
def test_an_attempt_goes_on_by_itself_whatever_call_loses_its_connection(make_batches, faults, when):
    def act(batches, arm):
        qmgr = batches.owner.connect(reconnect_wait_s=30)
        arm()
        put_all(batches, qmgr, claim_wait_s=30)

    assert until_it_does_not_fire(make_batches, faults, lambda nth: Fault("drop", when, nth=nth), act) > 40


@pytest.mark.embedded
@whenever
@pytest.mark.parametrize("reason", [mq.MQRC_CONNECTION_BROKEN, mq.MQRC_CALL_INTERRUPTED], ids=mq.reason_name)
def test_every_commit_of_an_attempt_gets_a_verdict(make_batches, faults, reason, when):
    def act(batches, arm):
        qmgr = batches.owner.connect(reconnect_wait_s=30)
        arm()
        put_all(batches, qmgr, claim_wait_s=30)

    def fault(nth):
        return Fault("answer", when, verb="MQCMIT", nth=nth, reason=reason)

    assert until_it_does_not_fire(make_batches, faults, fault, act) > 8


@pytest.mark.embedded
@whenever
@pytest.mark.parametrize("reconnect_wait_s", [0, 30], ids=["the-next-driver", "by-itself"])
def test_a_batch_is_completed_whatever_call_loses_the_driver(make_batches, faults, when, reconnect_wait_s):
    def act(batches, arm):
        put_all(batches, batches.owner.connect())
        qmgr = batches.owner.connect(reconnect_wait_s=reconnect_wait_s)
        arm()
        try:
            batches.complete(0, qmgr)
        except errors.MQIError:
            assert reconnect_wait_s == 0

    assert until_it_does_not_fire(make_batches, faults, lambda nth: Fault("drop", when, nth=nth), act) > 10


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

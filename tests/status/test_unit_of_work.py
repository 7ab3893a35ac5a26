"""Units of work: what every outcome of MQCMIT means, and what the status record says about it afterwards."""

from __future__ import annotations

import itertools

import pytest

import mqgroups
from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants
from tests.put.whole_groups import THIS, is_whole_group

roles = pytest.mark.parametrize("role", ["put", "get"])


def put_rest(producer, payloads=THIS, *, checkpoints=False):
    """Put what is left of the group; return where it went on."""
    with producer.group() as group:
        for number in range(group.resume_from, len(payloads)):
            group.set_checkpoint(number + 1 if checkpoints else None)
            group.put(payloads[number])
    return group.resume_from


def is_done(owner, role):
    """Whether the group was put, or got, and no record is left."""
    done = is_whole_group(owner.on_queue(), THIS) if role == "put" else owner.data() == []
    return done and owner.records(role) == []


# --- MQCMIT: nobody knows


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("nth", "reason"),
    [
        (1, constants.MQRC_CONNECTION_BROKEN),
        (2, constants.MQRC_Q_MGR_STOPPING),
        (2, constants.MQRC_CONNECTION_STOPPING),
        (4, constants.MQRC_CALL_INTERRUPTED),
    ],
)
def test_a_commit_of_unknown_outcome_is_not_repeated_and_the_record_tells(owner, faults, reason, nth):
    qmgr = owner.connect()
    producer = owner.producer(qmgr)
    faults.arm(Fault("answer", verb="MQCMIT", nth=nth, reason=reason))
    with pytest.raises(errors.CommitOutcomeUnknown) as caught:
        put_rest(producer)
    assert (caught.value.verb, caught.value.reason) == ("MQCMIT", reason)
    assert "It is not known whether the unit of work was committed" in str(caught.value)
    assert not qmgr.usable
    with pytest.raises(errors.CommitOutcomeUnknown):
        put_rest(producer)
    producer.close()
    qmgr.close()
    # It was not: the fault answered before the commit took effect.
    with owner.producer(owner_wait_s=30) as producer:
        assert put_rest(producer) == 2 * (nth - 1)
    assert is_whole_group(owner.on_queue(), THIS)


def do_rest(driver):
    """Put what is left of the group, or get it; returns where it went on."""
    if isinstance(driver, mqgroups.GroupProducer):
        return put_rest(driver)
    group = next(iter(driver))
    assert [message.data for message in group] == THIS[group.resume_from :]
    return group.resume_from


@pytest.mark.embedded
@roles
@pytest.mark.parametrize(("when", "committed"), [("before", 2), ("after", 4)])
def test_a_lost_connection_at_a_commit_is_resolved_by_the_record(owner, faults, role, when, committed):
    if role == "get":
        owner.put_raw_group(THIS)
    driver = owner.start(role, owner.connect())
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=2))
    with pytest.raises(errors.CommitOutcomeUnknown, match="Message 2 is the last of the group that is known"):
        do_rest(driver)
    with owner.start(role, owner_wait_s=30) as driver:
        assert do_rest(driver) == committed
    assert is_done(owner, role)


@pytest.mark.embedded
@pytest.mark.parametrize(("when", "checkpoint"), [("before", 6), ("after", 7)])
@pytest.mark.parametrize("every", [2, 100])
def test_with_a_checkpoint_the_last_commit_of_a_group_is_resolved_too(owner, faults, when, checkpoint, every):
    checkpoint = checkpoint if every == 2 or when == "after" else None
    producer = owner.producer(owner.connect(), commit_every=every)
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=4 if every == 2 else 1))
    with pytest.raises(errors.CommitOutcomeUnknown):
        put_rest(producer, checkpoints=True)
    with owner.producer(owner_wait_s=30) as producer:
        assert producer.checkpoint == checkpoint
        if checkpoint != len(THIS):
            assert put_rest(producer, checkpoints=True) == (checkpoint or 0)
    assert is_whole_group(owner.on_queue(), THIS)
    assert (owner.record("put")["state"], owner.record("put")["checkpoint"]) == ("completed", {"json": len(THIS)})


# --- MQCMIT: backed out, or refused


def backing_out_instead(qmgr, nth):
    """Return an MQCMIT that the queue manager answers by backing out, the n-th time."""
    binding = connection_of(qmgr).binding
    commit, back_out = binding.MQCMIT, binding.MQBACK
    calls = itertools.count(1)

    def mqcmit(hconn):
        if next(calls) != nth:
            return commit(hconn)
        assert back_out(hconn) == (constants.MQCC_OK, constants.MQRC_NONE)
        return constants.MQCC_WARNING, constants.MQRC_BACKED_OUT

    return mqcmit


@roles
@pytest.mark.parametrize("nth", [1, 4])
def test_a_unit_of_work_that_the_queue_manager_backed_out_is_done_again_on_the_same_connection(owner, role, nth):
    if role == "get":
        owner.put_raw_group(THIS)
    qmgr = owner.connect()
    with owner.start(role, qmgr) as driver:
        owner.doctor(qmgr, MQCMIT=backing_out_instead(qmgr, nth))
        said = r"reason 2003 MQRC_BACKED_OUT.*has backed out the unit of work"
        with pytest.raises(errors.MQIError, match=said) as caught:
            do_rest(driver)
        assert caught.value.context
        assert qmgr.usable
        assert do_rest(driver) == 2 * (nth - 1)
    assert is_done(owner, role)


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("nth", "reason"),
    [(1, constants.MQRC_RESOURCE_PROBLEM), (2, constants.MQRC_BACKED_OUT), (4, constants.MQRC_RESOURCE_PROBLEM)],
)
def test_a_commit_that_was_refused_is_backed_out(owner, faults, nth, reason):
    """MQRC_BACKED_OUT too: should anything be left of the unit of work, it must not go with the next one."""
    with owner.producer() as producer:
        faults.arm(Fault("answer", verb="MQCMIT", nth=nth, reason=reason))
        with pytest.raises(errors.MQIError) as caught:
            put_rest(producer)
        assert not isinstance(caught.value, errors.CommitOutcomeUnknown)
        assert len(owner.data()) == 2 * (nth - 1)
        assert put_rest(producer) == 2 * (nth - 1)
    assert is_whole_group(owner.on_queue(), THIS)


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("make", "what", "whose"),
    [
        ("producer", "forget", "its own"),
        ("producer", "close", "the application's"),
        ("consumer", "forget", "the application's"),
        ("consumer", "close", "its own"),
    ],
)
def test_a_unit_of_work_of_records_that_is_refused_does_not_keep_the_connection(
    owner, mq, binding, faults, make, what, whose
):
    owner.put_raw_group(THIS)
    raw = mq.connect(binding) if whose == "the application's" else None
    qmgr = mqgroups.wrap(raw) if raw else owner.connect()
    refused = getattr(owner, make)(qmgr)
    checkpoint = "forget it" if what == "forget" else None
    if make == "producer":
        with refused.group() as group:
            group.set_checkpoint(checkpoint)
            group.put(b"one")
    else:
        for group in refused:
            group.set_checkpoint(checkpoint)
            assert [message.data for message in group] == THIS
    faults.arm(Fault("answer", verb="MQCMIT", reason=constants.MQRC_STORAGE_NOT_AVAILABLE))
    with pytest.raises(errors.MQIError, match="2071"):
        getattr(refused, what)()
    assert len(owner.records("put" if make == "producer" else "get")) == 1
    if raw:
        raw.commit()
    # Another one on this connection works, and takes away what is left.
    with getattr(owner, make)(qmgr) as after:
        after.forget()
    assert owner.records("put") == owner.records("get") == []


@pytest.mark.embedded
def test_taking_a_completed_record_away_may_fail_and_is_done_by_the_next_one(owner, faults):
    producer = owner.producer(owner.connect())
    put_rest(producer)
    faults.arm(Fault("drop", verb="MQCMIT"))
    with pytest.raises(errors.CommitOutcomeUnknown):
        producer.close()
    assert (owner.record("put")["state"], owner.anchors("put")) == ("completed", 1)
    owner.producer(owner_wait_s=30).close()
    assert owner.on_queue(owner.status_queue("put")) == []
    assert is_whole_group(owner.on_queue(), THIS)


# --- numbers


def test_units_of_work_and_owners_are_numbered_on_over_restarts(owner):
    numbers = []
    for put_until in (3, 5, 7):
        owner.interrupt_put(THIS[:put_until] if put_until == 3 else THIS[put_until - 3 : put_until])
        record = owner.record("put")
        numbers.append((record["epoch"], record["unit_of_work"], record["msg_seq_number"]))
    assert numbers == [(1, 1, 2), (2, 2, 4), (3, 3, 6)]


@pytest.mark.embedded
def test_an_owner_begins_and_ends_with_a_unit_of_work_of_its_own(owner, count_calls):
    """Its record is put and taken away, and the anchor beside it."""
    qmgr = owner.connect()
    count_calls()
    producer = owner.producer(qmgr)
    # Two opens and the definition type of the status queue; is there a record?
    assert count_calls() == {"MQOPEN": 3, "MQINQ": 1, "MQGET": 2, "MQPUT": 2, "MQCMIT": 1}
    assert owner.record("put")["state"] == "idle"
    count_calls()
    producer.close()
    assert count_calls() == {"MQGET": 2, "MQCMIT": 1, "MQCLOSE": 2}
    assert owner.records("put") == []


@pytest.mark.embedded
def test_closing_in_the_middle_of_a_group_leaves_the_record(owner, count_calls):
    producer = owner.producer(put_response="sync")
    group = producer.group()
    owner.put_all(group, THIS[:4])
    count_calls()
    producer.close()
    assert count_calls() == {"MQBACK": 1, "MQCLOSE": 2}
    assert owner.record("put")["msg_seq_number"] == 2


def test_repr_shows_whose_and_how_far(owner):
    with owner.producer(commit_every=100) as producer, producer.group() as group:
        assert repr(producer._putter.work) == f"<UnitsOfWork of put {owner.name} uow=1 messages=0>"
        group.put(b"0")
        group.put(b"1")
        assert repr(producer._putter.work) == f"<UnitsOfWork of put {owner.name} uow=1 messages=1>"

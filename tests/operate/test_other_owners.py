"""A group that the record of another owner speaks of is not given to a second one."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_tests.fix_mqi import OK
from mqgroups import errors, operate
from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from tests.fix_batches import interrupt, messages
from tests.operate.lost_records import THIS, assert_whole, damage, lose, rest, statuses


@statuses
def test_a_group_that_another_producers_record_speaks_of_is_refused(owner, alpha, status):
    alpha.interrupt_put(THIS[:6], status_layout=status)
    for more in ({}, {"accept": ["in-use", "other-owners", "begun"]}, {"group_id": owner.on_queue()[0].group_id}):
        with pytest.raises(errors.RepairRefused) as caught:
            operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, **more)
        assert (caught.value.owner, caught.value.status_queue) == (alpha.name, alpha.status_queue("put"))
        assert caught.value.because == "owned"
        assert f"for group {owner.on_queue()[0].group_id.hex()}" in str(caught.value)
    assert owner.records("put") == []
    alpha.resume_put(THIS, status_layout=status)
    assert_whole(owner, THIS)


def test_a_group_that_another_consumers_record_speaks_of_is_refused(owner, alpha):
    owner.put_raw_group(THIS)
    alpha.interrupt_get()
    with pytest.raises(errors.RepairRefused, match=f"a record of {alpha.name}"):
        operate.salvage_owner(owner.qmgr, owner.name, "get", queue=owner.queue)
    assert rest(alpha) == list(enumerate(THIS, 1))[4:]


def test_records_of_other_groups_and_of_the_other_role_are_no_obstacle(owner, alpha, make_owner):
    other = make_owner()
    other.interrupt_put(THIS[:6])
    owner.interrupt_put([*THIS, b"held back"], commit_every=7)
    alpha.interrupt_get()
    lose(owner, "put")
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["begun"])
    assert owner.record("put")["msg_seq_number"] == 7


def test_another_owners_record_that_is_hidden_is_waited_for(owner, alpha):
    alpha.interrupt_put(THIS[:6])
    alpha.take_record("put", mq.MQGMO_SYNCPOINT)
    with pytest.raises(errors.OwnerActive, match=alpha.status_queue("put")):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["in-use", "other-owners"])
    assert alpha.eye.back_out() == OK
    with pytest.raises(errors.RepairRefused):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)


@pytest.mark.parametrize("lost", [False, True], ids=["cannot be read", "is lost beside its anchor"])
def test_another_owners_record_that_tells_nothing_is_a_doubt(owner, alpha, lost):
    """Else two owners whose records are lost could not be mended: each would wait for the other one's record."""
    alpha.interrupt_put(THIS[:6])
    if lost:
        alpha.take_record("put")
    else:
        damage(alpha, "put")
    match = f"{alpha.status_queue('put')}{' is lost' if lost else ''}"
    with pytest.raises(errors.RepairRefused, match=match) as caught:
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
    with pytest.raises(errors.RepairRefused, match=alpha.status_queue("put")) as caught:
        operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue)
    assert caught.value.because == "other-owners"
    assert operate.salvage_owner(qmgr, owner.name, "put", queue=owner.queue, accept=["other-owners"], check=True).record


@pytest.mark.embedded
def test_a_record_that_may_be_hidden_or_lost_is_not_said_to_be_of_a_running_program(owner, alpha, monkeypatch):
    alpha.interrupt_put(THIS[:6])
    alpha.take_record("put")
    opened = Connection.open_queue

    def refusing(self, name, options, **more):
        if name == alpha.status_queue("put") and options & mq.MQOO_INQUIRE:
            error = errors.mqi_error("MQOPEN", f"queue {name}", mq.MQCC_FAILED, mq.MQRC_NOT_AUTHORIZED)
            error.context = "needs INQ"
            raise error
        return opened(self, name, options, **more)

    monkeypatch.setattr(Connection, "open_queue", refusing)
    with pytest.raises(errors.OwnerActive, match=r"it is lost: MQOPEN .*needs INQ") as caught:
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, accept=["other-owners"])
    assert "running" not in str(caught.value)


def test_a_status_queue_of_another_name_is_looked_at_if_it_is_named(owner, alpha, make_queue):
    alpha.interrupt_put(THIS[:6])
    elsewhere = make_queue()
    for found in alpha.on_queue(alpha.status_queue("put")):
        owner.put_raw(found.data, elsewhere, MsgId=found.md.MsgId, CorrelId=found.md.CorrelId)
    lose(alpha, "put")
    with pytest.raises(errors.RepairRefused) as caught:
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, other_status_queues=[elsewhere])
    assert (caught.value.owner, caught.value.status_queue) == (alpha.name, elsewhere)
    with pytest.raises(errors.RepairRefused, match=r"NO.SUCH.QUEUE cannot be read"):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, other_status_queues=["NO.SUCH.QUEUE"])


def test_names_that_are_given_are_all_there_are_where_no_list_can_be_had(owner, alpha, unasked):
    alpha.interrupt_put(THIS[:6])
    given: Any = {"other_status_queues": [alpha.status_queue("put")], "accept": ["in-use"]}
    with pytest.raises(errors.RepairRefused):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, **given)
    lose(alpha, "put")
    assert operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, **given).done


def test_a_group_of_a_batch_has_an_owner_too(batches):
    owner, given = batches.owner, {"queue": batches.queue, "other_status_queues": [batches.status_queue]}
    interrupt(batches.attempt(), "K", 5, after=5)
    assert len(owner.on_queue()) == 4
    with pytest.raises(errors.RepairRefused) as caught:
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

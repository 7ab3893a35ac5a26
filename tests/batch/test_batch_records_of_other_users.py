"""On a shared status queue, too, a record of another user decides nothing: no group and no batch is passed over because of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from embedded_tests.fix_mqi import OK
from mqgroups.batch.completion import adopt_records, completed_batch
from mqgroups.connection.holder import connection_of
from mqgroups.core.status import decode, encode
from mqgroups.errors import StatusQueueUnusable
from mqgroups.mqi import constants as mq
from tests.fix_batches import messages

SOMEBODY = "somebody"


def copied(batches, kinds, **fields):
    """Put the records of these kinds again as somebody else's, instead of those on the queue."""
    found = batches.owner.on_queue(batches.status_queue)
    batches.owner.empty(batches.status_queue)
    handle = batches.owner.eye.open(batches.status_queue, mq.MQOO_OUTPUT | mq.MQOO_SET_IDENTITY_CONTEXT)
    for each in found:
        if json.loads(each.data)["checkpoint"]["json"]["kind"] in kinds:
            as_user = {"CorrelId": each.md.CorrelId, "UserIdentifier": SOMEBODY.encode()}
            data = encode(replace(decode(each.data), **fields))
            assert handle.put(data, mq.MQPMO_SET_IDENTITY_CONTEXT, **as_user).code == OK
    handle.close()


def put(batches, **more):
    attempt = batches.attempt(**more)
    try:
        return 0 if attempt.completed() else attempt.put_group("A", messages("A", 3))
    finally:
        attempt.close()


@pytest.mark.parametrize("kind", ["status", "high-water mark"])
def test_what_another_user_says_is_whole_is_not_passed_over(batches, kind):
    assert put(batches) == 3
    if kind == "high-water mark":
        batches.complete()
    copied(batches, {"intent", kind})
    batches.owner.empty()
    for refused in (
        lambda: put(batches),
        batches.complete,
        *([lambda: is_completed(batches)] if kind == "high-water mark" else []),
    ):
        with pytest.raises(StatusQueueUnusable, match=f"put by user '{SOMEBODY}'"):
            refused()
    assert batches.groups() == {}
    # Nothing is left of the message by which it has learned its own user.
    assert len(batches.records()) == (1 if kind == "high-water mark" else 2)
    # Whoever is named is believed.
    assert put(batches, record_users=(SOMEBODY,)) == 0
    batches.complete(1, record_users=(SOMEBODY,))
    assert put(batches) == 0


def is_completed(batches):
    return completed_batch(connection_of(batches.owner.qmgr), batches.status_queue, batches.sink, batches.queue)


def test_an_adopted_record_is_still_its_user_s(batches):
    assert put(batches) == 3
    old = "QM9_2001-01-01_00.00.00"
    copied(batches, {"intent", "status"}, q_mgr_identifier=old)
    adopted = adopt_records(connection_of(batches.owner.qmgr), batches.status_queue, old)
    found = batches.owner.on_queue(batches.status_queue)
    assert len(adopted) == len(found) == 2
    assert {each.md.UserIdentifier for each in found} == {SOMEBODY.encode().ljust(12)}

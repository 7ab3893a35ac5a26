"""Whoever may put to a status queue can put a perfect record there. It is refused by its UserIdentifier, and nothing is skipped.

Oracle: UserIdentifier is what the queue manager generates unless the putter may set it ("UserIdentifier").
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from click.testing import CliRunner

from embedded_tests.fix_mqi import OK
from mqembedded import Fault
from mqgroups import errors
from mqgroups.cli.main import main
from mqgroups.core.model import GROUP_ID_NONE
from mqgroups.core.status import RecordState, encode
from mqgroups.mqi import constants as mq
from tests.fix_cli import environment

ROLES = pytest.mark.parametrize("role", ["put", "get"])
STATUSES = pytest.mark.parametrize("status", ["classic", "segmented"])
ROWS = [b"%d" % number for number in range(10)]
SOMEBODY = "somebody"


def forge(owner, role, user=SOMEBODY, *, anchor=b"", **fields: Any):
    """Put a record of an interrupted group, with an anchor unless one is named, as another user does."""
    group = {"group_id": b"FORGED".ljust(24, b"\1"), "msg_seq_number": 9, "checkpoint": 9, "epoch": 1}
    record = owner.status_record(role, **{**group, **fields})
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_OUTPUT | mq.MQOO_SET_IDENTITY_CONTEXT)
    assert handle.code == OK
    as_user = {"UserIdentifier": user.encode(), "Format": mq.MQFMT_STRING, "Persistence": mq.MQPER_PERSISTENT}
    if not anchor:
        idle = dataclasses.replace(record, state=RecordState.ANCHOR, group_id=GROUP_ID_NONE, msg_seq_number=0)
        put = handle.put(encode(idle), mq.MQPMO_SET_IDENTITY_CONTEXT, **as_user)
        assert put.code == OK
        anchor = put.md.MsgId
    assert handle.put(encode(record), mq.MQPMO_SET_IDENTITY_CONTEXT, CorrelId=anchor, **as_user).code == OK
    handle.close()


def refused(owner, role, **more):
    """Whether a start is refused because of the record's user, and leaves both queues as they were."""
    before = [found.data for found in owner.on_queue(owner.status_queue(role))], owner.data()
    told: list[Any] = []
    with pytest.raises(errors.StatusQueueUnusable, match="It was not believed, and nothing was changed") as caught:
        owner.start(role, on_resume=told.append, **more)
    assert ([found.data for found in owner.on_queue(owner.status_queue(role))], owner.data()) == before
    assert (told, caught.value.field, caught.value.found) == ([], "user_identifier", SOMEBODY)
    assert f"was put by user '{SOMEBODY}'" in str(caught.value)
    return caught.value.expected == own_user(owner)


def own_user(owner):
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    answer = handle.put(b"", mq.MQPMO_SYNCPOINT)
    assert (answer.code, owner.eye.back_out(), handle.close()) == (OK, OK, OK)
    return answer.md.UserIdentifier.decode().rstrip()


def make_status_queue(owner, role):
    owner.start(role).close()


@ROLES
@pytest.mark.parametrize("state", [RecordState.IN_GROUP, RecordState.COMPLETED, RecordState.IDLE])
def test_a_record_of_another_user_is_refused_and_nothing_is_skipped(owner, role, state):
    make_status_queue(owner, role)
    forge(owner, role, state=state, checkpoint=None if state is RecordState.IDLE else 9)
    assert refused(owner, role)
    owner.empty(owner.status_queue(role))
    owner.put_group(ROWS)
    assert owner.data() == ROWS


@ROLES
def test_a_pipe_believes_neither_record_of_another_user(owner, make_queue, role):
    make_status_queue(owner, role)
    forge(owner, role, state=RecordState.IDLE, checkpoint=None)
    with pytest.raises(errors.StatusQueueUnusable, match=f"put by user '{SOMEBODY}'"):
        owner.qmgr.group_pipe(owner.queue, make_queue(), name=owner.name, owner_wait_s=0)
    with owner.pipe(make_queue(), record_users=[SOMEBODY]):
        assert owner.record(role)["epoch"] == 2


@STATUSES
@ROLES
def test_the_own_record_beside_it_does_not_make_it_believed(owner, role, status):
    """A record that nobody needs any more gives way to one that is needed, so the forged one would be the current one."""
    q_mgr = owner.connect()
    owner.start(role, qmgr=q_mgr, status_layout=status)
    q_mgr.close()
    forge(owner, role)
    assert refused(owner, role, status_layout=status)


def test_two_records_that_are_needed_are_told_with_their_users(owner):
    owner.interrupt_put(ROWS[:4])
    forge(owner, "put")
    with pytest.raises(errors.StatusQueueUnusable, match=f"put by user '{own_user(owner)}', '{SOMEBODY}'"):
        owner.producer()


def test_the_last_segment_of_a_chain_is_not_believed_of_another_user(owner):
    owner.interrupt_put(ROWS[:6], status_layout="segmented")
    *_, last = (found for found in owner.on_queue(owner.status_queue("put")) if found.md.GroupId != GROUP_ID_NONE)
    handle = owner.eye.open(owner.status_queue("put"), mq.MQOO_OUTPUT | mq.MQOO_SET_IDENTITY_CONTEXT)
    md = {
        "GroupId": last.md.GroupId,
        "CorrelId": last.md.CorrelId,
        "Offset": last.md.Offset + len(last.data),
        "MsgFlags": mq.MQMF_SEGMENT,
        "Persistence": mq.MQPER_PERSISTENT,
        "UserIdentifier": SOMEBODY.encode(),
    }
    assert handle.put(last.data, mq.MQPMO_SET_IDENTITY_CONTEXT, **md).code == OK
    assert refused(owner, "put", status_layout="segmented")


@ROLES
def test_a_user_who_is_named_is_believed_once_and_then_the_record_is_the_own(owner, role):
    make_status_queue(owner, role)
    forge(owner, role, group_id=b"G" * 24)
    q_mgr = owner.connect()
    named = owner.start(role, qmgr=q_mgr, record_users=(SOMEBODY,))
    assert " seq=9 " in repr(named)
    q_mgr.close()
    # A crash: the record is still there, with the anchor of the other user, and needs no list any more.
    again = owner.start(role)
    assert " seq=9 " in repr(again)
    again.close()


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_the_verdict_on_a_lost_commit_is_not_that_of_a_forged_record(owner, faults, when):
    """With the mark of the own record, a forged one would say how far the group is."""
    producer = owner.producer(owner.connect(reconnect_wait_s=30))
    group = producer.group()
    owner.put_all(group, ROWS[:2])
    own = owner.record("put")
    faults.arm(Fault("drop", when, verb="MQCMIT"))
    forge(owner, "put", owner_id=own["owner_id"], epoch=own["epoch"], unit_of_work=1)
    with pytest.raises(errors.StatusQueueUnusable, match=f"put by user '{SOMEBODY}'"):
        group.put(ROWS[2])
    assert owner.data() == (ROWS[:2] if when == "after" else [])
    with pytest.raises(errors.StatusQueueUnusable):
        producer.close()


@pytest.mark.parametrize(("role", "command"), [("put", "send"), ("get", "receive")])
def test_the_commands_believe_who_is_named(owner, tmp_path, role, command):
    make_status_queue(owner, role)
    forge(owner, role, state=RecordState.IDLE, checkpoint=None)
    file = tmp_path / "file"
    file.write_bytes(b"data")
    more = [str(file)] if role == "put" else ["--into", str(tmp_path), "--idle", "0"]
    run = CliRunner(env=environment(owner.target))
    arguments = [command, "--queue", owner.queue, "--name", owner.name, *more]
    refused = run.invoke(main, arguments)
    assert (refused.exit_code, f"put by user '{SOMEBODY}'" in refused.stderr) == (1, True)
    assert run.invoke(main, [*arguments, "--record-user", SOMEBODY]).exit_code == 0

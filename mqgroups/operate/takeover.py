"""Gives an interrupted group to another owner: moves its status record from one status queue to another, in one unit of work.

It is for a producer or consumer that will not come back under its name. Both status queues are open exclusively meanwhile, so
neither owner can work. The record keeps the position in the group and gets the other name.

After a commit without an answer the record is on one of the two queues: call ``take_over`` again. Until the move is committed, an
idle record takes the place of the moved one. The repeated call removes that record too.
"""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NoReturn

from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.core import protocol
from mqgroups.core.model import Role
from mqgroups.core.modes import RoleName
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.errors import ConfigurationError, MQIError, NotAuthorised, QueueMissing
from mqgroups.names import checked_name, checked_queue_name, checked_role, status_queue_name
from mqgroups.operate.refusal import refusal
from mqgroups.operate.repaired import RepairedQueue, perform
from mqgroups.setting import checked_seconds
from mqgroups.settings import STATUS_MODEL
from mqgroups.status.owner import new_owner_id
from mqgroups.status.records import held_by
from mqgroups.telemetry.repair import Repair

_log = logging.getLogger("mqgroups")


@dataclass(frozen=True, slots=True)
class Takeover:
    """The result of ``take_over``.

    Attributes:
        name: the owner that gives the group.
        by: the owner that takes it over.
        record: the record that is written for ``by``; ``None`` if no group is interrupted, and there is no checkpoint.
        done: whether the record was moved; ``False`` if this was only a check, or if there is none to move.
        unknown: whether ``name`` has no status queue, so it was never started, or is misspelt.
    """

    name: str
    by: str
    record: StatusRecord | None = None
    done: bool = False
    unknown: bool = False


def take_over(
    q_mgr: ConnectionHolder,
    name: str,
    role: RoleName,
    *,
    by: str,
    status_queue: str | None = None,
    by_status_queue: str | None = None,
    status_model: str = STATUS_MODEL,
    wait_s: float = 0.0,
    check: bool = False,
) -> Takeover:
    """Give an interrupted group to another name, for a producer or consumer that will not come back.

    The status record is moved, with position and checkpoint, and the next start of ``by`` resumes the group. The next start of
    ``name`` would begin a new group, so start a producer of that name only with the input that follows this group. If no group
    is interrupted and there is a checkpoint, that is given to ``by``.

    Args:
        q_mgr: a connected queue manager (``mqgroups.connect``, ``mqgroups.wrap``).
        name: the producer or consumer that was interrupted; it must not be running.
        role: ``"put"`` for producers, ``"get"`` for consumers.
        by: the name that takes the group over; it must not be running either. Its next start must use the same queue.
        status_queue, by_status_queue: the status queues of ``name`` and ``by``; by default ``MQGROUPS.PUT|GET.<name>``.
        status_model: the model queue to make the status queue of ``by`` from, if there is none.
        wait_s: how long to wait for instances of these names to end, seconds.
        check: return what would be done, and change nothing.

    Raises:
        RepairRefused: ``by`` has an interrupted group of its own, or a checkpoint; or a producer ``name`` is interrupted too,
            and has to be taken over before its consumer. Nothing was changed.
        OwnerActive: one of the two is running, or its unit of work is not backed out yet.
        CommitOutcomeUnknown: the connection was lost in MQCMIT; call it again.
        ConfigurationError, StatusError, MQIError: as for a start.
    """
    owner_role = checked_role(role)
    checked_name(name)
    checked_name(by)
    status_queue = status_queue_name(owner_role, name, status_queue)
    by_status_queue = status_queue_name(owner_role, by, by_status_queue)
    if name == by or status_queue == by_status_queue:
        raise ConfigurationError(f"{name!r} cannot take over its own group. Start it, and it resumes the group")
    checked_queue_name("status_model", status_model)
    checked_seconds("wait_s", wait_s)
    connection = connection_of(q_mgr)
    nothing = Takeover(name, by)
    try:
        theirs = RepairedQueue(connection, status_queue, "", wait_s, keeps_user=not check)
    except QueueMissing:
        return replace(nothing, unknown=True)
    with closing(theirs):
        record = theirs.read()
        theirs.refuse_foreign(owner_role, name, record)
        if record is None or (record.state is not RecordState.IN_GROUP and record.checkpoint is None):
            if record is not None and not record.is_needed and not check:
                # An earlier takeover whose commit had no answer may have left this idle record. The name does not come back to
                # remove it.
                theirs.take_away(protocol.left_by(new_owner_id(), record))
            return nothing
        if owner_role is Role.GET:
            _refuse_half_a_pipe(connection, name)
        ours = RepairedQueue(connection, by_status_queue, status_model, wait_s, keeps_user=not check, user_from=theirs)
        delete = ours.was_made
        try:
            there = ours.read()
            _refuse_what_would_be_lost(ours, owner_role, by, there)
            given = replace(record, name=by, owner_id=new_owner_id(), epoch=there.epoch + 1 if there else 1)
            if check:
                return replace(nothing, record=given)
            with Repair(connection.telemetry, record.queue, connection.q_mgr_name, record.traceparent) as repair:
                _move(connection, theirs, ours, record, given)
                repair.taken_over(given)
            delete = False
            return replace(nothing, record=given, done=True)
        finally:
            ours.close(delete=delete)


def _refuse_half_a_pipe(connection: Connection, name: str) -> None:
    """Refuse to give the incoming group of a pipe alone: the rest would go to a new outgoing group."""
    status_queue = status_queue_name(Role.PUT, name)
    try:
        record = held_by(connection, status_queue)
    except (QueueMissing, NotAuthorised):
        # There is no producer of this name, or this user has nothing to do with it.
        return
    if record is None or record.state is not RecordState.IN_GROUP:
        return
    remedy = (
        f"If {name} is a pipe, the messages that it has yet to get belong to that group. Take over the producer first (role "
        "put), or let it finish its group"
    )
    _refuse("half-a-pipe", status_queue, record, "no interrupted group of a producer of this name", remedy)


def _refuse_what_would_be_lost(ours: RepairedQueue, role: Role, by: str, there: StatusRecord | None) -> None:
    ours.refuse_foreign(role, by, there)
    if there is not None and (there.state is RecordState.IN_GROUP or there.checkpoint is not None):
        remedy = f"Let {by} finish, and forget its checkpoint, or choose another name to take the group over"
        _refuse("needed", ours.name, there, "nothing that is still needed", remedy)


def _refuse(because: str, status_queue: str, record: StatusRecord, expected: str, remedy: str) -> NoReturn:
    interrupted = record.state is RecordState.IN_GROUP
    found = f"group {record.group_id.hex()} of {record.name}, interrupted" if interrupted else "a checkpoint"
    raise refusal(because, f"status queue {status_queue}", found, expected, remedy, status_queue)


def _move(
    connection: Connection, theirs: RepairedQueue, ours: RepairedQueue, record: StatusRecord, given: StatusRecord
) -> None:
    """Move the record; leave an idle one until that is committed, because an empty queue would look as if it never had one."""
    left = protocol.left_by(given.owner_id, record)
    theirs.kept = perform(connection, protocol.taken_over(theirs.kept, ours.kept, left, given), theirs, ours)
    try:
        theirs.take_away()
    except MQIError as error:
        # The group is taken over all the same.
        text = "%s has the group of %s now. An idle record is left on status queue %s (%s); take over once more to remove it"
        _log.warning(text, given.name, record.name, theirs.name, error)

"""What can be done when a status record is lost or cannot be read, and the messages of its group are still there.

``salvage_owner`` writes the record again, from what lies on the data queue, so that the next start of that owner goes on
there; in the same unit of work it moves away what it could not read. ``move_group`` moves what is left of a group to another
queue. ``core.salvage`` decides; nothing is done where it cannot be known what is right.

It holds the owner's status queue exclusively meanwhile, as an owner does, so no new owner comes in between. That does not prove
that the old one's unit of work is backed out: its handles may be closed before. The command server is asked whether units of work
have messages of the status queue or of the data queue; where it does not answer, an operator has to accept that nobody knows. An
anchor without its record means that a unit of work hides the record, and nothing is written beside it; unless the command server
says that none does: then the record is lost.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from mqgroups.connection.connection import Connection, Queue
from mqgroups.connection.forwarding import ForwardQueue
from mqgroups.connection.retry import OWNER_ACTIVE, REDO_LATER, Patience, retrying
from mqgroups.core.group import GroupPosition
from mqgroups.core.inspection import GroupInspection, QueueInspection
from mqgroups.core.model import Persistence, Role
from mqgroups.core.salvage import DOUBTS, CannotSalvage, Obstacle, interrupted_at, movable
from mqgroups.core.status import Checkpoint, RecordState, StatusRecord
from mqgroups.errors import (
    CommandRefused,
    ConfigurationError,
    DuplicateStatusRecords,
    OwnerActive,
    SalvageRefused,
    StatusRecordCorrupt,
)
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.operate.browse import inspect_queue
from mqgroups.operate.command_server import uncommitted
from mqgroups.operate.other_owners import check_not_owned
from mqgroups.status.queue import StatusQueue
from mqgroups.telemetry.repair import Repair

# Properties go along as an MQRFH2 in front of the data, whatever the queue's PROPCTL says; MQPUT makes properties of it again.
_GET = st.gmo(
    mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_PROPERTIES_FORCE_MQRFH2,
    match_options=mq.MQMO_MATCH_GROUP_ID,
)
_BROWSE = st.gmo(mq.MQGMO_BROWSE_NEXT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_ACCEPT_TRUNCATED_MSG)
# Whatever lies on a status queue, it has to fit when it is moved away.
_LONGEST_MESSAGE_BYTES = 104_857_600

_REMEDIES = {
    Obstacle.RECORD_THERE: "Nothing is lost: `mqgroups recover` says what it tells, and the next start goes by it",
    Obstacle.NOTHING_INTERRUPTED: "Its messages may all be consumed, or not be put yet. If its group is known to be whole, "
    "accept it: then only what cannot be read is moved away, and the next start begins a new group",
    Obstacle.GROUP_MISSING: "Look at the groups there are",
    Obstacle.SEVERAL_GROUPS: "Look at who put them and when, and give the GroupId of the one",
    Obstacle.GROUP_COMPLETE: "This group was put to its end; its producer has nothing to go on with",
    Obstacle.NOT_BEGUN: "A consumer begins this group without a record",
    Obstacle.DISARRAY: "Something else has put messages with its GroupId: move the group away",
    Obstacle.GAP: "Messages have expired, were taken by something that does not get groups, or are on their way: wait for "
    "them, or move the group away",
    Obstacle.OTHER_Q_MGR: "The record belongs on the queue manager where the group was put: salvage it there",
    Obstacle.BEING_CONSUMED: "Somebody may have its last messages in a unit of work: stop its consumer and try again",
    Obstacle.BEGUN: "The first messages are gone. If a consumer has got them, in order, accept it; if something else takes "
    "messages of the group, its last ones may be gone too, and would be put twice",
    Obstacle.IN_USE: "What is put or got in units of work cannot be seen. Stop who uses the queue, and ask as a user who may "
    "put to SYSTEM.ADMIN.COMMAND.QUEUE and display the queue; or accept it, if DISPLAY QSTATUS says UNCOM(NO), or nobody who "
    "uses the queue has to do with this group",
    Obstacle.OTHER_OWNERS: "If another producer or consumer has this group, it would be put or got twice. Ask as a user who may "
    "put to SYSTEM.ADMIN.COMMAND.QUEUE and display and browse all status queues; or give their names (--other-status-queue); or "
    "accept it, if no other one has this group",
}


@dataclass(frozen=True, slots=True)
class Salvage:
    """What is done, or would be done, for an owner.

    Attributes:
        role, name, status_queue: of the producer (``"put"``) or consumer (``"get"``).
        group: what there is of its group; ``None`` if none is interrupted.
        record: the record by which its next start goes on; ``None`` likewise.
        unreadable: how many messages are moved away from the status queue.
        unreadable_to: to which queue.
        orphaned: whether an anchor is removed whose record is lost.
        done: whether it is done.
    """

    role: Literal["put", "get"]
    name: str
    status_queue: str
    group: GroupInspection | None
    record: StatusRecord | None
    unreadable: int = 0
    unreadable_to: str = ""
    orphaned: bool = False
    done: bool = False


@dataclass(frozen=True, slots=True)
class GroupMove:
    """A group that is moved, or would be.

    Attributes:
        group: what was there of it before.
        queue, to: from which queue, to which.
        done: whether it is done.
    """

    group: GroupInspection
    queue: str
    to: str
    done: bool = False


def salvage_owner(
    connection: Connection,
    role: Role,
    name: str,
    *,
    queue: str,
    group_id: bytes | None,
    checkpoint: Checkpoint,
    accept: Collection[Obstacle],
    other_status_queues: Collection[str],
    unreadable_to: str,
    status_queue: str,
    status_model: str,
    wait_s: float,
    check: bool,
) -> Salvage:
    """Write an owner's record again; ``QueueManager.salvage_owner`` documents the arguments."""
    owner_id = uuid.uuid4().hex
    repair = Repair(connection.telemetry, queue, connection.q_mgr_name)
    planned: Salvage | None = None

    def plan(unreadable: int, *, orphaned: bool) -> Salvage:
        seen = inspect_queue(connection, queue)
        try:
            where = interrupted_at(role, seen, q_mgr_name=connection.q_mgr_name, group_id=group_id, accepted=accept)
            # Afterwards: whoever has begun a group has committed a record of it.
            if where:
                check_not_owned(
                    connection,
                    role,
                    where[0].group_id,
                    own=status_queue,
                    named=other_status_queues,
                    accepted=accept,
                )
        except CannotSalvage as error:
            raise _refused(f"queue {queue}", error, status_queue) from error
        group = where[0] if where else None
        record = None
        if where:
            record = _record(role, name, owner_id, connection, seen, *where, checkpoint)
            record = replace(record, traceparent=repair.traceparent)
        return Salvage(role.value, name, status_queue, group, record, unreadable, unreadable_to, orphaned)

    def attempt() -> Salvage:
        status = StatusQueue(connection, status_queue, status_model, wait_s, longest_bytes=_LONGEST_MESSAGE_BYTES)
        delete = status.was_made
        try:
            # What a dying unit of work hides, here or of another owner, comes back or goes in time.
            waiting = retrying(Patience(wait_s), OWNER_ACTIVE, connection.sleep)
            done = waiting(lambda: salvaged(status))
            delete = delete and (done.record is None or not done.done)
            return done
        finally:
            status.close(delete=delete)

    def salvaged(status: StatusQueue) -> Salvage:
        nonlocal planned
        found, unreadable, orphaned = _read(connection, status, move_away=bool(unreadable_to))
        if planned is not None and not orphaned and _is_done(planned, found, unreadable):
            return replace(planned, done=True)
        if found is not None:
            error = CannotSalvage(Obstacle.RECORD_THERE, f"a record ({found.state.value})", "none")
            raise _refused(f"status queue {status_queue}", error, status_queue)
        planned = plan(unreadable, orphaned=orphaned)
        if check:
            return planned
        _carry_out(connection, status, planned)
        return replace(planned, done=True)

    if check:
        return connection.reopening(attempt)
    with repair:
        done = connection.reopening(attempt)
        repair.salvaged(name, done.record)
        return done


def _read(connection: Connection, status: StatusQueue, *, move_away: bool) -> tuple[StatusRecord | None, int, bool]:
    """Return the record there is; how many messages there are that are none and may be moved away; whether an anchor is left of
    a record that is lost.

    Raises:
        OwnerActive: a unit of work hides what is there, or may hide it.
    """
    try:
        hidden: int | None = uncommitted(connection, status.name)
    except CommandRefused as error:
        hidden, unasked = None, str(error)
    else:
        if hidden:
            raise _hidden(f"status queue {status.name}", f"units of work have {hidden} of its messages")
    try:
        return status.read(wait=False), 0, False
    except OwnerActive as error:
        if hidden is None:
            raise _hidden(
                f"status queue {status.name}",
                f"there is an anchor without its record. A unit of work hides the record, or it is lost, and nobody can say "
                f"which ({unasked}): ask as a user who may put to SYSTEM.ADMIN.COMMAND.QUEUE and display the queue; or, if "
                "DISPLAY QSTATUS says UNCOM(NO), remove the anchor",
            ) from error
        return None, 0, True
    except (StatusRecordCorrupt, DuplicateStatusRecords):
        if not move_away:
            raise
        return None, _messages_on(connection, status.name), False


def _hidden(where: str, why: str) -> OwnerActive:
    error = OwnerActive("MQGET", where, mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)
    error.context = why[0].upper() + why[1:]
    return error


def _messages_on(connection: Connection, name: str) -> int:
    queue, messages = connection.open_queue(name, mq.MQOO_BROWSE), 0
    try:
        while queue.get_descriptor(st.md(), _BROWSE) is not None:
            messages += 1
    finally:
        queue.close()
    return messages


def _is_done(planned: Salvage, found: StatusRecord | None, unreadable: int) -> bool:
    """Say whether a commit without an answer was one."""
    written = planned.record.mark if planned.record else None
    return unreadable == 0 and (found.mark if found else None) == written


def _record(
    role: Role,
    name: str,
    owner_id: str,
    connection: Connection,
    seen: QueueInspection,
    group: GroupInspection,
    position: GroupPosition,
    checkpoint: Checkpoint,
) -> StatusRecord:
    puts = role is Role.PUT
    (persistence,) = group.persistences
    return StatusRecord(
        role=role,
        name=name,
        state=RecordState.IN_GROUP,
        owner_id=owner_id,
        epoch=1,
        unit_of_work=1,
        queue=seen.queue,
        group_id=position.group_id,
        msg_seq_number=position.msg_seq_number,
        q_mgr_identifier=connection.q_mgr_identifier,
        # Its messages are here, wherever others of that queue's may go.
        resolved_q_name=seen.resolved_q_name if puts else "",
        resolved_q_mgr_name=connection.q_mgr_name if puts else "",
        persistence=Persistence(persistence) if puts else Persistence.PERSISTENT,
        offset=position.offset,
        in_last_message=position.in_last_message,
        checkpoint=checkpoint,
    )


def _carry_out(connection: Connection, status: StatusQueue, salvage: Salvage) -> None:
    away = ForwardQueue(connection, salvage.unreadable_to) if salvage.unreadable else None

    try:
        if away is not None and away.queue.resolved_q_name == status.name:
            raise ConfigurationError(
                f"{away.queue.name} is the status queue {status.name} itself: what is moved goes elsewhere"
            )
        with connection.unit_of_work(status):
            if away is not None or salvage.orphaned:
                status.move_all(away)
            if salvage.record is not None:
                status.claim(salvage.record)
    finally:
        if away is not None:
            away.close()


def move_group(
    connection: Connection,
    queue: str,
    group_id: bytes,
    *,
    to: str | None,
    commit_every: int,
    accept: Collection[Obstacle],
    keep_context: bool,
    check: bool,
) -> GroupMove:
    """Move what is left of a group; ``QueueManager.move_group`` documents the arguments."""
    seen = connection.reopening(lambda: inspect_queue(connection, queue))
    try:
        group = movable(seen, group_id, accept)
    except CannotSalvage as error:
        raise _refused(f"queue {queue}", error) from error
    to = to or connection.reopening(lambda: _backout_queue(connection, seen))
    if check:
        return GroupMove(group, queue, to)
    # A get and a put each.
    most = max(1, min(commit_every, connection.max_uncommitted_msgs // 2))
    # Alone, it is a fence too, while a lost connection of this one has its handles; its unit of work may be there for longer.
    # Beside others there is none, and no second attempt.
    alone = Obstacle.IN_USE not in accept
    mode = mq.MQOO_INPUT_EXCLUSIVE if alone else mq.MQOO_INPUT_SHARED

    def attempt() -> None:
        source = connection.open_queue(queue, mode | mq.MQOO_SAVE_ALL_CONTEXT | mq.MQOO_NO_READ_AHEAD)
        try:
            if alone and uncommitted(connection, source.resolved_q_name):
                # Of this connection before it was lost, or of who came and went since the queue was looked at: it comes back.
                raise _hidden(f"queue {queue}", "the unit of work of a lost connection is not backed out yet")
            target = ForwardQueue(connection, to, context_of=source if keep_context else None)
            try:
                _refuse_same(source, target.queue)
                more = True
                while more:
                    with connection.unit_of_work(target):
                        more = _forward(source, target, group_id, most)
            finally:
                target.close()
        finally:
            source.close()

    with Repair(connection.telemetry, queue, connection.q_mgr_name) as repair:
        if alone:
            connection.reopening(attempt, REDO_LATER)
        else:
            attempt()
        repair.moved(to, group)
    return GroupMove(group, queue, to, done=True)


def _forward(source: Queue, target: ForwardQueue, group_id: bytes, most: int) -> bool:
    """Get up to ``most`` physical messages of the group and put them as they are; returns whether there may be more."""
    md = st.md(group_id=group_id)
    for _ in range(most):
        got = source.get(md, _GET)
        if got is None:
            return False
        target.take(got[1], got[0])
    return True


def _backout_queue(connection: Connection, seen: QueueInspection) -> str:
    local = connection.open_queue(seen.resolved_q_name, mq.MQOO_INQUIRE)
    try:
        name = str(local.inquire(mq.MQCA_BACKOUT_REQ_Q_NAME))
    finally:
        local.close()
    if not name:
        raise ConfigurationError(f"queue {seen.queue} has no BOQNAME: say where the group is to be moved")
    return name


def _refuse_same(source: Queue, target: Queue) -> None:
    here = (source.resolved_q_name, source.resolved_q_mgr_name)
    if here == (target.resolved_q_name, target.resolved_q_mgr_name):
        raise ConfigurationError(
            f"queue {target.name} is the queue {source.name} itself: a group is moved to another one"
        )


def _refused(where: str, error: CannotSalvage, status_queue: str = "") -> SalvageRefused:
    because = error.because.value
    accept = f" (accept {because!r})" if error.because in DOUBTS else ""
    return SalvageRefused(
        f"{where}: found {error.found}, expected {error.expected}. {_REMEDIES[error.because]}{accept}. Nothing was changed",
        status_queue=status_queue,
        because=because,
        found=error.found,
        expected=error.expected,
    )

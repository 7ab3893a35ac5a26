"""What can be done when a status record is lost or cannot be read, and the messages of its group are still there.

``salvage_owner`` writes the record again, from what lies on the data queue, so that the next start of that owner goes on
there; in the same unit of work it moves away what it could not read. ``move_group`` moves what is left of a group to another
queue. ``core.salvage`` decides; nothing is done where it cannot be known what is right.

It holds the owner's status queue exclusively meanwhile, as an owner does. So the old owner is gone, and with it its unit of
work; other applications, which may have messages of the same queue in units of work, are looked for, and have to be accepted.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from mqgroups.browse import inspect_queue
from mqgroups.connection import Connection, Queue
from mqgroups.core.group import GroupPosition
from mqgroups.core.inspection import GroupInspection, QueueInspection
from mqgroups.core.model import Persistence, Role
from mqgroups.core.salvage import DOUBTS, CannotSalvage, Obstacle, interrupted_at, movable
from mqgroups.core.status import Checkpoint, RecordState, StatusRecord
from mqgroups.errors import ConfigurationError, DuplicateStatusRecords, SalvageRefused, StatusRecordCorrupt
from mqgroups.forwarding import ForwardQueue
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.retry import REDO_LATER
from mqgroups.status_queue import StatusQueue
from mqgroups.telemetry.repair import Repair

# Properties go along as an MQRFH2 in front of the data, whatever the queue's PROPCTL says; MQPUT makes properties of it again.
_GET = st.gmo(
    mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_PROPERTIES_FORCE_MQRFH2,
    match_options=mq.MQMO_MATCH_GROUP_ID,
)
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
    Obstacle.IN_USE: "What somebody puts or gets at the moment cannot be seen. Stop them, or accept it, if they have nothing "
    "to do with this group",
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
        done: whether it is done.
    """

    role: Literal["put", "get"]
    name: str
    status_queue: str
    group: GroupInspection | None
    record: StatusRecord | None
    unreadable: int = 0
    unreadable_to: str = ""
    done: bool = False


@dataclass(frozen=True, slots=True)
class GroupMove:
    """A group that is moved, or would be: what was there of it on ``queue`` before; ``to`` which queue; whether it is done."""

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

    def plan(unreadable: int) -> Salvage:
        seen = inspect_queue(connection, queue)
        try:
            where = interrupted_at(role, seen, q_mgr_name=connection.q_mgr_name, group_id=group_id, accepted=accept)
        except CannotSalvage as error:
            raise _refused(f"queue {queue}", error, status_queue) from error
        group = where[0] if where else None
        record = None
        if where:
            record = _record(role, name, owner_id, connection, seen, *where, checkpoint)
            record = replace(record, traceparent=repair.traceparent)
        return Salvage(role.value, name, status_queue, group, record, unreadable, unreadable_to)

    def attempt() -> Salvage:
        nonlocal planned
        status = StatusQueue(connection, status_queue, status_model, wait_s, longest_bytes=_LONGEST_MESSAGE_BYTES)
        delete = status.was_made
        try:
            found, unreadable = _read(status, move_away=bool(unreadable_to))
            if planned is not None and _is_done(planned, found, unreadable):
                return replace(planned, done=True)
            if found is not None:
                error = CannotSalvage(Obstacle.RECORD_THERE, f"a record ({found.state.value})", "none")
                raise _refused(f"status queue {status_queue}", error, status_queue)
            planned = plan(unreadable)
            if check:
                return planned
            _carry_out(connection, status, planned)
            delete = delete and planned.record is None
            return replace(planned, done=True)
        finally:
            status.close(delete=delete)

    if check:
        return connection.reopening(attempt)
    with repair:
        done = connection.reopening(attempt)
        repair.salvaged(name, done.record)
        return done


def _read(status: StatusQueue, *, move_away: bool) -> tuple[StatusRecord | None, int]:
    """Return the record there is, and how many messages there are that are none and may be moved away."""
    try:
        return status.read(), 0
    except (StatusRecordCorrupt, DuplicateStatusRecords):
        if not move_away:
            raise
        return None, status.depth


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
            if away is not None:
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
    every: int,
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
    most = max(1, min(every, connection.max_uncommitted_msgs // 2))
    # Alone, it is the fence too: what a lost connection of this one has in its unit of work is seen by nobody before it is
    # backed out, and then the queue cannot be opened so. Beside others there is none, and no second attempt.
    alone = Obstacle.IN_USE not in accept
    mode = mq.MQOO_INPUT_EXCLUSIVE if alone else mq.MQOO_INPUT_SHARED

    def attempt() -> None:
        source = connection.open_queue(queue, mode | mq.MQOO_SAVE_ALL_CONTEXT | mq.MQOO_NO_READ_AHEAD)
        try:
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

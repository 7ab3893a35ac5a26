"""Writes a lost status record again, from the messages on the data queue. Then the next start of its owner resumes the group.

If ``rules/salvage.py`` cannot prove the owner's position, nothing is written. Unreadable messages on the status queue are moved
away in the same unit of work (``status_queues.damage``). If the status queue also has a valid record, no record is written.

Meanwhile the owner's status queue is open exclusively, so no owner can start. If the status queue has an anchor without its
record, a unit of work may hide the record, and nothing is written. But if the command server reports that no unit of work has
messages of the queue, the record is lost and a new one is written.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace

from mqgroups.connection.connection import Connection
from mqgroups.connection.forwarding import ForwardQueue
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.connection.retry import OWNER_ACTIVE, Patience
from mqgroups.core.group import GroupPosition
from mqgroups.core.model import GROUP_ID_NONE, Persistence, Role
from mqgroups.core.modes import Accept, RoleName
from mqgroups.core.restart import Mismatch
from mqgroups.core.status import Checkpoint, Outgoing, RecordState, StatusRecord
from mqgroups.errors import ConfigurationError, NotAuthorised, OwnerActive, QueueMissing, StatusQueueUnusable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.names import checked_name, checked_queue_name, checked_role, checked_user, status_queue_name
from mqgroups.operate.browse import hidden_messages
from mqgroups.operate.group_names import properties_of_first_message
from mqgroups.operate.groups import counted
from mqgroups.operate.refusal import check_not_owned, checked_accept, checked_group_id, hidden_by_unit_of_work, refused
from mqgroups.operate.repaired import RepairedQueue
from mqgroups.operate.rules.inspection import BrowsedInstance, GroupInspection
from mqgroups.operate.rules.salvage import CannotSalvage, Obstacle, interrupted_at, recorded_at
from mqgroups.operate.status_queues import Damage, damage
from mqgroups.setting import check_collection, checked_seconds
from mqgroups.settings import STATUS_MODEL
from mqgroups.status.owner import new_owner_id
from mqgroups.status.records import browsed, foreign_record, held_by
from mqgroups.telemetry.repair import Repair


@dataclass(frozen=True, slots=True)
class Salvage:
    """The result of ``salvage_owner``."""

    role: RoleName
    """``"put"`` for a producer, ``"get"`` for a consumer."""
    name: str
    """The name of the producer or consumer."""
    status_queue: str
    """The queue that the record is on."""
    group: GroupInspection | None
    """The messages of the owner's group that are on its queue; ``None`` if there are none."""
    record: StatusRecord | None
    """The new record; ``None`` if there is a valid one, or if no group is interrupted and no checkpoint is given."""
    unreadable: int = 0
    """How many messages are moved away from the status queue."""
    unreadable_to: str = ""
    """The queue that receives the unreadable messages."""
    orphaned: bool = False
    """Whether an anchor is removed because its record is lost."""
    done: bool = False
    """Whether the changes were made; ``False`` after a check."""
    kept: StatusRecord | None = None
    """A valid record that was found beside unreadable messages. It is not changed."""
    moved: tuple[StatusRecord, ...] = ()
    """The records among the messages that are moved away. The new record does not have their checkpoints."""
    user: str = ""
    """The user whom MQ names in the new record; empty if no record was put."""


def salvage_owner(
    q_mgr: ConnectionHolder,
    name: str,
    role: RoleName,
    *,
    queue: str,
    group_id: bytes | None = None,
    checkpoint: Checkpoint = None,
    accept: Collection[Accept] = (),
    other_status_queues: Collection[str] = (),
    unreadable_to: str | None = None,
    status_queue: str | None = None,
    status_model: str = STATUS_MODEL,
    record_user: str | None = None,
    wait_s: float = 0.0,
    check: bool = False,
) -> Salvage:
    """Write the lost status record of a producer or consumer again, from the messages of its group that are on its queue.

    With this record, a producer resumes its group after the last message on the queue, and a consumer at the first message that
    is left. A pipe's producer resumes at the position in the record of the pipe's consumer, if this record exists. The messages
    do not show the checkpoint, or whether the group has other owners.

    Args:
        queue: the queue that the program puts to or gets from, by the name that the application uses.
        group_id: the GroupId, 24 bytes. By default, the only group on the queue that may have been interrupted.
        checkpoint: the application's checkpoint, to be written into the record.
        accept: the checks to override. Override a check only if you know what it cannot find out. ``"in-use"``: other programs
            have the queue open or its messages in units of work, or this cannot be found out. You know that these programs do
            not work with this group. ``"other-owners"``: not all other status queues can be found or read. You know that no
            other owner has this group. ``"begun"``: the first messages of a producer's group are gone. You know that a consumer
            got them in sequence. ``"nothing-interrupted"``: no group is interrupted. Unreadable messages are moved away. A
            given checkpoint is written.
        other_status_queues: status queues of other owners on this queue manager. Their records are read, because a group has only
            one owner. The command server lists ``MQGROUPS.PUT.*``, ``MQGROUPS.SHARED.*`` and ``MQGROUPS.GET.*``. If this user is
            not allowed to ask the command server, give all status queues.
        unreadable_to: the queue for messages that are moved from the status queue, because they cannot be read as records or
            there are several records. They are moved unchanged, in the same unit of work. By default such messages are an error.
            If a valid record with its anchor is also there, only the unreadable messages are moved, and no record is written.
        status_model: the model queue to make the status queue from, if it does not exist.
        record_user: the user that the owner runs under. The record is put in the name of this user. This needs the authority
            +setid for the status queue and the queue manager. Records of other users count as unreadable. By default the record
            has this program's user. If the owner runs under another user, start it once with ``record_users=``.

    Raises:
        RepairRefused: the messages do not prove the owner's position in the group. Nothing was changed.
        OwnerActive: the owner is running, or a unit of work hides its record or the record of another owner.
        ConfigurationError, StatusError, MQIError: as for a start of the owner.
    """
    owner_role = checked_role(role)
    check_collection("other_status_queues", other_status_queues)
    connection = connection_of(q_mgr)
    rebuild = _Rebuild(
        connection=connection,
        role=owner_role,
        name=checked_name(name),
        queue=checked_queue_name("queue", queue),
        group_id=None if group_id is None else checked_group_id(group_id),
        checkpoint=checkpoint,
        accepted=checked_accept(accept),
        other_status_queues=frozenset(
            checked_queue_name("other_status_queues", other) for other in other_status_queues
        ),
        unreadable_to="" if unreadable_to is None else checked_queue_name("unreadable_to", unreadable_to),
        status_queue=status_queue_name(owner_role, name, status_queue),
        status_model=checked_queue_name("status_model", status_model),
        record_user=None if record_user is None else checked_user("record_user", record_user),
        wait_s=checked_seconds("wait_s", wait_s),
        check=check,
        repair=Repair(connection.telemetry, queue, connection.place),
    )
    if check:
        return connection.reopening(rebuild.attempt)
    with rebuild.repair as repair:
        done = connection.reopening(rebuild.attempt)
        repair.salvaged(name, done.record)
    return done


@dataclass(slots=True, kw_only=True)
class _Rebuild:
    """One call of ``salvage_owner``. If it needs several attempts, they all use the same ``owner_id`` for the record."""

    connection: Connection
    role: Role
    name: str
    queue: str
    group_id: bytes | None
    checkpoint: Checkpoint
    accepted: frozenset[Obstacle]
    other_status_queues: frozenset[str]
    unreadable_to: str
    status_queue: str
    status_model: str
    record_user: str | None
    wait_s: float
    check: bool
    repair: Repair
    owner_id: str = field(default_factory=new_owner_id)
    planned: Salvage | None = None

    def attempt(self) -> Salvage:
        """Open the status queue, and write the record. For a check, only plan the record."""
        status = RepairedQueue(
            self.connection,
            self.status_queue,
            self.status_model,
            self.wait_s,
            longest_bytes=st.LONGEST_MESSAGE_BYTES,
            record_users=() if self.record_user is None else (self.record_user,),
            user=None if self.check else self.record_user,
        )
        delete = status.was_made
        try:
            # A lost connection's unit of work may hide a record, here or on another status queue. It will be backed out.
            waiting = self.connection.retrying(Patience(self.wait_s), OWNER_ACTIVE)
            done = waiting(lambda: self._salvaged(status))
            delete = delete and (done.record is None or not done.done)
            return done
        finally:
            status.close(delete=delete)

    def _salvaged(self, status: RepairedQueue) -> Salvage:
        found, damaged, orphaned = _read(self.connection, status, self.record_user, move_away=bool(self.unreadable_to))
        if self.planned is not None and not orphaned and not damaged.messages:
            written = self.planned.record or self.planned.kept
            if (found.mark if found else None) == (written.mark if written else None):
                # An earlier attempt was committed, although its MQCMIT did not return.
                return replace(self.planned, done=True)
        if found is not None and (self.role is Role.PUT or found.state is RecordState.IN_GROUP):
            error = CannotSalvage(Obstacle.RECORD_THERE, f"a record ({found.state.value})", "no record")
            raise refused(f"status queue {self.status_queue}", error, self.status_queue)
        if orphaned:
            # The owner whose record is lost must have worked with this queue.
            longest = st.LONGEST_MESSAGE_BYTES
            opened = self.connection.open_queue(status.name, mq.MQOO_BROWSE, max_message_length=longest)
            with closing(opened) as queue:
                anchor = browsed(queue)[0].record
            if anchor.queue != self.queue:
                raise foreign_record(status.name, Mismatch("queue", anchor.queue, self.queue))
        group, record = (None, None) if damaged.kept else self._plan(found, damaged.moved)
        self.planned = Salvage(
            self.role.value,
            self.name,
            self.status_queue,
            group,
            record,
            unreadable=damaged.messages,
            unreadable_to=self.unreadable_to,
            orphaned=orphaned,
            kept=damaged.kept,
            moved=damaged.moved,
        )
        if self.check:
            return self.planned
        with ExitStack() as stack:
            away = stack.enter_context(closing(self._away(status))) if damaged.messages else None
            with self.connection.unit_of_work(status):
                if away is not None or orphaned:
                    status.move_away(away, damaged.msg_ids)
                if record is not None:
                    status.replace(record)
        return replace(self.planned, done=True, user=status.put_by)

    def _plan(
        self, ended: StatusRecord | None, moved: Collection[StatusRecord]
    ) -> tuple[GroupInspection | None, StatusRecord | None]:
        """Return the interrupted group as it is on the queue, and the record to write.

        Args:
            ended: the record of a consumer's last group if that group has ended. Its checkpoint goes into the new record.
            moved: the records that are moved away. They may show the MsgId of the group's first message, which is gone.
        """
        connection = self.connection
        # This is read before the queue is browsed. If the pipe has continued since then, it has put more or has another record.
        outgoing = self._recorded()
        seen, groups = counted(connection, self.queue)
        where: tuple[GroupInspection | None, GroupPosition] | None
        try:
            if outgoing is not None:
                with closing(connection.open_queue(seen.resolved_q_name, mq.MQOO_INQUIRE)) as queue:
                    in_cluster = queue.is_in_cluster
                where = recorded_at(
                    outgoing, groups, group_id=self.group_id, in_cluster=in_cluster, accepted=self.accepted
                )
            else:
                where = interrupted_at(self.role, groups, seen, group_id=self.group_id, accepted=self.accepted)
            # This is checked after the queue was inspected: an owner that has begun the group since then has committed a record.
            if where:
                check_not_owned(
                    connection,
                    self.role,
                    where[1].group_id,
                    own=self.status_queue,
                    queue=self.queue,
                    named=self.other_status_queues,
                    accepted=self.accepted,
                )
        except CannotSalvage as error:
            raise refused(f"queue {self.queue}", error, self.status_queue) from error
        return where[0] if where else None, self._record(seen, where, ended, moved)

    def _away(self, status: RepairedQueue) -> ForwardQueue:
        """Open the queue for unreadable messages. Raises ConfigurationError if it is the status queue or the data queue."""
        with closing(self.connection.open_queue(self.queue, mq.MQOO_BROWSE)) as data:
            own = (status.name, data.resolved_q_name)
        away = ForwardQueue(self.connection, self.unreadable_to)
        if (found := away.queue.resolved_q_name) in own:
            away.close()
            raise ConfigurationError(
                f"unreadable_to: {self.unreadable_to} is the queue {found} itself, which has the records or the groups. "
                "Name a different queue"
            )
        return away

    def _recorded(self) -> Outgoing | None:
        """Return the position that the record of a pipe's consumer has for the producer; ``None`` if there is no position."""
        if self.role is not Role.PUT or self.status_queue != status_queue_name(Role.PUT, self.name):
            return None
        try:
            users = None if self.record_user is None else {self.record_user}
            record = held_by(self.connection, status_queue_name(Role.GET, self.name), users)
        except (QueueMissing, NotAuthorised):
            return None
        return record.outgoing if record else None

    def _record(
        self,
        seen: BrowsedInstance,
        where: tuple[GroupInspection | None, GroupPosition] | None,
        ended: StatusRecord | None,
        moved: Collection[StatusRecord],
    ) -> StatusRecord | None:
        """Return the record to write. If no group is interrupted, it has only the given checkpoint; ``None`` if none is given."""
        if where is None and self.checkpoint is None:
            return None
        group, position = where or (None, GroupPosition())
        ended = ended if where else None
        first_msg_ids = {each.first_msg_id for each in moved if where and each.group_id == position.group_id}
        record = StatusRecord(
            role=self.role,
            name=self.name,
            state=RecordState.IN_GROUP if where else RecordState.IDLE,
            owner_id=self.owner_id,
            epoch=ended.epoch + 1 if ended else 1,
            unit_of_work=1,
            queue=seen.queue,
            group_id=position.group_id,
            first_msg_id=first_msg_ids.pop() if len(first_msg_ids) == 1 else GROUP_ID_NONE,
            msg_seq_number=position.msg_seq_number,
            offset=position.offset,
            in_last_message=position.in_last_message,
            q_mgr_identifier=self.connection.q_mgr_identifier,
            checkpoint=ended.checkpoint if ended and self.checkpoint is None else self.checkpoint,
            done=ended.done if ended else None,
            traceparent=self.repair.traceparent,
        )
        if self.role is Role.GET or where is None:
            return record
        # If all messages were got, nothing shows it any more.
        has_first = group is not None and group.has_head
        properties = properties_of_first_message(self.connection, self.queue, position.group_id) if has_first else None
        (persistence,) = group.persistences if group else (Persistence.PERSISTENT,)
        # The group's messages are on this queue, even if new groups would go to other instances.
        return replace(
            record,
            properties=properties,
            resolved_q_name=seen.resolved_q_name,
            resolved_q_mgr_name=self.connection.q_mgr_name,
            persistence=Persistence(persistence),
        )


def _read(
    connection: Connection, status: RepairedQueue, user: str | None, *, move_away: bool
) -> tuple[StatusRecord | None, Damage, bool]:
    """Read the status queue.

    Returns:
        The record, or ``None``; the messages to move away; and whether there is an anchor whose record is lost.
    """
    where = f"status queue {status.name}"
    hidden, unasked = hidden_messages(connection, status.name)
    if hidden:
        raise hidden_by_unit_of_work(where, f"uncommitted units of work have {hidden} of its messages")
    try:
        return status.read(waits=False), Damage(), False
    except OwnerActive as error:
        if hidden is None:
            raise hidden_by_unit_of_work(
                where,
                "the queue has an anchor without its record. Either a unit of work hides the record or the record is lost; the "
                f"command server could not be asked which ({unasked}). Try again as a user who may put to "
                "SYSTEM.ADMIN.COMMAND.QUEUE and display the queue; or, if DISPLAY QSTATUS shows UNCOM(NO), remove the anchor",
            ) from error
        return None, Damage(), True
    except StatusQueueUnusable as error:
        if not move_away or error.because not in ("corrupt", "several", "foreign"):
            raise
        return None, damage(connection, status.name, user), False

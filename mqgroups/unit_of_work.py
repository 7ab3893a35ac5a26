"""One owner's units of work: each begun by its first message and ended by its status record and MQCMIT, or by MQBACK.

What producer and consumer have in common: the same status queue, the same restart, the same rule of what is true after
a commit and after a backout. ``committed`` is the only position that counts; it changes when MQCMIT has answered, and
whoever backs out goes back to it.

    first unit of work of a group     messages, MQPUT record,               MQCMIT
    each one between                  messages, MQGET record, MQPUT record, MQCMIT
    the last                          messages, MQGET record,               MQCMIT

so N messages in U units of work take N + 3U - 2 calls (U > 1), and N + 1 when one is enough. An owner that has given a
checkpoint asks for a truth that survives the group: its groups end with a record instead, COMPLETED, which tells after
a crash where it was. The next unit of work replaces it, and ``finish`` takes it away.

Known limit. If MQCMIT of a group that fits *one* unit of work, without a checkpoint, ends in ``CommitOutcomeUnknown``,
the status queue is empty whether it committed or not: there the application has to find out by other means, or give a
checkpoint.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import replace

from mqgroups import tracing
from mqgroups.connection import Connection
from mqgroups.core.group import AT_START, GroupPosition
from mqgroups.core.model import Role
from mqgroups.core.restart import Expectations, Mismatch, RestartAction, restart_action
from mqgroups.core.status import Checkpoint, RecordState, StatusRecord
from mqgroups.core.unit_of_work import Every, capped, syncpoint_due
from mqgroups.errors import ConfigurationError, StatusRecordForeign
from mqgroups.status_queue import StatusQueue


class UnitsOfWork:
    """The units of work of one producer or consumer, one after the other.

    Attributes:
        committed: the position of the last commit; ``AT_START`` between groups.
        committed_checkpoint: the application's checkpoint of the last commit, ``None`` if it gave none.
        resumed: the record found at the start if it tells of an interrupted group, else ``None``.
        messages, data_bytes: in the open unit of work. The driver counts them, after each call that succeeded.
        checkpoint: what the next syncpoint commits; the driver sets it.
        number: of the open or next unit of work.
    """

    def __init__(
        self, connection: Connection, status: StatusQueue, role: Role, name: str, queue: str, every: Every
    ) -> None:
        """Read the status queue and find out where things stand.

        Raises:
            StatusError: the status queue does not hold what it should; nothing was changed.
            ConfigurationError: the queue manager's MAXUMSGS leaves no room for a message.
        """
        try:
            self._every = capped(every, connection.max_uncommitted_msgs)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        self._connection = connection
        self._status = status
        self._expected = Expectations(role, name, queue, connection.q_mgr_identifier)
        self._owner_id = uuid.uuid4().hex
        self._clock = time.monotonic if every.seconds is not None else _no_clock
        self._began_s = 0.0
        self._began_ns = 0
        self.messages = 0
        self.data_bytes = 0
        self._start(status.read())

    def _start(self, record: StatusRecord | None) -> None:
        decision = restart_action(record, self._expected)
        if decision.mismatch is not None:
            raise _foreign(self._status.name, decision.mismatch)
        self.epoch = record.epoch + 1 if record else 1
        self.number = record.unit_of_work + 1 if record else 1
        self.checkpoint: Checkpoint = record.checkpoint if record else None
        self.committed_checkpoint: Checkpoint = self.checkpoint
        self.resumed = record if decision.action is RestartAction.RESUME_GROUP else None
        self.committed = AT_START
        if self.resumed:
            # The handle is fresh: it retains nothing of the group the record speaks of.
            self.committed = GroupPosition(self.resumed.group_id, self.resumed.msg_seq_number, retained=False)

    def begin(self) -> None:
        """Claim the connection's unit of work. To be called before each unit of work's first call."""
        self._connection.begin(self)
        self._began_s = self._clock()
        self._began_ns = time.time_ns()

    def release(self) -> None:
        """End a unit of work in which nothing was put or got."""
        self._connection.release(self)

    @property
    def is_open(self) -> bool:
        """Whether there is anything to commit or back out."""
        return self._connection.has_unit_of_work(self)

    def due(self) -> bool:
        """Whether the open unit of work has to end now."""
        return syncpoint_due(self._every, self.messages, self.data_bytes, self._clock() - self._began_s)

    def syncpoint(self, record: StatusRecord) -> None:
        """End the unit of work in the middle of a group: ``record`` and MQCMIT."""
        self._status.replace(record)
        self._commit(GroupPosition(record.group_id, record.msg_seq_number))

    def complete(self, record: StatusRecord) -> None:
        """End a group's last unit of work: take the record away, or leave it COMPLETED with a checkpoint; MQCMIT."""
        if self.checkpoint is not None:
            self._status.replace(replace(record, state=RecordState.COMPLETED))
        else:
            self._status.clear()
        self._commit(AT_START, ended=record)

    def back_out(self, reason: str = "") -> None:
        """Back the open unit of work out, if there is one, and go back to the last commit."""
        self._trace(self.committed, reason or "backed out")
        try:
            if self.is_open:
                self._connection.back_out()
        finally:
            self._status.backed_out()
            self.checkpoint = self.committed_checkpoint
            self.messages = self.data_bytes = 0

    def record(self, position: GroupPosition) -> StatusRecord:
        """Return the record of a group that has come to ``position``; a producer adds where its messages go."""
        return StatusRecord(
            role=self._expected.role,
            name=self._expected.name,
            state=RecordState.IN_GROUP,
            owner_id=self._owner_id,
            epoch=self.epoch,
            unit_of_work=self.number,
            queue=self._expected.queue,
            group_id=position.group_id,
            msg_seq_number=position.msg_seq_number,
            q_mgr_identifier=self._expected.q_mgr_identifier,
            checkpoint=self.checkpoint,
        )

    def last_known_commit(self) -> str:
        """Say, for an error's message, where the group stands."""
        if self.committed.at_start:
            return "No message of the group is known to be committed"
        return f"Message {self.committed.msg_seq_number} is the last of the group that is known to be committed"

    def finish(self) -> None:
        """Take the record of a completed group away, in a unit of work of its own: nobody needs to know any more."""
        if self.committed.at_start and self._status.has_record:
            self.begin()
            self._status.clear()
            self._commit(AT_START)

    def __repr__(self) -> str:
        expected = self._expected
        return (
            f"<UnitsOfWork {expected.role.value} {expected.queue} name={expected.name} "
            f"uow={self.number} messages={self.messages}>"
        )

    def _commit(self, position: GroupPosition, ended: StatusRecord | None = None) -> None:
        self._connection.commit()
        self._trace(GroupPosition(ended.group_id, ended.msg_seq_number) if ended else position)
        self._status.committed()
        self.committed = position
        self.committed_checkpoint = self.checkpoint
        self.messages = self.data_bytes = 0
        self.number += 1

    def _trace(self, position: GroupPosition, error: str = "") -> None:
        if self.messages:
            role, queue = self._expected.role.value, self._expected.queue
            attributes = tracing.unit_of_work_attributes(
                role, queue, position.group_id, position.msg_seq_number, self.messages, self.number
            )
            tracing.record_unit_of_work(f"{role} {queue}", attributes, self._began_ns, error)


def _no_clock() -> float:
    return 0.0


def _foreign(status_queue: str, mismatch: Mismatch) -> StatusRecordForeign:
    return StatusRecordForeign(
        f"the status record on status queue {status_queue} is of {mismatch.field} {mismatch.found!r}, expected "
        f"{mismatch.expected!r}. Somebody else's group was interrupted there, or this program is pointed at the wrong "
        "queue, queue manager or status queue. Nothing was changed: correct the settings, or let the record's owner "
        "finish its group",
        status_queue=status_queue,
        field=mismatch.field,
        found=mismatch.found,
        expected=mismatch.expected,
    )

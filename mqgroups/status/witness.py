"""The witness of one owner: it is told what happens, and tells telemetry, the application's hooks and the log.

It is told when a fact is certain, and each unit of work once, even if a call is interrupted in between. Hooks are called later
(``tell``), when everything is consistent, because they may raise errors.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import ask
from mqgroups.core.group import GroupPosition
from mqgroups.core.group_properties import Value, kept, name_of
from mqgroups.core.modes import RoleName
from mqgroups.core.next_record import NO_NOTE, Note
from mqgroups.core.ownership import Ownership, Verdict
from mqgroups.core.restart import CommitOutcome, position_of
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.errors import OwnershipLost
from mqgroups.status.hooks import Hooks, InDoubt, Progress, Resumed
from mqgroups.telemetry import logs
from mqgroups.telemetry.owner import OwnerTelemetry

_log = logging.getLogger("mqgroups")


@dataclass(slots=True)
class OpenUnit:
    """One owner's part of the open unit of work; replaced after each commit or backout, so that its parts belong together.

    Attributes:
        note: the next status record's contents besides the position.
        messages: how many messages were put, or got and processed; a segment counts as one.
        data_bytes: their application data, in bytes.
        to_put: how many more messages will be put before the unit of work ends.
    """

    note: Note = NO_NOTE
    messages: int = 0
    data_bytes: int = 0
    to_put: int = 0

    @property
    def group_name(self) -> str:
        """The name of the unit's group; empty if it has none, or is not begun."""
        return name_of(self.note.properties)

    def set_properties(self, properties: Mapping[str, Value]) -> None:
        """Note the properties of the group's first message, which is in this unit of work."""
        self.note = self.note._replace(properties=kept(properties))

    def set_first_msg_id(self, msg_id: bytes) -> None:
        """Note the MsgId of the group's first message, which is in this unit of work."""
        self.note = self.note._replace(first_msg_id=msg_id)


@dataclass(slots=True)
class _Totals:
    """The counts of all units of work that ``on_progress`` was told of, and the number of the last one."""

    began_s: float = field(default_factory=time.monotonic)
    messages: int = 0
    data_bytes: int = 0
    unit_of_work: int = 0


class Witness:
    """Tells telemetry, hooks and log what happens to one owner.

    Attributes:
        telemetry: its spans and metrics.
    """

    def __init__(self, connection: Connection, own: Ownership, hooks: Hooks) -> None:
        expected = own.expected
        self._role: RoleName = expected.role.value
        self._name, self._queue = expected.name, expected.queue
        self._began_ns = time.time_ns()
        self._place = connection.place
        self._hooks = hooks
        self._totals = _Totals()
        self._outcomes: list[InDoubt] = []
        self._progress: list[Progress] = []
        self.telemetry: OwnerTelemetry = OwnerTelemetry(
            connection.telemetry,
            self._role,
            self._name,
            self._queue,
            self._place,
            propagates=connection.propagates,
        )

    def resumed(self, found: StatusRecord, epoch: int) -> None:
        """An interrupted group was found at the start; ``on_resume`` is called."""
        self.telemetry.resumed(found, epoch, self._began_ns)
        if self._hooks.on_resume is None:
            return
        self._hooks.on_resume(
            Resumed(
                role=found.role.value,
                name=found.name,
                queue=found.queue,
                group_id=found.group_id,
                msg_seq_number=found.msg_seq_number,
                offset=found.offset,
                checkpoint=found.checkpoint,
                group_name=name_of(found.properties),
                epoch=epoch,
                unit_of_work=found.unit_of_work,
            )
        )

    def committed(self, record: StatusRecord | None, unit: OpenUnit | None) -> None:
        """A unit of work is committed, and left this record; ``unit`` if it has messages."""
        if record is None:
            return
        messages = unit.messages if unit is not None else 0
        self.telemetry.ended(position_of(record), messages, group_name=unit.group_name if unit is not None else "")
        has_ended = record.state is RecordState.COMPLETED
        # A group can end without a message: in a quarantine of which nothing is left to move.
        if unit is None or not (messages or has_ended):
            return
        if has_ended:
            self.telemetry.group_ended(record.msg_seq_number)
        if self._hooks.on_progress is not None and record.unit_of_work != self._totals.unit_of_work:
            self._note_progress(record, unit)

    def _note_progress(self, record: StatusRecord, unit: OpenUnit) -> None:
        before = self._totals
        totals = _Totals(
            before.began_s, before.messages + unit.messages, before.data_bytes + unit.data_bytes, record.unit_of_work
        )
        progress = Progress(
            role=self._role,
            name=self._name,
            queue=self._queue,
            group_id=record.group_id,
            group_name=unit.group_name,
            msg_seq_number=record.msg_seq_number,
            offset=record.offset,
            group_ended=record.state is RecordState.COMPLETED,
            checkpoint=record.checkpoint,
            unit_of_work=record.unit_of_work,
            messages=unit.messages,
            data_bytes=unit.data_bytes,
            total_messages=totals.messages,
            total_bytes=totals.data_bytes,
            total_seconds=time.monotonic() - totals.began_s,
        )
        self._totals = totals
        self._progress.append(progress)

    def backed_out(self, own: Ownership, unit: OpenUnit, why: BaseException | str, in_hand: GroupPosition) -> None:
        """The open unit of work is backed out; ``in_hand`` is the position of the last message that was put or got."""
        # If one owner of a unit of work loses its name, all do; metrics count the loss for that one only.
        is_lost = isinstance(why, OwnershipLost) and why.status_queue == own.kept.queue
        self.telemetry.ended(
            own.position, unit.messages, why, in_hand=in_hand, is_lost=is_lost, group_name=unit.group_name
        )

    def concluded(self, verdict: Verdict, log_fields: dict[str, str | int]) -> None:
        """The record has shown what became of a unit of work. If its commit was in doubt, ``on_in_doubt`` will be called."""
        pending, outcome = verdict.before.pending, verdict.outcome
        messages = _messages_in_doubt(verdict.before)
        self.telemetry.concluded(outcome.value, in_doubt=bool(messages))
        if pending is None or not messages:
            return
        number = verdict.before.number
        with self.telemetry.in_span():
            text = "%s %s: unit of work %d was %s"
            _log.warning(text, self._role, self._name, number, outcome.value, extra=log_fields)
        self._outcomes.append(
            InDoubt(
                role=self._role,
                name=self._name,
                queue=self._queue,
                unit_of_work=number,
                messages=messages,
                reason=pending.reason,
                outcome="committed" if outcome is CommitOutcome.COMMITTED else "backed out",
            )
        )

    def replaced(self, own: Ownership) -> None:
        """Another instance has the name."""
        self.telemetry.concluded(CommitOutcome.OWNERSHIP_LOST.value, in_doubt=bool(_messages_in_doubt(own)))

    def tell(self) -> None:
        """Call ``on_in_doubt`` and ``on_progress``."""
        while self._outcomes:
            outcome = self._outcomes.pop(0)
            if self._hooks.on_in_doubt is not None:
                ask(self._hooks.on_in_doubt, outcome)
        self.tell_progress()

    def tell_progress(self) -> None:
        """Call ``on_progress`` for each commit that was noted since."""
        while self._progress:
            progress = self._progress.pop(0)
            if self._hooks.on_progress is not None:
                ask(self._hooks.on_progress, progress)

    def log_fields(
        self, own: Ownership, unit: OpenUnit, in_hand: GroupPosition, reason: int = 0
    ) -> dict[str, str | int]:
        """Return the structured fields of a log record; ``in_hand`` as for ``backed_out``."""
        return logs.fields(
            self._place,
            role=self._role,
            name=self._name,
            queue=self._queue,
            group_id=in_hand.group_id if not in_hand.at_start else b"",
            group_name=unit.group_name,
            msg_seq_number=in_hand.msg_seq_number,
            unit_of_work=own.number,
            reason=reason,
            span=self.telemetry.span,
        )


def _messages_in_doubt(own: Ownership) -> int:
    pending = own.pending
    return pending.unit.messages if pending is not None and pending.reason and pending.unit is not None else 0

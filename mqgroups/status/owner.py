"""An owner: one name's part of the units of work. It knows the position in the group, and makes the next status record.

A producer or a consumer has one owner, a pipe has two. A value of the protocol contains what is known about the name
(``core.ownership.Ownership``). ``UnitsOfWork`` keeps these values for all owners together. The open unit of work is another
value (``OpenUnit``). Not here: when a unit of work begins and ends (``units_of_work.py``).
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mqgroups.connection.connection import Connection
from mqgroups.core.group import AT_START, GroupPosition
from mqgroups.core.group_properties import Value, kept, name_of
from mqgroups.core.model import Persistence
from mqgroups.core.next_record import NO_NOTE, Note, next_record, note_of
from mqgroups.core.ownership import Ownership, PendingCommit, Verdict
from mqgroups.core.restart import CommitOutcome, position_of
from mqgroups.core.status import Checkpoint, Done, Outgoing, RecordState, StatusRecord
from mqgroups.core.to_copy import to_copy
from mqgroups.errors import OwnershipLost, Stopped
from mqgroups.printable import even_half_made
from mqgroups.status.hooks import HookCalls, Hooks
from mqgroups.status.keeper import Keeper
from mqgroups.status.performer import Performer
from mqgroups.status.writer import writer
from mqgroups.telemetry import logs
from mqgroups.telemetry.events import Event, GroupFound, OutcomeFound, UnitBackedOut, UnitCommitted
from mqgroups.telemetry.owner import OwnerTelemetry

_log = logging.getLogger("mqgroups")


@dataclass(slots=True)
class OpenUnit:
    """One owner's part of the open unit of work. After each commit or backout, a new value replaces this value.

    Attributes:
        note: the next status record's contents besides the position.
        messages: how many messages were put, or were got and processed. A segment counts as one message.
        data_bytes: the length of these messages' application data in bytes.
        to_put: how many more messages will be put before the unit of work ends.
    """

    note: Note = NO_NOTE
    messages: int = 0
    data_bytes: int = 0
    to_put: int = 0

    @property
    def group_name(self) -> str:
        """The name of the unit's group; empty if the group has no name or has not begun."""
        return name_of(self.note.properties)


class Owner:
    """A producer's or a consumer's part of its units of work. ``UnitsOfWork.add`` makes it.

    Attributes:
        keeper: the owner's status queue.
        unit: the owner's part of the open unit of work.
        telemetry: the owner's spans and metrics.
        in_hand: a function that returns the position of the last message that was put or got.
    """

    def __init__(self, performer: Performer, number: int, keeper: Keeper, connection: Connection, hooks: Hooks) -> None:
        self._performer = performer
        self._number = number
        self.keeper = keeper
        record, expected = self.own.record, self.own.expected
        self._hook_calls = HookCalls(hooks, expected) if hooks != Hooks() else None
        self.telemetry: OwnerTelemetry = OwnerTelemetry(
            connection.telemetry,
            expected.role.value,
            expected.name,
            expected.queue,
            connection.place,
            propagates=connection.propagates,
        )
        is_interrupted = record is not None and record.state is RecordState.IN_GROUP
        self._found = (
            GroupFound(record, self.own.epoch, time.time_ns()) if record is not None and is_interrupted else None
        )
        self.unit = OpenUnit(note_of(record))
        self.in_hand: Callable[[], GroupPosition] = lambda: self.committed

    @property
    def own(self) -> Ownership:
        """The value of the protocol for this owner: what is known about its name."""
        return self._performer.ownerships[self._number]

    @property
    def name(self) -> str:
        """Role and name, for error texts."""
        return f"{self.own.expected.role.value} {self.own.expected.name}"

    @property
    def look_command(self) -> str:
        """The command with which an operator can see this owner's record."""
        expected = self.own.expected
        return to_copy(f"mqgroups check {{}} --role {expected.role.value}", expected.name)

    # --- what is committed

    @property
    def resumed(self) -> StatusRecord | None:
        """The record that the start has found, if this record is of an interrupted group; else ``None``."""
        return self._found.record if self._found is not None else None

    @property
    def committed(self) -> GroupPosition:
        """The position of the last commit, and whether the queue handle retains it; ``AT_START`` between groups."""
        return self.own.position

    @property
    def committed_sentence(self) -> str:
        """A sentence for error texts that says how much of the group is committed."""
        if self.committed.at_start:
            return "No message of the group is known to be committed"
        return f"Message {self.committed.msg_seq_number} is the last of the group that is known to be committed"

    @property
    def committed_checkpoint(self) -> Checkpoint:
        """The application's checkpoint that the last commit has stored; ``None`` if there is none."""
        record = self.own.record
        return record.checkpoint if record is not None else None

    @property
    def done(self) -> Done | None:
        """The last group with a name that a producer has completed; ``None`` if there is none."""
        record = self.own.record
        return record.done if record is not None else None

    @property
    def is_needed(self) -> bool:
        """Whether the record is still needed: for an interrupted group, a suspect, a checkpoint, or the name of a group."""
        record = self.own.record
        return record is not None and record.is_needed

    @property
    def outgoing(self) -> Outgoing:
        """How much of the outgoing group a pipe's producer has committed."""
        return outgoing_at(self.committed)

    def stopped(self) -> Stopped:
        """Return the error to raise if ``stop()`` was called in a group."""
        committed = self.committed
        return Stopped(self.name, self.own.expected.queue, committed.group_id, committed.msg_seq_number)

    # --- the open unit of work

    def count(self, data_bytes: int) -> None:
        """Count a message that was put, or that was got and processed. ``data_bytes``: the length of the message's data."""
        unit = self.unit
        unit.messages += 1
        unit.data_bytes += data_bytes

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Set the next record's checkpoint; ``None`` removes the previous checkpoint."""
        _, suspect, quarantine, properties, first_msg_id, done = self.unit.note
        self.unit.note = Note(checkpoint, suspect, quarantine, properties, first_msg_id, done)

    def clear_suspect(self) -> None:
        """Remove the suspect from the next record, because it was processed alone without an error and is not poison."""
        self.unit.note = self.unit.note._replace(suspect=None)

    def set_properties(self, properties: Mapping[str, Value]) -> None:
        """Give the next record the properties of the group's first message, which is in the open unit of work."""
        self.unit.note = self.unit.note._replace(properties=kept(properties))

    def set_first_msg_id(self, msg_id: bytes) -> None:
        """Give the next record the MsgId of the group's first message, which is in the open unit of work."""
        self.unit.note = self.unit.note._replace(first_msg_id=msg_id)

    def set_quarantine(self) -> None:
        """Note in the next record that the rest of the group goes to the backout queue."""
        self.unit.note = self.unit.note._replace(quarantine=True)

    def ending(
        self,
        position: GroupPosition,
        *,
        ended: bool,
        resolved: tuple[str, str] = ("", ""),
        persistence: Persistence = Persistence.PERSISTENT,
        outgoing: Outgoing | None = None,
        done: Done | None = None,
    ) -> PendingCommit:
        """Return the pending commit of the open unit of work, with the next record. The arguments are those of ``next_record``.

        ``done``: the group that this commit completes, if the next record must contain the group's name.
        """
        record = next_record(
            self.own,
            position,
            self.unit.note if done is None else self.unit.note._replace(done=done),
            self.telemetry.trace_context().traceparent,
            ended=ended,
            resolved=resolved,
            persistence=persistence,
            outgoing=outgoing,
        )
        return PendingCommit(record, AT_START if ended else position_of(record), self.unit)

    def unit_ended(self) -> None:
        """Prepare the next unit of work, because the previous unit of work was committed or backed out."""
        self.unit = OpenUnit(note_of(self.own.record))
        self.keeper.unit_ended()

    # --- events: each is reported once, when it is certain, even if a call is interrupted in between

    def _tell(self, event: Event) -> None:
        if self.telemetry.is_heard:
            self.telemetry.take(event)
        if self._hook_calls is not None:
            self._hook_calls.take(event)

    def call_hooks(self) -> None:
        """Call ``on_in_doubt`` and ``on_progress`` for the remembered events. These hooks can raise errors."""
        if self._hook_calls is not None:
            self._hook_calls.tell()

    def tell_resumed(self) -> None:
        """Report the interrupted group that was found at the start, if there was one."""
        if self._found is not None:
            self.telemetry.listen()
            self._tell(self._found)

    def committed_with(self, record: StatusRecord | None, unit: OpenUnit | None) -> None:
        """Report that a unit of work is committed together with ``record``. ``unit``: the unit of work, if it has messages."""
        if record is None or not (self.telemetry.is_heard or self._hook_calls is not None):
            return
        ends_group = unit is not None and record.state is RecordState.COMPLETED
        messages, data_bytes, name = (0, 0, "") if unit is None else (unit.messages, unit.data_bytes, unit.group_name)
        at_s = time.monotonic()
        self._tell(UnitCommitted(record, position_of(record), messages, data_bytes, name, ends_group, at_s))

    def backed_out(self, own: Ownership, why: BaseException | str) -> None:
        """Report that the open unit of work is backed out. ``own``: what was known about the name before the backout."""
        if self.telemetry.is_heard:
            # If one owner of a unit of work loses its name, all owners do. Metrics count the loss only for that owner.
            is_lost = isinstance(why, OwnershipLost) and why.status_queue == own.kept.queue
            unit = self.unit
            self._tell(UnitBackedOut(own.position, self.in_hand(), unit.messages, unit.group_name, why, is_lost))

    def concluded(self, verdict: Verdict) -> None:
        """Report the outcome that the record has shown for a unit of work. Log the outcome if the commit was in doubt."""
        before, outcome = verdict.before, verdict.outcome
        event = _outcome(before, outcome)
        self._tell(event)
        if event.messages:
            text = "%s %s: unit of work %d was %s"
            who = before.expected
            self.log(
                _log, logging.WARNING, text, who.role.value, who.name, event.number, outcome.value, reason=event.reason
            )

    def replaced(self) -> None:
        """Report that another instance has taken over the name."""
        self._tell(_outcome(self.own, CommitOutcome.OWNERSHIP_LOST))

    def log(self, log: logging.Logger, level: int, text: str, *args: object, reason: int = 0) -> None:
        """Log a line with the structured fields, in the span of the open unit of work."""
        with self.telemetry.in_span():
            log.log(level, text, *args, extra=self.log_fields(reason), stacklevel=2)

    def log_fields(self, reason: int = 0) -> dict[str, str | int]:
        """Return the structured fields for a log line. ``reason``: the reason code to log, or 0."""
        own, in_hand = self.own, self.in_hand()
        return logs.fields(
            self.telemetry.place,
            role=own.expected.role.value,
            name=own.expected.name,
            queue=own.expected.queue,
            group_id=in_hand.group_id if not in_hand.at_start else b"",
            group_name=self.unit.group_name,
            msg_seq_number=in_hand.msg_seq_number,
            unit_of_work=own.number,
            reason=reason,
            span=self.telemetry.span,
        )

    @even_half_made
    def __repr__(self) -> str:
        return f"<Owner {self.name} of {self.own.expected.queue} uow={self.own.number}>"


def _outcome(own: Ownership, outcome: CommitOutcome) -> OutcomeFound:
    pending = own.pending
    in_doubt = pending is not None and pending.reason and pending.unit is not None
    messages = pending.unit.messages if pending is not None and in_doubt else 0
    return OutcomeFound(outcome, own.number, messages, pending.reason if pending is not None else 0)


def new_owner_id() -> str:
    """Return a unique identity for a new owner. It contains this package's version, which other versions can show to a user."""
    return f"{uuid.uuid4().hex} {writer()}"


def outgoing_at(position: GroupPosition) -> Outgoing:
    """Return the outgoing group's ``position`` in the form in which a pipe's consumer records it."""
    return Outgoing() if position.at_start else Outgoing(position.group_id, position.msg_seq_number)

"""An owner: one name's part of the units of work. It says where its group stands, and what its next status record says.

A producer or a consumer is one owner, a pipe is two. What is known of the name is a value of the protocol
(``core.ownership.Ownership``), which the units of work keep for all owners together; the open unit of work is one value too
(``OpenUnit``). Not here: when a unit of work begins and ends (``units_of_work.py``).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable

from mqgroups.core.group import AT_START, GroupPosition
from mqgroups.core.model import Persistence
from mqgroups.core.next_record import Note, next_record, note_of
from mqgroups.core.ownership import Ownership, PendingCommit
from mqgroups.core.restart import position_of
from mqgroups.core.status import Checkpoint, Done, Outgoing, RecordState
from mqgroups.core.to_copy import to_copy
from mqgroups.errors import Stopped
from mqgroups.printable import even_half_made
from mqgroups.status.keeper import Keeper
from mqgroups.status.performer import Performer
from mqgroups.status.witness import OpenUnit, Witness
from mqgroups.status.writer import writer
from mqgroups.telemetry.owner import OwnerTelemetry


class Owner:
    """A producer's or a consumer's part of its units of work. Made by ``UnitsOfWork.add``.

    Attributes:
        keeper: its status queue.
        unit: its part of the open unit of work.
        witness, telemetry: are told what happens.
        in_hand: returns the position of the last message that was put or got.
        resumed: the record found at the start, if a group was interrupted; else ``None``.
    """

    def __init__(self, performer: Performer, number: int, keeper: Keeper, witness: Witness) -> None:
        self._performer = performer
        self._number = number
        self.keeper = keeper
        self.witness = witness
        self.telemetry: OwnerTelemetry = witness.telemetry
        record = self.own.record
        self.resumed = record if record is not None and record.state is RecordState.IN_GROUP else None
        self.unit = OpenUnit(note_of(record))
        self.in_hand: Callable[[], GroupPosition] = lambda: self.committed

    @property
    def own(self) -> Ownership:
        """What is known of the name."""
        return self._performer.ownerships[self._number]

    @property
    def name(self) -> str:
        """Role and name, for error texts."""
        return f"{self.own.expected.role.value} {self.own.expected.name}"

    @property
    def look_command(self) -> str:
        """The command that shows an operator this owner's record."""
        expected = self.own.expected
        return to_copy(f"mqgroups check {{}} --role {expected.role.value}", expected.name)

    # --- what is committed

    @property
    def committed(self) -> GroupPosition:
        """The position of the last commit; ``AT_START`` between groups. It also says whether the queue handle retains it."""
        return self.own.position

    @property
    def committed_sentence(self) -> str:
        """What is committed of the group, as a sentence for an error text."""
        if self.committed.at_start:
            return "No message of the group is known to be committed"
        return f"Message {self.committed.msg_seq_number} is the last of the group that is known to be committed"

    @property
    def committed_checkpoint(self) -> Checkpoint:
        """The application's checkpoint of the last commit; ``None`` if it set none."""
        record = self.own.record
        return record.checkpoint if record is not None else None

    @property
    def done(self) -> Done | None:
        """The last group with a name that a producer completed; ``None`` if there is none."""
        record = self.own.record
        return record.done if record is not None else None

    @property
    def is_needed(self) -> bool:
        """Whether its record is still needed: for an interrupted group, a suspect, a checkpoint, or the name of a group."""
        record = self.own.record
        return record is not None and record.is_needed

    @property
    def outgoing(self) -> Outgoing:
        """What a pipe's producer has committed of its group."""
        return outgoing_at(self.committed)

    def stopped(self) -> Stopped:
        """Return the error that ends a group after ``stop()``."""
        committed = self.committed
        return Stopped(self.name, self.own.expected.queue, committed.group_id, committed.msg_seq_number)

    # --- the open unit of work

    def count(self, data_bytes: int) -> None:
        """Count a message that was put, or got and processed, with so many bytes of data."""
        unit = self.unit
        unit.messages += 1
        unit.data_bytes += data_bytes

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Set the next record's checkpoint; ``None`` removes the one before."""
        _, suspect, quarantine, properties, first_msg_id, done = self.unit.note
        self.unit.note = Note(checkpoint, suspect, quarantine, properties, first_msg_id, done)

    def clear_suspect(self) -> None:
        """Note that no message is suspected any more: the one that was processed alone is not poison."""
        self.unit.note = self.unit.note._replace(suspect=None)

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
        """Return what the open unit of work commits: a record in the middle of a group, or at its end; see ``next_record``.

        ``done``: the group that it completes, if that has a name to remember.
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
        """Begin another unit of work, after the last one was committed or backed out."""
        self.unit = OpenUnit(note_of(self.own.record))
        self.keeper.unit_ended()

    # --- for the application and the log

    def tell_resumed(self) -> None:
        """Call the application's ``on_resume`` if an interrupted group was found."""
        if self.resumed is not None:
            self.witness.resumed(self.resumed, self.own.epoch)

    def backed_out(self, own: Ownership, why: BaseException | str) -> None:
        """Tell the witness that the open unit of work is backed out; ``own`` is what was known before."""
        self.witness.backed_out(own, self.unit, why, self.in_hand())

    def log(self, log: logging.Logger, level: int, text: str, *args: object, reason: int = 0) -> None:
        """Log a line with the structured fields, in the span of the open unit of work."""
        with self.telemetry.in_span():
            log.log(level, text, *args, extra=self.log_fields(reason), stacklevel=2)

    def log_fields(self, reason: int = 0) -> dict[str, str | int]:
        """Return the structured fields of a log record."""
        return self.witness.log_fields(self.own, self.unit, self.in_hand(), reason)

    @even_half_made
    def __repr__(self) -> str:
        return f"<Owner {self.name} of {self.own.expected.queue} uow={self.own.number}>"


def new_owner_id() -> str:
    """Return the identity of a new owner. It says the version, so that others can name the one that reads the record."""
    return f"{uuid.uuid4().hex} {writer()}"


def outgoing_at(position: GroupPosition) -> Outgoing:
    """Return what a pipe's consumer notes of the outgoing group, which stands at this position."""
    return Outgoing() if position.at_start else Outgoing(position.group_id, position.msg_seq_number)

"""An owner: one name's side of the units of work. It knows where its group stands, and makes its next status record.

The record on the status queue is the truth about a group. An owner's knowledge of that record is one value (``Known``), which is
always replaced as a whole, as the last step. So if the program is interrupted, the value is either the old or the new one. Each
commit is noted before MQCMIT is called (``Ending``), and is in doubt until MQCMIT has answered or the record has been read. The
open unit of work is one value too (``OpenUnit``).

A producer or a consumer is one owner, a pipe is two. Not here: when a unit of work begins and ends (``units_of_work.py``).
"""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import replace

from mqgroups.connection.connection import Connection
from mqgroups.core.group import AT_START, GroupPosition, on_fresh_handle
from mqgroups.core.group_properties import NO_PROPERTIES
from mqgroups.core.model import Persistence, Role
from mqgroups.core.poison import Suspect
from mqgroups.core.restart import (
    CommitOutcome,
    Expectations,
    RestartAction,
    commit_outcome,
    keeps_on_claim,
    restart_action,
)
from mqgroups.core.status import Checkpoint, Mark, Outgoing, RecordState, StatusRecord
from mqgroups.errors import OwnerActive, OwnershipLost, QueueMissing, Stopped
from mqgroups.printable import even_half_made
from mqgroups.status.hooks import Hooks, InDoubt
from mqgroups.status.keeper import RecordKeeper
from mqgroups.status.known import Ending, Known, position_of
from mqgroups.status.news import News
from mqgroups.status.open_unit import Note, OpenUnit, note_of
from mqgroups.status.records import foreign_record
from mqgroups.telemetry import logs
from mqgroups.telemetry.owner import OwnerTelemetry

_log = logging.getLogger("mqgroups")


class Owner:
    """A producer's or a consumer's side of its units of work.

    Attributes:
        keeper: keeps the status record.
        hooks: the application's functions to call.
        epoch: how many owners the record has had, including this one.
        resumed: the record found at the start, if a group was interrupted; else ``None``.
        unit: its part of the open unit of work.
        telemetry: its spans and metrics.
        news: what its hooks are to be told.
    """

    def __init__(
        self,
        connection: Connection,
        keeper: RecordKeeper,
        role: Role,
        name: str,
        queue: str,
        hooks: Hooks,
        *,
        owner_id: str | None = None,
    ) -> None:
        """Read the status record. The name belongs to this owner only after ``claim`` and its commit.

        Args:
            owner_id: this owner's identity, if others have to know it beforehand; by default a new one.

        Raises:
            StatusError: the status queue, or the record on it, cannot be used; nothing was changed.
            MQIError: a call failed.
        """
        self._started_ns = time.time_ns()
        self._connection = connection
        self.keeper = keeper
        self.hooks = hooks
        self._expected = Expectations(role, name, queue, connection.q_mgr_identifier)
        self.news = News(hooks, self._expected)
        self._owner_id = owner_id or uuid.uuid4().hex
        record = keeper.read()
        decision = restart_action(record, self._expected)
        if decision.mismatch is not None:
            raise foreign_record(keeper.name, decision.mismatch)
        self.epoch = record.epoch + 1 if record else 1
        self.resumed = record if decision.action is RestartAction.RESUME_GROUP else None
        committed = on_fresh_handle(position_of(self.resumed)) if self.resumed else AT_START
        self._known = Known(record, committed)
        self._closing = False
        self.unit = OpenUnit(note_of(record))
        self.telemetry: OwnerTelemetry = OwnerTelemetry(
            connection.telemetry,
            role.value,
            name,
            queue,
            connection.q_mgr_name,
            propagates=connection.propagates,
        )

    # --- what is committed

    @property
    def name(self) -> str:
        """Role and name, for error texts."""
        return f"{self._expected.role.value} {self._expected.name}"

    @property
    def look_command(self) -> str:
        """The command that shows an operator this owner's record."""
        return f"mqgroups recover --name {self._expected.name} --role {self._expected.role.value} --check"

    @property
    def committed(self) -> GroupPosition:
        """The position of the last commit; ``AT_START`` between groups. It also says whether the queue handle retains it."""
        return self._known.committed

    def stopped(self) -> Stopped:
        """Return the error that ends a group after ``stop()``."""
        return Stopped(self.name, self._expected.queue, self.committed.group_id, self.committed.msg_seq_number)

    @property
    def outgoing(self) -> Outgoing:
        """What a pipe's producer has committed of its group, with the open unit of work if its record is staged in that."""
        ending = self._known.ending
        position = ending.committed if ending else self._known.committed
        return Outgoing() if position.at_start else Outgoing(position.group_id, position.msg_seq_number)

    @property
    def stands(self) -> str:
        """What is committed of the group, as a sentence for an error text."""
        if self.committed.at_start:
            return "No message of the group is known to be committed"
        return f"Message {self.committed.msg_seq_number} is the last of the group that is known to be committed"

    @property
    def committed_checkpoint(self) -> Checkpoint:
        """The application's checkpoint of the last commit; ``None`` if it set none."""
        return self._known.record.checkpoint if self._known.record else None

    @property
    def number(self) -> int:
        """The number of the open or next unit of work."""
        return self._known.record.unit_of_work + 1 if self._known.record else 1

    @property
    def speaks(self) -> bool:
        """Whether its record is still needed: for an interrupted group, a suspect or a checkpoint."""
        return self._known.record is not None and self._known.record.speaks

    @property
    def in_doubt(self) -> int:
        """The reason code of a commit that had no answer; 0 if no commit is in doubt."""
        return self._known.ending.in_doubt if self._known.ending is not None else 0

    @property
    def known_record(self) -> StatusRecord | None:
        """The record of the last known commit."""
        return self._known.record

    # --- the open unit of work

    def count(self, data_bytes: int) -> None:
        """Count a message that was put, or got and processed, with so many bytes of data."""
        unit = self.unit
        unit.messages += 1
        unit.data_bytes += data_bytes

    def will_put(self, messages: int) -> None:
        """Note how many messages are waiting to be put when the unit of work ends."""
        self.unit.to_put = messages

    def set_note(self, note: Note) -> None:
        """Set the next record's contents besides the position."""
        self.unit.note = note

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Set the next record's checkpoint; ``None`` removes the one before."""
        note = self.unit.note
        self.unit.note = Note(checkpoint, note.suspect, note.quarantine, note.properties, note.first_msg_id)

    def set_suspect(self, suspect: Suspect | None) -> None:
        """Set the message that the next record names as processed alone; ``None`` removes it."""
        note = self.unit.note
        self.unit.note = note._replace(suspect=suspect)

    def set_quarantine(self) -> None:
        """Note in the next record that the rest of the group goes to the backout queue."""
        self.unit.note = self.unit.note._replace(quarantine=True)

    # --- in a unit of work; the caller commits it or backs it out, and calls ``is_committed`` or ``is_backed_out``

    def claim(self) -> None:
        """Replace the record that was found by one of this owner's, with the same contents if they are still needed."""
        own = self._known.record
        if own is None or not keeps_on_claim(own, self._expected):
            own = replace(self._record(AT_START, RecordState.IDLE), unit_of_work=self.number - 1)
        own = replace(own, owner_id=self._owner_id, epoch=self.epoch)
        self.keeper.stage(own)
        self._known = replace(self._known, ending=Ending(own, self.committed, 0))

    def stage(
        self,
        position: GroupPosition,
        *,
        ended: bool,
        resolved: tuple[str, str] = ("", ""),
        persistence: Persistence = Persistence.PERSISTENT,
        outgoing: Outgoing | None = None,
    ) -> None:
        """Put the record of a unit of work: ``IN_GROUP`` in the middle of a group, ``COMPLETED`` at its end.

        Args:
            position: in the group.
            ended: whether the group ends there.
            resolved: the queue and the queue manager that a producer's messages went to.
            persistence: of a producer's messages.
            outgoing: what a pipe commits of its outgoing group with this.
        """
        state = RecordState.COMPLETED if ended else RecordState.IN_GROUP
        record = self._record(position, state, resolved, persistence, outgoing)
        committed = AT_START if ended else position_of(record)
        ending = Ending(record, committed, self.unit.messages, unit=self.unit)
        self._known = Known(self._known.record, self._known.committed, ending)
        # After noting the commit: on a wrapped connection the application may commit at any moment.
        self.keeper.stage(record)

    def _record(
        self,
        position: GroupPosition,
        state: RecordState,
        resolved: tuple[str, str] = ("", ""),
        persistence: Persistence = Persistence.PERSISTENT,
        outgoing: Outgoing | None = None,
    ) -> StatusRecord:
        expected, (checkpoint, suspect, quarantine, properties, first_msg_id) = self._expected, self.unit.note
        ended = state is RecordState.COMPLETED
        return StatusRecord(
            role=expected.role,
            name=expected.name,
            state=state,
            owner_id=self._owner_id,
            epoch=self.epoch,
            unit_of_work=self.number,
            queue=expected.queue,
            group_id=position.group_id,
            first_msg_id=first_msg_id,
            msg_seq_number=position.msg_seq_number,
            offset=position.offset,
            in_last_message=position.in_last_message,
            suspect=None if ended else suspect,
            quarantine=quarantine and not ended,
            resolved_q_name=resolved[0],
            resolved_q_mgr_name=resolved[1],
            q_mgr_identifier=expected.q_mgr_identifier,
            persistence=persistence,
            checkpoint=checkpoint,
            traceparent=self.telemetry.trace_context().traceparent,
            properties=NO_PROPERTIES if ended else properties,
            outgoing=None if ended else outgoing,
        )

    @property
    def has_staged(self) -> bool:
        """Whether its record is staged in this unit of work."""
        return self._known.ending is not None

    def stage_unchanged(self) -> None:
        """Put the same record again with this unit of work's number, because the keeper has got it from the queue."""
        assert self._known.record is not None
        record = replace(self._known.record, unit_of_work=self.number)
        self._known = replace(self._known, ending=Ending(record, self.committed, 0))
        self.keeper.stage(record)

    def stage_note(self, *, forget_checkpoint: bool = False) -> None:
        """Put the record with the same position and the open unit's suspect and quarantine."""
        assert self._known.record is not None
        note = self.unit.note
        record = replace(self._known.record, suspect=note.suspect, quarantine=note.quarantine)
        if forget_checkpoint:
            record = replace(record, checkpoint=None)
        self.keeper.stage(record)
        self._known = replace(self._known, ending=Ending(record, self.committed, 0))

    def stage_end_of_chain(self) -> None:
        """Put the record once more so that ``stage_nothing`` can remove it in the next unit of work."""
        assert self._known.record is not None
        self.keeper.stage(self._known.record, last=True)
        self._known = replace(self._known, ending=Ending(self._known.record, AT_START, 0))

    def is_closing(self) -> None:
        """Note that this owner ends: from now on it does no harm if another program removes the record."""
        self._closing = True

    def stage_nothing(self) -> None:
        """Remove the record."""
        self.keeper.remove()
        self._known = replace(self._known, ending=Ending(None, AT_START, 0))

    def is_in_doubt(self, reason: int) -> None:
        """Note that the commit under way had no answer."""
        ending = self._known.ending
        if ending is not None:
            self._known = replace(self._known, ending=replace(ending, in_doubt=reason))

    def is_committed(self) -> None:
        """Note that the unit of work is committed, with the staged record."""
        ending = self._known.ending
        if ending is None:
            self.unit = OpenUnit(note_of(self._known.record))
        else:
            self.keeper.ended(committed=True)
            self._take_over(ending.record, ending)

    def is_backed_out(self, why: BaseException | str) -> None:
        """Note that the unit of work is backed out to the last commit. A commit in doubt stays in doubt."""
        self.keeper.ended(committed=False)
        self._forget(why)

    # --- after a lost connection or an interruption

    def reopen(self) -> None:
        """Open the status queue again if the connection was replaced.

        Raises:
            OwnershipLost: another instance has the status queue open, or it was deleted.
            MQIError: it could not be opened; call again.
        """
        if not self.keeper.is_stale:
            return
        try:
            self.keeper.reopen()
        except OwnerActive:
            holder = self.keeper.held_by()
            if holder is not None and holder.owner_id != self._owner_id:
                raise self.lost_to(holder) from None
            raise
        except QueueMissing:
            raise self.lost_to(None) from None
        # The data queue will have a fresh handle too, at whichever of the two positions the group is.
        known, ending = self._known, self._known.ending
        if ending is not None:
            ending = replace(ending, committed=on_fresh_handle(ending.committed))
        self._known = replace(known, committed=on_fresh_handle(known.committed), ending=ending)

    def read(self) -> StatusRecord | None:
        """Return the record on the status queue; see ``RecordKeeper.read``."""
        ending = self._known.ending
        own = (ending.record if ending is not None else None, self._known.record)
        return self.keeper.read([record.mark for record in own if record is not None])

    def outcome(self, found: StatusRecord | None) -> CommitOutcome:
        """Return the outcome of the last commit by the record that was found; raises OwnershipLost if it is another owner's."""
        before, ending = self._known.record, self._known.ending
        after = before if ending is None else ending.record
        if self._is_gone(found):
            return CommitOutcome.COMMITTED
        outcome = commit_outcome(_mark(found), _mark(before), _mark(after))
        if outcome is CommitOutcome.OWNERSHIP_LOST:
            raise self.lost_to(found)
        return outcome if ending is not None else CommitOutcome.BACKED_OUT

    def conclude(self, found: StatusRecord | None, outcome: CommitOutcome) -> None:
        """Accept the outcome; if a commit of messages was in doubt, it is news."""
        ending = self._known.ending
        in_doubt = ending is not None and bool(ending.in_doubt and ending.messages)
        self.telemetry.concluded(outcome.value, in_doubt=in_doubt)
        told = self._in_doubt(ending, outcome) if ending is not None and in_doubt else None
        if told is not None:
            extra = self.log_fields(told.reason)
            _log.warning("%r: unit of work %d was %s", self, told.unit_of_work, told.outcome, extra=extra)
            self.news.settled(told)
        if self._is_gone(found):
            self._take_over(None, None)
        elif ending is not None and outcome is CommitOutcome.COMMITTED:
            self._take_over(found, ending)
        else:
            self._known = replace(self._known, ending=None)
            self._forget("connection lost")

    def lost_to(self, holder: StatusRecord | None) -> OwnershipLost:
        """Return the error for a name that another instance has taken over."""
        in_doubt = self._known.ending is not None and bool(self.in_doubt and self._known.ending.messages)
        self.telemetry.concluded(CommitOutcome.OWNERSHIP_LOST.value, in_doubt=in_doubt)
        seen = (holder.owner_id, holder.epoch) if holder else ("", 0)
        return OwnershipLost(self.name, self.keeper.name, seen, (self._owner_id, self.epoch))

    def _is_gone(self, found: StatusRecord | None) -> bool:
        """Whether this owner is closing and its last record is gone. A record of another owner does not matter then."""
        known, ending = self._known.record, self._known.ending
        own = (known, ending.record if ending is not None else None)
        return self._closing and _mark(found) not in [record.mark for record in own if record is not None]

    def _take_over(self, record: StatusRecord | None, ending: Ending | None) -> None:
        if record and ending:
            self.telemetry.ended(position_of(record), ending.messages, group_name=self.unit.group_name)
            if ending.messages and record.state is RecordState.COMPLETED:
                self.telemetry.group_ended(record.msg_seq_number)
            if ending.messages and ending.unit:
                self.news.committed(record, ending.unit)
        self._known = Known(record, ending.committed if ending else AT_START)
        self.unit = OpenUnit(note_of(record))

    def _forget(self, why: BaseException | str) -> None:
        # If one owner of a unit of work loses its name, all do; metrics count the loss for that one only.
        is_lost = isinstance(why, OwnershipLost) and why.status_queue == self.keeper.name
        self.telemetry.ended(self.committed, self.unit.messages, why, is_lost=is_lost, group_name=self.unit.group_name)
        self.unit = OpenUnit(note_of(self._known.record))

    def _in_doubt(self, ending: Ending, outcome: CommitOutcome) -> InDoubt:
        expected = self._expected
        return InDoubt(
            role=expected.role.value,
            name=expected.name,
            queue=expected.queue,
            unit_of_work=self.number,
            messages=ending.messages,
            reason=ending.in_doubt,
            outcome="committed" if outcome is CommitOutcome.COMMITTED else "backed out",
        )

    # --- for the application and the log

    def tell_resumed(self) -> None:
        """Call the application's ``on_resume`` if an interrupted group was found."""
        if self.resumed:
            self.telemetry.resumed(self.resumed, self.epoch, self._started_ns)
            self.news.tell_resumed(self.resumed, self.epoch)

    def log_fields(self, reason: int = 0) -> dict[str, str | int]:
        """Return the structured fields of a log record."""
        expected, committed = self._expected, self.committed
        return logs.fields(
            q_mgr_name=self._connection.q_mgr_name,
            role=expected.role.value,
            name=expected.name,
            queue=expected.queue,
            group_id=committed.group_id,
            group_name=self.unit.group_name,
            msg_seq_number=committed.msg_seq_number,
            unit_of_work=self.number,
            reason=reason,
            span=self.telemetry.span,
        )

    @even_half_made
    def __repr__(self) -> str:
        return f"<Owner {self.name} of {self._expected.queue} uow={self.number}>"


def _mark(record: StatusRecord | None) -> Mark | None:
    return record.mark if record else None

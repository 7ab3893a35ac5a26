"""An owner: one name's side of a unit of work. Where its group stands, and what its next status record says.

What is true of a group is what its record on the status queue says. What is known of that here (``_Known``) is one value. It is
replaced as a whole and last, so whatever interrupts the program, it is either before or after. A commit is noted before it is
asked for (``_Ending``). Until MQCMIT has answered, or the record has been read, it is in doubt. What is not committed yet is
one value too (``OpenUnit``).

A producer and a consumer are an owner each, a pipe is two. Not here: when a unit of work begins and ends (``units_of_work.py``).
"""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import dataclass, replace

from mqgroups.connection.connection import Connection
from mqgroups.core.group import AT_START, GroupPosition, on_fresh_handle
from mqgroups.core.model import Role
from mqgroups.core.poison import Suspect
from mqgroups.core.restart import CommitOutcome, Expectations, RestartAction, commit_outcome, restart_action
from mqgroups.core.status import Checkpoint, Mark, RecordState, StatusRecord
from mqgroups.errors import OwnerActive, OwnershipLost, QueueMissing
from mqgroups.status.hooks import Hooks, InDoubt, Resumed
from mqgroups.status.keeper import RecordKeeper
from mqgroups.status.open_unit import Note, OpenUnit, note_of
from mqgroups.status.records import foreign_record
from mqgroups.telemetry import logs
from mqgroups.telemetry.owner import OwnerTelemetry

_log = logging.getLogger("mqgroups")


@dataclass(frozen=True, slots=True)
class _Ending:
    """A commit that was asked for: the record it leaves, or none, where the group stands then, and of how many messages.

    ``in_doubt`` is the reason code with which it failed, if its answer was lost.
    """

    record: StatusRecord | None
    committed: GroupPosition
    messages: int
    in_doubt: int = 0


@dataclass(frozen=True, slots=True)
class _Known:
    """The last commit's record, as far as is known; where the group stands by it; and the commit after it, if there was one."""

    record: StatusRecord | None
    committed: GroupPosition
    ending: _Ending | None = None


class Owner:
    """A producer's or a consumer's side of its units of work.

    Attributes:
        keeper: where its record is.
        hooks: what its application wants to be told.
        epoch: how many owners the record has had, with this one.
        resumed: the record found at the start if it tells of an interrupted group, else ``None``.
        unit: what it has done in the open unit of work.
        telemetry: its spans and metrics.
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
        """Read the status queue and find out where things stand; ``claim`` is what makes the name this owner's.

        ``owner_id`` is this owner's identity, where others have to know it beforehand.

        Raises:
            StatusError: the status queue does not hold what it should; nothing was changed.
            MQIError: a call failed.
        """
        self._started_ns = time.time_ns()
        self._connection = connection
        self.keeper = keeper
        self.hooks = hooks
        self._expected = Expectations(role, name, queue, connection.q_mgr_identifier)
        self._owner_id = owner_id or uuid.uuid4().hex
        record = keeper.read()
        decision = restart_action(record, self._expected)
        if decision.mismatch is not None:
            raise foreign_record(keeper.name, decision.mismatch)
        self.epoch = record.epoch + 1 if record else 1
        self.resumed = record if decision.action is RestartAction.RESUME_GROUP else None
        committed = on_fresh_handle(position_of(self.resumed)) if self.resumed else AT_START
        self._known = _Known(record, committed)
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

    # --- where things stand

    @property
    def name(self) -> str:
        """Role and name, as errors tell them."""
        return f"{self._expected.role.value} {self._expected.name}"

    @property
    def look_command(self) -> str:
        """What an operator types to see how its record stands."""
        return f"mqgroups recover --name {self._expected.name} --role {self._expected.role.value} --check"

    @property
    def committed(self) -> GroupPosition:
        """The position of the last commit; ``AT_START`` between groups. Fresh handles do not retain it."""
        return self._known.committed

    @property
    def committed_checkpoint(self) -> Checkpoint:
        """The application's checkpoint of the last commit, ``None`` if it gave none."""
        return self._known.record.checkpoint if self._known.record else None

    @property
    def number(self) -> int:
        """Of the open or next unit of work."""
        return self._known.record.unit_of_work + 1 if self._known.record else 1

    @property
    def speaks(self) -> bool:
        """Whether anybody would miss its record."""
        return self._known.record is not None and self._known.record.speaks

    @property
    def in_doubt(self) -> int:
        """The reason code with which a commit ended that had no answer; 0 if none is in doubt."""
        return self._known.ending.in_doubt if self._known.ending is not None else 0

    @property
    def known_record(self) -> StatusRecord | None:
        """The record of the last commit, as far as is known."""
        return self._known.record

    def record(self, position: GroupPosition) -> StatusRecord:
        """Return the record of a group that has come to ``position``; a producer adds where its messages go."""
        note = self.unit.note
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
            offset=position.offset,
            in_last_message=position.in_last_message,
            suspect=note.suspect,
            quarantine=note.quarantine,
            q_mgr_identifier=self._expected.q_mgr_identifier,
            checkpoint=note.checkpoint,
            traceparent=self.telemetry.trace_context().traceparent,
        )

    # --- the open unit of work

    def count(self, data_bytes: int) -> None:
        """Count a message that was put, or got and processed, with so many bytes of data."""
        unit = self.unit
        unit.messages += 1
        unit.data_bytes += data_bytes

    def will_put(self, messages: int) -> None:
        """Take note that so many messages wait to be put when the unit of work ends."""
        self.unit.to_put = messages

    def set_note(self, note: Note) -> None:
        """Have the next record say this besides the position."""
        self.unit.note = note

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Have the next record say this checkpoint; ``None`` forgets the one before."""
        note = self.unit.note
        self.unit.note = Note(checkpoint, note.suspect, note.quarantine)

    def set_suspect(self, suspect: Suspect | None) -> None:
        """Have the next record name the message that is to be processed alone; ``None`` clears one."""
        note = self.unit.note
        self.unit.note = Note(note.checkpoint, suspect, note.quarantine)

    def set_quarantine(self) -> None:
        """Have the next record say that the rest of the group goes to the backout queue."""
        note = self.unit.note
        self.unit.note = Note(note.checkpoint, note.suspect, quarantine=True)

    # --- in a unit of work; the caller commits it, and says so, or backs it out

    def claim(self) -> None:
        """Put a record of this owner's in the place of what was found, with what that one says, if it says anything."""
        own = self._known.record
        if own is None or not own.speaks:
            own = replace(self.record(AT_START), state=RecordState.IDLE, unit_of_work=self.number - 1)
        own = replace(own, owner_id=self._owner_id, epoch=self.epoch)
        self.keeper.stage(own)
        self._known = replace(self._known, ending=_Ending(own, self.committed, 0))

    def stage(self, record: StatusRecord) -> None:
        """Put the record of a unit of work: ``IN_GROUP`` in the middle of a group, ``COMPLETED`` at its end."""
        if record.state is RecordState.COMPLETED:
            record = replace(record, suspect=None, quarantine=False)
        goes_on = record.state is RecordState.IN_GROUP
        self._known = replace(
            self._known, ending=_Ending(record, position_of(record) if goes_on else AT_START, self.unit.messages)
        )
        # Behind the note: on a shared connection something else may commit at any moment.
        self.keeper.stage(record)

    @property
    def has_staged(self) -> bool:
        """Whether its record is staged in this unit of work."""
        return self._known.ending is not None

    def stage_unchanged(self) -> None:
        """Put the record again, with the number of this unit of work: the keeper has got it, and the group has not moved."""
        assert self._known.record is not None
        record = replace(self._known.record, unit_of_work=self.number)
        self._known = replace(self._known, ending=_Ending(record, self.committed, 0))
        self.keeper.stage(record)

    def stage_note(self, *, forget_checkpoint: bool = False) -> None:
        """Put what the record has to say besides the position."""
        assert self._known.record is not None
        note = self.unit.note
        record = replace(self._known.record, suspect=note.suspect, quarantine=note.quarantine)
        if forget_checkpoint:
            record = replace(record, checkpoint=None)
        self.keeper.stage(record)
        self._known = replace(self._known, ending=_Ending(record, self.committed, 0))

    def stage_end_of_chain(self) -> None:
        """Put the record so that ``stage_nothing`` can take it, in the next unit of work."""
        assert self._known.record is not None
        self.keeper.stage(self._known.record, last=True)
        self._known = replace(self._known, ending=_Ending(self._known.record, AT_START, 0))

    def is_closing(self) -> None:
        """From here on nobody misses its record, whoever takes it away."""
        self._closing = True

    def stage_nothing(self) -> None:
        """Take the record away."""
        self.keeper.remove()
        self._known = replace(self._known, ending=_Ending(None, AT_START, 0))

    def is_in_doubt(self, reason: int) -> None:
        """The commit had no answer."""
        ending = self._known.ending
        if ending is not None:
            self._known = replace(self._known, ending=replace(ending, in_doubt=reason))

    def is_committed(self) -> None:
        """The unit of work is committed, with what was staged."""
        ending = self._known.ending
        if ending is None:
            self.unit = OpenUnit(note_of(self._known.record))
        else:
            self.keeper.ended(committed=True)
            self._take_over(ending.record, ending.committed, ending.messages)

    def is_backed_out(self, why: BaseException | str) -> None:
        """The unit of work is backed out: back to the last commit. What is in doubt stays so."""
        self.keeper.ended(committed=False)
        self._forget(why)

    # --- after a connection that was lost, and after an interruption

    def reopen(self) -> None:
        """Open the status queue again if need be.

        Raises:
            OwnershipLost: somebody else has it.
            MQIError: not yet; to be called again.
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
        # The data queue's handle will be a fresh one as well, wherever the group turns out to stand.
        known, ending = self._known, self._known.ending
        if ending is not None:
            ending = replace(ending, committed=on_fresh_handle(ending.committed))
        self._known = replace(known, committed=on_fresh_handle(known.committed), ending=ending)

    def read(self) -> StatusRecord | None:
        """Return the record there is; as ``RecordKeeper.read``."""
        ending = self._known.ending
        own = (ending.record if ending is not None else None, self._known.record)
        return self.keeper.read([record.mark for record in own if record is not None])

    def outcome(self, found: StatusRecord | None) -> CommitOutcome:
        """Say what became of the last commit, by the record that is there; raises OwnershipLost if it is another owner's."""
        before, ending = self._known.record, self._known.ending
        after = before if ending is None else ending.record
        if self._is_gone(found):
            return CommitOutcome.COMMITTED
        outcome = commit_outcome(_mark(found), _mark(before), _mark(after))
        if outcome is CommitOutcome.OWNERSHIP_LOST:
            raise self.lost_to(found)
        return outcome if ending is not None else CommitOutcome.BACKED_OUT

    def conclude(self, found: StatusRecord | None, outcome: CommitOutcome) -> InDoubt | None:
        """Take the record for true; returns what the application is told of a commit of messages that was in doubt."""
        ending = self._known.ending
        in_doubt = ending is not None and bool(ending.in_doubt and ending.messages)
        self.telemetry.concluded(outcome.value, in_doubt=in_doubt)
        told = self._in_doubt(ending, outcome) if ending is not None and in_doubt else None
        if told is not None:
            extra = self.log_fields(told.reason)
            _log.warning("%r: unit of work %d was %s", self, told.unit_of_work, told.outcome, extra=extra)
        if self._is_gone(found):
            self._take_over(None, AT_START, 0)
        elif ending is not None and outcome is CommitOutcome.COMMITTED:
            self._take_over(found, ending.committed, ending.messages)
        else:
            self._known = replace(self._known, ending=None)
            self._forget("connection lost")
        return told

    def lost_to(self, holder: StatusRecord | None) -> OwnershipLost:
        """Return the error for a name that is another instance's by now."""
        in_doubt = self._known.ending is not None and bool(self.in_doubt and self._known.ending.messages)
        self.telemetry.concluded(CommitOutcome.OWNERSHIP_LOST.value, in_doubt=in_doubt)
        seen = (holder.owner_id, holder.epoch) if holder else ("", 0)
        return OwnershipLost(self.name, self.keeper.name, seen, (self._owner_id, self.epoch))

    def _is_gone(self, found: StatusRecord | None) -> bool:
        """Whether this owner's last record is gone as it closes. Whose is there now does not matter any more."""
        known, ending = self._known.record, self._known.ending
        own = (known, ending.record if ending is not None else None)
        return self._closing and _mark(found) not in [record.mark for record in own if record is not None]

    def _take_over(self, record: StatusRecord | None, committed: GroupPosition, messages: int) -> None:
        if record:
            self.telemetry.ended(position_of(record), messages)
            if messages and record.state is RecordState.COMPLETED:
                self.telemetry.group_ended(record.msg_seq_number)
        self._known = _Known(record, committed)
        self.unit = OpenUnit(note_of(record))

    def _forget(self, why: BaseException | str) -> None:
        # What one owner of a unit of work has lost, all have; it counts as a loss of the one alone.
        is_lost = isinstance(why, OwnershipLost) and why.status_queue == self.keeper.name
        self.telemetry.ended(self.committed, self.unit.messages, why, is_lost=is_lost)
        self.unit = OpenUnit(note_of(self._known.record))

    def _in_doubt(self, ending: _Ending, outcome: CommitOutcome) -> InDoubt:
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

    # --- telling

    def tell_resumed(self) -> None:
        """Tell the application if an interrupted group was found."""
        found, on_resume = self.resumed, self.hooks.on_resume
        if found:
            self.telemetry.resumed(found, self.epoch, self._started_ns)
        if found and on_resume:
            on_resume(
                Resumed(
                    role=found.role.value,
                    name=found.name,
                    queue=found.queue,
                    group_id=found.group_id,
                    msg_seq_number=found.msg_seq_number,
                    offset=found.offset,
                    checkpoint=found.checkpoint,
                    epoch=self.epoch,
                    unit_of_work=found.unit_of_work,
                )
            )

    def log_fields(self, reason: int = 0) -> dict[str, str | int]:
        """Return what a line of the log knows besides its text."""
        expected, committed = self._expected, self.committed
        return logs.fields(
            q_mgr_name=self._connection.q_mgr_name,
            role=expected.role.value,
            name=expected.name,
            queue=expected.queue,
            group_id=committed.group_id,
            msg_seq_number=committed.msg_seq_number,
            unit_of_work=self.number,
            reason=reason,
            span=self.telemetry.span,
        )

    def __repr__(self) -> str:
        return f"<Owner {self.name} of {self._expected.queue} uow={self.number}>"


def position_of(record: StatusRecord) -> GroupPosition:
    """Return where a record says that its group stands."""
    return GroupPosition(record.group_id, record.msg_seq_number, record.offset, record.in_last_message)


def _mark(record: StatusRecord | None) -> Mark | None:
    return record.mark if record else None

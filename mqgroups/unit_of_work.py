"""One owner's units of work: each begun by its first message and ended by its status record and MQCMIT, or by MQBACK.

What producer and consumer have in common: the same status queue, the same restart, the same rule of what is true after
a commit and after a backout. ``committed`` is the only position that counts; it changes when MQCMIT has answered, or
when the status queue has told what it would have answered; and whoever backs out goes back to it.

    the owner's first       MQPUT record,                         MQCMIT
    each with messages      messages, MQGET record, MQPUT record, MQCMIT
    the last, on closing    MQGET record,                         MQCMIT

so N messages in U units of work take N + 3U calls, and an owner five more. IBM's pattern gets by with 2 calls less a
group, because it has no record before a group's first commit and none after its last; but then nothing on the queue
tells whether that last one, or the only one of a small group, was committed; nor whether another instance has come
and gone while this one was cut off. With a record of its own from the first call to the last, an owner can always tell,
and goes on by itself: that is ``settle``.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from mqgroups.connection import Connection
from mqgroups.core.group import AT_START, GroupPosition, on_fresh_handle
from mqgroups.core.model import Role
from mqgroups.core.poison import Suspect
from mqgroups.core.restart import Expectations, RestartAction, Verdict, commit_verdict, restart_action
from mqgroups.core.status import Checkpoint, Mark, RecordState, StatusRecord
from mqgroups.core.unit_of_work import Every, capped, syncpoint_due
from mqgroups.errors import (
    CommitOutcomeUnknown,
    ConfigurationError,
    ConnectionBroken,
    MQIError,
    OwnerActive,
    OwnershipLost,
    QueueMissing,
)
from mqgroups.hooks import Hooks, InDoubt, Resumed
from mqgroups.mqi import constants as mq
from mqgroups.record_keeper import RecordKeeper
from mqgroups.retry import REDO_LATER, retrying
from mqgroups.status_queue import foreign_record
from mqgroups.telemetry import logs
from mqgroups.telemetry import semantic_conventions as sc
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


class UnitsOfWork:
    """The units of work of one producer or consumer, one after the other.

    Attributes:
        committed: the position of the last commit; ``AT_START`` between groups. Fresh handles do not retain it.
        committed_checkpoint: the application's checkpoint of the last commit, ``None`` if it gave none.
        resumed: the record found at the start if it tells of an interrupted group, else ``None``.
        messages, data_bytes: in the open unit of work. The driver counts them, after each call that succeeded.
        checkpoint: what the next syncpoint commits; the driver sets it.
        suspect, quarantine: likewise, of the record.
        number: of the open or next unit of work.
        telemetry: its spans and metrics.
    """

    def __init__(
        self,
        connection: Connection,
        status: RecordKeeper,
        role: Role,
        name: str,
        queue: str,
        every: Every,
        hooks: Hooks,
        leader: UnitsOfWork | None = None,
        owner_id: str | None = None,
    ) -> None:
        """Read the status queue, find out where things stand, and put this owner's record on it.

        ``owner_id`` is this owner's identity, where others have to know it beforehand.
        With a ``leader`` there is one unit of work for both: this one's record is put with ``stage``, and the leader
        commits, backs out and settles.

        Raises:
            StatusError: the status queue does not hold what it should; nothing was changed.
            ConfigurationError: the queue manager's MAXUMSGS leaves no room for a message.
            MQIError: a call failed.
        """
        self._started_ns = time.time_ns()
        record = status.read()
        try:
            self._every = capped(every, connection.max_uncommitted_msgs, status.most_messages)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        # Half of what there is room for: how many more one message brings is known when they are there.
        self._most_beside = (connection.max_uncommitted_msgs - 2 * status.most_messages) // 2
        self._connection = connection
        self._status = status
        self._leader = self
        self._expected = Expectations(role, name, queue, connection.q_mgr_identifier)
        self._owner_id = owner_id or uuid.uuid4().hex
        self._clock = time.monotonic if every.seconds is not None else _no_clock
        self._began_s = 0.0
        self._ending: _Ending | None = None
        self._lost: OwnershipLost | None = None
        self._follower: UnitsOfWork | None = None
        # Messages that will be put in this unit of work besides those that are counted.
        self.beside = 0
        self._hooks = hooks
        self._verdicts: list[InDoubt] = []
        self.messages = 0
        self.data_bytes = 0
        self.telemetry: OwnerTelemetry = OwnerTelemetry(
            connection.telemetry,
            role.value,
            name,
            queue,
            connection.q_mgr_name,
            propagates=connection.propagates,
            leader=leader.telemetry if leader is not None else None,
        )
        self._start(record)
        self._claim()
        if leader is not None:
            leader._follower = self
            self._leader = leader

    def _start(self, record: StatusRecord | None) -> None:
        decision = restart_action(record, self._expected)
        if decision.mismatch is not None:
            raise foreign_record(self._status.name, decision.mismatch)
        self.epoch = record.epoch + 1 if record else 1
        self.number = record.unit_of_work + 1 if record else 1
        self._record = record
        self._set_aside()
        self.committed_checkpoint: Checkpoint = self.checkpoint
        self.resumed = record if decision.action is RestartAction.RESUME_GROUP else None
        self.committed = AT_START
        if self.resumed:
            self.committed = on_fresh_handle(_position(self.resumed))

    def _set_aside(self) -> None:
        """Forget what was to be committed: what the record says counts."""
        record = self._record
        self.checkpoint: Checkpoint = record.checkpoint if record else None
        self.suspect: Suspect | None = record.suspect if record else None
        self.quarantine = record.quarantine if record else False

    def _claim(self) -> None:
        """Put a record of this owner's in the place of what was found, with what that one says."""
        own = self._record
        if own is None or not own.speaks:
            own = replace(self.record(AT_START), state=RecordState.IDLE, unit_of_work=self.number - 1)
        own = replace(own, owner_id=self._owner_id, epoch=self.epoch)
        self.begin()
        try:
            self._status.claim(own)
            self._commit(own, self.committed)
        except BaseException as error:
            self.back_out(error)
            raise

    def tell_resumed(self) -> None:
        """Tell the application if an interrupted group was found."""
        found, on_resume = self.resumed, self._hooks.on_resume
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

    def begin(self) -> None:
        """Claim the connection's unit of work. To be called before each unit of work's first call.

        Raises:
            OwnershipLost: it turned out before that another instance has this name.
            ConnectionBroken: the connection is gone, or was made again since; ``redo``.
            GroupUsage: the connection's unit of work is another producer's or consumer's.
        """
        if self._lost is not None:
            raise self._lost
        self._connection.begin(self._leader)
        if self._status.is_stale:
            self._connection.release(self._leader)
            raise self._gone()
        self._began_s = self._clock()

    def release(self) -> None:
        """End a unit of work in which nothing was put or got."""
        self._connection.release(self)

    @property
    def is_idle(self) -> bool:
        """Whether this name has not had a group yet, as far as its record knows."""
        return self._record is not None and self._record.state is RecordState.IDLE

    @property
    def is_open(self) -> bool:
        """Whether there is anything to commit or back out."""
        return self._connection.has_unit_of_work(self)

    def due(self) -> bool:
        """Whether the open unit of work has to end now."""
        if self.beside and self.beside >= self._most_beside:
            return self.messages > 0
        return syncpoint_due(self._every, self.messages, self.data_bytes, self._clock() - self._began_s)

    def syncpoint(self, record: StatusRecord) -> None:
        """End the unit of work in the middle of a group: ``record`` and MQCMIT."""
        self.telemetry.settle(sc.COMMIT)
        self._status.replace(record)
        self._commit(record, _position(record))

    def note(self) -> None:
        """Commit what the record has to say besides the position, in a unit of work of its own."""
        assert self._record is not None
        self.begin()
        record = replace(self._record, suspect=self.suspect, quarantine=self.quarantine)
        self._status.replace(record)
        self._commit(record, self.committed)

    def complete(self, record: StatusRecord) -> None:
        """End a group's last unit of work: the record, COMPLETED, and MQCMIT."""
        self.telemetry.settle(sc.COMMIT)
        record = replace(record, state=RecordState.COMPLETED, suspect=None, quarantine=False)
        self._status.replace(record)
        self._commit(record, AT_START)

    def stage(self, record: StatusRecord) -> None:
        """Put a record that the leader commits; ``IN_GROUP`` in the middle of a group, ``COMPLETED`` at its end."""
        self._status.replace(record)
        goes_on = record.state is RecordState.IN_GROUP
        self._ending = _Ending(record, _position(record) if goes_on else AT_START, self.messages)

    def back_out(self, why: BaseException | str | None = None) -> None:
        """Back the open unit of work out, if there is one, and go back to the last commit. ``why`` is for its span."""
        try:
            if self.is_open:
                self.telemetry.settle(sc.BACK_OUT)
                self._connection.back_out()
                self.telemetry.settled()
        finally:
            for one in self._together():
                one._status.backed_out()
                one._forget(why or sc.BACKED_OUT)
                if one is not self:
                    one._ending = None

    def back_out_after(self, error: BaseException | None) -> None:
        """Back out because of ``error``, and tell it where the group stands."""
        self.back_out(error)
        if isinstance(error, MQIError):
            stands = "No message of the group is known to be committed"
            if not self.committed.at_start:
                number = self.committed.msg_seq_number
                stands = f"Message {number} is the last of the group that is known to be committed"
            error.context = ". ".join(part for part in (error.context, stands) if part)

    def _together(self) -> list[UnitsOfWork]:
        return [self] if self._follower is None else [self, self._follower]

    def _forget(self, why: BaseException | str) -> None:
        self.telemetry.ended(self.committed, self.messages, why)
        self._set_aside()
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
            offset=position.offset,
            in_last_message=position.in_last_message,
            suspect=self.suspect,
            quarantine=self.quarantine,
            q_mgr_identifier=self._expected.q_mgr_identifier,
            checkpoint=self.checkpoint,
            traceparent=self.telemetry.trace_context().traceparent,
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

    def finish(self) -> None:
        """Take the record away, in a unit of work of its own, if nobody needs it any more.

        It stays where a group is interrupted, and where it knows of a suspect. It also stays where there is no unit of work
        to be had, on a connection that is lost or in whose unit of work somebody else is; then the next owner takes it away.
        """
        speaks = not self.committed.at_start or self.suspect is not None
        if self._lost is not None or speaks or not self._connection.can_go_on:
            return
        if self._connection.is_in_use_beside(self._leader):
            extra = self.log_fields()
            _log.warning("%r leaves its record: the connection's unit of work is another one's", self, extra=extra)
            return
        try:
            self._finish()
        except MQIError as error:
            self.redo(error, self._finish_again)

    def _finish(self) -> None:
        self.begin()
        if not self._status.can_be_cleared and self._record is not None:
            self._status.end_chain(self._record)
            self._commit(self._record, AT_START)
            self.begin()
        self._status.clear()
        self._commit(None, AT_START)

    def _finish_again(self) -> None:
        # Not the verdict counts here but what is there: the two commits of a chain leave records of the same mark. And a
        # commit that was in doubt before closing may turn out to have left a group interrupted.
        self.settle()
        if self._status.has_record and self.committed.at_start:
            self._finish()

    # --- after a commit without an answer, and after a connection that was lost

    def redo(self, error: MQIError, again: Callable[[], object]) -> None:
        """Do a unit of work again that ended in ``error``: as often as need be, while the connection's patience lasts.

        Args:
            error: raised if it is not one after which that can be done.
            again: has to begin with ``settle``, which says whether there is anything to do again.

        Raises:
            OwnershipLost: another instance has this name by now.
            CommitOutcomeUnknown: the status queue could not be read in the time given, and a commit was under way.
            MQIError: the last error, if none was.
        """
        if not self._connection.can_redo(error):
            raise error
        _log.info("%r finds out what is committed: %s", self, error, extra=self.log_fields(error.reason))
        self.telemetry.recovering(error, self.number)
        try:
            retrying(self._connection.reconnect, REDO_LATER, self._connection.sleep)(again)
            self.telemetry.recovered()
        except BaseException as last:
            self.telemetry.recovered(last)
            if not isinstance(last, MQIError) or self._ending is None or isinstance(last, CommitOutcomeUnknown):
                raise
            raise CommitOutcomeUnknown("MQCMIT", last.object_name, mq.MQCC_FAILED, error.reason, str(last)) from last
        finally:
            # Not before: what a function of the application's raises must find everything in order.
            self._tell_verdicts()

    def recover(self, again: Callable[[], object]) -> None:
        """Have ``again`` bring things back, if the connection was lost since the last unit of work; see ``redo``."""
        in_doubt = self._ending is not None and self._ending.in_doubt
        if self._connection.can_go_on and (in_doubt or not self._connection.usable or self._status.is_stale):
            self.redo(self._gone(), again)

    def settle(self) -> Verdict:
        """Bring connection and status queue back, and find out what became of the unit of work.

        ``COMMITTED`` if a commit was under way and took effect: ``committed`` is where it went to. ``BACKED_OUT`` if not:
        nothing since ``committed`` has happened.

        Raises:
            OwnershipLost: the record is not this owner's.
            MQIError: not yet; to be called again.
        """
        self._connection.restore()
        if self._connection.has_unit_of_work(self._leader):
            self._connection.back_out()
        together = self._together()
        for one in together:
            one._bring_back()
        # All is read before anything is concluded: a connection that is lost once more leaves it all to be concluded again.
        found = [one._status.read() for one in together]
        verdicts = [one._conclude(record) for one, record in zip(together, found, strict=True)]
        return verdicts[0]

    def _bring_back(self) -> None:
        """Open the status queue again if need be."""
        if not self._status.is_stale:
            return
        self._reopen_status()
        # The data queue's handle will be a fresh one as well, wherever the group turns out to stand.
        self.committed = on_fresh_handle(self.committed)
        if self._ending is not None:
            self._ending = replace(self._ending, committed=on_fresh_handle(self._ending.committed))

    def _conclude(self, found: StatusRecord | None) -> Verdict:
        """Take over what the record says of the last commit."""
        before, ending = self._record, self._ending
        after = before if ending is None else ending.record
        verdict = commit_verdict(_mark(found), _mark(before), _mark(after))
        if verdict is Verdict.OWNERSHIP_LOST:
            raise self._ownership_lost(found)
        in_doubt = ending is not None and bool(ending.in_doubt and ending.messages)
        self.telemetry.concluded(verdict.value, in_doubt=in_doubt)
        if ending is not None and in_doubt:
            told = self._in_doubt(ending, verdict)
            self._verdicts.append(told)
            extra = self.log_fields(told.reason)
            _log.warning("%r: unit of work %d was %s", self, told.unit_of_work, told.verdict, extra=extra)
        if ending is not None and verdict is Verdict.COMMITTED:
            self._committed(replace(ending, record=found))
            return verdict
        self._ending = None
        self._forget("connection lost")
        return Verdict.BACKED_OUT

    def _in_doubt(self, ending: _Ending, verdict: Verdict) -> InDoubt:
        expected = self._expected
        return InDoubt(
            role=expected.role.value,
            name=expected.name,
            queue=expected.queue,
            unit_of_work=self.number,
            messages=ending.messages,
            reason=ending.in_doubt,
            verdict="committed" if verdict is Verdict.COMMITTED else "backed out",
        )

    def _tell_verdicts(self) -> None:
        while self._verdicts:
            verdict = self._verdicts.pop(0)
            if self._hooks.on_in_doubt:
                self._hooks.on_in_doubt(verdict)

    def _gone(self) -> ConnectionBroken:
        return ConnectionBroken(
            "the call", f"queue manager {self._connection.q_mgr_name}", mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN
        )

    def _reopen_status(self) -> None:
        try:
            self._status.reopen()
        except OwnerActive:
            holder = self._status.held_by()
            if holder is not None and holder.owner_id != self._owner_id:
                raise self._ownership_lost(holder) from None
            raise
        except QueueMissing:
            raise self._ownership_lost(None) from None

    def _ownership_lost(self, found: StatusRecord | None) -> OwnershipLost:
        seen = (found.owner_id, found.epoch) if found else ("", 0)
        name = f"{self._expected.role.value} {self._expected.name}"
        self._lost = OwnershipLost(name, self._status.name, seen, (self._owner_id, self.epoch))
        in_doubt = self._ending is not None and bool(self._ending.in_doubt and self._ending.messages)
        self.telemetry.concluded(sc.OWNERSHIP_LOST, in_doubt=in_doubt)
        self._ending = None
        return self._lost

    def __repr__(self) -> str:
        expected = self._expected
        return (
            f"<UnitsOfWork {expected.role.value} {expected.queue} name={expected.name} "
            f"uow={self.number} messages={self.messages}>"
        )

    def _commit(self, record: StatusRecord | None, committed: GroupPosition) -> None:
        ending = self._ending = _Ending(record, committed, self.messages)
        try:
            self._connection.commit()
        except MQIError as error:
            self.telemetry.settled(error)
            if isinstance(error, (CommitOutcomeUnknown, ConnectionBroken)):
                self._ending = replace(ending, in_doubt=error.reason)
            raise
        self.telemetry.settled()
        self._status.committed()
        self._committed(ending)
        follower = self._follower
        if follower is not None and follower._ending is not None:
            follower._status.committed()
            follower._committed(follower._ending)

    def _committed(self, ending: _Ending) -> None:
        record, self._ending = ending.record, None
        self._record = record
        self.committed = ending.committed
        if record:
            self.telemetry.ended(_position(record), self.messages)
            if self.messages and record.state is RecordState.COMPLETED:
                self.telemetry.group_ended(record.msg_seq_number)
            self.number = record.unit_of_work + 1
            self._set_aside()
            self.committed_checkpoint = record.checkpoint
        self.messages = self.data_bytes = 0


def _no_clock() -> float:
    return 0.0


def _position(record: StatusRecord) -> GroupPosition:
    return GroupPosition(record.group_id, record.msg_seq_number, record.offset, record.in_last_message)


def _mark(record: StatusRecord | None) -> Mark | None:
    return record.mark if record else None

"""The units of work of a producer, consumer or pipe. Each unit begins with a message, and ends with status records and MQCMIT.

Only the position of the last commit counts. This position changes when MQCMIT has answered, or when the status record shows that
the commit took effect. A backout returns to the position. A producer or consumer has one owner, a pipe has two, and each owner
has a status queue. The owners of a pipe commit together. If one owner loses its name, the other owner ends too.

    the owner's first       MQPUT record and anchor,              MQCMIT, a browse of the record
    each with messages      messages, MQGET record, MQPUT record, MQCMIT
    the last, on closing    MQGET record and anchor,              MQCMIT

So N messages in U units of work take N + 3U calls, and each owner needs seven more. A record that is still needed
(``Owner.is_needed``) stays at the end. ``core/protocol.py`` decides which calls replace the records, and what a record proves
about an unanswered commit. This module decides when to make these calls, how often to retry them after a lost connection or an
interruption, and to whom to report the result.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Protocol, TypeVar

from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import NO_ROOM, OWNER_ACTIVE, REDO_LATER, Patience, Relapse, relapsed
from mqgroups.core import protocol
from mqgroups.core.ownership import Ownerships, PendingCommit
from mqgroups.core.restart import CommitOutcome, Expectations
from mqgroups.core.status import StatusRecord
from mqgroups.core.steps import Steps
from mqgroups.core.unit_of_work import Every, capped, syncpoint_due
from mqgroups.errors import (
    CommitOutcomeUnknown,
    ConfigurationError,
    ConnectionBroken,
    GroupUsage,
    MQIError,
    OwnerActive,
    OwnershipLost,
)
from mqgroups.mqi import constants as mq
from mqgroups.mqi.reasons import HANDLE_LOST
from mqgroups.printable import even_half_made
from mqgroups.status.hooks import Hooks
from mqgroups.status.keeper import Keeper
from mqgroups.status.owner import Owner
from mqgroups.status.performer import Performer
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.events import RecoveryBegun, RecoveryEnded, UnitBegun

_log = logging.getLogger("mqgroups")
_T = TypeVar("_T")
# A queue manager needs a moment until it notices that a connection is gone, and then closes its handles.
_NOTICED_S = 1.0


class Participant(Protocol):
    """The part that puts or gets the messages of the units of work: a producer's putter, or a consumer's getter."""

    def replay(self, committed: int | None) -> None:
        """Go back to the position of the last commit, and put or get the later messages again. Can be called repeatedly.

        ``committed``: how many messages the last unit of work has committed; ``None`` if it was backed out.
        """


@dataclass(frozen=True, slots=True)
class _Limits:
    """The limits that decide when a unit of work ends.

    Attributes:
        every: how often to take a syncpoint.
        soonest: how many messages the first owner must have before the unit of work ends, unless the unit of work is old or the
            application has called ``stop``.
        most_to_put: how many messages can wait to be put before the unit of work ends.
    """

    every: Every
    soonest: int = 1
    most_to_put: int = 0

    @property
    def oldest_s(self) -> float:
        """The age in seconds at which a unit of work ends; infinite if the age does not matter."""
        return inf if self.every.seconds is None else self.every.seconds


class UnitsOfWork:
    """The successive units of work of one or two owners.

    Each owner counts its part of the open unit of work (``Owner.unit``). The sums over all owners decide when the unit ends.

    Attributes:
        owners: one or two owners. Logs and spans about all owners name the first owner.
        participant: the object that puts or gets the owners' messages. It is set before the names are claimed.
        redoing: whether a unit of work is being redone. In that case its messages are put synchronously.
        stopping: whether the application has called ``stop``. Any thread, or a signal handler in any call, can set this.
    """

    participant: Participant

    def __init__(self, connection: Connection, every: Every) -> None:
        """Begin without owners, which ``add`` adds later. ``every``: how often to take a syncpoint."""
        self._connection = connection
        self._performer = Performer(connection, self)
        self.owners: list[Owner] = []
        self.redoing = False
        self.stopping = False
        self._lost: OwnershipLost | None = None
        self._relapse: Relapse | None = None
        self._limits = _Limits(every)
        # When the open unit of work is too old, ``time.monotonic()``.
        self._old_s = inf

    @property
    def messages(self) -> int:
        """How many messages all owners together have in the open unit of work."""
        return sum(owner.unit.messages for owner in self.owners)

    def is_stopping(self) -> bool:
        """Return whether the application has called ``stop``. Also report that the connection is in use (``beats``)."""
        self._connection.beats()
        return self.stopping

    @property
    def _first(self) -> Owner:
        return self.owners[0]

    @property
    def _is_held_by_other(self) -> bool:
        return self._connection.unit_of_work_of not in (None, self)

    def add(self, keeper: Keeper, expected: Expectations, owner_id: str, hooks: Hooks) -> Owner:
        """Read a status record, and add a new owner for it. The name belongs to the new owner only after ``claim``.

        ``owner_id``: the new owner's identity. Raises MQIError; StatusError if the record cannot be used. No queue is changed.
        """
        performer = self._performer
        performer.keepers[keeper.name] = keeper
        found = performer.perform(protocol.found(keeper.kept, expected, owner_id))
        performer.ownerships = (*performer.ownerships, found)
        owner = Owner(performer, len(self.owners), keeper, self._connection, hooks)
        self.owners.append(owner)
        return owner

    def claim(self) -> None:
        """Replace the old records with the owners' own records, and commit. Then the names belong to these owners.

        Raises:
            ConfigurationError: the queue manager's MAXUMSGS leaves no room for a message.
            StatusQueueUnusable: the status queue limits the expiry of records.
            MQIError: a call failed. Either nothing was changed, or all names are claimed.
        """
        most = self._connection.max_uncommitted_msgs
        status_messages = sum(own.kept.most_messages for own in self._performer.ownerships)
        try:
            every = capped(self._limits.every, most, status_messages)
        except ValueError as error:
            raise ConfigurationError(str(error)) from None
        soonest = every.messages if len(self.owners) == 1 and every.bytes is None else None
        # Half of the room, because the application may add any number of messages for the next incoming one.
        self._limits = _Limits(every, soonest or 1, (most - status_messages) // 2)
        self._commit_records(protocol.claimed)

    def _commit_records(self, steps: Callable[[Ownerships], Steps[Ownerships]]) -> None:
        """Commit records in separate units of work. Back out if that fails.

        The callers do not back out, and a unit of work that stays open would keep the connection for ever.
        """
        if self._lost is not None:
            raise self._lost
        try:
            self._are_committed(self._perform(steps(self._performer.ownerships)))
        except BaseException as error:
            self.back_out(error)
            raise

    def begin(self) -> None:
        """Claim the connection's unit of work. Call this before each owner's first message in the unit of work.

        Raises:
            OwnershipLost: an earlier call found that another instance has taken over this name.
            ConnectionBroken: the connection is lost, or has been replaced; call ``redo``.
            GroupUsage: another producer or consumer has messages in the connection's unit of work.
        """
        if self.messages:
            return
        if self._lost is not None:
            raise self._lost
        performer = self._performer
        try:
            performer.begin()
        except OwnershipLost as lost:
            raise self._is_lost(lost) from None
        if self._connection.syncpoint.gets_record_first:
            try:
                performer.ownerships = self._perform(protocol.unit_begun(performer.ownerships))
            except BaseException as error:
                self.back_out(error)
                raise
        self._old_s = time.monotonic() + self._limits.oldest_s

    def begun(self, owner: Owner) -> None:
        """Begin the span of ``owner``, at the owner's first message in the unit of work.

        If the other owner has already begun a span, the new span is a child of that span.
        """
        if owner.telemetry.listen():
            others = (each.telemetry.context for each in self.owners if each is not owner)
            below = next((context for context in others if context is not None), None)
            owner.telemetry.take(UnitBegun(owner.own.number, below))

    def release(self) -> None:
        """End a unit of work in which nothing was put or got."""
        if self._connection.syncpoint.gets_record_first:
            self.back_out()
        else:
            self._connection.release(self)

    @property
    def _is_open(self) -> bool:
        return self._connection.unit_of_work_of is self

    @property
    def may_end_early(self) -> bool:
        """Whether the unit of work can be committed before the application gives the next message."""
        return self._connection.syncpoint.may_end_early(self.messages)

    @property
    def may_be_split(self) -> bool:
        """Whether the messages of the unit of work can be got again without help from the application."""
        return self._connection.syncpoint.may_be_split(self.messages)

    def due(self, messages: int = 0, data_bytes: int = 0) -> bool:
        """Return whether the unit of work must end now, or would have to end if ``messages`` with ``data_bytes`` were added."""
        first = self.owners[0].unit
        early = first.messages + messages < self._limits.soonest and not first.to_put
        if early and not self.stopping and time.monotonic() < self._old_s:
            return False
        limits = self._limits
        age_s = time.monotonic() - self._old_s + limits.oldest_s if not messages or self.messages else 0.0
        to_put = 0
        for owner in self.owners:
            unit = owner.unit
            messages += unit.messages
            data_bytes += unit.data_bytes
            to_put += unit.to_put
        if self.stopping or (to_put and to_put >= limits.most_to_put):
            return messages > 0
        return syncpoint_due(limits.every, messages, data_bytes, age_s)

    def settling(self) -> None:
        """Record in the span that the status records are about to be put and committed."""
        if self._first.telemetry.is_heard:
            self._first.telemetry.settle(sc.COMMIT)

    def commit(self, endings: Mapping[Owner, PendingCommit]) -> None:
        """Put the owners' records and commit; raises MQIError, StatusError, ForeignSyncpoint.

        ``endings``: the results of ``Owner.ending``. The record of an owner that is not in ``endings`` stays as it is.
        """
        performer, checks = self._performer, self._connection.syncpoint.gets_record_first
        ends = tuple(map(endings.get, self.owners))
        try:
            after = self._perform(protocol.unit_ended(performer.ownerships, ends, checks=checks))
        except MQIError as error:
            self._first.telemetry.settled(error)
            raise
        if self._first.telemetry.is_heard:
            self._first.telemetry.settled()
        self._are_committed(after)

    def _are_committed(self, after: Ownerships) -> None:
        for owner, own in zip(self.owners, after, strict=True):
            pending = owner.own.pending
            if pending is not None and own.pending is None:
                owner.committed_with(pending.record, pending.unit)
        self._performer.ownerships = after
        for owner in self.owners:
            owner.unit_ended()
        if not self.redoing:
            for owner in self.owners:
                owner.call_hooks()

    def note(self, owner: Owner) -> None:
        """Commit an owner's record with the open unit's suspect and quarantine flag, in a separate unit of work."""
        note, record = owner.unit.note, owner.own.record
        assert record is not None
        self._note(owner, replace(record, suspect=note.suspect, quarantine=note.quarantine))

    def _note(self, owner: Owner, record: StatusRecord) -> None:
        records = tuple(record if each is owner else None for each in self.owners)
        checks = self._connection.syncpoint.gets_record_first
        self._commit_records(lambda ownerships: protocol.noted(ownerships, records, checks=checks))

    def forget(self, owner: Owner) -> None:
        """Commit the record of ``owner`` without the checkpoint and the name of the last group.

        Raises GroupUsage if a group is interrupted, because its record needs both. Also raises a unit of work's errors.
        """
        has_any = owner.committed_checkpoint is not None or owner.done is not None
        if has_any and not owner.committed.at_start:
            raise GroupUsage(
                f"a group of {owner.name} is interrupted, so its record is still needed. End the group first"
            )
        try:
            self._forget(owner)
        except MQIError as error:
            self._redo(error, lambda: self._settle_and(self._forget, owner))

    def _forget(self, owner: Owner) -> None:
        record = owner.own.record
        if record is not None and (record.checkpoint is not None or record.done is not None):
            self._note(owner, replace(record, checkpoint=None, done=None))

    def back_out(self, why: BaseException | str | None = None) -> None:
        """Back out to the last commit. The span records ``why``.

        On a shared connection, a ``why`` also backs out the application's own messages, even if the owners have no message in
        the unit of work. The application's messages may belong together with a held-back message, which will be put again.
        """
        telemetry, performer = self._first.telemetry, self._performer
        if self._connection.syncpoint.gets_record_first and isinstance(why, ConnectionBroken):
            # The application may have committed before, for example by MQDISC.
            performer.ownerships = tuple(protocol.in_doubt(own, why.reason) for own in performer.ownerships)
        try:
            if self._connection.syncpoint.has_to_back_out(why, is_open=self._is_open, is_others=self._is_held_by_other):
                telemetry.settle(sc.BACK_OUT)
                self._connection.back_out()
                telemetry.settled()
        finally:
            performer.ownerships = tuple(own._replace(in_unit=None) for own in performer.ownerships)
            for owner in self.owners:
                owner.backed_out(owner.own, why or sc.BACKED_OUT)
                owner.unit_ended()

    def back_out_after(self, why: BaseException | str | None) -> None:
        """Back out because of ``why``. If ``why`` is an MQIError, add the position of the last commit to the error text."""
        # In doubt without CommitOutcomeUnknown: MQCMIT was answered, and the check of the record after it failed.
        was_answered = self._in_doubt and not isinstance(why, CommitOutcomeUnknown)
        self.back_out(why)
        if isinstance(why, MQIError):
            says = self._first.committed_sentence
            if was_answered:
                says = "MQCMIT was answered before that; the next call or start reads in the record what is committed"
            why.context = ". ".join(part for part in (why.context, says) if part)

    def _perform(self, steps: Steps[_T]) -> _T:
        try:
            return self._performer.perform(steps)
        except OwnershipLost as lost:
            raise self._is_lost(lost) from None

    def _is_lost(self, lost: OwnershipLost) -> OwnershipLost:
        # If one owner has lost its name, all later calls for any owner fail.
        self._lost = lost
        for owner in self.owners:
            if owner.keeper.name == lost.status_queue:
                owner.replaced()
        return lost

    # --- recovery

    def redo(self, error: MQIError) -> None:
        """Settle the unit of work that ended in ``error``, and have the participant replay the uncommitted messages.

        This is retried for up to ``reconnect_wait_s``. After ``stop()`` there is only one try, which waits at most a second for
        the lost connection to release the status queue.

        Raises:
            OwnershipLost: another instance has taken over this name.
            CommitOutcomeUnknown: a commit was under way, and the status record could not be read in time.
            MQIError: the last error, if no commit was under way; ``error`` itself, if it allows no redo or comes from a redo.
        """
        self._redo(error, self._replay)

    def _replay(self) -> None:
        messages = self.messages
        is_committed = self.settle() is CommitOutcome.COMMITTED
        self.participant.replay(messages if is_committed else None)

    def _redo(self, error: MQIError, again: Callable[[], None]) -> None:
        first, connection = self._first, self._connection
        if error.is_final or not connection.can_redo(error):
            raise error
        if error.reason in HANDLE_LOST:
            place = [(owner.own.number, owner.unit.messages) for owner in self.owners]
            self._relapse = relapsed(self._relapse, place, error, connection.reconnect.wait_s, connection.sleep)
        wait_s, reason = connection.reconnect.wait_s, error.reason
        if reason in NO_ROOM and not self._in_doubt:
            # An asynchronous put found the queue full. A synchronous put would wait for room, and not come here.
            first.log(_log, logging.INFO, "%r: %s. Putting the unit of work again", first, error, reason=reason)
        else:
            # A connection that is idle for long is often ended on purpose (DISCINT of the channel, firewalls). No work is lost.
            costs_nothing = isinstance(error, ConnectionBroken) and not self.messages and not self._in_doubt
            level = logging.INFO if costs_nothing else logging.WARNING
            text = "%r: %s. Finding out what is committed, for at most %g s; `%s` shows the record"
            first.log(_log, level, text, first, error, wait_s, first.look_command, reason=reason)

        def say(not_yet: MQIError, pause_s: float) -> None:
            text = "%r: still failing: %s. Trying again in %.2g s"
            first.log(_log, logging.WARNING, text, first, not_yet, pause_s, reason=not_yet.reason)

        first.telemetry.listen()
        first.telemetry.take(RecoveryBegun(error, first.own.number))
        try:
            self.redoing = True
            noticed = Patience(min(_NOTICED_S, connection.reconnect.wait_s))
            one_try = connection.retrying(noticed, OWNER_ACTIVE)
            connection.retrying(connection.reconnect, REDO_LATER, say, self.is_stopping)(one_try, again)
            first.telemetry.take(RecoveryEnded())
        except BaseException as last:
            first.telemetry.take(RecoveryEnded(last))
            # The traceback shows only this error. The earlier errors are in the log.
            last.__suppress_context__ = True
            if not isinstance(last, MQIError):
                raise
            last.is_final = True
            if not self._in_doubt or isinstance(last, CommitOutcomeUnknown):
                raise
            unknown = CommitOutcomeUnknown("MQCMIT", last.object_name, mq.MQCC_FAILED, error.reason, str(last))
            unknown.is_final = True
            raise unknown from None
        finally:
            self.redoing = False
            # Hooks come last: everything here must be finished if the application's function raises an error.
            self._tell()

    def _settle_and(self, then: Callable[..., None], *args: Owner) -> None:
        self.settle()
        then(*args)

    @property
    def _in_doubt(self) -> int:
        """The reason code of a commit that had no answer; 0 if no commit is in doubt."""
        reasons = (own.pending.reason for own in self._performer.ownerships if own.pending is not None)
        return next(filter(None, reasons), 0)

    def recover(self) -> None:
        """If the connection was lost or a call was interrupted, settle and replay as ``redo`` does."""
        connection = self._connection
        if self._lost is not None:
            return
        # If a keeper is stale on a usable connection, another owner on it was interrupted or has reconnected.
        is_stale = any(owner.keeper.is_stale for owner in self.owners)
        if connection.usable and (connection.turn.interrupted or is_stale or self._in_doubt):
            if connection.turn.interrupted and self._is_held_by_other:
                _log.warning("%r: a call was interrupted, so the connection's unit of work is backed out", connection)
            try:
                self._replay()
                return
            except MQIError as error:
                if isinstance(error, OwnerActive) and connection.give_up():
                    # The answer of an MQOPEN was lost, so this connection itself has the queue open.
                    error = connection.gone()
                self.redo(error)
                return
            finally:
                self._tell()
        if connection.can_go_on and not connection.usable:
            self.redo(connection.gone())

    def require_known(self) -> None:
        """Recover, and make sure that it is known what is committed. Raises the errors of ``redo``.

        Raises CommitOutcomeUnknown if the outcome of an unanswered commit cannot be found out on this connection.
        """
        self.recover()
        if self._lost is None and (reason := self._in_doubt):
            where = f"queue manager {self._connection.q_mgr_name}"
            raise CommitOutcomeUnknown("MQCMIT", where, mq.MQCC_FAILED, reason)

    @property
    def has_to_find_out(self) -> bool:
        """Whether it is unknown what is committed, after an interruption or a commit without an answer."""
        return self._lost is None and (self._connection.turn.was_interrupted or bool(self._in_doubt))

    def settle(self) -> CommitOutcome:
        """Reconnect, open the status queues again, and find out the outcome of the unit of work, in one try.

        Returns ``COMMITTED`` if a commit was under way and took effect, otherwise ``BACKED_OUT``. Raises OwnershipLost if a
        record is not this owner's. Raises MQIError if a call failed. The caller can then try again.
        """
        with self._first.telemetry.in_span():
            verdicts = self._perform(protocol.settled(self._performer.ownerships))
        for owner, verdict in zip(self.owners, verdicts, strict=True):
            owner.concluded(verdict)
            if verdict.outcome is CommitOutcome.COMMITTED:
                if verdict.before.pending is not None:
                    owner.committed_with(verdict.after.record, verdict.before.pending.unit)
            else:
                owner.backed_out(verdict.before, "connection lost")
        self._performer.ownerships = tuple(verdict.after for verdict in verdicts)
        for owner in self.owners:
            owner.unit_ended()
        is_committed = any(verdict.outcome is CommitOutcome.COMMITTED for verdict in verdicts)
        return CommitOutcome.COMMITTED if is_committed else CommitOutcome.BACKED_OUT

    def _tell(self) -> None:
        for owner in self.owners:
            owner.call_hooks()

    # --- the end

    def finish(self) -> None:
        """Remove the records that are no longer needed, in a separate unit of work.

        A record that is needed (``Owner.is_needed``) stays. All records stay if the connection is lost, or if another producer or
        consumer has messages in the connection's unit of work. The next owner of the name removes such a record.
        """
        if self._lost is not None or not self._connection.can_go_on:
            return
        if self._is_held_by_other:
            first, why = self._first, "another owner has messages in the connection's unit of work"
            first.log(_log, logging.WARNING, "%r leaves its record: %s", first, why)
            return
        try:
            self._finish()
        except MQIError as error:
            # The records decide, because a commit that was in doubt before closing may have left a group interrupted.
            self._redo(error, lambda: self._settle_and(self._finish))

    def _finish(self) -> None:
        checks = self._connection.syncpoint.gets_record_first
        self._commit_records(lambda ownerships: protocol.closed(ownerships, checks=checks))

    @even_half_made
    def __repr__(self) -> str:
        names = ", ".join(owner.name for owner in self.owners)
        return f"<UnitsOfWork of {names} uow={self._first.own.number} messages={self.messages}>"

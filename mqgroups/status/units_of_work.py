"""The units of work of a producer, consumer or pipe: each begins with a message and ends with status records and MQCMIT.

For each of them only the position of the last commit counts. It changes when MQCMIT has answered, or when the status record shows
that the commit took effect. A backout goes back to it. A producer or consumer has one owner, a pipe has two, and each owner has a
status queue. The owners of a pipe commit together; if one loses its name, both do.

    the owner's first       MQPUT record and anchor,              MQCMIT, a browse of the record
    each with messages      messages, MQGET record, MQPUT record, MQCMIT
    the last, on closing    MQGET record and anchor,              MQCMIT

So N messages in U units of work take N + 3U calls, and each owner seven more. With its own record on the queue from the first
call to the last, an owner can always find out whether a unit of work was committed, and whether another instance has come and
gone (``settle``; decision 4 in ARCHITECTURE.md). The record stays after the last call if it has a checkpoint.

On a wrapped connection (``mqgroups.wrap``) the application itself may commit or back out. Therefore the record is got before the
first message, not before the commit, and two more calls detect a foreign backout. If it comes before the next record is put, the
old record is back on the queue afterwards. If it comes later, the next record is missing after the commit. A foreign commit
removes the record for good. That does no harm if the unit of work goes on; otherwise the next start finds an anchor alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from math import inf

from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import REDO_LATER, Relapses, ask, retrying
from mqgroups.core.restart import CommitOutcome
from mqgroups.core.unit_of_work import Every, capped, syncpoint_due
from mqgroups.errors import (
    CommitOutcomeUnknown,
    ConfigurationError,
    ConnectionBroken,
    HandleLost,
    MQIError,
    OwnerActive,
    OwnershipLost,
)
from mqgroups.mqi import constants as mq
from mqgroups.printable import even_half_made
from mqgroups.status.owner import Owner
from mqgroups.telemetry import semantic_conventions as sc

_log = logging.getLogger("mqgroups")


class UnitsOfWork:
    """Units of work, one after the other.

    Each owner counts its part of the open one (``Owner.unit``); the sums decide when it ends.

    Attributes:
        owners: the owners of the units of work. Logs and spans about all of them name the first one.
        soonest: with fewer messages of an owner the unit of work is not ``due`` before it is old, unless the application has
            asked for the end.
        clock, old_s: a unit of work is old when ``clock()`` has reached ``old_s``.
        redoing: whether a unit of work is being redone. Its messages are put synchronously.
        stopping: whether the application has asked for the end; set from any thread, or from a signal handler in any call.
    """

    def __init__(self, connection: Connection, every: Every) -> None:
        """``every``: how often to take a syncpoint."""
        self._connection = connection
        self._every = every
        self._most_to_put = 0
        self.soonest = 1
        self.owners: list[Owner] = []
        self.redoing = False
        self.stopping = False
        self.clock = time.monotonic if every.seconds is not None else _no_clock
        self._began_s = 0.0
        self.old_s = inf
        # Whether the keepers have got their records in the open unit of work.
        self._holds_records = False
        self._lost: OwnershipLost | None = None
        self._relapses = Relapses(connection.reconnect.wait_s, connection.sleep)

    def add(self, owner: Owner) -> None:
        """Add an owner, before ``claim``: its record is put in these units of work."""
        self.owners.append(owner)

    def claim(self) -> None:
        """Replace the records that were found by the owners' own, and commit: from now on the names belong to these owners.

        Raises:
            ConfigurationError: the queue manager's MAXUMSGS leaves no room for a message.
            StatusQueueUnusable: the status queue limits the expiry of records.
            MQIError: a call failed; either nothing was changed, or all names are claimed.
        """
        most, status_messages = self._connection.max_uncommitted_msgs, sum(o.keeper.most_messages for o in self.owners)
        try:
            self._every = capped(self._every, most, status_messages)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        every = self._every
        if len(self.owners) == 1 and every.messages is not None and every.bytes is None:
            self.soonest = every.messages
        # Half of the room: how many messages the application will add for the next incoming one is known only afterwards.
        self._most_to_put = (most - status_messages) // 2
        self._of_records(self.owners, Owner.claim)
        if not self._connection.is_shared:
            for owner in self.owners:
                owner.keeper.check_committed()

    def _of_records(self, owners: Iterable[Owner], stage: Callable[[Owner], None]) -> None:
        """Commit the records that ``stage`` puts and gets, in a unit of work of their own; if that fails, back it out.

        Whoever calls this has no other reason to back out, and the unit of work would keep the connection for ever.
        """
        self._begin()
        try:
            for owner in owners:
                stage(owner)
            self.commit()
        except BaseException as error:
            self.back_out(error)
            raise

    def begin(self) -> None:
        """Claim the connection's unit of work. To be called before each owner's first message in it.

        Raises:
            OwnershipLost: an earlier call found that another instance has taken over this name.
            ConnectionBroken: the connection is lost, or was replaced since; call ``redo``.
            GroupUsage: another producer or consumer has messages in the connection's unit of work.
        """
        if self.messages:
            return
        self._begin()
        if self._connection.is_shared:
            try:
                self._holds_records = True
                for owner in self.owners:
                    owner.keeper.hold()
            except BaseException as error:
                self.back_out(error)
                raise
        self._began_s = self.clock()
        if self._every.seconds is not None:
            self.old_s = self._began_s + self._every.seconds

    def _begin(self) -> None:
        if self._lost is not None:
            raise self._lost
        for owner in self.owners:
            if self._connection.status_queues.get(owner.keeper.name, owner.keeper) is not owner.keeper:
                raise self._is_lost(owner.lost_to(None))
        self._connection.begin(self, [owner.keeper.name for owner in self.owners])
        if any(owner.keeper.is_stale for owner in self.owners):
            self.release()
            raise self._connection.gone()
        self._connection.unanswered.forget()

    def begun(self, owner: Owner) -> None:
        """Begin the span of ``owner``, at its first message in the unit of work.

        If another owner has begun before, the span is a child of that owner's span.
        """
        others = (each.telemetry.context for each in self.owners if each is not owner)
        owner.telemetry.begin(owner.number, next((context for context in others if context is not None), None))

    def release(self) -> None:
        """End a unit of work in which nothing was put or got."""
        if self._connection.is_shared:
            self.back_out()
        else:
            self._connection.release(self)

    @property
    def _first(self) -> Owner:
        return self.owners[0]

    @property
    def is_open(self) -> bool:
        """Whether the connection's unit of work is this one's, to be committed or backed out."""
        return self._connection.unit_of_work_of is self

    @property
    def _is_somebody_elses(self) -> bool:
        return self._connection.unit_of_work_of not in (None, self)

    @property
    def messages(self) -> int:
        """How many messages all owners have in the open unit of work."""
        return sum(owner.unit.messages for owner in self.owners)

    def due(self, messages: int = 0, data_bytes: int = 0) -> bool:
        """Whether the open unit of work has to end now, or with so many more ``messages`` of so many bytes."""
        age_s = self.clock() - self._began_s if not messages or self.messages else 0.0
        to_put = 0
        for owner in self.owners:
            unit = owner.unit
            messages += unit.messages
            data_bytes += unit.data_bytes
            to_put += unit.to_put
        if self.stopping or (to_put and to_put >= self._most_to_put):
            return messages > 0
        return syncpoint_due(self._every, messages, data_bytes, age_s)

    def settling(self) -> None:
        """Note for the span that the records are about to be put and committed."""
        self._first.telemetry.settle(sc.COMMIT)

    def commit(self) -> None:
        """Commit what the owners have staged; raises MQIError, StatusError, ForeignSyncpoint."""
        if self._holds_records:
            # The keepers have got all records, so an owner that stages no new one must put its old one again.
            for owner in self.owners:
                if not owner.has_staged:
                    owner.stage_unchanged()
        try:
            self._connection.commit()
        except MQIError as error:
            self._first.telemetry.settled(error)
            if isinstance(error, (CommitOutcomeUnknown, ConnectionBroken)):
                for owner in self.owners:
                    owner.is_in_doubt(error.reason)
            raise
        self._first.telemetry.settled()
        if self._connection.is_shared:
            self._check_committed()
        self._holds_records = False
        for owner in self.owners:
            owner.is_committed()
        if not self.redoing:
            for owner in self.owners:
                ask(owner.news.tell_progress)

    def _check_committed(self) -> None:
        try:
            for owner in self.owners:
                owner.keeper.check_committed()
        except MQIError as error:
            # The check failed, so the outcome is not known yet.
            for owner in self.owners:
                owner.is_in_doubt(error.reason)
            raise

    def note(self, owner: Owner, *, forget_checkpoint: bool = False) -> None:
        """Commit an owner's record with a new suspect and quarantine, or without its checkpoint, in a unit of work of its own."""
        self._of_records([owner], lambda each: each.stage_note(forget_checkpoint=forget_checkpoint))

    def back_out(self, why: BaseException | str | None = None) -> None:
        """Back out to the last commit. ``why`` is for the span.

        With a ``why``, what the application itself has put and got on a shared connection is backed out too, even if the owners
        have no message in the unit of work: it may belong to a message that is held back, and that will be put again.
        """
        telemetry, is_shared = self._first.telemetry, self._connection.is_shared
        if is_shared and isinstance(why, ConnectionBroken):
            # The application may have committed before, for example by MQDISC.
            for owner in self.owners:
                owner.is_in_doubt(why.reason)
        try:
            if self.is_open or (is_shared and why is not None and not self._is_somebody_elses):
                telemetry.settle(sc.BACK_OUT)
                self._connection.back_out()
                telemetry.settled()
        finally:
            self._holds_records = False
            for owner in self.owners:
                owner.is_backed_out(why or sc.BACKED_OUT)

    def back_out_after(self, why: BaseException | str | None) -> None:
        """Back out because of ``why``, and add the position of the last commit to the text of an error."""
        self.back_out(why)
        if isinstance(why, MQIError):
            why.context = ". ".join(part for part in (why.context, self._first.stands) if part)

    def finish(self) -> None:
        """Remove the records that are no longer needed, in a unit of work of its own.

        The record of an interrupted group stays, and one with a suspect or a checkpoint. All records stay if the connection is
        lost, or if another producer or consumer has messages in its unit of work. The next owner removes them.
        """
        if self._lost is not None or not self._connection.can_go_on:
            return
        if self._is_somebody_elses:
            first, why = self._first, "another owner has messages in the connection's unit of work"
            _log.warning("%r leaves its record: %s", first, why, extra=first.log_fields())
            return
        try:
            self._finish()
        except MQIError as error:
            self.redo(error, self._finish_again)

    def _finish(self) -> None:
        silent = [owner for owner in self.owners if owner.known_record is not None and not owner.speaks]
        for owner in silent:
            owner.is_closing()
        with_chain = [owner for owner in silent if not owner.keeper.can_be_removed]
        if with_chain:
            self._of_records(with_chain, Owner.stage_end_of_chain)
        if silent:
            self._of_records(silent, Owner.stage_nothing)

    def _finish_again(self) -> None:
        # The records decide what to remove, not the outcome: both commits that remove a chain leave records with the same mark.
        # And a commit that was in doubt before closing may have left a group interrupted.
        self.settle()
        self._finish()

    # --- after a commit without an answer, a lost connection, or an interruption

    def redo(self, error: MQIError, again: Callable[[], object]) -> None:
        """Redo the unit of work that ended in ``error``; retry within ``reconnect_wait_s``, and after ``stop()`` only once.

        Args:
            error: is raised if the unit of work cannot be redone after it, or if it is already the result of redoing it.
            again: must begin with ``settle``, which returns whether the unit of work was committed.

        Raises:
            OwnershipLost: another instance has taken over this name.
            CommitOutcomeUnknown: a commit was under way, and the status record could not be read in time.
            MQIError: the last error, if no commit was under way.
        """
        first, connection = self._first, self._connection
        if error.is_final or not connection.can_redo(error):
            raise error
        if isinstance(error, HandleLost):
            self._relapses.at([(owner.number, owner.unit.messages) for owner in self.owners], error)
        # A connection that is idle for long is often ended on purpose (DISCINT of the channel, firewalls), and costs nothing.
        costs_nothing = isinstance(error, ConnectionBroken) and not self.messages and not self._in_doubt
        _log.log(
            logging.INFO if costs_nothing else logging.WARNING,
            "%r: %s. Finding out what is committed, for at most %g s; `%s` shows its record",
            first,
            error,
            connection.reconnect.wait_s,
            first.look_command,
            extra=first.log_fields(error.reason),
        )

        def say(not_yet: MQIError, pause_s: float) -> None:
            extra = first.log_fields(not_yet.reason)
            _log.warning("%r: still failing: %s. Trying again in %.2g s", first, not_yet, pause_s, extra=extra)

        first.telemetry.recovering(error, first.number)
        try:
            self.redoing = True
            retrying(connection.reconnect, REDO_LATER, connection.sleep, say, lambda: self.stopping)(again)
            first.telemetry.recovered()
        except BaseException as last:
            first.telemetry.recovered(last)
            # The traceback shows only this error; those before it are in the log.
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
            # Only now: if the application's function raises an error, everything here must be finished.
            self._tell_news()

    @property
    def _in_doubt(self) -> bool:
        return any(owner.in_doubt for owner in self.owners)

    def recover(self, again: Callable[[], object]) -> None:
        """If the connection was lost, or a call interrupted, since the last unit of work, restore everything by ``again``.

        Raises:
            MQGroupsError: as ``redo``.
        """
        connection = self._connection
        if self._lost is not None:
            return
        # If a keeper is stale on a usable connection, another owner on it was interrupted or has reconnected.
        is_stale = any(owner.keeper.is_stale for owner in self.owners)
        if connection.usable and (connection.turn.interrupted or is_stale or self._in_doubt):
            if connection.turn.interrupted and self._is_somebody_elses:
                _log.warning("%r: a call was interrupted, so the connection's unit of work is backed out", connection)
            try:
                connection.restore()
                again()
                return
            except MQIError as error:
                if isinstance(error, OwnerActive) and connection.give_up():
                    # The answer of an MQOPEN was lost, so it is this connection itself that has the queue open.
                    error = connection.gone()
                self.redo(error, again)
                return
            finally:
                self._tell_news()
        if connection.can_go_on and not connection.usable:
            self.redo(connection.gone(), again)

    def require_known(self, again: Callable[[], object]) -> None:
        """Make sure that it is known what is committed; ``again`` as for ``recover``.

        Raises:
            CommitOutcomeUnknown: a commit had no answer, and its outcome cannot be found out on this connection.
            MQIError: as ``redo``.
        """
        self.recover(again)
        if self._lost is None and self._in_doubt:
            where = f"queue manager {self._connection.q_mgr_name}"
            reason = next(owner.in_doubt for owner in self.owners if owner.in_doubt)
            raise CommitOutcomeUnknown("MQCMIT", where, mq.MQCC_FAILED, reason)

    @property
    def has_to_find_out(self) -> bool:
        """Whether it is not known what is committed: after an interruption, or a commit without an answer."""
        return self._lost is None and (self._connection.turn.was_interrupted or self._in_doubt)

    def settle(self) -> CommitOutcome:
        """Reconnect, open the status queues again, and find out the outcome of the unit of work.

        Returns:
            ``COMMITTED`` if a commit was under way and took effect; ``BACKED_OUT`` if not. ``Owner.committed`` is then the
            position of the last commit.

        Raises:
            OwnershipLost: a record is not this owner's.
            MQIError: a call failed; call again.
        """
        self._connection.restore()
        if self.is_open:
            self._connection.back_out()
        self._holds_records = False
        try:
            for owner in self.owners:
                owner.reopen()
            # Read all records before concluding anything: if the connection is lost once more, all owners can start over.
            found = [(owner, owner.read()) for owner in self.owners]
            outcomes = [(owner, record, owner.outcome(record)) for owner, record in found]
        except OwnershipLost as lost:
            raise self._is_lost(lost) from None
        for owner, record, outcome in outcomes:
            owner.conclude(record, outcome)
        is_committed = any(outcome is CommitOutcome.COMMITTED for _, _, outcome in outcomes)
        return CommitOutcome.COMMITTED if is_committed else CommitOutcome.BACKED_OUT

    def _is_lost(self, lost: OwnershipLost) -> OwnershipLost:
        # If one owner has lost its name, all later calls for any of them fail.
        self._lost = lost
        return lost

    def _tell_news(self) -> None:
        for owner in self.owners:
            ask(owner.news.tell)

    @even_half_made
    def __repr__(self) -> str:
        names = ", ".join(owner.name for owner in self.owners)
        return f"<UnitsOfWork of {names} uow={self._first.number} messages={self.messages}>"


def _no_clock() -> float:
    return 0.0

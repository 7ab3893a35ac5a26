"""Recovery of the owners of a unit of work: after a lost connection, a commit without an answer, or an interruption.

``core/protocol.py`` decides what is concluded (``settled``). Here is when that is done, how often it is tried, and who is told.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol, TypeVar

from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import NO_ROOM, OWNER_ACTIVE, REDO_LATER, Patience, Relapses
from mqgroups.core import protocol
from mqgroups.core.restart import CommitOutcome
from mqgroups.core.steps import Steps
from mqgroups.errors import CommitOutcomeUnknown, ConnectionBroken, MQIError, OwnerActive, OwnershipLost
from mqgroups.mqi import constants as mq
from mqgroups.mqi.reasons import HANDLE_LOST
from mqgroups.status.owner import Owner
from mqgroups.status.performer import Performer

_log = logging.getLogger("mqgroups")
_T = TypeVar("_T")
# A queue manager needs a moment until it notices that a connection is gone, and then closes its handles.
_NOTICED_S = 1.0


class Participant(Protocol):
    """Who puts and gets the messages of the units of work: a producer's putter, or a consumer's getter."""

    def replay(self, committed: int | None) -> None:
        """Go back to the position of the last commit, and put and get again what was not committed. It may be called again.

        ``committed``: how many messages the unit of work had if it was committed; ``None`` if it was backed out.
        """


class RecoveringOwners:
    """One or two owners with one unit of work, and how they recover together.

    Attributes:
        owners: logs and spans about all of them name the first one.
        participant: who puts and gets their messages; set before the names are claimed.
        redoing: whether a unit of work is being redone. Its messages are put synchronously.
        stopping: whether the application has asked for the end; set from any thread, or from a signal handler in any call.
    """

    participant: Participant

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._performer = Performer(connection, self)
        self.owners: list[Owner] = []
        self.redoing = False
        self.stopping = False
        self._lost: OwnershipLost | None = None
        self._relapses = Relapses(connection.reconnect.wait_s, connection.sleep)

    @property
    def messages(self) -> int:
        """How many messages all owners have in the open unit of work."""
        return sum(owner.unit.messages for owner in self.owners)

    def is_stopping(self) -> bool:
        """Whether the application has asked for the end. Asked every few seconds by whoever waits, so this is a sign of life."""
        self._connection.beats()
        return self.stopping

    @property
    def _first(self) -> Owner:
        return self.owners[0]

    @property
    def _is_held_by_other(self) -> bool:
        return self._connection.unit_of_work_of not in (None, self)

    def redo(self, error: MQIError) -> None:
        """Settle the unit of work that ended in ``error``, and have the participant replay what was not committed.

        Retries within ``reconnect_wait_s``. After ``stop()`` it is one try, which waits for a second at most while the lost
        connection still holds the status queue.

        Raises:
            OwnershipLost: another instance has taken over this name.
            CommitOutcomeUnknown: a commit was under way, and the status record could not be read in time.
            MQIError: the last error, if no commit was under way; ``error`` itself if nothing can be redone after it, or if it
                is already the result of that.
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
            self._relapses.at([(owner.own.number, owner.unit.messages) for owner in self.owners], error)
        wait_s, reason = connection.reconnect.wait_s, error.reason
        if reason in NO_ROOM and not self._in_doubt:
            # An asynchronous put. If its unit of work was answered, the queue would be waited for, and this not be said.
            first.log(_log, logging.INFO, "%r: %s. Putting the unit of work again", first, error, reason=reason)
        else:
            # A connection that is idle for long is often ended on purpose (DISCINT of the channel, firewalls), and costs nothing.
            costs_nothing = isinstance(error, ConnectionBroken) and not self.messages and not self._in_doubt
            level = logging.INFO if costs_nothing else logging.WARNING
            text = "%r: %s. Finding out what is committed, for at most %g s; `%s` shows its record"
            first.log(_log, level, text, first, error, wait_s, first.look_command, reason=reason)

        def say(not_yet: MQIError, pause_s: float) -> None:
            text = "%r: still failing: %s. Trying again in %.2g s"
            first.log(_log, logging.WARNING, text, first, not_yet, pause_s, reason=not_yet.reason)

        first.telemetry.recovering(error, first.own.number)
        try:
            self.redoing = True
            noticed = Patience(min(_NOTICED_S, connection.reconnect.wait_s))
            one_try = connection.retrying(noticed, OWNER_ACTIVE)
            connection.retrying(connection.reconnect, REDO_LATER, say, self.is_stopping)(one_try, again)
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
        """Settle and replay if the connection was lost, or a call interrupted, since the last unit of work; see ``redo``."""
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
                    # The answer of an MQOPEN was lost, so it is this connection itself that has the queue open.
                    error = connection.gone()
                self.redo(error)
                return
            finally:
                self._tell()
        if connection.can_go_on and not connection.usable:
            self.redo(connection.gone())

    def require_known(self) -> None:
        """Recover, and make sure that it is known what is committed; raises as ``redo``.

        Also CommitOutcomeUnknown: a commit had no answer, and its outcome cannot be found out on this connection.
        """
        self.recover()
        if self._lost is None and (reason := self._in_doubt):
            where = f"queue manager {self._connection.q_mgr_name}"
            raise CommitOutcomeUnknown("MQCMIT", where, mq.MQCC_FAILED, reason)

    @property
    def has_to_find_out(self) -> bool:
        """Whether it is not known what is committed: after an interruption, or a commit without an answer."""
        return self._lost is None and (self._connection.turn.was_interrupted or bool(self._in_doubt))

    def settle(self) -> CommitOutcome:
        """Reconnect, open the status queues again, and find out the outcome of the unit of work; one try.

        Returns ``COMMITTED`` if a commit was under way and took effect. Raises OwnershipLost if a record is not this owner's;
        MQIError if a call failed: call again.
        """
        with self._first.telemetry.in_span():
            verdicts = self._perform(protocol.settled(self._performer.ownerships))
        for owner, verdict in zip(self.owners, verdicts, strict=True):
            owner.witness.concluded(
                verdict, owner.log_fields(verdict.before.pending.reason if verdict.before.pending else 0)
            )
            if verdict.outcome is CommitOutcome.COMMITTED:
                if verdict.before.pending is not None:
                    owner.witness.committed(verdict.after.record, verdict.before.pending.unit)
            else:
                owner.backed_out(verdict.before, "connection lost")
        self._performer.ownerships = tuple(verdict.after for verdict in verdicts)
        for owner in self.owners:
            owner.unit_ended()
        is_committed = any(verdict.outcome is CommitOutcome.COMMITTED for verdict in verdicts)
        return CommitOutcome.COMMITTED if is_committed else CommitOutcome.BACKED_OUT

    def _perform(self, steps: Steps[_T]) -> _T:
        try:
            return self._performer.perform(steps)
        except OwnershipLost as lost:
            raise self._is_lost(lost) from None

    def _is_lost(self, lost: OwnershipLost) -> OwnershipLost:
        # If one owner has lost its name, all later calls for any of them fail.
        self._lost = lost
        for owner in self.owners:
            if owner.keeper.name == lost.status_queue:
                owner.witness.replaced(owner.own)
        return lost

    def _tell(self) -> None:
        for owner in self.owners:
            owner.witness.tell()

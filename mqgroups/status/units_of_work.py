"""The units of work of one producer, consumer or pipe: each begun by its first message, ended by its status records and MQCMIT.

After a commit and after a backout the same holds for all of them. Only the position of the last commit counts. It changes when
MQCMIT has answered, or when the status queue has told what the answer would have been; a backout goes back to it. Each owner has
a status queue. A producer or consumer has one owner and a pipe has two: what is committed, or lost, of one is of both.

    the owner's first       MQPUT record and anchor,              MQCMIT
    each with messages      messages, MQGET record, MQPUT record, MQCMIT
    the last, on closing    MQGET record and anchor,              MQCMIT

So N messages in U units of work take N + 3U calls, and an owner seven more. IBM's pattern takes 2 calls less a group, because it
has no record before a group's first commit and none after its last. But then nothing on the queue tells whether that last unit
of work, or the only one of a small group, was committed; nor whether another instance has come and gone while this one was cut
off. With a record of its own from the first call to the last, an owner can always tell, and goes on by itself (``settle``). The
record stays after the last call if it has a checkpoint.

On a connection that is the application's own (``mqgroups.wrap``) something else may commit or back out. There the record is got
before the first message, not before the commit, and two more calls are made. They notice a foreign backout: it brings the old
record back, which is seen after the next record is put; or it removes the next record, which is seen after the commit. A foreign
commit removes the record for good. That does no harm if the unit of work goes on; else the next start finds an anchor without its
record.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import REDO_LATER, retrying
from mqgroups.core.restart import CommitOutcome
from mqgroups.core.unit_of_work import Every, capped, syncpoint_due
from mqgroups.errors import (
    CommitOutcomeUnknown,
    ConfigurationError,
    ConnectionBroken,
    MQIError,
    OwnerActive,
    OwnershipLost,
)
from mqgroups.mqi import constants as mq
from mqgroups.status.hooks import InDoubt, OnInDoubt
from mqgroups.status.owner import Owner
from mqgroups.telemetry import semantic_conventions as sc

_log = logging.getLogger("mqgroups")


class UnitsOfWork:
    """Units of work, one after the other.

    What the owners have in the open one is theirs to count (``Owner.unit``); it ends by what they have together.

    Attributes:
        owners: whose they are. In logs and spans the first one tells what is true of all.
    """

    def __init__(self, connection: Connection, every: Every) -> None:
        """``every``: how often to take a syncpoint."""
        self._connection = connection
        self._every = every
        self._most_to_put = 0
        self.owners: list[Owner] = []
        self._clock = time.monotonic if every.seconds is not None else _no_clock
        self._began_s = 0.0
        # Whether the keepers have got the records of the open unit of work.
        self._holds_records = False
        self._lost: OwnershipLost | None = None
        self._outcomes_to_tell: list[tuple[OnInDoubt | None, InDoubt]] = []

    def add(self, owner: Owner) -> None:
        """Have an owner's record in these units of work; before ``claim``."""
        self.owners.append(owner)

    def claim(self) -> None:
        """Put the owners' records in the place of what was found: from now on the names are theirs.

        Raises:
            ConfigurationError: the queue manager's MAXUMSGS leaves no room for a message.
            MQIError: a call failed; nothing was changed, or all of it.
        """
        most, status_messages = self._connection.max_uncommitted_msgs, sum(o.keeper.most_messages for o in self.owners)
        try:
            self._every = capped(self._every, most, status_messages)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        # Half of what there is room for: how many more one message brings is known when they are there.
        self._most_to_put = (most - status_messages) // 2
        self._begin()
        try:
            for owner in self.owners:
                owner.claim()
            self.commit()
        except BaseException as error:
            self.back_out(error)
            raise

    def begin(self) -> None:
        """Claim the connection's unit of work. To be called before each owner's first message in it.

        Raises:
            OwnershipLost: it turned out before that another instance has this name.
            ConnectionBroken: the connection is gone, or was made again since; ``redo``.
            GroupUsage: the connection's unit of work is another producer's or consumer's.
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
        self._began_s = self._clock()

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

    def begun(self, owner: Owner) -> None:
        """``owner`` has, or is about to have, its first message in the unit of work: its span begins.

        Where another owner has begun before, the span is below that one's.
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
        """Whether there is anything to commit or back out."""
        return self._connection.unit_of_work_of is self

    @property
    def _is_somebody_elses(self) -> bool:
        return self._connection.unit_of_work_of not in (None, self)

    @property
    def messages(self) -> int:
        """How many messages all owners have in the open unit of work."""
        return sum(owner.unit.messages for owner in self.owners)

    def due(self) -> bool:
        """Whether the open unit of work has to end now."""
        messages = data_bytes = to_put = 0
        for owner in self.owners:
            unit = owner.unit
            messages += unit.messages
            data_bytes += unit.data_bytes
            to_put += unit.to_put
        if to_put and to_put >= self._most_to_put:
            return messages > 0
        return syncpoint_due(self._every, messages, data_bytes, self._clock() - self._began_s)

    def settling(self) -> None:
        """The records are about to be put, and committed."""
        self._first.telemetry.settle(sc.COMMIT)

    def commit(self) -> None:
        """Commit what the owners have staged; raises MQIError, StatusError, ForeignSyncpoint."""
        if self._holds_records:
            # A record that was got and does not change has to be put again: this commit would take it away.
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

    def _check_committed(self) -> None:
        try:
            for owner in self.owners:
                owner.keeper.check_committed()
        except MQIError as error:
            # It is committed or not: nobody can look now.
            for owner in self.owners:
                owner.is_in_doubt(error.reason)
            raise

    def note(self, owner: Owner, *, forget_checkpoint: bool = False) -> None:
        """Commit what an owner's record has to say besides the position, in a unit of work of its own."""
        self._begin()
        owner.stage_note(forget_checkpoint=forget_checkpoint)
        self.commit()

    def back_out(self, why: BaseException | str | None = None) -> None:
        """Back the open unit of work out, if there is one, and go back to the last commit. ``why`` is for its span."""
        telemetry = self._first.telemetry
        if self._connection.is_shared and isinstance(why, ConnectionBroken):
            # Something else may have committed before: MQDISC does.
            for owner in self.owners:
                owner.is_in_doubt(why.reason)
        try:
            if self.is_open:
                telemetry.settle(sc.BACK_OUT)
                self._connection.back_out()
                telemetry.settled()
        finally:
            self._holds_records = False
            for owner in self.owners:
                owner.is_backed_out(why or sc.BACKED_OUT)

    def back_out_after(self, error: BaseException | None) -> None:
        """Back out because of ``error``, and tell it where the group stands."""
        self.back_out(error)
        if isinstance(error, MQIError):
            committed = self._first.committed
            stands = "No message of the group is known to be committed"
            if not committed.at_start:
                stands = f"Message {committed.msg_seq_number} is the last of the group that is known to be committed"
            error.context = ". ".join(part for part in (error.context, stands) if part)

    def forget_checkpoint(self, owner: Owner) -> None:
        """Commit a record without the checkpoint, if it has one; to be called between units of work.

        Raises:
            OwnershipLost, MQIError: it could not be done.
        """

        def again() -> None:
            self.settle()
            if owner.committed_checkpoint is not None:
                self.note(owner, forget_checkpoint=True)

        if owner.committed_checkpoint is None:
            return
        try:
            self.note(owner, forget_checkpoint=True)
        except MQIError as error:
            self.redo(error, again)

    def finish(self) -> None:
        """Take the records away, in a unit of work of their own, that nobody needs any more.

        One stays that speaks: of a group that is interrupted, of a suspect, or with a checkpoint. They all stay where there is
        no unit of work to be had, on a connection that is lost or in whose unit of work somebody else is; the next owner takes
        them away.
        """
        if self._lost is not None or not self._connection.can_go_on:
            return
        if self._is_somebody_elses:
            first = self._first
            extra = first.log_fields()
            _log.warning("%r leaves its record: the connection's unit of work is another one's", first, extra=extra)
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
            self._begin()
            for owner in with_chain:
                owner.stage_end_of_chain()
            self.commit()
        if silent:
            self._begin()
            for owner in silent:
                owner.stage_nothing()
            self.commit()

    def _finish_again(self) -> None:
        # The outcome does not count here, but what is there of these owners: the two commits of a chain leave records of the same
        # mark. And a commit that was in doubt before closing may turn out to have left a group interrupted.
        self.settle()
        self._finish()

    # --- after a commit without an answer, a connection that was lost, and an interruption

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
        first = self._first
        _log.warning(
            "%r: %s. Finding out what is committed, for %g s at the most; `%s` looks from outside",
            first,
            error,
            self._connection.reconnect.wait_s,
            first.look_command,
            extra=first.log_fields(error.reason),
        )

        def say(not_yet: MQIError, pause_s: float) -> None:
            extra = first.log_fields(not_yet.reason)
            _log.warning("%r: not yet: %s. Trying again in %.2g s", first, not_yet, pause_s, extra=extra)

        first.telemetry.recovering(error, first.number)
        try:
            retrying(self._connection.reconnect, REDO_LATER, self._connection.sleep, say)(again)
            first.telemetry.recovered()
        except BaseException as last:
            first.telemetry.recovered(last)
            # One error is enough to read: what came before it is in the log.
            last.__suppress_context__ = True
            if not isinstance(last, MQIError) or not self._in_doubt or isinstance(last, CommitOutcomeUnknown):
                raise
            raise CommitOutcomeUnknown("MQCMIT", last.object_name, mq.MQCC_FAILED, error.reason, str(last)) from None
        finally:
            # Not before: what a function of the application's raises must find everything in order.
            self._tell_outcomes()

    @property
    def _in_doubt(self) -> bool:
        return any(owner.in_doubt for owner in self.owners)

    def recover(self, again: Callable[[], object]) -> None:
        """Have ``again`` bring things back, if the connection was lost or a call interrupted since the last unit of work.

        Raises: as ``redo``.
        """
        connection = self._connection
        if self._lost is not None:
            return
        # Stale on a connection that is usable: somebody else on it was interrupted, or has made it again.
        is_stale = any(owner.keeper.is_stale for owner in self.owners)
        if connection.usable and (connection.turn.interrupted or is_stale):
            if connection.turn.interrupted and self._is_somebody_elses:
                _log.warning("an interruption on %r: what is in its unit of work is backed out", connection)
            try:
                connection.restore()
                again()
                return
            except MQIError as error:
                if isinstance(error, OwnerActive) and connection.give_up():
                    # The answer of an MQOPEN was lost: nobody else has the queue open than this connection itself.
                    error = connection.gone()
                self.redo(error, again)
                return
            finally:
                self._tell_outcomes()
        if connection.can_go_on and (self._in_doubt or not connection.usable or is_stale):
            self.redo(connection.gone(), again)

    def require_known(self, again: Callable[[], object]) -> None:
        """Find out what is committed, before it is told; ``again`` as for ``recover``.

        Raises:
            CommitOutcomeUnknown: a commit had no answer, and on this connection it cannot be found out.
            MQIError: as ``redo``.
        """
        self.recover(again)
        if self._lost is None and self._in_doubt:
            where = f"queue manager {self._connection.q_mgr_name}"
            reason = next(owner.in_doubt for owner in self.owners if owner.in_doubt)
            raise CommitOutcomeUnknown("MQCMIT", where, mq.MQCC_FAILED, reason)

    @property
    def has_to_find_out(self) -> bool:
        """Whether what is committed is not known: after an interruption, or a commit without an answer."""
        return self._lost is None and (self._connection.turn.was_interrupted or self._in_doubt)

    def settle(self) -> CommitOutcome:
        """Bring connection and status queues back, and find out what became of the unit of work.

        ``COMMITTED`` if a commit was under way and took effect: ``committed`` is where it went to. ``BACKED_OUT`` if not:
        nothing since ``committed`` has happened.

        Raises:
            OwnershipLost: a record is not this owner's.
            MQIError: not yet; to be called again.
        """
        self._connection.restore()
        if self.is_open:
            self._connection.back_out()
        self._holds_records = False
        try:
            for owner in self.owners:
                owner.reopen()
            # All is read before anything is concluded: a connection that is lost once more leaves it all to be concluded again.
            found = [(owner, owner.read()) for owner in self.owners]
            outcomes = [(owner, record, owner.outcome(record)) for owner, record in found]
        except OwnershipLost as lost:
            raise self._is_lost(lost) from None
        for owner, record, outcome in outcomes:
            told = owner.conclude(record, outcome)
            if told is not None:
                self._outcomes_to_tell.append((owner.hooks.on_in_doubt, told))
        is_committed = any(outcome is CommitOutcome.COMMITTED for _, _, outcome in outcomes)
        return CommitOutcome.COMMITTED if is_committed else CommitOutcome.BACKED_OUT

    def _is_lost(self, lost: OwnershipLost) -> OwnershipLost:
        # What one half has lost, both have, whatever is called afterwards.
        self._lost = lost
        return lost

    def _tell_outcomes(self) -> None:
        while self._outcomes_to_tell:
            on_in_doubt, outcome = self._outcomes_to_tell.pop(0)
            if on_in_doubt:
                on_in_doubt(outcome)

    def __repr__(self) -> str:
        names = ", ".join(owner.name for owner in self.owners)
        return f"<UnitsOfWork of {names} uow={self._first.number} messages={self.messages}>"


def _no_clock() -> float:
    return 0.0

"""The messages that a consumer has processed since its last commit: committed, backed out, or got again after a lost connection.

A commit includes the messages for the backout queue and those that a pipe puts. What has to be done again after a lost connection
is one value, which is noted before (``Again``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from mqgroups.connection.retry import REDO, ask
from mqgroups.core.next_record import Note
from mqgroups.core.ownership import PendingCommit
from mqgroups.core.poison import PROOF, Suspect
from mqgroups.core.status import Outgoing
from mqgroups.errors import GroupAbandoned, GroupQuarantined, GroupStalled, MQIError
from mqgroups.get.aside import Aside
from mqgroups.get.cursor import GroupCursor
from mqgroups.mqi.message import Message
from mqgroups.settings import Consuming
from mqgroups.status.owner import Owner
from mqgroups.status.units_of_work import UnitsOfWork


class Partner(Protocol):
    """The other side of a pipe, which puts in the getter's units of work."""

    def put_all(self, *, ended: bool, failed_with: int | None) -> tuple[dict[Owner, PendingCommit], Outgoing]:
        """Put its messages in the unit of work, before the status records; see ``PipeOutput.put_all``."""

    def committed(self) -> None:
        """Take note that the unit of work is committed."""

    def back_out(self) -> None:
        """Take note that the unit of work will be backed out and not redone."""


class _End(NamedTuple):
    """How a unit of work ends: in the middle of a group, or at its end.

    ``failed_with``: the result of a group that was not completed, for a pipe's outgoing group.
    """

    ended: bool
    failed_with: int | None = None


_SYNCPOINT = _End(ended=False)
# Only the record is put, in a unit of work of its own.
_NOTE = _End(ended=False, failed_with=-1)


class Again(NamedTuple):
    """What is done again if a unit of work is backed out with its connection.

    Attributes:
        processed: the MsgIds of the messages that the application has processed.
        note: what the next record says.
        end: how the unit of work was to end; ``None`` if it goes on.
    """

    processed: tuple[bytes, ...]
    note: Note
    end: _End | None = None


class Processing:
    """A consumer's units of work.

    Attributes:
        settings: the consumer's.
        work, owner: its units of work, and its part of them.
        cursor: its position on its queue.
        aside: what it puts to the backout queue.
        group: the group that is being got; ``None`` between groups.
        before_commit, sinks: the application's function, called before each syncpoint, and those of what is attached.
        tries: how often the application got the suspect since it was noted; as often as the backout count says, if another
            process has noted it.
        call_failed: whether a call that says nothing about the suspect has failed since it was noted or given to the application.
    """

    owner: Owner
    cursor: GroupCursor
    aside: Aside

    def __init__(self, settings: Consuming, work: UnitsOfWork, partner: Partner | None) -> None:
        """``partner``: the outgoing side of a pipe."""
        self.settings = settings
        self.work = work
        # An IncomingGroup, which this module only passes on to ``before_commit``.
        self.group: Any = None
        self.before_commit: Callable[[Any], None] | None = None
        self.sinks: list[Callable[[Any], None]] = []
        self.tries = PROOF
        self.call_failed = False
        self._partner = partner
        # Whether the message that was got last must be the only one of its unit of work.
        self._alone = False
        # What is done again if the connection is lost.
        self._due: Again | None = None

    def message_processed(self, message: Message) -> bool:
        """Count a message that the application has processed; commit if it was the group's last, or if a syncpoint is due.

        Returns whether it was the group's last.
        """
        unit = self.owner.unit
        unit.messages += 1
        unit.data_bytes += len(message.data)
        if not message.is_plain and message.is_last:
            self.end_group()
            return True
        if self._alone:
            self.owner.clear_suspect()
            self.syncpoint()
        elif self.work.due():
            self.syncpoint()
        return False

    def segment_processed(self, segment: Message) -> None:
        """Count a segment that the application has processed and that is not the last; commit if a syncpoint is due."""
        self.owner.count(len(segment.data))
        if self.work.due():
            self.syncpoint()

    def process_alone(self) -> None:
        """Make the message that was got last the only one of its unit of work."""
        self._alone = True
        self.tries += 1
        self.call_failed = False

    def move(self, message: Message) -> None:
        """Put a message to the backout queue at the commit of this unit of work; one that is not joined needs one of its own."""
        self.aside.move(message)
        if not message.not_got_because:
            self.owner.count(len(message.data))
            self.owner.unit.to_put = len(self.aside)

    def syncpoint(self) -> None:
        """End the unit of work in the middle of a group."""
        self._ask_application()
        self._commit(ended=False)

    def end_group(
        self, *, abandoned: GroupAbandoned | None = None, quarantined: GroupQuarantined | None = None
    ) -> None:
        """End the group's last unit of work. The arguments are the error of a group that was not completed."""
        if self.group is not None:
            self.group.ends, self.group.abandoned, self.group.quarantined = True, abandoned, quarantined
        self._ask_application()
        failed_with = abandoned.result if abandoned is not None else None if quarantined is None else 0
        self._commit(ended=True, failed_with=failed_with)
        self.cursor.group_ended()
        self.aside.group_goes_on()
        ended, self.group = self.group, None
        if ended is not None:
            ended.has_ended = True

    def _ask_application(self) -> None:
        group = self.group
        for function in (*self.sinks, self.before_commit, group.asked_before_commit) if group is not None else ():
            if function is not None:
                self.owner.telemetry.asking()
                ask(function, group)

    def _commit(self, *, ended: bool, failed_with: int | None = None) -> None:
        """End the unit of work: put the messages that belong in it and the status record, then MQCMIT."""

        end = _End(ended, failed_with)
        again = Again(self.processed(), self.owner.unit.note, end)
        try:
            self._end(end)
        except MQIError as error:
            self.redo(error, again)
        self.aside.clear()
        self._committed()

    def _end(self, end: _End) -> None:
        # If there is nothing but a rest to move, or not even that, the unit of work begins here.
        self.work.begin()
        self.aside.put_moved()
        self._move_rest()
        self._commit_record(end)

    def _commit_record(self, end: _End) -> None:
        endings: dict[Owner, PendingCommit] = {}
        outgoing = None
        if self._partner is not None:
            endings, outgoing = self._partner.put_all(ended=end.ended, failed_with=end.failed_with)
        self.work.settling()
        endings[self.owner] = self.owner.ending(self.cursor.position, ended=end.ended, outgoing=outgoing)
        self.work.commit(endings)

    def _committed(self) -> None:
        self.cursor.unit.clear()
        self._alone = False
        if self._partner is not None:
            self._partner.committed()

    @property
    def can_isolate(self) -> bool:
        """Whether the messages processed before the one got last can be got again without the application."""
        return self.work.may_be_split

    def isolate(self, suspect: Suspect | None) -> None:
        """Commit the messages processed before the one got last, which goes back to the queue, and note the suspect."""
        processed = self.processed()
        if processed:
            self._ask_application()
        note = self.owner.unit.note._replace(suspect=suspect)
        again = Again(processed, note, _SYNCPOINT if processed else _NOTE)
        self.work.back_out("a message is suspected")
        self._set_back()
        try:
            self._get_again(again)
        except MQIError as error:
            self.redo(error, again)
        self.call_failed = False
        if processed:
            self.aside.clear()
            self._committed()
        else:
            self.cursor.unit.clear()

    # --- after a lost connection

    def recover(self) -> None:
        """Restore the open queues and the position if the connection was lost since the last unit of work."""
        self.work.recover()

    def replay(self, committed: int | None) -> None:
        """Get again what is not committed, after a lost connection; see ``units_of_work.Participant``.

        The application does not see these messages again. ``before_commit`` is not called again either.
        """
        if committed is not None:
            # Forget it: if a later call loses the connection too, no commit is in doubt any more.
            self._due = None
        self._set_back()
        if self._due is not None:
            self._get_again(self._due)

    def processed(self) -> tuple[bytes, ...]:
        """Return the MsgIds of the messages that the application has processed in the open unit of work."""
        return tuple(self.cursor.unit[: self.owner.unit.messages])

    def redo(self, error: MQIError, again: Again) -> None:
        """Recover from ``error`` and do ``again`` what is not committed; raises MQGroupsError."""
        # A put may have been refused for what the message is, such as its length.
        self.call_failed = error.verb != "MQPUT" or error.reason in REDO
        self._due = again
        try:
            self.work.redo(error)
        finally:
            self._due = None

    def _get_again(self, again: Again) -> None:
        owner, work = self.owner, self.work
        owner.unit.note = again.note
        for msg_id in again.processed:
            first = owner.unit.messages == 0
            if first:
                work.begin()
            message = self.cursor.get_again(msg_id)
            if first:
                work.begun(owner)
            owner.count(len(message.data))
        if again.end is _NOTE:
            work.note(owner)
        elif again.end is not None:
            self._end(again.end)

    def _set_back(self) -> None:
        self._alone = False
        self.cursor.set_back(self.owner.committed)
        self.cursor.reopen()

    def back_out(self, error: BaseException | None) -> None:
        """Back out to the last commit, and add its position to the text of ``error``."""
        self.group = None
        self.aside.clear()
        if self._partner is not None:
            self._partner.back_out()
        try:
            self.work.back_out_after(error)
        finally:
            self.cursor.set_back(self.owner.committed)

    def stalled(self) -> GroupStalled:
        """Return the error for a group whose next message does not come."""
        settings, position = self.settings, self.cursor.position
        return GroupStalled(
            settings.queue, position.group_id, position.msg_seq_number + 1, settings.group_wait_s, position.offset
        )

    def _move_rest(self) -> None:
        """Get what belongs in this unit of work besides the messages got, and put it to the backout queue.

        Raises MQIError; GroupStalled if some of it is gone since it was looked at.
        """
        unit = self.owner.unit
        for length in self.aside.put_rest(self.cursor, again=self.work.redoing):
            if length < 0:
                raise self.stalled()
            if not unit.messages:
                self.work.begun(self.owner)
            self.owner.count(length)

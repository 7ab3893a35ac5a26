"""GroupConsumer: gets a message group across units of work.

A driver: it asks ``core.group`` how the next message is got, has ``connection.Queue`` get it, and lets the core check
that it is the next one. ``unit_of_work.UnitsOfWork`` ends each unit of work with its status record.

    for group in consumer:              # the interrupted group first, if there is one
        for message in group:           # asking for the next message says that this one is processed
            ...

A message counts as processed when the application asks for the one after it; only then a syncpoint is taken that
covers it, if one is due. So effects outside MQ happen at least once, never not at all, and after a crash
``group.resume_from`` and ``group.checkpoint`` tell what is committed. Leaving a loop early, or an exception in it,
backs out to the last commit when the consumer is asked again or closed.

When the connection is lost and this program lives, the consumer goes on by itself: what it finds not committed it gets
again, without troubling the application with messages that it has processed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import ceil, inf
from types import TracebackType
from typing import Protocol

from mqgroups.backout_queue import BackoutQueue
from mqgroups.config import ConsumerSettings
from mqgroups.connection import Connection, Queue
from mqgroups.core.group import AT_START, GetPlan, GroupPosition, after_get, follows, inside_message, next_get
from mqgroups.core.model import MatchOption, Role
from mqgroups.core.poison import Suspect, Treatment, treatment
from mqgroups.core.restart import Verdict
from mqgroups.core.status import Checkpoint
from mqgroups.errors import (
    ConfigurationError,
    GroupAbandoned,
    GroupIncomplete,
    GroupQuarantined,
    GroupStalled,
    GroupUsage,
    MessagesTaken,
    MQGroupsError,
    MQIError,
    PoisonMessage,
    QueueInhibited,
)
from mqgroups.get_group import GetGroup
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.message import Message
from mqgroups.status_queue import StatusQueue
from mqgroups.unit_of_work import UnitsOfWork

_log = logging.getLogger("mqgroups.consumer")

_OPEN_OPTIONS = mq.MQOO_INPUT_SHARED | mq.MQOO_INQUIRE | mq.MQOO_NO_READ_AHEAD
# How long to wait before a queue is asked again whose gets are inhibited: a call would not wait.
_INHIBITED_PAUSE_S = 0.2
_GET_OPTIONS = mq.MQGMO_SYNCPOINT | mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING
# One MQGET waits no longer than this, so that Ctrl-C and signal handlers are served, and a unit of work that ends by
# its age does end while no message comes.
_LONGEST_WAIT_MS = 1000
_ANY_MESSAGE = st.md()

BeforeCommit = Callable[[GetGroup], None]


class Partner(Protocol):
    """Who puts in the consumer's units of work, each time before their status record."""

    def stage(self, *, ended: bool, failed_with: int | None) -> None: ...
    def committed(self) -> None: ...
    def back_out(self) -> None: ...


class GroupConsumer:
    """Gets message groups from one queue, under a name that survives a crash; see ``QueueManager.group_consumer``."""

    def __init__(self, connection: Connection, settings: ConsumerSettings) -> None:
        self._connection = connection
        self._settings = settings
        self._group: GetGroup | None = None
        # Where the group stands: so many messages ahead of a position. In a run of gets that are all alike only the
        # number moves.
        self._anchor = AT_START
        self._ahead = 0
        # The MQGMO of every next get, while the handle retains the group.
        self._run: bytearray | None = None
        # Messages of this unit of work that go to the backout queue with its commit.
        self._moved: list[Message] = []
        # What else is put in the consumer's units of work: a pipe's outgoing group.
        self._partner: Partner | None = None
        # Whether the message that was got has to be the only one of its unit of work.
        self._alone = False
        # The segment that was got last.
        self._segment: Message
        # MsgIds of what was got in the open unit of work: what has to be got again after a lost connection.
        self._unit: list[bytes] = []
        self._before_commit: BeforeCommit | None = None
        self._closed = False
        connection.reopening(self._start)
        try:
            self._work.tell_resumed()
        except BaseException:
            self._close(finish=False)
            raise

    def _start(self) -> None:
        """Open both queues and find out where things stand."""
        connection, settings = self._connection, self._settings
        self._status = StatusQueue(
            connection,
            settings.status_queue,
            settings.status_model,
            settings.owner_wait_s,
            segmented=settings.segmented_status,
        )
        try:
            self._work = UnitsOfWork(
                connection, self._status, Role.GET, settings.name, settings.queue, settings.every, settings.hooks
            )
            self._queue = self._open()
            self._backout = self._find_backout_queue()
        except BaseException:
            self._status.close()
            raise
        self._anchor = self._work.committed
        if self._anchor.offset and not settings.stream:
            self._close(finish=False)
            raise ConfigurationError(
                f"{self!r} was interrupted after {self._anchor.offset} bytes of message {self._anchor.msg_seq_number + 1}, "
                "between two segments. What is left of that message cannot be got as a whole: make the consumer with "
                "stream=True"
            )
        if self._work.resumed:
            _log.info("%r resumes an interrupted group", self)

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of the last commit, be its group interrupted or completed; ``None`` without a status record."""
        return self._work.committed_checkpoint

    def before_commit(self, function: BeforeCommit) -> BeforeCommit:
        """Have ``function(group)`` called before each syncpoint, to make durable what the commit will say is done.

        It may call ``group.set_checkpoint``. If it raises, the unit of work is backed out. Usable as a decorator.
        """
        self._before_commit = function
        return function

    def __iter__(self) -> Iterator[GetGroup]:
        """Return the groups as they come: the interrupted one first. It ends when none came for ``wait_s``.

        Raises:
            GroupUsage: the consumer is closed; or the next group is asked for and this one was not looked at, which
                would come again and again.
            MQGroupsError: what else goes wrong.
        """
        while True:
            group = self._next_group()
            if group is None:
                return
            yield group
            if self._group is group and not group._started:
                self._back_out(None)
                raise GroupUsage(
                    f"group {group.group_id.hex()} was not iterated over. A group that is not processed comes again, so "
                    "it cannot be passed over: iterate over it, or close the consumer"
                )

    def close(self) -> None:
        """Back out what is not committed, take a completed group's record away, and close both queues. Idempotent."""
        self._close(finish=True)

    def delete_status_queue(self) -> None:
        """Close, and delete the status queue, which has to be one that was made from a model queue.

        Raises:
            GroupUsage: a group is interrupted, and its record is on it.
            MQIError: it cannot be deleted (2045: it is a predefined queue).
        """
        if not self._work.committed.at_start:
            raise GroupUsage(f"{self!r} has an interrupted group; get its rest before its status queue can be deleted")
        self._close(finish=True, delete=True)

    def __enter__(self) -> GroupConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # After an exception the application comes back and has to know where it was: a COMPLETED record stays.
        self._close(finish=error is None)

    def __repr__(self) -> str:
        group = self._position.group_id.hex() if not self._position.at_start else "none"
        state = "closed" if self._closed else "open" if self._connection.usable else "broken"
        return (
            f"<GroupConsumer {self._settings.queue} name={self._settings.name} group={group} "
            f"seq={self._position.msg_seq_number} uow={self._work.number} {state}>"
        )

    @property
    def _position(self) -> GroupPosition:
        anchor = self._anchor
        return after_get(anchor, anchor.group_id, self._ahead) if self._ahead else anchor

    def _open(self) -> Queue:
        settings = self._settings
        return self._connection.open_queue(
            settings.queue, _OPEN_OPTIONS, max_message_length=settings.max_message_length
        )

    def _find_backout_queue(self) -> BackoutQueue | None:
        """Return where poison goes; ``None`` if nobody looks at backout counts."""
        policy = self._settings.poison
        if policy == "ignore" and not self._work.quarantine:
            return None
        found = BackoutQueue(self._connection, self._queue, needed=policy != "halt")
        return found if found.threshold or self._work.quarantine else None

    def _next_group(self) -> GetGroup | None:
        if self._closed:
            raise GroupUsage(f"{self!r} is closed")
        # A group that was not got to its end: its last messages were never said to be processed.
        self._back_out(None)
        self._work.recover(self._settle)
        committed = self._work.committed
        if not committed.at_start:
            checkpoint = self._work.committed_checkpoint
            self._group = GetGroup(self, committed.group_id, committed.msg_seq_number, checkpoint, None)
            return self._group
        try:
            first = self._first()
        except MQGroupsError as error:
            self._back_out(error)
            raise
        if first is None:
            self._work.release()
            return None
        self._group = GetGroup(self, first.group_id, 0, None, first)
        return self._group

    def _first(self) -> Message | None:
        """Get the first message of the next group, waiting ``wait_s``."""
        while True:
            try:
                return self._get(self._settings.wait_s)
            except MQIError as error:
                self._work.redo(error, self._settle)

    def _messages(self, group: GetGroup, message: Message | None) -> Iterator[Message]:
        work = self._work
        try:
            while True:
                if message is None:
                    message = self._take(group)
                if (result := message.abandoned_with) is not None:
                    raise self._abandoned(group, result)
                if work.quarantine:
                    raise self._quarantined(group, message)
                if self._backout and message.backout_count >= self._backout.threshold:
                    kept = self._treated(group, message)
                    if kept is None:
                        if self._group is not group:
                            return
                        message = None
                        continue
                if not message.is_last_segment:
                    message._following = lambda: self._next_segment(group)
                    self._segment = message
                yield message
                # The application asks for more: this message is processed.
                self._check_current(group)
                if not message.is_last_segment:
                    message = self._last_segment(group)
                work.messages += 1
                work.data_bytes += len(message.data)
                if message.is_last:
                    self._end_group(group)
                    return
                if self._alone:
                    work.suspect = None
                    self._syncpoint(group)
                elif work.due():
                    self._syncpoint(group)
                message = None
        except Exception as error:
            if self._group is group:
                self._back_out(error)
            raise

    def _abandoned(self, group: GetGroup, result: int) -> GroupAbandoned:
        """Consume the message that says so; returns the error that tells it."""
        group_id, messages = group.group_id, self._position.msg_seq_number - 1
        abandoned = GroupAbandoned(self._settings.queue, group_id, messages, result)
        if self._settings.hooks.on_abandon is not None:
            self._settings.hooks.on_abandon(abandoned)
        self._work.messages += 1
        self._end_group(group, failed_with=result)
        return abandoned

    # --- messages that cannot be processed

    def _treated(self, group: GetGroup, message: Message) -> Message | None:
        """Look at a message that was backed out too often; returns it if it is to be processed."""
        assert self._backout is not None
        work, count = self._work, message.backout_count
        how = treatment(
            message.group_id,
            message.msg_seq_number,
            count,
            threshold=self._backout.threshold,
            suspect=work.suspect,
        )
        if how is Treatment.PROCESS_ALONE:
            self._alone = True
            return message
        if how is Treatment.ISOLATE:
            suspect = Suspect(message.group_id, message.msg_seq_number, count + 1)
            self._isolate(suspect)
            return None
        queue, policy = self._settings.queue, self._settings.poison
        if policy == "halt":
            raise PoisonMessage(queue, message.group_id, message.msg_seq_number, count, self._backout.threshold)
        if policy == "quarantine":
            raise self._quarantined(group, message)
        self._moved.append(message)
        _log.warning(
            "queue %s: message %d of group %s was backed out %d times and is moved to %s",
            queue,
            message.msg_seq_number,
            message.group_id.hex(),
            count,
            self._backout.name,
        )
        work.messages += 1
        work.suspect = None
        if message.is_last:
            self._end_group(group)
        else:
            self._syncpoint(group)
        return None

    def _isolate(self, suspect: Suspect) -> None:
        """Commit what was processed before a suspect, with a note of it; the suspect itself goes back to the queue."""
        processed, checkpoint = self._unit[: self._work.messages], self._work.checkpoint

        def note() -> None:
            self._work.suspect = suspect
            if processed:
                self._work.syncpoint(self._work.record(self._position))
            else:
                self._work.note()

        self._work.back_out("a message is suspected")
        self._set_back()
        try:
            self._again(processed, checkpoint, note)
        except MQIError as error:
            self._redo_with(error, processed, checkpoint, note)
        self._unit.clear()

    def _quarantined(self, group: GetGroup, message: Message) -> GroupQuarantined:
        """Move what is left of a group to the backout queue; returns the error that tells it."""
        assert self._backout is not None
        group_id, first = message.group_id, message.msg_seq_number
        while True:
            self._work.quarantine = True
            self._moved.append(message)
            self._work.messages += 1
            if message.is_last:
                break
            if self._work.due():
                self._syncpoint(group)
            message = self._take(group)
        self._end_group(group, failed_with=0)
        return GroupQuarantined(self._settings.queue, group_id, first, self._backout.name)

    def _check_current(self, group: GetGroup) -> None:
        if self._group is not group:
            raise GroupUsage("the consumer has gone on to another group, or is closed")

    def _take(self, group: GetGroup) -> Message:
        """Get what follows in the group; on a new connection if this one is lost."""
        while True:
            try:
                if self._work.messages == 0:
                    self._work.begin()
                # While the plan is the same for every message, the core is not asked again and no clock is read.
                got = self._got_next() if self._run else None
                return self._accept(got) if got else self._next_member(group)
            except MQIError as error:
                self._redo(error)

    def _got_next(self) -> tuple[bytes, bytes, bytes] | None:
        assert self._run is not None
        try:
            return self._queue.get(_ANY_MESSAGE, self._run)
        except QueueInhibited:
            return None  # the slow way waits for that too

    def _next_segment(self, group: GetGroup) -> Message:
        """Get the next segment; the one before is processed, so a syncpoint may come between them."""
        self._check_current(group)
        try:
            self._work.messages += 1
            self._work.data_bytes += len(self._segment.data)
            if self._work.due():
                self._syncpoint(group)
            self._segment = self._take(group)
        except Exception as error:
            if self._group is group:
                self._back_out(error)
            raise
        return self._segment

    def _last_segment(self, group: GetGroup) -> Message:
        """Get what the application did not want to see of a message."""
        while not self._segment.is_last_segment:
            self._next_segment(group)
        return self._segment

    def _next_member(self, group: GetGroup) -> Message:
        """Get the next message of the group, waiting ``group_wait_s``."""
        waited_s = self._settings.group_wait_s
        message = self._get(waited_s, group)
        if message is None:
            if self._work.messages:
                self._syncpoint(group)
            else:
                self._work.release()
            raise GroupStalled(
                self._settings.queue, self._position.group_id, self._position.msg_seq_number + 1, waited_s
            )
        plan = next_get(self._position, complete_groups_only=False)
        self._run = self._gmo(plan, min(_LONGEST_WAIT_MS, ceil(waited_s * 1000)))
        return message

    def _get(self, wait_s: float | None, group: GetGroup | None = None) -> Message | None:
        """Get the message after the current position, waiting up to ``wait_s`` (``None``: for ever)."""
        if self._work.messages == 0:
            self._work.begin()
        deadline_s = inf if wait_s is None else time.monotonic() + wait_s
        left_s = inf if wait_s is None else wait_s
        while True:
            wait_ms = _LONGEST_WAIT_MS if left_s > _LONGEST_WAIT_MS / 1000 else ceil(left_s * 1000)
            plan = next_get(self._position, complete_groups_only=self._settings.complete_groups_only)
            md = _ANY_MESSAGE
            if plan.match_options is not MatchOption.NONE:
                md = st.md(group_id=plan.group_id, msg_seq_number=plan.msg_seq_number, offset=plan.offset)
            inhibited = None
            try:
                got = self._queue.get(md, self._gmo(plan, wait_ms))
                if got is not None:
                    return self._accept(got)
            except QueueInhibited as error:
                # It ends a wait at once, whatever is there; an operator will allow gets again.
                inhibited = error
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                if inhibited is not None:
                    raise inhibited
                return None
            if inhibited is not None:
                self._connection.sleep(min(left_s, _INHIBITED_PAUSE_S))
                left_s = deadline_s - time.monotonic()
            if group is not None and self._work.due():
                self._syncpoint(group)
                self._work.begin()

    def _gmo(self, plan: GetPlan, wait_ms: int) -> bytearray:
        options = _GET_OPTIONS
        if not self._settings.stream:
            options |= mq.MQGMO_COMPLETE_MSG
        if plan.logical_order:
            options |= mq.MQGMO_LOGICAL_ORDER
        if plan.all_msgs_available:
            options |= mq.MQGMO_ALL_MSGS_AVAILABLE
        return st.gmo(options, match_options=plan.match_options, wait_interval_ms=wait_ms)

    def _accept(self, got: tuple[bytes, bytes, bytes]) -> Message:
        """Take a message for the next one of the group, if it is."""
        data, md, gmo = got
        group_id = md[st.MD_GROUP_ID]
        msg_seq_number = st.long_at(md, st.MD_MSG_SEQ_NUMBER)
        segment_status = gmo[st.GMO_SEGMENT_STATUS]
        if segment_status == mq.MQSS_NOT_A_SEGMENT and self._run is not None and not self._anchor.offset:
            if not follows(self._anchor, group_id, msg_seq_number - self._ahead, 0):
                raise self._incomplete(group_id, msg_seq_number, 0)
            self._ahead += 1
        else:
            position, offset = self._position, st.long_at(md, st.MD_OFFSET)
            if not follows(position, group_id, msg_seq_number, offset):
                raise self._incomplete(group_id, msg_seq_number, offset)
            ends = segment_status != mq.MQSS_SEGMENT
            self._anchor = after_get(position, group_id) if ends else inside_message(position, group_id, len(data))
            self._ahead = 0
        self._unit.append(md[st.MD_MSG_ID])
        return Message(data, md, gmo[st.GMO_GROUP_STATUS], segment_status)

    def _syncpoint(self, group: GetGroup) -> None:
        if self._before_commit is not None:
            self._before_commit(group)
        self._commit(ended=False)

    def _end_group(self, group: GetGroup, failed_with: int | None = None) -> None:
        if self._before_commit is not None:
            self._before_commit(group)
        self._commit(ended=True, failed_with=failed_with)
        self._anchor, self._ahead = AT_START, 0
        self._run = None
        self._group = None

    def _commit(self, *, ended: bool, failed_with: int | None = None) -> None:
        """End the unit of work: what is to be put in it, a record of the position, MQCMIT."""

        def commit() -> None:
            for message in self._moved:
                assert self._backout is not None
                self._backout.take(message)
            if self._partner is not None:
                self._partner.stage(ended=ended, failed_with=failed_with)
            record = self._work.record(self._position)
            if ended:
                self._work.complete(record)
            else:
                self._work.syncpoint(record)

        try:
            commit()
        except MQIError as error:
            self._redo(error, commit)
        self._unit.clear()
        self._moved.clear()
        self._alone = False
        if self._partner is not None:
            self._partner.committed()

    def _redo(self, error: MQIError, commit: Callable[[], None] | None = None) -> None:
        """Go on after a lost connection: get what was processed once more, and end the unit of work if that was due.

        The application is not troubled: what it did with these messages it has done. It is not asked again before the
        commit either, since it has said what there was to say.
        """
        processed, checkpoint = self._unit[: self._work.messages], self._work.checkpoint
        quarantine = self._work.quarantine

        def then() -> None:
            self._work.quarantine = quarantine
            if commit is not None:
                commit()

        self._redo_with(error, processed, checkpoint, then)

    def _redo_with(
        self, error: MQIError, processed: Sequence[bytes], checkpoint: Checkpoint, then: Callable[[], None]
    ) -> None:
        is_committed = False

        def again() -> None:
            nonlocal is_committed
            # To be remembered: if the next call loses the connection too, nothing is in doubt any more.
            is_committed = self._work.settle() is Verdict.COMMITTED or is_committed
            self._set_back()
            if not is_committed:
                self._again(processed, checkpoint, then)

        self._work.redo(error, again)

    def _again(self, processed: Sequence[bytes], checkpoint: Checkpoint, then: Callable[[], None]) -> None:
        """Get again what was processed, and go on as before."""
        self._work.checkpoint = checkpoint
        for msg_id in processed:
            self._get_again(msg_id)
        then()

    def _settle(self) -> None:
        """Find out what is committed, and bring everything back to there."""
        self._work.settle()
        self._set_back()

    def _set_back(self) -> None:
        """Forget what was got since the last commit; open the queue again if need be."""
        self._run = None
        self._unit.clear()
        self._alone = False
        self._anchor, self._ahead = self._work.committed, 0
        if self._queue.is_stale:
            self._queue = self._open()

    def _get_again(self, msg_id: bytes) -> None:
        """Get a message that was got before the connection was lost; it went back to where it was."""
        work = self._work
        if work.messages == 0:
            work.begin()
        plan = next_get(self._position, complete_groups_only=False)
        match_options = plan.match_options
        if self._position.at_start:
            match_options |= MatchOption.MATCH_MSG_ID
        md = st.md(msg_id=msg_id, group_id=plan.group_id, msg_seq_number=plan.msg_seq_number, offset=plan.offset)
        got = self._queue.get(md, self._gmo(replace(plan, match_options=match_options), 0))
        if got is None or got[1][st.MD_MSG_ID] != msg_id:
            raise MessagesTaken(self._settings.queue, self._position.group_id, self._position.msg_seq_number + 1)
        work.data_bytes += len(self._accept(got).data)
        work.messages += 1

    def _back_out(self, error: Exception | None) -> None:
        """Go back to the last commit; tell ``error`` where that is."""
        self._group = None
        self._run = None
        self._unit.clear()
        self._moved.clear()
        if self._partner is not None:
            self._partner.back_out()
        self._work.back_out(type(error).__name__ if error else "")
        self._anchor, self._ahead = self._work.committed, 0
        if isinstance(error, MQIError):
            error.context = ". ".join(part for part in (error.context, self._work.last_known_commit()) if part)

    def _incomplete(self, group_id: bytes, msg_seq_number: int, offset: int) -> GroupIncomplete:
        position = self._position
        expected = position.msg_seq_number + 1
        return GroupIncomplete(
            f"queue {self._settings.queue}: expected message {expected}{_at(position.offset)} of group "
            f"{position.group_id.hex()}, got message {msg_seq_number}{_at(offset)} of group {group_id.hex()}. It was backed "
            "out and is on the queue; browse the group",
            status_queue=self._settings.status_queue,
            group_id=position.group_id,
            found=msg_seq_number,
            expected=expected,
        )

    def _close(self, *, finish: bool, delete: bool = False) -> None:
        if self._closed:
            return
        self._closed = True
        self._group = None
        try:
            self._work.back_out()
            self._anchor, self._ahead = self._work.committed, 0
            self._unit.clear()
            if finish:
                self._work.finish()
        finally:
            if self._backout is not None:
                self._backout.close()
            self._queue.close()
            self._status.close(delete=delete)


def _at(offset: int) -> str:
    return f" from offset {offset}" if offset else ""

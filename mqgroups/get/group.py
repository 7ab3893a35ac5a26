"""IncomingGroup: a message group that an application gets, message by message.

Each message is checked before the application gets it (``message_check.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from mqgroups.connection.interruptions import Turn
from mqgroups.core.group_key import group_key
from mqgroups.core.group_properties import name_of
from mqgroups.core.status import Checkpoint
from mqgroups.errors import (
    GroupAbandoned,
    GroupQuarantined,
    GroupStalled,
    GroupUsage,
)
from mqgroups.get.getter import Getter
from mqgroups.get.message_check import MessageCheck
from mqgroups.mqi.abc import PropertyValue
from mqgroups.mqi.message import Message
from mqgroups.printable import even_half_made
from mqgroups.status.hooks import checked_hook
from mqgroups.status.keeper import check_can_be_kept, require_kept

_log = logging.getLogger("mqgroups.get")


class IncomingGroup:
    """A message group being got. Iterate over it once.

    Attributes:
        group_id: 24 bytes; ``MQGI_NONE`` for a message in no group, which is returned as a group of one message.
        key: the group's identity, 48 bytes: its GroupId and the MsgId of its first message. The MsgId is 24 zero bytes if an
            operator has rebuilt the group's status record.
        repeats: whether it has the key of the group that this consumer completed before it; false in a group that is resumed,
            and after a start without a status record.
        resume_from: how many messages of the group were consumed in committed units of work before this iteration.
        checkpoint: the application's checkpoint of the last commit in this group; ``None`` in a new group.
        ends: in ``before_commit``: whether the commit ends the group.
        abandoned: in ``before_commit``: the error if it ends it because its producer gave the group up; else ``None``.
        quarantined: in ``before_commit``: the error if it ends it because the rest went to the backout queue; else ``None``.
            What was processed is not there again: keep it, or put it aside with the reason.
        has_ended: whether its last message is processed and committed, or the group was abandoned or moved; or another consumer
            got it before this one committed any of it.
    """

    def __init__(
        self,
        getter: Getter,
        group_id: bytes,
        resume_from: int = 0,
        checkpoint: Checkpoint = None,
        first: Message | None = None,
    ) -> None:
        self._getter = getter
        self._first = first
        note = getter.owner.unit.note
        self._properties = note.properties if first is None else first.properties
        self.key = group_key(group_id, note.first_msg_id if first is None else first.msg_id)
        self._check = MessageCheck(getter, self.key)
        self.repeats = first is not None and getter.repetition.repeats
        self._segment: Message | None = None
        self.asked_before_commit: BeforeCommit | None = None
        self.started = False
        self.ends = False
        self.abandoned: GroupAbandoned | None = None
        self.quarantined: GroupQuarantined | None = None
        self.has_ended = False
        self.group_id = group_id
        self.resume_from = resume_from
        self.checkpoint: Any = checkpoint

    @property
    def properties(self) -> Mapping[str, PropertyValue]:
        """The properties of the group's first message, also if the group was interrupted after it.

        Raises:
            GroupPropertiesLost: the group was interrupted, and its status record does not have them.
        """
        return require_kept(self._properties, self.group_id, self._getter.status.name)

    @property
    def name(self) -> str:
        """The name that the producer gave the group; empty if it gave none, or it is not known."""
        return name_of(self._properties)

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Commit ``checkpoint`` (bytes or a JSON value) with the next syncpoint.

        Call it while processing the message that it belongs to, or in a ``before_commit`` function.

        Raises:
            GroupUsage: the consumer is no longer getting this group, or the checkpoint is neither bytes nor a JSON value.
        """
        if not self._is_current:
            raise GroupUsage(
                "the consumer is not getting this group any more. Set a group's checkpoint while iterating over its messages"
            )
        check_can_be_kept(checkpoint)
        self._getter.owner.set_checkpoint(checkpoint)

    def before_commit(self, function: BeforeCommit) -> BeforeCommit:
        """Call ``function(group)`` before each syncpoint of this group, after the consumer's function. Usable as a decorator.

        See ``GroupConsumer.before_commit``.
        """
        self.asked_before_commit = checked_hook("before_commit", function)
        return function

    def __iter__(self) -> Iterator[Message]:
        """Return the remaining messages of the group, in sequence.

        Raises:
            GroupStalled: the next message did not come within ``group_wait_s``. The processed messages are committed.
            GroupQuarantined: the same, and the rest of the group was moved to the backout queue (``stalled="quarantine"``).
            Stopped: ``stop`` was called, and the group has more messages. The processed messages are committed.
            GroupIncomplete: the message that came is not the next one.
            CcsidUnknown: the consumer has a codec, and there is no code page for a message's text. The messages before it are
                committed.
            GroupUsage: the group was iterated over before, or the consumer is getting another one.
            MQGroupsError: any other failure. The unit of work is backed out; iterate over the consumer again.
        """
        if self.started or not self._is_current:
            raise GroupUsage(
                "this group was iterated over already, or the consumer is getting another one. Iterate over a group once, when "
                "the consumer returns it"
            )
        self.started = True
        return _Messages(self, self._getter.turn)

    @even_half_made
    def __repr__(self) -> str:
        return f"<IncomingGroup group={self.group_id.hex()} resume_from={self.resume_from} of {self._getter!r}>"

    @property
    def _is_current(self) -> bool:
        return self._getter.group is self

    def advance(self, processed: Message | None) -> Message | None:
        """Return the message after ``processed``, ``None`` at the end; for the iterator."""
        getter = self._getter
        telemetry = getter.owner.telemetry
        try:
            if processed is None:
                message, self._first = self._first, None
            else:
                # The application asks for more, so it has processed this one.
                if telemetry.each_message:
                    telemetry.messages.processed()
                if getter.turn.interrupted or getter.group is not self:
                    raise self._not_current()
                if not processed.is_plain and not processed.is_last_segment:
                    processed = self._last_segment()
                if getter.message_processed(processed):
                    return None
                message = None
            if message is None:
                message = getter.take()
            # Most messages need no check.
            if not message.is_plain or getter.decode is not None:
                message = self._checked(message)
        except Exception as error:
            if self._is_current:
                getter.back_out(error)
            raise
        if message is not None and (telemetry.each_message or message.taken is not None):
            telemetry.hand_out(message)
        return message

    def _checked(self, message: Message) -> Message | None:
        """Return the message if it is for the application, else get it again; ``None`` if another consumer has got it."""
        while not self._check(message):
            again = self._taken_again()
            if again is None:
                return None
            message = again
        if not message.is_last_segment:
            message.followed_by(self._next_of_message)
            self._segment = message
        return message

    def _taken_again(self) -> Message | None:
        """Get a message again that was backed out as a suspect.

        Returns ``None`` if it was the first of its group, which another consumer has got meanwhile. The next iteration has what
        else there is.
        """
        getter = self._getter
        try:
            message = getter.take()
        except GroupStalled:
            if not getter.cursor.position.at_start:
                raise
        else:
            begins = message.msg_seq_number == 1 and not message.offset
            if not begins or group_key(message.group_id, message.msg_id) == self.key:
                return message
        getter.back_out(None)
        self.has_ended = True
        return None

    def _not_current(self) -> GroupUsage:
        if self._getter.turn.interrupted:
            self._getter.group = None
            return GroupUsage(
                "a call was interrupted in this group. Iterate over the consumer again, which resumes the group"
            )
        return GroupUsage(
            "the consumer has gone on to another group, or is closed. Iterate over the group that it returned last"
        )

    # --- messages in segments

    def _next_of_message(self) -> Message:
        """Get the next segment for the application. The one before is processed, so a syncpoint may be taken between them."""
        with self._getter.turn:
            if self._getter.turn.interrupted or not self._is_current:
                raise self._not_current()
            try:
                return self._next_segment()
            except Exception as error:
                if self._is_current:
                    self._getter.back_out(error)
                raise

    def _next_segment(self) -> Message:
        assert self._segment is not None
        self._getter.segment_processed(self._segment)
        self._segment = self._getter.take()
        return self._segment

    def _last_segment(self) -> Message:
        """Get the segments of a message that the application did not ask for; returns the last one."""
        assert self._segment is not None
        while not self._segment.is_last_segment:
            self._next_segment()
        return self._segment


class _Messages:
    """The messages of a group. Not a generator: if two threads called one, Python would fail before ``Turn`` could refuse one."""

    def __init__(self, group: IncomingGroup, turn: Turn) -> None:
        self._group = group
        self._turn = turn
        self._message: Message | None = None
        self._ended = False

    def __iter__(self) -> _Messages:
        return self

    def __next__(self) -> Message:
        with self._turn:
            if not self._ended:
                # If the next call raises, the iteration has ended.
                self._ended = True
                self._message = message = self._group.advance(self._message)
                if message is not None:
                    self._ended = False
                    return message
        raise StopIteration


BeforeCommit: TypeAlias = Callable[[IncomingGroup], None]

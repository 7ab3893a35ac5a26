"""IncomingGroup: a message group that an application gets, one message at a time.

Each message is checked before the application gets it (``message_check.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Literal, NamedTuple, TypeAlias

from mqgroups.core.group_key import group_key
from mqgroups.core.group_properties import GroupProperties, name_of
from mqgroups.core.model import GROUP_ID_LENGTH
from mqgroups.core.status import Checkpoint
from mqgroups.errors import GroupAbandoned, GroupQuarantined, GroupStalled, GroupUsage
from mqgroups.get.getter import Getter
from mqgroups.get.iteration import Iteration
from mqgroups.get.message_check import is_for_application
from mqgroups.mqi.abc import PropertyValue
from mqgroups.mqi.message import Message
from mqgroups.printable import even_half_made
from mqgroups.status.hooks import checked_hook
from mqgroups.status.keeper import check_can_be_kept, require_kept

_log = logging.getLogger("mqgroups.get")


class _GetStart(NamedTuple):
    """What the consumer knows about a group when it returns the group; see the properties of ``IncomingGroup``."""

    key: bytes
    properties: GroupProperties
    resume_from: int
    checkpoint: Checkpoint
    repeats: bool


class _GetState(Enum):
    """How far the application has come with a group."""

    NEW = "not iterated over"
    STARTED = "iterated over"
    ENDED = "its end is committed, or another consumer got it"


class IncomingGroup:
    """A message group that the application is getting. Iterate over it once."""

    def __init__(self, getter: Getter, first: Message | None) -> None:
        """Begin or resume a group. ``first``: the group's first message; ``None`` if the group was interrupted."""
        self._getter = getter
        owner = getter.owner
        note, committed = owner.unit.note, owner.committed
        if first is None:
            key = group_key(committed.group_id, note.first_msg_id)
            start = _GetStart(key, note.properties, committed.msg_seq_number, owner.committed_checkpoint, repeats=False)
        else:
            key = group_key(first.group_id, first.msg_id)
            start = _GetStart(key, first.properties, 0, None, getter.repeats(first))
        self._start = start
        # The first message, until the application gets it; then the last segment that was got.
        self._in_hand = first
        self._asked_before_commit: BeforeCommit | None = None
        self._state = _GetState.NEW
        # The error with which the present commit ends the group; ``None`` if it completes the group; else ``False``.
        self._end: GroupAbandoned | GroupQuarantined | Literal[False] | None = False

    @property
    def group_id(self) -> bytes:
        """The GroupId, 24 bytes. A message that is in no group is returned as a group of one message, with ``MQGI_NONE``."""
        return self.key[:GROUP_ID_LENGTH]

    @property
    def key(self) -> bytes:
        """The group's identity, 48 bytes: its GroupId and the MsgId of its first message.

        The MsgId is 24 zero bytes if an operator has rebuilt the group's status record.
        """
        return self._start.key

    @property
    def repeats(self) -> bool:
        """Whether the group has the same key as the group that this consumer completed before it.

        ``False`` for a resumed group, and for the first group after a start that found no status record.
        """
        return self._start.repeats

    @property
    def resume_from(self) -> int:
        """How many messages of the group the application had processed and committed when the consumer returned the group."""
        return self._start.resume_from

    @property
    def checkpoint(self) -> Any:
        """The checkpoint that the last commit had stored when the consumer returned the group; ``None`` in a new group."""
        return self._start.checkpoint

    @property
    def ends(self) -> bool:
        """Whether the next commit ends the group. Use this in ``before_commit``."""
        return self._end is not False

    @property
    def abandoned(self) -> GroupAbandoned | None:
        """In ``before_commit``: the error if the next commit ends a group that its producer has abandoned; otherwise ``None``."""
        return self._end if isinstance(self._end, GroupAbandoned) else None

    @property
    def quarantined(self) -> GroupQuarantined | None:
        """In ``before_commit``: the error if the next commit ends a group whose rest went to the backout queue; else ``None``.

        The processed messages are not on the backout queue. So keep them, or store them elsewhere with the reason.
        """
        return self._end if isinstance(self._end, GroupQuarantined) else None

    @property
    def has_ended(self) -> bool:
        """Whether the end of the group is committed. The end of an abandoned or moved group counts, too.

        Also ``True`` if another consumer got the group before this consumer committed any of its messages.
        """
        return self._state is _GetState.ENDED

    @property
    def properties(self) -> Mapping[str, PropertyValue]:
        """The properties of the group's first message. They are available even if the group was interrupted after that message.

        Raises:
            GroupPropertiesLost: the group was interrupted, and its status record does not have the properties.
        """
        return require_kept(self._start.properties, self.group_id, self._getter.owner.keeper.name)

    @property
    def name(self) -> str:
        """The name that the producer gave the group; empty if the group has no name, or if the name is unknown."""
        return name_of(self._start.properties)

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Let the next syncpoint commit ``checkpoint``, which is bytes or a JSON value.

        Call this while processing the message that the checkpoint belongs to, or in a ``before_commit`` function.

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
        """Register a function for this group only, to call after the function of ``GroupConsumer.before_commit``; see there."""
        self._asked_before_commit = checked_hook("before_commit", function)
        return function

    def __iter__(self) -> Iterator[Message]:
        """Return an iterator over the remaining messages of the group, in sequence.

        Raises:
            GroupStalled: the next message did not come within ``group_wait_s``. The processed messages are committed.
            GroupQuarantined: the next message did not come or is poison. The rest of the group was moved to the backout queue.
            Stopped: ``stop`` was called, and the group has more messages. The processed messages are committed.
            GroupIncomplete: the message that came is not the group's next message.
            CcsidUnknown: the consumer's codec has no code page for a message's text. The earlier messages are committed.
            GroupUsage: the group was iterated over before, or the consumer is getting another group.
            MQGroupsError: any other failure. The unit of work is backed out; iterate over the consumer again.
        """
        if self._state is not _GetState.NEW or not self._is_current:
            raise GroupUsage(
                "this group was iterated over already, or the consumer is getting another one. Iterate over a group once, when "
                "the consumer returns it"
            )
        self._state = _GetState.STARTED
        return Iteration(self._getter.connection.turn, self._advance)

    @even_half_made
    def __repr__(self) -> str:
        return f"<IncomingGroup group={self.group_id.hex()} resume_from={self.resume_from} of {self._getter!r}>"

    def _ends_with(self, error: GroupAbandoned | GroupQuarantined | None) -> None:
        """Remember that the next commit ends the group. ``error``: why the group is incomplete; ``None`` if it is complete."""
        self._end = error

    def _is_over(self) -> None:
        """Remember that the end of the group is committed."""
        self._state = _GetState.ENDED

    @property
    def _is_new(self) -> bool:
        """Whether the application has not iterated over the group yet."""
        return self._state is _GetState.NEW

    @property
    def _is_current(self) -> bool:
        return self._getter.group is self

    def _advance(self, processed: Message | None) -> Message | None:
        """Return the iterator's next message; ``None`` at the end of the group. ``processed``: the previous message."""
        getter = self._getter
        telemetry = getter.owner.telemetry
        try:
            if processed is None:
                message, self._in_hand = self._in_hand, None
            else:
                # The application asks for another message, so it has processed this one.
                if telemetry.each_message:
                    telemetry.messages.processed()
                if getter.connection.turn.interrupted or getter.group is not self:
                    raise self._not_current()
                if not processed._is_plain and not processed.is_last_segment:
                    processed = self._last_segment()
                if getter.message_processed(processed):
                    return None
                message = None
            if message is None:
                message = getter.take()
            # Most messages need no check.
            if not message._is_plain or getter.settings.codec is not None:
                message = self._checked(message)
        except Exception as error:
            if self._is_current:
                getter.back_out(error)
            raise
        if message is not None and (telemetry.each_message or message._taken is not None):
            telemetry.hand_out(message)
        return message

    def _checked(self, message: Message) -> Message | None:
        """Check a message, and return it. Get it again if the check backs it out. Return ``None`` if another consumer got it."""
        while not is_for_application(self._getter, self.key, message):
            again = self._taken_again()
            if again is None:
                return None
            message = again
        if not message.is_last_segment:
            message._followed_by(self._next_of_message)
            self._in_hand = message
        return message

    def _taken_again(self) -> Message | None:
        """Get the suspect again, a message that the check has backed out.

        Return ``None`` if the suspect was its group's first message, and another consumer has got the group meanwhile.
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
        self._state = _GetState.ENDED
        return None

    def _not_current(self) -> GroupUsage:
        if self._getter.connection.turn.interrupted:
            self._getter.group = None
            return GroupUsage(
                "a call was interrupted in this group. Iterate over the consumer again, which resumes the group"
            )
        return GroupUsage(
            "the consumer has gone on to another group, or is closed. Iterate over the group that it returned last"
        )

    # --- messages in segments

    def _next_of_message(self) -> Message:
        """Get the next segment for the application. The previous segment counts as processed, so a syncpoint can follow it."""
        turn = self._getter.connection.turn
        with turn:
            if turn.interrupted or not self._is_current:
                raise self._not_current()
            try:
                return self._next_segment()
            except Exception as error:
                if self._is_current:
                    self._getter.back_out(error)
                raise

    def _next_segment(self) -> Message:
        assert self._in_hand is not None
        self._getter.segment_processed(self._in_hand)
        self._in_hand = self._getter.take()
        return self._in_hand

    def _last_segment(self) -> Message:
        """Get those segments of the message that the application has not asked for. Return the last segment."""
        assert self._in_hand is not None
        while not self._in_hand.is_last_segment:
            self._next_segment()
        return self._in_hand


BeforeCommit: TypeAlias = Callable[[IncomingGroup], None]

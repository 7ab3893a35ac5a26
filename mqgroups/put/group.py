"""OutgoingGroup: a message group that an application puts, one message at a time.

``producer.py`` explains why one message is held back. ``putter.py`` puts the messages.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import Enum
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

from mqgroups.code_pages import UTF_8
from mqgroups.connection.interruptions import WithBlock
from mqgroups.core.group import GroupPosition, MessagePart
from mqgroups.core.group_properties import NO_PROPERTIES, GroupProperties, name_of
from mqgroups.core.model import GROUP_ID_NONE
from mqgroups.core.status import Checkpoint, Done
from mqgroups.errors import ConfigurationError, EmptyGroup, GroupUsage, MQGroupsError, Stopped
from mqgroups.mqi.abc import PropertyValue
from mqgroups.printable import even_half_made
from mqgroups.put.payload import (
    HIGHEST_RESULT,
    MessageKind,
    Payload,
    Stream,
    check_stream,
    data_and_kind,
    is_last,
    pieces,
)
from mqgroups.put.properties import NAME_OF_ITS_OWN, sentence_of, with_group_properties
from mqgroups.put.putter import Putter
from mqgroups.status.keeper import check_can_be_kept, require_kept
from mqgroups.telemetry.forgotten import tell_forgotten
from mqgroups.telemetry.semantic_conventions import BACKED_OUT

_log = logging.getLogger("mqgroups.put")


class _PutStart(NamedTuple):
    """What the producer knows about a group when ``producer.group()`` returns it.

    ``committed``, ``checkpoint``: the position and the checkpoint of the last commit. ``properties``: the group's properties;
    ``None`` if unknown. ``done``: set if the group is complete already, so that nothing can be put.
    """

    committed: GroupPosition
    checkpoint: Any
    properties: GroupProperties
    done: Done | None


class _PutState(Enum):
    """How far the application has come with a group. A group that was not used can be dropped without being ended."""

    NOT_USED = "not used"
    USED = "used"
    PUT = "its first message since the start is put, or held back"
    ENDED = "ended"


# Looked up once, because looking up a member of an enum takes long.
_NOT_USED, _USED, _PUT, _ENDED = _PutState
_WHOLE = MessagePart.WHOLE
_WHOLE_PAYLOADS = (bytes, str, bytearray, memoryview)

# Like ``Unsent``, but not cut into segments yet.
_Given: TypeAlias = "tuple[bytes | Stream, MessageKind, Checkpoint, bool, MessagePart]"


class OutgoingGroup(WithBlock):
    """A message group that the application is putting. ``producer.group()`` returns it, for use in a ``with`` statement."""

    def __init__(
        self,
        putter: Putter,
        properties: GroupProperties = NO_PROPERTIES,
        *,
        done: Done | None = None,
    ) -> None:
        """Begin or resume a group.

        ``properties``: the group's properties; ``None`` if unknown. ``done``: set if the group is complete already.
        """
        self._state = _NOT_USED if done is None else _ENDED
        self._putter = putter
        self._turn = putter.turn
        # The message held back until it is known whether it is the last one; ``None`` after the group's end.
        self._held: _Given | None = None
        # The checkpoint of the message that is put next.
        self._checkpoint: Checkpoint = None
        self._failure: str | None = None
        owner = putter.owner
        committed = owner.committed if done is None else GroupPosition(GROUP_ID_NONE, done.messages)
        checkpoint = None if committed.at_start else owner.committed_checkpoint
        self._start = _PutStart(committed, checkpoint, properties, done)

    @property
    def resume_from(self) -> int:
        """The number of this group's messages that were committed when ``producer.group()`` returned it; 0 in a new group."""
        return self._start.committed.msg_seq_number

    @property
    def resume_offset(self) -> int:
        """How many bytes of the next message are committed already, if it was interrupted between its segments; else 0.

        Put that message again from its beginning. The group skips the committed bytes.
        """
        return self._start.committed.offset

    @property
    def checkpoint(self) -> Any:
        """The checkpoint of this group's last commit when ``producer.group()`` returned the group; ``None`` in a new group."""
        return self._start.checkpoint

    @property
    def properties(self) -> Mapping[str, PropertyValue]:
        """The group's properties, as given to ``producer.group()``. An interrupted group has those of its first message.

        Raises:
            GroupPropertiesLost: the group was interrupted, and its status record does not have the properties.
        """
        owner = self._putter.owner
        return require_kept(self._start.properties, owner.committed.group_id, owner.keeper.name)

    @property
    def name(self) -> str:
        """The group's name; empty if the group has no name, or its name is unknown."""
        return name_of(self._start.properties)

    @property
    def is_complete(self) -> bool:
        """Whether the group is complete already, because the last named group that this producer completed has the same name.

        If so, ``resume_from`` is the number of all its messages, leaving the block puts nothing, and ``put`` raises GroupUsage.
        """
        return self._start.done is not None

    @property
    def _has_ended(self) -> bool:
        """Whether the group has ended, so that no more messages can be put."""
        return self._state is _ENDED

    @property
    def _is_begun(self) -> bool:
        """Whether the application has used this group."""
        return self._state is not _NOT_USED

    @property
    def _has_failed(self) -> bool:
        """Whether a call on this group failed, so that the group was backed out to the last commit."""
        return self._failure is not None

    def put(
        self,
        payload: Payload,
        *,
        last: bool | None = None,
        format: str | None = None,
        ccsid: int | None = None,
        correl_id: bytes | None = None,
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> None:
        """Put the next message. Without ``last``, the message is held back until the next call or the end of the block.

        Args:
            payload: ``str`` is put as text (MQSTR, in UTF-8 or ``ccsid``), ``bytes`` unchanged, ``bytearray`` and ``memoryview``
                as copies. A stream (a binary file, or any iterable of bytes) is read piece by piece, and put in segments.
            last: whether this is the group's last message. ``None`` leaves this to the end of the ``with`` block. A stream is not
                held back, so it needs ``True`` or ``False``.
            format: the message's format name, up to 8 characters. The default is MQSTR for ``str``, and none for ``bytes``.
            ccsid: the coded character set of the text, by default UTF-8 (1208). A ``str`` is encoded in it. ``bytes`` are only
                labelled with it. Without ``ccsid``, ``bytes`` with ``format="MQSTR"`` must be valid UTF-8.
            correl_id: the message's CorrelId, 24 bytes.
            properties: message properties by name: ``str``, ``int`` (MQTYPE_INT32, or MQTYPE_INT64 for larger values), ``bool``,
                ``float``, ``bytes`` or ``None``. Each segment of a message has them. The group's first message also has the
                group's properties.

        Raises:
            Stopped: ``GroupProducer.stop`` was called. The earlier messages are committed. This message and the one that is held
                back are not put.
            QueueUnavailable: the queue was full or put-inhibited for longer than ``full_wait_s``. The earlier messages are
                committed, except on a wrapped connection. After an asynchronous put (``put_response``), a later call in the unit
                of work can raise this error, or any other error of the queue manager.
            GroupUsage: the group has ended, or an earlier call failed.
            MessageRefused: the payload, a property, the format or the CorrelId is invalid. Nothing of this message is put, and
                the next ``put`` continues the group. Invalid data in a stream is found only while the stream is read. Then the
                unit of work is backed out.
            MQGroupsError: any other failure. The unit of work is backed out. Leave the ``with`` block; the next
                ``producer.group()`` continues after the last commit.
        """
        with self._turn:
            self._check_open()
            is_first = self._state is not _PUT
            begun = self._begun if is_first else None
            if is_first:
                properties = self._with_properties(properties)
            if isinstance(payload, _WHOLE_PAYLOADS):
                payload, kind = data_and_kind(payload, format, correl_id, properties, ccsid)
                if last is not None or begun is not None:
                    last = is_last(last, begun)
            else:
                check_stream(payload)
                last = is_last(last, begun)
                _, kind = data_and_kind(None, format, correl_id, properties, ccsid)
            self._state = _PUT
            checkpoint, self._checkpoint = self._checkpoint, None
            held, given = self._held, (payload, kind, checkpoint, last or False, _WHOLE)
            self._held = given if last is None else None
            if held is not None:
                self._put(held)
            if last is not None:
                self._put(given, begun.offset if begun is not None else 0)
                if last:
                    self._state = _ENDED

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Commit ``checkpoint`` (bytes or a JSON value) together with the next message that is put.

        Call this before the ``put`` of the message that the checkpoint belongs to. Do not change the value afterwards. The
        checkpoint stays valid until another one is set.

        Raises:
            GroupUsage: the group has ended, an earlier call failed, or the checkpoint is neither bytes nor a JSON value. In the
                last case the group continues without this checkpoint.
        """
        self._check_open()
        check_can_be_kept(checkpoint)
        self._checkpoint = checkpoint

    def abandon(self, result: int = 0, reason: str = "") -> None:
        """End the group without completing it: put an empty last message, for which consumers raise ``GroupAbandoned``.

        Uncommitted messages of the group are backed out. If no message is committed, no consumer can have seen the group, and
        nothing is put.

        Args:
            result: a number for consumers, 0 or more; the application chooses its meaning.
            reason: a text for people who read the message. It is put as the message property ``mqgroups.Reason``.

        Raises:
            ConfigurationError: the result is negative, or too large for an application's feedback code (MQFB_APPL_LAST).
            GroupUsage: the group has ended, or its last message is committed only in part. Put such a message again.
            MQGroupsError: any other failure. The group is not abandoned, and ``producer.group()`` resumes it.
        """
        with self._turn:
            if self._state is _ENDED:
                raise self._not_open()
            if isinstance(result, bool) or not isinstance(result, int) or not 0 <= result <= HIGHEST_RESULT:
                raise ConfigurationError(f"the result of an abandoned group is 0 to {HIGHEST_RESULT}, got {result!r}")
            if not isinstance(reason, str):
                raise ConfigurationError(f"the reason of an abandoned group is a text, got {reason!r}")
            self._held = None
            try:
                self._putter.abandon(result, reason)
            finally:
                self._state = _ENDED

    def _let_go(self) -> None:
        """End the group without an MQI call, so that it accepts no more messages. The producer backs out uncommitted messages."""
        self._state, self._held = _ENDED, None

    @property
    def _begun(self) -> GroupPosition | None:
        """The position after the committed segments of the next message; ``None`` if no segment of it is committed."""
        committed = self._start.committed
        return committed if committed.offset else None

    def _with_properties(self, properties: Mapping[str, PropertyValue] | None) -> Mapping[str, PropertyValue] | None:
        """Return the properties of the next message. If it is the group's first message, they include the group's properties."""
        start = self._start
        if start.committed.msg_seq_number or not start.properties:
            return properties
        return with_group_properties(start.properties, properties)

    def _put(self, message: _Given, offset: int = 0) -> None:
        """Put a message without its first ``offset`` bytes, which are committed already."""
        payload, kind, checkpoint, last, _ = message
        putter = self._putter
        try:
            most = putter.settings.segment_bytes
            if not offset and isinstance(payload, bytes) and (most is None or len(payload) <= most):
                if not last:
                    putter.stop_if_asked()
                putter.put(message)  # type: ignore[arg-type]  # its payload is bytes
                return
            for data, part in pieces(payload, putter.segment_bytes(payload), offset, text=kind.ccsid == UTF_8):
                ends = part is not MessagePart.SEGMENT
                if not (ends and last):
                    putter.stop_if_asked()
                putter.put((data, kind, checkpoint if ends else None, last, part))
        except BaseException as error:
            self._fail(error)
            raise

    def _fail(self, error: BaseException) -> None:
        # This includes KeyboardInterrupt, because it is not known whether the interrupted call put the message.
        self._failure, self._held = f"{type(error).__name__}: {error}", None
        self._putter.back_out(error)

    def _check_open(self) -> None:
        if self._turn.interrupted and self._failure is None:
            self._failure, self._held = "a call that was interrupted", None
        if self._state is _ENDED or self._failure is not None:
            raise self._not_open()
        if self._state is _NOT_USED:
            self._state = _USED

    def _not_open(self) -> GroupUsage:
        if self._failure is not None:
            return GroupUsage(
                f"this group failed with {self._failure}. Leave its with block; the next producer.group() resumes the group"
            )
        if self._start.done is not None:
            return GroupUsage(f"{sentence_of(self._start.done)}, so it takes no more. {NAME_OF_ITS_OWN}")
        return GroupUsage("this group has ended. Call producer.group() for the next one")

    def __enter__(self) -> OutgoingGroup:
        return self

    def __del__(self) -> None:
        # A failed group has already raised its error.
        if getattr(self, "_state", _ENDED) in (_USED, _PUT) and self._failure is None:
            tell_forgotten(
                f"{self!r} was not ended, so its last messages are not committed. Use `with producer.group() as group`",
                self,
                self._turn.pid,
            )

    def _leave_block(
        self, _kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._state is _ENDED:
            return
        # The group ends only after the turn is taken. After an earlier interruption it must still count as left by its block.
        with self._turn:
            try:
                if error is None:
                    self._complete()
                elif self._failure is None:
                    self._putter.owner.telemetry.application_failed(error)
                    self._putter.back_out(BACKED_OUT)
                if error is not None and (self._failure is None or isinstance(error, Stopped)):
                    self._abandon_after(error)
            finally:
                self._let_go()

    def _abandon_after(self, error: BaseException) -> None:
        try:
            self._putter.abandon_interrupted(f"{type(error).__name__} in its block")
        except MQGroupsError as failed:
            # The application has to see its own error. The next group, or the next start, tries again.
            self._putter.owner.log(_log, logging.WARNING, "%r could not abandon its group: %s", self._putter, failed)

    def _complete(self) -> None:
        self._check_open()
        held, self._held = self._held, None
        if held is None or self._checkpoint is not None:
            self._putter.back_out(BACKED_OUT)
            raise self._incomplete(held)
        self._put((*held[:3], True, _WHOLE))

    def _incomplete(self, held: _Given | None) -> GroupUsage | EmptyGroup:
        if held is not None:
            return GroupUsage(
                "set_checkpoint was called after the group's last put, but a checkpoint is committed with the next message. Set "
                "it before that put. The group can be resumed from its last commit"
            )
        if self.resume_from == 0:
            return EmptyGroup("the group has no message, so nothing was put. A group needs at least one message")
        return EmptyGroup(
            f"the group was resumed after {self.resume_from} messages and ended without another one, so its last message is "
            "missing. The group can still be resumed: put the messages after group.resume_from"
        )

    @even_half_made
    def __repr__(self) -> str:
        state = "failed" if self._failure else "ended" if self._has_ended else "open"
        return f"<OutgoingGroup resume_from={self.resume_from} {state} of {self._putter!r}>"

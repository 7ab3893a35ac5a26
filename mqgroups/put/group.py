"""OutgoingGroup: a message group as an application puts it, message after message.

``producer.py`` tells why a message is held back; ``putter.py`` puts.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import NamedTuple, TypeAlias

from mqgroups.connection.turn import Turn
from mqgroups.core.group import MessagePart
from mqgroups.core.status import Checkpoint
from mqgroups.errors import EmptyGroup, GroupUsage
from mqgroups.mqi.abc import PropertyValue
from mqgroups.put.payload import (
    BYTES,
    HIGHEST_RESULT,
    MessageKind,
    Payload,
    Stream,
    Unsent,
    check_stream,
    data_and_kind,
    pieces,
)
from mqgroups.put.putter import Putter
from mqgroups.status.keeper import check_can_be_kept

_Leave: TypeAlias = Callable[[type[BaseException] | None, BaseException | None, TracebackType | None], None]


class _Exit:
    """``OutgoingGroup.__exit__``, made anew for each with statement.

    The statement has it from before the block until it has left it, and nobody else. So its end tells that the block was left,
    even where an interruption comes before the first instruction of ``__exit__`` or behind the last: nothing else could.
    """

    def __get__(self, group: OutgoingGroup | None, _: type[OutgoingGroup]) -> _Leave:
        if group is None:
            return OutgoingGroup._leave_block  # type: ignore[return-value]  # not bound, as contextlib.ExitStack asks for it
        leave = partial(group._leave_block)
        group._in_block = weakref.ref(leave)
        return leave


class Held(NamedTuple):
    """A payload that is put when it is known whether it is the group's last."""

    payload: bytes
    kind: MessageKind
    checkpoint: Checkpoint


class OutgoingGroup:
    """A message group being put: what ``with producer.group() as group`` gives.

    Attributes:
        resume_from: how many messages of this group are committed already; 0 in a new group.
        resume_offset: how many bytes of the message after these are committed, if it was interrupted between its segments.
            Give it from its beginning all the same; what is committed of it is passed over.
        checkpoint: the application's checkpoint of the last commit in this group, ``None`` in a new one.
    """

    def __init__(self, putter: Putter, turn: Turn) -> None:
        # Whether anything was asked of it: until then nobody misses it.
        self.is_begun = False
        self._putter = putter
        self._turn = turn
        self._held: Held | None = None
        # Of the message that is put next.
        self._checkpoint: Checkpoint = None
        self._ended = False
        self._in_block: weakref.ref[_Leave] | None = None
        self._failure: str | None = None
        committed = putter.owner.committed
        # Of a message that was begun: what is committed of it, and whether its segments say that it is the last.
        self._begun, self._begun_last = committed.offset, committed.in_last_message
        self.resume_from = committed.msg_seq_number
        self.resume_offset = committed.offset
        self.checkpoint: Checkpoint = None if committed.at_start else putter.owner.committed_checkpoint

    @property
    def has_ended(self) -> bool:
        """Whether nothing can be put any more."""
        return self._ended

    @property
    def was_left(self) -> bool:
        """Whether its with block was left, and an interruption kept that from being noted otherwise."""
        return not self._ended and self._in_block is not None and self._in_block() is None

    def put(
        self,
        payload: Payload,
        *,
        last: bool | None = None,
        format: str | None = None,
        correl_id: bytes | None = None,
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> None:
        """Put the next message of the group; really the one before, see the module.

        Args:
            payload: ``str`` goes as UTF-8 text (MQSTR, CCSID 1208), ``bytes`` as they are, ``bytearray`` and ``memoryview`` as
                copies. A stream (a binary file, or any iterable of bytes) goes in segments, while it is read.
            last: whether it is the group's last message. ``None`` leaves that to the end of the ``with`` block, which a
                stream cannot wait for.
            format: the message's format name, up to 8 characters, instead of MQSTR or none.
            correl_id: the message's CorrelId, 24 bytes.
            properties: message properties by name: ``str``, ``int`` (MQTYPE_INT32, or MQTYPE_INT64 if it needs that),
                ``bool``, ``float``, ``bytes`` or ``None``. Messages in segments have them with each segment.

        Raises:
            QueueFull, QueueInhibited: the queue stayed full, or its puts inhibited, for ``full_wait_s``. What was put before
                is committed.
            GroupUsage: the group has ended, or has failed before.
            MessageRefused: the payload, a property, the format or the CorrelId is not what a message can have. Of this message
                nothing is put then, and the group goes on with the next ``put``. What a stream gives is seen when it is read:
                then the unit of work is backed out.
            MQGroupsError: what else goes wrong. The unit of work is backed out; leave the ``with`` block, and the next
                ``producer.group()`` goes on after the last commit.
        """
        with self._turn:
            self._put_payload(payload, last, format, correl_id, properties)

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Have ``checkpoint`` (bytes or a JSON value) committed with the message that is put next.

        Call it before the ``put`` of the message it speaks of, and do not change the value afterwards. A message without one
        leaves the checkpoint as it is.

        Raises:
            GroupUsage: the group has ended, or has failed before; or the checkpoint cannot be kept. The group goes on without it
                if it has not failed before.
        """
        self._check_open()
        check_can_be_kept(checkpoint)
        self._checkpoint = checkpoint

    def _put_payload(
        self,
        payload: Payload,
        last: bool | None,
        format: str | None,
        correl_id: bytes | None,
        properties: Mapping[str, PropertyValue] | None,
    ) -> None:
        self._check_open()
        kind = BYTES
        if isinstance(payload, (bytes, str, bytearray, memoryview)):
            payload, kind = data_and_kind(payload, format, correl_id, properties)
        else:
            check_stream(payload)
            last = self._known(last)
            _, kind = data_and_kind(b"", format, correl_id, properties)
        checkpoint, self._checkpoint = self._checkpoint, None
        if last is None and not self._begun:
            held, self._held = self._held, Held(payload, kind, checkpoint)  # type: ignore[arg-type]  # no stream
            if held is not None:
                self._put(*held, last=False)
            return
        held, self._held = self._held, None
        if held is not None:
            self._put(*held, last=False)
        last = self._known(last)
        self._put(payload, kind, checkpoint, last=last)
        if last:
            self._ended = True

    def abandon(self, result: int = 0, reason: str = "") -> None:
        """End the group without completing it: an empty last message says so, and consumers get ``GroupAbandoned``.

        What is not committed of the group is backed out. If nothing of it is, nobody knows of it, and nothing is put.

        Args:
            result: the application's own, 0 or more; consumers see it.
            reason: in words, for who looks at the message: its property ``mqgroups.Reason``.

        Raises:
            GroupUsage: the group has ended, or its last message is half put, and can only be put to its end.
            MQGroupsError: what else goes wrong; the group is where it was, and ``producer.group()`` resumes it.
        """
        with self._turn:
            if self._ended:
                raise self._not_open()
            if not 0 <= result <= HIGHEST_RESULT:
                raise ValueError(f"the result of an abandoned group is 0 to {HIGHEST_RESULT}, got {result!r}")
            self.is_begun = True
            self._held = None
            putter = self._putter
            try:
                putter.back_out(None)
                putter.recover()
                committed = putter.owner.committed
                if committed.offset and committed.in_last_message:
                    raise GroupUsage(
                        f"message {committed.msg_seq_number + 1} is the group's last and half put: consumers would take what is "
                        "there for all of it. Put it to its end"
                    )
                if not committed.at_start:
                    putter.abandon(result, reason)
            finally:
                self._ended = True

    def close(self) -> None:
        """End it, for the producer: nothing can be put any more. What is not committed is for the producer to back out."""
        self._ended = True
        self._held = None

    def _known(self, last: bool | None) -> bool:
        """Return whether the next message is the last: what is said, or what the segments say that there are."""
        if self._begun:
            if last is not None and last is not self._begun_last:
                raise GroupUsage(
                    f"message {self.resume_from + 1} was begun with last={self._begun_last}; its rest cannot say otherwise"
                )
            return self._begun_last
        if last is None:
            raise GroupUsage(
                "what is neither bytes nor str is put as a stream, and of a stream it has to be said whether it is the group's "
                "last message: put(..., last=False)"
            )
        return last

    def _put(self, payload: bytes | Stream, kind: MessageKind, checkpoint: Checkpoint, *, last: bool) -> None:
        begun, self._begun = self._begun, 0
        putter = self._putter
        try:
            if not begun and isinstance(payload, bytes) and len(payload) <= putter.whole_bytes:
                putter.put(Unsent(payload, kind, checkpoint, last, MessagePart.WHOLE))
                return
            for data, part in pieces(payload, putter.segment_bytes(payload), begun):
                ends = part is not MessagePart.SEGMENT
                putter.put(Unsent(data, kind, checkpoint if ends else None, last, part))
        except BaseException as error:
            # An interrupted call (KeyboardInterrupt) too: nobody knows whether it put the message.
            self._failure = f"{type(error).__name__}: {error}"
            putter.back_out(error)
            raise

    def _check_open(self) -> None:
        if self._turn.interrupted and self._failure is None:
            self._failure = "a call that was interrupted"
        if self._ended or self._failure is not None:
            raise self._not_open()
        self.is_begun = True

    def _not_open(self) -> GroupUsage:
        if self._failure is not None:
            return GroupUsage(
                f"this group stopped with {self._failure}. Leave its with block, and the next producer.group() resumes it"
            )
        return GroupUsage("this group has ended; producer.group() begins the next one")

    def __enter__(self) -> OutgoingGroup:
        return self

    def __del__(self) -> None:
        if getattr(self, "is_begun", False) and not self._ended:
            warnings.warn(
                f"{self!r} was not ended: use `with producer.group() as group`. What was put since the last commit is not "
                "committed",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )

    __exit__ = _Exit()

    def _leave_block(
        self, _kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._ended:
            return
        # Not ended before the turn is taken: an interruption that comes earlier must leave the group as one that was left.
        with self._turn:
            try:
                self._leave(error)
            finally:
                self.close()

    def _leave(self, error: BaseException | None) -> None:
        if error is not None:
            if self._failure is None:
                self._putter.back_out(None)
            return
        self._check_open()
        if self._held is None:
            self._putter.back_out(None)
            raise self._empty()
        if self._checkpoint is not None:
            self._putter.back_out(None)
            raise GroupUsage(
                "set_checkpoint was called after the group's last put. A checkpoint is committed with the message that is put "
                "next, so set it before that put. The group stays resumable at its last commit"
            )
        held, self._held = self._held, None
        self._put(*held, last=True)

    def _empty(self) -> EmptyGroup:
        if self.resume_from == 0:
            return EmptyGroup("a group needs at least one message; nothing was put")
        return EmptyGroup(
            f"the group was resumed after {self.resume_from} messages and ended without another one, so its last "
            "message is missing; the group stays resumable. Put what follows after group.resume_from"
        )

    def __repr__(self) -> str:
        state = "failed" if self._failure else "ended" if self._ended else "open"
        return f"<OutgoingGroup resume_from={self.resume_from} {state} of {self._putter!r}>"

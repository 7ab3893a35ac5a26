"""A queue: its messages in delivery order, each at its place.

Messages keep the place they took when they were put: first by priority (or by the queue's default priority where
delivery is FIFO), then by arrival. A message that is got in a unit of work leaves the indexes and, if backed out,
returns to the very same place; one that is put in a unit of work enters them at commit, at the place it took at MQPUT.
So "available" is one thing only: being in ``Queue.available``.

Not here: who may get what (``calls/getting.py``), units of work, disk, indexes (``index.py``, ``group.py``). All methods are
called under the queue manager's lock.
"""

from __future__ import annotations

import heapq
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sortedcontainers import SortedDict

from mqgroups.embedded.messages.group import Group
from mqgroups.embedded.messages.index import Index
from mqgroups.embedded.messages.logical_order import IN_GROUP, IS_SEGMENT
from mqgroups.embedded.messages.marks import Marks
from mqgroups.embedded.messages.segments import ANY_REPORT, NO_REPORT
from mqgroups.embedded.messages.waiting import WaitingCalls
from mqgroups.embedded.objects.attributes import LOCAL, Value
from mqgroups.embedded.wire.structures import NO_GROUP, NO_ID
from mqgroups.mqi import constants as mq

_MSG_TYPE_AND_FEEDBACK = struct.Struct("<i4xi")
_MSG_TYPE_OFFSET = 12
_ORIGINAL_LENGTH = struct.Struct("<i")
_ORIGINAL_LENGTH_OFFSET = 360
# Arrival positions count up from 1 for the whole queue manager; 56 bits last for 70 million years at a million a
# second.
_POSITION_BITS = 56


def order_key(priority: int, position: int) -> int:
    """Return the key that sorts messages as they are delivered: higher priority first, then earlier arrival."""
    return (9 - priority) << _POSITION_BITS | position


class Message:
    """A physical message. ``md`` is its version 2 descriptor, 364 bytes, whose backout count is not kept up to date.

    ``properties`` are those that came through a message handle, as the variable part of an MQRFH2; they are no part of
    ``data``, whose length is the message's.
    """

    __slots__ = (
        "backout_count",
        "correl_id",
        "data",
        "expires_at_s",
        "group_id",
        "key",
        "locked_by",
        "md",
        "msg_flags",
        "msg_id",
        "msg_seq_number",
        "offset",
        "persistent",
        "position",
        "properties",
        "queue",
    )

    def __init__(
        self,
        queue: Queue,
        position: int,
        priority: int,
        md: bytes,
        data: bytes,
        *,
        group_fields: tuple[bytes, int, int, int],
        persistent: bool,
        backout_count: int = 0,
        expires_at_s: float | None = None,
    ) -> None:
        self.queue = queue
        self.position = position
        self.key = order_key(priority, position)
        self.md = md
        self.data = data
        self.properties = b""
        self.msg_id = md[48:72]
        self.correl_id = md[72:96]
        self.group_id, self.msg_seq_number, self.offset, self.msg_flags = group_fields
        self.persistent = persistent
        self.backout_count = backout_count
        self.expires_at_s = expires_at_s
        # The handle that locks it.
        self.locked_by: object | None = None

    def move_to(self, position: int) -> None:
        """Take another place among messages of the same priority; the message must not be available."""
        self.key = order_key(self.key_priority, position)
        self.position = position

    @property
    def key_priority(self) -> int:
        """The priority that decides its place, which under FIFO delivery is not the one in its descriptor."""
        return 9 - (self.key >> _POSITION_BITS)

    @property
    def starts_in_logical_order(self) -> bool:
        """Whether an MQGET in logical order with nothing open may return it: sequence number 1, offset 0."""
        return self.msg_seq_number == 1 and self.offset == 0

    @property
    def feedback(self) -> int:
        """Feedback of a report message, NO_REPORT for any other."""
        msg_type, feedback = _MSG_TYPE_AND_FEEDBACK.unpack_from(self.md, _MSG_TYPE_OFFSET)
        return feedback if msg_type == mq.MQMT_REPORT else NO_REPORT

    @property
    def extent(self) -> int:
        """How many bytes of its logical message it stands for: those it has, or its OriginalLength if it is a report on a
        segment (topic q022880)."""
        if self.msg_flags & IS_SEGMENT and self.feedback != NO_REPORT:
            original_length: int = _ORIGINAL_LENGTH.unpack_from(self.md, _ORIGINAL_LENGTH_OFFSET)[0]
            return original_length
        return len(self.data)


@dataclass(frozen=True, slots=True)
class Match:
    """What an MQGET selects by; None matches anything."""

    msg_id: bytes | None = None
    correl_id: bytes | None = None
    group_id: bytes | None = None
    msg_seq_number: int | None = None
    offset: int | None = None
    position: int | None = None

    @property
    def is_specific(self) -> bool:
        """Whether it selects certain messages by an identifier."""
        return (self.msg_id, self.correl_id, self.group_id, self.position) != (None, None, None, None)

    def accepts(self, message: Message) -> bool:
        """Whether the message has all the values."""
        return (
            (self.msg_id is None or message.msg_id == self.msg_id)
            and (self.correl_id is None or message.correl_id == self.correl_id)
            and (self.group_id is None or message.group_id == self.group_id)
            and (self.msg_seq_number is None or message.msg_seq_number == self.msg_seq_number)
            and (self.offset is None or message.offset == self.offset)
            and (self.position is None or message.position == self.position)
        )


# Messages in delivery order: all there are by their keys, or a few, for which making a dictionary would take longer than
# looking at each.
InOrder: TypeAlias = "SortedDict[int, Message] | Sequence[Message]"


def _key(message: Message) -> int:
    return message.key


class Queue:
    """A local queue, predefined or dynamic.

    ``held`` counts every message that is not gone: available, got or put in an open unit of work, on its way to or from the
    disk. ``depth`` is CURDEPTH.
    """

    def __init__(
        self,
        name: str,
        values: dict[int, Value],
        definition_type: int = mq.MQQDT_PREDEFINED,
        *,
        depth_counts_gets: bool = False,
    ) -> None:
        self.name = name
        self.values = values
        self.type = LOCAL
        self.definition_type = definition_type
        self.created = time.localtime()
        self.deleted = False
        # Its managed subscription is gone; it goes as soon as nobody uses it.
        self.abandoned = False
        self.held = 0
        self.uncommitted_puts = 0
        self.uncommitted_gets = 0
        self._depth_counts_gets = depth_counts_gets
        self.open_count = 0
        self.open_input_count = 0
        self.open_output_count = 0
        self.exclusive_input_count = 0
        self.available: SortedDict[int, Message] = SortedDict()
        self._heads: SortedDict[int, Message] = SortedDict()
        self._by_msg_id: Index[Message] = Index()
        self._by_correl_id: Index[Message] = Index()
        self._groups: dict[bytes, Group[Message]] = {}
        # When available messages expire, with their keys; those that are gone meanwhile are passed over.
        self._expiring: list[tuple[float, int]] = []
        self.waiting = WaitingCalls()
        # Handles that lock messages.
        self.locking: set[object] = set()
        # Called when messages become available: the channel that sends them.
        self.on_arrival: Callable[[], None] | None = None
        self.marks = Marks()
        # What RESET QSTATS tells and sets back: messages put and got, whether in a unit of work or not, and the time.
        self.enqueued = 0
        self.dequeued = 0
        self.highest_depth = 0
        self.statistics_since_s = time.monotonic()

    @property
    def depth(self) -> int:
        """CURDEPTH: with messages put in open units of work; whether with those got in them is a reading."""
        return self.held if self._depth_counts_gets else self.held - self.uncommitted_gets

    @property
    def uncommitted(self) -> int:
        """How many messages are put or got in open units of work."""
        return self.uncommitted_puts + self.uncommitted_gets

    @property
    def in_transit(self) -> int:
        """How many messages are just being put or got outside syncpoint: on their way to or from the disk."""
        return self.held - len(self.available) - self.uncommitted

    def oldest(self) -> Message | None:
        """Return the available message that arrived first: one of those that are first of their priority."""
        found = []
        for priority in range(10):
            first, behind = order_key(priority, 0), order_key(priority - 1, 0)
            key = next(self.available.irange(first, behind, inclusive=(True, False)), None)
            if key is not None:
                found.append(self.available[key])
        return min(found, key=lambda message: message.position, default=None)

    def count_puts(self, messages: int) -> None:
        """Count messages that were put, in a unit of work or not."""
        self.held += messages
        self.enqueued += messages
        self.highest_depth = max(self.highest_depth, self.depth)

    def uncount(self, puts: int, gets: int) -> None:
        """Uncount what was put and got in a unit of work that has ended; ``held`` is already without what is gone.

        What is backed out may take the depth higher than any put did.
        """
        self.uncommitted_puts -= puts
        self.uncommitted_gets -= gets
        self.highest_depth = max(self.highest_depth, self.depth)

    def integer(self, selector: int) -> int:
        """Return an integer attribute."""
        value = self.values[selector]
        assert isinstance(value, int)
        return value

    def delivery_priority(self, priority: int) -> int:
        """Return the priority that decides the place of a message put now (topic MsgDeliverySequence)."""
        fifo = self.values[mq.MQIA_MSG_DELIVERY_SEQUENCE] == mq.MQMDS_FIFO
        return self.integer(mq.MQIA_DEF_PRIORITY) if fifo else priority

    def make_available(self, messages: Iterable[Message]) -> None:
        """Let MQGET find these messages, each at its own place, and wake who waits."""
        for message in messages:
            self.available[message.key] = message
            if message.starts_in_logical_order:
                self._heads[message.key] = message
            if message.expires_at_s is not None:
                heapq.heappush(self._expiring, (message.expires_at_s, message.key))
            self._by_msg_id.add(message.msg_id, message)
            if message.correl_id != NO_ID:
                self._by_correl_id.add(message.correl_id, message)
            if message.group_id != NO_GROUP:
                group = self._groups.get(message.group_id)
                if group is None:
                    group = self._groups[message.group_id] = Group()
                group.add(message)
        self.wake()
        if self.on_arrival is not None:
            self.on_arrival()

    def withdraw(self, message: Message) -> None:
        """Take an available message out of what MQGET finds. It still counts in ``held``."""
        del self.available[message.key]
        message.locked_by = None
        self.marks.forget(message)
        if message.starts_in_logical_order:
            del self._heads[message.key]
        self._by_msg_id.remove(message.msg_id, message)
        if message.correl_id != NO_ID:
            self._by_correl_id.remove(message.correl_id, message)
        if message.group_id != NO_GROUP:
            group = self._groups[message.group_id]
            group.remove(message)
            if not group.members:
                del self._groups[message.group_id]

    def expire(self, now_s: float) -> list[Message]:
        """Take the messages whose time is over off the queue and return them.

        They vanish when somebody looks for messages, not before; until then they count in ``depth`` (topic q097490).
        """
        expired: list[Message] = []
        while self._expiring and self._expiring[0][0] <= now_s:
            _, key = heapq.heappop(self._expiring)
            message = self.available.get(key)
            if message is not None:
                self.withdraw(message)
                expired.append(message)
        self.held -= len(expired)
        return expired

    def wake(self) -> None:
        """Let the MQGETs that wait look again, each in its turn: something changed that could satisfy or end a wait."""
        self.waiting.look_again()

    def group(self, group_id: bytes) -> Group[Message] | None:
        """Return the available messages of a group."""
        return self._groups.get(group_id)

    def candidates(self, match: Match, after_key: int | None = None) -> Iterator[Message]:
        """Yield the available messages that match, in physical order, those behind ``after_key`` only."""
        return self._select(self._narrowest(match), match, after_key)

    def heads(self, match: Match, after_key: int | None = None) -> Iterator[Message]:
        """Yield what an MQGET in logical order may start with, in order: sequence number 1 and offset 0, matching."""
        source = self._narrowest(match) if match.is_specific else self._heads
        return (m for m in self._select(source, match, after_key) if m.starts_in_logical_order)

    def _narrowest(self, match: Match) -> InOrder:
        if match.position is not None:
            keys = (order_key(priority, match.position) for priority in range(10))
            return sorted((self.available[key] for key in keys if key in self.available), key=_key)
        if match.msg_id is not None:
            return self._by_msg_id.bucket(match.msg_id)
        if match.group_id is not None and match.group_id != NO_GROUP:
            group = self._groups.get(match.group_id)
            if group is None:
                return ()
            if match.msg_seq_number is not None and match.offset is not None:
                return group.with_offset(match.msg_seq_number, match.offset)
            if match.msg_seq_number is not None:
                return group.with_number(match.msg_seq_number)
            return group.members
        if match.correl_id is not None and match.correl_id != NO_ID:
            return self._by_correl_id.bucket(match.correl_id)
        if match.msg_seq_number == 1 and match.offset == 0:
            return self._heads
        return self.available

    @staticmethod
    def _select(source: InOrder, match: Match, after_key: int | None) -> Iterator[Message]:
        if not isinstance(source, SortedDict):
            return (m for m in source if (after_key is None or m.key > after_key) and match.accepts(m))
        keys: Iterable[int] = source if after_key is None else source.irange(after_key, inclusive=(False, True))
        return (source[key] for key in keys if match.accepts(source[key]))

    def group_is_available(self, head: Message) -> bool:
        """Whether everything that belongs to the group of this message is there; true for one that is in no group."""
        group = self._groups.get(head.group_id)
        if group is None:
            return True
        if not head.msg_flags & IN_GROUP:
            return group.has_logical_message(head.msg_seq_number)
        return group.is_complete()

    def has_all_segments(self, message: Message) -> bool:
        """Whether the logical message that this one belongs to is there, for a report one for each segment, of whatever type."""
        if not message.msg_flags & IS_SEGMENT:
            return True
        group = self._groups.get(message.group_id)
        return group is not None and group.has_all_segments(message.msg_seq_number, _whatever_type(message))

    def all_segments(self, message: Message) -> list[Message]:
        """Return what ``has_all_segments`` looks for, by ascending offset, or nothing."""
        return self._segments(message, _whatever_type(message))

    def logical_message(self, message: Message) -> list[Message]:
        """Return the segments that can be joined with this one, or nothing if one is not there; reports have one Feedback."""
        return self._segments(message, message.feedback)

    def _segments(self, message: Message, feedback: int) -> list[Message]:
        if not message.msg_flags & IS_SEGMENT:
            return [message]
        group = self._groups.get(message.group_id)
        return group.segments(message.msg_seq_number, feedback) if group is not None else []


def _whatever_type(message: Message) -> int:
    return NO_REPORT if message.feedback == NO_REPORT else ANY_REPORT

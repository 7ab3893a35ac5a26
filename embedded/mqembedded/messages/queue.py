"""A queue: its messages in delivery order, each at its place.

A message keeps the place that it took when it was put: ordered first by priority (by the queue's default priority if delivery
is FIFO), then by arrival. A message that is got in a unit of work leaves the indexes; if it is backed out, it returns to
exactly the same place. A message that is put in a unit of work enters the indexes at commit, at the place that it took at
MQPUT. "Available" messages are those in ``Queue.available``.

Not here: which call gets which message (``calls/getting.py``), units of work, disk, indexes (``index.py``, ``group.py``). All
methods are called under the queue manager's lock.
"""

from __future__ import annotations

import heapq
import itertools
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from sortedcontainers import SortedDict

from mqembedded import constants as mq
from mqembedded.messages.groups import ALL, Groups, View, Whole
from mqembedded.messages.index import Index
from mqembedded.messages.logical_order import IS_SEGMENT
from mqembedded.messages.marks import Marks
from mqembedded.messages.segments import NO_REPORT
from mqembedded.messages.waiting import Identifier, WaitingCalls
from mqembedded.objects.attributes import LOCAL, Value, cap_on_expiry
from mqembedded.wire.structures import NO_ID

_MSG_TYPE_AND_FEEDBACK = struct.Struct("<i4xi")
_MSG_TYPE_OFFSET = 12
_ORIGINAL_LENGTH = struct.Struct("<i")
_ORIGINAL_LENGTH_OFFSET = 360
# Arrival positions count up from 1, once for the whole queue manager; 56 bits last for 2000 years at a million a second.
_POSITION_BITS = 56
# With fewer entries, outdated ones are not looked for.
_FEW = 1000
_POSITIONS = (1 << _POSITION_BITS) - 1


def order_key(priority: int, position: int) -> int:
    """Return the key that sorts messages as they are delivered: higher priority first, then earlier arrival."""
    return (9 - priority) << _POSITION_BITS | position


class Message:
    """A physical message. ``md`` is its version 2 descriptor, 364 bytes, with backout count 0.

    ``properties`` are those that came through a message handle, as the variable part of an MQRFH2. They are not part of
    ``data``, whose length is the message's length.
    """

    __slots__ = (
        "backout_count",
        "data",
        "expires_at_s",
        "group_id",
        "key",
        "locked_by",
        "md",
        "msg_flags",
        "msg_seq_number",
        "offset",
        "persistent",
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
        self.key = order_key(priority, position)
        self.md = md
        self.data = data
        self.properties = b""
        self.group_id, self.msg_seq_number, self.offset, self.msg_flags = group_fields
        self.persistent = persistent
        self.backout_count = backout_count
        self.expires_at_s = expires_at_s
        # The handle that has locked the message.
        self.locked_by: object | None = None

    def move_to(self, position: int) -> None:
        """Take another place among messages of the same priority; the message must not be available."""
        self.key = order_key(self.key_priority, position)

    @property
    def msg_id(self) -> bytes:
        """MsgId, 24 bytes."""
        return self.md[48:72]

    @property
    def correl_id(self) -> bytes:
        """CorrelId, 24 bytes."""
        return self.md[72:96]

    @property
    def position(self) -> int:
        """The place in order of arrival, unique in the queue manager."""
        return self.key & _POSITIONS

    @property
    def key_priority(self) -> int:
        """The priority that decides its place. With FIFO delivery this is not the priority in its descriptor."""
        return 9 - (self.key >> _POSITION_BITS)

    @property
    def starts_in_logical_order(self) -> bool:
        """Whether an MQGET in logical order may start with it: sequence number 1, offset 0."""
        return self.msg_seq_number == 1 and self.offset == 0

    @property
    def identifiers(self) -> tuple[Identifier, ...]:
        """The values by which an MQGET may select it; see ``Match.identifier``."""
        return tuple((name, getattr(self, name)) for name in _SELECTED_BY)

    @property
    def feedback(self) -> int:
        """The Feedback of a report message, NO_REPORT for any other."""
        msg_type, feedback = _MSG_TYPE_AND_FEEDBACK.unpack_from(self.md, _MSG_TYPE_OFFSET)
        return feedback if msg_type == mq.MQMT_REPORT else NO_REPORT

    @property
    def extent(self) -> int:
        """The number of bytes of the logical message that this message stands for.

        That is its own length, or OriginalLength of a report on a segment (IBM MQ, "Reports and segmented messages").
        """
        if self.msg_flags & IS_SEGMENT and self.feedback != NO_REPORT:
            original_length: int = _ORIGINAL_LENGTH.unpack_from(self.md, _ORIGINAL_LENGTH_OFFSET)[0]
            return original_length
        return len(self.data)


class Match(NamedTuple):
    """The criteria of an MQGET; None matches anything."""

    msg_id: bytes | None = None
    correl_id: bytes | None = None
    group_id: bytes | None = None
    msg_seq_number: int | None = None
    offset: int | None = None
    position: int | None = None

    @property
    def identifier(self) -> Identifier | None:
        """The most selective criterion; None if there is none."""
        values = ((name, getattr(self, name)) for name in _SELECTED_BY)
        return next(((name, value) for name, value in values if value is not None), None)

    @property
    def is_specific(self) -> bool:
        """Whether these criteria contain an identifier."""
        return (self.msg_id, self.correl_id, self.group_id, self.position) != (None, None, None, None)

    def accepts(self, message: Message) -> bool:
        """Whether the message matches all criteria."""
        return (
            (self.msg_id is None or message.msg_id == self.msg_id)
            and (self.correl_id is None or message.correl_id == self.correl_id)
            and (self.group_id is None or message.group_id == self.group_id)
            and (self.msg_seq_number is None or message.msg_seq_number == self.msg_seq_number)
            and (self.offset is None or message.offset == self.offset)
            and (self.position is None or message.position == self.position)
        )


ANYTHING = Match()
# The fields by which an MQGET selects messages, the most selective first.
_SELECTED_BY = ("msg_id", "group_id", "correl_id", "msg_seq_number", "offset")
# Messages in delivery order: a dictionary by key, or a sequence of a few, for which a dictionary would not be worth it.
InOrder: TypeAlias = "SortedDict[int, Message] | Sequence[Message]"
_key = attrgetter("key")


class Queue:
    """A local queue, predefined or dynamic.

    ``held`` counts the messages that are available, put or got in an open unit of work, or on their way to or from the disk.
    ``depth`` is CURDEPTH.
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
        # The number of the handle that created the queue, if it is dynamic; no other handle has that number.
        self.created_by: int | None = None
        # Whether its managed subscription is gone. The queue is then deleted as soon as nobody uses it.
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
        self.groups: Groups[Message] = Groups(self.available)
        # Created when first needed; most queues are read from the front only.
        self._by_msg_id: Index[bytes, Message] | None = None
        self._by_correl_id: Index[bytes, Message] | None = None
        # Expiry times of available messages, with their keys; entries for messages that are gone are ignored.
        self._expiring: list[tuple[float, int]] = []
        self.waiting = WaitingCalls()
        # The handles that have locked messages.
        self.locking: set[object] = set()
        # Called when messages become available. The channel that sends them sets it.
        self.on_arrival: Callable[[], None] | None = None
        self.marks = Marks()
        # The values of RESET QSTATS, which also resets them: messages put and got, in syncpoint or not, and the time.
        self.enqueued = 0
        self.dequeued = 0
        self.highest_depth = 0
        self.statistics_since_s = time.monotonic()

    @property
    def depth(self) -> int:
        """CURDEPTH. It counts messages that were put in open units of work. Whether it counts those got in them is a reading."""
        return self.held if self._depth_counts_gets else self.held - self.uncommitted_gets

    @property
    def uncommitted(self) -> int:
        """The number of messages put or got in open units of work."""
        return self.uncommitted_puts + self.uncommitted_gets

    @property
    def in_transit(self) -> int:
        """The number of messages that are being put or got outside syncpoint: on their way to or from the disk."""
        return self.held - len(self.available) - self.uncommitted

    def oldest(self) -> Message | None:
        """Return the available message that arrived first."""
        found = []
        for priority in range(10):
            first, behind = order_key(priority, 0), order_key(priority - 1, 0)
            key = next(self.available.irange(first, behind, inclusive=(True, False)), None)
            if key is not None:
                found.append(self.available[key])
        return min(found, key=lambda message: message.position, default=None)

    def count_puts(self, messages: int) -> None:
        """Count messages that were put, in syncpoint or not."""
        self.held += messages
        self.enqueued += messages
        depth = self.depth
        if depth > self.highest_depth:
            self.highest_depth = depth

    def uncount(self, puts: int, gets: int) -> None:
        """Uncount the puts and gets of a unit of work that has ended. ``held`` already excludes messages that are gone.

        Gets that were backed out may raise the depth above its maximum so far.
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
        """Return the priority that decides the place of a message that is put now (IBM MQ, "MsgDeliverySequence")."""
        fifo = self.values[mq.MQIA_MSG_DELIVERY_SEQUENCE] == mq.MQMDS_FIFO
        return self.integer(mq.MQIA_DEF_PRIORITY) if fifo else priority

    def expires_at_s(self, expiry: int, opened: Mapping[int, Value] | None = None) -> float | None:
        """Return the time at which a message with this Expiry, put now, expires; None for never.

        The lowest CAPEXPRY of the objects that a put goes through limits any Expiry (IBM MQ, "Enforcing lower expiration
        times"): of this queue, and of the one that was opened, whose attributes are ``opened``.
        """
        own = None if expiry == mq.MQEI_UNLIMITED else expiry
        limits = [own, cap_on_expiry(self.values), cap_on_expiry(opened or {})]
        lowest = min((limit for limit in limits if limit is not None), default=None)
        return None if lowest is None else time.time() + lowest / 10

    def make_available(self, messages: Sequence[Message]) -> None:
        """Make these messages available, each at its place, and let waiting calls look that could get one of them."""
        for message in messages:
            self.available[message.key] = message
            self.groups.add(message)
            if message.expires_at_s is not None:
                self._note_expiry(message.expires_at_s, message.key)
            if self._by_msg_id is not None:
                self._by_msg_id.add(message.msg_id, message)
            if self._by_correl_id is not None and message.correl_id != NO_ID:
                self._by_correl_id.add(message.correl_id, message)
        if self.waiting:
            self._let_look(messages)
        if self.on_arrival is not None:
            self.on_arrival()

    def _note_expiry(self, expires_at_s: float, key: int) -> None:
        heapq.heappush(self._expiring, (expires_at_s, key))
        if len(self._expiring) > 2 * len(self.available) + _FEW:
            # Most messages with an expiry time are got long before it.
            self._expiring = [each for each in self._expiring if each[1] in self.available]
            heapq.heapify(self._expiring)

    def _let_look(self, arrived: Sequence[Message]) -> None:
        if len(self.waiting) <= len(arrived):
            # Finding out which of these few calls to ask would take longer.
            self.waiting.look_again()
            return
        whole = map(self.groups.made_whole_by, arrived if self.waiting.want_whole else ())
        self.waiting.look_for(_identifiers(arrived), _identifiers(itertools.chain.from_iterable(whole)))

    def let_look_behind(self, gone: Iterable[Message]) -> None:
        """Let waiting calls look that could get a message now that these are gone.

        Several segments may have the same offset; the first one counts. When it is gone, the next one may complete a logical
        message.
        """
        if self.waiting.want_whole:
            whole = map(self.groups.made_whole_by, gone)
            self.waiting.look_for((), _identifiers(itertools.chain.from_iterable(whole)))

    def withdraw(self, message: Message) -> None:
        """Remove a message from the available ones. ``held`` still counts it."""
        del self.available[message.key]
        message.locked_by = None
        self.marks.forget(message)
        self.groups.remove(message)
        if self._by_msg_id is not None:
            self._by_msg_id.remove(message.msg_id, message)
        if self._by_correl_id is not None and message.correl_id != NO_ID:
            self._by_correl_id.remove(message.correl_id, message)

    def expire(self, now_s: float) -> list[Message]:
        """Remove the expired messages from the queue, and return them.

        Expired messages stay until somebody looks for messages; until then they count in ``depth`` (IBM MQ, "Expiry").
        """
        expired: list[Message] = []
        if not self._expiring:
            return expired
        while self._expiring and self._expiring[0][0] <= now_s:
            _, key = heapq.heappop(self._expiring)
            message = self.available.get(key)
            if message is not None:
                self.withdraw(message)
                expired.append(message)
        self.held -= len(expired)
        self.let_look_behind(expired)
        return expired

    def wake(self) -> None:
        """Let the waiting MQGETs look in their turns. Call it after a change that could satisfy or end a wait."""
        self.waiting.look_again()

    def candidates(self, match: Match, after_key: int | None = None, view: View = ALL) -> Iterator[Message]:
        """Yield the available messages of a view that match, in delivery order, only those after ``after_key``."""
        if match == ANYTHING:
            return _select(self.groups.view(view), match, after_key)
        if match.msg_seq_number == 1 and match.offset == 0:
            view = View(True, view.whole)
        if not match.is_specific:
            return _select(self.groups.view(view), match, after_key)
        found = _select(self._narrowest(match, view), match, after_key)
        if view.starts:
            found = (message for message in found if message.starts_in_logical_order)
        if view.whole is not Whole.MESSAGE:
            found = (message for message in found if self.groups.has(view.whole, message))
        return found

    def _narrowest(self, match: Match, view: View) -> InOrder:
        if match.position is not None:
            keys = (order_key(priority, match.position) for priority in range(10))
            return sorted((self.available[key] for key in keys if key in self.available), key=_key)
        if match.msg_id is not None:
            if self._by_msg_id is None:
                self._by_msg_id = self._indexed(lambda message: message.msg_id)
            return self._by_msg_id.bucket(match.msg_id)
        if match.group_id is not None:
            group = self.groups.get(match.group_id)
            if group is None:
                return ()
            seq, offset = (1, 0) if view.starts else (match.msg_seq_number, match.offset)
            if seq is None:
                return group.members
            return group.with_number(seq) if offset is None else group.with_offset(seq, offset)
        assert match.correl_id is not None
        if self._by_correl_id is None:
            self._by_correl_id = self._indexed(lambda message: message.correl_id)
        return self._by_correl_id.bucket(match.correl_id)

    def _indexed(self, identifier: Callable[[Message], bytes]) -> Index[bytes, Message]:
        index: Index[bytes, Message] = Index()
        for message in self.available.values():
            if identifier(message) != NO_ID:
                index.add(identifier(message), message)
        return index


def _select(source: InOrder, match: Match, after_key: int | None) -> Iterator[Message]:
    if not isinstance(source, SortedDict):
        return (m for m in source if (after_key is None or m.key > after_key) and match.accepts(m))
    keys: Iterable[int] = source if after_key is None else source.irange(after_key, inclusive=(False, True))
    found: Iterator[Message] = map(source.__getitem__, keys)
    return found if match == ANYTHING else filter(match.accepts, found)


def _identifiers(messages: Iterable[Message]) -> Iterable[Identifier]:
    return itertools.chain.from_iterable(message.identifiers for message in messages)

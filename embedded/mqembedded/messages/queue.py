"""A queue with its messages in delivery order.

A message keeps the place that it took when it was put. Places are ordered by priority, then by arrival. With FIFO delivery, the
priority is the queue's default priority. A message that is got in a unit of work leaves the indexes. If the get is backed out,
the message returns to the same place. A message that is put in a unit of work enters the indexes at commit, at the place that it
took at MQPUT. A message is called available if it is in ``Queue.available``.

``calls/getting.py`` decides which call gets which message. ``index.py`` and ``group.py`` have the indexes. Callers hold the queue
manager's lock.
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
# Arrival positions count up from 1 for the whole queue manager. 56 bits last for 2000 years at a million messages a second.
_POSITION_BITS = 56
# Outdated entries are removed only if there are at least this many entries.
_FEW = 1000
_POSITIONS = (1 << _POSITION_BITS) - 1


def order_key(priority: int, position: int) -> int:
    """Return the key that sorts messages in delivery order: higher priority first, then earlier arrival."""
    return (9 - priority) << _POSITION_BITS | position


class Message:
    """A physical message. ``md`` is its version 2 descriptor, 364 bytes, with backout count 0.

    ``properties`` come from a message handle, and have the form of the variable part of an MQRFH2. They are not part of ``data``
    and do not count in the message's length.
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
        """Move this message to another place among messages of the same priority. The message must not be available."""
        self.key = order_key(self.key_priority, position)

    @property
    def msg_id(self) -> bytes:
        """The message's MsgId, 24 bytes."""
        return self.md[48:72]

    @property
    def correl_id(self) -> bytes:
        """The message's CorrelId, 24 bytes."""
        return self.md[72:96]

    @property
    def position(self) -> int:
        """The message's number in the order of arrival. It is unique in the queue manager."""
        return self.key & _POSITIONS

    @property
    def key_priority(self) -> int:
        """The priority that decides the message's place. With FIFO delivery, it is the queue's default priority."""
        return 9 - (self.key >> _POSITION_BITS)

    @property
    def starts_in_logical_order(self) -> bool:
        """Whether an MQGET in logical order can start with this message: sequence number 1, offset 0."""
        return self.msg_seq_number == 1 and self.offset == 0

    @property
    def identifiers(self) -> tuple[Identifier, ...]:
        """The fields by which an MQGET can select this message, with their values; see ``Match.identifier``."""
        return tuple((name, getattr(self, name)) for name in _SELECTED_BY)

    @property
    def feedback(self) -> int:
        """The Feedback of a report message; NO_REPORT for any other message."""
        msg_type, feedback = _MSG_TYPE_AND_FEEDBACK.unpack_from(self.md, _MSG_TYPE_OFFSET)
        return feedback if msg_type == mq.MQMT_REPORT else NO_REPORT

    @property
    def extent(self) -> int:
        """The number of bytes that this message represents in its logical message.

        It is the message's length. For a report on a segment it is OriginalLength (IBM MQ, "Reports and segmented messages").
        """
        if self.msg_flags & IS_SEGMENT and self.feedback != NO_REPORT:
            original_length: int = _ORIGINAL_LENGTH.unpack_from(self.md, _ORIGINAL_LENGTH_OFFSET)[0]
            return original_length
        return len(self.data)


class Match(NamedTuple):
    """The criteria of an MQGET. A criterion that is None matches any message."""

    msg_id: bytes | None = None
    correl_id: bytes | None = None
    group_id: bytes | None = None
    msg_seq_number: int | None = None
    offset: int | None = None
    position: int | None = None

    @property
    def identifier(self) -> Identifier | None:
        """The field and the value of the most selective criterion, or None if there are no criteria."""
        values = ((name, getattr(self, name)) for name in _SELECTED_BY)
        return next(((name, value) for name, value in values if value is not None), None)

    @property
    def is_specific(self) -> bool:
        """Whether one of the criteria is an identifier or a position."""
        return (self.msg_id, self.correl_id, self.group_id, self.position) != (None, None, None, None)

    def accepts(self, message: Message) -> bool:
        """Return whether a message matches all criteria."""
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
# Messages in delivery order: a dictionary by key, or a sequence of so few messages that a dictionary would not be worth it.
InOrder: TypeAlias = "SortedDict[int, Message] | Sequence[Message]"
_key = attrgetter("key")


class Queue:
    """A local queue, predefined or dynamic.

    ``held`` is the number of messages that are available, that an open unit of work has put or got, or that a call is just
    writing or reading. ``depth`` is CURDEPTH.
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
        # For a dynamic queue, the number of the handle that created it. No other handle has this number.
        self.created_by: int | None = None
        # Whether the queue's managed subscription is gone. The queue is then deleted as soon as no handle uses it.
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
        # The first call that needs an index creates it, because most queues are read only from the front.
        self._by_msg_id: Index[bytes, Message] | None = None
        self._by_correl_id: Index[bytes, Message] | None = None
        # Expiry times and keys of available messages. Entries for messages that are gone are ignored.
        self._expiring: list[tuple[float, int]] = []
        self.waiting = WaitingCalls()
        # The handles that have locked messages.
        self.locking: set[object] = set()
        # Called when messages become available. The channel that sends them sets it.
        self.on_arrival: Callable[[], None] | None = None
        self.marks = Marks()
        # The values that RESET QSTATS returns and resets: messages put and got, in syncpoint or not, and the time.
        self.enqueued = 0
        self.dequeued = 0
        self.highest_depth = 0
        self.statistics_since_s = time.monotonic()

    @property
    def depth(self) -> int:
        """CURDEPTH, including uncommitted puts. A reading (``readings.py``) decides whether uncommitted gets are included."""
        return self.held if self._depth_counts_gets else self.held - self.uncommitted_gets

    @property
    def uncommitted(self) -> int:
        """The number of messages that open units of work have put or got."""
        return self.uncommitted_puts + self.uncommitted_gets

    @property
    def in_transit(self) -> int:
        """The number of messages that unfinished calls outside syncpoint put or get, for example while they write to the disk."""
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
        """Add this number of puts to the counts, whether the puts are in syncpoint or not."""
        self.held += messages
        self.enqueued += messages
        depth = self.depth
        if depth > self.highest_depth:
            self.highest_depth = depth

    def uncount(self, puts: int, gets: int) -> None:
        """Subtract an ended unit of work's puts and gets from the uncommitted counts. The caller has already updated ``held``.

        Gets that were backed out can raise the depth above its highest value up to now.
        """
        self.uncommitted_puts -= puts
        self.uncommitted_gets -= gets
        self.highest_depth = max(self.highest_depth, self.depth)

    def integer(self, selector: int) -> int:
        """Return the value of an integer attribute."""
        value = self.values[selector]
        assert isinstance(value, int)
        return value

    def delivery_priority(self, priority: int) -> int:
        """Return the priority that decides the place of a new message in delivery order (IBM MQ, "MsgDeliverySequence")."""
        fifo = self.values[mq.MQIA_MSG_DELIVERY_SEQUENCE] == mq.MQMDS_FIFO
        return self.integer(mq.MQIA_DEF_PRIORITY) if fifo else priority

    def expires_at_s(self, expiry: int, opened: Mapping[int, Value] | None = None) -> float | None:
        """Return the time when a message with this Expiry expires if a call puts it now. None means never.

        The lowest of Expiry, this queue's CAPEXPRY and the CAPEXPRY in ``opened`` is used. ``opened`` has the attributes of the
        object through which the message is put (IBM MQ, "Enforcing lower expiration times").
        """
        own = None if expiry == mq.MQEI_UNLIMITED else expiry
        limits = [own, cap_on_expiry(self.values), cap_on_expiry(opened or {})]
        lowest = min((limit for limit in limits if limit is not None), default=None)
        return None if lowest is None else time.time() + lowest / 10

    def make_available(self, messages: Sequence[Message]) -> None:
        """Make messages available at their places. Waiting calls that could get one of these messages look for messages."""
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
            # Most messages with an expiry time are got long before they expire.
            self._expiring = [each for each in self._expiring if each[1] in self.available]
            heapq.heapify(self._expiring)

    def _let_look(self, arrived: Sequence[Message]) -> None:
        if len(self.waiting) <= len(arrived):
            # For so few calls, finding out which of them should look would take longer.
            self.waiting.look_again()
            return
        whole = map(self.groups.made_whole_by, arrived if self.waiting.want_whole else ())
        self.waiting.look_for(_identifiers(arrived), _identifiers(itertools.chain.from_iterable(whole)))

    def let_look_behind(self, gone: Iterable[Message]) -> None:
        """Let waiting calls look again if they could get another message, now that these messages are gone.

        Of several segments with the same offset, only the first counts. When it is gone, the next can complete a logical message.
        """
        if self.waiting.want_whole:
            whole = map(self.groups.made_whole_by, gone)
            self.waiting.look_for((), _identifiers(itertools.chain.from_iterable(whole)))

    def withdraw(self, message: Message) -> None:
        """Remove a message from the available messages. ``held`` still includes the message."""
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

        An expired message stays, and counts in ``depth``, until a call looks for messages (IBM MQ, "Expiry").
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
        """Let the waiting MQGETs look for messages, one by one. Use this after a change that could satisfy or end a wait."""
        self.waiting.look_again()

    def candidates(self, match: Match, after_key: int | None = None, view: View = ALL) -> Iterator[Message]:
        """Yield a view's messages that match, in delivery order. If ``after_key`` is given, start after this key."""
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

"""The message groups on a queue, as browsing shows them: which messages of each group are there, and which are missing.

A physical message extends from its own place in the group to the place after it. After a segment, this is the next offset. After
any other message, it is the start of the next message. Adjacent messages are joined into runs, in any order of arrival. So a
group without gaps is one run, however long it is. Each gap adds a run. Message data is not read.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from mqgroups.core.group_key import MADE_BY_QUEUE_MANAGERS
from mqgroups.core.model import MsgFlag

_IN_GROUP = MsgFlag.MSG_IN_GROUP | MsgFlag.LAST_MSG_IN_GROUP
_SEGMENT, _LAST_SEGMENT = int(MsgFlag.SEGMENT), int(MsgFlag.LAST_SEGMENT)
# Each message may have been put by another application.
_MOST_NAMES = 10
_LAST_MSG_IN_GROUP = int(MsgFlag.LAST_MSG_IN_GROUP)
# A queue manager builds identifiers from a product name (4 bytes), 12 characters of its own name, and a clock (IBM MQ, MQMD,
# MsgId; for GroupId: read, not tried).
_Q_MGR_NAME = slice(4, 16)
# Places are stored as integers, which take 8 bytes each in an array.
_PLACES = 1 << 31


class MessagePlace(NamedTuple):
    """The place where a physical message begins in its group: the logical message's number, and the offset in bytes."""

    msg_seq_number: int
    offset: int = 0


HEAD = MessagePlace(1)


class MessageRun(NamedTuple):
    """Consecutive messages: the place where the first message begins, and the place after the last message."""

    first: MessagePlace
    end: MessagePlace


@dataclass(frozen=True, slots=True)
class Browsed:
    """A physical message, as its MQMD describes it."""

    group_id: bytes
    msg_seq_number: int
    offset: int
    length: int
    """The length of the data in bytes, without a dead-letter header."""
    msg_flags: MsgFlag
    persistence: int
    backout_count: int
    put_appl_name: str
    put_time: str
    """PutDate and PutTime, up to 16 digits in UTC."""
    abandons: bool = False
    """Whether it is the empty last message that a producer puts when it abandons a group."""
    dead_letter: bool = False
    """Whether a dead-letter header (MQDLH) is before its data."""
    user: str = ""
    msg_id: bytes = b""

    @property
    def in_group(self) -> bool:
        """Whether this is a message in a group, or a segment of a message in a group."""
        return bool(self.msg_flags & _IN_GROUP)


def _joined(bounds: array[int], first: MessagePlace, end: MessagePlace) -> bool:
    """Add a message to the runs, whose beginnings and ends are in ``bounds``. Return ``False`` if the message overlaps a run."""
    begin, behind = (number * _PLACES + offset for number, offset in (first, end))
    at = bisect_right(bounds, begin)
    # After an odd number of bounds, the place is in a run.
    if at % 2 or bisect_left(bounds, behind) > at:
        return False
    meets_before = at > 0 and bounds[at - 1] == begin
    meets_after = at < len(bounds) and bounds[at] == behind
    joined = [begin] * (not meets_before) + [behind] * (not meets_after)
    bounds[at - meets_before : at + meets_after] = array("q", joined)
    return True


@dataclass(slots=True)
class GroupInspection:
    """The messages of one group on a queue, counted while the queue is browsed."""

    group_id: bytes
    """GroupId, 24 bytes."""
    messages: int = 0
    """The number of physical messages."""
    data_bytes: int = 0
    """The length of the messages' data."""
    last: int = 0
    """The number of the message that is marked as the last of the group; 0 if no message is."""
    overlapping: int = 0
    """How many messages occur twice, or are segments that overlap other segments."""
    persistences: frozenset[int] = frozenset()
    """The persistence values of the messages. A group that was put as a group has only one."""
    backout_count: int = 0
    """The highest backout count of a message."""
    put_by: tuple[str, ...] = ()
    """The first ten applications that put the messages, in the order of the queue."""
    first_put: str = ""
    """The earliest PutDate and PutTime, 16 digits in UTC; empty if no message has them."""
    last_put: str = ""
    """The latest PutDate and PutTime, 16 digits in UTC; empty if no message has them."""
    abandoned: bool = False
    """Whether the producer has abandoned the group."""
    dead_letters: int = 0
    """How many messages have a dead-letter header (MQDLH) before their data."""
    _bounds: array[int] = field(default_factory=lambda: array("q"), repr=False)

    def add(self, message: Browsed) -> None:
        """Count one message of the group."""
        number = message.msg_seq_number
        flags = int(message.msg_flags)
        is_open = flags & _SEGMENT and not flags & _LAST_SEGMENT
        end = MessagePlace(number, message.offset + message.length) if is_open else MessagePlace(number + 1)
        self.overlapping += not _joined(self._bounds, MessagePlace(number, message.offset), end)
        self.messages += 1
        self.data_bytes += message.length
        if flags & _LAST_MSG_IN_GROUP:
            self.last = min(self.last or number, number)
        if message.persistence not in self.persistences:
            self.persistences |= {message.persistence}
        self.backout_count = max(self.backout_count, message.backout_count)
        if len(self.put_by) < _MOST_NAMES and message.put_appl_name not in self.put_by:
            self.put_by += (message.put_appl_name,)
        when = message.put_time
        self.first_put = min(self.first_put or when, when or self.first_put)
        self.last_put = max(self.last_put, when)
        self.abandoned = self.abandoned or message.abandons
        self.dead_letters += message.dead_letter

    @property
    def runs(self) -> tuple[MessageRun, ...]:
        """The runs of messages that are on the queue, in ascending order."""
        places = (MessagePlace(*divmod(bound, _PLACES)) for bound in self._bounds)
        return tuple(MessageRun(first, end) for first, end in zip(places, places, strict=True))

    @property
    def made_by(self) -> str:
        """The name, up to 12 characters, of the queue manager that made the GroupId and has the producer's record; or empty."""
        if not self.group_id.startswith(MADE_BY_QUEUE_MANAGERS):
            return ""
        return self.group_id[_Q_MGR_NAME].decode("ascii", "replace").rstrip()

    @property
    def needs_producer(self) -> bool:
        """Whether the last message is missing, and the group may be this package's, because a queue manager made the GroupId."""
        return not self.has_end and bool(self.made_by)

    def is_made_by(self, q_mgr_name: str) -> bool:
        """Return whether this queue manager may have made the GroupId."""
        return self.made_by in ("", q_mgr_name.encode("ascii", "replace").decode()[:12].rstrip())

    @property
    def first(self) -> MessagePlace:
        """The place where the first message on the queue begins. Without messages, it is the beginning of the group."""
        return MessagePlace(*divmod(self._bounds[0], _PLACES)) if self.messages else HEAD

    @property
    def end(self) -> MessagePlace:
        """The place after the last message on the queue. If that message lacks its end, the place has an offset."""
        return MessagePlace(*divmod(self._bounds[-1], _PLACES)) if self.messages else HEAD

    @property
    def last_msg_seq_number(self) -> int:
        """The highest message number on the queue. The message with this number may be incomplete."""
        return self.end.msg_seq_number - (self.end.offset == 0)

    @property
    def gaps(self) -> tuple[MessageRun, ...]:
        """The missing messages between the first and the last message on the queue."""
        return tuple(MessageRun(one.end, other.first) for one, other in pairwise(self.runs))

    @property
    def has_head(self) -> bool:
        """Whether the group's first message is on the queue. Otherwise an MQGET in logical order never returns the group."""
        return self.messages > 0 and self.first == HEAD

    @property
    def has_end(self) -> bool:
        """Whether the group's last message is completely on the queue."""
        return self.last > 0 and self.end >= MessagePlace(self.last + 1)

    @property
    def is_complete(self) -> bool:
        """Whether every message from the first to the last is on the queue exactly once."""
        return self.last > 0 and self.runs == (MessageRun(HEAD, MessagePlace(self.last + 1)),)

    @property
    def is_doubled(self) -> bool:
        """Whether some messages are on the queue twice. A consumer gets these messages twice, or stops at them."""
        return self.overlapping > 0

    @property
    def goes_on_after_last(self) -> bool:
        """Whether there are messages after the message that is marked as the last."""
        return self.last > 0 and self.end > MessagePlace(self.last + 1)

    @property
    def is_consistent(self) -> bool:
        """Whether one producer can have put all messages: none twice, none after the last, all with the same persistence."""
        return not self.overlapping and not self.goes_on_after_last and len(self.persistences) == 1


@dataclass(slots=True)
class BrowsedInstance:
    """What was seen of a queue, except its groups."""

    q_mgr_name: str
    """The queue manager of the queue."""
    queue: str
    """The name of the queue."""
    resolved_q_name: str = ""
    """The local queue. It differs from ``queue`` if that is an alias."""
    depth: int | None = None
    """CURDEPTH before the queue was browsed; ``None`` if it could not be inquired."""
    messages: int = 0
    """How many messages have been browsed."""
    others: int = 0
    """How many of these messages are in no group."""
    open_input: int | None = None
    """How many handles are open for input; ``None`` if that could not be inquired. A dead program can still have a unit of work
    that is not backed out, although its handles are closed.
    """
    open_output: int | None = None
    """How many handles are open for output; ``None`` if that could not be inquired."""
    hidden: int | None = None
    """The number of messages that open units of work have put or got: the larger of two counts, before and after browsing. Only
    the command server knows this; ``None`` if it could not be asked.
    """
    threshold: int = 0
    """BOTHRESH; 0 if it is not set, or could not be inquired."""
    backout_queue: str = ""
    """BOQNAME; empty if it is not set, or could not be inquired."""
    unseen: list[str] = field(default_factory=list)
    """A sentence for each thing that could not be seen, with the authority or connection that is missing."""

    @property
    def may_be_read(self) -> bool:
        """Whether programs may be getting messages, because units of work have messages, or handles for input may be open."""
        return self.open_input != 0 or bool(self.hidden)

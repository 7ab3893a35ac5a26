"""The message groups on a queue, as browsing shows them: which messages of each are there, and which are missing.

A physical message extends from its own place in the group to the place behind it: for a segment the next offset, for any other
message the start of the next message. Adjoining messages are joined into runs, in whatever order they arrive. A group without
gaps is therefore one run, however long it is, and each gap adds a run. Message data is not read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mqgroups.core.model import MsgFlag

_IN_GROUP = MsgFlag.MSG_IN_GROUP | MsgFlag.LAST_MSG_IN_GROUP


class Place(NamedTuple):
    """Where a physical message begins in its group: the number of the logical message, and the offset in it in bytes."""

    msg_seq_number: int
    offset: int = 0


HEAD = Place(1)


class Run(NamedTuple):
    """Messages without a gap: the place where the first begins, and the place behind the last."""

    first: Place
    end: Place


@dataclass(frozen=True, slots=True)
class Browsed:
    """A physical message, as its MQMD describes it. ``put_time`` is PutDate and PutTime: up to 16 digits, UTC."""

    group_id: bytes
    msg_seq_number: int
    offset: int
    length: int
    msg_flags: MsgFlag
    persistence: int
    backout_count: int
    put_appl_name: str
    put_time: str

    @property
    def in_group(self) -> bool:
        """Whether it is a message in a group, or a segment of one."""
        return bool(self.msg_flags & _IN_GROUP)


@dataclass(frozen=True, slots=True)
class GroupInspection:
    """The messages of one group on a queue.

    Attributes:
        group_id: 24 bytes.
        runs: the messages that are there, ascending.
        messages: how many physical messages are there.
        last: the number of the message that is marked as the group's last; 0 if none is.
        overlapping: how many messages occur twice, or are segments that overlap others.
        persistences: of the messages; one value if they were put as a group.
        backout_count: the highest backout count.
        put_by: the applications that put the messages, in order of first appearance.
        first_put, last_put: the earliest and latest PutDate and PutTime: 16 digits, UTC; empty if no message has them.
        whole: whether the queue manager delivers it as a complete group, in logical order, and no message occurs twice.
    """

    group_id: bytes
    runs: tuple[Run, ...] = ()
    messages: int = 0
    last: int = 0
    overlapping: int = 0
    persistences: frozenset[int] = frozenset()
    backout_count: int = 0
    put_by: tuple[str, ...] = ()
    first_put: str = ""
    last_put: str = ""
    whole: bool = False

    @property
    def first(self) -> Place:
        """The place where the first message on the queue begins."""
        return self.runs[0].first

    @property
    def end(self) -> Place:
        """The place behind the last message on the queue; with an offset if the end of that message is missing."""
        return self.runs[-1].end

    @property
    def last_msg_seq_number(self) -> int:
        """The highest message number on the queue; that message may be incomplete."""
        return self.end.msg_seq_number - (self.end.offset == 0)

    @property
    def gaps(self) -> tuple[Run, ...]:
        """The missing messages between the first and the last one on the queue."""
        return tuple(Run(one.end, other.first) for one, other in zip(self.runs, self.runs[1:], strict=False))

    @property
    def has_head(self) -> bool:
        """Whether the group's first message is there. Without it, gets in logical order never return the group."""
        return self.first == HEAD

    @property
    def has_end(self) -> bool:
        """Whether its last message is there, completely."""
        return self.last > 0 and self.end >= Place(self.last + 1)

    @property
    def is_doubled(self) -> bool:
        """Whether some of its messages are there twice. A consumer gets these twice, or stops at them."""
        return self.overlapping > 0

    @property
    def is_consistent(self) -> bool:
        """Whether all its messages can belong to one group: none twice, none after the last one, one persistence."""
        behind = self.last > 0 and self.end > Place(self.last + 1)
        return not self.overlapping and not behind and len(self.persistences) == 1


@dataclass(frozen=True, slots=True)
class QueueInspection:
    """The messages on a queue, and the other users of the queue.

    Attributes:
        queue: its name, as the caller gave it.
        resolved_q_name: of the local queue behind it.
        groups: ordered by the first message of each on the queue.
        others: the number of messages that are not in groups.
        open_input, open_output: how many handles are open to get from the queue and to put to it. They show running programs.
            No handle does not prove that a dead program's unit of work is backed out: its handles may be closed first.
        uncommitted: how many messages were put or got in open units of work, before or after browsing, whichever is more. The
            MQI cannot tell this, but the command server can. ``None``: the command server could not be asked.
        unasked: why it could not be asked; empty if it was.
    """

    queue: str
    resolved_q_name: str
    groups: tuple[GroupInspection, ...]
    others: int
    open_input: int
    open_output: int
    uncommitted: int | None = None
    unasked: str = ""

    @property
    def hidden(self) -> str:
        """A text on messages that browsing may not show; empty if there are none."""
        if self.uncommitted is None:
            return f"an unknown number of messages in units of work ({self.unasked})"
        return f"{self.uncommitted} messages put or got in units of work" if self.uncommitted else ""


def with_message(group: GroupInspection, message: Browsed) -> GroupInspection:
    """Return the inspection with one more message of the group."""
    begin = Place(message.msg_seq_number, message.offset)
    flags = message.msg_flags
    is_open = flags & MsgFlag.SEGMENT and not flags & MsgFlag.LAST_SEGMENT
    end = Place(begin.msg_seq_number, begin.offset + message.length) if is_open else Place(begin.msg_seq_number + 1)
    runs = joined(group.runs, Run(begin, end))
    last = group.last
    if flags & MsgFlag.LAST_MSG_IN_GROUP:
        last = min(last or begin.msg_seq_number, begin.msg_seq_number)
    by = group.put_by if message.put_appl_name in group.put_by else (*group.put_by, message.put_appl_name)
    when = message.put_time
    return replace(
        group,
        runs=runs or group.runs,
        messages=group.messages + 1,
        last=last,
        overlapping=group.overlapping + (runs is None),
        persistences=group.persistences | {message.persistence},
        backout_count=max(group.backout_count, message.backout_count),
        put_by=by,
        first_put=min(group.first_put or when, when or group.first_put),
        last_put=max(group.last_put, when),
    )


def joined(runs: Sequence[Run], new: Run) -> tuple[Run, ...] | None:
    """Return the runs with ``new`` added, joined where they meet; ``None`` if it overlaps another one."""
    at = bisect_left(runs, new)
    before, after = tuple(runs[:at]), tuple(runs[at:])
    if (before and before[-1].end > new.first) or (after and after[0].first < new.end):
        return None
    if before and before[-1].end == new.first:
        new, before = Run(before[-1].first, new.end), before[:-1]
    if after and after[0].first == new.end:
        new, after = Run(new.first, after[0].end), after[1:]
    return (*before, new, *after)

"""What lies on a queue of its message groups, as far as browsing shows it: which messages of each, and which are missing.

A physical message takes its group from one place to another: a segment to the offset behind it, every other message to the
beginning of the next one. Messages that join make a run; so a group of any length is as many runs as there are gaps between
them and one more, in whatever order they arrived. Bodies are not looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mqgroups.core.model import MsgFlag

_IN_GROUP = MsgFlag.MSG_IN_GROUP | MsgFlag.LAST_MSG_IN_GROUP


class Place(NamedTuple):
    """Where a physical message begins in its group: number of the logical message, and offset in it, bytes."""

    msg_seq_number: int
    offset: int = 0


HEAD = Place(1)


class Run(NamedTuple):
    """Messages without a gap: where the first begins, and the place behind the last."""

    first: Place
    end: Place


@dataclass(frozen=True, slots=True)
class Browsed:
    """A physical message, as its MQMD describes it. ``put_time`` is PutDate and PutTime: 16 digits, UTC, or less."""

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
        """Whether it is a message, or a segment of one, in a group."""
        return bool(self.msg_flags & _IN_GROUP)


@dataclass(frozen=True, slots=True)
class GroupInspection:
    """What lies on a queue of one group.

    Attributes:
        group_id: 24 bytes.
        runs: what is there, ascending.
        messages: how many physical messages that is.
        last: number of the message that says it is the group's last; 0 if none does.
        overlapping: messages that are where another one is: there twice, or segments that overlap.
        persistences: of its messages: one value, if they were put as a group.
        backout_count: the highest.
        put_by: the applications that put it, in order of first appearance.
        first_put, last_put: the earliest and latest PutDate and PutTime: 16 digits, UTC; empty if no message says it.
        whole: whether the queue manager offers it, in logical order, as a group all of whose messages are available, and none
            of them is there twice.
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
        """Where the first message that is there begins."""
        return self.runs[0].first

    @property
    def end(self) -> Place:
        """The place behind the last message that is there: with an offset, that message is not there to its end."""
        return self.runs[-1].end

    @property
    def last_msg_seq_number(self) -> int:
        """The highest number of which there is something."""
        return self.end.msg_seq_number - (self.end.offset == 0)

    @property
    def gaps(self) -> tuple[Run, ...]:
        """What is missing between the first and the last message that are there."""
        return tuple(Run(one.end, other.first) for one, other in zip(self.runs, self.runs[1:], strict=False))

    @property
    def has_head(self) -> bool:
        """Whether its beginning is there. Without it nobody who gets in logical order ever sees the group."""
        return self.first == HEAD

    @property
    def has_end(self) -> bool:
        """Whether its last message is there, to its end."""
        return self.last > 0 and self.end >= Place(self.last + 1)

    @property
    def is_doubled(self) -> bool:
        """Whether some of its messages are there twice. Somebody who gets it gets these twice, or stops at them."""
        return self.overlapping > 0

    @property
    def is_consistent(self) -> bool:
        """Whether its messages can all be of one group: none twice, none behind the last, one persistence."""
        behind = self.last > 0 and self.end > Place(self.last + 1)
        return not self.overlapping and not behind and len(self.persistences) == 1


@dataclass(frozen=True, slots=True)
class QueueInspection:
    """What lies on a queue, and who else works with it.

    Attributes:
        queue: its name, as it was asked for.
        resolved_q_name: of the local queue behind it.
        groups: in the order of the first message of each that is there.
        others: messages that are not in groups.
        open_input, open_output: how many handles are open to get from it and to put to it. They show who lives; of a program
            that has died they prove nothing, because its handles may go before its unit of work is backed out.
        uncommitted: how many messages were put or got in units of work that were open before the browsing began or after it had
            ended, the more of both; the MQI cannot tell, the command server can. ``None``: it could not be asked.
        unasked: why it could not; empty if it was.
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
        """What may be there that browsing does not show, in words; empty if nothing is."""
        if self.uncommitted is None:
            return f"nobody knows what units of work hide ({self.unasked})"
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
    """Return the runs with one more, joined where they meet; ``None`` if it is where another one is."""
    at = bisect_left(runs, new)
    before, after = tuple(runs[:at]), tuple(runs[at:])
    if (before and before[-1].end > new.first) or (after and after[0].first < new.end):
        return None
    if before and before[-1].end == new.first:
        new, before = Run(before[-1].first, new.end), before[:-1]
    if after and after[0].first == new.end:
        new, after = Run(new.first, after[0].end), after[1:]
    return (*before, new, *after)

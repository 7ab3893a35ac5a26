"""The groups on a queue, and the messages that an MQGET for whole groups or whole logical messages can return.

MQGMO_ALL_MSGS_AVAILABLE needs a whole group; MQGMO_COMPLETE_MSG and MQGMO_ALL_SEGMENTS_AVAILABLE need a whole logical message. A
``View`` has the available messages that meet such a condition. The first call that needs a view creates it. From then on the
queue keeps the view up to date, so that an MQGET never looks at messages that it is not allowed to get. A queue without
such calls has no views.

A single group is in ``group.py``. The indexes by identifier are in ``index.py``.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from sortedcontainers import SortedDict

from mqembedded.messages.group import Group
from mqembedded.messages.logical_order import IN_GROUP, IS_SEGMENT
from mqembedded.messages.segments import ANY_REPORT, NO_REPORT, PhysicalMessage
from mqembedded.wire.structures import NO_GROUP


class GroupedMessage(PhysicalMessage, Protocol):
    """A message that can be in a group."""

    @property
    def group_id(self) -> bytes: ...


P = TypeVar("P", bound=GroupedMessage)


class Whole(enum.Enum):
    """The unit that must be complete before an MQGET can return a message: the message, its logical message or its group."""

    MESSAGE = "the message"
    LOGICAL_MESSAGE = "its logical message"
    GROUP = "its group"

    # The hash of Enum is slow, because it hashes the name in Python.
    __hash__ = object.__hash__


class View(NamedTuple):
    """A selection of available messages.

    Attributes:
        starts: whether the view has only messages with sequence number 1 and offset 0, where an MQGET in logical order can start.
        whole: the unit that must be complete for each message of the view.
    """

    starts: bool
    whole: Whole


ALL = View(False, Whole.MESSAGE)


class Groups(Generic[P]):
    """A queue's available messages by group. ``available`` is the queue's own dictionary of these messages, in delivery order."""

    def __init__(self, available: SortedDict[int, P]) -> None:
        self._groups: dict[bytes, Group[P]] = {}
        self._views: dict[View, SortedDict[int, P]] = {}
        self._available = available

    def get(self, group_id: bytes) -> Group[P] | None:
        """Return the group with this GroupId, or None if no available message has it."""
        return self._groups.get(group_id)

    def add(self, message: P) -> None:
        """Add a message that has just become available."""
        if message.group_id == NO_GROUP:
            for view, shown in self._views.items():
                if self._is_in(view, message):
                    shown[message.key] = message
            return
        group = self._groups.get(message.group_id)
        if group is None:
            group = self._groups[message.group_id] = Group()
        if not self._views:
            group.add(message)
            return
        before = group.wholeness(message.msg_seq_number)
        group.add(message)
        self._update(group, message, before)

    def remove(self, message: P) -> None:
        """Remove a message that is no longer available."""
        for view in self._views.values():
            view.pop(message.key, None)
        if message.group_id == NO_GROUP:
            return
        group = self._groups[message.group_id]
        before = group.wholeness(message.msg_seq_number) if self._views else None
        group.remove(message)
        if not group.members:
            del self._groups[message.group_id]
        elif before is not None:
            self._update(group, message, before)

    def _update(self, group: Group[P], changed: P, before: tuple[bool, bool, frozenset[int]]) -> None:
        """Update the views for a message that has come or gone. ``before`` is what ``wholeness`` returned before the change."""
        seq = changed.msg_seq_number
        after = group.wholeness(seq)
        arrived = (changed,) if changed.key in group.members else ()
        for view, shown in self._views.items():
            others: Iterable[P] = ()
            if view.whole is Whole.GROUP and after[0] != before[0]:
                others = _messages(group.with_offset(1, 0) if view.starts else group.members)
            elif view.whole is not Whole.MESSAGE and after[1:] != before[1:]:
                others = _messages(group.with_offset(seq, 0) if view.starts else group.with_number(seq))
            for message in (*arrived, *others):
                if self._is_in(view, message):
                    shown[message.key] = message
                else:
                    shown.pop(message.key, None)

    def view(self, view: View) -> SortedDict[int, P]:
        """Return the messages of a view in delivery order, as a dictionary by key."""
        if view == ALL:
            return self._available
        shown = self._views.get(view)
        if shown is None:
            found = {key: message for key, message in self._available.items() if self._is_in(view, message)}
            shown = self._views[view] = SortedDict(found)
        return shown

    def _is_in(self, view: View, message: P) -> bool:
        starts = message.msg_seq_number == 1 and message.offset == 0
        return (starts or not view.starts) and self.has(view.whole, message)

    def has(self, whole: Whole, message: P) -> bool:
        """Return whether the unit that ``whole`` names is complete for an available message."""
        group = self._groups.get(message.group_id)
        if whole is Whole.MESSAGE or group is None:
            return True
        if whole is Whole.GROUP:
            if message.msg_flags & IN_GROUP:
                return group.is_complete()
            return group.has_logical_message(message.msg_seq_number)
        if not message.msg_flags & IS_SEGMENT:
            return True
        wanted = {message.feedback, _whatever_type(message)}
        return any(group.has_all_segments(message.msg_seq_number, feedback) for feedback in wanted)

    def made_whole_by(self, message: P) -> Collection[P]:
        """Return the messages that an MQGET for a whole message or group can get, now that this message has come or gone."""
        group = self._groups.get(message.group_id)
        if group is None:
            return (message,)
        if group.is_complete():
            return _messages(group.members)
        if group.has_logical_message(message.msg_seq_number) or self.has(Whole.LOGICAL_MESSAGE, message):
            return _messages(group.with_number(message.msg_seq_number))
        return ()

    def has_all_segments(self, message: P) -> bool:
        """Return whether all segments of the logical message are there. If they are reports, their Feedback can differ."""
        if not message.msg_flags & IS_SEGMENT:
            return True
        group = self._groups.get(message.group_id)
        return group is not None and group.has_all_segments(message.msg_seq_number, _whatever_type(message))

    def all_segments(self, message: P) -> list[P]:
        """Return the segments that ``has_all_segments`` checks, by ascending offset, or an empty list if a segment is missing."""
        return self._segments(message, _whatever_type(message))

    def logical_message(self, message: P) -> list[P]:
        """Return the logical message with this segment, or [] if segments are missing. Reports must have the same Feedback."""
        return self._segments(message, message.feedback)

    def _segments(self, message: P, feedback: int) -> list[P]:
        if not message.msg_flags & IS_SEGMENT:
            return [message]
        group = self._groups.get(message.group_id)
        return group.segments(message.msg_seq_number, feedback) if group is not None else []


def _whatever_type(message: P) -> int:
    return NO_REPORT if message.feedback == NO_REPORT else ANY_REPORT


def _messages(found: SortedDict[int, P] | Sequence[P]) -> Collection[P]:
    if not isinstance(found, SortedDict):
        return found
    values: Collection[P] = found.values()
    return values

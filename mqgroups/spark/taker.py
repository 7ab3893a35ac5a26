"""Gets the messages of a group from a queue, in syncpoint. The messages and their order are the same as in ``browse.py``.

Applications can use a GroupId more than once. So this module identifies a group's first message by MsgId and put time. From there
on it gets one message for each sequence number, without the data. If the first message is gone, it gets the rest of the group, up
to the first message of the next group. If a unit of work may hide the first message, the rest stays on the queue.

``removal.py`` commits, and decides what happens if a group is missing.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from mqgroups.connection.connection import Connection
from mqgroups.errors import MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.spark.browse import DESCRIPTOR_ONLY, begins, is_head, key_of, match_of_heads
from mqgroups.spark.offsets import Key
from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups.spark")

_OPEN_OPTIONS = mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE | mq.MQOO_NO_READ_AHEAD
_REMOVE = mq.MQGMO_SYNCPOINT | DESCRIPTOR_ONLY
_BY_GROUP_ID = mq.MQMO_MATCH_GROUP_ID
_REMOVE_BY_NUMBER = st.gmo(_REMOVE, match_options=mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER)
# The MQMD of a physical message, and the length of its data.
_Physical: TypeAlias = "tuple[bytes, int]"


@dataclass(frozen=True, slots=True)
class GotSoFar:
    """The part of a group that was got, as counts.

    Attributes:
        messages: the number of logical messages whose end was got.
        last: the sequence number of the group's last message; 0 if unknown.
        missing: the length of segmented messages whose last segment was got, minus the length of all segments that were got.
    """

    messages: int = 0
    last: int = 0
    missing: int = 0

    @property
    def is_whole(self) -> bool:
        return self.messages == self.last > 0 and self.missing == 0

    @property
    def is_message(self) -> bool:
        """Whether exactly one complete logical message was got."""
        return self.messages == 1 and self.missing == 0

    def and_also(self, md: bytes, length: int) -> GotSoFar:
        """Return a copy that also counts this physical message."""
        flags = st.long_at(md, st.MD_MSG_FLAGS)
        messages, last, missing = self.messages, self.last, self.missing
        if flags & mq.MQMF_SEGMENT:
            missing -= length
            if flags & mq.MQMF_LAST_SEGMENT:
                missing += st.long_at(md, st.MD_OFFSET) + length
        if not flags & mq.MQMF_SEGMENT or flags & mq.MQMF_LAST_SEGMENT:
            messages += 1
        if flags & mq.MQMF_LAST_MSG_IN_GROUP or not flags & mq.MQMF_MSG_IN_GROUP:
            last = st.long_at(md, st.MD_MSG_SEQ_NUMBER)
        return GotSoFar(messages, last, missing)


class Taker:
    """A queue that is open for shared input, on a ``connection`` that only the taker uses. It does not reconnect."""

    def __init__(self, connection: Connection, name: str) -> None:
        """Open the queue. Raises MQIError."""
        self.connection = connection
        self._head_match = match_of_heads(connection)
        self._queue = connection.open_queue(name, _OPEN_OPTIONS)

    def take(self, key: Key, got: GotSoFar, *, may_be_hidden: bool = False) -> Iterator[_Physical]:
        """Get the physical messages with this key, in syncpoint. ``got`` counts those that earlier units of work have got.

        If ``may_be_hidden`` is true, a missing first message may reappear. Then the rest stays if ``got`` counts no message.
        """
        if not key.is_group:
            yield from self._take_alike(key, key.copies - got.messages)
            return
        number, is_first, ended = 1, True, False
        if not self._lies_alone(key):
            first = next(self._heads(key), None)
            is_first = first is not None and begins(first[0], key)
            number = yield from self._take_as_they_lie(key)
            ended = number == 0
        while is_first and not ended:
            part = yield from self._take_number(key, number)
            if not part.messages:
                break
            number, ended = number + 1, part.last > 0
        if ended:
            self._tell_what_is_left(key)
        elif is_first or (number == 1 and (got != GotSoFar() or not may_be_hidden)):
            yield from self._take_rest(key)

    def _lies_alone(self, key: Key) -> bool:
        """Return whether the first two physical messages with the GroupId are the beginning of this group.

        This is nearly always so. Then a search by GroupId and sequence number finds a message of this group.
        """
        found = self._with_group_id(key)
        first = next(found, None)
        if first is None or not begins(first[0], key):
            return False
        second = None if _is_marked_last(first[0]) else next(found, None)
        return second is None or (not is_head(second[0]) and st.long_at(second[0], st.MD_MSG_SEQ_NUMBER) <= 2)

    def _place_of_head(self, key: Key) -> int | None:
        """Return how many messages with the GroupId precede the message with which ``BrowsedQueue.messages`` begins the group."""
        place = None
        for at, (md, _, _) in enumerate(self._with_group_id(key)):
            if begins(md, key) if place is None else is_head(md):
                place = at
                if _is_marked_last(md):
                    break
            elif place is not None and st.long_at(md, st.MD_MSG_SEQ_NUMBER) == 2:
                break
        return place

    def _take_number(self, key: Key, number: int) -> Generator[_Physical, None, GotSoFar]:
        """Get the first message with this number, or its segments. Returns the counts of what was got."""
        part = GotSoFar()
        md = st.md(group_id=key.identifier, msg_seq_number=number)
        while not part.is_message:
            taken = self._queue.get_descriptor(md, _REMOVE_BY_NUMBER)
            if taken is None:
                break
            yield taken[0], taken[2]
            part = part.and_also(taken[0], taken[2])
        return part

    def _take_as_they_lie(self, key: Key) -> Generator[_Physical, None, int]:
        """Get the messages that ``BrowsedQueue.messages`` yields. Returns the first missing number, or 0 if none is missing."""
        place = self._place_of_head(key)
        if place is None:
            return 1
        number, part = 1, GotSoFar()
        for md, _, _ in islice(self._with_group_id(key), place, None):
            if st.long_at(md, st.MD_MSG_SEQ_NUMBER) != number:
                continue
            for taken in self._take_under_cursor():
                yield taken
                part = part.and_also(*taken)
            if part.is_message:
                if part.last:
                    return 0
                number, part = number + 1, GotSoFar()
        return number

    def _take_rest(self, key: Key) -> Iterator[_Physical]:
        """Get the rest of a group: the messages with its GroupId that precede the first message of the next group."""
        for md, _, _ in self._with_group_id(key):
            if is_head(md):
                return
            yield from self._take_under_cursor()

    def _take_alike(self, key: Key, copies: int) -> Iterator[_Physical]:
        found = self._queue.browse_descriptors(st.md(msg_id=key.identifier), mq.MQMO_MATCH_MSG_ID)
        for md, _, _ in found if copies else ():
            if key_of(md) == key:
                for taken in self._take_under_cursor():
                    yield taken
                    copies -= 1
                if copies == 0:
                    return

    def _take_under_cursor(self) -> Iterator[_Physical]:
        try:
            taken = self._queue.get_descriptor(st.md(), st.gmo(_REMOVE | mq.MQGMO_MSG_UNDER_CURSOR))
        except MQIError as error:
            # The message has expired in the meantime.
            if error.reason != mq.MQRC_NO_MSG_UNDER_CURSOR:
                raise
            return
        if taken is not None:
            yield taken[0], taken[2]

    def _with_group_id(self, key: Key) -> Iterator[tuple[bytes, bytes, int]]:
        """Browse the physical messages with a group's GroupId."""
        return self._queue.browse_descriptors(st.md(group_id=key.identifier), _BY_GROUP_ID)

    def _heads(self, key: Key, options: int = 0) -> Iterator[tuple[bytes, bytes, int]]:
        """Browse the first messages of groups with this GroupId."""
        md = st.md(group_id=key.identifier, msg_seq_number=1)
        return self._queue.browse_descriptors(md, _BY_GROUP_ID | self._head_match, options)

    def _tell_what_is_left(self, key: Key) -> None:
        found = next(self._with_group_id(key), None)
        if found is not None and next(self._heads(key, mq.MQGMO_ALL_MSGS_AVAILABLE), None) is None:
            _log.warning(
                "queue %s: %s was removed, but message %d with its GroupId is still there. It is a copy, or belongs to another "
                "group that is not complete. `mqgroups groups` shows it",
                self._queue.name,
                key.shown,
                st.long_at(found[0], st.MD_MSG_SEQ_NUMBER),
                extra=logs.fields(self.connection.place, queue=self._queue.name),
            )


def _is_marked_last(md: bytes) -> bool:
    """Return whether a physical message is the last message of its group, or a segment of the last message."""
    return bool(st.long_at(md, st.MD_MSG_FLAGS) & mq.MQMF_LAST_MSG_IN_GROUP)

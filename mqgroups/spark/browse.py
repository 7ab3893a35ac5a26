"""Browse the groups on a queue: which groups are complete, how many messages they have, and the messages themselves.

A complete group, however long, is found by its first message: one browse for sequence number 1, in physical order with
MQGMO_ALL_MSGS_AVAILABLE. The number of its messages is found by browsing for sequence numbers. If the group is as long as the one
before, that takes one call.

A group is read in physical order up to its last message, and one more call shows that it has no other messages. If its messages
are not in sequence, or a lost connection has reset the cursor, the rest is read by sequence number. Before that, all places are
checked: if two messages had the same number and offset, one would be read, but both removed.

There are two handles, because each search moves a browse cursor: ``_walker`` goes from first message to first message, and
``_looker`` does everything else. On z/OS the queue needs INDXTYPE(GROUPID) (otherwise 2394). On other platforms IBM
documents no index by GroupId (INDXTYPE is for z/OS only, topic q026350), so a search may take the longer the deeper the queue is.

Source: IBM MQ, topics "MQGMO options", "MatchOptions", q044220.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import count
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import NOT_CONVERTED
from mqgroups.connection.retry import REDO, retrying
from mqgroups.core.model import GROUP_ID_NONE, MAX_MSG_SEQ_NUMBER
from mqgroups.errors import MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.spark.errors import AmbiguousGroup, AmbiguousMessage, GroupGone
from mqgroups.spark.offsets import Key, Planned

_T = TypeVar("_T")
# MQGMO_COMPLETE_MSG has returned only the first segments, because others have another CCSID or Encoding.
_NOT_JOINED = frozenset({mq.MQRC_INCONSISTENT_CCSIDS, mq.MQRC_INCONSISTENT_ENCODINGS})
DESCRIPTOR_ONLY = mq.MQGMO_ACCEPT_TRUNCATED_MSG | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_NO_PROPERTIES
_STAMP = slice(st.MD_PUT_DATE.start, st.MD_PUT_TIME.stop)
_UTF_8 = 1208
_BY_GROUP_ID = mq.MQMO_MATCH_GROUP_ID
_BY_SEQ_NUMBER = mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER


@dataclass(frozen=True, slots=True)
class Head:
    """The first message of a complete group, or a message outside groups.

    Attributes:
        is_whole: whether it is the only message of its group.
        length: of its data, in bytes.
    """

    key: Key
    is_whole: bool
    length: int

    @property
    def planned(self) -> Planned:
        """The group, whose messages are counted only if it has one."""
        return Planned(self.key, 1, self.length) if self.is_whole else Planned(self.key, 0)


class Got(NamedTuple):
    """The result of MQGET: the data of one logical message, its MQMD and MQGMO."""

    data: bytes
    md: bytes
    gmo: bytes

    @property
    def is_last(self) -> bool:
        """Whether it is the last message of its group, or outside groups."""
        return _ends_group(self.gmo)


class Place(Enum):
    """What is at a sequence number of a group: no message, a message, or the last message of the group."""

    GONE = auto()
    TAKEN = auto()
    LAST = auto()


@dataclass(frozen=True, slots=True)
class Span:
    """Sequence numbers to read, from ``first`` to ``last``."""

    first: int = 1
    last: int = MAX_MSG_SEQ_NUMBER

    def __contains__(self, seq: int) -> bool:
        return self.first <= seq <= self.last


WHOLE = Span()


class BrowsedQueue:
    """A queue opened for browsing, on a connection that is remade when it is lost. Leaving the ``with`` block closes it."""

    def __init__(self, connection: Connection, name: str, *, convert: bool = False, headers: bool = False) -> None:
        """Open the queue.

        Args:
            connection: its settings say how long to retry when it is lost.
            name: of the queue.
            convert: let the queue manager convert data to UTF-8.
            headers: return message properties, in an MQRFH2 in front of the data.

        Raises:
            MQIError: it cannot be opened.
        """
        self.name = name
        self._connection = connection
        # On z/OS there are no segments.
        on_zos = connection.platform == mq.MQPL_ZOS
        self._whole = 0 if on_zos else mq.MQGMO_COMPLETE_MSG
        self._head_match = mq.MQMO_MATCH_MSG_SEQ_NUMBER | (0 if on_zos else mq.MQMO_MATCH_OFFSET)
        self._read_options = (
            self._whole
            | mq.MQGMO_FAIL_IF_QUIESCING
            | (mq.MQGMO_PROPERTIES_FORCE_MQRFH2 if headers else mq.MQGMO_NO_PROPERTIES)
            | (mq.MQGMO_CONVERT if convert else 0)
        )
        self._by_seq_number_gmo = st.gmo(mq.MQGMO_BROWSE_FIRST | self._read_options, match_options=_BY_SEQ_NUMBER)
        self._in_group_gmos = tuple(
            st.gmo(step | self._read_options, match_options=_BY_GROUP_ID)
            for step in (mq.MQGMO_BROWSE_FIRST, mq.MQGMO_BROWSE_NEXT)
        )
        self._pass = _Pass(connection.generation)
        connection.reopening(self._open)

    def _open(self) -> None:
        self._walker = self._connection.open_queue(self.name, self._walker_options())
        self._looker = self._connection.open_queue(self.name, mq.MQOO_BROWSE)
        if self._read_options & mq.MQGMO_CONVERT:
            self._looker.expect_conversion()

    def _walker_options(self) -> int:
        return mq.MQOO_BROWSE

    def close(self) -> None:
        """Close both handles."""
        self._walker.close()
        self._looker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --- the groups

    def heads(self) -> Iterator[Head]:
        """Begin a pass over the queue: yield all complete groups and messages outside groups, in physical order.

        Raises:
            AmbiguousMessage: two have the same key.
            MQIError: a call failed.
        """
        self._pass = _Pass(self._connection.generation)
        return self._heads(mq.MQGMO_BROWSE_FIRST, 0)

    def more_heads(self, wait_ms: int) -> Iterator[Head]:
        """Yield the heads after the last one yielded; wait for the first of them. Raises the same errors as ``heads``.

        A group whose first message is before that one is not found by this, even if it was not complete then.
        """
        return self._heads(mq.MQGMO_BROWSE_NEXT, wait_ms)

    def forget(self, keys: Iterable[Key]) -> None:
        """Expect that keys of this pass come again, because their messages were removed."""
        self._pass.seen.difference_update(keys)

    def head(self, group_id: bytes) -> Head | None:
        """Return the first message of a group; ``None`` if the group is not complete. Raises MQIError."""
        options = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_ALL_MSGS_AVAILABLE | DESCRIPTOR_ONLY
        md = st.md(group_id=group_id, msg_seq_number=1)
        found = self._descriptor(md, st.gmo(options, match_options=_BY_GROUP_ID | self._head_match))
        return None if found is None else _head(*found)

    def _heads(self, first: int, wait_ms: int) -> Iterator[Head]:
        md = st.md(msg_seq_number=1)
        options = first | mq.MQGMO_ALL_MSGS_AVAILABLE | DESCRIPTOR_ONLY | (mq.MQGMO_WAIT if wait_ms else 0)
        gmo = st.gmo(options, match_options=self._head_match, wait_interval_ms=wait_ms)
        following = st.gmo(
            mq.MQGMO_BROWSE_NEXT | mq.MQGMO_ALL_MSGS_AVAILABLE | DESCRIPTOR_ONLY, match_options=self._head_match
        )
        seen = self._pass.seen
        while True:
            found = self._walk(md, gmo)
            if found is None:
                return
            gmo = following
            head = _head(*found)
            if head.key not in seen:
                seen.add(head.key)
                yield head
            elif self._connection.generation == self._pass.generation:
                raise AmbiguousMessage(self.name, head.key.shown)
            # Otherwise the connection was remade, and the cursor is back at the start of the queue.

    def counted(self, planned: Planned, guess: int = 1) -> Planned:
        """Return a complete group with its number of logical messages; ``guess`` is a likely number. Raises MQIError.

        It is not counted if its last message is not there: then another application gets the group, or has it for a moment.
        """
        if planned.messages:
            return planned
        return Planned(planned.key, number_of_last(lambda seq: self._place(planned.key, seq), guess))

    def measured(self, head: Head) -> Planned:
        """Return a complete group with its number of logical messages and bytes: a call for each message; see ``counted``."""
        messages, data_bytes, ended = 1, head.length, head.is_whole
        while not ended and (found := self._at(head.key, messages + 1)) is not None:
            messages, data_bytes, ended = messages + 1, data_bytes + found[2], _ends_group(found[1])
        return Planned(head.key, messages if ended else 0, data_bytes)

    def everything(self) -> list[Planned]:
        """Return all groups, complete or not, and messages outside groups, with the number of physical messages of each.

        Raises MQIError.
        """
        return self.again(self._everything)

    def _everything(self) -> list[Planned]:
        md = st.md()
        counts: dict[Key, int] = {}
        step = mq.MQGMO_BROWSE_FIRST
        while (found := self._walker.get_descriptor(md, st.gmo(step | DESCRIPTOR_ONLY))) is not None:
            key = key_of(found[0])
            counts[key] = counts.get(key, 0) + 1
            step = mq.MQGMO_BROWSE_NEXT
        return [Planned(key, count) for key, count in counts.items()]

    # --- the messages of a group

    def messages(self, planned: Planned, span: Span = WHOLE) -> Iterator[Got]:
        """Yield the logical messages of a complete group in sequence, or the message outside groups.

        If the messages were not counted, the last one is known by MQGS_LAST_MSG_IN_GROUP.

        Raises:
            GroupGone: one of them is missing.
            AmbiguousGroup: two of them have the same number and offset.
            MQIError: a call failed.
        """
        if planned.key.stamp:
            message = self._by_msg_id(planned.key)
            if message is None:
                raise GroupGone(self.name, planned.key.shown, 0, 1)
            if 1 in span:
                yield message
            return
        first, last = span.first, span.last
        if span == WHOLE:
            first = yield from self._as_they_lie(planned.key)
        if planned.messages:
            last = min(last, planned.messages)
        for number in range(first, last + 1):
            message = self._by_seq_number(planned.key, number)
            if message is None:
                raise GroupGone(self.name, planned.key.shown, number - 1, planned.messages)
            yield message
            if message.is_last:
                return

    def _as_they_lie(self, key: Key) -> Generator[Got, None, int]:
        """Yield the messages of a group as long as they are in sequence; returns the sequence number to continue with."""
        md = st.md(group_id=key.identifier, ccsid=_UTF_8)
        gmo, following = self._in_group_gmos
        for seq in count(1):
            try:
                message = self._message(md, gmo)
            except MQIError as error:
                if error.reason not in _NOT_JOINED:
                    raise
                message = None
            if message is None or st.long_at(message.md, st.MD_MSG_SEQ_NUMBER) != seq:
                self._seq_numbers(key)
                return seq
            yield message
            if message.is_last:
                break
            gmo = following
        # After the last message there should be nothing; but its segments may follow, if browsing does not skip them.
        behind = st.gmo(mq.MQGMO_BROWSE_NEXT | DESCRIPTOR_ONLY, match_options=_BY_GROUP_ID)
        if self._descriptor(md, behind) is not None:
            self._seq_numbers(key)
        return MAX_MSG_SEQ_NUMBER + 1

    def messages_there(self, key: Key, span: Span = WHOLE) -> Iterator[Got]:
        """Yield the messages of a group that are on the queue, in sequence; messages with missing segments are left out."""
        if key.stamp:
            there = iter([self._by_msg_id(key)] if 1 in span else [])
        else:
            numbers = sorted(seq for seq in self._seq_numbers(key) if seq in span)
            there = (self._by_seq_number(key, seq) for seq in numbers)
        yield from filter(None, there)

    def _seq_numbers(self, key: Key) -> set[int]:
        """Return the sequence numbers of a group's messages on the queue; raises AmbiguousGroup."""
        md = st.md(group_id=key.identifier)
        places: set[tuple[int, int]] = set()
        step = mq.MQGMO_BROWSE_FIRST
        while found := self._descriptor(md, st.gmo(step | DESCRIPTOR_ONLY, match_options=_BY_GROUP_ID)):
            place = (st.long_at(found[0], st.MD_MSG_SEQ_NUMBER), st.long_at(found[0], st.MD_OFFSET))
            if place in places:
                raise AmbiguousGroup(self.name, key.shown, *place)
            places.add(place)
            step = mq.MQGMO_BROWSE_NEXT
        return {seq for seq, _ in places}

    def _by_seq_number(self, key: Key, seq: int) -> Got | None:
        md = st.md(group_id=key.identifier, msg_seq_number=seq, ccsid=_UTF_8)
        try:
            return self._message(md, self._by_seq_number_gmo)
        except MQIError as error:
            if error.reason not in _NOT_JOINED:
                raise
            return self._joined(md)

    def _joined(self, md: bytearray) -> Got | None:
        """Return the segments of a message as one: not converted, and described as the first one is."""
        options = self._read_options & ~(mq.MQGMO_COMPLETE_MSG | mq.MQGMO_CONVERT)
        # By offset, because they are browsed from the first one again after a lost connection.
        parts: dict[int, Got] = {}
        step = mq.MQGMO_BROWSE_FIRST
        while part := self._message(md, st.gmo(step | options, match_options=_BY_SEQ_NUMBER)):
            parts[st.long_at(part.md, st.MD_OFFSET)] = part
            step = mq.MQGMO_BROWSE_NEXT
        ordered = [parts[offset] for offset in sorted(parts)]
        return Got(b"".join(part.data for part in ordered), ordered[0].md, ordered[-1].gmo) if ordered else None

    def _by_msg_id(self, key: Key) -> Got | None:
        md = st.md(msg_id=key.identifier, ccsid=_UTF_8)
        step = mq.MQGMO_BROWSE_FIRST
        while True:
            message = self._message(md, st.gmo(step | self._read_options, match_options=mq.MQMO_MATCH_MSG_ID))
            if message is None or key_of(message.md) == key:
                return message
            step = mq.MQGMO_BROWSE_NEXT

    def _message(self, md: bytearray, gmo: bytearray) -> Got | None:
        try:
            found = self._looker.get(md, gmo, NOT_CONVERTED)
        except MQIError as error:
            found = self._redone(error, lambda: self._looker.get(md, gmo, NOT_CONVERTED))
        return None if found is None else Got(*found)

    def _walk(self, md: bytearray, gmo: bytearray) -> tuple[bytes, bytes, int] | None:
        return self.again(lambda: self._walker.get_descriptor(md, gmo))

    def _at(self, key: Key, seq: int) -> tuple[bytes, bytes, int] | None:
        md = st.md(group_id=key.identifier, msg_seq_number=seq)
        gmo = st.gmo(mq.MQGMO_BROWSE_FIRST | self._whole | DESCRIPTOR_ONLY, match_options=_BY_SEQ_NUMBER)
        return self._descriptor(md, gmo)

    def _place(self, key: Key, seq: int) -> Place:
        found = self._at(key, seq)
        if found is None:
            return Place.GONE
        return Place.LAST if _ends_group(found[1]) else Place.TAKEN

    def _descriptor(self, md: bytearray, gmo: bytearray) -> tuple[bytes, bytes, int] | None:
        return self.again(lambda: self._looker.get_descriptor(md, gmo))

    def again(self, call: Callable[[], _T]) -> _T:
        """Call ``call``. If the connection is lost, reconnect, open the queue and call it again, as long as settings allow."""
        try:
            return call()
        except MQIError as error:
            return self._redone(error, call)

    def _redone(self, error: MQIError, call: Callable[[], _T]) -> _T:
        if not self._connection.can_redo(error):
            raise error

        def attempt() -> _T:
            self._connection.restore()
            if self._looker.is_stale:
                self._open()
            return call()

        return retrying(self._connection.reconnect, REDO, self._connection.sleep)(attempt)


def number_of_last(place: Callable[[int], Place], guess: int) -> int:
    """Return the sequence number of a group's last message; 0 if it is not there. The group has more than one message.

    ``place`` is called once if ``guess`` is right, otherwise a small multiple of log2(n) times.
    """
    taken, gone, step = 1, 0, 1
    asked = max(guess, 2)
    while True:
        found = place(asked)
        if found is Place.LAST:
            return asked
        if found is Place.TAKEN:
            taken = asked
        else:
            gone = asked
        if gone == taken + 1:
            return 0
        if gone:
            asked = (taken + gone) // 2
        else:
            asked = taken + step
            step *= 2


@dataclass(slots=True)
class _Pass:
    """One way of the walker over the queue: the keys it has seen, and the connection on which it began."""

    generation: int
    seen: set[Key] = field(default_factory=set)


def _head(md: bytes, gmo: bytes, length: int) -> Head:
    return Head(key_of(md), _ends_group(gmo), length)


def _ends_group(gmo: bytes) -> bool:
    """Whether MQGET returned the last message of a group, or a message outside groups."""
    return gmo[st.GMO_GROUP_STATUS] != mq.MQGS_MSG_IN_GROUP


def key_of(md: bytes) -> Key:
    """Return the key of a message's group, or of the message if it is in no group."""
    group_id = md[st.MD_GROUP_ID]
    if group_id != GROUP_ID_NONE:
        return Key(group_id)
    return Key(md[st.MD_MSG_ID], md[_STAMP].decode("latin-1"))

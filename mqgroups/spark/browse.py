"""Browses a queue: finds its complete groups, counts the messages of a group, and reads the messages.

To find complete groups, this module browses for sequence number 1 in physical order, with MQGMO_ALL_MSGS_AVAILABLE. Then it
searches for a group's last message by sequence number. One call is enough if the group is as long as the previous group.

A group is read from its first message to its last message, in physical order. Applications can use a GroupId more than once, or
put a message twice. So each sequence number is read once, and a message that does not have the next number is skipped. If several
messages with number 1 precede number 2, the last of them begins the group. If the messages are not in sequence, the remaining
messages are read by sequence number. A search by sequence number finds the first message on the queue with this number. So this
search is used only for a group that is the first on the queue with its GroupId.

Each search moves a browse cursor, so there are two handles. ``_walker`` moves from first message to first message. ``_looker`` is
for all other searches. On z/OS the queue needs INDXTYPE(GROUPID), otherwise MQGET fails (2394). On other platforms IBM documents
no index by GroupId, so a search may take longer on a deeper queue.

Source: IBM MQ, "MQGMO options", "MatchOptions", "Type of index".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import islice
from typing import NamedTuple, Self, TypeVar

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import NOT_CONVERTED, Queue
from mqgroups.connection.retry import REDO
from mqgroups.core.model import GROUP_ID_NONE, MAX_MSG_SEQ_NUMBER
from mqgroups.errors import MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.spark.errors import AmbiguousGroup, GroupGone
from mqgroups.spark.offsets import Key, Planned

_T = TypeVar("_T")
# MQGMO_COMPLETE_MSG has returned only the first segments, because later segments have another CCSID or Encoding.
_NOT_JOINED = frozenset({mq.MQRC_INCONSISTENT_CCSIDS, mq.MQRC_INCONSISTENT_ENCODINGS})
DESCRIPTOR_ONLY = mq.MQGMO_ACCEPT_TRUNCATED_MSG | mq.MQGMO_FAIL_IF_QUIESCING
_STAMP = slice(st.MD_PUT_DATE.start, st.MD_PUT_TIME.stop)
_UTF_8 = 1208
_BY_GROUP_ID = mq.MQMO_MATCH_GROUP_ID
_BY_SEQ_NUMBER = mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER


class Got(NamedTuple):
    """The result of MQGET: the data of one logical message, its MQMD, and the MQGMO as MQGET has returned it."""

    data: bytes
    md: bytes
    gmo: bytes

    @property
    def is_last(self) -> bool:
        """Whether the message is the last message of its group, or is outside groups."""
        return _ends_group(self.gmo)


class AtNumber(Enum):
    """The result of a search for a sequence number of a group: no message, a message, or the group's last message."""

    GONE = auto()
    TAKEN = auto()
    LAST = auto()


class BrowsedQueue:
    """A queue that is open for browsing. It reconnects if the connection is lost. Leaving the ``with`` block closes the queue."""

    def __init__(self, connection: Connection, name: str, *, convert: bool = False, headers: bool = False) -> None:
        """Open the queue.

        Args:
            connection: a connection whose settings determine how long to try to reconnect.
            name: the name of the queue.
            convert: whether the queue manager converts data to UTF-8.
            headers: whether MQGET returns message properties, in an MQRFH2 in front of the data.

        Raises MQIError.
        """
        self.name = name
        self._connection = connection
        # On z/OS there are no segments.
        on_zos = connection.platform == mq.MQPL_ZOS
        self._whole = 0 if on_zos else mq.MQGMO_COMPLETE_MSG
        self._head_match = match_of_heads(connection)
        self._read_options = (
            self._whole
            | mq.MQGMO_FAIL_IF_QUIESCING
            | (mq.MQGMO_PROPERTIES_FORCE_MQRFH2 if headers else 0)
            | (mq.MQGMO_CONVERT if convert else 0)
        )
        self._read_gmos = {
            match: tuple(
                st.gmo(step | self._read_options, match_options=match)
                for step in (mq.MQGMO_BROWSE_FIRST, mq.MQGMO_BROWSE_NEXT)
            )
            for match in (_BY_GROUP_ID, _BY_SEQ_NUMBER, mq.MQMO_MATCH_MSG_ID)
        }
        self._pass = _Pass(connection.generation)
        connection.reopening(self._open)

    def _open(self) -> None:
        # Read ahead (DEFREADA) would show removed messages, and MQGET fails (2457) if its options change.
        self._looker = self._connection.open_queue(self.name, mq.MQOO_BROWSE | mq.MQOO_NO_READ_AHEAD)
        # It is opened when it is needed, because a task does not search for groups.
        self._walker: Queue | None = None
        if self._read_options & mq.MQGMO_CONVERT:
            self._looker.expect_conversion()

    def close(self) -> None:
        """Close both handles."""
        if self._walker is not None:
            self._walker.close()
        self._looker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the groups

    def heads(self) -> Iterator[Planned]:
        """Begin a pass over the queue. Yield all complete groups and all messages outside groups, in physical order.

        If a group has more than one message, its messages are not counted. If several messages outside groups have the same key,
        the key is yielded once for each message, and ``copies`` is the number of these messages so far. Raises MQIError.
        """
        self._pass = _Pass(self._connection.generation)
        return self._heads(mq.MQGMO_BROWSE_FIRST, 0)

    def more_heads(self, wait_ms: int) -> Iterator[Planned]:
        """Continue the pass behind the last yielded group, and wait up to ``wait_ms`` for the next group. Raises MQIError.

        A group that begins in front of the last yielded group is not found, even if its last message has arrived since then.
        """
        return self._heads(mq.MQGMO_BROWSE_NEXT, wait_ms)

    def forget(self, keys: Iterable[Key]) -> None:
        """Let the pass yield these keys again. Their messages are removed, but other messages may have the same keys."""
        for key in keys:
            self._pass.seen.pop(key, None)

    def heads_of(self, group_id: bytes) -> list[Planned]:
        """Return the complete groups that have this GroupId. Their messages are not counted. Raises MQIError."""
        options = mq.MQGMO_ALL_MSGS_AVAILABLE | DESCRIPTOR_ONLY
        match = _BY_GROUP_ID | self._head_match
        md, step, heads = st.md(group_id=group_id, msg_seq_number=1), mq.MQGMO_BROWSE_FIRST, dict[Key, Planned]()
        while found := self._descriptor(md, st.gmo(step | options, match_options=match)):
            # A key may come twice: because of a copy of a first message, or because reconnecting moves the cursor to the start.
            head = _head(*found[:2])
            heads[head.key] = head
            step = mq.MQGMO_BROWSE_NEXT
        return list(heads.values())

    def _heads(self, first: int, wait_ms: int) -> Iterator[Planned]:
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
            head = _head(*found[:2])
            times = seen.get(head.key, 0)
            if times:
                # This is a copy of a first message, or reconnecting has moved the cursor to the start of the queue.
                if head.key.is_group or self._connection.generation != self._pass.generation:
                    continue
                head = Planned(replace(head.key, copies=times + 1), times + 1)
            seen[head.key] = times + 1
            yield head

    def counted(self, planned: Planned, guess: int = 1) -> Planned:
        """Return a complete group with its number of logical messages. ``guess`` is a likely number. Raises MQIError.

        The number stays 0 if another application has got the last message. It can be wrong if another group has the same GroupId.
        """
        if planned.messages:
            return planned
        return Planned(planned.key, number_of_last(lambda seq: self._place(planned.key, seq), guess))

    def first_key(self) -> Key | None:
        """Return the key of the queue's first message, as if a group begins there; ``None`` if there is none. Raises MQIError."""
        found = self._descriptor(st.md(), st.gmo(mq.MQGMO_BROWSE_FIRST | DESCRIPTOR_ONLY))
        return None if found is None else key_of(found[0])

    # --- the messages of a group

    def messages(self, planned: Planned) -> Iterator[Got]:
        """Yield the logical messages of a complete group in sequence, or the messages outside groups with this key.

        Raises:
            GroupGone: a message is missing.
            AmbiguousGroup: the messages do not follow the first message in sequence, and may belong to another group.
            MQIError: a call failed.
        """
        key = planned.key
        if not key.is_group:
            found = 0
            for message in self._alike(key):
                found += 1
                yield message
            if found < key.copies:
                raise GroupGone(self.name, key.shown, found, key.copies)
        else:
            first = yield from self._as_they_lie(key)
            if first is not None:
                if not self._is_first(key):
                    raise (
                        AmbiguousGroup(self.name, key.shown, first)
                        if first > 1
                        else GroupGone(self.name, key.shown, 0, planned.messages)
                    )
                yield from self._by_seq_numbers(planned, first)

    def beginning(self, planned: Planned) -> Key | None:
        """Read a group, and return the key of its first message; ``None`` if the group is not complete. Raises MQIError.

        ``heads`` can yield a group that only looks complete, because another group has the same GroupId.
        """
        try:
            messages = self.messages(planned)
            first = key_of(next(messages).md)
            deque(messages, maxlen=0)
        except (AmbiguousGroup, GroupGone):
            return None
        return first

    def _by_seq_numbers(self, planned: Planned, first: int) -> Iterator[Got]:
        for number in range(first, (planned.messages or MAX_MSG_SEQ_NUMBER) + 1):
            message = self._by_seq_number(planned.key, number)
            if message is None:
                raise GroupGone(self.name, planned.key.shown, number - 1, planned.messages)
            yield message
            if message.is_last:
                return

    def _as_they_lie(self, key: Key) -> Generator[Got, None, int | None]:
        """Yield a group's messages up to the first missing number. Returns this number, or ``None`` if no number is missing."""
        seq, first = 1, None
        try:
            for message in self._in_order(st.md(group_id=key.identifier, ccsid=_UTF_8), _BY_GROUP_ID):
                number = st.long_at(message.md, st.MD_MSG_SEQ_NUMBER)
                if seq == 1:
                    if number != 1 or key_of(message.md) != key:
                        continue
                    seq, first = 2, message
                elif first is not None and number == 1:
                    # A copy of the first message; or the group's first message, behind one whose group has no other message.
                    first = message
                elif number == seq:
                    if first is not None:
                        yield first
                    seq, first = seq + 1, None
                    yield message
                else:
                    continue
                if message.is_last:
                    if first is not None:
                        yield first
                    return None
        except MQIError as error:
            if error.reason not in _NOT_JOINED:
                raise
        if first is not None:
            yield first
        return seq

    def _in_order(self, md: bytearray, match: int) -> Iterator[Got]:
        """Yield the matching messages in physical order. After a lost connection, skip the messages that were already yielded."""
        gmo, following = self._read_gmos[match]
        generation, step, at, yielded = self._connection.generation, gmo, 0, 0
        while True:
            message = self._message(md, step)
            if self._connection.generation != generation:
                generation, step, at = self._connection.generation, gmo, 0
                continue
            if message is None:
                return
            step, at = following, at + 1
            if at > yielded:
                yielded = at
                yield message

    def _is_first(self, key: Key) -> bool:
        """Return whether this group's first message precedes the first messages of all other groups with the same GroupId."""
        md = st.md(group_id=key.identifier, msg_seq_number=1)
        found = self._descriptor(
            md, st.gmo(mq.MQGMO_BROWSE_FIRST | DESCRIPTOR_ONLY, match_options=_BY_GROUP_ID | self._head_match)
        )
        return found is not None and begins(found[0], key)

    def _by_seq_number(self, key: Key, seq: int) -> Got | None:
        """Return the first message with this GroupId and sequence number, in physical order."""
        md = st.md(group_id=key.identifier, msg_seq_number=seq, ccsid=_UTF_8)
        try:
            return next(self._in_order(md, _BY_SEQ_NUMBER), None)
        except MQIError as error:
            if error.reason not in _NOT_JOINED:
                raise
            return self._joined(md)

    def _joined(self, md: bytearray) -> Got | None:
        """Join the segments of a message. The result is not converted, and has the MQMD of the first segment."""
        options = self._read_options & ~(mq.MQGMO_COMPLETE_MSG | mq.MQGMO_CONVERT)
        # The key is the offset. After a lost connection the segments come again, from the first one on.
        parts: dict[int, Got] = {}
        step = mq.MQGMO_BROWSE_FIRST
        while part := self._message(md, st.gmo(step | options, match_options=_BY_SEQ_NUMBER)):
            parts[st.long_at(part.md, st.MD_OFFSET)] = part
            step = mq.MQGMO_BROWSE_NEXT
        ordered = [parts[offset] for offset in sorted(parts)]
        return Got(b"".join(part.data for part in ordered), ordered[0].md, ordered[-1].gmo) if ordered else None

    def _alike(self, key: Key) -> Iterator[Got]:
        """Yield the messages outside groups that have this key."""
        found = self._in_order(st.md(msg_id=key.identifier, ccsid=_UTF_8), mq.MQMO_MATCH_MSG_ID)
        return islice((message for message in found if key_of(message.md) == key), key.copies)

    def _message(self, md: bytearray, gmo: bytearray) -> Got | None:
        try:
            found = self._looker.get(md, gmo, NOT_CONVERTED)
        except MQIError as error:
            found = self._redone(error, lambda: self._looker.get(md, gmo, NOT_CONVERTED))
        return None if found is None else Got(*found)

    def _walk(self, md: bytearray, gmo: bytearray) -> tuple[bytes, bytes, int] | None:
        return self.again(lambda: self._walking().get_descriptor(md, gmo))

    def _walking(self) -> Queue:
        if self._walker is None:
            self._walker = self._connection.open_queue(self.name, mq.MQOO_BROWSE | mq.MQOO_NO_READ_AHEAD)
        return self._walker

    def _at(self, key: Key, seq: int) -> tuple[bytes, bytes, int] | None:
        md = st.md(group_id=key.identifier, msg_seq_number=seq)
        gmo = st.gmo(mq.MQGMO_BROWSE_FIRST | self._whole | DESCRIPTOR_ONLY, match_options=_BY_SEQ_NUMBER)
        return self._descriptor(md, gmo)

    def _place(self, key: Key, seq: int) -> AtNumber:
        found = self._at(key, seq)
        if found is None:
            return AtNumber.GONE
        return AtNumber.LAST if _ends_group(found[1]) else AtNumber.TAKEN

    def _descriptor(self, md: bytearray, gmo: bytearray) -> tuple[bytes, bytes, int] | None:
        return self.again(lambda: self._looker.get_descriptor(md, gmo))

    def again(self, call: Callable[[], _T]) -> _T:
        """Return what ``call`` returns. As settings allow, restore a lost connection, open the queue and repeat ``call``."""
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

        return self._connection.retrying(self._connection.reconnect, REDO)(attempt)


def number_of_last(place: Callable[[int], AtNumber], guess: int) -> int:
    """Return the sequence number of the last message of a group with more than one message; 0 if the last message is missing.

    ``place`` returns what is at a sequence number. It is called once if ``guess`` is right, otherwise O(log n) times.
    """
    taken, gone, step = 1, 0, 1
    asked = max(guess, 2)
    while True:
        found = place(asked)
        if found is AtNumber.LAST:
            return asked
        if found is AtNumber.TAKEN:
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
    """The state of a pass over the queue: the connection's generation when the pass began, and how often each key was found."""

    generation: int
    seen: dict[Key, int] = field(default_factory=dict)


def match_of_heads(connection: Connection) -> int:
    """Return the match options that find a group's first message, or this message's first segment. z/OS has no segments."""
    return mq.MQMO_MATCH_MSG_SEQ_NUMBER | (0 if connection.platform == mq.MQPL_ZOS else mq.MQMO_MATCH_OFFSET)


def _head(md: bytes, gmo: bytes) -> Planned:
    return Planned(key_of(md), 1 if _ends_group(gmo) else 0)


def _ends_group(gmo: bytes) -> bool:
    """Return whether MQGET returned the last message of a group, or a message outside groups."""
    return gmo[st.GMO_GROUP_STATUS] != mq.MQGS_MSG_IN_GROUP


def key_of(md: bytes) -> Key:
    """Return the key of a message outside groups, or of the group that begins with this message."""
    group_id = md[st.MD_GROUP_ID]
    stamp, msg_id = md[_STAMP].decode("latin-1"), md[st.MD_MSG_ID]
    return Key(group_id, stamp, msg_id) if group_id != GROUP_ID_NONE else Key(msg_id, stamp)


def is_head(md: bytes) -> bool:
    """Return whether a physical message is the first message of a group, or the first segment of a first message."""
    return st.long_at(md, st.MD_MSG_SEQ_NUMBER) == 1 and st.long_at(md, st.MD_OFFSET) == 0


def begins(md: bytes, key: Key) -> bool:
    """Return whether the group with this key begins with this physical message."""
    return is_head(md) and key_of(md) == key

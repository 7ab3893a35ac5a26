"""The queue of a stream, opened for input by one query: browses its groups, and removes processed ones.

The process that plans a query's micro-batches has the queue open for exclusive input, while the tasks browse it.
That keeps away every other consumer, and a second query on the same queue. It also guards removal: a process that has lost its
connection has lost the handle, and can remove nothing. If another application has the queue open, this one waits: the process of
a query whose driver was killed runs until its current call ends.

Groups are removed in units of work. Applications may use a GroupId more than once, so a group is removed from its first message
on, which is known by its MsgId and put time, and each number once, as it is read. A missing group is not an error, so removal can
be repeated after any interruption. If the first message is gone, the rest goes too, up to the next message with number 1, which
begins another group.

But a group that is not found may not be gone: the unit of work of a dead connection may hide it, and IBM does not document that
it is backed out before another application can open the queue exclusively. A group counts as gone if it was got completely, in
units of work that were committed; otherwise it is *missed*, and its key is returned to the caller. A group that this process got
on a connection that was lost before MQCMIT is certain to reappear, so this module waits for it.

Source: IBM MQ, topic MQOPEN, MQOO_INPUT_EXCLUSIVE (opening for browse does not count as input). Unverified on IBM MQ: that the
exclusive handle of a client whose host is lost is released only when its heartbeats are missing (topic q015650).
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import OWNER_ACTIVE, Patience, retrying
from mqgroups.core.model import MsgFlag
from mqgroups.errors import CommitOutcomeUnknown, MQIError, OwnerActive
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.spark.browse import DESCRIPTOR_ONLY, BrowsedQueue, begins, is_head, is_marked_last, key_of, lies_alone
from mqgroups.spark.errors import QueueReserved
from mqgroups.spark.offsets import Key
from mqgroups.status.opening import check_apart
from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups.spark")

# The two other handles only browse: what is removed must not move the cursor of the walker.
_TAKER_OPTIONS = mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_BROWSE | mq.MQOO_INQUIRE
_REMOVE = mq.MQGMO_SYNCPOINT | DESCRIPTOR_ONLY
_BY_GROUP_ID = mq.MQMO_MATCH_GROUP_ID
_REMOVE_BY_NUMBER = st.gmo(_REMOVE, match_options=mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER)
# The MQMD of a physical message, and the length of its data.
_Physical: TypeAlias = "tuple[bytes, int]"


class ReservedQueue(BrowsedQueue):
    """A queue that groups are removed from."""

    def __init__(self, connection: Connection, name: str, wait_s: float) -> None:
        """Open the queue.

        Args:
            connection, name: as for ``BrowsedQueue``.
            wait_s: how long to wait for another application to close it, in seconds.

        Raises:
            QueueReserved: another application still has it open.
            MQIError: it cannot be opened.
        """
        self._wait_s = wait_s
        super().__init__(connection, name)

    def _open(self) -> None:
        patience = Patience(self._wait_s)
        try:
            self._taker = retrying(patience, OWNER_ACTIVE, self._connection.sleep)(
                self._connection.open_queue, self.name, _TAKER_OPTIONS
            )
        except MQIError as error:
            if error.reason in OWNER_ACTIVE:
                raise QueueReserved(self.name, self._wait_s) from error
            raise
        super()._open()

    def close(self) -> None:
        """Close all handles."""
        super().close()
        self._taker.close()

    def depth(self) -> int:
        """Return the number of physical messages on the queue: CURDEPTH. Raises MQIError."""
        return int(self.again(lambda: self._taker.inquire(mq.MQIA_CURRENT_Q_DEPTH)))

    def check_apart(self, status_queue: str) -> None:
        """Raise ConfigurationError if this is the queue ``status_queue``, also by an alias."""
        check_apart(status_queue, self._taker)

    def remove(self, keys: Iterable[Key], every: int) -> frozenset[Key]:
        """Remove these groups and messages, with a commit after ``every`` physical messages.

        Returns: the missed keys: not found, or not completely. A unit of work may hide their messages.

        Raises:
            QueueReserved: the connection was lost, and another application has opened the queue.
            MQIError: a call failed. Committed removals are final; call this again with all keys to remove the rest.
        """
        removal = _Removal({key: _Got() for key in keys})
        waiting = retrying(Patience(self._wait_s), OWNER_ACTIVE, self._connection.sleep)
        try:
            waiting(self.again, lambda: self._remove(removal, every))
        except OwnerActive:
            # Messages that this process got have not reappeared in time. They are returned as missed.
            pass
        return frozenset(removal.left)

    def _remove(self, removal: _Removal, every: int) -> None:
        connection = self._connection
        uncommitted = 0
        try:
            with connection.unit_of_work(self):
                for key in tuple(removal.left):
                    removal.at = key
                    for found in self._take(key, removal.left[key]):
                        removal.got(key, *found)
                        uncommitted += 1
                        if uncommitted == every:
                            connection.commit()
                            removal.committed()
                            connection.begin(self)
                            uncommitted = 0
        except BaseException as error:
            # A commit with an unknown outcome may have removed them; then the next try does not find them.
            removal.backed_out(for_certain=not isinstance(error, CommitOutcomeUnknown))
            raise
        removal.committed()
        if removal.coming_back:
            raise OwnerActive("MQGET", f"queue {self.name}", mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)

    def _take(self, key: Key, got: _Got) -> Iterator[_Physical]:
        """Get the physical messages of a group, or the messages outside groups, in syncpoint, except those that were ``got``."""
        if not key.is_group:
            yield from self._take_alike(key, key.copies - got.messages)
            return
        number, is_first, ended = 1, True, False
        if not lies_alone(key, lambda gmo: self._taker.get_descriptor(st.md(group_id=key.identifier), gmo)):
            found = self._browse(_BY_GROUP_ID | self._head_match, group_id=key.identifier, msg_seq_number=1)
            is_first = found is not None and begins(found[0], key)
            number = yield from self._take_as_they_lie(key)
            ended = number == 0
        while is_first and not ended:
            part = yield from self._take_number(key, number)
            if not part.messages:
                break
            number, ended = number + 1, part.last > 0
        if ended:
            self._tell_what_is_left(key)
        elif is_first or number == 1:
            yield from self._take_rest(key)

    def _place_of_head(self, key: Key) -> int | None:
        """Return how many messages with the GroupId lie before the one that begins the group, as ``messages`` reads it."""
        place = None
        for at, (md, _) in enumerate(self._browsed(_BY_GROUP_ID, group_id=key.identifier)):
            if begins(md, key) if place is None else is_head(md):
                place = at
                if is_marked_last(md):
                    break
            elif place is not None and st.long_at(md, st.MD_MSG_SEQ_NUMBER) == 2:
                break
        return place

    def _take_number(self, key: Key, number: int) -> Generator[_Physical, None, _Got]:
        """Get the first message with a number, or its segments; returns what was got, with no message if it is not whole."""
        part = _Got()
        md = st.md(group_id=key.identifier, msg_seq_number=number)
        while not part.is_message:
            taken = self._taker.get_descriptor(md, _REMOVE_BY_NUMBER)
            if taken is None:
                break
            yield taken[0], taken[2]
            part = part.and_also(taken[0], taken[2])
        return part

    def _take_as_they_lie(self, key: Key) -> Generator[_Physical, None, int]:
        """Get what ``messages`` reads: from the first message on; returns the number that did not come, 0 after the last one."""
        place = self._place_of_head(key)
        if place is None:
            return 1
        number, part = 1, _Got()
        for md, _ in islice(self._browsed(_BY_GROUP_ID, group_id=key.identifier), place, None):
            if st.long_at(md, st.MD_MSG_SEQ_NUMBER) != number:
                continue
            for taken in self._take_under_cursor():
                yield taken
                part = part.and_also(*taken)
            if part.is_message:
                if part.last:
                    return 0
                number, part = number + 1, _Got()
        return number

    def _take_rest(self, key: Key) -> Iterator[_Physical]:
        """Get the rest of a group: the messages before those of the next group with its GroupId."""
        for md, _ in self._browsed(_BY_GROUP_ID, group_id=key.identifier):
            if st.long_at(md, st.MD_MSG_SEQ_NUMBER) == 1:
                return
            yield from self._take_under_cursor()

    def _take_alike(self, key: Key, copies: int) -> Iterator[_Physical]:
        for md, _ in self._browsed(mq.MQMO_MATCH_MSG_ID, msg_id=key.identifier) if copies else ():
            if key_of(md) == key:
                for taken in self._take_under_cursor():
                    yield taken
                    copies -= 1
                if copies == 0:
                    return

    def _take_under_cursor(self) -> Iterator[_Physical]:
        try:
            taken = self._taker.get_descriptor(st.md(), st.gmo(_REMOVE | mq.MQGMO_MSG_UNDER_CURSOR))
        except MQIError as error:
            # It has expired in the meantime.
            if error.reason != mq.MQRC_NO_MSG_UNDER_CURSOR:
                raise
            return
        if taken is not None:
            yield taken[0], taken[2]

    def _browsed(self, match: int, **fields: Any) -> Iterator[_Physical]:
        step = mq.MQGMO_BROWSE_FIRST
        while (found := self._browse(match, step, **fields)) is not None:
            yield found
            step = mq.MQGMO_BROWSE_NEXT

    def _browse(self, match: int, step: int = mq.MQGMO_BROWSE_FIRST, **fields: Any) -> _Physical | None:
        found = self._taker.get_descriptor(st.md(**fields), st.gmo(step | DESCRIPTOR_ONLY, match_options=match))
        return None if found is None else (found[0], found[2])

    def _tell_what_is_left(self, key: Key) -> None:
        found = self._browse(_BY_GROUP_ID, group_id=key.identifier)
        step = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_ALL_MSGS_AVAILABLE
        match = _BY_GROUP_ID | self._head_match
        if found is not None and self._browse(match, step, group_id=key.identifier, msg_seq_number=1) is None:
            _log.warning(
                "queue %s: %s was removed, but message %d with its GroupId is still there. It is a copy, or of another group "
                "that is not complete. `mqgroups groups` shows it",
                self.name,
                key.shown,
                st.long_at(found[0], st.MD_MSG_SEQ_NUMBER),
                extra=logs.fields(q_mgr_name=self._connection.q_mgr_name, queue=self.name),
            )


@dataclass(frozen=True, slots=True)
class _Got:
    """How much of a group was got: the number of logical messages whose end was got, the number of the group's last message (0 if
    unknown), and how many bytes of segments before those ends are missing."""

    messages: int = 0
    last: int = 0
    missing: int = 0

    @property
    def is_whole(self) -> bool:
        return self.messages == self.last > 0 and self.missing == 0

    @property
    def is_message(self) -> bool:
        """Whether it is one logical message, completely."""
        return self.messages == 1 and self.missing == 0

    def and_also(self, md: bytes, length: int) -> _Got:
        """Return the counts with one more physical message."""
        flags = MsgFlag(st.long_at(md, st.MD_MSG_FLAGS))
        messages, last, missing = self.messages, self.last, self.missing
        if flags & MsgFlag.SEGMENT:
            missing -= length
        if not flags & MsgFlag.SEGMENT or flags & MsgFlag.LAST_SEGMENT:
            messages += 1
            missing += st.long_at(md, st.MD_OFFSET) + length if flags & MsgFlag.SEGMENT else 0
        if flags & MsgFlag.LAST_MSG_IN_GROUP or not flags & MsgFlag.MSG_IN_GROUP:
            last = st.long_at(md, st.MD_MSG_SEQ_NUMBER)
        return _Got(messages, last, missing)


@dataclass(slots=True)
class _Removal:
    """The progress of a removal.

    Attributes:
        left: the keys that are not known to be gone, and how much of each was got in committed units of work.
        at: the key that is being got now. If a reply is lost, a message of it may have been got.
        coming_back: keys of which messages were got and certainly not committed.
    """

    left: dict[Key, _Got]
    at: Key | None = None
    coming_back: set[Key] = field(default_factory=set)
    _uncommitted: dict[Key, _Got] = field(default_factory=dict)

    def got(self, key: Key, md: bytes, length: int) -> None:
        before = self._uncommitted.get(key) or self.left.get(key) or _Got()
        self._uncommitted[key] = before.and_also(md, length)

    def committed(self) -> None:
        self.left.update(self._uncommitted)
        for key, got in self._uncommitted.items():
            if got.is_whole if key.is_group else got.messages == key.copies:
                del self.left[key]
                self.coming_back.discard(key)
        self._uncommitted.clear()

    def backed_out(self, *, for_certain: bool) -> None:
        if for_certain:
            self.coming_back.update(key for key in (*self._uncommitted, self.at) if key in self.left)
        self._uncommitted.clear()

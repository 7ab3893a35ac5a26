"""The queue of a stream, opened for input by one query: browses its groups, and removes processed ones.

The process that plans a query's micro-batches has the queue open for exclusive input (``exclusive``), while the tasks browse it.
That keeps away every other consumer, and a second query on the same queue. It also guards removal: a process that has lost its
connection has lost the handle, and can remove nothing. If another application has the queue open, this one waits: the process of
a query whose driver was killed runs until its current call ends.

Groups are removed by GroupId in units of work, in any order. A missing group is not an error, so removal can be repeated after
any interruption. But a group that is not found may not be gone: the unit of work of a dead connection may hide it, and IBM does
not document that it is backed out before another application can open the queue exclusively. A group counts as gone if it was got
completely, in units of work that were committed; otherwise it is *missed*, and its key is returned to the caller. A group that
this process got on a connection that was lost before MQCMIT is certain to reappear, so this module waits for it.

Source: IBM MQ, topic MQOPEN, MQOO_INPUT_EXCLUSIVE (opening for browse does not count as input). Unverified on IBM MQ: that the
exclusive handle of a client whose host is lost is released only when its heartbeats are missing (topic q015650).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import OWNER_ACTIVE, Patience, retrying
from mqgroups.core.model import MsgFlag
from mqgroups.errors import CommitOutcomeUnknown, MQIError, OwnerActive
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.spark.browse import DESCRIPTOR_ONLY, BrowsedQueue, key_of
from mqgroups.spark.errors import QueueReserved
from mqgroups.spark.offsets import Key
from mqgroups.status.opening import check_apart

_REMOVE = mq.MQGMO_SYNCPOINT | DESCRIPTOR_ONLY


class ReservedQueue(BrowsedQueue):
    """A queue that groups are removed from."""

    def __init__(self, connection: Connection, name: str, *, exclusive: bool, wait_s: float) -> None:
        """Open the queue.

        Args:
            connection, name: as for ``BrowsedQueue``.
            exclusive: open it for exclusive input, so that no other application gets from it.
            wait_s: how long to wait for another application to close it, in seconds.

        Raises:
            QueueReserved: another application still has it open.
            MQIError: it cannot be opened.
        """
        self._exclusive = exclusive
        self._wait_s = wait_s
        super().__init__(connection, name)

    def _open(self) -> None:
        patience = Patience(self._wait_s)
        try:
            retrying(patience, OWNER_ACTIVE, self._connection.sleep)(super()._open)
        except MQIError as error:
            if error.reason in OWNER_ACTIVE:
                raise QueueReserved(self.name, self._wait_s) from error
            raise

    def _walker_options(self) -> int:
        return mq.MQOO_BROWSE | mq.MQOO_INQUIRE | (mq.MQOO_INPUT_EXCLUSIVE if self._exclusive else mq.MQOO_INPUT_SHARED)

    def depth(self) -> int:
        """Return the number of physical messages on the queue: CURDEPTH. Raises MQIError."""
        return int(self.again(lambda: self._walker.inquire(mq.MQIA_CURRENT_Q_DEPTH)))

    def check_apart(self, status_queue: str) -> None:
        """Raise ConfigurationError if this is the queue ``status_queue``, also by an alias."""
        check_apart(status_queue, self._walker)

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
                    while (found := self._take(key)) is not None:
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

    def _take(self, key: Key) -> tuple[bytes, int] | None:
        """Get one physical message of a group, or the single message, in syncpoint; returns its MQMD and length, or ``None``."""
        if not key.stamp:
            md = st.md(group_id=key.identifier)
            taken = self._walker.get_descriptor(md, st.gmo(_REMOVE, match_options=mq.MQMO_MATCH_GROUP_ID))
            return None if taken is None else (taken[0], taken[2])
        md = st.md(msg_id=key.identifier)
        step = mq.MQGMO_BROWSE_FIRST
        while True:
            found = self._walker.get_descriptor(md, st.gmo(step | DESCRIPTOR_ONLY, match_options=mq.MQMO_MATCH_MSG_ID))
            if found is None:
                return None
            if key_of(found[0]) == key:
                break
            step = mq.MQGMO_BROWSE_NEXT
        try:
            taken = self._walker.get_descriptor(st.md(), st.gmo(_REMOVE | mq.MQGMO_MSG_UNDER_CURSOR))
        except MQIError as error:
            # Without exclusive input, another application may have got it in the meantime.
            if error.reason == mq.MQRC_NO_MSG_UNDER_CURSOR:
                return None
            raise
        return None if taken is None else (taken[0], taken[2])


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
            if got.is_whole:
                del self.left[key]
                self.coming_back.discard(key)
        self._uncommitted.clear()

    def backed_out(self, *, for_certain: bool) -> None:
        if for_certain:
            self.coming_back.update(key for key in (*self._uncommitted, self.at) if key in self.left)
        self._uncommitted.clear()

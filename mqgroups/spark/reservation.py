"""The queue of a stream, open for input by one query: what is there, and taking away what is done with.

The process that plans a query's micro-batches has the queue open for exclusive input (``exclusive``). That keeps every other
consumer away, a second query on the same queue too, while the tasks browse it. It is also the fence of removal: the handle
lives and dies with the connection, so a process that was cut off can remove nothing any more. Where another application has
the queue, it is waited for: the process of a query whose driver was killed lives until the call it is in ends.

Groups are removed by GroupId in units of work, in any order. What is not there any more is no error, so removal can begin
again after whatever stopped it. But what is not found is not proved to be gone: the unit of work of a connection that died
may hide it, and no text of IBM's says that it is backed out before another one can have the queue exclusively. Gone is what was
got from its first byte to its last in units of work that were committed; the rest is *missed*, and told to the caller. What this
process has got itself on a connection that was lost before MQCMIT comes back for certain, and is waited for.

Source: IBM MQ, topic MQOPEN, MQOO_INPUT_EXCLUSIVE (an open for browsing is no open for input). Unverified on IBM MQ: that an
exclusive handle of a client that died is released only after the channel's heartbeat interval.
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

_REMOVE = mq.MQGMO_SYNCPOINT | DESCRIPTOR_ONLY


class ReservedQueue(BrowsedQueue):
    """A queue that groups are removed from."""

    def __init__(self, connection: Connection, name: str, *, exclusive: bool, wait_s: float) -> None:
        """Open the queue.

        Args:
            connection, name: as for ``BrowsedQueue``.
            exclusive: keep other applications from getting.
            wait_s: how long to wait for one that does, seconds.

        Raises:
            QueueReserved: another application has it still.
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
        return mq.MQOO_BROWSE | (mq.MQOO_INPUT_EXCLUSIVE if self._exclusive else mq.MQOO_INPUT_SHARED)

    def remove(self, keys: Iterable[Key], every: int) -> frozenset[Key]:
        """Remove these groups and messages, as far as they are there, with a commit after so many messages.

        Returns: those that were missed: not found, or not all of their messages. Maybe a unit of work hides them.

        Raises:
            QueueReserved: the connection was lost, and another application has the queue.
            MQIError: a call failed. What is committed is gone; the rest can be removed by removing all again.
        """
        removal = _Removal({key: _Got() for key in keys})
        waiting = retrying(Patience(self._wait_s), OWNER_ACTIVE, self._connection.sleep)
        try:
            waiting(self._again, lambda: self._remove(removal, every))
        except OwnerActive:
            # It takes longer than one waits for another process; whoever is told goes on without.
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
            # A commit whose outcome is not known may have removed them; then nothing is found the next time.
            removal.backed_out(for_certain=not isinstance(error, CommitOutcomeUnknown))
            raise
        removal.committed()
        if removal.coming_back:
            raise OwnerActive("MQGET", f"queue {self.name}", mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)

    def _take(self, key: Key) -> tuple[bytes, int] | None:
        """Get one physical message of a group, or the message, in syncpoint; returns its MQMD and length, if there was one."""
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
            # Without exclusive, somebody else can have taken it meanwhile.
            if error.reason == mq.MQRC_NO_MSG_UNDER_CURSOR:
                return None
            raise
        return None if taken is None else (taken[0], taken[2])


@dataclass(frozen=True, slots=True)
class _Got:
    """How much was got of a group: logical messages to their ends, the number of the last one, and bytes of segments that are
    missing before these ends."""

    messages: int = 0
    last: int = 0
    missing: int = 0

    @property
    def is_whole(self) -> bool:
        return self.messages == self.last > 0 and self.missing == 0

    def and_also(self, md: bytes, length: int) -> _Got:
        """Return this and one physical message more."""
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
    """What is to be removed, and how far that is.

    Attributes:
        left: what is not known to be gone, and how much of it was got in units of work that are committed.
        at: what is being got. A reply that is lost may have brought a message of it.
        coming_back: what was got, and then not committed for certain.
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

"""The queue of a stream, open for input by one query: what is there, and taking away what is done with.

The process that plans a query's micro-batches has the queue open for exclusive input (``exclusive``). That keeps every other
consumer away, a second query on the same queue too, while the tasks browse it. It is also the fence of removal: the handle
lives and dies with the connection, so a process that was cut off can remove nothing any more. Where another application has
the queue, it is waited for: the process of a query whose driver was killed lives until the call it is in ends.

Groups are removed by GroupId in units of work, in any order. What is not there any more is no error, so removal can begin
again after whatever stopped it.

Source: IBM MQ, topic MQOPEN, MQOO_INPUT_EXCLUSIVE (an open for browsing is no open for input). Unverified on IBM MQ: that an
exclusive handle of a client that died is released only after the channel's heartbeat interval.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgroups.connection import Connection
from mqgroups.errors import MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.retry import OWNER_ACTIVE, Patience, retrying
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

    def remove(self, keys: Iterable[Key], every: int) -> None:
        """Remove these groups and messages, as far as they are there, with a commit after so many messages.

        Raises:
            QueueReserved: the connection was lost, and another application has the queue.
            MQIError: a call failed. What is committed is gone; the rest can be removed by removing all again.
        """
        left = list(keys)
        # A commit whose outcome is not known may have removed them; then nothing is found the next time.
        self._again(lambda: self._remove(left, every))

    def _remove(self, keys: Iterable[Key], every: int) -> None:
        connection = self._connection
        uncommitted = 0
        with connection.unit_of_work(self):
            for key in keys:
                while self._take(key):
                    uncommitted += 1
                    if uncommitted == every:
                        connection.commit()
                        connection.begin(self)
                        uncommitted = 0

    def _take(self, key: Key) -> bool:
        """Get one physical message of a group, or the message, in syncpoint. Returns whether there was one."""
        if not key.stamp:
            md = st.md(group_id=key.identifier)
            return self._walker.get_descriptor(md, st.gmo(_REMOVE, match_options=mq.MQMO_MATCH_GROUP_ID)) is not None
        md = st.md(msg_id=key.identifier)
        step = mq.MQGMO_BROWSE_FIRST
        while True:
            found = self._walker.get_descriptor(md, st.gmo(step | DESCRIPTOR_ONLY, match_options=mq.MQMO_MATCH_MSG_ID))
            if found is None:
                return False
            if key_of(found[0]) == key:
                break
            step = mq.MQGMO_BROWSE_NEXT
        try:
            return self._walker.get_descriptor(st.md(), st.gmo(_REMOVE | mq.MQGMO_MSG_UNDER_CURSOR)) is not None
        except MQIError as error:
            # Without exclusive, somebody else can have taken it meanwhile.
            if error.reason == mq.MQRC_NO_MSG_UNDER_CURSOR:
                return False
            raise

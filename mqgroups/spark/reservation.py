"""The queue of a stream, reserved for one query. This module browses the groups, and removes processed groups.

The process that plans a query's micro-batches *reserves* the queue. It opens the queue for exclusive input, which fails if
another application has the queue open for input. Then the process exchanges this handle for a handle for shared input, and keeps
the second handle. So two queries cannot read one queue, and the removers (``removal.py``) can get messages on their own
connections. If another application has the queue open, the process waits. For example, if a driver was killed, the query's
process still runs until its current call ends.

The reservation also protects removal. A remover's handle is used only if this process's own handle is still valid after the
remover has opened the queue. So another process can reserve the queue only after the removers too have closed it. If the
connection is lost, the removers disconnect before the queue is reserved again.

If a remover got messages and lost the connection before MQCMIT, the messages certainly reappear. So this module waits for them.

Source: IBM MQ, "MQOPEN", MQOO_INPUT_EXCLUSIVE (opening for browse does not count as input). Two assumptions are unverified on IBM
MQ. First, if heartbeats are missing because a client's host is lost, the queue manager releases the client's handle ("Receive
timeout"). Second, several connections that get by GroupId from one queue do not slow each other down.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue, closed_if_it_fails
from mqgroups.connection.retry import OWNER_ACTIVE, Patience
from mqgroups.core.to_copy import to_copy
from mqgroups.errors import ConfigurationError, MQIError, OwnerActive
from mqgroups.mqi import constants as mq
from mqgroups.spark.browse import BrowsedQueue
from mqgroups.spark.errors import QueueReserved
from mqgroups.spark.offsets import Key
from mqgroups.spark.removal import Removers, Share
from mqgroups.status.opening import check_apart


class ReservedQueue(BrowsedQueue):
    """A queue that is reserved for one query, which browses and removes groups."""

    def __init__(self, connection: Connection, name: str, wait_s: float, removers: Removers) -> None:
        """Reserve the queue.

        Args:
            connection, name: the same as for ``BrowsedQueue``.
            wait_s: how long to wait until another application closes the queue, in seconds.
            removers: the removers of this queue.

        Raises:
            QueueReserved: another application still has the queue open for input.
            ConfigurationError: the queue is NOSHARE.
            MQIError: the queue cannot be opened.
        """
        self._wait_s = wait_s
        self._removers = removers
        self._shares: list[Share] = []
        super().__init__(connection, name)

    def _open(self) -> None:
        self._removers.close()
        try:
            self._handle = self._connection.retrying(Patience(self._wait_s), OWNER_ACTIVE)(self._reserve)
        except MQIError as error:
            if error.reason in OWNER_ACTIVE:
                raise QueueReserved(self.name, self._wait_s) from error
            raise
        with closed_if_it_fails(self._handle):
            super()._open()

    def _reserve(self) -> Queue:
        # This is exclusive in a whole queue-sharing group. The count below is only for one queue manager.
        self._connection.open_queue(self.name, mq.MQOO_INPUT_EXCLUSIVE).close()
        handle = self._connection.open_queue(self.name, mq.MQOO_INPUT_SHARED | mq.MQOO_INQUIRE)
        with closed_if_it_fails(handle):
            if handle.inquire(mq.MQIA_SHAREABILITY) != mq.MQQA_SHAREABLE:
                raise ConfigurationError(
                    f"queue {self.name} is NOSHARE, but a stream removes groups on several connections. "
                    + to_copy("ALTER QLOCAL({}) SHARE", self.name)
                )
            if int(handle.inquire(mq.MQIA_OPEN_INPUT_COUNT)) > 1:
                # Another application has opened the queue between the two calls. Both close it, and retry after random pauses.
                raise OwnerActive("MQOPEN", f"queue {self.name}", mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)
        return handle

    def close(self) -> None:
        """Wait for the removers, disconnect them, and close all handles."""
        self._removers.close()
        super().close()
        self._handle.close()

    def depth(self) -> int:
        """Return the number of physical messages on the queue (CURDEPTH). Raises MQIError."""
        return int(self.again(lambda: self._handle.inquire(mq.MQIA_CURRENT_Q_DEPTH)))

    def check_apart(self, status_queue: str) -> None:
        """Raise ConfigurationError if ``status_queue`` is this queue or an alias of this queue."""
        check_apart(status_queue, self._handle)

    # --- removal

    @property
    def is_removing(self) -> bool:
        """Whether at least one remover is at work."""
        return self._removers.are_working

    def remove(self, shares: Iterable[Share]) -> None:
        """Begin to remove these shares. Call ``removed`` before you call this again. Raises the same errors as ``removed``."""
        self._shares = list(shares)
        self.again(self._start)

    def removed(self) -> frozenset[Key]:
        """Wait until the removers have ended, and return the keys of the missed groups, which were not found completely.

        Raises:
            QueueReserved: the connection was lost, and another application has opened the queue.
            MQIError: a call failed. Committed removals are final, and the removal of all keys can be repeated.
        """
        try:
            self._connection.retrying(Patience(self._wait_s), OWNER_ACTIVE)(self.again, self._finish)
        except OwnerActive:
            # Messages that a remover got have not reappeared in time, so their groups are missed.
            pass
        finally:
            shares, self._shares = self._shares, []
        return frozenset(key for share in shares for key in share.left)

    def _finish(self) -> None:
        if not self._removers.were_started:
            self._start()
        errors = self._removers.wait()
        for error in errors:
            if not (isinstance(error, MQIError) and self._connection.can_redo(error)):
                raise error
        for error in errors:
            raise error
        if not all(share.is_done for share in self._shares):
            raise OwnerActive("MQGET", f"queue {self.name}", mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)

    def _start(self) -> None:
        shares = [share for share in self._shares if not share.is_done]
        if self._removers.open(len(shares)):
            # If this succeeds, no other process had reserved the queue when the removers opened it.
            self._handle.inquire(mq.MQIA_CURRENT_Q_DEPTH)
        self._removers.start(shares)

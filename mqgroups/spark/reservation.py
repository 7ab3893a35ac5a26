"""The queue of a stream, reserved for one query: browses its groups, and has processed groups removed.

The process that plans a query's micro-batches *reserves* the queue. It opens the queue for exclusive input, which fails if
another application has it open for input. Then it exchanges that handle for one for shared input, which it keeps. So two queries
cannot read one queue, and the removers (``removal.py``) can get on connections of their own. If another application has the queue
open, this one waits: the process of a query whose driver was killed runs until its current call ends.

The reservation also guards removal. A remover's handle is used only if this process's own handle was valid after the remover's
was opened. So another process can reserve the queue only when the removers have closed it, too. If the connection is lost,
removers disconnect before the queue is reserved again.

A group that a remover got on a connection that was lost before MQCMIT is certain to reappear, so this module waits for it.

Source: IBM MQ, "MQOPEN", MQOO_INPUT_EXCLUSIVE (opening for browse does not count as input). Unverified on IBM MQ:
that the handle of a client whose host is lost is released when its heartbeats are missing ("Receive timeout"); and that
several connections that get by GroupId from one queue do not slow each other down.
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
    """A queue that groups are removed from."""

    def __init__(self, connection: Connection, name: str, wait_s: float, removers: Removers) -> None:
        """Reserve the queue.

        Args:
            connection, name: as for ``BrowsedQueue``.
            wait_s: how long to wait for another application to close it, in seconds.
            removers: of this queue.

        Raises:
            QueueReserved: another application still has it open for input.
            ConfigurationError: it is NOSHARE.
            MQIError: it cannot be opened.
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
        # Exclusive in a whole queue-sharing group. The count below is that of one queue manager.
        self._connection.open_queue(self.name, mq.MQOO_INPUT_EXCLUSIVE).close()
        handle = self._connection.open_queue(self.name, mq.MQOO_INPUT_SHARED | mq.MQOO_INQUIRE)
        with closed_if_it_fails(handle):
            if handle.inquire(mq.MQIA_SHAREABILITY) != mq.MQQA_SHAREABLE:
                raise ConfigurationError(
                    f"queue {self.name} is NOSHARE, but a stream removes groups on several connections. "
                    + to_copy("ALTER QLOCAL({}) SHARE", self.name)
                )
            if int(handle.inquire(mq.MQIA_OPEN_INPUT_COUNT)) > 1:
                # Another application did the same between the two calls. Both close the queue, and retry after random pauses.
                raise OwnerActive("MQOPEN", f"queue {self.name}", mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)
        return handle

    def close(self) -> None:
        """Wait for the removers, disconnect them, and close all handles."""
        self._removers.close()
        super().close()
        self._handle.close()

    def depth(self) -> int:
        """Return the number of physical messages on the queue: CURDEPTH. Raises MQIError."""
        return int(self.again(lambda: self._handle.inquire(mq.MQIA_CURRENT_Q_DEPTH)))

    def check_apart(self, status_queue: str) -> None:
        """Raise ConfigurationError if this is the queue ``status_queue``, or an alias of it."""
        check_apart(status_queue, self._handle)

    # --- removal

    @property
    def is_removing(self) -> bool:
        """Whether removers are at work."""
        return self._removers.are_working

    def remove(self, shares: Iterable[Share]) -> None:
        """Begin to remove groups and messages. Call ``removed`` before the next ones. Raises the same errors."""
        self._shares = list(shares)
        self.again(self._start)

    def removed(self) -> frozenset[Key]:
        """Wait until the removers have ended; returns the missed keys: not found, or not completely.

        Raises:
            QueueReserved: the connection was lost, and another application has opened the queue.
            MQIError: a call failed. Committed removals are final; all keys can be removed again.
        """
        try:
            self._connection.retrying(Patience(self._wait_s), OWNER_ACTIVE)(self.again, self._finish)
        except OwnerActive:
            # Messages that a remover got have not reappeared in time: they are missed.
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
            # If this succeeds, nobody else had reserved the queue when the removers opened it.
            self._handle.inquire(mq.MQIA_CURRENT_Q_DEPTH)
        self._removers.start(shares)

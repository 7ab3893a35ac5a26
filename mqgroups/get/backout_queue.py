"""The queue for messages that cannot be processed: a queue's backout threshold and backout queue (BOTHRESH, BOQNAME).

The queue manager only stores these two attributes (IBM MQ, topic q103010); consumers act on them.
"""

from __future__ import annotations

import logging
from contextlib import closing, nullcontext

from mqgroups.connection.connection import Connection
from mqgroups.connection.forwarding import ForwardQueue
from mqgroups.connection.queue import Queue
from mqgroups.core.modes import Unprocessed
from mqgroups.errors import ConfigurationError, NotAuthorised
from mqgroups.mqi import constants as mq
from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups.get")


class BackoutQueue:
    """The backout queue of one queue, opened at its first use.

    Attributes:
        threshold: BOTHRESH; 0 means that backout counts are ignored.
        name: BOQNAME; empty if not set.
    """

    def __init__(self, connection: Connection, queue: Queue, poison: Unprocessed, stalled: Unprocessed) -> None:
        """Inquire the attributes of ``queue``, which is open for inquiry, or of the queue that it is an alias of.

        Without authority for the queue behind an alias, BOTHRESH counts as 0 if nothing is to be moved.

        Raises MQIError; ConfigurationError if by the consumer's policies messages are moved, but BOQNAME is not set.
        """
        self._connection = connection
        self._queue: ForwardQueue | None = None
        is_alias = queue.resolved_q_name != queue.object_name
        # An alias has few attributes of its own (IBM MQ, topic MQINQ).
        self.threshold, self.name = 0, ""
        try:
            opened = (
                closing(connection.open_queue(queue.resolved_q_name, mq.MQOO_INQUIRE))
                if is_alias
                else nullcontext(queue)
            )
        except NotAuthorised as error:
            # IBM MQ checks the alias alone, so a user may have no authority for the queue behind it.
            if poison != "halt" or stalled != "halt":
                error.context += (
                    f". With poison='halt' and stalled='halt' the consumer of {queue.name} does not need it"
                )
                raise
            extra = logs.fields(connection.place, reason=error.reason)
            _log.warning(
                "%s: poison messages are not noticed, because BOTHRESH cannot be read: %s",
                queue.name,
                error,
                extra=extra,
            )
            return
        with opened as local:
            self.threshold = int(local.inquire(mq.MQIA_BACKOUT_THRESHOLD))
            self.name = str(local.inquire(mq.MQCA_BACKOUT_REQ_Q_NAME))
        if poison != "halt" and self.threshold and not self.name:
            raise ConfigurationError(
                f"queue {queue.name} has BOTHRESH({self.threshold}) but no BOQNAME, so a message that cannot be processed has "
                "no queue to be moved to. Define a backout queue and ALTER BOQNAME of the queue, or choose poison='halt'"
            )
        if stalled == "quarantine" and not self.name:
            raise ConfigurationError(
                f"queue {queue.name} has no BOQNAME, so the rest of a group that cannot be completed has no queue to be moved "
                "to. Define a backout queue and ALTER BOQNAME of the queue, or choose stalled='halt'"
            )

    def suspects(self, backout_count: int) -> bool:
        """Whether a message with this backout count may be poison."""
        return 0 < self.threshold <= backout_count

    def take(self, md: bytes | bytearray, data: bytes) -> None:
        """Put a message to the backout queue, with the MQMD that it was got with, in the unit of work; raises MQIError."""
        if self._queue is None or self._queue.is_stale:
            self._queue = ForwardQueue(self._connection, self.name)
        self._queue.take(md, data)

    def close(self) -> None:
        """Close the queue, if it was opened."""
        if self._queue is not None:
            self._queue.close()

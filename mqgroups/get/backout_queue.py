"""Reads the backout threshold (BOTHRESH) and the backout queue (BOQNAME), a queue's attributes for poison messages.

The queue manager only stores these two attributes (IBM MQ, "BackoutThreshold"). Consumers act on them.
"""

from __future__ import annotations

import logging
from contextlib import closing, nullcontext
from typing import NamedTuple

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.core.modes import Unprocessed
from mqgroups.errors import ConfigurationError, NotAuthorised
from mqgroups.mqi import constants as mq
from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups.get")


class BackoutQueue(NamedTuple):
    """The values of a queue's attributes BOTHRESH and BOQNAME. If BOTHRESH is 0, backout counts are ignored."""

    threshold: int = 0
    name: str = ""

    def suspects(self, backout_count: int) -> bool:
        """Return whether a message with this backout count is suspected to be poison."""
        return 0 < self.threshold <= backout_count


def backout_queue_of(connection: Connection, queue: Queue, poison: Unprocessed, stalled: Unprocessed) -> BackoutQueue:
    """Return BOTHRESH and BOQNAME of ``queue``, which must be open for inquiry. For an alias, return those of its target queue.

    Without authority for the target queue, NotAuthorised is raised if the policies move messages. Otherwise BOTHRESH counts as 0.

    Raises MQIError; ConfigurationError if the consumer's policies move messages, but BOQNAME is not set.
    """
    is_alias = queue.resolved_q_name != queue.object_name
    # An alias has few attributes of its own (IBM MQ, topic MQINQ).
    try:
        opened = (
            closing(connection.open_queue(queue.resolved_q_name, mq.MQOO_INQUIRE)) if is_alias else nullcontext(queue)
        )
    except NotAuthorised as error:
        # IBM MQ checks the alias alone, so a user may have no authority for the queue behind it.
        if poison != "halt" or stalled != "halt":
            error.context += f". With poison='halt' and stalled='halt' the consumer of {queue.name} does not need it"
            raise
        extra = logs.fields(connection.place, reason=error.reason)
        _log.warning(
            "%s: poison messages are not noticed, because BOTHRESH cannot be read: %s",
            queue.name,
            error,
            extra=extra,
        )
        return BackoutQueue()
    with opened as local:
        threshold, name = local.inquire(mq.MQIA_BACKOUT_THRESHOLD), local.inquire(mq.MQCA_BACKOUT_REQ_Q_NAME)
    found = BackoutQueue(int(threshold), str(name))
    if poison != "halt" and found.threshold and not found.name:
        raise ConfigurationError(
            f"queue {queue.name} has BOTHRESH({found.threshold}) but no BOQNAME, so a message that cannot be processed has "
            "no queue to be moved to. Define a backout queue and ALTER BOQNAME of the queue, or choose poison='halt'"
        )
    if stalled == "quarantine" and not found.name:
        raise ConfigurationError(
            f"queue {queue.name} has no BOQNAME, so the rest of a group that cannot be completed has no queue to be moved "
            "to. Define a backout queue and ALTER BOQNAME of the queue, or choose stalled='halt'"
        )
    return found

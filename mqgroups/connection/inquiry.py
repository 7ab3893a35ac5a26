"""Inquires the local queue that an open queue leads to: an alias has few attributes of its own (IBM MQ, topic MQINQ)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.mqi import constants as mq


@contextmanager
def inquiring(connection: Connection, queue: Queue) -> Iterator[Queue]:
    """Yield a queue to inquire: ``queue`` itself, which is open for inquiry and input, or the queue behind it if it is an alias.

    Raises MQIError if the queue behind the alias cannot be opened.
    """
    if queue.resolved_q_name == queue.object_name:
        yield queue
        return
    with closing(connection.open_queue(queue.resolved_q_name, mq.MQOO_INQUIRE)) as local:
        yield local

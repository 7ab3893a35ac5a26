"""Show what a pipeline would find if it were started now: its queues and the waiting groups. No Spark; nothing is changed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from mqgroups.connection.connection import Connection
from mqgroups.errors import QueueMissing
from mqgroups.mqi import constants as mq
from mqgroups.spark.browse import BrowsedQueue
from mqgroups.spark.connections import connected
from mqgroups.spark.pipeline.config import PipelineConfig


@dataclass(frozen=True, slots=True)
class Waiting:
    """The messages on the source's queue.

    Attributes:
        groups, messages: the number of complete groups, and of their logical messages.
        ungrouped: the number of messages outside groups; each would be read and rejected.
        depth: all physical messages, also of incomplete groups and uncommitted puts, but not those got in units of work.
        readers: how many handles have the queue open for input; a pipeline needs it exclusively.
    """

    groups: int
    messages: int
    ungrouped: int
    depth: int
    readers: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """The state of a pipeline's queues.

    Attributes:
        q_mgr_name: the queue manager that answered.
        waiting: the messages on the source's queue.
        status_queues: by name, whether the queue exists; the sink creates missing ones.
    """

    q_mgr_name: str
    waiting: Waiting
    status_queues: dict[str, bool]


def inspect(config: PipelineConfig) -> Inspection:
    """Inspect all queues that a pipeline needs.

    Raises:
        ConfigurationError: settings cannot be combined, or a secret cannot be read.
        MQGroupsError: connecting or opening a queue failed.
    """
    with closing(connected(config.connection)) as q_mgr:
        waiting = _waiting(q_mgr, config.source.queue)
        status_queues = {}
        outputs = [config.outgoing, config.quarantine]
        for each in outputs:
            if each is not None and each.queue is not None:
                q_mgr.open_queue(each.queue, mq.MQOO_OUTPUT).close()
                name = each.options["statusQueue"]
                status_queues[name] = _exists(q_mgr, name)
        return Inspection(q_mgr.q_mgr_name, waiting, status_queues)


def _waiting(q_mgr: Connection, name: str) -> Waiting:
    groups = messages = ungrouped = 0
    guess = 1
    with BrowsedQueue(q_mgr, name) as queue:
        for head in queue.heads():
            if not head.key.is_group:
                ungrouped += 1
                continue
            guess = queue.counted(head, guess).messages
            groups, messages = groups + 1, messages + guess
    handle = q_mgr.open_queue(name, mq.MQOO_INQUIRE)
    depth, readers = int(handle.inquire(mq.MQIA_CURRENT_Q_DEPTH)), int(handle.inquire(mq.MQIA_OPEN_INPUT_COUNT))
    handle.close()
    return Waiting(groups, messages, ungrouped, depth, readers)


def _exists(q_mgr: Connection, name: str) -> bool:
    try:
        q_mgr.open_queue(name, mq.MQOO_BROWSE).close()
    except QueueMissing:
        return False
    return True

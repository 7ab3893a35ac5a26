"""The programs that the cluster tests kill: ``produce`` puts groups to a cluster queue, ``carry`` takes those of an instance off.

    python -m tests.cluster_worker produce QUEUE NAME GROUPS MESSAGES
    python -m tests.cluster_worker carry QUEUE TARGET NAME

They find their queue manager by MQGROUPS_Q_MGR_NAME and MQSERVER, go on after a restart as an application should, and end with 3
when they cannot get on, to be started again.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import mqgroups
from mqgroups.errors import MQIError

GAVE_UP = 3


def produce(q_mgr: mqgroups.QueueManager, queue: str, name: str, groups: str, messages: str) -> None:
    """Put ``name.group.message`` for each message of each group; the checkpoint says which group is next."""
    producer = q_mgr.group_producer(queue, name=name, commit_every=3, owner_wait_s=60)
    was: Any = producer.checkpoint
    number = 0 if was is None else was["group"] + was["whole"]
    while number < int(groups):
        with producer.group() as group:
            for each in range(group.resume_from + 1, int(messages) + 1):
                group.set_checkpoint({"group": number, "whole": each == int(messages)})
                group.put(f"{name}.{number}.{each}".encode())
        number += 1
    # The record has to stay, for one that is killed from here on and started again.
    os._exit(0)


def carry(q_mgr: mqgroups.QueueManager, queue: str, target: str, name: str) -> None:
    """Move groups to a queue of this queue manager's own, exactly once, for as long as it lives."""
    with q_mgr.group_pipe(queue, target, name=name, commit_every=3, owner_wait_s=60) as pipe:
        for incoming, outgoing in pipe:
            for message in incoming:
                outgoing.put(message.data)


if __name__ == "__main__":
    try:
        with mqgroups.connect(os.environ["MQGROUPS_Q_MGR_NAME"], connect_wait_s=30) as connection:
            if sys.argv[1] == "produce":
                produce(connection, *sys.argv[2:])
            carry(connection, *sys.argv[2:])
    except MQIError as error:
        sys.stderr.write(f"{error}\n")
        os._exit(GAVE_UP)

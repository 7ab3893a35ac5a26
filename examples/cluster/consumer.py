"""The consumer: gets whole groups from the instance of CLUSTER.ORDERS at its queue manager, and writes their messages to a file.

    python -m examples.cluster.consumer --qmgr QM2 --conn-name 'localhost(1415)' --name SINK.1 --to /tmp/QM2-SINK.1.csv \\
        --until /tmp/all-put --done /tmp/QM2-SINK.1.done

Several consumers with different names share an instance: each gets the next complete group. Consumers at different
instances may have the same name. A line of the file has GroupId, sequence number and flight. The file is made durable
before each commit, and its length is the checkpoint; after a crash the file is truncated to that length. When the
file ``--until`` exists, all messages have arrived, and the program ends when the queue is empty.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from examples.cluster.program import CONNECT_WAIT_S, EVERY, QUEUE, GroupProgress
from mqgroups import GroupConsumer, IncomingGroup
from mqgroups.demo.program import arguments, connect, mark_done, run
from mqgroups.files.sink import make_durable

_WAIT_S = 0.5


def drain(consumer: GroupConsumer, file: BinaryIO, until: Path, progress: GroupProgress) -> None:
    """Write groups to the file until there will be no more."""
    length = consumer.checkpoint or 0
    assert isinstance(length, int)  # it is set below
    file.truncate(length)
    progress.position = sum(1 for _ in file)

    @consumer.before_commit
    def before_commit(group: IncomingGroup) -> None:
        file.flush()
        os.fsync(file.fileno())
        group.set_checkpoint(file.tell())

    is_last_round = False
    while not is_last_round:
        is_last_round = until.exists()
        for group in consumer:
            for message in group:
                file.write(f"{group.group_id.hex()},{message.msg_seq_number},{message.text}\n".encode())
                progress.step()
    progress.report()


def main() -> None:
    """Run the program."""
    parser = arguments(f"Get message groups from the instance of queue {QUEUE} at a queue manager.")
    parser.add_argument("--name", required=True, help="of this consumer; no two at one queue manager have the same")
    parser.add_argument("--to", type=Path, required=True, help="file for what comes")
    parser.add_argument("--until", type=Path, required=True, help="file that says that all groups have arrived")
    options = parser.parse_args()
    with connect(options, CONNECT_WAIT_S) as q_mgr:
        progress = GroupProgress(q_mgr)
        with q_mgr.group_consumer(
            QUEUE,
            name=f"FLIGHTS.{options.name}",
            commit_every=EVERY,
            wait_s=_WAIT_S,
            complete_groups_only=True,
            on_resume=progress.found,
            on_in_doubt=progress.settled,
        ) as consumer:
            if not options.done.exists():
                with options.to.open("a+b") as file:
                    make_durable(options.to.parent)
                    file.seek(0)
                    drain(consumer, file, options.until, progress)
                mark_done(options.done)
            consumer.forget()


if __name__ == "__main__":
    run(main)

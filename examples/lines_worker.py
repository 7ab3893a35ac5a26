"""Get message groups from queue ORDERS into files, with several workers, each group whole in one file.

    LINES=DIRECTORY mqgroups work lines_worker:handle --queue ORDERS --name lines.sink --workers 4     in this directory

Each group becomes a file named by its key, with a line for each message. As in resumable_consumer.py, a file is made
durable before each commit, its length is the checkpoint, and it is first truncated to that length when a group is
resumed. A group that is on the queue twice is written twice, to the same file. container/ runs it on Kubernetes.
"""

import os
from pathlib import Path

import mqgroups


def handle(group: mqgroups.IncomingGroup) -> None:
    directory = Path(os.environ["LINES"])
    with (directory / group.key.hex()).open("ab") as file:
        length = group.checkpoint or 0
        assert isinstance(length, int)  # it is set below
        file.seek(file.truncate(length))
        make_durable(directory)

        @group.before_commit
        def before_commit(group: mqgroups.IncomingGroup) -> None:
            file.flush()
            os.fsync(file.fileno())
            group.set_checkpoint(file.tell())
            if group.abandoned:  # for example by an upload that broke off; its lines alone are of no use
                Path(file.name).unlink()

        for message in group:
            file.write(message.data + b"\n")


def make_durable(directory: Path) -> None:
    """Make the entries of a directory survive a crash of the machine."""
    descriptor = os.open(directory, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)

"""Get message groups from queue ORDERS into files, under a supervisor that starts this program again if it dies.

    mqgroups embedded exec --data DIR -- python examples/resumable_consumer.py DIRECTORY [WAIT_S]

Each group becomes a file named by its GroupId, a line for each message. A file is outside the queue manager's unit of work:
after a crash it may hold lines whose messages went back to the queue. So the file is made durable before each commit, its length
is the checkpoint, and who goes on with a group cuts its file to that length first. It ends when no group came for WAIT_S
seconds; without WAIT_S it waits for ever. container/ runs it on Kubernetes. It connects as `mqgroups recover` does, by
MQGROUPS_Q_MGR_NAME, _CONN_NAME, _CHANNEL, _USER and _PASSWORD; with MQGROUPS_PROPAGATE=true it looks for trace
context in every message.

Exit codes: 0 done; 75 start it again, and it goes on; 1 somebody has to look.
"""

import logging
import os
import sys
from pathlib import Path
from typing import BinaryIO

import mqgroups
from mqgroups.errors import EnvironmentFailure, MQGroupsError

EXIT_TRY_AGAIN = 75

log = logging.getLogger("resumable_consumer")


def get_lines(consumer: mqgroups.GroupConsumer, directory: Path) -> None:
    for group in consumer:  # the interrupted one first
        with (directory / group.group_id.hex()).open("ab") as file:
            length = group.checkpoint or 0
            assert isinstance(length, int)  # it is set below
            file.seek(file.truncate(length))
            make_durable(directory)

            @consumer.before_commit
            def before_commit(group: mqgroups.IncomingGroup, file: BinaryIO = file) -> None:
                file.flush()
                os.fsync(file.fileno())
                group.set_checkpoint(file.tell())

            for message in group:
                file.write(message.data + b"\n")


def make_durable(directory: Path) -> None:
    """Make the entries of a directory survive a crash of the machine."""
    descriptor = os.open(directory, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def resumed(found: mqgroups.Resumed) -> None:
    log.warning("resuming a group after message %d, %s bytes of its file", found.msg_seq_number, found.checkpoint)


def in_doubt(doubt: mqgroups.InDoubt) -> None:
    log.warning("MQCMIT of %d messages had no answer (%d): %s", doubt.messages, doubt.reason, doubt.outcome)


def connect() -> mqgroups.QueueManager:
    conn_name = os.environ.get("MQGROUPS_CONN_NAME")  # without it, MQSERVER or a CCDT says where to go
    return mqgroups.connect(
        os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"),
        os.environ.get("MQGROUPS_CHANNEL", "DEV.APP.SVRCONN") if conn_name else None,
        conn_name,
        user=os.environ.get("MQGROUPS_USER"),
        password=os.environ.get("MQGROUPS_PASSWORD"),
        propagate=os.environ.get("MQGROUPS_PROPAGATE") == "true",
    )


def main(directory: Path, wait_s: float | None) -> int:
    try:
        with (
            connect() as q_mgr,
            q_mgr.group_consumer(
                "ORDERS", name="lines.sink", commit_every=100, wait_s=wait_s, on_resume=resumed, on_in_doubt=in_doubt
            ) as consumer,
        ):
            get_lines(consumer, directory)
            consumer.forget_checkpoint()  # the last file's length: nobody needs it any more
    except EnvironmentFailure as error:
        log.error("%s", error)
        return EXIT_TRY_AGAIN
    except MQGroupsError as error:
        log.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    logging.basicConfig(format="%(name)s: %(message)s")
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else None))

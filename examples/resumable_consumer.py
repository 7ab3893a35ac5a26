"""Get message groups from queue ORDERS into files, under a supervisor that restarts this program if it dies.

    mqembedded exec --data DIR -- python resumable_consumer.py DIRECTORY [WAIT_S]

Each group becomes a file named by its key, with a line for each message. Files are not part of the queue
manager's unit of work, so after a crash a file may have lines of messages that were backed out. Therefore the file is
made durable before each commit, and its length is the checkpoint. When a group is resumed, its file is first
truncated to that length. A group with the identifiers of the one before it stops the program, because it would be
written over that file; get_files.py shows a sink that keeps both. The program ends when no group arrives for WAIT_S
seconds; without WAIT_S it waits for ever. SIGTERM and Ctrl-C end it after the message that it processes, with exit
code 0; the next start resumes. container/ runs it on Kubernetes. It connects as `mqgroups check` does, with
MQGROUPS_Q_MGR_NAME, _CONN_NAME, _CHANNEL, _USER and _PASSWORD. With MQGROUPS_PROPAGATE=true it looks for trace
context in messages.

Exit codes: 0 done; 75 restart it later, and it resumes; 1 somebody must act.
"""

import logging
import os
import sys
from pathlib import Path
from typing import BinaryIO

import mqgroups

EXIT_TRY_AGAIN = 75

log = logging.getLogger("resumable_consumer")


def get_lines(consumer: mqgroups.GroupConsumer, directory: Path) -> None:
    for group in consumer:  # the interrupted one first
        if group.repeats:
            sys.exit(
                "a group with the identifiers of the last one would be written over its file: compare, and move it away"
            )
        with (directory / group.key.hex()).open("ab") as file:
            length = group.checkpoint or 0
            assert isinstance(length, int)  # it is set below
            file.seek(file.truncate(length))
            make_durable(directory)

            @consumer.before_commit
            def before_commit(group: mqgroups.IncomingGroup, file: BinaryIO = file) -> None:
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


def resumed(found: mqgroups.Resumed) -> None:
    log.warning("resuming a group after message %d, %s bytes of its file", found.msg_seq_number, found.checkpoint)


def in_doubt(doubt: mqgroups.InDoubt) -> None:
    log.warning("MQCMIT of %d messages had no answer (%d): %s", doubt.messages, doubt.reason, doubt.outcome)


def connect() -> mqgroups.QueueManager:
    conn_name = os.environ.get("MQGROUPS_CONN_NAME")  # without it, MQSERVER or a CCDT says where to go
    file = os.environ.get("MQGROUPS_PASSWORD_FILE")
    return mqgroups.connect(
        os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"),
        os.environ.get("MQGROUPS_CHANNEL", "DEV.APP.SVRCONN") if conn_name else None,
        conn_name,
        user=os.environ.get("MQGROUPS_USER"),
        password=mqgroups.Secret.from_file(file) if file else os.environ.get("MQGROUPS_PASSWORD"),
        propagate=os.environ.get("MQGROUPS_PROPAGATE") == "true",
    )


def main(directory: Path, wait_s: float | None) -> int:
    try:
        with (
            connect() as q_mgr,
            q_mgr.group_consumer(
                "ORDERS", name="lines.sink", wait_s=wait_s, on_resume=resumed, on_in_doubt=in_doubt
            ) as consumer,
            mqgroups.stop_on_signals(consumer),
        ):
            get_lines(consumer, directory)
            consumer.forget()  # the last file's length is no longer needed
    except mqgroups.MQGroupsError as error:
        log.error("%s", error)
        return EXIT_TRY_AGAIN if error.clears_up else 1
    return 0


if __name__ == "__main__":
    logging.basicConfig(format="%(name)s: %(message)s")
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else None))

"""Put the lines of a file to queue ORDERS, 1,000 in each group, under a supervisor that restarts this program if it dies.

    mqembedded exec --data DIR -- python resumable_producer.py INPUT

The checkpoint is the file's name, a digest of its content, and the position in it. It is committed with the lines
before it, so every line is put once, whenever the program dies. When all lines are put, INPUT is renamed to
INPUT.DIGEST.put, and then the checkpoint is cleared, so that the next INPUT is put from its first line. Until then
INPUT must not be changed, and the program refuses another one. SIGTERM and Ctrl-C end it between two lines, with exit
code 0; the next start resumes. systemd/ has a unit for it. It connects as `mqgroups check` does, with
MQGROUPS_Q_MGR_NAME, _CONN_NAME, _CHANNEL, _USER and _PASSWORD. With MQGROUPS_PROPAGATE=true messages carry trace context.

Exit codes: 0 done; 75 restart it later, and it resumes; 1 somebody must act.
"""

import hashlib
import logging
import os
import sys
from pathlib import Path
from typing import Any

import mqgroups

LINES_A_GROUP = 1000
EXIT_TRY_AGAIN = 75

log = logging.getLogger("resumable_producer")


def digest_of(path: Path) -> str | None:
    if not path.exists():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def put_lines(producer: mqgroups.GroupProducer, path: Path, digest: str, position: int) -> None:
    with path.open("rb") as lines:
        lines.seek(position)
        line = lines.readline()
        while line:
            with producer.group() as group:  # the interrupted one, if there is one
                for _ in range(group.resume_from, LINES_A_GROUP):
                    group.set_checkpoint([path.name, digest, lines.tell()])
                    group.put(line.rstrip(b"\n"))
                    line = lines.readline()
                    if not line:
                        break


def make_durable(directory: Path) -> None:
    """Make the entries of a directory survive a crash of the machine."""
    descriptor = os.open(directory, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def resumed(found: mqgroups.Resumed) -> None:
    log.warning("resuming a group after message %d, input %s", found.msg_seq_number, found.checkpoint)


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


def main(path: Path) -> int:
    try:
        with (
            connect() as q_mgr,
            q_mgr.group_producer(
                "ORDERS", name="lines.loader", commit_every=100, on_resume=resumed, on_in_doubt=in_doubt
            ) as producer,
            mqgroups.stop_on_signals(producer),
        ):
            begun: Any = producer.checkpoint  # it is set in put_lines
            found = digest_of(path)
            name, digest, position = begun or (path.name, found, 0)
            done = path.with_name(f"{name}.{digest}.put")
            if begun and digest != found and done.exists() and done.stat().st_size == position:
                # It died after the renaming.
                producer.forget()
                name, digest, position = path.name, found, 0
                done = path.with_name(f"{name}.{digest}.put")
            if digest is not None and (name, digest) == (path.name, found):
                put_lines(producer, path, digest, position)
            if (name, digest) != (path.name, digest_of(path)):
                log.error("the lines of %s are not all put: start it with that file, unchanged", name)
                return 1
            if digest is not None:
                path.rename(done)
                make_durable(path.parent)
                producer.forget()
            elif begun is None:
                log.warning("%s does not exist, so nothing was put", path)
    except mqgroups.MQGroupsError as error:
        log.error("%s", error)
        return EXIT_TRY_AGAIN if error.clears_up else 1
    return 0


if __name__ == "__main__":
    logging.basicConfig(format="%(name)s: %(message)s")
    sys.exit(main(Path(sys.argv[1])))

"""Put each file of a folder as a message group to queue ORDERS, under a supervisor that restarts this program if it dies.

    mqembedded exec --data DIR -- python put_files.py FOLDER

A line is a message, and the file's name is the group's name: a consumer has it as `group.name` before the first
message, also if it was restarted in the middle. After a crash this program continues with the file whose group was
interrupted, whatever other files have come. The last message of a group commits the file's name and time as the
checkpoint. So a file that is put whole is only moved to FOLDER/put, even if the program died just before that, and
tomorrow's file of the same name is put; in FOLDER/put it gets its time as a suffix. Empty files are moved without a
group. It connects with MQGROUPS_Q_MGR_NAME, _CONN_NAME, _CHANNEL, _USER and _PASSWORD.
"""

import os
import sys
from pathlib import Path

import mqgroups


def put_file(producer: mqgroups.GroupProducer, path: Path) -> None:
    lines = path.read_bytes().splitlines()
    this_file = f"{path.name} {path.stat().st_mtime_ns}"
    if not lines or producer.checkpoint == this_file:
        return
    with producer.group(name=path.name, properties={"lines": len(lines)}) as group:
        for number, line in enumerate(lines[group.resume_from :], group.resume_from + 1):
            if number == len(lines):
                group.set_checkpoint(this_file)
            group.put(line)


def connect() -> mqgroups.QueueManager:
    conn_name = os.environ.get("MQGROUPS_CONN_NAME")  # without it, MQSERVER or a CCDT says where to go
    file = os.environ.get("MQGROUPS_PASSWORD_FILE")
    return mqgroups.connect(
        os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"),
        os.environ.get("MQGROUPS_CHANNEL", "DEV.APP.SVRCONN") if conn_name else None,
        conn_name,
        user=os.environ.get("MQGROUPS_USER"),
        password=mqgroups.Secret.from_file(file) if file else os.environ.get("MQGROUPS_PASSWORD"),
    )


def main(folder: Path) -> None:
    interrupted: list[str] = []

    def resumed(found: mqgroups.Resumed) -> None:
        interrupted.append(found.group_name)

    done = folder / "put"
    done.mkdir(exist_ok=True)
    with (
        connect() as q_mgr,
        mqgroups.ProgressBar() as bar,  # at a terminal only
        q_mgr.group_producer(
            "ORDERS", name="files.loader", commit_every=100, on_resume=resumed, on_progress=bar
        ) as producer,
    ):
        for path in sorted(folder.glob("*.csv"), key=lambda path: (path.name not in interrupted, path.name)):
            put_file(producer, path)
            moved = done / path.name
            path.rename(moved.with_name(f"{path.name}.{path.stat().st_mtime_ns}") if moved.exists() else moved)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

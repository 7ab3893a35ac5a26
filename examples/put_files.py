"""Put each file of a folder as a message group to queue ORDERS, under a supervisor that restarts this program if it dies.

    mqembedded exec --data DIR -- python put_files.py FOLDER

A line is a message. The group's name is the file's name and a digest of its content, so what is put under a name is put
once, whatever kills the program, and tomorrow's file of the same name is put, too. A consumer has it as `group.name`
before the first message. After a crash this program continues with the file whose group was interrupted, whatever other
files have come. A file that is put is moved to FOLDER/put, under the group's name; an empty one without a group. A
file that changes meanwhile stays, and is put by the next start: write files under another name, and rename them. It
connects with MQGROUPS_Q_MGR_NAME, _CONN_NAME, _CHANNEL, _USER and _PASSWORD.
"""

import hashlib
import os
import sys
from pathlib import Path

import mqgroups


def name_of(path: Path, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    return f"{path.stem}.{digest[:16]}{path.suffix}"


def lines_of(data: bytes) -> list[bytes]:
    return data.removesuffix(b"\n").split(b"\n")


def put_lines(producer: mqgroups.GroupProducer, name: str, lines: list[bytes]) -> None:
    with producer.group(name, properties={"lines": len(lines)}) as group:
        for line in lines[group.resume_from :]:
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
        names = {path: name_of(path, path.read_bytes()) for path in folder.glob("*.csv")}
        for path in sorted(names, key=lambda path: (names[path] not in interrupted, path.name)):
            data = path.read_bytes()
            if data and name_of(path, data) == names[path]:
                put_lines(producer, names[path], lines_of(data))
            if name_of(path, path.read_bytes()) == names[path]:
                path.rename(done / names[path])
            else:
                print(f"{path} has changed; the next start puts it", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

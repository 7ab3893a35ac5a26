"""Get each message group from queue ORDERS as a file, exactly once, under a supervisor that restarts this program if it dies.

    mqembedded exec --data DIR -- python get_files.py OUT

It is the other side of `put_files.py`: a file has the name of its group, and a line for each message. A file without a
dot in front of its name is whole. The program ends when no group is left. It connects with MQGROUPS_Q_MGR_NAME,
_CONN_NAME, _CHANNEL, _USER and _PASSWORD.
"""

import os
import sys
from pathlib import Path

import mqgroups


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
    with (
        connect() as q_mgr,
        q_mgr.group_consumer("ORDERS", name="files.sink", commit_every=100, wait_s=0) as consumer,
    ):
        sink = mqgroups.FileSink(folder, consumer)
        for group in consumer:
            with sink.file(group) as file:
                for message in group:
                    file.write(message.data + b"\n")
        consumer.forget()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""What goes on in the rehearsed night: programs that put and get, and what goes wrong in them. The first argument says which."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import mqgroups
from mqgroups.errors import GroupQuarantined

HERE = Path(os.environ.get("NIGHT", "."))


def connect(**more: Any) -> mqgroups.QueueManager:
    return mqgroups.connect("QM1", propagate=True, connect_wait_s=60, **more)


def put_a_group(q_mgr: mqgroups.QueueManager, queue: str, name: str, messages: int = 6) -> None:
    with q_mgr.group_producer(queue, name=name, commit_every=3) as producer, producer.group() as group:
        for number in range(group.resume_from, messages):
            group.put(b"%d" % number)


def loader() -> None:
    """Put groups for ever, but for a pause while there is a file that says so."""
    with connect(reconnect_wait_s=600, trace="message") as q_mgr:
        while True:
            put_a_group(q_mgr, "ORDERS", "LOADER")
            time.sleep(0.1)
            while (HERE / "pause").exists():
                (HERE / "paused").touch()
                time.sleep(0.1)


def handle(group: mqgroups.IncomingGroup) -> None:
    """Handle a group. The first worker hangs or crashes while there is a file that says so."""
    is_first = multiprocessing.current_process().name == "SINK.1"
    for _ in group:
        if is_first and (HERE / "crash").exists():
            os._exit(1)
        while is_first and (HERE / "hang").exists():
            (HERE / "hanging").touch()
            time.sleep(0.1)


def one_group() -> None:
    """Put a group, or the rest of it, and end."""
    with connect() as q_mgr:
        put_a_group(q_mgr, "LATE", "ONCE")


def half_a_group() -> None:
    """Die in the middle of a group."""
    with connect() as q_mgr, q_mgr.group_producer("LATE", name="ONCE", commit_every=1) as producer:
        group = producer.group()
        for number in range(3):
            group.put(b"%d" % number)
        os._exit(1)


def read_late() -> None:
    """Get what is there."""
    with connect() as q_mgr, q_mgr.group_consumer("LATE", name="READER", wait_s=0) as consumer:
        for group in consumer:
            list(group)


def failing() -> None:
    """Get a message and fail, as often as this is started."""
    with connect() as q_mgr, q_mgr.group_consumer("CRASH", name="FAILING", wait_s=5) as consumer:
        for group in consumer:
            for _ in group:
                sys.exit("no database")


def goes_on() -> None:
    """Fail at a message again and again, and take no notice, while there is a file that says so."""
    while (HERE / "errors").exists():
        with contextlib.suppress(SystemExit):
            failing()


def other() -> None:
    """Put a group on a queue that is closed for puts."""
    with connect() as q_mgr:
        put_a_group(q_mgr, "OTHER", "CLOSED")


def put_failing() -> None:
    with connect() as q_mgr:
        put_a_group(q_mgr, "CRASH", "FAILING")


def poison() -> None:
    """Fail at a message until it counts as poison; the queue has BOTHRESH(1)."""
    with connect() as q_mgr:
        put_a_group(q_mgr, "POISON", "POISONER", 40)
        for _ in range(4):
            with (
                contextlib.suppress(ZeroDivisionError, GroupQuarantined),
                q_mgr.group_consumer(
                    "POISON", name="POISONED", wait_s=0, poison="quarantine", commit_every=1
                ) as consumer,
            ):
                for group in consumer:
                    for message in group:
                        if message.data == b"2":
                            raise ZeroDivisionError


def cut_off() -> None:
    """Break this process's connections to the queue manager."""
    port = int(os.environ["MQGROUPS_CONN_NAME"].rpartition("(")[2].rstrip(")"))
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(descriptor.name))) as each:
            if each.getpeername()[1:2] == (port,):
                each.shutdown(socket.SHUT_RDWR)


def replaced() -> None:
    """Lose a connection, and the name to another one before the first call that notices it."""
    with (
        contextlib.suppress(mqgroups.errors.OwnershipLost),
        connect(reconnect_wait_s=30) as q_mgr,
        q_mgr.group_producer("OTHER", name="TWICE", commit_every=1) as producer,
        producer.group() as group,
    ):
        group.put(b"0")
        group.put(b"0")
        cut_off()
        with connect() as other, other.group_producer("OTHER", name="TWICE", owner_wait_s=30):
            group.put(b"0")
    signal.pause()


def holder() -> None:
    """Have a name for longer than half a minute."""
    with connect() as q_mgr, q_mgr.group_producer("OTHER", name="HELD"):
        (HERE / "held").touch()
        time.sleep(33)


def waiter() -> None:
    """Wait for that name."""
    with connect() as q_mgr, q_mgr.group_producer("OTHER", name="HELD", owner_wait_s=60):
        pass


def ends() -> None:
    """Put one group, and wait to be killed."""
    with connect() as q_mgr:
        put_a_group(q_mgr, "OTHER", "ENDS")
        (HERE / "ends").touch()
        signal.pause()


if __name__ == "__main__":
    globals()[sys.argv[1]]()

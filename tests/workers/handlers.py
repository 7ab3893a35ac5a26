"""What the workers of the tests do; workers are processes, so these are functions of a module.

Each handler writes a group's messages to a file named by its GroupId, and cuts it to what is committed when the group is resumed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import mqgroups


def open_consumer(
    q_mgr: mqgroups.QueueManager, /, *, name: str, wait_s: float, queue: str, every: int = 2
) -> mqgroups.GroupConsumer:
    return q_mgr.group_consumer(queue, name=name, wait_s=wait_s, commit_every=every, owner_wait_s=10)


def open_and_wait(
    q_mgr: mqgroups.QueueManager, /, *, name: str, wait_s: float, queue: str, directory: Path
) -> mqgroups.GroupConsumer:
    """Never return: the worker has a connection and its name, and has not begun."""
    with open_consumer(q_mgr, name=name, wait_s=wait_s, queue=queue):
        (directory / f"{name}.flag").touch()
        while True:
            signal.pause()


def open_pipe(
    q_mgr: mqgroups.QueueManager, /, *, name: str, wait_s: float, queue: str, target: str, every: int = 2
) -> mqgroups.GroupPipe:
    return q_mgr.group_pipe(queue, target, name=name, wait_s=wait_s, commit_every=every, owner_wait_s=10)


@contextmanager
def file_of(directory: Path, group: mqgroups.IncomingGroup) -> Iterator[Callable[[bytes], object]]:
    """Give a function that writes a line to the group's file, which is first cut to what is committed."""
    path = directory / group.group_id.hex()
    lines = path.read_bytes().splitlines(keepends=True)[: group.resume_from] if path.exists() else []
    path.write_bytes(b"".join(lines))
    with path.open("ab", buffering=0) as file:
        yield lambda data: file.write(data + b"\n")


def write(directory: Path, group: mqgroups.IncomingGroup) -> None:
    with file_of(directory, group) as line:
        for message in group:
            line(message.data)


async def write_awaiting(directory: Path, group: mqgroups.IncomingGroup) -> None:
    with file_of(directory, group) as line:
        for message in group:
            await asyncio.sleep(0)
            line(message.data)


def forward(directory: Path, group: mqgroups.IncomingGroup, out: mqgroups.PipedGroup) -> None:
    with file_of(directory, group) as line:
        for message in group:
            out.put(message.data)
            line(message.data)


def _once(directory: Path, what: str) -> bool:
    """Whether this is the first time, in all processes."""
    try:
        (directory / f"{what}.once").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def fail_once(
    directory: Path, group: mqgroups.IncomingGroup, error: BaseException | type[BaseException] = ZeroDivisionError
) -> None:
    with file_of(directory, group) as line:
        for message in group:
            if message.msg_seq_number == 4 and _once(directory, "fail"):
                raise error
            line(message.data)


def be_stopped_once(directory: Path, group: mqgroups.IncomingGroup) -> None:
    fail_once(directory, group, mqgroups.errors.Stopped("get ELSEWHERE", "ELSEWHERE", bytes(24), 0))


def die_once(directory: Path, group: mqgroups.IncomingGroup) -> None:
    with file_of(directory, group) as line:
        for message in group:
            if message.msg_seq_number == 4 and _once(directory, "die"):
                os.kill(os.getpid(), signal.SIGKILL)
            line(message.data)


def always_fail(_group: mqgroups.IncomingGroup) -> None:
    raise ZeroDivisionError


def return_early(group: mqgroups.IncomingGroup) -> None:
    next(iter(group))


def swallow_everything(directory: Path, group: mqgroups.IncomingGroup) -> None:
    try:
        write(directory, group)
    except Exception:
        pass


def hang(directory: Path, group: mqgroups.IncomingGroup) -> None:
    with file_of(directory, group) as line:
        for message in group:
            if message.msg_seq_number == 4 and _once(directory, "hang"):
                while True:
                    time.sleep(60)
            line(message.data)


def slowly(directory: Path, group: mqgroups.IncomingGroup) -> None:
    """Wait at the fourth message of each group until it may go on."""
    with file_of(directory, group) as line:
        for message in group:
            if message.msg_seq_number == 4:
                (directory / "waits.flag").touch()
                while not (directory / "go.flag").exists():
                    time.sleep(0.01)
            line(message.data)

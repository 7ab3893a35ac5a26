"""The applications that the fault tests kill: one puts a group, one gets groups. Each run is a process of its own.

They do what an application should: the producer learns from its status queue where to go on; the consumer writes what it
handled to a file and, on resuming, cuts the file back to what is committed.
"""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import dataclass
from pathlib import Path

import mqgroups
from mqgroups.errors import MQIError
from tests.faults.application import forget_checkpoint

ENVIRONMENT_FAILED = 3
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


@dataclass(frozen=True)
class Job:
    """What a worker does: put (or get) ``messages`` messages of 3 bytes on ``queue`` in units of work of ``every``."""

    role: str
    q_mgr_name: str
    channel: str
    conn_name: str
    queue: str
    name: str
    messages: int
    every: int
    checkpoints: bool
    file: str


def payload(number: int) -> bytes:
    """Return the data of the message with this sequence number."""
    return b"%03d" % number


def run(job: Job) -> int:
    """Run the job in a process of its own; returns its exit code (-9 for SIGKILL)."""
    process = start(job)
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def start(job: Job) -> multiprocessing.process.BaseProcess:
    """Start the job in a process of its own."""
    process = _context.Process(target=_main, args=(job,))
    process.start()
    return process


def _main(job: Job) -> None:
    try:
        with mqgroups.connect(job.q_mgr_name, job.channel, job.conn_name, reconnect_wait_s=0) as connection:
            (_put if job.role == "put" else _get)(job, connection)
    except MQIError:
        # As a program under a supervisor: end, be started again.
        os._exit(ENVIRONMENT_FAILED)


def _put(job: Job, connection: mqgroups.QueueManager) -> None:
    done = Path(job.file)
    with connection.group_producer(job.queue, name=job.name, commit_every=job.every, owner_wait_s=10) as producer:
        if done.exists() or producer.checkpoint == job.messages:
            done.touch()
            forget_checkpoint(producer)
            return
        with producer.group() as group:
            for number in range(group.resume_from + 1, job.messages + 1):
                group.set_checkpoint(number if job.checkpoints else None)
                group.put(payload(number))
        # Before closing takes the record of the completed group away.
        done.touch()
        forget_checkpoint(producer)


def _get(job: Job, connection: mqgroups.QueueManager) -> None:
    with (
        Path(job.file).open("a+b") as file,
        connection.group_consumer(
            job.queue, name=job.name, commit_every=job.every, wait_s=0, group_wait_s=10, owner_wait_s=10
        ) as consumer,
    ):
        consumer.before_commit(lambda _: file.flush())
        for group in consumer:
            file.truncate(4 * group.resume_from)
            for message in group:
                file.write(message.data + b"\n")
                if job.checkpoints:
                    group.set_checkpoint({"handled": message.msg_seq_number})
        forget_checkpoint(consumer)

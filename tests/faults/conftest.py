"""A queue manager to do harm to, and a reader that trusts nobody."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqgroups.embedded import EmbeddedQueueManager
from tests.faults.application import MODEL
from tests.faults.machine import MQSC
from tests.faults.reader import Reader, Seen, is_anchor
from tests.faults.worker import Job, payload

_numbers = itertools.count(1)


class Harm:
    """A queue manager of its own, with a fresh queue for every case, and the reader to look at it."""

    def __init__(self, qmgr: EmbeddedQueueManager, directory: Path) -> None:
        self.qmgr = qmgr
        self._directory = directory
        self._reader = Reader(qmgr)

    def job(self, role: str, *, messages: int, every: int, checkpoints: bool, queue: str = "", name: str = "") -> Job:
        """Return a job on a new queue, or on the one given."""
        name = name or f"N{next(_numbers)}"
        if not queue:
            queue = f"Q.{name}"
            self._reader.make_queue(queue, MODEL)
            self._reader.close()
        qmgr = self.qmgr
        file = str(self._directory / f"{name}.{role}")
        return Job(role, qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name, queue, name, messages, every, checkpoints, file)

    def filled_job(self, role: str, *, messages: int, every: int, checkpoints: bool) -> Job:
        """Return a job on a new queue, which has the group if the job is to get it. No fault is left over."""
        self.qmgr.clear_faults()
        job = self.job(role, messages=messages, every=every, checkpoints=checkpoints)
        if role == "get":
            self.fill(job)
        return job

    def browse(self, queue: str) -> list[Seen]:
        """Browse everything that is committed on a queue, in physical order; nothing if there is no such queue."""
        found = self._reader.browse(queue)
        # The queue manager may be killed before the next look.
        self._reader.close()
        return found

    def fill(self, job: Job) -> None:
        """Put the group that a getting job gets, in one unit of work."""
        self._reader.put_group(job.queue, [[payload(number)] for number in range(1, job.messages + 1)])
        self._reader.close()

    def status(self, job: Job) -> list[bytes]:
        """Return the status records of a job; an anchor beside one is none."""
        found = self.browse(f"MQGROUPS.{job.role.upper()}.{job.name}")
        return [seen.data for seen in found if not is_anchor(seen.data)]


@pytest.fixture(scope="session")
def harm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harm]:
    directory = tmp_path_factory.mktemp("faults")
    mqsc = directory / "faults.mqsc"
    mqsc.write_text(MQSC)
    with EmbeddedQueueManager("QMF", data=directory / "data", mqsc=[mqsc]) as qmgr:
        yield Harm(qmgr, directory)

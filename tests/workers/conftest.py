"""Workers under test: their queue and names, what they have handled, and how they are run."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tenacity

import mqgroups
from embedded_tests.fix_mqi import PATIENCE_S
from mqgroups.workers import supervisor
from mqgroups.workers.worker import MOST_WORKERS
from tests.fix_groups import Owner
from tests.workers import handlers

# The numbers of the names that tests use.
NAMES = (1, 2, 3, 4, MOST_WORKERS)


def wait_until(condition: Callable[[], bool]) -> None:
    """Return when the condition holds. Between two looks the workers, on the same machine, have the processor."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, f"still waiting after {PATIENCE_S} s"
        time.sleep(0.005)


class Site:
    """A queue with groups, and workers that handle them in a thread of the test.

    Attributes:
        directory: where handlers write.
        ended: what ``run`` returned.
    """

    def __init__(self, owner: Owner, directory: Path, make_queue: Callable[[], str]) -> None:
        self.owner = owner
        self.directory = directory
        self.ended: list[bool] = []
        self._make_queue = make_queue
        self._running: list[tuple[mqgroups.Workers, threading.Thread]] = []

    @property
    def connect(self) -> Callable[[], mqgroups.QueueManager]:
        """What workers connect with."""
        target = self.owner.target
        return functools.partial(
            mqgroups.connect,
            target.q_mgr_name,
            target.channel,
            target.conn_name,
            user=getattr(target, "user", None),
            password=getattr(target, "password", None),
        )

    def opener(self, every: int = 2) -> Any:
        """What workers open."""
        return functools.partial(handlers.open_consumer, queue=self.owner.queue, every=every)

    @functools.cached_property
    def target(self) -> str:
        """The queue that pipes put to."""
        return self._make_queue()

    def pipe_opener(self, every: int = 2) -> Any:
        """What workers that are pipes open."""
        return functools.partial(handlers.open_pipe, queue=self.owner.queue, target=self.target, every=every)

    def make(self, handler: Callable[..., object], *, opens: Any = None, **more: Any) -> mqgroups.Workers:
        """Return workers that call ``handler`` with the directory and each group."""
        settings = {"name": self.owner.name, "workers": 2, "grace_s": PATIENCE_S, **more}
        opens = opens or self.opener()
        return mqgroups.Workers(
            functools.partial(handler, self.directory), connect=self.connect, open=opens, **settings
        )

    def start(self, workers: mqgroups.Workers, **more: Any) -> mqgroups.Workers:
        """Run workers in a thread."""
        thread = threading.Thread(target=lambda: self.ended.append(workers.run(**more)))
        thread.start()
        self._running.append((workers, thread))
        return workers

    def stop(self) -> bool:
        """Stop the workers that were started last; returns what ``run`` returned."""
        workers, thread = self._running.pop()
        workers.stop()
        thread.join(2 * PATIENCE_S)
        assert not thread.is_alive()
        return self.ended.pop()

    def run_until(self, condition: Callable[[], bool], handler: Callable[..., object], **more: Any) -> mqgroups.Workers:
        """Run workers until the condition holds, and stop them; they must stop in order.

        One that is stopped while it opens its queues may leave the record with which it took its name, as if it was killed.
        """
        workers = self.start(self.make(handler, **more))
        wait_until(lambda: condition() and workers.is_ready)
        assert self.stop()
        return workers

    def put_groups(self, count: int, messages: int = 7) -> list[list[bytes]]:
        """Put groups; returns the data of each."""
        groups = [[b"%d-%d" % (group, number) for number in range(messages)] for group in range(count)]
        for group in groups:
            self.owner.put_group(group)
        return groups

    def handled(self) -> list[list[bytes]]:
        """Return what handlers have written, group by group, in the order in which the groups were put.

        A file is empty for a moment when its group begins.
        """
        written = (path.read_bytes().split() for path in self.directory.iterdir() if not path.suffix)
        return sorted(filter(None, written), key=lambda lines: int(lines[0].split(b"-")[0]))

    def forwarded(self) -> list[list[bytes]]:
        """Return the data of each group that pipes have put."""
        by_group: dict[bytes, list[bytes]] = {}
        for found in self.owner.on_queue(self.target):
            by_group.setdefault(found.group_id, []).append(found.data)
        return sorted(by_group.values())

    def is_done(self) -> bool:
        """Whether nothing is on the queue, and no group interrupted."""
        return not self.owner.data() and not any(map(self.record, NAMES))

    def record(self, number: int, role: str = "get") -> bool:
        """Whether a worker's status queue says that a group is interrupted."""
        found = self.owner.on_queue(f"MQGROUPS.{role.upper()}.{self.owner.name}.{number}")
        return any(b'"state":"in group"' in one.data for one in found)

    def status_queues(self) -> list[bytes]:
        """Return all that is on the workers' status queues."""
        names = [f"MQGROUPS.{role}.{self.owner.name}.{number}" for role in ("GET", "PUT") for number in NAMES]
        return [found.data for name in names for found in self.owner.on_queue(name)]

    def close(self) -> None:
        """Stop what still runs."""
        (self.directory / "go.flag").touch()
        while self._running:
            self.stop()


@pytest.fixture
def site(owner, tmp_path, make_queue, monkeypatch):
    """A queue, and workers on it; in processes they find the client library in the environment."""
    for name, value in owner.target.environment().items():
        monkeypatch.setenv(name, value)
    site = Site(owner, tmp_path, make_queue)
    yield site
    site.close()
    for number in NAMES:
        # It deletes the status queues of that name.
        Owner(owner.target, owner.queue, f"{owner.name}.{number}", owner.eye).close()


@pytest.fixture
def quick_pauses(monkeypatch):
    """Pauses before a worker is started again that begin with a hundredth of a second."""
    monkeypatch.setattr(supervisor, "_pauses", tenacity.wait_exponential(multiplier=0.01, max=1))


@pytest.fixture(params=[False, True], ids=["processes", "threads"])
def threads(request):
    """Whether workers are threads."""
    return request.param

"""A worker: connects, opens a consumer or pipe under its name, and calls the handler for each group, until it is stopped.

A name that has no worker any more may have an interrupted group: there were more workers before. Therefore a worker looks at
these names, now and then between two of its own groups. If one has an interrupted group, the worker opens a consumer or pipe of
that name, handles this group, and closes it again. No record is moved, so this holds for the two records of a pipe as well, and a
worker that dies meanwhile leaves a group that the next one finds in the same way. Records that are no longer needed are removed.

Not here: processes and threads (``run.py``), and who starts a worker again (``supervisor.py``).
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from mqgroups.errors import GroupAbandoned, GroupQuarantined, GroupUsage, MQIError, OwnerActive, StatusError, Stopped
from mqgroups.get.consumer import GroupConsumer
from mqgroups.get.group import IncomingGroup
from mqgroups.operate.owner import OwnerState, inspect_owner
from mqgroups.pipe import GroupPipe
from mqgroups.queue_manager import QueueManager
from mqgroups.workers.status import Board

_log = logging.getLogger("mqgroups.workers")
# How often a worker looks for groups that nobody has, seconds; so long it waits for a group of its own meanwhile.
LOOK_S = 30.0


class OpenConsumer(Protocol):
    """Opens the consumer of a worker."""

    def __call__(self, q_mgr: QueueManager, /, *, name: str, wait_s: float) -> GroupConsumer:
        """Return ``q_mgr.group_consumer(..., name=name, wait_s=wait_s)``."""


class OpenPipe(Protocol):
    """Opens the pipe of a worker."""

    def __call__(self, q_mgr: QueueManager, /, *, name: str, wait_s: float) -> GroupPipe:
        """Return ``q_mgr.group_pipe(..., name=name, wait_s=wait_s)``."""


@dataclass(frozen=True, slots=True)
class Job:
    """What workers do; it is pickled if they are processes. See ``Workers`` for the attributes."""

    handler: Callable[..., object]
    # A ``functools.partial`` of ``connect`` would show a password that is its argument.
    connect: Callable[[], QueueManager] = field(repr=False)
    open: OpenConsumer | OpenPipe
    name: str
    workers: int
    grace_s: float
    setup: Callable[[], object] | None

    def name_of(self, number: int) -> str:
        """Return the name of a worker, counted from 1."""
        return f"{self.name}.{number}"


class Worker:
    """One start of a worker.

    Attributes:
        can_leave: whether an exception may end it: it is waiting for a queue manager, or for the last owner of its name.
    """

    def __init__(self, job: Job, number: int, board: Board) -> None:
        self._job = job
        self._number = number
        self._board = board
        self.can_leave = True
        self._stopping = False
        self._owners: tuple[GroupConsumer | GroupPipe, ...] = ()
        self._looked_s = float("-inf")
        self._told: set[str] = set()

    def stop(self) -> None:
        """Ask for the end, from any thread or signal handler: at the next safe place of the consumer or pipe."""
        # First this, then the owners: ``_opened`` does it the other way round, so one of the two sees the other.
        self._stopping = True
        for owner in self._owners:
            owner.stop()

    def run(self) -> None:
        """Handle groups until ``stop``.

        Raises:
            GroupUsage: the handler returned before its group's last message.
            Exception: what the handler, ``connect`` or ``open`` raises. The group is resumed at the next start.
        """
        # An exception in the middle of making the event loop would leave half of one; and one at the exit would be a traceback.
        self.can_leave = False
        with asyncio.Runner() as loop:
            try:
                self.can_leave = True
                if not self._stopping:
                    self._run(loop)
            finally:
                self.can_leave = False

    def _run(self, loop: asyncio.Runner) -> None:
        job = self._job
        with job.connect() as q_mgr, job.open(q_mgr, name=job.name_of(self._number), wait_s=LOOK_S) as own:
            try:
                self._opened(own)
                self._board.is_ready()
                while not self._stopping:
                    if time.monotonic() - self._looked_s >= LOOK_S:
                        self._handle_what_is_left(q_mgr, own, loop)
                        self._looked_s = time.monotonic()
                    for each in own:
                        self._handle(each, loop)
                        if time.monotonic() - self._looked_s >= LOOK_S:
                            break
            except Stopped as stopped:
                _log.info("%s", stopped)

    def _opened(self, *owners: GroupConsumer | GroupPipe) -> None:
        self._owners = owners
        self.can_leave = False
        if self._stopping:
            self.stop()

    def _handle(self, each: IncomingGroup | tuple[IncomingGroup, object], loop: asyncio.Runner) -> None:
        """Call the handler for a group, or for the groups of a pipe."""
        arguments = each if isinstance(each, tuple) else (each,)
        group: Any = arguments[0]
        self._board.begins()
        try:
            result = self._job.handler(*arguments)
            if inspect.iscoroutine(result):
                loop.run(result)
        except (GroupAbandoned, GroupQuarantined) as error:
            # The group is consumed to its end, and that is committed.
            _log.warning("%s", error)
        finally:
            self._board.ends(whole=group.has_ended)
        if not group.has_ended and not self._stopping:
            raise GroupUsage(
                f"the handler returned before the last message of group {group.group_id.hex()}. The messages since the last "
                "commit come again. A handler must iterate over all messages of its group"
            )

    # --- groups of names that have no worker any more

    def _handle_what_is_left(self, q_mgr: QueueManager, own: GroupConsumer | GroupPipe, loop: asyncio.Runner) -> None:
        for name in self._interrupted_without_worker(q_mgr, is_pipe=isinstance(own, GroupPipe)):
            _log.warning("%s handles the interrupted group of %s", self._job.name_of(self._number), name)
            try:
                with self._job.open(q_mgr, name=name, wait_s=0) as other:
                    self._opened(own, other)
                    for each in other:
                        self._handle(each, loop)
                        break
            except OwnerActive as error:
                _log.info("%s", error)  # another worker handles it
            finally:
                self._owners = (own,)
            if self._stopping:
                return

    def _interrupted_without_worker(self, q_mgr: QueueManager, *, is_pipe: bool) -> Iterator[str]:
        """Yield names after the last worker's that have an interrupted group, up to the first that was never used."""
        for number in itertools.count(self._job.workers + 1):
            name = self._job.name_of(number)
            try:
                state = inspect_owner(q_mgr, name, "get", status_model=None, tidy=True).state
                if is_pipe and state is OwnerState.FREE:
                    inspect_owner(q_mgr, name, "put", status_model=None, tidy=True)
            except (StatusError, MQIError) as error:
                # If the connection is lost, this worker's own consumer or pipe finds that out, and reconnects.
                if name not in self._told:
                    self._told.add(name)
                    _log.warning("%s cannot look at %s: %s", self._job.name_of(self._number), name, error)
                if isinstance(error, MQIError):
                    return
                continue
            if state is OwnerState.UNKNOWN:
                return
            if state is OwnerState.INTERRUPTED:
                yield name

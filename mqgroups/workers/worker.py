"""A worker: connects, opens a consumer or pipe under its name, and calls the handler for each group, until it is stopped.

If there were more workers earlier, a name that no longer has a worker may have an interrupted group. So between two of its own
groups, a worker checks these names now and then. If a name has an interrupted group, the worker opens a consumer or pipe of
that name, handles the group, and closes the consumer or pipe. No record is moved. If the worker dies meanwhile, the next worker
finds the group in the same way. A pipe has two records, and is handled likewise. Records that are no longer needed are removed.

The MQI does not list queues, so a worker has to try all possible names, at most ``MOST_WORKERS``. It cannot stop at a name that
was never used, because workers start in any order, and a worker may be killed before it has opened its status queue. When it
starts and every ten minutes, a worker checks all names. Every half minute it checks the names that have a status queue. If a name
cannot be checked, or its group cannot be handled, the worker skips the name until the next check.

Not here: processes and threads (``run.py``), and starting a worker again (``supervisor.py``).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from mqgroups.connection.holder import connection_of
from mqgroups.errors import (
    ConnectionBroken,
    EnvironmentFailure,
    GroupAbandoned,
    GroupQuarantined,
    GroupUsage,
    MQIError,
    OwnerActive,
    StatusError,
    Stopped,
)
from mqgroups.get.consumer import GroupConsumer
from mqgroups.get.group import IncomingGroup
from mqgroups.operate.owner import inspect_owner
from mqgroups.operate.rules.owner_state import AT_REST, OwnerState
from mqgroups.pipe import GroupPipe
from mqgroups.queue_manager import QueueManager
from mqgroups.workers.status import Board

_log = logging.getLogger("mqgroups.workers")
# Each name costs an MQOPEN when a worker starts.
MOST_WORKERS = 100
# A worker checks names without a worker at this interval, in seconds. Between two checks it waits for its own groups.
LOOK_S = 30.0
# One of this number of checks is of all names, because another supervisor with more workers may have used a name meanwhile.
ALL_NAMES_EVERY = 20
_O = TypeVar("_O", GroupConsumer, GroupPipe, covariant=True)


class Open(Protocol[_O]):
    """A function that makes the consumer or the pipe of a worker."""

    def __call__(self, q_mgr: QueueManager, /, *, name: str, wait_s: float) -> _O:
        """Return ``q_mgr.group_consumer(..., name=name, wait_s=wait_s)``, or a pipe."""


OpenConsumer: TypeAlias = Open[GroupConsumer]
OpenPipe: TypeAlias = Open[GroupPipe]


@dataclass(frozen=True, slots=True)
class Job:
    """The settings of workers; see the arguments of ``Workers``. The settings are pickled if workers are processes."""

    handler: Callable[..., object]
    # A ``functools.partial`` of ``connect`` would show a password that is its argument.
    connect: Callable[[], QueueManager] = field(repr=False)
    open: OpenConsumer | OpenPipe
    name: str
    numbers: range
    grace_s: float
    setup: Callable[[], object] | None

    def name_of(self, number: int) -> str:
        """Return the name of the worker with this number, which is at least 1."""
        return f"{self.name}.{number}"


class Worker:
    """One run of a worker.

    Attributes:
        can_leave: whether an exception may end the worker, because it only waits for a queue manager or its name's last owner.
    """

    def __init__(self, job: Job, number: int, board: Board) -> None:
        self._job = job
        self._number = number
        self._board = board
        self.can_leave = True
        self._stopping = False
        self._owners: tuple[GroupConsumer | GroupPipe, ...] = ()
        self._looked_s = float("-inf")
        self._looks = 0
        self._used: set[int] = set()
        self._told: set[str | int] = set()

    def stop(self) -> None:
        """Ask the worker to end at the next safe place of its consumer or pipe. Any thread and signal handlers can call this."""
        # This sets ``_stopping`` and then reads ``_owners``; ``_opened`` sets and reads in the other order. So no stop is missed.
        self._stopping = True
        for owner in self._owners:
            owner.stop()

    def run(self) -> None:
        """Handle groups until ``stop`` is called. After an error, the next start resumes the group.

        Raises the errors of the handler, ``connect`` and ``open``; GroupUsage if the handler returned before the group's end.
        """
        # An exception while the event loop is made would leave a half-made loop. An exception at the exit would be a traceback.
        self.can_leave = False
        with asyncio.Runner() as loop:
            try:
                self.can_leave = True
                if not self._stopping:
                    self._run(loop)
            except (StatusError, EnvironmentFailure) as error:
                self._board.fails(clears_up=error.clears_up)
                raise
            finally:
                self.can_leave = False

    def _run(self, loop: asyncio.Runner) -> None:
        job = self._job
        with job.connect() as q_mgr, job.open(q_mgr, name=job.name_of(self._number), wait_s=LOOK_S) as own:
            try:
                self._opened(own)
                self._board.beats(True)
                connection_of(q_mgr).beat = self._board.beats
                while not self._stopping:
                    if time.monotonic() - self._looked_s >= LOOK_S:
                        self._handle_what_is_left(q_mgr, own, loop)
                        self._looked_s = time.monotonic()
                    for each in own:
                        self._handle(each, loop)
                        if time.monotonic() - self._looked_s >= LOOK_S:
                            break
            except Stopped as stopped:
                if not self._stopping:
                    # The handler uses another producer or consumer, which was stopped.
                    raise
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
            # The group is consumed to its end and committed.
            _log.warning("%s", error)
        finally:
            self._board.ends(whole=group.has_ended)
        if not group.has_ended and not self._stopping:
            raise GroupUsage(
                f"the handler returned before the last message of group {group.group_id.hex()}. The messages since the last "
                "commit are delivered again. A handler must iterate over all messages of its group"
            )

    # --- groups of names that no longer have a worker

    def _handle_what_is_left(self, q_mgr: QueueManager, own: GroupConsumer | GroupPipe, loop: asyncio.Runner) -> None:
        for name in self._interrupted_without_worker(q_mgr, is_pipe=isinstance(own, GroupPipe)):
            _log.warning("%s handles the interrupted group of %s", self._job.name_of(self._number), name)
            try:
                with self._job.open(q_mgr, name=name, wait_s=0) as other:
                    self._opened(own, other)
                    for each in other:
                        self._handle(each, loop)
                        break
            except Stopped:
                raise
            except OwnerActive as error:
                _log.info("%s", error)  # another worker handles it
            except Exception as error:
                if _is_still_open(error):
                    raise
                # The error must not end the worker, because its next start and all other workers would find the same group first.
                tell_failure(f"{self._job.name_of(self._number)} as {name}", error)
            finally:
                self._owners = (own,)

    def _interrupted_without_worker(self, q_mgr: QueueManager, *, is_pipe: bool) -> Iterator[str]:
        """Yield the names that have an interrupted group, but no worker of this supervisor."""
        every = [number for number in range(1, MOST_WORKERS + 1) if number not in self._job.numbers]
        for number in every if self._looks % ALL_NAMES_EVERY == 0 else sorted(self._used):
            if self._stopping:
                return
            name = self._job.name_of(number)
            self._used.add(number)
            try:
                state = inspect_owner(q_mgr, name, "get", tidy=True).state
                if is_pipe and state in AT_REST:
                    inspect_owner(q_mgr, name, "put", tidy=True)
            except ConnectionBroken:
                # The worker's own consumer or pipe notices the loss, and reconnects. Then this check is repeated.
                return
            except (StatusError, MQIError) as error:
                if _is_still_open(error):
                    raise
                self._tell_unseen(name, error)
                continue
            if state is OwnerState.UNKNOWN:
                self._used.discard(number)
            if state is OwnerState.INTERRUPTED:
                yield name
        self._looks += 1

    def _tell_unseen(self, name: str, error: StatusError | MQIError) -> None:
        # Each reason code is logged once, because many names probably have the same one.
        what = error.reason if isinstance(error, MQIError) else name
        if what not in self._told:
            self._told.add(what)
            _log.warning("%s cannot look at %s: %s", self._job.name_of(self._number), name, error)


def _is_still_open(error: Exception) -> bool:
    """Return whether the error is a failed MQCLOSE. Then no other worker can use the name until this connection ends."""
    return isinstance(error, MQIError) and error.verb == "MQCLOSE"


def tell_failure(name: str, error: BaseException) -> None:
    """Log that a worker has failed. ``name``: the worker's name, or both names if it failed with the group of another name."""
    # An operator needs the remedy in the error's text, not the place where the error was raised.
    for_operators = isinstance(error, (StatusError, EnvironmentFailure))
    _log.error("worker %s failed: %s", name, error, exc_info=None if for_operators else error)

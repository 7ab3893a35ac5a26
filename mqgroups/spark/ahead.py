"""A thread that finds groups ahead while Spark's tasks read a micro-batch and Spark does not call the source.

The thread uses the connection of the process. So each call of Spark first waits until its present step, one group, is done.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from threading import Event, Thread

from mqgroups.errors import MQGroupsError

_log = logging.getLogger("mqgroups.spark")


class Ahead:
    """One thread, at work or not. Can be pickled when it is not."""

    def __init__(self) -> None:
        self._work: tuple[Thread, Event] | None = None

    def begin(self, steps: Iterable[object]) -> None:
        """Take these steps in the thread until the last one, or until ``end`` is called."""
        stop = Event()
        thread = Thread(target=_take, args=(steps, stop), name="mqgroups-ahead", daemon=True)
        self._work = thread, stop
        thread.start()

    def end(self) -> None:
        """Let the thread end after its present step, and wait for it."""
        work, self._work = self._work, None
        if work is not None:
            thread, stop = work
            stop.set()
            thread.join()


def _take(steps: Iterable[object], stop: Event) -> None:
    try:
        for _ in steps:
            if stop.is_set():
                return
    except MQGroupsError as error:
        # The next call meets the same error, and raises it.
        _log.debug("what is done ahead: %s", error, exc_info=error)

"""Finds groups in a thread, during the time in which Spark's tasks read a micro-batch and Spark does not call the source.

The calls of Spark use the thread's connection too. So each call first waits until the thread has finished its current group.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from threading import Event, Thread

from mqgroups.errors import MQGroupsError

_log = logging.getLogger("mqgroups.spark")


class Ahead:
    """Runs a thread that finds groups in advance. The object can be pickled while the thread is not running."""

    def __init__(self) -> None:
        self._work: tuple[Thread, Event] | None = None

    def begin(self, steps: Iterable[object]) -> None:
        """Start a thread that iterates over ``steps``, until the last step or until a call of ``end``."""
        stop = Event()
        thread = Thread(target=_take, args=(steps, stop), name="mqgroups-ahead", daemon=True)
        self._work = thread, stop
        thread.start()

    def end(self) -> None:
        """Stop the thread after its current step, and wait until it has ended."""
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
        # The next call of Spark meets the same error, and raises it.
        _log.debug("what is done ahead: %s", error, exc_info=error)

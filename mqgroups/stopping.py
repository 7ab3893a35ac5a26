"""Stops producers, consumers and pipes when the process gets a signal, and ends the block in which they work.

    with (
        mqgroups.connect(...) as q_mgr,
        q_mgr.group_consumer("ORDERS", name="ORDERS.SINK") as consumer,
        mqgroups.stop_on_signals(consumer) as stopping,
    ):
        for group in consumer:
            ...
    print(stopping.signal)        # SIGTERM, SIGINT, or None

A signal handler may run in the middle of a call of this package. So the handler only calls ``stop()``, which sets a flag. The
interrupted call notices the flag at the next place where it can stop safely. ``put/`` and ``get/`` decide on these places.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any, Protocol

from mqgroups.errors import GroupUsage, Stopped

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stoppable(Protocol):
    """An object that can be stopped: a producer, a consumer, a pipe, or workers."""

    def stop(self) -> None:
        """Request the end of the work. Signal handlers call this method. So it takes no lock, and does not use the connection."""


class StopOnSignals:
    """A block that a signal ends; see ``stop_on_signals``.

    Attributes:
        signal: the signal that has come, or ``None``.
    """

    def __init__(self, owners: Sequence[Stoppable], signals: Sequence[signal.Signals]) -> None:
        for owner in owners:
            if not callable(getattr(owner, "stop", None)):
                raise GroupUsage(f"stop_on_signals takes producers, consumers, pipes and workers, got {owner!r}")
        self.signal: signal.Signals | None = None
        self._owners = tuple(owners)
        self._signals = tuple(signals)
        # The former handlers of the signals; ``None`` for a handler that was not installed from Python.
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopOnSignals:
        for number in self._signals:
            self._before[number] = signal.getsignal(number)
            try:
                signal.signal(number, self._stop)
            except ValueError as error:
                raise GroupUsage(
                    "stop_on_signals must be used in the main thread, because only there Python can handle signals. In another "
                    "thread, call stop()"
                ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._restore()
        return isinstance(error, Stopped)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self.signal = signal.Signals(number)
        # A second signal has the effect that it would have without this block.
        self._restore()
        for owner in self._owners:
            owner.stop()

    def _restore(self) -> None:
        for number, before in self._before.items():
            if before is not None:
                signal.signal(number, before)


def stop_on_signals(*owners: Stoppable, signals: Sequence[signal.Signals] = _SIGNALS) -> StopOnSignals:
    """Return a context manager. While its block runs, a signal calls ``stop()`` of all ``owners``.

    The context manager's attribute ``signal`` is the signal that has come, or ``None``.

    A ``Stopped`` error ends the block, and the program continues after the block. Actions that must not follow a stop, such as
    renaming the input or forgetting a checkpoint, belong in the block. A second signal has the effect that it had before the
    block. By default SIGTERM ends the process, and SIGINT raises KeyboardInterrupt. In both cases the group can be resumed.

    Args:
        owners: producers, consumers, pipes and workers. They may work in other threads.
        signals: by default SIGTERM and SIGINT.

    Raises:
        GroupUsage: an owner has no ``stop``, or the block is not entered in the main thread.
    """
    return StopOnSignals(owners, signals)

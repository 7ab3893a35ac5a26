"""Allow one caller at a time on a connection, and detect whether the last caller was interrupted.

An exception may occur between any two instructions of this package: KeyboardInterrupt, SystemExit from a signal handler,
MemoryError, a cancellation. The state that the interrupted call left is then not reliable, and the next call must establish it
again. ``Turn`` detects that:

    with connection.turn:       a call that comes from the application
        ...

A block that ends normally, or with one of this package's own errors (raised only when the state is consistent), leaves no trace.
After any other exception ``was_interrupted`` is true, until ``Connection.restore`` has recovered. The same holds for an exception
on the way into the block or out of it: the caller's frame is still stored, but no thread runs it.

Only one thread may use a connection at a time. A call from a second thread is refused at once, and nothing changes. A call from
a function that this package itself calls (a hook, ``before_commit``, a signal handler during a call) is refused, too.
"""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

from mqgroups.errors import GroupUsage, MQGroupsError

_HERE = "here"
_NOBODY = "an interruption"


class Turn:
    """A context manager for calls of the application.

    Attributes:
        interrupted: whether a call was found to be interrupted; ``Connection.restore`` resets it after recovery.
    """

    __slots__ = ("_inside", "interrupted")

    def __init__(self) -> None:
        # Empty, or the frame of the caller. A dict, because setdefault lets exactly one of two threads win.
        self._inside: dict[str, FrameType | str] = {}
        self.interrupted = False

    def __enter__(self) -> None:
        frame = sys._getframe(1)
        while (inside := self._inside.setdefault(_HERE, frame)) is not frame:
            self._displace(inside, frame)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None or issubclass(kind, MQGroupsError):
            self._inside.clear()
            return
        self._inside[_HERE] = _NOBODY
        if issubclass(kind, (StopIteration, StopAsyncIteration)):
            # From an iterator's __next__ it would end the application's loop as if there were no more messages (PEP 479).
            raise RuntimeError(f"a function of the application raised {kind.__name__}") from error

    @property
    def was_interrupted(self) -> bool:
        """Whether the last call was interrupted, and the connection has not recovered yet."""
        inside = self._inside.get(_HERE)
        return self.interrupted or (inside is not None and (isinstance(inside, str) or not _is_running(inside)))

    def _displace(self, inside: FrameType | str, frame: FrameType) -> None:
        """Free the turn if its caller was interrupted; raises GroupUsage if the caller is still running."""
        if isinstance(inside, FrameType):
            if _is_below(inside, frame.f_back):
                # However the outer call handles this error, it is raised while the state is not consistent.
                self.interrupted = True
                raise GroupUsage(
                    "called from inside another call on the same connection. A hook, before_commit or a signal handler must not "
                    "use the producer, consumer or pipe; let it store what it needs, and make the call later"
                )
            if _is_running(inside):
                raise GroupUsage(
                    "another thread is in a call on the same connection. Only one thread at a time may use a connection with its "
                    "producers, consumers and pipes. Give each thread a connection of its own. Nothing was changed"
                )
        # If the caller left normally in the meantime, it has cleared the entry itself.
        if self._inside.get(_HERE) is inside:
            self.interrupted = True
            self._inside.clear()


def _is_running(frame: FrameType) -> bool:
    """Whether a frame is on the stack of any thread. Of a frame that is not, the local variables are cleared.

    ``sys._current_frames()`` would tell too, but in CPython 3.11 a garbage collection in it can stop the process for good (it
    collects a ``threading.local`` while it holds the lock that this needs).
    """
    try:
        frame.clear()
    except RuntimeError:
        return True
    return False


def _is_below(sought: FrameType, frame: FrameType | None) -> bool:
    """Whether ``sought`` is on the stack whose innermost frame is ``frame``."""
    while frame is not None:
        if frame is sought:
            return True
        frame = frame.f_back
    return False

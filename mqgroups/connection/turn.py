"""Who is inside a connection: one caller at a time; and whether the last one was interrupted there.

An exception of any kind may come between any two instructions of this package: KeyboardInterrupt, SystemExit from a signal
handler, MemoryError, a cancellation. What the interrupted call knew of the connection cannot be believed then, and the next call
finds everything out again. ``Turn`` is how it learns that it has to:

    with connection.turn:       a call that comes from the application
        ...

A block that ends in order, or with one of this package's own errors (which are raised where everything is in order), leaves
nothing behind. Any other exception leaves ``interrupted``, until ``Connection.restore`` has dealt with it. So does an exception
that comes on the way into the block or out of it: then the caller's frame is still noted, and runs nowhere any more.

A connection is one thread's at a time. A second thread is refused at once, with nothing changed; so is a call out of a function
that is called by this package (a hook, ``before_commit``, a signal handler in the middle of a call).
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
        interrupted: whether a call ended where it could not; who makes everything good again sets it back.
    """

    __slots__ = ("_inside", "interrupted")

    def __init__(self) -> None:
        # Empty, or whose frame is inside. A dict, because of two threads one wins in setdefault.
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
        else:
            self._inside[_HERE] = _NOBODY

    @property
    def was_interrupted(self) -> bool:
        """Whether the last call was, and nobody has made that good yet."""
        inside = self._inside.get(_HERE)
        return self.interrupted or (inside is not None and (isinstance(inside, str) or not self._is_running(inside)))

    @staticmethod
    def _is_running(sought: FrameType) -> bool:
        return any(_is_below(sought, frame) for frame in sys._current_frames().values())

    def _displace(self, inside: FrameType | str, frame: FrameType) -> None:
        """Have the turn free again if somebody was interrupted in it; raises GroupUsage if it is somebody who works."""
        if isinstance(inside, FrameType):
            if _is_below(inside, frame.f_back):
                # Whatever this error does to the call that is under way, it comes at a moment when nothing is in order.
                self.interrupted = True
                raise GroupUsage(
                    "called from inside a call on the same connection: a hook, before_commit and a signal handler may note "
                    "something for later, and not use the producer, consumer or pipe"
                )
            if self._is_running(inside):
                raise GroupUsage(
                    "another thread is in a call on the same connection. A connection, with its producers, consumers and "
                    "pipes, is one thread's at a time: give each thread a connection of its own. Nothing was changed"
                )
        # Who left in order while this was found out, has cleared it before.
        if self._inside.get(_HERE) is inside:
            self.interrupted = True
            self._inside.clear()


def _is_below(sought: FrameType, frame: FrameType | None) -> bool:
    """Whether a frame is on the stack that ends in ``frame``."""
    while frame is not None:
        if frame is sought:
            return True
        frame = frame.f_back
    return False

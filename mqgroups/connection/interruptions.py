"""Notices interruptions: exceptions that may come between any two instructions of this package.

Examples are KeyboardInterrupt, SystemExit from a signal handler, MemoryError, and a cancellation. The state that the interrupted
call has left in memory is not reliable. So the next call restores the state from the queue manager (``Connection.restore``).
Interruptions cannot be prevented. But the package notices each interruption, and loses no handle:

in a call          ``Turn``: each call of the application runs in a block, which stores the frame of the call. If no thread runs
                   this frame any longer, the next call detects the interruption, even if it came at the block's beginning or end.
at a block's end   ``WithBlock``: an exception may come before the first instruction of ``__exit__``, or after the last one.
around MQOPEN      ``call_and_keep``: the C call that calls MQOPEN also stores the result. Otherwise a queue could stay open
                   unnoticed. If it is open exclusively, nobody else could open it.
around MQCONNX     ``Handle`` stores the binding's object before the call, because that object gets the handle. If nothing refers
                   to the ``Handle`` any longer, garbage collection backs out and disconnects. Otherwise the connection, with
                   all its open objects, could exist until the process ends.
in closing         ``QueueManager.__exit__`` and ``Handle.__del__`` close a second time if the first time is interrupted. The next
                   ``mqgroups.connect`` or ``mqgroups.wrap`` closes every connection that is still open after its block.

Other modules read ``turn.interrupted`` inside a call, and ``turn.was_interrupted`` outside of a call. Only the connection resets
these flags, after it has recovered.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable
from functools import partial
from itertools import starmap
from types import FrameType, TracebackType
from typing import TypeAlias, TypeVar

from mqgroups.errors import GroupUsage, MQGroupsError

_T = TypeVar("_T")
_Exit: TypeAlias = Callable[[type[BaseException] | None, BaseException | None, TracebackType | None], None]

_HERE = "here"
_NOBODY = "an interruption"


class Turn:
    """A guard that allows one caller at a time on a connection, and detects whether the last caller was interrupted.

        with connection.turn:       a call that comes from the application
            ...

    A block may end normally, or with one of this package's own errors, which are raised only when the state is consistent. A
    block that ends with any other exception counts as interrupted.

    Only one thread may use a connection at a time. A call from a second thread is refused at once, and nothing changes. A call
    from a function that this package itself calls (a hook, ``before_commit``, a signal handler during a call) is refused, too.

    Attributes:
        interrupted: whether an earlier call was interrupted, and the connection has not recovered since. It is valid only
            inside a call. It is a field, not a property, because each put and get reads it.
        pid: the process that the connection belongs to.
    """

    __slots__ = ("_inside", "interrupted", "pid")

    def __init__(self) -> None:
        # Empty, or the frame of the caller. A dict, because setdefault lets exactly one of two threads win.
        self._inside: dict[str, FrameType | str] = {}
        self.interrupted = False
        self.pid = os.getpid()

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
        """Whether a call was interrupted, for use outside of a call. Reading it takes longer than reading ``interrupted``."""
        inside = self._inside.get(_HERE)
        return self.interrupted or (inside is not None and (isinstance(inside, str) or not _is_running(inside)))

    def _displace(self, inside: FrameType | str, frame: FrameType) -> None:
        """Free the turn if its caller ``inside`` was interrupted; raises GroupUsage if that caller is still running."""
        if isinstance(inside, FrameType):
            if _is_below(inside, frame.f_back):
                # The outer call is interrupted even if it handles this error, because its state is not consistent now.
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


class _NewExit:
    """A descriptor for ``__exit__`` that returns a new function at each access."""

    def __get__(self, block: WithBlock | None, owner: type[WithBlock]) -> _Exit:
        if block is None:
            return owner._leave_block  # type: ignore[return-value]  # not bound, as contextlib.ExitStack asks for it
        # A partial, because Python unpacks a bound method to call it, so the method object would be gone while it runs.
        made = [partial(block._leave_block)]
        try:
            block._exit = weakref.ref(made[0])
            return made.pop()
        except BaseException:
            # The block was not entered. Without this, the error's traceback would keep the function alive, through this frame.
            made.clear()
            raise


class WithBlock:
    """The base of a context manager that has to know whether its ``with`` block was left. Subclasses define ``_leave_block``.

    Each ``with`` statement gets a new ``__exit__`` function before it enters the block. Only this statement refers to the
    function, until the block is left. So if the function is gone, the block was left, even if the function was never called.
    """

    _exit: weakref.ref[_Exit] | None = None

    @property
    def _is_in_block(self) -> bool:
        """Whether the ``with`` block was entered and not left."""
        return self._exit is not None and self._exit() is not None

    @property
    def _was_left(self) -> bool:
        """Whether the ``with`` block was entered and left."""
        return self._exit is not None and self._exit() is None

    def _leave_block(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the block, as ``__exit__`` does."""
        raise NotImplementedError  # for subclasses

    __exit__ = _NewExit()


def call_and_keep(results: list[_T], function: Callable[..., _T], *arguments: object) -> _T:
    """Call a C function and append its result to ``results``, within one C call, so that no interruption comes in between."""
    results.extend(starmap(function, (arguments,)))
    return results[-1]


def _is_running(frame: FrameType) -> bool:
    """Return whether a frame is on the stack of any thread. If it is not, clear its local variables.

    ``sys._current_frames()`` is not used, because it can block a process of CPython 3.11 for ever. The function holds a lock. A
    garbage collection while it runs may collect a ``threading.local``, which needs the same lock.
    """
    try:
        frame.clear()
    except RuntimeError:
        return True
    return False


def _is_below(sought: FrameType, frame: FrameType | None) -> bool:
    """Return whether ``sought`` is ``frame`` or one of its direct or indirect callers."""
    while frame is not None:
        if frame is sought:
            return True
        frame = frame.f_back
    return False

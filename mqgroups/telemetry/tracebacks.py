"""Removes this package's frames from tracebacks of its errors, because frames would hide the error's text, which has the remedy.

The log has the frames, at level DEBUG.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

from mqgroups.errors import MQGroupsError
from mqgroups.mqi.secret import hide_secrets
from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups")
_P = ParamSpec("_P")
_R = TypeVar("_R")
# The packages whose frames may be between a call and its error: ours, and the packages of an asyncio connection's thread.
_OURS = frozenset({"mqgroups", "asyncio", "concurrent"})


def told_briefly(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function that applications call. Its errors have no frames of this package, and no frame shows a secret."""

    @wraps(function)
    def briefly(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        hide_secrets(kwargs)
        try:
            return function(*args, **kwargs)
        except MQGroupsError as error:
            raise without_own_frames(error) from error.__cause__

    return briefly


def without_own_frames(error: MQGroupsError) -> MQGroupsError:
    """Return the error, to be raised again. If all its frames are frames of this package, remove them first."""
    return without_frames(error) if _are_ours(error.__traceback__) else error


def without_frames(error: MQGroupsError) -> MQGroupsError:
    """Log an error with its frames, remove the frames, and return the error, to be raised again."""
    _log.debug("%s", error, exc_info=error, extra=logs.fields())
    return error.with_traceback(None)


def _are_ours(traceback: TracebackType | None) -> bool:
    while traceback is not None:
        if traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in _OURS:
            return False
        traceback = traceback.tb_next
    return True

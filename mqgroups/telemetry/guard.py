"""What goes wrong in a tracer, an instrument, a propagator or an exporter is a line in the log, and never more."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_log = logging.getLogger("mqgroups.telemetry")
_P = ParamSpec("_P")
_T = TypeVar("_T")
# What went wrong once goes wrong with every message.
_told: set[tuple[str, type[Exception]]] = set()


def guarded(function: Callable[_P, _T]) -> Callable[_P, _T | None]:
    """Have a function return ``None`` instead of raising an error, and log each kind of error once. A decorator."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # messaging goes on
            what = function.__qualname__, type(error)
            if what not in _told:
                _told.add(what)
                _log.warning("%s failed, and is not reported again: %r", function.__qualname__, error)
            return None

    return call

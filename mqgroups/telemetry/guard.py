"""Turns errors of a tracer, an instrument, a propagator or an exporter into log records, so that messaging continues."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_log = logging.getLogger("mqgroups.telemetry")
_P = ParamSpec("_P")
_T = TypeVar("_T")
# Each kind of error is logged once, because it would occur again with every message.
_told: set[tuple[str, type[Exception]]] = set()


def guarded(function: Callable[_P, _T]) -> Callable[_P, _T | None]:
    """Decorate a function so that it returns ``None`` instead of raising an error. Each kind of error is logged once."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # messaging must continue
            what = function.__qualname__, type(error)
            if what not in _told:
                _told.add(what)
                _log.warning("%s failed, and is not reported again: %r", function.__qualname__, error)
            return None

    return call

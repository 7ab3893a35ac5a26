"""Warns of an object that was garbage-collected while open. The warning is also logged, because Python hides ResourceWarnings."""

from __future__ import annotations

import logging
import os
import warnings

from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups")


def tell_forgotten(what: str, source: object, made_in: int, *, stacklevel: int = 2) -> None:
    """Log and warn that ``source`` was not closed. Do nothing in a forked process, which only has a copy of ``source``.

    ``made_in``: the id of the process that made ``source``. ``stacklevel``: as if the caller called ``warnings.warn`` itself.
    """
    if os.getpid() != made_in:
        return
    _log.warning("%s", what, extra=logs.fields())
    warnings.warn(what, ResourceWarning, stacklevel=stacklevel + 1, source=source)

"""Tells that an object was collected while it was open. Python hides its ResourceWarning, so the log says it too."""

from __future__ import annotations

import logging
import os
import warnings

from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups")


def tell_forgotten(what: str, source: object, made_in: int, *, stacklevel: int = 2) -> None:
    """Tell it in the process ``made_in``; in one that was forked from it there are only copies.

    ``stacklevel`` as for a warning that the caller gives itself.
    """
    if os.getpid() != made_in:
        return
    _log.warning("%s", what, extra=logs.fields())
    warnings.warn(what, ResourceWarning, stacklevel=stacklevel + 1, source=source)

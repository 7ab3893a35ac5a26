"""Tells that an object was collected while it was open. Python hides its ResourceWarning, so the log says it too."""

from __future__ import annotations

import logging
import warnings

from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups")


def tell_forgotten(what: str, source: object, *, stacklevel: int = 2) -> None:
    """Tell it; ``stacklevel`` as for a warning that the caller gives itself."""
    _log.warning("%s", what, extra=logs.fields(q_mgr_name=""))
    warnings.warn(what, ResourceWarning, stacklevel=stacklevel + 1, source=source)

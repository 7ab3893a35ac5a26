"""Finds the installed bindings (pymqi, ibmmq), and imports a binding together with its client library."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Any

BINDINGS = ("pymqi", "ibmmq")


def bindings(wanted: str) -> list[str]:
    """Return the names of the wanted bindings that are installed; ``wanted`` is ``pymqi``, ``ibmmq`` or ``both``."""
    return [name for name in BINDINGS if wanted in (name, "both") and _is_installed(name)]


# Cached, because pytest asks for each test that it collects.
@functools.cache
def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def loaded(name: str) -> Any:
    """Import and return a binding's package. If the MQ client library is not found, raise ImportError with a remedy."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:
        raise ImportError(
            f"{name} cannot be loaded ({error}): it needs IBM's MQ client library. Set LD_LIBRARY_PATH to its directory, for "
            "example /opt/mqm/lib64"
        ) from error

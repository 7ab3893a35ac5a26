"""The bindings that tests run on: which are installed, and importing one with its client library."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

BINDINGS = ("pymqi", "ibmmq")


def bindings(wanted: str) -> list[str]:
    """Return those of ``wanted`` (one, or ``both``) that are installed."""
    return [name for name in BINDINGS if wanted in (name, "both") and importlib.util.find_spec(name) is not None]


def loaded(name: str) -> Any:
    """Return the package. Raises ImportError, with a sentence, where it finds no MQ client library."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:
        raise ImportError(
            f"{name} cannot be loaded ({error}): it needs IBM's MQ client library, which LD_LIBRARY_PATH has to name "
            "(/opt/mqm/lib64)"
        ) from error

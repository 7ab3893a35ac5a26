"""The name of the writer of messages on status queues. A module of its own, because a Spark task needs it alone."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version


@lru_cache(1)
def writer() -> str:
    """Return who writes records here: the name and the version of this package."""
    try:
        return f"mqgroups {version('mqgroups')}"
    except PackageNotFoundError:  # a program that took the files along, and not the distribution
        return "mqgroups ?"

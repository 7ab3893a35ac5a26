"""The name of the writer of status records. It is in a module of its own, because a Spark task needs only this."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version


@lru_cache(1)
def writer() -> str:
    """Return the name and the version of this package, which records give as their writer."""
    try:
        return f"mqgroups {version('mqgroups')}"
    except PackageNotFoundError:  # a program that took the files along, and not the distribution
        return "mqgroups ?"

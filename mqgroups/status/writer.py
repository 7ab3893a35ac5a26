"""The package's name and version, which status records contain. A Spark task can import this module alone."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version


@lru_cache(1)
def writer() -> str:
    """Return the name and the version of this package. Each status record contains them as its writer."""
    try:
        return f"mqgroups {version('mqgroups')}"
    except PackageNotFoundError:  # a program that took the files along, and not the distribution
        return "mqgroups ?"

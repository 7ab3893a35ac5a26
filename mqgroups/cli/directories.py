"""The directories of this user, by the variables of the XDG Base Directory Specification. Not here: the cache (``cache.py``)."""

from __future__ import annotations

import os
from pathlib import Path

import click


def of_this_user(variable: str, default: str) -> Path:
    """Return the directory that a variable names, else this one in the home directory; UsageError if there is none."""
    try:
        return Path(os.environ.get(variable) or Path.home() / default)
    except RuntimeError as error:
        raise click.UsageError(f"this user has no home directory: set HOME or {variable}") from error

"""Directories of the campaign."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def temporary_directory() -> tempfile.TemporaryDirectory[str]:
    """Make a directory, in memory if there is one for files."""
    # What is killed here is a process, not the machine: where files are in memory they survive that as well, and sooner.
    memory = Path("/dev/shm")
    where = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="mqgroups-faults-", dir=where, ignore_cleanup_errors=True)

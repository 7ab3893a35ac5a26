"""The cache: a directory for what this package makes once on a machine and then loads or runs: a C library, a ``bin/java``.

It is ``$MQGROUPS_CACHE``, else ``$XDG_CACHE_HOME/mqgroups``, else ``~/.cache/mqgroups``. Nobody else may write to it: this user
would run another user's code.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path


class CacheRefused(RuntimeError):
    """Another user could have written to the cache; the message names the path and says what to do."""


def cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of the cache; it is made if it does not exist. Raises CacheRefused."""
    given = environment.get("MQGROUPS_CACHE")
    return own_directory(
        Path(given) if given else Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache", "mqgroups")
    )


def own_directory(path: Path) -> Path:
    """Return a directory of this user alone; it is made if it does not exist. Raises CacheRefused."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(PermissionError):
        # A loose umask may have let others write here. check_own finds what they left.
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o022)
    check_own(path)
    return path


def check_own(path: Path) -> None:
    """Refuse a path that another user (except root) owns or can change, or that is a link; raises CacheRefused."""
    status = path.lstat()
    is_own = status.st_uid in (os.geteuid(), 0) and not stat.S_ISLNK(status.st_mode)
    if not is_own or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheRefused(
            f"{path} is not used: it has to belong to this user, and nobody else may write to it. Remove it, change its owner "
            "and mode, or name another directory in MQGROUPS_CACHE"
        )

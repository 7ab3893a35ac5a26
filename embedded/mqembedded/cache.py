"""The cache: the directory of the C library, which this package builds once on a machine.

It is ``$MQEMBEDDED_CACHE``, else ``$XDG_CACHE_HOME/mqembedded``, else ``~/.cache/mqembedded``. In many containers a user has no
home directory to write to; the cache is then a directory in the temporary directory. Only this user may write to the cache,
because code in it is run.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

# A flag of a file system, which not every operating system tells.
_NOEXEC = getattr(os, "ST_NOEXEC", 0)
_REMEDY = "name another directory in MQEMBEDDED_CACHE"


class CacheRefused(RuntimeError):
    """There is no directory for the cache, or another user could have written to it; the message says what to do."""


def cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of the cache, and make it if needed. Raises CacheRefused."""
    if given := environment.get("MQEMBEDDED_CACHE"):
        return own_directory(Path(given).absolute())
    refused = CacheRefused(
        "there is no home directory and no temporary directory for the cache: name one in MQEMBEDDED_CACHE"
    )
    for place in _places(environment):
        try:
            return own_directory(place)
        except CacheRefused as error:
            refused = error
    raise refused


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    # Without HOME, and without a name of the user, there is no home directory.
    with contextlib.suppress(RuntimeError):
        place = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache", "mqembedded").absolute()
        if _exists_or_is_for_this_user_to_make(place):
            yield place
    with contextlib.suppress(FileNotFoundError):
        yield Path(tempfile.gettempdir(), f"mqembedded-{os.geteuid()}")


def _exists_or_is_for_this_user_to_make(path: Path) -> bool:
    """Whether a directory exists, or this user owns the nearest one above it. Root must leave no files in a user's home."""
    try:
        above = next(each for each in (path, *path.parents) if each.exists())
        return above == path or above.stat().st_uid == os.geteuid()
    except OSError:
        return False


def make_directory(path: Path, mode: int) -> None:
    """Make a directory and those above it. Only this user may write to the new ones, whatever the umask is.

    Otherwise another user could replace this directory.
    """
    for each in reversed([each for each in path.parents if not each.exists()]):
        each.mkdir(mode=0o755, exist_ok=True)
    path.mkdir(mode=mode, exist_ok=True)


def own_directory(path: Path) -> Path:
    """Return a directory that only this user can use, and make it if needed. Raises CacheRefused."""
    try:
        make_directory(path, 0o700)
        check_own(path)
        if os.statvfs(path).f_flag & _NOEXEC:
            raise CacheRefused(
                f"{path} is not used, because its file system lets nothing be executed (noexec): {_REMEDY}"
            )
    except OSError as error:
        raise CacheRefused(f"{path} cannot be used for the cache ({error.strerror}): {_REMEDY}") from error
    if not os.access(path, os.R_OK | os.X_OK):
        raise CacheRefused(f"{path} is not used, because this user cannot read it: {_REMEDY}")
    return path


def check_own(path: Path) -> None:
    """Refuse a path that another user (except root) owns or can change, or that is a link; raises CacheRefused."""
    status = path.lstat()
    is_own = status.st_uid in (os.geteuid(), 0) and not stat.S_ISLNK(status.st_mode)
    if not is_own or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheRefused(
            f"{path} is not used: it has to belong to this user, and nobody else may write to it. Remove it, change its owner "
            f"and mode, or {_REMEDY}"
        )

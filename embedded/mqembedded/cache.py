"""The cache: the directory in which this package keeps the C library that it builds once on each machine.

The cache is ``$MQEMBEDDED_CACHE``, else ``$XDG_CACHE_HOME/mqembedded``, else ``~/.cache/mqembedded``. In many containers, users
have no home directory that they can write to. The cache is then in the temporary directory. Only the current user is allowed to
write to the cache, because this package executes code from it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

# A flag of the file system. Not every operating system reports it.
_NOEXEC = getattr(os, "ST_NOEXEC", 0)
_REMEDY = "name another directory in MQEMBEDDED_CACHE"


class CacheRefused(RuntimeError):
    """No directory can be used for the cache, or another user could have changed the cache. The message explains what to do."""


def cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the cache directory, and make it if needed. Raises CacheRefused."""
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
    # There is no home directory if HOME is not set and the user has no name.
    with contextlib.suppress(RuntimeError):
        place = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache", "mqembedded").absolute()
        if _exists_or_is_for_this_user_to_make(place):
            yield place
    with contextlib.suppress(FileNotFoundError):
        yield Path(tempfile.gettempdir(), f"mqembedded-{os.geteuid()}")


def _exists_or_is_for_this_user_to_make(path: Path) -> bool:
    """Return whether a directory exists, or this user (perhaps root) can make it without writing to another user's directory."""
    try:
        above = next(each for each in (path, *path.parents) if each.exists())
        return above == path or above.stat().st_uid == os.geteuid()
    except OSError:
        return False


def make_directory(path: Path, mode: int) -> None:
    """Make a directory and its missing parents. Only this user can write to the new directories, whatever the umask is.

    If another user could write to a parent, that user could replace the directory.
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
                f"{path} is not used, because its file system does not allow execution (noexec): {_REMEDY}"
            )
    except OSError as error:
        raise CacheRefused(f"{path} cannot be used for the cache ({error.strerror}): {_REMEDY}") from error
    if not os.access(path, os.R_OK | os.X_OK):
        raise CacheRefused(f"{path} is not used, because this user cannot read it: {_REMEDY}")
    return path


def check_own(path: Path) -> None:
    """Raise CacheRefused if the path is a link, or if another user (except root) owns it or can change it."""
    status = path.lstat()
    is_own = status.st_uid in (os.geteuid(), 0) and not stat.S_ISLNK(status.st_mode)
    if not is_own or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheRefused(
            f"{path} is not used: it must belong to this user, and no other user may write to it. Remove it, change its owner "
            f"and mode, or {_REMEDY}"
        )

"""The files of a data directory: who may read them, whether one is missing, and space that is kept for getting messages.

The directory is its owner's alone (0700), and so are its files (0600), whatever the umask says. A server holds a lock on the
directory that goes with its process. While the database is open beside a journal there is a marker: a journal that is gone
then took committed messages with it, and nothing starts on the rest.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from pathlib import Path

DATABASE = "queue-manager.db"
_OPEN_MARKER = "queue-manager.open"
_RESERVE = "queue-manager.reserve"
_RESERVE_BYTES = 4 * 1024 * 1024


class StoreError(Exception):
    """The data directory cannot serve this queue manager; the message says why, and what can be done."""


class StoreFiles:
    """The files of one data directory, which is locked from the beginning until ``unlock``."""

    def __init__(self, directory: Path) -> None:
        """Make the directory, or take one that is there; raises StoreError."""
        self.directory = directory
        self.database = directory / DATABASE
        self.journal = directory / f"{DATABASE}-wal"
        self._marker = directory / _OPEN_MARKER
        self._reserve = directory / _RESERVE
        self._has_reserve = False
        make_private_directory(directory)
        self._lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise StoreError(f"{directory} is in use by another queue manager") from error

    def unlock(self) -> None:
        """Let others have the directory."""
        os.close(self._lock)

    def check(self) -> bool:
        """Return whether there is a database, after a look at the files; raises StoreError for what cannot be trusted."""
        for path in (self.database, self.journal, self._marker, self._reserve):
            _check_file(path)
        if not self.database.exists():
            for left in (self.journal, self._marker):
                if left.exists():
                    raise self.damaged(self.database, f"it is missing, and {left.name} is there")
            return False
        if not self.database.stat().st_size:
            raise self.damaged(self.database, "it is empty")
        if self._marker.exists() and not self.journal.exists():
            raise self.damaged(
                self.journal, "it is missing, although the queue manager was not stopped in order; messages were in it"
            )
        return True

    @property
    def was_left_open(self) -> bool:
        """Whether the queue manager was not stopped in order."""
        return self._marker.exists()

    def damaged(self, path: Path, cause: str) -> StoreError:
        """Return the error that refuses damaged data: where, what, and what can be done."""
        return StoreError(
            f"{path} cannot be used: {cause}. Restore {self.directory} from a copy, or move it away: the queue manager is "
            "then created anew, without its messages"
        )

    def no_space(self) -> StoreError:
        """Return the error of a start for which there is no room."""
        return StoreError(f"there is no space left on the file system of {self.directory}: make room and start again")

    def mark_open(self) -> None:
        """Say that the database is open and its journal there. Raises OSError."""
        os.close(os.open(self._marker, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))

    def mark_closed(self) -> None:
        """Say that nothing is in the journal any more."""
        self._marker.unlink(missing_ok=True)

    def take_reserve(self) -> bool:
        """Keep space back, and return whether there is enough for that."""
        if self._has_reserve:
            return True
        try:
            reserve = os.open(self._reserve, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(reserve, 0, _RESERVE_BYTES)
            finally:
                os.close(reserve)
        except OSError as error:
            self.release_reserve()
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                return False
            raise
        self._has_reserve = True
        return True

    def release_reserve(self) -> None:
        """Give the space free that was kept back."""
        self._has_reserve = False
        self._reserve.unlink(missing_ok=True)


def make_private_directory(directory: Path) -> None:
    """Make a directory that only its owner may look into; one that is there already becomes so if it can."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Somebody else's directory stays as it is: the files in it are private all the same.
    with contextlib.suppress(PermissionError):
        directory.chmod(0o700)


def _check_file(path: Path) -> None:
    """Refuse a file that leads elsewhere, and let only its owner read it."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "no file"
        raise StoreError(f"{path} is {what}; name the directory itself where the data is, or remove it")
    if stat.S_IMODE(status.st_mode) != 0o600:
        try:
            path.chmod(0o600)
        except PermissionError as error:
            raise StoreError(f"{path} belongs to another user: {error}") from error

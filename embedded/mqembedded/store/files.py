"""The files of a data directory: permissions, a check for missing files, and space that is reserved for MQGET on a full disk.

Only the owner can use the files (0600) and a directory that is made for the files (0700), whatever the umask is. A server locks
the directory. The lock ends with the server's process. A marker file exists while the database is open and has a journal. If
there is a marker but no journal, a journal with committed messages was lost, and the queue manager refuses to start.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from pathlib import Path

from mqembedded.cache import make_directory

DATABASE = "queue-manager.db"
_OPEN_MARKER = "queue-manager.open"
_RESERVE = "queue-manager.reserve"
_RESERVE_BYTES = 4 * 1024 * 1024


class StoreError(Exception):
    """The data directory cannot be used. The message explains why, and what to do."""


class StoreFiles:
    """The files of a data directory. The directory is locked until ``unlock`` is called."""

    def __init__(self, directory: Path) -> None:
        """Lock the directory, which is created if it is missing. Raises StoreError."""
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
        """Release the directory for other processes."""
        os.close(self._lock)

    def check(self) -> bool:
        """Check the files, and return whether there is a database; raise StoreError for files that cannot be trusted."""
        for path in (self.database, self.journal, self._marker, self._reserve):
            _check_file(path)
        if not self.database.exists():
            for left in (self.journal, self._marker):
                if left.exists():
                    raise self.damaged(self.database, f"it is missing, but {left.name} exists")
            return False
        if not self.database.stat().st_size:
            raise self.damaged(self.database, "it is empty")
        if self._marker.exists() and not self.journal.exists():
            raise self.damaged(
                self.journal,
                "it is missing, although the queue manager was not stopped cleanly; it had messages in it",
            )
        return True

    @property
    def was_left_open(self) -> bool:
        """Whether the marker shows that the queue manager ended without a clean stop."""
        return self._marker.exists()

    def damaged(self, path: Path, cause: str) -> StoreError:
        """Return the error for damaged data. Its message names the file and the damage, and explains what to do."""
        return StoreError(
            f"{path} cannot be used: {cause}. Restore {self.directory} from a copy, or move it away: the queue manager is "
            "then created anew, without its messages"
        )

    def no_space(self) -> StoreError:
        """Return the error for a start that fails because the disk does not have enough space."""
        return StoreError(f"there is no space left on the file system of {self.directory}: make room and start again")

    def mark_open(self) -> None:
        """Record that the database is open and has a journal. Raises OSError."""
        os.close(os.open(self._marker, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))

    def mark_closed(self) -> None:
        """Record that the journal is empty."""
        self._marker.unlink(missing_ok=True)

    def take_reserve(self) -> bool:
        """Reserve space on the disk, and return whether there was enough space."""
        if self._has_reserve:
            return True
        try:
            reserve = os.open(self._reserve, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                _fill(reserve)
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
        """Free the reserved space."""
        self._has_reserve = False
        self._reserve.unlink(missing_ok=True)


def _fill(descriptor: int) -> None:
    """Allocate disk space for the reserve file. Raises OSError."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, _RESERVE_BYTES)
    elif os.write(descriptor, bytes(_RESERVE_BYTES)) < _RESERVE_BYTES:
        # macOS has no posix_fallocate.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def make_private_directory(directory: Path) -> None:
    """Create a directory that only its owner can read.

    An existing directory keeps its permissions if it has files or if anybody can make files in it, because it could be the
    working directory or /tmp. Other users cannot read the data files anyway, because of the files' own permissions.
    """
    make_directory(directory, 0o700)
    if not directory.stat().st_mode & stat.S_ISVTX and not any(directory.iterdir()):
        with contextlib.suppress(PermissionError):
            directory.chmod(0o700)


def _check_file(path: Path) -> None:
    """Raise StoreError if the path exists but is not a regular file. Otherwise, let only the owner use the file."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a regular file"
        raise StoreError(f"{path} is {what}; remove it, or name the directory that really has the data")
    if stat.S_IMODE(status.st_mode) != 0o600:
        try:
            path.chmod(0o600)
        except PermissionError as error:
            raise StoreError(f"{path} belongs to another user: {error}") from error

"""The properties of a group that describe its file: name, length, modification time, SHA-256.

    mqgroups.Name                             the file's name, without its folder
    mqgroups.FileBytes                        the file's length
    mqgroups.FileModifiedMs                   the file's modification time, in milliseconds since 1970, UTC
    mqgroups.FileSha256                       the file's SHA-256, in hexadecimal digits

IBM MQ Managed File Transfer has other names for these properties, and no digest. The names are only known from IBM's page "MQ
message properties set by MFT on messages written to destination queues". It gives no types, so a number may also be text.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO, TypeAlias

from mqgroups.core.group_properties import NAME

Properties: TypeAlias = Mapping[str, str | int | float | bool | bytes | None]

_BYTES, _MODIFIED, _SHA256 = "mqgroups.FileBytes", "mqgroups.FileModifiedMs", "mqgroups.FileSha256"
_MFT_NAME, _MFT_BYTES, _MFT_MODIFIED = "WMQFTEFileName", "WMQFTEFileSize", "WMQFTEFileLastModified"
# A function that is called with the progress of a file: the activity, the file, bytes done, bytes in all (``None`` if not known).
OnBytes: TypeAlias = Callable[[str, Path, int, int | None], None]
BLOCK_BYTES = 1 << 20
# For each block, this many bytes of the digest up to the block's end are kept. A file of a TiB needs 16 MiB.
PREFIX_BYTES = 16


def unseen(_doing: str, _path: Path, _done: int, _total: int | None) -> None:
    """Ignore the progress of a file. This function is the default for ``on_bytes``."""


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a file.

    Attributes:
        name: the file's name without its folder; empty if it is not known.
        data_bytes: the file's length; ``None`` if it is not known.
        modified_ms: the modification time, in milliseconds since 1970, UTC; ``None`` if it is not known.
        sha256: the file's SHA-256, in hexadecimal digits; empty if it is not known.
    """

    name: str
    data_bytes: int | None
    modified_ms: int | None
    sha256: str

    @classmethod
    def of_file(cls, file: BinaryIO, path: Path, on_bytes: OnBytes = unseen) -> tuple[Description, bytes]:
        """Read an open file, whose name is ``path``, to its end. Raises OSError.

        Returns the description, and for each block a digest: SHA-256 of all data up to the block's end, cut to ``PREFIX_BYTES``.
        """
        modified_ms, prefixes = os.fstat(file.fileno()).st_mtime_ns // 1_000_000, bytearray()
        sha256 = _digest(file, path, on_bytes, prefixes)
        return cls(sent_name(path), file.tell(), modified_ms, sha256), bytes(prefixes)

    @classmethod
    def of_group(cls, properties: Properties) -> Description:
        """Return the description in the properties of a group."""
        name, foreign = properties.get(NAME), properties.get(_MFT_NAME)
        if not isinstance(name, str) and isinstance(foreign, str):
            # A path on another machine, of Windows or POSIX.
            name = PurePosixPath(PureWindowsPath(foreign).name).name
        sha256 = properties.get(_SHA256)
        return cls(
            name if isinstance(name, str) else "",
            _number(properties.get(_BYTES, properties.get(_MFT_BYTES))),
            _number(properties.get(_MODIFIED, properties.get(_MFT_MODIFIED))),
            sha256 if isinstance(sha256, str) else "",
        )

    @property
    def properties(self) -> dict[str, str | int | None]:
        """This description as properties for a group, without the file's name."""
        return {_BYTES: self.data_bytes, _MODIFIED: self.modified_ms, _SHA256: self.sha256}

    @property
    def total(self) -> int | None:
        """The file's length; ``None`` if it is not known, or if no file can be so long. A message can give any number."""
        return self.data_bytes if self.data_bytes is not None and 0 <= self.data_bytes <= sys.maxsize else None

    def wrong(self, path: Path, on_bytes: OnBytes = unseen) -> str:
        """Return a text with the difference between a file and this description; empty if there is no difference."""
        found = path.stat().st_size
        if self.data_bytes is not None and found > self.data_bytes:
            # The group may have many more bytes, which are not written to the file.
            return f"the file has more than the {self.data_bytes} bytes that were sent"
        if self.data_bytes is not None and found != self.data_bytes:
            return f"the file has {found} bytes, and {self.data_bytes} were sent"
        if self.sha256:
            with path.open("rb") as file:
                if _digest(file, path, on_bytes) != self.sha256:
                    return f"the file has another SHA-256 than the one that was sent ({self.sha256})"
        return ""

    def set_time(self, path: Path) -> None:
        """Set a file's modification time to the time of this description, if the file system supports this time."""
        if self.modified_ms is not None:
            with contextlib.suppress(OverflowError, OSError):
                os.utime(path, ns=(self.modified_ms * 1_000_000,) * 2)


def sent_name(path: Path) -> str:
    """Return the name under which a file is sent: its own name, with U+FFFD for each byte that is not UTF-8."""
    return os.fsencode(path.name).decode(errors="replace")


def _digest(file: BinaryIO, path: Path, on_bytes: OnBytes, prefixes: bytearray | None = None) -> str:
    """Return the SHA-256 of an open file. Append a digest for each block to ``prefixes``; see ``Description.of_file``."""
    found, done, total = hashlib.sha256(), 0, os.fstat(file.fileno()).st_size
    file.seek(0)
    while data := file.read(BLOCK_BYTES):
        found.update(data)
        if prefixes is not None:
            prefixes += found.digest()[:PREFIX_BYTES]
        done += len(data)
        on_bytes("checking", path, done, total)
    return found.hexdigest()


def _number(value: object) -> int | None:
    try:
        return None if isinstance(value, bool) else int(value)  # type: ignore[call-overload]  # what is no number is caught
    except (TypeError, ValueError, OverflowError):
        # Not a number, or infinite.
        return None

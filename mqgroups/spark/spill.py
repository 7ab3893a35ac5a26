"""Data of rows that wait for their group to be put: in memory up to a limit, the rest in a temporary file.

A task of the sink needs all its rows before it can put the first group. With this module, large messages cost disk space and not
memory. The file is among Spark's own local files, has no name, and is gone when the task or its process ends.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import IO, NamedTuple

# As much as Spark hands to a worker at a time (spark.sql.execution.arrow.maxBytesPerBatch).
IN_MEMORY_BYTES = 64 * 1024 * 1024


class Place(NamedTuple):
    """Where a value is in the file."""

    offset: int
    length: int
    is_text: bool


Kept = bytes | str | Place


class Spill:
    """Keeps values until the block ends. The file is made when it is needed."""

    def __init__(self, in_memory_bytes: int = IN_MEMORY_BYTES) -> None:
        self._left = in_memory_bytes
        self._file: IO[bytes] | None = None
        self._end = 0

    def __enter__(self) -> Spill:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()

    def keep(self, values: Sequence[bytes | str], data_bytes: int) -> Sequence[Kept]:
        """Return the values, or, if they are too large for the memory that is left, their places in the file.

        All values are kept before the first one is asked for.
        """
        if data_bytes <= self._left:
            self._left -= data_bytes
            return values
        if self._file is None:
            # Spark sets it for its Python workers; TMPDIR may be small, or in memory.
            folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
            self._file = tempfile.TemporaryFile(dir=folder or None)  # noqa: SIM115 - closed at the end of the block
        return [self._written(self._file, value) for value in values]

    def value(self, kept: Kept) -> bytes | str:
        """Return a value that was kept."""
        if not isinstance(kept, Place):
            return kept
        assert self._file is not None
        self._file.seek(kept.offset)
        data = self._file.read(kept.length)
        return data.decode() if kept.is_text else data

    def _written(self, file: IO[bytes], value: bytes | str) -> Place:
        data = value.encode() if isinstance(value, str) else value
        file.write(data)
        self._end += len(data)
        return Place(self._end - len(data), len(data), isinstance(value, str))

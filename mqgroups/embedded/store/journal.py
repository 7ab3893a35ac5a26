"""A check of SQLite's write-ahead log before SQLite reads it: it finds damage in the middle of the log.

SQLite silently stops reading a log at the first frame with a wrong checksum. That is right for a frame that a crash cut off.
But if a commit follows behind it, SQLite would lose committed messages. The format: https://www.sqlite.org/walformat.html
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
_WORD = 0xFFFFFFFF


def damage(path: Path) -> str | None:
    """Return what is wrong with a write-ahead log, or None."""
    try:
        length = path.stat().st_size
    except FileNotFoundError:
        return None
    if not length:
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as log:
        return _damage(log)


def _damage(log: mmap.mmap) -> str | None:
    if len(log) < _HEADER.size:
        return f"it ends after {len(log)} bytes"
    magic, _, page_size, _, *salts, first, second = _HEADER.unpack_from(log)
    order = _MAGIC.get(magic)
    if order is None or _checksum(log[:24], order, (0, 0)) != (first, second):
        return "its header is damaged"
    step = _FRAME.size + page_size
    starts = range(_HEADER.size, len(log) - step + 1, step)
    # The log is written from the start again and again; frames with other salts are left over from an earlier round.
    last_commit = max((at for at in starts if _commits(log, at, salts)), default=0)
    seed = (first, second)
    for at in starts:
        if at > last_commit:
            break
        *_, stored_1, stored_2 = frame = _FRAME.unpack_from(log, at)
        seed = _checksum(log[at : at + 8] + log[at + _FRAME.size : at + step], order, seed)
        if seed != (stored_1, stored_2) or list(frame[2:4]) != salts:
            return f"the page at byte {at} is damaged, and committed messages follow behind it"
    return None


def _commits(log: mmap.mmap, at: int, salts: list[int]) -> bool:
    _, size_after_commit, *frame_salts, _, _ = _FRAME.unpack_from(log, at)
    return bool(size_after_commit) and frame_salts == salts


def _checksum(data: bytes, order: str, seed: tuple[int, int]) -> tuple[int, int]:
    first, second = seed
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _WORD
        second = (second + odd + first) & _WORD
    return first, second

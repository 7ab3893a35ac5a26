"""A check that finds damage in the middle of SQLite's write-ahead log, before SQLite reads the log.

SQLite silently stops reading a log at the first frame with a wrong checksum. This is right if a crash has cut off that frame.
But if a whole commit follows the frame, SQLite would lose committed messages. Format: https://www.sqlite.org/walformat.html

The last frame cannot be checked. If a server is killed between the two writes of a frame (header, page), the frame looks like a
frame with a damaged page. But such a kill comes before the commit is confirmed, so SQLite is right to ignore the frame.
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
    """Return a description of the damage to a write-ahead log, or None if there is no damage."""
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
    # A frame's checksum continues the checksum of the frame before. After a damaged frame, that is its stored or its right
    # checksum.
    seeds, damaged_at = [(first, second)], 0
    for at in starts:
        _, size_after_commit, *frame_salts, stored_1, stored_2 = _FRAME.unpack_from(log, at)
        # SQLite writes the log repeatedly from the start. Frames with other salts are left over from an earlier round.
        is_of_round = frame_salts == salts
        found = [
            _checksum(log[at : at + 8] + log[at + _FRAME.size : at + step], order, seed) for seed in seeds * is_of_round
        ]
        is_whole = (stored_1, stored_2) in found
        if damaged_at and is_whole and size_after_commit:
            return f"the page at byte {damaged_at} is damaged, and committed messages follow behind it"
        seeds = [(stored_1, stored_2)]
        if not is_whole and not damaged_at:
            damaged_at = at
            seeds += found
    return None


def _checksum(data: bytes, order: str, seed: tuple[int, int]) -> tuple[int, int]:
    first, second = seed
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _WORD
        second = (second + odd + first) & _WORD
    return first, second

"""What an application gives to be put: bytes, text, or a stream; cut into the data of physical messages.

A stream is anything with ``read(n)`` that returns bytes, or any iterable of bytes. It is read piece by piece, never as a
whole. Not here: how a piece is put (``core.group``, ``producer.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias

from mqgroups.core.group import Part
from mqgroups.errors import GroupUsage


class Readable(Protocol):
    """A binary file, or what reads like one."""

    def read(self, size: int, /) -> bytes: ...


Stream: TypeAlias = "Readable | Iterable[bytes]"
Payload: TypeAlias = "bytes | str | Stream"


def is_stream(payload: object) -> bool:
    """Whether it is read piece by piece."""
    return hasattr(payload, "read") or (
        isinstance(payload, Iterable) and not isinstance(payload, bytes | bytearray | memoryview | str)
    )


def pieces(payload: bytes | Stream, segment_bytes: int | None, begun: int) -> Iterator[tuple[bytes, Part]]:
    """Yield the data of the physical messages that a payload is put as, and what each is of the logical message.

    Args:
        payload: all of the message, also if its beginning is committed.
        segment_bytes: how many bytes a segment has at the most; ``None`` does not cut.
        begun: how many bytes are committed already; they are passed over.

    Raises:
        GroupUsage: the payload is shorter than what of it is committed.
        TypeError: a stream gives something else than bytes.
    """
    parts = _cut(payload, segment_bytes, begun) if isinstance(payload, bytes) else _read(payload, segment_bytes, begun)
    piece = next(parts, b"")
    cut = begun > 0
    for following in parts:
        yield piece, Part.SEGMENT
        piece, cut = following, True
    yield piece, Part.LAST_SEGMENT if cut else Part.WHOLE


def _cut(data: bytes, segment_bytes: int | None, begun: int) -> Iterator[bytes]:
    if len(data) < begun:
        raise _shorter(len(data), begun)
    step = segment_bytes or len(data) or 1
    for start in range(begun, len(data), step):
        yield data[start : start + step]


def _read(stream: Stream, segment_bytes: int | None, begun: int) -> Iterator[bytes]:
    """Yield a stream's bytes from ``begun`` on, ``segment_bytes`` at a time."""
    assert segment_bytes is not None
    buffer = bytearray()
    to_skip = begun
    for chunk in _chunks(stream, segment_bytes):
        if not isinstance(chunk, bytes):
            raise TypeError(f"a stream gives bytes, got {type(chunk).__name__}")
        if to_skip:
            skipped = min(to_skip, len(chunk))
            to_skip -= skipped
            chunk = chunk[skipped:]
        buffer += chunk
        while len(buffer) >= segment_bytes:
            yield bytes(buffer[:segment_bytes])
            del buffer[:segment_bytes]
    if to_skip:
        raise _shorter(begun - to_skip, begun)
    if buffer:
        yield bytes(buffer)


def _chunks(stream: Stream, size: int) -> Iterator[bytes]:
    if isinstance(stream, Iterable) and not hasattr(stream, "read"):
        yield from stream
        return
    while chunk := stream.read(size):
        yield chunk


def _shorter(length: int, begun: int) -> GroupUsage:
    return GroupUsage(
        f"{begun} bytes of this message are committed, and the payload given now has {length}. Give the whole message that "
        "was interrupted, from its beginning"
    )

"""What an application gives to be put: bytes, text, or a stream; what its MQMD says of it, and how it is cut into messages.

A stream is anything with ``read(n)`` that returns bytes, or any iterable of bytes. It is read piece by piece, never as a
whole. Not here: how a piece is put (``core.group``, ``producer.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeAlias

from mqgroups.core.group import Part
from mqgroups.core.status import Checkpoint
from mqgroups.errors import GroupUsage
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import PropertyValue

UTF_8 = 1208
HIGHEST_RESULT = mq.MQFB_APPL_LAST - mq.MQFB_APPL_FIRST


class Readable(Protocol):
    """A binary file, or what reads like one."""

    def read(self, size: int, /) -> bytes: ...


Stream: TypeAlias = "Readable | Iterable[bytes]"
Payload: TypeAlias = "bytes | str | Stream"


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """What messages of one kind have in common in their MQMD. Compared by identity: it is looked up for each message."""

    format_name: bytes = mq.MQFMT_NONE
    ccsid: int = mq.MQCCSI_Q_MGR
    correl_id: bytes = mq.MQCI_NONE
    msg_type: int = mq.MQMT_DATAGRAM
    feedback: int = mq.MQFB_NONE
    properties: tuple[tuple[str, PropertyValue], ...] = ()


BYTES = Kind()
TEXT = Kind(mq.MQFMT_STRING, UTF_8)


class Unsent(NamedTuple):
    """A physical message of a unit of work that is not committed. ``last``: of the group's last message."""

    data: bytes
    kind: Kind
    checkpoint: Checkpoint
    last: bool
    part: Part

    @property
    def ends_group(self) -> bool:
        return self.last and self.part is not Part.SEGMENT


def kind_of(
    payload: bytes | str,
    format: str | None,
    correl_id: bytes | None,
    properties: Mapping[str, PropertyValue] | None = None,
) -> tuple[bytes, Kind]:
    """Return a payload as bytes, and what its MQMD says of it.

    Raises:
        ValueError: the format's name or the CorrelId has a length that it cannot have.
    """
    kind = BYTES
    if isinstance(payload, str):
        payload, kind = payload.encode(), TEXT
    if format is not None:
        kind = _with_format(kind, format)
    if correl_id is not None:
        kind = _with_correl_id(kind, correl_id)
    if properties:
        kind = replace(kind, properties=tuple(properties.items()))
    return payload, kind


@lru_cache(maxsize=64)
def _with_format(kind: Kind, format_name: str) -> Kind:
    encoded = format_name.encode()
    if len(encoded) > mq.MQ_FORMAT_LENGTH:
        raise ValueError(f"format {format_name!r} is longer than {mq.MQ_FORMAT_LENGTH} characters")
    return replace(kind, format_name=encoded.ljust(mq.MQ_FORMAT_LENGTH))


def _with_correl_id(kind: Kind, correl_id: bytes) -> Kind:
    if len(correl_id) != mq.MQ_CORREL_ID_LENGTH:
        raise ValueError(f"correl_id has {len(correl_id)} bytes; it must have {mq.MQ_CORREL_ID_LENGTH}")
    return replace(kind, correl_id=correl_id)


def abandonment(result: int, reason: str) -> Unsent:
    """Return the message that ends a group without completing it: empty, a report of an application's own, the last.

    ``result`` is 0 to ``HIGHEST_RESULT``.
    """
    properties: tuple[tuple[str, PropertyValue], ...] = (("mqgroups.Result", result), ("mqgroups.Reason", reason))
    kind = Kind(msg_type=mq.MQMT_REPORT, feedback=mq.MQFB_APPL_FIRST + result, properties=properties)
    return Unsent(b"", kind, None, True, Part.WHOLE)


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

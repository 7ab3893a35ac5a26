"""Checks the payloads that an application puts, finds their MQMD fields, and cuts them into physical messages.

A payload is bytes, text or a stream. ``bytearray`` and ``memoryview`` are copied. A stream is an object whose ``read(n)`` returns
bytes, or any iterable of bytes. It is read piece by piece, never as a whole. All other types are refused, so the application must
encode them first.

Not here: how a piece is put (``core.group``, ``putter.py``).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, TypeAlias

from mqgroups.code_pages import UTF_8
from mqgroups.core.group import GroupPosition, MessagePart
from mqgroups.core.status import Checkpoint
from mqgroups.errors import GroupUsage, MessageRefused
from mqgroups.mqi import constants as mq
from mqgroups.mqi import properties as message_properties
from mqgroups.mqi.abc import PropertyValue
from mqgroups.mqi.text import encoded

_LONGEST_CHARACTER = 4
HIGHEST_RESULT = mq.MQFB_APPL_LAST - mq.MQFB_APPL_FIRST
# The return code of Managed File Transfer for "failed, and none of the files arrived" (topic "Return codes for MFT").
_MFT_FAILED = 40


class Readable(Protocol):
    """A binary file, or an object with the same ``read``."""

    def read(self, size: int, /) -> bytes: ...


Bytes: TypeAlias = "bytes | bytearray | memoryview"
Stream: TypeAlias = "Readable | Iterable[Bytes]"
Whole: TypeAlias = "Bytes | str"
Payload: TypeAlias = "Whole | Stream"


@dataclass(frozen=True, slots=True, eq=False)
class MessageKind:
    """The MQMD fields and properties that several messages share. Kinds are compared by identity, which makes lookups fast."""

    format_name: bytes = mq.MQFMT_NONE
    ccsid: int = mq.MQCCSI_Q_MGR
    correl_id: bytes = mq.MQCI_NONE
    msg_type: int = mq.MQMT_DATAGRAM
    feedback: int = mq.MQFB_NONE
    properties: tuple[tuple[str, PropertyValue], ...] = ()


BYTES = MessageKind()
TEXT = MessageKind(mq.MQFMT_STRING, UTF_8)


# A physical message that is not committed yet: its data; its kind; the checkpoint to commit with it; whether it is, or is a
# segment of, the group's last message; which part of a logical message it is. It is a plain tuple, because making and reading
# a NamedTuple for each message would take a fifth of the time of a put.
Unsent: TypeAlias = "tuple[bytes, MessageKind, Checkpoint, bool, MessagePart]"


def data_and_kind(
    payload: Whole | None,
    format: str | None,
    correl_id: bytes | None,
    properties: Mapping[str, PropertyValue] | None = None,
    ccsid: int | None = None,
) -> tuple[bytes, MessageKind]:
    """Return a payload as bytes, and its MQMD fields and properties. For a stream, pass ``None``; the bytes are then empty.

    ``bytes`` that are text are labelled with ``ccsid``. Without ``ccsid`` they must be UTF-8, and are labelled as UTF-8.

    Raises:
        MessageRefused: the payload is neither bytes nor text, or another argument is invalid.
    """
    kind = BYTES
    if ccsid is not None:
        _check_ccsid(ccsid)
    if isinstance(payload, str):
        payload, kind = encoded(payload, UTF_8 if ccsid is None else ccsid), TEXT
    elif not (payload is None or isinstance(payload, bytes)):
        if not isinstance(payload, bytearray | memoryview):
            raise _no_payload(payload)
        payload = bytes(payload)
    if format is not None:
        kind = _with_format(kind, format)
        if ccsid is None and kind.format_name == mq.MQFMT_STRING and kind.ccsid != UTF_8:
            _check_utf_8(payload)
            ccsid = UTF_8
    if ccsid is not None and ccsid != kind.ccsid:
        kind = _with_ccsid(kind, ccsid)
    if correl_id is not None:
        kind = _with_correl_id(kind, correl_id)
    if properties:
        kind = replace(kind, properties=message_properties.checked(properties))
    return payload or b"", kind


def is_last(last: bool | None, begun: GroupPosition | None) -> bool:
    """Return whether a message is the group's last. If it was interrupted, its committed segments (``begun``) decide.

    Raises GroupUsage if ``last`` contradicts those segments, is not a bool, or is missing for a new stream.
    """
    if last is not None and not isinstance(last, bool):
        raise GroupUsage(f"last must be True, False or None, got {last!r}")
    if begun is not None:
        if last is not None and last is not begun.in_last_message:
            raise GroupUsage(
                f"put(last={last}) contradicts the committed segments of message {begun.msg_seq_number + 1}, which were put with "
                f"last={begun.in_last_message}. Put the rest with last={begun.in_last_message}"
            )
        return begun.in_last_message
    if last is None:
        raise GroupUsage(
            "a payload that is neither bytes nor str is put as a stream, and a stream needs last=True or last=False: whether "
            "it is the group's last message has to be known when its first segment is put"
        )
    return last


def _check_ccsid(ccsid: object) -> None:
    # Accept any CCSID that a message can have, so that each message that was got can be put again.
    if isinstance(ccsid, bool) or not isinstance(ccsid, int) or not ccsid or not -(1 << 31) <= ccsid < 1 << 31:
        raise MessageRefused(f"ccsid must be a CCSID, a number other than 0, got {ccsid!r:.100}")


def _check_utf_8(data: bytes | None) -> None:
    """Raise MessageRefused if ``data`` is not UTF-8, or if it is ``None``, which means a stream that cannot be checked."""
    if data is None:
        raise MessageRefused("a stream of format MQSTR needs ccsid=, the CCSID of its text: 1208 for UTF-8")
    try:
        data.decode()
        return
    except UnicodeDecodeError as error:
        # The errors are not chained, because UnicodeDecodeError holds the payload.
        at = error.start
    raise MessageRefused(
        f"the byte at position {at} is not UTF-8, but bytes of format MQSTR are labelled as UTF-8. Give their CCSID with ccsid="
    )


@lru_cache(maxsize=64)
def _with_ccsid(kind: MessageKind, ccsid: int) -> MessageKind:
    return replace(kind, ccsid=ccsid)


@lru_cache(maxsize=64)
def _with_format(kind: MessageKind, format_name: str) -> MessageKind:
    if not isinstance(format_name, str) or not format_name.isascii():
        raise MessageRefused(
            f"format must be a str of up to {mq.MQ_FORMAT_LENGTH} ASCII characters, got {format_name!r:.100}"
        )
    encoded = format_name.encode()
    if len(encoded) > mq.MQ_FORMAT_LENGTH:
        raise MessageRefused(f"format {format_name!r:.100} is longer than {mq.MQ_FORMAT_LENGTH} characters")
    return replace(kind, format_name=encoded.ljust(mq.MQ_FORMAT_LENGTH))


def _with_correl_id(kind: MessageKind, correl_id: bytes) -> MessageKind:
    if not isinstance(correl_id, bytes):
        raise MessageRefused(f"correl_id must be bytes, got {type(correl_id).__name__}")
    if len(correl_id) != mq.MQ_CORREL_ID_LENGTH:
        raise MessageRefused(f"correl_id has {len(correl_id)} bytes; it must have {mq.MQ_CORREL_ID_LENGTH}")
    return replace(kind, correl_id=correl_id)


def abandonment(result: int, reason: str) -> Unsent:
    """Return the message that abandons a group: an empty last message of type MQMT_REPORT with an application's feedback code.

    ``result`` is 0 to ``HIGHEST_RESULT``. The properties ``UserReturnCode`` and ``UserSupplement`` make Managed File Transfer
    cancel a transfer of the group (IBM MQ, topic "IBM MQ message properties read from messages on source queues"). Managed File
    Transfer itself puts the two ``WMQFTE...`` properties on the group of a failed transfer, so other programs may know them.
    """
    told = reason or f"abandoned with result {result}"
    properties = message_properties.checked(
        {
            "mqgroups.Result": result,
            "mqgroups.Reason": reason,
            "UserReturnCode": _MFT_FAILED,
            "UserSupplement": told,
            "WMQFTEResultCode": _MFT_FAILED,
            "WMQFTESupplement": told,
        }
    )
    kind = MessageKind(msg_type=mq.MQMT_REPORT, feedback=mq.MQFB_APPL_FIRST + result, properties=properties)
    return b"", kind, None, True, MessagePart.WHOLE


def check_stream(payload: object) -> None:
    """Raise MessageRefused if a payload is not a stream of bytes, as far as this is visible before the payload is read."""
    if isinstance(payload, io.TextIOBase):
        raise MessageRefused("the payload is a text file. Open it in binary mode")
    if hasattr(payload, "read"):
        return
    # Structured data would lose its structure or order, and the items of an array are numbers, not bytes.
    if isinstance(payload, Mapping | Set) or not isinstance(payload, Iterable) or hasattr(payload, "tobytes"):
        raise _no_payload(payload)
    if isinstance(payload, Sequence):
        other = next((item for item in payload if not isinstance(item, bytes | bytearray | memoryview)), b"")
        if not isinstance(other, bytes):
            raise MessageRefused(
                f"a {type(payload).__name__} is put as a stream, so all its items must be bytes, but it has {_a(other)} in it. "
                "Encode it first, e.g. json.dumps(payload)"
            )


def _no_payload(payload: object) -> MessageRefused:
    found = f"a payload must be bytes, str or a stream of bytes, got {_a(payload)}"
    if payload is None:
        return MessageRefused(f'{found}. For a message without data put b""')
    if hasattr(payload, "tobytes"):
        return MessageRefused(f"{found}. Put its bytes, e.g. payload.tobytes(), or encode it first")
    if isinstance(payload, Mapping | Iterable | int | float):
        return MessageRefused(f"{found}. Encode it first, e.g. json.dumps(payload)")
    return MessageRefused(f"{found}. Encode it first")


def _a(value: object) -> str:
    return "None" if value is None else type(value).__name__


def pieces(
    payload: bytes | Stream, segment_bytes: int | None, begun: int, *, text: bool = False
) -> Iterator[tuple[bytes, MessagePart]]:
    """Yield the data of each physical message of a payload, and which part of the logical message these data are.

    Args:
        payload: the whole message, even if its beginning is committed.
        segment_bytes: the maximum number of bytes in a segment; with ``None`` the payload is not cut.
        begun: the number of bytes that are committed already. They are skipped.
        text: whether the bytes are UTF-8 text, which is cut between characters.

    Raises GroupUsage if the payload is shorter than its committed part; MessageRefused if a stream returns anything but bytes.
    """
    parts = (
        _cut(payload, segment_bytes, begun, text)
        if isinstance(payload, bytes)
        else _read(payload, segment_bytes, begun)
    )
    piece = next(parts, b"")
    cut = begun > 0
    for following in parts:
        yield piece, MessagePart.SEGMENT
        piece, cut = following, True
    yield piece, MessagePart.LAST_SEGMENT if cut else MessagePart.WHOLE


def _cut(data: bytes, segment_bytes: int | None, begun: int, text: bool) -> Iterator[bytes]:
    if len(data) < begun:
        raise _shorter(len(data), begun)
    step = segment_bytes or len(data) or 1
    start = begun
    while start < len(data):
        end = start + step
        if text and step >= _LONGEST_CHARACTER:
            # A character's bytes after the first begin with the bits 10. There are at most three if the CCSID is right.
            lowest = end - _LONGEST_CHARACTER + 1
            while lowest < end < len(data) and data[end] & 0xC0 == 0x80:
                end -= 1
        yield data[start:end]
        start = end


def _read(stream: Stream, segment_bytes: int | None, begun: int) -> Iterator[bytes]:
    """Yield a stream's bytes from position ``begun`` on, in pieces of ``segment_bytes`` bytes."""
    assert segment_bytes is not None
    buffer = bytearray()
    to_skip = begun
    for chunk in _chunks(stream, segment_bytes):
        if not isinstance(chunk, bytes):
            if not isinstance(chunk, bytearray | memoryview):
                raise MessageRefused(f"a stream must return bytes, got {_a(chunk)}")
            chunk = bytes(chunk)
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


def _chunks(stream: Stream, size: int) -> Iterator[Bytes]:
    if isinstance(stream, Iterable) and not hasattr(stream, "read"):
        yield from stream
        return
    while chunk := stream.read(size):
        yield chunk


def _shorter(length: int, begun: int) -> GroupUsage:
    return GroupUsage(
        f"{begun} bytes of this message are committed, but the payload has only {length} bytes. Put the whole interrupted "
        "message, from its beginning"
    )

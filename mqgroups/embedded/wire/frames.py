"""Frames: how verbs and their answers look on a socket.

A frame is a header (``<IHH``: body length, verb code, serial) and a body: the fields of the verb table in order, an
``i32`` or ``i64`` as it is, a ``blob`` as ``u32`` length and bytes. A reply's body starts with completion code and
reason code. Not here: what the fields mean.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

from mqgroups.embedded.wire.verbs import BY_CODE, Field, Verb

HEADER = struct.Struct("<IHH")
# The longest message IBM MQ can carry is 100 MB; structures and lengths fit in what is left.
MAX_BODY_LENGTH = 128 * 1024 * 1024
# The longest body before anybody has said who they are: an MQCONNX with the longest user name and password that MQCSP has.
MAX_FIRST_BODY_LENGTH = 8 * 1024

_I32 = struct.Struct("<i")
_I64 = struct.Struct("<q")
_LENGTH = struct.Struct("<I")
_REPLY = struct.Struct("<IHHii")


class FrameError(Exception):
    """Bytes that are no frame of the verb table. The connection they came over cannot be trusted any more."""


def encode_fields(fields: Sequence[Field], values: Sequence[Any]) -> list[bytes]:
    """Return the encoded fields as pieces to join; raises FrameError if the values do not fit the table."""
    if len(fields) != len(values):
        raise FrameError(f"{len(fields)} fields in the verb table, {len(values)} values given")
    pieces = []
    for field, value in zip(fields, values, strict=True):
        if field.kind == "blob":
            pieces.append(_LENGTH.pack(len(value)))
            pieces.append(value)
        elif field.kind == "i32":
            pieces.append(_I32.pack(value))
        else:
            pieces.append(_I64.pack(value))
    return pieces


def decode_fields(fields: Sequence[Field], body: bytes, offset: int = 0) -> list[Any]:
    """Return the values of ``body`` from ``offset`` on; raises FrameError if they are cut short or bytes are left
    over."""
    values: list[Any] = []
    end = len(body)
    for field in fields:
        width = 8 if field.kind == "i64" else 4
        if offset + width > end:
            raise FrameError(f"field {field.name} is missing: the body ends after {end} bytes")
        if field.kind == "blob":
            (length,) = _LENGTH.unpack_from(body, offset)
            offset += 4
            if offset + length > end:
                raise FrameError(f"field {field.name} says {length} bytes, {end - offset} are left")
            values.append(body[offset : offset + length])
            offset += length
        else:
            values.append((_I64 if width == 8 else _I32).unpack_from(body, offset)[0])
            offset += width
    if offset != end:
        raise FrameError(f"{end - offset} bytes behind the last field")
    return values


def encode_request(verb: Verb, serial: int, values: Sequence[Any]) -> bytes:
    """Return the whole request frame."""
    body = b"".join(encode_fields(verb.request, values))
    return HEADER.pack(len(body), verb.code, serial) + body


def encode_reply(verb: Verb, serial: int, comp: int, reason: int, values: Sequence[Any]) -> bytes:
    """Return the whole reply frame."""
    body = b"".join(encode_fields(verb.reply, values))
    return _REPLY.pack(len(body) + 8, verb.code, serial, comp, reason) + body


def decode_request(code: int, body: bytes) -> tuple[Verb, list[Any]]:
    """Return the verb and the values of its request."""
    verb = BY_CODE.get(code)
    if verb is None:
        raise FrameError(f"no verb has code {code}")
    return verb, decode_fields(verb.request, body)


def decode_reply(verb: Verb, body: bytes) -> tuple[int, int, list[Any]]:
    """Return completion code, reason code and the values of the reply."""
    if len(body) < 8:
        raise FrameError(f"a reply of {len(body)} bytes has no completion and reason code")
    comp, reason = struct.unpack_from("<ii", body)
    return comp, reason, decode_fields(verb.reply, body, 8)


def empty_reply_values(verb: Verb) -> list[Any]:
    """Return the reply values of a call that failed: zeros and empty blobs."""
    return [b"" if field.kind == "blob" else 0 for field in verb.reply]


class FrameTimeout(FrameError):
    """The peer did not say in time who it is."""


class FrameReader:
    """Reads frames off a socket, whatever pieces they arrive in."""

    def __init__(self, sock: socket.socket, stranger_until_s: float | None = None) -> None:
        """Read from a socket.

        Args:
            sock: a connected socket.
            stranger_until_s: the time (``time.monotonic``) until which the peer is to be trusted by ``trust``. Before
                that, bodies are short. None if the peer is trusted.
        """
        self._sock = sock
        self._pending = b""
        self._stranger_until_s = stranger_until_s

    @property
    def trusts(self) -> bool:
        """Whether the peer has said who it is."""
        return self._stranger_until_s is None

    def trust(self) -> None:
        """Lift the limits that hold for a peer that has not said who it is."""
        self._stranger_until_s = None
        self._sock.settimeout(None)

    @property
    def has_more(self) -> bool:
        """Whether something of the next frame has been received already."""
        return bool(self._pending)

    def read(self) -> tuple[int, int, bytes] | None:
        """Return verb code, serial and body of the next frame, or None when the peer is gone.

        Raises:
            FrameError: the header announces a body longer than any verb has, or than a stranger may send.
            FrameTimeout: a stranger took too long.
        """
        header = self._exactly(HEADER.size)
        if header is None:
            return None
        length, code, serial = HEADER.unpack(header)
        most = MAX_BODY_LENGTH if self.trusts else MAX_FIRST_BODY_LENGTH
        if length > most:
            raise FrameError(f"a body of {length} bytes is announced; {most} is the most")
        body = self._exactly(length)
        return None if body is None else (code, serial, body)

    def _exactly(self, length: int) -> bytes | None:
        pending = self._pending
        if len(pending) >= length:
            self._pending = pending[length:]
            return pending[:length]
        pieces = [pending]
        have = len(pending)
        while have < length:
            if self._stranger_until_s is not None:
                # For all pieces together: a peer may send one byte at a time.
                self._sock.settimeout(max(0.001, self._stranger_until_s - time.monotonic()))
            try:
                # A little more than is missing: a small frame then comes whole with its header, in one call.
                piece = self._sock.recv(max(length - have, 16384))
            except ConnectionError:
                return None
            except TimeoutError as error:
                raise FrameTimeout("nobody said in time who they are") from error
            if not piece:
                return None
            pieces.append(piece)
            have += len(piece)
        whole = b"".join(pieces)
        self._pending = whole[length:]
        return whole[:length]

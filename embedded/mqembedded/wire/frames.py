"""Frames: the form of verbs and their answers on a socket.

A frame is a header (``<IHH``: body length, verb code, serial) and a body. A body has the fields of the verb table in two parts.
The numbers come first, in the table's order. Each is an ``i32``, an ``i64``, or the length of a ``blob`` as ``u32``. The bytes
of all blobs follow. So all numbers can be read in one step. A reply's body starts with completion code and reason code.

This module does not interpret the fields.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

from mqembedded.wire.verbs import BY_NAME, VERBS, Field, Verb

HEADER = struct.Struct("<IHH")
# IBM MQ's longest message has 100 MB. The rest is for structures and lengths.
MAX_BODY_LENGTH = 128 * 1024 * 1024
# The longest body that a stranger can send, for an MQCONNX with the longest user name and password of MQCSP.
MAX_FIRST_BODY_LENGTH = 8 * 1024

# The heartbeat frame, which only shows that its sender is alive.
HEARTBEAT = HEADER.pack(0, BY_NAME["HEARTBEAT"].code, 0)

_FORMATS = {"i32": "i", "i64": "q", "blob": "I"}
_REPLY = struct.Struct("<IHHii")


class FrameError(Exception):
    """The bytes are not a frame of the verb table. The connection cannot be trusted any more."""


class Layout:
    """The order of the fields in a request or a reply."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._names = tuple(field.name for field in fields)
        self._numbers = struct.Struct("<" + "".join(_FORMATS[field.kind] for field in fields))
        self._blobs = tuple(at for at, field in enumerate(fields) if field.kind == "blob")

    def encode(self, values: Sequence[Any]) -> bytes:
        """Return the encoded values; raise FrameError if there are too many or too few values."""
        if len(values) != len(self._names):
            raise FrameError(f"{len(self._names)} fields in the verb table, {len(values)} values given")
        numbers = list(values)
        for at in self._blobs:
            numbers[at] = len(values[at])
        return b"".join((self._numbers.pack(*numbers), *[values[at] for at in self._blobs]))

    def decode(self, body: bytes, offset: int = 0) -> list[Any]:
        """Return the values in ``body`` from ``offset`` on; raise FrameError if bytes are missing or left over."""
        end = offset + self._numbers.size
        if end > len(body):
            raise FrameError(f"the body ends after {len(body)} bytes; {', '.join(self._names)} need at least {end}")
        values: list[Any] = list(self._numbers.unpack_from(body, offset))
        for at in self._blobs:
            begin, end = end, end + values[at]
            values[at] = body[begin:end]
        if end != len(body):
            raise FrameError(f"the body has {len(body)} bytes; {', '.join(self._names)} need {end}")
        return values


_REQUESTS = {verb.code: (verb, Layout(verb.request)) for verb in VERBS}
_REPLIES = {verb.code: Layout(verb.reply) for verb in VERBS}


def encode_request(verb: Verb, serial: int, values: Sequence[Any]) -> bytes:
    """Return a whole request frame."""
    body = _REQUESTS[verb.code][1].encode(values)
    return HEADER.pack(len(body), verb.code, serial) + body


def encode_reply(verb: Verb, serial: int, comp: int, reason: int, values: Sequence[Any]) -> bytes:
    """Return a whole reply frame."""
    body = _REPLIES[verb.code].encode(values)
    return _REPLY.pack(len(body) + 8, verb.code, serial, comp, reason) + body


def decode_request(code: int, body: bytes) -> tuple[Verb, list[Any]]:
    """Return the verb and the values of a request."""
    known = _REQUESTS.get(code)
    if known is None:
        raise FrameError(f"no verb has code {code}")
    verb, layout = known
    return verb, layout.decode(body)


def decode_reply(verb: Verb, body: bytes) -> tuple[int, int, list[Any]]:
    """Return the completion code, the reason code and the values of a reply."""
    if len(body) < 8:
        raise FrameError(f"a reply of {len(body)} bytes has no completion and reason code")
    comp, reason = struct.unpack_from("<ii", body)
    return comp, reason, _REPLIES[verb.code].decode(body, 8)


def empty_reply_values(verb: Verb) -> list[Any]:
    """Return the reply values of a failed call: zeros and empty blobs."""
    return [b"" if field.kind == "blob" else 0 for field in verb.reply]


class FrameTimeout(FrameError):
    """``trust`` was not called for a peer in time, or a peer was silent for longer than its heartbeats allow."""


def after_heartbeats(received: bytes) -> bytes:
    """Return received data without the heartbeats at its beginning."""
    at = 0
    while received.startswith(HEARTBEAT, at):
        at += len(HEARTBEAT)
    return received[at:]


class FrameReader:
    """A reader of frames from a socket. The data can arrive in pieces of any size."""

    def __init__(self, sock: socket.socket, stranger_until_s: float | None = None) -> None:
        """Read from a socket.

        Args:
            sock: a connected socket.
            stranger_until_s: the time (``time.monotonic``) by which ``trust`` must be called. Until that call, bodies must be
                short. None means that the peer is trusted from the start.
        """
        self._sock = sock
        self._pending = b""
        self._stranger_until_s = stranger_until_s

    def trust(self) -> None:
        """End the limits that apply to a stranger (a peer that has not introduced itself)."""
        self._stranger_until_s = None
        self._sock.settimeout(None)

    @property
    def has_more(self) -> bool:
        """Whether bytes of the next frame have already been received."""
        self._pending = after_heartbeats(self._pending)
        return bool(self._pending)

    def read(self) -> tuple[int, int, bytes] | None:
        """Return verb code, serial and body of the next frame that is not a heartbeat, or None if the peer is gone.

        Raises:
            FrameError: the announced body is longer than any verb's body, or longer than a stranger is allowed to send.
            FrameTimeout: a stranger took too long, or a peer with heartbeats was silent for too long.
        """
        while True:
            received = self._pending
            if len(received) < HEADER.size and not (received := self._at_least(HEADER.size)):
                return None
            if not received.startswith(HEARTBEAT):
                break
            self._pending = after_heartbeats(received)
        length, code, serial = HEADER.unpack_from(received)
        most = MAX_BODY_LENGTH if self._stranger_until_s is None else MAX_FIRST_BODY_LENGTH
        if length > most:
            self._pending = received[HEADER.size :]
            raise FrameError(f"a body of {length} bytes is announced, but at most {most} are allowed")
        end = HEADER.size + length
        if len(received) < end and not (received := self._at_least(end)):
            return None
        self._pending = received[end:]
        return code, serial, received[HEADER.size : end]

    def _at_least(self, length: int) -> bytes:
        """Return the received bytes as soon as there are ``length`` bytes or more; return b"" if the peer is gone."""
        have = len(self._pending)
        pieces = [self._pending]
        while have < length:
            if self._stranger_until_s is not None:
                # The limit is for all pieces together, because a peer can send one byte at a time.
                self._sock.settimeout(max(0.001, self._stranger_until_s - time.monotonic()))
            try:
                # A call that reads more bytes than are missing gets a small frame together with its header.
                piece = self._sock.recv(max(length - have, 16384))
            except ConnectionError:
                return b""
            except TimeoutError as error:
                raise FrameTimeout("the peer did not introduce itself in time") from error
            except BlockingIOError as error:
                raise FrameTimeout("no data and no heartbeats have come for longer than HBINT allows") from error
            if not piece:
                return b""
            pieces.append(piece)
            have += len(piece)
        self._pending = b"".join(pieces)
        return self._pending

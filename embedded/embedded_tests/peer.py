"""The C library with a server of the test's own, which speaks frames by the verb table and answers what the test tells it to,
and a caller of its verbs through ctypes."""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import threading
from collections.abc import Callable

from mqembedded.wire.frames import FrameReader, decode_request, empty_reply_values, encode_reply
from mqembedded.wire.verbs import Verb

Answers = Callable[[Verb, int, list[object]], "bytes | None"]


class Peer:
    """A server for one test. ``answer`` returns the bytes to send for a request, or None to close the connection."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.answer: Answers = well_behaved
        self.closes_after_answer = False
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with sock, contextlib.suppress(ConnectionError):
                reader = FrameReader(sock)
                while (frame := reader.read()) is not None:
                    code, serial, body = frame
                    verb, values = decode_request(code, body)
                    answered = self.answer(verb, serial, values)
                    if answered is None:
                        break
                    sock.sendall(answered)
                    if self.closes_after_answer:
                        break
            self.ended.set()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


def well_behaved(verb: Verb, serial: int, _values: list[object]) -> bytes:
    """MQCC_OK, and nothing comes back but the ConnectionId."""
    values = [b"\xc1" * 24, 0, 0] if verb.name == "MQCONNX" else empty_reply_values(verb)
    return encode_reply(verb, serial, 0, 0, values)


class Caller:
    """Calls verbs through ctypes; each returns (completion code, reason code)."""

    def __init__(self, library: ctypes.CDLL, options: int = 0) -> None:
        self._library = library
        self.hconn = ctypes.c_int32(0)
        cno = bytearray(struct.pack("<4sii", b"CNO ", 1, options))
        buffer = (ctypes.c_char * len(cno)).from_buffer(cno)
        self.connected = self("MQCONNX", ctypes.create_string_buffer(b"QM1", 49), buffer, ctypes.byref(self.hconn))

    @classmethod
    def of(cls, library: ctypes.CDLL, hconn: int) -> Caller:
        """Another thread's view of a handle."""
        made = cls.__new__(cls)
        made._library, made.hconn = library, ctypes.c_int32(hconn)
        return made

    def __call__(self, verb: str, *arguments: object) -> tuple[int, int]:
        comp, reason = ctypes.c_int32(-1), ctypes.c_int32(-1)
        getattr(self._library, verb)(*arguments, ctypes.byref(comp), ctypes.byref(reason))
        return comp.value, reason.value

    def commit(self) -> tuple[int, int]:
        return self("MQCMIT", self.hconn)

    def disconnect(self) -> tuple[int, int]:
        return self("MQDISC", ctypes.byref(self.hconn))

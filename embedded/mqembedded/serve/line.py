"""Heartbeats of the server: the line to one client, and the thread that sends heartbeats on all lines.

The client reads only during a call, so the server sends heartbeats only during calls. Any data from the client proves that the
client is alive. Between calls, the socket's timeout detects a silent client. While an MQGET waits, ``waiter.py`` does this.

``heartbeats.py`` has the intervals.
"""

from __future__ import annotations

import contextlib
import math
import socket
import struct
import threading
import time

from mqembedded.heartbeats import Heartbeats
from mqembedded.wire.frames import HEARTBEAT

_TIMEVAL = struct.Struct("@ll")


class Line:
    """The line to one client. The connection's thread sends answers on it; another thread sends heartbeats."""

    def __init__(self, sock: socket.socket) -> None:
        self.heartbeats = Heartbeats()
        self.next_s = 0.0
        # The time when a client in a waiting call counts as dead if no data arrives before.
        self.silent_at_s = math.inf
        self.waits = False
        self._sock = sock
        self._in_call = False
        self._lock = threading.Lock()

    def agree(self, heartbeats: Heartbeats) -> None:
        """Use the heartbeat settings on which client and server agreed at MQCONNX."""
        # The client accepts heartbeats only after the answer to this call.
        self._in_call = False
        self.heartbeats = heartbeats
        self.next_s = time.monotonic() + heartbeats.interval_s
        if heartbeats.always:
            limit = _TIMEVAL.pack(int(heartbeats.silence_s), 0)
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def begin_call(self) -> None:
        """Record that a request has arrived."""
        self._in_call = True
        self.heard()

    def heard(self) -> None:
        """Record that data has arrived."""
        self.silent_at_s = time.monotonic() + self.heartbeats.silence_s

    def answer(self, frame: bytes) -> None:
        """Send the answer, which is the last frame of a call. Raises OSError."""
        with self._lock:
            self._in_call = False
            self._sock.sendall(frame)

    def beat(self) -> None:
        """Send a heartbeat if a call is in progress, and the client accepts heartbeats during this call."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            # A heartbeat is short enough to be sent whole or not at all. If there is no buffer space or no connection, the
            # connection's thread notices.
            if self._in_call and (self.heartbeats.always or self.waits):
                with contextlib.suppress(OSError):
                    self._sock.send(HEARTBEAT, socket.MSG_DONTWAIT)
        finally:
            self._lock.release()


class Lines:
    """All lines that have heartbeats, and the one thread that sends the heartbeats."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: set[Line] = set()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def add(self, line: Line) -> None:
        """Start heartbeats on a line; raise RuntimeError if no thread can be started."""
        if not line.heartbeats.interval_s:
            return
        with self._changed:
            if self._thread is None:
                thread = threading.Thread(target=self._run, daemon=True)
                thread.start()
                self._thread = thread
            self._lines.add(line)
            self._changed.notify()

    def discard(self, line: Line) -> None:
        """End the heartbeats on a line."""
        with self._changed:
            self._lines.discard(line)

    def stop(self) -> None:
        """End the thread that sends heartbeats."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with self._changed:
            while not self._stopped:
                now_s = time.monotonic()
                for line in self._lines:
                    if line.next_s <= now_s:
                        line.beat()
                        line.next_s = now_s + line.heartbeats.interval_s
                next_s = min((line.next_s for line in self._lines), default=None)
                self._changed.wait(None if next_s is None else max(0.0, next_s - now_s))

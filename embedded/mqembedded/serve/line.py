"""Heartbeats of the server: the line to one client, and the thread that sends heartbeats on all lines.

The client reads only during a call, so the server sends heartbeats only then. Any data from the client shows that it is there.
The timeout of the socket watches for that between calls, the waiter (``waiter.py``) while an MQGET waits.

Not here: the intervals (``heartbeats.py``).
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
    """Sends to one client, from two threads: answers from the thread of the connection, heartbeats from another one."""

    def __init__(self, sock: socket.socket) -> None:
        self.heartbeats = Heartbeats()
        self.next_s = 0.0
        # When a client in a waiting call counts as dead, if nothing arrives until then.
        self.silent_at_s = math.inf
        self.waits = False
        self._sock = sock
        self._in_call = False
        self._lock = threading.Lock()

    def agree(self, heartbeats: Heartbeats) -> None:
        """Follow what was agreed in MQCONNX."""
        # The client understands heartbeats as soon as it has the answer.
        self._in_call = False
        self.heartbeats = heartbeats
        self.next_s = time.monotonic() + heartbeats.interval_s
        if heartbeats.always:
            limit = _TIMEVAL.pack(int(heartbeats.silence_s), 0)
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def begin_call(self) -> None:
        """Note that a request has arrived."""
        self._in_call = True
        self.heard()

    def heard(self) -> None:
        """Note that data has arrived."""
        self.silent_at_s = time.monotonic() + self.heartbeats.silence_s

    def answer(self, frame: bytes) -> None:
        """Send the answer, which is the last frame of a call. Raises OSError."""
        with self._lock:
            self._in_call = False
            self._sock.sendall(frame)

    def beat(self) -> None:
        """Send a heartbeat if the call in progress gets heartbeats."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            # A heartbeat is short enough to be sent whole or not at all. If there is no room, or no connection, the thread of
            # the connection notices.
            if self._in_call and (self.heartbeats.always or self.waits):
                with contextlib.suppress(OSError):
                    self._sock.send(HEARTBEAT, socket.MSG_DONTWAIT)
        finally:
            self._lock.release()


class Lines:
    """All lines with heartbeats, and the thread that sends them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: set[Line] = set()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def add(self, line: Line) -> None:
        """Send heartbeats on a line; raises RuntimeError if no thread can be started."""
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
        """Send no more heartbeats on a line."""
        with self._changed:
            self._lines.discard(line)

    def stop(self) -> None:
        """End the thread."""
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

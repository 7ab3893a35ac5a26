"""The waiter of a connection, which also watches the connection's socket."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import socket
import sys
import time

from mqembedded.answer import ConnectionGone, Interrupted
from mqembedded.serve.line import Line
from mqembedded.wire.frames import HEARTBEAT, after_heartbeats

_MOST_BYTES = 64 * len(HEARTBEAT)
# The number 1 as an eventfd takes it.
_ONCE = (1).to_bytes(8, sys.byteorder)


class SocketWaiter:
    """A waiter that sleeps until ``wake`` is called, or until the socket's peer is gone or silent for too long."""

    def __init__(self, sock: socket.socket, line: Line) -> None:
        self._sock = sock
        self._line = line
        self._event, self._waking = _event()
        try:
            self._selector = selectors.DefaultSelector()
        except OSError:
            self._close_event()
            raise
        self._selector.register(sock, selectors.EVENT_READ)
        self._selector.register(self._event, selectors.EVENT_READ)

    def wait(self, timeout_s: float | None) -> None:
        """Wait as ``answer.Waiter`` describes."""
        now_s = time.monotonic()
        until_s = math.inf if timeout_s is None else now_s + timeout_s
        self._line.waits = True
        try:
            woken = False
            while not woken:
                ends_s = min(until_s, self._line.silent_at_s)
                for key, _ in self._selector.select(None if ends_s == math.inf else max(0.0, ends_s - now_s)):
                    if key.fd == self._event:
                        woken = True
                        with contextlib.suppress(BlockingIOError):
                            os.read(self._event, len(_ONCE))
                    else:
                        self._receive()
                now_s = time.monotonic()
                if now_s >= until_s:
                    return
                if now_s >= self._line.silent_at_s:
                    raise ConnectionGone
        finally:
            self._line.waits = False

    def _receive(self) -> None:
        """Receive heartbeats; raise ConnectionGone at the end of the stream, and Interrupted after any other data."""
        received = self._sock.recv(_MOST_BYTES, socket.MSG_PEEK)
        if not received:
            raise ConnectionGone
        rest = after_heartbeats(received)
        if len(rest) < len(received):
            self._sock.recv(len(received) - len(rest))
        if not HEARTBEAT.startswith(rest):
            # During a call the application sends only heartbeats, and WAKE during a CALLBACK.
            raise Interrupted
        self._line.heard()

    def wake(self) -> None:
        """End a wait, as ``answer.Waiter`` describes."""
        # If the descriptor is full, the waiter is awake already.
        with contextlib.suppress(BlockingIOError):
            os.write(self._waking, _ONCE)

    def close(self) -> None:
        """Close the waiter's file descriptors; the socket stays open."""
        self._selector.close()
        self._close_event()

    def _close_event(self) -> None:
        for descriptor in {self._event, self._waking}:
            os.close(descriptor)


def _event() -> tuple[int, int]:
    """Return two descriptors: one to wait on and one to wake with. With eventfd (on Linux), both are the same descriptor."""
    if hasattr(os, "eventfd"):
        event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        return event, event
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends

"""A slow line: data arrives later in both directions, and any amount of data can be in transit.

A relay passes data between the application's socket and a second socket, which the server uses instead. The relay forwards
each piece a fixed time after the piece has arrived, however much data is in transit. To delay calls, use ``faults.py``.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time

_PIECE = 65_536


def delayed(outer: socket.socket, latency_s: float) -> socket.socket:
    """Return a socket that replaces ``outer``, with a latency in each direction. If a side closes its socket, the line ends."""
    inner, ours = socket.socketpair()
    directions = [_Direction(outer, ours, latency_s), _Direction(ours, outer, latency_s)]
    ended = [direction.start() for direction in directions]

    def close_when_ended() -> None:
        for thread in ended:
            thread.join()
        outer.close()
        ours.close()

    threading.Thread(target=close_when_ended, daemon=True).start()
    return inner


class _Direction:
    """One direction of the line: a thread that receives, a thread that sends, and the data in transit between them."""

    def __init__(self, source: socket.socket, target: socket.socket, latency_s: float) -> None:
        self._source = source
        self._target = target
        self._latency_s = latency_s
        self._on_the_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def start(self) -> threading.Thread:
        """Start both threads, and return the thread that ends last."""
        threading.Thread(target=self._receive, daemon=True).start()
        sending = threading.Thread(target=self._send, daemon=True)
        sending.start()
        return sending

    def _receive(self) -> None:
        piece = b"-"
        while piece:
            try:
                piece = self._source.recv(_PIECE)
            except OSError:
                piece = b""
            self._on_the_way.put((time.monotonic() + self._latency_s, piece))

    def _send(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                due_s, piece = self._on_the_way.get()
                time.sleep(max(0.0, due_s - time.monotonic()))
                if not piece:
                    break
                self._target.sendall(piece)
        # If one direction ends, the connection ends. Shut down both, because the other direction's thread waits for data from
        # here.
        with contextlib.suppress(OSError):
            self._target.shutdown(socket.SHUT_RDWR)

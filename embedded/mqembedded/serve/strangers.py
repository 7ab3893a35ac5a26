"""Strangers: connections that have not introduced themselves yet, and a way to close some when resources run out.

A stranger takes a file descriptor and a thread, and has limited time. If descriptors or threads run out, the strangers that
came first are disconnected. An application introduces itself at once, so they are probably no applications.
"""

from __future__ import annotations

import contextlib
import socket
import threading


class Strangers:
    """The sockets of strangers, in the order in which they came. Several threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: dict[socket.socket, None] = {}

    def add(self, sock: socket.socket) -> None:
        """Add a socket that was just accepted."""
        with self._lock:
            self._sockets[sock] = None

    def discard(self, sock: socket.socket) -> None:
        """Remove a socket: its peer has introduced itself, or the socket is about to be closed."""
        with self._lock:
            self._sockets.pop(sock, None)

    def make_room(self) -> None:
        """Disconnect the older half of the strangers; their threads close the sockets."""
        with self._lock:
            for sock in list(self._sockets)[: len(self._sockets) // 2]:
                del self._sockets[sock]
                # A socket is discarded before it is closed, so its descriptor belongs to no other connection yet.
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

"""Strangers: network connections whose peers have not introduced themselves with an MQCONNX or the server's token.

A stranger takes a file descriptor and a thread, and must introduce itself within some seconds. If descriptors or threads run out,
the server disconnects the oldest strangers. An application introduces itself at once, so old strangers are probably not
applications.
"""

from __future__ import annotations

import contextlib
import socket
import threading


class Strangers:
    """The strangers' sockets, in order of arrival. Several threads can use this object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: dict[socket.socket, None] = {}

    def add(self, sock: socket.socket) -> None:
        """Add a socket that was just accepted."""
        with self._lock:
            self._sockets[sock] = None

    def discard(self, sock: socket.socket) -> None:
        """Remove a socket because its peer has introduced itself, or because the socket is about to be closed."""
        with self._lock:
            self._sockets.pop(sock, None)

    def make_room(self) -> None:
        """Disconnect the older half of the strangers. The connections' threads then close the sockets."""
        with self._lock:
            for sock in list(self._sockets)[: len(self._sockets) // 2]:
                del self._sockets[sock]
                # A socket is removed from here before it is closed, so the descriptor of a socket in here is not reused yet.
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

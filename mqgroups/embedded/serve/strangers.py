"""Strangers: connections that have not said yet who they are, and which of them go when there is no room.

A stranger costs a file descriptor and a thread, and has a limited time. Where descriptors or threads run out, those that
have been strangers longest are hung up on: an application introduces itself at once.
"""

from __future__ import annotations

import contextlib
import socket
import threading


class Strangers:
    """The sockets of strangers in the order in which they came. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: dict[socket.socket, None] = {}

    def add(self, sock: socket.socket) -> None:
        """Note a socket that was accepted just now."""
        with self._lock:
            self._sockets[sock] = None

    def discard(self, sock: socket.socket) -> None:
        """Forget a socket: somebody said who they are, or it is about to be closed."""
        with self._lock:
            self._sockets.pop(sock, None)

    def make_room(self) -> None:
        """Hang up on the older half of the strangers; their threads close the sockets."""
        with self._lock:
            for sock in list(self._sockets)[: len(self._sockets) // 2]:
                del self._sockets[sock]
                # A socket is discarded before it is closed, so this is no other connection's.
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

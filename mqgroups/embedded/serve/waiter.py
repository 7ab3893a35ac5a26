"""The waiter of a connection over a socket."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket

from mqgroups.embedded.answer import ConnectionGone, Interrupted


class SocketWaiter:
    """Sleeps until it is woken, or until the peer of a socket is gone."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        try:
            self._selector = selectors.DefaultSelector()
        except OSError:
            os.close(self._event)
            raise
        self._selector.register(sock, selectors.EVENT_READ)
        self._selector.register(self._event, selectors.EVENT_READ)

    def wait(self, timeout_s: float | None) -> None:
        """See ``answer.Waiter``."""
        for key, _ in self._selector.select(timeout_s):
            if key.fd != self._event:
                # During a call the application may send nothing, except WAKE during a CALLBACK.
                raise Interrupted if self._sock.recv(1, socket.MSG_PEEK) else ConnectionGone
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._event)

    def wake(self) -> None:
        """See ``answer.Waiter``."""
        os.eventfd_write(self._event, 1)

    def close(self) -> None:
        """Close its file descriptors; the socket stays open."""
        self._selector.close()
        os.close(self._event)

"""A TCP proxy that loses a line: both ends stay connected, and nothing arrives any more, as when a host or a firewall is gone."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType


class Proxy:
    """Forwards connections to a port of this machine until ``lose_the_line``. Closes them at the end of its block."""

    def __init__(self, port: int) -> None:
        self._to = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.conn_name = f"127.0.0.1({self._listener.getsockname()[1]})"
        self._sockets: list[socket.socket] = []
        self._lost = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_the_line(self) -> None:
        """From now on what arrives is thrown away, and the end of a connection is not passed on either."""
        self._lost.set()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._to)
                self._sockets += (near, far)
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if not self._lost.is_set():
                    target.sendall(data)
            if not self._lost.is_set():
                target.shutdown(socket.SHUT_RDWR)

"""The line between the campaign's programs and a queue manager: a process that forwards bytes, and cuts connections when told.

``python -m tests.faults.stranger.proxy HOST PORT CONTROL`` prints the port that it listens at, on loopback. On the Unix socket
``CONTROL`` each line is an order, answered by a byte when it is carried out:

- ``cut PORT``: end the connection whose other end has this port;
- ``silence PORT``: forward nothing more on it, neither bytes nor its end, as when a host has vanished;
- ``deafen PORT``: forward no answers;
- ``down``: end all connections, and refuse new ones;
- ``up``: let them in again.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable, Callable

_CHUNK_BYTES = 65_536


class Proxy:
    """The lines that there are, by the port of the program's end."""

    def __init__(self, host: str, port: int) -> None:
        self._to = host, port
        self._lines: dict[int, tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = {}
        self._silent: set[int] = set()
        self._deaf: set[int] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def up(self) -> None:
        """Listen, at the same port as before."""
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Listen no longer, and end all lines."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for port in tuple(self._lines):
            self.cut(port)

    def cut(self, port: int) -> None:
        """End a line, at both ends."""
        for writer in self._lines.pop(port, ()):
            writer.transport.abort()

    def silence(self, port: int) -> None:
        """Forward nothing more of a line."""
        self._silent.add(port)

    def deafen(self, port: int) -> None:
        """Forward no answers."""
        self._deaf.add(port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("peername")[1]
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._to)
        except OSError:
            writer.transport.abort()
            return
        for end in (writer, far_writer):
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lines[port] = writer, far_writer
        mute: tuple[set[int], ...] = (self._silent, self._deaf)
        ways = {
            asyncio.create_task(_forward(reader, far_writer, port, mute[:1])),
            asyncio.create_task(_forward(far_reader, writer, port, mute)),
        }
        _, other_way = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        if port in self._silent:
            # Nobody learns that the other end has gone.
            await asyncio.gather(*other_way)
        self._silent.discard(port)
        self._deaf.discard(port)
        if self._lines.get(port) == (writer, far_writer):
            del self._lines[port]
        # What came before the end goes on.
        for end in (writer, far_writer):
            with contextlib.suppress(OSError):
                end.close()
        await asyncio.gather(*other_way)


async def _forward(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, mute: tuple[set[int], ...]
) -> None:
    """Forward one way, until it ends; what comes while the line is in one of ``mute`` is lost."""
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK_BYTES):
            if not any(port in each for each in mute):
                writer.write(data)
                await writer.drain()


def _orders(proxy: Proxy) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def obey(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            order, _, port = line.decode().strip().partition(" ")
            if port:
                {"cut": proxy.cut, "silence": proxy.silence, "deafen": proxy.deafen}[order](int(port))
            else:
                await {"up": proxy.up, "down": proxy.down}[order]()
            # The transports that were aborted are closed in the loop's next round.
            await asyncio.sleep(0)
            writer.write(b".")
        writer.close()

    return obey


async def _main(host: str, port: int, control: str) -> None:
    proxy = Proxy(host, port)
    await proxy.up()
    async with await asyncio.start_unix_server(_orders(proxy), control) as server:
        print(proxy.port, flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))

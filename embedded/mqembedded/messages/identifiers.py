"""Makes serial numbers, and identifiers for messages, groups and connections. No value is ever repeated, even after a restart."""

from __future__ import annotations

import itertools
import time

# The size of a block of identifiers for a client. It is large, so that clients seldom need a new block. Blocks are numbered by
# the time in nanoseconds, and must not overtake the clock. The first bit distinguishes these numbers from all other numbers.
_BLOCK = 65_536
_CLIENTS_NUMBERS = 1 << 63


class Identifiers:
    """A maker of 24-byte identifiers. An identifier has a number before or after the product and the queue manager's name."""

    def __init__(self, q_mgr_name: str, product: bytes, *, begin_with_name: bool) -> None:
        # The counts start at the current time in nanoseconds. No queue manager puts a thousand million messages a second, so the
        # counts stay behind the clock.
        self._serial = itertools.count(time.time_ns())
        self._blocks = itertools.count(time.time_ns(), _BLOCK)
        self._begin_with_name = begin_with_name
        self._prefix = product + q_mgr_name.encode("latin-1")[:12].ljust(12)

    def serial(self) -> bytes:
        """Return 8 bytes that this method has never returned before."""
        return next(self._serial).to_bytes(8, "big")

    def identifier(self) -> bytes:
        """Return 24 bytes that no message or group has had before."""
        serial = next(self._serial).to_bytes(8, "big")
        return self._prefix + serial if self._begin_with_name else serial + self._prefix

    def block(self) -> tuple[bytes, int, int]:
        """Return a block of identifiers: the first identifier, the offset of its big-endian number, and the size of the block.

        ``identifier`` never returns an identifier from a block.
        """
        number = (_CLIENTS_NUMBERS | next(self._blocks)).to_bytes(8, "big")
        if self._begin_with_name:
            return self._prefix + number, len(self._prefix), _BLOCK
        return number + self._prefix, 0, _BLOCK

    def of_connection(self) -> bytes:
        """Return a new identifier for a connection."""
        return self._prefix + self.serial()

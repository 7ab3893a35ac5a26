"""Identifiers of messages, groups and connections, and serial numbers: what never comes again, also not after a restart."""

from __future__ import annotations

import itertools
import time

# Identifiers that clients give out: so many that asking for them costs nothing, and so few that their numbers, which begin with
# the time in nanoseconds as all others do, do not overtake the clock. The first bit keeps them apart from the others.
_BLOCK = 65_536
_CLIENTS_NUMBERS = 1 << 63


class Identifiers:
    """Makes identifiers of 24 bytes: ``AMQ``, the queue manager's name and a serial number, or the number first."""

    def __init__(self, q_mgr_name: str, *, begin_with_name: bool) -> None:
        # The clock starts the counts, and no queue manager puts a thousand million messages a second.
        self._serial = itertools.count(time.time_ns())
        self._blocks = itertools.count(time.time_ns(), _BLOCK)
        self._begin_with_name = begin_with_name
        self._prefix = b"AMQ " + q_mgr_name.encode("latin-1")[:12].ljust(12)

    def serial(self) -> bytes:
        """Return 8 bytes that never came before."""
        return next(self._serial).to_bytes(8, "big")

    def identifier(self) -> bytes:
        """Return 24 bytes that no message or group had before."""
        serial = next(self._serial).to_bytes(8, "big")
        return self._prefix + serial if self._begin_with_name else serial + self._prefix

    def block(self) -> tuple[bytes, int, int]:
        """Return an identifier, at which of its bytes its number is, big-endian, and how many from that number on are free for
        a client to give out. No ``identifier`` is among them."""
        number = (_CLIENTS_NUMBERS | next(self._blocks)).to_bytes(8, "big")
        if self._begin_with_name:
            return self._prefix + number, len(self._prefix), _BLOCK
        return number + self._prefix, 0, _BLOCK

    def of_connection(self) -> bytes:
        """Return an identifier for a connection."""
        return self._prefix + self.serial()

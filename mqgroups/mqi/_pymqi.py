"""The adapter for pymqi: its C module ``pymqe``, whose MQINQ takes one selector and returns one value."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

from mqgroups.mqi._c_layer import CLayer, text


class PymqiBinding(CLayer):
    """pymqi's C layer."""

    def __init__(self) -> None:
        package = importlib.import_module("pymqi")
        super().__init__("pymqi", package, package.pymqe)
        self._mqinq = package.pymqe.MQINQ

    def inquire(self, hconn: int, hobj: int, selector: int) -> tuple[int | str, int, int]:
        """MQINQ of one attribute. Returns (value, comp, reason); character values without padding."""
        value, comp, reason = self._mqinq(hconn, hobj, selector)
        return (text(value) if isinstance(value, bytes) else value), comp, reason

    def _set_peer_name(self, cd: Any, peer_name: str | None) -> object:
        """Make an MQCD point to a peer name; pymqi takes its address as a number. Returns the memory, to be kept alive."""
        if peer_name is None:
            return None
        name = peer_name.encode()
        memory = ctypes.create_string_buffer(name, len(name))
        cd.SSLPeerNamePtr, cd.SSLPeerNameLength = ctypes.addressof(memory), len(name)
        return memory

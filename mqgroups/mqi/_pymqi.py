"""The adapter over pymqi: its C module ``pymqe``, whose MQINQ takes one selector and returns one value."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

from mqgroups.mqi import constants as mq
from mqgroups.mqi._c_layer import LONGEST_PROPERTY_BYTES, CLayer, text


class PymqiBinding(CLayer):
    """pymqi's C layer."""

    def __init__(self) -> None:
        package = importlib.import_module("pymqi")
        super().__init__("pymqi", package, package.pymqe)
        self._mqinq = package.pymqe.MQINQ

    def inquire(self, hconn: int, hobj: int, selector: int) -> tuple[int | str, int, int]:
        """MQINQ of one attribute: return (value, comp, reason); character values without their padding."""
        value, comp, reason = self._mqinq(hconn, hobj, selector)
        return (text(value) if isinstance(value, bytes) else value), comp, reason

    def property(self, hconn: int, hmsg: int, name: str) -> tuple[object, int, int]:
        """MQINQMP: return (value, comp, reason)."""
        options = mq.MQIMPO_INQ_FIRST | mq.MQIMPO_CONVERT_VALUE
        value, _, comp, reason = self._c.MQINQMP(
            hconn, hmsg, options, name.encode(), 0, mq.MQTYPE_AS_SET, LONGEST_PROPERTY_BYTES
        )
        return value, comp, reason

    def _set_peer_name(self, cd: Any, peer_name: str | None) -> object:
        """Let an MQCD point to a peer name, whose address pymqi wants as a number; returns the memory to keep."""
        if peer_name is None:
            return None
        name = peer_name.encode()
        memory = ctypes.create_string_buffer(name, len(name))
        cd.SSLPeerNamePtr, cd.SSLPeerNameLength = ctypes.addressof(memory), len(name)
        return memory

"""The adapter for pymqi. MQINQ of its C module ``pymqe`` takes one selector and returns one value.

``pymqe`` has no MQSTAT. This module calls MQSTAT in the MQ client library that ``pymqe`` is linked with, because that library
knows the connection handle. The dynamic loader finds the function in the dependencies of ``pymqe``.
"""

from __future__ import annotations

import ctypes
import importlib
from functools import cached_property
from typing import Any

from mqgroups.mqi._c_layer import CLayer, Mqstat
from mqgroups.mqi.structures import text


class PymqiBinding(CLayer):
    """The adapter for pymqi's C layer."""

    always_passes_mqsco = True

    def __init__(self) -> None:
        package = importlib.import_module("pymqi")
        super().__init__("pymqi", package, package.pymqe)
        self._mqinq = package.pymqe.MQINQ

    @cached_property
    def MQSTAT(self) -> Mqstat:
        """MQSTAT of the client library; raises AttributeError or OSError if ``has_mqstat`` is false."""
        return _mqstat(self._c.__file__)

    @property
    def has_mqstat(self) -> bool:
        """Whether the client library has MQSTAT. It is false if the library is older than IBM MQ 7.0 or is not found."""
        try:
            return self.MQSTAT is not None
        except (AttributeError, OSError):
            return False

    def inquire(self, hconn: int, hobj: int, selector: int) -> tuple[int | str, int, int]:
        """As in ``Binding``."""
        value, comp, reason = self._mqinq(hconn, hobj, selector)
        return (text(value) if isinstance(value, bytes) else value), comp, reason

    def _set_peer_name(self, cd: Any, peer_name: str | None) -> object:
        """Make an MQCD point to a peer name. Returns the name's memory, because pymqi takes only its address."""
        if peer_name is None:
            return None
        name = peer_name.encode()
        memory = ctypes.create_string_buffer(name, len(name))
        cd.SSLPeerNamePtr, cd.SSLPeerNameLength = ctypes.addressof(memory), len(name)
        return memory


def _mqstat(c_module: str) -> Mqstat:
    function = ctypes.CDLL(c_module).MQSTAT
    long_pointer = ctypes.POINTER(ctypes.c_int32)
    function.argtypes = (ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, long_pointer, long_pointer)
    function.restype = None

    def mqstat(hconn: int, kind: int, sts: bytes) -> tuple[bytes, int, int]:
        filled = ctypes.create_string_buffer(sts, len(sts))
        comp, reason = ctypes.c_int32(), ctypes.c_int32()
        function(hconn, kind, filled, ctypes.byref(comp), ctypes.byref(reason))
        return filled.raw, comp.value, reason.value

    return mqstat

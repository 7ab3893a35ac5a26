"""The adapter for IBM's ibmmq. MQINQ of its C module ``ibmmqc`` takes lists, and a buffer size for character values."""

from __future__ import annotations

import importlib
from typing import Any

from mqgroups.mqi import constants as mq
from mqgroups.mqi._c_layer import CLayer, Mqstat
from mqgroups.mqi.structures import text

# Every character attribute that this package inquires is a name of this length. ibmmqc returns the whole buffer, even its unused
# end, so the buffer must not be longer than the attribute. A longer attribute gives a warning, MQRC_CHAR_ATTRS_TOO_SHORT.
_CHAR_ATTR_LENGTH = mq.MQ_Q_MGR_NAME_LENGTH


class IbmmqBinding(CLayer):
    """The adapter for ibmmq's C layer."""

    def __init__(self) -> None:
        package = importlib.import_module("ibmmq")
        super().__init__("ibmmq", package, package.ibmmqc)
        self._mqinq = package.ibmmqc.MQINQ
        self.MQSTAT: Mqstat = package.ibmmqc.MQSTAT
        self.has_mqstat = True

    def inquire(self, hconn: int, hobj: int, selector: int) -> tuple[int | str, int, int]:
        """As in ``Binding``."""
        is_integer = mq.MQIA_FIRST <= selector <= mq.MQIA_LAST
        counts = (1, 0, 0) if is_integer else (0, 1, _CHAR_ATTR_LENGTH)
        int_attrs, char_attrs, *_, comp, reason = self._mqinq(hconn, hobj, [selector], [], *counts)
        if comp:
            # After a warning there is no value either, because the object does not have this attribute (2068).
            return (0 if is_integer else ""), comp, reason
        return (int_attrs[0] if is_integer else text(char_attrs)), comp, reason

    def _set_peer_name(self, cd: Any, peer_name: str | None) -> object:
        # ibmmq makes the pointer itself.
        if peer_name is not None:
            cd.SSLPeerNamePtr = peer_name.encode()
        return None

"""The adapter over IBM's ibmmq: its C module ``ibmmqc``, whose MQINQ takes lists and the room for character values."""

from __future__ import annotations

import importlib
from typing import Any

from mqgroups.mqi import constants as mq
from mqgroups.mqi._c_layer import CLayer, text

# Every character attribute this package inquires is a name of this length. ibmmqc gives the whole buffer back, filled or
# not, so it must not be longer than the attribute; one that is longer is a warning, MQRC_CHAR_ATTRS_TOO_SHORT.
_CHAR_ATTR_LENGTH = mq.MQ_Q_MGR_NAME_LENGTH


class IbmmqBinding(CLayer):
    """ibmmq's C layer."""

    def __init__(self) -> None:
        package = importlib.import_module("ibmmq")
        super().__init__("ibmmq", package, package.ibmmqc)
        self._mqinq = package.ibmmqc.MQINQ

    def inquire(self, hconn: int, hobj: int, selector: int) -> tuple[int | str, int, int]:
        """MQINQ of one attribute: return (value, comp, reason); character values without their padding."""
        is_integer = mq.MQIA_FIRST <= selector <= mq.MQIA_LAST
        counts = (1, 0, 0) if is_integer else (0, 1, _CHAR_ATTR_LENGTH)
        int_attrs, char_attrs, *_, comp, reason = self._mqinq(hconn, hobj, [selector], [], *counts)
        if comp:
            # Nor is there a value with a warning: the object has no such attribute (2068).
            return (0 if is_integer else ""), comp, reason
        return (int_attrs[0] if is_integer else text(char_attrs)), comp, reason

    def _set_peer_name(self, cd: Any, peer_name: str | None) -> object:
        """Give an MQCD the peer name; ibmmq makes the pointer."""
        if peer_name is not None:
            cd.SSLPeerNamePtr = peer_name.encode()
        return None

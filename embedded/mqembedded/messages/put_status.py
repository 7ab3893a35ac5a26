"""The outcomes of a connection's asynchronous puts, which are kept until MQSTAT returns them.

An asynchronous put always returns MQCC_OK. MQSTAT returns and resets the counts of these puts and the first failure, or the
first warning if no put has failed (IBM MQ, "MQSTAT" and "MQSTAT on IBM i", usage notes).

``calls/put_response.py`` decides which puts are asynchronous, and answers them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from mqembedded import constants as mq
from mqembedded.wire.structures import name_field, version_of

_STS = struct.Struct("<4s7i48s48s48s48s")
# In version 2, ObjectString and SubName are MQCHARV structures. These are the offsets of their VSLength.
_STRING_LENGTHS = (240, 264)
_OPTIONS = struct.Struct("<ii")
_OPTIONS_OFFSET = 272


@dataclass(frozen=True, slots=True)
class Destination:
    """The destination of a put as MQSTAT names it. An unknown name is blank. MQOT_NONE means that there is no object."""

    object_type: int = mq.MQOT_NONE
    name: str = ""
    q_mgr_name: str = ""
    resolved_name: str = ""
    resolved_q_mgr_name: str = ""


@dataclass(frozen=True, slots=True)
class PutStatus:
    """The counts of puts since the last MQSTAT, and the completion code, reason and destination that the next MQSTAT returns."""

    succeeded: int = 0
    warned: int = 0
    failed: int = 0
    comp: int = mq.MQCC_OK
    reason: int = mq.MQRC_NONE
    destination: Destination = Destination()

    def after(self, comp: int, reason: int, destination: Destination) -> PutStatus:
        """Return the status after another asynchronous put with this outcome."""
        counted = replace(
            self,
            succeeded=self.succeeded + (comp == mq.MQCC_OK),
            warned=self.warned + (comp == mq.MQCC_WARNING),
            failed=self.failed + (comp == mq.MQCC_FAILED),
        )
        if comp <= self.comp:
            return counted
        return replace(counted, comp=comp, reason=reason, destination=destination)


def status_answered(sts: bytes, status: PutStatus) -> bytes:
    """Return an application's MQSTS with all fields of its Version set. Raises StructureError if ``sts`` is not an MQSTS."""
    version = version_of(sts, b"STAT", "MQSTS")
    to = status.destination
    names = (to.name, to.q_mgr_name, to.resolved_name, to.resolved_q_mgr_name)
    out = bytearray(sts)
    _STS.pack_into(
        out,
        0,
        b"STAT",
        version,
        status.comp,
        status.reason,
        status.succeeded,
        status.warned,
        status.failed,
        to.object_type,
        *map(name_field, names),
    )
    if version >= 2:
        # Queues have no long names. Only a reconnection error has options and a subscription.
        for offset in _STRING_LENGTHS:
            struct.pack_into("<i", out, offset, 0)
        _OPTIONS.pack_into(out, _OPTIONS_OFFSET, 0, 0)
    return bytes(out)

"""The MQI's structures as bytes, for tests that call the queue manager's own functions: 64-bit, native byte order."""

from __future__ import annotations

import struct

from mqembedded import constants as mq

MD_BACKOUT_COUNT = 96


def md(
    *,
    persistence: int = mq.MQPER_PERSISTENT,
    msg_id: bytes = b"",
    correl_id: bytes = b"",
    group_id: bytes = b"",
    msg_seq_number: int = 1,
    offset: int = 0,
    msg_flags: int = 0,
) -> bytes:
    """Return an MQMD of Version 2."""
    texts = "48s48s12s32s32si28s8s8s4s"
    before = struct.pack(
        "4s7i8s2i24s24si", b"MD  ", 2, 0, 8, -1, 0, 0x222, 0, b"", -1, persistence, msg_id, correl_id, 0
    )
    context = struct.pack(texts, *[b""] * 5, 0, *[b""] * 4)
    return before + context + struct.pack("24s4i", group_id, msg_seq_number, offset, msg_flags, -1)


def pmo(options: int) -> bytes:
    """Return an MQPMO of Version 2."""
    return struct.pack("4s2i", b"PMO ", 2, options).ljust(184, b"\0")


def gmo(options: int, *, match_options: int = mq.MQMO_NONE, wait_interval_ms: int = 0) -> bytes:
    """Return an MQGMO of Version 2."""
    return struct.pack("4s5i48si4s", b"GMO ", 2, options, wait_interval_ms, 0, 0, b"", match_options, b"").ljust(
        112, b"\0"
    )


def od(object_name: str) -> bytes:
    """Return an MQOD of Version 3 that names a queue."""
    return struct.pack("4s2i48s", b"OD  ", 3, mq.MQOT_Q, object_name.encode()).ljust(424, b"\0")


def long_at(structure: bytes, offset: int) -> int:
    """Return the 32-bit field at ``offset``."""
    value: int = struct.unpack_from("i", structure, offset)[0]
    return value

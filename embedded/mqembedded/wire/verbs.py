"""The verb table: the form of every MQI call between the C library and the queue manager.

The table is the single source of the wire format. ``libmqm/build.py`` generates ``verbs.h`` from the table, with typed C
functions that encode requests and decode replies. So the C compiler checks the library against the table. ``frames.py`` reads the
table at run time. A connection's first frame has the table's digest, and the server refuses a library with another digest.

``calls/`` carries out the verbs. ``frames.py`` and ``serve/server.py`` transport frames.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

Kind = Literal["i32", "i64", "blob"]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request or reply, of kind ``i32``, ``i64``, or ``blob`` (bytes, whose number is sent as u32)."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: its code on the wire, the fields of its request, and the fields of its reply after completion and reason code."""

    name: str
    code: int
    request: tuple[Field, ...]
    reply: tuple[Field, ...]


def _fields(text: str) -> tuple[Field, ...]:
    """Return the fields that a text such as ``"hobj:i32 md:blob"`` describes. A name without a kind is a blob."""
    fields = []
    for word in text.split():
        name, _, kind = word.partition(":")
        if kind not in ("", "i32", "i64", "blob"):
            raise ValueError(f"field {word!r} of the verb table has no kind i32, i64 or blob")
        fields.append(Field(name, kind or "blob"))  # type: ignore[arg-type]  # the line above checked it
    return tuple(fields)


def _verb(code: int, name: str, request: str = "", reply: str = "") -> Verb:
    return Verb(name, code, _fields(request), _fields(reply))


# Selectors and integer attributes are blobs of native 32-bit integers. The text of an MQCHARV is a separate field. put_response
# of MQOPEN is the handle's default put response (MQPRT_*), or 0 if the client always waits.
#
# Some verbs are not MQI calls. CALLBACK asks for the next callback to make. WAKE ends a waiting CALLBACK and has no answer.
# HEARTBEAT goes in both directions, shows that its sender is alive, and has no answer. ASYNC_PUT is an MQPUT without an answer.
# IDENTIFIERS returns a block of identifiers for ASYNC_PUT (their numbers are 8 bytes at an offset in the first identifier), and
# the context that MQMD returns. The C library never sends CONTROL and CHANNEL. Python programs use CONTROL to count calls and arm
# faults. The channels of a cluster use CHANNEL.
VERBS: tuple[Verb, ...] = (
    _verb(
        1,
        "MQCONNX",
        "table_digest pid:i32 appl_name q_mgr_name channel_name user password options:i32 max_msg_length:i32 "
        "put1_always_sync:i32 access_key heartbeat:i32 sharing:i32",
        "connection_id heartbeat:i32 sharing:i32",
    ),
    _verb(2, "MQDISC"),
    _verb(3, "MQOPEN", "od options:i32 object_string", "hobj:i32 od res_object_string put_response:i32"),
    _verb(4, "MQCLOSE", "hobj:i32 options:i32"),
    _verb(5, "MQPUT", "hobj:i32 md pmo data", "md pmo"),
    _verb(6, "MQPUT1", "od md pmo data object_string", "od md pmo res_object_string"),
    _verb(7, "MQGET", "hobj:i32 md gmo buffer_length:i32", "md gmo data_length:i32 data"),
    _verb(8, "MQBEGIN"),
    _verb(9, "MQCMIT"),
    _verb(10, "MQBACK"),
    _verb(11, "MQINQ", "hobj:i32 selectors int_attr_count:i32 char_attr_length:i32", "int_attrs char_attrs"),
    _verb(12, "MQSET", "hobj:i32 selectors int_attrs char_attrs"),
    _verb(
        13,
        "MQSUB",
        "sd hobj:i32 object_string sub_name sub_user_data",
        "hobj:i32 hsub:i32 sd sub_user_data res_object_string",
    ),
    _verb(14, "MQSUBRQ", "hsub:i32 action:i32 sro", "sro"),
    _verb(15, "MQSTAT", "type:i32 sts", "sts"),
    _verb(16, "MQCB", "operation:i32 cbd hobj:i32 md gmo", "hobj:i32 registered:i32"),
    _verb(17, "MQCTL", "operation:i32 ctlo in_callback:i32"),
    _verb(18, "MQCRTMH", "cmho", "hmsg:i64"),
    _verb(19, "MQDLTMH", "hmsg:i64 dmho"),
    _verb(20, "MQSETMP", "hmsg:i64 smpo name name_ccsid:i32 pd type:i32 value_length:i32 value", "pd"),
    _verb(
        21,
        "MQINQMP",
        "hmsg:i64 impo name name_ccsid:i32 pd type:i32 value_length:i32 returned_name_room:i32",
        "impo pd type:i32 data_length:i32 value returned_name",
    ),
    _verb(22, "MQDLTMP", "hmsg:i64 dmpo name name_ccsid:i32"),
    _verb(30, "CALLBACK", "asked:i32", "hobj:i32 cbc md gmo buffer"),
    _verb(31, "WAKE"),
    _verb(32, "IDENTIFIERS", "", "first at:i32 count:i32 context"),
    _verb(33, "ASYNC_PUT", "hobj:i32 md pmo data"),
    _verb(34, "HEARTBEAT"),
    _verb(100, "CONTROL", "token command", "answer"),
    _verb(101, "CHANNEL", "token command messages", "answer"),
)

# The verbs after which a client can send the next request without waiting. Answers come in order.
POSTED = frozenset({"ASYNC_PUT"})

BY_NAME: dict[str, Verb] = {verb.name: verb for verb in VERBS}

# The number of valid bytes of a structure on a 64-bit platform, by its Version. A caller's buffer can be longer. Its further
# bytes are neither read nor written (IBM MQ, Developing applications reference, the topics of the structures).
STRUCTURE_LENGTHS: dict[str, dict[int, int]] = {
    "MQMD": {1: 324, 2: 364},
    "MQGMO": {1: 72, 2: 80, 3: 100, 4: 112},
    "MQPMO": {1: 128, 2: 160, 3: 184},
    "MQOD": {1: 168, 2: 208, 3: 344, 4: 424},
    "MQCBD": {1: 168},
    "MQCTLO": {1: 24},
    "MQCMHO": {1: 12},
    "MQDMHO": {1: 12},
    "MQSMPO": {1: 20},
    "MQIMPO": {1: 64},
    "MQDMPO": {1: 12},
    "MQPD": {1: 24},
    "MQSTS": {1: 224, 2: 280},
    "MQSD": {1: 344},
    "MQSRO": {1: 16},
}


# The structures of fields in requests and replies.
STRUCTURE_FIELDS: dict[str, str] = {
    "cbd": "MQCBD",
    "cmho": "MQCMHO",
    "ctlo": "MQCTLO",
    "dmho": "MQDMHO",
    "dmpo": "MQDMPO",
    "gmo": "MQGMO",
    "impo": "MQIMPO",
    "md": "MQMD",
    "od": "MQOD",
    "pd": "MQPD",
    "pmo": "MQPMO",
    "sd": "MQSD",
    "smpo": "MQSMPO",
    "sro": "MQSRO",
    "sts": "MQSTS",
}

# Bytes of a structure, as (offset, length), that a reply never changes: pointers, offsets, buffer sizes, counts of records, and
# input fields. A reply must have the same first 8 bytes, which are StrucId and Version.
CALLERS_OWN: dict[str, tuple[tuple[int, int], ...]] = {
    # Signal1, Signal2
    "MQGMO": ((16, 8),),
    # RecsPresent to ResponseRecPtr
    "MQPMO": ((128, 32),),
    # RecsPresent; ObjectRecOffset to ResponseRecPtr; ObjectString and SelectionString; ResObjectString except its length
    "MQOD": ((168, 4), (184, 24), (344, 48), (392, 16)),
    # ReturnedName except its length
    "MQIMPO": ((32, 16),),
    # ObjectString and SubName except their lengths
    "MQSTS": ((224, 16), (248, 16)),
    # ObjectString and SubName; SelectionString; SubUserData and ResObjectString except their lengths
    "MQSD": ((120, 48), (168, 16), (288, 24), (320, 16)),
}


def table_digest() -> str:
    """Return the digest (16 hexadecimal digits) of verbs and structure lengths. Both ends of a connection need the same one."""
    text = "numbers first" + repr(
        [(v.name, v.code, [(f.name, f.kind) for f in v.request], [(f.name, f.kind) for f in v.reply]) for v in VERBS]
    )
    text += repr(sorted((name, sorted(lengths.items())) for name, lengths in STRUCTURE_LENGTHS.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]

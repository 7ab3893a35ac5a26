"""The structures MQOD and MQSD, as input and output, and the MQCHARV texts in them.

Layouts and character fields are as in ``structures.py``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from mqembedded import constants as mq
from mqembedded.wire.structures import name_field, text_field, version_of

_I32 = struct.Struct("<i")
# The longest text in MQOD and MQSD.
LONGEST_TEXT = 10_240
_NULL_TERMINATED = -1
_CHARV = struct.Struct("<qiiii")
_CCSID_UTF_8 = 1208


@dataclass(frozen=True, slots=True)
class VariableString:
    """An MQCHARV in a structure: the place and length of the caller's text. The text itself is another field of the request."""

    pointer: int
    offset: int
    buffer_size: int
    length: int
    ccsid: int

    def is_well_formed(self, text: bytes) -> bool:
        """Return whether this MQCHARV can describe this text. The client sends at most ``LONGEST_TEXT`` + 1 bytes of it."""
        if self.pointer and self.offset:
            return False
        if self.length > 0 and not (self.pointer or self.offset):
            return False
        return self.length >= _NULL_TERMINATED and len(text) <= LONGEST_TEXT and self.length <= LONGEST_TEXT

    @property
    def room(self) -> int:
        """The number of bytes that the caller's buffer has for a returned text."""
        return max(0, self.buffer_size) if self.pointer or self.offset else 0


def variable_string(raw: bytes, at: int) -> VariableString:
    """Return the MQCHARV at this offset of a structure."""
    return VariableString(*_CHARV.unpack_from(raw, at))


def with_length(raw: bytes, at: int, length: int) -> bytes:
    """Return a structure whose MQCHARV at this offset describes a returned UTF-8 text of this length."""
    return raw[: at + 16] + struct.pack("<ii", length, _CCSID_UTF_8) + raw[at + _CHARV.size :]


class ObjectDescriptor:
    """An MQOD (IBM MQ, "MQOD")."""

    __slots__ = (
        "alternate_user_id",
        "dynamic_q_name",
        "has_selection_string",
        "object_name",
        "object_q_mgr_name",
        "object_string",
        "object_type",
        "raw",
        "recs_present",
        "res_object_string",
        "version",
    )

    def __init__(self, raw: bytes) -> None:
        """Read an MQOD. Raises StructureError."""
        self.version = version_of(raw, b"OD  ", "MQOD")
        self.raw = raw
        (self.object_type,) = _I32.unpack_from(raw, 8)
        self.object_name = text_field(raw[12:60])
        self.object_q_mgr_name = text_field(raw[60:108])
        self.dynamic_q_name = text_field(raw[108:156])
        self.alternate_user_id = text_field(raw[156:168])
        self.recs_present = _I32.unpack_from(raw, 168)[0] if self.version >= 2 else 0
        self.has_selection_string = False
        self.object_string = self.res_object_string = VariableString(0, 0, 0, 0, 0)
        if self.version >= 4:
            self.object_string = variable_string(raw, _OD_OBJECT_STRING)
            self.res_object_string = variable_string(raw, _OD_RES_OBJECT_STRING)
            pointer, offset, _, length, _ = struct.unpack_from("<qiiii", raw, 368)
            self.has_selection_string = bool((pointer or offset) and length)

    def answered(self, object_name: str, resolved_q_name: str, resolved_q_mgr_name: str) -> bytes:
        """Return the structure with the name of the opened object and, from version 3 on, the resolved names."""
        raw = self.raw[:12] + name_field(object_name) + self.raw[60:]
        if self.version < 3:
            return raw
        raw = raw[:248] + name_field(resolved_q_name) + name_field(resolved_q_mgr_name) + raw[344:]
        if self.version < 4:
            return raw
        return raw[:416] + _I32.pack(self.object_type) + raw[420:]

    def answered_topic(self, topic_string: bytes) -> tuple[bytes, bytes]:
        """Return the structure of an opened topic, and the end of its topic string: as many bytes as fit the caller's buffer."""
        if self.version < 4:
            return self.raw, b""
        raw = with_length(self.raw, _OD_RES_OBJECT_STRING, len(topic_string))
        raw = raw[:416] + _I32.pack(mq.MQOT_TOPIC) + raw[420:]
        return raw, rightmost(topic_string, self.res_object_string.room)


_OD_OBJECT_STRING, _OD_RES_OBJECT_STRING = 344, 392


def rightmost(text: bytes, room: int) -> bytes:
    """Return the last bytes of a text, at most ``room`` bytes."""
    return text[max(0, len(text) - room) :] if room else b""


class SubscriptionDescriptor:
    """An MQSD (IBM MQ, "MQSD")."""

    __slots__ = (
        "accounting_token",
        "appl_identity_data",
        "expiry",
        "level",
        "object_name",
        "object_string",
        "options",
        "pub_priority",
        "raw",
        "res_object_string",
        "selection_string",
        "sub_correl_id",
        "sub_name",
        "sub_user_data",
    )

    def __init__(self, raw: bytes) -> None:
        """Read an MQSD. Raises StructureError."""
        version_of(raw, b"SD  ", "MQSD")
        self.raw = raw
        (self.options,) = _I32.unpack_from(raw, 8)
        self.object_name = text_field(raw[12:60])
        (self.expiry,) = _I32.unpack_from(raw, 112)
        self.object_string = variable_string(raw, 120)
        self.sub_name = variable_string(raw, 144)
        self.sub_user_data = variable_string(raw, 168)
        self.sub_correl_id = raw[192:216]
        (self.pub_priority,) = _I32.unpack_from(raw, 216)
        self.accounting_token = raw[220:252]
        self.appl_identity_data = text_field(raw[252:284])
        self.selection_string = variable_string(raw, 288)
        (self.level,) = _I32.unpack_from(raw, 312)
        self.res_object_string = variable_string(raw, 320)

    def answered(self, sub_correl_id: bytes, topic_string: bytes) -> tuple[bytes, bytes]:
        """Return the structure of a new subscription, and the end of its topic string: as many bytes as fit the buffer."""
        raw = self.raw[:192] + sub_correl_id + self.raw[216:]
        return with_length(raw, 320, len(topic_string)), rightmost(topic_string, self.res_object_string.room)

    def resumed(
        self,
        options: int,
        object_name: str,
        expiry: int,
        user_data: bytes,
        pub_priority: int,
        accounting_token: bytes,
        appl_identity_data: str,
        level: int,
    ) -> bytes:
        """Return the structure, filled in with the values of a resumed subscription."""
        raw = self.raw[:8] + _I32.pack(options) + name_field(object_name) + self.raw[60:112] + _I32.pack(expiry)
        raw += self.raw[116:216] + _I32.pack(pub_priority) + accounting_token + name_field(appl_identity_data, 32)
        raw += self.raw[284:312] + _I32.pack(level) + self.raw[316:]
        return with_length(raw, 168, len(user_data))

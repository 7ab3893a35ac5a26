"""Reads and writes the MQI structures of messages: MQMD, MQMDE, MQGMO and MQPMO in every version.

MQOD and MQSD are in ``object_descriptors.py``. ``calls/message_properties.py`` reads the structures of message properties.

Layouts are those of 64-bit little-endian platforms. Character fields in requests are padded with NULs or blanks (characters after
a NUL count as blanks). In replies they are padded with blanks. Only the bytes of the caller's Version are read and written.

This module does not interpret the values.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter

from mqembedded import constants as mq
from mqembedded.wire.verbs import STRUCTURE_LENGTHS

MD_V1 = struct.Struct("<4s7i8sii24s24si48s48s12s32s32si28s8s8s4s")
MD_V2 = struct.Struct("<4s7i8sii24s24si48s48s12s32s32si28s8s8s4s24s4i")
_MDE = struct.Struct("<4s4i8si24s4i")
_I32 = struct.Struct("<i")
_TWO_I32 = struct.Struct("<ii")
_EXPIRY_OFFSET = 16
_BACKOUT_COUNT_OFFSET = 96
_MSG_FLAGS_OFFSET = 356

NO_GROUP = bytes(24)
NO_ID = bytes(24)


class StructureError(Exception):
    """A structure is missing, or has a StrucId or Version that IBM MQ does not know."""


def text_field(raw: bytes) -> str:
    """Return a character field as text, without its padding."""
    return raw.split(b"\0", 1)[0].decode("latin-1").rstrip(" ")


@lru_cache(1024)
def blank_padded(raw: bytes, length: int) -> bytes:
    """Return ``raw`` up to its first NUL, padded with blanks to ``length``."""
    return raw.split(b"\0", 1)[0].ljust(length)[:length]


@lru_cache(1024)
def name_field(name: str, length: int = 48) -> bytes:
    """Return a name as a character field of a structure, padded with blanks."""
    return name.encode("latin-1").ljust(length)


def version_of(raw: bytes, struc_id: bytes, name: str) -> int:
    """Return the Version of a structure; raise StructureError if it has another StrucId or a Version unknown to IBM MQ."""
    if len(raw) < 8 or raw[:4] != struc_id:
        raise StructureError(f"{name}: StrucId {raw[:4]!r}")
    version: int = _I32.unpack_from(raw, 4)[0]
    length = STRUCTURE_LENGTHS[name].get(version)
    if length is None or len(raw) < length:
        raise StructureError(f"{name}: version {version} in {len(raw)} bytes")
    return version


class MessageDescriptor:
    """An MQMD (IBM MQ, "MQMD"). A version 1 descriptor gets version 2's fields with their default values."""

    # The fields have the order of the structure, because pack() relies on this order.
    __slots__ = (  # noqa: RUF023 - that order, not the alphabet's
        "struc_id",
        "version",
        "report",
        "msg_type",
        "expiry",
        "feedback",
        "encoding",
        "coded_char_set_id",
        "format",
        "priority",
        "persistence",
        "msg_id",
        "correl_id",
        "backout_count",
        "reply_to_q",
        "reply_to_q_mgr",
        "user_identifier",
        "accounting_token",
        "appl_identity_data",
        "put_appl_type",
        "put_appl_name",
        "put_date",
        "put_time",
        "appl_origin_data",
        "group_id",
        "msg_seq_number",
        "offset",
        "msg_flags",
        "original_length",
    )

    def __init__(self, raw: bytes) -> None:
        """Read an MQMD. Raises StructureError."""
        version = version_of(raw, b"MD  ", "MQMD")
        full = raw[: MD_V2.size] if version == 2 else raw[: MD_V1.size] + _MD_V2_DEFAULTS
        (
            self.struc_id,
            self.version,
            self.report,
            self.msg_type,
            self.expiry,
            self.feedback,
            self.encoding,
            self.coded_char_set_id,
            self.format,
            self.priority,
            self.persistence,
            self.msg_id,
            self.correl_id,
            self.backout_count,
            self.reply_to_q,
            self.reply_to_q_mgr,
            self.user_identifier,
            self.accounting_token,
            self.appl_identity_data,
            self.put_appl_type,
            self.put_appl_name,
            self.put_date,
            self.put_time,
            self.appl_origin_data,
            self.group_id,
            self.msg_seq_number,
            self.offset,
            self.msg_flags,
            self.original_length,
        ) = MD_V2.unpack(full)

    def pack(self, version: int) -> bytes:
        """Return the structure in this version: 324 bytes in version 1, 364 bytes in version 2."""
        raw = MD_V2.pack(b"MD  ", version, *_fields_behind_version(self))
        return raw if version == 2 else raw[:324]


_fields_behind_version = attrgetter(*MessageDescriptor.__slots__[2:])
_MD_V2_DEFAULTS = struct.pack("<24s4i", NO_GROUP, 1, 0, mq.MQMF_NONE, mq.MQOL_UNDEFINED)


class SearchDescriptor:
    """An MQMD as MQGET's input: the values that select a message, and the requested conversion.

    A field is decoded only when it is used, because most calls use no field.
    """

    __slots__ = ("_raw", "version")

    def __init__(self, raw: bytes) -> None:
        """Keep the structure; raise StructureError if it is not an MQMD."""
        self.version = version_of(raw, b"MD  ", "MQMD")
        self._raw = raw if self.version > 1 else raw[: MD_V1.size] + _MD_V2_DEFAULTS

    @property
    def encoding_and_ccsid(self) -> tuple[int, int]:
        """The requested Encoding and CodedCharSetId."""
        return describes_data(self._raw)

    @property
    def msg_id(self) -> bytes:
        """The MsgId to match, 24 bytes."""
        return self._raw[48:72]

    @property
    def correl_id(self) -> bytes:
        """The CorrelId to match, 24 bytes."""
        return self._raw[72:96]

    @property
    def group_id(self) -> bytes:
        """The GroupId to match, 24 bytes."""
        return self._raw[324:348]

    @property
    def msg_seq_number(self) -> int:
        """The MsgSeqNumber to match."""
        number: int = _I32.unpack_from(self._raw, 348)[0]
        return number

    @property
    def offset(self) -> int:
        """The Offset to match."""
        offset: int = _I32.unpack_from(self._raw, 352)[0]
        return offset


def delivered_descriptor(stored: bytes, backout_count: int, expiry: int | None = None) -> bytes:
    """Return a stored version 2 descriptor with this delivery's backout count and, if given, the remaining Expiry.

    ``stored`` has backout count 0.
    """
    if not backout_count and expiry is None:
        return stored
    md = stored[:_BACKOUT_COUNT_OFFSET] + _I32.pack(backout_count) + stored[_BACKOUT_COUNT_OFFSET + 4 :]
    return md if expiry is None else md[:_EXPIRY_OFFSET] + _I32.pack(expiry) + md[_EXPIRY_OFFSET + 4 :]


def describes_data(stored: bytes) -> tuple[int, int]:
    """Return Encoding and CodedCharSetId of a packed descriptor."""
    encoding, ccsid = _TWO_I32.unpack_from(stored, 24)
    return encoding, ccsid


def describing_data(stored: bytes, ccsid: int, encoding: int) -> bytes:
    """Return a packed descriptor with another CodedCharSetId and Encoding."""
    return stored[:24] + struct.pack("<ii", encoding, ccsid) + stored[32:]


def as_only_segment(stored: bytes, msg_flags: int) -> bytes:
    """Return the version 2 descriptor of a reassembled message: the first segment's descriptor, with these flags."""
    return stored[:_MSG_FLAGS_OFFSET] + struct.pack("<ii", msg_flags, mq.MQOL_UNDEFINED)


def as_version_1(stored: bytes, data: bytes, *, always: bool = False) -> tuple[bytes, bytes]:
    """Return descriptor and data for a reader with a version 1 MQMD.

    If the group fields differ from their defaults, or if ``always`` is set, the data gets an MQMDE in front. The descriptor's
    Format, Encoding and CodedCharSetId then describe the MQMDE (IBM MQ, "MQMDE").
    """
    first = stored[:4] + _I32.pack(1) + stored[8:324]
    if stored[324:] == _MD_V2_DEFAULTS and not always:
        return first, data
    encoding, ccsid, text_format = struct.unpack_from("<ii8s", stored, 24)
    group_fields = struct.unpack_from("<24s4i", stored, 324)
    extension = _MDE.pack(b"MDE ", 2, _MDE.size, encoding, ccsid, text_format, 0, *group_fields)
    described = struct.pack("<ii8s", mq.MQENC_NATIVE, ccsid, mq.MQFMT_MD_EXTENSION)
    return first[:24] + described + first[40:], extension + data


def take_extension(md: MessageDescriptor, data: bytes) -> bytes:
    """Move the fields of the MQMDE at the beginning of ``data`` into a version 1 descriptor; return the data after the MQMDE.

    Raises:
        StructureError: the descriptor announces an MQMDE, but the data has no well-formed MQMDE (MQRC_MDE_ERROR).
    """
    if len(data) < _MDE.size:
        raise StructureError(f"MQMDE: {len(data)} bytes of data, {_MDE.size} expected")
    struc_id, version, length, encoding, ccsid, text_format, _, *group_fields = _MDE.unpack_from(data)
    if struc_id != b"MDE " or version != 2 or length != _MDE.size:
        raise StructureError(f"MQMDE: StrucId {struc_id!r}, version {version}, length {length}")
    md.encoding, md.coded_char_set_id, md.format = encoding, ccsid, text_format
    md.group_id, md.msg_seq_number, md.offset, md.msg_flags, md.original_length = group_fields
    return data[_MDE.size :]


@dataclass(frozen=True, slots=True)
class GetMessageOptions:
    """An MQGMO (IBM MQ, "MQGMO"). Version 1 matches MsgId and CorrelId, and returns no statuses."""

    raw: bytes
    version: int
    options: int
    wait_interval_ms: int
    match_options: int
    msg_token: bytes
    msg_handle: int

    @classmethod
    @lru_cache
    def read(cls, raw: bytes) -> GetMessageOptions:
        """Return the structure that ``raw`` contains. Raises StructureError. Recent structures are cached."""
        version = version_of(raw, b"GMO ", "MQGMO")
        options, wait_interval_ms = _TWO_I32.unpack_from(raw, 8)
        match_options = mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID
        if version >= 2:
            (match_options,) = _I32.unpack_from(raw, 72)
        msg_handle = struct.unpack_from("<q", raw, 104)[0] if version >= 4 else 0
        token = raw[80:96] if version >= 3 else b""
        return cls(raw, version, options, wait_interval_ms, match_options, token, msg_handle)

    def answered(self, resolved_q_name: bytes, statuses: bytes, token: bytes, returned_length: int) -> bytes:
        """Return the structure with its output fields set. ``statuses`` are GroupStatus, SegmentStatus and Segmentation."""
        raw = self.raw
        out = raw[:24] + resolved_q_name
        if self.version >= 2:
            out += raw[72:76] + statuses + b" "
        if self.version >= 3:
            out += token + _I32.pack(returned_length)
        return out + raw[len(out) :]


@dataclass(frozen=True, slots=True)
class PutMessageOptions:
    """An MQPMO (IBM MQ, "MQPMO")."""

    raw: bytes
    version: int
    options: int
    context: int
    recs_present: int
    original_msg_handle: int
    new_msg_handle: int
    action: int
    pub_level: int

    @classmethod
    @lru_cache
    def read(cls, raw: bytes) -> PutMessageOptions:
        """Return the structure that ``raw`` contains. Raises StructureError. Recent structures are cached."""
        version = version_of(raw, b"PMO ", "MQPMO")
        options, _, context = struct.unpack_from("<iii", raw, 8)
        recs_present = _I32.unpack_from(raw, 128)[0] if version >= 2 else 0
        original, new, action = struct.unpack_from("<qqi", raw, 160) if version >= 3 else (0, 0, mq.MQACTP_NEW)
        pub_level = _I32.unpack_from(raw, 180)[0] if version >= 3 else _HIGHEST_LEVEL
        return cls(raw, version, options, context, recs_present, original, new, action, pub_level)

    def answered(self, resolved_q_name: bytes, resolved_q_mgr_name: bytes) -> bytes:
        """Return the structure with its output fields set: KnownDestCount (1), and the names of queue and queue manager."""
        raw = self.raw
        return raw[:20] + _ONE_KNOWN_DESTINATION + resolved_q_name + resolved_q_mgr_name + raw[128:]


_HIGHEST_LEVEL = 9
_ONE_KNOWN_DESTINATION = struct.pack("<iii", 1, 0, 0)

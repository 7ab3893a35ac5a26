"""Packs MQMD, MQPMO, MQGMO, MQOD and MQSTS once into templates, which are copied for each call, and reads their fields.

Both bindings need structures of a fixed size (MQMD 364, MQPMO 184, MQGMO 112, MQOD 424, MQSTS 280 bytes), whatever their
Version. The queue manager reads and writes only the fields of that Version.

A template is a ``bytearray``. A call gets a copy as ``bytes`` (``b"" + template`` is the fastest way). The copy is necessary,
because the C libraries write their outputs *into* the immutable object that they get. Without a copy, MsgId, GroupId and resolved
names from one call would be inputs of the next call.

Layouts: IBM MQ Developing applications reference, topics MQMD, MQPMO, MQGMO, MQOD, MQSTS; 64-bit, native byte order.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from mqgroups.mqi import constants as mq

# The highest value of MAXMSGL of a queue, a channel or a queue manager (IBM MQ, topic "MaxMsgLength").
LONGEST_MESSAGE_BYTES = 104_857_600
# The options of MQPUT: for a message that keeps the MsgId with which it was got, and for a new message.
PUT_SAME_MESSAGE = mq.MQPMO_SYNCPOINT | mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_FAIL_IF_QUIESCING
PUT_NEW_MESSAGE = PUT_SAME_MESSAGE | mq.MQPMO_NEW_MSG_ID

MD_LENGTH, PMO_LENGTH, GMO_LENGTH, OD_LENGTH, STS_LENGTH = 364, 184, 112, 424, 280

_LONG = struct.Struct("i")
_MD = struct.Struct("4s7i8s2i24s24si48s48s12s32s32si28s8s8s4s24s4i")
_PMO = struct.Struct("4s7i48s48s4iPPqqii")
_GMO = struct.Struct("4s5i48si4s16siiq")
_DESCRIBES = struct.Struct("ii8s")
_OD = struct.Struct("4s2i48s48s48s12s6iPP40s48s48sP4iP4iP4ii4x")
_STS = struct.Struct("4s7i48s48s48s48s")

# Offsets of the fields that are read back or changed, in bytes.
MD_REPORT = 8
MD_MSG_TYPE = 12
MD_EXPIRY = 16
MD_FEEDBACK = 20
MD_ENCODING = 24
MD_CODED_CHAR_SET_ID = 28
MD_FORMAT = slice(32, 40)
MD_PRIORITY = 40
MD_PERSISTENCE = 44
MD_MSG_ID = slice(48, 72)
MD_CORREL_ID = slice(72, 96)
MD_BACKOUT_COUNT = 96
MD_REPLY_TO_Q = slice(100, 148)
MD_REPLY_TO_Q_MGR = slice(148, 196)
MD_USER_IDENTIFIER = slice(196, 208)
MD_PUT_APPL_TYPE = 272
MD_PUT_APPL_NAME = slice(276, 304)
MD_PUT_DATE = slice(304, 312)
MD_PUT_TIME = slice(312, 320)
MD_GROUP_ID = slice(324, 348)
MD_MSG_SEQ_NUMBER = 348
MD_OFFSET = 352
MD_MSG_FLAGS = 356
PMO_OPTIONS = 8
PMO_RESOLVED_Q_NAME = slice(32, 80)
PMO_RESOLVED_Q_MGR_NAME = slice(80, 128)
GMO_GROUP_STATUS = 76
GMO_SEGMENT_STATUS = 77
OD_OBJECT_NAME = slice(12, 60)
OD_RESOLVED_Q_NAME = slice(248, 296)
OD_RESOLVED_Q_MGR_NAME = slice(296, 344)
STS_COMP_CODE = 8
STS_REASON = 12
STS_PUT_WARNING_COUNT = 20
STS_PUT_FAILURE_COUNT = 24
STS_OBJECT_NAME = slice(32, 80)

# These are C functions, because they are called for each message. ``group_place(md)`` returns GroupId and MsgSeqNumber;
# ``got_fields(md)`` returns six bytes of Format, MsgId, BackoutCount, GroupId, MsgSeqNumber and Offset.
group_place: Callable[[bytes], tuple[bytes, int]] = struct.Struct("324x24si").unpack_from
got_fields: Callable[[bytes], tuple[bytes, bytes, int, bytes, int, int]] = struct.Struct(
    "32x6s10x24s24xi224x24s2i"
).unpack_from


def md(
    *,
    format_name: bytes = mq.MQFMT_NONE,
    ccsid: int = mq.MQCCSI_Q_MGR,
    priority: int = mq.MQPRI_PRIORITY_AS_Q_DEF,
    persistence: int = mq.MQPER_PERSISTENT,
    msg_id: bytes = mq.MQMI_NONE,
    correl_id: bytes = mq.MQCI_NONE,
    group_id: bytes = mq.MQGI_NONE,
    msg_seq_number: int = 1,
    offset: int = 0,
    msg_flags: int = mq.MQMF_NONE,
    msg_type: int = mq.MQMT_DATAGRAM,
    feedback: int = mq.MQFB_NONE,
    expiry: int = mq.MQEI_UNLIMITED,
    user: str = "",
) -> bytearray:
    """Return an MQMD of Version 2, because Version 1 has no groups. By default it is a datagram that never expires.

    ``expiry`` is in tenths of a second. ``user`` counts only with MQPMO_SET_IDENTITY_CONTEXT.
    """
    return bytearray(
        _MD.pack(
            b"MD  ",
            2,
            mq.MQRO_NONE,
            msg_type,
            expiry,
            feedback,
            mq.MQENC_NATIVE,
            ccsid,
            format_name,
            priority,
            persistence,
            msg_id,
            correl_id,
            0,  # BackoutCount
            b"",  # ReplyToQ
            b"",  # ReplyToQMgr
            user.encode(),  # UserIdentifier
            b"",  # AccountingToken
            b"",  # ApplIdentityData
            mq.MQAT_NO_CONTEXT,
            b"",  # PutApplName
            b"",  # PutDate
            b"",  # PutTime
            b"",  # ApplOriginData
            group_id,
            msg_seq_number,
            offset,
            msg_flags,
            mq.MQOL_UNDEFINED,
        )
    )


def pmo(options: int, msg_handle: int = mq.MQHM_NONE, *, context: int = 0) -> bytearray:
    """Return an MQPMO with these MQPMO_* options. It has Version 1, or Version 3 if there is a message handle.

    z/OS does not support Version 2 (IBM MQ, "MQPMO - Version"). ``context`` is the object handle of the queue whose message
    context MQPMO_PASS_*_CONTEXT passes on.
    """
    version = 1 if msg_handle == mq.MQHM_NONE else 3
    return bytearray(
        _PMO.pack(b"PMO ", version, options, -1, context, 0, 0, 0, b"", b"", 0, 0, 0, 0, 0, 0, msg_handle, 0, 0, 9)
    )


def asynchronous(pmo: bytearray) -> bytearray:
    """Return a copy of an MQPMO with MQPMO_ASYNC_RESPONSE instead of MQPMO_SYNC_RESPONSE."""
    copy = bytearray(pmo)
    options = (long_at(pmo, PMO_OPTIONS) & ~mq.MQPMO_SYNC_RESPONSE) | mq.MQPMO_ASYNC_RESPONSE
    _LONG.pack_into(copy, PMO_OPTIONS, options)
    return copy


def gmo(options: int, *, match_options: int = mq.MQMO_NONE, wait_interval_ms: int = 0) -> bytearray:
    """Return an MQGMO of Version 2, the first Version with MatchOptions and GroupStatus.

    ``match_options`` is always set, because the MQI's default matches MsgId and CorrelId, and each MQGET fills these fields with
    values of the message that it returns.

    MQGMO_NO_PROPERTIES is set unless ``options`` ask for an MQRFH2. Without this option, PROPCTL(COMPAT) could make the queue
    manager put properties before the data. For example, an API exit for tracing may add properties to every message.
    """
    if not options & mq.MQGMO_PROPERTIES_FORCE_MQRFH2:
        options |= mq.MQGMO_NO_PROPERTIES
    return bytearray(
        _GMO.pack(b"GMO ", 2, options, wait_interval_ms, 0, 0, b"", match_options, b"    ", bytes(16), -1, 0, 0)
    )


def od(
    object_name: str, *, object_type: int = mq.MQOT_Q, object_q_mgr_name: str = "", dynamic_q_name: str = ""
) -> bytes:
    """Return an MQOD of Version 3, the first Version with ResolvedQName and ResolvedQMgrName.

    ``dynamic_q_name`` is the name of the queue that is created if ``object_name`` is a model queue.
    """
    return _OD.pack(
        b"OD  ",
        3,
        object_type,
        object_name.encode(),
        object_q_mgr_name.encode(),
        dynamic_q_name.encode(),
        b"",  # AlternateUserId
        *(0,) * 6,
        0,
        0,
        b"",  # AlternateSecurityId
        b"",  # ResolvedQName
        b"",  # ResolvedQMgrName
        *(0, 0, 0, 0, 0) * 3,
        -3,  # ResolvedType: not resolved
    )


def sts() -> bytes:
    """Return an MQSTS of Version 1, which has room for queue names. It is padded to the length of Version 2.

    Version 1 has no pointers, so all its fields are at the same offsets on every platform.
    """
    return _STS.pack(b"STAT", 1, 0, 0, 0, 0, 0, mq.MQOT_Q, b"", b"", b"", b"").ljust(STS_LENGTH, b"\0")


def describing(md: bytes, encoding: int, ccsid: int, format_name: bytes) -> bytes:
    """Return a copy of an MQMD with this Encoding, CodedCharSetId and Format."""
    return md[:MD_ENCODING] + _DESCRIBES.pack(encoding, ccsid, format_name) + md[MD_FORMAT.stop :]


def asking_for(md: bytes | bytearray, report: int) -> bytearray:
    """Return a copy of an MQMD with these MQRO_* options in Report."""
    copy = bytearray(md)
    _LONG.pack_into(copy, MD_REPORT, report)
    return copy


def long_at(structure: bytes | bytearray, offset: int) -> int:
    """Return the 32-bit field at ``offset``."""
    value: int = _LONG.unpack_from(structure, offset)[0]
    return value


def name_at(structure: bytes | bytearray, field: slice) -> str:
    """Return a character field as ``str``."""
    return text(structure[field])


def text(value: bytes | bytearray) -> str:
    """Return the characters before the first NUL as ``str``, without trailing blanks."""
    return value.split(b"\0", 1)[0].rstrip(b" ").decode("utf-8", "replace")

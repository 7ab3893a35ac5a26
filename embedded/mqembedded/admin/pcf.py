"""Reads and writes messages in programmable command formats (PCF).

A message is an MQCFH and then parameters. Reading is strict. A malformed command always raises ``PCFError``, with the reason
code that IBM MQ documents. Integers are read in the byte order of the message's Encoding, and written in this machine's byte
order. Text is not converted, but stored byte for byte, as Latin-1 characters, like all names and descriptions in this package.

``commands/`` has the parameters of each command. ``command_server.py`` gets and puts the messages.

Source: IBM MQ, "Structures for commands and responses" and the topics of MQCFH, MQCFIN and so on; "PCF reason codes".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mqembedded import constants as mq
from mqembedded.platform import Platform
from mqembedded.wire import pcf_constants as pcf

Value: TypeAlias = "int | str | bytes | tuple[int, ...] | tuple[str, ...] | tuple[Parameter, ...]"

_INTEGER_ENCODING = 0xF
# Empty strings in a list take no space in a message, so their number needs a limit. This is the limit of a namelist.
_MOST_EMPTY_TEXTS = 256
_BYTE_ORDERS = {1: ">", 2: "<"}
_NATIVE = "<" if mq.MQENC_NATIVE == mq.MQENC_REVERSED else ">"
_COMMAND_TYPES = frozenset({pcf.MQCFT_COMMAND, pcf.MQCFT_COMMAND_XR})
_VERSIONS = frozenset({pcf.MQCFH_VERSION_1, pcf.MQCFH_VERSION_2, pcf.MQCFH_VERSION_3})
_COMPARISONS = frozenset(
    {
        pcf.MQCFOP_LESS,
        pcf.MQCFOP_EQUAL,
        pcf.MQCFOP_GREATER,
        pcf.MQCFOP_NOT_LESS,
        pcf.MQCFOP_NOT_EQUAL,
        pcf.MQCFOP_NOT_GREATER,
    }
)
_CONTAINS = frozenset({pcf.MQCFOP_CONTAINS, pcf.MQCFOP_EXCLUDES})
_STRING_OPERATORS = (
    _COMPARISONS | _CONTAINS | {pcf.MQCFOP_LIKE, pcf.MQCFOP_NOT_LIKE, pcf.MQCFOP_CONTAINS_GEN, pcf.MQCFOP_EXCLUDES_GEN}
)


class PCFError(Exception):
    """The command is refused. ``reason`` is the MQRCCF or MQRC code.

    ``error_parameter`` and ``error_value`` are the identifier and the value of an MQCFIN in the error response. This MQCFIN
    names the wrong parameter, or the wrong selector in a list (IBM MQ, "Standard responses").
    """

    def __init__(self, reason: int, error_value: int = 0, error_parameter: int = pcf.MQIACF_PARAMETER_ID) -> None:
        super().__init__(pcf.pcf_reason_name(reason) or mq.reason_name(reason))
        self.reason = reason
        self.error_value = error_value
        self.error_parameter = error_parameter


@dataclass(frozen=True, slots=True)
class Header:
    """The fields of an MQCFH."""

    type: int
    command: int
    version: int = pcf.MQCFH_VERSION_1
    msg_seq_number: int = 1
    control: int = pcf.MQCFC_LAST
    comp_code: int = mq.MQCC_OK
    reason: int = mq.MQRC_NONE


@dataclass(frozen=True, slots=True)
class Parameter:
    """A PCF parameter, with its structure type (MQCFT_*), identifier and value. A filter also has an operator.

    The value of a list is a tuple. The value of a group (MQCFGR) is a tuple of parameters.
    """

    type: int
    identifier: int
    value: Value
    operator: int = 0


# --- writing


def integer(identifier: int, value: int) -> Parameter:
    """Return an MQCFIN parameter."""
    return Parameter(pcf.MQCFT_INTEGER, identifier, value)


def integers(identifier: int, values: Sequence[int]) -> Parameter:
    """Return an MQCFIL parameter."""
    return Parameter(pcf.MQCFT_INTEGER_LIST, identifier, tuple(values))


def string(identifier: int, value: str, length: int = 0) -> Parameter:
    """Return an MQCFST parameter whose string is padded with blanks to ``length``, as in IBM MQ's responses."""
    return Parameter(pcf.MQCFT_STRING, identifier, value.ljust(length))


def strings(identifier: int, values: Sequence[str], length: int = 0) -> Parameter:
    """Return an MQCFSL parameter whose strings are padded with blanks to ``length``."""
    return Parameter(pcf.MQCFT_STRING_LIST, identifier, tuple(value.ljust(length) for value in values))


def byte_string(identifier: int, value: bytes) -> Parameter:
    """Return an MQCFBS parameter."""
    return Parameter(pcf.MQCFT_BYTE_STRING, identifier, value)


def build(header: Header, parameters: Sequence[Parameter]) -> bytes:
    """Return a PCF message, in this machine's byte order."""
    return struct.pack(
        _NATIVE + "9i",
        header.type,
        pcf.MQCFH_STRUC_LENGTH,
        header.version,
        header.command,
        header.msg_seq_number,
        header.control,
        header.comp_code,
        header.reason,
        len(parameters),
    ) + b"".join(map(_built, parameters))


def _built(parameter: Parameter) -> bytes:
    value, kind = parameter.value, parameter.type
    if kind == pcf.MQCFT_GROUP:
        assert isinstance(value, tuple)
        members = [member for member in value if isinstance(member, Parameter)]
        return _structure(parameter, struct.pack(_NATIVE + "i", len(members)), b"") + b"".join(map(_built, members))
    if kind in _LISTS_OF_INTEGERS:
        assert isinstance(value, tuple)
        packed = struct.pack(f"{_NATIVE}i{len(value)}{_LISTS_OF_INTEGERS[kind]}", len(value), *value)
        return _structure(parameter, packed, b"")
    if kind == pcf.MQCFT_STRING_LIST:
        assert isinstance(value, tuple)
        texts = [_encoded(text) for text in value if isinstance(text, str)]
        length = max(map(len, texts), default=0)
        fixed = struct.pack(_NATIVE + "iii", mq.MQCCSI_DEFAULT, len(texts), length)
        return _structure(parameter, fixed, b"".join(text.ljust(length) for text in texts))
    operator = struct.pack(_NATIVE + "i", parameter.operator) if kind in _FILTERS else b""
    if isinstance(value, int):
        fixed = struct.pack(_NATIVE + ("q" if kind == pcf.MQCFT_INTEGER64 else "i"), value)
        return _structure(parameter, operator + fixed, b"")
    if isinstance(value, str):
        data = _encoded(value)
        return _structure(parameter, operator + struct.pack(_NATIVE + "ii", mq.MQCCSI_DEFAULT, len(data)), data)
    assert isinstance(value, bytes)
    return _structure(parameter, operator + struct.pack(_NATIVE + "i", len(value)), value)


def _structure(parameter: Parameter, fixed: bytes, data: bytes) -> bytes:
    """Return a parameter's structure, which ends with ``fixed`` and ``data``, padded to a multiple of four bytes."""
    data += bytes(-len(data) % 4)
    length = 12 + len(fixed) + len(data)
    if parameter.type == pcf.MQCFT_INTEGER64:
        # A reserved field aligns the 64-bit value.
        fixed = bytes(4) + fixed
        length += 4
    return struct.pack(_NATIVE + "iii", parameter.type, length, parameter.identifier) + fixed + data


def _encoded(text: str) -> bytes:
    return text.encode("latin-1", "replace")


_LISTS_OF_INTEGERS = {pcf.MQCFT_INTEGER_LIST: "i", pcf.MQCFT_INTEGER64_LIST: "q"}
_FILTERS = frozenset({pcf.MQCFT_INTEGER_FILTER, pcf.MQCFT_STRING_FILTER, pcf.MQCFT_BYTE_STRING_FILTER})


# --- reading


def parse_header(data: bytes, encoding: int) -> Header:
    """Return a header without checks, because even the response to a malformed command needs its fields."""
    order = _BYTE_ORDERS.get(encoding & _INTEGER_ENCODING, _NATIVE)
    if len(data) < pcf.MQCFH_STRUC_LENGTH:
        return Header(pcf.MQCFT_COMMAND, pcf.MQCMD_NONE)
    kind, _, version, command, seq, control, comp, reason, _ = struct.unpack_from(order + "9i", data)
    return Header(kind, command, version, seq, control, comp, reason)


def parse_command(data: bytes, encoding: int, platform: Platform = Platform.UNIX) -> tuple[Header, list[Parameter]]:
    """Read a command message. Raises PCFError."""
    header, parameters = parse(data, encoding)
    zos = platform is Platform.ZOS
    if header.type not in ({pcf.MQCFT_COMMAND_XR} if zos else _COMMAND_TYPES):
        raise PCFError(pcf.MQRCCF_CFH_TYPE_ERROR)
    if header.version not in ({pcf.MQCFH_VERSION_3} if zos else _VERSIONS):
        raise PCFError(pcf.MQRCCF_CFH_VERSION_ERROR)
    if header.msg_seq_number != 1:
        raise PCFError(pcf.MQRCCF_CFH_MSG_SEQ_NUMBER_ERR)
    if header.control != pcf.MQCFC_LAST:
        raise PCFError(pcf.MQRCCF_CFH_CONTROL_ERROR)
    return header, parameters


def parse(data: bytes, encoding: int) -> tuple[Header, list[Parameter]]:
    """Read any PCF message, such as a command, response, event or statistics. Raises PCFError."""
    order = _BYTE_ORDERS.get(encoding & _INTEGER_ENCODING)
    if order is None:
        raise PCFError(pcf.MQRCCF_ENCODING_ERROR)
    if len(data) < pcf.MQCFH_STRUC_LENGTH:
        raise PCFError(pcf.MQRCCF_MSG_LENGTH_ERROR)
    _, length, *_, count = struct.unpack_from(order + "9i", data)
    if length != pcf.MQCFH_STRUC_LENGTH:
        raise PCFError(pcf.MQRCCF_CFH_LENGTH_ERROR)
    if count < 0:
        raise PCFError(pcf.MQRCCF_CFH_PARM_COUNT_ERROR)
    reader = _Reader(data, order)
    parameters = [reader.parameter() for _ in range(count)]
    if reader.at != len(data):
        raise PCFError(pcf.MQRCCF_MSG_LENGTH_ERROR)
    return parse_header(data, encoding), parameters


class _Reader:
    """A reader of consecutive structures. It checks each structure's length before it uses the length."""

    def __init__(self, data: bytes, order: str) -> None:
        self.data, self.order, self.at = data, order, pcf.MQCFH_STRUC_LENGTH

    def parameter(self, *, in_group: bool = False) -> Parameter:
        left = len(self.data) - self.at
        if left < 12:
            raise PCFError(pcf.MQRCCF_MSG_LENGTH_ERROR)
        kind, length, identifier = struct.unpack_from(self.order + "iii", self.data, self.at)
        known = _READERS.get(kind)
        if known is None or (in_group and kind == pcf.MQCFT_GROUP):
            raise PCFError(pcf.MQRCCF_STRUCTURE_TYPE_ERROR)
        fixed, length_error, read = known
        if length < fixed or length % 4:
            raise PCFError(length_error, identifier)
        if length > left:
            raise PCFError(pcf.MQRCCF_MSG_LENGTH_ERROR)
        body = self.data[self.at + 12 : self.at + length]
        self.at += length
        if kind == pcf.MQCFT_GROUP:
            (count,) = struct.unpack(self.order + "i", body[:4])
            if count < 0:
                raise PCFError(pcf.MQRCCF_CFGR_PARM_COUNT_ERROR, identifier)
            return Parameter(kind, identifier, tuple(self.parameter(in_group=True) for _ in range(count)))
        value, operator = read(body, self.order, identifier)
        return Parameter(kind, identifier, value, operator)


def _exactly(size: int, body: bytes, error: int, identifier: int) -> None:
    if len(body) != size:
        raise PCFError(error, identifier)


def _read_integer(body: bytes, order: str, identifier: int) -> tuple[Value, int]:
    _exactly(4, body, pcf.MQRCCF_CFIN_LENGTH_ERROR, identifier)
    return struct.unpack(order + "i", body)[0], 0


def _read_integer64(body: bytes, order: str, identifier: int) -> tuple[Value, int]:
    _exactly(12, body, pcf.MQRCCF_CFIN_LENGTH_ERROR, identifier)
    return struct.unpack_from(order + "q", body, 4)[0], 0


def _read_integers(body: bytes, order: str, identifier: int) -> tuple[Value, int]:
    return _list_of(body, order, identifier, 4, "i"), 0


def _read_integers64(body: bytes, order: str, identifier: int) -> tuple[Value, int]:
    return _list_of(body, order, identifier, 8, "q"), 0


def _list_of(body: bytes, order: str, identifier: int, size: int, code: str) -> tuple[int, ...]:
    (count,) = struct.unpack_from(order + "i", body)
    if count < 0:
        raise PCFError(pcf.MQRCCF_CFIL_COUNT_ERROR, identifier)
    _exactly(4 + size * count, body, pcf.MQRCCF_CFIL_LENGTH_ERROR, identifier)
    return struct.unpack_from(f"{order}{count}{code}", body, 4)


def _read_string(body: bytes, order: str, identifier: int) -> tuple[Value, int]:
    ccsid, length = struct.unpack_from(order + "ii", body)
    _check_ccsid(ccsid, identifier)
    return _text(_take(body[8:], length, pcf.MQRCCF_CFST_STRING_LENGTH_ERR, identifier)), 0


def _read_strings(body: bytes, order: str, identifier: int) -> tuple[Value, int]:
    ccsid, count, length = struct.unpack_from(order + "iii", body)
    _check_ccsid(ccsid, identifier)
    if count < 0:
        raise PCFError(pcf.MQRCCF_CFSL_COUNT_ERROR, identifier)
    if length < 0:
        raise PCFError(pcf.MQRCCF_CFSL_STRING_LENGTH_ERR, identifier)
    packed = body[12:]
    if not length * count <= len(packed) <= length * count + 3 or count > max(len(packed), _MOST_EMPTY_TEXTS):
        raise PCFError(pcf.MQRCCF_CFSL_LENGTH_ERROR, identifier)
    return tuple(_text(packed[at * length : (at + 1) * length]) for at in range(count)), 0


def _read_bytes(body: bytes, order: str, identifier: int) -> tuple[Value, int]:
    (length,) = struct.unpack_from(order + "i", body)
    return _take(body[4:], length, pcf.MQRCCF_CFBS_STRING_LENGTH_ERR, identifier), 0


def _read_integer_filter(body: bytes, order: str, identifier: int) -> tuple[Value, int]:
    _exactly(8, body, pcf.MQRCCF_CFIF_LENGTH_ERROR, identifier)
    operator, value = struct.unpack(order + "ii", body)
    _check_operator(operator, _COMPARISONS | _CONTAINS, pcf.MQRCCF_CFIF_OPERATOR_ERROR, identifier)
    return value, operator


def _read_string_filter(body: bytes, order: str, identifier: int) -> tuple[Value, int]:
    operator, ccsid, length = struct.unpack_from(order + "iii", body)
    _check_operator(operator, _STRING_OPERATORS, pcf.MQRCCF_CFSF_OPERATOR_ERROR, identifier)
    _check_ccsid(ccsid, identifier)
    return _text(_take(body[12:], length, pcf.MQRCCF_CFSF_FILTER_VAL_LEN_ERR, identifier)), operator


def _read_bytes_filter(body: bytes, order: str, identifier: int) -> tuple[Value, int]:
    operator, length = struct.unpack_from(order + "ii", body)
    _check_operator(operator, _COMPARISONS, pcf.MQRCCF_CFBF_OPERATOR_ERROR, identifier)
    return _take(body[8:], length, pcf.MQRCCF_CFBF_FILTER_VAL_LEN_ERR, identifier), operator


def _take(padded: bytes, length: int, error: int, identifier: int) -> bytes:
    """Return the first ``length`` bytes. Raises PCFError if the rest is too long to be padding to a multiple of four."""
    if not 0 <= length <= len(padded) or len(padded) - length > 3:
        raise PCFError(error, identifier)
    return padded[:length]


def _check_operator(operator: int, known: frozenset[int], error: int, identifier: int) -> None:
    if operator not in known:
        raise PCFError(error, identifier)


def _check_ccsid(ccsid: int, identifier: int) -> None:
    """Raise PCFError for a character set, such as EBCDIC or UTF-16, whose bytes for names differ from ASCII."""
    if ccsid < mq.MQCCSI_DEFAULT or ccsid in _OTHER_CCSIDS:
        raise PCFError(pcf.MQRCCF_CCSID_ERROR, identifier)


_OTHER_CCSIDS = frozenset({37, 273, 277, 278, 280, 284, 285, 297, 500, 871, 875, 1026, 1047, 1140, 1200, 13488, 17584})


def _text(raw: bytes) -> str:
    """Return a text without its padding, which is blanks or, from some bindings, NULs."""
    return raw.split(b"\0", 1)[0].decode("latin-1").rstrip(" ")


# By structure type: the length of the fixed part, the reason code for a wrong length, and the function that reads the rest.
_READERS = {
    pcf.MQCFT_INTEGER: (16, pcf.MQRCCF_CFIN_LENGTH_ERROR, _read_integer),
    pcf.MQCFT_INTEGER64: (24, pcf.MQRCCF_CFIN_LENGTH_ERROR, _read_integer64),
    pcf.MQCFT_INTEGER_LIST: (16, pcf.MQRCCF_CFIL_LENGTH_ERROR, _read_integers),
    pcf.MQCFT_INTEGER64_LIST: (16, pcf.MQRCCF_CFIL_LENGTH_ERROR, _read_integers64),
    pcf.MQCFT_STRING: (20, pcf.MQRCCF_CFST_LENGTH_ERROR, _read_string),
    pcf.MQCFT_STRING_LIST: (24, pcf.MQRCCF_CFSL_LENGTH_ERROR, _read_strings),
    pcf.MQCFT_BYTE_STRING: (16, pcf.MQRCCF_CFBS_LENGTH_ERROR, _read_bytes),
    pcf.MQCFT_INTEGER_FILTER: (20, pcf.MQRCCF_CFIF_LENGTH_ERROR, _read_integer_filter),
    pcf.MQCFT_STRING_FILTER: (24, pcf.MQRCCF_CFSF_LENGTH_ERROR, _read_string_filter),
    pcf.MQCFT_BYTE_STRING_FILTER: (20, pcf.MQRCCF_CFBF_LENGTH_ERROR, _read_bytes_filter),
    pcf.MQCFT_GROUP: (16, pcf.MQRCCF_CFGR_LENGTH_ERROR, _read_bytes),
}

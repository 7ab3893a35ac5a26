"""PCF messages: writes the commands that this package sends to a command server, and reads the responses.

Parameters may be integers, strings, and lists of them; other parameters of a response are skipped. Names are read as Latin-1.

Source: IBM MQ, "Structures for commands and responses" (topic q088570).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mqgroups.mqi import constants as mq

Value: TypeAlias = "int | str | tuple[int, ...] | tuple[str, ...]"

MQCFT_COMMAND = 1
MQCFT_INTEGER = 3
MQCFT_STRING = 4
MQCFT_INTEGER_LIST = 5
MQCFT_STRING_LIST = 6
MQCFC_LAST = 1
MQCMD_INQUIRE_Q_NAMES = 18
MQCMD_ESCAPE = 38
MQCMD_INQUIRE_Q_STATUS = 41
MQIA_CAP_EXPIRY = 276
MQIACF_ESCAPE_TYPE = 1017
MQIACF_OPEN_TYPE = 1023
MQIACF_PROCESS_ID = 1024
MQIACF_Q_STATUS_ATTRS = 1026
MQIACF_UNCOMMITTED_MSGS = 1027
MQIACF_Q_STATUS_TYPE = 1103
MQIACF_Q_HANDLE = 1104
MQCACF_Q_NAMES = 3011
MQCACF_ESCAPE_TEXT = 3014
MQCACF_USER_IDENTIFIER = 3025
MQCACF_APPL_TAG = 3058
MQCACH_CHANNEL_NAME = 3501
MQCACH_CONNECTION_NAME = 3506
MQET_MQSC = 1
MQQSOT_INPUT = 2
MQRCCF_Q_STATUS_NOT_FOUND = 4091

_HEADER_BYTES = 36
_NATIVE = "<" if mq.MQENC_NATIVE == mq.MQENC_REVERSED else ">"
_BYTE_ORDERS = {1: ">", 2: "<"}


@dataclass(frozen=True, slots=True)
class Response:
    """One response message: whether it is the last one, the command's codes, and the parameters by identifier."""

    is_last: bool
    comp: int
    reason: int
    values: Mapping[int, Value]


def command(number: int, parameters: Mapping[int, Value]) -> bytes:
    """Return the message for command ``number`` (MQCMD_*), in this machine's byte order."""
    header = (MQCFT_COMMAND, _HEADER_BYTES, 1, number, 1, MQCFC_LAST, 0, 0, len(parameters))
    return struct.pack(f"{_NATIVE}9i", *header) + b"".join(_structure(*each) for each in parameters.items())


def response(data: bytes, encoding: int) -> Response:
    """Read one response; ``encoding`` is the Encoding of its message.

    Raises:
        ValueError: it is not a PCF message.
    """
    order = _BYTE_ORDERS.get(encoding & 0xF, _NATIVE)
    try:
        _, at, _, _, _, control, comp, reason, count = struct.unpack_from(f"{order}9i", data)
        values: dict[int, Value] = {}
        for _ in range(count):
            kind, length, identifier = struct.unpack_from(f"{order}3i", data, at)
            if length < 12:
                raise ValueError(f"a PCF structure of {length} bytes")
            value = _value(kind, data, at, order)
            if value is not None:
                values[identifier] = value
            at += length
    except struct.error as error:
        raise ValueError(f"{len(data)} bytes that are not a PCF message ({error})") from error
    return Response(control == MQCFC_LAST, comp, reason, values)


def _structure(identifier: int, value: Value) -> bytes:
    if isinstance(value, int):
        kind, fixed, text = MQCFT_INTEGER, struct.pack(f"{_NATIVE}i", value), b""
    elif isinstance(value, str):
        text = value.encode("latin-1", "replace")
        kind, fixed = MQCFT_STRING, struct.pack(f"{_NATIVE}2i", mq.MQCCSI_DEFAULT, len(text))
    else:
        numbers = [each for each in value if isinstance(each, int)]
        kind, fixed, text = (
            MQCFT_INTEGER_LIST,
            struct.pack(f"{_NATIVE}{1 + len(numbers)}i", len(numbers), *numbers),
            b"",
        )
    # The length of every structure is a multiple of four.
    text += bytes(-len(text) % 4)
    return struct.pack(f"{_NATIVE}3i", kind, 12 + len(fixed) + len(text), identifier) + fixed + text


def _value(kind: int, data: bytes, at: int, order: str) -> Value | None:
    def numbers(many: int, offset: int) -> tuple[int, ...]:
        return struct.unpack_from(f"{order}{many}i", data, at + offset)

    if kind == MQCFT_INTEGER:
        return numbers(1, 12)[0]
    if kind == MQCFT_INTEGER_LIST:
        return numbers(numbers(1, 12)[0], 16)
    if kind == MQCFT_STRING:
        return _text(data, at + 20, numbers(1, 16)[0])
    if kind == MQCFT_STRING_LIST:
        many, length = numbers(2, 16)
        return tuple(_text(data, at + 24 + number * length, length) for number in range(many))
    return None


def _text(data: bytes, at: int, length: int) -> str:
    return data[at : at + length].decode("latin-1").rstrip(" \0")

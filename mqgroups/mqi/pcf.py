"""PCF messages: writes the commands that this package sends to a command server, and reads the responses.

Parameters can be integers, strings, and lists of either kind. Other parameters of a response are skipped. Names are Latin-1.

z/OS accepts only commands of type MQCFT_COMMAND_XR and version 3. It answers with one or more sets of extended responses. These
responses are items, error messages, and a summary, which only shows whether there are errors.

Source: IBM MQ, "Structures for commands and responses", "Responses", "Extended responses".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mqgroups.mqi import constants as mq

Value: TypeAlias = "int | str | tuple[int, ...] | tuple[str, ...]"

MQCFT_COMMAND = 1
MQCFT_INTEGER = 3
MQCFT_STRING = 4
MQCFT_INTEGER_LIST = 5
MQCFT_STRING_LIST = 6
MQCFT_BYTE_STRING = 9
MQCFT_COMMAND_XR = 16
MQCFT_XR_SUMMARY = 19
MQCFC_LAST = 1
MQCMD_INQUIRE_Q_NAMES = 18
MQCMD_ESCAPE = 38
MQCMD_INQUIRE_Q_STATUS = 41
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
MQBACF_RESPONSE_SET = 7003
MQBACF_RESPONSE_ID = 7004
MQRCCF_Q_STATUS_NOT_FOUND = 4091

_HEADER_BYTES = 36
_NATIVE = "<" if mq.MQENC_NATIVE == mq.MQENC_REVERSED else ">"
_BYTE_ORDERS = {1: ">", 2: "<"}


@dataclass(frozen=True, slots=True)
class Response:
    """One response message.

    Attributes:
        is_last: whether it is the last response of its set.
        comp, reason: the command's completion code and reason code.
        values: the parameters by identifier.
        kind: the type of the message, MQCFT_*.
        of_set: the set that the response belongs to; empty for a standard response.
        sets: the further sets that the response announces.
    """

    is_last: bool
    comp: int
    reason: int
    values: Mapping[int, Value]
    kind: int = 0
    of_set: bytes = b""
    sets: tuple[bytes, ...] = ()


def are_all(responses: Sequence[Response]) -> bool:
    """Return whether ``responses`` are complete: the first set and each announced set must have its last response."""
    known = {responses[0].of_set}.union(*(each.sets for each in responses))
    return known <= {each.of_set for each in responses if each.is_last}


def command(number: int, parameters: Mapping[int, Value], *, extended: bool = False) -> bytes:
    """Return the message for command ``number`` (MQCMD_*), in this machine's byte order. ``extended`` is for z/OS."""
    kind, version = (MQCFT_COMMAND_XR, 3) if extended else (MQCFT_COMMAND, 1)
    header = (kind, _HEADER_BYTES, version, number, 1, MQCFC_LAST, 0, 0, len(parameters))
    return struct.pack(f"{_NATIVE}9i", *header) + b"".join(_structure(*each) for each in parameters.items())


def response(data: bytes, encoding: int) -> Response:
    """Read one response; ``encoding`` is the Encoding of its message. Raises ValueError if it is not a PCF message."""
    order = _BYTE_ORDERS.get(encoding & 0xF, _NATIVE)
    try:
        type_, at, _, _, _, control, comp, reason, count = struct.unpack_from(f"{order}9i", data)
        values: dict[int, Value] = {}
        sets: dict[int, list[bytes]] = {MQBACF_RESPONSE_ID: [], MQBACF_RESPONSE_SET: []}
        for _ in range(count):
            kind, length, identifier = struct.unpack_from(f"{order}3i", data, at)
            if length < 12:
                raise ValueError(f"a PCF structure of {length} bytes")
            structure = data[at : at + length]
            if kind == MQCFT_BYTE_STRING and identifier in sets:
                (many,) = struct.unpack_from(f"{order}i", structure, 12)
                sets[identifier].append(structure[16 : 16 + many])
            value = _value(kind, structure, order)
            if value is not None:
                values[identifier] = value
            at += length
    except struct.error as error:
        raise ValueError(f"{len(data)} bytes that are not a PCF message ({error})") from error
    of_set, announced = b"".join(sets[MQBACF_RESPONSE_ID]), tuple(sets[MQBACF_RESPONSE_SET])
    return Response(control == MQCFC_LAST, comp, reason, values, type_, of_set, announced)


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


def _value(kind: int, structure: bytes, order: str) -> Value | None:
    def numbers(many: int, offset: int) -> tuple[int, ...]:
        return struct.unpack_from(f"{order}{many}i", structure, offset)

    if kind == MQCFT_INTEGER:
        return numbers(1, 12)[0]
    if kind == MQCFT_INTEGER_LIST:
        return numbers(numbers(1, 12)[0], 16)
    if kind == MQCFT_STRING:
        return _text(structure, 20, numbers(1, 16)[0])
    if kind == MQCFT_STRING_LIST:
        many, length = numbers(2, 16)
        # Strings of length 0 take no room, so a short message could have any number of them.
        if length < 1 < many or 24 + many * length > len(structure):
            raise ValueError(f"a PCF structure of {len(structure)} bytes for {many} strings of {length} bytes")
        return tuple(_text(structure, 24 + number * length, length) for number in range(many))
    return None


def _text(data: bytes, at: int, length: int) -> str:
    return data[at : at + length].decode("latin-1").rstrip(" \0")

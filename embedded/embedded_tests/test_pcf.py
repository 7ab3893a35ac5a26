"""The codec of programmable command formats: what is built is read again, in either byte order; what is malformed is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from embedded_tests.test_constants import binding_constants
from mqembedded import constants as mq
from mqembedded.admin import pcf
from mqembedded.admin.pcf import Header, Parameter, PCFError
from mqembedded.wire import pcf_constants as cf

NATIVE = mq.MQENC_NATIVE
NAMES = sorted(name for name in vars(cf) if name.startswith("MQ"))

i32 = st.integers(-(2**31), 2**31 - 1)
i64 = st.integers(-(2**63), 2**63 - 1)
# Text as it is kept: no NULs, and no blanks at its end, which padding would take away.
text = st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=40).map(lambda value: value.rstrip(" "))
comparisons = st.sampled_from([cf.MQCFOP_LESS, cf.MQCFOP_EQUAL, cf.MQCFOP_GREATER, cf.MQCFOP_NOT_EQUAL])
flat = st.one_of(
    st.builds(Parameter, st.just(cf.MQCFT_INTEGER), i32, i32),
    st.builds(Parameter, st.just(cf.MQCFT_INTEGER64), i32, i64),
    st.builds(Parameter, st.just(cf.MQCFT_INTEGER_LIST), i32, st.lists(i32, max_size=9).map(tuple)),
    st.builds(Parameter, st.just(cf.MQCFT_INTEGER64_LIST), i32, st.lists(i64, max_size=9).map(tuple)),
    st.builds(Parameter, st.just(cf.MQCFT_STRING), i32, text),
    st.builds(Parameter, st.just(cf.MQCFT_STRING_LIST), i32, st.lists(text, max_size=9).map(tuple)),
    st.builds(Parameter, st.just(cf.MQCFT_BYTE_STRING), i32, st.binary(max_size=40)),
    st.builds(Parameter, st.just(cf.MQCFT_INTEGER_FILTER), i32, i32, comparisons),
    st.builds(Parameter, st.just(cf.MQCFT_STRING_FILTER), i32, text, comparisons),
    st.builds(Parameter, st.just(cf.MQCFT_BYTE_STRING_FILTER), i32, st.binary(max_size=40), comparisons),
)
group = st.builds(Parameter, st.just(cf.MQCFT_GROUP), i32, st.lists(flat, max_size=4).map(tuple))
parameters = st.lists(st.one_of(flat, group), max_size=6)
headers = st.builds(Header, i32, i32, i32, i32, i32, i32, i32)


@given(headers, parameters)
def test_what_is_built_is_read_again(header, given_parameters):
    assert pcf.parse(pcf.build(header, given_parameters), NATIVE) == (header, given_parameters)


@given(parameters)
def test_every_structure_is_a_multiple_of_four_bytes(given_parameters):
    assert len(pcf.build(Header(cf.MQCFT_COMMAND, 1), given_parameters)) % 4 == 0


def big_endian(*words: int | bytes) -> bytes:
    return b"".join(word if isinstance(word, bytes) else struct.pack(">i", word) for word in words)


def test_integers_are_read_in_the_byte_order_of_the_encoding():
    name = big_endian(cf.MQCFT_STRING, 24, mq.MQCA_Q_NAME, 0, 1, b"Q\0\0\0")
    number = big_endian(cf.MQCFT_INTEGER, 16, mq.MQIA_MAX_Q_DEPTH, 7)
    message = big_endian(cf.MQCFT_COMMAND, 36, 1, cf.MQCMD_CREATE_Q, 1, cf.MQCFC_LAST, 0, 0, 2) + name + number
    header, found = pcf.parse_command(message, mq.MQENC_NORMAL)
    assert header.command == cf.MQCMD_CREATE_Q
    assert found == [pcf.string(mq.MQCA_Q_NAME, "Q"), pcf.integer(mq.MQIA_MAX_Q_DEPTH, 7)]
    with pytest.raises(PCFError):
        pcf.parse_command(message, mq.MQENC_REVERSED)


def reason_of(read: Callable[[bytes, int], Any], data: bytes, encoding: int) -> int:
    """Return the reason with which a message is refused; one that is read counts as the first of PCF's."""
    try:
        read(data, encoding)
    except PCFError as refused:
        return refused.reason
    return cf.MQRCCF_CFH_TYPE_ERROR


@given(st.binary(max_size=200), st.integers(0, 2**31 - 1))
def test_any_bytes_are_read_or_refused(data, encoding):
    assert reason_of(pcf.parse, data, encoding) >= 3001


@given(parameters, st.data())
def test_a_damaged_message_is_read_or_refused(given_parameters, data):
    message = bytearray(pcf.build(Header(cf.MQCFT_COMMAND, 1), given_parameters))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(message) - 1))
        message[at] = data.draw(st.integers(0, 255))
    cut = bytes(message[: data.draw(st.integers(0, len(message)))])
    assert reason_of(pcf.parse_command, cut, NATIVE) >= 3001


COMMAND = pcf.build(Header(cf.MQCFT_COMMAND, cf.MQCMD_PING_Q_MGR), [])


def with_word(at: int, value: int, message: bytes = COMMAND) -> bytes:
    return message[: 4 * at] + struct.pack("=i", value) + message[4 * at + 4 :]


def one(*words: int | bytes) -> bytes:
    """A command with one parameter, of these words."""
    body = b"".join(word if isinstance(word, bytes) else struct.pack("=i", word) for word in words)
    return with_word(8, 1) + body


@table(
    ("message", "reason"),
    [
        (b"", cf.MQRCCF_MSG_LENGTH_ERROR),
        (COMMAND[:35], cf.MQRCCF_MSG_LENGTH_ERROR),
        (COMMAND + bytes(4), cf.MQRCCF_MSG_LENGTH_ERROR),
        (with_word(0, cf.MQCFT_RESPONSE), cf.MQRCCF_CFH_TYPE_ERROR),
        (with_word(1, 40), cf.MQRCCF_CFH_LENGTH_ERROR),
        (with_word(2, 4), cf.MQRCCF_CFH_VERSION_ERROR),
        (with_word(4, 2), cf.MQRCCF_CFH_MSG_SEQ_NUMBER_ERR),
        (with_word(5, cf.MQCFC_NOT_LAST), cf.MQRCCF_CFH_CONTROL_ERROR),
        (with_word(8, -1), cf.MQRCCF_CFH_PARM_COUNT_ERROR),
        (with_word(8, 1), cf.MQRCCF_MSG_LENGTH_ERROR),
        (with_word(8, 2**31 - 1), cf.MQRCCF_MSG_LENGTH_ERROR),
        (one(99, 16, 1, 1), cf.MQRCCF_STRUCTURE_TYPE_ERROR),
        (one(cf.MQCFT_INTEGER, 12, 1), cf.MQRCCF_CFIN_LENGTH_ERROR),
        (one(cf.MQCFT_INTEGER, 20, 1, 1, 1), cf.MQRCCF_CFIN_LENGTH_ERROR),
        (one(cf.MQCFT_INTEGER, 16, 1), cf.MQRCCF_MSG_LENGTH_ERROR),
        (one(cf.MQCFT_INTEGER, -16, 1, 1), cf.MQRCCF_CFIN_LENGTH_ERROR),
        (one(cf.MQCFT_INTEGER64, 20, 1, 0, 1), cf.MQRCCF_CFIN_LENGTH_ERROR),
        (one(cf.MQCFT_INTEGER_LIST, 16, 1, -1), cf.MQRCCF_CFIL_COUNT_ERROR),
        (one(cf.MQCFT_INTEGER_LIST, 16, 1, 1), cf.MQRCCF_CFIL_LENGTH_ERROR),
        (one(cf.MQCFT_INTEGER_LIST, 16, 1, 2**31 - 1), cf.MQRCCF_CFIL_LENGTH_ERROR),
        (one(cf.MQCFT_STRING, 22, 1, 0, 2, b"Q\0"), cf.MQRCCF_CFST_LENGTH_ERROR),
        (one(cf.MQCFT_STRING, 20, 1, 0, 1), cf.MQRCCF_CFST_STRING_LENGTH_ERR),
        (one(cf.MQCFT_STRING, 20, 1, 0, -1), cf.MQRCCF_CFST_STRING_LENGTH_ERR),
        (one(cf.MQCFT_STRING, 28, 1, 0, 1, b"Q".ljust(8)), cf.MQRCCF_CFST_STRING_LENGTH_ERR),
        (one(cf.MQCFT_STRING, 24, 1, 500, 1, b"Q\0\0\0"), cf.MQRCCF_CCSID_ERROR),
        (one(cf.MQCFT_STRING_LIST, 24, 1, 0, -1, 4), cf.MQRCCF_CFSL_COUNT_ERROR),
        (one(cf.MQCFT_STRING_LIST, 24, 1, 0, 1, -4), cf.MQRCCF_CFSL_STRING_LENGTH_ERR),
        (one(cf.MQCFT_STRING_LIST, 24, 1, 0, 1, 4), cf.MQRCCF_CFSL_LENGTH_ERROR),
        (one(cf.MQCFT_STRING_LIST, 24, 1, 0, 2**31 - 1, 0), cf.MQRCCF_CFSL_LENGTH_ERROR),
        (one(cf.MQCFT_BYTE_STRING, 16, 1, 1), cf.MQRCCF_CFBS_STRING_LENGTH_ERR),
        (one(cf.MQCFT_GROUP, 16, 1, -1), cf.MQRCCF_CFGR_PARM_COUNT_ERROR),
        (one(cf.MQCFT_GROUP, 16, 1, 1), cf.MQRCCF_MSG_LENGTH_ERROR),
        (one(cf.MQCFT_INTEGER_FILTER, 20, 1, 7, 1), cf.MQRCCF_CFIF_OPERATOR_ERROR),
        (one(cf.MQCFT_STRING_FILTER, 24, 1, 99, 0, 0), cf.MQRCCF_CFSF_OPERATOR_ERROR),
        (one(cf.MQCFT_STRING_FILTER, 24, 1, cf.MQCFOP_LIKE, 0, 1), cf.MQRCCF_CFSF_FILTER_VAL_LEN_ERR),
        (one(cf.MQCFT_BYTE_STRING_FILTER, 20, 1, cf.MQCFOP_LIKE, 0), cf.MQRCCF_CFBF_OPERATOR_ERROR),
    ],
)
def test_what_is_malformed_has_its_reason(message, reason):
    with pytest.raises(PCFError) as refused:
        pcf.parse_command(message, NATIVE)
    assert refused.value.reason == reason, cf.pcf_reason_name(refused.value.reason)


def test_an_encoding_that_is_none():
    with pytest.raises(PCFError) as refused:
        pcf.parse(COMMAND, 0)
    assert refused.value.reason == cf.MQRCCF_ENCODING_ERROR


@table("package", ["pymqi", "ibmmq"])
def test_every_constant_is_the_binding_s(package):
    modules = [binding_constants(package, file) for file in ("CMQCFC.py", "CMQXC.py")]
    modules.append(binding_constants(package, "_CMQC_linux_x64.py", "CMQC.py"))
    known = {name: getattr(module, name) for module in modules for name in vars(module)}
    # pymqi's constants are those of an older level.
    wrong = {name: getattr(cf, name) for name in NAMES if getattr(cf, name) != known.get(name, getattr(cf, name))}
    assert wrong == {}
    assert {name for name in NAMES if name not in known} <= {"MQSVC_STATUS_RUNNING", "MQIA_CAP_EXPIRY", "MQCEX_NOLIMIT"}


def test_the_bindings_read_what_is_built(binding):
    row = [
        pcf.string(mq.MQCA_Q_NAME, "A.QUEUE", 48),
        pcf.integer(mq.MQIA_MAX_Q_DEPTH, 7),
        pcf.integers(cf.MQIACF_Q_TYPES, [1, 2]),
        pcf.strings(cf.MQCA_NAMES, ["ONE", "THREE"], 48),
        pcf.strings(cf.MQCACF_Q_NAMES, []),
        pcf.byte_string(cf.MQBACF_CONNECTION_ID, b"x" * 24),
    ]
    found, header = binding.PCFExecute.unpack(pcf.build(Header(cf.MQCFT_RESPONSE, cf.MQCMD_INQUIRE_Q), row))
    assert header.Command == cf.MQCMD_INQUIRE_Q
    assert found[mq.MQCA_Q_NAME] == b"A.QUEUE".ljust(48)
    assert found[mq.MQIA_MAX_Q_DEPTH] == 7
    assert found[cf.MQIACF_Q_TYPES] == [1, 2]
    assert found[cf.MQCA_NAMES] == [b"ONE".ljust(48), b"THREE".ljust(48)]
    assert found[cf.MQBACF_CONNECTION_ID] == b"x" * 24

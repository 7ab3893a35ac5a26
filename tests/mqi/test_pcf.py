"""PCF messages as the library writes and reads them, against pymqi's numbers and the embedded queue manager's reading."""

from __future__ import annotations

import struct

import pytest

from embedded_tests.tables import table
from mqembedded.admin import pcf as theirs
from mqgroups.mqi import constants as mq
from mqgroups.mqi import pcf

REVERSED, NORMAL = mq.MQENC_REVERSED, 0x111
NAMES = (3011, ("MQGROUPS.PUT.ALPHA".ljust(48), "MQGROUPS.PUT.BETA".ljust(48)))


def test_the_numbers_are_those_of_the_bindings():
    cmqcfc = pytest.importorskip("pymqi").CMQCFC
    ours = {name: value for name, value in vars(pcf).items() if name.startswith("MQ")}
    assert ours
    assert ours == {name: getattr(cmqcfc, name) for name in ours}


def test_a_command_is_read_as_it_was_meant():
    data = pcf.command(41, {mq.MQCA_Q_NAME: "A.QUEUE", 1026: (1027, 3), mq.MQIA_Q_TYPE: mq.MQQT_LOCAL})
    header, parameters = theirs.parse_command(data, mq.MQENC_NATIVE)
    assert (header.command, header.control) == (41, pcf.MQCFC_LAST)
    found = {each.identifier: (each.type, each.value) for each in parameters}
    assert found == {
        mq.MQCA_Q_NAME: (pcf.MQCFT_STRING, "A.QUEUE"),
        1026: (pcf.MQCFT_INTEGER_LIST, (1027, 3)),
        mq.MQIA_Q_TYPE: (pcf.MQCFT_INTEGER, 1),
    }


def test_a_response_is_read_and_what_is_not_needed_is_skipped():
    parameters = [
        theirs.byte_string(7001, b"skipped"),
        theirs.strings(*NAMES),
        theirs.integers(1261, [1, 1]),
        theirs.string(3012, "text", 48),
        theirs.integer(1027, 7),
    ]
    data = theirs.build(theirs.Header(2, 18, control=0, comp_code=1, reason=2085), parameters)
    said = pcf.response(data, mq.MQENC_NATIVE)
    assert (said.is_last, said.comp, said.reason) == (False, 1, 2085)
    assert said.values == {3011: ("MQGROUPS.PUT.ALPHA", "MQGROUPS.PUT.BETA"), 1261: (1, 1), 3012: "text", 1027: 7}


def _extended(of_set, *announced, last=False):
    sets = [theirs.byte_string(pcf.MQBACF_RESPONSE_SET, each) for each in announced]
    row = [theirs.byte_string(pcf.MQBACF_RESPONSE_ID, of_set), *sets]
    header = theirs.Header(17, 1, 3, control=1 if last else 0)
    return pcf.response(theirs.build(header, row), mq.MQENC_NATIVE)


FIRST = (_extended(b"1", b"2", b"3"), _extended(b"1", last=True))


@table(
    ("responses", "expected"),
    [
        (FIRST[:1], False),
        (FIRST, False),
        ((*FIRST, _extended(b"2", last=True)), False),
        ((*FIRST, _extended(b"2", last=True), _extended(b"3")), False),
        ((*FIRST, _extended(b"2", last=True), _extended(b"3", last=True)), True),
        ((*FIRST, _extended(b"2", last=True), _extended(b"3", b"4", last=True)), False),
    ],
)
def test_a_command_is_answered_when_each_set_that_was_announced_has_ended(responses, expected):
    """ "Any set might include MQBACF_RESPONSE_SET structures to indicate that additional sets are generated"."""
    assert pcf.are_all(responses) is expected


@table(("encoding", "order"), [(REVERSED, "<"), (NORMAL, ">")])
def test_integers_are_read_in_the_order_that_the_message_gives(encoding, order):
    data = struct.pack(order + "9i", 2, 36, 1, 41, 1, 1, 0, 0, 1) + struct.pack(order + "4i", 3, 16, 1027, 5)
    assert pcf.response(data, encoding).values == {1027: 5}


@table("length", [0, 35, 40, 51])
def test_what_ends_too_early_is_no_response(length):
    data = struct.pack("<9i", 2, 36, 1, 41, 1, 1, 0, 0, 1) + struct.pack("<4i", 3, 16, 1027, 5)
    with pytest.raises(ValueError, match="not a PCF message"):
        pcf.response(data[:length], REVERSED)


@table(("many", "length"), [(1_000_000, 0), (2, 0), (2, -1), (3, 4), (1_000_000, 2**31 - 1)])
def test_a_list_of_more_strings_than_its_structure_holds_is_refused(many, length):
    data = (
        struct.pack("<9i", 2, 36, 1, 18, 1, 1, 0, 0, 1) + struct.pack("<6i", 6, 32, 3011, 0, many, length) + b"ONE TWO "
    )
    with pytest.raises(ValueError, match=f"32 bytes for {many} strings of {length} bytes"):
        pcf.response(data + b"BEHIND" * 10, REVERSED)


@table(("length", "found"), [(0, ("",)), (4, ("ONE",)), (8, ("ONE TWO",))])
def test_a_list_may_have_one_string_of_any_length(length, found):
    data = struct.pack("<9i", 2, 36, 1, 18, 1, 1, 0, 0, 1) + struct.pack("<6i", 6, 32, 3011, 0, 1, length) + b"ONE TWO "
    assert pcf.response(data, REVERSED).values == {3011: found}


def test_a_structure_that_says_it_has_no_length_ends_the_reading():
    data = struct.pack("<9i", 2, 36, 1, 41, 1, 1, 0, 0, 9) + struct.pack("<4i", 99, 0, 1027, 5)
    with pytest.raises(ValueError, match="0 bytes"):
        pcf.response(data, REVERSED)

"""MQGMO_CONVERT; expected values from IBM MQ, topic "MQGMO options" and those of the reason codes."""

from __future__ import annotations

import struct

import pytest

from embedded_tests.fix_mqi import OK, shared_input, warning
from embedded_tests.tables import table
from mqembedded import constants as mq

TEXT = "Grüße"


@pytest.fixture
def out(connection, queue):
    return connection.open(queue, mq.MQOO_OUTPUT)


@pytest.fixture
def into(connection, queue):
    return shared_input(connection, queue)


@table(
    ("ccsid", "encoding", "codec"),
    [
        (819, mq.MQENC_NATIVE, "latin-1"),
        (1208, mq.MQENC_NATIVE, "utf-8"),
        (850, mq.MQENC_NATIVE, "cp850"),
        (923, mq.MQENC_NATIVE, "iso8859-15"),
        (1252, mq.MQENC_NATIVE, "cp1252"),
        (500, mq.MQENC_NATIVE, "cp500"),
        (37, mq.MQENC_NATIVE, "cp037"),
        (273, mq.MQENC_NATIVE, "cp273"),
        (1200, mq.MQENC_NORMAL, "utf-16-be"),
        (1200, mq.MQENC_REVERSED, "utf-16-le"),
    ],
)
def test_text_is_converted_between_the_usual_character_sets(out, into, ccsid, encoding, codec):
    string = {"Format": mq.MQFMT_STRING, "CodedCharSetId": ccsid, "Encoding": encoding}
    out.put(TEXT.encode(codec), **string)
    answer = into.get(mq.MQGMO_CONVERT, CodedCharSetId=1208)
    assert (answer.code, answer.data.decode()) == (OK, TEXT)
    assert (answer.md.CodedCharSetId, answer.md.Encoding) == (1208, mq.MQENC_NATIVE)
    # And the other way round
    out.put(TEXT.encode(), Format=mq.MQFMT_STRING, CodedCharSetId=1208)
    answer = into.get(mq.MQGMO_CONVERT, CodedCharSetId=ccsid, Encoding=encoding)
    assert (answer.code, answer.data) == (OK, TEXT.encode(codec))
    assert (answer.md.CodedCharSetId, answer.md.Encoding) == (ccsid, encoding)


def header(order, folders, encoding, ccsid, page="latin-1", format_=b"MQSTR   ", names=1208):
    """An MQRFH2 with its texts in ``page``; layout: topic q099240."""
    variable = b"".join(struct.pack(order + "i", len(folder)) + folder for folder in folders)
    numbers = (2, 36 + len(variable), encoding, ccsid)
    fixed = "RFH ".encode(page) + struct.pack(order + "4i", *numbers) + format_.decode().encode(page)
    return fixed + struct.pack(order + "2i", 0, names) + variable


BIG, LITTLE = mq.MQENC_NORMAL, mq.MQENC_REVERSED
FOLDERS = [b"<own>x</own>"]
IN_UTF_16 = ["<own>x</own>".encode("utf-16-be")]


@table(
    ("put", "described", "asked", "got", "answer"),
    [
        # From a mainframe, all of it; the folders are in UTF-8.
        (
            header(">", FOLDERS, BIG, 500, "cp500") + TEXT.encode("cp500"),
            (500, BIG),
            (1208, LITTLE),
            header("<", FOLDERS, LITTLE, 1208) + TEXT.encode(),
            OK,
        ),
        # MQCCSI_INHERIT, a chain, and folders in UTF-16, which is in the encoding of the header.
        (
            header(">", IN_UTF_16, BIG, -2, format_=b"MQHRF2\0\0", names=1200)
            + header(">", FOLDERS, BIG, 1047)
            + b"\xad",
            (819, BIG),
            (819, LITTLE),
            header("<", ["<own>x</own>".encode("utf-16-le")], LITTLE, 819, format_=b"MQHRF2  ", names=1200)
            + header("<", FOLDERS, LITTLE, 819)
            + b"[",
            OK,
        ),
        # "The values returned in the various fields always correctly describe the relevant message data" (2119).
        (
            header("<", FOLDERS, LITTLE, 500, format_=b"MINE    ") + b"\xc1",
            (1208, LITTLE),
            (37, LITTLE),
            header("<", FOLDERS, LITTLE, 500, "cp037", format_=b"MINE    ") + b"\xc1",
            warning(mq.MQRC_NOT_CONVERTED),
        ),
        # 2272: "the MQ header structures are converted to the queue manager's character set"
        (
            header(">", FOLDERS, BIG, 500, "cp500") + b"\xc1",
            (500, BIG),
            (1200, LITTLE),
            header("<", FOLDERS, LITTLE, 1200) + b"A\0",
            warning(mq.MQRC_PARTIALLY_CONVERTED),
        ),
    ],
)
def test_a_header_is_converted_with_what_it_describes(out, into, put, described, asked, got, answer):
    ccsid, encoding = described
    browsed = {"CodedCharSetId": ccsid, "Encoding": encoding}
    assert out.put(put, Format=mq.MQFMT_RF_HEADER_2, **browsed).code == OK
    found = into.get(mq.MQGMO_CONVERT, CodedCharSetId=asked[0], Encoding=asked[1])
    assert (found.code, found.data) == (answer, got)


@table(
    ("ccsid", "data", "text"),
    [
        (1047, b"\xad\x81\xbd", "[a]"),
        (1141, b"\xc7\x99\x6a\xa1\x85\x40\x9f", "Größe €"),
        (277, b"\x5b\x87\xd0", "Ågå"),
        (1154, b"\x8a\x77\x40\xe1", "да €"),
        (943, b"\x93\xfa", "日"),
        (5348, b"\x80", "€"),
    ],
)
def test_pages_that_python_calls_otherwise_or_lacks_are_converted(out, into, ccsid, data, text):
    out.put(data, Format=b"MQSTR\0\0\0", CodedCharSetId=ccsid)
    assert into.get(mq.MQGMO_CONVERT, CodedCharSetId=1208).data.decode() == text
    out.put(text.encode(), Format=mq.MQFMT_STRING, CodedCharSetId=1208)
    assert into.get(mq.MQGMO_CONVERT, CodedCharSetId=ccsid).data == data


def test_without_the_option_nothing_is_converted(out, into):
    out.put(TEXT.encode("cp500"), Format=mq.MQFMT_STRING, CodedCharSetId=500)
    answer = into.get(CodedCharSetId=1208)
    assert (answer.code, answer.data, answer.md.CodedCharSetId) == (OK, TEXT.encode("cp500"), 500)


def test_the_queue_manager_s_own_character_set_is_what_0_asks_for(out, into):
    out.put(TEXT.encode("latin-1"), Format=mq.MQFMT_STRING, CodedCharSetId=819)
    answer = into.get(mq.MQGMO_CONVERT, CodedCharSetId=mq.MQCCSI_Q_MGR)
    assert (answer.data, answer.md.CodedCharSetId) == (TEXT.encode(), 1208)


@table(
    ("put", "asked", "reason"),
    [
        ({"Format": mq.MQFMT_NONE, "CodedCharSetId": 819}, 1208, mq.MQRC_FORMAT_ERROR),
        ({"Format": mq.MQFMT_DEAD_LETTER_HEADER, "CodedCharSetId": 819}, 1208, mq.MQRC_NOT_CONVERTED),
        ({"Format": mq.MQFMT_STRING, "CodedCharSetId": 4711}, 1208, mq.MQRC_SOURCE_CCSID_ERROR),
        ({"Format": mq.MQFMT_STRING, "CodedCharSetId": 819}, 4711, mq.MQRC_TARGET_CCSID_ERROR),
        ({"Format": mq.MQFMT_STRING, "CodedCharSetId": 367}, 819, mq.MQRC_NOT_CONVERTED),
    ],
)
def test_what_cannot_be_converted_comes_as_it_is_with_a_warning(connection, out, into, put, asked, reason):
    out.put(b"\xe4\xf6", **put)
    answer = into.get(mq.MQGMO_CONVERT, CodedCharSetId=asked)
    assert (answer.code, answer.data) == (warning(reason), b"\xe4\xf6")
    # "The MDCSI and MDENC fields are set to the values for the unconverted message"
    assert (answer.md.CodedCharSetId, answer.md.Encoding) == (put["CodedCharSetId"], mq.MQENC_NATIVE)
    assert connection.depth(out.name) == 0


def test_data_that_is_already_as_asked_for_needs_no_format(out, into):
    out.put(b"\x00\x01", CodedCharSetId=1208)
    assert into.get(mq.MQGMO_CONVERT, CodedCharSetId=1208).code == OK


def test_characters_that_the_target_does_not_have_are_replaced(out, into):
    out.put("50 €".encode(), Format=mq.MQFMT_STRING, CodedCharSetId=1208)
    assert into.get(mq.MQGMO_CONVERT, CodedCharSetId=819).data == b"50 ?"


def test_text_that_no_longer_fits_is_delivered_unconverted(connection, queue, out, into):
    out.put("äöü".encode("latin-1"), Format=mq.MQFMT_STRING, CodedCharSetId=819)
    answer = into.get(mq.MQGMO_CONVERT, CodedCharSetId=1208, length=3)
    assert (answer.code, answer.data) == (warning(mq.MQRC_CONVERTED_MSG_TOO_BIG), b"\xe4\xf6\xfc")
    assert answer.md.CodedCharSetId == 819
    assert connection.depth(out.name) == 0

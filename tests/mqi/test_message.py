"""A message's fields, read from the MQMD when asked."""

from __future__ import annotations

import codecs
from datetime import UTC, datetime

import pytest

from embedded_tests.tables import table
from mqembedded import constants as mq
from mqgroups import errors
from mqgroups.mqi import structures as st
from mqgroups.mqi.message import Message
from mqgroups.mqi.text import decoded

GROUP = bytes(range(24))


def message(data=b"", status=mq.MQGS_MSG_IN_GROUP, stamp=b"", **fields):
    md = st.md(**{"group_id": GROUP, "msg_seq_number": 3, **fields})
    md[304:320] = stamp.ljust(16)
    return Message(data, bytes(md), status)


@table(
    ("status", "in_group", "is_last"),
    [
        (mq.MQGS_MSG_IN_GROUP, True, False),
        (mq.MQGS_LAST_MSG_IN_GROUP, True, True),
        (mq.MQGS_NOT_IN_GROUP, False, True),
    ],
)
def test_what_a_message_is_to_its_group(status, in_group, is_last):
    got = message(status=status)
    assert (got.in_group, got.is_last) == (in_group, is_last)


def test_fields():
    got = message(b"x", format_name=mq.MQFMT_STRING, ccsid=1208, priority=4, msg_id=b"M" * 24, correl_id=b"C" * 24)
    assert (got.group_id, got.msg_seq_number, got.offset) == (GROUP, 3, 0)
    assert (got.format, got.ccsid, got.priority, got.persistence) == ("MQSTR", 1208, 4, mq.MQPER_PERSISTENT)
    assert (got.msg_id, got.correl_id, got.backout_count) == (b"M" * 24, b"C" * 24, 0)
    assert repr(got) == f"<Message group={GROUP.hex()} seq=3 1 bytes>"


@table(
    ("ccsid", "data"),
    [
        (1208, "Käse".encode()),
        (819, "Käse".encode("latin-1")),
        (1252, "Käse".encode("cp1252")),
        (850, "Käse".encode("cp850")),
        (500, "Käse".encode("cp500")),
        (37, "Käse".encode("cp037")),
    ],
)
def test_text_follows_the_ccsid(ccsid, data):
    assert message(data, ccsid=ccsid).text == "Käse"


@table(
    ("data", "ccsid", "encoding"),
    [
        ("Käse".encode("utf-16-le"), 1200, mq.MQENC_REVERSED),
        ("Käse".encode("utf-16-be"), 1200, mq.MQENC_NORMAL),
        ("Käse".encode("utf-16-be"), 17584, mq.MQENC_S390),
        ("Käse".encode("utf-16-le"), 1202, mq.MQENC_NORMAL),
        # A byte order mark is no character, and in UTF-16 it decides the order (IBM's JMS: APAR IT17612).
        ("\ufeffKäse".encode(), 1208, mq.MQENC_REVERSED),
        ("\ufeffKäse".encode("utf-16-le"), 13488, mq.MQENC_REVERSED),
        ("\ufeffKäse".encode("utf-16-be"), 1200, mq.MQENC_REVERSED),
        ("\ufeffKäse".encode("utf-16-le"), 1200, mq.MQENC_NORMAL),
    ],
)
def test_unicode_follows_mark_or_encoding(data, ccsid, encoding):
    assert decoded(data, ccsid, encoding) == "Käse"


def test_only_the_first_mark_is_not_text_and_other_pages_have_none():
    assert decoded("\ufeff\ufeffa".encode(), 1208, mq.MQENC_NATIVE) == "\ufeffa"
    assert decoded(b"\xef\xbb\xbf", 819, mq.MQENC_NATIVE) == "ï»¿"


def test_an_unknown_ccsid_is_not_guessed_until_python_knows_it():
    with pytest.raises(
        errors.CcsidUnknown, match=r"CCSID 930 here. The message stays .*convert=True.*named cp930"
    ) as caught:
        _ = message(b"\x0e\x45\x62\x0f", ccsid=930).text
    assert caught.value.ccsid == 930
    ours = codecs.lookup("latin-1")

    def search(name: str) -> codecs.CodecInfo | None:
        return ours if name == "cp930" else None

    codecs.register(search)
    try:
        assert message(b"\xe4", ccsid=930).text == "ä"
    finally:
        codecs.unregister(search)


@table(
    ("data", "ccsid", "at"),
    [(b"ab\xff", 1208, 2), (b"\xef\xbb\xbf\xff", 1208, 3), (b"a\0b", 1200, 2), (b"\x80", 1386, 0), (b"a\x81", 1252, 1)],
)
def test_data_that_is_no_text_is_not_shown(data, ccsid, at):
    with pytest.raises(errors.NotDecoded, match=f"byte at position {at} is not text in its CCSID, {ccsid} ") as caught:
        _ = message(data, ccsid=ccsid).text
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@table(
    ("stamp", "when"),
    [
        (b"2026013123595999", datetime(2026, 1, 31, 23, 59, 59, 990_000, tzinfo=UTC)),
        (b"", None),
        (b"yesterday", None),
    ],
)
def test_put_time(stamp, when):
    assert message(stamp=stamp).put_time_utc == when

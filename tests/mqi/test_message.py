"""A message's fields, read from the MQMD when asked."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.message import Message
from tests.tables import table

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


def test_utf_16_follows_the_encoding():
    codec = "utf-16-le" if mq.MQENC_NATIVE & 0xF == 2 else "utf-16-be"
    assert message("Käse".encode(codec), ccsid=1200).text == "Käse"


def test_an_unknown_ccsid_is_not_guessed():
    with pytest.raises(LookupError):
        _ = message(b"x", ccsid=65_000).text


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

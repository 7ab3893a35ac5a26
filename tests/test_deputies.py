"""A partner's message asks for every report, to a queue that only the reader's user may put to. None comes, whoever moves it.

The queue manager makes reports with the authority of the user in the message (IBM MQ, topic "Message context", q023110), and a
message that is put again is from the user who does that.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import mqgroups
from embedded_tests.fix_mqi import OK, empty, failed, wait_until
from mqembedded import EmbeddedQueueManager
from mqembedded import constants as c
from mqembedded.testing.under_test import MQSC
from mqgroups import errors, operate
from mqgroups.definitions import DEVELOPMENT_MQSC
from mqgroups.mqi import structures as st

pytestmark = pytest.mark.embedded
STATUS_QUEUE = "MQGROUPS.GET.SINK"
OBJECTS = f"""
ALTER QLOCAL(ORDERS) BOTHRESH(1)
DEFINE QLOCAL(SECRET) REPLACE
DEFINE QLOCAL({STATUS_QUEUE}) NOSHARE DEFPSIST(YES) REPLACE
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('reader') AUTHADD(CONNECT,DSP,INQ)
SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('reader') AUTHADD(ALL)
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('partner') AUTHADD(CONNECT,INQ)
SET AUTHREC PROFILE('ORDERS') OBJTYPE(QUEUE) PRINCIPAL('partner') AUTHADD(PUT)
SET AUTHREC PROFILE('{STATUS_QUEUE}') OBJTYPE(QUEUE) PRINCIPAL('partner') AUTHADD(PUT)
"""
# Tenths of a second: longer than any of these readers takes, and short enough to wait for.
SOON = 30
REPORTS = {
    "COA": c.MQRO_COA_WITH_FULL_DATA,
    "COD": c.MQRO_COD_WITH_FULL_DATA,
    "expiration": c.MQRO_EXPIRATION_WITH_FULL_DATA,
    "exception": c.MQRO_EXCEPTION_WITH_FULL_DATA,
    "all": (
        c.MQRO_COA_WITH_FULL_DATA
        | c.MQRO_COD_WITH_FULL_DATA
        | c.MQRO_EXPIRATION_WITH_FULL_DATA
        | c.MQRO_EXCEPTION_WITH_FULL_DATA
        | c.MQRO_PAN
        | c.MQRO_NAN
        | c.MQRO_ACTIVITY
        | c.MQRO_DISCARD_MSG
        | c.MQRO_PASS_CORREL_ID
        | c.MQRO_PASS_DISCARD_AND_EXPIRY
    ),
}
GROUP = b"partner".ljust(24, b".")
IN, LAST, SEGMENT, LAST_SEGMENT = (
    c.MQMF_MSG_IN_GROUP,
    c.MQMF_LAST_MSG_IN_GROUP,
    c.MQMF_SEGMENT,
    c.MQMF_LAST_SEGMENT,
)
# What the partner puts: the number, offset and flags of each message, and how their CCSIDs differ.
Places = list[tuple[int, int, int, dict[str, int]]]
ALONE: Places = [(1, 0, 0, {})]
GAP: Places = [(1, 0, IN, {}), (3, 0, IN | SEGMENT, {}), (3, 1, IN | SEGMENT | LAST_SEGMENT, {})]
UNLIKE: Places = [
    (1, 0, LAST | SEGMENT, {"CodedCharSetId": 819}),
    (1, 1, LAST | SEGMENT | LAST_SEGMENT, {"CodedCharSetId": 37}),
]

Reader = Callable[[mqgroups.QueueManager], None]


def consume(**settings: Any) -> Reader:
    def read(q_mgr: mqgroups.QueueManager) -> None:
        with q_mgr.group_consumer("ORDERS", name="SINK", wait_s=0, group_wait_s=0, **settings) as consumer:
            for group in consumer:
                for message in group:
                    if "poison" in settings and message.data == b"x":
                        raise ValueError("not an order")

    return read


def pipe(q_mgr: mqgroups.QueueManager) -> None:
    with q_mgr.group_pipe("ORDERS", "INVOICES", name="SINK", wait_s=0, group_wait_s=0) as both:
        for incoming, outgoing in both:
            for message in incoming:
                outgoing.put(message.data, properties=message.properties)


def move(**how: Any) -> Reader:
    def read(q_mgr: mqgroups.QueueManager) -> None:
        operate.move_group(q_mgr, "ORDERS", GROUP, **how)

    return read


def rebuild(q_mgr: mqgroups.QueueManager) -> None:
    settings: dict[str, Any] = {"accept": ("nothing-interrupted",), "unreadable_to": "ORDERS.BACKOUT"}
    operate.salvage_owner(q_mgr, "SINK", "get", queue="ORDERS", **settings)


READERS: dict[str, tuple[Reader, Places, str]] = {
    "poison in no group is quarantined": (consume(poison="quarantine"), ALONE, "ORDERS.BACKOUT"),
    "poison is quarantined": (consume(poison="quarantine"), [(1, 0, LAST, {})], "ORDERS.BACKOUT"),
    "a stalled group is quarantined": (consume(stalled="quarantine"), GAP, "ORDERS.BACKOUT"),
    "segments that differ are quarantined": (consume(poison="quarantine"), UNLIKE, "ORDERS.BACKOUT"),
    "a pipe": (pipe, [(1, 0, LAST, {})], "INVOICES"),
    "a group is moved": (move(), GAP, "ORDERS.BACKOUT"),
    "what is no record is moved away": (rebuild, ALONE, "ORDERS.BACKOUT"),
}


@pytest.fixture(scope="module")
def server(_client_library, tmp_path_factory):
    objects = tmp_path_factory.mktemp("deputies") / "objects.mqsc"
    objects.write_text(OBJECTS)
    users = dict.fromkeys(("reader", "partner"), "secret")
    with EmbeddedQueueManager("QM4", mqsc=[MQSC, DEVELOPMENT_MQSC, objects], users=users) as running:
        yield running


@pytest.fixture
def eye(server, connect):
    """A connection of an administrator, which finds the queues empty."""
    connection = connect(to=server)
    empty(connection, "ORDERS", "ORDERS.BACKOUT", "INVOICES", "SECRET", STATUS_QUEUE, "DEV.DEAD.LETTER.QUEUE")
    return connection


@pytest.fixture
def partner(server, connect):
    return connect(to=server, user="partner", password="secret")


def read_to_the_end(server: EmbeddedQueueManager, reader: Reader) -> None:
    """Start the reader again until it has got past what the partner has put."""
    where = server.q_mgr_name, server.channel, server.conn_name
    for _ in range(9):
        with (
            suppress(ValueError, errors.GroupQuarantined),
            mqgroups.connect(*where, user="reader", password="secret", reconnect_wait_s=0) as q_mgr,
        ):
            reader(q_mgr)
            return
    pytest.fail("the reader does not come to an end")


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("how", READERS)
def test_a_partner_s_message_that_is_put_again_has_no_report_put_anywhere(server, eye, partner, how, report):
    reader, places, to = READERS[how]
    assert partner.open("SECRET", c.MQOO_OUTPUT).code == failed(c.MQRC_NOT_AUTHORIZED)
    asked: dict[str, Any] = {
        "Report": REPORTS[report],
        "ReplyToQ": b"SECRET",
        "CorrelId": b"A" * 24,
        "MsgType": c.MQMT_REQUEST,
    }
    for number, offset, flags, more in places:
        fields = {**asked, "Expiry": SOON, "Feedback": 7, "Priority": 9, "Persistence": 1, "Format": c.MQFMT_STRING}
        if flags:
            fields |= {"GroupId": GROUP, "MsgSeqNumber": number, "Offset": offset, "MsgFlags": flags}
        queue = STATUS_QUEUE if reader is rebuild else "ORDERS"
        assert partner.put1(queue, b"x", **{**fields, **more}).code == OK
    read_to_the_end(server, reader)
    if to == "ORDERS.BACKOUT":
        moved = eye.browse(to)
        assert len(moved) == (2 if how == "a stalled group is quarantined" else len(places))
        # They are as they were put, for people.
        for each in moved:
            assert (each.md.ReplyToQ.strip(), each.md.ReplyToQMgr.strip()) == (b"SECRET", b"QM4")
            assert (each.md.MsgType, each.md.CorrelId) == (c.MQMT_REQUEST, b"A" * 24)
            assert 0 < each.md.Expiry <= SOON
            assert each.md.Report == REPORTS[report] & (c.MQRO_PASS_CORREL_ID | c.MQRO_PASS_DISCARD_AND_EXPIRY)
        if report == "expiration":
            wait_until(lambda: eye.browse(to) == [])
    empty(eye, to)
    assert eye.browse("SECRET") == []
    assert all(found.data[:4] == b"DLH " for found in eye.browse("DEV.DEAD.LETTER.QUEUE"))


def test_the_log_says_what_a_message_that_is_moved_has_asked_for(server, eye, partner, caplog):
    asked = {"Report": c.MQRO_EXPIRATION, "ReplyToQ": b"SECRET", "Expiry": SOON, "GroupId": GROUP, "MsgFlags": LAST}
    put = partner.put1("ORDERS", b"x", **asked)
    assert put.code == OK
    caplog.set_level("INFO", "mqgroups")
    read_to_the_end(server, move())
    (line,) = [record.getMessage() for record in caplog.records if "asked for reports" in record.getMessage()]
    assert line.startswith(f"message {put.md.MsgId.hex()}, which is moved to queue ORDERS.BACKOUT, asked for reports")
    assert "(Report 0x00200000, to SECRET at QM4)" in line
    (found,) = eye.browse("ORDERS.BACKOUT")
    assert (found.md.Report, st.MD_REPORT) == (0, 8)

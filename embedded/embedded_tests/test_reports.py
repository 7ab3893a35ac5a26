"""Report messages of the queue manager: confirm on arrival, confirm on delivery, expiration.

IBM MQ, topics "Report" (q097680), "Feedback" (q097510), "Structure of the report field", "Reply-to queue and queue manager"
(q023100), "2024" (q040970), "Activity report MQMD" (q037020). Segments are in test_reports_on_segments.py.
"""

from __future__ import annotations

import struct

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, Code, failed, text, wait_until, warning
from embedded_tests.fix_properties import MessageHandle
from embedded_tests.fix_properties import get as get_with_properties
from embedded_tests.fix_properties import put as put_with_properties
from embedded_tests.tables import table
from mqembedded import constants as c

HOUR = 36_000  # in tenths of a second
MINUTE = 600
SOON = 1
LONG = bytes(range(256))


@pytest.fixture
def replies(make_queue):
    """The name of a queue for reports."""
    return make_queue()


@pytest.fixture
def put(connection, queue, replies):
    """A function that puts to ``queue``, reports to ``replies``."""
    out = connection.open(queue, c.MQOO_OUTPUT)

    def call(data=b"m", options=0, **fields):
        return out.put(data, options, **{"ReplyToQ": replies.encode(), **fields})

    return call


@pytest.fixture
def source(connection, queue):
    return connection.open(queue, c.MQOO_INPUT_SHARED)


@pytest.fixture
def reports(connection, replies):
    """A function that returns the reports that can be seen."""
    return lambda: connection.browse(replies)


@pytest.fixture
def take_reports(connection, replies):
    """A function that gets the reports."""
    return connection.open(replies, c.MQOO_INPUT_SHARED).all


def feedbacks(found):
    return [report.md.Feedback for report in found]


# --- what a report looks like


def test_a_coa_report_says_which_message_arrived(put, reports, mq):
    given = {"Format": c.MQFMT_STRING, "CodedCharSetId": 819, "Priority": 7, "Persistence": c.MQPER_PERSISTENT}
    original = put(b"text", Report=c.MQRO_COA, CorrelId=b"c" * 24, **given).md
    (report,) = reports()
    md = report.md
    assert (md.MsgType, md.Feedback, md.Report, report.data) == (c.MQMT_REPORT, c.MQFB_COA, c.MQRO_NONE, b"")
    assert md.CorrelId == original.MsgId
    assert md.MsgId not in (original.MsgId, bytes(24))
    assert {name: getattr(md, name) for name in given} == given
    assert (md.PutApplType, text(md.PutApplName)) == (c.MQAT_QMGR, mq.q_mgr_name)
    assert md.PutDate.isdigit()
    assert md.PutTime.isdigit()
    assert (text(md.ReplyToQ), text(md.ReplyToQMgr)) == ("", mq.q_mgr_name)
    assert (md.Expiry, md.BackoutCount, text(md.UserIdentifier)) == (
        c.MQEI_UNLIMITED,
        0,
        text(original.UserIdentifier),
    )
    assert report.place == (bytes(24), 1, 0)
    assert (md.MsgFlags, md.OriginalLength) == (0, c.MQOL_UNDEFINED)


@table(
    ("options", "msg_id", "correl_id"),
    [
        (0, "new", b"m"),
        (c.MQRO_PASS_MSG_ID, b"m", b"m"),
        (c.MQRO_PASS_CORREL_ID, "new", b"c"),
        (c.MQRO_PASS_MSG_ID | c.MQRO_PASS_CORREL_ID, b"m", b"c"),
    ],
)
def test_report_options_say_whose_identifiers(put, take_reports, options, msg_id, correl_id):
    put(Report=c.MQRO_COA | options, MsgId=b"m" * 24, CorrelId=b"c" * 24)
    (report,) = take_reports()
    assert report.md.CorrelId == correl_id * 24
    if msg_id == "new":
        assert report.md.MsgId not in (b"m" * 24, b"c" * 24, bytes(24))
    else:
        assert report.md.MsgId == msg_id * 24


@table(
    ("option", "length"),
    [
        (c.MQRO_COA, 0),
        (c.MQRO_COA_WITH_DATA, 100),
        (c.MQRO_COA_WITH_FULL_DATA, 256),
        (c.MQRO_COD, 0),
        (c.MQRO_COD_WITH_DATA, 100),
        (c.MQRO_COD_WITH_FULL_DATA, 256),
        (c.MQRO_EXPIRATION, 0),
        (c.MQRO_EXPIRATION_WITH_DATA, 100),
        (c.MQRO_EXPIRATION_WITH_FULL_DATA, 256),
    ],
)
def test_a_report_carries_as_much_data_as_it_is_asked_to(put, take_reports, connection, source, option, length):
    expires = bool(option & c.MQRO_EXPIRATION)
    put(LONG, Report=option, Expiry=SOON if expires else HOUR)
    if expires:
        wait_until(lambda: connection.browse(source.name) == [])
    else:
        assert source.get().data == LONG
    assert [report.data for report in take_reports()] == [LONG[:length]]


def test_mq_headers_come_on_top_of_the_first_100_bytes(put, reports):
    header = struct.pack("<4siiii8si4s", b"RFH ", 1, 36, c.MQENC_NATIVE, 1208, b"MQSTR   ", 0, b"    ")
    put(header + LONG, Report=c.MQRO_COA_WITH_DATA, Format=b"MQHRF   ")
    (report,) = reports()
    assert report.data == header + LONG[:100]
    assert report.md.Format == b"MQHRF   "


def test_the_report_on_a_message_of_a_group_names_the_group(put, reports):
    place = put(Report=c.MQRO_COA, MsgFlags=c.MQMF_LAST_MSG_IN_GROUP, GroupId=b"g" * 24, MsgSeqNumber=4).place
    (report,) = reports()
    assert report.place == place == (b"g" * 24, 4, 0)
    assert report.md.MsgFlags == c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP
    assert report.md.OriginalLength == c.MQOL_UNDEFINED


@pytest.mark.usefixtures("no_api_exit")
@table(("option", "expected"), [(c.MQRO_COA, []), (c.MQRO_COA_WITH_DATA, ["r"]), (c.MQRO_COA_WITH_FULL_DATA, ["r"])])
def test_properties_come_with_the_data_as_their_copy_options_say(connection, queue, replies, option, expected):
    """Unverified, as reports.py says; the copy options of a property include reports by default."""
    handle = MessageHandle(connection)
    handle.set("reported", "r")
    handle.set("not", "n", CopyOptions=c.MQCOPY_FORWARD)
    answer = put_with_properties(
        connection.open(queue, c.MQOO_OUTPUT), b"m", handle, Report=option, ReplyToQ=replies.encode()
    )
    assert answer.code == OK
    got = MessageHandle(connection)
    assert get_with_properties(connection.open(replies, c.MQOO_INPUT_SHARED), got).code == OK
    assert got.all() == expected


# --- when


def test_a_message_can_ask_for_several_reports(put, reports, source):
    put(Report=c.MQRO_COA | c.MQRO_COD | c.MQRO_EXPIRATION | c.MQRO_EXCEPTION | c.MQRO_PAN)
    assert feedbacks(reports()) == [c.MQFB_COA]
    assert source.get().code == OK
    assert feedbacks(reports()) == [c.MQFB_COA, c.MQFB_COD]


def test_a_message_that_asks_for_no_report_gets_none(put, reports, source):
    put(Report=c.MQRO_PAN | c.MQRO_NAN | c.MQRO_ACTIVITY | c.MQRO_EXCEPTION_WITH_FULL_DATA)
    assert source.get().code == OK
    assert reports() == []


def test_a_browse_is_no_delivery(put, reports, connection, queue):
    put(Report=c.MQRO_COD)
    assert [answer.data for answer in connection.browse(queue)] == [b"m"]
    assert reports() == []


def test_a_truncated_message_is_delivered_only_if_that_is_accepted(put, reports, source):
    put(LONG, Report=c.MQRO_COD_WITH_FULL_DATA)
    assert source.get(length=10).code == warning(c.MQRC_TRUNCATED_MSG_FAILED)
    assert reports() == []
    assert source.get(c.MQGMO_ACCEPT_TRUNCATED_MSG, length=10).code == warning(c.MQRC_TRUNCATED_MSG_ACCEPTED)
    assert [report.data for report in reports()] == [LONG]


@pytest.mark.parametrize("persistence", [c.MQPER_NOT_PERSISTENT, c.MQPER_PERSISTENT])
def test_a_coa_report_is_in_the_unit_of_work_of_the_put(put, reports, connection, replies, persistence):
    put(b"1", c.MQPMO_SYNCPOINT, Report=c.MQRO_COA, Persistence=persistence)
    assert reports() == []
    assert connection.depth(replies) == 1
    assert connection.back_out() == OK
    assert (reports(), connection.depth(replies)) == ([], 0)
    put(b"2", c.MQPMO_SYNCPOINT, Report=c.MQRO_COA, Persistence=persistence)
    assert connection.commit() == OK
    assert feedbacks(reports()) == [c.MQFB_COA]
    assert connection.depth(replies) == 1


@pytest.mark.parametrize("persistence", [c.MQPER_NOT_PERSISTENT, c.MQPER_PERSISTENT])
def test_a_cod_report_is_in_the_unit_of_work_of_the_get(put, reports, connection, source, replies, persistence):
    put(Report=c.MQRO_COD, Persistence=persistence)
    assert source.get(c.MQGMO_SYNCPOINT).code == OK
    assert reports() == []
    assert connection.depth(replies) == 1
    assert connection.back_out() == OK
    assert (reports(), connection.depth(replies)) == ([], 0)
    assert source.get(c.MQGMO_SYNCPOINT).md.BackoutCount == 1
    assert connection.commit() == OK
    assert feedbacks(reports()) == [c.MQFB_COD]


def test_an_asynchronous_put_that_fails_makes_no_report(connection, reports, replies):
    out = connection.open("TEST.ALIAS.PUT.INHIBITED", c.MQOO_OUTPUT)
    asking = {"Report": c.MQRO_COA | c.MQRO_EXCEPTION, "ReplyToQ": replies.encode()}
    assert out.put(b"m", c.MQPMO_ASYNC_RESPONSE, **asking).code == OK
    assert reports() == []


def test_an_expiry_report_comes_when_somebody_looks(put, reports, connection, queue, source):
    put(b"short-lived", Report=c.MQRO_EXPIRATION, Expiry=SOON)
    put(b"lasting")
    assert reports() == []
    wait_until(lambda: [answer.data for answer in connection.browse(queue)] == [b"lasting"])
    assert feedbacks(reports()) == [c.MQFB_EXPIRATION]
    assert source.get(c.MQGMO_SYNCPOINT).data == b"lasting"
    assert connection.back_out() == OK
    assert feedbacks(reports()) == [c.MQFB_EXPIRATION]
    assert connection.depth(queue) == 1


def test_a_message_that_was_got_does_not_expire(put, reports, source):
    put(Report=c.MQRO_EXPIRATION | c.MQRO_COD, Expiry=HOUR)
    assert source.get().code == OK
    assert feedbacks(reports()) == [c.MQFB_COD]


@table("option", [c.MQRO_COA, c.MQRO_COD, c.MQRO_EXPIRATION])
@table("passed", [0, c.MQRO_PASS_DISCARD_AND_EXPIRY, c.MQRO_PASS_DISCARD_AND_EXPIRY | c.MQRO_DISCARD_MSG])
def test_pass_discard_and_expiry_goes_on_to_the_report(put, take_reports, connection, source, option, passed):
    expires = option == c.MQRO_EXPIRATION
    put(Report=option | passed, Expiry=SOON if expires else HOUR)
    if expires:
        wait_until(lambda: connection.browse(source.name) == [])
    else:
        assert source.get().code == OK
    (report,) = take_reports()
    assert report.md.Report == passed & c.MQRO_DISCARD_MSG
    highest = MINUTE if expires else HOUR
    assert (highest - 300 < report.md.Expiry <= highest) if passed else report.md.Expiry == c.MQEI_UNLIMITED


def test_reports_count_as_uncommitted_messages(connect, own_queue_manager, tmp_path):
    mqsc = tmp_path / "few.mqsc"
    mqsc.write_text("ALTER QMGR MAXUMSGS(3)\n")
    connection = connect(to=own_queue_manager("QMR", mqsc=[mqsc]))
    out = connection.open("TEST.BASE", c.MQOO_OUTPUT)
    asking = {"ReplyToQ": b"TEST.LOCAL", "Report": c.MQRO_COA}
    assert out.put(b"1", c.MQPMO_SYNCPOINT, **asking).code == OK
    assert out.put(b"2", c.MQPMO_SYNCPOINT, **asking).code == failed(c.MQRC_SYNCPOINT_LIMIT_REACHED)
    assert (connection.depth("TEST.BASE"), connection.depth("TEST.LOCAL")) == (1, 1)
    assert out.put(b"2", c.MQPMO_SYNCPOINT).code == OK
    assert connection.commit() == OK
    assert (connection.depth("TEST.BASE"), connection.depth("TEST.LOCAL")) == (2, 1)
    out.put(b"3", **{**asking, "Report": c.MQRO_COD})
    source = connection.open("TEST.BASE", c.MQOO_INPUT_SHARED)
    assert [source.get(c.MQGMO_SYNCPOINT).code for _ in range(3)] == [OK, OK, failed(c.MQRC_SYNCPOINT_LIMIT_REACHED)]


# --- where to


def test_reply_to_q_mgr_is_filled_in_for_who_gets_the_message(put, source, mq, replies):
    assert text(put().md.ReplyToQMgr) == ""
    md = source.get().md
    assert (text(md.ReplyToQ), text(md.ReplyToQMgr)) == (replies, mq.q_mgr_name)
    put(ReplyToQ=b"")
    assert text(source.get().md.ReplyToQMgr) == ""
    put(ReplyToQMgr=b"ELSEWHERE")
    assert text(source.get().md.ReplyToQMgr) == "ELSEWHERE"


def test_a_report_goes_through_an_alias(put, connection):
    put(Report=c.MQRO_COA, ReplyToQ=b"TEST.ALIAS")
    into = connection.open("TEST.BASE", c.MQOO_INPUT_SHARED)
    assert into.get().md.Feedback == c.MQFB_COA


def dead_letter(answer):
    """Return the Reason, the destination and the Format of an MQDLH, and what is behind it."""
    assert answer.md.Format == c.MQFMT_DEAD_LETTER_HEADER
    struc_id, version, reason, name, q_mgr_name, _, _, format_ = struct.unpack_from("<4sii48s48sii8s", answer.data)
    assert (struc_id, version) == (b"DLH ", 1)
    return reason, (text(name), text(q_mgr_name)), format_, answer.data[172:]


@pytest.fixture
def with_dead_letter_queue(own_queue_manager, tmp_path, connect):
    """A connection to a queue manager with a dead-letter queue, and queues Q and FULL, which is."""
    mqsc = tmp_path / "dlq.mqsc"
    mqsc.write_text(
        "DEFINE QLOCAL(DLQ)\nALTER QMGR DEADQ(DLQ)\nDEFINE QLOCAL(Q)\nDEFINE QLOCAL(FULL) MAXDEPTH(1)\nDEFINE QMODEL(M)\n"
    )
    connection = connect(to=own_queue_manager("QMD", mqsc=[mqsc]))
    connection.put1("FULL", b"there is no more room")
    return connection


@table(
    ("reply_to_q", "reply_to_q_mgr", "reason"),
    [
        ("NOBODY.KNOWS", "QMD", c.MQRC_UNKNOWN_OBJECT_NAME),
        ("FULL", "QMD", c.MQRC_Q_FULL),
        ("M", "QMD", c.MQRC_Q_TYPE_ERROR),
        ("FULL", "ELSEWHERE", c.MQRC_UNKNOWN_REMOTE_Q_MGR),
    ],
)
def test_a_report_that_cannot_be_put_goes_to_the_dead_letter_queue(
    with_dead_letter_queue, reply_to_q, reply_to_q_mgr, reason
):
    connection = with_dead_letter_queue
    fields = {"ReplyToQ": reply_to_q.encode(), "ReplyToQMgr": reply_to_q_mgr.encode(), "Format": c.MQFMT_STRING}
    assert connection.put1("Q", b"text", Report=c.MQRO_COA_WITH_FULL_DATA, **fields).code == OK
    (letter,) = connection.open("DLQ", c.MQOO_INPUT_SHARED).all()
    assert dead_letter(letter) == (reason, (reply_to_q, reply_to_q_mgr), c.MQFMT_STRING, b"text")
    assert (letter.md.MsgType, letter.md.Feedback) == (c.MQMT_REPORT, c.MQFB_COA)
    assert connection.open("Q", c.MQOO_INPUT_SHARED).get().data == b"text"


def test_a_report_to_be_discarded_does_not_go_to_the_dead_letter_queue(with_dead_letter_queue):
    connection = with_dead_letter_queue
    options = c.MQRO_COA | c.MQRO_DISCARD_MSG
    connection.put1("Q", b"m", Report=options | c.MQRO_PASS_DISCARD_AND_EXPIRY, ReplyToQ=b"NOBODY.KNOWS")
    assert connection.depth("DLQ") == 0
    # MQRO_DISCARD_MSG alone is about the message, not about its reports.
    connection.put1("Q", b"m", Report=options, ReplyToQ=b"NOBODY.KNOWS")
    assert connection.depth("DLQ") == 1


def test_without_a_dead_letter_queue_the_report_is_dropped_and_the_call_succeeds(put, connection, queue, source):
    assert put(Report=c.MQRO_COA | c.MQRO_COD, ReplyToQ=b"NOBODY.KNOWS").code == OK
    assert source.get(c.MQGMO_SYNCPOINT).code == OK
    assert connection.commit() == OK
    assert connection.depth(queue) == 0


def test_dead_letters_are_not_confirmed(put, reports, source):
    put(Report=c.MQRO_COA | c.MQRO_COD, Format=c.MQFMT_DEAD_LETTER_HEADER)
    assert source.get().code == OK
    assert reports() == []


def test_a_report_to_the_very_queue_is_found_behind_the_message(put, connection, queue):
    put(Report=c.MQRO_COA | c.MQRO_COD, ReplyToQ=queue.encode())
    assert connection.depth(queue) == 2
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    assert [(answer.data, answer.md.Feedback) for answer in (source.get(), source.get(), source.get())] == [
        (b"m", 0),
        (b"", c.MQFB_COA),
        (b"", c.MQFB_COD),
    ]
    assert connection.depth(queue) == 0


# --- durability


def test_reports_on_persistent_messages_survive_a_kill(own_queue_manager, connect):
    q_mgr = own_queue_manager("QMK")
    connection = connect(to=q_mgr)
    asking = {"ReplyToQ": b"TEST.LOCAL", "Report": c.MQRO_COA | c.MQRO_COD | c.MQRO_EXPIRATION}
    for persistence in (c.MQPER_PERSISTENT, c.MQPER_NOT_PERSISTENT):
        connection.put1("TEST.BASE", b"%d" % persistence, Persistence=persistence, **asking)
    source = connection.open("TEST.BASE", c.MQOO_INPUT_SHARED)
    assert [source.get(c.MQGMO_SYNCPOINT).code for _ in range(2)] == [OK, OK]
    assert connection.commit() == OK
    connection.put1("TEST.BASE", b"short-lived", Persistence=c.MQPER_PERSISTENT, Expiry=SOON, **asking)
    wait_until(lambda: connection.browse("TEST.BASE") == [])
    assert connection.depth("TEST.LOCAL") == 6
    # Not committed: the COD report of this one must be gone, and the message be back.
    connection.put1("TEST.BASE", b"again", Persistence=c.MQPER_PERSISTENT, ReplyToQ=b"TEST.LOCAL", Report=c.MQRO_COD)
    assert source.get(c.MQGMO_SYNCPOINT).data == b"again"
    q_mgr.kill()
    q_mgr.start()
    connection = connect(to=q_mgr)
    found = connection.browse("TEST.LOCAL")
    assert sorted(feedbacks(found)) == sorted([c.MQFB_COA, c.MQFB_COA, c.MQFB_COD, c.MQFB_EXPIRATION])
    assert connection.depth("TEST.LOCAL") == 4
    assert [answer.data for answer in connection.browse("TEST.BASE")] == [b"again"]


def test_a_put_that_cannot_be_written_leaves_no_report(own_queue_manager, connect):
    q_mgr = own_queue_manager("QMF")
    connection = connect(to=q_mgr)
    asking = {"ReplyToQ": b"TEST.LOCAL", "Persistence": c.MQPER_PERSISTENT}
    assert connection.put1("TEST.BASE", b"before", Report=c.MQRO_COD, **asking).code == OK
    q_mgr.control.fill_log()
    assert connection.put1("TEST.BASE", b"m", Report=c.MQRO_COA, **asking).code.comp == 2
    # Only its report needs room, and without it the message is not got.
    assert connection.open("TEST.BASE", c.MQOO_INPUT_SHARED).get().code.comp == 2
    assert (connection.depth("TEST.LOCAL"), connection.depth("TEST.BASE")) == (0, 1)
    q_mgr.control.fill_log(full=False)
    assert connection.open("TEST.BASE", c.MQOO_INPUT_SHARED).get().data == b"before"
    assert feedbacks(connection.browse("TEST.LOCAL")) == [c.MQFB_COD]


# --- the Report field


@table(
    "report",
    [c.MQRO_COA, c.MQRO_COD_WITH_DATA, c.MQRO_EXPIRATION, c.MQRO_EXCEPTION_WITH_FULL_DATA, c.MQRO_PAN, c.MQRO_NAN],
)
def test_a_report_needs_a_reply_to_q(put, source, report):
    assert put(Report=report, ReplyToQ=b"").code == failed(c.MQRC_MISSING_REPLY_TO_Q)
    assert put(MsgType=c.MQMT_REQUEST, ReplyToQ=b" " * 48).code == failed(c.MQRC_MISSING_REPLY_TO_Q)
    assert source.get().code == EMPTY


@table("report", [c.MQRO_PASS_MSG_ID, c.MQRO_PASS_CORREL_ID, c.MQRO_DISCARD_MSG])
def test_other_report_options_need_none(put, report):
    assert put(Report=report, ReplyToQ=b"").code == OK


@table(
    "report",
    # Bits of MQRO_REJECT_UNSUP_MASK, unused ones of MQRO_ACCEPT_UNSUP_IF_XMIT_MASK, and "with data" without the option.
    [
        0x10000000,
        0x00100000,
        0x00080000,
        0x00040000,
        0x00020000,
        0x00010000,
        0x8000,
        0x200,
        0x400,
        0x1000,
        0x2000,
        0x500,
    ],
)
def test_unknown_report_options_are_refused(put, source, report):
    assert put(Report=report).code == failed(c.MQRC_REPORT_OPTIONS_ERROR)
    assert source.get().code == EMPTY


@table("report", [0x08, 0x10, 0x20, 0x40000000, 0x02000000, 0x00400000])
def test_unknown_report_options_that_do_no_harm_are_a_warning(put, source, report):
    assert put(Report=report).code == Code(c.MQCC_WARNING, c.MQRC_UNKNOWN_REPORT_OPTION)
    assert source.get().md.Report == report


def test_every_report_option_together_is_accepted(put, source):
    everything = (
        (c.MQRO_COA_WITH_FULL_DATA | c.MQRO_COD_WITH_FULL_DATA | c.MQRO_EXPIRATION_WITH_FULL_DATA | c.MQRO_PASS_MSG_ID)
        | (c.MQRO_EXCEPTION_WITH_FULL_DATA | c.MQRO_PAN | c.MQRO_NAN | c.MQRO_ACTIVITY | c.MQRO_PASS_CORREL_ID)
        | (c.MQRO_DISCARD_MSG | c.MQRO_PASS_DISCARD_AND_EXPIRY)
    )
    assert put(Report=everything).code == OK
    answer = source.get(c.MQGMO_SYNCPOINT)
    assert (answer.code.reason, answer.md.Report) == (c.MQRC_NONE, everything)

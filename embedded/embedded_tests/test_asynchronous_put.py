"""Asynchronous puts and MQSTAT.

IBM MQ, topics "Using asynchronous put in a client application" (q027340), "DefaultPutResponse" (q103140), "MQPUT1 sync point
behavior change" (q001670), "MQSTAT" (q101920, q106240), "2003" (q040770). Which fields come back is the reading described in
put_response.py.
"""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK, Code, failed, text, warning
from embedded_tests.tables import table
from mqembedded import constants as c

ASYNC, SYNC = c.MQPMO_ASYNC_RESPONSE, c.MQPMO_SYNC_RESPONSE
NOBODY = "NOBODY.KNOWS"


@pytest.fixture
def small(make_queue):
    """The name of a queue with room for three messages and DEFPRESP(ASYNC)."""
    return make_queue("TEST.ASYNC.MODEL")


@pytest.fixture
def out(connection, queue):
    return connection.open(queue, c.MQOO_OUTPUT)


@pytest.fixture
def stat(mqi, connection):
    """A function that calls MQSTAT and returns the code and the MQSTS."""
    if mqi.name == "pymqi":
        pytest.skip("pymqi has no MQSTAT")

    def call(kind=c.MQSTAT_TYPE_ASYNC_ERROR, on=connection, raw=None):
        sts = mqi.package.STS()
        packed, comp, reason = mqi.c.MQSTAT(on.hconn, kind, raw if raw is not None else sts.pack())
        if raw is None:
            sts.unpack(packed)
        return Code(comp, reason), sts

    return call


def counts(sts):
    return sts.PutSuccessCount, sts.PutWarningCount, sts.PutFailureCount


def visible(connection, queue):
    return [answer.data for answer in connection.browse(queue)]


# --- which puts are asynchronous, and what they answer


def test_an_asynchronous_put_is_put(connection, queue, out):
    assert out.put(b"m", ASYNC).code == OK
    assert visible(connection, queue) == [b"m"]


def test_an_asynchronous_put_to_a_full_queue_is_ok_and_lost(connection, small):
    out = connection.open(small, c.MQOO_OUTPUT)
    assert [out.put(b"%d" % number, ASYNC).code for number in range(5)] == [OK] * 5
    assert visible(connection, small) == [b"0", b"1", b"2"]
    assert connection.depth(small) == 3


def test_defpresp_makes_puts_asynchronous_and_sync_response_overrules_it(connection, small):
    out = connection.open(small, c.MQOO_OUTPUT)
    assert [out.put(b"m").code for _ in range(4)] == [OK] * 4
    assert out.put(b"m", SYNC).code == failed(c.MQRC_Q_FULL)
    assert connection.depth(small) == 3


def test_defpresp_is_taken_when_the_queue_is_opened(connection, small, mq, binding):
    q_mgr = mq.connect(binding)
    pcf = binding.PCFExecute(q_mgr)
    change = {
        c.MQCA_Q_NAME: small.encode(),
        c.MQIA_Q_TYPE: c.MQQT_LOCAL,
        c.MQIA_DEF_PUT_RESPONSE_TYPE: c.MQPRT_SYNC_RESPONSE,
    }
    before = fill(connection, small)
    pcf.MQCMD_CHANGE_Q(change)
    assert before.put(b"m").code == OK
    assert connection.open(small, c.MQOO_OUTPUT).put(b"m").code == failed(c.MQRC_Q_FULL)
    assert connection.depth(small) == 3
    pcf.disconnect()
    q_mgr.disconnect()


def test_an_alias_has_a_defpresp_of_its_own(connect, own_queue_manager, tmp_path):
    mqsc = tmp_path / "alias.mqsc"
    mqsc.write_text("DEFINE QLOCAL(BASE) PUT(DISABLED)\nDEFINE QALIAS(ALIAS) TARGET(BASE) DEFPRESP(ASYNC)\n")
    connection = connect(to=own_queue_manager("QMA", mqsc=[mqsc]))
    assert connection.open("ALIAS", c.MQOO_OUTPUT).put(b"m").code == OK
    assert connection.open("BASE", c.MQOO_OUTPUT).put(b"m").code == failed(c.MQRC_PUT_INHIBITED)
    assert connection.depth("BASE") == 0


def test_response_as_q_def_is_synchronous_by_default(connection, queue, out):
    inhibit(connection, queue)
    assert out.put(b"m").code == failed(c.MQRC_PUT_INHIBITED)
    assert out.put(b"m", ASYNC).code == OK
    inhibit(connection, queue, c.MQQA_PUT_ALLOWED)


def inhibit(connection, queue, value=c.MQQA_PUT_INHIBITED):
    handle = connection.open(queue, c.MQOO_SET)
    assert handle.set(c.MQIA_INHIBIT_PUT, value) == OK
    handle.close()


def test_both_responses_are_an_options_error_at_once(out, connection, queue):
    assert out.put(b"m", ASYNC | SYNC).code == failed(c.MQRC_OPTIONS_ERROR)
    assert connection.put1(queue, b"m", ASYNC | c.MQPMO_LOGICAL_ORDER).code == failed(c.MQRC_OPTIONS_ERROR)


def test_a_handle_that_cannot_put_is_told_at_once(connection, queue, out):
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    assert source.put(b"m", ASYNC).code == failed(c.MQRC_NOT_OPEN_FOR_OUTPUT)
    out.close()
    assert out.put(b"m", ASYNC).code == failed(c.MQRC_HOBJ_ERROR)


@pytest.mark.parametrize("full", [False, True])
def test_only_what_is_documented_comes_back(connection, small, mqi, full):
    out = connection.open(small, c.MQOO_OUTPUT)
    for _ in range(3 if full else 0):
        assert out.put(b"", SYNC).code == OK
    sent = {
        "Priority": c.MQPRI_PRIORITY_AS_Q_DEF,
        "PutDate": b"sentdate",
        "PutTime": b"senttime",
        "UserIdentifier": b"sent".ljust(12),
        "ReplyToQ": b"SENT".ljust(48),
        "BackoutCount": 17,
    }
    pmo = mqi.pmo(Options=ASYNC, ResolvedQName=b"sent".ljust(48), ResolvedQMgrName=b"sent".ljust(48), KnownDestCount=5)
    answer = out.put(b"m", md=mqi.md(**sent, PutApplName=b"sent".ljust(28), ApplIdentityData=b"s" * 32), pmo=pmo)
    assert answer.code == OK
    assert {name: getattr(answer.md, name) for name in sent} == sent
    assert text(answer.pmo.ResolvedQName) == text(answer.pmo.ResolvedQMgrName) == "sent"
    assert answer.pmo.KnownDestCount == 5
    assert text(answer.md.PutApplName) not in ("", "sent")
    assert answer.md.ApplIdentityData == b" " * 32
    assert answer.md.MsgId != bytes(24)
    assert answer.md.CorrelId == c.MQCI_NONE


def test_identifiers_come_back_where_they_are_made(connection, queue, out):
    given = {"MsgId": b"m" * 24, "CorrelId": b"c" * 24}
    plain = out.put(b"1", ASYNC, **given).md
    assert (plain.MsgId, plain.CorrelId) == (b"m" * 24, b"c" * 24)
    made = out.put(b"2", ASYNC | c.MQPMO_NEW_MSG_ID | c.MQPMO_NEW_CORREL_ID, **given).md
    stored = connection.browse(queue)[1].md
    assert (made.MsgId, made.CorrelId) == (stored.MsgId, stored.CorrelId)
    assert made.MsgId != b"m" * 24
    assert made.CorrelId != b"c" * 24


def test_a_group_is_put_whole_and_its_group_id_does_not_come_back(connection, queue, out):
    flags = [c.MQMF_MSG_IN_GROUP, c.MQMF_MSG_IN_GROUP, c.MQMF_LAST_MSG_IN_GROUP]
    places = [out.put(b"m", ASYNC | c.MQPMO_LOGICAL_ORDER, MsgFlags=flag).place for flag in flags]
    assert places == [(c.MQGI_NONE, 1, 0)] * 3
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    got = [source.get(c.MQGMO_LOGICAL_ORDER).md for _ in flags]
    assert [md.MsgSeqNumber for md in got] == [1, 2, 3]
    assert len({md.GroupId for md in got} - {c.MQGI_NONE}) == 1


# --- units of work


def fill(connection, small):
    out = connection.open(small, c.MQOO_OUTPUT)
    for _ in range(3):
        assert out.put(b"old", SYNC).code == OK
    return out


def test_mqcmit_backs_out_when_an_asynchronous_put_in_it_failed(connection, small, queue):
    elsewhere = connection.open(queue, c.MQOO_OUTPUT)
    assert elsewhere.put(b"m", SYNC | c.MQPMO_SYNCPOINT).code == OK
    out = fill(connection, small)
    assert out.put(b"new", ASYNC | c.MQPMO_SYNCPOINT, Persistence=c.MQPER_PERSISTENT).code == OK
    assert connection.commit() == warning(c.MQRC_BACKED_OUT)
    assert visible(connection, queue) == []
    assert (connection.depth(queue), connection.depth(small)) == (0, 3)
    assert elsewhere.put(b"next", SYNC | c.MQPMO_SYNCPOINT).code == OK
    assert connection.commit() == OK
    assert visible(connection, queue) == [b"next"]


def test_later_calls_in_a_unit_of_work_with_a_failed_put_fail_until_mqback(connection, small, queue):
    """As where the log is full (topic q040770)."""
    other = connection.open(queue, c.MQOO_OUTPUT | c.MQOO_INPUT_SHARED)
    assert other.put(b"there").code == OK
    out = fill(connection, small)
    assert out.put(b"lost", ASYNC | c.MQPMO_SYNCPOINT, Persistence=c.MQPER_PERSISTENT).code == OK
    backed_out = failed(c.MQRC_BACKED_OUT)
    assert other.put(b"1", c.MQPMO_SYNCPOINT).code == backed_out
    assert other.get(c.MQGMO_SYNCPOINT).code == backed_out
    assert other.put(b"outside syncpoint").code == OK
    assert connection.back_out() == OK
    assert other.put(b"1", c.MQPMO_SYNCPOINT).code == OK
    assert other.get(c.MQGMO_SYNCPOINT).data == b"there"


def test_mqback_ends_a_unit_of_work_with_a_failed_put(connection, small):
    out = fill(connection, small)
    assert out.put(b"new", ASYNC | c.MQPMO_SYNCPOINT, Persistence=c.MQPER_PERSISTENT).code == OK
    assert connection.back_out() == OK
    assert connection.commit() == OK


def test_mqdisc_of_a_unit_of_work_with_a_failed_put_backs_out(connect, small, queue):
    connection = connect()
    out = fill(connection, small)
    assert connection.open(queue, c.MQOO_OUTPUT).put(b"m", c.MQPMO_SYNCPOINT, Persistence=c.MQPER_PERSISTENT).code == OK
    assert out.put(b"new", ASYNC | c.MQPMO_SYNCPOINT, Persistence=c.MQPER_PERSISTENT).code == OK
    assert connection.disconnect() == warning(c.MQRC_BACKED_OUT)
    assert connect().depth(queue) == 0


@pytest.mark.parametrize(
    ("options", "persistence"),
    [(c.MQPMO_SYNCPOINT, c.MQPER_NOT_PERSISTENT), (0, c.MQPER_PERSISTENT), (0, c.MQPER_NOT_PERSISTENT)],
)
def test_other_failed_puts_do_not_hinder_mqcmit(connection, small, queue, options, persistence):
    assert connection.open(queue, c.MQOO_OUTPUT).put(b"m", c.MQPMO_SYNCPOINT).code == OK
    out = fill(connection, small)
    assert out.put(b"new", ASYNC | options, Persistence=persistence).code == OK
    assert connection.commit() == OK
    assert visible(connection, queue) == [b"m"]
    assert connection.depth(small) == 3


def test_logical_order_goes_on_where_a_failed_put_left_it(connection, small):
    """The put that failed did not take a sequence number: the group gets no gap."""
    out = connection.open(small, c.MQOO_OUTPUT)
    options = ASYNC | c.MQPMO_LOGICAL_ORDER
    for data in (b"1", b"2", b"3", b"lost"):
        assert out.put(data, options, MsgFlags=c.MQMF_MSG_IN_GROUP).code == OK
    assert connection.open(small, c.MQOO_INPUT_SHARED).get().data == b"1"
    assert out.put(b"4", options, MsgFlags=c.MQMF_LAST_MSG_IN_GROUP).code == OK
    assert [(m.data, m.md.MsgSeqNumber) for m in connection.browse(small)] == [(b"2", 2), (b"3", 3), (b"4", 4)]


# --- MQPUT1


def test_mqput1_in_syncpoint_tells_at_mqcmit_that_the_queue_is_unknown(connection):
    assert connection.put1(NOBODY, b"m", c.MQPMO_SYNCPOINT).code == OK
    assert connection.commit() == warning(c.MQRC_BACKED_OUT)


def test_mqput1_in_syncpoint_is_put_at_mqcmit(connection, queue, mqi):
    answer = connection.put1(queue, b"m", c.MQPMO_SYNCPOINT)
    assert (answer.code, text(answer.pmo.ResolvedQName)) == (OK, "")
    assert visible(connection, queue) == []
    assert connection.commit() == OK
    assert visible(connection, queue) == [b"m"]


def test_mqput1_outside_syncpoint_or_with_sync_response_tells_at_once(connection):
    assert connection.put1(NOBODY, b"m").code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)
    assert connection.put1(NOBODY, b"m", c.MQPMO_SYNCPOINT | SYNC).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)
    assert connection.put1(NOBODY, b"m", ASYNC).code == OK


@table(
    ("configuration", "always_sync"),
    [
        ("CHANNELS:\n   Put1DefaultAlwaysSync=YES\n", True),
        ("# comment\nTCP:\n  KeepAlive=Yes\n\nChannels:\nPut1DefaultAlwaysSync = yes\n", True),
        ("CHANNELS:\n   Put1DefaultAlwaysSync=NO\n", False),
        ("TCP:\n   Put1DefaultAlwaysSync=YES\n", False),
        ("", False),
    ],
)
@table("prefix", ["", "file://"])
def test_mqclient_ini_makes_mqput1_synchronous(connect, tmp_path, monkeypatch, configuration, always_sync, prefix):
    path = tmp_path / "client.ini"
    path.write_text(configuration)
    monkeypatch.setenv("MQCLNTCF", f"{prefix}{path}")
    answer = connect().put1(NOBODY, b"m", c.MQPMO_SYNCPOINT)
    assert answer.code == (failed(c.MQRC_UNKNOWN_OBJECT_NAME) if always_sync else OK)


def test_mqclient_ini_in_the_working_directory_is_read(connect, tmp_path, monkeypatch):
    (tmp_path / "mqclient.ini").write_text("CHANNELS:\nPut1DefaultAlwaysSync=YES\n")
    monkeypatch.delenv("MQCLNTCF", raising=False)
    monkeypatch.chdir(tmp_path)
    assert connect().put1(NOBODY, b"m", c.MQPMO_SYNCPOINT).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


# --- MQSTAT


def test_mqstat_counts_and_begins_anew(stat, out):
    assert counts(stat()[1]) == (0, 0, 0)
    for options, fields in [(ASYNC, {}), (ASYNC, {"Priority": 10}), (ASYNC, {}), (SYNC, {}), (0, {})]:
        out.put(b"m", options, **fields)
    code, sts = stat()
    assert (code, counts(sts)) == (OK, (2, 1, 0))
    assert (sts.CompCode, sts.Reason) == (c.MQCC_WARNING, c.MQRC_PRIORITY_EXCEEDS_MAXIMUM)
    code, sts = stat()
    assert (code, counts(sts), sts.CompCode, sts.Reason) == (OK, (0, 0, 0), c.MQCC_OK, c.MQRC_NONE)
    assert (sts.ObjectType, text(sts.ObjectName)) == (c.MQOT_NONE, "")


def test_mqstat_tells_the_first_failure_and_where(stat, connection, small, queue, mq):
    out = fill(connection, small)
    inhibit(connection, queue)
    assert out.put(b"m", ASYNC).code == OK
    assert connection.put1(NOBODY, b"m", ASYNC).code == OK
    assert connection.open(queue, c.MQOO_OUTPUT).put(b"m", ASYNC).code == OK
    inhibit(connection, queue, c.MQQA_PUT_ALLOWED)
    _, sts = stat()
    assert counts(sts) == (0, 0, 3)
    assert (sts.CompCode, sts.Reason, sts.ObjectType) == (c.MQCC_FAILED, c.MQRC_Q_FULL, c.MQOT_LOCAL_Q)
    assert (text(sts.ObjectName), text(sts.ResolvedObjectName)) == (small, small)
    assert text(sts.ObjectQMgrName) == text(sts.ResolvedQMgrName) == mq.q_mgr_name
    assert (sts.ObjectStringVSLength, sts.SubNameVSLength, sts.OpenOptions, sts.SubOptions) == (0, 0, 0, 0)


def test_mqstat_prefers_a_failure_to_an_earlier_warning_only(stat, connection, out):
    assert out.put(b"m", ASYNC, Priority=10).code == OK
    assert connection.put1(NOBODY, b"m", ASYNC).code == OK
    assert out.put(b"m", ASYNC, Priority=10).code == OK
    _, sts = stat()
    assert counts(sts) == (0, 2, 1)
    assert (sts.CompCode, sts.Reason) == (c.MQCC_FAILED, c.MQRC_UNKNOWN_OBJECT_NAME)
    assert (sts.ObjectType, text(sts.ObjectName), text(sts.ResolvedObjectName)) == (c.MQOT_Q, NOBODY, "")


def test_mqstat_names_an_alias_and_what_it_leads_to(stat, connection):
    assert connection.put1("TEST.ALIAS.PUT.INHIBITED", b"m", ASYNC).code == OK
    _, sts = stat()
    assert (sts.Reason, sts.ObjectType) == (c.MQRC_PUT_INHIBITED, c.MQOT_ALIAS_Q)
    assert (text(sts.ObjectName), text(sts.ResolvedObjectName)) == ("TEST.ALIAS.PUT.INHIBITED", "TEST.BASE")


def test_mqstat_is_the_connection_s_own_and_outlives_mqback(stat, connect, connection, small):
    out = fill(connection, small)
    assert out.put(b"m", ASYNC | c.MQPMO_SYNCPOINT).code == OK
    assert connection.back_out() == OK
    assert counts(stat(on=connect())[1]) == (0, 0, 0)
    assert counts(stat()[1]) == (0, 0, 1)


@table("kind", [c.MQSTAT_TYPE_RECONNECTION, c.MQSTAT_TYPE_RECONNECTION_ERROR])
def test_mqstat_of_reconnection_says_that_the_connection_is_connected(stat, connection, kind):
    assert connection.put1(NOBODY, b"m", ASYNC).code == OK
    code, sts = stat(kind)
    assert (code, sts.CompCode, sts.Reason, text(sts.ObjectName)) == (OK, c.MQCC_OK, c.MQRC_NONE, "")
    assert counts(stat()[1]) == (0, 0, 1)


@table("kind", [-1, 3])
def test_mqstat_refuses_other_types(stat, kind):
    assert stat(kind)[0] == failed(c.MQRC_STAT_TYPE_ERROR)


@table(
    "spoil",
    [lambda raw: b"STS " + raw[4:], lambda raw: raw[:4] + b"\3" + raw[5:], lambda raw: raw[:4] + b"\0" + raw[5:]],
    ids=["StrucId", "Version 3", "Version 0"],
)
def test_mqstat_refuses_what_is_no_mqsts_and_forgets_nothing(stat, mqi, out, spoil):
    assert out.put(b"m", ASYNC).code == OK
    assert stat(raw=spoil(mqi.package.STS().pack()))[0] == failed(c.MQRC_STS_ERROR)
    assert counts(stat()[1]) == (1, 0, 0)


def test_mqstat_leaves_alone_what_version_1_does_not_have(stat, mqi, out):
    raw = bytearray(mqi.package.STS(Version=1).pack())
    raw[224:] = b"\xee" * 56
    packed, comp, _ = mqi.c.MQSTAT(out.connection.hconn, c.MQSTAT_TYPE_ASYNC_ERROR, bytes(raw))
    assert (comp, packed[224:]) == (c.MQCC_OK, b"\xee" * 56)

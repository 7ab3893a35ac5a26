"""DISPLAY of MQSC, in PCF Escape commands."""

from __future__ import annotations

import re

import pytest

from embedded_tests.fix_mqi import OK, empty, failed, wait_until
from embedded_tests.tables import table
from mqembedded.admin.mqsc import parse
from mqembedded.constants import (
    MQGMO_FAIL_IF_QUIESCING,
    MQGMO_SYNCPOINT,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQPMO_FAIL_IF_QUIESCING,
    MQPMO_SYNCPOINT,
    MQRC_CHANNEL_NOT_AVAILABLE,
    MQRC_CONNECTION_BROKEN,
    MQRC_CONNECTION_QUIESCING,
)
from mqembedded.wire import pcf_constants as cf

pytestmark = pytest.mark.embedded

MQSC = """
DISPLAY QUEUE(*)
DEFINE QLOCAL(D.ONE) DESCR('The first, (of two)') MAXDEPTH(10) NOSHARE DEFPSIST(YES)
DEFINE QLOCAL(D.TWO) MAXDEPTH(20) TRIGGER
DEFINE QALIAS(D.ALIAS) TARGET(D.ONE)
DEFINE QMODEL(D.MODEL) DEFTYPE(PERMDYN)
DEFINE NAMELIST(D.NAMES) NAMES(D.ONE, D.TWO)
DEFINE NAMELIST(D.NONE)
DEFINE PROCESS(D.PROCESS) APPLICID('/bin/true')
DEFINE TOPIC(D.TOPIC) TOPICSTR('d/t') DESCR('mine')
DEFINE SUB(D.SUB) TOPICSTR('d/#') DEST(D.TWO) USERDATA('for you')
DEFINE CHANNEL(D.SVRCONN) CHLTYPE(SVRCONN)
ALTER QMGR MARKINT(NOLIMIT)
"""


@pytest.fixture(scope="module")
def q_mgr(module_queue_manager):
    return module_queue_manager(MQSC)


@pytest.fixture
def escape(q_mgr, binding, connect):
    """A function that sends MQSC commands and returns the texts of the answers, or None where they are refused."""
    connected = binding.QueueManager(None, disconnect_on_exit=False)
    connected.connect_tcp_client("", binding.CD(), q_mgr.channel, q_mgr.conn_name, None, None)
    commands = binding.PCFExecute(connected)

    def escape(text):
        asked = {cf.MQIACF_ESCAPE_TYPE: cf.MQET_MQSC, cf.MQCACF_ESCAPE_TEXT: text.encode()}
        try:
            rows = commands.MQCMD_ESCAPE(asked)
        except binding.MQMIError as error:
            if error.reason != cf.MQRCCF_COMMAND_FAILED:
                raise
            return None
        return [row[cf.MQCACF_ESCAPE_TEXT].rstrip(b" \0").decode() for row in rows]

    yield escape
    commands.disconnect()
    connected.disconnect()


def lines(texts):
    return [text.splitlines() for text in texts]


def names(texts):
    return [
        name
        for text in texts or []
        for name in re.findall(r"^   (?:QUEUE|NAMELIST|PROCESS|CHANNEL|TOPIC|SUB|AUTHINFO|QMNAME)\((.*?)\)", text, re.M)
    ]


def test_two_columns_and_nothing_but_what_is_asked_for(escape, connect, q_mgr):
    empty(connect(q_mgr), "D.TWO")
    first, second = lines(escape("DISPLAY QLOCAL(D.*) MAXDEPTH CURDEPTH"))
    assert first == [
        "AMQ8409I: Details of a queue.",
        "   QUEUE(D.ONE)                            TYPE(QLOCAL)",
        "   MAXDEPTH(10)                            CURDEPTH(0)",
    ]
    assert second[1:] == [
        "   QUEUE(D.TWO)                            TYPE(QLOCAL)",
        "   MAXDEPTH(20)                            CURDEPTH(0)",
    ]


def test_what_is_too_long_has_a_line_of_its_own(escape):
    assert escape("DIS CHANNEL(DEV.APP.SVRCONN) DESCR")[0].count("\n") == 2
    assert escape("DIS QMGR CONNAUTH DESCR")[0].splitlines()[1:] == [
        "   QMNAME(QM2)                             DESCR( )",
        "   CONNAUTH(SYSTEM.DEFAULT.AUTHINFO.IDPWOS)",
    ]


def test_a_generic_name_alone_shows_names_and_types(escape):
    (shown,) = lines(escape("DIS QUEUE(D.A*)"))
    assert shown[1:] == ["   QUEUE(D.ALIAS)                          TYPE(QALIAS)"]


@table("command", ["DIS QL(D.ONE)", "DIS Q(D.ON*) ALL"])
def test_a_full_name_shows_all_and_so_does_all(escape, command):
    (text,) = escape(command)
    expected = {
        "DESCR(The first, (of two))",
        "NOSHARE",
        "DEFPSIST(YES)",
        "DEFTYPE(PREDEFINED)",
        "NOTRIGGER",
        "GET(ENABLED)",
    }
    assert all(item in text for item in expected)


@table(
    ("command", "found"),
    [
        ("DIS QUEUE(D.*)", ["D.ALIAS", "D.MODEL", "D.ONE", "D.TWO"]),
        ("DIS QUEUE(D.*) TYPE(QMODEL)", ["D.MODEL"]),
        ("DIS QMODEL(D.*)", ["D.MODEL"]),
        ("DIS QALIAS(D.*) TARGET", ["D.ALIAS"]),
        ("DIS QL(D.*) WHERE(MAXDEPTH GT 10)", ["D.TWO"]),
        ("DIS QL(D.*) WHERE(MAXDEPTH LE 10)", ["D.ONE"]),
        ("DIS QL(D.*) WHERE(DESCR LK 'The first*')", ["D.ONE"]),
        ("DIS QL(D.*) WHERE(DESCR EQ 'The first, (of two)')", ["D.ONE"]),
        ("DIS QL(D.*) WHERE(DEFPSIST EQ YES)", ["D.ONE"]),
        ("DIS NAMELIST(D.*)", ["D.NAMES", "D.NONE"]),
        ("DIS NL(D.*) WHERE(NAMES CT D.TWO)", ["D.NAMES"]),
        ("DIS NL(*) WHERE(NAMCOUNT NE 0) NAMES", ["D.NAMES", "TEST.NAMELIST"]),
        ("DIS PROCESS(D.*) APPLICID", ["D.PROCESS"]),
        ("DIS CHL(DEV.AP*) CHLTYPE(SVRCONN) MAXMSGL", ["DEV.APP.SVRCONN"]),
        ("DIS TOPIC(D.*) TYPE(LOCAL) DESCR", ["D.TOPIC"]),
        ("DIS TOPIC(*) WHERE(TOPICSTR EQ 'd/t')", ["D.TOPIC"]),
        ("DIS SUB(D.*) SUBTYPE(ADMIN) TOPICSTR", ["D.SUB"]),
        ("DIS SUB(*) WHERE(DEST EQ D.TWO)", ["D.SUB"]),
        ("DIS SBSTATUS(D.SUB)", ["D.SUB"]),
        ("DIS AUTHINFO(*) AUTHTYPE(ALL) CHCKCLNT", ["SYSTEM.DEFAULT.AUTHINFO.IDPWOS"]),
        ("DIS QMSTATUS", ["QM2"]),
        ("DIS QMGR QMNAME", ["QM2"]),
    ],
)
def test_which_are_found(escape, command, found):
    assert names(escape(command)) == found


@table(
    "command",
    [
        "DIS QL(D.NOTHING)",
        "DIS QL(D.*) NONSENSE",
        "DIS QL(D.*) WHERE(MAXDEPTH IS 10)",
        "DIS QL(D.*) WHERE(MAXDEPTH GT MANY)",
        f"DIS QL(D.*) WHERE(MAXDEPTH GT {'9' * 5000})",
        "DIS QL(D.*) WHERE(NONSENSE EQ 1)",
        "DIS QL(D.*) WHERE(MAXDEPTH GT 1000)",
        "DIS QUEUE(D.*) TYPE(NONSENSE)",
        "DIS QSTATUS(*D)",
        "DIS QL",
        "DIS LISTENER(*)",
        "DIS CHLAUTH('*')",
        "DIS SUB(NOBODY)",
        "DIS TPSTATUS('nowhere')",
        "DIS STGCLASS(*)",
    ],
)
def test_what_is_refused(escape, command):
    assert escape(command) is None


def test_what_publish_and_subscribe_shows(escape):
    (text,) = escape("DIS SUB(D.SUB)")
    assert re.search(r"SUBID\([0-9A-F]{48}\)", text)
    assert all(
        item in text for item in ("TOPICSTR(d/#)", "DEST(D.TWO)", "USERDATA(for you)", "DURABLE(YES)", "SUBTYPE(ADMIN)")
    )
    (text,) = escape("DIS TPSTATUS('d/#') TYPE(SUB)")
    assert all(item in text for item in ("TPSTATUS(d/#)", "TYPE(SUB)", "NUMMSGS(0)"))
    assert "SUBCOUNT(0)" in escape("DIS TPSTATUS('d/t') SUBCOUNT")[0]


def test_statistics_and_accounting_are_kept_and_shown(escape):
    assert escape("ALTER QMGR STATCHL(HIGH) STATQ(ON) ACCTQ(NONE) ACCTMQI(ON) ACCTCONO(ENABLED) MONACLS(LOW)")
    (text,) = escape("DIS QMGR STATCHL STATQ ACCTQ ACCTMQI ACCTCONO MONACLS")
    for item in ("STATCHL(HIGH)", "STATQ(ON)", "ACCTQ(NONE)", "ACCTMQI(ON)", "ACCTCONO(ENABLED)", "MONACLS(LOW)"):
        assert item in text


def test_attributes_of_many_words(escape):
    assert escape("ALTER CHANNEL(D.SVRCONN) CHLTYPE(SVRCONN) COMPMSG(RLE, zlibfast)")
    assert "COMPMSG(RLE, ZLIBFAST)" in escape("DIS CHANNEL(D.SVRCONN) COMPMSG")[0]
    assert escape("ALTER CHANNEL(D.SVRCONN) CHLTYPE(SVRCONN) COMPMSG(RLE, ZIP)") is None
    assert "SUITEB(NONE)" in escape("DIS QMGR SUITEB")[0]


def test_names_of_a_namelist_are_all_shown(escape):
    assert "NAMES(D.ONE, D.TWO)" in escape("DIS NL(D.NAMES)")[0]


def test_the_queue_manager(escape):
    (shown,) = lines(escape("DIS QMGR MARKINT SYNCPT"))
    assert shown == [
        "AMQ8408I: Details of a queue manager.",
        "   QMNAME(QM2)                             MARKINT(NOLIMIT)",
        "   SYNCPT",
    ]


def test_the_status_of_a_queue_and_of_its_handles(escape, connect, q_mgr):
    application = connect(q_mgr)
    empty(application, "D.TWO")
    handle = application.open("D.TWO", MQOO_INPUT_SHARED | MQOO_OUTPUT)
    assert handle.put(b"m", MQPMO_SYNCPOINT).code == OK
    (shown,) = lines(escape("DIS QS(D.TWO) CURDEPTH UNCOM IPPROCS OPPROCS"))
    assert shown == [
        "AMQ8450I: Details of the status of a queue.",
        "   QUEUE(D.TWO)                            TYPE(QUEUE)",
        "   CURDEPTH(1)                             IPPROCS(1)",
        "   OPPROCS(1)                              UNCOM(YES)",
    ]
    (shown,) = lines(escape("DIS QS(D.TWO) TYPE(HANDLE) INPUT OUTPUT BROWSE HSTATE"))
    assert shown[1:] == [
        "   QUEUE(D.TWO)                            TYPE(HANDLE)",
        "   INPUT(SHARED)                           OUTPUT(YES)",
        "   BROWSE(NO)                              HSTATE(INACTIVE)",
    ]


def test_a_handle_that_waits_is_active(escape, connect, q_mgr, background):
    application = connect(q_mgr)
    empty(application, "D.TWO")
    source = application.open("D.TWO", MQOO_INPUT_SHARED)
    waiting = background(source.get, wait_ms=30_000)
    while not escape("DIS QS(D.TWO) TYPE(HANDLE) WHERE(HSTATE EQ ACTIVE)"):
        assert not waiting.done()
    assert connect(q_mgr).put1("D.TWO", b"m").code == OK
    assert waiting.result(30).data == b"m"
    assert escape("DIS QS(D.TWO) TYPE(HANDLE) WHERE(HSTATE EQ ACTIVE)") is None


def test_connections_and_what_they_have_open(escape, connect, q_mgr):
    connect(q_mgr).open("D.TWO", MQOO_OUTPUT)
    handles = escape("DIS CONN(*) TYPE(HANDLE) OBJNAME OBJTYPE")
    (mine,) = [text for text in handles if "OBJNAME(D.TWO)" in text]
    assert "OBJTYPE(QUEUE)" in mine
    (number,) = re.findall(r" CONN\(([0-9A-F]{16})\)", mine)
    assert len(escape(f"DIS CONN({number})")) == 1
    assert "CHANNEL(DEV.APP.SVRCONN)" in escape(f"DIS CONN({number}) ALL")[0]


@table(
    ("text", "parameters"),
    [
        ("NAMES('a b', C, 'd')", {"NAMES": "a b,C,d"}),
        ("NAMES(a, b)", {"NAMES": "A,B"}),
        ("WHERE(descr lk 'it''s (b)*')", {"WHERE": "DESCR LK 'it''s (b)*'"}),
        ("DESCR('a, b')", {"DESCR": "a, b"}),
        ("DESCR('')", {"DESCR": ""}),
    ],
)
def test_lists_and_quotes_within_parentheses(text, parameters):
    (command,) = parse(f"ALTER NAMELIST(N) {text}")
    assert command.parameters == parameters


def test_a_command_file_may_have_it_and_shows_nothing(q_mgr):
    assert q_mgr.is_running


def test_curdepth_has_what_is_put_and_not_what_is_got_in_a_unit_of_work(escape, connect, q_mgr):
    """CurrentQDepth "includes messages that have been put on the queue within a unit of work ... excludes messages that have
    been retrieved within a unit of work" (topic q103130)."""

    def curdepths():
        shown = [escape(f"DIS {what}(D.TWO) CURDEPTH")[0] for what in ("QL", "QUEUE", "QS")]
        return [depth for text in shown for depth in re.findall(r"CURDEPTH\((\d+)\)", text)]

    application = connect(q_mgr)
    empty(application, "D.TWO")
    handle = application.open("D.TWO", MQOO_INPUT_SHARED | MQOO_OUTPUT)
    assert handle.put(b"m").code == OK
    assert handle.get(MQGMO_SYNCPOINT).code == OK
    assert curdepths() == ["0"] * 3
    for _ in range(2):
        assert handle.put(b"m", MQPMO_SYNCPOINT).code == OK
    assert curdepths() == ["2"] * 3
    assert application.back_out() == OK
    assert curdepths() == ["1"] * 3


# --- what an operator stops (docs/how-to/night.md)


def connections(escape, more=""):
    """The identifiers of the connections through channel D.SVRCONN, as DISPLAY CONN shows them."""
    shown = escape(f"DISPLAY CONN(*) WHERE(CHANNEL EQ 'D.SVRCONN') {more}") or []
    return [number for text in shown for number in re.findall(r" CONN\(([0-9A-F]{16})\)", text)]


@pytest.fixture
def operated(mqi, q_mgr):
    """A function that connects through channel D.SVRCONN and puts a message in syncpoint."""
    made = []

    def connect_once():
        code, connection = mqi.connect(q_mgr.q_mgr_name, "D.SVRCONN", q_mgr.conn_name)
        assert code == OK
        made.append(connection)
        handle = connection.open("D.TWO", MQOO_OUTPUT)
        assert handle.put(b"m", MQPMO_SYNCPOINT).code == OK
        return connection, handle

    yield connect_once
    for connection in made:
        connection.disconnect()


def test_stop_conn_ends_that_connection_alone_and_backs_it_out(escape, connect, q_mgr, operated):
    empty(connect(q_mgr), "D.TWO")
    first, second = operated(), operated()
    (text, _) = escape("DISPLAY CONN(*) WHERE(CHANNEL EQ 'D.SVRCONN') APPLTAG USERID CONNAME UOWSTATE")
    assert all(word in text for word in ("APPLTAG(", "USERID(mqm)", "CONNAME(127.0.0.1)", "UOWSTATE(ACTIVE)"))
    assert len(connections(escape, "TYPE(HANDLE) OBJNAME")) == 2
    assert len(connections(escape, "TYPE(ALL)")) == 4
    (appl_tag,) = re.findall(r"APPLTAG\((.*?)\)", text)
    assert escape(f"DIS CONN(*) WHERE(APPLTAG EQ '{appl_tag}')")
    mine, other = connections(escape)
    assert escape(f"STOP CONN({mine})") == [f"STOP CONN({mine}): done"]
    wait_until(lambda: connections(escape) == [other])
    assert first[1].put(b"n").code == failed(MQRC_CONNECTION_BROKEN)
    assert second[0].commit() == OK
    wait_until(lambda: "UNCOM(NO)" in escape("DIS QS(D.TWO) UNCOM")[0])
    assert connect(q_mgr).depth("D.TWO") == 1
    assert escape(f"STOP CONN({mine})") is None
    (server,) = re.findall(r" CONN\(([0-9A-F]{16})\)", escape("DIS CONN(*) WHERE(APPLTAG EQ 'command server')")[0])
    assert escape(f"STOP CONN({server})") is None


def test_stop_channel_ends_its_connections_until_it_is_started(escape, mqi, connect, q_mgr, operated):
    empty(connect(q_mgr), "D.TWO")
    both = [operated(), operated()]
    assert escape("STOP CHANNEL(D.SVRCONN) MODE(FORCE)")
    wait_until(lambda: "UNCOM(NO)" in escape("DIS QS(D.TWO) UNCOM")[0])
    assert connect(q_mgr).depth("D.TWO") == 0
    assert {handle.put(b"n").code for _, handle in both} == {failed(MQRC_CONNECTION_BROKEN)}
    assert mqi.connect(q_mgr.q_mgr_name, "D.SVRCONN", q_mgr.conn_name)[0] == failed(MQRC_CHANNEL_NOT_AVAILABLE)
    assert "STATUS(STOPPED)" in escape("DIS CHSTATUS(D.SVRCONN)")[0]
    assert escape("START CHANNEL(D.SVRCONN)")
    operated()
    assert escape("STOP CHANNEL(D.SVRCONN) CONNAME('192.0.2.1')") is None
    assert escape("STOP CHL(D.SVRCONN) CONNAME('127.0.0.1') MODE(TERMINATE)")
    wait_until(lambda: not connections(escape))
    operated()
    assert escape("STOP CHANNEL(D.SVRCONN) STATUS(INACTIVE) MODE(FORCE)")
    wait_until(lambda: not connections(escape))
    operated()


def test_stop_channel_quiesces_for_calls_that_ask_for_it_before_it_breaks_the_connection(
    escape, connect, q_mgr, operated, background
):
    empty(connect(q_mgr), "D.TWO")
    (waits, _), (works, handle) = operated(), operated()
    source = waits.open("D.ONE", MQOO_INPUT_SHARED | MQOO_OUTPUT)
    waiting = background(source.get, MQGMO_FAIL_IF_QUIESCING, wait_ms=30_000)
    active = "DIS CONN(*) TYPE(HANDLE) WHERE(HSTATE EQ ACTIVE) OBJNAME"
    wait_until(lambda: any("OBJNAME(D.ONE)" in text for text in escape(active) or []))
    assert escape("STOP CHANNEL(D.SVRCONN) STATUS(INACTIVE)")
    assert waiting.result(30).code == failed(MQRC_CONNECTION_QUIESCING)
    assert handle.put(b"m", MQPMO_FAIL_IF_QUIESCING).code == failed(MQRC_CONNECTION_QUIESCING)
    assert works.commit() == OK
    assert works.disconnect() == OK
    assert "STATUS(STOPPING)" in escape("DIS CHSTATUS(D.SVRCONN) STATUS")[0]
    assert escape("STOP CHANNEL(D.SVRCONN) STATUS(INACTIVE) MODE(FORCE)")
    wait_until(lambda: not connections(escape))
    assert waits.commit() == failed(MQRC_CONNECTION_BROKEN)


def test_ping_and_start_of_the_command_server_are_answered(escape):
    assert escape("PING QMGR") == ["PING QMGR: done"]
    assert escape("START CMDSERV")

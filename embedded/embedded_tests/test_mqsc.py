"""MQSC: how command files are written ("Building command scripts"), and what DEFINE, ALTER and DELETE do."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.fix_mqi import OK, failed
from embedded_tests.tables import table
from mqembedded import EmbeddedQueueManagerError
from mqembedded import constants as mq
from mqembedded.admin import stopping
from mqembedded.admin.mqsc import MQSCError, decoded, parse
from mqembedded.admin.mqsc_commands import attributes_without_effect, run, told
from mqembedded.objects.kinds import Kind
from mqembedded.serve.start_up import started

ROOT = Path(__file__).parents[2]


def one(text):
    (command,) = parse(text)
    return command


# --- reading


@table(
    "text",
    [
        "DEFINE QLOCAL(Q1) MAXDEPTH(10) REPLACE",
        "define qlocal(q1) maxdepth(10) replace",
        "DEF QL(Q1) MAXDEPTH(10) REPLACE",
        "DEFINE QLOCAL('Q1') MAXDEPTH( 10 ) REPLACE",
        "DEFINE QLOCAL ( Q1 )   MAXDEPTH (10)\tREPLACE   ",
        "  DEFINE QLOCAL(Q1) MAXDEPTH(10) REPLACE;",
        "DEFINE QLOCAL(Q1), MAXDEPTH(10),REPLACE",
        "DEFINE QLOCAL(Q1) +\n       MAXDEPTH(10) +\n\t REPLACE",
        "DEFINE QLOCAL(Q1) MAXDE+\n   PTH(10) REPLACE",
        "DEFINE QLOCAL(Q1) MAXDE-\nPTH(10) REPLACE",
        "* a comment\n\nDEFINE QLOCAL(Q1) +\n* in between\n MAXDEPTH(10) REPLACE\n* behind",
    ],
)
def test_ways_to_write_one_command(text):
    command = one(text)
    assert (command.verb, command.kind, command.name) == ("DEFINE", "QLOCAL", "Q1")
    assert command.parameters == {"MAXDEPTH": "10", "REPLACE": ""}
    assert not command.set_aside


def test_quotes_keep_case_and_what_is_in_them():
    command = one("DEFINE QLOCAL('mixed.Case') DESCR('It''s (a) queue; with + and *')")
    assert command.name == "mixed.Case"
    assert command.parameters == {"DESCR": "It's (a) queue; with + and *"}


def test_after_a_minus_the_blanks_of_the_next_line_count():
    assert one("DEFINE QLOCAL(Q) DESCR('a-\n  b')").parameters["DESCR"] == "a  b"
    assert one("DEFINE QLOCAL(Q) DESCR('a+\n  b')").parameters["DESCR"] == "ab"


def test_commands_and_their_lines():
    text = "* 1\nDEFINE QLOCAL(A)\n\nALTER QLOCAL(A) +\n GET(DISABLED)\nDELETE QLOCAL(A); DEFINE QALIAS(B) TARGET(A)"
    found = [(command.line, command.verb, command.kind, command.name) for command in parse(text)]
    assert found == [
        (2, "DEFINE", "QLOCAL", "A"),
        (4, "ALTER", "QLOCAL", "A"),
        (6, "DELETE", "QLOCAL", "A"),
        (6, "DEFINE", "QALIAS", "B"),
    ]


def test_nothing_is_no_command():
    assert parse("") == parse("* only\n* comments\n\n") == []


@table("end", ["END", "end", "  End ;", "END;"])
def test_end_ends_the_text_even_before_what_cannot_be_read(end):
    assert [command.name for command in parse(f"DEFINE QLOCAL(A)\n{end}\nNONSENSE")] == ["A"]


@table(
    ("raw", "line"),
    [
        ("DEFINE QLOCAL(A)\n* Gr\u00fc\u00dfe\n".encode("latin-1"), 2),
        ("DEFINE QLOCAL(A)\n".encode("utf-16"), 1),
        (b"\xfe\xff\0D", 1),
    ],
)
def test_a_file_that_is_not_utf_8_is_refused_with_its_line(raw, line):
    with pytest.raises(
        MQSCError, match=f"^line {line}: .*convert the text to UTF-8|^line {line}: .*convert it to UTF-8"
    ):
        decoded(raw)


@table("keyword", ["LDAPPWD", "KEYRPWD", "initkey", "PASSWORD ", "SSLCRYP"])
def test_an_error_shows_no_password(keyword):
    with pytest.raises(MQSCError) as refused:
        parse(f"ALTER NOTHING(X) {keyword}('hidden')")
    assert "hidden" not in str(refused.value)
    assert f"ALTER NOTHING(X) {keyword.strip()}..." in str(refused.value)


def test_a_byte_order_mark_is_not_a_part_of_the_text():
    assert decoded("DEFINE QLOCAL(A) DESCR('\u00fc')".encode("utf-8-sig")) == "DEFINE QLOCAL(A) DESCR('\u00fc')"


@table(
    "text",
    [
        "SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS)",
        "REFRESH SECURITY TYPE(CONNAUTH)",
        "DEFINE AUTHINFO(X) AUTHTYPE(IDPWLDAP)",
        "DEFINE CHANNEL(X) CHLTYPE(SDR) XMITQ(Y)",
        "DEFINE CHANNEL(X) CHLTYPE(MQTT) PORT(1883)",
        "DELETE CHANNEL(X) CHLTABLE(CLNTTAB)",
        "DEFINE SERVICE(X) CONTROL(QMGR) SERVTYPE(SERVER) STARTCMD('x')",
        "STA SERVICE(X)",
        "DEFINE COMMINFO(X) TYPE(MULTICAST)",
        "REF SEC TYPE(SSL)",
        "START CMDSERV",
        "STOP LSTR(X) IGNSTATE(YES)",
        "DEFINE LISTENER(X) TRPTYPE(TCP) PORT(1414) CONTROL(QMGR) REPLACE",
        "START LISTENER(X)",
    ],
)
def test_what_means_something_to_ibm_mq_only_is_set_aside(text):
    assert one(text).set_aside


@table(
    "text",
    [
        "MOVE QLOCAL(X) TOQLOCAL(Y)",
        "DEFINE STGCLASS(X)",
        "DEFINE CHANNEL(X)",
        "DEFINE CHANNEL(X) CHLTYPE(SVRCON)",
        "DEFINE AUTHINFO(X) AUTHTYPE(LDAP)",
        "DEFINE",
        "DEFINE QLOCAL",
        "DEFINE QLOCAL()",
        "DEFINE QLOCAL(X",
        "DEFINE QLOCAL(X) MAXDEPTH(10",
        "DEFINE QLOCAL(X) MAXDEPTH(1) MAXDEPTH(2)",
        "DEFINE QLOCAL(X) REPLACE NOREPLACE",
        "DEFINE QLOCAL(X) NOSHARE SHARE",
        "DEFINE QLOCAL(X) DESCR('open",
        "DEFINE QLOCAL(X) )",
        "NONSENSE",
    ],
)
def test_what_cannot_be_read_names_its_line(text):
    with pytest.raises(MQSCError, match="line 3"):
        parse(f"* one\n\n{text}\n")


@given(st.text(alphabet="DEFINE QLOCAL()'+-*;\n,Xx0", max_size=80))
def test_any_text_is_read_or_refused(text):
    try:
        parse(text)
    except MQSCError as refused:
        said = str(refused)
    else:
        return
    assert said.startswith("line ")


@table(
    "text",
    [
        "DEFINE QLOCAL(A)" + ";" * 400_000,
        "DEFINE QLOCAL(A) DESCR('" + ";" * 400_000,
        "DEFINE QLOCAL(A) " + " ".join(f"A{number}" for number in range(100_000)),
        "DEFINE QLOCAL(A) DESCR(" + " ," * 200_000 + ")",
    ],
)
def test_a_text_is_read_in_the_time_that_its_length_takes(text):
    # If the rest of the text is looked at for each token, these take minutes.
    before_s = time.process_time()
    with contextlib.suppress(MQSCError):
        parse(text)
    assert time.process_time() - before_s < 10


def test_the_container_s_file_is_read():
    commands = parse((ROOT / "docker" / "20-mqgroups.mqsc").read_text())
    assert {"MQGROUPS.STATUS.MODEL", "ORDERS", "FLIGHTS"} <= {command.name for command in commands}
    assert not any(command.set_aside for command in commands)


# --- carrying out


FIRST = """
DEFINE QLOCAL(ALTERED) MAXDEPTH(7) DEFPRTY(4)
DEFINE QLOCAL(REPLACED) MAXDEPTH(7) DEFPRTY(4)
DEFINE QLOCAL(THERE) MAXDEPTH(7) DEFPRTY(4) NOSHARE DEFSOPT(EXCL) DESCR('seven') DEFPSIST(YES)
DEFINE QLOCAL(LIKE.IT) LIKE(ALTERED) DEFPRTY(5)
DEFINE QLOCAL(DELETED)
DEFINE QLOCAL(PURGED)
DEFINE CHANNEL(MY.SVRCONN) CHLTYPE(SVRCONN) REPLACE
"""
THEN = """
ALTER QLOCAL(ALTERED) MAXDEPTH(8)
DEFINE QLOCAL(REPLACED) MAXDEPTH(8) REPLACE
DEFINE QLOCAL(THERE) MAXDEPTH(8)
DEFINE QLOCAL(BEHIND.IT)
DELETE QLOCAL(DELETED)
DELETE QLOCAL(PURGED) PURGE
DEFINE QLOCAL(PURGED)
"""


@pytest.fixture(scope="module")
def q_mgr(module_queue_manager, tmp_path_factory, mqi):
    """A queue manager that has read ``FIRST``, got messages, and read ``THEN`` at its second start."""
    commands = tmp_path_factory.mktemp("mqsc") / "commands.mqsc"
    commands.write_text(FIRST)
    q_mgr = module_queue_manager(commands)
    _, connection = mqi.connect(q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name)
    for name in ("ALTERED", "REPLACED", "PURGED"):
        assert connection.put1(name, b"m", Persistence=1).code == OK
    q_mgr.stop()
    commands.write_text(THEN)
    q_mgr.start()
    return q_mgr


@pytest.fixture
def connection(connect, q_mgr):
    return connect(to=q_mgr)


def inquire(connection, name, selector):
    code, value = connection.open(name, mq.MQOO_INQUIRE).inquire(selector)
    assert code == OK
    return value


@pytest.mark.embedded
def test_define_sets_and_the_rest_is_default(connection):
    assert inquire(connection, "THERE", mq.MQIA_DEF_PRIORITY) == 4
    assert inquire(connection, "THERE", mq.MQIA_SHAREABILITY) == 0
    assert inquire(connection, "THERE", mq.MQIA_DEF_INPUT_OPEN_OPTION) == mq.MQOO_INPUT_EXCLUSIVE
    assert inquire(connection, "THERE", mq.MQIA_DEF_PERSISTENCE) == 1
    assert inquire(connection, "THERE", mq.MQCA_Q_DESC) == b"seven".ljust(64)
    assert inquire(connection, "THERE", mq.MQIA_BACKOUT_THRESHOLD) == 0


@pytest.mark.embedded
def test_alter_changes_what_it_names_and_keeps_the_messages(connection):
    assert inquire(connection, "ALTERED", mq.MQIA_MAX_Q_DEPTH) == 8
    assert inquire(connection, "ALTERED", mq.MQIA_DEF_PRIORITY) == 4
    assert connection.depth("ALTERED") == 1


@pytest.mark.embedded
def test_define_with_replace_sets_all_attributes_and_keeps_the_messages(connection):
    """The attributes that are not given get their default values (IBM MQ, topic q020770)."""
    assert inquire(connection, "REPLACED", mq.MQIA_MAX_Q_DEPTH) == 8
    assert inquire(connection, "REPLACED", mq.MQIA_DEF_PRIORITY) == 0
    assert connection.depth("REPLACED") == 1


@pytest.mark.embedded
def test_define_without_replace_leaves_what_is_there(connection):
    """IBM MQ reports it and goes on with the file; a start-up file is read at every start."""
    assert inquire(connection, "THERE", mq.MQIA_MAX_Q_DEPTH) == 7
    assert connection.open("BEHIND.IT", mq.MQOO_OUTPUT).code == OK


@pytest.mark.embedded
def test_define_like_takes_the_attributes_of_another_queue(connection):
    assert inquire(connection, "LIKE.IT", mq.MQIA_MAX_Q_DEPTH) == 7
    assert inquire(connection, "LIKE.IT", mq.MQIA_DEF_PRIORITY) == 5


@pytest.mark.embedded
def test_delete_takes_a_queue_away_and_with_purge_its_messages(connection):
    assert connection.open("DELETED", mq.MQOO_OUTPUT).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)
    assert connection.depth("PURGED") == 0


@pytest.mark.embedded
def test_a_server_connection_channel_is_a_way_in(q_mgr, mqi):
    code, connection = mqi.connect("QM2", "MY.SVRCONN", q_mgr.conn_name)
    assert code == OK
    connection.disconnect()


@table(
    "text",
    [
        "* here\nALTER QLOCAL(NOBODY) MAXDEPTH(1)",
        "* here\nDELETE QLOCAL(NOBODY)",
        "* here\nDEFINE QLOCAL(Q) MAXDEPTH(-1)",
        "* here\nDEFINE QLOCAL(Q) MAXDEPTH(MANY)",
        "* here\nDEFINE QLOCAL(Q) MAXDEPTH(1000000000)",
        "* here\nDEFINE QLOCAL(Q) DEFPRTY(10)",
        "* here\nDEFINE QLOCAL(Q) DEFPSIST(MAYBE)",
        "* here\nDEFINE QLOCAL(Q) NO.SUCH.KEYWORD(1)",
        "* here\nDEFINE QLOCAL(Q) MAXFSIZE(19)",
        "* here\nDEFINE QLOCAL(Q) MONQ(NONE)",
        "* here\nDEFINE QALIAS(Q) MONQ(OFF)",
        "* here\nDEFINE QMODEL(Q) CLCHNAME(X)",
        "* here\nALTER QMGR NO.SUCH.KEYWORD(1)",
        "* here\nALTER QMGR ACCTINT(0)",
        "* here\nALTER QMGR STATCHL(ON)",
        "* here\nDEFINE CHANNEL(C) CHLTYPE(SVRCONN) XMITQ(X)",
        "* here\nDEFINE TOPIC(T) TOPICSTR('t') NO.SUCH.KEYWORD(1)",
        "* here\nDEFINE SUB(S) TOPICSTR('t') DESTCLAS(MANAGED) SELECTOR('a = 1')",
        "* here\nDEFINE NAMELIST(N) NO.SUCH.KEYWORD(1)",
        "* here\nDELETE CHANNEL(NOBODY)",
        "* here\nSTART CHANNEL(NOBODY)",
        "* here\nSTOP CHANNEL(DEV.APP.SVRCONN) MODE(SLOWLY)",
        "* here\nSTOP CHANNEL(DEV.APP.SVRCONN) STATUS(STOPPED) CONNAME(X)",
        "* here\nSTOP CHANNEL(DEV.APP.SVRCONN) STATUS(INACTIVE)",
        "* here\nSTOP CONN(414D5143)",
        "* here\nDEFINE QLOCAL(Q) TARGET(X)",
        "* here\nDEFINE QLOCAL(Q) LIKE(NOBODY)",
        "* here\nDEFINE QALIAS(Q) MAXDEPTH(1)",
        "* here\nDEFINE QLOCAL('no such name!')",
        f"* here\nDEFINE QLOCAL({'X' * 49})",
        "DEFINE QLOCAL(Q)\nDEFINE QALIAS(Q) TARGET(X) REPLACE",
    ],
)
def test_a_command_that_cannot_be_carried_out_names_its_line(tmp_path, text):
    with contextlib.closing(started("QM2", tmp_path)) as q_mgr, pytest.raises(MQSCError, match="line 2"):
        run(q_mgr, parse(text))


# What dmpmqcfg writes for a queue manager and its objects, in words of our own: with all attributes, and comments in between.
DUMPED = """
* Attributes that cannot be altered are comments between the lines of a command
DEFINE TOPIC('SYSTEM.BASE.TOPIC') TOPICSTR('') CLROUTE(DIRECT) DEFPRTY(0) DEFPSIST(NO) DEFPRESP(SYNC) DURSUB(YES) +
   MCAST(DISABLED) COMMINFO('SYSTEM.DEFAULT.COMMINFO.MULTICAST') MDURMDL('SYSTEM.DURABLE.MODEL.QUEUE') +
   MNDURMDL('SYSTEM.NDURABLE.MODEL.QUEUE') NPMSGDLV(ALLAVAIL) PMSGDLV(ALLDUR) PROXYSUB(FIRSTUSE) PUB(ENABLED) +
   PUBSCOPE(ALL) SUB(ENABLED) SUBSCOPE(ALL) USEDLQ(YES) WILDCARD(PASSTHRU) REPLACE
ALTER QMGR +
*  QMID(OTHER) +
   CCSID(1208) ACCTCONO(DISABLED) ACCTINT(1800) ACCTMQI(OFF) ACCTQ(OFF) ACTIVREC(MSG) ACTVCONO (DISABLED) ACTVTRC (OFF) +
   AUTHOREV(DISABLED) CERTLABL(' ') CERTVPOL(ANY) CHAD(DISABLED) CHADEV(DISABLED) CHADEXIT(' ') CHLEV(DISABLED) +
   CHLAUTH(DISABLED) CLWLDATA( ) CLWLEXIT( ) CLWLLEN(100) CLWLMRUC(999999999) CLWLUSEQ(LOCAL) CMDEV(DISABLED) +
   CONFIGEV(DISABLED) CUSTOM( ) DEFCLXQ(SCTQ) DEFXMITQ( ) DESCR( ) IMGINTVL(60) IMGLOGLN(OFF) IMGRCOVO(YES) IMGRCOVQ(YES) +
   IMGSCHED(MANUAL) INHIBTEV(DISABLED) IPADDRV(IPV4) LOCALEV(DISABLED) LOGGEREV(DISABLED) MARKINT(5000) MAXHANDS(256) +
   MAXMSGL(4194304) MAXPROPL(NOLIMIT) MAXUMSGS(10000) MONACLS(QMGR) MONCHL(OFF) MONQ(OFF) PARENT( ) PERFMEV(DISABLED) +
   PSCLUS(ENABLED) PSMODE(ENABLED) PSNPMSG(DISCARD) PSNPRES(NORMAL) PSRTYCNT(5) PSSYNCPT(IFPER) REMOTEEV(DISABLED) +
   REPOS( ) REPOSNL( ) REVDNS(ENABLED) ROUTEREC(MSG) SCHINIT(QMGR) SCMDSERV(QMGR) SSLCRLNL( ) SSLCRYP( ) SSLEV(DISABLED) +
   SSLFIPS(NO) SSLKEYR(' ') SSLRKEYC(0) STATACLS(QMGR) STATCHL(OFF) STATINT(1800) STATMQI(OFF) STATQ(OFF) +
   STRSTPEV(ENABLED) SUITEB(NONE) TREELIFE(1800) TRIGINT(999999999) +
   FORCE
DEFINE QLOCAL('T.Q') +
   ACCTQ(QMGR) BOQNAME(' ') BOTHRESH(0) CLCHNAME(' ') CLUSNL(' ') CLUSTER(' ') CLWLPRTY(0) CLWLRANK(0) CLWLUSEQ(QMGR) +
*  CRDATE(2024-01-01) +
   CUSTOM(' ') DEFBIND(OPEN) DEFPRESP(SYNC) DEFPRTY(0) DEFPSIST(NO) DEFREADA(NO) DEFSOPT(SHARED) DESCR(' ') DISTL(NO) +
   GET(ENABLED) HARDENBO IMGRCOVQ(QMGR) INITQ(' ') MAXDEPTH(5000) MAXFSIZE(DEFAULT) MAXMSGL(4194304) MONQ(QMGR) +
   MSGDLVSQ(PRIORITY) NOTRIGGER NPMCLASS(NORMAL) PROCESS(' ') PROPCTL(COMPAT) PUT(ENABLED) QDEPTHHI(80) QDEPTHLO(20) +
   QDPHIEV(DISABLED) QDPLOEV(DISABLED) QDPMAXEV(ENABLED) QSVCIEV(NONE) QSVCINT(999999999) RETINTVL(999999999) SCOPE(QMGR) +
   SHARE STATQ(QMGR) STREAMQ(' ') STRMQOS(BESTEF) TRIGDATA(' ') TRIGDPTH(1) TRIGMPRI(0) TRIGTYPE(FIRST) USAGE(NORMAL) +
   REPLACE
DEFINE CHANNEL('T.SVRCONN') CHLTYPE(SVRCONN) +
   CERTLABL(' ') COMPHDR(NONE) COMPMSG(NONE) DESCR(' ') DISCINT(0) HBINT(300) KAINT(AUTO) MAXINST(999999999) +
   MAXINSTC(999999999) MAXMSGL(4194304) MCAUSER(' ') MONCHL(QMGR) RCVDATA(' ') RCVEXIT(' ') SCYDATA(' ') SCYEXIT(' ') +
   SENDDATA(' ') SENDEXIT(' ') SHARECNV(10) SSLCAUTH(REQUIRED) SSLCIPH(' ') SSLPEER(' ') TRPTYPE(TCP) +
   REPLACE
DEFINE TOPIC('T.TOPIC') TYPE(LOCAL) TOPICSTR('t') +
   CAPEXPRY(ASPARENT) CLROUTE(DIRECT) CLUSTER(' ') COMMINFO(' ') CUSTOM(' ') DEFPRESP(ASPARENT) DEFPRTY(ASPARENT) +
   DEFPSIST(ASPARENT) DESCR(' ') DURSUB(ASPARENT) MCAST(ASPARENT) MDURMDL(' ') MNDURMDL(' ') NPMSGDLV(ASPARENT) +
   PMSGDLV(ASPARENT) PROXYSUB(FIRSTUSE) PUB(ASPARENT) PUBSCOPE(ASPARENT) SUB(ASPARENT) SUBSCOPE(ASPARENT) +
   USEDLQ(ASPARENT) WILDCARD(PASSTHRU) +
   REPLACE
DEFINE AUTHINFO('T.AUTHINFO') AUTHTYPE(IDPWOS) ADOPTCTX(YES) AUTHENMD(OS) CHCKCLNT(OPTIONAL) CHCKLOCL(OPTIONAL) +
   DESCR(' ') FAILDLAY(1) REPLACE
DEFINE PROCESS('T.PROCESS') APPLTYPE(DEF) APPLICID('x') DESCR(' ') ENVRDATA(' ') USERDATA(' ') REPLACE
DEFINE NAMELIST('T.NAMES') DESCR(' ') NAMES(' ') REPLACE
DEFINE SUB('T.SUB') TOPICSTR('t') DESTCLAS(MANAGED) PUBACCT('') PUBAPPID(' ') SELECTOR('') REPLACE
"""


def test_a_dump_with_every_attribute_is_read_and_its_defaults_are_those_here(tmp_path):
    """The defaults are those that a new queue manager displays, except for CHLAUTH, DEADQ and SSLKEYR."""
    with contextlib.closing(started("QM2", tmp_path)) as q_mgr:
        assert run(q_mgr, parse(DUMPED)) == []
        assert not attributes_without_effect(q_mgr)


def test_attributes_that_do_nothing_are_told_with_whose_they_are(tmp_path):
    text = """
    ALTER QMGR STATQ(ON) PERFMEV(ENABLED) MAXUMSGS(7)
    DEFINE QLOCAL(A) MONQ(HIGH) TRIGGER QDPHIEV(ENABLED) BOTHRESH(3) CAPEXPRY(9)
    ALTER CHANNEL(DEV.APP.SVRCONN) CHLTYPE(SVRCONN) SSLCIPH(X) HBINT(10)
    """ + "\n".join(f"DEFINE QLOCAL(B.{each}) NPMCLASS(HIGH)" for each in range(7))
    with contextlib.closing(started("QM2", tmp_path)) as q_mgr:
        run(q_mgr, parse(text))
        assert set(attributes_without_effect(q_mgr).split("; ")) == {
            "PERFMEV(ENABLED) of the queue manager",
            "STATQ(ON) of the queue manager",
            "TRIGGER of A",
            "QDPHIEV(ENABLED) of A",
            "MONQ(HIGH) of A",
            "NPMCLASS(HIGH) of B.0, B.1, B.2, B.3, B.4 and 2 more",
            "SSLCIPH(X) of DEV.APP.SVRCONN",
        }


def test_what_was_set_aside_can_be_started_stopped_and_deleted_and_is_told(tmp_path):
    text = """DEFINE CHANNEL(TO.QM3) CHLTYPE(SDR) CONNAME('h(1414)') XMITQ(X)
START CHANNEL(TO.QM3)
PING CHANNEL(TO.QM3)
DELETE CHANNEL(TO.QM3)
DEFINE CHANNEL(MINE) CHLTYPE(SVRCONN)
DELETE CHANNEL(MINE)
DEFINE AUTHINFO(LDAP) AUTHTYPE(IDPWLDAP) CONNAME('h(389)')
DELETE AUTHINFO(LDAP)
SET CHLAUTH(A) TYPE(BLOCKUSER) USERLIST('nobody')
SET CHLAUTH(B) TYPE(BLOCKUSER) USERLIST('nobody')
DELETE QLOCAL(NOBODY) IGNSTATE(YES)
DELETE CHANNEL(NOBODY) IGNSTATE(YES)
ALTER QMGR CCSID(819) SUITEB(NONE)
PING QMGR
DISPLAY QMGR"""
    with contextlib.closing(started("QM2", tmp_path)) as q_mgr:
        assert told(run(q_mgr, parse(text))) == (
            "for IBM MQ, and without effect here: DEFINE CHANNEL (line 1); START CHANNEL (line 2); "
            "PING CHANNEL (line 3); DELETE CHANNEL (line 4); DEFINE AUTHINFO (line 7); DELETE AUTHINFO (line 8); "
            "SET CHLAUTH (lines 9, 10); ALTER QMGR CCSID (line 13)"
        )
        assert "MINE" not in q_mgr.catalogue.objects.of(Kind.CHANNEL)


class Asleep:
    """The waiter of an application that is busy with something else."""

    def wait(self, timeout_s):
        raise AssertionError(timeout_s)

    def wake(self):
        pass


def test_an_application_that_goes_on_after_a_quiesce_loses_its_connection(tmp_path, monkeypatch):
    monkeypatch.setattr(stopping, "QUIESCES_S", 0)
    broken = threading.Event()
    with contextlib.closing(started("QM2", tmp_path)) as q_mgr:
        q_mgr.connect(
            Asleep(),
            q_mgr_name="QM2",
            channel_name="DEV.APP.SVRCONN",
            user="",
            password="",
            appl_name="busy",
            max_msg_length=0,
            hang_up=broken.set,
        )
        run(q_mgr, parse("STOP CHANNEL(DEV.APP.SVRCONN)"))
        assert broken.wait(30)


@pytest.mark.embedded
def test_a_start_tells_once_what_has_no_effect_and_names_what_it_cannot_read(own_queue_manager, tmp_path, capfd):
    commands = tmp_path / "people.mqsc"
    commands.write_text("\ufeffDEFINE LISTENER(L) TRPTYPE(TCP)\nDEFINE QLOCAL(A) MONQ(HIGH)\nEND\nNONSENSE\n", "utf-8")
    own_queue_manager(mqsc=[commands]).stop()
    said = [line for line in capfd.readouterr().err.splitlines() if "without effect" in line]
    assert [line.split(": ", 1)[1] for line in said] == [
        f"{commands}: for IBM MQ, and without effect here: DEFINE LISTENER (line 1)",
        "stored, but without effect here: MONQ(HIGH) of A",
    ]
    commands.write_bytes("DEFINE QLOCAL(B)\n* \u00fc\n".encode("latin-1"))
    with pytest.raises(EmbeddedQueueManagerError, match=r"people\.mqsc: line 2: byte X'FC' is not UTF-8"):
        own_queue_manager(mqsc=[commands])


@pytest.mark.embedded
def test_delete_refuses_a_queue_with_messages_and_the_file_is_named(own_queue_manager, connect, tmp_path):
    commands = tmp_path / "wrong.mqsc"
    commands.write_text("DEFINE QLOCAL(Q)")
    q_mgr = own_queue_manager(mqsc=[commands])
    assert connect(to=q_mgr).put1("Q", b"m", Persistence=1).code == OK
    q_mgr.stop()
    commands.write_text("* here\nDELETE QLOCAL(Q)")
    with pytest.raises(EmbeddedQueueManagerError, match=r"wrong\.mqsc.*line 2"):
        q_mgr.start()

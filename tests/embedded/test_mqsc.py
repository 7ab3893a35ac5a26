"""MQSC: how command files are written ("Building command scripts"), and what DEFINE, ALTER and DELETE do."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgroups.embedded import EmbeddedQueueManagerError
from mqgroups.embedded.admin.mqsc import MQSCError, parse
from mqgroups.embedded.admin.mqsc_commands import run
from mqgroups.embedded.serve.start_up import started
from mqgroups.mqi import constants as mq
from tests.fix_mqi import OK, failed
from tests.tables import table

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


@table(
    "text",
    [
        "SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS)",
        "REFRESH SECURITY TYPE(CONNAUTH)",
        "DEFINE AUTHINFO(X) AUTHTYPE(IDPWLDAP)",
        "DEFINE CHANNEL(X) CHLTYPE(SDR) XMITQ(Y)",
        "STOP LISTENER(X) IGNSTATE(YES)",
        "DEFINE LISTENER(X) TRPTYPE(TCP) PORT(1414) CONTROL(QMGR) REPLACE",
        "START LISTENER(X)",
    ],
)
def test_what_means_something_to_ibm_mq_only_is_set_aside(text):
    assert one(text).set_aside


@table(
    "text",
    [
        "START SERVICE(X)",
        "DEFINE STGCLASS(X)",
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

"""What this project knows of IBM MQ from reading only: queues, units of work, connections. What did this queue manager do?

Each test makes the calls, asserts what IBM's texts say, and notes what they leave open or what nobody here has seen
(``finding``); the end of the report tells it. On the embedded queue manager that is what the project took for true, on IBM MQ it
is the answer. Groups and segments: ``test_open_questions_of_groups.py``;
clusters: ``test_open_questions_of_clusters.py``.

Sources: IBM MQ, topics q026790 (syncpoint), "MQDISC", q027340 (asynchronous put), q040970 (2024), q041130 (2042),
"CurrentQDepth".
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, PATIENCE_MS, PATIENCE_S, Mqi, failed, shared_input, wait_until, warning
from embedded_tests.tables import table
from mqembedded import constants as c
from mqgroups.connection.holder import connection_of
from mqgroups.errors import CommandRefused
from mqgroups.operate.command_server import PCFClient

ROOT = Path(__file__).parents[1]
# As many messages as the model of test queues has room for, nearly.
_DEEP = 4_000


def test_does_the_depth_count_an_uncommitted_put(connect, queue, finding):
    putter, other = connect(), connect()
    assert putter.put1(queue, b"m", c.MQPMO_SYNCPOINT).code == OK
    assert other.browse(queue) == []
    finding("CURDEPTH of a queue with one uncommitted put", other.depth(queue))
    assert putter.commit() == OK
    assert other.depth(queue) == 1


def test_does_the_depth_count_an_uncommitted_get(connect, queue, finding):
    getter, other = connect(), connect()
    assert other.put1(queue, b"m").code == OK
    source = shared_input(getter, queue)
    assert source.get(c.MQGMO_SYNCPOINT).code == OK
    assert other.browse(queue) == []
    finding(
        "CURDEPTH of a queue whose one message was got and not committed",
        other.depth(queue),
        "curdepth",
        {0: "excludes uncommitted gets", 1: "counts uncommitted gets"},
    )
    assert getter.commit() == OK
    assert other.depth(queue) == 0


def test_is_a_messages_place_taken_when_it_is_put_or_when_it_is_committed(connect, make_queue, finding):
    queue = make_queue("TEST.FIFO.MODEL")
    first, second = connect(), connect()
    assert first.put1(queue, b"put first", c.MQPMO_SYNCPOINT).code == OK
    assert second.put1(queue, b"committed first").code == OK
    assert first.commit() == OK
    order = [answer.data for answer in second.browse(queue)]
    assert sorted(order) == [b"committed first", b"put first"]
    finding(
        "of two messages, in front is the one",
        order[0].decode(),
        "place of a put",
        {"put first": "taken at MQPUT", "committed first": "taken at commit"},
    )


def test_where_does_a_message_go_that_is_backed_out(connect, make_queue, finding):
    queue = make_queue("TEST.FIFO.MODEL")
    connection = connect()
    for data in (b"1", b"2", b"3"):
        assert connection.put1(queue, data).code == OK
    source = shared_input(connection, queue)
    assert source.get(c.MQGMO_SYNCPOINT).data == b"1"
    assert connection.back_out() == OK
    finding(
        "messages 1, 2 and 3 after 1 was got and backed out",
        ", ".join(answer.data.decode() for answer in source.all()),
        "place after a backout",
        {"1, 2, 3": "the original place", "2, 3, 1": "the end of the queue"},
    )


def test_does_disconnecting_a_client_commit(connect, queue, finding):
    connection, other = connect(), connect()
    assert connection.put1(queue, b"m", c.MQPMO_SYNCPOINT).code == OK
    assert connection.disconnect() == OK
    wait_until(lambda: other.depth(queue) == len(other.browse(queue)))
    finding(
        "a unit of work that MQDISC ends over a client channel",
        "committed" if other.depth(queue) else "backed out",
        "mqdisc",
        {"committed": "commits", "backed out": "backs out"},
    )


def test_where_is_the_limit_of_a_unit_of_work(connect, queue, make_queue, finding):
    connection = connect()
    q_mgr = connection.open("", c.MQOO_INQUIRE, od=connection.mqi.od(ObjectType=c.MQOT_Q_MGR))
    code, limit = q_mgr.inquire(c.MQIA_MAX_UNCOMMITTED_MSGS)
    assert code == OK
    finding("MAXUMSGS", limit)
    if limit > 20_000:
        pytest.skip(f"MAXUMSGS is {limit}, more than this test puts")
    source = shared_input(connection, queue)
    assert connection.put1(queue, b"to be got").code == OK
    assert source.get(c.MQGMO_SYNCPOINT).code == OK
    # The model's MAXDEPTH is 5000.
    targets = [connection.open(make_queue(), c.MQOO_OUTPUT) for _ in range(limit // 5000 + 1)]
    puts = 0
    while (answer := targets[puts // 5000].put(b"m", c.MQPMO_SYNCPOINT)).code == OK:
        puts += 1
        assert puts <= limit
    assert answer.code == failed(c.MQRC_SYNCPOINT_LIMIT_REACHED)
    finding("puts that go into a unit of work besides one get, before 2024", f"MAXUMSGS - {limit - puts}")
    finding("MQCMIT after 2024", connection.commit())


@table(
    ("persistence", "reading"),
    [(c.MQPER_NOT_PERSISTENT, ""), (c.MQPER_PERSISTENT, "mqcmit after a failed asynchronous put")],
    ids=["not persistent", "persistent"],
)
def test_what_does_mqcmit_say_when_an_asynchronous_put_has_failed(connect, make_queue, finding, persistence, reading):
    queue = make_queue("TEST.SMALL.MODEL")  # MAXDEPTH(3)
    connection, other = connect(), connect()
    target = connection.open(queue, c.MQOO_OUTPUT)
    for _ in range(5):
        answer = target.put(b"m", c.MQPMO_SYNCPOINT | c.MQPMO_ASYNC_RESPONSE, Persistence=persistence)
        assert answer.code.comp != c.MQCC_FAILED
    puts = "five asynchronous puts of messages that are " + ("persistent" if reading else "not persistent")
    meaning = {
        warning(c.MQRC_BACKED_OUT): "MQCC_WARNING 2003",
        failed(c.MQRC_BACKED_OUT): "MQCC_FAILED 2003",
        OK: "MQCC_OK",
    }
    finding(f"MQCMIT after {puts} to a queue with room for three", connection.commit(), reading, meaning)
    finding(f"messages on a queue with room for three after {puts} and MQCMIT", other.depth(queue))
    assert other.depth(queue) <= 3


def test_does_the_same_connection_get_2042_too(connect, queue, finding):
    connection, other = connect(), connect()
    assert connection.open(queue, c.MQOO_INPUT_EXCLUSIVE).code == OK
    assert other.open(queue, c.MQOO_INPUT_EXCLUSIVE).code == failed(c.MQRC_OBJECT_IN_USE)
    again = connection.open(queue, c.MQOO_INPUT_EXCLUSIVE)
    finding(
        "a second MQOPEN for exclusive input by the connection that has the first",
        again.code,
        "second exclusive open",
        {failed(c.MQRC_OBJECT_IN_USE): "refused with 2042", OK: "allowed"},
    )
    finding(
        "MQOPEN for browsing a queue that is open for exclusive input",
        other.open(queue, c.MQOO_BROWSE).code,
        "browsing what is open exclusively",
        {OK: "allowed", failed(c.MQRC_OBJECT_IN_USE): "refused with 2042"},
    )


def test_who_else_may_open_a_temporary_dynamic_queue_by_its_name(connect, finding, owner):
    """The lock of a group's first claim: a queue of an exact name, made by whoever comes first."""
    first, second = connect(), connect()
    name = f"MQTEST.{owner.name}"
    od = {"ObjectName": b"MQGROUPS.CLAIM.MODEL", "DynamicQName": name.encode()}
    assert first.open("", c.MQOO_INPUT_EXCLUSIVE, od=first.mqi.od(**od)).code == OK
    late = second.open("", c.MQOO_INPUT_EXCLUSIVE, od=second.mqi.od(**od))
    assert late.code.comp == c.MQCC_FAILED
    finding("MQOPEN of a model queue, to a name that a temporary dynamic queue of another connection has", late.code)
    by_name = second.open(name, c.MQOO_INPUT_AS_Q_DEF)
    finding("MQOPEN of that temporary dynamic queue itself, by another connection", by_name.code)
    shared = first.open(
        "", c.MQOO_INPUT_SHARED, od=first.mqi.od(ObjectName=b"TEST.TEMPORARY.MODEL", DynamicQName=f"{name}.S".encode())
    )
    assert shared.code == OK
    finding(
        "MQOPEN to get from a shareable temporary dynamic queue, by another connection than the one that made it",
        second.open(shared.name, c.MQOO_INPUT_SHARED).code,
        "temporary queue of another",
        {
            OK: "opens as any queue",
            failed(c.MQRC_OBJECT_IN_USE): "refused with 2042",
            failed(c.MQRC_UNKNOWN_OBJECT_NAME): "refused with 2085",
        },
    )


def test_which_of_two_errors_wins_at_mqopen(connection, queue, finding):
    answer = connection.open(queue, c.MQOO_INPUT_SHARED | c.MQOO_PASS_ALL_CONTEXT)
    assert answer.code.comp == c.MQCC_FAILED
    finding("MQOPEN to get, with MQOO_PASS_ALL_CONTEXT", answer.code)


DYING = """
import importlib, os, signal, sys
from mqembedded.constants import MQGMO_SYNCPOINT, MQOO_INPUT_EXCLUSIVE, MQPMO_SYNCPOINT
from embedded_tests.fix_mqi import OK, Mqi
binding, q_mgr_name, channel, conn_name, user, queue = sys.argv[1:]
more = {"user": user, "password": os.environ["TEST_PASSWORD"]} if user else {}
code, connection = Mqi(importlib.import_module(binding)).connect(q_mgr_name, channel, conn_name, **more)
source = connection.open(queue, MQOO_INPUT_EXCLUSIVE)
assert source.get(MQGMO_SYNCPOINT).data == b"got"
assert connection.put1(queue, b"never", MQPMO_SYNCPOINT).code == OK
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_how_long_does_a_dead_client_hold_its_queue_and_its_unit_of_work(
    mq, mqi: Mqi, connection, queue, finding, monkeypatch
):
    monkeypatch.setenv("TEST_PASSWORD", mq.password or "")
    for name, value in mq.environment().items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-c", DYING, mqi.name, mq.q_mgr_name, mq.channel, mq.conn_name, mq.user or "", queue]
    assert connection.put1(queue, b"got").code == OK
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -9
    died_s = time.monotonic()
    while (source := connection.open(queue, c.MQOO_INPUT_EXCLUSIVE)).code == failed(c.MQRC_OBJECT_IN_USE):
        assert time.monotonic() - died_s < PATIENCE_S
    assert source.code == OK
    at_once = source.get()
    finding("seconds until a queue is free whose client was killed", f"{time.monotonic() - died_s:.1f}")
    # That the message is there proves nothing: the backout may have come behind the handles, and in time.
    finding(
        "MQGET as soon as a queue is free, of a message that the killed client had got",
        at_once.code,
        "lost connection",
        {OK: "backs out, then closes handles", EMPTY: "closes handles, then backs out"},
    )
    if at_once.code == EMPTY:
        at_once = source.get(wait_ms=PATIENCE_MS)
    assert at_once.data == b"got"
    assert source.get().code == EMPTY


def test_how_are_cursor_and_messages_after_mqback(connect, queue, finding):
    """A browse cursor on a message that is got and backed out by another handle."""
    connection = connect()
    for data in (b"1", b"2"):
        assert connection.put1(queue, data).code == OK
    eye, source = connection.open(queue, c.MQOO_BROWSE), shared_input(connection, queue)
    assert eye.get(c.MQGMO_BROWSE_FIRST).data == b"1"
    assert source.get(c.MQGMO_SYNCPOINT).data == b"1"
    assert connection.back_out() == OK
    seen = [answer.data.decode() for answer in eye.all(c.MQGMO_BROWSE_NEXT)]
    finding("messages that BROWSE_NEXT sees from a cursor on 1, which was got and backed out", seen)


def test_what_do_identifiers_begin_with(connection, queue, mq, finding):
    put = connection.put1(queue, b"m", MsgFlags=c.MQMF_LAST_MSG_IN_GROUP)
    assert put.code == OK
    for field in ("MsgId", "GroupId"):
        product, name = getattr(put.md, field)[:4], getattr(put.md, field)[4:16]
        finding(
            f"{field} begins with AMQ or CSQ, and the queue manager's name",
            product in (b"AMQ ", b"CSQ ") and name == mq.q_mgr_name.encode()[:12].ljust(12),
            "identifiers",
            {True: "begin with the name", False: "begin otherwise"},
        )


def test_does_the_name_of_a_dynamic_queue_need_an_authority(connect, mq, finding):
    if mq.user is None:
        pytest.skip("the tests connect without a user, whom nothing is refused")
    connection = connect()
    od = connection.mqi.od(ObjectName=b"UNNAMED.MODEL", DynamicQName=b"UNNAMED.QUEUE.*")
    made = connection.open("", c.MQOO_INQUIRE | c.MQOO_OUTPUT, od=od)
    finding(
        "MQOPEN of a model queue by a user who has authorities for the model alone",
        made.code,
        "name of a dynamic queue",
        {OK: "needs no authority", failed(c.MQRC_NOT_AUTHORIZED): "is checked too"},
    )
    if made.code == OK:
        made.close(c.MQCO_DELETE_PURGE)


def test_does_a_report_of_arrival_need_the_authority_of_one_of_delivery(connect, mq, queue, finding):
    if mq.user is None:
        pytest.skip("the tests connect without a user, whom nothing is refused")
    connection = connect()
    # The user of the tests has PUT for it, and no PASSID.
    replies = shared_input(connection, "SYSTEM.DEFAULT.LOCAL.QUEUE")
    arrived = []
    for report in (c.MQRO_COA, c.MQRO_COD):
        about = {"Report": report, "ReplyToQ": b"SYSTEM.DEFAULT.LOCAL.QUEUE"}
        assert connection.put1(queue, b"m", **about).code == OK
        assert shared_input(connection, queue).get().code == OK
        arrived.append(len(replies.all()))
    assert arrived[1] == 0
    finding(
        "COA reports of a user on a queue for which that has no PASSID",
        arrived[0],
        "authority for other reports",
        {0: "is checked too", 1: "is not checked"},
    )


def test_how_much_longer_does_a_get_by_number_take_on_a_deep_queue(connection, queue, finding):
    """IBM MQ on Multiplatforms has no index by GroupId that is documented: a restart may have to search."""
    target = connection.open(queue, c.MQOO_OUTPUT)
    wanted: dict[str, Any] = {"GroupId": b"wanted".ljust(24, b"."), "MsgSeqNumber": 2}
    source = shared_input(connection, queue)
    match = c.MQMO_MATCH_GROUP_ID | c.MQMO_MATCH_MSG_SEQ_NUMBER
    seconds = []
    for before in (10, _DEEP):
        for number in range(before):
            others = {"GroupId": b"%d of %d" % (number, before), "MsgSeqNumber": 1}
            assert target.put(b"m", MsgFlags=c.MQMF_LAST_MSG_IN_GROUP, **others).code == OK
        assert target.put(b"wanted", MsgFlags=c.MQMF_LAST_MSG_IN_GROUP, **wanted).code == OK
        begun_s = time.perf_counter()
        assert source.get(match=match, **wanted).data == b"wanted"
        seconds.append(time.perf_counter() - begun_s)
    finding(
        f"a get by GroupId and number behind {_DEEP:,} messages, in times of one behind 10",
        round(seconds[1] / seconds[0], 1),
    )


def test_which_heartbeats_does_a_connection_of_the_library_have(owner, mq, finding):
    client = PCFClient(connection_of(owner.qmgr))
    try:
        done, texts = client.run(f"DISPLAY CHSTATUS('{mq.channel}') HBINT CURSHCNV")
    except CommandRefused as error:
        pytest.skip(f"the command server may not be asked: {error}")
    finally:
        client.close()
    shown = {" ".join(pair) for text in texts for pair in re.findall(r"(HBINT|CURSHCNV)\((\d+)\)", text)}
    finding("of the tests' connections, that of the library among them", ", ".join(sorted(shown)))
    assert done


def test_which_level_answered(connection, finding):
    q_mgr = connection.open("", c.MQOO_INQUIRE, od=connection.mqi.od(ObjectType=c.MQOT_Q_MGR))
    code, level = q_mgr.inquire(c.MQIA_COMMAND_LEVEL)
    assert code == OK
    finding("command level", level)


def test_who_has_what_a_principal_is_given(owner, mq, finding):
    """``queues.mqsc`` has given authorities to PRINCIPAL('app'). MATCH(MEMBERSHIP) shows those of his groups, too."""
    if mq.user is None:
        pytest.skip("the tests connect without a user, to whom nothing was given")
    client = PCFClient(connection_of(owner.qmgr))
    try:
        _, texts = client.run(
            f"DISPLAY AUTHREC PROFILE('MQTEST.**') OBJTYPE(QUEUE) PRINCIPAL('{mq.user}') MATCH(MEMBERSHIP)"
        )
    except CommandRefused as error:
        pytest.skip(f"the command server may not be asked: {error}")
    finally:
        client.close()
    kinds = set(re.findall(r"ENTTYPE\((\w+)\)", " ".join(texts)))
    finding(
        "SET AUTHREC with PRINCIPAL gave authorities to",
        " and ".join(sorted(kinds)) or "nobody",
        "security policy",
        {"PRINCIPAL": "user", "GROUP": "group"},
    )


def test_whether_an_api_exit_adds_properties(connection, queue, finding):
    assert connection.put1(queue).code == OK
    added = bool(shared_input(connection, queue).get(c.MQGMO_PROPERTIES_FORCE_MQRFH2).data)
    finding(
        "a message that was put without properties has some",
        added,
        "api exit",
        {False: "none", True: "adds a property"},
    )

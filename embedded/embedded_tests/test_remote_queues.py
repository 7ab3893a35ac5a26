"""Remote queues: what a name leads to, on which transmission queue messages wait, what is checked, and how they arrive.

Oracle: IBM MQ, topics "Name resolution" (q025990), "Opening remote queues" (q026110), "XmitQName" (q103620), "Authorizations for
MQI calls" ("the first definition encountered ... that is not a queue manager alias"), reason codes 2045, 2086, 2087, 2091, 2092,
2184, 2196 to 2199.
"""

from __future__ import annotations

import pytest

from embedded_tests.cluster_sites import command_server
from embedded_tests.fix_cluster import DEAD_LETTERS, USER
from embedded_tests.fix_mqi import OK, empty, failed, text, wait_until
from embedded_tests.tables import table
from mqembedded import EmbeddedQueueManager
from mqembedded import constants as mq
from mqembedded.messages.transmission import decode

pytestmark = pytest.mark.embedded
MQSC = f"""
DEFINE QLOCAL(X) USAGE(XMITQ) DEFPSIST(YES)
DEFINE QLOCAL(QM2) USAGE(XMITQ) DEFPSIST(YES)
DEFINE QLOCAL(QM3) DEFPSIST(YES)
DEFINE QMODEL(QM4)
DEFINE QREMOTE(R) RNAME(THERE) RQMNAME(QM9) XMITQ(X) DEFPSIST(YES)
DEFINE QREMOTE(R.BY.NAME) RNAME(THERE) RQMNAME(QM2)
DEFINE QREMOTE(R.BY.DEFAULT) RNAME(THERE) RQMNAME(QM9)
DEFINE QALIAS(R.ALIAS) TARGET(R)
DEFINE QREMOTE(ALIAS) RQMNAME(QM9) XMITQ(X)
DEFINE QREMOTE(ALIAS.OF.US) RQMNAME(QM1) XMITQ(NONE)
DEFINE QREMOTE(R.HERE) RNAME(THERE) RQMNAME(QM1) XMITQ(X)
DEFINE QREMOTE(R.NORMAL) RNAME(THERE) RQMNAME(QM3)
DEFINE QREMOTE(R.OTHER.TYPE) RNAME(THERE) RQMNAME(R)
DEFINE QREMOTE(R.NOWHERE) RNAME(THERE) RQMNAME(QM9) XMITQ(NONE)
DEFINE QREMOTE(R.NOT.TO.TRANSMIT) RNAME(THERE) RQMNAME(QM9) XMITQ(QM3)
DEFINE QREMOTE(R.NO.QUEUE) RNAME(THERE) RQMNAME(QM9) XMITQ(R.ALIAS)
SET AUTHREC PRINCIPAL('{USER}') OBJTYPE(QMGR) AUTHADD(CONNECT)
"""


@pytest.fixture(scope="module")
def q_mgr(tmp_path_factory, _client_library):
    mqsc = tmp_path_factory.mktemp("mqsc") / "remote.mqsc"
    mqsc.write_text(MQSC)
    with EmbeddedQueueManager("QM1", mqsc=[mqsc], users={USER: "own"}) as started:
        yield started


@pytest.fixture
def mqsc(q_mgr):
    """A function that carries out a command."""
    run = command_server("QM1", q_mgr.channel, q_mgr.conn_name)

    def done(command):
        was_done, said = run(command)
        assert was_done, said

    yield done
    run("ALTER QMGR DEFXMITQ(' ')")


@pytest.fixture
def opened(q_mgr, connect, mqi):
    """A function that opens a queue: its name, that of its queue manager, options."""
    connection = connect(to=q_mgr)
    return lambda name, at="", options=mq.MQOO_OUTPUT: connection.open(
        "", options, od=mqi.od(ObjectName=name.encode(), ObjectQMgrName=at.encode())
    )


@table(
    ("names", "resolved", "transmission_queue"),
    [
        (("R",), ("THERE", "QM9"), "X"),
        (("R", "QM1"), ("THERE", "QM9"), "X"),
        (("R.ALIAS",), ("THERE", "QM9"), "X"),
        (("R.BY.NAME",), ("THERE", "QM2"), "QM2"),
        (("Q", "QM2"), ("Q", "QM2"), "QM2"),
        (("Q", "X"), ("Q", "X"), "X"),
        (("Q", "ALIAS"), ("Q", "QM9"), "X"),
        (("QM3", "ALIAS.OF.US"), ("QM3", "QM1"), ""),
    ],
)
def test_what_a_name_leads_to(q_mgr, connect, opened, names, resolved, transmission_queue):
    handle = opened(*names)
    assert (handle.code, text(handle.od.ResolvedQName), text(handle.od.ResolvedQMgrName)) == (OK, *resolved)
    put = handle.put(b"data", MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP, GroupId=b"G" * 24, MsgSeqNumber=7)
    assert (put.code, text(put.pmo.ResolvedQName), text(put.pmo.ResolvedQMgrName)) == (OK, *resolved)
    got = connect(to=q_mgr).open(transmission_queue or "QM3", mq.MQOO_INPUT_SHARED).get()
    if transmission_queue:
        (item,) = decode(b"OPEN" + b"\xff\xff\xff\xff" + bytes(4) + len(got.data).to_bytes(4, "little") + got.data)
        assert (got.md.Format, got.md.CorrelId) == (mq.MQFMT_XMIT_Q_HEADER, put.md.MsgId)
        assert (item.queue_name, item.q_mgr_name, item.data) == (*resolved, b"data")
        assert (item.md.group_id, item.md.msg_seq_number) == (b"G" * 24, 7)
    assert got.code == OK


@table(
    ("names", "reason"),
    [
        (("R.BY.DEFAULT",), mq.MQRC_UNKNOWN_REMOTE_Q_MGR),
        (("R.HERE",), mq.MQRC_UNKNOWN_REMOTE_Q_MGR),
        (("Q", "QM9"), mq.MQRC_UNKNOWN_REMOTE_Q_MGR),
        (("Q", "R"), mq.MQRC_UNKNOWN_REMOTE_Q_MGR),
        (("Q", "QM4"), mq.MQRC_UNKNOWN_REMOTE_Q_MGR),
        (("Q", "QM3"), mq.MQRC_XMIT_Q_USAGE_ERROR),
        (("R.NORMAL",), mq.MQRC_XMIT_Q_USAGE_ERROR),
        (("R.NOT.TO.TRANSMIT",), mq.MQRC_XMIT_Q_USAGE_ERROR),
        (("R.OTHER.TYPE",), mq.MQRC_XMIT_Q_TYPE_ERROR),
        (("R.NO.QUEUE",), mq.MQRC_XMIT_Q_TYPE_ERROR),
        (("R.NOWHERE",), mq.MQRC_UNKNOWN_XMIT_Q),
        (("ALIAS",), mq.MQRC_REMOTE_Q_NAME_ERROR),
        (("Q", "NOT A NAME"), mq.MQRC_UNKNOWN_OBJECT_Q_MGR),
    ],
)
def test_what_leads_nowhere(opened, names, reason):
    assert opened(*names).code == failed(reason)


@table(
    ("default", "reason"),
    [
        ("X", 0),
        ("NONE", mq.MQRC_UNKNOWN_DEF_XMIT_Q),
        ("R", mq.MQRC_DEF_XMIT_Q_TYPE_ERROR),
        ("QM3", mq.MQRC_DEF_XMIT_Q_USAGE_ERROR),
        ("SYSTEM.CLUSTER.TRANSMIT.QUEUE", mq.MQRC_DEF_XMIT_Q_USAGE_ERROR),
    ],
)
def test_the_default_transmission_queue(mqsc, opened, default, reason):
    mqsc(f"ALTER QMGR DEFXMITQ({default})")
    for names in (("R.BY.DEFAULT",), ("Q", "QM9")):
        assert opened(*names).code == (failed(reason) if reason else OK)


def test_messages_that_no_program_addressed_find_their_way_and_stay_over_a_restart(q_mgr, connect, opened):
    """A report goes to ReplyToQMgr; MQPUT1 opens as MQOPEN does."""
    connection = connect(to=q_mgr)
    asked = {"Report": mq.MQRO_COA, "ReplyToQ": b"THERE", "ReplyToQMgr": b"QM2"}
    assert connection.put1("QM3", b"reported", Persistence=1, **asked).code == OK
    put1 = connection.put1("R", b"once")
    assert (put1.code, text(put1.pmo.ResolvedQMgrName)) == (OK, "QM9")
    q_mgr.stop()
    q_mgr.start()
    connection = connect(to=q_mgr)
    for name, q_mgr_name in (("QM2", b"QM2"), ("X", b"QM9")):
        got = connection.open(name, mq.MQOO_INPUT_SHARED).get()
        assert (got.code, got.data[8:56].strip(), got.data[56:104].strip()) == (OK, b"THERE", q_mgr_name)


@table("option", [mq.MQOO_INPUT_SHARED, mq.MQOO_BROWSE, mq.MQOO_SET])
def test_a_remote_queue_is_put_to_and_inquired_only(opened, option):
    for names in (("R",), ("R.ALIAS",), ("Q", "QM2")):
        assert opened(*names, options=option).code == failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    handle = opened("R", options=mq.MQOO_INQUIRE | mq.MQOO_OUTPUT)
    assert handle.inquire(mq.MQIA_Q_TYPE) == (OK, mq.MQQT_REMOTE)
    assert text(handle.inquire(mq.MQCA_XMIT_Q_NAME)[1]) == "X"


def test_a_put_that_is_not_answered_reaches_the_transmission_queue(q_mgr, connect, opened):
    eye = connect(to=q_mgr)
    before = len(eye.browse("X"))
    target = opened("R")
    assert target.put(b"unanswered", mq.MQPMO_ASYNC_RESPONSE).code == OK
    assert target.close() == OK
    assert len(eye.browse("X")) == before + 1
    empty(eye, "X")


def test_a_transmission_queue_that_is_put_inhibited_refuses_the_put(mqsc, opened):
    mqsc("ALTER QLOCAL(X) PUT(DISABLED)")
    assert opened("R").put().code == failed(mq.MQRC_PUT_INHIBITED)
    mqsc("ALTER QLOCAL(X) PUT(ENABLED)")


@table(
    ("profile", "names"),
    [
        ("R", ("R",)),
        ("R.ALIAS", ("R.ALIAS",)),
        ("QM2", ("Q", "QM2")),
        ("X", ("Q", "ALIAS")),
        ("QM3", ("QM3", "ALIAS.OF.US")),
    ],
)
def test_what_is_opened_is_checked_but_no_queue_manager_alias(q_mgr, connect, mqsc, mqi, profile, names):
    user = connect(to=q_mgr, user=USER, password="own")

    def code():
        return user.open(
            "", mq.MQOO_OUTPUT, od=mqi.od(ObjectName=names[0].encode(), ObjectQMgrName="".join(names[1:]).encode())
        ).code

    for other in {"R", "R.ALIAS", "QM2", "X", "QM3", "ALIAS", "ALIAS.OF.US", "THERE"} - {profile}:
        mqsc(f"SET AUTHREC PROFILE('{other}') PRINCIPAL('{USER}') OBJTYPE(QUEUE) AUTHADD(PUT)")
    mqsc(f"SET AUTHREC PROFILE('{profile}') PRINCIPAL('{USER}') OBJTYPE(QUEUE) AUTHRMV(PUT)")
    assert code() == failed(mq.MQRC_NOT_AUTHORIZED)
    mqsc(f"SET AUTHREC PROFILE('{profile}') PRINCIPAL('{USER}') OBJTYPE(QUEUE) AUTHADD(PUT)")
    assert code() == OK


def test_a_sender_channel_takes_messages_to_the_other_queue_manager(cluster):
    """FAR is a queue manager alias at QM2; QM1 reaches it by its own transmission queue, not over the cluster."""
    name = cluster.name()
    cluster.mqsc("QM2", f"DEFINE QLOCAL({name}) DEFPSIST(YES)", f"DEFINE QREMOTE({name}.FAR) RQMNAME(QM2)")
    cluster.mqsc(
        "QM1",
        f"DEFINE QLOCAL({name}.X) USAGE(XMITQ) DEFPSIST(YES) TRIGDATA(QM1.QM2)",
        f"DEFINE QREMOTE({name}) RNAME({name}) RQMNAME({name}.FAR) XMITQ({name}.X)",
    )
    out = cluster.connect("QM1").open(name, mq.MQOO_OUTPUT)
    assert [out.put(b"%d" % number, Persistence=1).code for number in range(3)] == [OK] * 3
    cluster.waits_for("QM2", name, 3)
    assert cluster.data("QM2", name) == [b"0", b"1", b"2"]
    assert cluster.depth("QM1", f"{name}.X") == 0
    # And on from there, or to its dead letters.
    cluster.mqsc("QM3", f"DEFINE QLOCAL({name}) DEFPSIST(YES)")
    cluster.mqsc("QM2", f"DEFINE QREMOTE({name}.FARTHER) RQMNAME(QM3)")
    for where in ("FARTHER", "NOWHERE"):
        remote = f"{name}.R.{where}"
        cluster.mqsc("QM1", f"DEFINE QREMOTE({remote}) RNAME({name}) RQMNAME({name}.{where}) XMITQ({name}.X)")
        assert cluster.connect("QM1").put1(remote, where.encode(), Persistence=1).code == OK
    cluster.waits_for("QM3", name, 1)

    def reasons():
        letters = [each for each in cluster.data("QM2", DEAD_LETTERS) if each[12:60].strip() == name.encode()]
        return [int.from_bytes(each[8:12], "little") for each in letters]

    wait_until(reasons)
    assert reasons() == [mq.MQRC_UNKNOWN_REMOTE_Q_MGR]
    assert [each["to"] for each in cluster.embedded["QM1"].control.channels()] == [f"{name}.X", "QM2", "QM3"]
    assert out.close() == OK

"""Opening cluster queues, where messages go, and what the queue manager says about it.

Source: IBM MQ, topics "Name resolution" (q025990), "MQOPEN and clusters" (q027030), "MQINQ and clusters" (q027050),
"ResolvedQMgrName" (q098260), "The cluster workload management algorithm" (q082390), reason codes 2085, 2087, 2189, 2268, 2270.
"""

from __future__ import annotations

import pytest

from embedded_tests.cluster_sites import GRPCLUS, NAMES
from embedded_tests.fix_cluster import until_all_were_chosen, went_to
from embedded_tests.fix_mqi import OK, PATIENCE_MS, failed, text, warning
from embedded_tests.tables import table
from mqembedded import constants as mq

# Where three messages put at QM1 go, for each way to open the queue: by option and by DEFBIND, with the instances at QM2 and QM3.
BINDINGS = [
    (mq.MQOO_BIND_ON_OPEN, "OPEN", ["QM2"] * 3, "QM2"),
    (mq.MQOO_BIND_ON_OPEN, "NOTFIXED", ["QM2"] * 3, "QM2"),
    (mq.MQOO_BIND_NOT_FIXED, "OPEN", ["QM2", "QM3", "QM2"], ""),
    (mq.MQOO_BIND_ON_GROUP, "OPEN", ["QM2", "QM3", "QM2"], ""),
    (0, "OPEN", ["QM2"] * 3, "QM2"),
    (0, "NOTFIXED", ["QM2", "QM3", "QM2"], ""),
    (0, "GROUP", ["QM2", "QM3", "QM2"], ""),
]


@table(("option", "defbind", "where", "resolved"), BINDINGS)
@pytest.mark.usefixtures("embedded_cluster")
def test_binding_by_turns(cluster, option, defbind, where, resolved):
    queue = cluster.define(f"DEFBIND({defbind})", at=("QM2", "QM3"))
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | option)
    assert (out.code, text(out.od.ResolvedQName), text(out.od.ResolvedQMgrName)) == (OK, queue, resolved)
    answers = [out.put(b"%d" % number) for number in range(3)]
    assert [went_to(answer) for answer in answers] == where
    assert {text(answer.pmo.ResolvedQName) for answer in answers} == {queue}
    for name in ("QM2", "QM3"):
        expected = [b"%d" % number for number in range(3) if where[number] == name]
        cluster.waits_for(name, queue, len(expected))
        assert cluster.data(name, queue) == expected


@table(("option", "defbind", "where", "resolved"), BINDINGS)
def test_binding(cluster, option, defbind, where, resolved):
    queue = cluster.define(f"DEFBIND({defbind})", at=("QM2", "QM3"))
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | option)
    assert (out.code, text(out.od.ResolvedQName)) == (OK, queue)
    if resolved:
        assert {went_to(out.put()) for _ in range(5)} == {text(out.od.ResolvedQMgrName)} < {"QM2", "QM3"}
    else:
        assert text(out.od.ResolvedQMgrName) == ""
        until_all_were_chosen(lambda: went_to(out.put()), ("QM2", "QM3"))


def test_two_bindings_at_once_are_refused(cluster):
    queue = cluster.define()
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP | mq.MQOO_BIND_NOT_FIXED)
    assert out.code == failed(mq.MQRC_OPTIONS_ERROR)


def test_mqput1_is_never_fixed(cluster):
    queue = cluster.define("DEFBIND(OPEN)", at=("QM2", "QM3"))
    connection = cluster.connect("QM1")
    until_all_were_chosen(lambda: went_to(connection.put1(queue)), ("QM2", "QM3"))


def test_an_alias_overrides_the_binding_of_its_base(cluster):
    queue = cluster.define("DEFBIND(OPEN)", at=("QM2", "QM3"))
    cluster.mqsc("QM1", f"DEFINE QALIAS({queue}.A) TARGET({queue}) DEFBIND(NOTFIXED)")
    connection = cluster.connect("QM1")
    fixed = connection.open(queue, mq.MQOO_OUTPUT)
    assert len({went_to(fixed.put()) for _ in range(5)}) == 1
    out = connection.open(f"{queue}.A", mq.MQOO_OUTPUT | mq.MQOO_INQUIRE)
    until_all_were_chosen(lambda: went_to(out.put()), ("QM2", "QM3"))
    assert (out.name, text(out.od.ResolvedQName)) == (f"{queue}.A", queue)


def test_an_alias_that_is_put_inhibited(cluster):
    queue = cluster.define(at=("QM2",))
    cluster.mqsc("QM1", f"DEFINE QALIAS({queue}.A) TARGET({queue}) PUT(DISABLED)")
    assert cluster.connect("QM1").put1(f"{queue}.A").code == failed(mq.MQRC_PUT_INHIBITED)


# --- the local instance


@table(
    ("queue_use", "q_mgr_use", "where"),
    [
        ("LOCAL", "ANY", ("QM1",)),
        ("ANY", "LOCAL", NAMES),
        ("QMGR", "LOCAL", ("QM1",)),
        ("QMGR", "ANY", NAMES),
    ],
)
def test_clwluseq_says_whether_a_local_instance_is_the_only_one(cluster, queue_use, q_mgr_use, where):
    queue = cluster.define(f"CLWLUSEQ({queue_use})")
    cluster.mqsc("QM1", f"ALTER QMGR CLWLUSEQ({q_mgr_use})")
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED)
    went = until_all_were_chosen(lambda: went_to(out.put()), where)
    went += [went_to(out.put()) for _ in range(3)]
    cluster.mqsc("QM1", "ALTER QMGR CLWLUSEQ(LOCAL)")
    assert set(went) == set(where)


def test_a_local_instance_is_the_only_one_that_is_got_from(cluster):
    queue = cluster.define("CLWLUSEQ(ANY)")
    connection = cluster.connect("QM1")
    both = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
    assert text(both.od.ResolvedQMgrName) == "QM1"
    assert [went_to(both.put(b"here")) for _ in range(3)] == ["QM1"] * 3
    assert both.get().data == b"here"


@table("use", [mq.MQOO_INPUT_SHARED, mq.MQOO_BROWSE, mq.MQOO_SET, mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT])
def test_without_a_local_instance_nothing_can_be_got(cluster, use):
    queue = cluster.define(at=("QM2", "QM3"))
    assert cluster.connect("QM1").open(queue, use).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)


def test_the_local_queue_managers_name_means_the_local_instance(cluster, mqi):
    queue = cluster.define("CLWLUSEQ(ANY)", at=("QM1", "QM2"))
    od = mqi.od(ObjectName=queue.encode(), ObjectQMgrName=b"QM1")
    out = cluster.connect("QM1").open("", mq.MQOO_OUTPUT, od=od)
    assert [went_to(out.put()) for _ in range(3)] == ["QM1"] * 3
    elsewhere = mqi.od(ObjectName=queue.encode(), ObjectQMgrName=b"QM3")
    assert cluster.connect("QM3").open("", mq.MQOO_OUTPUT, od=elsewhere).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)


# --- a certain queue manager


def test_a_named_member_gets_the_messages_whatever_the_binding(cluster, mqi):
    queue = cluster.define("DEFBIND(NOTFIXED)")
    od = mqi.od(ObjectName=queue.encode(), ObjectQMgrName=b"QM3")
    out = cluster.connect("QM1").open("", mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED, od=od)
    assert (text(out.od.ResolvedQName), text(out.od.ResolvedQMgrName)) == (queue, "QM3")
    assert [went_to(out.put(b"%d" % number)) for number in range(3)] == ["QM3"] * 3
    cluster.waits_for("QM3", queue, 3)


def test_a_named_member_gets_messages_for_queues_that_are_in_no_cluster(cluster, mqi):
    queue = cluster.define(at=("QM2",))
    cluster.mqsc("QM2", f"DEFINE QLOCAL({queue}.P) DEFPSIST(YES)")
    od = mqi.od(ObjectName=f"{queue}.P".encode(), ObjectQMgrName=b"QM2")
    assert went_to(cluster.connect("QM1").put1("", b"to whom it concerns", od=od)) == "QM2"
    cluster.waits_for("QM2", f"{queue}.P", 1)


def test_who_is_no_member_is_not_known(cluster, mqi):
    od = mqi.od(ObjectName=b"ANY", ObjectQMgrName=b"QM9")
    assert cluster.connect("QM1").open("", mq.MQOO_OUTPUT, od=od).code == failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)


def test_a_queue_elsewhere_is_not_opened_for_input(cluster, mqi):
    queue = cluster.define()
    od = mqi.od(ObjectName=queue.encode(), ObjectQMgrName=b"QM2")
    assert cluster.connect("QM1").open("", mq.MQOO_INPUT_SHARED, od=od).code == failed(
        mq.MQRC_OPTION_NOT_VALID_FOR_TYPE
    )


# --- remote queue definitions


def test_a_local_definition_of_a_remote_queue(cluster):
    queue = cluster.define(at=("QM2",))
    cluster.mqsc("QM1", f"DEFINE QREMOTE({queue}.R) RNAME({queue}) RQMNAME(QM2) DEFPSIST(YES)")
    out = cluster.connect("QM1").open(f"{queue}.R", mq.MQOO_OUTPUT)
    assert (text(out.od.ResolvedQName), text(out.od.ResolvedQMgrName)) == (queue, "QM2")
    assert out.put(b"through a definition").md.Persistence == mq.MQPER_PERSISTENT
    cluster.waits_for("QM2", queue, 1)


def test_a_queue_manager_alias(cluster, mqi):
    queue = cluster.define()
    alias = f"{queue}.M"
    cluster.mqsc("QM1", f"DEFINE QREMOTE({alias}) RQMNAME(QM3)", f"DEFINE QREMOTE({alias}.ME) RQMNAME(QM1)")
    connection = cluster.connect("QM1")
    for name, where in ((alias, "QM3"), (f"{alias}.ME", "QM1")):
        out = connection.open("", mq.MQOO_OUTPUT, od=mqi.od(ObjectName=queue.encode(), ObjectQMgrName=name.encode()))
        assert went_to(out.put()) == where
    assert connection.open(alias, mq.MQOO_OUTPUT).code == failed(mq.MQRC_REMOTE_Q_NAME_ERROR)


# --- names that lead nowhere, instances that take nothing


def test_a_name_that_nobody_knows(cluster):
    connection = cluster.connect("QM1")
    nobody_knows, to_nowhere = cluster.name(), cluster.name()
    cluster.mqsc("QM1", f"DEFINE QALIAS({to_nowhere}) TARGET({nobody_knows})")
    assert connection.open(nobody_knows, mq.MQOO_OUTPUT).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)
    assert connection.put1(nobody_knows).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)
    assert connection.open(to_nowhere, mq.MQOO_OUTPUT).code == failed(mq.MQRC_UNKNOWN_ALIAS_BASE_Q)


def test_a_name_that_nobody_knows_while_a_member_was_never_heard_of(make_cluster):
    cluster = make_cluster(("QM1", "QM2"))
    cluster.embedded["QM2"].stop()
    (cluster.embedded.data / "repository" / "QM2.json").unlink()
    assert cluster.connect("QM1").open("X", mq.MQOO_OUTPUT).code == failed(mq.MQRC_CLUSTER_RESOLUTION_ERROR)
    cluster.embedded["QM2"].start()
    assert cluster.connect("QM1").open("X", mq.MQOO_OUTPUT).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)


@table(
    ("option", "opened"),
    [
        (mq.MQOO_BIND_ON_OPEN, failed(mq.MQRC_CLUSTER_PUT_INHIBITED)),
        (mq.MQOO_BIND_NOT_FIXED, OK),
        (mq.MQOO_BIND_ON_GROUP, OK),
    ],
)
def test_all_instances_are_put_inhibited(cluster, option, opened):
    queue = cluster.define("PUT(DISABLED)", at=("QM2", "QM3"))
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | option)
    assert out.code == opened
    if opened == OK:
        assert out.put().code == failed(mq.MQRC_CLUSTER_PUT_INHIBITED)
        cluster.alter("QM3", queue, "PUT(ENABLED)")
        assert went_to(out.put()) == "QM3"


def test_a_local_instance_lets_the_open_succeed_though_all_are_put_inhibited(cluster):
    queue = cluster.define("PUT(DISABLED) CLWLUSEQ(ANY)")
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_OPEN)
    assert out.code == OK
    assert out.put().code == failed(mq.MQRC_PUT_INHIBITED)


def test_an_instance_that_is_put_inhibited_is_not_chosen(cluster):
    queue = cluster.define("CLWLUSEQ(LOCAL)")
    for name in ("QM1", "QM2"):
        cluster.alter(name, queue, "PUT(DISABLED)")
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED)
    assert [went_to(out.put()) for _ in range(3)] == ["QM3"] * 3


def test_all_instances_are_gone_when_a_message_is_put(cluster):
    queue = cluster.define(at=("QM2",))
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED)
    cluster.withdraw("QM2", queue, f"DELETE QLOCAL({queue})")
    assert out.put().code == failed(mq.MQRC_NO_DESTINATIONS_AVAILABLE)


def test_an_instance_that_leaves_the_cluster_is_not_chosen_any_more(cluster):
    queue = cluster.define("DEFBIND(NOTFIXED)", at=("QM2", "QM3"))
    cluster.withdraw("QM2", queue, f"ALTER QLOCAL({queue}) CLUSTER(' ')")
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT)
    assert {went_to(out.put()) for _ in range(3)} == {"QM3"}


# A channel that is just starting makes another destination of lower priority the better one.
@pytest.mark.parametrize("attribute", ["CLWLRANK", pytest.param("CLWLPRTY", marks=pytest.mark.embedded)])
def test_the_highest_rank_and_priority_are_chosen(cluster, attribute):
    queue = cluster.define("DEFBIND(NOTFIXED)", at=("QM2", "QM3"))
    cluster.alter("QM3", queue, f"{attribute}(5)")
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT)
    assert {went_to(out.put()) for _ in range(3)} == {"QM3"}


@table("attribute", ["CLWLRANK", "CLWLPRTY"])
def test_ranks_are_looked_at_before_channels_and_priorities_after_them(cluster, embedded_cluster, attribute):
    queue = cluster.define("DEFBIND(NOTFIXED)", at=("QM2", "QM3"))
    cluster.alter("QM3", queue, f"{attribute}(5)")
    embedded_cluster["QM1"].control.stop_channel("QM3")
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT)
    assert went_to(out.put()) == ("QM3" if attribute == "CLWLRANK" else "QM2")


def test_an_instance_whose_channel_is_stopped_is_the_last_choice(cluster, embedded_cluster):
    queue = cluster.define("DEFBIND(NOTFIXED)", at=("QM2", "QM3"))
    control = embedded_cluster["QM1"].control
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT)
    control.stop_channel("QM2")
    assert {went_to(out.put()) for _ in range(3)} == {"QM3"}
    control.stop_channel("QM3")
    assert {went_to(out.put()) for _ in range(4)} == {"QM2", "QM3"}


# --- MQINQ


@pytest.fixture
def may_inquire(cluster):
    """What user app is not given by the cluster's own files, which let it put there and no more."""
    profile = "SET AUTHREC PROFILE('SYSTEM.CLUSTER.TRANSMIT.QUEUE') PRINCIPAL('app') OBJTYPE(QUEUE)"
    cluster.mqsc("QM1", f"{profile} AUTHADD(INQ)")
    yield
    cluster.mqsc("QM1", f"{profile} AUTHRMV(INQ)")


@pytest.mark.usefixtures("may_inquire")
def test_mqinq_of_a_queue_without_a_local_instance(cluster):
    queue = cluster.define("DEFBIND(GROUP)", at=("QM2",))
    handle = cluster.connect("QM1").open(queue, mq.MQOO_INQUIRE | mq.MQOO_OUTPUT)
    assert handle.inquire(mq.MQIA_Q_TYPE) == (OK, mq.MQQT_CLUSTER)
    assert handle.inquire(mq.MQIA_DEF_BIND) == (OK, mq.MQBND_BIND_ON_GROUP)
    assert handle.inquire(mq.MQIA_DEF_PERSISTENCE) == (OK, mq.MQPER_PERSISTENT)
    assert handle.inquire(mq.MQIA_INHIBIT_PUT) == (OK, 0)
    assert handle.inquire(mq.MQIA_CURRENT_Q_DEPTH)[0] == warning(mq.MQRC_SELECTOR_NOT_FOR_TYPE)


def test_mqinq_of_a_queue_with_a_local_instance(cluster):
    queue = cluster.define("CLWLUSEQ(ANY)")
    handle = cluster.connect("QM1").open(queue, mq.MQOO_INQUIRE | mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    assert handle.inquire(mq.MQIA_Q_TYPE) == (OK, mq.MQQT_LOCAL)
    assert handle.inquire(mq.MQIA_CURRENT_Q_DEPTH) == (OK, 0)


# --- replies and reports


def test_a_reply_finds_its_way_by_reply_to_q_and_q_mgr(cluster, mqi):
    queue = cluster.define(at=("QM2",))
    cluster.mqsc("QM1", f"DEFINE QLOCAL({queue}.REPLY)")
    asking = cluster.connect("QM1")
    asking.open(queue, mq.MQOO_OUTPUT).put(b"?", MsgType=mq.MQMT_REQUEST, ReplyToQ=f"{queue}.REPLY".encode())
    answering = cluster.connect("QM2")
    request = answering.open(queue, mq.MQOO_INPUT_SHARED).get(wait_ms=PATIENCE_MS)
    assert (text(request.md.ReplyToQ), text(request.md.ReplyToQMgr)) == (f"{queue}.REPLY", "QM1")
    od = mqi.od(ObjectName=request.md.ReplyToQ, ObjectQMgrName=request.md.ReplyToQMgr)
    answering.put1("", b"!", od=od, CorrelId=request.md.MsgId)
    reply = asking.open(f"{queue}.REPLY", mq.MQOO_INPUT_SHARED).get(wait_ms=PATIENCE_MS)
    assert (reply.data, reply.md.CorrelId) == (b"!", request.md.MsgId)


def test_reports_come_from_where_the_message_arrives(cluster):
    queue = cluster.define(at=("QM2",))
    cluster.mqsc("QM1", f"DEFINE QLOCAL({queue}.REPLY)")
    way = "PROFILE('SYSTEM.CLUSTER.TRANSMIT.QUEUE')"
    cluster.mqsc("QM2", f"SET AUTHREC {way} OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT,PASSID)")
    connection = cluster.connect("QM1")
    reply_to = {"ReplyToQ": f"{queue}.REPLY".encode(), "Report": mq.MQRO_COA | mq.MQRO_COD}
    sent = connection.open(queue, mq.MQOO_OUTPUT).put(b"data", **reply_to)
    replies = connection.open(f"{queue}.REPLY", mq.MQOO_INPUT_SHARED)
    arrived = replies.get(wait_ms=PATIENCE_MS)
    assert (arrived.md.Feedback, arrived.md.CorrelId) == (259, sent.md.MsgId)
    assert text(arrived.md.PutApplName) == "QM2"
    assert cluster.connect("QM2").open(queue, mq.MQOO_INPUT_SHARED).get().data == b"data"
    assert replies.get(wait_ms=PATIENCE_MS).md.Feedback == 260


def test_group_identifiers_of_all_members_are_different(cluster):
    queue = cluster.define()
    made = set()
    for name in NAMES:
        out = cluster.connect(name).open(queue, mq.MQOO_OUTPUT)
        made |= {out.put(b"", 0x8000, MsgFlags=0x10).md.GroupId for _ in range(5)}
    assert len(made) == 15


# --- DISPLAY; how its text is laid out is nobody's contract


@pytest.mark.usefixtures("embedded_cluster")
def test_display_qcluster_shows_every_instance(cluster):
    queue = cluster.define("DEFBIND(GROUP)", at=("QM2", "QM3"))
    said = cluster.mqsc("QM1", f"DISPLAY QCLUSTER({queue}) CLUSQMGR CLUSQT DEFBIND")
    assert [line.split() for line in "\n".join(said).splitlines() if "AMQ8409I" not in line] == [
        [f"QUEUE({queue})", "TYPE(QCLUSTER)"],
        ["CLUSQMGR(QM2)", "CLUSQT(QLOCAL)"],
        ["DEFBIND(GROUP)"],
        [f"QUEUE({queue})", "TYPE(QCLUSTER)"],
        ["CLUSQMGR(QM3)", "CLUSQT(QLOCAL)"],
        ["DEFBIND(GROUP)"],
    ]


def test_display_clusqmgr_shows_the_members_and_the_channels_to_them(cluster, embedded_cluster):
    embedded_cluster["QM1"].control.stop_channel("QM2")
    said = cluster.mqsc("QM1", "DISPLAY CLUSQMGR(*) DEFTYPE STATUS")
    assert [line.split() for line in "\n".join(said).splitlines() if "AMQ8441I" not in line] == [
        ["CLUSQMGR(QM1)", "DEFTYPE(CLUSRCVR)"],
        ["STATUS(RUNNING)"],
        ["CLUSQMGR(QM2)", "DEFTYPE(CLUSSDRA)"],
        ["STATUS(STOPPED)"],
        ["CLUSQMGR(QM3)", "DEFTYPE(CLUSSDRA)"],
        [f"STATUS({cluster.channel('QM1', 'QM3')['status']})"],
    ]
    (all_of_one,) = cluster.mqsc("QM1", "DISPLAY CLUSQMGR(QM2)")
    assert "XMITQ(SYSTEM.CLUSTER.TRANSMIT.GRPCLUS.QM2)" in all_of_one
    assert f"CONNAME({cluster['QM2'].conn_name})" in all_of_one
    assert f"CHANNEL({GRPCLUS}.QM2)" in all_of_one


@pytest.mark.usefixtures("embedded_cluster")
def test_display_qremote(cluster):
    queue = cluster.define()
    cluster.mqsc("QM1", f"DEFINE QREMOTE({queue}.R) RNAME({queue}) RQMNAME(QM2)")
    (said,) = cluster.mqsc("QM1", f"DISPLAY QREMOTE({queue}.R) RNAME RQMNAME")
    assert said.split()[-4:] == [f"QUEUE({queue}.R)", "TYPE(QREMOTE)", f"RNAME({queue})", "RQMNAME(QM2)"]

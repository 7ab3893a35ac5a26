"""Readings: every value of every reading does what its line in the table says, and changes nothing without being asked."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from embedded_tests.cluster_sites import described
from embedded_tests.fix_cluster import DEAD_LETTERS, went_to
from embedded_tests.fix_mqi import EMPTY, OK, empty, failed, shared_input, wait_until, warning
from embedded_tests.fix_properties import MessageHandle, put, rfh2
from mqembedded import READINGS, EmbeddedCluster, EmbeddedQueueManager, Fault, ReadingError
from mqembedded import constants as mq
from mqembedded.channels.settings import ChannelSettings
from mqembedded.readings import TABLE

pytestmark = pytest.mark.embedded

ROOT = Path(__file__).parents[1]
MIG, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP

# MAXDEPTH(3)
SMALL = "TEST.SMALL"
QUEUES = """
DEFINE QLOCAL(TEST.SMALL) MAXDEPTH(3) DEFPSIST(YES)
DEFINE QLOCAL(TEST.SHORT) MAXMSGL(16)
"""


@pytest.fixture(scope="module")
def following_all(module_queue_manager):
    """A function that returns a queue manager which follows the first value of each reading, or the second, and so on."""
    started: dict[int, EmbeddedQueueManager] = {}

    def start(number):
        if number not in started:
            started[number] = module_queue_manager(
                QUEUES, "QMR", readings=nth_values(number), users={"app": "passw0rd"}
            )
        return started[number]

    return start


def nth_values(number):
    # An exit would change the data that most tests get.
    return {name: values[min(number, len(values) - 1)] for name, values in READINGS.items() if name != "api exit"}


@pytest.fixture
def following(following_all, connect):
    """A function that returns a queue manager with empty queues which follows a value of a reading."""

    def start(name, value):
        q_mgr = following_all(READINGS[name].index(value))
        connection = connect(to=q_mgr)
        empty(connection, SMALL, "TEST.SHORT", "TEST.LOCAL")
        connection.disconnect()
        return q_mgr

    return start


# --- choosing


def test_an_unknown_reading_is_refused_with_those_there_are():
    with pytest.raises(ReadingError, match="there is no reading 'depth'; there are 'curdepth', 'lost connection'"):
        EmbeddedQueueManager(readings={"depth": "counts uncommitted gets"})


def test_an_unknown_value_is_refused_with_those_there_are():
    expected = "'curdepth' has no value 'both'; it has 'excludes uncommitted gets', 'counts uncommitted gets'"
    with pytest.raises(ReadingError, match=expected):
        EmbeddedCluster(described(), readings={"curdepth": "both"})


def test_the_first_value_is_the_default(own_queue_manager, connect):
    assert READINGS["curdepth"][0] == "excludes uncommitted gets"
    connection = connect(to=own_queue_manager("QMR"))
    assert connection.put1("TEST.LOCAL", b"got").code == OK
    assert shared_input(connection, "TEST.LOCAL").get(mq.MQGMO_SYNCPOINT).code == OK
    assert connection.depth("TEST.LOCAL") == 0


def test_a_gap_that_is_no_time_is_refused():
    with pytest.raises(ReadingError, match="0 seconds or more"):
        EmbeddedQueueManager(cleanup_gap_s=-1)


# --- each of them


@pytest.mark.parametrize(("value", "counted"), [("excludes uncommitted gets", 0), ("counts uncommitted gets", 1)])
def test_curdepth(following, connect, value, counted):
    connection = connect(to=following("curdepth", value))
    assert connection.put1(SMALL, b"got").code == OK
    assert shared_input(connection, SMALL).get(mq.MQGMO_SYNCPOINT).code == OK
    assert connection.depth(SMALL) == counted
    for number in range(3 - counted):
        assert connection.put1(SMALL, b"put", mq.MQPMO_SYNCPOINT).code == OK
        assert connection.depth(SMALL) == counted + number + 1
    assert connection.put1(SMALL, b"one more").code == failed(mq.MQRC_Q_FULL)
    assert connection.commit() == OK
    assert connection.depth(SMALL) == 3 - counted


def test_what_is_backed_out_may_take_curdepth_beyond_maxdepth(following, connect):
    """Unit-of-work processing can cause CurrentQDepth to exceed MaxQDepth (topic "CurrentQDepth")."""
    connection = connect(to=following("curdepth", "excludes uncommitted gets"))
    assert connection.put1(SMALL, b"got").code == OK
    assert shared_input(connection, SMALL).get(mq.MQGMO_SYNCPOINT).code == OK
    for _ in range(3):
        assert connection.put1(SMALL, b"put").code == OK
    assert connection.back_out() == OK
    assert connection.depth(SMALL) == 4
    assert connection.put1(SMALL, b"one more").code == failed(mq.MQRC_Q_FULL)


@pytest.fixture
def with_gap(own_queue_manager, tmp_path):
    """A function that starts a queue manager which backs a lost connection out before it closes its handles, or after it."""
    mqsc = tmp_path / "queues.mqsc"
    mqsc.write_text(QUEUES)
    return lambda value, gap_s: own_queue_manager(
        "QMR", mqsc=[mqsc], readings={"lost connection": value}, cleanup_gap_s=gap_s
    )


@pytest.fixture
def lose(connect):
    """A function that loses a connection which has the small queue open exclusively and has got its one message."""

    def lose_once(q_mgr):
        connection, other = connect(to=q_mgr), connect(to=q_mgr)
        assert connection.put1(SMALL, b"m", Persistence=mq.MQPER_PERSISTENT).code == OK
        source = connection.open(SMALL, mq.MQOO_INPUT_EXCLUSIVE)
        assert source.get(mq.MQGMO_SYNCPOINT).data == b"m"
        q_mgr.arm(Fault("drop", verb="MQPUT1"))
        assert connection.put1(SMALL, b"", mq.MQPMO_SYNCPOINT).code == failed(mq.MQRC_CONNECTION_BROKEN)
        opened = []

        def is_open():
            opened.append(other.open(SMALL, mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_BROWSE | mq.MQOO_OUTPUT))
            return opened[-1].code == OK

        wait_until(is_open)
        return opened[-1]

    return lose_once


def test_a_lost_connection_backs_out_and_then_closes_handles(with_gap, lose):
    q_mgr = with_gap("backs out, then closes handles", 3600)
    assert lose(q_mgr).get().data == b"m"


def test_a_lost_connection_closes_handles_and_then_backs_out(with_gap, lose):
    q_mgr = with_gap("closes handles, then backs out", 0.5)
    source = lose(q_mgr)
    assert source.get().code == EMPTY
    assert source.get(wait_ms=30_000).data == b"m"


def test_stopping_ends_the_gap(with_gap, lose, connect):
    q_mgr = with_gap("closes handles, then backs out", 3600)
    assert lose(q_mgr).get().code == EMPTY
    q_mgr.stop()
    q_mgr.start()
    assert [answer.data for answer in connect(to=q_mgr).browse(SMALL)] == [b"m"]


@pytest.mark.parametrize(
    ("value", "order"), [("taken at MQPUT", [b"1", b"2", b"3"]), ("taken at commit", [b"3", b"1", b"2"])]
)
def test_place_of_a_put(following, connect, value, order):
    q_mgr = following("place of a put", value)
    connection, other = connect(to=q_mgr), connect(to=q_mgr)
    for data in (b"1", b"2"):
        assert connection.put1(SMALL, data, mq.MQPMO_SYNCPOINT, Persistence=mq.MQPER_PERSISTENT).code == OK
    assert other.put1(SMALL, b"3", Persistence=mq.MQPER_PERSISTENT).code == OK
    assert connection.commit() == OK
    assert [answer.data for answer in other.browse(SMALL)] == order
    q_mgr.kill()
    q_mgr.start()
    assert [answer.data for answer in connect(to=q_mgr).browse(SMALL)] == order


@pytest.mark.parametrize(
    ("value", "order"), [("the original place", [b"1", b"2", b"3"]), ("the end of the queue", [b"3", b"1", b"2"])]
)
def test_place_after_a_backout(following, connect, value, order):
    q_mgr = following("place after a backout", value)
    connection = connect(to=q_mgr)
    for data in (b"1", b"2", b"3"):
        assert connection.put1(SMALL, data, Persistence=mq.MQPER_PERSISTENT).code == OK
    source = shared_input(connection, SMALL)
    assert [source.get(mq.MQGMO_SYNCPOINT).data for _ in range(2)] == [b"1", b"2"]
    assert connection.back_out() == OK
    found = connection.browse(SMALL)
    assert [answer.data for answer in found] == order
    assert {answer.data: answer.md.BackoutCount for answer in found} == {b"1": 1, b"2": 1, b"3": 0}
    q_mgr.kill()
    q_mgr.start()
    connection = connect(to=q_mgr)
    found = connection.browse(SMALL)
    assert [answer.data for answer in found] == order
    assert {answer.data: answer.md.BackoutCount for answer in found} == {b"1": 1, b"2": 1, b"3": 0}
    # What is got is gone for good, wherever it lay before.
    assert shared_input(connection, SMALL).get().data == order[0]
    q_mgr.kill()
    q_mgr.start()
    assert [answer.data for answer in connect(to=q_mgr).browse(SMALL)] == order[1:]


def test_a_place_after_a_backout_keeps_priorities(following, connect):
    connection = connect(to=following("place after a backout", "the end of the queue"))
    for data, priority in ((b"high", 9), (b"low", 1)):
        assert connection.put1(SMALL, data, Priority=priority).code == OK
    assert shared_input(connection, SMALL).get(mq.MQGMO_SYNCPOINT).data == b"high"
    assert connection.back_out() == OK
    assert [answer.data for answer in connection.browse(SMALL)] == [b"high", b"low"]


@pytest.mark.parametrize(("value", "left"), [("commits", [b"put"]), ("backs out", [b"got"])])
def test_mqdisc(following, connect, value, left):
    q_mgr = following("mqdisc", value)
    connection, other = connect(to=q_mgr), connect(to=q_mgr)
    assert connection.put1(SMALL, b"got").code == OK
    assert shared_input(connection, SMALL).get(mq.MQGMO_SYNCPOINT).data == b"got"
    assert connection.put1(SMALL, b"put", mq.MQPMO_SYNCPOINT).code == OK
    assert connection.disconnect() == OK
    assert [answer.data for answer in other.browse(SMALL)] == left


@pytest.mark.parametrize(
    ("value", "code"), [("accepted", OK), ("refused with 2250", failed(mq.MQRC_MSG_SEQ_NUMBER_ERROR))]
)
def test_duplicate_sequence_number(following, connect, value, code):
    connection = connect(to=following("duplicate sequence number", value))
    out = connection.open(SMALL, mq.MQOO_OUTPUT)
    first = out.put(b"1", mq.MQPMO_LOGICAL_ORDER, MsgFlags=MIG)
    again = {"GroupId": first.md.GroupId, "MsgFlags": MIG}
    assert out.put(b"again", MsgSeqNumber=1, **again).code == code
    assert out.put(b"next", MsgSeqNumber=2, **again).code == OK
    assert connection.put1(SMALL, b"in no group", MsgSeqNumber=1).code == (OK if code != OK else failed(mq.MQRC_Q_FULL))
    # Without the first one nobody knows.
    assert shared_input(connection, SMALL).get().data == b"1"
    assert out.put(b"once more", MsgSeqNumber=1, **again).code == OK


REASONS = {
    "2242": mq.MQRC_INCOMPLETE_MSG,
    "2241": mq.MQRC_INCOMPLETE_GROUP,
    "2185": mq.MQRC_INCONSISTENT_PERSISTENCE,
    "2245": mq.MQRC_INCONSISTENT_UOW,
}


@pytest.mark.parametrize("value", READINGS["precedence of group errors"])
def test_precedence_of_group_errors(following, connect, value):
    order = value.split(", ")
    assert sorted(order) == sorted(REASONS)
    assert order.index("2242") < order.index("2241")  # which IBM's text says
    connection = connect(to=following("precedence of group errors", value))
    persistent = mq.MQPER_PERSISTENT
    for wrong in itertools.chain.from_iterable(itertools.combinations(order, count) for count in (1, 2, 3, 4)):
        out = connection.open("TEST.LOCAL", mq.MQOO_OUTPUT)
        segment = "2242" in wrong
        begun = MIG | mq.MQMF_SEGMENT if segment else MIG
        assert (
            out.put(b"1", mq.MQPMO_LOGICAL_ORDER | mq.MQPMO_SYNCPOINT, MsgFlags=begun, Persistence=persistent).code
            == OK
        )
        # An unsegmented message in the middle of one leaves it; one that is in no group leaves the group too.
        flags = 0 if "2241" in wrong else MIG
        answer = out.put(
            b"2",
            mq.MQPMO_LOGICAL_ORDER | (0 if "2245" in wrong else mq.MQPMO_SYNCPOINT),
            Persistence=mq.MQPER_NOT_PERSISTENT if "2185" in wrong else persistent,
            MsgFlags=flags,
        )
        assert answer.code == failed(REASONS[next(each for each in order if each in wrong)]), wrong
        assert connection.back_out() == OK
        out.close()


@pytest.mark.parametrize(("value", "different"), [("one each", 3), ("all the same", 1)])
def test_msgids_of_segments(following, connect, value, different):
    connection = connect(to=following("msgids of segments", value))
    put = connection.put1("TEST.SHORT", bytes(40), MsgFlags=mq.MQMF_SEGMENTATION_ALLOWED)
    assert put.code == OK
    segments = shared_input(connection, "TEST.SHORT").all()
    assert [segment.md.Offset for segment in segments] == [0, 16, 32]
    assert segments[0].md.MsgId == put.md.MsgId
    assert len({segment.md.MsgId for segment in segments}) == different


@pytest.mark.parametrize(("value", "code"), [("accepted", OK), ("refused with 2443", failed(2443))])
def test_properties_on_segments(following, connect, value, code):
    connection = connect(to=following("properties on segments", value))
    handle = MessageHandle(connection)
    assert handle.set("colour", "green") == OK
    out = connection.open("TEST.SHORT", mq.MQOO_OUTPUT)
    for flags, found in ((mq.MQMF_SEGMENT, code), (mq.MQMF_SEGMENTATION_ALLOWED, code), (0, OK)):
        assert put(out, b"data", handle, MsgFlags=flags).code == found


@pytest.mark.parametrize(
    ("value", "browse", "get"),
    [
        ("opens as any queue", OK, OK),
        ("refused with 2042", failed(mq.MQRC_OBJECT_IN_USE), failed(mq.MQRC_OBJECT_IN_USE)),
        ("refused with 2085", failed(mq.MQRC_UNKNOWN_OBJECT_NAME), failed(mq.MQRC_UNKNOWN_OBJECT_NAME)),
    ],
)
def test_temporary_queue_of_another(following, connect, value, browse, get):
    q_mgr = following("temporary queue of another", value)
    connection, other = connect(to=q_mgr), connect(to=q_mgr)
    od = connection.mqi.od(ObjectName=b"TEST.TEMPORARY.MODEL", DynamicQName=b"REPLIES")
    assert connection.open("", mq.MQOO_INPUT_SHARED, od=od).code == OK
    assert other.put1("REPLIES", b"a reply").code == OK
    assert other.open("REPLIES", mq.MQOO_BROWSE).code == browse
    assert other.open("REPLIES", mq.MQOO_INPUT_SHARED).code == get
    own = connection.open("REPLIES", mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
    assert own.get().data == b"a reply"


@pytest.mark.parametrize(("value", "code"), [("allowed", OK), ("refused with 2042", failed(mq.MQRC_OBJECT_IN_USE))])
def test_browsing_what_is_open_exclusively(following, connect, value, code):
    q_mgr = following("browsing what is open exclusively", value)
    connection, other = connect(to=q_mgr), connect(to=q_mgr)
    source = connection.open(SMALL, mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_BROWSE)
    assert source.code == OK
    assert other.open(SMALL, mq.MQOO_BROWSE).code == code
    assert other.open(SMALL, mq.MQOO_OUTPUT | mq.MQOO_INQUIRE).code == OK
    assert source.close() == OK
    assert other.open(SMALL, mq.MQOO_BROWSE).code == OK


@pytest.mark.parametrize(("value", "code"), [("refused with 2042", failed(mq.MQRC_OBJECT_IN_USE)), ("allowed", OK)])
def test_second_exclusive_open(following, connect, value, code):
    q_mgr = following("second exclusive open", value)
    connection, other = connect(to=q_mgr), connect(to=q_mgr)
    first = connection.open(SMALL, mq.MQOO_INPUT_EXCLUSIVE)
    assert connection.open(SMALL, mq.MQOO_INPUT_EXCLUSIVE).code == code
    assert other.open(SMALL, mq.MQOO_INPUT_SHARED).code == failed(mq.MQRC_OBJECT_IN_USE)
    assert first.close() == OK
    assert other.open(SMALL, mq.MQOO_INPUT_SHARED).code == (failed(mq.MQRC_OBJECT_IN_USE) if code == OK else OK)


@pytest.mark.parametrize(
    ("value", "code", "left"),
    [
        ("MQCC_WARNING 2003", warning(mq.MQRC_BACKED_OUT), 0),
        ("MQCC_FAILED 2003", failed(mq.MQRC_BACKED_OUT), 0),
        ("MQCC_OK", OK, 3),
    ],
)
def test_mqcmit_after_a_failed_asynchronous_put(following, connect, value, code, left):
    connection = connect(to=following("mqcmit after a failed asynchronous put", value))
    out = connection.open(SMALL, mq.MQOO_OUTPUT)
    for _ in range(4):
        assert out.put(b"m", mq.MQPMO_SYNCPOINT | mq.MQPMO_ASYNC_RESPONSE, Persistence=mq.MQPER_PERSISTENT).code == OK
    assert connection.commit() == code
    assert len(connection.browse(SMALL)) == connection.depth(SMALL) == left
    assert connection.commit() == OK


@pytest.mark.parametrize(("value", "at"), [("begin with the name", 0), ("begin otherwise", 8)])
def test_identifiers(following, connect, value, at):
    connection = connect(to=following("identifiers", value))
    made = [connection.put1(SMALL, b"m", MsgFlags=LAST).md for _ in range(2)]
    for identifier in (identifier for md in made for identifier in (md.MsgId, md.GroupId)):
        assert identifier[at : at + 16] == b"AMQ QMR".ljust(16)
    assert len({md.MsgId for md in made} | {md.GroupId for md in made}) == 4


# --- in a cluster


@pytest.mark.parametrize("value", ["tells the instance", "tells nothing"])
def test_bind_on_group(make_cluster, value):
    cluster = make_cluster(("QM1", "QM2"), readings={"bind on group": value})
    queue = cluster.define("CLWLUSEQ(ANY)", at=("QM1", "QM2"))
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    told = [went_to(out.put(b"", mq.MQPMO_LOGICAL_ORDER, MsgFlags=flags)) for _ in range(2) for flags in (MIG, LAST)]
    # The group stays together whatever is told.
    cluster.waits_for("QM1", queue, 2)
    cluster.waits_for("QM2", queue, 2)
    assert sorted(told) == (["QM1", "QM1", "QM2", "QM2"] if value == "tells the instance" else [""] * 4)


@pytest.mark.parametrize(("value", "letters"), [("goes on to another", 0), ("becomes dead letters", 1)])
def test_group_at_an_inhibited_instance(make_cluster, value, letters):
    readings = {"group at an inhibited instance": value}
    cluster = make_cluster(settings=ChannelSettings(mrrty=0, retry_s=0.05), readings=readings)
    queue = cluster.define("CLWLUSEQ(ANY)", at=("QM2", "QM3"))
    out = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
    first = out.put(b"1", mq.MQPMO_LOGICAL_ORDER, MsgFlags=MIG)
    instance = went_to(first)
    cluster.waits_for(instance, queue, 1)
    cluster.embedded["QM1"].control.stop_channel(instance)
    assert went_to(out.put(b"2", mq.MQPMO_LOGICAL_ORDER, MsgFlags=LAST)) == instance
    cluster.mqsc(instance, f"ALTER QLOCAL({queue}) PUT(DISABLED)")
    cluster.embedded["QM1"].control.start_channel(instance)
    (other,) = {"QM2", "QM3"} - {instance}
    cluster.waits_for(*((instance, DEAD_LETTERS) if letters else (other, queue)), 1)
    assert len(cluster.browse(instance, DEAD_LETTERS)) == letters
    assert len(cluster.browse(other, queue)) == 1 - letters
    assert cluster.data(instance, queue) == [b"1"]


# --- what is written about them


def rows_below(page, heading):
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0].splitlines()
        if line.startswith("| ")
    ]


@pytest.mark.parametrize(("value", "headers"), [("none", [b""]), ("adds a property", [b"RFH "])])
def test_api_exit(module_queue_manager, connect, value, headers):
    """A get that does not say how to return properties gets them in an MQRFH2: PROPCTL(COMPAT) is the default."""
    connection = connect(to=module_queue_manager("", "QMR", readings={"api exit": value}))
    assert connection.put1("TEST.LOCAL", b"m").code == OK
    browsing = connection.open("TEST.LOCAL", mq.MQOO_BROWSE)
    (data,) = (answer.data for answer in browsing.all(mq.MQGMO_BROWSE_NEXT | mq.MQGMO_PROPERTIES_FORCE_MQRFH2))
    assert [data[:-1][:4]] == headers
    assert data[-1:] == b"m"
    assert (b"<traceparent>00-" in data) is (value == "adds a property")
    assert shared_input(connection, "TEST.LOCAL").get(mq.MQGMO_NO_PROPERTIES).data == b"m"


def test_an_api_exit_leaves_alone_what_has_its_property_in_a_header_of_its_own(module_queue_manager, connect):
    connection = connect(to=module_queue_manager("", "QMR", readings={"api exit": "adds a property"}))
    own = rfh2("<usr><traceparent>mine</traceparent></usr>") + b"m"
    assert connection.put1("TEST.LOCAL", own, Format=mq.MQFMT_RF_HEADER_2).code == OK
    assert shared_input(connection, "TEST.LOCAL").get(mq.MQGMO_PROPERTIES_FORCE_MQRFH2).data == own


@pytest.mark.parametrize("value", ["user", "group"])
def test_security_policy(module_queue_manager, connect, value):
    """q014100: with the group-based model "the primary group to which the user ID belongs is included in the ACL"."""
    q_mgr = module_queue_manager(QUEUES, "QMR", users={"fred": "pw"}, readings={"security policy": value})
    q_mgr.control.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('fred') AUTHADD(CONNECT)")
    shown = "DISPLAY AUTHREC OBJTYPE(QMGR) PRINCIPAL('fred')"
    # "No profiles are returned for any group in which EntityName is a member" (q087310); MATCH(MEMBERSHIP) returns these too.
    assert q_mgr.control.mqsc(shown)[0] is (value == "user")
    done, said = q_mgr.control.mqsc(f"{shown} MATCH(MEMBERSHIP)")
    kind = {"user": "PRINCIPAL", "group": "GROUP"}[value]
    assert (done, f"ENTTYPE({kind})" in "".join(said)) == (True, True)
    assert connect(to=q_mgr, user="fred", password="pw").hconn > 0


def test_the_readme_has_the_table():
    section = (ROOT / "README.md").read_text().partition("## Readings\n")[2].partition("\n## ")[0]
    listed = [line for line in section.splitlines() if line.startswith("* ")]
    assert listed == [f"* {each.name}: {'; '.join(value.name for value in each.values)}" for each in TABLE]


def test_a_page_says_what_mqgroups_does_about_each():
    page = ROOT.parent / "docs" / "explanation" / "guarantees.md"
    rows = rows_below(page, "What mqgroups does about each reading")
    assert [row[0] for row in rows] == ["reading", *(reading.name for reading in TABLE)]
    assert all(row[1] for row in rows)


MODEL_ONLY = """
DEFINE QMODEL(MODEL) DEFTYPE(PERMDYN)
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('fred') AUTHADD(CONNECT)
SET AUTHREC PROFILE('MODEL') OBJTYPE(QUEUE) PRINCIPAL('fred') AUTHADD(DSP,GET)
SET AUTHREC PROFILE('KNOWN.**') OBJTYPE(QUEUE) PRINCIPAL('fred') AUTHADD(GET)
"""


@pytest.mark.parametrize(
    ("value", "code"), [("needs no authority", OK), ("is checked too", failed(mq.MQRC_NOT_AUTHORIZED))]
)
def test_name_of_a_dynamic_queue(module_queue_manager, connect, value, code):
    readings = {"name of a dynamic queue": value}
    q_mgr = module_queue_manager(MODEL_ONLY, "QMR", users={"fred": "pw"}, readings=readings)
    connection = connect(to=q_mgr, user="fred", password="pw")
    assert connection.open("MODEL", mq.MQOO_INPUT_SHARED, DynamicQName=b"UNKNOWN.1").code == code
    made = connection.open("MODEL", mq.MQOO_INPUT_SHARED, DynamicQName=b"KNOWN.1")
    assert (made.code, made.close(), connection.open("KNOWN.1", mq.MQOO_OUTPUT).code) == (OK, OK, OK)


@pytest.mark.parametrize(("value", "arrives"), [("is checked too", 0), ("is not checked", 1)])
def test_authority_for_other_reports(following, connect, value, arrives):
    connection = connect(to=following("authority for other reports", value), user="app", password="passw0rd")
    # The user app has PUT for it, and no PASSID.
    name = "SYSTEM.DEFAULT.LOCAL.QUEUE"
    replies = shared_input(connection, name)
    for report, expected in ((mq.MQRO_COA, arrives), (mq.MQRO_COD, 0)):
        assert connection.put1("TEST.LOCAL", b"m", Report=report, ReplyToQ=name.encode()).code == OK
        assert shared_input(connection, "TEST.LOCAL").get().code == OK
        assert len(replies.all()) == expected

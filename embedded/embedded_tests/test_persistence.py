"""What is still there after the queue manager was killed or stopped, and what is not."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK, delete, empty, failed, shared_input, warning
from mqembedded import constants as mq

Q = "TEST.LOCAL"
PERSISTENT = {"Persistence": mq.MQPER_PERSISTENT}

pytestmark = pytest.mark.embedded


@pytest.fixture(scope="module")
def mortal(module_queue_manager):
    return module_queue_manager()


@pytest.fixture
def queue_manager(mortal, connect):
    """A queue manager to be killed, with empty queues."""
    connection = connect(to=mortal)
    empty(connection, Q, "TEST.BASE")
    connection.disconnect()
    return mortal


@pytest.fixture
def restart(queue_manager, connect):
    """A function that ends the queue manager, by SIGKILL or in order, starts it again and connects to it."""

    def end_and_start(how="kill"):
        getattr(queue_manager, how)()
        queue_manager.start()
        return connect(to=queue_manager)

    return end_and_start


def visible(connection, name=Q):
    return [answer.data for answer in connection.browse(name)]


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_persistent_messages_survive_and_others_do_not(connect, queue_manager, restart, how):
    connection = connect(to=queue_manager)
    for number, persistence in enumerate([mq.MQPER_PERSISTENT, mq.MQPER_NOT_PERSISTENT, mq.MQPER_PERSISTENT]):
        assert connection.put1(Q, b"%d" % number, Persistence=persistence).code == OK
    connection = restart(how)
    assert visible(connection) == [b"0", b"2"]
    assert connection.depth(Q) == 2


def test_persistence_as_q_def_survives_where_the_queue_says_so(connect, queue_manager, restart, mqi):
    connection = connect(to=queue_manager)
    assert connection.put1(Q, b"DEFPSIST(YES)").code == OK
    assert connection.put1("TEST.BASE", b"DEFPSIST(NO)").code == OK
    connection = restart()
    assert visible(connection) == [b"DEFPSIST(YES)"]
    assert visible(connection, "TEST.BASE") == []


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_an_open_unit_of_work_is_backed_out(connect, queue_manager, restart, how):
    connection = connect(to=queue_manager)
    assert connection.put1(Q, b"got", **PERSISTENT).code == OK
    assert connection.open(Q, mq.MQOO_INPUT_SHARED).get(mq.MQGMO_SYNCPOINT).data == b"got"
    assert connection.put1(Q, b"put", mq.MQPMO_SYNCPOINT, **PERSISTENT).code == OK
    connection = restart(how)
    assert visible(connection) == [b"got"]
    assert connection.depth(Q) == 1


def test_a_committed_unit_of_work_is_whole(connect, queue_manager, restart):
    connection = connect(to=queue_manager)
    assert connection.put1(Q, b"got", **PERSISTENT).code == OK
    assert connection.open(Q, mq.MQOO_INPUT_SHARED).get(mq.MQGMO_SYNCPOINT).data == b"got"
    for number in range(50):
        assert connection.put1(Q, b"%d" % number, mq.MQPMO_SYNCPOINT, **PERSISTENT).code == OK
    assert connection.commit() == OK
    assert visible(restart()) == [b"%d" % number for number in range(50)]


def test_a_message_got_outside_syncpoint_stays_away(connect, queue_manager, restart):
    connection = connect(to=queue_manager)
    for data in (b"1", b"2"):
        assert connection.put1(Q, data, **PERSISTENT).code == OK
    assert connection.open(Q, mq.MQOO_INPUT_SHARED).get().data == b"1"
    assert visible(restart()) == [b"2"]


def test_descriptors_and_order_survive(connect, queue_manager, restart):
    connection = connect(to=queue_manager)
    for data, priority in ((b"low", 1), (b"high", 9), (b"high too", 9)):
        answer = connection.put1(Q, data, Priority=priority, CorrelId=data.ljust(24), Format=b"MQSTR   ", **PERSISTENT)
        assert answer.code == OK
    before = [(found.data, found.md.pack()) for found in connection.browse(Q)]
    assert [data for data, _ in before] == [b"high", b"high too", b"low"]
    connection = restart()
    assert [(found.data, found.md.pack()) for found in connection.browse(Q)] == before
    assert connection.put1(Q, b"newest", Priority=9, **PERSISTENT).code == OK
    assert visible(connection) == [b"high", b"high too", b"newest", b"low"]


def test_backout_counts_are_hardened(connect, queue_manager, restart):
    connection = connect(to=queue_manager)
    assert connection.put1(Q, b"m", **PERSISTENT).code == OK
    source = connection.open(Q, mq.MQOO_INPUT_SHARED)
    for _ in range(2):
        assert source.get(mq.MQGMO_SYNCPOINT).code == OK
        assert connection.back_out() == OK
    assert [answer.md.BackoutCount for answer in restart().browse(Q)] == [2]


def test_a_group_is_gone_on_with_after_a_restart(connect, queue_manager, restart):
    connection = connect(to=queue_manager)
    out = connection.open(Q, mq.MQOO_OUTPUT)
    answer = out.put(b"1", mq.MQPMO_LOGICAL_ORDER | mq.MQPMO_SYNCPOINT, MsgFlags=mq.MQMF_MSG_IN_GROUP, **PERSISTENT)
    assert connection.commit() == OK
    assert (
        out.put(b"x", mq.MQPMO_LOGICAL_ORDER | mq.MQPMO_SYNCPOINT, MsgFlags=mq.MQMF_MSG_IN_GROUP, **PERSISTENT).code
        == OK
    )
    connection = restart()
    out = connection.open(Q, mq.MQOO_OUTPUT)
    fields = {"GroupId": answer.md.GroupId, "MsgSeqNumber": 2, "MsgFlags": mq.MQMF_MSG_IN_GROUP}
    assert out.put(b"2", mq.MQPMO_SYNCPOINT, **fields, **PERSISTENT).code == OK
    last = out.put(b"3", mq.MQPMO_LOGICAL_ORDER | mq.MQPMO_SYNCPOINT, MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP, **PERSISTENT)
    assert last.place == (answer.md.GroupId, 3, 0)
    assert connection.commit() == OK
    source = connection.open(Q, mq.MQOO_INPUT_SHARED)
    assert [found.data for found in source.all(mq.MQGMO_LOGICAL_ORDER)] == [b"1", b"2", b"3"]


def test_group_ids_are_not_made_again_after_a_restart(connect, queue_manager, restart):
    known = set()
    connection = connect(to=queue_manager)
    for restarts in range(2):
        for _ in range(20):
            answer = connection.put1(Q, b"", MsgFlags=mq.MQMF_MSG_IN_GROUP, **PERSISTENT)
            assert answer.md.GroupId not in known
            assert answer.md.MsgId not in known
            known |= {answer.md.GroupId, answer.md.MsgId}
        connection = restart()
        assert connection.depth(Q) == 20 * (restarts + 1)


@pytest.mark.parametrize(("model", "expected"), [("MQTEST.MODEL", OK), ("TEST.TEMPORARY.MODEL", None)])
def test_permanent_dynamic_queues_survive_and_temporary_ones_do_not(
    connect, queue_manager, restart, mqi, model, expected
):
    connection = connect(to=queue_manager)
    od = mqi.od(ObjectName=model.encode(), DynamicQName=b"DYNAMIC.Q")
    handle = connection.open("", mq.MQOO_OUTPUT, od=od)
    assert handle.code == OK
    if expected:
        assert handle.put(b"m", **PERSISTENT).code == OK
    connection = restart()
    assert connection.open("DYNAMIC.Q", mq.MQOO_OUTPUT).code == (expected or failed(mq.MQRC_UNKNOWN_OBJECT_NAME))
    if expected:
        assert visible(connection, "DYNAMIC.Q") == [b"m"]
        delete(connection.open("DYNAMIC.Q", mq.MQOO_OUTPUT))


def test_a_deleted_queue_stays_deleted_and_its_messages_with_it(connect, queue_manager, restart, mqi):
    connection = connect(to=queue_manager)
    od = mqi.od(ObjectName=b"MQTEST.MODEL", DynamicQName=b"DYNAMIC.Q")
    handle = connection.open("", mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED, od=od)
    assert handle.put(b"m", **PERSISTENT).code == OK
    assert handle.get().code == OK
    assert handle.close(mq.MQCO_DELETE) == OK
    connection = restart()
    assert connection.open("DYNAMIC.Q", mq.MQOO_OUTPUT).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)


def test_a_dead_queue_manager_breaks_the_connection(connect, queue_manager, restart):
    connection = connect(to=queue_manager)
    out = connection.open(Q, mq.MQOO_OUTPUT)
    restart()
    assert out.put(b"").code == failed(mq.MQRC_CONNECTION_BROKEN)
    assert connection.commit().comp == 2


UNLIKE = [
    ({"CodedCharSetId": 819}, mq.MQRC_INCONSISTENT_CCSIDS),
    ({"Encoding": mq.MQENC_NORMAL}, mq.MQRC_INCONSISTENT_ENCODINGS),
]


def put_unlike_segments(connection, fields, **of_all):
    """Put one logical message in four persistent segments, of which the last two have ``fields``."""
    out = connection.open(Q, mq.MQOO_OUTPUT)
    for data, flag, more in [
        (b"one ", mq.MQMF_SEGMENT, {}),
        (b"two ", mq.MQMF_SEGMENT, {}),
        (b"three ", mq.MQMF_SEGMENT, fields),
        (b"four", mq.MQMF_LAST_SEGMENT, fields),
    ]:
        assert out.put(data, mq.MQPMO_LOGICAL_ORDER, MsgFlags=flag, **PERSISTENT, **more, **of_all).code == OK


@pytest.mark.parametrize(("fields", "reason", "options"), [(*UNLIKE[0], 0), (*UNLIKE[1], mq.MQGMO_SYNCPOINT)])
def test_segments_that_complete_msg_did_not_return_survive(connect, queue_manager, restart, fields, reason, options):
    """MQGMO_COMPLETE_MSG: "returns the first few consecutive segments ... To retrieve the remaining segments, the application
    must reissue the MQGET call"."""
    connection = connect(to=queue_manager)
    put_unlike_segments(connection, fields)
    answer = shared_input(connection, Q).get(mq.MQGMO_COMPLETE_MSG | options)
    assert (answer.code, answer.data) == (warning(reason), b"one two ")
    assert connection.depth(Q) == 2
    connection.commit()
    connection = restart()
    assert connection.depth(Q) == 2
    assert [shared_input(connection, Q).get().data for _ in range(2)] == [b"three ", b"four"]
    assert connection.depth(Q) == 0


@pytest.mark.parametrize(("fields", "reason"), UNLIKE[:1])
def test_segments_whose_removal_could_not_be_written_are_all_there_once(connect, queue_manager, fields, reason):
    """The call fails as a whole: the segments it would have returned are back, and those it would have left are untouched."""
    connection = connect(to=queue_manager)
    put_unlike_segments(connection, fields, Report=mq.MQRO_COD, ReplyToQ=b"TEST.BASE")
    into = shared_input(connection, Q)
    queue_manager.control.fill_log()
    # Only the report needs room
    assert into.get(mq.MQGMO_COMPLETE_MSG).code == failed(mq.MQRC_STORAGE_MEDIUM_FULL)
    assert connection.depth(Q) == 4
    queue_manager.control.fill_log(full=False)
    assert into.get(mq.MQGMO_COMPLETE_MSG).code == warning(reason)
    assert [answer.data for answer in into.all()] == [b"three ", b"four"]
    assert connection.depth(Q) == 0

"""The group and segment information that a handle keeps: separate by handle and direction, restored by MQBACK.

IBM MQ, topics "MQBACK" and "MQCMIT", usage note 4, and "MQGMO options", MQGMO_LOGICAL_ORDER.
"""

from __future__ import annotations

from embedded_tests.fix_mqi import EMPTY, OK, failed, warning
from mqembedded import constants as mq

PUT, PUT_SYNC = mq.MQPMO_LOGICAL_ORDER, mq.MQPMO_LOGICAL_ORDER | mq.MQPMO_SYNCPOINT
GET, GET_SYNC = mq.MQGMO_LOGICAL_ORDER, mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_SYNCPOINT
MIG, LAST_MIG = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP


def put_group(connection, queue, data, count):
    """Put a whole group of ``count`` messages, data1, data2, …; returns its GroupId."""
    out = connection.open(queue, mq.MQOO_OUTPUT)
    for number in range(1, count + 1):
        answer = out.put(b"%s%d" % (data, number), PUT, MsgFlags=LAST_MIG if number == count else MIG)
        assert answer.code == OK
    out.close()
    return answer.md.GroupId


def test_each_handle_puts_its_own_group(connection, queue):
    one, other = (connection.open(queue, mq.MQOO_OUTPUT) for _ in range(2))
    first = one.put(b"", PUT, MsgFlags=MIG).md.GroupId
    second = other.put(b"", PUT, MsgFlags=MIG).md.GroupId
    assert first != second
    assert one.put(b"", PUT, MsgFlags=MIG).place == (first, 2, 0)
    assert other.put(b"", PUT, MsgFlags=LAST_MIG).place == (second, 2, 0)
    assert one.put(b"", PUT, MsgFlags=LAST_MIG).place == (first, 3, 0)


def test_each_handle_gets_its_own_group(connection, queue):
    for data in (b"y", b"z"):
        put_group(connection, queue, data, 2)
    one, other = (connection.open(queue, mq.MQOO_INPUT_SHARED) for _ in range(2))
    assert [one.get(GET).data, other.get(GET).data, one.get(GET).data, other.get(GET).data] == [
        b"y1",
        b"z1",
        b"y2",
        b"z2",
    ]


def test_putting_getting_and_browsing_keep_apart(connection, queue):
    for data in (b"y", b"z"):
        put_group(connection, queue, data, 3)
    handle = connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
    own = handle.put(b"x1", PUT, MsgFlags=MIG).md.GroupId
    assert handle.get(GET).data == b"y1"
    assert handle.get(mq.MQGMO_BROWSE_FIRST | GET).data == b"z1"
    assert handle.put(b"x2", PUT, MsgFlags=MIG).place == (own, 2, 0)
    assert handle.get(GET).data == b"y2"
    assert handle.get(mq.MQGMO_BROWSE_NEXT | GET).data == b"z2"
    assert handle.get(GET).data == b"y3"
    assert handle.get(mq.MQGMO_BROWSE_NEXT | GET).data == b"z3"
    assert handle.put(b"x3", PUT, MsgFlags=LAST_MIG).place == (own, 3, 0)


def test_close_warns_about_putting_and_getting_but_not_about_browsing(connection, queue):
    put_group(connection, queue, b"y", 2)
    options = mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE
    handle = connection.open(queue, options)
    assert handle.get(mq.MQGMO_BROWSE_FIRST | GET).code == OK
    assert handle.close() == OK
    handle = connection.open(queue, options)
    assert handle.get(GET).code == OK
    assert handle.close() == warning(mq.MQRC_INCOMPLETE_GROUP)
    handle = connection.open(queue, options)
    assert handle.put(b"", PUT, MsgFlags=MIG).code == OK
    assert handle.close() == warning(mq.MQRC_INCOMPLETE_GROUP)


def test_opening_starts_without_a_group(connection, queue):
    put_group(connection, queue, b"y", 2)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(GET).data == b"y1"
    source.close()
    assert connection.open(queue, mq.MQOO_INPUT_SHARED).get(GET).code == EMPTY


# --- units of work


def test_mqcmit_keeps_the_state_of_putting(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    group_id = out.put(b"", PUT_SYNC, MsgFlags=MIG).md.GroupId
    assert connection.commit() == OK
    assert out.put(b"", PUT_SYNC, MsgFlags=MIG).place == (group_id, 2, 0)


def test_mqback_restores_the_state_of_putting(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    group_id = out.put(b"1", PUT_SYNC, MsgFlags=MIG).md.GroupId
    assert connection.commit() == OK
    for _ in range(2):
        assert out.put(b"2", PUT_SYNC, MsgFlags=MIG).place == (group_id, 2, 0)
        assert out.put(b"3", PUT_SYNC, MsgFlags=LAST_MIG).place == (group_id, 3, 0)
        assert connection.back_out() == OK
    assert out.put(b"2 again", PUT_SYNC, MsgFlags=LAST_MIG).place == (group_id, 2, 0)
    assert connection.commit() == OK
    assert [found.data for found in connection.browse(queue)] == [b"1", b"2 again"]


def test_mqback_restores_that_there_was_no_group(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    lost = out.put(b"", PUT_SYNC, MsgFlags=MIG).md.GroupId
    assert connection.back_out() == OK
    answer = out.put(b"", PUT_SYNC, MsgFlags=MIG)
    assert (answer.code, answer.md.MsgSeqNumber) == (OK, 1)
    assert answer.md.GroupId != lost
    assert connection.back_out() == OK
    assert out.close() == OK


def test_mqback_restores_the_state_of_getting(connection, queue):
    put_group(connection, queue, b"y", 4)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(GET_SYNC).data == b"y1"
    assert connection.commit() == OK
    for _ in range(2):
        assert [source.get(GET_SYNC).data for _ in range(2)] == [b"y2", b"y3"]
        assert connection.back_out() == OK
    assert [answer.data for answer in source.all(GET_SYNC)] == [b"y2", b"y3", b"y4"]


def test_mqback_restores_that_nothing_was_got(connection, queue):
    for data in (b"y", b"z"):
        put_group(connection, queue, data, 2)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert [source.get(GET_SYNC).data for _ in range(3)] == [b"y1", b"y2", b"z1"]
    assert connection.back_out() == OK
    assert [answer.data for answer in source.all(GET_SYNC)] == [b"y1", b"y2", b"z1", b"z2"]


def test_mqback_restores_every_handle_of_the_unit_of_work(connection, make_queue):
    names = make_queue(), make_queue()
    outs = [connection.open(name, mq.MQOO_OUTPUT) for name in names]
    ids = [out.put(b"", PUT_SYNC, MsgFlags=MIG).md.GroupId for out in outs]
    assert connection.commit() == OK
    for out in outs:
        assert out.put(b"", PUT_SYNC, MsgFlags=LAST_MIG).code == OK
    assert connection.back_out() == OK
    assert [out.put(b"", PUT_SYNC, MsgFlags=MIG).place for out in outs] == [(ids[0], 2, 0), (ids[1], 2, 0)]


def test_mqback_of_one_connection_leaves_the_handles_of_others(connect, queue):
    first, second = connect(), connect()
    one, other = first.open(queue, mq.MQOO_OUTPUT), second.open(queue, mq.MQOO_OUTPUT)
    one.put(b"", PUT_SYNC, MsgFlags=MIG)
    group_id = other.put(b"", PUT_SYNC, MsgFlags=MIG).md.GroupId
    assert first.back_out() == OK
    assert other.put(b"", PUT_SYNC, MsgFlags=MIG).place == (group_id, 2, 0)


def test_what_was_put_outside_syncpoint_is_not_undone(connection, make_queue):
    out, in_syncpoint = (connection.open(make_queue(), mq.MQOO_OUTPUT) for _ in range(2))
    assert in_syncpoint.put(b"", PUT_SYNC, MsgFlags=MIG).code == OK
    group_id = out.put(b"", PUT, MsgFlags=MIG).md.GroupId
    assert connection.back_out() == OK
    assert out.put(b"", PUT, MsgFlags=MIG).place == (group_id, 2, 0)


def test_what_was_got_outside_syncpoint_is_not_undone(connection, queue):
    put_group(connection, queue, b"y", 3)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    connection.open(queue, mq.MQOO_OUTPUT).put(b"", mq.MQPMO_SYNCPOINT)
    assert source.get(GET).data == b"y1"
    assert connection.back_out() == OK
    assert source.get(GET).data == b"y2"


def test_a_change_outside_syncpoint_after_one_inside_stays(connection, queue):
    """The handle's last change was outside the unit of work, so MQBACK has nothing of it to restore."""
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"", PUT_SYNC, MsgFlags=LAST_MIG).code == OK
    group_id = out.put(b"", PUT, MsgFlags=MIG).md.GroupId
    assert connection.back_out() == OK
    assert out.put(b"", PUT, MsgFlags=MIG).place == (group_id, 2, 0)


def test_mqback_restores_which_syncpoint_the_group_is_in(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    group_id = out.put(b"", PUT, MsgFlags=MIG).md.GroupId
    answer = out.put(b"", mq.MQPMO_SYNCPOINT, MsgFlags=LAST_MIG, GroupId=group_id, MsgSeqNumber=2)
    assert answer.code == warning(mq.MQRC_INCONSISTENT_UOW)
    assert connection.back_out() == OK
    assert out.put(b"", PUT_SYNC, MsgFlags=MIG).code == failed(mq.MQRC_INCONSISTENT_UOW)
    assert out.put(b"", PUT, MsgFlags=LAST_MIG).place == (group_id, 2, 0)


def test_mqback_restores_what_a_get_without_logical_order_replaced(connection, queue):
    put_group(connection, queue, b"y", 3)
    put_group(connection, queue, b"z", 2)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(GET_SYNC).data == b"y1"
    z2 = next(found for found in connection.browse(queue) if found.data == b"z2")
    assert connection.commit() == OK
    answer = source.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_MSG_ID, MsgId=z2.md.MsgId)
    assert answer.code == warning(mq.MQRC_INCOMPLETE_GROUP)
    assert connection.back_out() == OK
    assert source.get(GET_SYNC).data == b"y2"


def test_browsing_in_a_unit_of_work_is_not_undone(connection, queue):
    put_group(connection, queue, b"y", 3)
    handle = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE | mq.MQOO_OUTPUT)
    assert handle.get(mq.MQGMO_BROWSE_FIRST | GET).data == b"y1"
    assert handle.put(b"", mq.MQPMO_SYNCPOINT, MsgFlags=mq.MQMF_NONE).code == OK
    assert handle.get(mq.MQGMO_BROWSE_NEXT | GET).data == b"y2"
    assert connection.back_out() == OK
    assert handle.get(mq.MQGMO_BROWSE_NEXT | GET).data == b"y3"


def test_a_new_connection_knows_nothing_of_the_group(connect, queue):
    connection = connect()
    put_group(connection, queue, b"y", 2)
    assert connection.open(queue, mq.MQOO_INPUT_SHARED).get(GET_SYNC).data == b"y1"
    assert connection.commit() == OK
    connection.disconnect()
    assert connect().open(queue, mq.MQOO_INPUT_SHARED).get(GET_SYNC).code == EMPTY

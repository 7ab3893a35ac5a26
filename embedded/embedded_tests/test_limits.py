"""What a queue refuses: inhibited puts and gets, a full queue, a message too long, persistence it cannot give."""

from __future__ import annotations

from embedded_tests.fix_mqi import EMPTY, OK, failed
from embedded_tests.tables import table
from mqembedded import constants as mq

SMALL = "TEST.SMALL.MODEL"  # MAXDEPTH(3) MAXMSGL(10)


def test_put_inhibited(connection, queue):
    control, out = connection.open(queue, mq.MQOO_SET), connection.open(queue, mq.MQOO_OUTPUT)
    group_id = out.put(b"1", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_MSG_IN_GROUP).md.GroupId
    assert control.set(mq.MQIA_INHIBIT_PUT, mq.MQQA_PUT_INHIBITED) == OK
    assert out.put(b"2", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_MSG_IN_GROUP).code == failed(mq.MQRC_PUT_INHIBITED)
    assert connection.put1(queue, b"").code == failed(mq.MQRC_PUT_INHIBITED)
    assert connection.depth(queue) == 1
    assert connection.open(queue, mq.MQOO_INPUT_SHARED).get().code == OK
    assert control.set(mq.MQIA_INHIBIT_PUT, mq.MQQA_PUT_ALLOWED) == OK
    assert out.put(b"2", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP).place == (group_id, 2, 0)


@table("options", [0, mq.MQGMO_LOGICAL_ORDER, mq.MQGMO_SYNCPOINT, mq.MQGMO_BROWSE_FIRST])
def test_get_inhibited(connection, queue, options):
    control, source = connection.open(queue, mq.MQOO_SET), connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
    assert control.set(mq.MQIA_INHIBIT_GET, mq.MQQA_GET_INHIBITED) == OK
    assert connection.put1(queue, b"m").code == OK
    assert source.get(options).code == failed(mq.MQRC_GET_INHIBITED)
    assert source.get(options, wait_ms=60_000).code == failed(mq.MQRC_GET_INHIBITED)
    assert control.set(mq.MQIA_INHIBIT_GET, mq.MQQA_GET_ALLOWED) == OK
    assert source.get(options).data == b"m"


def test_q_full(connection, make_queue):
    queue = make_queue(SMALL)
    out, source = connection.open(queue, mq.MQOO_OUTPUT), connection.open(queue, mq.MQOO_INPUT_SHARED)
    for _ in range(3):
        assert out.put(b"m").code == OK
    assert out.put(b"m").code == failed(mq.MQRC_Q_FULL)
    assert out.put(b"m", mq.MQPMO_SYNCPOINT).code == failed(mq.MQRC_Q_FULL)
    assert source.get().code == OK
    assert out.put(b"m").code == OK


def test_uncommitted_puts_take_up_depth_and_uncommitted_gets_do_not(connection, make_queue):
    """CurrentQDepth is "decremented during a nonbrowse MQGET call", with a put it counts at once (topic q103130)."""
    queue = make_queue(SMALL)
    out, source = connection.open(queue, mq.MQOO_OUTPUT), connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert out.put(b"m").code == OK
    assert source.get(mq.MQGMO_SYNCPOINT).code == OK
    for _ in range(3):
        assert out.put(b"m", mq.MQPMO_SYNCPOINT).code == OK
    assert out.put(b"m").code == failed(mq.MQRC_Q_FULL)
    assert connection.depth(queue) == 3
    assert connection.commit() == OK
    assert out.put(b"m").code == failed(mq.MQRC_Q_FULL)
    assert connection.depth(queue) == 3


def test_q_full_leaves_the_group_where_it_was(connection, make_queue):
    queue = make_queue(SMALL)
    out, source = connection.open(queue, mq.MQOO_OUTPUT), connection.open(queue, mq.MQOO_INPUT_SHARED)
    for _ in range(3):
        group_id = out.put(b"", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_MSG_IN_GROUP).md.GroupId
    assert out.put(b"", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_MSG_IN_GROUP).code == failed(mq.MQRC_Q_FULL)
    assert source.get().code == OK
    assert out.put(b"", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP).place == (group_id, 4, 0)


@table("options", [0, mq.MQPMO_SYNCPOINT, mq.MQPMO_LOGICAL_ORDER])
def test_a_message_longer_than_maxmsgl_is_refused(connection, make_queue, options):
    queue = make_queue(SMALL)
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"x" * 10, options).code == OK
    assert out.put(b"x" * 11, options).code == failed(mq.MQRC_MSG_TOO_BIG_FOR_Q)
    assert connection.depth(queue) == 1


def test_a_message_longer_than_the_channel_carries_is_refused(connect, queue):
    connection = connect(max_msg_length=1000)
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"x" * 1000).code == OK
    assert out.put(b"x" * 1001).code == failed(mq.MQRC_DATA_LENGTH_ERROR)
    assert connection.put1(queue, b"x" * 1001).code == failed(mq.MQRC_DATA_LENGTH_ERROR)
    assert connection.depth(queue) == 1


def test_messages_of_the_full_four_megabytes_pass(connection, queue):
    data = bytes(range(256)) * 16_384
    assert connection.open(queue, mq.MQOO_OUTPUT).put(data).code == OK
    answer = connection.open(queue, mq.MQOO_INPUT_SHARED).get(length=len(data))
    assert answer.code == OK
    assert answer.data == data


def test_putting_needs_a_queue_open_for_output(connection, queue):
    assert connection.open(queue, mq.MQOO_INPUT_SHARED).put(b"").code == failed(mq.MQRC_NOT_OPEN_FOR_OUTPUT)


def test_a_temporary_dynamic_queue_takes_no_persistent_messages(connection, make_queue):
    queue = make_queue("TEST.TEMPORARY.MODEL")
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"", Persistence=mq.MQPER_PERSISTENT).code == failed(mq.MQRC_PERSISTENT_NOT_ALLOWED)
    assert out.put(b"", Persistence=mq.MQPER_NOT_PERSISTENT).code == OK


@table(
    ("fields", "reason"),
    [
        ({"Persistence": 3}, mq.MQRC_PERSISTENCE_ERROR),
        ({"Persistence": -1}, mq.MQRC_PERSISTENCE_ERROR),
        ({"Expiry": 0}, mq.MQRC_EXPIRY_ERROR),
        ({"Expiry": -2}, mq.MQRC_EXPIRY_ERROR),
        ({"MsgType": 0}, mq.MQRC_MSG_TYPE_ERROR),
    ],
)
def test_descriptor_fields_without_meaning_are_refused(connection, queue, fields, reason):
    assert connection.open(queue, mq.MQOO_OUTPUT).put(b"", **fields).code == failed(reason)
    assert connection.open(queue, mq.MQOO_INPUT_SHARED).get().code == EMPTY


@table(("model", "persistence"), [(None, 0), ("TEST.DEFAULTS.MODEL", 1)])
def test_persistence_as_q_def_is_resolved_when_the_message_is_put(connection, make_queue, model, persistence):
    answer = connection.open(make_queue(model), mq.MQOO_OUTPUT).put(b"", Persistence=2)
    assert (answer.code, answer.md.Persistence) == (OK, persistence)

"""The order of messages on a queue: each sentence of IBM MQ, topic "MsgDeliverySequence", that is not about z/OS.

DefPriority has no MQSET selector, so it is changed with ALTER QLOCAL.
"""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK, failed, warning
from embedded_tests.tables import table
from mqembedded import constants as c
from mqembedded.wire import pcf_constants as cf

FIFO = "TEST.FIFO.MODEL"


def put(connection, queue, *messages, options=0, **fields):
    """Put messages named by their priority and a letter: 5a, 9b, …"""
    out = connection.open(queue, c.MQOO_OUTPUT)
    for message in messages:
        assert out.put(message.encode(), options, Priority=int(message[0]), **fields).code == OK
    out.close()


def got(connection, queue, options=0, **more):
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    found = [answer.data.decode() for answer in source.all(options, **more)]
    source.close()
    return found


def browsed(connection, queue):
    return [answer.data.decode() for answer in connection.browse(queue)]


def test_fifo_returns_the_first_in_first_whatever_its_priority(connection, make_queue):
    queue = make_queue(FIFO)
    put(connection, queue, "5a", "9b", "0c", "5d")
    assert browsed(connection, queue) == ["5a", "9b", "0c", "5d"]
    assert got(connection, queue) == ["5a", "9b", "0c", "5d"]


def test_priority_returns_the_highest_first_and_within_one_the_first_in(connection, queue):
    put(connection, queue, "5a", "9b", "0c", "5d", "9e")
    assert browsed(connection, queue) == ["9b", "9e", "5a", "5d", "0c"]
    assert got(connection, queue) == ["9b", "9e", "5a", "5d", "0c"]


@table(("model", "expected"), [(FIFO, ["1a", "9c"]), (None, ["9c", "1a"])], ids=["FIFO", "PRIORITY"])
def test_only_messages_that_satisfy_the_selection_count(connection, make_queue, model, expected):
    queue = make_queue(model)
    put(connection, queue, "1a", CorrelId=b"c".ljust(24, b"\0"))
    put(connection, queue, "9b")
    put(connection, queue, "9c", CorrelId=b"c".ljust(24, b"\0"))
    assert got(connection, queue, match=c.MQMO_MATCH_CORREL_ID, CorrelId=b"c".ljust(24, b"\0")) == expected


def test_fifo_leaves_the_priority_in_the_descriptor(connection, make_queue):
    queue = make_queue(FIFO)
    put(connection, queue, "9a", "1b")
    assert [answer.md.Priority for answer in connection.browse(queue)] == [9, 1]


@table("model", [FIFO, None], ids=["FIFO", "PRIORITY"])
def test_a_backed_out_message_is_first_again(connection, make_queue, model):
    queue = make_queue(model)
    put(connection, queue, "5a", "5b", "5c")
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    assert source.get(c.MQGMO_SYNCPOINT).data == b"5a"
    put(connection, queue, "5d")
    assert connection.back_out() == OK
    assert got(connection, queue) == ["5a", "5b", "5c", "5d"]


def test_under_fifo_a_message_backed_out_is_not_overtaken_by_priority(connection, make_queue):
    queue = make_queue(FIFO)
    put(connection, queue, "1a", "9b")
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    assert source.get(c.MQGMO_SYNCPOINT).data == b"1a"
    put(connection, queue, "9c")
    assert connection.back_out() == OK
    assert got(connection, queue) == ["1a", "9b", "9c"]


@table(("model", "expected"), [(FIFO, ["1a", "9b"]), (None, ["9b", "1a"])], ids=["FIFO", "PRIORITY"])
def test_messages_of_one_unit_of_work_take_the_places_of_their_puts(connection, make_queue, model, expected):
    queue = make_queue(model)
    put(connection, queue, "1a", "9b", options=c.MQPMO_SYNCPOINT)
    assert connection.commit() == OK
    assert got(connection, queue) == expected


def test_groups_stand_where_their_first_message_stands(connection, queue):
    """On a PRIORITY queue that is the place by the priority of the first message."""

    def member(group, seq, priority, last):
        flags = c.MQMF_LAST_MSG_IN_GROUP if last else c.MQMF_MSG_IN_GROUP
        fields = {"GroupId": group * 24, "MsgSeqNumber": seq, "MsgFlags": flags}
        put(connection, queue, f"{priority}{group.decode()}{seq}", **fields)

    member(b"y", 1, 3, False)
    member(b"y", 2, 9, True)
    member(b"z", 1, 5, False)
    member(b"z", 2, 0, True)
    assert browsed(connection, queue) == ["9y2", "5z1", "3y1", "0z2"]
    assert got(connection, queue, c.MQGMO_LOGICAL_ORDER) == ["5z1", "0z2", "3y1", "9y2"]


@table(("model", "priority"), [(FIFO, 3), ("TEST.DEFAULTS.MODEL", 7), (None, 0)])
def test_priority_as_q_def_is_resolved_when_the_message_is_put(connection, make_queue, model, priority):
    queue = make_queue(model)
    answer = connection.open(queue, c.MQOO_OUTPUT).put(b"m", Priority=c.MQPRI_PRIORITY_AS_Q_DEF)
    assert (answer.code, answer.md.Priority) == (OK, priority)
    assert connection.browse(queue)[0].md.Priority == priority


def test_a_priority_beyond_the_maximum_is_accepted_with_a_warning(connection, queue):
    """MQRC_PRIORITY_EXCEEDS_MAXIMUM: the message is put at the maximum, and keeps the value in its descriptor."""
    put(connection, queue, "9a")
    out = connection.open(queue, c.MQOO_OUTPUT)
    answer = out.put(b"b", Priority=12)
    assert answer.code == warning(c.MQRC_PRIORITY_EXCEEDS_MAXIMUM)
    put(connection, queue, "9c")
    assert browsed(connection, queue) == ["9a", "b", "9c"]
    assert out.put(b"", Priority=-2).code == failed(c.MQRC_PRIORITY_ERROR)


@table(("model", "expected"), [(FIFO, c.MQMDS_FIFO), (None, c.MQMDS_PRIORITY)])
def test_mqinq_tells_the_sequence(connection, make_queue, model, expected):
    handle = connection.open(make_queue(model), c.MQOO_INQUIRE)
    assert handle.inquire(c.MQIA_MSG_DELIVERY_SEQUENCE) == (OK, expected)


# --- attributes that change while messages are on the queue


@pytest.fixture
def altered(connection, binding, mq, queue):
    """A function: alter the queue as the MQSC parameters say, put messages, return the order of all of them."""
    q_mgr = mq.connect(binding)
    commands = binding.PCFExecute(q_mgr)

    def alter(parameters, *messages):
        text = f"ALTER QLOCAL({queue}) {parameters}".encode()
        commands.MQCMD_ESCAPE({cf.MQIACF_ESCAPE_TYPE: cf.MQET_MQSC, cf.MQCACF_ESCAPE_TEXT: text})
        put(connection, queue, *messages)
        return browsed(connection, queue)

    yield alter
    commands.disconnect()
    q_mgr.disconnect()


@pytest.mark.parametrize(
    ("first", "then", "order"), [("PRIORITY", "FIFO", ["9b", "1a"]), ("FIFO", "PRIORITY", ["1a", "9b"])]
)
def test_changing_the_sequence_does_not_move_messages(altered, first, then, order):
    """ "the order of the messages on the queue is not changed"."""
    assert altered(f"MSGDLVSQ({first})", "1a", "9b") == order
    assert altered(f"MSGDLVSQ({then})") == order
    assert altered(f"MSGDLVSQ({first})") == order


def test_under_fifo_a_message_arrives_as_though_its_priority_were_the_default(altered):
    """ "the message is placed on the queue as though its priority were DefPriority"."""
    assert altered("MSGDLVSQ(PRIORITY)", "9a", "5b", "1c") == ["9a", "5b", "1c"]
    assert altered("MSGDLVSQ(FIFO) DEFPRTY(5)", "0d", "9e") == ["9a", "5b", "0d", "9e", "1c"]
    assert altered("MSGDLVSQ(PRIORITY) DEFPRTY(5)", "5f", "6g") == ["9a", "6g", "5b", "0d", "9e", "5f", "1c"]


def test_changing_the_default_priority_breaks_first_in_first_out(altered):
    """ "those that were placed on the queue at the higher priority are delivered first"."""
    assert altered("MSGDLVSQ(FIFO) DEFPRTY(2)", "9a", "0b") == ["9a", "0b"]
    assert altered("MSGDLVSQ(FIFO) DEFPRTY(4)", "0c", "9d") == ["0c", "9d", "9a", "0b"]

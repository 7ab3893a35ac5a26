"""What this project knows of IBM MQ from reading only: groups, segments, properties. What did this queue manager do?

As ``test_open_questions.py``: the calls, what IBM's texts are sure of as assertions, the rest as findings.

Sources: IBM MQ, topics "MQGMO options" (MQGMO_COMPLETE_MSG, MQGMO_LOGICAL_ORDER), "MQPMO options" (MQPMO_LOGICAL_ORDER), q042800
(2247), q097540 (MQMF_SEGMENTATION_ALLOWED), q045460 (2547), q042780 (2245), "MQRFH2".
"""

from __future__ import annotations

from embedded_tests.fix_mqi import EMPTY, OK, failed, shared_input, text
from embedded_tests.fix_properties import MessageHandle, get, put, rfh2
from embedded_tests.tables import table
from mqembedded import constants as c

MIG, LAST = c.MQMF_MSG_IN_GROUP, c.MQMF_LAST_MSG_IN_GROUP
GROUP = b"open questions".ljust(24, b".")


def test_may_two_messages_of_a_group_have_one_sequence_number(connection, queue, finding):
    """Typing IBM's pseudo-code for a restart literally does that: the recorded message is put again."""
    target = connection.open(queue, c.MQOO_OUTPUT)
    for data in (b"first", b"again"):
        answer = target.put(data, GroupId=GROUP, MsgSeqNumber=1, MsgFlags=MIG)
        reading = "duplicate sequence number" if data == b"again" else ""
        meaning = {OK: "accepted", failed(c.MQRC_MSG_SEQ_NUMBER_ERROR): "refused with 2250"}
        finding(f"MQPUT of sequence number 1 of a group, {data.decode()}", answer.code, reading, meaning)
    assert target.put(b"last", GroupId=GROUP, MsgSeqNumber=2, MsgFlags=LAST).code == OK
    source = shared_input(connection, queue)
    got = []
    while (answer := source.get(c.MQGMO_LOGICAL_ORDER | c.MQGMO_ALL_MSGS_AVAILABLE)).code.comp == c.MQCC_OK:
        got.append(answer.data.decode())
    finding("a group with sequence numbers 1, 1 and 2, got in logical order", [*got, str(answer.code)])


@table("order", [0, c.MQGMO_LOGICAL_ORDER], ids=["physical", "logical"])
def test_what_is_the_reason_against_a_complete_message_at_an_offset(connection, queue, finding, order):
    assert connection.put1(queue, b"m", GroupId=GROUP, MsgFlags=LAST).code == OK
    source = shared_input(connection, queue)
    match = c.MQMO_MATCH_GROUP_ID | c.MQMO_MATCH_MSG_SEQ_NUMBER | c.MQMO_MATCH_OFFSET
    answer = source.get(c.MQGMO_COMPLETE_MSG | order, match=match, GroupId=GROUP, MsgSeqNumber=1, Offset=0)
    named = "logical" if order else "physical"
    finding(f"MQGMO_COMPLETE_MSG with MQMO_MATCH_OFFSET, {named} order", answer.code)


def test_which_of_several_inconsistencies_is_told(connection, queue, finding):
    """2185: another persistence; 2245: another use of syncpoint; 2241: a group left before its last message."""
    told = []
    for differing in ("persistence", "syncpoint", "persistence and syncpoint", "persistence, syncpoint and group"):
        target = connection.open(queue, c.MQOO_OUTPUT)
        order = c.MQPMO_LOGICAL_ORDER
        begun = target.put(b"1", order | c.MQPMO_SYNCPOINT, MsgFlags=MIG, Persistence=c.MQPER_PERSISTENT)
        assert begun.code == OK
        persistence = c.MQPER_PERSISTENT if differing == "syncpoint" else c.MQPER_NOT_PERSISTENT
        syncpoint = c.MQPMO_SYNCPOINT if differing == "persistence" else 0
        flags = 0 if differing.endswith("group") else MIG
        answer = target.put(b"2", order | syncpoint, MsgFlags=flags, Persistence=persistence)
        assert answer.code != OK
        finding(f"MQPUT in logical order inside a group, with another {differing}", answer.code)
        told.append(answer.code.reason)
        connection.back_out()
        target.close()
    finding(
        "reasons told for persistence and syncpoint, and for these and the group",
        tuple(told[2:]),
        "precedence of group errors",
        {
            (2185, 2241): "2242, 2241, 2185, 2245",
            (2245, 2241): "2242, 2241, 2245, 2185",
            (2185, 2185): "2185, 2245, 2242, 2241",
            (2245, 2245): "2245, 2185, 2242, 2241",
        },
    )


def test_what_do_pieces_have_in_common_that_the_queue_manager_makes(connection, make_queue, finding):
    queue = make_queue("TEST.SEGMENTS.40")
    sent = bytes(range(100))
    put1 = connection.put1(queue, sent, MsgFlags=c.MQMF_SEGMENTATION_ALLOWED)
    assert put1.code == OK
    pieces = shared_input(connection, queue).all()
    assert b"".join(piece.data for piece in pieces) == sent
    assert all(piece.md.Offset % 16 == 0 for piece in pieces)
    finding("lengths of the segments that 100 bytes become where MAXMSGL is 40", [piece.length for piece in pieces])
    finding(
        "different MsgIds among segments that the queue manager made",
        len({piece.md.MsgId for piece in pieces}),
        "msgids of segments",
        {len(pieces): "one each", 1: "all the same"},
    )
    finding(
        "the first segment that the queue manager made has the MsgId that MQPUT1 returned",
        pieces[0].md.MsgId == put1.md.MsgId,
    )
    finding(
        "different GroupIds among segments that the queue manager made", len({piece.md.GroupId for piece in pieces})
    )


def test_how_does_a_message_read_that_was_put_together(connection, make_queue, finding):
    queue = make_queue("TEST.SEGMENTS.40")
    assert connection.put1(queue, bytes(100), MsgFlags=c.MQMF_SEGMENTATION_ALLOWED).code == OK
    answer = shared_input(connection, queue).get(c.MQGMO_COMPLETE_MSG)
    assert (answer.code, answer.length, answer.md.Offset) == (OK, 100, 0)
    finding("SegmentStatus of a message that MQGET has put together", repr(answer.status[1:2]))
    finding("MsgFlags of a message that MQGET has put together", hex(answer.md.MsgFlags))
    finding("OriginalLength of a message that MQGET has put together", answer.md.OriginalLength)


def test_may_a_segment_have_properties(connection, queue, finding):
    handle = MessageHandle(connection)
    assert handle.set("colour", "green") == OK
    sent = put(connection.open(queue, c.MQOO_OUTPUT), b"1", handle, MsgFlags=c.MQMF_SEGMENT)
    meaning = {OK: "accepted", failed(c.MQRC_SEGMENTATION_NOT_ALLOWED): "refused with 2443"}
    finding("MQPUT of a segment with a property in a message handle", sent.code, "properties on segments", meaning)


def test_do_properties_survive_segmentation_by_the_queue_manager(connection, make_queue, finding):
    queue = make_queue("TEST.SEGMENTS.40")
    original = MessageHandle(connection)
    assert original.set("colour", "green") == OK
    sent = put(connection.open(queue, c.MQOO_OUTPUT), bytes(100), original, MsgFlags=c.MQMF_SEGMENTATION_ALLOWED)
    finding("MQPUT of 100 bytes with a property to a queue with MAXMSGL 40, segmentation allowed", sent.code)
    if sent.code != OK:
        return
    source, seen = shared_input(connection, queue), []
    while True:
        handle = MessageHandle(connection)
        if get(source, handle, c.MQGMO_PROPERTIES_IN_HANDLE).code == EMPTY:
            break
        seen.append(handle.inquire("colour").value is not None)
    finding("which segments of a message with a property have it, where the queue manager made them", seen)


@table("kind", ["segments of one message", "messages of one group"])
def test_is_a_mixture_with_a_hole_seen_by_all_available(connection, queue, finding, kind):
    target = connection.open(queue, c.MQOO_OUTPUT)
    if kind.startswith("segments"):
        for offset, flags in ((0, c.MQMF_SEGMENT), (10, c.MQMF_LAST_SEGMENT)):
            assert target.put(b"12345", GroupId=GROUP, MsgSeqNumber=1, Offset=offset, MsgFlags=flags).code == OK
        answer = shared_input(connection, queue).get(c.MQGMO_COMPLETE_MSG)
    else:
        for number, flags in ((1, MIG), (3, LAST)):
            assert target.put(b"m", GroupId=GROUP, MsgSeqNumber=number, MsgFlags=flags).code == OK
        answer = shared_input(connection, queue).get(c.MQGMO_LOGICAL_ORDER | c.MQGMO_ALL_MSGS_AVAILABLE)
    finding(f"MQGET of all {kind}, one in the middle missing", answer.code)


@table("verb", ["MQPUT", "MQGET"])
def test_is_logical_order_refused_on_a_connection_that_reconnects(mqi, mq, connection, queue, finding, verb):
    given = {"user": mq.user, "password": mq.password, "options": c.MQCNO_HANDLE_SHARE_BLOCK | c.MQCNO_RECONNECT}
    code, reconnecting = mqi.connect(mq.q_mgr_name, mq.channel, mq.conn_name, **given)
    finding("MQCONNX with MQCNO_RECONNECT", code)
    if code.comp == c.MQCC_FAILED:
        return
    assert connection.put1(queue, b"m", GroupId=GROUP, MsgFlags=LAST).code == OK
    handle = reconnecting.open(queue, c.MQOO_OUTPUT | c.MQOO_INPUT_SHARED)
    answer = (
        handle.put(b"m", c.MQPMO_LOGICAL_ORDER, MsgFlags=LAST) if verb == "MQPUT" else handle.get(c.MQGMO_LOGICAL_ORDER)
    )
    if verb == "MQPUT":
        assert answer.code == failed(c.MQRC_RECONNECT_INCOMPATIBLE)
    finding(f"{verb} in logical order on a connection with MQCNO_RECONNECT", answer.code)
    reconnecting.back_out()
    assert reconnecting.disconnect() == OK


def test_where_does_a_put_bound_on_group_say_that_it_went(connection, mq, queue, finding):
    """To a queue of the queue manager's own; in a cluster it names the instance."""
    target = connection.open(queue, c.MQOO_OUTPUT | c.MQOO_BIND_ON_GROUP)
    assert target.code == OK
    answer = target.put(b"m", c.MQPMO_LOGICAL_ORDER, MsgFlags=LAST)
    assert answer.code == OK
    finding(
        "ResolvedQMgrName of a put with BIND_ON_GROUP names the queue manager itself",
        text(answer.pmo.ResolvedQMgrName) == mq.q_mgr_name,
    )
    finding("ResolvedQName of a put with BIND_ON_GROUP is the queue's name", text(answer.pmo.ResolvedQName) == queue)


def test_does_the_place_in_a_group_survive_a_commit_between_gets(connection, queue, finding):
    target = connection.open(queue, c.MQOO_OUTPUT)
    for number, flags in ((1, MIG), (2, MIG), (3, LAST)):
        answer = target.put(str(number).encode(), c.MQPMO_LOGICAL_ORDER, MsgFlags=flags)
        assert answer.code == OK, number
    source = shared_input(connection, queue)
    assert source.get(c.MQGMO_LOGICAL_ORDER | c.MQGMO_SYNCPOINT).data == b"1"
    assert connection.commit() == OK
    assert source.get(c.MQGMO_LOGICAL_ORDER | c.MQGMO_SYNCPOINT).data == b"2"
    assert connection.back_out() == OK
    answer = source.get(c.MQGMO_LOGICAL_ORDER | c.MQGMO_SYNCPOINT)
    finding("the next message in logical order after 1 was committed and 2 backed out", answer.data.decode())


def test_what_is_the_reason_against_a_malformed_mqrfh2(connection, queue, finding):
    broken = rfh2("<usr><colour>green</usr>") + b"data"
    answer = connection.put1(queue, broken, Format=b"MQHRF2  ")
    finding("MQPUT1 of an MQRFH2 whose folder is not well formed", answer.code)
    short = rfh2("<usr></usr>")[:30]
    answer = connection.put1(queue, short, Format=b"MQHRF2  ")
    finding("MQPUT1 of an MQRFH2 that is cut off", answer.code)


def test_what_describes_a_header_that_the_queue_manager_makes(connection, make_queue, finding):
    queue = make_queue("TEST.PROPCTL.FORCE.MODEL")
    original = MessageHandle(connection)
    assert original.set("colour", "green") == OK
    assert put(connection.open(queue, c.MQOO_OUTPUT), b"data", original, Format=b"MQSTR   ").code == OK
    answer = get(shared_input(connection, queue))
    assert answer.md.Format == b"MQHRF2  "
    finding("CodedCharSetId in the MQMD in front of an MQRFH2 that was made from properties", answer.md.CodedCharSetId)
    finding("length of an MQRFH2 that was made from one property", answer.length - len(b"data"))

"""The properties of a group: put with its first message, there before the consumer's first message, and after any restart.

What is on the queue is asked of MQINQMP (``fix_properties``), not of the library under test.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from embedded_tests.fix_mqi import OK
from embedded_tests.fix_properties import MessageHandle, get, rfh2
from mqembedded import Fault
from mqembedded import constants as mq
from mqgroups import errors, operate
from mqgroups.core.group_properties import MOST_BYTES

THIS = [b"%d" % number for number in range(7)]
FILE = {"file": "orders-0815.csv", "lines": 1200, "exact": 0.1, "digest": b"\0\xff", "test": False, "none": None}
MIG, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP
statuses = pytest.mark.parametrize("status", ["classic", "segmented"])


def put(owner, payloads=THIS, *, name="", properties=None, connection=None, **more):
    """Put a group, or the rest of it."""
    with owner.producer(connection, **more) as producer:
        with producer.group(name, properties=properties) as group:
            for payload in payloads[group.resume_from :]:
                group.put(payload)
        # The name of the producer is free for a pipe.
        producer.forget()


def interrupt_put(owner, payloads, **more):
    """Put the beginning of a group and lose the connection; one payload is held back."""
    qmgr = owner.connect()
    group = owner.producer(qmgr).group(**more)
    for payload in payloads:
        group.put(payload)
    qmgr.close()


def interrupt_get(owner, committed=4, **more):
    """Get messages in units of work of two, lose the connection in the next one; returns the group."""
    qmgr = owner.connect()
    group = next(iter(owner.consumer(qmgr, **more)))
    for message in group:
        if message.msg_seq_number == committed + 1:
            break
    qmgr.close()
    return group


def seen(owner, connection=None, **more):
    """Get all groups; returns name, properties and data of each, the first two asked before the first message."""
    with owner.consumer(connection, **more) as consumer:
        return [(group.name, owner.own(group.properties), [message.data for message in group]) for group in consumer]


def on_queue(owner, *names, queue=None):
    """Get the messages of a queue; returns the values of these properties of each message, ``...`` for none."""
    handle, received, found = owner.eye.open(queue or owner.queue, mq.MQOO_INPUT_SHARED), MessageHandle(owner.eye), []
    while get(handle, received, mq.MQGMO_PROPERTIES_IN_HANDLE).code == OK:
        inquired = [received.inquire(name) for name in names]
        found.append(tuple(one.value if one.code == OK else ... for one in inquired))
    handle.close()
    return found


# --- putting


def test_the_first_message_of_a_group_carries_its_name_and_properties(owner):
    put(owner, THIS[:3], name="orders 0815", properties=FILE)
    first = ("orders 0815", "orders-0815.csv", 1200, 0.1, b"\0\xff", False, None)
    nothing = (...,) * len(first)
    assert on_queue(owner, "mqgroups.Name", *FILE) == [first, nothing, nothing]


def test_the_first_message_has_its_own_properties_beside_those_of_the_group(owner):
    with owner.producer() as producer, producer.group(properties={"file": "a"}) as group:
        group.put(b"1", properties={"row": 1})
        group.put(b"2", properties={"row": 2})
    assert on_queue(owner, "file", "row") == [("a", 1), (..., 2)]


def test_a_first_message_with_another_value_for_one_of_the_groups_is_refused_and_the_group_goes_on(owner):
    with owner.producer() as producer, producer.group(properties={"file": "a"}) as group:
        with pytest.raises(errors.MessageRefused, match="property 'file' has another value in the group's properties"):
            group.put(b"1", properties={"file": "b"})
        group.put(b"1", properties={"file": "a"})
        group.put(b"2", properties={"file": "b"})
    assert on_queue(owner, "file") == [("a",), ("b",)]


def test_properties_that_a_group_cannot_have_are_refused_before_it_begins(owner):
    refused: list[tuple[Any, str]] = [
        ({"no blanks": 1}, "cannot have the name"),
        ({"file": object()}, "is object"),
        ([("file", "a")], "must be a mapping"),
        ({"long": "x" * MOST_BYTES}, "at most 32768 bytes"),
    ]
    with owner.producer() as producer:
        for properties, why in refused:
            with pytest.raises(errors.MessageRefused, match=why):
                producer.group(properties=properties)
        with producer.group(properties={"file": "a"}) as group:
            group.put(b"1")
    assert on_queue(owner, "file") == [("a",)]


def test_each_segment_of_a_first_message_carries_the_groups_properties_also_after_a_restart(owner):
    long = bytes(range(250))
    stopped = pytest.raises(ZeroDivisionError)
    with stopped, owner.producer(segment_bytes=50) as producer, producer.group(properties={"file": "a"}) as group:
        group.put((long[at : at + 50] if at < 150 else 1 / 0 for at in range(0, 250, 50)), last=False)
    with owner.producer(segment_bytes=50) as producer, producer.group() as group:
        assert (group.resume_from, group.resume_offset, group.properties) == (0, 100, {"file": "a"})
        group.put(long, last=False)
        group.put(b"end")
    assert on_queue(owner, "file") == [("a",)] * 5 + [(...,)]


# --- the producer that resumes


@statuses
def test_a_producer_that_resumes_is_told_which_group_was_interrupted(owner, status):
    interrupt_put(owner, THIS[:6], name="orders 0815", properties=FILE)
    with owner.producer(status_layout=status) as producer, producer.group() as group:
        assert (group.resume_from, group.name) == (4, "orders 0815")
        assert group.properties == {**FILE, "mqgroups.Name": "orders 0815"}
        for payload in THIS[4:]:
            group.put(payload)
    assert seen(owner) == [("orders 0815", {**FILE, "mqgroups.Name": "orders 0815"}, THIS)]


def test_a_producer_that_resumes_with_the_same_properties_puts_them_once(owner):
    interrupt_put(owner, THIS[:6], properties=FILE)
    put(owner, properties=FILE)
    assert on_queue(owner, "file") == [("orders-0815.csv",)] + [(...,)] * 6


def test_a_group_of_which_nothing_was_committed_may_begin_with_others(owner):
    interrupt_put(owner, THIS[:2], properties=FILE)
    put(owner, properties={"file": "other"})
    assert on_queue(owner, "file") == [("other",)] + [(...,)] * 6


def test_the_rest_of_an_interrupted_group_is_not_put_with_the_properties_of_another(owner):
    interrupt_put(owner, THIS[:6], properties=FILE)
    others: list[dict[str, Any]] = [
        {"properties": {"file": "orders-0816.csv"}},
        {"properties": {"file": "orders-0815.csv", "more": 1}},
        {"properties": {"lines": 1200.0}},
    ]
    with owner.producer() as producer:
        for given in others:
            with pytest.raises(errors.GroupUsage, match="was interrupted after 4 messages, and its property"):
                producer.group(**given)
        with producer.group() as group:
            for payload in THIS[group.resume_from :]:
                group.put(payload)
    assert [data for _, _, data in seen(owner)] == [THIS]


def test_a_group_that_was_left_by_an_error_resumes_with_its_properties_in_the_same_producer(owner):
    with owner.producer() as producer:
        with pytest.raises(ZeroDivisionError), producer.group(name="first") as group:  # noqa: PT012 - the block is left by it
            for payload in THIS[:5]:
                group.put(payload)
            raise ZeroDivisionError
        with producer.group(name="first") as group:
            assert (group.resume_from, group.name) == (4, "first")
            for payload in THIS[4:]:
                group.put(payload)
        with producer.group() as group:
            assert (group.name, group.properties) == ("", {})
            group.put(b"alone")
    assert [(name, data) for name, _, data in seen(owner)] == [("first", THIS), ("", [b"alone"])]


# --- the consumer


def test_a_group_without_properties_has_none_after_one_that_has(owner):
    put(owner, THIS[:3], name="first", properties={"file": "a"})
    put(owner, THIS[:5])
    put(owner, THIS[:1], properties={"file": "b"})
    found = seen(owner)
    assert [(name, properties.get("file")) for name, properties, _ in found] == [("first", "a"), ("", None), ("", "b")]
    assert owner.records("get") == []


@statuses
def test_a_consumer_that_resumes_in_the_middle_has_the_properties_all_the_same(owner, status):
    put(owner, name="orders 0815", properties=FILE)
    before = owner.own(interrupt_get(owner, status_layout=status).properties)
    assert owner.data() == THIS[4:]
    assert seen(owner, status_layout=status) == [("orders 0815", before, THIS[4:])]
    assert {name: type(value) for name, value in before.items()} == {
        name: type(value) for name, value in {**FILE, "mqgroups.Name": ""}.items()
    }


def test_a_consumer_that_left_a_group_early_has_them_when_the_group_comes_again(owner):
    put(owner, properties={"file": "a"})
    with owner.consumer() as consumer:
        for group in consumer:
            if group.resume_from == 0:
                for message in group:
                    if message.msg_seq_number == 6:
                        break
            else:
                assert (group.resume_from, owner.own(group.properties)) == (4, {"file": "a"})
                assert [message.data for message in group] == THIS[4:]


@pytest.mark.usefixtures("no_api_exit")
def test_what_json_does_not_have_comes_back_from_the_record_too(owner):
    """An MQRFH2 of another program, with numbers that MQSETMP takes and JSON does not."""
    folder = "<usr><inf dt='r8'>INF</inf><less dt='r8'>-inf</less><not dt='r8'>NaN</not><b dt='bin.hex'>00FF</b></usr>"
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    for number in range(7):
        header = {"Format": mq.MQFMT_RF_HEADER_2} if number == 0 else {}
        data = rfh2(folder) + THIS[0] if number == 0 else THIS[number]
        flags = LAST if number == 6 else MIG
        assert handle.put(data, mq.MQPMO_LOGICAL_ORDER, MsgFlags=flags, **header).code == OK
    handle.close()
    first = interrupt_get(owner).properties
    ((_, resumed, data),) = seen(owner)
    assert data == THIS[4:]
    for found in (first, resumed):
        assert (found["inf"], found["less"], found["b"]) == (math.inf, -math.inf, b"\0\xff")
        assert math.isnan(found["not"])


def test_a_message_that_is_in_no_group_has_its_own(owner):
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    header = rfh2("<usr><file>a</file></usr>")
    assert handle.put(header + b"data", Format=mq.MQFMT_RF_HEADER_2).code == OK
    handle.close()
    assert seen(owner) == [("", {"file": "a"}, [b"data"])]


def test_properties_that_are_too_long_for_a_record_are_there_until_the_group_is_interrupted(owner):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"0", properties={"long": "x" * MOST_BYTES})
        for payload in THIS[1:]:
            group.put(payload)
    assert owner.own(interrupt_get(owner).properties) == {"long": "x" * MOST_BYTES}
    assert owner.record("get")["properties"] is None
    with owner.consumer() as consumer:
        for group in consumer:
            assert group.name == ""
            with pytest.raises(errors.GroupPropertiesLost, match="are not known") as caught:
                _ = group.properties
            assert caught.value.group_id == group.group_id
            assert [message.data for message in group] == THIS[4:]


def test_a_record_keeps_the_properties_of_an_unfinished_group_only(owner):
    put(owner, properties={"file": "a"})
    with owner.consumer() as consumer:
        for group in consumer:
            group.set_checkpoint("kept")
            list(group)
    record = owner.record("get")
    assert (record["state"], record["properties"], record["checkpoint"]) == ("completed", {}, {"json": "kept"})
    with owner.consumer() as consumer:
        consumer.forget()


def test_a_streamed_first_message_that_was_interrupted_has_the_groups_properties(owner):
    with owner.producer(segment_bytes=50) as producer, producer.group(properties={"file": "a"}) as group:
        group.put(bytes(250))
    qmgr = owner.connect()
    group = next(iter(owner.consumer(qmgr, stream=True)))
    for number, _ in enumerate(next(iter(group)).chunks(), 1):
        if number == 4:
            break
    qmgr.close()
    with owner.consumer(stream=True) as consumer:
        found = [
            (owner.own(group.properties), [len(b"".join(message.chunks())) for message in group]) for group in consumer
        ]
    assert found == [({"file": "a"}, [150])]


@pytest.mark.embedded
def test_a_suspect_at_the_head_of_a_group_keeps_its_properties(make_owner, faults):
    """Its first message is got again, alone, and the record in between is not of this group."""
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    put(owner, properties={"file": "a"})
    for _ in range(2):
        qmgr = owner.connect()
        next(iter(next(iter(owner.consumer(qmgr)))))
        qmgr.close()
    qmgr = owner.connect(reconnect_wait_s=30)
    group = next(iter(owner.consumer(qmgr)))
    # The commit that notes the suspicion.
    faults.arm(Fault("drop", verb="MQCMIT"))
    for message in group:
        if message.msg_seq_number == 4:
            break
    assert (faults.faults_fired(), group.properties) == (1, {"file": "a"})
    qmgr.close()
    assert owner.record("get")["properties"] == {"file": "a"}
    assert seen(owner) == [("", {"file": "a"}, THIS[3:])]
    assert owner.on_queue("TEST.BACKOUT") == []


def test_the_first_message_may_be_a_suspect_and_the_group_keeps_its_properties(make_owner):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    put(owner, properties={"file": "a"})
    for _ in range(2):
        qmgr = owner.connect()
        next(iter(next(iter(owner.consumer(qmgr)))))
        qmgr.close()
    assert owner.own(interrupt_get(owner, 3).properties) == {"file": "a"}
    committed = owner.record("get")["msg_seq_number"]
    assert seen(owner) == [("", {"file": "a"}, THIS[committed:])]
    assert owner.data() == []


# --- other owners


def test_a_rebuilt_record_does_not_know_them_and_says_so(owner):
    put(owner, properties={"file": "a"})
    interrupt_get(owner)
    owner.take_record("get")
    owner.empty(owner.status_queue("get"))
    salvaged = operate.salvage_owner(owner.qmgr, owner.name, "get", queue=owner.queue)
    assert salvaged.record is not None
    with owner.consumer() as consumer:
        for group in consumer:
            with pytest.raises(errors.GroupPropertiesLost):
                _ = group.properties
            assert [message.data for message in group] == THIS[4:]


# --- pipes


@pytest.fixture
def target(make_queue):
    """The queue that a pipe puts to."""
    return make_queue()


def piped(owner, target, connection=None, *, stop_at=0, describe=lambda group: {"properties": group.properties}):
    """Run a pipe that gives each outgoing group the incoming one's properties; returns whether it was not stopped."""
    settings = {"name": owner.name, "commit_every": 2, "owner_wait_s": 0, "wait_s": 0, "group_wait_s": 0}
    with (connection or owner.qmgr).group_pipe(owner.queue, target, **settings) as pipe:
        for incoming, outgoing in pipe:
            outgoing.set_properties(**describe(incoming))
            for message in incoming:
                if message.msg_seq_number == stop_at:
                    raise ZeroDivisionError
                if message.data != THIS[0]:
                    outgoing.put(message.data * 2)


@pytest.mark.parametrize("stop_at", [0, 1, 2, 3, 4, 7])
def test_an_outgoing_group_has_the_properties_that_it_is_given_whenever_the_pipe_is_interrupted(owner, target, stop_at):
    put(owner, name="first", properties={"file": "a"})
    put(owner, THIS[:2])
    if stop_at:
        with pytest.raises(ZeroDivisionError):
            piped(owner, target, stop_at=stop_at)
    piped(owner, target)
    expected = [("first", "a")] + [(..., ...)] * 6
    assert on_queue(owner, "mqgroups.Name", "file", queue=target) == expected


def test_an_outgoing_group_does_not_change_its_properties_when_it_is_resumed(owner, target):
    put(owner, properties={"file": "a"})
    with pytest.raises(ZeroDivisionError):
        piped(owner, target, stop_at=5)
    with pytest.raises(errors.GroupUsage, match="its property 'file' has 'a', and 'b' is given now"):
        piped(owner, target, describe=lambda _: {"properties": {"file": "b"}})
    piped(owner, target)
    assert on_queue(owner, "file", queue=target) == [("a",)] + [(...,)] * 5


def test_properties_of_an_outgoing_group_come_before_its_first_message(owner, target):
    put(owner)
    settings = {"name": owner.name, "commit_every": 2, "owner_wait_s": 0, "wait_s": 0, "group_wait_s": 0}
    with owner.qmgr.group_pipe(owner.queue, target, **settings) as pipe:
        for incoming, outgoing in pipe:
            for message in incoming:
                outgoing.put(message.data)
                with pytest.raises(errors.GroupUsage):
                    outgoing.set_properties({"file": "a"})
        with pytest.raises(errors.GroupUsage, match="gone on to another group"):
            outgoing.set_properties({"file": "a"})
    assert on_queue(owner, "file", queue=target) == [(...,)] * 7


# --- a commit that loses the connection

commits = pytest.mark.parametrize(("when", "nth"), [("before", 1), ("after", 1), ("before", 3)])


@pytest.fixture
def losing(owner, faults):
    """A function that connects and arms the loss of the connection at a commit."""

    def connect(when, nth):
        faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
        return owner.connect(reconnect_wait_s=30)

    yield connect
    assert faults.faults_fired() == 1


@pytest.mark.embedded
@commits
def test_a_redone_first_message_has_the_same_properties(owner, losing, when, nth):
    connection = losing(when, nth)
    put(owner, THIS[:3], name="first", properties={"file": "a"}, connection=connection)
    put(owner, THIS[:3], name="second", properties={"file": "b"}, connection=connection)
    described = [("first", "a"), (..., ...), (..., ...), ("second", "b"), (..., ...), (..., ...)]
    assert on_queue(owner, "mqgroups.Name", "file") == described


@pytest.mark.embedded
@commits
def test_a_group_keeps_its_properties_when_its_consumer_goes_on(owner, losing, when, nth):
    put(owner, THIS[:5], properties={"file": "a"})
    put(owner, THIS[:5])
    before_commits, found = [], []
    with owner.consumer(losing(when, nth)) as consumer:
        consumer.before_commit(lambda group: before_commits.append(dict(group.properties)))
        for group in consumer:
            found.append((dict(group.properties), [message.data for message in group]))
    assert found == [({"file": "a"}, THIS[:5]), ({}, THIS[:5])]
    assert before_commits == [{"file": "a"}] * 3 + [{}] * 3


@pytest.mark.embedded
@commits
def test_an_outgoing_group_has_its_properties_when_its_pipe_goes_on(owner, target, losing, when, nth):
    put(owner, THIS[:5], properties={"file": "a"})
    piped(owner, target, losing(when, nth))
    assert on_queue(owner, "file", queue=target) == [("a",)] + [(...,)] * 3


def test_the_record_is_readable_text(owner):
    interrupt_put(owner, THIS[:6], name="orders 0815", properties={"digest": b"\0\xff"})
    assert owner.record("put")["properties"] == {"mqgroups.Name": "orders 0815", "digest": {"bytes": "AP8="}}

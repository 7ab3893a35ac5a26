"""A group that will never be completed: its producer says so, and its consumers are told."""

from __future__ import annotations

import pytest

from embedded_tests.fix_properties import MessageHandle
from mqembedded import Fault
from mqembedded import constants as mq
from mqgroups import errors

THIS = [b"%d" % number for number in range(5)]


def put_beginning(group, payloads=THIS):
    for data in payloads:
        group.put(data)


def abandon(owner, *, result=7, **more):
    """Put five messages, of which four are committed, and abandon the group."""
    with owner.producer(**more) as producer, producer.group() as group:
        put_beginning(group)
        group.abandon(result, "the input file was withdrawn")


def test_an_abandoned_group_ends_in_an_empty_report_of_its_producer(owner):
    abandon(owner)
    *data, last = owner.on_queue()
    assert [one.data for one in data] == THIS[:4]
    assert (last.data, last.msg_seq_number, last.is_last) == (b"", 5, True)
    assert (last.md.MsgType, last.md.Feedback) == (mq.MQMT_REPORT, mq.MQFB_APPL_FIRST + 7)
    assert len({one.group_id for one in owner.on_queue()}) == 1
    assert owner.records("put") == []


def test_result_and_reason_are_message_properties(owner):
    abandon(owner)
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    properties = MessageHandle(owner.eye)
    gmo = owner.eye.mqi.gmo(
        Version=4, Options=mq.MQGMO_PROPERTIES_IN_HANDLE | mq.MQGMO_NO_SYNCPOINT, MsgHandle=properties.hmsg
    )
    for _ in range(5):
        assert handle.get(gmo=gmo).code.comp == mq.MQCC_OK
    assert properties.inquire("mqgroups.Result").value == 7
    # Managed File Transfer cancels its transfer for a code that is not 0 in a group's last message.
    assert properties.inquire("UserReturnCode").value != 0
    for name in ("mqgroups.Reason", "UserSupplement"):
        assert properties.inquire(name).value in (b"the input file was withdrawn", "the input file was withdrawn")


FAILED = "BFGTR0036I: The transfer failed to complete successfully."


@pytest.mark.parametrize("every", [1, 100])
def test_a_group_that_managed_file_transfer_did_not_complete_is_abandoned(owner, every):
    # Topics "Failure of a file-to-message transfer", and the one above. No text says which type the codes have.
    endings = [
        ({"WMQFTEResultCode": 40, "WMQFTESupplement": FAILED}, b"", (40, FAILED)),
        ({"WMQFTEResultCode": "40", "WMQFTESupplement": FAILED}, b"", (40, FAILED)),
        ({"UserReturnCode": -1, "UserSupplement": 5}, b"", (1, "")),
        ({"UserReturnCode": 1 << 62}, b"", (mq.MQFB_APPL_LAST - mq.MQFB_APPL_FIRST, "")),
        (
            {"WMQFTEResultCode": 0, "UserReturnCode": 7.0, "UserSupplement": "sent wrong data"},
            b"",
            (7, "sent wrong data"),
        ),
        *(({"UserReturnCode": code}, b"", None) for code in (0, "0", "", None, True, 0.5, "forty", "9" * 5000)),
        # IBM's message is blank.
        ({"WMQFTEResultCode": 40}, b"data", None),
    ]
    with owner.producer() as producer:
        for properties, last, _ in endings:
            with producer.group() as group:
                group.put(b"1")
                group.put(last, last=True, properties=properties)
    # In no group there is nothing to abandon.
    with owner.producer() as producer, producer.group() as group:
        group.put(b"", last=True, properties={"mqgroups.Name": "alone"})
    told: list[tuple[int, str] | None] = []
    with owner.consumer(commit_every=every) as consumer:
        groups = iter(consumer)
        while (group := next(groups, None)) is not None:
            try:
                list(group)
                told.append(None)
            except errors.GroupAbandoned as abandoned:
                told.append((abandoned.result, abandoned.reason))
                groups = iter(consumer)
    assert told == [*(expected for _, _, expected in endings), None]
    assert owner.data() == owner.records("get") == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("every", [1, 2, 100])
def test_a_consumer_is_told_after_the_last_message_and_goes_on_with_the_next_group(owner, every, stream):
    abandon(owner)
    owner.put_group(THIS)
    with owner.consumer(commit_every=every, stream=stream) as consumer:
        messages = iter(next(iter(consumer)))
        assert [next(messages).data for _ in range(4)] == THIS[:4]
        with pytest.raises(
            errors.GroupAbandoned, match="abandoned by its producer after 4 messages, result 7"
        ) as caught:
            next(messages)
        assert (caught.value.messages, caught.value.result) == (4, 7)
        assert [[message.data for message in group] for group in consumer] == [THIS]
    assert owner.data() == owner.records("get") == []


def test_the_callback_is_called_before_the_commit_and_may_refuse(owner):
    abandon(owner)
    calls = []

    def undo(abandoned):
        calls.append((abandoned.messages, abandoned.result, len(owner.data())))
        if len(calls) == 1:
            raise OSError("the disk is full")

    with owner.consumer(commit_every=2, on_abandon=undo) as consumer:
        with pytest.raises(OSError, match="full"):
            list(next(iter(consumer)))
        group = next(iter(consumer))
        assert group.resume_from == 4
        with pytest.raises(errors.GroupAbandoned):
            list(group)
    assert calls == [(4, 7, 0), (4, 7, 0)]


def test_a_consumer_that_resumes_at_the_end_is_told_too(owner):
    abandon(owner)
    qmgr = owner.connect()
    messages = iter(next(iter(owner.consumer(qmgr, commit_every=4))))
    for _ in range(4):
        next(messages)
    with pytest.raises(errors.GroupAbandoned):
        next(messages)
    qmgr.close()
    assert owner.get_groups(owner_wait_s=30) == []


def test_a_group_of_which_nothing_is_committed_is_abandoned_without_a_trace(owner):
    with owner.producer(commit_every=100) as producer:
        with producer.group() as group:
            put_beginning(group)
            group.abandon()
        assert owner.data() == []
        with producer.group() as group:
            assert group.resume_from == 0
            group.put(b"next")
    assert owner.data() == [b"next"]


def test_a_group_that_a_crash_interrupted_can_be_abandoned(owner):
    owner.interrupt_put(THIS)
    with owner.producer(owner_wait_s=30) as producer:
        with producer.group() as group:
            group.abandon(result=1)
        with producer.group() as group:
            group.put(b"next")
    assert owner.data() == [*THIS[:4], b"", b"next"]
    assert owner.records("put") == []


def test_after_abandoning_nothing_can_be_put_in_the_group(owner):
    with owner.producer() as producer, producer.group() as group:
        put_beginning(group)
        group.abandon()
        with pytest.raises(errors.GroupUsage, match="has ended"):
            group.put(b"more")
        with pytest.raises(errors.GroupUsage, match="has ended"):
            group.abandon()


def test_a_group_that_has_failed_can_still_be_abandoned(owner):
    with owner.producer(segment_bytes=10) as producer, producer.group() as group:
        put_beginning(group)
        with pytest.raises(errors.MessageRefused):
            group.put(iter(["no bytes"]), last=False)
        group.abandon()
    assert owner.data()[-1] == b""


def test_a_message_begun_in_segments_is_ended_before_the_group_is(owner):
    with owner.producer(commit_every=1, segment_bytes=10) as producer:
        with pytest.raises(errors.MessageRefused), producer.group() as group:
            group.put(iter([b"x" * 30, 3]), last=False)
        with producer.group() as group:
            group.abandon()
    found = [(one.msg_seq_number, one.md.Offset, len(one.data), one.is_last) for one in owner.on_queue()]
    assert found == [(1, 0, 10, False), (1, 10, 10, False), (1, 20, 0, False), (2, 0, 0, True)]


def test_a_group_whose_last_message_is_half_put_cannot_be_abandoned(owner):
    with owner.producer(commit_every=1, segment_bytes=10) as producer:
        with pytest.raises(errors.MessageRefused), producer.group() as group:
            group.put(iter([b"x" * 30, 3]), last=True)
        group = producer.group()
        with pytest.raises(errors.GroupUsage, match="consumers would take that part for the whole"):
            group.abandon()
        with producer.group() as group:
            group.put(b"x" * 40)
    assert owner.get_groups() == [[b"x" * 40]]


@pytest.mark.parametrize("result", [-1, 2**31])
def test_a_result_that_no_message_can_carry_is_refused(owner, result):
    with owner.producer() as producer, pytest.raises(errors.ConfigurationError, match="is 0 to"):
        producer.group().abandon(result)


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("verb", ["MQBACK", "MQSETMP", "MQPUT", "MQCMIT"])
def test_abandoning_goes_on_by_itself_whatever_call_loses_the_connection(owner, faults, verb, when):
    with owner.producer(owner.connect(reconnect_wait_s=30)) as producer, producer.group() as group:
        # One more than is committed is put, so that it is backed out, and one is held back.
        put_beginning(group, [*THIS, b"held back"])
        faults.arm(Fault("drop", when, verb=verb))
        group.abandon()
    assert faults.faults_fired() == 1
    assert owner.data() == [*THIS[:4], b""]
    assert owner.records("put") == []


@pytest.mark.parametrize("reason", ["", "the file <orders & more> ended early", "é"])
def test_the_reason_reaches_the_consumer(owner, reason):
    with owner.producer(commit_every=1) as producer, producer.group() as group:
        group.put(b"one")
        group.put(b"two")
        group.abandon(7, reason)
    with owner.consumer() as consumer, pytest.raises(errors.GroupAbandoned) as caught:
        list(next(iter(consumer)))
    assert (caught.value.result, caught.value.reason) == (7, reason)
    assert (f"result 7 ({reason})" in str(caught.value)) is bool(reason)

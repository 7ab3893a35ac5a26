"""Putting groups when something goes wrong: what the error says, and that the group is resumable."""

# ruff: noqa: PT012, SIM117 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import pickle
import struct

import pytest

from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.constants import MQIA_INHIBIT_PUT
from tests.put.whole_groups import THIS, is_whole_group, put_rest


def test_a_slip_in_the_queues_name_is_told_leaves_no_record_and_does_not_keep_the_name(owner):
    for _ in range(2):
        with pytest.raises(
            errors.QueueMissing, match=r"MQOPEN for queue NO\.SUCH\.QUEUE failed: reason 2085"
        ) as caught:
            owner.producer(queue="NO.SUCH.QUEUE")
        assert "Define the queue (`mqgroups mqsc status --queue NAME` prints the definitions)" in str(caught.value)
        assert caught.value.comp == mq.MQCC_FAILED
    assert owner.on_queue(owner.status_queue("put")) == []
    owner.put_group([b"0"])
    assert owner.data() == [b"0"]


@pytest.mark.parametrize(("what", "at"), [("GroupId", 4), ("GroupId", 7), ("MsgSeqNumber", 1), ("MsgSeqNumber", 4)])
def test_a_message_that_was_not_put_where_it_should_be_backs_out_and_the_group_goes_on(owner, what, at):
    """As when somebody else has backed out on the same connection: the handle begins the group anew."""
    qmgr = owner.connect()
    honest = connection_of(qmgr).binding.MQPUT

    def elsewhere(hconn, hobj, md, pmo, data):
        md, *rest = honest(hconn, hobj, md, pmo, data)
        if data == THIS[at - 1] and not told:
            told.append(data)
            start = st.MD_GROUP_ID.start if what == "GroupId" else st.MD_MSG_SEQ_NUMBER
            value = b"G" * 24 if what == "GroupId" else struct.pack("i", at + 1)
            md = md[:start] + value + md[start + len(value) :]
        return md, *rest

    told = []
    owner.doctor(qmgr, MQPUT=elsewhere)
    with owner.producer(qmgr) as producer:
        with pytest.raises(errors.ForeignSyncpoint, match=f"message {at} of group"), producer.group() as group:
            for data in THIS:
                group.put(data)
        assert put_rest(producer) == (at - 1) // 2 * 2
    assert is_whole_group(owner.on_queue(), THIS)


@pytest.mark.embedded
def test_a_queue_that_may_not_be_used_is_named(owner, faults):
    owner.producer().close()
    faults.arm(Fault("answer", verb="MQOPEN", nth=2, reason=mq.MQRC_NOT_AUTHORIZED))
    with pytest.raises(errors.NotAuthorised, match=f"MQOPEN for queue {owner.queue} failed: reason 2035"):
        owner.producer()
    owner.put_group([b"0"])


@pytest.mark.parametrize("behind", [[b"3"], []], ids=["in the middle", "the last"])
def test_a_message_longer_than_maxmsgl_leaves_the_group_resumable(make_owner, behind):
    owner = make_owner(model="TEST.SMALL.MODEL")
    with owner.producer() as producer:
        with pytest.raises(errors.MessageTooLong, match="Message 2 is the last of the group that is known") as caught:
            with producer.group() as group:
                for data in (b"0", b"1", b"longer than ten", *behind):
                    group.put(data)
        assert caught.value.reason == mq.MQRC_MSG_TOO_BIG_FOR_Q
        assert "Raise MAXMSGL" in str(caught.value)
        assert owner.data() == [b"0", b"1"]
        with producer.group() as group:
            assert group.resume_from == 2
            group.put(b"shorter")
    assert is_whole_group(owner.on_queue(), [b"0", b"1", b"shorter"])


def test_puts_inhibited_in_the_middle_are_waited_for(owner, clock):
    with owner.producer(owner.connect(sleep=clock.sleep), full_wait_s=5) as producer, producer.group() as group:
        for data in THIS[:4]:
            group.put(data)
        owner.set_attribute(MQIA_INHIBIT_PUT, 1)
        clock.on_sleep = lambda: owner.set_attribute(MQIA_INHIBIT_PUT, 0)
        for data in THIS[4:]:
            group.put(data)
    assert len(clock.naps) == 1
    assert is_whole_group(owner.on_queue(), THIS)


def test_puts_that_stay_inhibited_leave_the_group_resumable(owner):
    with owner.producer(put_response="sync") as producer:
        with pytest.raises(errors.QueueUnavailable, match=r"reason 2051 MQRC_PUT_INHIBITED.*PUT\(ENABLED\)"):
            with producer.group() as group:
                for data in THIS[:4]:
                    group.put(data)
                owner.set_attribute(MQIA_INHIBIT_PUT, 1)
                group.put(THIS[4])
        owner.set_attribute(MQIA_INHIBIT_PUT, 0)
        # What was whole when it happened is committed.
        assert owner.data() == THIS[:3]
        put_rest(producer)
    assert is_whole_group(owner.on_queue(), THIS)


def test_a_full_queue_commits_what_is_whole_and_goes_on_when_a_consumer_makes_room(make_owner, clock):
    owner = make_owner(model="TEST.SMALL.MODEL")  # MAXDEPTH(3)
    consumed = []

    def consume_while_the_producer_sleeps():
        # What the producer had put in its unit of work can be consumed only because it was committed.
        with owner.consumer(owner.connect(), commit_every=1) as consumer:
            for group in consumer:
                with pytest.raises(errors.GroupStalled):
                    for message in group:
                        consumed.append(message.data)
                return

    clock.on_sleep = consume_while_the_producer_sleeps
    with owner.producer(owner.connect(sleep=clock.sleep), commit_every=100, full_wait_s=30) as producer:
        put_rest(producer)
    clock.on_sleep = lambda: None
    assert len(clock.naps) == 2
    with owner.consumer() as consumer:
        for rest in consumer:
            assert rest.resume_from == len(consumed)
            consumed += [message.data for message in rest]
    assert consumed == THIS
    assert owner.records("put") == owner.records("get") == []


def test_a_queue_that_stays_full_is_an_error_in_full_wait_s_and_the_group_resumable(make_owner, clock):
    owner = make_owner(model="TEST.SMALL.MODEL")
    with owner.producer(owner.connect(sleep=clock.sleep), commit_every=100, full_wait_s=30) as producer:
        with (
            pytest.raises(errors.QueueUnavailable, match="reason 2053 MQRC_Q_FULL") as caught,
            producer.group() as group,
        ):
            for data in THIS:
                group.put(data)
        assert 30 <= sum(clock.naps) < 33
        assert len(clock.naps) > 10
        assert "MAXDEPTH" in str(caught.value)
        assert "Message 3 is the last of the group that is known to be committed" in str(caught.value)
        assert owner.data() == THIS[:3]
        # When it is drained, then the same producer goes on; and so does another one.
        with owner.consumer(owner.connect(), commit_every=1) as consumer, pytest.raises(errors.GroupStalled):
            list(next(iter(consumer)))
        assert put_rest(producer, THIS[:6]) == 3
    with owner.consumer() as consumer:
        (rest,) = [[message.data for message in group] for group in consumer]
    assert rest == THIS[3:6]


def test_a_queue_full_at_the_first_message_of_a_unit_of_work_waits_without_a_commit(make_owner, clock):
    owner = make_owner(model="TEST.SMALL.MODEL")
    for _ in range(3):
        owner.put_raw(b"other")
    with owner.producer(owner.connect(sleep=clock.sleep), full_wait_s=5) as producer:
        with pytest.raises(errors.QueueUnavailable, match="No message of the group is known to be committed"):
            with producer.group() as group:
                group.put(b"0")
        assert owner.record("put")["state"] == "idle"
        assert owner.get_groups() == [[b"other"]] * 3
        with producer.group() as group:
            assert group.resume_from == 0
            group.put(b"0")
    assert is_whole_group(owner.on_queue(), [b"0"])


@pytest.mark.embedded
@pytest.mark.parametrize("reason", [mq.MQRC_Q_SPACE_NOT_AVAILABLE, mq.MQRC_STORAGE_MEDIUM_FULL])
def test_storage_that_is_full_for_a_moment_is_waited_for(owner, faults, clock, reason):
    with owner.producer(owner.connect(sleep=clock.sleep), full_wait_s=5) as producer, producer.group() as group:
        # The second message, and again when it is tried once more; the third call is the status record in between.
        for nth in (2, 4):
            faults.arm(Fault("answer", verb="MQPUT", nth=nth, reason=reason))
        for data in THIS:
            group.put(data)
    assert faults.faults_fired() == 2
    assert is_whole_group(owner.on_queue(), THIS)


@pytest.mark.embedded
def test_a_refused_status_record_backs_the_unit_of_work_out(owner, faults):
    with owner.producer() as producer:
        faults.arm(Fault("answer", verb="MQPUT", nth=3, reason=mq.MQRC_Q_FULL))
        with pytest.raises(errors.MQIError) as caught, producer.group() as group:
            for data in THIS:
                group.put(data)
        assert caught.value.object_name == f"queue {owner.status_queue('put')}"
        assert owner.data() == []
        assert put_rest(producer) == 0
    assert is_whole_group(owner.on_queue(), THIS)


def test_errors_from_the_middle_of_a_group_pickle_with_their_context(make_owner):
    owner = make_owner(model="TEST.SMALL.MODEL")
    with owner.producer() as producer, pytest.raises(errors.QueueUnavailable) as caught, producer.group() as group:
        for data in THIS:
            group.put(data)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.__dict__) == (type(caught.value), str(caught.value), caught.value.__dict__)


@pytest.mark.embedded
def test_an_alias_of_a_topic_is_refused_before_anything_is_put(module_queue_manager, make_owner):
    """2417, q044400. The MQOPEN itself succeeds, with a blank ResolvedQName (q098270)."""
    topic = "DEFINE TOPIC(A.TOPIC) TOPICSTR('a')\nDEFINE QALIAS(LIKE.A.QUEUE) TARGET(A.TOPIC) TARGTYPE(TOPIC)"
    owner = make_owner(module_queue_manager(topic, "QMT"), "LIKE.A.QUEUE")
    with pytest.raises(errors.ConfigurationError, match=r"LIKE\.A\.QUEUE leads to a topic"):
        owner.producer()
    assert (owner.records("put"), owner.anchors("put")) == ([], 0)

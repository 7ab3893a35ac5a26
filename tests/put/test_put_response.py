"""Asynchronous puts: which messages are answered, and that no failure of the others is committed.

IBM MQ, topics "Using asynchronous put in a client application" (q027340): MQCC_OK "does not necessarily mean that the message was
successfully put"; "MQSTAT" (q101920); "MQPMO options" (q098730): a GroupId does not come back.
"""

# ruff: noqa: PT012, SIM117 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import io
import logging
import struct

import pytest

import mqgroups
from mqembedded import Fault
from mqgroups import Every, Persistence, errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.put.answers import ANSWERED_UNITS
from tests.put.whole_groups import THIS, Crash, is_whole_group, put_rest

LONG = b"abcdefghij"
ASYNC = {"put_response": "async"}
# A lost message that is not persistent does not end its unit of work (2003).
UNSEEN = {**ASYNC, "persistence": Persistence.NOT_PERSISTENT}
RECONNECTS = {"reconnect_wait_s": 30}


def is_whole(owner, payloads=THIS):
    """Whether the queue holds exactly one whole group."""
    return is_whole_group(owner.on_queue(), payloads)


def responses(owner, qmgr):
    """Record of each message that is put to the owner's queue whether it is answered (S) or not (A)."""
    binding, recorded = connection_of(qmgr).binding, []
    put, opened = binding.MQPUT, binding.MQOPEN
    handles = set()

    def open_queue(hconn, od, options):
        answer = opened(hconn, od, options)
        if st.name_at(od, st.OD_OBJECT_NAME) == owner.queue and options & mq.MQOO_OUTPUT:
            handles.add(answer[0])
        return answer

    def put_message(hconn, hobj, md, pmo, data):
        if hobj in handles:
            recorded.append("A" if st.long_at(pmo, st.PMO_OPTIONS) & mq.MQPMO_ASYNC_RESPONSE else "S")
        return put(hconn, hobj, md, pmo, data)

    owner.doctor(qmgr, MQPUT=put_message, MQOPEN=open_queue)
    return recorded


def say_all_is_well(owner, qmgr):
    """Let MQSTAT say that all is well: what it tells was asked for by somebody else, who shares the connection."""
    mqstat = connection_of(qmgr).binding.MQSTAT

    def well(hconn, kind, sts):
        # ibmmq writes into what it is given.
        blank = bytes(bytearray(sts))
        mqstat(hconn, kind, sts)
        return blank, mq.MQCC_OK, mq.MQRC_NONE

    owner.doctor(qmgr, MQSTAT=well)


# --- which messages are answered


def test_the_first_of_a_group_and_the_last_of_a_unit_of_work_are_answered(owner):
    qmgr = owner.connect()
    recorded = responses(owner, qmgr)
    for every, expected in ((1, "SSSSSSS"), (2, "SSASASS"), (3, "SASAASS"), (4, "SAASAAS"), (7, "SAAAAAS")):
        with owner.producer(qmgr, commit_every=every, **ASYNC) as producer:
            for _ in range(2):
                put_rest(producer)
        assert "".join(recorded) == expected * 2
        recorded.clear()


def test_all_are_answered_on_request_whatever_the_queue_says(make_owner):
    # Given a queue with DEFPRESP(ASYNC) and room for three messages
    owner = make_owner(model="TEST.ASYNC.MODEL")
    qmgr = owner.connect()
    recorded = responses(owner, qmgr)
    with owner.producer(qmgr, commit_every=100, put_response="sync") as producer:
        with pytest.raises(errors.QueueUnavailable, match="Message 3 is the last"):
            put_rest(producer)
    assert owner.data() == THIS[:3]
    assert set(recorded) == {"S"}


def test_after_a_restart_the_first_message_is_answered_too(owner):
    owner.interrupt_put(THIS[:5], commit_every=2, **ASYNC)
    qmgr = owner.connect()
    recorded = responses(owner, qmgr)
    with owner.producer(qmgr, commit_every=100, **ASYNC) as producer, producer.group() as group:
        assert group.resume_from == 4
        for data in [*THIS[4:], b"7", b"8"]:
            group.put(data)
    assert "".join(recorded) == "SAAAS"
    assert is_whole(owner, [*THIS, b"7", b"8"])


def test_segments_and_streams_go_unanswered_too(owner):
    qmgr = owner.connect()
    recorded = responses(owner, qmgr)
    with owner.producer(qmgr, commit_every=4, segment_bytes=3, **ASYNC) as producer, producer.group() as group:
        group.put(LONG)
        group.put(io.BytesIO(LONG), last=False)
        group.put(b"end")
    assert "".join(recorded) == "SAASAAASS"
    with owner.consumer(commit_every=1) as consumer:
        assert [[message.data for message in group] for group in consumer] == [[LONG, LONG, b"end"]]


def test_bytes_and_seconds_end_a_unit_of_work_with_an_answered_message(owner, clock):
    qmgr = owner.connect()
    recorded = responses(owner, qmgr)
    with owner.producer(qmgr, commit_every=Every(bytes=3), **ASYNC) as producer:
        put_rest(producer)
    assert "".join(recorded) == "SASAASS"
    owner.empty()
    recorded.clear()
    with owner.producer(qmgr, commit_every=Every(seconds=10), **ASYNC) as producer, producer.group() as group:
        for number, data in enumerate(THIS):
            clock.now_s += 30 if number == 4 else 1
            group.put(data)
            # One message is held back, so it takes one more.
            assert owner.data() == (THIS[:4] if number >= 4 else [])
    assert "".join(recorded) == "SAASAAS"
    assert is_whole(owner)


def test_a_time_that_is_over_while_a_message_is_put_ends_the_unit_of_work_with_the_next_one(owner, clock):
    qmgr = owner.connect()
    recorded = responses(owner, qmgr)
    put = connection_of(qmgr).binding.MQPUT

    def slow(*arguments):
        answer = put(*arguments)
        clock.now_s += 30 * (recorded == ["S", "A", "A"])
        return answer

    owner.doctor(qmgr, MQPUT=slow)
    with owner.producer(qmgr, commit_every=Every(seconds=10), **ASYNC) as producer:
        put_rest(producer)
    assert "".join(recorded) == "SAASAAS"
    assert is_whole(owner)


@pytest.mark.parametrize("persistence", list(Persistence))
@pytest.mark.parametrize(("messages", "layout"), [(1, "classic"), (2, "segmented"), (300, "classic")])
def test_a_group_is_whole_and_in_order(owner, messages, layout, persistence):
    payloads = [b"%d" % number for number in range(messages)]
    settings = {"commit_every": 50, "status_layout": layout, "persistence": persistence}
    with owner.producer(**ASYNC, **settings) as producer:
        put_rest(producer, payloads)
    assert is_whole(owner, payloads)
    assert owner.records("put") == []


@pytest.mark.embedded
def test_a_unit_of_work_costs_one_more_call_and_fewer_answers(owner, count_calls):
    with owner.producer(commit_every=3, **ASYNC) as producer:
        count_calls()
        put_rest(producer)
        # The last unit of work has one message.
        assert count_calls() == {"MQPUT": 7 + 3, "MQGET": 3, "MQCMIT": 3, "MQSTAT": 2}


@pytest.mark.embedded
def test_properties_and_other_kinds_of_message_are_put_in_their_place(owner):
    with owner.producer(commit_every=100, **ASYNC) as producer, producer.group() as group:
        group.put(b"0")
        group.put("text")
        group.put(b"2", properties={"colour": "red"})
        group.put(b"3", correl_id=b"C" * 24)
        group.put(b"4", format="MINE")
        group.put(b"5")
    with owner.consumer() as consumer:
        got = [(m.data, dict(m.properties), m.format) for group in consumer for m in group]
    assert got == [
        (b"0", {}, ""),
        (b"text", {}, "MQSTR"),
        (b"2", {"colour": "red"}, ""),
        (b"3", {}, ""),
        (b"4", {}, "MINE"),
        (b"5", {}, ""),
    ]


# --- a put that failed


@pytest.mark.embedded
@pytest.mark.parametrize("persistence", list(Persistence))
@pytest.mark.parametrize(("number", "reconnect_wait_s"), [(1, 30), (2, 0), (4, 30), (7, 0)])
def test_whichever_put_fails_the_unit_of_work_is_put_again(
    owner, faults, caplog, number, persistence, reconnect_wait_s
):
    qmgr = owner.connect(reconnect_wait_s=reconnect_wait_s)
    recorded = responses(owner, qmgr)
    with owner.producer(qmgr, commit_every=100, full_wait_s=30, persistence=persistence, **ASYNC) as producer:
        faults.arm(Fault("answer", verb="MQPUT", nth=number, reason=mq.MQRC_Q_FULL))
        with caplog.at_level(logging.INFO, "mqgroups"):
            put_rest(producer)
    assert faults.faults_fired() == 1
    assert is_whole(owner)
    # The first is answered, so there is nothing to put again.
    assert "".join(recorded) == ("SSAAAAAS" if number == 1 else "SAAAAAS" + "S" * 7)
    assert ("Putting the unit of work again" in caplog.text) is (number > 1)


@pytest.mark.embedded
@pytest.mark.parametrize("reading", ["MQCC_FAILED 2003", "MQCC_OK"])
def test_whatever_mqcmit_says_of_it_a_put_that_failed_is_not_committed(own_queue_manager, make_owner, reading):
    q_mgr = own_queue_manager("QMA", readings={"mqcmit after a failed asynchronous put": reading})
    control = make_owner(q_mgr, "DEV.QUEUE.1")
    with control.producer(commit_every=100, full_wait_s=30, **ASYNC) as producer:
        q_mgr.arm(Fault("answer", verb="MQPUT", nth=3, reason=mq.MQRC_PUT_INHIBITED))
        put_rest(producer)
    assert is_whole(control)


@pytest.mark.embedded
def test_a_put_that_was_done_and_is_told_as_failed_is_put_again_once(owner, faults, count_calls):
    # Given a put that took effect, so that all messages have the expected numbers
    with owner.producer(commit_every=100, **ASYNC) as producer:
        count_calls()
        faults.arm(Fault("answer", "after", verb="MQPUT", nth=3, reason=mq.MQRC_Q_FULL))
        put_rest(producer)
        # Then the unit of work is backed out and put a second time
        assert count_calls()["MQPUT"] == 7 + 7 + 1
    assert is_whole(owner)


@pytest.mark.parametrize("counts", [(1, 0), (0, 1)], ids=["a warning", "a failure without codes"])
def test_a_warning_alone_has_the_unit_of_work_put_again(owner, counts):
    """A synchronous put tells which one it is, and whether it matters."""
    qmgr = owner.connect()
    recorded, mqstat = responses(owner, qmgr), connection_of(qmgr).binding.MQSTAT
    lies: list[tuple[int, int]] = []

    def warned(*arguments):
        sts, comp, reason = mqstat(*arguments)
        if lies:
            sts = sts[:20] + struct.pack("2i", *lies.pop()) + sts[28:]
        return sts, comp, reason

    owner.doctor(qmgr, MQSTAT=warned)
    with owner.producer(qmgr, commit_every=100, **ASYNC) as producer:
        lies.append(counts)
        put_rest(producer)
    assert "".join(recorded) == "SAAAAAS" + "S" * 7
    assert is_whole(owner)


@pytest.mark.embedded
@pytest.mark.parametrize("number", [2, 6])
def test_a_put_that_failed_unseen_is_noticed_by_the_number_of_the_last_message(owner, faults, number):
    qmgr = owner.connect()
    say_all_is_well(owner, qmgr)
    with owner.producer(qmgr, commit_every=100, **UNSEEN) as producer:
        faults.arm(Fault("answer", verb="MQPUT", nth=number, reason=mq.MQRC_Q_FULL))
        with pytest.raises(errors.ForeignSyncpoint, match="as message 6 of group"):
            put_rest(producer)
        assert owner.data() == []
        put_rest(producer)
    assert is_whole(owner)


@pytest.mark.embedded
def test_a_segment_that_failed_unseen_is_noticed_by_the_offset_of_the_last_one(owner, faults):
    qmgr = owner.connect()
    say_all_is_well(owner, qmgr)
    settings = {"commit_every": 6, "segment_bytes": 3}
    with owner.producer(qmgr, **settings, **UNSEEN) as producer:
        faults.arm(Fault("answer", verb="MQPUT", nth=4, reason=mq.MQRC_Q_FULL))
        with pytest.raises(errors.ForeignSyncpoint), producer.group() as group:
            group.put(LONG * 3, last=True)
        assert owner.data() == []
        with producer.group() as group:
            group.put(LONG * 3)
    assert owner.get_groups() == [[LONG * 3]]


def test_a_full_queue_is_the_same_error_and_leaves_the_same_behind(make_owner, clock):
    owner = make_owner(model="TEST.SMALL.MODEL")  # MAXDEPTH(3)
    with owner.producer(owner.connect(sleep=clock.sleep), commit_every=100, full_wait_s=30, **ASYNC) as producer:
        with pytest.raises(errors.QueueUnavailable, match="reason 2053 MQRC_Q_FULL") as caught:
            put_rest(producer)
        assert 30 <= sum(clock.naps) < 33
        assert "Message 3 is the last of the group that is known to be committed" in str(caught.value)
        assert owner.data() == THIS[:3]
        owner.empty()
        clock.on_sleep = owner.empty
        put_rest(producer)
    assert owner.records("put") == []


def test_a_message_that_is_too_long_is_the_same_error(make_owner):
    owner = make_owner(model="TEST.SMALL.MODEL")
    with owner.producer(commit_every=3, **ASYNC) as producer:
        with pytest.raises(errors.MessageTooLong, match=r"Raise MAXMSGL.*This was message 2 of the group"):
            put_rest(producer, [b"0", b"longer than ten", b"2"])
        assert owner.data() == []
        put_rest(producer, [b"0", b"1", b"2"])
    assert is_whole(owner, [b"0", b"1", b"2"])


@pytest.mark.embedded
def test_a_failure_of_a_unit_of_work_that_was_backed_out_is_not_the_next_ones(owner, faults):
    qmgr = owner.connect()
    recorded = responses(owner, qmgr)
    with owner.producer(qmgr, commit_every=100, **ASYNC) as producer:
        faults.arm(Fault("answer", verb="MQPUT", nth=2, reason=mq.MQRC_Q_FULL))
        with pytest.raises(Crash), producer.group() as group:
            for data in THIS[:5]:
                group.put(data)
            raise Crash
        recorded.clear()
        put_rest(producer)
    assert "".join(recorded) == "SAAAAAS"
    assert is_whole(owner)


@pytest.mark.embedded
@pytest.mark.parametrize("every", [3, 100], ids=["many-units-of-work", "one-unit-of-work"])
def test_a_producer_goes_on_by_itself_whatever_call_loses_the_connection(owner, faults, every):
    connection = owner.connect(**RECONNECTS)
    faults.clear_faults()
    for verb, nth, when in (
        ("MQPUT", 5, "before"),
        ("MQSTAT", 2, "after"),
        ("MQCMIT", 2, "before"),
        ("MQCMIT", 2, "after"),
    ):
        faults.arm(Fault("drop", when, verb=verb, nth=nth))
        with owner.producer(connection, commit_every=every, segment_bytes=3, **ASYNC) as producer:
            with producer.group() as group:
                for data in (b"0", LONG, b"2", LONG, b"4"):
                    group.put(data)
        assert owner.get_groups() == [[b"0", LONG, b"2", LONG, b"4"]]
        assert owner.records("put") == []
    assert faults.faults_fired() == 4


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_mqstat_that_fails_leaves_the_group_resumable(owner, faults, when):
    with owner.producer(commit_every=100, **ASYNC) as producer:
        faults.arm(Fault("answer", when, verb="MQSTAT", reason=mq.MQRC_UNEXPECTED_ERROR))
        # It is put again, and then there is nothing to ask for.
        put_rest(producer)
    assert is_whole(owner)


def test_an_interruption_in_mqstat_leaves_nothing_half_done(owner):
    qmgr = owner.connect()
    mqstat = connection_of(qmgr).binding.MQSTAT
    interrupts: list[BaseException] = []

    def interrupted(*arguments):
        answer = mqstat(*arguments)
        if interrupts:
            raise interrupts.pop()
        return answer

    owner.doctor(qmgr, MQSTAT=interrupted)
    with owner.producer(qmgr, commit_every=4, **ASYNC) as producer:
        interrupts.append(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            put_rest(producer)
        assert owner.data() == []
        put_rest(producer)
    assert is_whole(owner)


def test_a_queue_manager_without_mqstat_answers_all(owner):
    qmgr = owner.connect()
    owner.doctor(qmgr, MQSTAT=lambda _hconn, _kind, sts: (sts, mq.MQCC_FAILED, mq.MQRC_FUNCTION_NOT_SUPPORTED))
    recorded = responses(owner, qmgr)
    with owner.producer(qmgr, commit_every=100) as producer:
        for _ in range(ANSWERED_UNITS + 2):
            put_rest(producer)
    # The first group is put twice: its first unit of work was redone.
    assert "".join(recorded) == "SAAAAAS" + "S" * len(THIS) * (ANSWERED_UNITS + 2)


def test_a_client_library_without_mqstat_answers_all(owner, monkeypatch):
    qmgr = owner.connect()
    monkeypatch.setattr(connection_of(qmgr).unanswered, "can_be_checked", False)
    recorded = responses(owner, qmgr)
    with owner.producer(qmgr, commit_every=100) as producer:
        put_rest(producer)
    assert "".join(recorded) == "S" * len(THIS)


@pytest.mark.embedded
def test_after_a_failure_all_are_answered_for_a_while(owner, faults):
    qmgr = owner.connect()
    recorded = responses(owner, qmgr)
    with owner.producer(qmgr, commit_every=100) as producer:
        faults.arm(Fault("answer", verb="MQPUT", nth=3, reason=mq.MQRC_Q_FULL))
        for _ in range(ANSWERED_UNITS + 3):
            put_rest(producer)
    answered, unanswered = "S" * len(THIS), "SAAAAAS"
    # The first group is put twice, the second time answered.
    assert "".join(recorded) == unanswered + answered + answered * ANSWERED_UNITS + unanswered * 2


def test_another_word_is_refused(owner):
    with pytest.raises(errors.ConfigurationError, match="put_response must be 'sync' or 'async', got 'later'"):
        owner.producer(put_response="later")


# --- on a connection that the application has too


@pytest.fixture
def q_mgr(mq, binding):
    """The application's own object."""
    q_mgr = mq.connect(binding)
    yield q_mgr
    q_mgr.disconnect()


@pytest.fixture
def qmgr(q_mgr):
    """What is made of it."""
    with mqgroups.wrap(q_mgr) as qmgr:
        yield qmgr


def test_on_a_wrapped_connection_all_are_answered(owner, qmgr):
    recorded = responses(owner, qmgr)
    with owner.producer(qmgr, commit_every=100) as producer:
        put_rest(producer)
    assert "".join(recorded) == "S" * len(THIS)


@pytest.mark.parametrize("number", [1, 3, 5])
def test_what_was_put_before_a_stop_is_committed(owner, number):
    with owner.producer(owner.connect(), commit_every=100, **ASYNC) as producer:
        with pytest.raises(errors.Stopped), producer.group() as group:
            for count, data in enumerate(THIS):
                if count == number:
                    producer.stop()
                group.put(data)
        assert owner.data() == THIS[: len(owner.data())]
        # One message is held back, because it could be the last of the group.
        assert number - 1 <= len(owner.data()) <= number
    with owner.producer(owner.connect(), **ASYNC) as producer:
        put_rest(producer)
    assert is_whole(owner)


# --- on a cluster


@pytest.mark.cluster
def test_a_unit_of_work_that_ends_elsewhere_is_not_committed(cluster_queue):
    cluster, owner, queue = cluster_queue
    qmgr = owner.connect()
    put, count = connection_of(qmgr).binding.MQPUT, 0

    def misled(*arguments):
        nonlocal count
        md, pmo, comp, reason = put(*arguments)
        count += st.name_at(pmo, st.PMO_RESOLVED_Q_NAME) == queue
        # The first message of the group, and the last of the first unit of work
        if count == 2:
            pmo = pmo[:80] + b"QM.ELSEWHERE".ljust(48) + pmo[128:]
            count += 1
        return md, pmo, comp, reason

    owner.doctor(qmgr, MQPUT=misled)
    with owner.producer(qmgr, commit_every=4, **ASYNC) as producer:
        with pytest.raises(errors.QueueManagerChanged) as caught:
            put_rest(producer)
        assert (caught.value.because, caught.value.found) == ("split", "QM.ELSEWHERE")
        assert str(caught.value).startswith("message 4 of group ")
        cluster.waits_for_all(queue, 0)
        put_rest(producer)
    cluster.waits_for_all(queue, len(THIS))


@pytest.fixture
def cluster_queue(cluster, make_owner):
    """A cluster, an owner at QM1, and a cluster queue with an instance at each queue manager."""
    queue = cluster.define("CLWLUSEQ(ANY) DEFBIND(GROUP)")
    return cluster, make_owner(cluster["QM1"], queue), queue

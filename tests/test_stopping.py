"""``stop()``, from a thread, from a signal handler or from where a message is processed: what is kept, told, and resumed."""

# ruff: noqa: PT012 - a group fails where its block or its loop ends, so these are inside the raises

from __future__ import annotations

import contextlib
import io
import signal
import subprocess

import pytest

import mqgroups
from embedded_tests.fix_mqi import PATIENCE_S, wait_until
from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from tests.put.whole_groups import THIS, put_rest
from tests.test_pipe import Side, run, whole


def process(group):
    return [message.data for message in group]


def stopped_at(consumer, number):
    """Process a group, and stop the consumer while message ``number`` is processed; returns what was processed."""
    processed = []
    for message in next(iter(consumer)):
        processed.append(message.data)
        if message.msg_seq_number == number:
            consumer.stop()
    return processed


# --- a consumer


def test_what_cannot_be_stopped_is_refused_before_a_signal_comes():
    with pytest.raises(errors.GroupUsage, match="takes producers, consumers, pipes and workers, got 5"):
        mqgroups.stop_on_signals(5)  # type: ignore[arg-type]  # what is refused


@pytest.mark.parametrize("number", [1, 2, 6])
def test_a_consumer_stops_behind_the_message_that_is_processed_and_that_is_committed(owner, number):
    owner.put_raw_group(THIS)
    (group_id,) = {found.group_id for found in owner.on_queue()}
    with owner.consumer(commit_every=100) as consumer:
        with pytest.raises(errors.Stopped, match=f"is committed up to message {number}, and the next start") as caught:
            stopped_at(consumer, number)
        assert (caught.value.group_id, caught.value.msg_seq_number) == (group_id, number)
        assert (caught.value.owner, caught.value.queue) == (f"get {owner.name}", owner.queue)
        assert owner.data() == THIS[number:]
    assert owner.record("get")["msg_seq_number"] == number
    assert owner.get_groups() == [THIS[number:]]
    assert owner.records("get") == owner.data() == []


def test_a_group_whose_last_message_is_processed_is_whole_and_then_the_iteration_ends(owner):
    for _ in range(2):
        owner.put_raw_group(THIS)
    with owner.consumer(commit_every=100) as consumer:
        groups = []
        for group in consumer:
            assert not group.has_ended
            assert process(group) == THIS
            assert group.has_ended
            groups.append(group)
            consumer.stop()
            assert consumer.stopping
        assert len(groups) == 1
        assert list(consumer) == []
    assert owner.records("get") == []
    assert owner.get_groups() == [THIS]


def test_a_message_that_is_got_already_is_handed_out(owner):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        group = next(iter(consumer))
        consumer.stop()
        messages = iter(group)
        assert next(messages).data == THIS[0]
        with pytest.raises(errors.Stopped):
            next(messages)
        with pytest.raises(StopIteration):
            next(messages)
        assert not group.has_ended
    assert owner.get_groups() == [THIS[1:]]


def test_an_iteration_that_ends_after_stop_leaves_no_group_interrupted(owner):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        for message in next(iter(consumer)):
            if message.msg_seq_number == 5:
                break
        consumer.stop()
        # The application has left the group after a commit of four messages: the loop must not end as if all were done.
        with pytest.raises(errors.Stopped, match="up to message 4"):
            next(iter(consumer))
    assert owner.get_groups() == [THIS[4:]]


def test_a_consumer_that_waits_for_a_group_ends_its_iteration(owner, background, count_waiting):
    consumer = owner.consumer(wait_s=None)
    waiting = background(lambda: list(consumer))
    wait_until(lambda: count_waiting(owner.queue) == 1)
    # Another thread may do nothing else meanwhile.
    with pytest.raises(errors.GroupUsage):
        consumer.close()
    consumer.stop()
    assert waiting.result(PATIENCE_S) == []
    consumer.close()
    assert owner.records("get") == []


def test_a_consumer_that_waits_inside_a_group_keeps_what_is_processed(owner, background, count_waiting):
    owner.put_raw_group(THIS[:3], whole=False)
    consumer = owner.consumer(commit_every=100, group_wait_s=600)
    waiting = background(lambda: process(next(iter(consumer))))
    wait_until(lambda: count_waiting(owner.queue) == 1 and not owner.data())
    consumer.stop()
    with pytest.raises(errors.Stopped, match="up to message 3"):
        waiting.result(PATIENCE_S)
    consumer.close()
    assert owner.data() == []
    assert owner.record("get")["msg_seq_number"] == 3


def test_a_consumer_of_an_inhibited_queue_stops(owner, clock):
    owner.set_attribute(mq.MQIA_INHIBIT_GET, 1)
    consumer = owner.consumer(owner.connect(sleep=clock.sleep), wait_s=None)
    clock.on_sleep = consumer.stop
    assert list(consumer) == []
    assert len(clock.naps) == 1
    consumer.close()
    owner.set_attribute(mq.MQIA_INHIBIT_GET, 0)


def test_a_streamed_message_stops_between_two_segments(owner):
    owner.put_group([b"aaaabbbbcccc", b"end"], segment_bytes=4)
    chunks = []
    with owner.consumer(stream=True, commit_every=100) as consumer:
        with pytest.raises(errors.Stopped, match="up to message 0"):
            for message in next(iter(consumer)):
                for chunk in message.chunks():
                    chunks.append(chunk)
                    if chunk == b"bbbb":
                        consumer.stop()
        assert (owner.record("get")["msg_seq_number"], owner.record("get")["offset"]) == (0, 8)
    with owner.consumer(stream=True) as consumer:
        for message in next(iter(consumer)):
            chunks += message.chunks()
    assert chunks == [b"aaaa", b"bbbb", b"cccc", b"end"]


def test_before_commit_is_called_when_a_group_is_stopped(owner):
    owner.put_raw_group(THIS)
    flushed: list[mqgroups.IncomingGroup] = []
    with owner.consumer(commit_every=100) as consumer:
        consumer.before_commit(flushed.append)
        with pytest.raises(errors.Stopped):
            stopped_at(consumer, 3)
    assert len(flushed) == 1
    with owner.consumer() as consumer:
        assert next(iter(consumer)).resume_from == 3


def test_a_checkpoint_survives_a_stop(owner):
    owner.put_raw_group(THIS)
    with owner.consumer(commit_every=100) as consumer, pytest.raises(errors.Stopped):
        for group in consumer:
            for message in group:
                group.set_checkpoint({"handled": message.msg_seq_number})
                if message.msg_seq_number == 4:
                    consumer.stop()
    with owner.consumer() as consumer:
        assert consumer.checkpoint == {"handled": 4}
        assert [process(group) for group in consumer] == [THIS[4:]]
        consumer.stop()
    # Between two groups, and at a clean end, it stays as well.
    with owner.consumer() as consumer:
        assert consumer.checkpoint == {"handled": 4}
        consumer.forget()


def test_quarantine_goes_on_after_a_stop(make_owner):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_raw_group(THIS)
    ends: list[type[BaseException]] = []
    while errors.GroupQuarantined not in ends:
        assert len(ends) < 20
        with owner.consumer(poison="quarantine", commit_every=1) as consumer:
            consumer.before_commit(lambda _: consumer.stop() if owner.data("TEST.BACKOUT") else None)
            try:
                for message in next(iter(consumer)):
                    if message.msg_seq_number == 3:
                        raise ZeroDivisionError
            except (ZeroDivisionError, errors.GroupQuarantined, errors.Stopped) as error:
                ends.append(type(error))
    moved = owner.data("TEST.BACKOUT")
    owner.empty("TEST.BACKOUT")
    assert errors.Stopped in ends
    assert moved == THIS[2:]
    assert owner.data() == owner.records("get") == []


# --- a pipe


@pytest.mark.parametrize("number", [1, 4, 7])
def test_a_pipe_stops_with_both_sides_at_the_same_place(owner, make_queue, number):
    side = Side(owner, make_queue())
    owner.put_raw_group(THIS)
    with side.open(commit_every=100) as pipe:
        is_whole = number == len(THIS)
        with contextlib.nullcontext() if is_whole else pytest.raises(errors.Stopped, match=f"up to message {number}"):
            for incoming, outgoing in pipe:
                for message in incoming:
                    outgoing.put(message.data)
                    if message.msg_seq_number == number:
                        pipe.stop()
        assert pipe.stopping
    assert owner.data() == THIS[number:]
    assert side.found_anywhere() == whole(THIS)[:number]
    with side.open() as pipe:
        run(pipe, lambda data: [data])
    assert side.found() == [whole(THIS)]
    assert side.is_idle()


def test_a_pipe_whose_target_is_full_gives_up_when_it_is_stopped(owner, make_owner, clock):
    target = make_owner(model="TEST.SMALL.MODEL")  # MAXDEPTH(3)
    side = Side(owner, target.queue)
    owner.put_raw_group(THIS)
    for _ in range(3):
        target.put_raw(b"full")
    pipe = side.open(owner.connect(sleep=clock.sleep), full_wait_s=600)
    clock.on_sleep = pipe.stop
    with pytest.raises(errors.Stopped, match="No group is interrupted"):
        run(pipe, lambda data: [data])
    assert len(clock.naps) == 1
    pipe.close()
    assert owner.data() == THIS


# --- a producer


@pytest.mark.parametrize("number", [2, 3, 7])
def test_a_producer_stops_before_a_put_and_what_was_put_is_committed(owner, number):
    with owner.producer(commit_every=100, put_response="sync") as producer:
        with pytest.raises(errors.Stopped) as caught, producer.group() as group:
            for count, data in enumerate(THIS, 1):
                if count == number:
                    producer.stop()
                    assert producer.stopping
                group.set_checkpoint(count)
                group.put(data)
        # One message is held back, and the one that is refused is not taken.
        assert caught.value.msg_seq_number == max(0, number - 2)
        assert owner.data() == THIS[: number - 2]
        with pytest.raises(errors.Stopped):
            producer.group()
    with owner.producer() as producer:
        assert producer.checkpoint == (number - 2 or None)
        assert put_rest(producer) == number - 2
    assert owner.data() == THIS
    assert owner.get_groups() == [THIS]


def test_a_producer_without_checkpoints_stops_before_a_put_too(owner):
    with owner.producer(commit_every=100, put_response="sync") as producer:
        with pytest.raises(errors.Stopped) as caught, producer.group() as group:
            owner.put_all(group, THIS[:5])
            producer.stop()
            group.put(THIS[5])
        assert caught.value.msg_seq_number == 4
        assert owner.data() == THIS[:4]


def test_a_stop_while_a_message_is_put_ends_its_unit_of_work_with_that_message(owner):
    qmgr = owner.connect()
    put = connection_of(qmgr).binding.MQPUT

    def stops(hconn, hobj, md, pmo, data):
        answer = put(hconn, hobj, md, pmo, data)
        if data == THIS[3]:
            producer.stop()
        return answer

    owner.doctor(qmgr, MQPUT=stops)
    with owner.producer(qmgr, commit_every=100, put_response="sync") as producer:
        with pytest.raises(errors.Stopped), producer.group() as group:
            owner.put_all(group, THIS[:5])
            # That was the message held back.
            assert owner.data() == THIS[:4]
            group.put(THIS[5])
        assert owner.data() == THIS[:4]


def test_a_group_whose_messages_are_all_given_is_completed(owner):
    with owner.producer() as producer:
        with producer.group() as group:
            owner.put_all(group, THIS)
            producer.stop()
        with pytest.raises(errors.Stopped, match="No group is interrupted"):
            producer.group()
    assert owner.get_groups() == [THIS]
    with owner.producer() as producer, producer.group() as group:
        producer.stop()
        group.put(b"only", last=True)
    assert owner.get_groups() == [[b"only"]]


def test_a_stream_stops_between_two_segments(owner):
    class Stream(io.BytesIO):
        def read(self, size=-1):
            if self.tell() == 8:
                producer.stop()
            return super().read(size)

    with owner.producer(segment_bytes=4, commit_every=100) as producer:
        with pytest.raises(errors.Stopped), producer.group() as group:
            group.put(Stream(b"aaaabbbbccccdddd"), last=True)
        committed = owner.record("put")["offset"]
        assert committed in (4, 8)
    with owner.producer(segment_bytes=4) as producer, producer.group() as group:
        assert group.resume_offset == committed
        group.put(io.BytesIO(b"aaaabbbbccccdddd"), last=True)
    assert owner.get_groups() == [[b"aaaabbbbccccdddd"]]


def test_a_producer_of_a_full_queue_gives_up_when_it_is_stopped(make_owner, clock):
    owner = make_owner(model="TEST.SMALL.MODEL")  # MAXDEPTH(3)
    producer = owner.producer(owner.connect(sleep=clock.sleep), commit_every=100, full_wait_s=600)
    clock.on_sleep = producer.stop
    with pytest.raises(errors.Stopped) as caught, producer.group() as group:
        owner.put_all(group, THIS)
    assert len(clock.naps) == 1
    producer.close()
    assert caught.value.msg_seq_number == 3
    assert owner.data() == THIS[:3]


# --- while the connection is lost


@pytest.mark.parametrize("role", ["put", "get"])
def test_after_stop_a_lost_connection_is_not_waited_for(owner, faults, clock, role):
    qmgr = owner.connect(reconnect_wait_s=600, sleep=clock.sleep)
    faults.arm(Fault("drop", "before", verb="MQPUT" if role == "put" else "MQGET", nth=4))
    faults.arm(Fault("answer", "before", verb="MQCONNX", nth=1, times=0, reason=mq.MQRC_HOST_NOT_AVAILABLE))
    if role == "put":
        producer = owner.producer(qmgr)
        clock.on_sleep = producer.stop
        with pytest.raises(errors.ConnectionBroken), producer.group() as group:
            owner.put_all(group, THIS)
    else:
        owner.put_raw_group(THIS)
        consumer = owner.consumer(qmgr)
        clock.on_sleep = consumer.stop
        with pytest.raises(errors.ConnectionBroken):
            process(next(iter(consumer)))
    assert len(clock.naps) == 1
    faults.clear_faults()
    qmgr.close()


@pytest.mark.parametrize("verb", ["MQPUT", "MQCMIT"])
def test_a_stop_is_right_though_the_reply_of_its_commit_is_lost(owner, faults, verb):
    owner.put_raw_group(THIS)
    with (
        owner.connect(reconnect_wait_s=10) as qmgr,
        owner.consumer(qmgr, commit_every=100, owner_wait_s=10) as consumer,
    ):
        faults.arm(Fault("drop", "after", verb=verb))
        with pytest.raises(errors.Stopped):
            stopped_at(consumer, 4)
    assert faults.faults_fired() == 1
    assert owner.record("get")["msg_seq_number"] == 4
    assert owner.get_groups() == [THIS[4:]]


@pytest.mark.parametrize(("tries", "ending"), [(3, errors.Stopped), (0, errors.CommitOutcomeUnknown)])
def test_after_stop_a_queue_manager_has_a_second_to_notice_that_the_connection_is_lost(
    owner, faults, clock, tries, ending
):
    """``tries``: how many MQOPEN are answered with 2042 because the lost connection still has the status queue; 0: all."""
    owner.put_raw_group(THIS)
    with owner.connect(reconnect_wait_s=600, sleep=clock.sleep) as qmgr:
        consumer = owner.consumer(qmgr, commit_every=100)

        def lose(*_):
            faults.arm(Fault("drop", "after", verb="MQCMIT"))
            faults.arm(Fault("answer", "before", verb="MQOPEN", nth=2, times=tries, reason=mq.MQRC_OBJECT_IN_USE))

        consumer.before_commit(lose)
        with pytest.raises(ending):
            stopped_at(consumer, 4)
        assert sum(clock.naps) < 2.1
        faults.clear_faults()
    assert owner.record("get")["msg_seq_number"] == 4


# --- signals


def test_a_signal_ends_the_block_and_says_which_it_was(owner):
    owner.put_raw_group(THIS)
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with owner.consumer(commit_every=100) as consumer, mqgroups.stop_on_signals(consumer) as stopping:
        for message in next(iter(consumer)):
            if message.msg_seq_number == 2:
                assert stopping.signal is None
                signal.raise_signal(signal.SIGTERM)
        pytest.fail("the group is not whole")
    assert stopping.signal is signal.SIGTERM
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    assert owner.record("get")["msg_seq_number"] == 2
    assert owner.get_groups() == [THIS[2:]]


@pytest.fixture
def ctrl_c():
    """SIGINT raises KeyboardInterrupt, also where the tests were started in the background, with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_second_signal_does_what_it_did_before_the_block(owner, ctrl_c):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer, pytest.raises(KeyboardInterrupt), mqgroups.stop_on_signals(consumer):
        for _ in next(iter(consumer)):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
    assert owner.get_groups() == [THIS]


def test_other_errors_and_the_normal_end_leave_the_block_as_without_it(owner):
    with pytest.raises(ZeroDivisionError), mqgroups.stop_on_signals():
        raise ZeroDivisionError
    with mqgroups.stop_on_signals() as stopping:
        pass
    assert stopping.signal is None


def test_only_the_main_thread_can_be_told_of_signals(background):
    def block():
        with mqgroups.stop_on_signals():
            pytest.fail("signals would not arrive")

    with pytest.raises(errors.GroupUsage, match=r"main thread.*call stop\(\)"):
        background(block).result(PATIENCE_S)


SERVICE = """
with (
    connect() as q_mgr,
    q_mgr.group_consumer(queue, name=name, commit_every=100) as consumer,
    mqgroups.stop_on_signals(consumer) as stopping,
):
    for group in consumer:
        for message in group:
            print(message.data.decode(), flush=True)
print(stopping.signal.name)
"""


@pytest.mark.parametrize(
    ("there", "number"), [([], signal.SIGINT), (THIS[:3], signal.SIGTERM)], ids=["between groups", "in a group"]
)
def test_a_service_that_waits_ends_with_exit_code_0_and_keeps_what_it_has_done(
    owner, program, count_waiting, there, number
):
    if there:
        owner.put_raw_group(there, whole=False)
    with subprocess.Popen(
        program.command(SERVICE), env=program.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as service:
        wait_until(lambda: count_waiting(owner.queue) == 1 and not owner.data())
        service.send_signal(number)
        out, err = service.communicate(timeout=PATIENCE_S)
    assert (service.returncode, err) == (0, "")
    assert out.split() == [*(data.decode() for data in there), number.name]
    records = owner.records("get")
    assert len(records) == (1 if there else 0)
    assert connection_of(owner.qmgr).usable

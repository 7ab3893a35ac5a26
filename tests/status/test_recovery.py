"""A lost connection is no business of the application: every commit gets a verdict, and the work goes on by itself.

The queue manager lives, the program lives; what is between them fails, before a call took effect or after. The application makes
each call once and sees no error. The campaign (``tests/faults``) loses the connection at every call; here are those that differ.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from tests.put.whole_groups import THIS, put_rest
from tests.status.test_unit_of_work import is_done

IN_DOUBT = [
    mq.MQRC_CONNECTION_BROKEN,
    mq.MQRC_Q_MGR_STOPPING,
    mq.MQRC_CONNECTION_STOPPING,
    mq.MQRC_CALL_INTERRUPTED,
    mq.MQRC_Q_MGR_QUIESCING,
]
RECONNECTS = {"reconnect_wait_s": 30}
# Of a start, of a group and of the end.
CALLS = [
    *(("MQOPEN", 3), ("MQINQ", 1), ("MQGET", 1), ("MQPUT", 1)),
    *(("MQPUT", 5), ("MQGET", 3), ("MQCMIT", 3), ("MQCLOSE", 1)),
]
whens = pytest.mark.parametrize("when", ["before", "after"])
units = pytest.mark.parametrize(
    ("every", "status"),
    [(2, "classic"), (2, "segmented"), (100, "classic")],
    ids=["four-units-of-work", "segmented-status", "one-unit-of-work"],
)


def put(owner, connection, every=2, status="classic"):
    """Put one group in an application that knows of no trouble."""
    with owner.producer(connection, commit_every=every, status_layout=status) as producer:
        with producer.group() as group:
            for number, data in enumerate(THIS):
                group.set_checkpoint(number)
                group.put(data)
        assert producer.checkpoint == len(THIS) - 1
        producer.forget()
        assert producer.checkpoint is None


def put_all(owner, connection, every=2, status="classic"):
    """Put one group so, and look at what is there."""
    put(owner, connection, every, status)
    assert is_done(owner, "put")


def get_all(owner, connection, every=2, status="classic"):
    """Get one group likewise."""
    handled = []
    with owner.consumer(connection, commit_every=every, status_layout=status) as consumer:
        for group in consumer:
            for message in group:
                handled.append(message.data)
                group.set_checkpoint(len(handled))
        assert consumer.checkpoint == len(THIS)
        consumer.forget()
        assert consumer.checkpoint is None
    assert handled == THIS
    assert owner.data() == owner.records("get") == []


def commits_of(every, status):
    """Return how often it commits: the claim, the units of work, the checkpoint forgotten, the end, which is two for segments."""
    return (7 if every == 2 else 4) + (status == "segmented")


def under(faults, fault, owner, role, *more):
    """Put one group under a fault, or get one, and leave nothing on the queue."""
    if role == "get":
        owner.put_raw_group(THIS)
    faults.arm(fault)
    (put_all if role == "put" else get_all)(owner, *more)
    owner.empty()


@pytest.mark.embedded
@whens
@pytest.mark.parametrize("role", ["put", "get"], ids=["a_producer_goes_on", "a_consumer_goes_on"])
def test_whatever_call_loses_the_connection(owner, faults, role, when):
    connection = owner.connect(**RECONNECTS)
    for verb, nth in CALLS:
        under(faults, Fault("drop", when, verb=verb, nth=nth), owner, role, connection)
    assert faults.faults_fired() == len(CALLS)


@pytest.mark.embedded
@whens
@units
@pytest.mark.parametrize("role", ["put", "get"])
def test_every_commit_gets_a_verdict(owner, faults, role, when, every, status):
    connection = owner.connect(**RECONNECTS)
    commits = commits_of(every, status)
    for nth in range(1, commits + 1):
        fault = Fault("answer", when, verb="MQCMIT", nth=nth, reason=IN_DOUBT[nth % len(IN_DOUBT)])
        under(faults, fault, owner, role, connection, every, status)
    assert faults.faults_fired() == commits


# --- the queue manager too, and where it ends


@pytest.mark.embedded
@whens
def test_a_queue_manager_that_dies_at_a_commit_and_is_started_again_interrupts_nobody(
    make_owner, own_queue_manager, background, when
):
    queue_manager = own_queue_manager()
    owner = make_owner(queue_manager, "ORDERS")
    connection = owner.connect(**RECONNECTS)
    queue_manager.arm(Fault("kill_server", when, verb="MQCMIT", nth=3))

    def start_again():
        queue_manager.wait()
        queue_manager.start()

    started = background(start_again)
    put(owner, connection)
    started.result(30)
    owner.eye = owner.eye.mqi.connect(queue_manager.q_mgr_name, queue_manager.channel, queue_manager.conn_name)[1]
    assert is_done(owner, "put")


@pytest.mark.embedded
@pytest.mark.parametrize(("when", "committed"), [("before", 2), ("after", 4)])
def test_patience_that_ends_in_the_middle_of_a_doubt_says_so_and_the_next_call_settles_it(
    owner, faults, clock, when, committed
):
    qmgr = owner.connect(sleep=clock.sleep, reconnect_wait_s=5)
    producer = owner.producer(qmgr)
    connection = connection_of(qmgr)
    connect = connection._connect
    assert connect is not None

    def nobody_answers():
        raise errors.ConnectionBroken("MQCONNX", "queue manager QM1", mq.MQCC_FAILED, mq.MQRC_HOST_NOT_AVAILABLE)

    connection._connect = nobody_answers
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=2))
    group = producer.group()
    with pytest.raises(errors.CommitOutcomeUnknown, match="MQRC_HOST_NOT_AVAILABLE") as caught, group:
        [group.put(data) for data in THIS]
    assert "Message 2 is the last of the group that is known to be committed" in str(caught.value)
    assert 4 < sum(clock.naps) < 8
    # When it can be reached again, then what is true is found out before anything is put.
    connection._connect = connect
    clock.on_sleep = lambda: None
    assert put_rest(producer) == committed
    producer.close()
    assert is_done(owner, "put")


@pytest.mark.embedded
def test_messages_that_another_consumer_took_meanwhile_are_told(owner, faults):
    owner.put_raw_group(THIS)
    # As long as messages are waited for, which may come back late.
    qmgr = owner.connect(reconnect_wait_s=0.2)
    consumer = owner.consumer(qmgr, commit_every=100)
    group = next(iter(consumer))
    messages = iter(group)
    for _ in range(3):
        next(messages)
    honest = connection_of(qmgr).binding.MQOPEN

    def somebody_was_faster(*arguments):
        handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
        handle.all(mq.MQGMO_NO_SYNCPOINT)
        handle.close()
        return honest(*arguments)

    faults.arm(Fault("drop", verb="MQGET"))
    owner.doctor(qmgr, MQOPEN=somebody_was_faster)
    with pytest.raises(errors.MessagesTaken, match=r"message 1 of group .* another consumer got it") as caught:
        next(messages)
    assert (caught.value.queue, caught.value.msg_seq_number) == (owner.queue, 1)
    assert list(consumer) == []
    consumer.close()
    assert owner.records("get") == []


@pytest.mark.embedded
def test_another_queue_manager_at_the_same_address_is_refused(owner, faults):
    qmgr = owner.connect(**RECONNECTS)
    producer = owner.producer(qmgr)
    connection = connection_of(qmgr)
    connection._q_mgr = replace(connection._q_mgr, identifier="QM1_2001-01-01_00.00.00")
    faults.arm(Fault("drop", verb="MQPUT"))
    group = producer.group()
    group.put(b"0")
    with pytest.raises(errors.QueueManagerChanged, match="expected QM1_2001-01-01"):
        group.put(b"1")
    assert owner.data() == []


@pytest.mark.embedded
def test_a_unit_of_work_that_the_queue_manager_backed_out_is_done_again(owner, faults):
    """2003, as when its log is full: nothing is lost but the unit of work."""
    connection = owner.connect(**RECONNECTS)
    with owner.producer(connection) as producer, producer.group() as group:
        for number, data in enumerate(THIS):
            if number == 3:
                faults.arm(Fault("answer", verb="MQCMIT", comp=mq.MQCC_WARNING, reason=mq.MQRC_BACKED_OUT))
            group.put(data)
    assert is_done(owner, "put")


@pytest.mark.embedded
def test_an_idle_connection_that_was_lost_is_noticed_and_made_again(owner, faults):
    connection = owner.connect(**RECONNECTS)
    with owner.producer(connection) as producer:
        for _ in range(3):
            faults.arm(Fault("drop"))
            put_rest(producer)
    assert owner.data() == THIS * 3
    assert connection_of(connection).generation == 3


@pytest.mark.embedded
def test_a_commit_found_to_have_taken_effect_stays_so_when_the_connection_is_lost_once_more(owner, faults):
    owner.put_raw_group(THIS)
    connection = owner.connect(**RECONNECTS)
    faults.clear_faults()
    # The first commit claims the name. Of the second the answer is lost, and then that of opening the queue again.
    faults.arm(Fault("drop", "after", verb="MQCMIT", nth=2))
    faults.arm(Fault("drop", "after", verb="MQOPEN", nth=6))
    get_all(owner, connection)
    assert faults.faults_fired() == 2

"""Connections: how they are made, what breaks them, whose unit of work it is, and that closing never commits one."""

# ruff: noqa: PT012, SIM117 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import pickle
import sys
import types
from typing import Any

import pytest

import mqgroups
from mqembedded import Fault
from mqembedded import constants as mq
from mqgroups import errors, operate
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import structures as st
from tests.put.whole_groups import THIS

# --- connecting


def test_a_connection_knows_its_queue_manager(owner, binding):
    qmgr = owner.connect()
    assert qmgr.q_mgr_name == owner.target.q_mgr_name
    assert qmgr.q_mgr_identifier.startswith(owner.target.q_mgr_name)
    assert connection_of(qmgr).max_uncommitted_msgs >= 3
    assert repr(qmgr) == f"<QueueManager {qmgr.q_mgr_name} over {binding.__name__} open>"
    qmgr.close()
    assert repr(qmgr) == f"<QueueManager {qmgr.q_mgr_name} over {binding.__name__} closed>"


@pytest.mark.embedded
def test_a_wrong_password_is_2035_and_is_not_shown(owner):
    with pytest.raises(
        errors.NotAuthorised, match=r"MQCONNX for queue manager QM1 at .* failed: reason 2035"
    ) as caught:
        owner.connect(user="app", password="wr0ng-secret")
    assert "AMQ9776 or AMQ9777: a CHLAUTH record" in str(caught.value)
    assert f"DISPLAY CHLAUTH('{owner.target.channel}') MATCH(RUNCHECK)" in str(caught.value)
    assert "AMQ5534: user or password" in str(caught.value)
    assert "wr0ng" not in str(caught.value) + repr(caught.value) + repr(caught.value.__dict__)


def test_an_unknown_queue_manager_is_2058_and_not_tried_again(owner, clock):
    wait = {"connect_wait_s": 10, "sleep": clock.sleep}
    with pytest.raises(errors.MQIError, match="There is no queue manager of this name at that address") as caught:
        mqgroups.connect("QM.NOWHERE", owner.target.channel, owner.target.conn_name, **wait)
    assert caught.value.reason == mq.MQRC_Q_MGR_NAME_ERROR
    assert clock.naps == []


@pytest.mark.embedded
def test_a_queue_sharing_group_is_not_a_queue_manager(own_queue_manager, binding, monkeypatch):
    """Any member may answer to its name (IBM MQ, "Connecting to queue sharing groups")."""
    monkeypatch.setenv("MQGROUPS_MQI", binding.__name__)
    member = own_queue_manager(platform="zos", queue_sharing_group="QSG1")
    sentence = r"queue manager QM2 answered, asked for QSG1.*queue sharing group.*Name the queue manager"
    with pytest.raises(errors.ConfigurationError, match=sentence):
        mqgroups.connect("QSG1", member.channel, member.conn_name)
    assert member.calls()["MQDISC"] == 1
    with pytest.raises(errors.MQIError, match="2058"):
        mqgroups.connect("QSG2", member.channel, member.conn_name)


def test_without_an_address_the_message_begins_with_what_says_it(owner, monkeypatch):
    for name in ("MQSERVER", "MQCHLLIB", "MQCHLTAB", "MQCCDTURL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(errors.MQIError) as caught:
        mqgroups.connect("QM.NOWHERE")
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert str(error).startswith(
            "MQCONNX for queue manager QM.NOWHERE failed: reason 2058 MQRC_Q_MGR_NAME_ERROR. No address was given (conn_name), "
            "and then MQSERVER or a channel definition table must name one: check that it is set"
        )


@pytest.mark.embedded
def test_an_unknown_channel_is_2540(owner):
    with pytest.raises(errors.MQIError, match="Define the server-connection channel") as caught:
        mqgroups.connect(owner.target.q_mgr_name, "NO.SUCH.CHANNEL", owner.target.conn_name)
    assert caught.value.reason == mq.MQRC_UNKNOWN_CHANNEL_NAME


@pytest.mark.embedded
def test_connecting_where_nothing_listens_is_tried_again_for_connect_wait_s(own_queue_manager, clock):
    late = own_queue_manager()
    late.stop()

    def connect(**more):
        return mqgroups.connect(late.q_mgr_name, late.channel, late.conn_name, **more)

    with pytest.raises(errors.ConnectionBroken) as caught:
        connect()
    assert caught.value.reason in (mq.MQRC_HOST_NOT_AVAILABLE, mq.MQRC_Q_MGR_NOT_AVAILABLE)
    assert late.conn_name in str(caught.value)
    with pytest.raises(errors.ConnectionBroken):
        connect(connect_wait_s=10, sleep=clock.sleep)
    assert 10 <= sum(clock.naps) < 12
    clock.naps.clear()
    clock.on_sleep = lambda: late.start() if len(clock.naps) == 3 else None
    with connect(connect_wait_s=60, sleep=clock.sleep) as qmgr:
        assert qmgr.usable
    assert len(clock.naps) == 3


# --- after the end


def test_a_closed_connection_is_used_for_nothing(owner):
    qmgr = owner.connect()
    producer, consumer = owner.producer(qmgr), owner.consumer(qmgr)
    group = producer.group()
    group.put(b"0")
    qmgr.close()
    qmgr.close()
    for use in (
        lambda: owner.producer(qmgr),
        lambda: owner.consumer(qmgr),
        lambda: group.put(b"1"),
        lambda: next(iter(consumer)),
        lambda: connection_of(qmgr).open_queue(owner.queue, mq.MQOO_OUTPUT),
    ):
        with pytest.raises(errors.GroupUsage, match=r"connection to .* is closed"):
            use()
    producer.close()
    consumer.close()
    assert owner.data() == []


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_dropped_connection_is_clear_and_stays_so_and_a_new_one_resumes(owner, faults, when):
    qmgr = owner.connect()
    producer = owner.producer(qmgr)
    with pytest.raises(errors.ConnectionBroken) as caught, producer.group() as group:
        owner.put_all(group, THIS[:4])
        faults.arm(Fault("drop", when, verb="MQPUT"))
        group.put(THIS[4])
    assert (caught.value.verb, caught.value.reason) == ("MQPUT", mq.MQRC_CONNECTION_BROKEN)
    assert "Message 2 is the last of the group that is known to be committed" in str(caught.value)
    assert not qmgr.usable
    assert repr(qmgr).endswith(" broken>")
    assert repr(producer).endswith(" broken>")
    with pytest.raises(errors.ConnectionBroken), producer.group() as group:
        group.put(b"2")
    with pytest.raises(errors.ConnectionBroken):
        owner.producer(qmgr)
    producer.close()
    qmgr.close()
    owner.resume_put(THIS, owner_wait_s=30)
    assert owner.data() == THIS


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_dropped_at_a_get_is_clear_and_a_new_one_resumes(owner, faults, when):
    owner.put_raw_group(THIS)
    got = []
    qmgr = owner.connect()
    consumer = owner.consumer(qmgr)
    with pytest.raises(errors.ConnectionBroken, match="Message 2 is the last"):
        for message in next(iter(consumer)):
            got.append(message.data)
            if len(got) == 4:
                faults.arm(Fault("drop", when, verb="MQGET"))
    qmgr.close()
    with owner.consumer(owner_wait_s=30) as consumer:
        group = next(iter(consumer))
        assert group.resume_from == 2
        assert [message.data for message in group] == THIS[2:]
    assert owner.data() == []


# --- closing backs out


@pytest.mark.parametrize("role", ["producer", "consumer"])
def test_what_is_closed_in_order_does_not_look_broken(owner, role):
    qmgr = owner.connect()
    driver = getattr(owner, role)(qmgr)
    assert repr(driver).endswith(" open>")
    qmgr.close()
    assert repr(driver).endswith(" closed>")
    driver.close()


@pytest.mark.embedded
def test_closing_backs_out_before_it_disconnects(owner, count_calls):
    qmgr = owner.connect()
    owner.open_group(THIS, qmgr, commit_every=10, put_response="sync")
    count_calls()
    qmgr.close()
    assert count_calls() == {"MQBACK": 1, "MQDISC": 1}
    assert owner.data() == []


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("reason", "close_first"),
    [
        (mq.MQRC_Q_MGR_QUIESCING, "producer"),
        (mq.MQRC_CONNECTION_STOPPING, "connection"),
        (mq.MQRC_Q_MGR_NOT_AVAILABLE, "connection without the block"),
        (mq.MQRC_HCONN_ERROR, "producer"),
        (mq.MQRC_CONNECTION_BROKEN, "connection without the block"),
        (mq.MQRC_RESOURCE_PROBLEM, "connection"),
    ],
)
def test_a_connection_that_seems_gone_but_is_not_commits_nothing_when_it_is_closed(owner, faults, reason, close_first):
    """A quiescing queue manager refuses calls on a connection that lives; MQDISC on it would commit."""
    qmgr = owner.connect()
    producer = owner.producer(qmgr, commit_every=10, put_response="sync")
    group = producer.group()
    owner.put_all(group, THIS[:5])
    faults.arm(Fault("answer", verb="MQPUT", reason=reason))
    with pytest.raises(errors.MQIError):
        group.put(THIS[5])
    if close_first != "connection without the block":
        with pytest.raises(errors.GroupUsage, match="failed with"), group:
            pass
    if close_first == "producer":
        producer.close()
    qmgr.close()
    assert owner.data() == []
    with owner.producer() as producer, producer.group() as group:
        assert group.resume_from == 0
        group.put(b"0")
    assert owner.data() == [b"0"]


@pytest.mark.embedded
def test_a_quiescing_queue_manager_keeps_what_a_consumer_has_not_committed(owner, faults):
    owner.put_raw_group(THIS)
    qmgr = owner.connect()
    with pytest.raises(errors.ConnectionBroken):
        for message in next(iter(owner.consumer(qmgr))):
            if message.msg_seq_number == 5:
                faults.arm(Fault("answer", verb="MQGET", reason=mq.MQRC_CONNECTION_QUIESCING))
    qmgr.close()
    assert owner.data() == THIS[4:]
    assert owner.get_groups() == [THIS[4:]]


@pytest.mark.embedded
def test_after_a_failed_mqback_the_connection_is_good_for_nothing_but_closing(owner, faults):
    qmgr = owner.connect()
    producer = owner.producer(qmgr)
    faults.arm(Fault("answer", verb="MQBACK", reason=mq.MQRC_RESOURCE_PROBLEM))
    with pytest.raises(errors.MQIError, match=r"MQBACK .* failed: reason 2102"), producer.group() as group:
        owner.put_all(group, THIS[:4])
        raise KeyError
    # What was in the unit of work still is: with the same connection it would be committed together with what comes.
    assert not qmgr.usable
    with pytest.raises(errors.ConnectionBroken), producer.group() as group:
        group.put(THIS[2])
    qmgr.close()
    assert owner.resume_put(THIS) == 2
    assert owner.data() == THIS


@pytest.mark.embedded
def test_without_mqback_there_is_no_mqdisc(owner, faults, count_calls, caplog):
    qmgr = owner.connect()
    owner.open_group(THIS[:4], qmgr, put_response="sync")
    connection = connection_of(qmgr)
    binding, hconn = connection.binding, connection.hconn
    count_calls()
    faults.arm(Fault("answer", verb="MQBACK", reason=mq.MQRC_RESOURCE_PROBLEM))
    qmgr.close()
    assert count_calls() == {"MQBACK": 1}
    assert "MQDISC is not called" in caplog.text
    assert owner.data() == THIS[:2]
    # Else it would stay until this process ends, in the way of the test's end.
    assert binding.MQBACK(hconn) == binding.MQDISC(hconn) == (0, 0)


@pytest.mark.embedded
@pytest.mark.parametrize("verb", ["MQGET", "MQINQ"])
def test_an_error_of_a_connection_that_was_lost_before_names_the_verb_that_lost_it(owner, faults, verb):
    connection = connection_of(owner.connect(reconnect_wait_s=0))
    queue = connection.open_queue(owner.queue, mq.MQOO_INPUT_SHARED | mq.MQOO_INQUIRE)
    faults.arm(Fault("drop", verb=verb))
    calls = {
        "MQGET": lambda: queue.get(st.md(), st.gmo(mq.MQGMO_NO_WAIT)),
        "MQINQ": lambda: queue.inquire(mq.MQIA_Q_TYPE),
    }
    with pytest.raises(errors.ConnectionBroken):
        calls[verb]()
    for call in (
        lambda: connection.open_queue(owner.queue, mq.MQOO_INQUIRE),
        lambda: connection.begin(owner),
    ):
        with pytest.raises(errors.ConnectionBroken) as lost:
            call()
        assert lost.value.verb == verb


# --- whose unit of work


def test_two_drivers_at_the_same_time_need_a_connection_each(owner, make_owner):
    other = make_owner()
    qmgr = owner.qmgr
    with owner.producer(qmgr, commit_every=10) as mine, other.producer(qmgr, commit_every=10) as theirs:
        with mine.group() as group:
            group.put(b"0")
            group.put(b"1")
            with pytest.raises(errors.GroupUsage, match=r"has an open unit of work .* a connection each"):
                with theirs.group() as refused:
                    refused.put(b"0")
                    refused.put(b"1")
            group.put(b"2")
    assert (owner.data(), other.data()) == ([b"0", b"1", b"2"], [])


def test_two_drivers_take_turns_on_one_connection(owner, make_owner):
    other = make_owner()
    other.put_raw_group(THIS)
    qmgr = owner.qmgr
    with other.consumer(qmgr, commit_every=1) as consumer, owner.producer(qmgr, commit_every=1) as producer:
        for group in consumer:
            with producer.group() as copy:
                for message in group:
                    del message
                copy.put(b"one group was here")
    assert owner.data() == [b"one group was here"]
    assert other.data() == []


def test_a_second_thread_is_refused_at_once_and_changes_nothing(owner, background):
    """One is inside MQPUT when the other one comes."""
    qmgr = owner.connect()
    honest = connection_of(qmgr).binding.MQPUT
    refused: list[object] = []

    def mqput(hconn, hobj, md, pmo, data):
        if data == THIS[3]:
            background(use_all).result(30)
        return honest(hconn, hobj, md, pmo, data)

    def use_all():
        for use in (lambda: group.put(b"other"), producer.group, producer.close, lambda: owner.producer(qmgr)):
            with pytest.raises(errors.GroupUsage, match=r"another thread is in a call .* Nothing was changed"):
                use()
            refused.append(use)

    owner.doctor(qmgr, MQPUT=mqput)
    with owner.producer(qmgr) as producer:
        group = producer.group()
        with group:
            owner.put_all(group, THIS)
    assert len(refused) == 4
    assert owner.data() == THIS
    assert owner.records("put") == []


# --- a connection of the application's own


def test_closing_a_wrapped_connection_backs_out_so_that_its_own_disconnecting_commits_nothing(owner, mq, binding):
    q_mgr = mq.connect(binding)
    qmgr = mqgroups.wrap(q_mgr)
    owner.open_group(THIS[:4], qmgr)
    qmgr.close()
    q_mgr.disconnect()
    assert owner.data() == THIS[:2]
    assert owner.record("put")["msg_seq_number"] == 2


def test_one_connection_may_be_used_by_one_thread_after_the_other(owner, background):
    with owner.producer() as producer, producer.group() as group:
        for data in THIS:
            background(group.put, data).result()
    with owner.consumer() as consumer:
        assert background(lambda: [[message.data for message in group] for group in consumer]).result() == [THIS]


def test_a_wrapped_connection_in_another_thread_is_a_clear_error_and_commits_nothing(owner, mq, binding, background):
    if binding.__name__ == "ibmmq":
        pytest.skip("ibmmq connects with MQCNO_HANDLE_SHARE_BLOCK always")
    # Connected with MQCNO_NONE, the handle is its thread's own.
    q_mgr = mq.connect(binding)
    qmgr = mqgroups.wrap(q_mgr)
    producer = owner.producer(qmgr)
    group = producer.group()
    owner.put_all(group, THIS[:4])
    with pytest.raises(errors.ConnectionBroken, match="not valid in this thread") as caught:
        background(group.put, THIS[4]).result()
    assert caught.value.reason == 2018
    producer.close()
    qmgr.close()
    q_mgr.disconnect()
    assert owner.data() == THIS[:2]
    assert owner.resume_put(THIS) == 2
    assert owner.data() == THIS


def test_only_queue_manager_objects_of_a_binding_can_be_wrapped():
    things: list[Any] = [None, object(), types.SimpleNamespace(get_handle=lambda: 1), "QM1"]
    for thing in things:
        with pytest.raises(
            errors.ConfigurationError, match=r"expected a pymqi\.QueueManager or an ibmmq\.QueueManager"
        ):
            mqgroups.wrap(thing)


def test_what_is_no_connection_of_this_package_is_told_what_makes_one(binding):
    others: list[Any] = ["QM1", binding.QueueManager(None)]
    for other in others:
        for use in (mqgroups.QueueManager, operate.find_owners):
            with pytest.raises(errors.ConfigurationError, match=r"mqgroups\.connect or mqgroups\.wrap, got"):
                use(other)


def test_an_object_that_is_not_connected_cannot_be_wrapped(binding):
    with pytest.raises(errors.ConfigurationError, match="not connected") as refused:
        mqgroups.wrap(binding.QueueManager(None))
    assert [len(refused.traceback), refused.value.__suppress_context__] == [2, True]


def test_what_cannot_sleep_is_refused_when_a_connection_is_wrapped(mq, binding):
    own, sleep = mq.connect(binding), 5
    with pytest.raises(errors.ConfigurationError, match="sleep must be a function, got 5"):
        mqgroups.wrap(own, sleep=sleep)  # type: ignore[arg-type]  # no function
    own.disconnect()


# --- queues


def test_a_message_longer_than_the_buffer_is_got_with_a_bigger_one(owner):
    owner.put_raw(b"x" * 300_000)
    queue = connection_of(owner.qmgr).open_queue(owner.queue, mq.MQOO_INPUT_SHARED)
    got = queue.get(st.md(), st.gmo(mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_NO_WAIT))
    assert got is not None
    assert got[0] == b"x" * 300_000
    assert queue.get(st.md(), st.gmo(mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_NO_WAIT)) is None
    queue.close()
    queue.close()


@pytest.mark.embedded
def test_where_only_short_messages_are_carried_a_record_is_read(make_owner, own_queue_manager, tmp_path):
    mqsc = tmp_path / "short.mqsc"
    mqsc.write_text("ALTER QMGR MAXMSGL(32768)\nDEFINE QLOCAL(SHORT) DEFPSIST(YES) SHARE DEFSOPT(SHARED)\n")
    owner = make_owner(own_queue_manager(mqsc=[mqsc]), "SHORT")
    owner.interrupt_put([b"0", b"1", b"2"], commit_every=1)
    with owner.producer() as producer, producer.group() as group:
        assert group.resume_from == 2
        group.put(b"2")
    assert owner.get_groups() == [[b"0", b"1", b"2"]]


def test_an_unfinished_group_is_no_error_when_the_queue_is_closed(owner):
    queue = connection_of(owner.qmgr).open_queue(owner.queue, mq.MQOO_OUTPUT)
    pmo = st.pmo(mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_LOGICAL_ORDER)
    queue.put(st.md(msg_flags=mq.MQMF_MSG_IN_GROUP), pmo, b"first")
    queue.close()
    assert owner.data() == [b"first"]


def test_a_warning_at_a_put_is_an_error(owner):
    queue = connection_of(owner.qmgr).open_queue(owner.queue, mq.MQOO_OUTPUT)
    in_order = st.pmo(mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_LOGICAL_ORDER)
    queue.put(st.md(msg_flags=mq.MQMF_MSG_IN_GROUP), in_order, b"first")
    with pytest.raises(errors.MQIError, match="ended with a warning: reason 2241 MQRC_INCOMPLETE_GROUP"):
        queue.put(st.md(), st.pmo(mq.MQPMO_NO_SYNCPOINT), b"not in the group")


def test_attributes_are_inquired_as_numbers_and_as_names(owner):
    queue = connection_of(owner.qmgr).open_queue(owner.queue, mq.MQOO_INQUIRE)
    owner.put_raw(b"0")
    assert queue.inquire(mq.MQIA_CURRENT_Q_DEPTH) == 1
    with pytest.raises(errors.MQIError, match=r"MQINQ for queue .* reason 2067"):
        queue.inquire(1_999_999)
    queue.close()


@pytest.mark.embedded
def test_a_queue_whose_close_was_refused_is_closed_before_the_next_one_is_opened(owner, faults):
    connection = connection_of(owner.connect())
    queue = connection.open_queue(owner.queue, mq.MQOO_INPUT_EXCLUSIVE)
    faults.arm(Fault("answer", verb="MQCLOSE", reason=mq.MQRC_RESOURCE_PROBLEM))
    with pytest.raises(errors.MQIError, match="MQCLOSE"):
        queue.close()
    connection.open_queue(owner.queue, mq.MQOO_INPUT_EXCLUSIVE).close()


@pytest.mark.embedded
def test_administrators_see_the_name_that_an_application_gives_itself(mq, binding, monkeypatch):
    if binding.__name__ != "ibmmq":
        pytest.skip("pymqi has no field for it")
    monkeypatch.setenv("MQGROUPS_MQI", "ibmmq")
    monkeypatch.setattr(sys, "argv", ["/opt/app/orders.py"])
    with mqgroups.connect(mq.q_mgr_name, mq.channel, mq.conn_name):
        for command in ("DISPLAY CONN(*) WHERE(APPLTAG EQ 'orders.py') APPLTAG", "DISPLAY CHSTATUS(*) RAPPLTAG"):
            assert "APPLTAG(orders.py)" in "".join(mq.queue_manager.control.mqsc(command)[1])


@pytest.mark.embedded
def test_a_channel_that_is_given_is_used_where_a_local_queue_manager_would_be_tried_first(
    mq, own_queue_manager, binding, monkeypatch
):
    monkeypatch.setenv("MQGROUPS_MQI", binding.__name__)
    monkeypatch.setenv("MQEMBEDDED_LOCAL_BINDINGS", own_queue_manager("QMLOCAL").conn_name)
    with mqgroups.connect(mq.q_mgr_name, mq.channel, mq.conn_name) as q_mgr:
        assert mq.q_mgr_name in repr(q_mgr)

"""The status queue: made, opened exclusively, read, and left alone when what is on it is not this owner's record."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from embedded_tests.fix_mqi import OK
from mqembedded import Fault
from mqembedded import constants as c
from mqgroups import errors, operate
from mqgroups.connection.holder import connection_of
from mqgroups.core.model import Role
from mqgroups.core.status import RecordState, decode, encode
from mqgroups.mqi import constants as mq
from mqgroups.operate.repaired import RepairedQueue
from tests.put.whole_groups import THIS, put_rest

MODEL = "MQGROUPS.STATUS.MODEL"
ROLES = pytest.mark.parametrize("role", ["put", "get"])


def put_records(owner, role, *records):
    """Put messages on the status queue, which is made if it is not there."""
    owner.start(role).close()
    for record in records:
        owner.put_raw(record, owner.status_queue(role))


def put_pair(owner, role, **more):
    """Put an anchor and a record of it, as an owner leaves them that dies in a group; returns both as they lie there."""
    owner.start(role).close()
    name = owner.status_queue(role)
    owner.put_raw(encode(owner.status_record(role, state=RecordState.ANCHOR)), name)
    (anchor,) = owner.on_queue(name)
    owner.put_raw(encode(owner.status_record(role, **more)), name, CorrelId=anchor.md.MsgId)
    _, record = owner.on_queue(name)
    return anchor, record


def take_hidden(owner, role, *messages, then_put=None):
    """Get messages of the status queue in a unit of work, and close the handle: who did it is dying."""
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_OUTPUT)
    for message in messages:
        assert handle.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_MSG_ID, MsgId=message.md.MsgId).code == OK
    if then_put is not None:
        assert handle.put(then_put, mq.MQPMO_SYNCPOINT, CorrelId=messages[-1].md.CorrelId).code == OK
    assert handle.close() == OK


def is_free(owner, role):
    """Whether nobody has the status queue open."""
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_INPUT_EXCLUSIVE)
    handle.close()
    return handle.code.reason == 0


# --- made and opened


@ROLES
def test_it_is_made_from_the_model_queue_and_outlives_the_connection(owner, role):
    assert not owner.has_status_queue(role)
    qmgr = owner.connect()
    owner.start(role, qmgr)
    qmgr.close()
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_INQUIRE)
    assert handle.inquire(mq.MQIA_DEFINITION_TYPE)[1] == mq.MQQDT_PERMANENT_DYNAMIC
    handle.close()


@ROLES
def test_it_is_open_exclusively_as_long_as_its_owner_is(owner, role):
    driver = owner.start(role)
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_INPUT_SHARED)
    assert handle.code.reason == mq.MQRC_OBJECT_IN_USE
    driver.close()
    assert is_free(owner, role)


def test_a_producer_and_a_consumer_of_one_name_are_not_in_each_others_way(owner):
    with owner.producer(), owner.consumer():
        assert not is_free(owner, "put")
        assert not is_free(owner, "get")


@ROLES
def test_without_a_model_queue_it_is_said_what_to_define(owner, role):
    with pytest.raises(errors.StatusQueueUnusable) as caught:
        owner.start(role, status_model="NO.SUCH.MODEL")
    status_queue = owner.status_queue(role)
    assert caught.value.status_queue == status_queue
    assert f"DEFINE QLOCAL('{status_queue}') DEFPSIST(YES) NOSHARE DEFSOPT(EXCL) MSGDLVSQ(FIFO)" in str(caught.value)
    assert "DEFINE QMODEL('NO.SUCH.MODEL') DEFTYPE(PERMDYN)" in str(caught.value)


@ROLES
def test_a_temporary_dynamic_queue_is_refused_and_not_left_behind(owner, role):
    with pytest.raises(errors.StatusQueueUnusable, match=r"temporary dynamic.*DEFTYPE\(PERMDYN\)") as caught:
        owner.start(role, status_model="TEST.TEMPORARY.MODEL")
    assert (caught.value.found, caught.value.expected) == ("temporary dynamic", "predefined or permanent dynamic")
    assert not owner.has_status_queue(role)
    owner.start(role).close()


@ROLES
def test_a_model_that_is_a_local_queue_is_refused_and_left_as_it_is(owner, role, make_queue):
    local = make_queue()
    owner.put_raw(b"data", local)
    with pytest.raises(errors.StatusQueueUnusable, match=f"{local} is not a model queue") as caught:
        owner.start(role, status_model=local)
    assert caught.value.expected == "a model queue"
    assert [found.data for found in owner.on_queue(local)] == [b"data"]
    handle = owner.eye.open(local, mq.MQOO_INPUT_EXCLUSIVE)
    assert handle.code.reason == 0
    handle.close()


@pytest.mark.embedded
def test_when_another_instance_makes_it_first_it_is_opened(owner, faults):
    owner.producer().close()
    # As if it had not been there yet: 2085, then 2100 from the model queue, because it is there now.
    faults.arm(Fault("answer", verb="MQOPEN", reason=mq.MQRC_UNKNOWN_OBJECT_NAME))
    owner.put_group(THIS)
    assert owner.data() == THIS


@pytest.mark.embedded
def test_when_it_may_not_be_made_the_error_says_so(owner, faults):
    qmgr = owner.qmgr
    faults.arm(Fault("answer", verb="MQOPEN", nth=2, reason=mq.MQRC_NOT_AUTHORIZED))
    with pytest.raises(errors.NotAuthorised, match=f"MQOPEN for queue {MODEL} failed: reason 2035") as caught:
        owner.producer(qmgr)
    assert caught.value.reason == mq.MQRC_NOT_AUTHORIZED


@ROLES
def test_the_data_queue_or_the_model_queue_is_no_status_queue(owner, role):
    qmgr = owner.qmgr
    owner.doctor(qmgr, MQOPEN=None)
    for name in (owner.queue, MODEL):
        with pytest.raises(errors.ConfigurationError, match=f"status_queue='{name}' is also the (data|model) queue"):
            owner.start(role, qmgr, status_queue=name)


@pytest.mark.embedded
def test_an_alias_of_the_status_queue_is_no_data_queue(make_owner, own_queue_manager, tmp_path):
    """Opened, an alias tells the name of the queue behind it (MQOD, ResolvedQName)."""
    mqsc = tmp_path / "alias.mqsc"
    mqsc.write_text("".join(f"DEFINE QALIAS({role}) TARGET('MQGROUPS.{role}.ALIASED')\n" for role in ("PUT", "GET")))
    owner = make_owner(own_queue_manager(mqsc=[mqsc]), "ORDERS", name="ALIASED")

    def pipe(*queues):
        owner.qmgr.group_pipe(*queues, name=owner.name, commit_every=2, owner_wait_s=0)

    uses = [
        ("put", lambda: owner.producer(queue="PUT")),
        ("put", lambda: pipe("ORDERS", "PUT")),
        ("get", lambda: owner.consumer(queue="GET")),
        ("get", lambda: pipe("GET", "ORDERS")),
    ]
    for role, use in uses:
        status_queue = owner.status_queue(role)
        owner.start(role).close()
        with pytest.raises(
            errors.ConfigurationError,
            match=rf"status_queue='{status_queue}' is also the data queue \(its alias {role.upper()}\)",
        ):
            use()
        assert owner.on_queue(status_queue) == []
        assert is_free(owner, role)
        owner.start(role).close()


def test_a_pipe_is_not_between_a_queue_and_the_others_status_queue(owner):
    owner.producer().close()
    owner.consumer().close()
    for queues in ((owner.status_queue("put"), owner.queue), (owner.queue, owner.status_queue("get"))):
        with pytest.raises(
            errors.ConfigurationError, match="A status queue holds the records of one owner and nothing else"
        ):
            owner.qmgr.group_pipe(*queues, name=owner.name, commit_every=2, owner_wait_s=0)
    assert is_free(owner, "put")
    assert is_free(owner, "get")


# --- records that are not this owner's, or no records at all


# What a record says: of an interrupted group, of a completed one with a checkpoint or without, or nothing yet.
SAYINGS: dict[str, dict[str, Any]] = {
    "in group": {},
    "checkpoint": {"state": RecordState.COMPLETED, "checkpoint": 7},
    "completed": {"state": RecordState.COMPLETED},
    "idle": {"state": RecordState.IDLE},
}
OTHER = {"put": "get", "get": "put"}
ELSEWHERE = [("queue", "ANOTHER.QUEUE"), ("q_mgr_identifier", "QM9_2001-01-01_00.00.00")]


@ROLES
def test_a_record_of_somebody_else_stops_and_is_left_where_it_is(owner, role):
    others = [
        *((*other, saying) for other in [("name", "SOMEBODY.ELSE"), ("role", OTHER[role])] for saying in SAYINGS),
        *((*other, saying) for other in ELSEWHERE for saying in ("in group", "checkpoint")),
    ]
    expected = {
        "name": owner.name,
        "queue": owner.queue,
        "q_mgr_identifier": owner.qmgr.q_mgr_identifier,
        "role": role,
    }
    owner.put_raw(b"on the queue")
    for field, found, saying in others:
        value = Role(found) if field == "role" else found
        data = encode(dataclasses.replace(owner.status_record(role), **SAYINGS[saying], **{field: value}))
        put_records(owner, role, data)
        with pytest.raises(errors.StatusQueueUnusable) as caught:
            owner.start(role)
        error = caught.value
        assert (error.because, error.field, error.found, error.expected) == ("foreign", field, found, expected[field])
        assert error.status_queue == owner.status_queue(role)
        assert f"has {field} {found!r}, expected {expected[field]!r}" in str(error)
        assert "Nothing was changed. Correct the settings, or let the record's owner finish its group" in str(error)
        assert owner.take_record(role) == data
        assert owner.data() == [b"on the queue"]
        assert is_free(owner, role)


@ROLES
@pytest.mark.parametrize(
    "fields",
    [{"MsgType": 4, "Feedback": 258}, {"MsgType": 4}, {"Feedback": 258}, {"Report": 64}, {"PutApplType": 7}],
    ids=str,
)
def test_a_record_in_a_report_stops_and_can_be_moved_away(owner, make_queue, role, fields):
    """A queue manager puts reports with the user of a program that has moved a message: this is the owner's own."""
    owner.start(role).close()
    data = encode(owner.status_record(role, checkpoint={"rows": 123456}))
    sets = "PutApplType" in fields
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_OUTPUT | (c.MQOO_SET_ALL_CONTEXT if sets else 0))
    assert handle.put(data, c.MQPMO_SET_ALL_CONTEXT if sets else 0, **fields).code == OK
    handle.close()
    with pytest.raises(errors.StatusQueueUnusable, match="expected a datagram that a program has put") as caught:
        owner.start(role)
    assert caught.value.because == "corrupt"
    assert all(f"{name} {value}" in str(caught.value.found) for name, value in fields.items())
    (seen,) = operate.find_owners(owner.qmgr, names=[owner.name], status_queues=[owner.status_queue(role)]).owners
    assert (seen.state, seen.record) == (operate.OwnerState.UNREADABLE, None)
    away = make_queue()
    operate.salvage_owner(
        owner.qmgr, owner.name, role, queue=owner.queue, unreadable_to=away, accept=["nothing-interrupted"]
    )
    assert [found.data for found in owner.on_queue(away)] == [data]
    with owner.start(role) as started:
        assert started.checkpoint is None


@ROLES
def test_a_record_with_a_name_that_no_owner_can_have_is_none_and_does_not_rename_its_queue(owner, role):
    put_records(owner, role, encode(owner.status_record(role, name="X; touch owned #")))
    with pytest.raises(errors.StatusQueueUnusable, match="found the name 'X; touch owned #'") as caught:
        owner.start(role)
    assert caught.value.because == "corrupt"
    (seen,) = operate.find_owners(owner.qmgr, names=[owner.name], status_queues=[owner.status_queue(role)]).owners
    assert (seen.name, seen.state) == (owner.name, operate.OwnerState.UNREADABLE)


@ROLES
def test_a_record_of_another_queue_that_says_nothing_is_nobodys_group(owner, role):
    """A program was started with a wrong queue name, and is started with the right one now."""
    for field, found in ELSEWHERE:
        for saying in ("completed", "idle"):
            other = dataclasses.replace(owner.status_record(role), **SAYINGS[saying], **{field: found})
            put_records(owner, role, encode(other))
            with owner.start(role):
                record = owner.record(role)
                assert (record["epoch"], record["queue"]) == (4, owner.queue)
            assert (owner.records(role), owner.anchors(role)) == ([], 0)


@pytest.mark.parametrize(("role", "number"), [("put", 2), ("get", 3)])
def test_more_than_one_record_stops_and_all_are_left(owner, role, number):
    records = [encode(owner.status_record(role, epoch=epoch)) for epoch in range(1, number + 1)]
    put_records(owner, role, *records)
    with pytest.raises(errors.StatusQueueUnusable) as caught:
        owner.start(role)
    found = f"{number} records, more than one of them still needed"
    assert f"holds {found}, expected one" in str(caught.value)
    assert "keep the record of its owner's user with the highest epoch and unit_of_work" in str(caught.value)
    assert (caught.value.because, caught.value.found, caught.value.expected) == ("several", found, "one")
    assert owner.records(role) == records
    assert is_free(owner, role)
    # When the operator has done so, then the group goes on.
    owner.take(number - 1, owner.status_queue(role))
    driver = owner.start(role)
    assert " seq=4 " in repr(driver)
    driver.close()


# --- one owner at a time


@ROLES
def test_a_second_owner_waits_until_the_first_is_gone(owner, clock, role, caplog):
    caplog.set_level("INFO", "mqgroups")
    first = owner.start(role)
    clock.on_sleep = lambda: first.close() if len(clock.naps) == 3 else None
    owner.start(role, owner.connect(sleep=clock.sleep), owner_wait_s=30).close()
    assert len(clock.naps) == 3
    assert sum(f"waits for status queue {owner.status_queue(role)}" in each for each in caplog.messages) == 1


@ROLES
def test_a_second_owner_gives_up_after_owner_wait_s_and_says_what_to_do(owner, clock, role):
    with owner.start(role):
        with pytest.raises(errors.OwnerActive) as caught:
            owner.start(role, owner.connect(sleep=clock.sleep), owner_wait_s=3)
        assert 3 <= sum(clock.naps) < 6
        error = caught.value
        assert (error.verb, error.reason) == ("MQOPEN", mq.MQRC_OBJECT_IN_USE)
        assert f"MQOPEN for status queue {owner.status_queue(role)} failed: reason 2042" in str(error)
        assert "Another instance with this name is running" in str(error)
        assert "DISPLAY QSTATUS" in str(error)
        assert str(error).endswith("Waited 3 s")


@ROLES
@pytest.mark.parametrize("ends_by", ["commit", "back_out"])
def test_a_record_that_a_dying_instance_hides_is_waited_for(owner, clock, role, ends_by):
    """Its handle is closed already, and its unit of work with the old record got and the new one put still open."""
    _, old = put_pair(owner, role, unit_of_work=8)
    new = encode(owner.status_record(role, unit_of_work=9))
    take_hidden(owner, role, old, then_put=new)
    clock.on_sleep = lambda: getattr(owner.eye, ends_by)() if len(clock.naps) == 2 else None
    with owner.start(role, owner.connect(sleep=clock.sleep), owner_wait_s=30) as driver:
        assert len(clock.naps) == 2
        number = decode(new if ends_by == "commit" else old.data).unit_of_work + 1
        assert f" uow={number} " in repr(driver)


@ROLES
def test_a_record_that_stays_hidden_is_told_and_nothing_is_begun_beside_it(owner, clock, role):
    _, record = put_pair(owner, role)
    take_hidden(owner, role, record)
    # Neither the depth ("CurrentQDepth": a nonbrowse MQGET decrements it) nor an open handle tells of it: the anchor does.
    assert owner.eye.depth(owner.status_queue(role)) == 1
    with pytest.raises(errors.StatusQueueUnusable, match=r"has an anchor, but .* did not appear within 5 s") as caught:
        owner.start(role, owner.connect(sleep=clock.sleep), owner_wait_s=5)
    assert caught.value.status_queue == owner.status_queue(role)
    assert 5 <= sum(clock.naps) < 7
    assert owner.anchors(role) == 1
    assert owner.eye.back_out() == OK
    with owner.start(role) as driver:
        assert " seq=4 " in repr(driver)


@pytest.mark.parametrize("then", ["ends", "dies"])
@pytest.mark.parametrize("saying", ["completed", "idle"])
def test_a_pair_that_comes_back_behind_a_fresh_start_is_taken_away_by_the_next_claim(owner, saying, then):
    """Its owner died in the unit of work that takes record and anchor away, so the queue looked as if nobody had been there."""
    pair = put_pair(owner, "put", group_id=bytes(24), **SAYINGS[saying])
    take_hidden(owner, "put", *pair)
    assert owner.eye.depth(owner.status_queue("put")) == 0
    qmgr = owner.connect()
    producer = owner.producer(qmgr)
    assert owner.record("put")["epoch"] == 1
    assert owner.eye.back_out() == OK
    if then == "ends":
        with producer:
            put_rest(producer)
        # Two pairs lay there; this owner has taken its own.
        assert owner.records("put") == [pair[1].data]
    else:
        group = producer.group()
        owner.put_all(group, THIS[:5])
        qmgr.close()
    with owner.producer() as producer:
        # Whatever it found, there is one pair now, and it is its own.
        record = owner.record("put")
        assert (record["owner_id"] in (pair[1].data.decode(), "0" * 32), owner.anchors("put")) == (False, 1)
        if then == "dies":
            assert put_rest(producer) == 4
    assert (owner.records("put"), owner.anchors("put")) == ([], 0)
    assert owner.data() == THIS


@ROLES
def test_a_pair_that_comes_back_while_an_owner_finds_out_does_not_disturb_it(owner, faults, role):
    """What is its own counts before what another one of no group left, whatever the epochs."""
    pair = put_pair(owner, role, group_id=bytes(24), state=RecordState.IDLE)
    take_hidden(owner, role, *pair)
    owner.put_raw_group(THIS)
    put = owner.data() if role == "put" else []
    driver = owner.start(role, owner.connect(reconnect_wait_s=30))
    assert owner.eye.back_out() == OK
    faults.arm(Fault("drop", "after", 1, "MQCMIT"))
    if role == "put":
        put_rest(driver)
        assert owner.data() == put + THIS
    else:
        assert [[message.data for message in group] for group in driver] == [THIS]
    driver.close()
    with owner.start(role):
        assert (len(owner.records(role)), owner.anchors(role)) == (1, 1)
    assert (owner.records(role), owner.anchors(role)) == ([], 0)


@pytest.mark.embedded
def test_handles_that_are_closed_before_the_unit_of_work_is_backed_out_prove_nothing(make_owner, own_queue_manager):
    """IBM's texts do not say in which order a lost connection ends: here the queue is free before the record is back."""
    target = own_queue_manager(readings={"lost connection": "closes handles, then backs out"}, cleanup_gap_s=0.5)

    owner = make_owner(target, "ORDERS")
    producer = owner.producer(owner.connect())
    # Before the third commit: the second unit of work with messages. Its record is got, the new one put, and neither seen.
    target.arm(Fault("drop", "before", 2, "MQCMIT"))
    with pytest.raises(errors.CommitOutcomeUnknown):
        put_rest(producer)
    with owner.producer(owner_wait_s=30) as producer:
        assert " seq=2 " in repr(producer)
        put_rest(producer)
    assert owner.data() == THIS
    consumer = owner.consumer(owner.connect())
    target.arm(Fault("drop", "before", 2, "MQCMIT"))
    with pytest.raises(errors.CommitOutcomeUnknown):
        list(next(iter(consumer)))
    with owner.consumer(owner_wait_s=30) as consumer:
        assert " seq=2 " in repr(consumer)
        assert [(group.resume_from, [m.data for m in group]) for group in consumer] == [(2, THIS[2:])]
    for role in ("put", "get"):
        assert (owner.records(role), owner.anchors(role)) == ([], 0)


@ROLES
def test_a_record_without_an_anchor_is_given_one_by_the_next_claim(owner, role):
    put_records(owner, role, encode(owner.status_record(role)))
    assert owner.anchors(role) == 0
    owner.start(role)
    assert (len(owner.records(role)), owner.anchors(role)) == (1, 1)
    record = next(found for found in owner.on_queue(owner.status_queue(role)) if b"anchor" not in found.data)
    anchor = next(found for found in owner.on_queue(owner.status_queue(role)) if b"anchor" in found.data)
    assert record.md.CorrelId == anchor.md.MsgId


# --- in the unit of work


@pytest.mark.embedded
@ROLES
def test_a_record_that_is_gone_stops_and_backs_out(owner, faults, role):
    owner.put_raw_group(THIS)
    before = owner.data()
    driver = owner.start(role)

    def unit_of_work():
        if role == "get":
            for message in next(iter(driver)):
                if message.msg_seq_number == 4:
                    faults.arm(Fault("answer", verb="MQGET", reason=mq.MQRC_NO_MSG_AVAILABLE))
        else:
            with driver.group() as group:
                for data in THIS:
                    group.put(data)
                    if data == THIS[3]:
                        faults.arm(Fault("answer", verb="MQGET", reason=mq.MQRC_NO_MSG_AVAILABLE))

    with pytest.raises(errors.StatusQueueUnusable, match="Another program has removed it") as caught:
        unit_of_work()
    assert caught.value.status_queue == owner.status_queue(role)
    assert owner.record(role)["msg_seq_number"] == 2
    assert owner.data() == (before[2:] if role == "get" else before + THIS[:2])
    driver.close()


def test_what_a_unit_of_work_did_to_the_record_is_undone_with_it(owner):
    queue = RepairedQueue(connection_of(owner.qmgr), owner.status_queue("put"), MODEL, 0)
    assert queue.read() is None
    first, second = owner.status_record(), owner.status_record(unit_of_work=10)
    connection = connection_of(owner.qmgr)
    queue.replace(first)
    connection.back_out()
    assert owner.on_queue(owner.status_queue("put")) == []
    assert queue.read() is None
    queue.replace(first)
    connection.commit()
    assert queue.read() == first
    queue.replace(second)
    connection.back_out()
    assert owner.records("put") == [encode(first)]
    assert owner.anchors("put") == 1
    assert queue.read() == first
    queue.replace(second)
    connection.commit()
    assert queue.read() == second
    assert owner.anchors("put") == 1
    queue.take_away()
    assert queue.read() is None
    # Nothing is there to be removed.
    queue.take_away()
    assert owner.on_queue(owner.status_queue("put")) == []
    queue.close(delete=True)
    assert not owner.has_status_queue("put")


def test_a_predefined_status_queue_is_not_deleted_but_closed(owner):
    with pytest.raises(errors.MQIError, match="reason 2045 MQRC_OPTION_NOT_VALID_FOR_TYPE"):
        owner.producer(status_queue="TEST.LOCAL").delete_status_queue()
    owner.producer(status_queue="TEST.LOCAL").close()


def test_a_long_checkpoint_is_kept(owner):
    length = 3_000_000
    owner.interrupt_put(THIS[:4], checkpoints=[b"x" * length])
    with owner.producer() as producer:
        assert producer.checkpoint == b"x" * length
        with producer.group() as group:
            owner.put_all(group, THIS[2:])
    assert owner.data() == THIS


def test_a_checkpoint_longer_than_the_status_queue_takes_is_refused_and_the_group_resumable(owner):
    with owner.producer() as producer:
        with (
            pytest.raises(errors.MessageTooLong, match=f"queue {owner.status_queue('put')}"),
            producer.group() as group,
        ):
            for data in THIS:
                group.set_checkpoint("x" * 5_000_000)
                group.put(data)
        with producer.group() as group:
            assert (group.resume_from, group.checkpoint) == (0, None)
            owner.put_all(group, THIS)
    assert owner.data() == THIS


# --- names


@ROLES
def test_a_name_that_makes_no_queue_name_is_refused_before_any_call(owner, role):
    qmgr = owner.qmgr
    owner.doctor(qmgr, MQOPEN=None)
    for name, says in (
        ("", "has 0 characters; a name has 1 to 35"),
        ("N" * 36, "has 36 characters; a name has 1 to 35"),
        ("orders-loader", "has '-' at position 7"),
        ("ORDERS LOADER", "has ' ' at position 7"),
        ("BESTELLUNGEN.MÜLLER", "has 'Ü' at position 15"),
        ("A\n", r"has '\\n' at position 2"),
        ("A'B", 'has "\'" at position 2'),
        ("*", r"has '\*' at position 1"),
    ):
        with pytest.raises(errors.ConfigurationError, match=says):
            owner.start(role, qmgr, name=name)


@ROLES
@pytest.mark.parametrize("name", ["a", "N" * 35, "A.b/c_d%9"])
def test_a_name_of_mq_characters_makes_a_status_queue(owner, role, name):
    owner.name = name
    driver = owner.start(role)
    assert not is_free(owner, role)
    driver.close()


@pytest.mark.parametrize("side", ["producer", "consumer", "source of a pipe", "target of a pipe"])
def test_a_start_with_a_wrong_queue_leaves_no_status_queue(owner, side):
    wrong, settings = "NO.SUCH.QUEUE", {"name": owner.name, "commit_every": 2}
    start = {
        "producer": lambda: owner.qmgr.group_producer(wrong, **settings),
        "consumer": lambda: owner.qmgr.group_consumer(wrong, **settings),
        "source of a pipe": lambda: owner.qmgr.group_pipe(wrong, owner.queue, **settings),
        "target of a pipe": lambda: owner.qmgr.group_pipe(owner.queue, wrong, **settings),
    }[side]
    with pytest.raises(errors.QueueMissing, match=wrong):
        start()
    assert not any(owner.has_status_queue(role) for role in ("put", "get"))
    # One that was there stays.
    owner.put_group([b"1"])
    with pytest.raises(errors.QueueMissing, match=wrong):
        start()
    assert owner.has_status_queue("put")

"""The status queue: made, opened exclusively, read, and left alone when what is on it is not this owner's record."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle

import pytest

from mqgroups import errors
from mqgroups.core.model import Role
from mqgroups.core.status import RecordState, StatusRecord, decode, encode
from mqgroups.embedded import Fault
from mqgroups.mqi import constants as mq
from mqgroups.status_queue import StatusQueue

THIS = [b"%d" % number for number in range(7)]
MODEL = "MQGROUPS.STATUS.MODEL"
ROLES = pytest.mark.parametrize("role", ["put", "get"])


def start(owner, role, qmgr=None, **more):
    """Make a producer or a consumer."""
    return owner.producer(qmgr, **more) if role == "put" else owner.consumer(qmgr, **more)


def record_of(owner, role="put", **more):
    """Return a record that this owner could have left behind."""
    values = {
        "role": Role(role),
        "name": owner.name,
        "state": RecordState.IN_GROUP,
        "owner_id": "0" * 32,
        "epoch": 3,
        "unit_of_work": 9,
        "queue": owner.queue,
        "group_id": b"G" * 24,
        "msg_seq_number": 4,
        "q_mgr_identifier": owner.qmgr.q_mgr_identifier,
        "resolved_q_name": owner.queue if role == "put" else "",
        "resolved_q_mgr_name": owner.target.q_mgr_name if role == "put" else "",
        **more,
    }
    return StatusRecord(**values)


def put_records(owner, role, *records):
    """Put messages on the status queue, which is made if it is not there."""
    start(owner, role).close()
    for record in records:
        owner.put_raw(record, owner.status_queue(role))


def sealed(values):
    """Return a record's bytes with a right digest, whatever it says."""
    body = json.dumps(values, sort_keys=True, separators=(",", ":")).encode()[1:]
    return b'{"sha256":"' + hashlib.sha256(body).hexdigest().encode() + b'",' + body


def is_free(owner, role):
    """Whether nobody has the status queue open."""
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_INPUT_EXCLUSIVE)
    handle.close()
    return handle.code.reason == 0


# --- made and opened


@ROLES
def test_it_is_made_from_the_model_queue_and_outlives_the_connection(owner, role):
    assert owner.eye.open(owner.status_queue(role), mq.MQOO_INQUIRE).code.reason == mq.MQRC_UNKNOWN_OBJECT_NAME
    qmgr = owner.connect()
    start(owner, role, qmgr)
    qmgr.close()
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_INQUIRE)
    assert handle.inquire(mq.MQIA_DEFINITION_TYPE)[1] == mq.MQQDT_PERMANENT_DYNAMIC
    handle.close()


@ROLES
def test_it_is_open_exclusively_as_long_as_its_owner_is(owner, role):
    driver = start(owner, role)
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
        start(owner, role, status_model="NO.SUCH.MODEL")
    status_queue = owner.status_queue(role)
    assert caught.value.status_queue == status_queue
    assert f"DEFINE QLOCAL('{status_queue}') DEFPSIST(YES) NOSHARE DEFSOPT(EXCL)" in str(caught.value)
    assert "DEFINE QMODEL('NO.SUCH.MODEL') DEFTYPE(PERMDYN)" in str(caught.value)


@ROLES
def test_a_temporary_dynamic_queue_is_refused_and_not_left_behind(owner, role):
    with pytest.raises(errors.StatusQueueUnusable, match=r"temporary dynamic.*DEFTYPE\(PERMDYN\)") as caught:
        start(owner, role, status_model="TEST.TEMPORARY.MODEL")
    assert (caught.value.found, caught.value.expected) == ("temporary dynamic", "predefined or permanent dynamic")
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_INQUIRE)
    assert handle.code.reason == mq.MQRC_UNKNOWN_OBJECT_NAME
    start(owner, role).close()


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


# --- records that are not this owner's, or no records at all


def damaged(record):
    """Yield messages that are no status records, by what is wrong with them."""
    data = encode(record)
    yield "garbage", b"garbage"
    yield "empty", b""
    yield "cut", data[:-1]
    yield "longer", data + b" "
    yield "a bit flipped", data[:100] + bytes([data[100] ^ 1]) + data[101:]
    yield "in the digest", data[:20] + (b"0" if data[20:21] != b"0" else b"1") + data[21:]
    yield "no JSON", b'{"sha256":"' + hashlib.sha256(b"x").hexdigest().encode() + b'",' + b"x"
    values = json.loads(data)
    del values["sha256"]
    yield "a field missing", sealed({key: value for key, value in values.items() if key != "epoch"})
    yield "sequence number 0", sealed({**values, "msg_seq_number": 0})
    yield "sequence number too high", sealed({**values, "msg_seq_number": 1_000_000_000})
    yield "a short group id", sealed({**values, "group_id": "00"})
    yield "no such state", sealed({**values, "state": "asleep"})
    yield "no such role", sealed({**values, "role": "browse"})
    yield "not an object's content", sealed({"schema": 1})


@ROLES
def test_a_corrupt_record_stops_and_is_left_where_it_is(owner, role):
    put_records(owner, role)
    for what, data in damaged(record_of(owner, role)):
        owner.put_raw(data, owner.status_queue(role))
        with pytest.raises(errors.StatusRecordCorrupt) as caught:
            start(owner, role)
        text = str(caught.value)
        assert owner.status_queue(role) in text, what
        assert str(caught.value.found) in text, what
        assert "expected one status record of this package" in text, what
        assert "It was left where it is" in text, what
        assert owner.records(role) == [data], what
        assert is_free(owner, role), what
        owner.take_record(role)
    start(owner, role).close()


@ROLES
@pytest.mark.parametrize("schema", [0, 2, "1", None])
def test_a_record_of_another_version_stops_and_is_left_where_it_is(owner, role, schema):
    values = json.loads(encode(record_of(owner, role)))
    del values["sha256"]
    data = sealed({**values, "schema": schema, "new_field": 1})
    put_records(owner, role, data)
    with pytest.raises(errors.StatusRecordVersion, match="Go on with the version of mqgroups that wrote it") as caught:
        start(owner, role)
    assert (caught.value.found, caught.value.expected) == (f"schema version {schema!r}", "schema version 1")
    assert f"found schema version {schema!r}, expected schema version 1" in str(caught.value)
    assert owner.records(role) == [data]
    assert is_free(owner, role)


@ROLES
@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("name", "SOMEBODY.ELSE"),
        ("queue", "ANOTHER.QUEUE"),
        ("q_mgr_identifier", "QM9_2001-01-01_00.00.00"),
        ("role", ""),
    ],
)
@pytest.mark.parametrize("state", list(RecordState))
def test_a_record_of_somebody_else_stops_and_is_left_where_it_is(owner, role, field, found, state):
    other_role = "get" if role == "put" else "put"
    value = Role(other_role) if field == "role" else found
    expected = {
        "name": owner.name,
        "queue": owner.queue,
        "q_mgr_identifier": owner.qmgr.q_mgr_identifier,
        "role": role,
    }[field]
    data = encode(dataclasses.replace(record_of(owner, role), state=state, **{field: value}))
    put_records(owner, role, data)
    owner.put_raw(b"on the queue")
    with pytest.raises(errors.StatusRecordForeign) as caught:
        start(owner, role)
    found = other_role if field == "role" else found
    error = caught.value
    assert (error.field, error.found, error.expected) == (field, found, expected)
    assert error.status_queue == owner.status_queue(role)
    assert f"is of {field} {found!r}, expected {expected!r}" in str(error)
    assert "Nothing was changed: correct the settings, or let the record's owner finish its group" in str(error)
    assert owner.records(role) == [data]
    assert owner.data() == [b"on the queue"]
    assert is_free(owner, role)


@ROLES
@pytest.mark.parametrize("number", [2, 3])
def test_more_than_one_record_stops_and_all_are_left(owner, role, number):
    records = [encode(record_of(owner, role, epoch=epoch)) for epoch in range(1, number + 1)]
    put_records(owner, role, *records)
    with pytest.raises(errors.DuplicateStatusRecords) as caught:
        start(owner, role)
    assert f"holds {number} messages, expected one status record" in str(caught.value)
    assert "keep the record with the highest epoch and unit_of_work" in str(caught.value)
    assert (caught.value.found, caught.value.expected) == (number, 1)
    assert owner.records(role) == records
    assert is_free(owner, role)
    # When the operator has done so, then the group goes on.
    for _ in range(number - 1):
        owner.take_record(role)
    driver = start(owner, role)
    assert " seq=4 " in repr(driver)
    driver.close()


@pytest.mark.parametrize("wrong", [b"garbage", "foreign", "twice"])
def test_the_errors_pickle(owner, wrong):
    record = record_of(owner)
    records = {
        b"garbage": [b"garbage"],
        "foreign": [encode(dataclasses.replace(record, name="B"))],
        "twice": [encode(record)] * 2,
    }[wrong]
    put_records(owner, "put", *records)
    with pytest.raises(errors.StatusError) as caught:
        owner.producer()
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.__dict__) == (type(caught.value), str(caught.value), caught.value.__dict__)


# --- one owner at a time


@ROLES
def test_a_second_owner_waits_until_the_first_is_gone(owner, clock, role):
    first = start(owner, role)
    clock.on_sleep = lambda: first.close() if len(clock.naps) == 3 else None
    start(owner, role, owner.connect(sleep=clock.sleep), owner_wait_s=30).close()
    assert len(clock.naps) == 3


@ROLES
def test_a_second_owner_gives_up_after_owner_wait_s_and_says_what_to_do(owner, clock, role):
    with start(owner, role):
        with pytest.raises(errors.OwnerActive) as caught:
            start(owner, role, owner.connect(sleep=clock.sleep), owner_wait_s=30)
        assert 30 <= sum(clock.naps) < 33
        error = caught.value
        assert (error.verb, error.reason) == ("MQOPEN", mq.MQRC_OBJECT_IN_USE)
        assert f"MQOPEN for status queue {owner.status_queue(role)} failed: reason 2042" in str(error)
        assert "Another instance with this name is running" in str(error)
        assert "DISPLAY QSTATUS" in str(error)
        assert str(error).endswith("Waited 30 s")


def test_of_two_owners_the_first_is_not_disturbed(owner):
    with owner.producer(owner.connect()) as first, first.group() as group:
        for data in THIS:
            group.put(data)
            with pytest.raises(errors.OwnerActive):
                owner.producer(owner.connect())
    assert owner.data() == THIS


@ROLES
@pytest.mark.parametrize("ends_by", ["commit", "back_out"])
def test_a_record_that_a_dying_instance_hides_is_waited_for(owner, clock, role, ends_by):
    """Its handle is closed already, and its unit of work with the old record got and the new one put still open."""
    old, new = (encode(record_of(owner, role, unit_of_work=number)) for number in (8, 9))
    put_records(owner, role, old)
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_OUTPUT)
    assert handle.get(mq.MQGMO_SYNCPOINT).data == old
    handle.put(new, mq.MQPMO_SYNCPOINT)
    handle.close()
    clock.on_sleep = lambda: getattr(owner.eye, ends_by)() if len(clock.naps) == 2 else None
    with start(owner, role, owner.connect(sleep=clock.sleep), owner_wait_s=30) as driver:
        assert len(clock.naps) == 2
        number = decode(new if ends_by == "commit" else old).unit_of_work + 1
        assert f" uow={number} " in repr(driver)


@ROLES
def test_a_record_that_stays_hidden_is_an_active_owner(owner, clock, role):
    put_records(owner, role)
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_OUTPUT)
    handle.put(encode(record_of(owner, role)), mq.MQPMO_SYNCPOINT)
    handle.close()
    with pytest.raises(errors.OwnerActive, match=r"MQGET for status queue .*Waited 5 s"):
        start(owner, role, owner.connect(sleep=clock.sleep), owner_wait_s=5)
    assert 5 <= sum(clock.naps) < 7
    assert owner.eye.back_out().reason == 0
    start(owner, role).close()


# --- in the unit of work


@pytest.mark.embedded
@ROLES
def test_a_record_that_is_gone_stops_and_backs_out(owner, faults, role):
    owner.put_raw_group(THIS)
    before = owner.data()
    driver = start(owner, role)

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

    with pytest.raises(errors.StatusRecordMissing, match="Something else gets from the queue: find it") as caught:
        unit_of_work()
    assert caught.value.status_queue == owner.status_queue(role)
    assert owner.record(role)["msg_seq_number"] == 2
    assert owner.data() == (before[2:] if role == "get" else before + THIS[:2])
    driver.close()


def status_queue_of(owner):
    return StatusQueue(owner.qmgr, owner.status_queue("put"), MODEL, 0)


def test_what_a_unit_of_work_did_to_the_record_is_undone_with_it(owner):
    queue = status_queue_of(owner)
    assert queue.read() is None
    assert not queue.has_record
    # An empty queue is cleared by nothing.
    queue.clear()
    first, second = record_of(owner), record_of(owner, unit_of_work=10)
    queue.replace(first)
    assert queue.has_record
    owner.qmgr.back_out()
    queue.backed_out()
    assert not queue.has_record
    queue.replace(first)
    owner.qmgr.commit()
    queue.committed()
    for change in (lambda: queue.replace(second), queue.clear):
        change()
        owner.qmgr.back_out()
        queue.backed_out()
        assert queue.has_record
        assert owner.records("put") == [encode(first)]
    assert queue.read() == first
    queue.replace(second)
    owner.qmgr.commit()
    queue.committed()
    assert queue.read() == second
    queue.clear()
    owner.qmgr.commit()
    queue.committed()
    assert queue.read() is None
    queue.close(delete=True)
    assert owner.eye.open(owner.status_queue("put"), mq.MQOO_INQUIRE).code.reason == mq.MQRC_UNKNOWN_OBJECT_NAME


def test_a_predefined_status_queue_is_not_deleted_but_closed(owner):
    with pytest.raises(errors.MQIError, match="reason 2045 MQRC_OPTION_NOT_VALID_FOR_TYPE"):
        owner.producer(status_queue="TEST.LOCAL").delete_status_queue()
    owner.producer(status_queue="TEST.LOCAL").close()


@pytest.mark.parametrize("length", [100_000, 3_000_000])
def test_a_long_checkpoint_is_kept(owner, length):
    owner.interrupt_put(THIS[:4], checkpoints=[b"x" * length])
    with owner.producer() as producer:
        assert producer.checkpoint == b"x" * length
        with producer.group() as group:
            for data in THIS[2:]:
                group.put(data)
    assert owner.data() == THIS


def test_a_checkpoint_longer_than_the_status_queue_takes_is_refused_and_the_group_resumable(owner):
    with owner.producer() as producer:
        with (
            pytest.raises(errors.MessageTooLong, match=f"queue {owner.status_queue('put')}"),
            producer.group() as group,
        ):
            for data in THIS:
                group.put(data, checkpoint="x" * 5_000_000)
        with producer.group() as group:
            assert (group.resume_from, group.checkpoint) == (0, None)
            for data in THIS:
                group.put(data)
    assert owner.data() == THIS


# --- names


@ROLES
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "has 0 characters; it must have 1 to 35"),
        ("N" * 36, "has 36 characters; it must have 1 to 35"),
        ("orders-loader", "has '-' at position 7"),
        ("ORDERS LOADER", "has ' ' at position 7"),
        ("BESTELLUNGEN.MÜLLER", "has 'Ü' at position 15"),
        ("A\n", r"has '\\n' at position 2"),
        ("A'B", 'has "\'" at position 2'),
        ("*", r"has '\*' at position 1"),
    ],
)
def test_a_name_that_makes_no_queue_name_is_refused_before_any_call(owner, role, name, says):
    qmgr = owner.qmgr
    owner.doctor(qmgr, MQOPEN=None)
    with pytest.raises(errors.ConfigurationError, match=says):
        start(owner, role, qmgr, name=name)


@ROLES
@pytest.mark.parametrize("name", ["a", "N" * 35, "A.b/c_d%9"])
def test_a_name_of_mq_characters_makes_a_status_queue(owner, role, name):
    owner.name = name
    driver = start(owner, role)
    assert not is_free(owner, role)
    driver.close()

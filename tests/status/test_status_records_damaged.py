"""Whatever lies on a status queue in the place of a record: a typed error with its remedy, no resume, nothing touched.

A record can be cut, hit by a flipped bit, of another version, somebody else's, or one of a chain that is gone. The last of a
chain that goes on cannot be missed: what lies there then is what lay there one unit of work before, as on a queue from which
somebody took the only record.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from embedded_tests.fix_mqi import OK
from embedded_tests.tables import table
from mqembedded import Fault
from mqgroups import errors
from mqgroups.core.model import Role
from mqgroups.core.status import RecordRejected, RecordState, RejectedBecause, StatusRecord, decode, encode
from mqgroups.mqi import constants as mq
from tests.fix_groups import is_anchor

THIS = [b"%d" % number for number in range(7)]
LONGEST = 104_857_600
ROLES = pytest.mark.parametrize("role", ["put", "get"])
STATUSES = pytest.mark.parametrize("status", ["classic", "segmented"])

PUT = StatusRecord(
    role=Role.PUT,
    name="LOADER",
    state=RecordState.IN_GROUP,
    owner_id="0123456789abcdef" * 2,
    epoch=3,
    unit_of_work=9,
    queue="ORDERS",
    group_id=bytes(range(24)),
    msg_seq_number=4,
    q_mgr_identifier="QM1_2026-01-02_03.04.05",
    resolved_q_name="ORDERS",
    resolved_q_mgr_name="QM1",
)
RECORDS = {
    "in a group": PUT,
    "completed": replace(PUT, state=RecordState.COMPLETED, checkpoint=b"\0\xff"),
    "idle": replace(PUT, state=RecordState.IDLE, msg_seq_number=0, unit_of_work=0, group_id=bytes(24)),
    "in a message": replace(PUT, role=Role.GET, msg_seq_number=0, offset=4, checkpoint={"é": [1, None]}),
}
records = table("record", RECORDS.values())


# --- every one of them, as bytes


@records
def test_every_flipped_bit_is_found(record):
    data = encode(record)
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(RecordRejected) as caught:
            decode(bytes(flipped))
        # Not even the schema version is believed of a record whose digest is wrong.
        assert caught.value.because is RejectedBecause.CORRUPT


@records
def test_every_length_but_the_right_one_is_found(record):
    data = encode(record)
    assert decode(data) == record
    for damaged in [*(data[:end] for end in range(len(data))), data + b" ", b" " + data, data + data]:
        with pytest.raises(RecordRejected) as caught:
            decode(damaged)
        assert caught.value.because is RejectedBecause.CORRUPT


# --- on the status queue of an owner who starts


def interrupt(owner, role, status):
    """Leave a record of a group that was interrupted behind its fourth message; returns the records' data."""
    if role == "put":
        owner.interrupt_put(THIS[:6], status_layout=status)
    else:
        owner.interrupt_get(status_layout=status, of=THIS)
    return owner.records(role)


def refuses(owner, role, because, match, **more):
    """Whether a start is refused because of this, and leaves both queues as they were."""
    queue = more.get("status_queue") or owner.status_queue(role)
    before = [found.data for found in owner.on_queue(queue)], owner.data()
    with pytest.raises(errors.StatusQueueUnusable, match=match) as caught:
        owner.start(role, owner_wait_s=30, **more)
    assert (caught.value.because, caught.value.status_queue) == (because, queue)
    assert ([found.data for found in owner.on_queue(queue)], owner.data()) == before
    handle = owner.eye.open(queue, mq.MQOO_INPUT_EXCLUSIVE)
    assert (handle.code, handle.close()) == (OK, OK)
    return True


def take(owner, role, offset):
    """Get one segment of the record from the status queue."""
    queue = owner.status_queue(role)
    (segment,) = (found for found in owner.on_queue(queue) if found.md.Offset == offset and not is_anchor(found.data))
    handle = owner.eye.open(queue, mq.MQOO_INPUT_EXCLUSIVE)
    answer = handle.get(match=mq.MQMO_MATCH_MSG_ID, MsgId=segment.md.MsgId)
    assert (answer.code, handle.close()) == (OK, OK)
    return answer


LEFT_WHERE_IT_IS = "The message was left on the queue. Find out which program put it"


@ROLES
def test_a_damaged_record_is_no_reason_to_resume_wherever_the_damage_is(owner, role):
    (data,) = interrupt(owner, role, "classic")
    owner.empty(owner.status_queue(role))
    for place in range(0, len(data), 101):
        flipped = data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
        for damaged in (flipped, data[:place]):
            owner.put_raw(damaged, owner.status_queue(role))
            assert refuses(owner, role, "corrupt", LEFT_WHERE_IT_IS)
            owner.take_record(role)
    owner.put_raw(data, owner.status_queue(role))
    with owner.start(role) as driver:
        assert " seq=4 " in repr(driver)


@ROLES
def test_what_is_no_record_at_all_is_left_to_an_operator(owner, role):
    owner.start(role).close()
    for foreign in (b"", b"\0" * 600, b"{}", b"[]", b'{"sha256":"","schema":1}', b"RFH " + bytes(32)):
        owner.put_raw(foreign, owner.status_queue(role))
        assert refuses(owner, role, "corrupt", f"expected one status record of this package.*{LEFT_WHERE_IT_IS}")
        assert owner.take_record(role) == foreign


def forged(data, **other):
    """The record with other values, or without those that are ``...``, and the digest that goes with them."""
    values = {**json.loads(data), **other}
    del values["sha256"]
    body = json.dumps({name: value for name, value in values.items() if value is not ...}).encode()[1:]
    return b'{"sha256":"' + hashlib.sha256(body).hexdigest().encode() + b'",' + body


@ROLES
def test_a_record_of_another_version_is_left_to_that_version(owner, role):
    (data,) = interrupt(owner, role, "classic")
    owner.take_record(role)
    others: list[dict[str, Any]] = [
        {"schema": 2},
        {"schema": "1"},
        {"schema": None},
        {"schema": True},
        {"how_often": 3},
        {"first_msg_id": ...},
    ]
    for other in others:
        owner.put_raw(forged(data, **other), owner.status_queue(role))
        assert refuses(owner, role, "version", "Start that version, which continues its group")
        assert refuses(owner, role, "version", r"written by 'mqgroups \d")
        owner.take_record(role)


@ROLES
def test_a_record_with_a_right_digest_and_wrong_contents_is_left_to_an_operator(owner, role):
    (data,) = interrupt(owner, role, "classic")
    owner.take_record(role)
    for wrong in (
        {"msg_seq_number": True},
        {"epoch": 1.5},
        {"unit_of_work": "x"},
        {"group_id": "00" * 24},
        {"suspect": [5, 5, 5]},
        {"checkpoint": {"json": float("nan")}},
        {"resolved_q_name": "\ud800"},
        {"state": ["in group"] * 200},
    ):
        owner.put_raw(forged(data, **wrong), owner.status_queue(role))
        with pytest.raises(errors.StatusQueueUnusable, match=LEFT_WHERE_IT_IS) as caught:
            owner.start(role, owner_wait_s=30)
        assert len(str(caught.value)) < 600
        assert owner.take_record(role) == forged(data, **wrong)


@ROLES
def test_a_name_of_megabytes_is_not_repeated_in_the_error(owner, role):
    (data,) = interrupt(owner, role, "classic")
    owner.empty(owner.status_queue(role))
    owner.put_raw(forged(data, name="\x1b[31m" + "n" * 2_000_000), owner.status_queue(role))
    with pytest.raises(errors.StatusQueueUnusable) as caught:
        owner.start(role, owner_wait_s=30)
    assert len(str(caught.value)) < 700
    assert "\x1b" not in str(caught.value)


@ROLES
@STATUSES
def test_a_message_beside_the_record_is_one_too_many(owner, role, status):
    interrupt(owner, role, status)
    owner.put_raw(b"something else", owner.status_queue(role))
    assert refuses(owner, role, "corrupt", LEFT_WHERE_IT_IS)


@pytest.mark.parametrize(
    ("role", "which", "reader"),
    [("put", 0, "classic"), ("get", 1, "classic"), ("put", 1, "segmented"), ("get", 0, "segmented")],
)
def test_a_chain_that_lacks_a_segment_is_no_reason_to_resume(owner, role, which, reader):
    chain = interrupt(owner, role, "segmented")
    assert len(chain) == 3
    take(owner, role, sum(map(len, chain[:which])))
    assert refuses(owner, role, "corrupt", LEFT_WHERE_IT_IS, status_layout=reader)


@pytest.mark.parametrize(("role", "which"), [("put", 0), ("get", 1), ("put", 2)])
def test_a_chain_with_a_damaged_segment_is_no_reason_to_resume(owner, role, which):
    chain = interrupt(owner, role, "segmented")
    segment = take(owner, role, sum(map(len, chain[:which])))
    md = {"GroupId": segment.md.GroupId, "MsgFlags": segment.md.MsgFlags, "Offset": segment.md.Offset}
    owner.put_raw(segment.data[:-1] + b"?", owner.status_queue(role), **md)
    assert refuses(owner, role, "corrupt", LEFT_WHERE_IT_IS)


@ROLES
def test_a_record_that_is_longer_than_the_channel_carries_is_not_taken_for_damaged(owner, faults, role):
    interrupt(owner, role, "classic")
    faults.arm(Fault("answer", verb="MQGET", times=0, reason=mq.MQRC_DATA_LENGTH_ERROR))
    with pytest.raises(errors.MessageTooLong, match="Raise MAXMSGL of the server-connection channel"):
        owner.start(role)


@pytest.mark.embedded
def test_a_message_of_100_mb_is_no_record_and_is_not_read_into_memory(make_owner, own_queue_manager, connect, tmp_path):
    mqsc = tmp_path / "big.mqsc"
    mqsc.write_text(
        f"ALTER QMGR MAXMSGL({LONGEST})\nDEFINE QLOCAL(BIG.STATUS) MAXMSGL({LONGEST}) NOSHARE DEFSOPT(EXCL) DEFPSIST(NO)\n"
    )
    target = own_queue_manager(mqsc=[mqsc])
    owner = make_owner(target, "ORDERS")
    big = connect(target, max_msg_length=LONGEST)
    handle = big.open("BIG.STATUS", mq.MQOO_OUTPUT)
    assert handle.put(bytes(LONGEST)).code == OK
    assert handle.close() == OK
    with pytest.raises(errors.StatusQueueUnusable, match=f"The message has {LONGEST} bytes.*{LEFT_WHERE_IT_IS}"):
        owner.producer(status_queue="BIG.STATUS")
    assert big.depth("BIG.STATUS") == 1

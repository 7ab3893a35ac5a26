"""What the tests of lost records share: raw messages, records taken away by raw calls, and starts of their owners."""

from __future__ import annotations

import json

import pytest

from embedded_tests.fix_mqi import OK
from mqgroups import errors, operate
from mqgroups.mqi import constants as mq

THIS = [b"%d" % number for number in range(1, 8)]
MIG, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP
SEG = mq.MQMF_SEGMENT
A, B = b"A" * 24, b"B" * 24
# What no browsing of the queue can tell: the record's owner, what the application gave, and where a pipe's outgoing group stands.
NOT_ON_THE_QUEUE = {
    "sha256",
    "owner_id",
    "epoch",
    "unit_of_work",
    "checkpoint",
    "properties",
    "outgoing",
    "first_msg_id",
}
statuses = pytest.mark.parametrize("status", ["classic", "segmented"])


def lose(owner, role):
    """Take everything from a status queue; returns the last record there was."""
    handle = owner.eye.open(owner.status_queue(role), mq.MQOO_INPUT_EXCLUSIVE)
    assert handle.code == OK
    found = handle.all()
    assert handle.close() == OK
    return json.loads(found[-1].data)


def known(record):
    """What of a status record the messages of its group say."""
    return {name: value for name, value in record.items() if name not in NOT_ON_THE_QUEUE}


def rest(owner, **more):
    """Start the consumer again; returns number and data of what it gets."""
    with owner.consumer(**more) as consumer:
        return [(message.msg_seq_number, message.data) for group in consumer for message in group]


def assert_whole(owner, payloads, queue=None):
    """The queue holds one group: each message once, in order, the last one last, one GroupId, one persistence."""
    found = owner.on_queue(queue)
    assert [(message.msg_seq_number, message.data) for message in found] == list(enumerate(payloads, 1))
    assert [message.is_last for message in found] == [False] * (len(payloads) - 1) + [True]
    assert len({message.group_id for message in found}) == 1
    assert {message.md.Persistence for message in found} == {mq.MQPER_PERSISTENT}


def put(owner, group_id, *places, flags=MIG, **fields):
    """Put messages of a group, with these numbers."""
    for number in places:
        data = b"%d" % number
        owner.put_raw(data, GroupId=group_id, MsgSeqNumber=number, MsgFlags=flags, Persistence=1, **fields)


def refused(owner, role, queue=None, **more):
    """Return why an owner's record is not rebuilt; nothing may change."""
    before = [message.md.pack() for message in owner.on_queue(queue)], owner.records(role)
    with pytest.raises(errors.RepairRefused) as caught:
        operate.salvage_owner(owner.qmgr, owner.name, role, queue=queue or owner.queue, **more)
    assert ([message.md.pack() for message in owner.on_queue(queue)], owner.records(role)) == before
    can_be_accepted = caught.value.because in ("in-use", "other-owners", "begun", "nothing-interrupted")
    assert (f"accept {caught.value.because!r}" in str(caught.value)) is can_be_accepted
    return caught.value.because


def damage(owner, role):
    """Put bytes in the place of the record."""
    lose(owner, role)
    owner.put_raw(b"\x00\xff damaged", owner.status_queue(role), Format=b"JUNK", CorrelId=b"c" * 24)


SAME = ("GroupId", "MsgSeqNumber", "Offset", "MsgFlags", "MsgId", "CorrelId", "Persistence", "Priority", "Format")


def placed(found):
    """What has to be the same of a message wherever it is moved."""
    return [(message.data, *(getattr(message.md, name) for name in SAME)) for message in found]

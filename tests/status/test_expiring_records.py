"""CAPEXPRY limits the expiry of every message that is put on a queue, so that of status records too.

A record that expires takes the position of its group with it: a producer would put the group again, and a consumer never get the
rest.
"""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import pytest

from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.core.status import RecordState, encode
from mqgroups.mqi import constants as mq
from mqgroups.operate.command_server import PCFClient
from tests.put.whole_groups import THIS

MODEL = "TEST.EXPIRING.MODEL"
HOUR = 36_000  # in tenths of a second


@pytest.mark.parametrize("role", ["put", "get"])
def test_an_owner_does_not_start_on_a_status_queue_whose_records_expire(owner, role):
    owner.put_raw_group(THIS)
    with pytest.raises(errors.StatusQueueUnusable, match="CAPEXPRY") as refused:
        owner.start(role, status_model=MODEL)
    assert refused.value.status_queue == owner.status_queue(role)
    assert owner.data() == THIS


def test_a_limit_that_is_set_while_an_owner_works_stops_it_and_the_group_is_resumed(owner):
    mqsc = PCFClient(connection_of(owner.connect()))
    producer = owner.producer()
    alter = f"ALTER QLOCAL({owner.status_queue('put')})"
    with pytest.raises(errors.StatusQueueUnusable, match="CAPEXPRY"), producer.group() as group:
        group.put(THIS[0])
        assert mqsc.run(f"{alter} CAPEXPRY({HOUR})")[0]
        owner.put_all(group, THIS[1:])
    producer.close()
    assert mqsc.run(f"{alter} CAPEXPRY(NOLIMIT)")[0]
    assert owner.resume_put(THIS) == 2
    assert owner.data() == THIS


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_record_from_before_the_limit_was_removed_is_replaced_by_one_that_stays(owner, role):
    owner.start(role).close()
    name = owner.status_queue(role)
    owner.put_raw(encode(owner.status_record(role, state=RecordState.ANCHOR)), name, Expiry=HOUR)
    (anchor,) = owner.on_queue(name)
    owner.put_raw(encode(owner.status_record(role)), name, CorrelId=anchor.md.MsgId, Expiry=HOUR)
    owner.start(role, owner.connect())
    found = owner.on_queue(name)
    assert [each.md.Expiry for each in found] == [mq.MQEI_UNLIMITED] * 2
    assert found[1].md.CorrelId == found[0].md.MsgId != anchor.md.MsgId

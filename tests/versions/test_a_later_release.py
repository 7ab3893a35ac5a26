"""Operators beside a record of a later release: it is named with its writer, and nothing of it is moved, rebuilt or damaged."""

from __future__ import annotations

import json

import pytest

from mqgroups import errors, operate
from tests.fix_batches import interrupt, messages
from tests.status.test_status_records_damaged import forged

WRITER = "mqgroups 9.0.0"


@pytest.fixture(params=[{"how_often": 3}, {"first_msg_id": ...}, {"schema": 2}], ids=["a field", "no field", "schema"])
def later(owner, request):
    """An owner that a later release was interrupted under, and has the record of."""
    owner.interrupt_put([b"1", b"2", b"3", b"4", b"5"])
    data = forged(owner.take_record("put"), **request.param, owner_id=f"0123456789abcdef {WRITER}")
    owner.put_raw(data, owner.status_queue("put"))
    return owner


@pytest.fixture
def untouched(later):
    before = later.records("put"), later.data()
    yield
    assert (later.records("put"), later.data()) == before


def test_its_owner_is_told_to_start_that_version(later, untouched):
    (seen,) = operate.find_owners(later.qmgr, names=[later.name]).owners
    assert (seen.state.value, WRITER in seen.problem) == ("of another version", True)
    found = [
        each for each in operate.examine(later.qmgr, queue=later.queue) if later.status_queue("put") in each.subject
    ]
    assert [each.remedy for each in found] == [
        "start the version of mqgroups that has written the record; do not move or remove it"
    ]


def test_its_record_is_not_rebuilt_and_not_moved_away(later, untouched, make_queue):
    for more in (
        {},
        {"unreadable_to": make_queue()},
        {"unreadable_to": make_queue(), "accept": ["nothing-interrupted"]},
    ):
        with pytest.raises(errors.StatusQueueUnusable, match=WRITER) as caught:
            operate.salvage_owner(later.qmgr, later.name, "put", queue=later.queue, **more)
        assert caught.value.because == "version"


def test_its_group_is_not_torn_in_two(later, untouched, make_queue):
    group_id = later.on_queue()[0].group_id
    with pytest.raises(errors.RepairRefused, match=WRITER) as caught:
        operate.move_group(later.qmgr, later.queue, group_id, to=make_queue())
    assert caught.value.because == "other-owners"


def test_another_owners_rebuild_asks_who_has_the_group(later, untouched, make_owner):
    other = make_owner(queue=later.queue)
    with pytest.raises(errors.RepairRefused, match=WRITER) as caught:
        operate.salvage_owner(other.qmgr, other.name, "put", queue=later.queue)
    assert caught.value.because == "other-owners"


@pytest.mark.parametrize("more", [{"colour": "red"}, {"kind": "colour"}, {"run": 1}], ids=["value", "kind", "type"])
def test_a_claim_of_a_later_release_is_left_to_that_release(batches, more):
    qmgr = batches.owner.connect()
    interrupt(batches.attempt(qmgr), "A", 3, after=3)
    (intent,) = (each for each in batches.owner.on_queue(batches.status_queue) if b'"intent"' in each.data)
    said = json.loads(intent.data)["checkpoint"]["json"]
    later = forged(intent.data, checkpoint={"json": {**said, **more}}, owner_id=f"0123456789abcdef {WRITER}")
    batches.owner.put_raw(later, batches.status_queue, CorrelId=intent.md.CorrelId)
    before = batches.owner.data(batches.status_queue)
    for claims in (lambda: batches.attempt(qmgr).put_group("A", messages("A", 3)), batches.complete):
        with pytest.raises(errors.StatusQueueUnusable, match=WRITER) as caught:
            claims()
        assert caught.value.because == "version"
    found = operate.find_owners(batches.owner.qmgr, status_queues=[batches.status_queue]).owners
    states = [
        each for each in found if each.status_queue == batches.status_queue and each.state.value == "of another version"
    ]
    assert [WRITER in each.problem for each in states] == [True]
    assert batches.owner.data(batches.status_queue) == before

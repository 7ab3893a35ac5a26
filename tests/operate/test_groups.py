"""Groups of a queue of any length: the same whether they are in memory or in the temporary database."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from embedded_tests.fix_mqi import OK
from mqgroups import errors
from mqgroups.mqi import constants as mq
from mqgroups.operate.browse import messages_of_group
from mqgroups.operate.groups import GroupStore, browse_groups
from mqgroups.operate.owners import SeenOwners
from mqgroups.operate.rules.inspection import Browsed, BrowsedInstance
from mqgroups.operate.rules.judgement import Cause, GroupState, Surroundings, judged
from mqgroups.operate.rules.owner_state import OwnerState, SeenOwner
from tests.operate.lost_records import A, B, put
from tests.operate.rules.test_inspection import LAST, MIG, inspected

AROUND = Surroundings(BrowsedInstance("QM1", "Q"), quiet_since="2026010112000000")


def message(group, number, flags=MIG, when="2026010112000000"):
    return Browsed(b"%024d" % group, number, 0, 10, flags, 1, 0, "app", when)


def listed(store):
    store._choose(lambda group: judged(group, (), AROUND))
    return [group for group, *_ in store._chosen()]


MESSAGES = st.lists(st.builds(message, st.integers(0, 6), st.integers(1, 4), st.sampled_from([MIG, LAST])), max_size=40)


@given(MESSAGES, st.integers(1, 4))
@example([message(0, 1, MIG | LAST), message(1, 1), message(0, 1)], 1)
def test_groups_are_counted_the_same_however_few_fit_in_memory(messages, most):
    all_of_them: dict[bytes, list[Browsed]] = {}
    store = GroupStore(most)
    for each in messages:
        store._add(each)
        all_of_them.setdefault(each.group_id, []).append(each)
    found = listed(store)
    assert sorted(found, key=lambda each: each.group_id) == [
        inspected(many, group_id) for group_id, many in sorted(all_of_them.items())
    ]
    assert store._seen == len(all_of_them)
    store.close()


@given(MESSAGES)
def test_of_one_cause_groups_come_in_the_order_of_their_first_message_on_the_queue(messages):
    store = GroupStore(2)
    for each in messages:
        store._add(each)
    store._choose(lambda group: judged(group, (), AROUND))
    found = [(cause, group.group_id) for group, cause, _ in store._chosen()]
    seen = list(dict.fromkeys(each.group_id for each in messages))
    assert found == sorted(found, key=lambda each: (list(Cause).index(each[0]), seen.index(each[1])))
    store.close()


def test_the_memory_for_groups_does_not_grow_with_their_number():
    def peak(groups):
        tracemalloc.start()
        store = GroupStore(500)
        for number in range(groups):
            store._add(message(number, 1, LAST))
        store._choose(lambda group: judged(group, (), AROUND))
        assert sum(1 for _ in store._chosen()) == store.listed == groups
        store.close()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(100)
    assert peak(5_000) < 2 * peak(1_000)


def test_progress_is_told_and_an_alias_is_followed(owner):
    for number in range(3):
        put(owner, A, number + 1)
    told = []
    with browse_groups(
        owner.qmgr, owner.queue, lambda instance: told.append((instance.messages, instance.depth))
    ) as found:
        found.judge(SeenOwners((), ("status queues",)), "0")
        (group,) = found.groups()
        assert (group.group.messages, group.state) == (3, GroupState.BEING_PUT)
        assert found.instance.q_mgr_name == owner.target.q_mgr_name
    assert told == [(0, 3), (3, 3)]
    assert [each.msg_seq_number for each in messages_of_group(owner.qmgr, owner.queue, A)] == [1, 2, 3]


def test_a_name_or_an_identifier_that_is_not_valid_is_refused(owner):
    with pytest.raises(errors.ConfigurationError):
        browse_groups(owner.qmgr, "not a name")
    with pytest.raises(errors.ConfigurationError):
        next(messages_of_group(owner.qmgr, owner.queue, b"short"))
    with pytest.raises(errors.QueueMissing):
        browse_groups(owner.qmgr, "NO.SUCH.QUEUE")


def states(owner, meanwhile):
    """Browse, let something happen, and return the states of the groups by GroupId."""
    with browse_groups(owner.qmgr, owner.queue) as found:
        meanwhile()
        found.judge(SeenOwners(()), "0")
        return {each.group.group_id: each.state for each in found.groups()}


def test_a_group_whose_end_is_put_while_the_queue_is_browsed_needs_no_record(owner):
    put(owner, A, 1, 2)
    assert states(owner, lambda: None) == {A: GroupState.NO_RECORD}
    assert states(owner, lambda: put(owner, A, 3, flags=LAST)) == {A: GroupState.BEING_PUT}


def test_a_producer_at_work_whose_record_is_not_seen_may_have_any_group():
    def all_seen(role, state, *unseen):
        return bool(SeenOwners((SeenOwner(role, "N", "Q", state),), unseen)._producers_seen)

    assert not all_seen("put", OwnerState.ACTIVE)
    assert not all_seen(None, OwnerState.ACTIVE)
    assert not all_seen("put", OwnerState.CLEAN, "the command server did not answer")
    assert all_seen("get", OwnerState.ACTIVE)
    # Its program is gone, and waits at its start.
    assert all_seen("put", OwnerState.HIDDEN)


def test_a_group_that_is_got_while_the_queue_is_browsed_lacks_nothing(owner):
    put(owner, A, 3, 4)
    put(owner, B, 1, 2, 9)
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    lacking = {A: GroupState.NO_BEGINNING, B: GroupState.GAP}
    assert states(owner, lambda: None) == lacking
    # The first message of A, then that of B.
    assert states(owner, handle.get) == {**lacking, A: GroupState.BEING_GOT}
    handle.all()
    put(owner, B, 1, 2, 9)
    assert states(owner, handle.get) == {B: GroupState.BEING_GOT}
    handle.close()


def test_a_group_whose_beginning_a_unit_of_work_may_hide_is_being_got(owner):
    put(owner, A, 1, 2, 3)
    put(owner, B, 4, 5)
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    assert handle.get(mq.MQGMO_SYNCPOINT).code == OK
    assert states(owner, lambda: None) == {A: GroupState.BEING_GOT, B: GroupState.NO_BEGINNING}
    owner.eye.back_out()
    handle.close()


def test_a_group_without_its_first_segment_is_not_being_got_if_nothing_is_hidden(owner):
    put(owner, A, 1, Offset=6, flags=MIG | mq.MQMF_LAST_SEGMENT)
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    assert states(owner, lambda: None) == {A: GroupState.NO_BEGINNING}
    handle.close()

"""The state of a group, from its messages and its owners' records."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqgroups.core.model import Role
from mqgroups.operate.rules.group_state import GroupOwner, GroupState, judged
from tests.operate.rules.test_inspection import LAST, MIG, G, inspected, message

LONG_AGO, BEFORE, QUIET, AFTER = "2026010111000000", "2026010112000000", "2026010112050000", "2026010112060000"
PUTTER = GroupOwner(Role.PUT, "P", "MQGROUPS.PUT.P", True, AFTER)
GETTER = GroupOwner(Role.GET, "G", "MQGROUPS.GET.G", True, AFTER)
WHOLE = [message(1), message(2), message(3), message(4, LAST)]
S = GroupState


def state(messages, *owners, quiet_since=QUIET):
    return judged(inspected(messages), owners, quiet_since).state


@table(
    ("messages", "owners", "expected"),
    [
        (WHOLE, (), S.COMPLETE),
        (WHOLE, (PUTTER,), S.COMPLETE),
        ([*WHOLE, WHOLE[1]], (), S.DOUBLED),
        ([*WHOLE, message(5)], (), S.INCONSISTENT),
        # Programs that put without logical order may mix persistences, and a consumer gets such a group (2185 is of puts only).
        ([*WHOLE[:3], message(4, LAST, persistence=0)], (), S.COMPLETE),
        ([WHOLE[0], *WHOLE[2:]], (), S.GAP),
        ([*WHOLE[:3], message(4, LAST, length=0, abandons=True)], (), S.ABANDONED),
        (WHOLE[1:], (), S.NO_BEGINNING),
        (WHOLE[1:], (PUTTER,), S.NO_BEGINNING),
        (WHOLE[1:], (GETTER,), S.BEING_GOT),
        (WHOLE[1:], (replace(GETTER, is_active=None),), S.BEING_GOT),
        (WHOLE[1:], (replace(GETTER, is_active=False),), S.STALLED),
        (WHOLE[1:], (replace(GETTER, committed_at=BEFORE),), S.STALLED),
        (WHOLE[:3], (PUTTER,), S.BEING_PUT),
        (WHOLE[:3], (replace(PUTTER, is_active=False),), S.STALLED),
        (WHOLE[:3], (replace(PUTTER, committed_at=BEFORE),), S.STALLED),
        (WHOLE[:3], (), S.STALLED),
        (WHOLE[1:3], (PUTTER, GETTER), S.BEING_GOT),
        (WHOLE[1:3], (replace(PUTTER, is_active=False), GETTER), S.STALLED),
    ],
)
def test_a_group_has_the_state_that_its_messages_and_records_say(messages, owners, expected):
    assert state(messages, *owners) is expected


@table(
    ("group_id", "messages", "owners", "expected"),
    [
        (G, WHOLE[:3], (), S.NO_RECORD),
        (G, WHOLE[:3], (GETTER,), S.NO_RECORD),
        (G, WHOLE[1:3], (GETTER,), S.NO_RECORD),
        (G, WHOLE[1:3], (), S.NO_BEGINNING),
        (G, WHOLE[:3], (PUTTER,), S.BEING_PUT),
        (G, WHOLE[1:], (GETTER,), S.BEING_GOT),
        (b"AMQ QM1.OF.A.LONG" + G[17:], WHOLE[:3], (), S.NO_RECORD),
        # Its producer's record is at the queue manager that made the GroupId.
        (b"AMQ QM2         " + G[16:], WHOLE[:3], (), S.STALLED),
    ],
)
def test_a_group_that_is_being_put_has_a_record_where_its_group_id_was_made(group_id, messages, owners, expected):
    group = inspected(messages, group_id)
    assert judged(group, owners, QUIET, records_of=["QM1.OF.A.LONG.NAME"]).state is expected


def test_an_incomplete_group_whose_last_message_is_new_is_being_put_by_somebody():
    assert state([message(1, put_time=AFTER)]) is S.BEING_PUT


def test_a_stalled_group_is_stalled_since_its_last_message_or_commit():
    group = inspected([message(1, put_time=LONG_AGO), message(2, put_time=BEFORE)])
    assert judged(group, (), QUIET).since == BEFORE
    assert judged(group, (replace(PUTTER, committed_at=QUIET),), QUIET).since == QUIET


MESSAGES = st.lists(
    st.builds(
        message,
        st.integers(1, 5),
        st.sampled_from([MIG, LAST]),
        put_time=st.sampled_from(["", LONG_AGO, BEFORE, AFTER]),
        persistence=st.integers(0, 1),
    ),
    min_size=1,
    max_size=8,
)
OWNER = st.builds(
    GroupOwner,
    st.sampled_from(Role),
    st.just("N"),
    st.just("Q"),
    st.sampled_from([True, False, None]),
    st.sampled_from(["", BEFORE, AFTER]),
)


@given(MESSAGES, st.lists(OWNER, max_size=2, unique_by=lambda owner: owner.role), st.randoms())
def test_the_order_of_messages_and_owners_makes_no_difference(messages, owners, random):
    before = judged(inspected(messages), owners, QUIET)
    random.shuffle(messages)
    assert judged(inspected(messages), reversed(owners), QUIET) == before


@given(MESSAGES, st.lists(OWNER, max_size=2, unique_by=lambda owner: owner.role))
def test_a_group_that_somebody_works_on_becomes_stalled_when_time_passes_and_no_other_state_changes(messages, owners):
    group = inspected(messages)
    at_work = {S.BEING_PUT, S.BEING_GOT}
    early = judged(group, owners, "0").state
    late = judged(group, owners, "9").state
    assert late not in at_work
    assert late is (S.STALLED if early in at_work else early)


@given(MESSAGES, st.lists(OWNER, max_size=2, unique_by=lambda owner: owner.role))
def test_a_complete_group_has_every_message_once_whatever_its_owners(messages, owners):
    numbers = sorted(each.msg_seq_number for each in messages)
    lasts = [each.msg_seq_number for each in messages if each.msg_flags == LAST]
    whole = numbers == list(range(1, len(numbers) + 1)) and lasts[:1] == numbers[-1:] == lasts[-1:]
    assert (judged(inspected(messages), owners, QUIET).state is S.COMPLETE) == (whole and lasts == numbers[-1:])

"""The judgement of a group, from its messages, the records that name it, and who is at work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqgroups.core.model import Persistence, Role
from mqgroups.core.status import Outgoing, RecordState, StatusRecord
from mqgroups.operate.rules.findings import Severity
from mqgroups.operate.rules.inspection import BrowsedInstance
from mqgroups.operate.rules.judgement import Cause, GroupState, Surroundings, judged
from mqgroups.operate.rules.owner_state import OwnerState, SeenOwner
from mqgroups.operate.rules.remedies import owner_remedy, remedy
from tests.operate.rules.test_inspection import LAST, MIG, G, inspected, message

LONG_AGO, BEFORE, QUIET, AFTER = "2026010111000000", "2026010112000000", "2026010112050000", "2026010112060000"
WHOLE = [message(1), message(2), message(3), message(4, LAST)]
C = Cause
ACTIVE, INTERRUPTED = OwnerState.ACTIVE, OwnerState.INTERRUPTED


def owner(role, number, state=INTERRUPTED, committed_at=AFTER, name="", outgoing=None, **more):
    """Return an owner whose record has ``number`` messages of the group."""
    named = name or role[0].upper()
    record = StatusRecord(
        role=Role(role), name=named, state=RecordState.IN_GROUP, owner_id="0" * 32, epoch=1, unit_of_work=1, queue="Q",
        group_id=G, msg_seq_number=number, q_mgr_identifier="QM1_1", persistence=Persistence.PERSISTENT, outgoing=outgoing,
    )  # fmt: skip
    return SeenOwner(role, named, f"MQGROUPS.{role.upper()}.{named}", state, record, committed_at, "Q", **more)


def put_to(queue, q_mgr):
    """Return a producer whose messages went there."""
    found = owner("put", 3)
    return replace(found, record=replace(found.record, resolved_q_name=queue, resolved_q_mgr_name=q_mgr))


PUTTER, GETTER = owner("put", 3, ACTIVE), owner("get", 1, ACTIVE)
LEFT_PUTTER, LEFT_GETTER = owner("put", 3), owner("get", 1)


def judgement(messages, *owners, group_id=G, **more):
    seen = {name: more.pop(name) for name in ("hidden", "threshold", "backout_queue") if name in more}
    at = BrowsedInstance("QM1.OF.A.LONG.NAME", "Q", "Q", **{"hidden": 0, **seen})
    around = Surroundings(at, owners, **{"quiet_since": QUIET, **more})
    return judged(inspected(messages, group_id) if messages else None, owners, around)


@table(
    ("messages", "owners", "expected"),
    [
        (WHOLE, (), C.WHOLE),
        (WHOLE, (PUTTER,), C.WHOLE),
        ([*WHOLE, WHOLE[1]], (), C.TWICE),
        ([*WHOLE, message(5)], (), C.BEHIND_LAST),
        # Programs that put without logical order may mix persistences, and a consumer gets such a group (2185 is of puts only).
        ([*WHOLE[:3], message(4, LAST, persistence=0)], (), C.WHOLE),
        ([WHOLE[0], *WHOLE[2:]], (), C.GAP),
        ([*WHOLE[:3], message(4, LAST, length=0, abandons=True)], (), C.ABANDONED),
        (WHOLE[1:], (), C.NO_BEGINNING),
        (WHOLE[1:], (PUTTER,), C.NO_BEGINNING),
        (WHOLE[1:], (GETTER,), C.GETTING),
        (WHOLE[1:], (replace(GETTER, is_shared=True),), C.GETTING),
        (WHOLE[1:], (LEFT_GETTER,), C.STOPPED),
        (WHOLE[1:], (replace(GETTER, committed_at=BEFORE),), C.SILENT),
        (WHOLE[:3], (PUTTER,), C.PUTTING),
        (WHOLE[:3], (LEFT_PUTTER,), C.STOPPED),
        (WHOLE[:3], (replace(PUTTER, committed_at=BEFORE),), C.SILENT),
        (WHOLE[:3], (), C.UNNAMED),
        (WHOLE[1:3], (PUTTER, GETTER), C.GETTING),
        (WHOLE[1:3], (LEFT_PUTTER, GETTER), C.STOPPED),
        # Records that contradict the messages, of owners that are not at work.
        (WHOLE[:3], (owner("put", 2),), C.OLDER),
        (WHOLE[:3], (owner("put", 2, ACTIVE),), C.PUTTING),
        (WHOLE[:2], (LEFT_PUTTER,), C.NEWER),
        ([*WHOLE[:2], WHOLE[2]], (owner("put", 2), owner("put", 3, name="OTHER")), C.OWNERS),
        (WHOLE[1:], (owner("get", 2),), C.AGAIN),
        (WHOLE[2:], (LEFT_GETTER,), C.GAP_AHEAD),
        (WHOLE[2:], (GETTER,), C.GETTING),
        ([WHOLE[1], WHOLE[3]], (LEFT_GETTER,), C.GAP),
        # No message is there.
        ([], (LEFT_GETTER,), C.REST_GONE),
        ([], (LEFT_PUTTER,), C.PUT_GONE),
        ([], (LEFT_PUTTER, owner("get", 3)), C.STOPPED),
        ([], (PUTTER, LEFT_GETTER), C.STOPPED),
        # Messages were lost; or one of the records, or the queue, is from a backup.
        ([], (LEFT_PUTTER, LEFT_GETTER), C.NEWER),
        ([], (LEFT_PUTTER, GETTER), C.STOPPED),
        ([], (LEFT_PUTTER, owner("get", 4)), C.OLDER),
        ([], (LEFT_PUTTER, owner("get", 4, ACTIVE)), C.OLDER),
        ([], (PUTTER,), C.GETTING),
        # A queue was renamed, or an alias changed.
        (WHOLE[:3], (replace(LEFT_PUTTER, behind="OTHER"),), C.ELSEWHERE),
        (WHOLE[:3], (replace(LEFT_PUTTER, behind=""),), C.ELSEWHERE),
        (WHOLE[1:], (replace(LEFT_GETTER, behind="OTHER"),), C.ELSEWHERE),
        (WHOLE[:3], (replace(LEFT_PUTTER, behind="Q"),), C.STOPPED),
        (WHOLE[:3], (replace(PUTTER, behind="OTHER"),), C.PUTTING),
        ([], (put_to("OTHER", "QM1.OF.A.LONG.NAME"),), C.ELSEWHERE),
        ([], (put_to("OTHER", "QM2"),), C.STOPPED),
        ([], (put_to("Q", "QM1.OF.A.LONG.NAME"),), C.PUT_GONE),
        ([], (GETTER,), C.GETTING),
    ],
)
def test_a_group_is_judged_by_its_messages_and_records(messages, owners, expected):
    assert judgement(messages, *owners).cause is expected


@table(
    ("outgoing", "put", "expected"),
    [
        (Outgoing(G, 3), LEFT_PUTTER, C.STOPPED),
        (Outgoing(G, 2), LEFT_PUTTER, C.PIPE),
        (Outgoing(), LEFT_PUTTER, C.PIPE),
        (Outgoing(G, 3), None, C.PIPE),
        (Outgoing(), None, C.STOPPED),
        (Outgoing(G, 3), SeenOwner("put", "P", "MQGROUPS.PUT.P", OwnerState.LOST), C.PIPE),
        # It may come back.
        (Outgoing(G, 3), SeenOwner("put", "P", "MQGROUPS.PUT.P", OwnerState.HIDDEN), C.STOPPED),
        (Outgoing(G, 2), PUTTER, C.STOPPED),
    ],
)
def test_the_records_of_a_pipe_are_of_one_commit(outgoing, put, expected):
    get = owner("get", 1, name="P", outgoing=outgoing)
    around = Surroundings(BrowsedInstance("QM1", "Q", hidden=0), (get, put) if put else (get,), quiet_since=QUIET)
    assert judged(inspected(WHOLE[1:]), [get], around).cause is expected


@table(
    ("messages", "owners", "more", "expected"),
    [
        (WHOLE[:3], (), {}, C.NO_RECORD),
        (WHOLE[:3], (GETTER,), {}, C.NO_RECORD),
        (WHOLE[1:3], (GETTER,), {}, C.NO_RECORD),
        (WHOLE[1:3], (), {}, C.NO_BEGINNING),
        (WHOLE[:3], (PUTTER,), {}, C.PUTTING),
        (WHOLE[1:], (GETTER,), {}, C.GETTING),
        (WHOLE[:3], (), {"group_id": b"AMQ QM1.OF.A.LONG" + G[17:]}, C.NO_RECORD),
        # Its producer's record is at the queue manager that made the GroupId.
        (WHOLE[:3], (), {"group_id": b"AMQ QM2         " + G[16:]}, C.UNNAMED),
        (WHOLE[1:], (), {"all_seen": False}, C.BEGINNING_UNSEEN),
        ([], (LEFT_PUTTER,), {"all_seen": False}, C.PUT_GONE),
        ([], (LEFT_PUTTER,), {"hidden": 1}, C.STOPPED),
        ([], (LEFT_PUTTER, LEFT_GETTER), {"hidden": 1}, C.STOPPED),
        ([], (LEFT_PUTTER, LEFT_GETTER), {"hidden": None}, C.NEWER),
        ([], (LEFT_PUTTER, owner("get", 4)), {"hidden": 1}, C.OLDER),
    ],
)
def test_a_record_that_was_not_seen_may_be_somewhere(messages, owners, more, expected):
    assert judgement(messages, *owners, **{"producers_seen": True, **more}).cause is expected


@table(
    ("messages", "owners", "expected"),
    [
        (WHOLE, (), C.POISON),
        (WHOLE[1:], (LEFT_GETTER,), C.POISON),
        (WHOLE[1:], (GETTER,), C.GETTING),
        ([WHOLE[0], *WHOLE[2:]], (), C.GAP),
    ],
)
def test_a_message_whose_backout_count_has_reached_bothresh_stops_its_consumer(messages, owners, expected):
    backed_out = [replace(each, backout_count=3) for each in messages]
    assert judgement(backed_out, *owners, threshold=3).cause is expected
    assert judgement(backed_out, *owners, threshold=4).cause is not C.POISON
    assert judgement(backed_out, *owners).cause is not C.POISON


def test_an_incomplete_group_whose_last_message_is_new_is_being_put_by_somebody():
    assert judgement([message(1, put_time=AFTER)]).cause is C.PUTTING


def test_a_stalled_group_is_stalled_since_its_last_message_or_commit():
    messages = [message(1, put_time=LONG_AGO), message(2, put_time=BEFORE)]
    assert judgement(messages).since == BEFORE
    assert judgement(messages, replace(PUTTER, committed_at=QUIET)).since == QUIET


def test_what_needs_an_operator_comes_first():
    bad = [cause.severity is not Severity.OK for cause in Cause]
    assert bad == sorted(bad, reverse=True)


MESSAGES = st.lists(
    st.builds(
        message,
        st.integers(1, 5),
        st.sampled_from([MIG, LAST]),
        put_time=st.sampled_from(["", LONG_AGO, BEFORE, AFTER]),
        persistence=st.integers(0, 1),
        backout_count=st.integers(0, 2),
    ),
    max_size=8,
)
OWNER = st.builds(
    owner,
    st.sampled_from(["put", "get"]),
    st.integers(1, 5),
    st.sampled_from(OwnerState),
    st.sampled_from(["", BEFORE, AFTER]),
    is_shared=st.booleans(),
)
OWNERS = st.lists(OWNER, max_size=2, unique_by=lambda owner: owner.role)


@given(MESSAGES.filter(bool), OWNERS, st.randoms())
def test_the_order_of_messages_and_owners_makes_no_difference(messages, owners, random):
    before = judgement(messages, *owners)
    random.shuffle(messages)
    after = judgement(messages, *reversed(owners))
    assert (after.cause, after.since) == (before.cause, before.since)


@given(MESSAGES.filter(bool), OWNERS)
def test_a_group_that_somebody_works_on_becomes_stalled_when_time_passes_and_no_other_state_changes(messages, owners):
    at_work = {GroupState.BEING_PUT, GroupState.BEING_GOT}
    early = judgement(messages, *owners, quiet_since="0").cause.state
    late = judgement(messages, *owners, quiet_since="9").cause.state
    assert late not in at_work
    assert late is (GroupState.STALLED if early in at_work else early)


@given(MESSAGES.filter(bool), st.lists(OWNER.filter(lambda owner: owner.state is ACTIVE), max_size=1))
def test_a_complete_group_has_every_message_once(messages, owners):
    numbers = sorted(each.msg_seq_number for each in messages)
    lasts = [each.msg_seq_number for each in messages if each.msg_flags == LAST]
    whole = numbers == list(range(1, len(numbers) + 1)) and lasts == numbers[-1:]
    assert (judgement(messages, *owners).cause is C.WHOLE) == whole


@given(
    MESSAGES,
    st.lists(OWNER, min_size=1, max_size=2, unique_by=lambda owner: owner.role),
    st.booleans(),
    st.sampled_from([None, 0, 1]),
    st.integers(0, 1),
    st.sampled_from(["", "B"]),
)
def test_what_needs_an_operator_has_a_remedy_and_nothing_else_has(
    messages, owners, all_seen, hidden, threshold, backout
):
    more = {"producers_seen": all_seen, "all_seen": all_seen, "backout_queue": backout}
    found = judgement(messages, *owners, hidden=hidden, threshold=threshold, **more)
    lines = remedy(found)
    assert bool(lines) == (found.cause.severity is not Severity.OK)
    # A setting of a program is no operator's; without it messages that are there again cannot be told from the rest.
    assert found.cause is C.AGAIN or not any("=" in line for line in lines if line.startswith(("start ", "end ")))
    # The last line of all is something to do.
    assert not lines or not lines[-1].endswith(":")


def test_a_record_that_stays_hidden_may_be_lost_where_an_authority_is_missing():
    hidden = SeenOwner("put", "P", "MQGROUPS.PUT.P", OwnerState.HIDDEN)
    assert (
        owner_remedy(hidden, Surroundings(BrowsedInstance("QM1", "Q", hidden=0), [hidden]))[-1] == "mqgroups owners P"
    )


@table(
    ("other", "accepted"),
    [
        (None, False),
        (SeenOwner("put", "O", "MQGROUPS.PUT.O", OwnerState.UNREADABLE), True),
        (SeenOwner("put", "O", "MQGROUPS.PUT.O", OwnerState.UNREADABLE, queue="OTHER"), True),
        (SeenOwner("put", "O", "MQGROUPS.PUT.O", OwnerState.LOST, queue="Q"), True),
        (SeenOwner("put", "O", "MQGROUPS.PUT.O", OwnerState.LOST, queue="OTHER"), False),
        (SeenOwner("put", "O", "MQGROUPS.PUT.O", OwnerState.CLEAN), False),
        (SeenOwner("get", "O", "MQGROUPS.GET.O", OwnerState.UNREADABLE), False),
    ],
)
def test_a_rebuild_accepts_another_owner_where_it_would_be_asked_and_only_there(other, accepted):
    damaged = SeenOwner("put", "P", "MQGROUPS.PUT.P", OwnerState.UNREADABLE, queue="Q")
    around = Surroundings(BrowsedInstance("QM1", "Q", hidden=0), [damaged, *([other] if other else [])])
    interrupted, nothing = (each for each in owner_remedy(damaged, around) if each.startswith("mqgroups"))
    assert ("--accept other-owners" in interrupted) == accepted
    # If the queue has an interrupted group after all, the command finds it, and asks who else may have it.
    assert "other-owners" not in nothing


def test_a_message_that_is_locked_by_browsing_is_not_taken_for_lost():
    seen: dict[str, Any] = {"hidden": 0, "depth": 4, "messages": 3, "open_input": 1}
    for more, is_locked in (({}, True), ({"depth": 3}, False), ({"hidden": 1}, False), ({"open_input": 0}, False)):
        at = BrowsedInstance("QM1", "Q", "Q", **{**seen, **more})
        found = judged(inspected(WHOLE[1:]), [], Surroundings(at, quiet_since=QUIET))
        assert found.cause is C.NO_BEGINNING
        assert remedy(found)[0].startswith("first end the program") == is_locked


@table(("state", "by_log"), [(OwnerState.CLEAN, True), (OwnerState.LOST, False)])
def test_a_record_is_not_rebuilt_for_a_clean_owner_unless_its_log_says_so(state, by_log):
    asked = SeenOwner("put", "P", "MQGROUPS.PUT.P", state, queue="Q")
    at = BrowsedInstance("QM1.OF.A.LONG.NAME", "Q", "Q", hidden=0)
    around = Surroundings(at, [asked], producers_seen=True, quiet_since=QUIET, name="P")
    found = judged(inspected(WHOLE[:3], b"AMQ QM1.OF.A.LONG" + G[17:]), [], around)
    assert (found.cause, "by its log" in remedy(found)[0]) == (C.NO_RECORD, by_log)

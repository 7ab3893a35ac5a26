"""The ownership protocol, step by step: what is called and concluded. ``tests/ownership`` explores every interleaving."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqgroups.core import protocol
from mqgroups.core.group import GroupPosition
from mqgroups.core.kept_record import KeptRecord
from mqgroups.core.model import MsgFlag, Role
from mqgroups.core.ownership import Ownership, PendingCommit, Replaced
from mqgroups.core.restart import CommitOutcome, Expectations, idle_record, position_of
from mqgroups.core.status import RecordState
from mqgroups.core.status_chain import FoundMessage, QueueContents, StoredRecord
from mqgroups.core.steps import (
    BackOut,
    Browse,
    Commit,
    InUse,
    LookAtHolder,
    Lost,
    OpenAgain,
    PutRecord,
    RecordArrived,
    Remember,
    Take,
    WaitForRecord,
)

OURS, THEIRS = Expectations(Role.PUT, "OURS", "Q", "QMID"), Expectations(Role.GET, "THEIRS", "IN", "QMID")
ANCHOR, MSG_ID = b"a" * 24, b"m" * 24


def record_at(number, expected=OURS, owner_id="me", epoch=1):
    """Return a record after message ``number`` of a group; of unit of work ``number``."""
    idle = replace(idle_record(expected, number), owner_id=owner_id, epoch=epoch)
    return replace(idle, state=RecordState.IN_GROUP, group_id=b"g" * 24, msg_seq_number=number)


def owning(record, queue="S", expected=OURS):
    """Return what an owner knows whose last commit has left ``record``."""
    contents = QueueContents(StoredRecord(MSG_ID), ANCHOR)
    kept = KeptRecord(queue, contents=contents, users=frozenset({"app"}), claimed=True)
    return Ownership(expected, "me", 1, kept, record, position_of(record))


def pending(own, record):
    """Return the same while ``record`` is being committed; the answer of MQCMIT was lost."""
    return own._replace(pending=PendingCommit(record, position_of(record), reason=2009))


def on_queue(*records):
    """Return what a browse finds: each record with its anchor; an anchor alone for ``None``."""
    found = []
    for number, record in enumerate(records):
        anchor = bytes([number]) + ANCHOR[1:]
        of_anchor = replace(idle_record(OURS), state=RecordState.ANCHOR)
        found.append(FoundMessage(anchor, bytes(24), bytes(24), 0, 9, MsgFlag.NONE, of_anchor, user="app"))
        if record is not None:
            msg_id = bytes([number]) + MSG_ID[1:]
            found.append(FoundMessage(msg_id, anchor, bytes(24), 0, 9, MsgFlag.NONE, record, user="app"))
    return tuple(found)


def run(steps, *answers, made=None):
    """Answer the steps, one after the other; an exception is thrown in. Returns the steps, also in ``made``, and the result."""
    made = [] if made is None else made
    left = list(answers)
    try:
        step = next(steps)
        while True:
            made.append(step)
            answer = None if isinstance(step, (Remember, BackOut)) else left.pop(0)
            step = steps.throw(answer) if isinstance(answer, Exception) else steps.send(answer)
    except StopIteration as end:
        assert left == []
        return made, end.value


def settle(*ownerships):
    return protocol.settled(ownerships)


BEFORE, AFTER = record_at(2), record_at(3)


@pytest.mark.parametrize(
    ("found", "outcome", "known"),
    [(AFTER, CommitOutcome.COMMITTED, AFTER), (BEFORE, CommitOutcome.BACKED_OUT, BEFORE)],
    ids=["committed", "backed out"],
)
def test_after_a_lost_mqcmit_the_record_says_what_became_of_it(found, outcome, known):
    made, (verdict,) = run(settle(pending(owning(BEFORE), AFTER)), True, on_queue(found))
    assert verdict.outcome is outcome
    assert verdict.after.record == known
    assert verdict.after.pending is None
    # The queue handle is a new one, which does not know the group.
    assert verdict.after.position == replace(position_of(known), retained=False)
    assert [type(step) for step in made] == [BackOut, OpenAgain, Remember, Browse]


@pytest.mark.parametrize(
    "there",
    [(), (record_at(3, owner_id="another", epoch=2),), (record_at(1),)],
    ids=["nothing", "another owner's", "one of ours that is older"],
)
def test_any_other_record_is_a_name_that_is_lost(there):
    with pytest.raises(Replaced) as caught:
        run(settle(pending(owning(BEFORE), AFTER)), True, on_queue(*there))
    assert caught.value.holder == (there[0] if there else None)


def test_a_hidden_record_is_waited_for():
    hidden, seen = on_queue(None), on_queue(AFTER)
    made, (verdict,) = run(settle(pending(owning(BEFORE), AFTER)), True, hidden, None, hidden, None, seen)
    assert verdict.outcome is CommitOutcome.COMMITTED
    assert [step.first for step in made if isinstance(step, WaitForRecord)] == [True, False]


@pytest.mark.parametrize(
    ("holder", "raised"),
    [
        (record_at(3, owner_id="another", epoch=BEFORE.epoch + 1), Replaced),
        # It was to be removed by a unit of work that was backed out late.
        (record_at(9, owner_id="another", epoch=BEFORE.epoch), InUse),
        (AFTER, InUse),
        (None, InUse),
    ],
    ids=["a later owner", "an earlier owner", "the old connection", "nobody to be seen"],
)
def test_a_status_queue_that_is_open_elsewhere_is_lost_only_if_its_record_is_a_later_owners(holder, raised):
    with pytest.raises(raised):
        run(settle(pending(owning(BEFORE), AFTER)), InUse(OSError()), holder)


def test_both_records_of_a_pipe_are_read_before_anything_is_concluded():
    get_before, get_after = record_at(2, THEIRS), record_at(3, THEIRS)
    both = pending(owning(get_before, "G", THEIRS), get_after), pending(owning(BEFORE), AFTER)
    steps = settle(*both)
    with pytest.raises(Lost):
        run(steps, True, True, on_queue(get_after), Lost(OSError()))
    # Nothing was remembered but the fresh handles, so both are concluded from the same state.
    _, verdicts = run(settle(*both), False, False, on_queue(get_after), on_queue(AFTER))
    assert [verdict.outcome for verdict in verdicts] == [CommitOutcome.COMMITTED] * 2


def test_what_is_under_way_is_remembered_before_the_first_call_and_in_doubt_after_a_lost_answer():
    steps = protocol.unit_ended((owning(BEFORE),), (PendingCommit(AFTER, position_of(AFTER)),))
    made: list[object] = []
    with pytest.raises(Lost):
        run(steps, True, RecordArrived(b"n" * 24, bytes(24), 9, "app"), Lost(OSError(), 2009), made=made)
    assert [type(step) for step in made] == [Remember, Take, PutRecord, Commit, Remember]
    remembered = [step.ownerships[0].pending for step in made if isinstance(step, Remember)]
    assert [(each.record, each.reason) for each in remembered] == [(AFTER, 0), (AFTER, 2009)]


def test_a_record_that_is_gone_while_its_owner_closes_is_nobodys_loss():
    idle = replace(BEFORE, state=RecordState.COMPLETED)
    closing = owning(idle)._replace(is_closing=True, pending=PendingCommit(None, GroupPosition(), reason=2009))
    _, (verdict,) = run(settle(closing), True, on_queue())
    assert verdict.outcome is CommitOutcome.COMMITTED
    assert verdict.after.record is None


def test_what_a_holder_shows_is_believed_from_known_users_only():
    made: list[object] = []
    with pytest.raises(InUse):
        run(settle(pending(owning(BEFORE), AFTER)), InUse(OSError()), None, made=made)
    assert [step.users for step in made if isinstance(step, LookAtHolder)] == [frozenset({"app"})]

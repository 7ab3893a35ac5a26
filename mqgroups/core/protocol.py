"""The ownership protocol: what the owner of a name does, from its start to its end, and after a lost connection.

Theory of operation. A name's status record says where its group stands. It is in the same unit of work as the messages that it
describes, so it is also the only truth about a commit that had no answer. The status queue is open exclusively from an owner's
start to its end, and from the commit of its claim on the owner's record is there:

                    found, claimed              unit_ended
        nothing ───────────────────► owning ──────────────────► owning, one unit of work further
                                      │  ▲
         a call is lost, or the       │  │ settled: committed, or backed out
         program is interrupted       ▼  │
                                    in doubt ─────────────────► name lost: somebody else's record is there; the owner ends
                    closed
        owning ───────────────────────────────────────────────► nothing; or the record, if it is still needed

* ``found`` reads the record, and refuses another program's. ``claimed`` puts one with this owner's identity in its place, in a
  unit of work of its own. Until that is committed nothing is this owner's, so a claim that is lost is begun again from ``found``.
* ``unit_ended`` replaces the record in the unit of work of the messages, and commits. First it remembers what it is about to
  commit (``PendingCommit``). That is forgotten when it returns, or when ``settled`` has read the record.
* **After a lost MQCMIT** nothing is repeated before its outcome is known. The units of work connect to the same queue manager
  and run ``settled``, again and again until their patience ends (``reconnect_wait_s``). ``settled`` backs out and opens the
  status queue exclusively: if that succeeds, nobody else has it, and the old connection is gone. It reads the record, waiting
  while a unit of work hides it, and compares its mark. The mark of the pending record: committed. The mark of the record
  before: backed out, and the owner puts or gets its messages again. Any other mark, or none: another instance has the name, and
  this one ends (but see ``closed``). If the patience ends first, the application gets CommitOutcomeUnknown, and the next start
  of the name reads the record. The same is done after any other call that was lost, and after an interruption anywhere: the
  outcome is then derived only from what was remembered and from the record. A call that the queue manager refuses is not in
  doubt: the unit of work is backed out.
* ``closed`` removes a record that is no longer needed: one without an unfinished group, a suspect and a checkpoint. If
  the record is gone already, or another owner's, the removal counts as done.

A producer or a consumer is one owner. A pipe is two, its consumer and its producer in this order, with one unit of work: both
records are read before anything is concluded from either, and if one name is lost, both are. All functions take and return the
ownerships of all owners, always in the same order.

**A connection that the application uses too** may be committed or backed out by it at any moment. So there the record is got at
the beginning of a unit of work (``unit_begun``), and after each commit it is checked that it is on the queue (``checks``): if the
application has ended the unit of work early, it is not.

kept, in_unit    how the record lies on its queue: after the last commit, and as the open unit of work sees it if it was got first
mark             what makes a record known again: its unit of work, owner and epoch; ``own.marks`` are those that it can have now
anchor           a message that is on the queue as long as a record is; it shows that a hidden record exists (decision 17)
units of work    decide when each function is called, and how often (``status/units_of_work.py``)
performer        makes the calls that the generators ask for, on the status queues (``status/performer.py``)

Each function with steps is a generator: it yields a call and is sent its answer (``core/steps.py``). It knows no MQI, clock or
log. What it needs to go on after any yield is in immutable values, so that every interleaving can be explored.
"""

from __future__ import annotations

from dataclasses import replace

from mqgroups.core.group import AT_START, on_fresh_handle
from mqgroups.core.ownership import (
    Endings,
    Kept,
    NotOurs,
    Ownership,
    Ownerships,
    PendingCommit,
    Replaced,
    Verdict,
)
from mqgroups.core.restart import (
    CommitOutcome,
    Expectations,
    commit_outcome,
    idle_record,
    keeps_on_claim,
    mismatch_of,
    position_of,
)
from mqgroups.core.status import Mark, RecordState, StatusRecord
from mqgroups.core.steps import (
    BackOut,
    Begin,
    Commit,
    Failed,
    InUse,
    Lost,
    NoQueue,
    OpenAgain,
    Remember,
    Steps,
)

# --- the start


def found(kept: Kept, expected: Expectations, owner_id: str) -> Steps[Ownership]:
    """Read the record of a name. Nothing is changed, and nothing belongs to this owner yet."""
    kept, record = yield from kept.read()
    if record is None:
        return Ownership(expected, owner_id, 1, kept, None, AT_START)
    if (mismatch := mismatch_of(record, expected)) is not None:
        raise NotOurs(kept.queue, mismatch)
    is_interrupted = record.state is RecordState.IN_GROUP
    position = on_fresh_handle(position_of(record)) if is_interrupted else AT_START
    return Ownership(expected, owner_id, record.epoch + 1, kept, record, position)


def claimed(ownerships: Ownerships) -> Steps[Ownerships]:
    """Replace the records by the owners' own, in one unit of work. From then on the names belong to these owners."""
    yield Begin()
    return (yield from unit_ended(ownerships, tuple(map(_claim, ownerships)), checks=True))


def _claim(own: Ownership) -> PendingCommit:
    record = own.record
    if record is None or not keeps_on_claim(record, own.expected):
        number = 0 if record is None else record.unit_of_work
        record = idle_record(own.expected, number)
    return PendingCommit(replace(record, owner_id=own.owner_id, epoch=own.epoch), own.position)


# --- units of work


def unit_begun(ownerships: Ownerships) -> Steps[Ownerships]:
    """Get the records first, on a connection that the application uses too."""
    after: Ownerships = ()
    for own in ownerships:
        # The unit of work may be begun already, though no message was put or got in it.
        in_unit = yield from (own.in_unit or own.kept).got_first()
        after = (*after, own._replace(in_unit=in_unit))
    return after


def unit_ended(ownerships: Ownerships, endings: Endings, *, checks: bool = False) -> Steps[Ownerships]:
    """Replace or remove the records of owners with an ending (``None``: the record stays as it is), and commit.

    ``checks``: whether to check, after the commit, that the records are on their queues, and committed.
    """
    pending = tuple(map(_with_pending, ownerships, endings))
    yield Remember(pending)
    after: Ownerships = ()
    # Backwards: the record of a pipe's producer directly follows its messages.
    for own in pending[::-1]:
        kept = own.in_unit or own.kept
        if own.pending is None:
            pass
        elif own.pending.record is None:
            kept = yield from kept.removed()
        else:
            kept = yield from kept.replaced(own.pending.record, ends_chain=own.pending.ends_chain)
        after = (_ended(own, kept), *after)
    try:
        yield Commit()
    except Lost as lost:
        yield Remember(_all_in_doubt(pending, lost.reason))
        raise
    if checks:
        try:
            for own in after:
                yield from own.kept.checked()
        except Failed as failed:
            yield Remember(_all_in_doubt(pending, failed.reason))
            raise
    return after


def _with_pending(own: Ownership, ending: PendingCommit | None) -> Ownership:
    if ending is None and own.in_unit is not None and own.record is not None:
        # The record was got first, so it has to be put again.
        ending = PendingCommit(replace(own.record, unit_of_work=own.number), own.position)
    return own._replace(pending=ending)


def _ended(own: Ownership, kept: Kept) -> Ownership:
    if own.pending is None:
        return own._replace(kept=kept.after_commit(), in_unit=None)
    record, position, *_ = own.pending
    return own._replace(record=record, position=position, kept=kept.after_commit(), pending=None, in_unit=None)


def _all_in_doubt(ownerships: Ownerships, reason: int) -> Ownerships:
    return tuple(in_doubt(own, reason) for own in ownerships)


def in_doubt(own: Ownership, reason: int) -> Ownership:
    """Return an ownership whose commit under way had no answer, with the reason code of that."""
    return own if own.pending is None else own._replace(pending=own.pending._replace(reason=reason))


def noted(
    ownerships: Ownerships, records: tuple[StatusRecord | None, ...], *, checks: bool = False
) -> Steps[Ownerships]:
    """Change what records say besides the position, such as a checkpoint, in a unit of work of their own."""
    yield Begin()
    endings = tuple(
        None if record is None else PendingCommit(record, own.position)
        for own, record in zip(ownerships, records, strict=True)
    )
    return (yield from unit_ended(ownerships, endings, checks=checks))


# --- after a lost connection, or an interruption


def settled(ownerships: Ownerships) -> Steps[tuple[Verdict, ...]]:
    """Find out what became of the last commit of each owner; one try. A unit of work that is still open is backed out."""
    yield BackOut()
    opened = tuple(own._replace(in_unit=None) for own in ownerships)
    for number, own in enumerate(opened):
        was_lost = yield from _opened_again(own)
        if was_lost:
            # The data queue gets a fresh handle too, at whichever of the two positions the group is.
            opened = (*opened[:number], _on_fresh_handle(own), *opened[number + 1 :])
            yield Remember(opened)
    # All records are read before anything is concluded: if the connection is lost once more, all owners can start over.
    verdicts: tuple[Verdict, ...] = ()
    for own in opened:
        kept, record = yield from own.kept.read(own.marks)
        verdicts = (*verdicts, _verdict(own, kept, record))
    for verdict in verdicts:
        if verdict.outcome is CommitOutcome.OWNERSHIP_LOST:
            raise Replaced(verdict.before, verdict.after.record)
    return verdicts


def _opened_again(own: Ownership) -> Steps[bool]:
    try:
        was_lost: bool = yield OpenAgain(own.kept.queue)
    except InUse:
        # The old connection is not gone yet; or another instance has the name already. That one has read this owner's record,
        # so its epoch is higher. An earlier owner's record may be seen too, if its removal was backed out: its epoch is not.
        holder = yield from own.kept.seen_elsewhere(own.marks)
        if holder is not None and holder.epoch > own.epoch:
            raise Replaced(own, holder) from None
        raise
    except NoQueue:
        raise Replaced(own, None) from None
    return was_lost


def _on_fresh_handle(own: Ownership) -> Ownership:
    pending = own.pending
    if pending is not None:
        pending = pending._replace(position=on_fresh_handle(pending.position))
    return own._replace(position=on_fresh_handle(own.position), pending=pending)


def _verdict(own: Ownership, kept: Kept, record: StatusRecord | None) -> Verdict:
    before, pending = own.record, own.pending
    after = before if pending is None else pending.record
    mark = _mark(record)
    if own.is_closing and mark not in own.marks:
        # Its last record is gone, as it should be. A record of another owner does not matter then.
        return Verdict(
            own, CommitOutcome.COMMITTED, own._replace(kept=kept, record=None, position=AT_START, pending=None)
        )
    outcome = commit_outcome(mark, _mark(before), _mark(after))
    if outcome is CommitOutcome.OWNERSHIP_LOST:
        return Verdict(own, outcome, own._replace(record=record))
    if pending is not None and outcome is CommitOutcome.COMMITTED:
        committed = own._replace(kept=kept, record=record, position=pending.position, pending=None)
        return Verdict(own, outcome, committed)
    return Verdict(own, CommitOutcome.BACKED_OUT, own._replace(kept=kept, pending=None))


def _mark(record: StatusRecord | None) -> Mark | None:
    return None if record is None else record.mark


# --- the end


def closed(ownerships: Ownerships, *, checks: bool = False) -> Steps[Ownerships]:
    """Remove the records that are no longer needed, each with its anchor, in one unit of work.

    A chain of segments is first ended by a last segment, in a unit of work of its own, because a unit of work cannot get what it
    has put itself. If a call is lost, ``settled`` finds out which records are left, and this is called again.
    """
    ownerships = tuple(own._replace(is_closing=own.is_closing or _is_unneeded(own)) for own in ownerships)
    yield Remember(ownerships)
    chains = tuple(
        PendingCommit(own.record, AT_START, ends_chain=True)
        if _is_unneeded(own) and not own.kept.can_be_removed
        else None
        for own in ownerships
    )
    if any(chains):
        yield Begin()
        ownerships = yield from unit_ended(ownerships, chains, checks=checks)
        yield Remember(ownerships)
    removals = tuple(PendingCommit(None, AT_START) if _is_unneeded(own) else None for own in ownerships)
    if any(removals):
        yield Begin()
        ownerships = yield from unit_ended(ownerships, removals, checks=checks)
    return ownerships


def _is_unneeded(own: Ownership) -> bool:
    return own.record is not None and not own.record.is_needed


def taken_away(kept: Kept) -> Steps[None]:
    """Remove a record that nobody needs, for an operator."""
    yield Begin()
    yield from kept.removed()
    yield Commit()

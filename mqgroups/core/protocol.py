"""The ownership protocol: what the owner of a name does, from its start to its end, and after a lost connection.

Theory of operation. The status record of a name says how much of the current group is committed. The record is in the same unit
of work as the messages that it describes, so it also proves the outcome of a commit that had no answer. The status queue is open
exclusively from an owner's start to its end. From the commit of the claim on, the owner's record is on that queue:

                    found, claimed              unit_ended
        nothing ───────────────────► owning ──────────────────► owning, one unit of work further
                                      │  ▲
         a call is lost, or the       │  │ settled: committed, or backed out
         program is interrupted       ▼  │
                                    in doubt ─────────────────► name lost: another owner's record is there; this owner ends
                    closed
        owning ───────────────────────────────────────────────► nothing; or the record, if it is still needed

* ``found`` reads the record, and refuses a record of another program. ``claimed`` replaces it by a record with this owner's
  identity, in a separate unit of work. Before that commit the name is not this owner's, so a lost claim restarts from ``found``.
* ``unit_ended`` replaces the record in the unit of work of the messages, and commits. First it remembers what it is about to
  commit, as ``PendingCommit``, until ``unit_ended`` returns or ``settled`` has read the record.
* **After a lost MQCMIT** nothing is repeated until its outcome is known. ``UnitsOfWork`` connects to the same queue manager and
  runs ``settled`` again and again, for up to ``reconnect_wait_s``. ``settled`` backs out and opens the status queue exclusively.
  If that succeeds, no other program has the queue, and the old connection is gone. ``settled`` then reads the record, waits while
  a unit of work hides it, and compares its mark. The mark of the pending record means that the commit took effect. The mark of
  the previous record means that the unit of work was backed out, so the owner puts or gets its messages again. Any other mark, or
  no record, means that another instance has the name, and this one ends (but see ``closed``). If ``reconnect_wait_s`` ends first,
  the application gets CommitOutcomeUnknown, and the next start of the name reads the record. The same is done after any other
  lost call, and after an interruption at any place. The outcome then follows only from what was remembered and from the record. A
  call that the queue manager refuses is not in doubt, and the unit of work is backed out.
* ``closed`` removes a record that is no longer needed (``StatusRecord.is_needed`` is false). If the record is gone already, or
  belongs to another owner, the removal counts as done.

A producer or a consumer is one owner. A pipe is two owners, first its consumer and then its producer, which share one unit of
work. Both records are read before anything is concluded from either. If one name is lost, the other is given up too. All
functions take and return the ownerships of all owners, always in the same order.

**On a connection that the application uses too**, the application can commit or back out at any moment. So the record is got at
the beginning of a unit of work (``unit_begun``), and each commit is followed by a check that the record is on the queue
(``checks``). If the application has ended the unit of work early, the record is not there.

kept             how the record is stored after the last commit
in_unit          how the record is stored in an open unit of work that began by getting it
mark             identifies a record: unit of work, owner and epoch; ``own.marks`` are the marks that an owner's record can have
anchor           a message that is on the queue as long as a record is; it shows that a hidden record exists (decision 17)
units of work    decide when each function is called, and how often (``status/units_of_work.py``)
performer        makes the calls that the generators yield, on the status queues (``status/performer.py``)

Each function that returns ``Steps`` is a generator. It yields a call and is sent the answer (``core/steps.py``). It uses no MQI,
clock or log. All its state is in immutable values, so that tests can explore every interleaving.
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
    """Read the record of a name. The queue is not changed, and the name does not belong to the new owner yet."""
    kept, record = yield from kept.read()
    if record is None:
        return Ownership(expected, owner_id, 1, kept, None, AT_START)
    if (mismatch := mismatch_of(record, expected)) is not None:
        raise NotOurs(kept.queue, mismatch)
    is_interrupted = record.state is RecordState.IN_GROUP
    position = on_fresh_handle(position_of(record)) if is_interrupted else AT_START
    return Ownership(expected, owner_id, record.epoch + 1, kept, record, position)


def claimed(ownerships: Ownerships) -> Steps[Ownerships]:
    """Put the new owners' own records in place of the present ones, in one unit of work. Then the owners have the names."""
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
    """Get the records at the beginning of a unit of work, on a connection that the application uses too."""
    after: Ownerships = ()
    for own in ownerships:
        # The unit of work may have begun already, although no message was put or got in it.
        in_unit = yield from (own.in_unit or own.kept).got_first()
        after = (*after, own._replace(in_unit=in_unit))
    return after


def unit_ended(ownerships: Ownerships, endings: Endings, *, checks: bool = False) -> Steps[Ownerships]:
    """Replace or remove the owners' records, and commit. An owner whose ending is ``None`` keeps its record.

    ``checks``: whether to check, after the commit, that the records are on their queues, and committed.
    """
    pending = tuple(map(_with_pending, ownerships, endings))
    yield Remember(pending)
    after: Ownerships = ()
    # In reverse order, so that the record of a pipe's producer directly follows its messages.
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
    """Return ``own`` with ``reason``, the reason code of the pending commit that had no answer."""
    return own if own.pending is None else own._replace(pending=own.pending._replace(reason=reason))


def noted(
    ownerships: Ownerships, records: tuple[StatusRecord | None, ...], *, checks: bool = False
) -> Steps[Ownerships]:
    """Put new ``records`` in a separate unit of work. They differ from the present ones in other fields than the position."""
    yield Begin()
    endings = tuple(
        None if record is None else PendingCommit(record, own.position)
        for own, record in zip(ownerships, records, strict=True)
    )
    return (yield from unit_ended(ownerships, endings, checks=checks))


# --- after a lost connection, or an interruption


def settled(ownerships: Ownerships) -> Steps[tuple[Verdict, ...]]:
    """Find out, in one try, the outcome of each owner's last commit. An open unit of work is backed out."""
    yield BackOut()
    opened = tuple(own._replace(in_unit=None) for own in ownerships)
    for number, own in enumerate(opened):
        was_lost = yield from _opened_again(own)
        if was_lost:
            # The data queue gets a fresh handle too, which retains neither of the two positions.
            opened = (*opened[:number], _on_fresh_handle(own), *opened[number + 1 :])
            yield Remember(opened)
    # All records are read before anything is concluded, so all owners can start over if the connection is lost once more.
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
        # Either the old connection is not gone yet, or another instance has the name already. That instance has read this
        # owner's record, so its epoch is higher. An earlier owner's record, whose removal was backed out, has no higher epoch.
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
        # The closing owner's record is gone, as it should be. Another owner's record does not matter then.
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

    A chain of segments can be removed only after its last segment is put. A separate unit of work puts this segment, because
    a unit of work cannot get its own messages. If a call is lost, ``settled`` finds out which records are left, and this
    function is called again.
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
    """Remove a record that nobody needs, on behalf of an operator."""
    yield Begin()
    yield from kept.removed()
    yield Commit()

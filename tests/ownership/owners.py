"""The protocol of the model: what an instance calls from its start to its end, and how each safety of it is taken out.

An instance is a generator: it yields a call and is sent the answer, or gets ``Lost`` thrown. What it yields besides calls are
notes, for the invariants: what it has concluded, and that it has stopped.

The explorer knows where a generator stands by its frames: the line and the local variables. So what an instance knows is in
local variables that can be hashed, it yields in no expression that has more to do, and loops with calls in them go over tuples
of different things.

    status queues   "G" of who gets, "P" of who puts; a pipe has both      data queues   "IN", "OUT"

    ("R", owner, epoch, number, says, pair)   a record: its mark, and the (group, position) of an interrupted group, or ()
    ("A", pair)                               an anchor: a record with this pair exists on the queue, seen or not
    ("m", group, number)                      a message of a group
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.ownership.queue_manager import IN_USE, NO_MESSAGE, Body, Call

LENGTH = 3  # messages of a group, in units of work that end after the second and the third
ENDS = (2, 3)
ATTEMPT = 10  # an instance's identities are its number, and this much more for each claim without an answer
INCOMING = 0  # the group there is to get

Steps: TypeAlias = Generator[Call, Any, Any]


class Lost(Exception):
    """A call ended because the connection is lost; what it did is not known."""


class Ended(Exception):
    """An instance ends with an error, which it names."""


@dataclass(frozen=True)
class Protocol:
    """The safeties; the defaults are the protocol as it is to be.

    Attributes:
        anchor: an anchor stands for the record; "none", or "depth" for CURDEPTH instead of it.
        depth_counts_gets: how CURDEPTH is read: whether a message got in an open unit of work counts.
        exclusive: the status queue is opened for exclusive input.
        sees_all: when what is seen on a status queue is believed: "pairs" each record has its anchor and each anchor its record;
            "equal" as many anchors as records; "not fewer" records than anchors; "any" always.
        browses: "at once", or "in steps" between which more may come into sight.
        claims: a start puts a record with its owner and an epoch of its own.
        claims_together: a pipe opens and reads both status queues, and claims them in one unit of work; else one after the other.
        waits: an instance whose connection is lost opens the status queue before it concludes anything.
        judges_holder: what it concludes, meanwhile, of who is seen there: "whole" only if all is seen, "always", or "never".
        finds_own: it looks for its own record there, not for the one a start would take.
        reads_all: a pipe reads both records before it concludes anything from either.
        closes_for_sure: a record that is to be taken away and is not there any more is nobody's loss.
        starts_over: a claim without an answer is begun again from reading; else it is settled as a unit of work is.
        gets_again: a message that has to be there is waited for.
        leaves_idle: a takeover puts an idle record in the place of the one it moves.
        takes_leftovers: a claim takes away what other records there are.
        gets_record: a unit of work gets the record that it replaces; else they are put one behind the other (segmented status).
        closes_exactly: the closing unit of work gets one anchor, not all there are.
        closes_together: a pipe takes both records away in one unit of work.
        record_first: a unit of work gets the record before its messages; else after them.
    """

    anchor: str = "anchor"
    depth_counts_gets: bool = False
    exclusive: bool = True
    sees_all: str = "pairs"
    browses: str = "in steps"
    claims: bool = True
    claims_together: bool = True
    waits: bool = True
    judges_holder: str = "whole"
    finds_own: bool = True
    reads_all: bool = True
    closes_for_sure: bool = True
    starts_over: bool = True
    gets_again: bool = True
    leaves_idle: bool = True
    takes_leftovers: bool = True
    gets_record: bool = True
    closes_exactly: bool = True
    closes_together: bool = True
    record_first: bool = False


def mark(record: Body | None) -> Body | None:
    """Return what tells a record from every other one."""
    return record and record[:4]


def chain(record: Body) -> Body:
    """Return what all segments of a record that is put in segments have in common."""
    return record[:3]


def records_of(bodies: tuple[Body, ...]) -> tuple[Body, ...]:
    """Return the records, of each chain the last one."""
    last = {chain(body): body for body in sorted(bodies) if body[0] == "R"}
    return tuple(sorted(last.values()))


def anchors_of(bodies: tuple[Body, ...]) -> tuple[Body, ...]:
    """Return the anchors."""
    return tuple(body for body in bodies if body[0] == "A")


def sees_all(protocol: Protocol, bodies: tuple[Body, ...]) -> bool:
    """Whether no record of the status queue can be hidden in a unit of work."""
    records, anchors = records_of(bodies), anchors_of(bodies)
    if protocol.anchor != "anchor" or protocol.sees_all == "any":
        return True
    if protocol.sees_all == "not fewer":
        return len(records) >= len(anchors)
    if protocol.sees_all == "equal":
        return len(records) == len(anchors)
    return sorted(record[5] for record in records) == sorted(anchor[1] for anchor in anchors)


def the_one(bodies: tuple[Body, ...]) -> Body | None:
    """Return the record that counts for a start: the one that speaks, else the one with the highest epoch."""
    return max(records_of(bodies), key=lambda record: (record[4] != (), record[2], record[3]), default=None)


def owner(protocol: Protocol, me: int, statuses: tuple[str, ...]) -> Steps:
    """Put, get or pipe one group, or the rest of an interrupted one, and close."""
    records = yield from started(protocol, me, statuses)
    getting, putting = statuses[0] == "G", statuses[-1] != "G"
    says = [record[4] for record in records]
    position = says[0][1] if says[0] else 0
    group = says[-1][0] if putting and says[-1] else me
    knows_first = position > 0
    del says
    while position < LENGTH:
        end = next(end for end in ENDS if end > position)
        after = tuple(_next(protocol, me, r, s, end, group) for r, s in zip(records, statuses, strict=True))
        try:
            for status in statuses:
                if protocol.record_first:
                    yield from _got_before(protocol, status, records[statuses.index(status)])
            if getting and not knows_first:
                answer = yield "MQGET", "IN", ("m", INCOMING, 1)
                if answer == NO_MESSAGE:
                    if protocol.record_first:
                        yield "MQBACK", ""
                    break
                knows_first = True
                first = 2
            else:
                first = position + 1
            for number in range(first, end + 1):
                if getting:
                    yield from _message(protocol, number)
            for number in range(position + 1, end + 1):
                if putting:
                    yield "MQPUT", "OUT", ("m", group, number)
            for status in statuses[::-1]:
                if not protocol.record_first:
                    yield from _got_before(protocol, status, records[statuses.index(status)])
                yield "MQPUT", status, after[statuses.index(status)]
            yield "MQCMIT", "", "unit of work"
            committed = True
        except Lost:
            before = tuple(r if _is_there_before(protocol, r) else None for r in records)
            committed = yield from _settled(protocol, statuses, before, after)
        if committed:
            records, position = after, end
    yield "note", "done", group if putting and position else None
    yield from _closed(protocol, statuses, records)


def _is_there_before(protocol: Protocol, record: Body) -> bool:
    return protocol.claims or record[3] > 0


def _next(protocol: Protocol, me: int, record: Body, status: str, end: int, group: int) -> Body:
    says = () if end == LENGTH else (INCOMING if status == "G" else group, end)
    return ("R", record[1] if protocol.claims else me, record[2], record[3] + 1, says, record[5])


def _got_before(protocol: Protocol, status: str, record: Body) -> Steps:
    """Get the record that is to be replaced."""
    if not _is_there_before(protocol, record):
        yield "MQPUT", status, ("A", record[5])
    elif protocol.gets_record:
        yield from _got(status, record)


def _message(protocol: Protocol, number: int) -> Steps:
    """Get a message of which it is known that it has to be there."""
    answer = yield "MQGET", "IN", ("m", INCOMING, number)
    while answer == NO_MESSAGE:
        if not protocol.gets_again:
            yield from _stops("a message of the group is missing")
        answer = yield "MQGET", "IN", ("m", INCOMING, number)


def _got(status: str, record: Body) -> Steps:
    answer = yield "MQGET", status, record
    if answer == NO_MESSAGE:
        yield from _stops(f"the record is not on status queue {status}")


def _stops(why: str) -> Steps:
    yield "note", "stops", why
    raise Ended("StatusError")


# --- looking at a status queue


def _browsed(protocol: Protocol, status: str) -> Steps:
    bodies = yield "browse", status
    if protocol.browses == "in steps":
        bodies = yield "browse on", status, bodies
    return bodies


def _read(protocol: Protocol, status: str) -> Steps:
    """Browse until nothing can be hidden; returns records and anchors."""
    while True:
        bodies = yield from _browsed(protocol, status)
        if protocol.anchor == "depth" and not bodies:
            depth = yield "MQINQ", status, protocol.depth_counts_gets
            if depth:
                continue
        if sees_all(protocol, bodies):
            return bodies


def _opened(protocol: Protocol, status: str) -> Steps:
    answer = IN_USE
    while answer == IN_USE:
        answer = yield "MQOPEN", status, protocol.exclusive


# --- the start


def started(protocol: Protocol, me: int, statuses: tuple[str, ...]) -> Steps:
    """Open the status queues, read them and claim them; returns the records of this instance."""
    parts = (statuses,) if protocol.claims_together else tuple((status,) for status in statuses)
    all_found: tuple[tuple[Body, ...], ...] = ()
    own: tuple[Body, ...] = ()
    attempt = 0
    is_stale = False
    while len(own) < len(statuses):
        # A claim whose answer was lost may yet be found there, so each one is told from the others.
        myself = me + ATTEMPT * attempt
        part = parts[len(own) if len(parts) > 1 else 0]
        claiming = False
        try:
            found = yield from _found(protocol, part)
            claims = tuple(_claim_of(protocol, myself, bodies) for bodies in found)
            if len({_position(the_one(bodies)) for bodies in (*all_found, *found)}) != 1:
                yield from _stops("the records of a pipe disagree")
            # Without a claim, as in IBM's pattern, there is nothing of this instance's before its first commit.
            if protocol.claims:
                claiming = True
                for status in part:
                    number = part.index(status)
                    yield from _claimed(protocol, status, found[number], claims[number])
                yield "MQCMIT", "", "claim"
        except Lost:
            attempt += claiming
            is_stale = own != ()
            if protocol.starts_over or not claiming:
                continue
            committed = yield from _settled(protocol, part, tuple(map(the_one, found)), claims)
            if not committed:
                continue
        all_found, own = (*all_found, *found), (*own, *claims)
        del found, claims
    yield "note", "owns", None
    if is_stale:
        # What was claimed first is not held any more.
        yield from _settled(protocol, statuses, own, own, tells=False)
    return own


def _found(protocol: Protocol, statuses: tuple[str, ...]) -> Steps:
    """Open status queues, and read them."""
    for status in statuses:
        yield from _opened(protocol, status)
    found: tuple[tuple[Body, ...], ...] = ()
    for status in statuses:
        bodies = yield from _read(protocol, status)
        found = (*found, bodies)
        if sum(1 for record in records_of(bodies) if record[4]) > 1:
            yield from _stops("two records speak")
    return found


def _position(record: Body | None) -> int:
    return record[4][1] if record and record[4] else 0


def _kept_anchor(bodies: tuple[Body, ...]) -> Body | None:
    one, anchors = the_one(bodies), anchors_of(bodies)
    if one and ("A", one[5]) in anchors:
        return "A", one[5]
    return anchors[0] if anchors else None


def _claim_of(protocol: Protocol, me: int, bodies: tuple[Body, ...]) -> Body:
    found, anchor = the_one(bodies), _kept_anchor(bodies)
    if found and not protocol.claims:
        return found
    pair = anchor[1] if anchor else me
    return ("R", me, found[2] + 1, found[3], found[4], pair) if found else ("R", me, 1, 0, (), pair)


def _claimed(protocol: Protocol, status: str, bodies: tuple[Body, ...], own: Body) -> Steps:
    one, kept = the_one(bodies), _kept_anchor(bodies)
    for body in (*records_of(bodies), *anchors_of(bodies)):
        if body == one or (protocol.takes_leftovers and body != kept):
            yield from _got(status, body)
    if kept is None and protocol.anchor == "anchor":
        yield "MQPUT", status, ("A", own[5])
    yield "MQPUT", status, own


# --- after a lost connection


def _settled(
    protocol: Protocol,
    statuses: tuple[str, ...],
    before: tuple[Body | None, ...],
    after: tuple[Body, ...],
    *,
    tells: bool = True,
) -> Steps:
    """Find out what became of a unit of work; returns whether it was committed."""
    concluded: tuple[bool | None, ...] = ()
    while True:
        try:
            seen: tuple[tuple[Body, ...], ...] = ()
            for status in statuses:
                if protocol.waits:
                    yield from _opened_again(protocol, status, (*before, *after))
            while len(seen) < len(statuses):
                bodies = yield from _read(protocol, statuses[len(seen)])
                seen = (*seen, bodies)
                if not protocol.reads_all:
                    verdict = _verdict(protocol, bodies, before[len(seen) - 1], after[len(seen) - 1])
                    if verdict is None:
                        yield from _lost()
                    # What was concluded of the first is not concluded again: nothing of it is under way any more.
                    concluded = (*concluded, verdict) if len(concluded) < len(seen) else (False, *concluded[1:])
            verdicts = tuple(_verdict(protocol, *three) for three in zip(seen, before, after, strict=True))
            if None in verdicts:
                yield from _lost()
            if not protocol.waits:
                for status in statuses:
                    yield from _opened(protocol, status)
            verdict = verdicts[0] if protocol.reads_all else concluded[0]
            del verdicts
            if tells:
                yield "note", "committed" if verdict else "backed out", None
            return verdict
        except Lost:
            continue


def _opened_again(protocol: Protocol, status: str, own: tuple[Body | None, ...]) -> Steps:
    answer = yield "MQOPEN", status, protocol.exclusive
    while answer == IN_USE:
        if protocol.judges_holder != "never":
            bodies = yield from _browsed(protocol, status)
            believed = protocol.judges_holder == "always" or sees_all(protocol, bodies)
            # By the owner, not by the mark: beside a holder at work, the last segments of a chain may be missed.
            if believed and bodies and not {record[1] for record in records_of(bodies)} & {r[1] for r in own if r}:
                yield from _lost()
            del bodies, believed
        answer = yield "MQOPEN", status, protocol.exclusive


def _lost() -> Steps:
    yield "note", "ownership lost", None
    raise Ended("OwnershipLost")


def _verdict(protocol: Protocol, bodies: tuple[Body, ...], before: Body | None, after: Body | None) -> bool | None:
    """Whether the unit of work is committed; None if the record is somebody else's."""
    if protocol.finds_own:
        marks = {mark(record) for record in records_of(bodies)} or {None}
        spoken = [record for record in records_of(bodies) if record[4]]
        if any(mark(record) not in (mark(before), mark(after)) for record in spoken):
            return None
    else:
        marks = {mark(the_one(bodies))}
    if mark(after) in marks:
        return True
    return False if mark(before) in marks else None


# --- the end


def _closed(protocol: Protocol, statuses: tuple[str, ...], records: tuple[Body, ...]) -> Steps:
    """Take the records away: they say nothing any more."""
    there = tuple(s for s, record in zip(statuses, records, strict=True) if _is_there_before(protocol, record))
    while there:
        asked = False
        now = there if protocol.closes_together else there[:1]
        try:
            for status in now:
                record = records[statuses.index(status)]
                yield from _got(status, record)
                if protocol.anchor == "anchor":
                    anchors: tuple[Body, ...] = (("A", record[5]),)
                    if not protocol.closes_exactly:
                        bodies = yield "browse", status
                        anchors = anchors_of(bodies)
                    for anchor in anchors:
                        yield from _got(status, anchor)
            asked = True
            yield "MQCMIT", "", "close"
            there = there[len(now) :]
        except Lost:
            left = tuple(records[statuses.index(status)] for status in there)
            there = yield from _still_there(protocol, there, left, now if asked else ())


def _still_there(
    protocol: Protocol, statuses: tuple[str, ...], records: tuple[Body, ...], asked: tuple[str, ...]
) -> Steps:
    while True:
        try:
            for status in statuses:
                yield from _opened(protocol, status)
            there: tuple[str, ...] = ()
            for status in statuses:
                bodies = yield from _read(protocol, status)
                if mark(records[statuses.index(status)]) in {mark(one) for one in records_of(bodies)}:
                    there = (*there, status)
                elif (records_of(bodies) or status not in asked) and not protocol.closes_for_sure:
                    yield from _lost()
            return there
        except Lost:
            continue


# --- another owner takes the group over


def taker(protocol: Protocol, me: int, statuses: tuple[str, ...]) -> Steps:
    """Move what speaks on the first status queue to the second; ends with the connection, and is to be asked again."""
    try:
        yield from _opened(protocol, statuses[0])
        theirs = yield from _read(protocol, statuses[0])
        record = the_one(theirs)
        if record is None or not record[4]:
            return
        yield from _opened(protocol, statuses[1])
        there = yield from _read(protocol, statuses[1])
        if _position(the_one(there)):
            return
        idle = ("R", me, record[2] + 1, record[3], (), _claim_of(protocol, me, theirs)[5])
        given = (*_claim_of(protocol, me, there)[:3], record[3], record[4], _claim_of(protocol, me, there)[5])
        if protocol.leaves_idle:
            yield from _claimed(protocol, statuses[0], theirs, idle)
        else:
            for body in (*records_of(theirs), *anchors_of(theirs)):
                yield from _got(statuses[0], body)
        yield from _claimed(protocol, statuses[1], there, given)
        yield "MQCMIT", "", "takeover"
        if protocol.leaves_idle:
            yield from _got(statuses[0], idle)
            yield from _got(statuses[0], ("A", idle[5]))
            yield "MQCMIT", "", "close"
    except Lost:
        return

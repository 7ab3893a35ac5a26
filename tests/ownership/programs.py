"""Who starts: a program that puts, gets or pipes one group and closes.

It runs the library's own protocol (``mqgroups/core/protocol.py``), as ``mqgroups/status/units_of_work.py``
does; its steps become calls of the model's queue manager here, as the performer and the status queue make them of the MQI. There
is no protocol in this module: only when each part of it is run.

A program is a generator: it yields a call and is sent the answer, or gets ``Lost`` or ``Interrupted`` thrown. What it yields
besides calls are notes, for what has to hold: what it has concluded, and that it has stopped. The explorer knows where it stands
by its frames. So what it knows is in local variables, it yields in no expression that has more to do, and loops with calls in
them go over tuples of different things.

    status queues   "G" of who gets, "P" of who puts; a pipe has both      data queues   "IN", "OUT"
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple, TypeAlias

from mqgroups.core.group import AT_START, GroupPosition
from mqgroups.core.kept_record import KeptRecord
from mqgroups.core.model import Role
from mqgroups.core.next_record import NO_NOTE, next_record
from mqgroups.core.ownership import Ownerships, PendingCommit, Replaced
from mqgroups.core.protocol import claimed, closed, found, settled, unit_ended
from mqgroups.core.restart import CommitOutcome, Expectations, position_of
from mqgroups.core.status import Outgoing, RecordState
from mqgroups.core.status_chain import ChainBroken, LookAgain, RecordHidden, contents_of
from mqgroups.core.steps import (
    BackOut,
    Begin,
    Browse,
    Commit,
    InUse,
    IsThere,
    LookAtHolder,
    Lost,
    OpenAgain,
    PutAnchor,
    PutRecord,
    Refused,
    Remember,
    Take,
    TakeAnchor,
    WaitForRecord,
)
from tests.ownership.bodies import INCOMING, World, group_id
from tests.ownership.queue_manager import IN_USE, NO_MESSAGE, OK, Call

LENGTH = 3  # messages of a group, in units of work that end after the second and the third
ENDS = (2, 3)

Calls: TypeAlias = Generator[Call, Any, Any]


class Interrupted(BaseException):
    """An exception that may come between any two calls, as KeyboardInterrupt does. The application goes on after it."""


class Ended(Exception):
    """A program ends with an error, which it names."""


class Now(NamedTuple):
    """What the performer of a program keeps from one call to the next.

    Attributes:
        known: what is remembered of the owners.
        connection: how many connections were lost.
        open: the status queues that are open.
        interrupted: whether a call was interrupted.
    """

    known: Ownerships = ()
    connection: int = 0
    open: frozenset[str] = frozenset()
    interrupted: bool = False

    def has(self, status: str) -> Now:
        """Return the same with a status queue open."""
        return self._replace(open=self.open | {status})


# --- a program that puts, gets or pipes


def owner(world: World, statuses: tuple[str, ...]) -> Calls:
    """Put, get or pipe one group, or the rest of an interrupted one, and close."""
    now = yield from _started(world, statuses)
    getting, putting = statuses[0] == "G", statuses[-1] != "G"
    done = now.known[0].position.msg_seq_number
    resumed = now.known[-1].position
    group = world.me if resumed.at_start or not putting else int(resumed.group_id.strip(b"g."))
    del resumed
    knows_first = done > 0
    while done < LENGTH:
        got = done
        if getting and not knows_first:
            now, first = yield from _performed(world, now, _first_message(), "unit of work")
            if first == NO_MESSAGE:
                break
            if first != OK:
                now, _ = yield from _settled(world, now)
                continue
            knows_first, got = True, 1
            del first
        end = next(end for end in ENDS if end > done)
        unit = _unit_of_work(now.known, statuses, group, got, done, end)
        now, after = yield from _performed(world, now, unit, "unit of work")
        del unit, got, end
        committed = True
        if isinstance(after, tuple):
            now = now._replace(known=after)
        else:
            # After an interruption the application begins to look for a group again.
            knows_first = knows_first and after is not Interrupted
            now, committed = yield from _settled(world, now)
        position = now.known[0].position
        done = LENGTH if position.at_start and committed else position.msg_seq_number
        knows_first = knows_first or done > 0
        del after, position, committed
    yield "note", "done", group if putting and done else None
    while True:
        now, after = yield from _performed(world, now, closed(now.known), "close")
        if isinstance(after, tuple) or after is Interrupted:
            return
        del after
        now, _ = yield from _settled(world, now)


def _first_message() -> Calls:
    answer = yield "MQGET", "IN", ("m", INCOMING, 1)
    return answer


def _unit_of_work(known: Ownerships, statuses: tuple[str, ...], group: int, got: int, put: int, end: int) -> Calls:
    if statuses[0] == "G":
        for number in range(got + 1, end + 1):
            # It has to be there: perhaps in the unit of work of a lost connection, for which this waits.
            answer = yield "MQGET", "IN", ("m", INCOMING, number)
            while answer == NO_MESSAGE:
                answer = yield "MQGET", "IN", ("m", INCOMING, number)
    if statuses[-1] != "G":
        for number in range(put + 1, end + 1):
            yield "MQPUT", "OUT", ("m", group, number)
    endings = _endings(known, statuses, group, end)
    return (yield from unit_ended(known, endings))


def _endings(known: Ownerships, statuses: tuple[str, ...], group: int, end: int) -> tuple[PendingCommit, ...]:
    ended = end == LENGTH
    endings: tuple[PendingCommit, ...] = ()
    for own, status in zip(known, statuses, strict=True):
        position = GroupPosition(group_id(INCOMING if status == "G" else group), end)
        outgoing = None
        if status == "G" and len(statuses) > 1:
            outgoing = Outgoing() if ended else Outgoing(group_id(group), end)
        record = next_record(own, position, NO_NOTE, "", ended=ended, outgoing=outgoing)
        endings = (*endings, PendingCommit(record, AT_START if ended else position_of(record)))
    return endings


# --- the start


def _started(world: World, statuses: tuple[str, ...]) -> Calls:
    """Own the names; what was lost or interrupted is begun again by a new owner."""
    now = Now()
    attempt = 0
    while True:
        owner_id = f"{world.me}.{attempt}"
        now, known = yield from _performed(world, now, _start(world, statuses, owner_id), "claim")
        if isinstance(known, tuple):
            yield "note", "owns", None
            return now._replace(known=known, open=frozenset(statuses))
        attempt += 1
        now = now._replace(known=())
        del known
        while now.interrupted:
            now, _ = yield from _performed(world, now._replace(open=frozenset(statuses)), _backed_out(), "")


def _backed_out() -> Calls:
    yield BackOut()


def _start(world: World, statuses: tuple[str, ...], owner_id: str) -> Calls:
    known: Ownerships = ()
    for status in statuses:
        yield from _opened(world, status)
        kept = KeptRecord(status, world.ways.segmented)
        known = (*known, (yield from found(kept, _expected(status), owner_id)))
    if len(known) > 1:
        _refuse_disagreement(known)
    return (yield from claimed(known))


def _expected(status: str) -> Expectations:
    return Expectations(
        Role.GET if status == "G" else Role.PUT, f"NAME{status[1:]}", "IN" if status == "G" else "OUT", "QM"
    )


def _refuse_disagreement(known: Ownerships) -> None:
    """Refuse the records of a pipe that are not of one commit, as ``GroupPipe`` does."""
    getting, putting = known
    there = Outgoing()
    if not putting.position.at_start:
        there = Outgoing(putting.position.group_id, putting.position.msg_seq_number)
    record = getting.record
    expected = Outgoing()
    if record is not None and record.state is RecordState.IN_GROUP:
        expected = record.outgoing or there
    if there != expected:
        raise Refused("the records of the pipe disagree")


def _opened(world: World, status: str) -> Calls:
    answer = IN_USE
    while answer == IN_USE:
        answer = yield "MQOPEN", status, world.ways.exclusive


# --- after a lost connection, or an interruption


def _settled(world: World, now: Now) -> Calls:
    """Find out what is committed, until that succeeds; returns whether the last unit of work is."""
    while True:
        now, verdicts = yield from _performed(world, now, settled(now.known), "")
        if isinstance(verdicts, tuple):
            break
        del verdicts
    outcomes = {verdict.outcome for verdict in verdicts if not verdict.before.is_closing}
    committed = any(verdict.outcome is CommitOutcome.COMMITTED for verdict in verdicts)
    if len(outcomes) > 1:
        yield "note", "stops", "half of a unit of work is committed"
    if outcomes:
        yield "note", "committed" if committed else "backed out", None
    del outcomes
    return now._replace(known=tuple(verdict.after for verdict in verdicts)), committed


# --- the performer


def _performed(world: World, now: Now, steps: Any, what: str) -> Calls:
    """Make the calls of ``steps``, and remember what is to be remembered.

    Returns it, and what the steps return; or, instead of that, the class of the exception that ended them: ``Lost``,
    ``Interrupted``, or ``InUse``, after which the application or the library tries again. ``what`` is what a commit is for.
    """
    try:
        step = next(steps)
        while True:
            try:
                now, answer = yield from _made(world, now, step, what)
            except Lost as lost:
                now = now._replace(connection=now.connection + 1, open=frozenset(), interrupted=False)
                step = steps.throw(lost)
            except InUse as in_use:
                step = steps.throw(in_use)
            else:
                step = steps.send(answer)
                # What is not needed any more would make equal places unequal.
                del answer
    except StopIteration as end:
        return now, end.value
    except (Lost, InUse, Interrupted) as failed:
        return now._replace(interrupted=now.interrupted or isinstance(failed, Interrupted)), type(failed)
    except Replaced:
        yield "note", "ownership lost", None
        raise Ended("OwnershipLost") from None
    except Refused as refused:
        yield "note", "stops", f"{type(refused).__name__} {refused}"
        raise Ended("StatusError") from None


def _made(world: World, now: Now, step: Any, what: str) -> Calls:
    """Make one call of the protocol, or of a program itself; returns its answer."""
    kind = type(step)
    bodies, connection = world.bodies, (world.me, now.connection)
    if kind is tuple:
        answer = yield step
        return now, answer
    if kind is Remember:
        return now._replace(known=step.ownerships), None
    if kind in (Begin, WaitForRecord):
        return now, None
    if kind is BackOut:
        if now.interrupted:
            yield "MQBACK", ""
            for status in sorted(now.open):
                yield "MQCLOSE", status
        return now._replace(open=frozenset() if now.interrupted else now.open, interrupted=False), None
    if kind is Commit:
        yield "MQCMIT", "", what
        return now, None
    if kind is OpenAgain:
        if step.queue in now.open:
            return now, False
        answer = yield "MQOPEN", step.queue, world.ways.exclusive
        if answer == IN_USE:
            raise InUse(RuntimeError(IN_USE))
        return now.has(step.queue), True
    if kind is Browse:
        seen = yield from _browsed(world, step.queue)
        return now, bodies.found(seen)
    if kind is LookAtHolder:
        seen = yield from _browsed(world, step.queue)
        try:
            return now, contents_of(bodies.found(seen), step.marks)[1]
        except (RecordHidden, LookAgain, ChainBroken):
            return now, None
    if kind is IsThere:
        seen = yield "browse", step.queue
        return now, bodies.with_msg_id(step.stored.msg_id) in seen
    if kind is Take:
        stored = step.stored
        wanted = bodies.of_chain(stored.group_id) if stored.segments else bodies.with_msg_id(stored.msg_id)
        answer = yield "MQGET", step.queue, wanted
        return now, answer == OK
    if kind is TakeAnchor:
        yield "MQGET", step.queue, bodies.with_msg_id(step.msg_id)
        return now, None
    if kind is PutAnchor:
        body = bodies.put_anchor(step.record, connection)
        yield "MQPUT", step.queue, body
        return now, bodies.msg_id(body)
    assert kind is PutRecord, step
    body = bodies.put_record(step.record, step.how, step.anchor, connection)
    yield "MQPUT", step.queue, body
    return now, bodies.arrived(body)


def _browsed(world: World, status: str) -> Calls:
    seen = yield "browse", status
    if world.ways.browses == "in steps":
        seen = yield "browse on", status, seen
    return seen

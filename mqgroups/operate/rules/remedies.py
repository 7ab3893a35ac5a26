"""What mends a group, or an owner: lines that can be carried out as they are written, by somebody who fills in words in capitals.

A line is a command of the shell or of MQSC; or ``start`` or ``end`` with the role and name of a program; or, if it ends with a
colon, a condition for the lines behind it, up to the next condition; or a sentence. After the last line, ``doctor`` says what
is left.

No line starts a program whose record may be lost: it would put or get again what is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mqgroups.operate.rules.inspection import Place
from mqgroups.operate.rules.judgement import Cause, Judgement, Surroundings
from mqgroups.operate.rules.owner_state import OwnerState, SeenOwner

_WAIT = "wait for a channel, or bring dead letters back"
# A program believes only records of its own user, which the one who runs the doctor may not be.
_AS_ITS_USER = " --record-user USER"
_GONE_FROM_VIEW = (OwnerState.LOST, OwnerState.HIDDEN)


def remedy(judgement: Judgement) -> list[str]:
    """Return the lines that mend a group; none if nothing is to be done."""
    found = _REMEDIES.get(judgement.cause)
    return [] if found is None else list(found(judgement))


def owner_remedy(owner: SeenOwner, around: Surroundings) -> list[str]:
    """Return the lines that mend an owner's status queue; none if its group says what is to be done, or if nothing is."""
    if owner.is_shared:
        return [_batches(owner)]
    named = f"--name {owner.name} --role {owner.role}"
    if owner.role is None:
        return [f"mqgroups check NAME --role ROLE --status-queue {owner.status_queue}"]
    queue = owner.queue or around.queue or "QUEUE"
    if owner.state is OwnerState.MOVED and owner.record is not None:
        adopt = f"mqgroups adopt {owner.name} --from {owner.record.q_mgr_identifier} --apply"
        return ["if its queues were moved here:", adopt, _start(owner)]
    if owner.state is OwnerState.LEFT_OVER:
        return ["nothing: the next start removes it"]
    if owner.state is OwnerState.LOST or (owner.state is OwnerState.HIDDEN and around.hidden is None):
        accepts = _accepts(around, owner.name, owner.role, queue, "nothing-interrupted")
        return [
            *([f"mqgroups doctor --queue {queue}"] if queue != around.queue else []),
            "if no group that is not complete is its own:",
            *_wait_for_hidden(owner, around),
            f"mqgroups salvage rebuild {named} --queue {queue}{_AS_ITS_USER}{accepts} --apply",
        ]
    if owner.state is OwnerState.HIDDEN:
        return [
            "wait until its unit of work is backed out",
            "if it stays hidden, for want of an authority it may not be seen that its record is lost:",
            f"mqgroups owners {owner.name}",
        ]
    away = f"mqgroups salvage rebuild {named} --queue {queue}{_AS_ITS_USER} --unreadable-to QUEUE"
    return [
        "if a group was interrupted:",
        f"{away}{_accepts(around, owner.name, owner.role, queue)} --apply",
        "if none was:",
        f"{away}{_accepts(around, owner.name, owner.role, queue, 'nothing-interrupted')} --apply",
    ]


# --- commands


def _start(owner: SeenOwner, settings: str = "") -> str:
    return _batches(owner) if owner.is_shared else f"start {owner.role} {owner.name}{settings}"


def _batches(owner: SeenOwner) -> str:
    return f"mqgroups batches list --status-queue {owner.status_queue}"


def _clear(owner: SeenOwner) -> Iterator[str]:
    if owner.record is not None and owner.record.checkpoint is not None:
        yield "the next command shows its checkpoint, which goes with its record"
        yield f"mqgroups check {owner.name} --role {owner.role}"
    yield f"CLEAR QLOCAL('{owner.status_queue}')"


def _accepts(around: Surroundings, name: str, role: str | None, queue: str, *more: str) -> str:
    """Return the options for the checks that a rebuild cannot make: without a command server, or of another lost record."""
    doubts = list(more)
    if around.hidden is None:
        doubts += ["in-use", "other-owners"]
    for each in around.owners if around.hidden is not None else ():
        if each.state is OwnerState.LOST and each.role == role and each.name != name and each.queue in ("", queue):
            doubts = [*more, "other-owners"]
    return "".join(f" --accept {each}" for each in doubts)


def _rebuild(judgement: Judgement, name: str, role: str, queue: str = "", *more: str) -> str:
    around = judgement.around
    of_group = f" --group {judgement.group_id.hex()}" if not queue else ""
    what = (
        f"mqgroups salvage rebuild --name {name} --role {role} --queue {queue or around.queue}{of_group}{_AS_ITS_USER}"
    )
    return f"{what}{_accepts(around, name, role, queue or around.queue, *more)} --apply"


def _wait_for_hidden(owner: SeenOwner | None, around: Surroundings) -> Iterator[str]:
    """Yield how to find out, without the command server, that a record is lost and not hidden; nothing if that is known."""
    if owner is not None and owner.state is OwnerState.HIDDEN and around.hidden is None:
        yield f"wait until DISPLAY QSTATUS('{owner.status_queue}') UNCOM shows UNCOM(NO)"
        yield f"CLEAR QLOCAL('{owner.status_queue}')"


def _other_side(judgement: Judgement, name: str, role: str) -> Iterator[str]:
    """Yield what to look at before an owner is started whose name may be that of a pipe that has lost both records."""
    other = judgement.around.owner("put" if role == "get" else "get", name)
    if name == "NAME" or (other is not None and other.record is None and other.state is not OwnerState.ACTIVE):
        yield f"if {name} is a pipe, look for its other record before the start"
        there = other.queue if other else ""
        yield f"mqgroups doctor --queue {there or ('OUTGOING' if role == 'get' else 'INCOMING')}"


def _finish(judgement: Judgement) -> Iterator[str]:
    """Yield how the producer's record goes: else the rest would be put behind the remedy."""
    if (producer := judgement.producer) is not None:
        if producer.is_active is False:
            yield _start(producer)
        yield f"wait until put {producer.name} has completed the group"


def _move(judgement: Judgement) -> Iterator[str]:
    around = judgement.around
    yield from _finish(judgement)
    yield f"end the programs that use queue {around.queue}"
    yield _move_line(around.queue, judgement.group_id, around)
    if (consumer := judgement.consumer) is not None:
        yield from _clear(consumer)
        outgoing = around.owner("put", consumer.name) if _is_pipe(consumer) else None
        if outgoing is not None and outgoing.has_group and outgoing.record is not None:
            yield from _clear(outgoing)
            yield _move_line(outgoing.record.queue, outgoing.record.group_id, around)


def _short(judgement: Judgement) -> str:
    """Return the digits by which ``mqgroups groups`` shows the group."""
    return judgement.group_id.hex()[-12:]


def _move_line(queue: str, group_id: bytes, around: Surroundings) -> str:
    accept = " --accept in-use" if around.hidden is None else ""
    return f"mqgroups salvage move --queue {queue} --group {group_id.hex()} --to QUEUE{accept} --apply"


def _is_pipe(consumer: SeenOwner) -> bool:
    return consumer.record is not None and consumer.record.outgoing is not None


def _set_aside(judgement: Judgement, setting: str = "stalled") -> Iterator[str]:
    """Yield how the consumer ends the group; it moves the rest to BOQNAME."""
    around, consumer = judgement.around, judgement.consumer
    name = consumer.name if consumer else "NAME"
    yield from _finish(judgement)
    if consumer is not None and consumer.is_active is not False:
        yield f"end get {name}"
    if not around.backout_queue:
        yield f"ALTER QLOCAL('{around.local or around.queue}') BOQNAME('QUEUE')"
    kind = "pipe" if consumer is not None and _is_pipe(consumer) else "get"
    yield f"start {kind} {name} with {setting}='quarantine'"


# --- remedies


def _owners(judgement: Judgement) -> Iterator[str]:
    for owner in judgement.owners:
        others = [each for each in judgement.owners if each.role == owner.role and each is not owner]
        if others:
            yield f"if only {owner.role} {owner.name} has worked with it:"
        for each in others:
            yield from _clear(each)


def _pipe(judgement: Judgement) -> Iterator[str]:
    around, group = judgement.around, judgement.group
    name = judgement.owners[0].name
    put, get = around.owner("put", name), around.owner("get", name)
    if get is None or get.record is None or get.record.outgoing is None:
        return
    outgoing = get.record.outgoing
    to = (put.queue if put else "") or (around.queue if judgement.group_id == outgoing.group_id else "") or "OUTGOING"
    there = put is not None and put.has_group
    if there and group is not None and judgement.group_id == outgoing.group_id:
        agrees = group.end == Place(outgoing.msg_seq_number + 1)
        stale, role, queue = (put, "put", to) if agrees else (get, "get", get.record.queue)
        if stale is not None:
            yield from _clear(stale)
        yield _rebuild(judgement, name, role, queue)
    elif there:
        yield f"mqgroups doctor --queue {to}"
        return
    else:
        yield from _wait_for_hidden(put, around)
        yield _rebuild(judgement, name, "put", to)
    yield f"start pipe {name}"


def _contradicted(judgement: Judgement) -> Iterator[str]:
    producer, group = judgement.producer, judgement.group
    if producer is None or group is None:
        return
    if judgement.cause is Cause.NEWER:
        yield _WAIT
        yield "if its last messages are nowhere:"
    begun = () if group.has_head else ("begun",)
    yield from _clear(producer)
    yield _rebuild(judgement, producer.name, "put", "", *begun)
    yield _start(producer)


def _no_record(judgement: Judgement) -> Iterator[str]:
    around, group = judgement.around, judgement.group
    if group is None:
        return
    if judgement.cause is Cause.UNNAMED:
        where = "" if group.is_made_by(around.q_mgr_name) else f" at queue manager {group.made_by}"
        yield f"look for its record{where}: mqgroups groups --queue {around.queue} --status-queue MQGROUPS.PUT.NAME"
    if group.is_made_by(around.q_mgr_name):
        begun = () if group.has_head else ("begun",)
        for name, owner in _candidates(judgement, "put"):
            yield f"if {name} put group {_short(judgement)}, and its record is lost:"
            yield from _wait_for_hidden(owner, around)
            yield _rebuild(judgement, name, "put", "", *begun)
            yield from _other_side(judgement, name, "put")
            yield f"start put {name}"
        if group.has_head and judgement.consumer is None:
            # Else a consumer would get its first messages a second time.
            yield "if its producer begins the group again:"
            yield from _move(judgement)
    yield "if another program puts it, and the rest does not come:"
    yield from _set_aside(judgement) if judgement.consumer else _move(judgement)


def _no_beginning(judgement: Judgement) -> Iterator[str]:
    around = judgement.around
    if judgement.cause is Cause.BEGINNING_UNSEEN:
        yield f"look for its record: mqgroups groups --queue {around.queue} --status-queue MQGROUPS.GET.NAME"
    yield _WAIT
    for name, owner in _candidates(judgement, "get"):
        yield f"if {name} has begun group {_short(judgement)}, and its record is lost:"
        yield from _wait_for_hidden(owner, around)
        yield _rebuild(judgement, name, "get")
        yield from _other_side(judgement, name, "get")
        yield f"start get {name}"
    yield "if it was handled already, or its beginning is nowhere:"
    yield from _move(judgement)


def _candidates(judgement: Judgement, role: str) -> Iterator[tuple[str, SeenOwner | None]]:
    """Yield the owners that may have lost the record of the group; else the one that the operator asks about, or ``NAME``."""
    around = judgement.around
    lost = [
        each
        for each in around.owners
        if each.role == role and each.state in _GONE_FROM_VIEW and each.queue in ("", around.queue, around.local)
    ]
    yield from ((each.name, each) for each in lost)
    if not lost:
        yield around.name, around.owner(role, around.name)


def _twice(judgement: Judgement) -> Iterator[str]:
    if judgement.cause is Cause.TWICE:
        yield "if a partner has used the GroupId for several groups, nothing is to be done"
        yield "if a program or a restore has put messages twice:"
    yield from _move(judgement)
    yield "what is moved has to be put right by hand"


def _again(judgement: Judgement) -> Iterator[str]:
    around, consumer, group = judgement.around, judgement.consumer, judgement.group
    if consumer is None or consumer.record is None or group is None:
        return
    if group.last_msg_seq_number > consumer.record.msg_seq_number:
        yield f"{_start(consumer)} with complete_groups_only=True"
    yield f"end the programs that use queue {around.queue}"
    yield _move_line(around.queue, judgement.group_id, around)


def _gap(judgement: Judgement) -> Iterator[str]:
    yield _WAIT
    yield "if the missing messages are nowhere:"
    yield from _set_aside(judgement) if judgement.consumer else _move(judgement)


def _rest_gone(judgement: Judgement) -> Iterator[str]:
    yield _WAIT
    yield "if its producer's record is lost, a start puts the whole group again: undo first what the consumer did with it"
    yield "if nobody puts the rest:"
    yield from _set_aside(judgement)


def _put_gone(judgement: Judgement) -> Iterator[str]:
    producer = judgement.producer
    get = judgement.around.owner("get", producer.name) if producer else None
    if get is not None and _is_pipe(get):
        yield f"start pipe {get.name}"
        yield "if a program that keeps no record had not got them, what it puts has no beginning: it has to be put right by hand"
    elif producer is not None:
        yield "if a consumer, or a program that keeps no record, has got them:"
        yield _start(producer)
        yield "if they are nowhere:"
        yield from _clear(producer)
        yield _start(producer)


def _poison(judgement: Judgement) -> Iterator[str]:
    consumer = judgement.consumer
    name = consumer.name if consumer else "NAME"
    kind = "pipe" if consumer is not None and _is_pipe(consumer) else "get"
    yield "if the program, or what it needs, is corrected:"
    suspect = consumer.record.suspect if consumer is not None and consumer.record is not None else None
    if suspect is None or (judgement.group is not None and judgement.group.backout_count > suspect.backout_count):
        yield "if the first start stops with PoisonMessage, it failed before the correction. The second one tries the message"
    yield f"start {kind} {name}"
    yield "if the message cannot be processed:"
    yield from _set_aside(judgement, "poison")


def _stopped(judgement: Judgement) -> Iterator[str]:
    around = judgement.around
    pipes = set()
    for owner in judgement.owners:
        if owner.is_active is not False:
            continue
        get = around.owner("get", owner.name)
        if get is not None and _is_pipe(get):
            pipes.add(owner.name)
        elif owner.role == "put" and get is not None and get.record is None and not owner.is_shared:
            yield f"if {owner.name} is a pipe, its other record is lost:"
            yield from _wait_for_hidden(get, around)
            yield _rebuild(judgement, owner.name, "get", get.queue or "INCOMING")
            yield f"start pipe {owner.name}"
            yield "if it is not:"
            yield _start(owner)
        else:
            if owner.role == "get":
                yield from _other_side(judgement, owner.name, "get")
            yield _start(owner)
    for name in pipes:
        put = around.owner("put", name)
        if put is not None and put.state is OwnerState.HIDDEN:
            yield f"wait until the unit of work of put {name} is backed out"
            if around.hidden is None:
                yield f"if DISPLAY QSTATUS('{put.status_queue}') UNCOM shows UNCOM(NO), its record is lost:"
                yield f"CLEAR QLOCAL('{put.status_queue}')"
                yield _rebuild(judgement, name, "put", put.queue or "OUTGOING")
        yield f"start pipe {name}"


def _silent(judgement: Judgement) -> Iterator[str]:
    for owner in judgement.owners:
        named = f"{owner.role} {owner.name}"
        if owner.is_shared:
            yield _batches(owner)
            continue
        yield f"look at the log of {named}: a program has {owner.status_queue} open. A second one cannot start"
        yield f"if {owner.name} hangs:"
        yield f"end {named}"
        yield f"start {named}"


_REMEDIES: Mapping[Cause, Callable[[Judgement], Iterator[str]]] = {
    Cause.OWNERS: _owners,
    Cause.PIPE: _pipe,
    Cause.OLDER: _contradicted,
    Cause.NEWER: _contradicted,
    Cause.NO_RECORD: _no_record,
    Cause.UNNAMED: _no_record,
    Cause.TWICE: _twice,
    Cause.AGAIN: _again,
    Cause.BEHIND_LAST: _twice,
    Cause.GAP: _gap,
    Cause.GAP_AHEAD: _gap,
    Cause.NO_BEGINNING: _no_beginning,
    Cause.BEGINNING_UNSEEN: _no_beginning,
    Cause.REST_GONE: _rest_gone,
    Cause.PUT_GONE: _put_gone,
    Cause.POISON: _poison,
    Cause.STOPPED: _stopped,
    Cause.SILENT: _silent,
}

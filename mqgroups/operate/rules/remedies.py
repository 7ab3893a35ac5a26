"""What mends a group, or an owner: lines that can be carried out as they are written, by somebody who fills in words in capitals.

A line is a command of the shell or of MQSC; or ``start`` or ``end`` with the role and name of a program; or, if it ends with a
colon, a condition for the lines behind it, up to the next condition; or a sentence. After the last line, ``doctor`` says what
is left.

No line starts a program whose record may be lost: it would put or get again what is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mqgroups.core.group_key import shown_id
from mqgroups.core.poison import PROOF
from mqgroups.core.to_copy import to_copy
from mqgroups.operate.rules.inspection import Place
from mqgroups.operate.rules.judgement import Cause, Judgement, Surroundings
from mqgroups.operate.rules.owner_state import OwnerState, SeenOwner

_WAIT = "wait for a channel, or bring dead letters back"
_GONE_FROM_VIEW = (OwnerState.LOST, OwnerState.HIDDEN)


def remedy(judgement: Judgement) -> list[str]:
    """Return the lines that mend a group; none if nothing is to be done."""
    found = _REMEDIES.get(judgement.cause)
    return [] if found is None else list(found(judgement))


def owner_remedy(owner: SeenOwner, around: Surroundings) -> list[str]:
    """Return the lines that mend an owner's status queue; none if its group says what is to be done, or if nothing is."""
    if owner.is_shared:
        return [_run_again(owner)]
    if owner.role is None:
        return [to_copy("mqgroups check NAME --role ROLE --status-queue {}", owner.status_queue)]
    if owner.state is OwnerState.MOVED and owner.record is not None:
        adopt = to_copy("mqgroups adopt {} --from {} --apply", owner.name, owner.record.q_mgr_identifier)
        return ["if its queues were moved here:", adopt, _start(owner)]
    if owner.state is OwnerState.LEFT_OVER:
        return ["nothing: the next start removes it"]
    queue = owner.queue or around.at.queue or "QUEUE"
    nothing = "nothing-interrupted"
    if owner.state is OwnerState.LOST or (owner.state is OwnerState.HIDDEN and around.at.hidden is None):
        return [
            *([to_copy("mqgroups doctor --queue {}", queue)] if queue != around.at.queue else []),
            "if no group that is not complete is its own:",
            *_wait_for_hidden(owner, around),
            _rebuild(around, owner.name, owner.role, queue, accept=nothing),
        ]
    if owner.state is OwnerState.HIDDEN:
        return [
            "wait until its unit of work is backed out",
            "if it stays hidden, for want of an authority it may not be seen that its record is lost:",
            to_copy("mqgroups owners {}", owner.name),
        ]
    return [
        "if a group was interrupted:",
        _rebuild(around, owner.name, owner.role, queue, more=" --unreadable-to QUEUE"),
        "if none was:",
        _rebuild(around, owner.name, owner.role, queue, more=" --unreadable-to QUEUE", accept=nothing),
    ]


# --- commands


def _start(owner: SeenOwner, settings: str = "") -> str:
    return _run_again(owner) if owner.is_shared else to_copy(f"start {owner.role} {{}}{settings}", owner.name)


def _run_again(owner: SeenOwner) -> str:
    return (
        "run the Spark query or job again whose sink has the status queue "
        f"{to_copy('{}', owner.status_queue)}: it completes its batch"
    )


def _clear(owner: SeenOwner) -> Iterator[str]:
    if owner.record is not None and (owner.record.checkpoint is not None or owner.record.done is not None):
        yield "the next command shows its checkpoint and the name of its last group, which go with its record"
        yield to_copy(f"mqgroups check {{}} --role {owner.role}", owner.name)
    yield to_copy("CLEAR QLOCAL({})", owner.status_queue)


def _rebuild(around: Surroundings, name: str, role: str, queue: str, more: str = "", accept: str = "") -> str:
    """Return the command, with the checks that it cannot make: without a command server, or of another lost record."""
    doubts = [accept] if accept else []
    if around.at.hidden is None:
        doubts += ["in-use", "other-owners"]
    elif any(
        each.state is OwnerState.LOST and each.role == role and each.name != name and each.queue in ("", queue)
        for each in around.owners
    ):
        doubts.append("other-owners")
    accepts = "".join(f" --accept {each}" for each in doubts)
    # A program believes only records of its own user, which the one who runs the doctor may not be.
    what = to_copy(f"--name {{}} --role {role} --queue {{}}{more} --record-user USER", name, queue)
    return f"mqgroups salvage rebuild {what}{accepts} --apply"


def _rebuild_group(judgement: Judgement, name: str, role: str) -> str:
    """Return the command that writes the record of this group."""
    group, around = judgement.group, judgement.around
    accept = "begun" if role == "put" and group is not None and not group.has_head else ""
    return _rebuild(around, name, role, around.at.queue, f" --group {judgement.group_id.hex()}", accept)


def _wait_for_hidden(owner: SeenOwner | None, around: Surroundings) -> Iterator[str]:
    """Yield how to find out, without the command server, that a record is lost and not hidden; nothing if that is known."""
    if owner is not None and owner.state is OwnerState.HIDDEN and around.at.hidden is None:
        yield to_copy("wait until DISPLAY QSTATUS({}) UNCOM shows UNCOM(NO)", owner.status_queue)
        yield to_copy("CLEAR QLOCAL({})", owner.status_queue)


def _other_side(judgement: Judgement, name: str, role: str) -> Iterator[str]:
    """Yield what to look at before an owner is started whose name may be that of a pipe that has lost both records."""
    other = judgement.around.owner("put" if role == "get" else "get", name)
    if name == "NAME" or (other is not None and other.record is None and other.state is not OwnerState.ACTIVE):
        yield to_copy("if {} is a pipe, look for its other record before the start", name)
        there = other.queue if other else ""
        yield to_copy("mqgroups doctor --queue {}", there or ("OUTGOING" if role == "get" else "INCOMING"))


def _finish(judgement: Judgement) -> Iterator[str]:
    """Yield how the producer's record goes: else the rest would be put behind the remedy."""
    if (producer := judgement.producer) is not None:
        if producer.is_active is False:
            yield _start(producer)
        yield to_copy("wait until put {} has completed the group", producer.name)


def _move(judgement: Judgement) -> Iterator[str]:
    yield from _finish(judgement)
    yield from _moved(judgement)
    if (consumer := judgement.consumer) is not None:
        yield from _clear(consumer)
        outgoing = judgement.around.owner("put", consumer.name) if consumer.outgoing else None
        if outgoing is not None and outgoing.has_group and outgoing.record is not None:
            yield from _clear(outgoing)
            yield _move_line(judgement.around, outgoing.record.queue, outgoing.record.group_id)


def _moved(judgement: Judgement) -> Iterator[str]:
    yield to_copy("end the programs that use queue {}", judgement.around.at.queue)
    yield _move_line(judgement.around, judgement.around.at.queue, judgement.group_id)


def _move_line(around: Surroundings, queue: str, group_id: bytes) -> str:
    accept = " --accept in-use" if around.at.hidden is None else ""
    return to_copy(f"mqgroups salvage move --queue {{}} --group {group_id.hex()} --to QUEUE{accept} --apply", queue)


def _set_aside(judgement: Judgement, setting: str = "stalled") -> Iterator[str]:
    """Yield how the consumer ends the group; it moves the rest to BOQNAME."""
    around, consumer = judgement.around, judgement.consumer
    yield from _finish(judgement)
    if consumer is not None and consumer.is_active is not False:
        yield to_copy("end get {}", consumer.name)
    if not around.at.backout_queue:
        yield to_copy("ALTER QLOCAL({}) BOQNAME('QUEUE')", around.at.resolved_q_name or around.at.queue)
    yield f"{_start_consumer(consumer)} with {setting}='quarantine'"


def _start_consumer(consumer: SeenOwner | None) -> str:
    if consumer is None:
        return "start get NAME"
    return to_copy(f"start {'pipe' if consumer.outgoing else 'get'} {{}}", consumer.name)


# --- remedies


def _owners(judgement: Judgement) -> Iterator[str]:
    for owner in judgement.owners:
        others = [each for each in judgement.owners if each.role == owner.role and each is not owner]
        if others:
            yield to_copy(f"if only {owner.role} {{}} has worked with it:", owner.name)
        for each in others:
            yield from _clear(each)


def _pipe(judgement: Judgement) -> Iterator[str]:
    around, group = judgement.around, judgement.group
    name = judgement.owners[0].name
    put, get = around.owner("put", name), around.owner("get", name)
    if get is None or get.outgoing is None:
        return
    is_outgoing = judgement.group_id == get.outgoing.group_id
    to = (put.queue if put else "") or (around.at.queue if is_outgoing else "") or "OUTGOING"
    if put is None or not put.has_group:
        yield from _wait_for_hidden(put, around)
        yield _rebuild(around, name, "put", to)
    elif group is not None and is_outgoing:
        agrees = group.end == Place(get.outgoing.msg_seq_number + 1)
        stale, role, queue = (put, "put", to) if agrees else (get, "get", get.queue)
        yield from _clear(stale)
        yield _rebuild(around, name, role, queue)
    else:
        yield to_copy("mqgroups doctor --queue {}", to)
        return
    yield to_copy("start pipe {}", name)


def _contradicted(judgement: Judgement) -> Iterator[str]:
    producer = judgement.producer
    if producer is None:
        return
    if judgement.cause is Cause.NEWER:
        yield _WAIT
        yield "if its last messages are nowhere:"
    consumer = judgement.consumer
    if judgement.group is None and consumer is not None:
        # No message says where the producer has to go on.
        if consumer.is_active is not False:
            yield f"end get {consumer.name}"
        yield f"undo what {consumer.name} did with the group"
        yield from _clear(producer)
        yield from _clear(consumer)
        yield f"start get {consumer.name}"
        yield f"{_start(producer)}: it puts the whole group"
        return
    yield from _clear(producer)
    yield _rebuild_group(judgement, producer.name, "put")
    yield _start(producer)


def _no_record(judgement: Judgement) -> Iterator[str]:
    around, group = judgement.around, judgement.group
    if group is None:
        return
    is_made_here = group.is_made_by(around.at.q_mgr_name)
    if judgement.cause is Cause.UNNAMED:
        where, there = ("", []) if is_made_here else (" at queue manager {}", [str(group.made_by)])
        look = f"look for its record{where}: mqgroups groups --queue {{}} --status-queue MQGROUPS.PUT.NAME"
        yield to_copy(look, *there, around.at.queue)
    if is_made_here:
        yield from _record_lost(judgement, "put", "put")
        if group.has_head and judgement.consumer is None:
            # Else a consumer would get its first messages a second time.
            yield "if its producer begins the group again:"
            yield from _move(judgement)
    yield "if another program puts it, and the rest does not come:"
    yield from _set_aside(judgement) if judgement.consumer else _move(judgement)


def _no_beginning(judgement: Judgement) -> Iterator[str]:
    if judgement.cause is Cause.BEGINNING_UNSEEN:
        look = "look for its record: mqgroups groups --queue {} --status-queue MQGROUPS.GET.NAME"
        yield to_copy(look, judgement.around.at.queue)
    yield _WAIT
    yield from _record_lost(judgement, "get", "has begun")
    yield "if it was handled already, or its beginning is nowhere:"
    yield from _move(judgement)


def _record_lost(judgement: Judgement, role: str, did: str) -> Iterator[str]:
    """Yield the remedy for each owner that may have lost the group's record; else for the one that the operator asks about."""
    around = judgement.around
    here = ("", around.at.queue, around.at.resolved_q_name)
    lost: list[SeenOwner | None] = [
        each for each in around.owners if each.role == role and each.state in _GONE_FROM_VIEW and each.queue in here
    ]
    for owner in lost or [around.owner(role, around.name)]:
        name = owner.name if owner else around.name
        yield to_copy(f"if {{}} {did} group {{}}, and its record is lost:", name, shown_id(judgement.group_id))
        yield from _wait_for_hidden(owner, around)
        yield _rebuild_group(judgement, name, role)
        yield from _other_side(judgement, name, role)
        yield to_copy(f"start {role} {{}}", name)


def _twice(judgement: Judgement) -> Iterator[str]:
    if judgement.cause is Cause.TWICE:
        yield "if a partner has used the GroupId for several groups, nothing is to be done"
        yield "if a program or a restore has put messages twice:"
    yield from _move(judgement)
    yield "what is moved has to be put right by hand"


def _again(judgement: Judgement) -> Iterator[str]:
    consumer, group = judgement.consumer, judgement.group
    if consumer is None or consumer.record is None or group is None:
        return
    if group.last_msg_seq_number > consumer.record.msg_seq_number:
        yield f"{_start(consumer)} with complete_groups_only=True"
    yield from _moved(judgement)


def _gap(judgement: Judgement) -> Iterator[str]:
    yield _WAIT
    if judgement.cause is Cause.REST_GONE:
        yield "if its producer's record is lost, a start puts the whole group again: undo first what the consumer did with it"
        yield "if nobody puts the rest:"
    else:
        yield "if the missing messages are nowhere:"
    yield from _set_aside(judgement) if judgement.consumer else _move(judgement)


def _put_gone(judgement: Judgement) -> Iterator[str]:
    producer = judgement.producer
    if producer is None:
        return
    get = judgement.around.owner("get", producer.name)
    if get is not None and get.outgoing:
        yield to_copy("start pipe {}", get.name)
        yield "if a program that keeps no record had not got them, what it puts has no beginning: it has to be put right by hand"
    else:
        yield "if a consumer, or a program that keeps no record, has got them:"
        yield _start(producer)
        yield "if they are nowhere:"
        yield from _clear(producer)
        yield _start(producer)


def _poison(judgement: Judgement) -> Iterator[str]:
    consumer, group = judgement.consumer, judgement.group
    yield "if the program, or what it needs, is corrected:"
    suspect = consumer.record.suspect if consumer is not None and consumer.record is not None else None
    if suspect is None or (group is not None and group.backout_count >= suspect.backout_count + PROOF):
        yield "if the first start stops with PoisonMessage, it failed before the correction. The second one tries the message"
    yield _start_consumer(consumer)
    yield "if the message cannot be processed:"
    yield from _set_aside(judgement, "poison")
    yield "it may need one or two starts more: a message is moved when it has failed alone twice"


def _stopped(judgement: Judgement) -> Iterator[str]:
    around = judgement.around
    pipes = set()
    for owner in judgement.owners:
        if owner.is_active is not False:
            continue
        get = around.owner("get", owner.name)
        if get is not None and get.outgoing:
            pipes.add(owner.name)
        elif owner.role == "put" and get is not None and get.record is None and not owner.is_shared:
            yield to_copy("if {} is a pipe, its other record is lost:", owner.name)
            yield from _wait_for_hidden(get, around)
            yield _rebuild(around, owner.name, "get", get.queue or "INCOMING")
            yield to_copy("start pipe {}", owner.name)
            yield "if it is not:"
            yield _start(owner)
        else:
            if owner.role == "get":
                yield from _other_side(judgement, owner.name, "get")
            yield _start(owner)
    for name in pipes:
        put = around.owner("put", name)
        if put is not None and put.state is OwnerState.HIDDEN:
            yield to_copy("wait until the unit of work of put {} is backed out", name)
            if around.at.hidden is None:
                yield to_copy("if DISPLAY QSTATUS({}) UNCOM shows UNCOM(NO), its record is lost:", put.status_queue)
                yield to_copy("CLEAR QLOCAL({})", put.status_queue)
                yield _rebuild(around, name, "put", put.queue or "OUTGOING")
        yield to_copy("start pipe {}", name)


def _silent(judgement: Judgement) -> Iterator[str]:
    for owner in judgement.owners:
        if owner.is_shared:
            yield _run_again(owner)
            continue
        at_log = f"look at the log of {owner.role} {{}}: a program has {{}} open. A second one cannot start"
        yield to_copy(at_log, owner.name, owner.status_queue)
        yield to_copy("if {} hangs:", owner.name)
        yield to_copy(f"end {owner.role} {{}}", owner.name)
        yield to_copy(f"start {owner.role} {{}}", owner.name)


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
    Cause.REST_GONE: _gap,
    Cause.PUT_GONE: _put_gone,
    Cause.POISON: _poison,
    Cause.STOPPED: _stopped,
    Cause.SILENT: _silent,
}

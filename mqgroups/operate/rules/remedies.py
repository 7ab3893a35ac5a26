"""How to correct a group or an owner: lines that a person can carry out after replacing the words in capitals.

A line is a command for the shell or for MQSC, a sentence, or the word ``start`` or ``end`` and a program's role and name. A line
with a colon at its end is a condition for the lines up to the next condition. Afterwards ``doctor`` shows what is still wrong.

No line starts a program whose record may be lost, because the program would put or get committed messages again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from mqgroups.core.group_key import shown_id
from mqgroups.core.poison import PROOF
from mqgroups.core.to_copy import to_copy
from mqgroups.operate.rules.inspection import GroupInspection, MessagePlace
from mqgroups.operate.rules.judgement import Cause, Judgement, Surroundings, works_elsewhere
from mqgroups.operate.rules.owner_state import OwnerState, SeenOwner

_WAIT = "wait for a channel, or bring dead letters back"
_GONE_FROM_VIEW = (OwnerState.LOST, OwnerState.HIDDEN)
_A_QUEUE = {"put": "OUTGOING", "get": "INCOMING"}
_NOTHING = "nothing-interrupted"
# The role of the owner whose record is missing for a group.
WANTED = {Cause.NO_RECORD: "put", Cause.UNNAMED: "put", Cause.NO_BEGINNING: "get", Cause.BEGINNING_UNSEEN: "get"}
_LACK_MESSAGES = {*WANTED, Cause.NEWER, Cause.GAP, Cause.GAP_AHEAD, Cause.REST_GONE, Cause.PUT_GONE}


def remedy(judgement: Judgement) -> list[str]:
    """Return the lines that correct a group; empty if nothing is to be done."""
    parts = _REMEDIES.get(judgement.cause, ())
    lines = [line for part in parts for line in ((part,) if isinstance(part, str) else part(judgement))]
    return [*_locked(judgement), *lines] if lines else []


def owner_remedy(owner: SeenOwner, around: Surroundings) -> list[str]:
    """Return the lines that correct an owner's status queue; empty if it needs nothing, or if a group's remedy corrects it."""
    if owner.state is OwnerState.VERSION:
        return ["start the version of mqgroups that has written the record; do not move or remove it"]
    if owner.is_shared:
        return [_run_again(owner)]
    if owner.role is None:
        return [to_copy("mqgroups check NAME --role ROLE --status-queue {}", owner.status_queue)]
    if owner.state is OwnerState.MOVED and owner.record is not None:
        adopt = to_copy("mqgroups adopt {} --from {} --apply", owner.name, owner.record.q_mgr_identifier)
        return ["if its queues were moved here:", adopt, _start(owner, around)]
    if owner.state is OwnerState.LEFT_OVER:
        return ["nothing: the next start removes it"]
    # The browsed queue may be another one.
    queue = owner.queue or _A_QUEUE[owner.role]
    if owner.state is OwnerState.LOST or (owner.state is OwnerState.HIDDEN and around.at.hidden is None):
        return [
            *([to_copy("mqgroups doctor --queue {}", queue)] if queue != around.at.queue else []),
            "if none of the incomplete groups is its own:",
            *_wait_for_hidden(owner, around),
            _rebuild(around, owner.name, owner.role, queue, accept=_NOTHING),
        ]
    if owner.state is OwnerState.HIDDEN:
        return [
            "wait until its unit of work is backed out",
            "if it stays hidden, its record may be lost, but this user may lack an authority to see this:",
            to_copy("mqgroups owners {}", owner.name),
        ]
    return [
        *(() if owner.queue else ["its program says which queue it uses"]),
        "if a group was interrupted:",
        _rebuild(around, owner.name, owner.role, queue, more=" --unreadable-to QUEUE"),
        "if none was:",
        _rebuild(around, owner.name, owner.role, queue, more=" --unreadable-to QUEUE", accept=_NOTHING),
    ]


def may_have_lost(judgement: Judgement) -> list[SeenOwner]:
    """Return the owners whose record of this group may be lost. The remedy of the group also corrects these owners."""
    role = WANTED.get(judgement.cause)
    here = ("", judgement.around.at.queue, judgement.around.at.resolved_q_name)
    seen = (each for each in judgement.around.owners if each.role == role and each.queue in here)
    return [each for each in seen if each.state in _GONE_FROM_VIEW]


# --- commands


def _start(owner: SeenOwner, around: Surroundings) -> str:
    if owner.is_shared:
        return _run_again(owner)
    get = around.owner("get", owner.name)
    return to_copy(f"start {'pipe' if get and get.outgoing else owner.role} {{}}", owner.name)


def _run_again(owner: SeenOwner) -> str:
    queue = to_copy("{}", owner.status_queue)
    return f"run the Spark query or job again that has the status queue {queue}: it completes its batch"


def _clear(owner: SeenOwner) -> Iterator[str]:
    if owner.record is not None and (owner.record.checkpoint is not None or owner.record.done is not None):
        yield "the next command shows its checkpoint and the name of its last group, which go with its record"
        yield to_copy(f"mqgroups check {{}} --role {owner.role}", owner.name)
    yield to_copy("CLEAR QLOCAL({})", owner.status_queue)


def _rebuild(around: Surroundings, name: str, role: str, queue: str, more: str = "", accept: str = "") -> str:
    """Return the rebuild command. It overrides the checks that a missing command server or lost record makes impossible."""
    doubts = [accept] if accept else []
    unasked = around.at.hidden is None
    if unasked:
        doubts.append("in-use")
    others = (each.may_have_a_group(role, queue) for each in around.owners if each.name != name)
    # Without a group, no other owner can have it. If there is a group after all, the command must check this.
    if accept != _NOTHING and (unasked or any(others)):
        doubts.append("other-owners")
    accepts = "".join(f" --accept {each}" for each in doubts)
    # A program accepts only records of its own user. The user of ``doctor`` may be another one.
    what = to_copy(f"--name {{}} --role {role} --queue {{}}{more} --record-user USER", name, queue)
    return f"mqgroups salvage rebuild {what}{accepts} --apply"


def _rebuild_group(judgement: Judgement, name: str, role: str) -> str:
    """Return the command that writes a record of this group."""
    group, around = judgement.group, judgement.around
    accept = "begun" if role == "put" and group.messages and not group.has_head else ""
    return _rebuild(around, name, role, around.at.queue, f" --group {judgement.group_id.hex()}", accept)


def _wait_for_hidden(owner: SeenOwner | None, around: Surroundings) -> Iterator[str]:
    """Yield how to make sure, without the command server, that a record is lost and not hidden; nothing if this is known."""
    if owner is not None and owner.state is OwnerState.HIDDEN and around.at.hidden is None:
        yield to_copy("wait until DISPLAY QSTATUS({}) UNCOM shows UNCOM(NO)", owner.status_queue)
        yield to_copy("CLEAR QLOCAL({})", owner.status_queue)


def _other_side(judgement: Judgement, name: str, role: str) -> Iterator[str]:
    """Yield what to check before an owner is started, if it may be a pipe that has lost both of its records."""
    other = judgement.around.owner("put" if role == "get" else "get", name)
    if name == "NAME" or (other is not None and other.record is None and other.state is not OwnerState.ACTIVE):
        yield to_copy("if {} is a pipe, look for its other record before the start", name)
        there = other.queue if other else ""
        yield to_copy("mqgroups doctor --queue {}", there or _A_QUEUE["put" if role == "get" else "get"])


def _finish(judgement: Judgement) -> Iterator[str]:
    """Yield how to let the producer end its group before a move. Otherwise the producer would put messages to the old queue."""
    if (producer := judgement.producer) is not None:
        if producer.is_active is False:
            yield _start(producer, judgement.around)
        yield to_copy("wait until put {} has completed the group", producer.name)


def _move(judgement: Judgement, setting: str = "") -> Iterator[str]:
    """Yield how an operator moves the group away. ``setting``: a setting with which the consumer itself would move it."""
    yield from _finish(judgement)
    yield from _moved(judgement)
    if (consumer := judgement.consumer) is not None:
        yield from _clear(consumer)
        outgoing = judgement.around.owner("put", consumer.name) if consumer.outgoing else None
        if outgoing is not None and outgoing.has_group and outgoing.record is not None:
            yield from _clear(outgoing)
            yield _move_line(judgement.around, outgoing.record.queue, outgoing.record.group_id)
    if setting and (consumer is not None or setting == "poison"):
        browse = " and BROWSE on its queue" if setting == "stalled" else ""
        yield f"for the program's owner: with {setting}='quarantine' it does this itself, and needs PUT on BOQNAME{browse}"


def _moved(judgement: Judgement) -> Iterator[str]:
    at, group = judgement.around.at, judgement.group
    yield to_copy("end the programs that use queue {}", at.queue)
    if group.messages:
        yield _move_line(judgement.around, at.queue, judgement.group_id, at.backout_queue, group)


def _move_line(
    around: Surroundings, queue: str, group_id: bytes, to: str = "", group: GroupInspection | None = None
) -> str:
    """Return the move command. It overrides the checks that a missing command server or an unseen record makes impossible."""
    accept = ""
    if around.at.hidden is None:
        accept = " --accept in-use --accept other-owners"
    elif group is not None and group.needs_producer and not group.is_made_by(around.at.q_mgr_name):
        accept = " --accept other-owners"
    line = f"mqgroups salvage move --queue {{}} --group {group_id.hex()} --to {{}}{accept} --apply"
    return to_copy(line, queue, to or "QUEUE")


# --- remedies


def _locked(judgement: Judgement) -> Iterator[str]:
    at = judgement.around.at
    more = (at.depth or 0) - at.messages - (at.hidden or 0)
    if judgement.cause in _LACK_MESSAGES and at.hidden is not None and more > 0 and at.open_input:
        yield f"first end the program that has locked messages by browsing: {at.depth} are there, and {at.messages} are seen"


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
    elif group.messages and is_outgoing:
        agrees = group.end == MessagePlace(get.outgoing.msg_seq_number + 1)
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
    consumer = judgement.consumer
    if not judgement.group.messages and consumer is not None and consumer.record is not None:
        # No message shows where the producer must continue.
        if consumer.is_active is not False:
            yield to_copy("end get {}", consumer.name)
        got = f"messages 1 to {consumer.record.msg_seq_number}"
        yield to_copy(f"undo what {{}} did with {got} of the group", consumer.name)
        yield from _clear(producer)
        yield from _clear(consumer)
        yield _start(consumer, judgement.around)
        yield "its producer has to put the whole group again"
    else:
        yield from _clear(producer)
        yield _rebuild_group(judgement, producer.name, "put")
    yield _start(producer, judgement.around)


def _elsewhere(judgement: Judgement) -> Iterator[str]:
    group, around, at = judgement.group, judgement.around, judgement.around.at
    if not group.messages:
        put_to = (each.record.resolved_q_name for each in judgement.owners if each.record is not None)
        yield to_copy("mqgroups doctor --queue {}", next(name for name in put_to if name))
        return
    theirs = [each for each in judgement.owners if works_elsewhere(each, at, is_there=True)]
    yield to_copy("if its programs work with {} from now on, under this name:", at.queue)
    for each in theirs:
        yield from _clear(each)
        yield _rebuild_group(judgement, each.name, each.role or "")
    yield from (_start(each, around) for each in theirs)
    queue, behind = theirs[0].queue, theirs[0].behind
    yield to_copy("if they work with {}:", queue)
    if not behind:
        yield to_copy("DEFINE QALIAS({}) TARGET({})", queue, at.resolved_q_name)
    elif behind != queue:
        yield to_copy("ALTER QALIAS({}) TARGET({})", queue, at.resolved_q_name)
    else:
        producer = judgement.producer
        yield from _clear(producer) if producer else ()
        yield _move_line(around, at.queue, judgement.group_id, queue)
        if producer is not None:
            accept = "" if group.has_head else "begun"
            yield _rebuild(around, producer.name, "put", queue, f" --group {judgement.group_id.hex()}", accept)
    yield from (_start(each, around) for each in judgement.owners)


def _lost_or_nowhere(judgement: Judgement) -> list[str]:
    """Return two remedies: one for a lost record of the owner, one for a lost rest of the group. The likelier one is first."""
    around, group = judgement.around, judgement.group
    is_put = WANTED[judgement.cause] == "put"
    is_made_here = group.is_made_by(around.at.q_mgr_name)
    lost = [*_record_lost(judgement)] if is_made_here or not is_put else []
    nowhere = "if it was handled already, or its beginning is nowhere:"
    if is_put:
        # If the group is begun again while a consumer has it, the consumer gets the first messages a second time.
        may_begin = is_made_here and group.has_head and not judgement.consumer
        again = ", or its producer begins the group again" if may_begin else ""
        nowhere = f"if another program puts it, and the rest does not come{again}:"
    moved = [nowhere, *_move(judgement, "stalled" if is_put else "")]
    # If nothing indicates a lost record, only a program's log shows whose record it would be.
    is_likely = not around.all_seen or around.name != "NAME" or may_have_lost(judgement)
    return [*lost, *moved] if is_likely else [*moved, *lost]


def _look(judgement: Judgement) -> Iterator[str]:
    """Yield a line that shows where to search for a record that was not seen."""
    group, at, role = judgement.group, judgement.around.at, WANTED[judgement.cause]
    is_there = role == "put" and not group.is_made_by(at.q_mgr_name)
    where, there = (" at queue manager {}", [group.made_by]) if is_there else ("", [])
    look = f"look for its record{where}: mqgroups groups --queue {{}} --status-queue MQGROUPS.{role.upper()}.NAME"
    yield to_copy(look, *there, at.queue)


def _record_lost(judgement: Judgement) -> Iterator[str]:
    """Yield a remedy for each owner that may have lost the record. If there is no such owner, use ``Surroundings.name``."""
    around, role = judgement.around, WANTED[judgement.cause]
    did = "put" if role == "put" else "has begun"
    lost: list[SeenOwner | None] = [*may_have_lost(judgement)]
    # If the owner's status queue is in order, only its log shows this. Otherwise it could continue another owner's group.
    log = "" if lost else " by its log"
    for owner in lost or [around.owner(role, around.name)]:
        name = owner.name if owner else around.name
        yield to_copy(f"if {{}} {did} group {{}}{log}, and its record is lost:", name, shown_id(judgement.group_id))
        yield from _wait_for_hidden(owner, around)
        yield _rebuild_group(judgement, name, role)
        yield from _other_side(judgement, name, role)
        yield to_copy(f"start {role} {{}}", name)


def _again(judgement: Judgement) -> Iterator[str]:
    consumer, group = judgement.consumer, judgement.group
    if consumer is None or consumer.record is None:
        return
    if group.last_msg_seq_number > consumer.record.msg_seq_number:
        yield "for the program's owner: before the lines below, one start with complete_groups_only=True would get the rest"
        yield from _move(judgement)
        got = f"{{}} has got messages 1 to {consumer.record.msg_seq_number}"
        yield to_copy(f"the moved messages must be corrected by hand: {got}", consumer.name)
    else:
        yield from _moved(judgement)


def _put_gone(judgement: Judgement) -> Iterator[str]:
    producer = judgement.producer
    if producer is None:
        return
    start = _start(producer, judgement.around)
    if start.startswith("start pipe"):
        yield start
        yield "if no program has got the missing messages, the group lacks its beginning: correct this by hand"
    else:
        yield "if a consumer, or a program that keeps no record, has got them:"
        yield start
        yield "if they are nowhere:"
        yield from _clear(producer)
        yield start


def _corrected(judgement: Judgement) -> Iterator[str]:
    consumer, group = judgement.consumer, judgement.group
    suspect = consumer.record.suspect if consumer is not None and consumer.record is not None else None
    if suspect is None or group.backout_count >= suspect.backout_count + PROOF:
        yield "if the first start stops with PoisonMessage, it failed before the correction. The second one tries the message"
    yield _start(consumer, judgement.around) if consumer else "start get NAME"


def _stopped(judgement: Judgement) -> Iterator[str]:
    around = judgement.around
    for owner in (each for each in judgement.owners if each.is_active is False):
        put, get = around.owner("put", owner.name), around.owner("get", owner.name)
        if get is not None and get.outgoing:
            if put is not None and put.state is OwnerState.HIDDEN:
                yield to_copy("wait until the unit of work of put {} is backed out", put.name)
                if around.at.hidden is None:
                    yield to_copy("if DISPLAY QSTATUS({}) UNCOM shows UNCOM(NO), its record is lost:", put.status_queue)
                    yield to_copy("CLEAR QLOCAL({})", put.status_queue)
                    yield _rebuild(around, put.name, "put", put.queue or "OUTGOING")
        elif owner.role == "get":
            yield from _other_side(judgement, owner.name, "get")
        elif get is not None and get.record is None and not owner.is_shared:
            yield to_copy("if {} is a pipe, its other record is lost:", owner.name)
            yield from _wait_for_hidden(get, around)
            yield _rebuild(around, owner.name, "get", get.queue or "INCOMING")
            yield to_copy("start pipe {}", owner.name)
            yield "if it is not:"
        yield _start(owner, around)


def _silent(judgement: Judgement) -> Iterator[str]:
    for owner in judgement.owners:
        if not owner.is_shared:
            at_log = f"look at the log of {owner.role} {{}}: a program has {{}} open. A second one cannot start"
            yield to_copy(at_log, owner.name, owner.status_queue)
            yield to_copy("if {} hangs:", owner.name)
            yield to_copy(f"end {owner.role} {{}}", owner.name)
        yield _start(owner, judgement.around)


# The remedy for each cause: sentences and conditions as they are printed, and functions for lines with names and numbers.
_poison, _stalled = partial(_move, setting="poison"), partial(_move, setting="stalled")
_TWICE = (_move, "the moved messages must be corrected by hand")
_GAP = (_WAIT, "if the missing messages are nowhere:", _stalled)
_NO_BEGINNING = (_WAIT, _lost_or_nowhere)
# fmt: off
_REMEDIES: Mapping[Cause, Sequence[str | Callable[[Judgement], Iterable[str]]]] = {
    Cause.OWNERS: (_owners,),
    Cause.PIPE: (_pipe,),
    Cause.OLDER: (_contradicted,),
    Cause.NEWER: (_WAIT, "if its last messages are nowhere:", _contradicted),
    Cause.ELSEWHERE: (_elsewhere,),
    Cause.NO_RECORD: (_lost_or_nowhere,),
    Cause.UNNAMED: (_look, _lost_or_nowhere),
    Cause.TWICE: ("if a partner has used the GroupId for several groups, nothing is to be done",
                  "if a program or a restore has put messages twice:", *_TWICE),
    Cause.AGAIN: (_again,),
    Cause.BEHIND_LAST: _TWICE,
    Cause.GAP: _GAP,
    Cause.GAP_AHEAD: _GAP,
    Cause.NO_BEGINNING: _NO_BEGINNING,
    Cause.BEGINNING_UNSEEN: (_look, *_NO_BEGINNING),
    Cause.REST_GONE: (
        _WAIT, "if its producer's record is lost, a start puts the whole group again: undo first what the consumer did with it",
        "if nobody puts the rest:", _stalled),
    Cause.PUT_GONE: (_put_gone,),
    Cause.POISON: ("if the program, or what it needs, is corrected:", _corrected,
                   "if the message cannot be processed:", _poison),
    Cause.STOPPED: (_stopped,),
    Cause.SILENT: (_silent,),
}
# fmt: on

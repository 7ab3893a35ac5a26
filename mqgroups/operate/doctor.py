"""Checks a queue manager, a queue and an owner's status queue: what is wrong, why this matters, and how to correct it.

The facts come from MQINQ and from the command server. ``rules/findings.py`` has the rules. This module changes nothing.

Not here: checks of this machine (``machine.py``), and carrying out a remedy. A program's authorities are not checked, because
each error with reason code 2035 shows the commands that grant them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from functools import partial
from typing import Any

from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.core.model import Role
from mqgroups.core.modes import RoleName
from mqgroups.core.to_copy import to_copy
from mqgroups.errors import (
    CommandRefused,
    ConnectionBroken,
    MQIError,
    NotAuthorised,
    OwnerActive,
    QueueMissing,
    StatusError,
)
from mqgroups.mqi import constants as mq
from mqgroups.names import checked_name, checked_queue_name, checked_role, status_queue_name
from mqgroups.operate.attributes import inquired, queue_behind
from mqgroups.operate.command_server import PCFClient
from mqgroups.operate.owner import inspect_owner
from mqgroups.operate.owners import find_owners
from mqgroups.operate.rules.definitions import PINNED
from mqgroups.operate.rules.findings import Facts, Finding, Severity, findings, ok
from mqgroups.operate.rules.inspection import BrowsedInstance
from mqgroups.operate.rules.judgement import Surroundings
from mqgroups.operate.rules.mqsc_text import as_number, attributes
from mqgroups.operate.rules.owner_state import DISARRAY, OwnerState
from mqgroups.operate.rules.remedies import owner_remedy
from mqgroups.settings import STATUS_MODEL

_DATA_QUEUE = ("CURDEPTH MAXDEPTH MAXMSGL GET PUT BOTHRESH BOQNAME INDXTYPE SHARE CLUSTER DEFBIND").split()
_STATUS_QUEUE = (
    "DEFTYPE MAXMSGL MAXDEPTH CLUSTER GET PUT MSGDLVSQ CAPEXPRY CUSTOM STREAMQ TRIGGER USAGE IPPROCS".split()
)
_Q_MGR = "MAXUMSGS MAXMSGL DEADQ PLATFORM".split()

# The authorities to ask the command server, on queues and on the queue manager.
_ASK_AUTHORITIES = (("SYSTEM.ADMIN.COMMAND.QUEUE", "PUT"), ("SYSTEM.DEFAULT.MODEL.QUEUE", "DSP,GET"), ("", "DSP"))
_WAITS = "a start of its owner waits; if the queue is emptied, the owner puts or gets its group again"
_WHY = dict.fromkeys((OwnerState.HIDDEN, OwnerState.LOST), _WAITS)
_WHY[OwnerState.LEFT_OVER] = "its program ended without closing: no harm"


def examine(
    q_mgr: ConnectionHolder,
    *,
    queue: str | None = None,
    name: str | None = None,
    role: RoleName | None = None,
    status_queue: str | None = None,
    channel: str | None = None,
    principal: str | None = None,
    group: int = 0,
) -> Iterator[Finding]:
    """Yield findings on the queue manager, and on the queue and the owner that are named.

    Args:
        queue: a queue for groups.
        name: the name of a producer or consumer. If it is given, ``role`` must be given too.
        role: the role of this producer or consumer.
        channel: the server-connection channel of this connection.
        principal: the user of this connection. Findings name this user in SET AUTHREC commands.
        group: the number of messages of the largest group that may have to be moved to the backout queue.

    Raises:
        ConfigurationError: a name or the role is not valid.
        ConnectionBroken: the connection is lost.
    """
    if queue is not None:
        checked_queue_name("queue", queue)
    if name is not None:
        checked_name(name)
    side = None if role is None else checked_role(role)
    roles = (side,) if side else tuple(Role)
    connection = connection_of(q_mgr)
    local = (queue_behind(connection, queue) or queue) if queue else ""
    data, problem = inquired(connection, local, _DATA_QUEUE) if local else ({}, None)
    of_queue: Facts = {"Q.MAXMSGL": data["MAXMSGL"]} if "MAXMSGL" in data else {}
    of_q_mgr, _ = inquired(connection, "", _Q_MGR, mq.MQOT_Q_MGR)
    yield ok("connection", f"queue manager {connection.q_mgr_name}, identifier {connection.q_mgr_identifier}")
    yield from findings("QMGR", connection.q_mgr_name, {**of_q_mgr, **of_queue})
    told = partial(_told, connection.q_mgr_name, queue, channel, of_queue, needs_model=bool(name and side))
    yield from _told_by_command_server(connection, told, principal)
    if queue is not None:
        if local != queue:
            yield ok(f"queue {queue}", f"an alias of {local}")
            yield from findings("QALIAS", queue, inquired(connection, queue, ("GET", "PUT"))[0], roles)
        if problem:
            why = "its attributes can break or slow groups"
            yield _not_inquired(f"queue {local}: attributes", problem, why, principal, local)
        yield from findings("QLOCAL", local, {**data, **_of(of_q_mgr, "PLATFORM")}, roles)
        if (backout := data.get("BOQNAME")) and Role.GET in roles:
            yield from _backout_queue(connection, str(backout), {**of_queue, "Q.GROUP": group}, principal)
    if name is not None and side is not None:
        yield from _owner(q_mgr, name, side, queue, status_queue)
    yield from _owners(q_mgr, queue, named_status_queues(q_mgr, name, side, status_queue))


def named_status_queues(q_mgr: ConnectionHolder, name: str | None, role: Role | None, given: str | None) -> list[str]:
    """Return the existing status queues of the named owner, in case the command server does not list them.

    If the owner is one side of a pipe, the status queues of both sides are returned.
    """
    if given is not None:
        return [given]
    if name is None or role is None:
        return []
    both = [status_queue_name(each, name, None) for each in Role]
    return [each for each in both if not isinstance(inquired(connection_of(q_mgr), each, ())[1], QueueMissing)]


def _granted(principal: str | None, *lacks: tuple[str, str]) -> dict[str, Any]:
    """Return MQSC commands that grant missing authorities. If the user is not known, return a text to complete.

    ``lacks``: pairs of a queue (empty for the queue manager) and the authorities that are missing for it.
    """
    lines = []
    for queue, authorities in lacks:
        on = to_copy("PROFILE({}) OBJTYPE(QUEUE)", queue) if queue else "OBJTYPE(QMGR)"
        lines.append(f"SET AUTHREC {on} " + to_copy(f"PRINCIPAL({{}}) AUTHADD({authorities})", principal or "..."))
    return {"mqsc": tuple(lines)} if principal else {"remedy": "\n".join(lines)}


def _displayed(client: PCFClient, command: str) -> dict[str, int | str]:
    """Return the attributes of the object that a DISPLAY command shows; empty if there is no such object."""
    done, texts = client.run(command)
    found = attributes(texts[0]) if done and texts else {}
    # DISPLAY writes these without a value.
    for word in ("SHARE", "TRIGGER") if "TYPE" in found else ():
        found[word] = "NO" if f"NO{word}" in texts[0].split() else "YES"
    return {name: value if (whole := as_number(value)) is None else whole for name, value in found.items()}


def _negotiated(client: PCFClient, channel: str) -> dict[str, int]:
    """Return the fact CHS.HBINT: the longest heartbeat interval that connections of the channel have negotiated."""
    done, texts = client.run(to_copy("DISPLAY CHSTATUS({}) HBINT", channel))
    found = [attributes(text).get("HBINT", "") for text in texts] if done else []
    values = [whole for each in found if (whole := as_number(each)) is not None]
    # The worst value. 0 is the worst, because without heartbeats the loss of a host is not noticed.
    return {"CHS.HBINT": max(values) if all(values) else 0} if values else {}


def _of(facts: Facts, *names: str) -> Facts:
    return {name: facts[name] for name in names if name in facts}


def _told_by_command_server(
    connection: Connection, told: Callable[[PCFClient], Iterator[Finding]], principal: str | None
) -> Iterator[Finding]:
    """Yield findings that need the command server, and a finding on whether it answers."""
    is_zos = connection.platform == mq.MQPL_ZOS
    about = "MQSC" if is_zos else "command server"
    why = f"channel, model queue {STATUS_MODEL} and CAPEXPRY cannot be shown"
    try:
        with closing(PCFClient(connection)) as client:
            yield from told(client)
            yield ok(about, "it answers this user")
    except CommandRefused as error:
        yield Finding(about, Severity.UNSEEN, str(error), why, "" if is_zos else "START CMDSERV, or strmqcsv")
    except ConnectionBroken:
        raise
    except MQIError as error:
        why += ", nor who has a status queue open, nor what units of work hide"
        yield Finding(about, Severity.UNSEEN, str(error), why, **_granted(principal, *_ASK_AUTHORITIES))


def _told(
    q_mgr_name: str, queue: str | None, channel: str | None, of_queue: Facts, client: PCFClient, *, needs_model: bool
) -> Iterator[Finding]:
    """Yield findings on the channel, on the model queue, and on CAPEXPRY of a queue."""
    if channel:
        shown = _displayed(client, to_copy("DISPLAY CHANNEL({}) HBINT SHARECNV MAXMSGL SSLCIPH", channel))
        yield from findings("CHANNEL", channel, {**shown, **_negotiated(client, channel), **of_queue})
    if model := _displayed(client, f"DISPLAY QMODEL('{STATUS_MODEL}') ALL"):
        yield from findings("QMODEL", STATUS_MODEL, model)
    else:
        found, why = "there is none, or this user may not display it", "other status queues are made from it"
        remedy = to_copy("mqgroups mqsc status | runmqsc {}", q_mgr_name)
        # A named owner may need the model queue. Then a model queue that was not seen is a problem.
        severity = Severity.UNSEEN if needs_model else Severity.WARNING
        yield Finding(f"model queue {STATUS_MODEL}", severity, found, why, remedy)
    if queue:
        shown = _displayed(client, to_copy("DISPLAY QLOCAL({}) ALL", queue))
        yield from findings("QLOCAL", queue, _of(shown, "CAPEXPRY", "CUSTOM"), ())


def _not_inquired(subject: str, problem: MQIError, why: str, principal: str | None, queue: str) -> Finding:
    refused = isinstance(problem, NotAuthorised)
    severity = Severity.UNSEEN if refused else Severity.ERROR
    return Finding(subject, severity, str(problem), why, **(_granted(principal, (queue, "INQ")) if refused else {}))


def _backout_queue(connection: Connection, name: str, of_queue: Facts, principal: str | None) -> Iterator[Finding]:
    """Yield findings on a backout queue. ``of_queue``: facts of the queue that has this backout queue."""
    subject = f"backout queue {name}"
    facts, problem = inquired(connection, name, ("PUT", "CURDEPTH", "MAXDEPTH", "MAXMSGL"))
    if isinstance(problem, QueueMissing):
        why = "messages cannot be moved there, so a poison message stops its consumer"
        mqsc = (to_copy(f"DEFINE QLOCAL({{}}) DEFPSIST(YES) {PINNED}", name),)
        yield Finding(subject, Severity.ERROR, "it does not exist", why, mqsc=mqsc)
        return
    if isinstance(problem, NotAuthorised):
        yield _not_inquired(
            subject, problem, "it is not known whether it has messages and can be put to", principal, name
        )
    yield from findings("QLOCAL", name, {**facts, **of_queue}, (Role.PUT,))
    if depth := facts.get("CURDEPTH"):
        found, remedy = f"{depth} there", to_copy("mqgroups groups --queue {}", name)
        why = "poison messages or quarantined groups, which consumers have moved there; nobody processes them until you do"
        yield Finding(f"{subject}: messages", Severity.WARNING, found, why, remedy)


def _owner(
    q_mgr: ConnectionHolder, name: str, role: Role, queue: str | None, status_queue: str | None
) -> Iterator[Finding]:
    own = status_queue_name(role, name, status_queue)
    subject = f"status queue {own}"
    facts, problem = inquired(connection_of(q_mgr), own, _STATUS_QUEUE)
    if not isinstance(problem, QueueMissing):
        yield from findings("STATUS", own, facts)
    try:
        found = inspect_owner(q_mgr, name, role.value, queue=queue, status_queue=status_queue)
    except ConnectionBroken:
        raise
    except NotAuthorised:
        # A user who only checks need not be allowed to start the owner. ``_owners`` browses the status queue.
        return
    except OwnerActive as error:
        yield Finding(subject, Severity.WARNING, str(error), "a start would wait for it")
    except (StatusError, MQIError) as error:
        remedy = to_copy(f"mqgroups check {{}} --role {role.value}", name)
        yield Finding(subject, Severity.ERROR, str(error), "a start of this owner would be refused", remedy)
    else:
        if found.state is not OwnerState.HIDDEN:
            yield ok(subject, f"{found.state.value}: {found.state.means}")


def _owners(q_mgr: ConnectionHolder, queue: str | None, named: Collection[str]) -> Iterator[Finding]:
    """Yield findings on owners whose status queues cannot be used, or whose records are hidden, lost or left over."""
    seen = find_owners(q_mgr, status_queues=named)
    around = Surroundings(BrowsedInstance("", queue or "", hidden=None if seen.unseen else 0), seen.owners)
    listed = [each for each in seen.owners if queue is None or each.queue in ("", queue)]
    wrong = [each for each in listed if each.state in DISARRAY or each.state in _WHY]
    for owner in wrong:
        refuses = "its owner refuses to start" + ("" if owner.role else ", unless that is a Spark source")
        why = _WHY.get(owner.state, refuses)
        found = f"{owner.state.value}: {(owner.state in DISARRAY and owner.problem) or owner.state.means}"
        remedy = "\n".join(owner_remedy(owner, around))
        yield Finding(f"status queue {owner.status_queue}", owner.state.severity, found, why, remedy)
    for sentence in seen.unseen:
        yield Finding("status queues", Severity.UNSEEN, sentence)
    if not wrong:
        yield ok("status queues", f"{len(listed)} seen, none in disarray")

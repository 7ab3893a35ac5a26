"""The commands ``mqgroups salvage``: what to do when a status record is lost or damaged and the messages are still there.

    look      show the groups on a queue; changes nothing
    rebuild   write the status record of a producer or consumer again, from what is on its queue
    move      move what is left of a group to another queue

The last two say what they would do, and do it with --apply.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Literal

import click

from mqgroups import operate
from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.groups import group_values, queue_values, split_values, sums, table, table_of_splits
from mqgroups.cli.options import json_option, name_option, status_model_option, wait_option
from mqgroups.cli.report import Report, record_values
from mqgroups.core.inspection import QueueInspection
from mqgroups.core.model import GROUP_ID_LENGTH
from mqgroups.core.modes import Accept

_QUEUE = click.option(
    "--queue", required=True, metavar="QUEUE", help="The queue that the messages of the group are on."
)
_APPLY = click.option("--apply", is_flag=True, help="Do it. Without --apply the command only says what it would do.")
_PAST = {"move": "moved", "remove": "removed", "write": "wrote"}


def _accept(*doubts: str) -> Callable[[Any], Any]:
    return click.option(
        "--accept", multiple=True, type=click.Choice(doubts), help="Which check to override; may be repeated."
    )


def _group_id(_context: click.Context, _parameter: click.Parameter, value: str | None) -> bytes | None:
    """Return the bytes of a GroupId in hexadecimal digits."""
    if value is None:
        return None
    try:
        group_id = bytes.fromhex(value)
    except ValueError:
        group_id = b""
    if len(group_id) != GROUP_ID_LENGTH:
        raise click.BadParameter(f"{value!r} is not {2 * GROUP_ID_LENGTH} hexadecimal digits")
    return group_id


def _checkpoint(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
    """Return the value of a JSON text."""
    try:
        return None if value is None else json.loads(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not JSON ({error})") from error


def _places(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> list[tuple[str, str]]:
    """Return queue manager names and where they listen."""
    places = [(name, conn_name) for name, _, conn_name in (value.partition("=") for value in values)]
    for value, place in zip(values, places, strict=True):
        if not all(place):
            raise click.BadParameter(f"{value!r} is not NAME=HOST(PORT)")
    return places


def _report(as_json: bool, connection: dict[str, Any], **values: Any) -> Report:
    return Report(as_json=as_json, q_mgr_name=connection["q_mgr_name"], **values)


@click.group()
def salvage() -> None:
    """Rebuild a lost status record from the messages of its group, or move what is left of a group.

    \b
    Exit codes:
      0  done; without --apply: it can be done
      1  failed; standard error says why
      2  the command line is wrong
      4  this owner is active, or not gone yet after --wait; or another one, whose record may name the group
      5  the queues do not prove what is right, and nothing was changed; look --at: groups are split
      6  the queue manager cannot be connected to
      8  look: a group has messages twice
    """


@salvage.command()
@_QUEUE
@click.option(
    "--at",
    "others",
    multiple=True,
    callback=_places,
    metavar="NAME=HOST(PORT)",
    help="Another queue manager with an instance of this cluster queue; may be repeated.",
)
@connection_options
@wait_option
@json_option
def look(queue: str, others: Sequence[tuple[str, str]], wait_s: float, as_json: bool, **connection: Any) -> None:
    """Show the groups on a queue, complete or not. The queue is browsed, and nothing is changed.

    A consumer that gets in logical order never sees a group without its beginning. Either another consumer has begun the group
    and resumes it from its status record, or that record is lost. A group without its end is still being put, or its producer was
    interrupted. A doubled group has messages twice: two producers put it, or another program did. Move it to another queue.

    How many messages units of work hide is asked from the command server, if this user is allowed to ask it.

    With --at, each instance of a cluster queue is shown, and the groups that are at more than one of them. Channel, user and
    password are the same for all queue managers.
    """
    report = _report(as_json, connection, queue=queue)
    with connected(report, wait_s, **connection) as q_mgr:
        if not others:
            seen = operate.inspect_queue(q_mgr, queue)
            _show(report, seen)
            report.add(**queue_values(seen))
        else:
            with ExitStack() as stack:
                q_mgrs = [q_mgr]
                for name, conn_name in others:
                    there = {**connection, "q_mgr_name": name, "conn_name": conn_name}
                    q_mgrs.append(stack.enter_context(connected(report, wait_s, **there)))
                found = operate.inspect_cluster(q_mgrs, queue)
            for instance in found.instances:
                _show(report, instance.seen, instance.q_mgr_name)
            report.print(table_of_splits(found.splits), f"{len(found.splits)} groups are split over queue managers")
            report.add(
                instances=[{"q_mgr_name": one.q_mgr_name, **queue_values(one.seen)} for one in found.instances],
                splits=[split_values(split) for split in found.splits],
            )
            if found.splits:
                report.at_least(ExitCode.DISARRAY)
    report.end()


def _show(report: Report, seen: QueueInspection, q_mgr_name: str | None = None) -> None:
    """Report what is on a queue: of which queue manager, if there are several."""
    if any(group.is_doubled for group in seen.groups):
        report.at_least(ExitCode.DOUBLED)
    said = sums(seen)
    report.print(table(seen.groups), said if q_mgr_name is None else f"{q_mgr_name}: {said}\n")


@salvage.command()
@name_option
@click.option("--role", type=click.Choice(["put", "get"]), required=True, help="Producer (put) or consumer (get).")
@_QUEUE
@click.option(
    "--group",
    "group_id",
    callback=_group_id,
    metavar="GROUPID",
    help="The GroupId in hexadecimal digits, if the queue has several groups that it could be.",
)
@click.option(
    "--checkpoint",
    callback=_checkpoint,
    metavar="JSON",
    help="The application's checkpoint, to be put into the record.",
)
@_accept("in-use", "other-owners", "begun", "nothing-interrupted")
@click.option(
    "--other-status-queue",
    "other_status_queues",
    multiple=True,
    metavar="QUEUE",
    help="The status queue of another owner, to be checked too; may be repeated.",
)
@click.option(
    "--unreadable-to",
    metavar="QUEUE",
    help="Where to move messages of the status queue that cannot be read as a record.",
)
@click.option(
    "--status-queue", metavar="QUEUE", help="Its status queue. Default: MQGROUPS.PUT.NAME or MQGROUPS.GET.NAME."
)
@status_model_option
@_APPLY
@connection_options
@wait_option
@json_option
def rebuild(
    name: str,
    role: Literal["put", "get"],
    queue: str,
    group_id: bytes | None,
    checkpoint: Any,
    accept: Sequence[Accept],
    other_status_queues: Sequence[str],
    unreadable_to: str | None,
    status_queue: str | None,
    status_model: str,
    apply: bool,
    wait_s: float,
    as_json: bool,
    **connection: Any,
) -> None:
    """Write the status record of a producer or consumer again, so that its next start resumes the group.

    If the status record of another owner names the group, the command refuses. It finds the status queues MQGROUPS.PUT.*,
    MQGROUPS.SHARED.* and MQGROUPS.GET.* through the command server. Name any others with --other-status-queue, and all of
    them if this user is not allowed to ask the command server.

    \b
    Each --accept overrides a check, because you know that
      in-use               no other program uses this group, although others may have the queue open
      other-owners         no other owner has this group, although not all status queues can be checked
      begun                a consumer got the first messages of this producer's group, in order
      nothing-interrupted  no group is to be resumed: only move away what cannot be read
    """
    report = _report(as_json, connection, name=name, role=role, queue=queue)
    with connected(report, wait_s, **connection) as q_mgr:
        done = operate.salvage_owner(
            q_mgr,
            name,
            role,
            queue=queue,
            group_id=group_id,
            checkpoint=checkpoint,
            accept=accept,
            other_status_queues=other_status_queues,
            unreadable_to=unreadable_to,
            status_queue=status_queue,
            status_model=status_model,
            wait_s=wait_s,
            check=not apply,
        )
    report.print(table([done.group] if done.group else []))
    if done.unreadable:
        where = f"{done.unreadable} messages of {done.status_queue} to {done.unreadable_to}"
        report.print(f"{_tense(apply, 'move')} {where}")
    if done.orphaned:
        report.print(f"{_tense(apply, 'remove')} an anchor from {done.status_queue}, whose record is lost")
    if done.record is not None:
        inside = f" and {done.record.offset} bytes of the next" if done.record.offset else ""
        report.print(
            f"{_tense(apply, 'write')} a record to {done.status_queue}: group {done.record.group_id.hex()}, "
            f"{done.record.msg_seq_number} messages{inside} committed"
        )
    if not (done.unreadable or done.orphaned or done.record):
        report.print("there is nothing to do")
    report.add(
        status_queue=done.status_queue,
        group=group_values(done.group) if done.group else None,
        record=record_values(done.record),
        unreadable=done.unreadable,
        unreadable_to=done.unreadable_to,
        orphaned=done.orphaned,
        done=done.done,
    )
    report.end()


@salvage.command()
@_QUEUE
@click.option(
    "--group",
    "group_id",
    callback=_group_id,
    metavar="GROUPID",
    required=True,
    help="The GroupId in hexadecimal digits.",
)
@click.option("--to", metavar="QUEUE", help="The queue to move it to. Default: the BOQNAME of --queue.")
@click.option(
    "--commit-every", type=click.IntRange(1), default=100, show_default=True, help="Messages in each unit of work."
)
@click.option(
    "--new-context",
    is_flag=True,
    help="Do not keep who put the messages and when; needs no +passall authority.",
)
@_accept("in-use")
@_APPLY
@connection_options
@wait_option
@json_option
def move(
    queue: str,
    group_id: bytes,
    to: str | None,
    commit_every: int,
    new_context: bool,
    accept: Sequence[Accept],
    apply: bool,
    wait_s: float,
    as_json: bool,
    **connection: Any,
) -> None:
    """Move what is left of a group to another queue, unchanged. After a crash give the command again: it moves the rest.

    \b
    --accept overrides a check, because you know that
      in-use    no other program uses this group, although others may have the queue open
    """
    report = _report(as_json, connection, queue=queue)
    with connected(report, wait_s, **connection) as q_mgr:
        done = operate.move_group(
            q_mgr,
            queue,
            group_id,
            to=to,
            commit_every=commit_every,
            accept=accept,
            keep_context=not new_context,
            check=not apply,
        )
    report.print(table([done.group]), f"{_tense(apply, 'move')} {done.group.messages} messages to {done.to}")
    report.add(group=group_values(done.group), to=done.to, done=done.done)
    report.end()


def _tense(apply: bool, verb: str) -> str:
    return _PAST[verb] if apply else f"would {verb}"

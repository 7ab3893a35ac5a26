"""The commands ``mqgroups salvage``: what to do when a status record is lost or damaged and the messages are still there.

    look      what lies on a queue of its groups; changes nothing
    rebuild   a producer's or consumer's status record, from what lies on its queue
    move      what is left of a group, to another queue

The last two say what they would do, and do it with --apply.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mqgroups.cli_connection import (
    EXIT_DISARRAY,
    EXIT_OWNER_ACTIVE,
    Report,
    connected,
    connection_options,
    record_values,
)
from mqgroups.config import STATUS_MODEL
from mqgroups.core.inspection import GroupInspection, Place
from mqgroups.core.model import GROUP_ID_LENGTH, Persistence
from mqgroups.errors import OwnerActive, StatusError
from mqgroups.queue_manager import QueueManager

_COLUMNS = (
    "GroupId",
    "state",
    "messages",
    "first",
    "last",
    "missing",
    "persistent",
    "put by",
    "first put",
    "last put",
    "backed out",
)
_PERSISTENT: dict[int, str] = {Persistence.NOT_PERSISTENT: "no", Persistence.PERSISTENT: "yes"}
# Of a file or a pipe, which has no width.
_WIDTH = 200
_WAIT_S = 30.0
_QUEUE = click.option("--queue", required=True, metavar="QUEUE", help="The queue its messages are on.")
_APPLY = click.option("--apply", is_flag=True, help="Do it. Without it, say what would be done.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Say it in JSON, on standard output.")
_WAIT = click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0),
    default=_WAIT_S,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the queue manager, and for another instance to go.",
)


def _accept(*doubts: str) -> Callable[[Any], Any]:
    return click.option(
        "--accept", multiple=True, type=click.Choice(doubts), help="What is no obstacle; may be repeated."
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


@click.group()
def salvage() -> None:
    """Rebuild a lost status record from the messages of its group, or move what is left of a group.

    \b
    Exit codes:
      0  it is done or, without --apply, it can be
      1  it did not work, and standard error says why
      2  the command was not understood
      4  another instance of this name is active, or not gone yet after --wait
      5  it cannot be known what is right, and nothing was changed
      6  the queue manager cannot be connected to
    """


@salvage.command()
@_QUEUE
@connection_options
@_WAIT
@_JSON
def look(queue: str, wait_s: float, as_json: bool, **connection: Any) -> None:
    """Show the groups on a queue, whole or not, by browsing.

    A group without its beginning is never seen by who gets in logical order: a consumer has begun it, and goes on by its
    record, or has lost that. One without its end is still being put, or its producer was interrupted.
    """

    def looked(q_mgr: QueueManager, report: _Report) -> None:
        seen = q_mgr.inspect_queue(queue)
        report.say(
            _table(seen.groups),
            f"{len(seen.groups)} groups; {seen.others} messages not in groups; {seen.unseen} that cannot be seen; open handles: "
            f"{seen.open_input} for input, {seen.open_output} for output",
            groups=[_values(group) for group in seen.groups],
            others=seen.others,
            unseen=seen.unseen,
            open_input=seen.open_input,
            open_output=seen.open_output,
        )

    _run(looked, wait_s, as_json, {"queue": queue}, connection)


@salvage.command()
@click.option("--name", required=True, metavar="NAME", help="The producer's or consumer's name.")
@click.option("--role", type=click.Choice(["put", "get"]), required=True, help="Producer or consumer.")
@_QUEUE
@click.option(
    "--group", "group_id", callback=_group_id, metavar="GROUPID", help="Which group, where there are several."
)
@click.option(
    "--checkpoint", callback=_checkpoint, metavar="JSON", help="The application's checkpoint, to go into the record."
)
@_accept("in-use", "begun", "nothing-interrupted")
@click.option("--unreadable-to", metavar="QUEUE", help="Where to move what is on the status queue and cannot be read.")
@click.option("--status-queue", metavar="QUEUE", help="Default: MQGROUPS.PUT|GET.NAME.")
@click.option("--status-model", default=STATUS_MODEL, show_default=True, metavar="QUEUE", help="To make it from.")
@_APPLY
@connection_options
@_WAIT
@_JSON
def rebuild(
    name: str,
    role: Literal["put", "get"],
    queue: str,
    group_id: bytes | None,
    checkpoint: Any,
    accept: Sequence[str],
    unreadable_to: str | None,
    status_queue: str | None,
    status_model: str,
    apply: bool,
    wait_s: float,
    as_json: bool,
    **connection: Any,
) -> None:
    """Write the status record of a producer or consumer again, so that its next start goes on where it stood.

    \b
    --accept in-use               others use the queue, and have nothing to do with this group
             begun                a consumer got the first messages of a producer's group, in order
             nothing-interrupted  no group is to go on: only move away what cannot be read
    """

    def rebuilt(q_mgr: QueueManager, report: _Report) -> None:
        done = q_mgr.salvage_owner(
            name,
            role,
            queue=queue,
            group_id=group_id,
            checkpoint=checkpoint,
            accept=accept,
            unreadable_to=unreadable_to,
            status_queue=status_queue,
            status_model=status_model,
            wait_s=wait_s,
            check=not apply,
        )
        says = []
        if done.unreadable:
            says.append(
                f"{_tense(apply, 'move')} {done.unreadable} messages of {done.status_queue} to {done.unreadable_to}"
            )
        if done.record is not None:
            inside = f" and {done.record.offset} bytes of the next" if done.record.offset else ""
            says.append(
                f"{_tense(apply, 'write')} a record to {done.status_queue}: group {done.record.group_id.hex()}, "
                f"{done.record.msg_seq_number} messages{inside} committed"
            )
        report.say(
            _table([done.group] if done.group else []),
            "\n".join(says) or "there is nothing to do",
            status_queue=done.status_queue,
            group=_values(done.group) if done.group else None,
            record=record_values(done.record),
            unreadable=done.unreadable,
            unreadable_to=done.unreadable_to,
            done=done.done,
        )

    _run(rebuilt, wait_s, as_json, {"name": name, "role": role, "queue": queue}, connection)


@salvage.command()
@_QUEUE
@click.option("--group", "group_id", callback=_group_id, metavar="GROUPID", required=True, help="Which group.")
@click.option("--to", metavar="QUEUE", help="Where to. Default: the queue's BOQNAME.")
@click.option("--every", type=click.IntRange(1), default=100, show_default=True, help="Messages in a unit of work.")
@click.option("--new-context", is_flag=True, help="Do not keep who put them and when; needs no +passall authority.")
@_accept("in-use")
@_APPLY
@connection_options
@_WAIT
@_JSON
def move(
    queue: str,
    group_id: bytes,
    to: str | None,
    every: int,
    new_context: bool,
    accept: Sequence[str],
    apply: bool,
    wait_s: float,
    as_json: bool,
    **connection: Any,
) -> None:
    """Move what is left of a group, as it is, to another queue. After a crash, give the command again: it moves the rest."""

    def moved(q_mgr: QueueManager, report: _Report) -> None:
        done = q_mgr.move_group(
            queue, group_id, to=to, every=every, accept=accept, keep_context=not new_context, check=not apply
        )
        report.say(
            _table([done.group]),
            f"{_tense(apply, 'move')} {done.group.messages} messages to {done.to}",
            group=_values(done.group),
            to=done.to,
            done=done.done,
        )

    _run(moved, wait_s, as_json, {"queue": queue}, connection)


class _Report(Report):
    """What is said, once, and the exit code."""

    def say(self, table: Table, text: str, **values: Any) -> None:
        self.said |= values
        if not self.as_json:
            out = Console(highlight=False, soft_wrap=True)
            if not out.is_terminal:
                out = Console(highlight=False, soft_wrap=True, width=_WIDTH)
            if table.row_count:
                out.print(table)
            out.print(text, markup=False)


def _run(
    command: Callable[[QueueManager, _Report], None],
    wait_s: float,
    as_json: bool,
    said: dict[str, Any],
    connection: dict[str, Any],
) -> None:
    report = _Report({"q_mgr_name": connection["q_mgr_name"], **said}, as_json=as_json)
    with connected(report, wait_s, **connection) as q_mgr:
        try:
            command(q_mgr, report)
        except OwnerActive as error:
            report.failed(EXIT_OWNER_ACTIVE, error)
        except StatusError as error:
            report.failed(EXIT_DISARRAY, error)
    sys.exit(report.end())


def _tense(apply: bool, verb: str) -> str:
    past = {"move": "moved", "write": "wrote"}[verb]
    return past if apply else f"would {verb}"


def _table(groups: Sequence[GroupInspection]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in _COLUMNS:
        table.add_column(column, overflow="fold", no_wrap=column == "GroupId")
    for group in groups:
        style = "green" if group.whole else "yellow"
        table.add_row(
            Text(group.group_id.hex(), style=style),
            Text(_state(group), style=style),
            str(group.messages),
            _place(group.first),
            f"{group.last_msg_seq_number}{_bytes(group.end)}",
            ", ".join(f"{_place(gap.first)} to {_place(gap.end)}" for gap in group.gaps) or "-",
            " and ".join(_PERSISTENT[each] for each in sorted(group.persistences)),
            ", ".join(group.put_by),
            _when(group.first_put),
            _when(group.last_put),
            str(group.backout_count),
        )
    return table


def _state(group: GroupInspection) -> str:
    if group.whole:
        return "whole"
    wrong = {
        "no beginning": not group.has_head,
        "no end": not group.has_end,
        "gap": bool(group.gaps),
        "disarray": not group.is_consistent,
    }
    return ", ".join(what for what, is_so in wrong.items() if is_so) or "not available"


def _place(place: Place) -> str:
    return f"{place.msg_seq_number}{_bytes(place)}"


def _bytes(place: Place) -> str:
    return f" at byte {place.offset}" if place.offset else ""


def _when(put_time: str) -> str:
    """Return PutDate and PutTime, to the second; as they are if they are none."""
    try:
        return datetime.strptime(put_time[:14], "%Y%m%d%H%M%S").isoformat(sep=" ")
    except ValueError:
        return put_time


def _values(group: GroupInspection) -> dict[str, Any]:
    return {
        "group_id": group.group_id.hex(),
        "messages": group.messages,
        "first": list(group.first),
        "end": list(group.end),
        "gaps": [[list(gap.first), list(gap.end)] for gap in group.gaps],
        "last": group.last,
        "has_head": group.has_head,
        "has_end": group.has_end,
        "whole": group.whole,
        "overlapping": group.overlapping,
        "persistences": sorted(group.persistences),
        "backout_count": group.backout_count,
        "put_by": list(group.put_by),
        "first_put": group.first_put,
        "last_put": group.last_put,
    }

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
from contextlib import ExitStack
from datetime import datetime
from typing import Any, Literal

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mqgroups import operate
from mqgroups.cli.connection import (
    EXIT_DISARRAY,
    EXIT_DOUBLED,
    EXIT_OWNER_ACTIVE,
    Report,
    connected,
    connection_options,
    record_values,
)
from mqgroups.config import STATUS_MODEL
from mqgroups.core.inspection import Place
from mqgroups.core.model import GROUP_ID_LENGTH, Persistence
from mqgroups.core.modes import Accept
from mqgroups.errors import OwnerActive, StatusError
from mqgroups.operate import GroupInspection, GroupSplit, QueueInspection
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


def _places(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> list[tuple[str, str]]:
    """Return queue manager names and where they are."""
    places = [(name, conn_name) for name, _, conn_name in (value.partition("=") for value in values)]
    for value, place in zip(values, places, strict=True):
        if not all(place):
            raise click.BadParameter(f"{value!r} is not NAME=HOST(PORT)")
    return places


@click.group()
def salvage() -> None:
    """Rebuild a lost status record from the messages of its group, or move what is left of a group.

    \b
    Exit codes:
      0  it is done or, without --apply, it can be
      1  it did not work, and standard error says why
      2  the command was not understood
      4  this owner, or another one whose record may speak of the group, is active or not gone yet after --wait
      5  it cannot be known what is right, and nothing was changed; or, with look --at, groups are split
      6  the queue manager cannot be connected to
      8  look: groups have messages twice
    """


@salvage.command()
@_QUEUE
@click.option(
    "--at",
    "others",
    multiple=True,
    callback=_places,
    metavar="NAME=HOST(PORT)",
    help="Another queue manager with an instance of the queue; may be repeated.",
)
@connection_options
@_WAIT
@_JSON
def look(queue: str, others: Sequence[tuple[str, str]], wait_s: float, as_json: bool, **connection: Any) -> None:
    """Show the groups on a queue, whole or not, by browsing.

    A group without its beginning is never seen by who gets in logical order: a consumer has begun it, and goes on by its
    record, or has lost that. One without its end is still being put, or its producer was interrupted. One that is doubled has
    messages twice: two owners put it, or something else did; move it away.

    What units of work hide is told by the command server, if this user may ask it.

    With --at, of a cluster queue, each instance, and which groups are at more than one of them. Channel, user and password are
    the same for all.
    """

    def looked(q_mgr: QueueManager, report: _Report) -> None:
        seen = operate.inspect_queue(q_mgr, queue)
        report.saw(seen)
        report.say(_table(seen.groups), _sums(seen), **_seen_values(seen))

    def looked_at_all(q_mgr: QueueManager, report: _Report) -> None:
        with ExitStack() as stack:
            q_mgrs = [q_mgr]
            for name, conn_name in others:
                there = {**connection, "q_mgr_name": name, "conn_name": conn_name}
                q_mgrs.append(stack.enter_context(connected(report, wait_s, **there)))
            found = operate.inspect_cluster(q_mgrs, queue)
        for instance in found.instances:
            report.saw(instance.seen)
            report.say(_table(instance.seen.groups), f"{instance.q_mgr_name}: {_sums(instance.seen)}\n")
        report.say(
            _table_of_splits(found.splits),
            f"{len(found.splits)} groups are split over queue managers",
            instances=[{"q_mgr_name": one.q_mgr_name, **_seen_values(one.seen)} for one in found.instances],
            splits=[_split_values(split) for split in found.splits],
        )
        if found.splits:
            report.code = max(report.code, EXIT_DISARRAY)

    _run(looked_at_all if others else looked, wait_s, as_json, {"queue": queue}, connection)


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
@_accept("in-use", "other-owners", "begun", "nothing-interrupted")
@click.option(
    "--other-status-queue",
    "other_status_queues",
    multiple=True,
    metavar="QUEUE",
    help="A status queue of another owner, to be looked at; may be repeated.",
)
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
    """Write the status record of a producer or consumer again, so that its next start goes on where it stood.

    A group that the record of another owner speaks of is refused. MQGROUPS.PUT.*, MQGROUPS.SHARED.* and MQGROUPS.GET.* are found
    through the command server; status queues of other names, or all of them where this user may not ask it, are given by
    --other-status-queue.

    \b
    --accept in-use               others use the queue, or nobody can say, and not this group
             other-owners         not all status queues can be looked at, and no other owner has this group
             begun                a consumer got the first messages of a producer's group, in order
             nothing-interrupted  no group is to go on: only move away what cannot be read
    """

    def rebuilt(q_mgr: QueueManager, report: _Report) -> None:
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
        says = []
        if done.unreadable:
            says.append(
                f"{_tense(apply, 'move')} {done.unreadable} messages of {done.status_queue} to {done.unreadable_to}"
            )
        if done.orphaned:
            says.append(f"{_tense(apply, 'remove')} an anchor from {done.status_queue}, whose record is lost")
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
            orphaned=done.orphaned,
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
    accept: Sequence[Accept],
    apply: bool,
    wait_s: float,
    as_json: bool,
    **connection: Any,
) -> None:
    """Move what is left of a group, as it is, to another queue. After a crash, give the command again: it moves the rest."""

    def moved(q_mgr: QueueManager, report: _Report) -> None:
        done = operate.move_group(
            q_mgr,
            queue,
            group_id,
            to=to,
            commit_every=every,
            accept=accept,
            keep_context=not new_context,
            check=not apply,
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

    def saw(self, seen: QueueInspection) -> None:
        """Let the exit code say whether groups are doubled."""
        if any(group.is_doubled for group in seen.groups):
            self.code = EXIT_DOUBLED

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
    past = {"move": "moved", "remove": "removed", "write": "wrote"}[verb]
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
            _before(group.end),
            ", ".join(f"{_place(gap.first)} to {_place(gap.end)}" for gap in group.gaps) or "-",
            " and ".join(_PERSISTENT[each] for each in sorted(group.persistences)),
            ", ".join(group.put_by),
            _when(group.first_put),
            _when(group.last_put),
            str(group.backout_count),
        )
    return table


def _table_of_splits(splits: Sequence[GroupSplit]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("GroupId", "queue manager", "messages", "together"):
        table.add_column(column, overflow="fold", no_wrap=column == "GroupId")
    for split in splits:
        gaps = ", ".join(f"{_place(gap.first)} to {_place(gap.end)}" for gap in split.gaps)
        together = (
            "whole" if split.is_whole_together else "twice the same" if split.overlapping else f"missing {gaps or '-'}"
        )
        for part in split.parts:
            runs = ", ".join(f"{_place(run.first)} to {_before(run.end)}" for run in part.group.runs)
            table.add_row(Text(split.group_id.hex(), style="red"), part.q_mgr_name, runs, together)
    return table


def _sums(seen: QueueInspection) -> str:
    return (
        f"{len(seen.groups)} groups; {seen.others} messages not in groups; open handles: {seen.open_input} for input, "
        f"{seen.open_output} for output; hidden: {seen.hidden or 'nothing'}"
    )


def _state(group: GroupInspection) -> str:
    if group.whole:
        return "whole"
    wrong = {
        "doubled": group.is_doubled,
        "no beginning": not group.has_head,
        "no end": not group.has_end,
        "gap": bool(group.gaps),
        "disarray": not group.is_consistent and not group.is_doubled,
    }
    return ", ".join(what for what, is_so in wrong.items() if is_so) or "not available"


def _place(place: Place) -> str:
    return f"{place.msg_seq_number}{_bytes(place)}"


def _before(end: Place) -> str:
    """Return which message is the last before a place, or how much of it."""
    return f"{end.msg_seq_number - (end.offset == 0)}{_bytes(end)}"


def _bytes(place: Place) -> str:
    return f" at byte {place.offset}" if place.offset else ""


def _when(put_time: str) -> str:
    """Return PutDate and PutTime, to the second; as they are if they are none."""
    try:
        return datetime.strptime(put_time[:14], "%Y%m%d%H%M%S").isoformat(sep=" ")
    except ValueError:
        return put_time


def _seen_values(seen: QueueInspection) -> dict[str, Any]:
    return {
        "groups": [_values(group) for group in seen.groups],
        "others": seen.others,
        "open_input": seen.open_input,
        "open_output": seen.open_output,
        "uncommitted": seen.uncommitted,
        "unasked": seen.unasked,
    }


def _split_values(split: GroupSplit) -> dict[str, Any]:
    return {
        "group_id": split.group_id.hex(),
        "parts": [{"q_mgr_name": part.q_mgr_name, **_values(part.group)} for part in split.parts],
        "whole_together": split.is_whole_together,
        "overlapping": split.overlapping,
        "gaps": [[list(gap.first), list(gap.end)] for gap in split.gaps],
    }


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
        "doubled": group.is_doubled,
        "overlapping": group.overlapping,
        "persistences": sorted(group.persistences),
        "backout_count": group.backout_count,
        "put_by": list(group.put_by),
        "first_put": group.first_put,
        "last_put": group.last_put,
    }

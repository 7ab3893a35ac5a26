"""The command ``mqgroups watch``: groups and owners of a queue, live: a screen at a terminal, else a line for each look."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from mqgroups.cli.connection import connection_options, open_q_mgr
from mqgroups.cli.console import console
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.group_rows import group_listing, listed_values
from mqgroups.cli.keys import Keys
from mqgroups.cli.options import address, json_lines_option, status_queue_option
from mqgroups.cli.owners import owner_listing, owner_values
from mqgroups.cli.owners import summary as owner_summary
from mqgroups.cli.queue_figures import QueueLook, QueuePage
from mqgroups.cli.report import Report
from mqgroups.cli.table import Listing, Row
from mqgroups.cli.words import Duration, age_s, number, put_time, size
from mqgroups.errors import BindingMissing, ConnectionBroken, MQIError
from mqgroups.operate.group_names import GroupNames
from mqgroups.operate.groups import ListedGroup, browse_groups
from mqgroups.operate.owners import find_owners
from mqgroups.operate.rules.judgement import GroupState, Judgement
from mqgroups.operate.rules.owner_state import OwnerState, SeenOwner
from mqgroups.operate.rules.rates import Look, Rates, rates
from mqgroups.pages import Pages
from mqgroups.printable import printable
from mqgroups.queue_manager import QueueManager

if TYPE_CHECKING:
    from rich.text import Text

# Groups that a look keeps, to show those that fit the screen.
_MOST_GROUPS = 200
# Names that a look has no time for are read by the next one.
_MOST_FOR_NAMES_S = 1.0
_ATTENTION = frozenset(GroupState) - {GroupState.COMPLETE, GroupState.BEING_PUT, GroupState.BEING_GOT}
_OWNER_ORDER = {
    state: rank
    for rank, state in enumerate(
        (
            OwnerState.MOVED,
            OwnerState.DUPLICATE,
            OwnerState.SEVERAL_USERS,
            OwnerState.UNREADABLE,
            OwnerState.LOST,
            OwnerState.HIDDEN,
            OwnerState.INTERRUPTED,
            OwnerState.ACTIVE,
            OwnerState.LEFT_OVER,
            OwnerState.CHECKPOINT,
            OwnerState.UNSEEN,
            OwnerState.CLEAN,
        )
    )
}


@dataclass(slots=True)
class _Seen:
    """What one look has seen, or why it has seen nothing.

    Attributes:
        at: when it began.
        took_s: how long it took.
        look: for the rates of the next look.
        newest: the latest put time on the queue.
        oldest_complete: since when the group is complete that has been so for longest; empty without one.
    """

    at: datetime
    took_s: float = 0.0
    look: Look | None = None
    newest: str = ""
    oldest_complete: str = ""
    rates: Rates = field(default_factory=Rates)
    messages: int = 0
    others: int = 0
    hidden: int | None = None
    data_bytes: int = 0
    states: dict[GroupState, int] = field(default_factory=dict)
    groups: list[ListedGroup] = field(default_factory=list)
    owners: list[SeenOwner] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    problem: str = ""


@click.command()
@click.option("--queue", required=True, metavar="QUEUE", help="The queue to watch: a local queue, or an alias of one.")
@click.option(
    "--every",
    type=Duration(),
    default="1s",
    show_default=True,
    metavar="TIME",
    help="How long to wait between two looks; at least as long as a look takes.",
)
@click.option(
    "--count", type=click.IntRange(1), metavar="LOOKS", help="End after so many looks. Default: watch for ever."
)
@click.option(
    "--stalled-after",
    type=Duration(),
    default="5m",
    show_default=True,
    metavar="TIME",
    help="How long nothing may happen in an incomplete group before it counts as stalled.",
)
@click.option(
    "--http",
    callback=address,
    metavar="HOST:PORT",
    help="Serve /metrics (for Prometheus) at this address: groups by state, and how long the oldest complete one waits.",
)
@status_queue_option
@json_lines_option
@connection_options()
def watch(
    queue: str,
    every: timedelta,
    count: int | None,
    stalled_after: timedelta,
    http: tuple[str, int] | None,
    status_queues: Sequence[str],
    output: str,
    **connection: Any,
) -> None:
    """Watch the groups and owners of a queue: what is stalled first, with rates. The key q ends it, a blank looks at once.

    At a terminal there is a screen; otherwise a line is printed for each look, or with --json a line of JSON. A lost connection
    is made again.

    Each look browses the whole queue, and reads the names of the groups that it shows. It changes nothing. Messages that are put
    and got between two looks are not in the rates; commits are exact.

    \b
    Exit codes:
      0    ended with q, or after --count looks
      1    failed; standard error says why
      2    the command line is wrong
      6    the queue manager could not be connected to at the beginning
      130  ended with Ctrl-C
    """
    watcher = _Watcher(queue, stalled_after, status_queues, connection)
    try:
        with ExitStack() as stack:
            stack.callback(watcher.close)
            watcher.connect_first()
            show = _shower(stack, queue, output)
            page = QueuePage(QueueLook(connection["q_mgr_name"], queue))
            if http is not None:
                stack.enter_context(Pages(http, {"/metrics": page}))
            keys = stack.enter_context(Keys())
            looks = 0
            while True:
                seen = watcher.look()
                looks += 1
                pause_s = max(every.total_seconds(), seen.took_s)
                show(seen, pause_s)
                page.show(_figures(connection["q_mgr_name"], queue, seen, pause_s))
                if looks == count:
                    return
                # The key Ctrl-C raises KeyboardInterrupt here.
                if keys.wait(pause_s).lower() == "q":
                    return
    except (MQIError, BindingMissing) as error:
        # The screen is gone now.
        Report().fail(ExitCode.FAILED, error)


class _Watcher:
    """Looks at the queue again and again."""

    def __init__(
        self, queue: str, stalled_after: timedelta, status_queues: Sequence[str], connection: dict[str, Any]
    ) -> None:
        self._queue = queue
        self._stalled_after = stalled_after
        self._status_queues = status_queues
        self._connection = connection
        self._q_mgr: QueueManager | None = None
        self._before: _Seen | None = None
        # The names of the groups of the last look, by GroupId.
        self._names: dict[bytes, str] = {}

    def connect_first(self) -> None:
        """Connect, or end the command; a later failure does not end it."""
        try:
            self._q_mgr = open_q_mgr(0.0, **self._connection)
        except (MQIError, BindingMissing) as error:
            Report().fail(ExitCode.NO_CONNECTION, error)

    def close(self) -> None:
        """Disconnect."""
        if self._q_mgr is not None:
            self._q_mgr.close()

    def look(self) -> _Seen:
        """Look once.

        Raises:
            MQIError: a failure that trying again does not mend.
        """
        began_s = time.monotonic()
        seen = _Seen(datetime.now(UTC))
        try:
            self._q_mgr = self._q_mgr or open_q_mgr(0.0, **self._connection)
        except (MQIError, BindingMissing) as error:
            seen.problem = f"not connected: {error}"
            return seen
        try:
            self._look(self._q_mgr, seen)
        except ConnectionBroken as error:
            self._q_mgr.close()
            self._q_mgr = None
            seen.problem = f"connection lost: {error}"
            return seen
        seen.took_s = time.monotonic() - began_s
        self._before = seen
        return seen

    def _look(self, q_mgr: QueueManager, seen: _Seen) -> None:
        before = self._before
        newer_than = before.newest if before else ""
        with browse_groups([q_mgr], self._queue, newer_than=newer_than) as found:
            owners = find_owners(q_mgr, status_queues=self._status_queues)
            new_groups = 0

            def wanted(each: Judgement) -> bool:
                nonlocal new_groups
                new_groups += each.group is not None and each.group.first_put > newer_than
                if each.cause.state is GroupState.COMPLETE:
                    seen.oldest_complete = min(seen.oldest_complete or each.since, each.since)
                return True

            found.judge(owners, put_time(seen.at - self._stalled_after), wanted)
            (instance,) = found.instances
            with GroupNames([q_mgr], self._queue) as names:
                some = islice(found.groups("state"), _MOST_GROUPS)
                seen.groups = list(names.named(some, most_s=_MOST_FOR_NAMES_S, known=self._names))
            # A group without a name may still get its first message, or a record.
            self._names = {
                row.group.group_id: row.name or ""
                for row in seen.groups
                if row.name or (row.name is not None and row.group.has_head)
            }
            seen.states = dict(found.counts)
            seen.data_bytes = found.data_bytes
        seen.messages, seen.others, seen.hidden = instance.messages, instance.others, instance.hidden
        seen.newest = max(instance.newest, newer_than)
        of_queue = [owner for owner in owners.owners if owner.queue in ("", self._queue, instance.resolved_q_name)]
        seen.owners = sorted(of_queue, key=lambda owner: _OWNER_ORDER[owner.state])
        seen.unseen = [*owners.unseen, *instance.unseen]
        # What was there before the first look is not new.
        is_first = before is None
        seen.look = Look(
            time.monotonic(),
            instance.messages,
            sum(seen.states.values()),
            0 if is_first else instance.newer,
            0 if is_first else new_groups,
            {
                (owner.record.owner_id, owner.record.epoch): owner.record.unit_of_work
                for owner in of_queue
                if owner.record is not None
            },
        )
        if before is not None and before.look is not None:
            seen.rates = rates(before.look, seen.look)


def _shower(stack: ExitStack, queue: str, output: str) -> Any:
    """Return the function that shows a look."""
    if output == "json":
        return lambda seen, _: click.echo(json.dumps(_values(queue, seen)))
    if not console().is_terminal:
        return _lines_of(queue)
    from rich.live import Live

    out = console()
    live = stack.enter_context(Live(console=out, screen=True, auto_refresh=False, transient=True))
    return lambda seen, pause_s: live.update(_screen(queue, seen, pause_s, out.width, out.height), refresh=True)


def _lines_of(queue: str) -> Callable[[_Seen, float], None]:
    """Return the function that prints a look as a line, and what could not be seen once, on standard error."""
    told: set[str] = set()

    def show(seen: _Seen, _: float) -> None:
        for each in seen.unseen:
            if each not in told:
                told.add(each)
                click.echo(printable(f"not seen: {each}"), err=True)
        click.echo(printable(_line(queue, seen)))

    return show


def _line(queue: str, seen: _Seen) -> str:
    """Return a look as one line."""
    when = seen.at.strftime("%Y-%m-%d %H:%M:%S")
    if seen.problem:
        return f"{when} {queue}: {seen.problem}"
    return f"{when} {queue}: {'; '.join(_sums(seen))}; {owner_summary(seen.owners)}"


def _sums(seen: _Seen) -> list[str]:
    states = ", ".join(f"{many:,} {state.value}" for state in GroupState if (many := seen.states.get(state, 0)))
    hidden = "" if not seen.hidden else f", {seen.hidden:,} hidden"
    each = seen.rates
    return [
        f"{number(seen.messages, 'message')}{hidden}, {size(seen.data_bytes)}",
        f"{number(sum(seen.states.values()), 'group')}{': ' if states else ''}{states}",
        f"messages {each.messages_in:.1f}/s in, {each.messages_out:.1f}/s out",
        f"groups {each.groups_in:.1f}/s in, {each.groups_out:.1f}/s out",
        f"{each.commits:.1f} commits/s",
    ]


def _figures(q_mgr_name: str, queue: str, seen: _Seen, pause_s: float) -> QueueLook:
    """Return a look, for Prometheus."""
    if seen.problem:
        return QueueLook(q_mgr_name, queue)
    waited_s = age_s(seen.oldest_complete, seen.at) or 0.0
    return QueueLook(q_mgr_name, queue, seen.states, seen.messages, waited_s, good_for_s=60 + 10 * pause_s)


def _values(queue: str, seen: _Seen) -> dict[str, Any]:
    """Return a look, for a line of JSON: all owners, and the groups that need attention."""
    if seen.problem:
        return {"at": seen.at.isoformat(), "queue": queue, "problem": seen.problem}
    return {
        "at": seen.at.isoformat(),
        "queue": queue,
        "messages": seen.messages,
        "others": seen.others,
        "hidden": seen.hidden,
        "data_bytes": seen.data_bytes,
        "states": {state.value: many for state, many in seen.states.items()},
        "rates": {
            "messages_in": seen.rates.messages_in,
            "messages_out": seen.rates.messages_out,
            "groups_in": seen.rates.groups_in,
            "groups_out": seen.rates.groups_out,
            "commits": seen.rates.commits,
        },
        "groups": [listed_values(each, seen.at) for each in seen.groups if each.state in _ATTENTION],
        "owners": [owner_values(each, show_checkpoint=False) for each in seen.owners],
        "unseen": seen.unseen,
    }


def _screen(queue: str, seen: _Seen, pause_s: float, width: int, height: int) -> Text:
    """Return a look as the lines of a screen."""
    from rich.text import Text

    lines = [Text(f"{queue}  {seen.at.strftime('%H:%M:%S')} UTC", style="bold")]
    if seen.problem:
        lines.append(Text(printable(seen.problem), style="red"))
    else:
        lines += [Text(each) for each in _sums(seen)]
        # Half of the screen for the groups, or what the owners leave of it.
        room = height - len(lines) - 6
        groups = sum(seen.states.values())
        owner_rows = min(len(seen.owners), max(room // 2, room - len(seen.groups)))
        lines += [Text(), *_rows(group_listing(seen.at), seen.groups, max(1, room - owner_rows), width, groups)]
        lines += [Text(), *_rows(owner_listing(seen.at), seen.owners, max(1, owner_rows), width, len(seen.owners))]
        lines += [Text(printable(f"not seen: {each}"), style="cyan") for each in seen.unseen[:1]]
    del lines[height - 1 :]
    for each in lines:
        each.truncate(width, overflow="ellipsis")
    footer = f"q quits, blank looks now; a look took {seen.took_s:.1f} s, the next in {pause_s:.0f} s"
    lines.append(Text(footer[:width], style="dim"))
    return Text("\n").join(lines)


def _rows(listing: Listing[Row], rows: Sequence[Row], most: int, width: int, total: int) -> Iterable[Text]:
    from rich.text import Text

    shown = list(rows[:most])
    if not shown:
        return
    for line in listing.lines(shown, shown, width=width):
        yield Text("  ").join(Text(text, style=style) for text, style in line)
    if total > len(shown):
        yield Text(f"and {total - len(shown):,} more", style="dim")

"""The command ``mqgroups watch``: looks at the groups and owners of a queue again and again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import click

from mqgroups.cli.connection import connection_options, open_q_mgr
from mqgroups.cli.console import console, echo, say, table_lines, wrapped
from mqgroups.cli.group_rows import group_listing, listed_values
from mqgroups.cli.options import (
    LOOK_S,
    QUEUE,
    SECONDS,
    STALLED_AFTER,
    host_and_port,
    output_option,
    status_queues_option,
)
from mqgroups.cli.owners import of_queue, owner_listing, owner_values
from mqgroups.cli.owners import summary as owner_summary
from mqgroups.cli.seen import Seen, sums
from mqgroups.cli.table import Output, picked
from mqgroups.cli.watch_page import WatchPages
from mqgroups.cli.words import put_time
from mqgroups.core.to_copy import to_copy
from mqgroups.errors import BindingMissing, ConnectionBroken, MQIError
from mqgroups.operate.group_names import GroupNames
from mqgroups.operate.groups import browse_groups
from mqgroups.operate.owners import find_owners
from mqgroups.operate.rules.judgement import GroupState, Judgement
from mqgroups.operate.rules.rates import Look, rates
from mqgroups.pages import Pages
from mqgroups.printable import printable
from mqgroups.queue_manager import QueueManager

# Groups that a look keeps.
_MOST_GROUPS = 200
# Names that a look has no time for are read by the next one.
_MOST_FOR_NAMES_S = 1.0
# A clock can wait for years, but not for ever.
_LONGEST_PAUSE_S = 86_400.0
# Between two tries to connect that only somebody can make succeed.
_UNTIL_IT_IS_MENDED_S = 60.0
_ATTENTION = frozenset(GroupState) - {GroupState.COMPLETE, GroupState.BEING_PUT, GroupState.BEING_GOT}
# Of the states of owners.
_ORDER = (
    "MOVED DUPLICATE SEVERAL_USERS UNREADABLE LOST HIDDEN INTERRUPTED ACTIVE LEFT_OVER CHECKPOINT DONE UNSEEN CLEAN UNKNOWN"
).split()


def _address(value: str) -> tuple[str, int]:
    return host_and_port(f"127.0.0.1:{value}" if value.isdecimal() else value)


@click.command()
@click.option("--queue", required=True, type=QUEUE, help="The queue to watch: a local queue, or an alias of one.")
@click.option(
    "--every",
    "every_s",
    type=SECONDS,
    default=1.0,
    help="How long to wait between two looks; at least as long as a look takes, at most a day.",
)
@click.option(
    "--http",
    type=_address,
    metavar="[HOST:]PORT",
    help="Serve a page for browsers, which changes nothing, and /metrics for Prometheus; without HOST to this machine only.",
)
@status_queues_option
@output_option
@connection_options(LOOK_S)
def watch(
    queue: str,
    every_s: float,
    http: tuple[str, int] | None,
    status_queues: Sequence[str],
    output: Output,
    **connection: Any,
) -> None:
    """Watch the groups and owners of a queue: what is stalled first, with rates. Ctrl-C ends it.

    At a terminal each look takes the place of the one before; otherwise it is a line, or with -o json a line of JSON. A lost
    connection is made again.

    Each look browses the whole queue, and reads the names of the groups that it shows. It changes nothing. Messages that are put
    and got between two looks are not in the rates; commits are exact.

    \b
    Exit codes:
      1    failed; standard error says why
      130  ended with Ctrl-C
    """
    # A later failure to connect does not end it.
    watcher = _Watcher(queue, status_queues, connection, open_q_mgr(**connection))
    with ExitStack() as stack:
        stack.callback(watcher.close)
        show = _shower(queue, output)
        pages = WatchPages(connection["q_mgr_name"], queue)
        if http is not None:
            stack.enter_context(Pages(http, pages.by_path))
        while True:
            seen = watcher.look()
            pause_s = min(max(every_s, seen.took_s), _LONGEST_PAUSE_S)
            show(seen)
            pages.show(seen, pause_s)
            time.sleep(pause_s)


@dataclass(slots=True)
class _Watcher:
    """Looks at the queue again and again."""

    _queue: str
    _status_queues: Sequence[str]
    _connection: dict[str, Any]
    _q_mgr: QueueManager | None
    _before: Seen | None = None
    # The names of the groups of the last look, by GroupId.
    _names: dict[bytes, str] = field(default_factory=dict)

    def close(self) -> None:
        """Disconnect."""
        if self._q_mgr is not None:
            self._q_mgr.close()

    def look(self) -> Seen:
        """Look once.

        Raises:
            MQIError: a failure that trying again does not mend.
        """
        began_s = time.monotonic()
        seen = Seen(datetime.now(UTC))
        try:
            self._q_mgr = self._q_mgr or open_q_mgr(**{**self._connection, "wait_s": 0.0})
        except (MQIError, BindingMissing) as error:
            seen.problem = f"not connected: {error}"
            # A password that is refused again and again locks the account.
            seen.took_s = 0.0 if error.clears_up else _UNTIL_IT_IS_MENDED_S
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

    def _look(self, q_mgr: QueueManager, seen: Seen) -> None:
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

            seen.gone = found.judge(owners, put_time(seen.at - STALLED_AFTER), wanted)
            (instance,) = found.instances
            with GroupNames([q_mgr], self._queue) as names:
                some = islice(found.groups(), _MOST_GROUPS)
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
        mine = of_queue(owners, (self._queue, instance.resolved_q_name))
        seen.owners = sorted(mine.owners, key=lambda owner: _ORDER.index(owner.state.name))
        seen.unseen = [*mine.unseen, *instance.unseen]
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
                for owner in mine.owners
                if owner.record is not None
            },
        )
        if before is not None and before.look is not None:
            seen.rates = rates(before.look, seen.look)


def _shower(queue: str, output: Output) -> Callable[[Seen], None]:
    """Return the function that shows a look; as lines, what could not be seen is said once, on standard error."""
    if output == "json":
        return lambda seen: click.echo(json.dumps(_values(queue, seen)))
    if console().is_terminal:
        return lambda seen: _show_screen(queue, seen)
    told: set[str] = set()

    def show(seen: Seen) -> None:
        for each in seen.unseen:
            if each not in told:
                told.add(each)
                echo(printable(f"not seen: {each}"), err=True)
        say(_line(queue, seen))

    return show


def _line(queue: str, seen: Seen) -> str:
    """Return a look as one line."""
    when = seen.at.strftime("%Y-%m-%d %H:%M:%S UTC")
    if seen.problem:
        return f"{when} {queue}: {seen.problem}"
    return f"{when} {queue}: {'; '.join(_sums(seen))}; {owner_summary(seen.owners)}"


def _sums(seen: Seen) -> list[str]:
    return [", ".join(filter(None, (f"{what} {many}", more))) for what, many, more in sums(seen)]


def _values(queue: str, seen: Seen) -> dict[str, Any]:
    """Return a look, for a line of JSON: all owners, and the groups that need attention."""
    at = f"{seen.at:%Y-%m-%dT%H:%M:%S.%f}"[:-4] + "Z"
    if seen.problem:
        return {"at": at, "queue": queue, "problem": seen.problem}
    return {
        "at": at,
        "queue": queue,
        **picked(seen, "messages others hidden data_bytes unseen"),
        "states": {state.value: many for state, many in seen.states.items()},
        "rates": asdict(seen.rates),
        "groups": [listed_values(each, seen.at) for each in seen.groups if each.state in _ATTENTION],
        "owners": [owner_values(each) for each in seen.owners],
    }


def _show_screen(queue: str, seen: Seen) -> None:
    """Show a look in the place of the one before: the first lines of what ``groups`` and ``owners`` show, as many as fit."""
    said = [seen.problem] if seen.problem else [*_sums(seen), *(f"not seen: {each}" for each in seen.unseen[:1])]
    title = f"{queue} {seen.at:%H:%M:%S} UTC. Ctrl-C ends"
    lines = [line for text in (title, *said) for line in wrapped(printable(text)).split("\n")]
    room = console().height - len(lines) - 3
    owners = _first(
        room // 2, table_lines(owner_listing(seen.at), seen.owners)[0], to_copy("mqgroups owners --queue {}", queue)
    )
    groups = table_lines(group_listing(seen.at), seen.groups)[0]
    for table in (_first(room - len(owners), groups, to_copy("mqgroups groups --queue {}", queue)), owners):
        lines += ["", *table] if table else []
    click.clear()
    for line in lines:
        echo(line)


def _first(most: int, lines: list[str], command: str) -> list[str]:
    """Return so many lines of a table, of which the last one says which command has all."""
    return lines if len(lines) <= most else [*lines[: max(0, most - 1)], f"and more: {command}"]

"""The command ``mqgroups watch``: looks at the groups and owners of queues again and again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any

import click

from mqgroups.cli.connection import connection_options, open_q_mgr
from mqgroups.cli.console import console, echo
from mqgroups.cli.group_rows import group_listing, listed_values
from mqgroups.cli.options import LOOK_S, QUEUE, SECONDS, host_and_port, output_option, status_queues_option
from mqgroups.cli.owners import by_need, owner_listing, owner_values
from mqgroups.cli.report import Report
from mqgroups.cli.seen import NO_QUEUE, Seen, looks
from mqgroups.cli.table import Output, picked
from mqgroups.cli.watch_page import WatchPages
from mqgroups.core.to_copy import to_copy
from mqgroups.operate.rules.judgement import GroupState
from mqgroups.pages import Pages
from mqgroups.printable import printable

# ``sleep`` accepts years, but not any number.
_LONGEST_PAUSE_S = 86_400.0
# States of groups that do not need an operator.
_AT_WORK = frozenset({GroupState.COMPLETE, GroupState.BEING_PUT, GroupState.BEING_GOT})


@click.command()
@click.option(
    "--queue",
    "queues",
    multiple=True,
    type=QUEUE,
    help="A local queue or an alias; may be repeated. Default: all queues that status records name.",
)
@click.option(
    "--every",
    "every_s",
    type=SECONDS,
    default=1.0,
    help="How long to wait between two looks, at least the duration of a look, at most a day.",
)
@click.option(
    "--http",
    type=lambda value: host_and_port(f"127.0.0.1:{value}" if value.isdecimal() else value),
    metavar="[HOST:]PORT",
    help="Serve a page for browsers, which changes nothing, and /metrics for Prometheus. Without HOST: for this machine only.",
)
@status_queues_option
@output_option
@connection_options(LOOK_S)
def watch(
    queues: Sequence[str],
    every_s: float,
    http: tuple[str, int] | None,
    status_queues: Sequence[str],
    output: Output,
    **connection: Any,
) -> None:
    """Watch the groups and owners of queues. Stalled groups come first. Ctrl-C ends the command.

    At a terminal, each look replaces the look before. Otherwise each look prints a line for each queue, in JSON with -o json. If
    the connection is lost, the command reconnects.

    Each look browses all messages of the queues, and reads the names of the groups that it shows. It changes nothing.

    \b
    Exit codes:
      1    failed; standard error shows why
      130  ended with Ctrl-C
    """
    show = _shower(output)
    pages = WatchPages(connection["q_mgr_name"], queues)
    with ExitStack() as stack:
        if http is not None:
            stack.enter_context(Pages(http, pages.by_path))
        # A later failure to connect does not end the command.
        found = looks(queues, status_queues, connection, open_q_mgr(**connection))
        for seen in stack.enter_context(closing(found)):
            pause_s = min(max(every_s, seen.took_s), _LONGEST_PAUSE_S)
            show(seen)
            pages.show(seen, pause_s)
            time.sleep(pause_s)


def _shower(output: Output) -> Callable[[Seen], None]:
    """Return the function that shows a look. If it prints lines, standard error shows, once each, what was not seen."""
    if output == "json":
        return lambda seen: echo("\n".join(json.dumps(each) for each in _values(seen)))
    if console().is_terminal:
        return _show_screen
    told: set[str] = set()

    def show(seen: Seen) -> None:
        for each in seen.unseen:
            if each not in told:
                told.add(each)
                echo(printable(f"not seen: {each}"), err=True)
        for each in seen.lines():
            echo(printable(f"{seen.at:%Y-%m-%d %H:%M:%S} UTC {each}"))

    return show


def _values(seen: Seen) -> Iterator[dict[str, Any]]:
    """Yield the JSON values of each queue in a look: all owners, and only the groups that need attention."""
    at = f"{seen.at:%Y-%m-%dT%H:%M:%S.%f}"[:-4] + "Z"
    if not seen.queues:
        yield {"at": at, "queue": None, "problem": seen.problem or NO_QUEUE}
    for queue in seen.queues:
        if problem := seen.problem or queue.problem:
            yield {"at": at, "queue": queue.queue, "problem": problem}
            continue
        yield {
            "at": at,
            **picked(queue, "queue messages others hidden data_bytes unseen"),
            "states": {state.value: many for state, many in queue.states.items()},
            "groups": [listed_values(each, seen.at) for each in queue.groups if each.state not in _AT_WORK],
            "owners": [owner_values(each) for each in by_need(queue.owners)],
        }


def _show_screen(seen: Seen) -> None:
    """Clear the terminal, and show as many groups and owners of a look as there is room for."""
    report = Report()
    room = (console().height - 8) // 3
    queue = to_copy(" --queue {}", seen.queues[0].queue) if len(seen.queues) == 1 else ""
    click.clear()
    report.print(f"{seen.at:%H:%M:%S} UTC. Ctrl-C ends", *list(seen.lines())[: max(1, room // 2)])
    report.print(*(f"not seen: {each}" for each in seen.unseen[:1]))
    if not seen.problem:
        listing = group_listing(seen.at, queues=len(seen.queues) > 1)
        report.beginning(listing, seen.groups, room, f"mqgroups groups{queue}")
        report.beginning(owner_listing(seen.at), seen.owners, room, f"mqgroups owners{queue}")

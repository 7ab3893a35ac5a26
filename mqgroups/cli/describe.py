"""The command ``mqgroups describe``: a producer or consumer in one look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from mqgroups.cli.cards import group_card, owner_card
from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.group_rows import listed_values
from mqgroups.cli.groups import browsed
from mqgroups.cli.options import LOOK_S, NAME, STALLED_AFTER, output_option, status_queues_option
from mqgroups.cli.owners import owner_values
from mqgroups.cli.report import Report
from mqgroups.cli.table import Output
from mqgroups.cli.words import put_time
from mqgroups.operate.group_names import GroupNames
from mqgroups.operate.groups import ListedGroup
from mqgroups.operate.owners import find_owners
from mqgroups.operate.queues import look_at_queues
from mqgroups.operate.rules.bar import drawn
from mqgroups.operate.rules.judgement import Cause, Judgement
from mqgroups.operate.rules.owner_state import OwnerState

_LACKING = {OwnerState.LOST, OwnerState.HIDDEN, OwnerState.UNREADABLE, OwnerState.VERSION, OwnerState.UNSEEN}
# A group that an owner may have, whose record does not say it.
_WITHOUT_RECORD = {
    "put": {Cause.NO_RECORD, Cause.UNNAMED},
    "get": {Cause.NO_BEGINNING, Cause.BEGINNING_UNSEEN},
}


@click.command()
@click.argument("name", type=NAME)
@status_queues_option
@output_option
@connection_options(LOOK_S)
def describe(name: str, status_queues: Sequence[str], output: Output, **connection: Any) -> None:
    """Show a producer or consumer in one look: its record, its group, which messages are there, and what to do.

    \b
    In the picture of a group
      -  is got    #  is on the queue    !  is missing    .  is not there yet

    If its record is lost, the groups are shown that may be its own. Nothing is changed. Authorities are those of mqgroups groups.

    \b
    Exit codes:
      0  done
      1  failed, or NAME has no status queue
    """
    report = Report(output, q_mgr_name=connection["q_mgr_name"], name=name)
    with connected(report, **connection) as q_mgr:
        named = find_owners(q_mgr, names=[name], status_queues=status_queues)
        queues = {each.queue for each in named.owners if each.queue}
        known = {*status_queues, *(each.status_queue for each in named.owners)}
        with look_at_queues([q_mgr], queues, browsed, status_queues=known) as sight:
            now = datetime.now(UTC)
            mine = [each for each in sight.owners.owners if each.name == name]
            possible: set[Cause] = set().union(
                *(_WITHOUT_RECORD[each.role] for each in mine if each.role and each.state in _LACKING)
            )

            def wanted(each: Judgement) -> bool:
                return any(owner.name == name for owner in each.owners) or each.cause in possible

            rows: list[ListedGroup] = []
            for queue, found in sight.lists.items():
                found.judge(sight.owners, put_time(now - STALLED_AFTER), wanted, name=name)
                with GroupNames([q_mgr], queue) as names:
                    rows += [*found.gone, *names.named(found.groups())]
    unknown = [each for each in mine if not each.queue and each.state in _LACKING]
    for sentence in (
        *sight.unseen(),
        *(f"the groups of {each.role} {name}: no record says its queue" for each in unknown),
    ):
        report.note(f"not seen: {sentence}")
    cards = [group_card(row, now) for row in rows]
    report.values |= {
        "owners": [owner_values(each) for each in mine],
        "groups": [
            {"group": listed_values(row, now), "parts": card["parts"], "remedy": card["remedy"]}
            for row, card in zip(rows, cards, strict=True)
        ],
    }
    for each in mine:
        card = owner_card(each, sight.owners.owners, now, all_seen=not sight.owners.unseen)
        report.print(f"{card['name']}: {card['state']}{card['danger'] and ': '}{card['danger']}")
        _print(report, card)
    for card in cards:
        report.print(
            "", f"{card['from']} -> {card['to']} on {card['queue']}, {card['name']}: {card['state']}: {card['cause']}"
        )
        report.print(
            *filter(None, (f"  {card['danger']}".rstrip(), f"  [{drawn(card['parts'])}]", f"  {card['told']}"))
        )
        _print(report, {**card, "facts": [("quiet for", card["since"]), *card["facts"]]})
    if not mine:
        report.note(f"{name}: there is no status queue")
        report.found(ExitCode.FAILED)
    report.end()


def _print(report: Report, card: dict[str, Any]) -> None:
    report.print(*(f"  {key}: {text}" for key, text in card["facts"]))
    report.print(*(f"  do: {line}" for line in card["remedy"]), wrap=False)

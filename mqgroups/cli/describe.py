"""The command ``mqgroups describe``: shows everything about one producer or consumer.

A card has the facts about a group or an owner, and its remedy. The page of ``watch`` shows the same cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.group_rows import listed_values
from mqgroups.cli.groups import browsed
from mqgroups.cli.options import LOOK_S, NAME, STALLED_AFTER, output_option, status_queues_option
from mqgroups.cli.owners import owner_listing, owner_values
from mqgroups.cli.report import Report
from mqgroups.cli.table import COLOURS, Output
from mqgroups.cli.words import age, put_time, size, timestamp
from mqgroups.core.group_key import shown_id
from mqgroups.operate.group_names import named
from mqgroups.operate.owners import find_owners
from mqgroups.operate.queues import look_at_queues
from mqgroups.operate.rules.bar import bar, drawn, told
from mqgroups.operate.rules.findings import Severity
from mqgroups.operate.rules.inspection import BrowsedInstance
from mqgroups.operate.rules.judgement import Judgement, Surroundings
from mqgroups.operate.rules.owner_state import DISARRAY, OwnerState, SeenOwner
from mqgroups.operate.rules.remedies import WANTED, owner_remedy, remedy
from mqgroups.printable import LONGEST_NAME, brief, printable

_LACKING = {OwnerState.LOST, OwnerState.HIDDEN, OwnerState.UNREADABLE, OwnerState.VERSION, OwnerState.UNSEEN}
# States whose remedy does not come from a group.
_BY_THEMSELVES = DISARRAY | {OwnerState.LOST, OwnerState.HIDDEN}
_UNKNOWN = "?"


@click.command()
@click.argument("name", type=NAME)
@status_queues_option
@output_option
@connection_options(LOOK_S)
def describe(name: str, status_queues: Sequence[str], output: Output, **connection: Any) -> None:
    """Show everything about a producer or consumer: its record, its group, the messages, and what to do. Nothing is changed.

    \b
    In the picture of a group
      -  is got    #  is on the queue    !  is missing    .  is not there yet

    If its record is lost, the command shows the groups that may belong to it. Authorities: see mqgroups groups.

    \b
    Exit codes:
      0  done
      1  failed, or NAME has no status queue
    """
    report = Report(output, q_mgr_name=connection["q_mgr_name"], name=name)
    with connected(report, **connection) as q_mgr:
        owners = find_owners(q_mgr, names=[name], status_queues=status_queues).owners
        queues = {each.queue for each in owners if each.queue}
        known = {*status_queues, *(each.status_queue for each in owners)}
        with look_at_queues(q_mgr, queues, browsed, status_queues=known) as sight:
            now = datetime.now(UTC)
            mine = [each for each in sight.owners.owners if each.name == name]
            lacking = {each.role for each in mine if each.state in _LACKING}

            def wanted(each: Judgement) -> bool:
                return any(owner.name == name for owner in each.owners) or WANTED.get(each.cause) in lacking

            rows: list[Judgement] = []
            for queue, found in sight.lists.items():
                found.judge(sight.owners, put_time(now - STALLED_AFTER), wanted, name=name)
                rows += [*found.gone, *named(q_mgr, queue, found.groups())]
    unknown = (each for each in mine if not each.queue and each.state in _LACKING)
    unseen = (f"the groups of {each.role} {name}: no record says its queue" for each in unknown)
    for sentence in (*sight.unseen(), *unseen):
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
        where = f"{card['from']} -> {card['to']} on {card['queue']}, {card['name']}"
        danger = [f"  {card['danger']}"] if card["danger"] else []
        report.print("", f"{where}: {card['state']}: {card['cause']}", *danger)
        report.print(f"  [{drawn(card['parts'])}]", f"  {card['told']}")
        _print(report, {**card, "facts": [("quiet for", card["since"]), *card["facts"]]})
    if not mine:
        report.note(f"{name}: there is no status queue")
        report.found(ExitCode.FAILED)
    report.end()


def _print(report: Report, card: dict[str, Any]) -> None:
    report.print(*(f"  {key}: {text}" for key, text in card["facts"]))
    report.print(*(f"  do: {line}" for line in card["remedy"]), wrap=False)


def group_card(row: Judgement, at: datetime) -> dict[str, Any]:
    """Return the texts of a group's card. ``at``: when the group was seen."""
    group, cause, owners = row.group, row.cause, row.owners
    parts = bar(group, cause, owners)
    put_by = [each.name for each in owners if each.role == "put"] or list(group.put_by)
    got_by = [each.name for each in owners if each.role == "get"]
    name = row.name or row.recorded_name
    messages = f"{group.messages:,}, {size(group.data_bytes)}" if group.messages else "none"
    facts = {"messages": messages, "GroupId": group.group_id.hex()}
    return {
        "from": printable(", ".join(put_by) or _UNKNOWN),
        "to": printable(", ".join(got_by) or _UNKNOWN),
        "name": brief(name or shown_id(group.group_id), LONGEST_NAME),
        "queue": printable(row.queue),
        "state": cause.state.value,
        "colour": COLOURS[cause.severity],
        "cause": cause.value,
        "danger": "" if cause.severity is Severity.OK else cause.danger,
        "since": f"{age(row.since, at)}, since {timestamp(row.since)} UTC",
        "parts": parts,
        "told": told(parts),
        "remedy": [printable(line) for line in remedy(row)],
        "facts": [(key, printable(text)) for key, text in facts.items() if text],
    }


def owner_card(owner: SeenOwner, owners: Sequence[SeenOwner], at: datetime, *, all_seen: bool) -> dict[str, Any]:
    """Return the texts of an owner's card. ``owners``: all owners seen. ``all_seen``: whether no other owners exist."""
    texts = {column.header: printable(column.text(owner)) for column in owner_listing(at).columns}
    committed, ago = texts.pop("committed"), texts.pop("ago")
    texts = {"committed": committed and f"message {committed}, {ago} ago", **texts}
    around = Surroundings(BrowsedInstance("", owner.queue, hidden=0 if all_seen else None), owners)
    lines = owner_remedy(owner, around) if owner.state in _BY_THEMSELVES else []
    return {
        "name": f"{texts.pop('role')} {texts.pop('name')}",
        "state": texts.pop("state"),
        "colour": COLOURS[owner.state.severity],
        "danger": texts.pop("problem"),
        "remedy": [printable(line) for line in lines],
        "facts": [(header, text) for header, text in texts.items() if text],
    }

"""The command ``mqgroups owners``: shows all producers and consumers that have a status queue, and what they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import click

from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import LOOK_S, NAME, QUEUE, output_option, states_told, status_queues_option
from mqgroups.cli.report import Report, record_values
from mqgroups.cli.table import COLOURS, Column, Listing, Output, picked
from mqgroups.cli.words import age, iso, number, tally
from mqgroups.core.group_key import shown_id
from mqgroups.core.model import GROUP_ID_NONE
from mqgroups.core.status import RecordState
from mqgroups.operate.owners import find_owners
from mqgroups.operate.rules.owner_state import DISARRAY, Holder, OwnerState, SeenOwner
from mqgroups.printable import LONGEST_NAME, brief

_STATES = {state.value.replace(" ", "-"): state for state in OwnerState}


@states_told(OwnerState)
@click.command()
@click.argument("names", nargs=-1, type=NAME, metavar="[NAME]...")
@click.option("--queue", type=QUEUE, help="Only owners whose record names this queue.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*_STATES]),
    metavar="STATE",
    help="Only owners in this state, such as record-lost; may be repeated.",
)
@status_queues_option
@output_option
@connection_options(LOOK_S)
def owners(
    names: Sequence[str],
    queue: str | None,
    only: Sequence[str],
    status_queues: Sequence[str],
    output: Output,
    **connection: Any,
) -> None:
    """Show the producers and consumers that have a status queue, or only these NAMEs: what they do, and how far they are.

    Owners that need an operator come first. Status queues are only browsed, so running programs are not disturbed. The command
    server lists the status queues MQGROUPS.PUT.*, .GET.* and .SHARED.*, and who has them open. Without the command server, give
    NAMEs or --status-queue.

    STATES

    Authorities: CONNECT and INQ on the queue manager, BROWSE and INQ on the status queues. To ask the command server: PUT on
    SYSTEM.ADMIN.COMMAND.QUEUE, DSP and GET on SYSTEM.DEFAULT.MODEL.QUEUE, DSP on the status queues.

    \b
    Exit codes:
      0  done
      1  failed, or a status queue is in disarray, or none of the NAMEs has one
    """
    report = Report(output, q_mgr_name=connection["q_mgr_name"])
    with connected(report, **connection) as q_mgr:
        seen = find_owners(q_mgr, names=names, status_queues=status_queues)
        if queue is not None:
            seen = seen.of_queues((queue,))
        if only:
            seen = replace(seen, owners=tuple(each for each in seen.owners if each.state in map(_STATES.get, only)))
    report.rows("owners", owner_listing(datetime.now(UTC)), by_need(seen.owners))
    for sentence in seen.unseen:
        report.note(f"not seen: {sentence}")
    report.print(summary(seen.owners))
    if any(each.state in DISARRAY for each in seen.owners):
        report.found(ExitCode.FAILED)
    if names and not seen.owners:
        report.note(f"{' and '.join(names)}: there is no status queue")
        report.found(ExitCode.FAILED)
    report.end()


def by_need(owners: Sequence[SeenOwner]) -> list[SeenOwner]:
    """Return the owners, sorted by how much they need an operator."""
    return sorted(owners, key=lambda each: [*OwnerState].index(each.state))


def summary(found: Sequence[SeenOwner]) -> str:
    """Return a text with the number of all owners, and of the owners in each state."""
    return tally("owner", OwnerState, Counter(each.state for each in found))


def owner_listing(now: datetime) -> Listing[SeenOwner]:
    """Return the columns and JSON values of owners. ``now`` is compared with put times."""
    columns: tuple[Column[SeenOwner], ...] = (
        Column("role", lambda row: row.role or "?"),
        Column("name", lambda row: row.name),
        Column("state", lambda row: row.state.value, style=lambda row: COLOURS[row.state.severity]),
        Column("problem", _problem, rank=1),
        Column("committed", _position, rank=1, right=True),
        Column("ago", lambda row: age(row.committed_at, now), rank=1, right=True),
        Column("queue", lambda row: row.record.queue if row.record else "", rank=2),
        Column("GroupId", _group, rank=2),
        Column("held by", lambda row: _holders(row.holders), rank=3),
        Column("group", lambda row: brief(row.group_name, LONGEST_NAME), rank=4),
        Column("put by", lambda row: row.put_by, rank=5),
        Column("status queue", lambda row: row.status_queue, rank=6),
    )
    return Listing(columns, owner_values)


def _group(row: SeenOwner) -> str:
    return "" if row.record is None or row.record.group_id == GROUP_ID_NONE else shown_id(row.record.group_id)


def _position(row: SeenOwner) -> str:
    record = row.record
    if record is None or record.state is RecordState.IDLE:
        return ""
    return f"{record.msg_seq_number:,}" + (f" at byte {record.offset}" if record.offset else "")


def _holders(found: Sequence[Holder]) -> str:
    return ", ".join(
        f"{each.appl_name or 'a program'}{f' ({each.process_id})' if each.process_id else ''}"
        f"{f' at {each.conn_name}' if each.conn_name else ''}"
        for each in found
    )


def _problem(row: SeenOwner) -> str:
    leftovers = number(row.leftovers, "leftover record") if row.leftovers else ""
    unreadable = number(row.unreadable, "unreadable message") if row.unreadable else ""
    return "; ".join(filter(None, (leftovers, unreadable, row.problem)))


def owner_values(row: SeenOwner) -> dict[str, Any]:
    """Return the JSON values of an owner."""
    return {
        **picked(row, "role name status_queue group_name put_by leftovers unreadable problem"),
        "state": row.state.value,
        "committed_at": iso(row.committed_at),
        "holders": [asdict(each) for each in row.holders],
        "shared": row.is_shared,
        "record": record_values(row.record),
    }

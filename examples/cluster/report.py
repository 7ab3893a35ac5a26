"""The tables at the end of the demo, and the file with a line for each group."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table

from examples.cluster.airports import Group
from examples.cluster.compare import Arrived, Difference
from examples.cluster.compare import Kind as DifferenceKind
from examples.cluster.disturbance import Disturber, Interrupted, Kind, Member


def tables(
    disturber: Disturber, groups: Sequence[Group], arrived: Sequence[Arrived], different: Sequence[Difference]
) -> Iterator[Table]:
    """Yield the tables about the expected groups and their arrival."""
    yield _where(disturber.members, arrived)
    yield _programs(disturber.members, groups, arrived)
    if disturber.interrupted:
        yield _interrupted(disturber.interrupted, arrived)
    yield _balance(disturber, different)


def _where(members: Sequence[Member], arrived: Sequence[Arrived]) -> Table:
    """The number of groups from each producer to each instance."""
    q_mgr_names = sorted({each.q_mgr_name for each in members})
    table = _table("where groups went (embedded queue managers, not IBM MQ)", "")
    for name in q_mgr_names:
        table.add_column(f"at {name}", justify="right")
    table.add_column("groups", justify="right")
    table.add_column("messages", justify="right")
    for each in members:
        if each.is_producer:
            parts = [part for part in arrived if part.airport == each.what]
            table.add_row(f"put by {_short(each)}", *_by_instance(parts, q_mgr_names))
    table.add_section()
    table.add_row("all", *_by_instance(arrived, q_mgr_names))
    went = Counter(part.q_mgr_name for part in arrived)
    table.add_row("share", *(_share(went[name], len(arrived)) for name in q_mgr_names), "", "")
    return table


def _programs(members: Sequence[Member], groups: Sequence[Group], arrived: Sequence[Arrived]) -> Table:
    """The work and the deaths of each program."""
    table = _table("programs; a consumer's share is of the groups at its instance", "")
    for name in ("groups", "share", "messages", "kill -9", "resumed", "reconnected"):
        table.add_column(name, justify="right")
    at_instance = Counter(part.q_mgr_name for part in arrived)
    for each in members:
        if each.is_producer:
            sizes = [len(group.flights) for group in groups if group.airport == each.what]
            share = ""
        else:
            own = (each.q_mgr_name, each.what)
            sizes = [len(part.messages) for part in arrived if (part.q_mgr_name, part.consumer) == own]
            share = _share(len(sizes), at_instance[each.q_mgr_name])
        life = (sum(sizes), each.kills, each.resumes, each.went_on)
        table.add_row(_short(each), f"{len(sizes):,}", share, *(f"{number:,}" for number in life))
    return table


def _interrupted(interrupted: Sequence[Interrupted], arrived: Sequence[Arrived]) -> Table:
    """The groups in the middle of which a program died, the place where they were resumed, and where they arrived."""
    table = _table("groups that were interrupted", "group")
    table.add_column("kill -9")
    table.add_column("resumed after message")
    table.add_column("arrived at")
    parts_by_id: dict[str, list[Arrived]] = {}
    for part in arrived:
        parts_by_id.setdefault(part.group_id, []).append(part)
    for each in interrupted:
        parts = parts_by_id.get(each.group_id, [])
        messages = sum(len(part.messages) for part in parts)
        names = ", ".join(part.name for part in parts) or f"…{each.group_id[-8:]}"
        where = ", ".join(f"{part.q_mgr_name}, {part.consumer}" for part in parts) or "nowhere"
        table.add_row(names, _short(each.program), f"{each.msg_seq_number} of {messages}", where)
    return table


def _balance(disturber: Disturber, different: Sequence[Difference]) -> Table:
    """The disturbances, and their results."""
    table = _table("balance", "")
    table.add_column("", justify="right")
    for kind in Kind:
        table.add_row(kind.value, f"{disturber.done[kind]}")
    table.add_row("messages in doubt on channels", f"{disturber.in_doubt}")
    for verdict, number in sorted(disturber.verdicts.items()):
        table.add_row(f"commits without an answer: {verdict}", f"{number}")
    table.add_section()
    counted: Counter[DifferenceKind] = Counter()
    for each in different:
        counted[each.kind] += each.number
    for what in DifferenceKind:
        table.add_row(what.value, f"{counted[what]:,}")
    return table


def write(path: Path, arrived: Sequence[Arrived]) -> None:
    """Write a line for each group, with its destination."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(("group", "put_by", "q_mgr_name", "consumer", "messages", "group_id"))
        for part in sorted(arrived, key=lambda part: part.name):
            whose = (part.name, part.airport, part.q_mgr_name, part.consumer)
            lines.writerow((*whose, len(part.messages), part.group_id))


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    return table


def _by_instance(parts: Sequence[Arrived], q_mgr_names: Sequence[str]) -> list[str]:
    went = Counter(part.q_mgr_name for part in parts)
    messages = sum(len(part.messages) for part in parts)
    return [f"{number:,}" for number in (*(went[name] for name in q_mgr_names), len(parts), messages)]


def _short(member: Member) -> str:
    return f"{member.what} at {member.q_mgr_name}"


def _share(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else ""

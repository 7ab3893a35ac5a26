"""A group, or an owner in trouble, with its picture and what mends it: for ``mqgroups describe`` and the page of ``watch``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from mqgroups.cli.owners import owner_listing
from mqgroups.cli.table import COLOURS
from mqgroups.cli.words import age, size, timestamp
from mqgroups.core.group_key import shown_id
from mqgroups.operate.groups import ListedGroup
from mqgroups.operate.rules.bar import bar, told
from mqgroups.operate.rules.findings import Severity
from mqgroups.operate.rules.inspection import BrowsedInstance
from mqgroups.operate.rules.judgement import Surroundings
from mqgroups.operate.rules.owner_state import DISARRAY, OwnerState, SeenOwner
from mqgroups.operate.rules.remedies import owner_remedy, remedy
from mqgroups.printable import LONGEST_NAME, brief, printable

_UNKNOWN = "?"
# What mends them is not said by a group.
_BY_THEMSELVES = DISARRAY | {OwnerState.LOST, OwnerState.HIDDEN}


def group_card(row: ListedGroup, at: datetime) -> dict[str, Any]:
    """Return what is shown of a group, as texts; ``at``: when it was seen."""
    group, cause, owners = row.group, row.cause, row.owners
    parts = bar(row.judgement.group, cause, owners)
    put_by = [each.name for each in owners if each.role == "put"] or list(group.put_by)
    got_by = [each.name for each in owners if each.role == "get"]
    name = row.name or next((each.group_name for each in owners if each.group_name), "")
    facts = {
        "messages": f"{group.messages:,}, {size(group.data_bytes)}" if group.messages else "none",
        "GroupId": group.group_id.hex(),
    }
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
        "remedy": [printable(line) for line in remedy(row.judgement)],
        "facts": [(key, printable(text)) for key, text in facts.items() if text],
    }


def owner_card(owner: SeenOwner, owners: Sequence[SeenOwner], at: datetime, *, all_seen: bool) -> dict[str, Any]:
    """Return what is shown of an owner, as texts; ``owners``: all that were seen; ``all_seen``: nothing was unseen."""
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

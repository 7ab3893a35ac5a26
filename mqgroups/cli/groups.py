"""Groups on a queue, as ``mqgroups salvage`` prints them: tables, and values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mqgroups.core.cluster import GroupSplit
from mqgroups.core.inspection import GroupInspection, Place, QueueInspection
from mqgroups.core.model import Persistence

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

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


def table(groups: Sequence[GroupInspection]) -> Table:
    """Return a row for each group: green if it is complete, or else yellow."""
    made = _table(_COLUMNS)
    for group in groups:
        style = "green" if group.whole else "yellow"
        made.add_row(
            _text(group.group_id.hex(), style),
            _text(_state(group), style),
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
    return made


def table_of_splits(splits: Sequence[GroupSplit]) -> Table:
    """Return a row for each part of a split group, with what its parts are together."""
    made = _table(("GroupId", "queue manager", "messages", "together"))
    for split in splits:
        gaps = ", ".join(f"{_place(gap.first)} to {_place(gap.end)}" for gap in split.gaps)
        together = (
            "whole" if split.is_whole_together else "twice the same" if split.overlapping else f"missing {gaps or '-'}"
        )
        for part in split.parts:
            runs = ", ".join(f"{_place(run.first)} to {_before(run.end)}" for run in part.group.runs)
            made.add_row(_text(split.group_id.hex(), "red"), part.q_mgr_name, runs, together)
    return made


def _table(columns: Sequence[str]) -> Table:
    from rich.table import Table

    made = Table(box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column == "GroupId")
    return made


def _text(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text, style=style)


def sums(seen: QueueInspection) -> str:
    """Return what is on a queue in one line."""
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


def queue_values(seen: QueueInspection) -> dict[str, Any]:
    """Return what is on a queue, for JSON."""
    return {
        "groups": [group_values(group) for group in seen.groups],
        "others": seen.others,
        "open_input": seen.open_input,
        "open_output": seen.open_output,
        "uncommitted": seen.uncommitted,
        "unasked": seen.unasked,
    }


def split_values(split: GroupSplit) -> dict[str, Any]:
    """Return a split group, for JSON."""
    return {
        "group_id": split.group_id.hex(),
        "parts": [{"q_mgr_name": part.q_mgr_name, **group_values(part.group)} for part in split.parts],
        "whole_together": split.is_whole_together,
        "overlapping": split.overlapping,
        "gaps": [[list(gap.first), list(gap.end)] for gap in split.gaps],
    }


def group_values(group: GroupInspection) -> dict[str, Any]:
    """Return what there is of a group on one queue, for JSON."""
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

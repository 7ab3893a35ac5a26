"""Groups and messages as rows for ``mqgroups groups``, ``salvage`` and ``watch``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from mqgroups.cli.table import COLOURS, Column, Listing, picked
from mqgroups.cli.words import age, age_s, iso, size, timestamp
from mqgroups.core.group_key import shown_id
from mqgroups.core.model import MsgFlag, Persistence
from mqgroups.operate.rules.inspection import Browsed, GroupInspection, MessagePlace, MessageRun
from mqgroups.operate.rules.judgement import Judgement
from mqgroups.printable import LONGEST_NAME, brief

_PERSISTENT: dict[int, str] = {Persistence.NOT_PERSISTENT: "no", Persistence.PERSISTENT: "yes"}
_FLAGS = {MsgFlag.SEGMENT: "segment", MsgFlag.LAST_SEGMENT: "last segment", MsgFlag.LAST_MSG_IN_GROUP: "last in group"}


def group_listing(now: datetime, *, queues: bool = False) -> Listing[Judgement]:
    """Return columns and JSON values of groups. ``now`` is compared with put times. ``queues``: whether queues are a column."""
    queue: Column[Judgement] = Column("queue", lambda row: row.queue)
    columns: tuple[Column[Judgement], ...] = (
        *([queue] if queues else []),
        Column("GroupId", lambda row: shown_id(row.group.group_id)),
        Column("name", lambda row: brief(row.name or "", LONGEST_NAME), rank=2),
        Column("state", lambda row: row.state.value, style=lambda row: COLOURS[row.cause.severity]),
        Column("quiet", lambda row: age(row.since, now), rank=1, right=True),
        Column("missing", lambda row: _some(row.group.gaps), rank=1),
        Column("put by", lambda row: _owner(row, "put") or ", ".join(row.group.put_by), rank=3),
        Column("got by", lambda row: _owner(row, "get"), rank=3),
        Column("msgs", lambda row: f"{row.group.messages:,}", right=True),
        Column("size", lambda row: size(row.group.data_bytes), rank=4, right=True),
        Column("first", lambda row: _place(row.group.first) if row.group.messages else "", rank=5, right=True),
        Column("last", lambda row: _last(row.group) if row.group.messages else "", rank=5, right=True),
        Column("backed out", lambda row: f"{row.group.backout_count or ''}", rank=6, right=True),
        Column("persistent", lambda row: " and ".join(map(_persistent, sorted(row.group.persistences))), rank=7),
        Column("age", lambda row: age(row.group.first_put, now), rank=8, right=True),
        Column("whole GroupId", lambda row: row.group.group_id.hex(), rank=9),
    )
    return Listing(columns, lambda row: listed_values(row, now))


def _owner(row: Judgement, role: str) -> str:
    return ", ".join(owner.name for owner in row.owners if owner.role == role)


def _some(runs: Sequence[MessageRun]) -> str:
    shown = ", ".join(_from_to(run) for run in runs[:3])
    return shown + (f" and {len(runs) - 3:,} more" if len(runs) > 3 else "")


def _from_to(run: MessageRun) -> str:
    first, last = _place(run.first), _before(run.end)
    return first if first == last else f"{first} to {last}"


def _persistent(persistence: int) -> str:
    return _PERSISTENT.get(persistence, "?")


def _place(place: MessagePlace) -> str:
    return f"{place.msg_seq_number}{_bytes(place)}"


def _last(group: GroupInspection) -> str:
    """Return the number of the last message on the queue, such as ``7``; or ``7 of 9`` if message 9 is marked as the last."""
    behind = f" of {group.last}" if group.last and group.last != group.last_msg_seq_number else ""
    return _before(group.end) + behind


def _before(end: MessagePlace) -> str:
    """Return the number of the last message that begins before ``end``: ``7``, or ``7 at byte 100`` if it does not end there."""
    return f"{end.msg_seq_number - (end.offset == 0)}{_bytes(end)}"


def _bytes(place: MessagePlace) -> str:
    return f" at byte {place.offset}" if place.offset else ""


def listed_values(row: Judgement, now: datetime) -> dict[str, Any]:
    """Return the JSON values of a group, with its state and its owners."""
    group = row.group
    return {
        "q_mgr_name": row.around.at.q_mgr_name,
        **picked(row, "queue name"),
        "state": row.state.value,
        "cause": row.cause.value,
        "since": iso(row.since),
        "age_s": age_s(group.first_put, now),
        "group_id": group.group_id.hex(),
        **picked(group, "messages data_bytes first end gaps last has_head has_end"),
        "doubled": group.is_doubled,
        **picked(group, "overlapping backout_count put_by abandoned"),
        "persistences": sorted(group.persistences),
        "first_put": iso(group.first_put),
        "last_put": iso(group.last_put),
        "owners": [
            {**picked(each, "role name status_queue"), "active": each.is_active, "committed_at": iso(each.committed_at)}
            for each in row.owners
        ],
    }


MESSAGES: Listing[Browsed] = Listing(
    (
        Column("number", lambda row: str(row.msg_seq_number), right=True),
        Column("offset", lambda row: f"{row.offset or ''}", rank=2, right=True),
        Column("bytes", lambda row: f"{row.length:,}", right=True),
        Column("flags", lambda row: ", ".join(_flags(row)), rank=1),
        Column("put (UTC)", lambda row: timestamp(row.put_time)),
        Column("put by", lambda row: row.put_appl_name, rank=3),
        Column("user", lambda row: row.user, rank=3),
        Column("backed out", lambda row: f"{row.backout_count or ''}", rank=4, right=True),
        Column("persistent", lambda row: _persistent(row.persistence), rank=5),
        Column("MsgId", lambda row: row.msg_id.hex(), rank=6),
    ),
    lambda row: {
        "msg_id": row.msg_id.hex(),
        **picked(row, "msg_seq_number offset length msg_flags persistence backout_count abandons"),
        "put_by": row.put_appl_name,
        "user": row.user,
        "put_time": iso(row.put_time),
    },
)


def dumped(data: bytes) -> Iterator[str]:
    """Yield a line for each 16 bytes, in hexadecimal digits and in ASCII."""
    for at in range(0, len(data), 16):
        line = data[at : at + 16]
        text = "".join(chr(each) if 32 <= each < 127 else "." for each in line)
        yield f"{at:04x}  {line.hex(' '):<47}  {text}"


def _flags(message: Browsed) -> Iterator[str]:
    """Yield what the flags of a message mean for its place in the group."""
    yield from (name for flag, name in _FLAGS.items() if message.msg_flags & flag)
    if message.abandons:
        yield "abandons the group"

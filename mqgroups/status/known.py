"""What an owner knows of its status record: where its group stands by it, and the commit under way.

The values are replaced as a whole. So if the program is interrupted, an owner has either the old one or the new one.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqgroups.core.group import GroupPosition
from mqgroups.core.status import StatusRecord
from mqgroups.status.open_unit import OpenUnit


@dataclass(frozen=True, slots=True)
class Ending:
    """A commit that is under way.

    Attributes:
        record: the status record that it leaves; ``None`` if it removes the record.
        committed: the position in the group after it.
        messages: how many messages it commits.
        in_doubt: MQCMIT's reason code if its answer was lost; else 0.
        unit: the unit of work, if it has messages.
    """

    record: StatusRecord | None
    committed: GroupPosition
    messages: int
    in_doubt: int = 0
    unit: OpenUnit | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """The record of the last known commit, the group's position by it, and the commit under way, if there is one."""

    record: StatusRecord | None
    committed: GroupPosition
    ending: Ending | None = None


def position_of(record: StatusRecord) -> GroupPosition:
    """Return a record's position in its group."""
    return GroupPosition(record.group_id, record.msg_seq_number, record.offset, record.in_last_message)

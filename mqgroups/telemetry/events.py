"""What happens to an owner, as values. Each is told once, when it is certain, to all who listen (``status/owner.py``).

spans and metrics          telemetry/owner.py
the application's hooks    status/hooks.py
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from opentelemetry.context import Context

from mqgroups.core.group import GroupPosition
from mqgroups.core.restart import CommitOutcome
from mqgroups.core.status import StatusRecord
from mqgroups.errors import MQIError


class GroupFound(NamedTuple):
    """The start has found the record of an interrupted group.

    Attributes:
        epoch: the number of the owner that has found it.
        began_ns: when the start began.
    """

    record: StatusRecord
    epoch: int
    began_ns: int


class UnitBegun(NamedTuple):
    """A unit of work has its first message, or is about to have it.

    Attributes:
        below: the context of another owner's span in the same unit of work.
    """

    number: int
    below: Context | None = None


class UnitCommitted(NamedTuple):
    """A unit of work is committed.

    Attributes:
        record: that it has left.
        position: in the group, by that record.
        messages, data_bytes: how many messages were put or got in it, and their data.
        ends_group: whether it was the last one of its group.
        at_s: when this was known, ``time.monotonic()``.
    """

    record: StatusRecord
    position: GroupPosition
    messages: int
    data_bytes: int
    group_name: str
    ends_group: bool
    at_s: float


class UnitBackedOut(NamedTuple):
    """The open unit of work is backed out.

    Attributes:
        position: the last commit's.
        in_hand: the position of the last message that was put or got.
        is_lost: whether the reason is that another instance has this owner's name.
    """

    position: GroupPosition
    in_hand: GroupPosition
    messages: int
    group_name: str
    why: BaseException | str
    is_lost: bool


class OutcomeFound(NamedTuple):
    """The record has shown what became of a unit of work.

    Attributes:
        messages: how many the unit of work had, if its commit had no answer; else 0.
        reason: MQCMIT's reason code if its answer was lost; else 0.
    """

    outcome: CommitOutcome
    number: int
    messages: int
    reason: int


class RecoveryBegun(NamedTuple):
    """A unit of work has failed with this error, and is about to be redone."""

    error: MQIError
    number: int


class RecoveryEnded(NamedTuple):
    """Recovery has ended; ``why`` is the error if it failed."""

    why: BaseException | None = None


Event: TypeAlias = GroupFound | UnitBegun | UnitCommitted | UnitBackedOut | OutcomeFound | RecoveryBegun | RecoveryEnded

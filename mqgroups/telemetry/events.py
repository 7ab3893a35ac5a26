"""The events of a producer or consumer. Each event is reported once, when it is certain (``status/owner.py``).

The receivers are the spans and metrics (``telemetry/owner.py``) and the application's hooks (``status/hooks.py``).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from opentelemetry.context import Context

from mqgroups.core.group import GroupPosition
from mqgroups.core.restart import CommitOutcome
from mqgroups.core.status import StatusRecord
from mqgroups.errors import MQIError


class GroupFound(NamedTuple):
    """A starting producer or consumer has found the record of an interrupted group.

    Attributes:
        epoch: the number of the owner that has found the record.
        began_ns: the time at which the start began, from ``time.time_ns()``.
    """

    record: StatusRecord
    epoch: int
    began_ns: int


class UnitBegun(NamedTuple):
    """The first message of a unit of work was put or got, or is about to be put or got.

    Attributes:
        below: the context of the span that another owner has in the same unit of work; ``None`` if there is no such span.
    """

    number: int
    below: Context | None = None


class UnitCommitted(NamedTuple):
    """A unit of work is committed.

    Attributes:
        record: the status record that the unit of work has put.
        position: the position in the group according to that record.
        messages, data_bytes: how many messages were put or got in the unit of work, and how many bytes of data they have.
        ends_group: whether this was the last unit of work of its group.
        at_s: the time at which the success of the commit was known, from ``time.monotonic()``.
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
        position: the position of the last commit.
        in_hand: the position of the last message that was put or got.
        is_lost: whether the unit of work was backed out because another instance has taken over this owner's name.
    """

    position: GroupPosition
    in_hand: GroupPosition
    messages: int
    group_name: str
    why: BaseException | str
    is_lost: bool


class OutcomeFound(NamedTuple):
    """The status record has shown whether a unit of work was committed.

    Attributes:
        messages: the number of messages in the unit of work if its MQCMIT had no answer; else 0.
        reason: the reason code of the MQCMIT if it had no answer; else 0.
    """

    outcome: CommitOutcome
    number: int
    messages: int
    reason: int


class RecoveryBegun(NamedTuple):
    """A unit of work has failed with ``error``, and is about to be redone."""

    error: MQIError
    number: int


class RecoveryEnded(NamedTuple):
    """Recovery has ended. ``why`` is the error if recovery has failed, else ``None``."""

    why: BaseException | None = None


Event: TypeAlias = GroupFound | UnitBegun | UnitCommitted | UnitBackedOut | OutcomeFound | RecoveryBegun | RecoveryEnded

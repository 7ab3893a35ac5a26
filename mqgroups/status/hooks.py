"""Hooks: functions of the application that a producer or consumer calls to report recovery and progress.

A producer or consumer recovers by itself after a crash and after a commit without an answer. Hooks are for logs, metrics and
alarms, and for an application that must know of a recovery before it continues. A hook is called in the application's own thread,
between units of work, after the recovery that it reports. If the hook raises an exception, the method that the application has
called raises it. The group can still be resumed at its last commit. A hook must not use the producer or consumer that calls it.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from mqgroups.connection.retry import ask
from mqgroups.core.group_properties import name_of
from mqgroups.core.modes import RoleName
from mqgroups.core.restart import CommitOutcome, Expectations
from mqgroups.errors import ConfigurationError, GroupAbandoned
from mqgroups.telemetry.events import Event, GroupFound, OutcomeFound, UnitCommitted

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Resumed:
    """Reported when a start has found an interrupted group, which will be resumed."""

    role: RoleName
    """``"put"`` for a producer, ``"get"`` for a consumer."""
    name: str
    """The name of the producer or consumer."""
    queue: str
    """The queue that the producer puts to, or that the consumer gets from."""
    group_id: bytes
    """GroupId, 24 bytes."""
    msg_seq_number: int
    """The number of the last message that is committed completely; 0 if there is none."""
    offset: int
    """How many bytes of the next message are committed as segments."""
    checkpoint: Any
    """The application's checkpoint at the last commit."""
    epoch: int
    """How many owners the record has had, including this owner."""
    unit_of_work: int
    """The number of the last committed unit of work."""
    group_name: str = ""
    """The name that the producer gave the group; empty if it has none."""


@dataclass(frozen=True, slots=True)
class InDoubt:
    """Reported when the status record has shown the outcome of an unanswered MQCMIT of a unit of work with messages.

    On a shared connection, it is also reported if MQCMIT was answered, but the later check of the record failed.
    """

    role: RoleName
    """``"put"`` for a producer, ``"get"`` for a consumer."""
    name: str
    """The name of the producer or consumer."""
    queue: str
    """The queue of the producer or consumer."""
    unit_of_work: int
    """The number of the unit of work. It stays the same when the unit of work is redone."""
    messages: int
    """How many messages the unit of work put or got. A segment counts as a message."""
    reason: int
    """The reason code of MQCMIT, or the reason code of the call that failed to read the record."""
    outcome: Literal["committed", "backed out"]
    """What the record shows. If the unit of work was backed out, it has been redone before the hook is called, unless redoing it
    raised an error.
    """


@dataclass(frozen=True, slots=True)
class Progress:
    """Reported when a unit of work is committed, if it has messages or ends a group."""

    role: RoleName
    """``"put"`` for a producer, ``"get"`` for a consumer and for a pipe."""
    name: str
    """The name of the producer, consumer or pipe."""
    queue: str
    """The queue of the producer or consumer; for a pipe, the queue that it gets from."""
    group_id: bytes
    """GroupId, 24 bytes."""
    group_name: str
    """The name that the producer gave the group; empty if it has none."""
    msg_seq_number: int
    """The number of the last message of the group that is committed completely."""
    offset: int
    """How many bytes of the next message are committed as segments."""
    group_ended: bool
    """Whether this unit of work was the group's last."""
    checkpoint: Any
    """The application's checkpoint at this commit."""
    unit_of_work: int
    """The number of the unit of work."""
    messages: int
    """How many messages the unit of work put or got. A segment counts as a message."""
    data_bytes: int
    """The length of these messages' data in bytes."""
    total_messages: int
    """``messages`` of all units of work since the producer or consumer was made."""
    total_bytes: int
    """``data_bytes`` of all units of work since the producer or consumer was made."""
    total_seconds: float
    """The time since the producer or consumer was made."""

    @property
    def rate(self) -> float:
        """Messages per second since the producer or consumer was made."""
        return self.total_messages / self.total_seconds if self.total_seconds else 0.0


OnResume: TypeAlias = Callable[[Resumed], None]
OnInDoubt: TypeAlias = Callable[[InDoubt], None]
OnProgress: TypeAlias = Callable[[Progress], None]
# Called before the commit that ends an abandoned group, so that the application can undo its processing of the messages.
OnAbandon: TypeAlias = Callable[[GroupAbandoned], None]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The functions to call. ``None`` means that the application does not need the event."""

    on_resume: OnResume | None = None
    on_in_doubt: OnInDoubt | None = None
    on_progress: OnProgress | None = None


class _Totals(NamedTuple):
    """The sums over the units of work that were reported to ``on_progress``, and the last reported unit's number."""

    began_s: float
    messages: int = 0
    data_bytes: int = 0
    unit_of_work: int = 0


class HookCalls:
    """An owner's hooks, and the events to report. Events are kept until the owner is in a consistent state."""

    def __init__(self, hooks: Hooks, whose: Expectations) -> None:
        self._hooks = hooks
        self._whose = whose
        self._totals = _Totals(time.monotonic())
        self._untold: list[tuple[Callable[[Any], None], InDoubt | Progress]] = []

    def take(self, event: Event) -> None:
        """Remember an event for ``tell``. Only ``on_resume`` is called at once, because no unit of work is open at a start."""
        if isinstance(event, UnitCommitted):
            self._committed(event)
        elif isinstance(event, OutcomeFound):
            self._concluded(event)
        elif isinstance(event, GroupFound):
            self._resumed(event)

    def tell(self) -> None:
        """Call the hooks for the remembered events, in the order of the events. Hooks can raise errors."""
        while self._untold:
            call, told = self._untold.pop(0)
            ask(call, told)

    def _resumed(self, event: GroupFound) -> None:
        if self._hooks.on_resume is None:
            return
        found = event.record
        self._hooks.on_resume(
            Resumed(
                role=found.role.value,
                name=found.name,
                queue=found.queue,
                group_id=found.group_id,
                msg_seq_number=found.msg_seq_number,
                offset=found.offset,
                checkpoint=found.checkpoint,
                group_name=name_of(found.properties),
                epoch=event.epoch,
                unit_of_work=found.unit_of_work,
            )
        )

    def _concluded(self, event: OutcomeFound) -> None:
        if self._hooks.on_in_doubt is None or not event.messages or event.outcome is CommitOutcome.OWNERSHIP_LOST:
            return
        told = InDoubt(
            role=self._whose.role.value,
            name=self._whose.name,
            queue=self._whose.queue,
            unit_of_work=event.number,
            messages=event.messages,
            reason=event.reason,
            outcome="committed" if event.outcome is CommitOutcome.COMMITTED else "backed out",
        )
        self._untold.append((self._hooks.on_in_doubt, told))

    def _committed(self, event: UnitCommitted) -> None:
        before, record = self._totals, event.record
        # A group can end without a message, if it is quarantined and no message is left to move.
        is_progress = event.messages or event.ends_group
        if self._hooks.on_progress is None or not is_progress or record.unit_of_work == before.unit_of_work:
            return
        totals = _Totals(
            before.began_s, before.messages + event.messages, before.data_bytes + event.data_bytes, record.unit_of_work
        )
        told = Progress(
            role=self._whose.role.value,
            name=self._whose.name,
            queue=self._whose.queue,
            group_id=record.group_id,
            group_name=event.group_name,
            msg_seq_number=record.msg_seq_number,
            offset=record.offset,
            group_ended=event.ends_group,
            checkpoint=record.checkpoint,
            unit_of_work=record.unit_of_work,
            messages=event.messages,
            data_bytes=event.data_bytes,
            total_messages=totals.messages,
            total_bytes=totals.data_bytes,
            total_seconds=event.at_s - totals.began_s,
        )
        self._totals = totals
        self._untold.append((self._hooks.on_progress, told))


def checked_hook(what: str, function: _F) -> _F:
    """Return ``function``. Raises ConfigurationError if it is not callable, or is a coroutine function, which would not run."""
    if not callable(function):
        raise ConfigurationError(f"{what} must be a function, got {function!r}")
    if inspect.iscoroutinefunction(function):
        raise ConfigurationError(
            f"{what} must be a plain function, got {function!r}, a coroutine function, which would never run"
        )
    return function

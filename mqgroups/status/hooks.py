"""What a producer or consumer tells its application about recovery, as values, and the functions it tells it to.

It goes on by itself after a crash and after a commit without an answer; these are for logs, metrics and alarms, and for an
application that has to know before it goes on. A function is called in the application's own thread, between units of
work, when what it is told has been dealt with. What it raises comes out of the call that the application made; the group
stays resumable at its last commit. It must not use the producer or consumer that calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mqgroups.core.modes import RoleName
from mqgroups.core.status import Checkpoint
from mqgroups.errors import GroupAbandoned


@dataclass(frozen=True, slots=True)
class Resumed:
    """An interrupted group was found at the start, and will be gone on with.

    Attributes:
        role, name: of the producer (``"put"``) or consumer (``"get"``).
        queue: which it puts to or gets from.
        group_id: 24 bytes.
        msg_seq_number: of the last message that is committed to its end; 0 if none is.
        offset: how many bytes of the message after that one are committed, as segments.
        checkpoint: the application's, of the last commit.
        epoch: which owner of this record this one is, counted from 1.
        unit_of_work: the number of the last one committed.
    """

    role: RoleName
    name: str
    queue: str
    group_id: bytes
    msg_seq_number: int
    offset: int
    checkpoint: Checkpoint
    epoch: int
    unit_of_work: int


@dataclass(frozen=True, slots=True)
class InDoubt:
    """MQCMIT of a unit of work with messages had no answer, and the status record has told what became of it.

    Attributes:
        role, name, queue: whose unit of work.
        unit_of_work: its number. Done again, it keeps it.
        messages: how many were put or got in it; a segment counts as one.
        reason: MQCMIT's reason code.
        outcome: ``"backed out"`` has been done again by the time this is told, unless that failed with an error.
    """

    role: RoleName
    name: str
    queue: str
    unit_of_work: int
    messages: int
    reason: int
    outcome: Literal["committed", "backed out"]


OnResume: TypeAlias = Callable[[Resumed], None]
OnInDoubt: TypeAlias = Callable[[InDoubt], None]
# Told before that is committed, so that it can be undone what was done with the group's messages.
OnAbandon: TypeAlias = Callable[[GroupAbandoned], None]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The functions to call; ``None`` for what the application does not want to be told."""

    on_resume: OnResume | None = None
    on_in_doubt: OnInDoubt | None = None
    on_abandon: OnAbandon | None = None


NO_HOOKS = Hooks()

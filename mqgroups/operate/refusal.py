"""Why a salvage or a move is refused, and what an operator can do about it; and which of the checks an operator overrides.

``core.salvage`` decides. Here its decision becomes an error that names the remedy.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

from mqgroups.core.model import GROUP_ID_LENGTH
from mqgroups.core.modes import Accept
from mqgroups.core.salvage import DOUBTS, CannotSalvage, Obstacle
from mqgroups.errors import ConfigurationError, OwnerActive, SalvageRefused
from mqgroups.mqi import constants as mq

_REMEDIES = {
    Obstacle.RECORD_THERE: "Nothing is lost: `mqgroups recover` says what it tells, and the next start goes by it",
    Obstacle.NOTHING_INTERRUPTED: "Its messages may all be consumed, or not be put yet. If its group is known to be whole, "
    "accept it: then only what cannot be read is moved away, and the next start begins a new group",
    Obstacle.GROUP_MISSING: "Look at the groups there are",
    Obstacle.SEVERAL_GROUPS: "Look at who put them and when, and give the GroupId of the one",
    Obstacle.GROUP_COMPLETE: "This group was put to its end; its producer has nothing to go on with",
    Obstacle.NOT_BEGUN: "A consumer begins this group without a record",
    Obstacle.DISARRAY: "Something else has put messages with its GroupId: move the group away",
    Obstacle.GAP: "Messages have expired, were taken by something that does not get groups, or are on their way: wait for "
    "them, or move the group away",
    Obstacle.OTHER_Q_MGR: "The record belongs on the queue manager where the group was put: salvage it there",
    Obstacle.BEING_CONSUMED: "Somebody may have its last messages in a unit of work: stop its consumer and try again",
    Obstacle.BEGUN: "The first messages are gone. If a consumer has got them, in order, accept it; if something else takes "
    "messages of the group, its last ones may be gone too, and would be put twice",
    Obstacle.IN_USE: "What is put or got in units of work cannot be seen. Stop who uses the queue, and ask as a user who may "
    "put to SYSTEM.ADMIN.COMMAND.QUEUE and display the queue; or accept it, if DISPLAY QSTATUS says UNCOM(NO), or nobody who "
    "uses the queue has to do with this group",
    Obstacle.OTHER_OWNERS: "If another producer or consumer has this group, it would be put or got twice. Ask as a user who may "
    "put to SYSTEM.ADMIN.COMMAND.QUEUE and display and browse all status queues; or give their names (--other-status-queue); or "
    "accept it, if no other one has this group",
}


def checked_accept(accept: Collection[Accept]) -> frozenset[Obstacle]:
    """Return the checks that are overridden; raises ConfigurationError for what is none."""
    known = sorted(get_args(Accept))
    if isinstance(accept, str) or not set(accept) <= set(known):
        raise ConfigurationError(f"accept must be some of {', '.join(known)}, got {accept!r}")
    return frozenset(map(Obstacle, accept))


def checked_group_id(group_id: bytes) -> bytes:
    """Return a GroupId; raises ConfigurationError unless it is 24 bytes."""
    if not isinstance(group_id, bytes) or len(group_id) != GROUP_ID_LENGTH:
        raise ConfigurationError(f"group_id must be {GROUP_ID_LENGTH} bytes, got {group_id!r}")
    return group_id


def refused(where: str, error: CannotSalvage, status_queue: str = "") -> SalvageRefused:
    """Return the error for what ``core.salvage`` has refused, with its remedy."""
    because = error.because.value
    accept = f" (accept {because!r})" if error.because in DOUBTS else ""
    return SalvageRefused(
        f"{where}: found {error.found}, expected {error.expected}. {_REMEDIES[error.because]}{accept}. Nothing was changed",
        status_queue=status_queue,
        because=because,
        found=error.found,
        expected=error.expected,
    )


def hidden_by_unit_of_work(where: str, why: str) -> OwnerActive:
    """Return the error for messages that a unit of work hides, or may hide; ``why`` is a clause."""
    error = OwnerActive("MQGET", where, mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)
    error.context = why[0].upper() + why[1:]
    return error

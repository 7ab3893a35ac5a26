"""The errors for a salvage or a move that is refused, each with its remedy; and the checks that an operator may override.

``rules/salvage.py`` decides; this module turns its decision into an error that names the remedy.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

from mqgroups.core.model import GROUP_ID_LENGTH
from mqgroups.core.modes import Accept
from mqgroups.errors import ConfigurationError, OwnerActive, RepairRefused
from mqgroups.mqi import constants as mq
from mqgroups.operate.rules.salvage import DOUBTS, CannotSalvage, Obstacle

_REMEDIES = {
    Obstacle.RECORD_THERE: "The record is not lost, and the next start uses it. `mqgroups doctor --queue` says whether it fits "
    "the messages; if it does not, clear the status queue before you rebuild it",
    Obstacle.NOTHING_INTERRUPTED: "All messages of the group may be consumed, or none may be put yet; or they are at another "
    "instance of a cluster queue (`mqgroups groups --at`). If you know that the group is complete, override this check: then "
    "only unreadable messages are moved away, and the next start begins a new group",
    Obstacle.GROUP_MISSING: "`mqgroups groups` shows the groups on the queue",
    Obstacle.SEVERAL_GROUPS: "`mqgroups groups --group` shows who put each group and when. Give the GroupId of the right one",
    Obstacle.GROUP_COMPLETE: "The whole group was put, so its producer has nothing to resume. Its next start begins a new "
    "group: give it the input that follows this one",
    Obstacle.NOT_BEGUN: "No message of the group was consumed, so a consumer begins it without a record",
    Obstacle.DISARRAY: "Another program has put messages with the same GroupId. Move the group to another queue",
    Obstacle.GAP: "The missing messages have expired, were removed by another program, or have not arrived yet. Wait for "
    "them, or move the group to another queue",
    Obstacle.OTHER_Q_MGR: "The record belongs on the queue manager where the group was put. Move the group to that queue manager "
    "(`mqgroups salvage move`), wait until all of it is there, and salvage it there",
    Obstacle.BEING_CONSUMED: "A consumer may have the group's last messages in a unit of work. Stop it and try again",
    Obstacle.BEGUN: "The first messages are gone. If another program removed them, the last ones may be gone too, and would be "
    "put twice. If you know that a consumer got them in order, override this check",
    Obstacle.PIPE: "A pipe commits both of its records together, so the consumer's is of another commit, as from a backup. Clear "
    "its status queue, and rebuild both records from the messages",
    Obstacle.IN_USE: "Messages in uncommitted units of work are hidden. Stop the programs that use the queue, and try again; or, "
    "if no program that uses the queue works with this group, override this check",
    Obstacle.OTHER_OWNERS: "If another producer or consumer has this group, it would be put or got twice, or torn in two. Look "
    "at that status queue; if you know that no other owner has this group, override this check",
    Obstacle.DEAD_LETTERS: "A move keeps the header, and a consumer would get it as data. The dead-letter handler (runmqdlq, "
    "ACTION(RETRY)) removes it and puts the messages back. To move them with it, override this check",
}
# What a user with more authorities would know.
_UNASKED = {
    Obstacle.IN_USE: ". A user who may put to SYSTEM.ADMIN.COMMAND.QUEUE and display the queue is told how many messages are "
    "hidden; so says DISPLAY QSTATUS, by UNCOM(NO), that there are none",
    Obstacle.OTHER_OWNERS: ". A user who may put to SYSTEM.ADMIN.COMMAND.QUEUE, and display and browse all status queues, is "
    "told; or name them (--other-status-queue)",
}


def checked_accept(accept: Collection[Accept]) -> frozenset[Obstacle]:
    """Return the checks that are overridden; raises ConfigurationError for an unknown one."""
    known = sorted(get_args(Accept))
    if isinstance(accept, str) or not set(accept) <= set(known):
        raise ConfigurationError(f"accept must be a collection of {', '.join(known)}, got {accept!r}")
    return frozenset(map(Obstacle, accept))


def checked_group_id(group_id: bytes) -> bytes:
    """Return a GroupId; raises ConfigurationError unless it is 24 bytes."""
    if not isinstance(group_id, bytes) or len(group_id) != GROUP_ID_LENGTH:
        raise ConfigurationError(f"group_id must be {GROUP_ID_LENGTH} bytes, got {group_id!r}")
    return group_id


def refused(where: str, error: CannotSalvage, status_queue: str = "") -> RepairRefused:
    """Return the error for a refusal of ``rules/salvage.py``, with the remedy."""
    because = error.because.value
    accept = f" (accept {because!r})" if error.because in DOUBTS else ""
    accept += _UNASKED.get(error.because, "") if error.unasked else ""
    remedy = f"{_REMEDIES[error.because]}{accept}"
    return refusal(because, where, error.found, error.expected, remedy, status_queue)


def refusal(
    because: str, where: str, found: str, expected: str, remedy: str, status_queue: str, owner: str = ""
) -> RepairRefused:
    """Return the error; ``where`` something was found, and ``remedy``: sentences without the last full stop."""
    text = f"{where}: found {found}, expected {expected}. {remedy}. Nothing was changed"
    return RepairRefused(text, status_queue=status_queue, because=because, found=found, expected=expected, owner=owner)


def record_hidden(status_queue: str, group_id: bytes, unknown: str = "") -> OwnerActive:
    """Return the error for another owner's record that a unit of work hides; ``unknown``: why it is not known that one does."""
    why = f"{unknown or 'a unit of work hides its record'}. It may name group {group_id.hex()}"
    error = hidden_by_unit_of_work(f"status queue {status_queue}", why)
    if unknown:
        error.remedy = "Wait, or try again as a user who may see more"
    return error


def hidden_by_unit_of_work(where: str, why: str) -> OwnerActive:
    """Return the error for messages that a unit of work hides, or may hide; ``why`` is a clause that says so."""
    error = OwnerActive("MQGET", where, mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)
    error.context = why[0].upper() + why[1:]
    return error

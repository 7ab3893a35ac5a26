"""The errors for a salvage or a move that is refused, and the check that no other owner has a group.

``rules/salvage.py`` decides. This module makes an error from that decision, with the remedy.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

from mqgroups.connection.connection import Connection
from mqgroups.core.model import GROUP_ID_LENGTH, Role
from mqgroups.core.modes import Accept
from mqgroups.errors import ConfigurationError, OwnerActive, RepairRefused
from mqgroups.mqi import constants as mq
from mqgroups.operate.owners import USUAL, seen_owners
from mqgroups.operate.rules.owner_state import AT_WORK, OwnerState
from mqgroups.operate.rules.salvage import DOUBTS, CannotSalvage, Obstacle, doubt


def checked_accept(accept: Collection[Accept]) -> frozenset[Obstacle]:
    """Return the checks that are overridden. Raises ConfigurationError for an unknown check."""
    known = sorted(get_args(Accept))
    if isinstance(accept, str) or not set(accept) <= set(known):
        raise ConfigurationError(f"accept must be a collection of {', '.join(known)}, got {accept!r}")
    return frozenset(each for each in DOUBTS if each.value in accept)


def checked_group_id(group_id: bytes) -> bytes:
    """Return the given GroupId. Raises ConfigurationError if it is not 24 bytes."""
    if not isinstance(group_id, bytes) or len(group_id) != GROUP_ID_LENGTH:
        raise ConfigurationError(f"group_id must be {GROUP_ID_LENGTH} bytes, got {group_id!r}")
    return group_id


def refused(where: str, error: CannotSalvage, status_queue: str = "") -> RepairRefused:
    """Return the error, with its remedy, for a refusal by ``rules/salvage.py``."""
    because = error.because
    accept = f" (accept {because.value!r})" if because in DOUBTS else ""
    told = f". {because.unasked}" if error.unasked and because.unasked else ""
    return refusal(because.value, where, error.found, error.expected, f"{because.remedy}{accept}{told}", status_queue)


def refusal(
    because: str, where: str, found: str, expected: str, remedy: str, status_queue: str, owner: str = ""
) -> RepairRefused:
    """Return an error. ``where``: the queue or group with its name. ``remedy``: sentences without the last full stop."""
    text = f"{where}: found {found}, expected {expected}. {remedy}. Nothing was changed"
    return RepairRefused(text, status_queue=status_queue, because=because, found=found, expected=expected, owner=owner)


def record_hidden(status_queue: str, group_id: bytes, unknown: str = "") -> OwnerActive:
    """Return the error for another owner's record that a unit of work hides. ``unknown``: why this is uncertain, if it is."""
    why = f"{unknown or 'a unit of work hides its record'}. It may name group {group_id.hex()}"
    error = hidden_by_unit_of_work(f"status queue {status_queue}", why)
    if unknown:
        error.remedy = "Wait, or try again as a user who may see more"
    return error


def hidden_by_unit_of_work(where: str, why: str) -> OwnerActive:
    """Return the error for messages that a unit of work hides or may hide. ``why`` is a clause with the reason."""
    error = OwnerActive("MQGET", where, mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)
    error.context = why[0].upper() + why[1:]
    return error


def check_not_owned(
    connection: Connection,
    role: Role,
    group_id: bytes,
    *,
    own: str,
    queue: str,
    named: Collection[str],
    accepted: Collection[Obstacle],
) -> None:
    """Check that no other owner's record names or may name a group. Two owners would put or get the group twice.

    An existing record is never overridden. If a unit of work hides a record, or this user is not allowed to see whether the
    record is lost, the caller has to wait. A lost record is a doubt that can be overridden, because two owners with lost records
    would otherwise wait for each other. Other queue managers are not asked, because a group and its records are on the same queue
    manager. A mark of the owner in each message would also show a second owner, but every consumer would have to read it.

    ``role``, ``own`` (the status queue) and ``queue`` belong to the owner whose record is rebuilt. ``named``: other status
    queues. If the command server cannot be asked, name all of them.
    """
    seen = seen_owners(connection, status_queues=named)

    def unknown(found: str, expected: str, *, unasked: bool = True) -> None:
        doubt(Obstacle.OTHER_OWNERS, accepted, f"that {found}", expected, unasked=unasked)

    if not seen.is_listed and not named:
        unknown(seen.unseen[0], "the list, or the names from the operator")
    if seen.is_listed and own.startswith(USUAL) and all(each.status_queue != own for each in seen.owners):
        # The command server omits queues that the user is not allowed to display. This status queue exists, because it is open.
        unknown(f"the list of status queues lacks {own}, so it lacks those that this user may not display", "all")
    for each in seen.owners:
        name, record = each.status_queue, each.record
        if name == own or each.role not in (None, role.value):
            continue
        if record is not None:
            if record.group_id == group_id:
                found = f"a record of {record.name} ({record.state.value}) for group {group_id.hex()}"
                remedy = "A second owner would put or get the group's messages twice. Start "
                remedy += f"{record.name}, on any machine: it resumes the group"
                where = f"status queue {name}"
                raise refusal("owned", where, found, "no other owner", remedy, name, owner=record.name)
        elif each.state in AT_WORK:
            raise record_hidden(name, group_id, each.problem)
        elif each.may_have_a_group(role.value, queue):
            unread = f"status queue {name} cannot be read ({each.problem or each.state.value})"
            found = f"the record on status queue {name} is lost" if each.state is OwnerState.LOST else unread
            unknown(found, "its record", unasked=each.state is OwnerState.UNSEEN)

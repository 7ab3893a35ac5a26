"""Checks names of queues, owners and users, and makes the names of status queues."""

from __future__ import annotations

import re

from mqgroups.core import modes
from mqgroups.core.model import MAX_NAME_LENGTH, MAX_QUEUE_NAME_LENGTH, NOT_IN_MQ_NAMES, Role
from mqgroups.core.modes import RoleName
from mqgroups.errors import ConfigurationError
from mqgroups.setting import check_text


def checked_role(role: RoleName) -> Role:
    """Return the role with this name; raises ConfigurationError if there is no such role."""
    problem = modes.problem("role", role, RoleName)
    if problem is not None:
        raise ConfigurationError(problem)
    return Role(role)


def checked_name(name: str) -> str:
    """Return ``name``; raises ConfigurationError if it cannot be part of a queue name."""
    return _checked("name", name, "a name", MAX_NAME_LENGTH)


def checked_queue_name(what: str, name: str) -> str:
    """Return ``name``; raises ConfigurationError if MQ does not accept it as a queue name. ``what`` is the setting's name."""
    return _checked(what, name, "a queue name", MAX_QUEUE_NAME_LENGTH)


def checked_user(what: str, user: str) -> str:
    """Return ``user``; raises ConfigurationError if it is not 1 to 12 ASCII characters without blanks, as in UserIdentifier."""
    if not isinstance(user, str) or not re.fullmatch(r"[!-~]{1,12}", user):
        raise ConfigurationError(
            f"{what}: {user!r} is not a user as in UserIdentifier, 1 to 12 characters without blanks. `mqgroups owners "
            "-o json` shows the users of records"
        )
    return user


def status_queue_name(role: Role, name: str, given: str | None = None) -> str:
    """Return a status queue's name: ``given`` (checked), or by default ``MQGROUPS.PUT.<name>`` or ``MQGROUPS.GET.<name>``."""
    if given is not None:
        return checked_queue_name("status_queue", given)
    return f"MQGROUPS.{role.value.upper()}.{name}"


def _checked(what: str, name: str, kind: str, most: int) -> str:
    check_text(what, name)
    if not 1 <= len(name) <= most:
        raise ConfigurationError(f"{what} {name!r} has {len(name)} characters; {kind} has 1 to {most}")
    wrong = NOT_IN_MQ_NAMES.search(name)
    if wrong:
        raise ConfigurationError(
            f"{what} {name!r} has {wrong.group()!r} at position {wrong.start() + 1}; MQ names may contain only A-Z, a-z, 0-9 and "
            ". / _ %"
        )
    return name

"""Settings of producers and consumers as values, and the names that follow from an owner's name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mqgroups.core.model import Persistence, Role
from mqgroups.core.unit_of_work import Every
from mqgroups.errors import ConfigurationError
from mqgroups.status.hooks import Hooks

STATUS_MODEL = "MQGROUPS.STATUS.MODEL"
SHARED_STATUS_MODEL = "MQGROUPS.SHARED.STATUS.MODEL"
CLAIM_MODEL = "MQGROUPS.CLAIM.MODEL"
# What a segment of a stream has where nothing is said: below every default limit on the length of a message.
SEGMENT_BYTES = 1_048_576
MAX_NAME_LENGTH = 35
_MAX_QUEUE_NAME_LENGTH = 48
_NOT_IN_MQ_NAMES = re.compile(r"[^A-Za-z0-9./_%]")


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """What a group producer is told; ``queue_manager.py`` documents each."""

    queue: str
    name: str
    commit_every: Every
    status_queue: str
    status_model: str
    segmented_status: bool
    owner_wait_s: float
    full_wait_s: float
    persistence: Persistence
    priority: int
    segment_bytes: int | None
    bind: str
    hooks: Hooks
    owner_id: str | None = None


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """What a group consumer is told; ``queue_manager.py`` documents each."""

    queue: str
    name: str
    commit_every: Every
    status_queue: str
    status_model: str
    segmented_status: bool
    owner_wait_s: float
    wait_s: float | None
    group_wait_s: float
    complete_groups_only: bool
    max_message_length: int
    stream: bool
    poison: str
    hooks: Hooks


def checked_name(name: str) -> str:
    """Return an owner's name if it can be part of a queue's name.

    Raises:
        ConfigurationError: it is empty, longer than 35 characters, or has a character that MQ names cannot have.
    """
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        raise ConfigurationError(f"name {name!r} has {len(name)} characters; it must have 1 to {MAX_NAME_LENGTH}")
    _check_characters("name", name)
    return name


def checked_queue_name(what: str, name: str) -> str:
    """Return a queue name that MQ accepts.

    Raises:
        ConfigurationError: it is empty, longer than 48 characters, or has a character that MQ names cannot have.
    """
    if not 1 <= len(name) <= _MAX_QUEUE_NAME_LENGTH:
        raise ConfigurationError(
            f"{what} {name!r} has {len(name)} characters; a queue name has 1 to {_MAX_QUEUE_NAME_LENGTH}"
        )
    _check_characters(what, name)
    return name


def status_queue_name(role: Role, name: str) -> str:
    """Return the status queue of an owner that names none: ``MQGROUPS.PUT.<name>`` or ``MQGROUPS.GET.<name>``."""
    return f"MQGROUPS.{role.value.upper()}.{name}"


def checked_commit_every(commit_every: int | Every) -> Every:
    """Return ``commit_every`` as a value; a number means messages.

    Raises:
        ConfigurationError: it is not a positive number.
    """
    if isinstance(commit_every, Every):
        return commit_every
    if isinstance(commit_every, bool) or not isinstance(commit_every, int):
        raise ConfigurationError(f"commit_every must be a number of messages or an Every, got {commit_every!r}")
    try:
        return Every(messages=commit_every)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def checked_seconds(what: str, seconds: float) -> float:
    """Return a waiting time that is not negative.

    Raises:
        ConfigurationError: it is negative.
    """
    if not seconds >= 0:
        raise ConfigurationError(f"{what} must be 0 or more seconds, got {seconds!r}")
    return seconds


def _check_characters(what: str, name: str) -> None:
    wrong = _NOT_IN_MQ_NAMES.search(name)
    if wrong:
        raise ConfigurationError(
            f"{what} {name!r} has {wrong.group()!r} at position {wrong.start() + 1}; MQ names have A-Z, a-z, 0-9 and . "
            "/ _ %"
        )

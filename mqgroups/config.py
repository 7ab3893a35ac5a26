"""Settings of producers and consumers: values that know their own rules, and the names that follow from an owner's name.

Not here: what each setting means. ``queue_manager.py`` documents that, where an application sees it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from mqgroups.connection.holder import ConnectionHolder
from mqgroups.core import modes
from mqgroups.core.model import Persistence, Role
from mqgroups.core.modes import Bind, Poison, RoleName, StatusLayout
from mqgroups.core.unit_of_work import Every
from mqgroups.errors import ConfigurationError
from mqgroups.mqi import constants as mq
from mqgroups.mqi.structures import LONGEST_MESSAGE_BYTES
from mqgroups.status.hooks import NO_HOOKS, Hooks

STATUS_MODEL = "MQGROUPS.STATUS.MODEL"
SHARED_STATUS_MODEL = "MQGROUPS.SHARED.STATUS.MODEL"
CLAIM_MODEL = "MQGROUPS.CLAIM.MODEL"
# What a segment of a stream has where nothing is said: below every default limit on the length of a message.
SEGMENT_BYTES = 1_048_576
MAX_NAME_LENGTH = 35
_MAX_QUEUE_NAME_LENGTH = 48
_NOT_IN_MQ_NAMES = re.compile(r"[^A-Za-z0-9./_%]")
# In units of work of so many messages the MQGET that segmented records save is at least one call in 23.
_SMALL_UNIT_OF_WORK = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerSettings:
    """What producers and consumers have in common: a name, its status queue, and when units of work end."""

    queue: str
    name: str
    commit_every: Every
    status_queue: str
    status_model: str
    segmented_status: bool
    owner_wait_s: float
    hooks: Hooks = NO_HOOKS


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings(OwnerSettings):
    """Settings of a group producer."""

    full_wait_s: float
    persistence: Persistence
    priority: int | None
    bind: Bind
    segment_bytes: int | None = None
    owner_id: str | None = None

    @property
    def mqmd_priority(self) -> int:
        """MQMD.Priority of its messages."""
        return mq.MQPRI_PRIORITY_AS_Q_DEF if self.priority is None else self.priority

    def checked(self, q_mgr: ConnectionHolder) -> ProducerSettings:
        """Return these settings if a producer at ``q_mgr`` can have them.

        Raises:
            ConfigurationError: one of them cannot be, or two of them do not go together.
        """
        _check_owner(self)
        checked_seconds("full_wait_s", self.full_wait_s)
        if self.priority is not None and not 0 <= self.priority <= 9:
            raise ConfigurationError(f"priority must be 0 to 9, got {self.priority!r}")
        check_mode("bind", self.bind, Bind)
        if self.segment_bytes is not None:
            if self.segment_bytes < 1:
                raise ConfigurationError(f"segment_bytes must be at least 1, got {self.segment_bytes!r}")
            _refuse_on_zos(q_mgr, f"segment_bytes={self.segment_bytes}")
            if self.bind == "not fixed":
                raise ConfigurationError(
                    f"bind='not fixed' with segment_bytes={self.segment_bytes}: with MQOO_BIND_NOT_FIXED the segments of a "
                    "message could go to different queue managers. Use bind='group' or bind='open'"
                )
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings(OwnerSettings):
    """Settings of a group consumer."""

    wait_s: float | None
    group_wait_s: float
    complete_groups_only: bool
    poison: Poison
    max_message_length: int = LONGEST_MESSAGE_BYTES
    stream: bool = False

    def checked(self) -> ConsumerSettings:
        """Return these settings if a consumer can have them.

        Raises:
            ConfigurationError: one of them cannot be, or two of them do not go together.
        """
        _check_owner(self)
        checked_seconds("group_wait_s", self.group_wait_s)
        if self.wait_s is not None:
            checked_seconds("wait_s", self.wait_s)
        if self.max_message_length < 1:
            raise ConfigurationError(f"max_message_length must be at least 1 byte, got {self.max_message_length!r}")
        check_mode("poison", self.poison, Poison)
        if self.stream and self.poison in ("skip", "quarantine"):
            raise ConfigurationError(
                f"poison={self.poison!r} moves whole messages; with stream=True use 'halt' or 'ignore'"
            )
        return self


def _check_owner(settings: OwnerSettings) -> None:
    checked_queue_name("queue", settings.queue)
    checked_name(settings.name)
    checked_queue_name("status_queue", settings.status_queue)
    checked_queue_name("status_model", settings.status_model)
    checked_seconds("owner_wait_s", settings.owner_wait_s)
    if settings.status_queue in (settings.queue, settings.status_model):
        is_data = settings.status_queue == settings.queue
        what = "its messages are put to and got from" if is_data else "status queues are made from"
        raise ConfigurationError(
            f"status_queue {settings.status_queue} is the queue that {what}. A status queue holds one owner's records and "
            "nothing else: give another name, or none"
        )


def segmented_status(layout: StatusLayout, commit_every: Every, q_mgr: ConnectionHolder) -> bool:
    """Return whether status records are put as segments of one message.

    Raises:
        ConfigurationError: there is no such layout, or not on this queue manager's platform.
    """
    check_mode("status_layout", layout, StatusLayout)
    if layout == "segmented":
        _refuse_on_zos(q_mgr, "status_layout='segmented'")
    small = commit_every.messages is not None and commit_every.messages <= _SMALL_UNIT_OF_WORK
    return layout == "segmented" or (layout == "auto" and small and q_mgr.platform != mq.MQPL_ZOS)


def _refuse_on_zos(q_mgr: ConnectionHolder, setting: str) -> None:
    if q_mgr.platform == mq.MQPL_ZOS:
        raise ConfigurationError(
            f"{setting}: queue manager {q_mgr.q_mgr_name} is on z/OS, where messages have no segments"
        )


def check_mode(setting: str, given: object, mode: Any) -> None:
    """Check one of the words of ``core.modes``; raises ConfigurationError."""
    problem = modes.problem(setting, given, mode)
    if problem is not None:
        raise ConfigurationError(problem)


def checked_role(role: RoleName) -> Role:
    """Return an owner's role; raises ConfigurationError."""
    check_mode("role", role, RoleName)
    return Role(role)


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


def status_queue_name(role: Role, name: str, given: str | None = None) -> str:
    """Return an owner's status queue: the ``given`` one, else ``MQGROUPS.PUT.<name>`` or ``MQGROUPS.GET.<name>``.

    Raises:
        ConfigurationError: the given name cannot be a queue's.
    """
    if given is not None:
        return checked_queue_name("status_queue", given)
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

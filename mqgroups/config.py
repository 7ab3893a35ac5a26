"""Settings of producers and consumers: their values, the checks on them, and the status queue's name for an owner's name.

Not here: what each setting means. ``queue_manager.py`` documents that for applications.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol

from mqgroups.code_pages import UTF_8
from mqgroups.connection.holder import ConnectionHolder
from mqgroups.core import modes
from mqgroups.core.model import Persistence, Role
from mqgroups.core.modes import Bind, Poison, PutResponse, Repeats, RoleName, Stalled, StatusLayout
from mqgroups.core.unit_of_work import LONGEST_S, Every
from mqgroups.errors import ConfigurationError
from mqgroups.mqi import constants as mq
from mqgroups.mqi.structures import LONGEST_MESSAGE_BYTES
from mqgroups.status.hooks import NO_HOOKS, Hooks

STATUS_MODEL = "MQGROUPS.STATUS.MODEL"
SHARED_STATUS_MODEL = "MQGROUPS.SHARED.STATUS.MODEL"
CLAIM_MODEL = "MQGROUPS.CLAIM.MODEL"
# The default segment length of a stream: below every default limit on the length of a message.
SEGMENT_BYTES = 1_048_576
MAX_NAME_LENGTH = 35
_MAX_QUEUE_NAME_LENGTH = 48
_POSITIVE = range(1, sys.maxsize)
_CCSIDS = range(1, 65535)
_NOT_IN_MQ_NAMES = re.compile(r"[^A-Za-z0-9./_%]")


class Codec(Protocol):
    """What ``codec=`` accepts: turns values into message data, and back.

    Text is a ``str`` on both sides: put as UTF-8 (MQSTR), and got, if the format is MQSTR, decoded by the message's CCSID. All
    other data is ``bytes``. Text in a CCSID without a code page never gets here (``errors.CcsidUnknown``).
    """

    def encode(self, value: Any, /) -> str | bytes:
        """Return message data. ValueError and TypeError mean that there is none for this value."""

    def decode(self, data: Any, /) -> Any:
        """Return the value. ValueError means that the data is invalid; only the text of ``errors.NotDecoded`` is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerSettings:
    """Settings that producers and consumers have in common."""

    queue: str
    name: str
    commit_every: Every
    status_queue: str
    status_model: str
    segmented_status: bool
    owner_wait_s: float
    record_users: Collection[str] = ()
    hooks: Hooks = NO_HOOKS
    codec: Codec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings(OwnerSettings):
    """Settings of a group producer."""

    full_wait_s: float
    persistence: Persistence
    priority: int | None
    bind: Bind
    put_response: PutResponse = "sync"
    segment_bytes: int | None = None
    owner_id: str | None = None

    @property
    def mqmd_priority(self) -> int:
        """MQMD.Priority of the producer's messages."""
        return mq.MQPRI_PRIORITY_AS_Q_DEF if self.priority is None else self.priority

    def checked(self, q_mgr: ConnectionHolder) -> ProducerSettings:
        """Return these settings if they are valid for a producer at ``q_mgr``.

        Raises:
            ConfigurationError: a setting is invalid, or two settings cannot be combined.
        """
        _check_owner(self)
        checked_seconds("full_wait_s", self.full_wait_s)
        if self.priority is not None:
            _check_integer("priority", self.priority, range(10), "0 to 9")
        check_mode("bind", self.bind, Bind)
        check_mode("put_response", self.put_response, PutResponse)
        if self.segment_bytes is not None:
            _check_integer("segment_bytes", self.segment_bytes, _POSITIVE, "at least 1")
            _refuse_on_zos(q_mgr, f"segment_bytes={self.segment_bytes}")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings(OwnerSettings):
    """Settings of a group consumer."""

    wait_s: float | None
    group_wait_s: float
    complete_groups_only: bool
    poison: Poison
    stalled: Stalled
    repeats: Repeats = "tell"
    max_message_length: int = LONGEST_MESSAGE_BYTES
    stream: bool = False
    convert: bool | int = False

    @property
    def convert_to(self) -> int:
        """The CCSID that the queue manager converts text to; 0 if it does not convert."""
        return UTF_8 if self.convert is True else int(self.convert)

    def checked(self) -> ConsumerSettings:
        """Return these settings if they are valid for a consumer.

        Raises:
            ConfigurationError: a setting is invalid, or two settings cannot be combined.
        """
        _check_owner(self)
        checked_seconds("group_wait_s", self.group_wait_s)
        if self.wait_s is not None:
            checked_seconds("wait_s", self.wait_s)
        _check_integer("max_message_length", self.max_message_length, _POSITIVE, "at least 1 byte")
        check_mode("poison", self.poison, Poison)
        check_mode("repeats", self.repeats, Repeats)
        check_mode("stalled", self.stalled, Stalled)
        check_flag("complete_groups_only", self.complete_groups_only)
        check_flag("stream", self.stream)
        if not isinstance(self.convert, bool):
            _check_integer("convert", self.convert, _CCSIDS, "True, False or a CCSID (1 to 65534)")
        if self.stream and self.convert:
            raise ConfigurationError(
                "convert= cannot be combined with stream=True: the queue manager would convert segment by segment, and their "
                "offsets would not fit any more. Leave one of them out"
            )
        if self.stream and self.poison in ("skip", "quarantine"):
            raise ConfigurationError(
                f"poison={self.poison!r} cannot be combined with stream=True, because it moves whole messages. Use poison='halt'"
            )
        if self.stream and self.stalled == "quarantine":
            raise ConfigurationError(
                "stalled='quarantine' cannot be combined with stream=True, because a message may be processed in part when the "
                "rest of its group is moved. Use stalled='halt'"
            )
        if self.stream and self.codec is not None:
            raise ConfigurationError(
                "codec= cannot be combined with stream=True, because a codec decodes whole messages"
            )
        return self


def _check_owner(settings: OwnerSettings) -> None:
    checked_queue_name("queue", settings.queue)
    checked_name(settings.name)
    checked_queue_name("status_queue", settings.status_queue)
    checked_queue_name("status_model", settings.status_model)
    checked_seconds("owner_wait_s", settings.owner_wait_s)
    if isinstance(settings.record_users, str) or not isinstance(settings.record_users, Collection):
        raise ConfigurationError(f"record_users must be a collection of users, got {settings.record_users!r}")
    for each in settings.record_users:
        checked_user("record_users", each)
    if settings.codec is not None and not all(hasattr(settings.codec, method) for method in ("encode", "decode")):
        raise ConfigurationError(
            f"codec must have encode and decode, for example mqgroups.codecs.json, got {settings.codec!r}"
        )
    if settings.status_queue in (settings.queue, settings.status_model):
        is_data = settings.status_queue == settings.queue
        what = "the data queue" if is_data else "the model queue for status queues"
        raise ConfigurationError(
            f"status_queue={settings.status_queue!r} is also {what}. A status queue holds the records of one owner and nothing "
            "else. Use a different status queue"
        )


def segmented_status(layout: StatusLayout, q_mgr: ConnectionHolder) -> bool:
    """Return whether status records are put as segments of one message.

    Raises:
        ConfigurationError: the layout is unknown, or this queue manager's platform does not support it.
    """
    check_mode("status_layout", layout, StatusLayout)
    if layout == "segmented":
        _refuse_on_zos(q_mgr, "status_layout='segmented'")
    return layout == "segmented"


def _refuse_on_zos(q_mgr: ConnectionHolder, setting: str) -> None:
    if q_mgr.platform == mq.MQPL_ZOS:
        raise ConfigurationError(
            f"{setting} cannot be used with queue manager {q_mgr.q_mgr_name}: it is on z/OS, which does not support segments. "
            "Leave the setting out"
        )


def check_mode(setting: str, given: object, mode: Any) -> None:
    """Check that ``given`` is one of the words of a mode (``core.modes``); raises ConfigurationError if not."""
    problem = modes.problem(setting, given, mode)
    if problem is not None:
        raise ConfigurationError(problem)


def checked_role(role: RoleName) -> Role:
    """Return an owner's role; raises ConfigurationError if ``role`` is not a role's name."""
    check_mode("role", role, RoleName)
    return Role(role)


def checked_name(name: str) -> str:
    """Return an owner's name if it can be part of a queue name.

    Raises:
        ConfigurationError: it is no str, empty, longer than 35 characters, or has a character that is not allowed in MQ names.
    """
    _check_text("name", name)
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        raise ConfigurationError(f"name {name!r} has {len(name)} characters; a name has 1 to {MAX_NAME_LENGTH}")
    _check_characters("name", name)
    return name


def checked_queue_name(what: str, name: str) -> str:
    """Return a queue name if MQ accepts it.

    Args:
        what: the setting's name, for the error text.

    Raises:
        ConfigurationError: it is no str, empty, longer than 48 characters, or has a character that is not allowed in MQ names.
    """
    _check_text(what, name)
    if not 1 <= len(name) <= _MAX_QUEUE_NAME_LENGTH:
        raise ConfigurationError(
            f"{what} {name!r} has {len(name)} characters; a queue name has 1 to {_MAX_QUEUE_NAME_LENGTH}"
        )
    _check_characters(what, name)
    return name


def checked_user(what: str, user: str) -> str:
    """Return a user as UserIdentifier has it; ``what`` is the setting's name.

    Raises:
        ConfigurationError: it is no str, or not 1 to 12 ASCII characters without blanks.
    """
    _check_text(what, user)
    if not re.fullmatch(r"[!-~]{1,12}", user):
        raise ConfigurationError(
            f"{what}: {user!r} is not a user as UserIdentifier in MQMD has it, 1 to 12 characters without blanks. `mqgroups "
            "owners --json` shows the users of records"
        )
    return user


def status_queue_name(role: Role, name: str, given: str | None = None) -> str:
    """Return the name of an owner's status queue: ``given``, else ``MQGROUPS.PUT.<name>`` or ``MQGROUPS.GET.<name>``.

    Raises:
        ConfigurationError: ``given`` is not a valid queue name.
    """
    if given is not None:
        return checked_queue_name("status_queue", given)
    return f"MQGROUPS.{role.value.upper()}.{name}"


def checked_commit_every(commit_every: int | Every) -> Every:
    """Return ``commit_every`` as an ``Every``; a plain number counts messages, and the unit of work ends after a minute too.

    Raises:
        ConfigurationError: it is not a positive number.
    """
    if isinstance(commit_every, Every):
        return commit_every
    if isinstance(commit_every, bool) or not isinstance(commit_every, int):
        raise ConfigurationError(
            f"commit_every must be a number of messages or an mqgroups.Every, got {commit_every!r}"
        )
    try:
        return Every(messages=commit_every, seconds=LONGEST_S)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def checked_seconds(what: str, seconds: float) -> float:
    """Return ``seconds``; raises ConfigurationError if it is no number, negative or NaN."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise ConfigurationError(f"{what} must be 0 or more seconds, got {seconds!r}")
    return seconds


def checked_persistence(persistence: Persistence) -> Persistence:
    """Return ``persistence``; raises ConfigurationError if it is neither of the two values."""
    if persistence not in tuple(Persistence):
        raise ConfigurationError(
            f"persistence must be mqgroups.Persistence.PERSISTENT or NOT_PERSISTENT, got {persistence!r}"
        )
    return Persistence(persistence)


def check_flag(what: str, flag: object) -> None:
    """Check that a setting is True or False; raises ConfigurationError if not, for example for ``"false"``."""
    if not isinstance(flag, bool):
        raise ConfigurationError(f"{what} must be True or False, got {flag!r}")


def _check_text(what: str, name: object) -> None:
    if not isinstance(name, str):
        raise ConfigurationError(f"{what} must be a str, got {name!r}")


def _check_integer(what: str, number: object, valid: range, words: str) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number not in valid:
        raise ConfigurationError(f"{what} must be {words}, got {number!r}")


def _check_characters(what: str, name: str) -> None:
    wrong = _NOT_IN_MQ_NAMES.search(name)
    if wrong:
        raise ConfigurationError(
            f"{what} {name!r} has {wrong.group()!r} at position {wrong.start() + 1}; MQ names may contain only A-Z, a-z, 0-9 and "
            ". / _ %"
        )

"""The status record: how much of a group is committed. It is put in the same unit of work as the messages that it counts.

In Python it is a ``StatusRecord``. As a message it is ASCII JSON in a fixed envelope:

    {"sha256":"<64 hex digits>","checkpoint":...,"epoch":...,...,"unit_of_work":...}

The digest covers all bytes after it, and the envelope itself is compared literally. A flipped bit, a missing end, an added blank
or another program's message is therefore found before any field is read. The envelope is the same in every schema version;
``schema`` says how to read its content.

A correct digest proves that nothing was damaged, not that this package wrote the record. So the type and range of every field are
checked as well. A field that is unknown or missing, or another ``schema``, means that another version of mqgroups wrote the
record. Such a record is valid, and no error tells an operator to remove it.

A later version can add a field in two ways. Older versions ignore a field called ``optional_...``, and their own records leave it
out. If a field has any other name, older versions refuse the record. Each new field has a default, for older records.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import operator
import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from mqgroups.core import group_properties
from mqgroups.core.group_properties import GroupProperties, Value
from mqgroups.core.model import (
    GROUP_ID_LENGTH,
    GROUP_ID_NONE,
    MAX_MSG_SEQ_NUMBER,
    MAX_NAME_LENGTH,
    MAX_OFFSET,
    MAX_QUEUE_NAME_LENGTH,
    NOT_IN_MQ_NAMES,
    Persistence,
    Role,
)
from mqgroups.core.poison import Suspect

SCHEMA = 1
# The prefix for fields of a later version that readers need not know.
OPTIONAL = "optional_"
# The form of times in records, UTC.
TIME_UTC = "%Y-%m-%dT%H:%M:%SZ"
_TIME_UTC = re.compile(r"\d{4}-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z", re.ASCII)

# A value that JSON returns unchanged. A float must be finite.
JSONValue: TypeAlias = bool | int | float | str | list["JSONValue"] | dict[str, "JSONValue"] | None
# An application's own value; None means that there is no checkpoint.
Checkpoint: TypeAlias = bytes | JSONValue

Mark: TypeAlias = tuple[str, int, int]

_HEAD = b'{"sha256":"'
_DIGEST_LENGTH = 64
_NECK = b'",'
_BODY_AT = len(_HEAD) + _DIGEST_LENGTH + len(_NECK)

# Well below Python's own limits for the depth of the stack and the digits of an int, which a program can change.
_DEEPEST = 100
_LONGEST_INT_BITS = 2048
_HIGHEST_COUNT = 2**63 - 1
_LONGEST_SHOWN = 100
# A QMID is a queue manager's name and a time, with a blank if the hour has one digit. Other forms may exist.
_NOT_IN_IDENTIFIERS = re.compile(r"[^A-Za-z0-9./_%: -]")
_NOT_PRINTABLE_ASCII = re.compile(r"[^ -~]")


class RecordState(Enum):
    """Whether the record's group has not begun, is unfinished, or has ended. An anchor, which has no group, has its own state."""

    IDLE = "idle"
    IN_GROUP = "in group"
    COMPLETED = "completed"
    ANCHOR = "anchor"


class RejectedBecause(Enum):
    """The reason why bytes were rejected as a status record."""

    CORRUPT = "corrupt"
    VERSION = "version"


class RecordRejected(ValueError):
    """A message on a status queue is not a status record that this version can read."""

    def __init__(self, because: RejectedBecause, found: str, expected: str) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.because = because
        self.found = found
        self.expected = expected


class Done(NamedTuple):
    """The last named group that a producer completed.

    Attributes:
        properties: the group's properties, including its name.
        messages: the number of its messages.
        time_utc: when its last unit of work was about to be committed, by this machine's clock: ``2026-11-28T21:50:00Z``.
    """

    properties: Mapping[str, Value]
    messages: int
    time_utc: str

    @property
    def name(self) -> str:
        """The group's name."""
        return group_properties.name_of(self.properties)


class Outgoing(NamedTuple):
    """How much of a pipe's outgoing group is committed. If no group has begun, the values are ``GROUP_ID_NONE`` and 0."""

    group_id: bytes = GROUP_ID_NONE
    msg_seq_number: int = 0


@dataclass(frozen=True, slots=True)
class StatusRecord:
    """A record of how much of a group is committed, and of who owns the producer's or consumer's name."""

    role: Role
    """Whether the record belongs to a producer or to a consumer."""
    name: str
    """The name of the producer or consumer."""
    state: RecordState
    """Whether the group continues after ``msg_seq_number`` or ended there."""
    owner_id: str
    """The instance that wrote the record, and the version of this package: ``<32 digits> mqgroups 0.1.0``."""
    epoch: int
    """How many owners the record has had."""
    unit_of_work: int
    """The number of the last unit of work with messages; 0 before the first."""
    queue: str
    """The name of the queue, as the application gave it."""
    group_id: bytes
    """24 bytes; ``GROUP_ID_NONE`` before the first group."""
    msg_seq_number: int
    """The number of the last message that is committed completely; 0 before the first message."""
    q_mgr_identifier: str
    """QMID of the queue manager that has the status queue."""
    resolved_q_name: str = ""
    """The queue that received the group's first message, as MQPMO returned it; empty for a consumer."""
    resolved_q_mgr_name: str = ""
    """The queue manager of ``resolved_q_name``; empty for a consumer."""
    persistence: Persistence = Persistence.PERSISTENT
    """The persistence of the group's messages."""
    offset: int = 0
    """How many bytes of the next message are committed as segments."""
    in_last_message: bool = False
    """If ``offset`` is not 0, whether the message with these segments is the group's last."""
    suspect: Suspect | None = None
    """A message that may be poison. The consumer processes it in a unit of work of its own."""
    quarantine: bool = False
    """Whether the consumer moves the rest of the group to the backout queue."""
    checkpoint: Checkpoint = None
    """The application's checkpoint, committed with the messages."""
    traceparent: str = ""
    """The W3C trace context of the last unit of work; empty if it was not traced."""
    properties: GroupProperties = None
    """The properties of the first message of an unfinished group; ``None`` if they are not known."""
    outgoing: Outgoing | None = None
    """What is committed of the group that a pipe puts; ``None`` unless the record is that of a pipe's consumer."""
    first_msg_id: bytes = GROUP_ID_NONE
    """MsgId of the group's first message, 24 bytes. It is ``GROUP_ID_NONE`` in a producer's record, before the first group, and
    after a salvage that did not find the message.
    """
    done: Done | None = None
    """The last named group that the producer has completed; ``None`` if there is none, or in a consumer's record."""

    @property
    def is_needed(self) -> bool:
        """Whether the record has an unfinished group, a suspect, a checkpoint or a group's name, and so is still needed."""
        notes = self.suspect, self.checkpoint, self.done
        return self.state is RecordState.IN_GROUP or any(note is not None for note in notes)

    @property
    def mark(self) -> Mark:
        """The owner, epoch and unit of work, by which a record is recognised.

        No two units of work with messages leave records with the same mark. A record keeps its mark if it is put again without
        messages, to change its note or to end a chain.
        """
        return self.owner_id, self.epoch, self.unit_of_work


_NAMES = tuple(field.name for field in fields(StatusRecord))
_values = operator.attrgetter(*_NAMES)
_as_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def encode(record: StatusRecord) -> bytes:
    """Return the record as message data; raises the errors of ``check_checkpoint``. Equal records give equal bytes."""
    values: dict[str, Any] = dict(zip(_NAMES, _values(record), strict=True))
    values["schema"] = SCHEMA
    values["role"] = record.role.value
    values["state"] = record.state.value
    values["group_id"] = record.group_id.hex()
    values["first_msg_id"] = record.first_msg_id.hex()
    values["persistence"] = int(record.persistence)
    values["suspect"] = _encode_suspect(record.suspect)
    values["checkpoint"] = _encode_checkpoint(record.checkpoint)
    values["properties"] = group_properties.encoded(record.properties)
    values["outgoing"] = (
        None if record.outgoing is None else [record.outgoing.group_id.hex(), record.outgoing.msg_seq_number]
    )
    values["done"] = (
        None if record.done is None else [group_properties.encoded(record.done.properties), *record.done[1:]]
    )
    body = _as_json(values).encode("ascii")[1:]
    return _HEAD + hashlib.sha256(body).hexdigest().encode("ascii") + _NECK + body


def decode(data: bytes) -> StatusRecord:
    """Return the record in message data. Raises RecordRejected if the data are damaged, or are no record of this version."""
    body = data[_BODY_AT:]
    if not data.startswith(_HEAD) or data[_BODY_AT - len(_NECK) : _BODY_AT] != _NECK:
        raise _corrupt(f"{len(data)} bytes that do not start like a status record")
    if data[len(_HEAD) : len(_HEAD) + _DIGEST_LENGTH] != hashlib.sha256(body).hexdigest().encode("ascii"):
        raise _corrupt(f"{len(data)} bytes whose digest does not match")
    try:
        values = json.loads(
            "{" + body.decode("ascii"),
            object_pairs_hook=_without_duplicates,
            parse_constant=_no_number,
            parse_float=_finite,
        )
        schema = values.pop("schema")
    except (ValueError, KeyError, RecursionError):
        raise _corrupt("a correct digest, but content that is not JSON with a schema") from None
    if type(schema) is not int or schema != SCHEMA:
        raise _another_version(f"schema version {shown(schema)}{_written_by(values)}", f"schema version {SCHEMA}")
    names = {name for name in values if not name.startswith(OPTIONAL)}
    if different := sorted(names ^ _FIELDS.keys()):
        found = f"{'the' if different[0] in values else 'no'} field {shown(different[0])}{_written_by(values)}"
        raise _another_version(found, f"the fields of schema version {SCHEMA}")
    return _from_values(values)


def has_name_of_owner(record: StatusRecord) -> bool:
    """Return whether the record's name is valid for a producer or consumer, so that a status queue's name can contain it."""
    return 0 < len(record.name) <= MAX_NAME_LENGTH and not NOT_IN_MQ_NAMES.search(record.name)


def check_checkpoint(checkpoint: Checkpoint) -> None:
    """Raise TypeError or ValueError for a checkpoint that a record would not return unchanged.

    A tuple would be returned as a list, and the key 1 as ``"1"``. NaN does not equal itself. Other programs cannot read half of a
    surrogate pair. The error text gives the reason, and does not show the checkpoint.
    """
    if checkpoint is not None and not isinstance(checkpoint, bytes):
        _check_json(checkpoint, 0)


def shown(value: object) -> str:
    """Return a value from a record in a short and printable form, for an error message."""
    text = _BRIEF.repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = _LONGEST_SHOWN - 10


def _check_json(value: Any, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError(f"lists and dicts nested more than {_DEEPEST} deep")
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        if not _is_text(value):
            raise ValueError("a str with half of a surrogate pair")
    elif isinstance(value, int):
        if value.bit_length() > _LONGEST_INT_BITS:
            raise ValueError(f"an int of more than {_LONGEST_INT_BITS} bits")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a float that is not finite")
    elif isinstance(value, list):
        for item in value:
            _check_json(item, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"a dict with a key that is {type(key).__name__}, not str")
            _check_json(key, depth + 1)
            _check_json(item, depth + 1)
    else:
        hint = ", which would come back as a list: give a list" if isinstance(value, tuple) else ""
        raise TypeError(f"{type(value).__name__}{hint}")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a name that occurs twice")
    return values


def _no_number(word: str) -> float:
    raise ValueError(f"{word}, which is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number too large for a float")
    return number


def _from_values(values: dict[str, Any]) -> StatusRecord:
    read: dict[str, Any] = {}
    for name, field in _FIELDS.items():
        try:
            read[name] = field(values[name])
        except (ValueError, TypeError, RecursionError):
            raise _corrupt(f"a status record with an invalid field: {name} {shown(values[name])}") from None
    record = StatusRecord(**read)
    if record.state is RecordState.IN_GROUP and record.group_id == GROUP_ID_NONE:
        raise _corrupt("a status record with an invalid field: a group without group_id")
    if record.msg_seq_number == 0 and record.state not in (RecordState.IDLE, RecordState.ANCHOR) and not record.offset:
        raise _corrupt("a status record with an invalid field: msg_seq_number 0")
    return record


def _integer(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        # isinstance would accept a bool as an int.
        if type(value) is not int or not least <= value <= most:
            raise ValueError
        return value

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str) or not _is_text(value):
        raise ValueError
    return value


def _short(longest: int, without: re.Pattern[str]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if len(_text(value)) > longest or without.search(value):
            raise ValueError
        return str(value)

    return read


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _persistence(value: Any) -> Persistence:
    return Persistence(_integer(0, 1)(value))


def _24_bytes(value: Any) -> bytes:
    identifier = bytes.fromhex(_text(value))
    # Accept only the form that encode writes. fromhex also accepts blanks and capital letters.
    if len(identifier) != GROUP_ID_LENGTH or identifier.hex() != value:
        raise ValueError
    return identifier


def _encode_suspect(suspect: Suspect | None) -> list[Any] | None:
    if suspect is None:
        return None
    return [suspect.group_id.hex(), suspect.msg_seq_number, suspect.backout_count, suspect.msg_id.hex()]


def _suspect(value: Any) -> Suspect | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise ValueError
    group_id, msg_seq_number, backout_count, msg_id = value
    return Suspect(_24_bytes(group_id), _msg_seq_number(msg_seq_number), _count(backout_count), _24_bytes(msg_id))


def _outgoing(value: Any) -> Outgoing | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise ValueError
    group_id, msg_seq_number = value
    return Outgoing(_24_bytes(group_id), _msg_seq_number(msg_seq_number))


def _done(value: Any) -> Done | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise ValueError
    properties, messages, time_utc = value
    done = Done(
        group_properties.decoded(properties) or {}, _integer(1, MAX_MSG_SEQ_NUMBER)(messages), _time_utc(time_utc)
    )
    if not done.name:
        raise ValueError
    return done


def _time_utc(value: Any) -> str:
    found = _TIME_UTC.fullmatch(_text(value))
    if found is None or any(int(part) > most for part, most in zip(found.groups(), (12, 31, 23, 59, 59), strict=True)):
        raise ValueError
    return str(value)


def _encode_checkpoint(checkpoint: Checkpoint) -> dict[str, Any] | None:
    check_checkpoint(checkpoint)
    if checkpoint is None:
        return None
    if isinstance(checkpoint, bytes):
        return {"bytes": base64.b64encode(checkpoint).decode("ascii")}
    return {"json": checkpoint}


def _checkpoint(value: Any) -> Checkpoint:
    if value is None:
        return None
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError
    ((kind, said),) = value.items()
    if kind == "bytes":
        return base64.b64decode(_text(said), validate=True)
    if kind != "json":
        raise ValueError
    _check_json(said, 0)
    value_of_json: JSONValue = said
    return value_of_json


_mq_name = _short(MAX_QUEUE_NAME_LENGTH, NOT_IN_MQ_NAMES)
_count = _integer(0, _HIGHEST_COUNT)
_msg_seq_number = _integer(0, MAX_MSG_SEQ_NUMBER)
# How each field is read; raises ValueError or TypeError for an invalid value.
_FIELDS: dict[str, Callable[[Any], Any]] = {
    "role": Role,
    "name": _text,
    "state": RecordState,
    "owner_id": _short(200, _NOT_PRINTABLE_ASCII),
    "epoch": _count,
    "unit_of_work": _count,
    "queue": _mq_name,
    "group_id": _24_bytes,
    "first_msg_id": _24_bytes,
    "msg_seq_number": _msg_seq_number,
    "q_mgr_identifier": _short(MAX_QUEUE_NAME_LENGTH, _NOT_IN_IDENTIFIERS),
    "resolved_q_name": _mq_name,
    "resolved_q_mgr_name": _mq_name,
    "persistence": _persistence,
    "offset": _integer(0, MAX_OFFSET),
    "in_last_message": _truth,
    "suspect": _suspect,
    "quarantine": _truth,
    "checkpoint": _checkpoint,
    "traceparent": _short(200, _NOT_PRINTABLE_ASCII),
    "properties": group_properties.decoded,
    "outgoing": _outgoing,
    "done": _done,
}


def _written_by(values: dict[str, Any]) -> str:
    """Return the end of a sentence that names the writer of an unreadable record; empty if the writer is unknown."""
    writer = values.get("owner_id")
    _, _, version = writer.partition(" ") if isinstance(writer, str) else ("", "", "")
    return f", written by {shown(version)}" if version else ""


def _another_version(found: str, expected: str) -> RecordRejected:
    return RecordRejected(RejectedBecause.VERSION, found, expected)


def _corrupt(found: str) -> RecordRejected:
    return RecordRejected(RejectedBecause.CORRUPT, found, "one status record of this package")

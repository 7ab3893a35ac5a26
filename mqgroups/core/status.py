"""The status record: what is committed of a group, in the same unit of work as the messages it speaks of.

As a value, ``StatusRecord``; as a message, ASCII JSON in a fixed envelope:

    {"sha256":"<64 hex digits>","checkpoint":...,"epoch":...,...,"unit_of_work":...}

The digest is over everything behind it, byte for byte, and the envelope itself is compared literally, so a flipped
bit, a missing end, an added blank or a message of somebody else's is found by comparing bytes, before a word of it is
believed. The envelope stays the same in every schema version; ``schema`` says how to read what is in it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, TypeAlias

from mqgroups.core.model import GROUP_ID_LENGTH, MAX_MSG_SEQ_NUMBER, MAX_OFFSET, Persistence, Role
from mqgroups.core.poison import Suspect

SCHEMA = 1

# bytes, or what JSON can say: str, int, float, bool, lists and dicts with str keys of these. None is no checkpoint.
Checkpoint: TypeAlias = Any

Mark: TypeAlias = tuple[str, int, int]

_HEAD = b'{"sha256":"'
_DIGEST_LENGTH = 64
_NECK = b'",'
_BODY_AT = len(_HEAD) + _DIGEST_LENGTH + len(_NECK)


class RecordState(Enum):
    """What the record says of its group: there was none yet, it goes on, it ended. An anchor says only that a record is there."""

    IDLE = "idle"
    IN_GROUP = "in group"
    COMPLETED = "completed"
    ANCHOR = "anchor"


class RejectedBecause(Enum):
    """Why bytes are not taken for a status record."""

    CORRUPT = "corrupt"
    VERSION = "version"


class RecordRejected(ValueError):
    """Bytes from a status queue that are not a status record this version can read."""

    def __init__(self, because: RejectedBecause, found: str, expected: str) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.because = because
        self.found = found
        self.expected = expected


@dataclass(frozen=True, slots=True)
class StatusRecord:
    """What is committed of a group, and who owns the name.

    Attributes:
        role, name: whose record it is: the producer or the consumer of this name.
        state: whether the group goes on behind ``msg_seq_number`` or ended there.
        owner_id: the instance that wrote it, 32 hexadecimal digits.
        epoch: how many owners this record has had.
        unit_of_work: the number of the last unit of work with messages; 0 before the first.
        queue: the queue as the application named it.
        group_id: 24 bytes; ``GROUP_ID_NONE`` while there was no group.
        msg_seq_number: of the last message committed to its end; 0 while there was none.
        offset: how many bytes of the message after that one are committed, as segments.
        in_last_message: whether that message is the group's last.
        suspect: the message that is processed alone, to see whether it is poison.
        quarantine: whether what is left of the group goes to the backout queue.
        resolved_q_name, resolved_q_mgr_name: where the group's first message went, as MQPMO returned it; empty for a
            get.
        q_mgr_identifier: of the queue manager that holds the status queue.
        persistence: of the group's messages.
        checkpoint: the application's own, committed with the messages it speaks of.
        traceparent: the W3C trace context of the unit of work; empty if it was not traced.
    """

    role: Role
    name: str
    state: RecordState
    owner_id: str
    epoch: int
    unit_of_work: int
    queue: str
    group_id: bytes
    msg_seq_number: int
    q_mgr_identifier: str
    resolved_q_name: str = ""
    resolved_q_mgr_name: str = ""
    persistence: Persistence = Persistence.PERSISTENT
    offset: int = 0
    in_last_message: bool = False
    suspect: Suspect | None = None
    quarantine: bool = False
    checkpoint: Checkpoint = None
    traceparent: str = ""

    @property
    def speaks(self) -> bool:
        """Whether anybody would miss it: it tells of a group that goes on, of a suspect, or has a checkpoint."""
        return self.state is RecordState.IN_GROUP or self.suspect is not None or self.checkpoint is not None

    @property
    def mark(self) -> Mark:
        """What tells this record from every other one that was ever on its queue."""
        return self.owner_id, self.epoch, self.unit_of_work


def encode(record: StatusRecord) -> bytes:
    """Return the record as message data: the same record always as the same bytes.

    Raises:
        TypeError, ValueError: the checkpoint is neither bytes nor anything JSON can say.
    """
    values: dict[str, Any] = {field.name: getattr(record, field.name) for field in fields(record)}
    values |= {
        "schema": SCHEMA,
        "role": record.role.value,
        "state": record.state.value,
        "group_id": record.group_id.hex(),
        "persistence": int(record.persistence),
        "suspect": _encode_suspect(record.suspect),
        "checkpoint": _encode_checkpoint(record.checkpoint),
    }
    body = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")[1:]
    return _HEAD + hashlib.sha256(body).hexdigest().encode("ascii") + _NECK + body


def decode(data: bytes) -> StatusRecord:
    """Return the record that message data holds.

    Raises:
        RecordRejected: the data is damaged, is not a status record, or is one of another schema version.
    """
    body = data[_BODY_AT:]
    if not data.startswith(_HEAD) or data[_BODY_AT - len(_NECK) : _BODY_AT] != _NECK:
        raise _corrupt(f"{len(data)} bytes that do not begin as a status record does")
    if data[len(_HEAD) : len(_HEAD) + _DIGEST_LENGTH] != hashlib.sha256(body).hexdigest().encode("ascii"):
        raise _corrupt(f"{len(data)} bytes that do not have the digest they give")
    try:
        values = json.loads(b"{" + body)
        schema = values.pop("schema")
    except (ValueError, KeyError, RecursionError) as error:
        raise _corrupt("a digest that is right over content that is not JSON with a schema") from error
    if schema != SCHEMA:
        raise RecordRejected(RejectedBecause.VERSION, f"schema version {schema!r}", f"schema version {SCHEMA}")
    try:
        return _from_values(values)
    except (ValueError, KeyError, TypeError) as error:
        raise _corrupt(f"a status record with a field that cannot be ({error})") from error


def _from_values(values: dict[str, Any]) -> StatusRecord:
    values["role"] = Role(values["role"])
    values["state"] = RecordState(values["state"])
    values["persistence"] = Persistence(values["persistence"])
    values["group_id"] = bytes.fromhex(values["group_id"])
    values["checkpoint"] = _decode_checkpoint(values["checkpoint"])
    values["suspect"] = _decode_suspect(values["suspect"])
    if len(values["group_id"]) != GROUP_ID_LENGTH:
        raise ValueError(f"group_id of {len(values['group_id'])} bytes")
    if not 0 <= values["offset"] <= MAX_OFFSET:
        raise ValueError(f"offset {values['offset']}")
    if not isinstance(values.get("traceparent", ""), str):
        raise TypeError(f"traceparent {values['traceparent']!r}")
    least = 0 if values["state"] in (RecordState.IDLE, RecordState.ANCHOR) or values["offset"] else 1
    if not least <= values["msg_seq_number"] <= MAX_MSG_SEQ_NUMBER:
        raise ValueError(f"msg_seq_number {values['msg_seq_number']}")
    return StatusRecord(**values)


def _encode_suspect(suspect: Suspect | None) -> list[Any] | None:
    return None if suspect is None else [suspect.group_id.hex(), suspect.msg_seq_number, suspect.backout_count]


def _decode_suspect(value: list[Any] | None) -> Suspect | None:
    if value is None:
        return None
    group_id, msg_seq_number, backout_count = value
    return Suspect(bytes.fromhex(group_id), msg_seq_number, backout_count)


def _encode_checkpoint(checkpoint: Checkpoint) -> dict[str, Any] | None:
    if checkpoint is None:
        return None
    if isinstance(checkpoint, bytes):
        return {"bytes": base64.b64encode(checkpoint).decode("ascii")}
    return {"json": checkpoint}


def _decode_checkpoint(value: dict[str, Any] | None) -> Checkpoint:
    if value is None:
        return None
    if "bytes" in value:
        return base64.b64decode(value["bytes"], validate=True)
    return value["json"]


def _corrupt(found: str) -> RecordRejected:
    return RecordRejected(RejectedBecause.CORRUPT, found, "one status record of this package")

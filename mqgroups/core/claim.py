"""Groups of a batch, put by many short-lived attempts that share one status queue: who may put which, and from where.

A producer with a name owns its status queue by having it open exclusively. An attempt at a task of somebody's scheduler
cannot: there are many at a time, two of them may work on the same group without knowing of each other, and one that was
given up may wake up and go on. They share a status queue, and each group has records of its own there:

    intent      put with the group's first claim, taken away with its status record; never replaced, hence always visible
    status      the group's status record: ``owner_id`` is the token of the attempt that claimed it last, ``epoch`` the number
                of claims; replaced in every unit of work, by getting the one that the attempt has put itself
    high-water mark    of the sink: all groups of this batch, and of those before it, are whole

An attempt that finds no status record of its own in a unit of work was replaced by another one; it backs out and ends.

A claim looks for the intent first and for the high-water mark second; a batch is ended by putting the high-water mark first,
and by taking intents and status records away second. So an attempt that is late sees the intent, or, because it is gone, the
high-water mark. An intent without a status record means that somebody has the status record in a unit of work: wait. Neither
intent nor high-water mark means that the group is new; between looking and putting, a lock of the group's own keeps others
from looking.

All three are status records (``core.status``), told apart by ``CorrelId``: a digest of what they are and of what.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypedDict, cast

from mqgroups.core.model import GROUP_ID_NONE, Role
from mqgroups.core.status import Checkpoint, RecordState, StatusRecord

CORREL_ID_LENGTH = 24


class RecordKind(Enum):
    """What a record on a shared status queue is."""

    INTENT = "intent"
    STATUS = "status"
    HIGH_WATER_MARK = "high-water mark"


@dataclass(frozen=True, slots=True)
class Sink:
    """Who puts batches to a queue: the same for all batches and attempts.

    Attributes:
        name: such as a streaming query's id.
        queue: where the groups go.
        q_mgr_identifier: of the queue manager with the status queue.
    """

    name: str
    queue: str
    q_mgr_identifier: str

    @property
    def high_water_mark_id(self) -> bytes:
        """The CorrelId of its high-water mark, 24 bytes."""
        return _correl_id(RecordKind.HIGH_WATER_MARK, self.name, self.queue)


@dataclass(frozen=True, slots=True)
class Claim:
    """One attempt's claim on one group.

    Attributes:
        sink, batch, key: which group. Batches are counted upwards.
        token: the attempt's own; no other attempt has it.
        run, partition: which execution of the batch the attempt belongs to, and which part of the batch it puts.
    """

    sink: Sink
    batch: int
    key: str
    token: str
    run: str
    partition: int

    @property
    def name(self) -> str:
        """The group's name, for its records and for errors."""
        return f"{self.sink.name}/{self.batch}/{self.key}"

    @property
    def intent_id(self) -> bytes:
        """The CorrelId of the intent, 24 bytes."""
        return _correl_id(RecordKind.INTENT, self.sink.name, self.sink.queue, self.batch, self.key)

    @property
    def status_id(self) -> bytes:
        """The CorrelId of the status record, 24 bytes."""
        return _correl_id(RecordKind.STATUS, self.sink.name, self.sink.queue, self.batch, self.key)

    def checkpoint(self, kind: RecordKind, digest: str) -> dict[str, Any]:
        """Return what a record says besides its fields; ``digest`` is that of the committed messages."""
        return {
            "kind": kind.value,
            "sink": self.sink.name,
            "batch": self.batch,
            "key": self.key,
            "run": self.run,
            "partition": self.partition,
            "digest": digest,
        }


class ClaimValues(TypedDict):
    """What a record of a shared status queue says besides its fields; a high-water mark only the first three."""

    kind: str
    sink: str
    batch: int
    key: str
    run: str
    partition: int
    digest: str


def claim_values(checkpoint: Checkpoint) -> ClaimValues:
    """Return what a record's checkpoint says. ``kind_of_record`` has to have found what the record is."""
    return cast(ClaimValues, checkpoint)


class ClaimAction(Enum):
    """What an attempt does about a group."""

    START_NEW_GROUP = "start a new group"
    TAKE_OVER = "take the group over"
    ALREADY_PUT = "the group is whole"
    BATCH_COMPLETED = "its batch was completed"
    WAIT = "wait: somebody has its status record in a unit of work"
    STOP_KEY_IN_TWO_PARTITIONS = "stop: two partitions of a batch have messages for the group"


def claim_action(
    claim: Claim, *, intent: StatusRecord | None, status: StatusRecord | None, high_water_mark: int | None
) -> ClaimAction:
    """Say what to do about a group, by what was found of it, in this order; each is ``None`` where nothing was."""
    if intent is None:
        if high_water_mark is not None and high_water_mark >= claim.batch:
            return ClaimAction.BATCH_COMPLETED
        return ClaimAction.START_NEW_GROUP
    if status is None:
        return ClaimAction.WAIT
    found = claim_values(status.checkpoint)
    if found["run"] == claim.run and found["partition"] != claim.partition:
        return ClaimAction.STOP_KEY_IN_TWO_PARTITIONS
    if status.state is RecordState.COMPLETED:
        return ClaimAction.ALREADY_PUT
    return ClaimAction.TAKE_OVER


def new_intent(claim: Claim) -> StatusRecord:
    """Return the record that says that the group was begun, or is about to be."""
    return _idle(claim.sink, claim.name, claim.token, claim.checkpoint(RecordKind.INTENT, ""))


def new_status(claim: Claim, digest: str) -> StatusRecord:
    """Return the status record that comes before the first claim; it is never put. ``digest`` is that of no messages."""
    checkpoint = claim.checkpoint(RecordKind.STATUS, digest)
    return replace(_idle(claim.sink, claim.name, claim.token, checkpoint), epoch=0)


def taken_over(claim: Claim, status: StatusRecord) -> StatusRecord:
    """Return what was found as the claim is to leave it, but for ``owner_id`` and ``epoch``."""
    checkpoint: dict[str, Any] = {**claim_values(status.checkpoint), "run": claim.run, "partition": claim.partition}
    return replace(status, checkpoint=checkpoint)


def high_water_mark(sink: Sink, batch: int, token: str) -> StatusRecord:
    """Return the record that says that all groups of ``batch``, and of those before it, are whole."""
    checkpoint: dict[str, Any] = {"kind": RecordKind.HIGH_WATER_MARK.value, "sink": sink.name, "batch": batch}
    return _idle(sink, sink.name, token, checkpoint)


def kind_of_record(record: StatusRecord) -> RecordKind | None:
    """Return what a record is, by what it says; ``None`` if it is no record of a shared status queue."""
    found = record.checkpoint
    if not isinstance(found, dict) or not _says(found, sink=str, batch=int, kind=str):
        return None
    try:
        kind = RecordKind(found["kind"])
    except ValueError:
        return None
    if kind is not RecordKind.HIGH_WATER_MARK and not _says(found, key=str, run=str, partition=int, digest=str):
        return None
    return kind


def _says(found: Mapping[str, Any], **fields: type) -> bool:
    """Whether these fields are there, of just these types: ``True`` is no batch."""
    return all(type(found.get(name)) is kind for name, kind in fields.items())


class MessagesDigest:
    """The digest of a group's messages, in order: of all that is put of them."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()

    def add(self, *parts: bytes) -> None:
        """Add the parts of one message, always as many."""
        for part in parts:
            self._sha256.update(b"%d:" % len(part))
            self._sha256.update(part)

    def value(self) -> str:
        """Return the digest of what was added, 64 hexadecimal digits."""
        return self._sha256.hexdigest()


def _correl_id(kind: RecordKind, *what: str | int) -> bytes:
    said = json.dumps([kind.value, *what], separators=(",", ":")).encode("ascii")
    return hashlib.sha256(said).digest()[:CORREL_ID_LENGTH]


def _idle(sink: Sink, name: str, token: str, checkpoint: dict[str, Any]) -> StatusRecord:
    return StatusRecord(
        role=Role.PUT,
        name=name,
        state=RecordState.IDLE,
        owner_id=token,
        epoch=1,
        unit_of_work=0,
        queue=sink.queue,
        group_id=GROUP_ID_NONE,
        msg_seq_number=0,
        q_mgr_identifier=sink.q_mgr_identifier,
        checkpoint=checkpoint,
    )

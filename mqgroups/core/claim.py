"""Decides which attempt of a batch may put which group, and from which message on. Attempts share one status queue.

A producer with a name owns its status queue by opening it exclusively. The attempts of a scheduler's tasks cannot do that. Many
attempts run at a time, two attempts may work on the same group without knowing of each other, and an attempt that the scheduler
has given up may continue later. So attempts share a status queue, with these kinds of record:

    intent      is put with the first claim and removed with the status record. It is never replaced, so it is always visible
    status      records the group's progress. ``owner_id`` is the token of the attempt that last claimed the group, ``epoch`` the
                number of claims. In every unit of work, the attempt gets its previous status record and puts a new one
    high-water mark    is one record for each sink. It names a batch whose groups are whole. Earlier batches count as written

An attempt that does not find its own status record backs out and ends, because another attempt has replaced the record.

A claim looks for the intent first and for the high-water mark second. A program that ends a batch puts the high-water mark first,
and removes intents and status records second. So a late attempt sees the intent or, if the intent is gone, the high-water mark.
If there is an intent without a status record, a unit of work hides the status record, and the attempt waits. If there is neither
an intent nor a high-water mark, the group is new. A lock keeps other attempts away until the claim is committed.

All these records have the form of ``core.status``. Their ``CorrelId`` is a digest of kind, sink and, for a group, batch and key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, TypedDict, cast

from mqgroups.core.model import GROUP_ID_NONE, Role
from mqgroups.core.status import OPTIONAL, Checkpoint, RecordState, StatusRecord

CORREL_ID_LENGTH = 24
# The fields that each record's checkpoint has.
_OF_ALL: dict[str, type] = {"kind": str, "sink": str, "batch": int}


class RecordKind(Enum):
    """The kinds of record on a shared status queue."""

    INTENT = "intent"
    STATUS = "status"
    HIGH_WATER_MARK = "high-water mark"


@dataclass(frozen=True, slots=True)
class Sink:
    """The writer that puts batches to a queue. A sink is the same for all batches and attempts.

    Attributes:
        name: the writer's name, for example a streaming query's id.
        queue: the queue that the groups are put to.
        q_mgr_identifier: the QMID of the queue manager with the status queue.
    """

    name: str
    queue: str
    q_mgr_identifier: str

    @property
    def high_water_mark_id(self) -> bytes:
        """The CorrelId of the sink's high-water mark, 24 bytes."""
        return _correl_id(RecordKind.HIGH_WATER_MARK, self.name, self.queue)


@dataclass(frozen=True, slots=True)
class Claim:
    """One attempt's claim on one group.

    Attributes:
        sink, batch, key: identify the group. Batch numbers increase.
        token: the unique identity of the attempt.
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
        """The group's name, used in its records and in errors."""
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
        """Return the checkpoint for a record of this group. ``digest`` is the digest of the committed messages."""
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
    """The checkpoint of a record. A high-water mark has only ``kind``, ``sink``, ``batch`` and fields of ``CompletedBatch``."""

    kind: str
    sink: str
    batch: int
    key: str
    run: str
    partition: int
    digest: str


class CompletedBatch(NamedTuple):
    """The content of a high-water mark, which shows that batch ``number`` and all earlier batches count as written.

    Attributes:
        query: the streaming query that wrote the batch, if any.
        run: the execution that completed the batch.
        within: the query's run to which this execution belongs, if any. A run of a query executes each batch once.
    """

    number: int
    query: str | None = None
    run: str | None = None
    within: str | None = None

    def is_second(self, first: CompletedBatch) -> bool:
        """Return whether one run of the query has completed both this batch and ``first``, another batch with the same number."""
        return self.number == first.number and self.within == first.within is not None and self.run != first.run

    def repeats(self, first: CompletedBatch) -> bool:
        """Return whether this is a repetition of the batch ``first`` in a later run of the query."""
        return self.number == first.number and self.within not in (None, first.within)


_OF_A_MARK = ("query", "run", "within")


def completed_batch(checkpoint: Checkpoint) -> CompletedBatch:
    """Return the batch that a high-water mark's checkpoint describes. ``kind_of_record`` must have accepted the record."""
    found = cast(dict[str, Any], checkpoint)
    return CompletedBatch(found["batch"], *map(found.get, _OF_A_MARK))


def claim_values(checkpoint: Checkpoint) -> ClaimValues:
    """Return a record's checkpoint, typed as ``ClaimValues``. ``kind_of_record`` must have accepted the record."""
    return cast(ClaimValues, checkpoint)


class ClaimAction(Enum):
    """What an attempt does with a group."""

    START_NEW_GROUP = "start a new group"
    TAKE_OVER = "take the group over"
    ALREADY_PUT = "the group is whole"
    BATCH_COMPLETED = "its batch was completed"
    WAIT = "wait: a unit of work hides its status record"
    STOP_KEY_IN_TWO_PARTITIONS = "stop: two partitions of a batch have messages for the group"


def claim_action(
    claim: Claim, *, intent: StatusRecord | None, status: StatusRecord | None, high_water_mark: int | None
) -> ClaimAction:
    """Return what to do with a group. The caller must look for the intent first. ``None`` means that a record was not found."""
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
    """Return the intent, a record that shows that the group has begun or is about to begin."""
    return _idle(claim.sink, claim.name, claim.token, claim.checkpoint(RecordKind.INTENT, ""))


def new_status(claim: Claim, digest: str) -> StatusRecord:
    """Return the record that the claim of a new group replaces. It is never put. ``digest``: the digest of an empty group."""
    checkpoint = claim.checkpoint(RecordKind.STATUS, digest)
    return replace(_idle(claim.sink, claim.name, claim.token, checkpoint), epoch=0)


def taken_over(claim: Claim, status: StatusRecord) -> StatusRecord:
    """Return ``status`` with the run and partition of ``claim``. Owner and epoch are unchanged."""
    checkpoint: dict[str, Any] = {**claim_values(status.checkpoint), "run": claim.run, "partition": claim.partition}
    return replace(status, checkpoint=checkpoint)


def high_water_mark(sink: Sink, batch: CompletedBatch, token: str) -> StatusRecord:
    """Return the record that shows that ``batch`` and all earlier batches count as written."""
    checkpoint: dict[str, Any] = {"kind": RecordKind.HIGH_WATER_MARK.value, "sink": sink.name, "batch": batch.number}
    checkpoint |= {name: text for name, text in zip(_OF_A_MARK, batch[1:], strict=True) if text is not None}
    return _idle(sink, sink.name, token, checkpoint)


def kind_of_record(record: StatusRecord) -> RecordKind | None:
    """Return the kind of a record; ``None`` if the record does not belong on a shared status queue."""
    found = record.checkpoint
    if not isinstance(found, dict) or not _says(found, **_OF_ALL):
        return None
    try:
        kind = RecordKind(found["kind"])
    except ValueError:
        return None
    more: dict[str, type] = {"key": str, "run": str, "partition": int, "digest": str}
    if kind is RecordKind.HIGH_WATER_MARK:
        more = {name: str for name in _OF_A_MARK if name in found}
    known = all(name in _OF_ALL or name in more or name.startswith(OPTIONAL) for name in found)
    return kind if known and _says(found, **more) else None


def is_claim_of_another_version(record: StatusRecord) -> bool:
    """Return whether a record on a shared status queue has the format of another version of mqgroups."""
    found = record.checkpoint
    return isinstance(found, dict) and {"kind", "sink"} <= found.keys() and kind_of_record(record) is None


def _says(found: Mapping[str, Any], **fields: type) -> bool:
    """Return whether ``found`` has these fields with exactly these types. ``True`` is not accepted as an int."""
    return all(type(found.get(name)) is kind for name, kind in fields.items())


class MessagesDigest:
    """A digest of everything that is put for a group's messages. It depends on the order of the messages."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()

    def add(self, *parts: bytes) -> None:
        """Add the parts of one message. The number of parts must be the same for every message."""
        for part in parts:
            self._sha256.update(b"%d:" % len(part))
            self._sha256.update(part)

    def value(self) -> str:
        """Return the digest of all parts added so far, 64 hexadecimal digits."""
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

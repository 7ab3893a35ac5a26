"""The records of one group on a shared status queue, for the attempt that puts the group; see ``core.claim``.

The first commit of the attempt is its claim. Before that commit, ``read`` claims the group and returns the record that the claim
replaces. After that commit, ``read`` returns the record on the queue, as for an owner's status queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mqgroups.batch.errors import BatchRefused, another_attempt
from mqgroups.batch.shared_queue import FoundRecord, SharedStatusQueue
from mqgroups.connection.queue import Queue
from mqgroups.core.claim import (
    Claim,
    ClaimAction,
    MessagesDigest,
    claim_action,
    claim_values,
    new_intent,
    new_status,
    taken_over,
)
from mqgroups.core.model import Role
from mqgroups.core.ownership import Kept
from mqgroups.core.restart import Expectations, mismatch_of
from mqgroups.core.status import Mark, StatusRecord
from mqgroups.core.steps import OpenAgain, Refused, Steps
from mqgroups.errors import OwnershipLost
from mqgroups.status.keeper import Keeper
from mqgroups.status.opening import check_stays
from mqgroups.status.records import foreign_record

NOTHING = MessagesDigest().value()


class GroupAlreadyPut(Exception):
    """The group is complete, so it cannot be claimed. ``status``: the group's record; ``None`` if its batch is complete."""

    def __init__(self, status: StatusRecord | None) -> None:
        super().__init__()
        self.status = status


@dataclass(frozen=True, slots=True)
class _ClaimedRecord(Kept):
    """A group's status record; see ``core.ownership.Kept``. Its methods yield no steps, because ``records`` makes the calls.

    Attributes:
        records: the keeper.
        found: the record on the queue; ``None`` until the group's first record is put.
        claimed: whether this attempt's claim is committed.
    """

    records: ClaimedRecords
    found: FoundRecord | None = None
    claimed: bool = False
    # The record that is got, the record that is put, and the intent.
    most_messages: int = 3

    @property
    def queue(self) -> str:
        return self.records.name

    def read(self, marks: Sequence[Mark] = ()) -> Steps[tuple[_ClaimedRecord, StatusRecord | None]]:  # noqa: ARG002 - one CorrelId
        yield from ()
        found, record = self.records.read() if self.claimed else self.records.read_to_claim()
        return replace(self, found=found), record

    def seen_elsewhere(self, marks: tuple[Mark, ...]) -> Steps[StatusRecord | None]:  # noqa: ARG002 - one CorrelId
        yield from ()
        return self.records.seen()

    def replaced(self, record: StatusRecord, *, ends_chain: bool = False) -> Steps[_ClaimedRecord]:  # noqa: ARG002 - no segments
        yield from ()
        return replace(self, found=self.records.replace(self.found, record, claimed=self.claimed))

    def after_commit(self) -> _ClaimedRecord:
        return self if self.claimed else replace(self, claimed=True)


class ClaimedRecords(Keeper):
    """One group's records, and one attempt's claim on them. When the group is complete, its record stays."""

    def __init__(self, shared: SharedStatusQueue, claim: Claim) -> None:
        self.kept = _ClaimedRecord(self)
        self._shared = shared
        self._claim = claim
        self._lock: Queue | None = None

    @property
    def name(self) -> str:
        return self._shared.name

    @property
    def is_stale(self) -> bool:
        return self._shared.is_stale

    def answer(self, step: Any) -> bool:
        """Open the queue again if it is stale. ``step`` is always ``OpenAgain``, because ``kept`` makes all other calls."""
        assert isinstance(step, OpenAgain)
        is_stale = self._shared.is_stale
        if is_stale:
            self._shared.reopen()
        return is_stale

    def error_for(self, refused: Refused) -> BaseException:
        """Return an AssertionError. This is never called, because ``read`` and ``replace`` raise their own errors."""
        return AssertionError(refused)

    def seen(self) -> StatusRecord | None:
        """Return the status record; ``None`` if it is hidden or gone."""
        found = self._shared.find_one(self._claim.status_id)
        return found.record if found else None

    def read(self) -> tuple[FoundRecord | None, StatusRecord | None]:
        """Return the record on the queue; ``None`` if both record and intent are gone. Call this after the claim is committed.

        Raises StatusError or MQIError. Raises OwnerActive if another attempt has the record in a unit of work; then try again.
        """
        found = self._shared.find_one(self._claim.status_id)
        if found is None and self._shared.find_one(self._claim.intent_id) is not None:
            raise self._shared.in_use("MQGET")
        return found, found.record if found else None

    def replace(self, found: FoundRecord | None, record: StatusRecord, *, claimed: bool) -> FoundRecord:
        """Replace ``found`` by ``record``. A group's first record is put together with its intent.

        ``claimed``: whether ``found`` is this attempt's own record. Raises StatusQueueUnusable if such a record expires. If
        another attempt has replaced ``found``, raises OwnershipLost if ``claimed``, else OwnerActive (then claim again).
        """
        if found is None:
            self._shared.put(new_intent(self._claim), self._claim.intent_id)
        else:
            md = self._shared.take(found)
            if md is None:
                raise self._lost(found.record) if claimed else self._shared.in_use("MQGET")
            if claimed:
                check_stays(self.name, md)
        return self._shared.put(record, self._claim.status_id)

    def unit_ended(self) -> None:
        """Release the lock, because the first unit of work has committed or backed out the claim."""
        self._unlock()

    def close(self, *, delete: bool = False) -> None:  # noqa: ARG002 - the queue is not one owner's to delete
        """Release the lock. The queue stays open for the next group."""
        self._unlock()

    def give_up(self) -> None:
        """Release the lock after a start that has failed."""
        self._unlock()

    def read_to_claim(self) -> tuple[FoundRecord | None, StatusRecord]:
        """Claim the group. Return the record on the queue, and the record that the claim replaces (a new one for a new group).

        Raises:
            GroupAlreadyPut: the group is complete.
            OwnerActive: another attempt has the records in a unit of work, or is claiming the group; try again.
            BatchRefused: another part of the same batch has claimed the group.
            StatusError, MQIError: the records on the queue cannot be used, or a call failed.
        """
        claim, shared = self._claim, self._shared
        self._unlock()
        self._lock = shared.lock(claim.intent_id)
        intent = shared.find_one(claim.intent_id)
        status = mark = None
        if intent is not None:
            # The group has records, so it needs no lock. The attempt that gets the status record has the group.
            self._unlock()
            status = shared.find_one(claim.status_id)
        else:
            completed = shared.completed_batch(claim.sink)
            mark = completed.number if completed else None
        found = status.record if status else None
        if found is not None:
            self._refuse_foreign(found)
        action = claim_action(claim, intent=intent.record if intent else None, status=found, high_water_mark=mark)
        if action is ClaimAction.WAIT:
            raise shared.in_use("MQGET")
        if action in (ClaimAction.ALREADY_PUT, ClaimAction.BATCH_COMPLETED):
            self._unlock()
            raise GroupAlreadyPut(found)
        if found is None:
            return None, new_status(claim, NOTHING)
        if action is ClaimAction.STOP_KEY_IN_TWO_PARTITIONS:
            other = claim_values(found.checkpoint)["partition"]
            raise BatchRefused(
                f"key {claim.key!r} has rows in partition {other} and in partition {claim.partition}, but one task must put the "
                "whole group. Bring the rows of a key together before writing: df.repartition(column). The rows of partition "
                f"{other} may be on the queue already, as a complete group; the batch is then refused when it is run again, and "
                "the error says what to do",
                "two-partitions",
            )
        return status, taken_over(claim, found)

    def _refuse_foreign(self, found: StatusRecord) -> None:
        sink = self._claim.sink
        mismatch = mismatch_of(found, Expectations(Role.PUT, self._claim.name, sink.queue, sink.q_mgr_identifier))
        if mismatch is not None:
            raise foreign_record(self.name, mismatch)

    def _lost(self, mine: StatusRecord) -> OwnershipLost:
        seen = self.seen()
        found = (seen.owner_id, seen.epoch) if seen else ("", 0)
        return another_attempt(self._claim.name, self.name, found, (mine.owner_id, mine.epoch))

    def _unlock(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.close()

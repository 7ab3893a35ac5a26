"""The records of one group on a shared status queue, for the attempt that puts the group; see ``core.claim``.

The first commit is that of the claim. Until then ``read`` claims the group and returns the record that the claim has to replace.
After that ``read`` returns the record on the queue, like an owner's status queue.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from mqgroups.core.restart import Expectations, restart_action
from mqgroups.core.status import Mark, StatusRecord
from mqgroups.errors import KeyInTwoPartitions, OwnershipLost
from mqgroups.status.keeper import RecordKeeper
from mqgroups.status.opening import check_stays
from mqgroups.status.records import foreign_record

NOTHING = MessagesDigest().value()


class GroupAlreadyPut(Exception):
    """The group is complete, so it cannot be claimed. ``status`` is its record; ``None`` if its batch was completed."""

    def __init__(self, status: StatusRecord | None) -> None:
        super().__init__()
        self.status = status


class ClaimedRecords(RecordKeeper):
    """One group's records, and one attempt's claim on them. When the group is complete its record says so, and stays."""

    # The record that is got, the record that is put, and the intent.
    most_messages = 3

    def __init__(self, shared: SharedStatusQueue, claim: Claim) -> None:
        self.name = shared.name
        self._shared = shared
        self._claim = claim
        self._claimed = False
        self._lock: Queue | None = None
        # The record on the queue: after the last commit, and as this unit of work sees it.
        self._committed: FoundRecord | None = None
        self._current: FoundRecord | None = None

    @property
    def is_stale(self) -> bool:
        """Whether the connection was replaced since, so that ``reopen`` is needed."""
        return self._shared.is_stale

    def reopen(self) -> None:
        """Open the queue again on a new connection; one try."""
        self._shared.reopen()

    def held_by(self) -> StatusRecord | None:
        """Return the status record; ``None`` if it is hidden or gone."""
        found = self._shared.find_one(self._claim.status_id)
        return found.record if found else None

    def read(self, marks: Sequence[Mark] = ()) -> StatusRecord | None:  # noqa: ARG002 - there is one of its CorrelId
        """Claim the group; or, after the claim was committed, return its record.

        Returns:
            Before that commit, the record that the claim replaces; for a new group this is not on the queue. After it, the
            record on the queue; ``None`` if it and the intent are gone.

        Raises:
            GroupAlreadyPut: the group is complete.
            OwnerActive: another attempt has the records in a unit of work, or is claiming the group; try again.
            KeyInTwoPartitions: another part of the same batch has claimed the group.
            StatusError: the records on the queue cannot be used.
            MQIError: a call failed.
        """
        if not self._claimed:
            return self._read_to_claim()
        self._committed = self._current = self._shared.find_one(self._claim.status_id)
        if self._current is None and self._shared.find_one(self._claim.intent_id) is not None:
            raise self._shared.in_use("MQGET")
        return self._current.record if self._current else None

    def stage(self, record: StatusRecord, *, last: bool = False) -> None:  # noqa: ARG002 - records are no segments here
        """Replace the record by ``record``. A group's first record is put together with its intent.

        Raises:
            OwnerActive: another attempt replaced the record between ``read`` and the claim; claim again.
            OwnershipLost: another attempt has replaced the record.
            StatusQueueUnusable: the record that the claim has put expires.
        """
        if self._current is None:
            self._shared.put(new_intent(self._claim), self._claim.intent_id)
        else:
            md = self._shared.take(self._current)
            if md is None:
                raise self._lost(self._current.record) if self._claimed else self._shared.in_use("MQGET")
            if self._claimed:
                check_stays(self.name, md)
        self._current = self._shared.put(record, self._claim.status_id)

    def ended(self, *, committed: bool) -> None:
        """Take note that the unit of work was committed or backed out. The first commit is the claim."""
        if committed:
            self._claimed = True
            self._committed = self._current
        else:
            self._current = self._committed
        self._unlock()

    def close(self, *, delete: bool = False) -> None:  # noqa: ARG002 - the queue is not one owner's to delete
        """Release the lock. The queue stays open for the next group."""
        self._unlock()

    def _read_to_claim(self) -> StatusRecord:
        claim, shared = self._claim, self._shared
        self._unlock()
        self._lock = shared.lock(claim.intent_id)
        intent = shared.find_one(claim.intent_id)
        status = mark = None
        if intent is not None:
            # The group has records, so the lock is not needed: the attempt that gets the status record has the group.
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
            return new_status(claim, NOTHING)
        if action is ClaimAction.STOP_KEY_IN_TWO_PARTITIONS:
            raise KeyInTwoPartitions(claim.key, claim_values(found.checkpoint)["partition"], claim.partition)
        self._committed = self._current = status
        return taken_over(claim, found)

    def _refuse_foreign(self, found: StatusRecord) -> None:
        sink = self._claim.sink
        decision = restart_action(found, Expectations(Role.PUT, self._claim.name, sink.queue, sink.q_mgr_identifier))
        if decision.mismatch is not None:
            raise foreign_record(self.name, decision.mismatch)

    def _lost(self, mine: StatusRecord) -> OwnershipLost:
        seen = self.held_by()
        found = (seen.owner_id, seen.epoch) if seen else ("", 0)
        return OwnershipLost(self._claim.name, self.name, found, (mine.owner_id, mine.epoch))

    def _unlock(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.close()

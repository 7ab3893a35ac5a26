"""BatchProducer: one attempt to put one part of a batch. Each group is put exactly once, even if attempts fail.

It is for schedulers that repeat work. A task may fail and be repeated, may continue after the scheduler has given it up, or may
run again because the end of its batch was lost. The attempts of a batch share a status queue (``core.claim``). ``Putter`` puts
each group, with records on that queue. So a group recovers from a crash, a lost answer or a lost connection like any other group.

When a batch is repeated, each group must have the same messages in the same order. A digest in the status record checks this.
When all parts of a batch are put, call ``completion.complete_batch``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

from mqgroups.batch.claimed_records import ClaimedRecords, GroupAlreadyPut
from mqgroups.batch.errors import another_attempt, other_messages
from mqgroups.batch.shared_queue import SharedStatusQueue
from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import OWNER_ACTIVE, Patience
from mqgroups.core.claim import Claim, CompletedBatch, MessagesDigest, RecordKind, Sink, claim_values
from mqgroups.core.status import Checkpoint, StatusRecord
from mqgroups.errors import MessageRefused, MQIError, OwnerActive, OwnershipLost
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import PropertyValue
from mqgroups.names import checked_queue_name
from mqgroups.put.group import OutgoingGroup
from mqgroups.put.putter import claimed_putter
from mqgroups.setting import Whole, check_text
from mqgroups.settings import SHARED_STATUS_MODEL, Producing
from mqgroups.telemetry import metrics

_NUMBER = Whole(0)


class BatchMessage(NamedTuple):
    """One message of a group. The fields are arguments of ``OutgoingGroup.put``."""

    payload: bytes | str
    format: str | None = None
    correl_id: bytes | None = None
    properties: Mapping[str, PropertyValue] | None = None
    ccsid: int | None = None


@dataclass(frozen=True, kw_only=True)
class BatchSettings(Producing):
    """The settings of a batch producer: those of a producer, and the attributes below. Groups are put with MQOO_BIND_ON_GROUP.

    Attributes:
        name: the name of the program that puts batches to ``queue``, any text; the same for all batches and attempts.
        batch: the batch's number; a later batch has a higher number.
        run: identifies the execution of the batch; the same for all attempts of this execution.
        partition: which part of the batch this attempt puts.
        token: an identity that no other attempt has.
        status_queue: a queue on the same queue manager, shared by all attempts.
        owner_wait_s: how many seconds to wait for a group that is in another program's unit of work. This should be longer than
            the queue manager needs to notice that a client is gone.
    """

    name: Annotated[str, check_text]
    batch: Annotated[int, _NUMBER]
    run: str
    partition: Annotated[int, _NUMBER]
    token: str
    status_queue: Annotated[str, checked_queue_name]
    status_model: Annotated[str, checked_queue_name] = SHARED_STATUS_MODEL
    owner_wait_s: float = 60.0


class BatchProducer:
    """A producer of the groups of one part of a batch. The caller must close it; the connection stays open."""

    def __init__(self, connection: Connection, settings: BatchSettings) -> None:
        """Open the status queue; raises StatusError or MQIError."""
        self.connection = connection
        self._settings = settings
        self._sink = Sink(settings.name, settings.queue, connection.q_mgr_identifier)
        self._queue: Queue | None = None
        self._claiming = connection.retrying(Patience(settings.owner_wait_s), OWNER_ACTIVE)
        connection.reopening(self._open)

    def _open(self) -> None:
        settings = self._settings
        self._shared = SharedStatusQueue(
            self.connection,
            settings.status_queue,
            settings.status_model,
            record_users=settings.record_users,
        )

    def completed(self) -> CompletedBatch | None:
        """Return the last completed batch if it is this attempt's or a later one, so that nothing is left to put; else ``None``.

        Raises StatusError or MQIError.
        """
        completed = self.connection.reopening(self._completed_batch)
        return completed if completed is not None and completed.number >= self._settings.batch else None

    def _completed_batch(self) -> CompletedBatch | None:
        shared = self.reopened()
        shared.check_first()
        return shared.completed_batch(self._sink)

    def put_group(self, key: str, messages: Iterable[BatchMessage], *, priority: int | None = None) -> int:
        """Put one group, or the rest of it. Return how many messages this attempt has put.

        Args:
            key: identifies the group within its batch.
            messages: all messages of the group, at least one. Committed messages are compared and skipped.
            priority: the priority of all messages, 0 to 9; by default the queue's.

        Raises:
            OwnershipLost: another attempt has taken over the group. This attempt must end.
            BatchRefused: the committed messages differ from these; or another part of the batch has messages with this key.
            OwnerActive: after ``owner_wait_s`` the group is still in another program's unit of work.
            MQGroupsError: any other failure. The group can be resumed from its last commit.
        """
        settings = self._settings
        claim = Claim(self._sink, settings.batch, key, settings.token, settings.run, settings.partition)
        began_s = time.monotonic()
        try:
            producer = self._claiming(_ClaimedGroup, self, claim, priority)
        except GroupAlreadyPut as found:
            if found.status is not None:
                self._check_whole(claim, found.status, messages)
            return 0
        except OwnerActive as error:
            error.context = f"Waited {settings.owner_wait_s:g} s for group {claim.name}"
            raise
        finally:
            metrics.waited_for_status_queue(settings.status_queue, time.monotonic() - began_s)
        try:
            number = producer.put_messages(messages)
        except OwnershipLost as error:
            producer.give_up()
            raise another_attempt(error.name, error.status_queue, error.found, error.expected) from None
        except MessageRefused as error:
            producer.give_up()
            raise MessageRefused(f"message {producer.at + 1} of group {claim.name}: {error}") from error
        except MQIError as error:
            where = f"This was at message {producer.at} of group {claim.name}" if producer.at else f"Group {claim.name}"
            error.context = ". ".join(part for part in (where, error.context) if part)
            producer.give_up()
            raise
        except BaseException:
            producer.give_up()
            raise
        producer.end()
        return number

    def close(self) -> None:
        """Close the queues. Idempotent."""
        for queue in (self._shared, self._queue):
            if queue is not None:
                queue.close()

    def reopened(self) -> SharedStatusQueue:
        """Return the status queue. If its connection was replaced, open the queue again first."""
        if self._shared.is_stale:
            self._shared.reopen()
        return self._shared

    def open_queue(self) -> Queue:
        """Return the queue that groups are put to. It is open, and ready for a new group."""
        if self._queue is None or not self._queue.is_open:
            self._queue = self.connection.open_queue(self._settings.queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_GROUP)
        return self._queue

    def settings_of_group(self, claim: Claim, priority: int | None) -> Producing:
        """Return the producer settings for one group."""
        return replace(self._settings, name=claim.name, priority=priority)

    def _check_whole(self, claim: Claim, status: StatusRecord, messages: Iterable[BatchMessage]) -> None:
        digest = MessagesDigest()
        number = _pass_over(iter(messages), sys.maxsize, digest)
        _check_same(claim, status.group_id, status.msg_seq_number, number, digest, status.checkpoint)


class _ClaimedGroup:
    """One group of a batch that this attempt has claimed."""

    def __init__(self, batch: BatchProducer, claim: Claim, priority: int | None) -> None:
        self._batch = batch
        self._connection = batch.connection
        self._claim = claim
        self._priority = priority
        # The number of the message that is being put. One message is held back, so this is one less than the last given.
        self.at = 0
        with self._connection.turn:
            self._connection.reopening(self._start)
            self._putter.owner.tell_resumed()

    def _start(self) -> None:
        keeper = ClaimedRecords(self._batch.reopened(), self._claim)
        settings = self._batch.settings_of_group(self._claim, self._priority)
        self._putter = claimed_putter(
            self._connection,
            settings,
            keeper,
            open_queue=self._batch.open_queue,
            owner_id=self._claim.token,
        )

    def put_messages(self, messages: Iterable[BatchMessage]) -> int:
        """Put the messages that are not committed. Return how many were put."""
        claim, digest, number = self._claim, MessagesDigest(), 0
        left = iter(messages)
        with OutgoingGroup(self._putter) as group:
            if group.resume_from:
                number = _pass_over(left, group.resume_from, digest)
                group_id = self._putter.owner.committed.group_id
                _check_same(claim, group_id, group.resume_from, number, digest, group.checkpoint)
            for message in left:
                digest.add(*_parts(message))
                self.at, number = number, number + 1
                group.set_checkpoint(claim.checkpoint(RecordKind.STATUS, digest.value()))
                group.put(
                    message.payload,
                    format=message.format,
                    ccsid=message.ccsid,
                    correl_id=message.correl_id,
                    properties=message.properties,
                )
            if group.resume_from and number == group.resume_from:
                raise other_messages(
                    claim.name, group_id, number, "no message follows, although none of them was the last"
                )
            self.at = number
        return number - group.resume_from

    def end(self) -> None:
        """Release the lock of a complete group. Its record stays, and the batch's queue stays open."""
        self._putter.owner.keeper.close()

    def give_up(self) -> None:
        """Back out, and close the queue, because its handle is in the middle of a group."""
        with self._connection.turn:
            try:
                self._putter.back_out(None)
            finally:
                self._putter.close()


def _pass_over(messages: Iterator[BatchMessage], most: int, digest: MessagesDigest) -> int:
    passed = 0
    while passed < most and (message := next(messages, None)) is not None:
        digest.add(*_parts(message))
        passed += 1
    return passed


def _check_same(
    claim: Claim, group_id: bytes, committed: int, given: int, digest: MessagesDigest, checkpoint: Checkpoint
) -> None:
    if given != committed:
        raise other_messages(claim.name, group_id, committed, f"{given} are given now")
    if digest.value() != claim_values(checkpoint)["digest"]:
        raise other_messages(claim.name, group_id, committed, "other messages are given now in their place")


def _parts(message: BatchMessage) -> tuple[bytes, bytes, bytes, bytes]:
    """Return the parts of a message that the digest covers."""
    payload, format_name, correl_id, properties, ccsid = message
    text = (b"\1" if isinstance(payload, str) else b"") + (b"" if ccsid is None else b"\2%d\2" % ccsid)
    data = payload.encode() if isinstance(payload, str) else payload
    names = b"" if not properties else repr(sorted(properties.items())).encode()
    return data, text + (format_name or "").encode(), correl_id or b"", names

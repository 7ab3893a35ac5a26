"""A status queue that many attempts share. Records are found by CorrelId, and each attempt replaces only its own records.

``core.claim`` explains the records and decides who may claim a group. This module browses, puts and gets records.

The queue is open for shared input. For an owner's status queue, the exclusive open is both lock and fence. Here the two differ:

Fence: a record is got only by the MsgId with which it was put or browsed. An attempt that knows only an old record finds nothing.

Lock: while an attempt claims a group without records, it holds a temporary dynamic queue that is named after the group. Only one
such queue can exist at a time. The next MQOPEN fails with MQRC_OBJECT_ALREADY_EXISTS, on z/OS perhaps with MQRC_NAME_IN_USE. The
queue is deleted when it is closed or its connection ends (IBM MQ, "Dynamic queues"). If all attempts opened one queue exclusively
instead, all groups of a sink would wait for each other.

User: an attempt believes a record only if the record's UserIdentifier is the attempt's own user, or one of ``record_users``. An
attempt that has put no record yet puts a message and backs out, to learn its own user.

IBM does not say whether a lost connection's unit of work is backed out before its temporary queue is deleted. The code does not
depend on this order, because the uncommitted messages are puts, which no other attempt sees in either case.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue, closed_if_it_fails
from mqgroups.core.claim import CompletedBatch, Sink, completed_batch, is_claim_of_another_version, kind_of_record
from mqgroups.core.restart import Mismatch
from mqgroups.core.status import StatusRecord, encode, shown
from mqgroups.core.to_copy import to_copy
from mqgroups.errors import MQIError, NotAuthorised, OwnerActive, QueueMissing, StatusQueueUnusable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.settings import CLAIM_MODEL
from mqgroups.status.opening import check_kind, open_keeping_users, open_or_make
from mqgroups.status.records import (
    LONGEST_RECORD_BYTES,
    corrupt_record,
    decoded_record,
    foreign_record,
    of_another_version,
    record_of_another_version,
    refuse_strangers,
)

_OPEN_OPTIONS = mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE | mq.MQOO_NO_READ_AHEAD
_PUT = st.pmo(st.PUT_NEW_MESSAGE)
_PASS_USER = st.PUT_NEW_MESSAGE | mq.MQPMO_PASS_IDENTITY_CONTEXT
_TAKE = st.gmo(
    mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING,
    match_options=mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID,
)
_LOCKED = frozenset({mq.MQRC_OBJECT_ALREADY_EXISTS, mq.MQRC_NAME_IN_USE})
_LOCK_NAME_BYTES = 16


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A record on the queue.

    ``expiry``: the time until the record expires, in tenths of a second, as in MQMD. ``user``: the record's UserIdentifier.
    """

    record: StatusRecord
    msg_id: bytes
    correl_id: bytes
    expiry: int = mq.MQEI_UNLIMITED
    user: str = ""


class SharedStatusQueue:
    """An open status queue that many attempts share."""

    def __init__(
        self,
        connection: Connection,
        name: str,
        model: str = "",
        *,
        record_users: Collection[str] | None = None,
        exclusive: bool = False,
    ) -> None:
        """Open the queue, or make it from the model queue if it does not exist.

        Args:
            connection: connects to the queue manager that also has the groups' queue. A unit of work includes both queues.
            name: the name of the queue.
            model: a model queue, DEFTYPE(PERMDYN) SHARE; empty if the queue must exist.
            record_users: users whose records are believed besides this program's own; ``None`` (for operators) means all users.
            exclusive: whether to open the queue exclusively, for operators. Replaced records then keep their users.

        Raises:
            QueueMissing: the queue does not exist, and ``model`` is empty.
            StatusQueueUnusable: neither the queue nor the model queue exists; or the queue cannot be shared, or is temporary.
            OwnerActive: ``exclusive`` is set, and an attempt has the queue open.
            MQIError: the queue cannot be opened.
        """
        self.name = name
        self._connection = connection
        self._open_options = _OPEN_OPTIONS | (mq.MQOO_INPUT_EXCLUSIVE if exclusive else mq.MQOO_INPUT_SHARED)
        self._keeps_users = exclusive
        # The error 2035, if this user lacks the authority to keep the users of records.
        self._cannot_keep: NotAuthorised | None = None
        self._users = None if record_users is None else set(record_users)
        self._knows_own_user = False
        self._lock_is_good = False
        self._queue = self._open(model)
        with closed_if_it_fails(self._queue):
            self._check()

    @property
    def is_stale(self) -> bool:
        """Whether the connection was replaced, so that ``reopen`` is needed."""
        return self._queue.is_stale

    def reopen(self) -> None:
        """Open the queue again on a new connection."""
        self._queue = self._open("")

    def find(self, correl_id: bytes) -> list[FoundRecord]:
        """Browse the records with this CorrelId. Records in an open unit of work are hidden.

        Raises MQIError, or StatusQueueUnusable if a record cannot be read, or its user is not trusted.
        """
        found = list(self._browse(st.md(correl_id=correl_id), mq.MQMO_MATCH_CORREL_ID))
        self.refuse_strangers(found)
        return found

    def refuse_strangers(self, found: Collection[FoundRecord]) -> None:
        """Raise StatusQueueUnusable if the user of a record in ``found`` is not trusted. Raise MQIError if a call fails."""
        if self._users is None or not found:
            return
        if not self._knows_own_user:
            self._connection.begin(self)
            try:
                self._put_message(st.md(), _PUT, b"")
            finally:
                self._connection.back_out()
        refuse_strangers(self.name, (each.user for each in found), self._users)

    def find_one(self, correl_id: bytes) -> FoundRecord | None:
        """Browse for the record with this CorrelId. Return ``None`` if there is none. Raises the errors of ``find``.

        Also raises StatusQueueUnusable if there are several records, and OwnerActive if the record is replaced too often during
        the browse. After OwnerActive, try again.
        """
        found = self.find(correl_id)
        if len(found) > 1:
            # A browse takes several calls, so it may find a record and then its replacement. A record that two browses find was
            # there all the time.
            seen = {each.msg_id for each in found}
            found = self.find(correl_id)
            if sum(each.msg_id in seen for each in found) > 1:
                raise self._several(found)
            if len(found) > 1:
                raise self.in_use("MQGET")
        return found[0] if found else None

    def find_all(self) -> Iterator[FoundRecord]:
        """Browse all records."""
        return self._browse(st.md(), mq.MQMO_NONE)

    def check_first(self) -> None:
        """Raise StatusQueueUnusable if the first message is not a record of a sink. Call this before a group is put."""
        try:
            next(self.find_all(), None)
        except StatusQueueUnusable as error:
            if error.because != "corrupt":
                raise
            raise StatusQueueUnusable(
                f"status queue {self.name}: found {error.found}, expected records of sinks. Nothing was put. The status queue of "
                "a Spark stream that reads, or of a producer or consumer, cannot be a sink's. Give the sink another one. "
                "If the queue was only used for sinks, find out which program put this message",
                status_queue=self.name,
                found=error.found,
                expected=error.expected,
            ) from None

    def completed_batch(self, sink: Sink) -> CompletedBatch | None:
        """Return the last completed batch of the sink; ``None`` if there is none.

        Raises StatusQueueUnusable if the high-water mark names another queue manager.
        """
        completed = None
        for each in self.find(sink.high_water_mark_id):
            found, expected = each.record.q_mgr_identifier, sink.q_mgr_identifier
            if found != expected:
                raise foreign_record(self.name, Mismatch("q_mgr_identifier", found, expected))
            batch = completed_batch(each.record.checkpoint)
            # Of two marks with the same number, the later one counts.
            if completed is None or batch.number >= completed.number:
                completed = batch
        return completed

    def put(self, record: StatusRecord, correl_id: bytes, *, expiry_s: int | None = None) -> FoundRecord:
        """Put a record in the caller's unit of work. The record expires after ``expiry_s`` seconds, by default never."""
        return self._put(record, correl_id, mq.MQEI_UNLIMITED if expiry_s is None else expiry_s * 10, _PUT)

    def _put(self, record: StatusRecord, correl_id: bytes, expiry: int, pmo: bytearray) -> FoundRecord:
        md = st.md(format_name=mq.MQFMT_STRING, ccsid=1208, correl_id=correl_id, expiry=expiry)
        msg_id, user = self._put_message(md, pmo, encode(record))
        return FoundRecord(record, msg_id, correl_id, expiry, user)

    def _put_message(self, md: bytearray, pmo: bytearray, data: bytes) -> tuple[bytes, str]:
        md_out, _ = self._queue.put(md, pmo, data)
        user = st.name_at(md_out, st.MD_USER_IDENTIFIER)
        if self._users is not None:
            self._users.add(user)
            self._knows_own_user = True
        return md_out[st.MD_MSG_ID], user

    def replace(self, found: FoundRecord, record: StatusRecord) -> None:
        """Replace ``found`` by ``record`` if ``found`` is still there. The user and the expiry stay the same.

        Raises MQIError, or NotAuthorised if another user has put ``found``, and this program has no authority to keep that user.
        """
        pmo = _PUT if self._cannot_keep else st.pmo(_PASS_USER, context=self._queue.hobj)
        put = self._put(record, found.correl_id, found.expiry, pmo) if self.take(found) else found
        if self._cannot_keep is not None and put.user != found.user:
            raise self._cannot_keep

    def take(self, record: FoundRecord) -> bytes | None:
        """Get a record in the caller's unit of work. Return its MQMD; ``None`` if the record is gone or hidden."""
        got = self._queue.get(st.md(msg_id=record.msg_id, correl_id=record.correl_id), _TAKE)
        return None if got is None else got[1]

    def lock(self, correl_id: bytes) -> Queue:
        """Lock a group in order to claim it. The lock ends when the returned queue is closed, or when the connection ends.

        Raises:
            OwnerActive: another attempt is claiming the group, or the lock of a lost connection still exists.
            StatusQueueUnusable: the model queue for locks does not exist, or is not DEFTYPE(TEMPDYN).
            MQIError: the lock cannot be made.
        """
        name = f"MQGROUPS.CLAIM.{correl_id[:_LOCK_NAME_BYTES].hex().upper()}"
        try:
            lock = self._connection.open_queue(CLAIM_MODEL, mq.MQOO_INQUIRE, dynamic_q_name=name)
        except QueueMissing:
            raise StatusQueueUnusable(
                f"the model queue {CLAIM_MODEL} for locks on status queue {self.name} does not exist. "
                f"DEFINE QMODEL('{CLAIM_MODEL}') DEFTYPE(TEMPDYN) NOSHARE DEFSOPT(EXCL)",
                status_queue=self.name,
            ) from None
        except MQIError as error:
            if error.reason not in _LOCKED:
                raise
            raise self.in_use("MQOPEN") from None
        if not self._lock_is_good:
            with closed_if_it_fails(lock):
                self._check_lock(lock)
        return lock

    def _several(self, found: list[FoundRecord]) -> StatusQueueUnusable:
        return StatusQueueUnusable(
            f"status queue {self.name} has {len(found)} records of {shown(found[0].record.name)} with CorrelId "
            f"{found[0].correl_id.hex()}, expected one. Another program has put or restored messages on this queue. Keep the "
            "record with the highest epoch and unit_of_work, and remove the others",
            status_queue=self.name,
            because="several",
            found=len(found),
            expected=1,
        )

    def in_use(self, verb: str) -> OwnerActive:
        """Return the error for records or locks that another attempt has at the moment. The caller can try again later."""
        return OwnerActive(verb, f"status queue {self.name}", mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)

    def close(self) -> None:
        """Close the queue. Idempotent."""
        self._queue.close()

    def _browse(self, wanted: bytearray, match_options: int) -> Iterator[FoundRecord]:
        for data, md, _ in self._queue.browse(wanted, match_options):
            try:
                record = decoded_record(self.name, data, md)
            except StatusQueueUnusable as error:
                if error.because != "corrupt" or not _is_of_a_source(data):
                    raise
                found, expected = "a manifest of a Spark source", "records of sinks"
                raise StatusQueueUnusable(
                    f"status queue {self.name}: found {found}, expected {expected}. This is the status queue of a Spark source, "
                    "not of a sink. Leave its messages alone: without them the source's query stops. Name another queue in the "
                    "sink's option statusQueue",
                    status_queue=self.name,
                    because="corrupt",
                    found=found,
                    expected=expected,
                ) from None
            if kind_of_record(record) is None:
                if is_claim_of_another_version(record):
                    raise record_of_another_version(self.name, of_another_version(record), "a claim of this version")
                raise corrupt_record(
                    self.name, f"the status record of {shown(record.name)}", "records of a shared status queue"
                )
            expiry, user = st.long_at(md, st.MD_EXPIRY), st.name_at(md, st.MD_USER_IDENTIFIER)
            yield FoundRecord(record, md[st.MD_MSG_ID], md[st.MD_CORREL_ID], expiry, user)

    def _open(self, model: str) -> Queue:
        return open_or_make(self._connection, self._open_as, self.name, model, "SHARE DEFSOPT(SHARED)")[0]

    def _open_as(self, name: str, dynamic_q_name: str = "") -> Queue:
        def opened(context: int) -> Queue:
            return self._connection.open_queue(
                name,
                self._open_options | context,
                dynamic_q_name=dynamic_q_name,
                max_message_length=LONGEST_RECORD_BYTES,
            )

        if not self._keeps_users:
            return opened(0)
        queue, self._cannot_keep = open_keeping_users(opened)
        return queue

    def _check_lock(self, lock: Queue) -> None:
        if lock.inquire(mq.MQIA_DEFINITION_TYPE) != mq.MQQDT_TEMPORARY_DYNAMIC:
            lock.close(mq.MQCO_DELETE)
            raise StatusQueueUnusable(
                f"the model queue {CLAIM_MODEL} for locks on status queue {self.name} is not DEFTYPE(TEMPDYN), so the lock "
                "of an attempt that dies would stay. DELETE it, and DEFINE it with DEFTYPE(TEMPDYN)",
                status_queue=self.name,
                found="not temporary dynamic",
                expected="temporary dynamic",
            )
        self._lock_is_good = True

    def _check(self) -> None:
        check_kind(self._queue)
        if self._queue.inquire(mq.MQIA_SHAREABILITY) != mq.MQQA_SHAREABLE:
            raise StatusQueueUnusable(
                f"status queue {self.name} is NOSHARE, but many attempts have to open it at the same time. "
                f"{to_copy('ALTER QLOCAL({})', self.name)} SHARE DEFSOPT(SHARED)",
                status_queue=self.name,
                found="NOSHARE",
                expected="SHARE",
            )


def _is_of_a_source(data: bytes) -> bool:
    """Return whether a message belongs to a Spark stream that reads a queue (``spark.manifests``)."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "manifest" in value

"""Opens the status queue of one owner exclusively, browses the queue, and gets and puts the status record.

The exclusive open is both lock and fence. MQRC_OBJECT_IN_USE means that the previous owner still has the queue open, and a start
waits until it is closed. After an owner has died, a unit of work may still hide the record, even if the owner's handles are
closed. An anchor beside the record shows that the record exists (``core.status_chain``), so a start waits for the record too.

A record is trusted only if its UserIdentifier is the owner's own user, or a user whom the application names. By default the
queue manager sets this field. A program needs the authority +setid to set another user (IBM MQ, "Controlling message context
information"). The owner learns its own user from the MQPUT of its claim. If the old record is not trusted, the claim is
backed out. Not here: which record is put when (``core.kept_record``, ``core.protocol``), and repairs (``operate/repaired.py``).
"""

from __future__ import annotations

import contextlib
import gc
import logging
import time
from collections.abc import Collection, Generator
from dataclasses import replace
from typing import Any

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import OWNER_ACTIVE, Patience, pauses
from mqgroups.core import steps
from mqgroups.core.kept_record import KeptRecord
from mqgroups.core.restart import Mismatch, idle_record
from mqgroups.core.status import Mark, RecordState, StatusRecord, encode, shown
from mqgroups.core.status_chain import FoundMessage, RecordPut, StoredRecord
from mqgroups.core.steps import RecordArrived, Refused
from mqgroups.errors import ForeignSyncpoint, GroupUsage, MQIError, OwnerActive, StatusQueueUnusable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.status.keeper import Keeper
from mqgroups.status.opening import check_kind, check_stays, open_or_make
from mqgroups.status.records import (
    LONGEST_RECORD_BYTES,
    SALVAGE,
    SALVAGE_UNREADABLE,
    browsed,
    corrupt_record,
    foreign_record,
    held_by,
    hidden_record,
)
from mqgroups.telemetry import logs, metrics

_log = logging.getLogger("mqgroups")
_OPEN_OPTIONS = mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE | mq.MQOO_NO_READ_AHEAD
# A record is in no group, so logical order changes nothing for it. But on a reconnectable connection, where no group can be put,
# MQPUT refuses logical order (IBM MQ, "MQRC_RECONNECT_INCOMPATIBLE"). So the first record fails, before any message is put.
_PUT = st.pmo(st.PUT_NEW_MESSAGE | mq.MQPMO_LOGICAL_ORDER)
_PUT_SEGMENT = st.pmo(st.PUT_NEW_MESSAGE)
_GET = mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING
TAKE = st.gmo(_GET, match_options=mq.MQMO_MATCH_MSG_ID)
_TAKE_PART = st.gmo(_GET, match_options=mq.MQMO_MATCH_GROUP_ID)
_TAKE_CHAIN = st.gmo(_GET | mq.MQGMO_COMPLETE_MSG, match_options=mq.MQMO_MATCH_GROUP_ID)
_BROWSE_ONE = st.gmo(
    mq.MQGMO_BROWSE_FIRST | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING, match_options=mq.MQMO_MATCH_MSG_ID
)
_ANCHOR_MD = st.md(format_name=mq.MQFMT_STRING, ccsid=1208)


class StatusQueue(Keeper):
    """A status queue, open exclusively.

    Attributes:
        kept: the value that describes the record when the protocol begins, and how records are put.
        was_made: whether this start has made the queue.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        model: str,
        owner_wait_s: float,
        *,
        segmented: bool = False,
        longest_bytes: int = LONGEST_RECORD_BYTES,
        for_owner: bool = True,
        record_users: Collection[str] = (),
    ) -> None:
        """Open the status queue, or make it from the model queue if it does not exist.

        Args:
            connection: the connection to the queue manager.
            name, model: the names of the status queue and the model queue; ``model`` is empty if the status queue must exist.
            owner_wait_s: how many seconds to wait while another owner has the queue open.
            segmented: whether to put records as segments of one logical message (``core.status_chain``), to save most MQGETs.
            longest_bytes: the length of the longest message to accept.
            for_owner: whether a new owner opens the queue. An earlier owner of this name on this connection then loses the name.
            record_users: the users whose records are trusted. An owner adds its own user. For an operator, empty means all.

        Raises:
            OwnerActive: after ``owner_wait_s`` another owner still has the queue open.
            QueueMissing: the queue does not exist, and ``model`` is empty.
            StatusQueueUnusable: neither the queue nor the model queue exists; or the queue is not a local queue of this queue
                manager, is in a cluster, or is deleted with its connection.
            MQIError: the queue cannot be opened.
        """
        self.was_made = False
        self._connection = connection
        self._patience = Patience(owner_wait_s)
        self._pauses: Generator[None, MQIError, None] | None = None
        # The users of the records that were put, as MQPUT returned them. The user changes if an administrator changes MCAUSER.
        self._own_users: set[str] = set()
        self._longest_bytes = longest_bytes
        segmented = segmented and not connection.syncpoint.gets_record_first
        self.kept = KeptRecord(name, segmented, for_owner, frozenset(record_users))
        if for_owner and connection.usable:
            connection.own_status_queue(name, self)
        began_s = time.monotonic()
        try:
            has_told = not for_owner

            def say(error: MQIError, _pause_s: float) -> None:
                nonlocal has_told
                if not has_told:
                    has_told = True
                    self._tell_waiting(error)

            self._queue = connection.retrying(self._patience, OWNER_ACTIVE, say)(self._open, model)
        except MQIError as error:
            if error.reason not in OWNER_ACTIVE:
                raise
            raise self._in_use(error.verb, error.reason) from None
        finally:
            if for_owner:  # an operator's check of unused names would add a series for each name
                metrics.waited_for_status_queue(name, time.monotonic() - began_s)
        try:
            check_kind(self._queue)
        except BaseException:
            self._queue.close()
            raise

    def _tell_waiting(self, error: MQIError) -> None:
        extra = logs.fields(self._connection.place, reason=error.reason)
        _log.info("waits for status queue %s: another instance is active, or not gone yet", self.name, extra=extra)

    @property
    def name(self) -> str:
        return self.kept.queue

    @property
    def is_stale(self) -> bool:
        return self._queue.is_stale

    def close(self, *, delete: bool = False) -> None:
        """Close the queue. ``delete``: also delete the queue, which must be empty and made from a model queue."""
        try:
            if delete:
                self._queue.close(mq.MQCO_DELETE)
        finally:
            self._queue.close()
            if self._connection.status_queues.get(self.name) is self:
                # The entry stays without an owner, because an earlier owner on this connection has lost the name in any case.
                self._connection.status_queues[self.name] = None

    def give_up(self) -> None:
        """Close the queue, because the start failed before its first commit. Delete the queue if this start has made it."""
        with contextlib.suppress(MQIError):
            self.close(delete=self.was_made)

    # --- the calls of the protocol (``core/steps.py``)

    def answer(self, step: Any) -> Any:
        """Make the call that ``step`` of the protocol describes, and return the result.

        Raises:
            OwnerActive: the queue is open elsewhere, or a unit of work still hides the record.
            QueueMissing: the queue was deleted.
            StatusQueueUnusable: a message cannot be read as a record, and stays on the queue; or the record expires.
            GroupUsage: the record's checkpoint is neither bytes nor a JSON value.
            MQIError: the call failed.
        """
        return getattr(self, _ANSWERS[type(step)])(*step[1:])

    def _open_again(self) -> bool:
        if not self._queue.is_stale:
            return False
        try:
            self._queue = self._open_as(self.name)
        except MQIError as error:
            if error.reason not in OWNER_ACTIVE:
                raise
            raise OwnerActive(error.verb, f"status queue {self.name}", error.comp, error.reason) from None
        return True

    def _look_at_holder(self, users: frozenset[str] | None, marks: tuple[Mark, ...]) -> StatusRecord | None:
        return held_by(self._connection, self.name, None if users is None else users | self._own_users, marks)

    def _browse(self) -> tuple[FoundMessage, ...]:
        return tuple(browsed(self._queue, self._longest_bytes, self._own_users))

    def _wait_for_record(self, first: bool, at_start: bool) -> None:
        if first or self._pauses is None:
            self._pauses = pauses(self._connection.retrying(self._patience, OWNER_ACTIVE))
            next(self._pauses)
        try:
            self._pauses.send(self._in_use("MQGET", mq.MQRC_OBJECT_IN_USE))
        except OwnerActive:
            if not at_start:
                raise
            raise hidden_record(self.name, self._patience.wait_s) from None

    def _take(self, stored: StoredRecord, must_stay: bool) -> bool:
        if stored.is_open:
            md = self._take_parts(stored.group_id)
        elif stored.segments:
            md = self.take(st.md(group_id=stored.group_id), _TAKE_CHAIN)
        else:
            md = self.take(st.md(msg_id=stored.msg_id), TAKE)
        if md is not None and must_stay:
            check_stays(self.name, md)
        return md is not None

    def _take_parts(self, group_id: bytes) -> bytes | None:
        """Get the segments of a chain that has no last segment, one by one. Return the MQMD of the first segment."""
        first = md = self.take(st.md(group_id=group_id), _TAKE_PART)
        while md is not None:
            md = self.take(st.md(group_id=group_id), _TAKE_PART)
        return first

    def take(self, md: bytearray, gmo: bytearray) -> bytes | None:
        """Get a message or a chain of segments. Return the MQMD of the message or first segment; ``None`` if there is none."""
        got = self._queue.get(md, gmo)
        return None if got is None else got[1]

    def take_message(self, msg_id: bytes) -> None:
        """Get the message with this MsgId, if it is on the queue."""
        self._queue.get(st.md(msg_id=msg_id), TAKE)

    def _put_anchor(self, record: StatusRecord) -> bytes:
        data = encode(replace(idle_record(record), state=RecordState.ANCHOR))
        return self._queue.put(_ANCHOR_MD, _PUT, data)[0][st.MD_MSG_ID]

    def _put_record(self, record: StatusRecord, how: RecordPut, anchor: bytes) -> RecordArrived:
        try:
            data = encode(record)
        except (TypeError, ValueError, RecursionError) as error:
            raise GroupUsage(
                f"the checkpoint ({type(record.checkpoint).__name__}) cannot be kept: it must be bytes or a JSON value "
                f"({error})"
            ) from None
        md = st.md(
            format_name=mq.MQFMT_STRING,
            ccsid=1208,
            correl_id=anchor,
            group_id=how.group_id,
            offset=how.offset,
            msg_flags=how.msg_flags,
            user=self.record_user,
        )
        md_out, _ = self._queue.put(md, self._pmo(_PUT_SEGMENT if how.is_segment else _PUT), data)
        user = st.name_at(md_out, st.MD_USER_IDENTIFIER)
        self._own_users.add(user)
        return RecordArrived(md_out[st.MD_MSG_ID], md_out[st.MD_GROUP_ID], len(data), user)

    def _is_there(self, stored: StoredRecord) -> bool:
        got = self._queue.get(st.md(msg_id=stored.msg_id), _BROWSE_ONE)
        if got is not None:
            check_stays(self.name, got[1])
        return got is not None

    # --- what an operator's program does otherwise

    # The user of the record that is put; empty for this program's own user.
    record_user = ""

    def _pmo(self, pmo: bytearray) -> bytearray:
        return pmo

    def _open_with(self, open_queue: Any) -> Queue:
        """Open the queue with ``open_queue``, whose argument is the MQOO_* options to add."""
        queue: Queue = open_queue(0)
        return queue

    # --- opening

    def _open(self, model: str) -> Queue:
        try:
            queue, self.was_made = open_or_make(
                self._connection, self._open_as, self.name, model, "NOSHARE DEFSOPT(EXCL)"
            )
        except MQIError as error:
            if error.reason in OWNER_ACTIVE:
                # This program itself may have the queue open, on an abandoned connection that was not collected (``handle.py``).
                gc.collect()
            if error.reason != mq.MQRC_OPTION_NOT_VALID_FOR_TYPE:
                raise
            raise StatusQueueUnusable(
                f"status queue {self.name} is not a local queue of queue manager {self._connection.q_mgr_name}, so records "
                "cannot be got from it. Give the name of a local queue",
                status_queue=self.name,
                found="a queue of another queue manager",
                expected="local queue",
            ) from None
        return queue

    def _open_as(self, name: str, dynamic_q_name: str = "") -> Queue:
        return self._open_with(
            lambda context: self._connection.open_queue(
                name,
                _OPEN_OPTIONS | context,
                dynamic_q_name=dynamic_q_name,
                max_message_length=self._longest_bytes,
            )
        )

    # --- errors

    def error_for(self, refused: Refused) -> BaseException:
        """Return the error to raise when the protocol refuses what is on the queue."""
        if isinstance(refused, steps.PutByOthers):
            believed = ", ".join(sorted(refused.believed))
            return foreign_record(self.name, Mismatch("user_identifier", refused.user, believed))
        if isinstance(refused, steps.Disordered):
            return self._disordered(refused)
        if isinstance(refused, steps.RecordBack):
            return ForeignSyncpoint(f"the status record that was got from {self.name} is back on that queue")
        if isinstance(refused, steps.NotCommitted) and self._connection.syncpoint.gets_record_first:
            return ForeignSyncpoint(f"the status record that was put to {self.name} and committed is not on that queue")
        assert isinstance(refused, steps.RecordGone)
        return StatusQueueUnusable(
            f"the status record that this owner put is not on status queue {self.name} any more, although the queue is open "
            f"exclusively. {self._connection.syncpoint.who_removes_records()}. The unit of work is backed out. Find out what "
            f"removed the record. If it stays lost, {SALVAGE}",
            status_queue=self.name,
            because="gone",
            found=None,
            expected=refused.stored.msg_id.hex(),
        )

    def _disordered(self, refused: steps.Disordered) -> BaseException:
        found, expected = refused.found, refused.expected
        if not refused.several:
            return corrupt_record(self.name, found, expected)
        return StatusQueueUnusable(
            f"status queue {self.name} holds {found}, expected {expected}. Two owners have used it, or another program puts to "
            f"it. They were put by user {', '.join(map(shown, refused.users))}. Browse it, keep the record of its owner's user "
            f"with the highest epoch and unit_of_work, and move the others away; or {SALVAGE_UNREADABLE}",
            status_queue=self.name,
            because="several",
            found=found,
            expected=expected,
        )

    def _in_use(self, verb: str, reason: int) -> OwnerActive:
        error = OwnerActive(verb, f"status queue {self.name}", mq.MQCC_FAILED, reason)
        error.context = f"Waited {self._patience.wait_s:g} s"
        if verb == "MQGET":
            error.context += ". The queue has an anchor, but the status record beside it is hidden by a unit of work"
        return error


# The methods are found by name, because a subclass can replace them.
_ANSWERS: dict[type, str] = {
    steps.OpenAgain: "_open_again",
    steps.LookAtHolder: "_look_at_holder",
    steps.Browse: "_browse",
    steps.WaitForRecord: "_wait_for_record",
    steps.Take: "_take",
    steps.TakeAnchor: "take_message",
    steps.PutAnchor: "_put_anchor",
    steps.PutRecord: "_put_record",
    steps.IsThere: "_is_there",
}

"""The status queue of one owner: opened exclusively, read once, its record replaced or taken away in each unit of work.

From an owner's first call to its last there is one record of its own on the queue. So when a commit had no answer, the
record tells what became of it, whichever unit of work it was; and an owner that finds another one's record, or none,
knows that it was cut off and the name taken over.

The exclusive open is lock and fence: MQRC_OBJECT_IN_USE (IBM MQ, topic q041130) means "the previous owner is not gone yet",
and is waited for. An owner that died may have left its record hidden in a unit of work, whether its handles are closed already
or not; an anchor beside the record says that it exists (``core.status_chain``), and that is waited for too.

``stage`` and ``remove`` are calls in the caller's unit of work. The caller commits or backs out, and then says which (``ended``).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import replace

from mqgroups.connection.connection import Connection
from mqgroups.connection.forwarding import ForwardQueue
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import OWNER_ACTIVE, Patience, retrying
from mqgroups.core.status import Mark, RecordState, StatusRecord, encode
from mqgroups.core.status_chain import (
    MOST_SEGMENTS,
    ChainBroken,
    FoundMessage,
    Kept,
    LookAgain,
    OnQueue,
    Pair,
    RecordHidden,
    RecordPut,
    after_record_put,
    next_record_put,
    on_queue,
)
from mqgroups.errors import (
    SALVAGE,
    DuplicateStatusRecords,
    ForeignSyncpoint,
    GroupUsage,
    MQIError,
    OwnerActive,
    StatusError,
    StatusQueueUnusable,
    StatusRecordHidden,
    StatusRecordMissing,
)
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.status.keeper import RecordKeeper
from mqgroups.status.opening import check_kind, open_or_make
from mqgroups.status.records import LONGEST_RECORD_BYTES, browsed, corrupt_record, held_by, saying_nothing
from mqgroups.telemetry import metrics

_OPEN_OPTIONS = mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE | mq.MQOO_NO_READ_AHEAD
# A record is in no group. But on a reconnectable connection, on which no group can be put, logical order is refused (2547; IBM
# MQ, topic q045460): so its owner learns it before anything is put.
_PUT = st.pmo(st.PUT_NEW_MESSAGE | mq.MQPMO_LOGICAL_ORDER)
_PUT_SEGMENT = st.pmo(st.PUT_NEW_MESSAGE)
_TAKE = st.gmo(mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING, match_options=mq.MQMO_MATCH_MSG_ID)
_TAKE_ANY = st.gmo(mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING)
_TAKE_PART = st.gmo(
    mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING, match_options=mq.MQMO_MATCH_GROUP_ID
)
_TAKE_CHAIN = st.gmo(
    mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_COMPLETE_MSG,
    match_options=mq.MQMO_MATCH_GROUP_ID,
)
_BROWSE_ONE = st.gmo(
    mq.MQGMO_BROWSE_FIRST | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING, match_options=mq.MQMO_MATCH_MSG_ID
)
_RECORD_MD = st.md(format_name=mq.MQFMT_STRING, ccsid=1208)


class StatusQueue(RecordKeeper):
    """An owner's status queue, open and its own."""

    def __init__(
        self,
        connection: Connection,
        name: str,
        model: str,
        owner_wait_s: float,
        *,
        segmented: bool = False,
        longest_bytes: int = LONGEST_RECORD_BYTES,
        for_owner: bool = False,
    ) -> None:
        """Open the status queue, making it from the model queue if it does not exist. ``segmented``: records are put as
        segments of one logical message (``core.status_chain``), which saves an MQGET for most of them. ``longest_bytes``: what
        is longer cannot be got from it. ``for_owner``: the name is to be this one's from now on; who had it on the same
        connection has lost it.

        Attributes:
            was_made: whether it did not exist.

        Raises:
            OwnerActive: somebody else has it open, and still had after ``owner_wait_s``.
            QueueMissing: it does not exist, and ``model`` is empty.
            StatusQueueUnusable: it does not exist and there is no model queue; or it is no local queue of this queue manager, is
                shared in a cluster, or would not outlive this connection.
            MQIError: it cannot be opened.
        """
        self.name = name
        self.was_made = False
        self._connection = connection
        self._patience = Patience(owner_wait_s)
        self._waiting = retrying(self._patience, OWNER_ACTIVE, connection.sleep)
        # Where others can end the unit of work too, each record has to be got in it: ``hold``.
        self._segmented = segmented and not connection.is_shared
        self._longest_bytes = longest_bytes
        # What lies on the queue: after the last commit, and as this unit of work sees it.
        self._committed = OnQueue()
        self._current = OnQueue()
        self._held: Kept | None = None
        self._claimed = False
        if for_owner and connection.usable:
            connection.own_status_queue(name, self)
        began_s = time.monotonic()
        try:
            self._queue = self._waiting(lambda: self._open(model))
        except MQIError as error:
            if error.reason not in OWNER_ACTIVE:
                raise
            raise self._in_use(error.verb, error.reason) from error
        finally:
            metrics.waited_for_status_queue(name, time.monotonic() - began_s)
        try:
            check_kind(self._queue)
        except BaseException:
            self._queue.close()
            raise

    @property
    def has_record(self) -> bool:
        """Whether there is a record, as this unit of work sees it."""
        return self._current.kept is not None

    @property
    def most_messages(self) -> int:
        """How many messages, at the most, are put and got on this queue in one unit of work."""
        kept = self._current.kept
        return 1 + (MOST_SEGMENTS if self._segmented or (kept is not None and kept.segments) else 1)

    @property
    def is_stale(self) -> bool:
        """Whether the connection was made again since: ``reopen`` is due."""
        return self._queue.is_stale

    def reopen(self) -> None:
        """Open the queue again on a connection that was made again; one try.

        Raises:
            OwnerActive: it is open elsewhere. The old connection may not be gone yet; or somebody has taken over, and
                ``held_by`` tells.
            QueueMissing: it was deleted.
        """
        try:
            self._queue = self._open_as(self.name)
        except MQIError as error:
            if error.reason not in OWNER_ACTIVE:
                raise
            raise OwnerActive(error.verb, f"status queue {self.name}", error.comp, error.reason) from error

    def held_by(self) -> StatusRecord | None:
        """Return the committed record that can be seen while somebody else has the queue open; ``None`` if none can."""
        return held_by(self._connection, self.name)

    def read(self, marks: Sequence[Mark] = (), *, wait: bool = True) -> StatusRecord | None:
        """Browse the queue: return its record, of a chain of segments the last one, or ``None`` if it is empty.

        Args:
            marks: of records that are the caller's own: where none speaks, one of these comes first.
            wait: for a record that is hidden.

        Raises:
            StatusRecordCorrupt, StatusRecordVersion: what is there cannot be read; it stays where it is.
            DuplicateStatusRecords: there is more than one record or chain that is needed.
            StatusRecordHidden: there is a record that nobody can see, and still could not when the wait was over.
            OwnerActive: the same, if ``marks`` are given or there was no wait: to be tried again.
        """
        try:
            self._current, record = self._waiting(lambda: self._look(marks)) if wait else self._look(marks)
        except ChainBroken as error:
            raise self._broken(error) from error
        except OwnerActive as error:
            if marks or not wait:
                raise
            raise StatusRecordHidden(self.name, self._patience.wait_s) from error
        self._committed = self._current
        return record

    def hold(self) -> None:
        """Get the record at the beginning of a unit of work, for ``stage`` to see whether it is still the same one.

        Raises:
            StatusRecordMissing: the record there was is gone.
            MQIError: the call failed.
        """
        kept = self._current.kept
        if kept is not None and not kept.is_open:
            self._take_record()
            self._held = kept

    def stage(self, record: StatusRecord, *, last: bool = False) -> None:
        """Put ``record`` in the place of the one there is, with an anchor if there is none. The caller commits or backs out.

        The first one, which claims the name, also takes away what other records there are: they say nothing.

        Args:
            record: of the owner.
            last: end a chain of segments with it, so that ``remove`` can be called in the next unit of work.

        Raises:
            GroupUsage: the record's checkpoint is neither bytes nor JSON.
            ForeignSyncpoint: the record was held, and is back: something else has backed out.
            StatusRecordMissing: the record there was is gone.
            MQIError: a call failed.
        """
        if not self._claimed:
            for leftover in self._current.leftovers:
                self._take_leftover(leftover)
        anchor = self._current.anchor
        if anchor is None:
            said = encode(replace(saying_nothing(record), state=RecordState.ANCHOR))
            anchor = self._queue.put(_RECORD_MD, _PUT, said)[0][st.MD_MSG_ID]
        self._current = OnQueue(self._current.kept, anchor)
        self._put(record, next_record_put(self._current.kept, segmented=self._segmented and not last))

    def check_committed(self) -> None:
        """See whether the record that was put is there, after a commit that something else could have come before.

        Raises:
            ForeignSyncpoint: it is not: the unit of work was backed out before.
            MQIError: the call failed.
        """
        kept = self._current.kept
        if kept is not None and self._queue.get(st.md(msg_id=kept.msg_id), _BROWSE_ONE) is None:
            raise ForeignSyncpoint(f"the status record that was put to {self.name} and committed is not on it")

    @property
    def can_be_removed(self) -> bool:
        """Whether ``remove`` can be called: a chain of segments has to be ended first, in a unit of work before."""
        return self._current.kept is None or not self._current.kept.is_open

    def remove(self) -> None:
        """Get the record with its anchor. The caller has to commit or back out.

        Only of a record that says nothing: until the commit, both are hidden.

        Raises:
            StatusRecordMissing: the record there was is gone.
            MQIError: a call failed.
        """
        if self._current.kept is not None:
            self._take_record()
        if self._current.anchor is not None:
            self._take(self._current.anchor)
        self._current = OnQueue()

    def _put(self, record: StatusRecord, put: RecordPut) -> None:
        try:
            data = encode(record)
        except (TypeError, ValueError, RecursionError) as error:
            raise GroupUsage(
                f"the checkpoint ({type(record.checkpoint).__name__}) cannot be kept: it must be bytes or a JSON value "
                f"({error})"
            ) from error
        if put.takes:
            self._take_record()
        md = st.md(
            format_name=mq.MQFMT_STRING,
            ccsid=1208,
            correl_id=self._current.anchor or mq.MQCI_NONE,
            group_id=put.group_id,
            offset=put.offset,
            msg_flags=put.msg_flags,
        )
        md_out, _ = self._queue.put(md, _PUT_SEGMENT if put.msg_flags else _PUT, data)
        kept = after_record_put(self._current.kept, put, md_out[st.MD_MSG_ID], md_out[st.MD_GROUP_ID], len(data))
        self._current = replace(self._current, kept=kept)
        # Last: a backout at any moment before would bring the old record back.
        if self._held is not None and self._get(self._held):
            raise ForeignSyncpoint(f"the status record that was got from {self.name} is back on it")

    def _take_record(self) -> None:
        kept = self._current.kept
        assert kept is not None
        if not self._get(kept):
            raise self._missing(kept)
        self._current = replace(self._current, kept=None)

    def _get(self, kept: Kept) -> bool:
        """Get a record; whether it was there."""
        if kept.segments:
            return self._queue.get(st.md(group_id=kept.group_id), _TAKE_CHAIN) is not None
        return self._take(kept.msg_id)

    def _take(self, msg_id: bytes) -> bool:
        """Get a message by its MsgId; whether it was there."""
        return self._queue.get(st.md(msg_id=msg_id), _TAKE) is not None

    def _take_leftover(self, leftover: Pair) -> None:
        kept, anchor = leftover
        if kept.segments:
            while self._queue.get(st.md(group_id=kept.group_id), _TAKE_PART) is not None:
                pass
        else:
            self._take(kept.msg_id)
        if anchor is not None:
            self._take(anchor)

    def move_all(self, to: ForwardQueue | None) -> None:
        """Move all that is on the queue, as it is, or remove it. The caller has to commit or back out; raises MQIError."""
        while (got := self._queue.get(st.md(), _TAKE_ANY)) is not None:
            if to is not None:
                to.take(got[1], got[0])
        self._current = OnQueue()

    def ended(self, *, committed: bool) -> None:
        """Take note that the unit of work was committed; or else that it was backed out: the record is the one before it."""
        if committed:
            self._claimed = True
            self._committed, self._held = self._current, None
        else:
            self._current, self._held = self._committed, None

    def close(self, *, delete: bool = False) -> None:
        """Close the queue, and delete it if asked; only a queue made from a model can be, and only when it is empty."""
        try:
            if delete:
                self._queue.close(mq.MQCO_DELETE)
        finally:
            self._queue.close()
            if self._connection.status_queues.get(self.name) is self:
                # And is nobody's: who had it before this one has lost it all the same.
                self._connection.status_queues[self.name] = None

    def _open(self, model: str) -> Queue:
        try:
            queue, self.was_made = open_or_make(self._open_as, self.name, model, "NOSHARE DEFSOPT(EXCL)")
        except MQIError as error:
            if error.reason in OWNER_ACTIVE:
                # This program may have it itself, on a connection that it was interrupted in and has lost (``handle.py``).
                gc.collect()
            if error.reason != mq.MQRC_OPTION_NOT_VALID_FOR_TYPE:
                raise
            raise StatusQueueUnusable(
                f"status queue {self.name} is not a local queue of queue manager {self._connection.q_mgr_name}, so nothing can "
                "be got from it here. Give the name of one that is",
                status_queue=self.name,
                found="a queue of another queue manager",
                expected="local queue",
            ) from error
        return queue

    def _open_as(self, name: str, dynamic_q_name: str = "") -> Queue:
        return self._connection.open_queue(
            name, _OPEN_OPTIONS, dynamic_q_name=dynamic_q_name, max_message_length=self._longest_bytes
        )

    def _look(self, marks: Sequence[Mark]) -> tuple[OnQueue, StatusRecord | None]:
        before: list[FoundMessage] | None = None
        while True:
            messages = browsed(self._queue, self._longest_bytes)
            try:
                return on_queue(messages, marks, seen_twice=messages == before)
            except RecordHidden:
                raise self._in_use("MQGET", mq.MQRC_OBJECT_IN_USE) from None
            except (LookAgain, ChainBroken):
                if messages == before:
                    raise
            before = messages

    def _broken(self, error: ChainBroken) -> StatusError:
        if not error.several:
            return corrupt_record(self.name, error.found, error.expected)
        return DuplicateStatusRecords(
            f"status queue {self.name} holds {error.found}, expected {error.expected}. Two owners have used it, or "
            "something else puts to it: browse it, keep the record with the highest epoch and unit_of_work, and remove "
            f"the others; or {SALVAGE}",
            status_queue=self.name,
            found=error.found,
            expected=error.expected,
        )

    def _missing(self, kept: Kept) -> StatusRecordMissing:
        who = "Something else gets from the queue"
        if self._connection.is_shared:
            who += ", or something else than mqgroups has committed a unit of work on this connection"
        return StatusRecordMissing(
            f"the status record this owner put is not on status queue {self.name} any more, although it is open "
            f"exclusively. {who}: find it; the unit of work is backed out. If the record stays lost, {SALVAGE}",
            status_queue=self.name,
            found=None,
            expected=kept.msg_id.hex(),
        )

    def _in_use(self, verb: str, reason: int) -> OwnerActive:
        error = OwnerActive(verb, f"status queue {self.name}", mq.MQCC_FAILED, reason)
        error.context = f"Waited {self._patience.wait_s:g} s"
        if verb == "MQGET":
            error.context += (
                ". There is an anchor, and the status record beside it cannot be seen: it is in somebody's unit of work"
            )
        return error


def take_away(connection: Connection, status: StatusQueue, record: StatusRecord) -> None:
    """Take ``record``, which says nothing, off its status queue, for somebody who is not its owner.

    Raises:
        CommitOutcomeUnknown, MQIError: a call failed.
    """
    if not status.can_be_removed:
        with connection.unit_of_work(status):
            status.stage(record, last=True)
        status.ended(committed=True)
    with connection.unit_of_work(status):
        status.remove()
    status.ended(committed=True)

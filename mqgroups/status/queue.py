"""The status queue of one owner: opened exclusively, read once, its record replaced or taken away in each unit of work.

From an owner's first call to its last there is one record of its own on the queue. So when a commit had no answer, the
record tells what became of it, whichever unit of work it was; and an owner that finds another one's record, or none,
knows that it was cut off and the name taken over.

The exclusive open is lock and fence: MQRC_OBJECT_IN_USE (IBM MQ, topic q041130) means "the previous owner is not gone yet",
and is waited for. An owner that died may have left its record hidden in a unit of work, whether its handles are closed already
or not; an anchor beside the record says that it exists (``core.status_chain``), and that is waited for too.

``claim``, ``replace`` and ``clear`` are calls in the caller's unit of work; the caller commits and then says ``committed``, or
backs out and says ``backed_out``.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from mqgroups.connection.connection import Connection, Queue
from mqgroups.connection.forwarding import ForwardQueue
from mqgroups.connection.retry import OWNER_ACTIVE, Patience, retrying
from mqgroups.core.model import GROUP_ID_NONE, MsgFlag
from mqgroups.core.restart import Mismatch
from mqgroups.core.status import Mark, RecordRejected, RecordState, RejectedBecause, StatusRecord, decode, encode, shown
from mqgroups.core.status_chain import (
    MOST_SEGMENTS,
    ChainBroken,
    Kept,
    LookAgain,
    Lying,
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
    ConfigurationError,
    DuplicateStatusRecords,
    ForeignSyncpoint,
    GroupUsage,
    MessageTooLong,
    MQIError,
    OwnerActive,
    QueueMissing,
    StatusError,
    StatusQueueUnusable,
    StatusRecordCorrupt,
    StatusRecordForeign,
    StatusRecordHidden,
    StatusRecordMissing,
    StatusRecordVersion,
)
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.telemetry import metrics

_OPEN_OPTIONS = mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE | mq.MQOO_NO_READ_AHEAD
LONGEST_RECORD_BYTES = 16_777_216
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
_BROWSE_FIRST = st.gmo(mq.MQGMO_BROWSE_FIRST | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING)
_BROWSE_ONE = st.gmo(
    mq.MQGMO_BROWSE_FIRST | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING, match_options=mq.MQMO_MATCH_MSG_ID
)
_BROWSE_NEXT = st.gmo(mq.MQGMO_BROWSE_NEXT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING)
_RECORD_MD = st.md(format_name=mq.MQFMT_STRING, ccsid=1208)
# More messages than that are no owner's, whatever they are.
_MOST_MESSAGES = 2 * MOST_SEGMENTS


class StatusQueue:
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

    def claim(self, record: StatusRecord) -> None:
        """Put ``record`` in the place of what there is, with an anchor if there is none. The caller commits or backs out.

        Raises: as ``replace``.
        """
        for leftover in self._current.leftovers:
            self._take_leftover(leftover)
        anchor = self._current.anchor
        if anchor is None:
            said = encode(replace(saying_nothing(record), state=RecordState.ANCHOR))
            anchor = self._queue.put(_RECORD_MD, _PUT, said)[0][st.MD_MSG_ID]
        self._current = OnQueue(self._current.kept, anchor)
        self.replace(record)

    def hold(self) -> None:
        """Get the record at the beginning of a unit of work, for ``replace`` to see whether it is still the same one.

        Raises:
            StatusRecordMissing: the record there was is gone.
            MQIError: the call failed.
        """
        kept = self._current.kept
        if kept is not None and not kept.is_open:
            self._take_record()
            self._held = kept

    def replace(self, record: StatusRecord) -> None:
        """Put ``record`` in the place of the one there is. The caller has to commit or back out.

        Raises:
            GroupUsage: the record's checkpoint is neither bytes nor JSON.
            ForeignSyncpoint: the record was held, and is back: something else has backed out.
            StatusRecordMissing: the record there was is gone.
            MQIError: a call failed.
        """
        self._put(record, next_record_put(self._current.kept, segmented=self._segmented))

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
    def can_be_cleared(self) -> bool:
        """Whether ``clear`` can be called: a chain of segments has to be ended first, in a unit of work before."""
        return self._current.kept is None or not self._current.kept.is_open

    def end_chain(self, record: StatusRecord) -> None:
        """Put ``record`` as the last segment. The caller has to commit or back out."""
        self._put(record, next_record_put(self._current.kept, segmented=False))

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

    def clear(self) -> None:
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

    def committed(self) -> None:
        """Take note that the unit of work was committed."""
        self._committed, self._held = self._current, None

    def backed_out(self) -> None:
        """Take note that the unit of work was backed out: the record is the one there was before it."""
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
        before: list[Lying] | None = None
        while True:
            lying = browsed(self._queue, self._longest_bytes)
            try:
                return on_queue(lying, marks, seen_twice=lying == before)
            except RecordHidden:
                raise self._in_use("MQGET", mq.MQRC_OBJECT_IN_USE) from None
            except (LookAgain, ChainBroken):
                if lying == before:
                    raise
            before = lying

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


def check_kind(queue: Queue) -> None:
    """Check that a status queue keeps its records here, and for longer than a connection.

    A queue that was made from a permanent-dynamic model is that by its nature; of another one its cluster is inquired.

    Raises:
        StatusQueueUnusable: it does not.
        MQIError: it cannot be inquired.
    """
    name = queue.name
    try:
        kind = queue.inquire(mq.MQIA_DEFINITION_TYPE)
    except MQIError as error:
        if error.reason != mq.MQRC_SELECTOR_NOT_FOR_TYPE:
            raise
        raise StatusQueueUnusable(
            f"status queue {name} is an alias. Give the name of the local queue itself: what an alias leads to can be changed, "
            "and its records would be lost from sight",
            status_queue=name,
            found="alias",
            expected="local queue",
        ) from error
    if kind == mq.MQQDT_TEMPORARY_DYNAMIC:
        raise StatusQueueUnusable(
            f"status queue {name} is a temporary dynamic queue: it and its records would go with the connection that made it. "
            "Use a predefined queue or a model queue with DEFTYPE(PERMDYN)",
            status_queue=name,
            found="temporary dynamic",
            expected="predefined or permanent dynamic",
        )
    if kind == mq.MQQDT_PREDEFINED and queue.is_in_cluster:
        raise StatusQueueUnusable(
            f"status queue {name} is a cluster queue: others in the cluster could put to it, and its records to another "
            f"instance of it. ALTER QLOCAL('{name}') CLUSTER(' ') CLUSNL(' '), or use another queue",
            status_queue=name,
            found="cluster queue",
            expected="local queue that is in no cluster",
        )


def check_apart(status_queue: str, data_queue: Queue) -> None:
    """Check that messages are not put to and got from the status queue itself, by an alias for example.

    Raises:
        ConfigurationError: they would be.
    """
    if data_queue.leads_to(status_queue):
        by = f" (by {data_queue.name})" if data_queue.name != status_queue else ""
        raise ConfigurationError(
            f"status_queue {status_queue} is the queue that its messages are put to or got from{by}. A status queue holds one "
            "owner's records and nothing else: give another name, or none"
        )


def open_or_make(open_as: Callable[[str, str], Queue], name: str, model: str, sharing: str) -> tuple[Queue, bool]:
    """Open a status queue, or make it from the model queue; returns it, and whether it was made.

    Args:
        open_as: opens a queue, given its name and, for a model queue, the name of the queue to be made.
        name: of the status queue.
        model: of the model queue; empty for a queue that has to exist.
        sharing: the MQSC attributes that say who can have it open, for who has to define it.

    Raises:
        QueueMissing: it does not exist, and ``model`` is empty.
        StatusQueueUnusable: it does not exist, and neither does the model queue, or that is none.
        MQIError: it cannot be opened.
    """
    try:
        return open_as(name, ""), False
    except QueueMissing:
        if not model:
            raise
    try:
        made = open_as(model, name)
    except QueueMissing as error:
        raise StatusQueueUnusable(
            f"status queue {name} does not exist, and neither does the model queue {model} to make it from. "
            f"DEFINE QLOCAL('{name}') DEFPSIST(YES) {sharing}, or DEFINE QMODEL('{model}') DEFTYPE(PERMDYN) DEFPSIST(YES) "
            f"{sharing}",
            status_queue=name,
        ) from error
    except MQIError as error:
        if error.reason != mq.MQRC_OBJECT_ALREADY_EXISTS:
            raise
        return open_as(name, ""), False  # another instance has made it since
    if made.object_name != name:
        # A queue that is no model is opened itself, whatever name is given for the one to be made.
        made.close()
        raise StatusQueueUnusable(
            f"status queue {name} does not exist, and {model} is no model queue to make it from. Give the name of one, "
            f"with DEFTYPE(PERMDYN) DEFPSIST(YES) {sharing}",
            status_queue=name,
            found=f"a queue named {made.object_name}",
            expected="a model queue",
        )
    return made, True


def browsed(queue: Queue, longest_bytes: int = LONGEST_RECORD_BYTES) -> list[Lying]:
    """Return what lies on a status queue; raises StatusRecordCorrupt, StatusRecordVersion, MQIError."""
    found: list[Lying] = []
    options = _BROWSE_FIRST
    try:
        while len(found) <= _MOST_MESSAGES and (got := queue.get(st.md(), options)) is not None:
            data, md, _ = got
            options = _BROWSE_NEXT
            found.append(
                Lying(
                    md[st.MD_MSG_ID],
                    md[st.MD_CORREL_ID],
                    md[st.MD_GROUP_ID],
                    st.long_at(md, st.MD_OFFSET),
                    len(data),
                    MsgFlag(st.long_at(md, st.MD_MSG_FLAGS)),
                    decoded_record(queue.name, data),
                )
            )
    except MessageTooLong as error:
        raise corrupt_record(queue.name, str(error), f"at most {longest_bytes} bytes") from error
    return found


def held_by(connection: Connection, name: str) -> StatusRecord | None:
    """Return the committed record that can be seen on a status queue that somebody else has open.

    ``None`` if none can, or if what was seen is not all that there is: the holder may be at work at that moment.

    Raises:
        StatusError: what is seen is not a status record of this version.
        MQIError: a call failed.
    """
    queue = connection.open_queue(name, mq.MQOO_BROWSE, max_message_length=LONGEST_RECORD_BYTES)
    try:
        return on_queue(browsed(queue))[1]
    except (RecordHidden, LookAgain, ChainBroken):
        return None
    finally:
        queue.close()


def saying_nothing(record: StatusRecord) -> StatusRecord:
    """Return the owner's record without a group."""
    return StatusRecord(
        role=record.role,
        name=record.name,
        state=RecordState.IDLE,
        owner_id=record.owner_id,
        epoch=record.epoch,
        unit_of_work=0,
        queue=record.queue,
        group_id=GROUP_ID_NONE,
        msg_seq_number=0,
        q_mgr_identifier=record.q_mgr_identifier,
    )


def take_away(connection: Connection, status: StatusQueue, record: StatusRecord) -> None:
    """Take ``record``, which says nothing, off its status queue, for somebody who is not its owner.

    Raises:
        CommitOutcomeUnknown, MQIError: a call failed.
    """
    if not status.can_be_cleared:
        with connection.unit_of_work(status):
            status.end_chain(record)
        status.committed()
    with connection.unit_of_work(status):
        status.clear()
    status.committed()


def decoded_record(name: str, data: bytes) -> StatusRecord:
    """Return the record that a message on status queue ``name`` holds.

    Raises:
        StatusRecordCorrupt, StatusRecordVersion: it holds none that can be read.
    """
    try:
        return decode(data)
    except RecordRejected as error:
        if error.because is RejectedBecause.VERSION:
            raise StatusRecordVersion(
                f"status queue {name}: {error}. Go on with the version of mqgroups that wrote it",
                status_queue=name,
                found=error.found,
                expected=error.expected,
            ) from error
        raise corrupt_record(name, error.found, error.expected) from error


def corrupt_record(name: str, found: str, expected: str) -> StatusRecordCorrupt:
    """Return the error for what lies on status queue ``name`` and is no status record."""
    return StatusRecordCorrupt(
        f"status queue {name}: found {found}, expected {expected}. It was left where it is. Find out what put it; "
        f"only when the group it may speak of is known to be whole, or was cleared up by hand, remove it; or {SALVAGE}",
        status_queue=name,
        found=found,
        expected=expected,
    )


def foreign_record(status_queue: str, mismatch: Mismatch) -> StatusRecordForeign:
    """Return the error for a status record that is somebody else's."""
    return StatusRecordForeign(
        f"the status record on status queue {status_queue} is of {mismatch.field} {shown(mismatch.found)}, expected "
        f"{shown(mismatch.expected)}. Somebody else's group was interrupted there, or this program is pointed at the wrong "
        "queue, queue manager or status queue. Nothing was changed: correct the settings, or let the record's owner "
        "finish its group",
        status_queue=status_queue,
        field=mismatch.field,
        found=mismatch.found,
        expected=mismatch.expected,
    )

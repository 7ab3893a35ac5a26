"""The status queue of one owner: opened exclusively, read once, its record replaced or removed in each unit of work.

From an owner's first call to its last, the queue has one record of this owner. So when a commit had no answer, the record tells
its outcome, for every unit of work alike. And if the owner finds another owner's record, or no record, it was cut off and another
instance has taken over its name.

The exclusive open is lock and fence: MQRC_OBJECT_IN_USE (IBM MQ, topic q041130) means that the previous owner is not gone yet; a
start waits for that. After an owner has died, a unit of work may still hide its record, even if its handles are closed. An anchor
beside the record shows that the record exists (``core.status_chain``); a start waits for the record too.

A record is believed only if its UserIdentifier is that of the owner's own puts, or of a user whom the owner names. By default the
queue manager sets this field; to set it otherwise takes an authority (+setid; IBM MQ, topics q026170, q097700). MQPUT returns it,
so the owner learns its own with the claim, which is backed out if the record is another user's.

``stage`` and ``remove`` work in the caller's unit of work. The caller commits or backs out, and then calls ``ended``.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from mqgroups.connection.connection import Connection
from mqgroups.connection.forwarding import ForwardQueue
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import OWNER_ACTIVE, Patience, retrying
from mqgroups.core.status import Mark, RecordState, StatusRecord, encode, shown
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
    users_of_records,
)
from mqgroups.errors import (
    SALVAGE,
    SALVAGE_UNREADABLE,
    DuplicateStatusRecords,
    ForeignSyncpoint,
    GroupUsage,
    MQIError,
    NotAuthorised,
    OwnerActive,
    StatusError,
    StatusQueueUnusable,
    StatusRecordHidden,
    StatusRecordMissing,
)
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.status.keeper import RecordKeeper
from mqgroups.status.opening import check_kind, check_stays, open_keeping_users, open_or_make
from mqgroups.status.records import (
    LONGEST_RECORD_BYTES,
    browsed,
    corrupt_record,
    held_by,
    refuse_strangers,
    saying_nothing,
)
from mqgroups.telemetry import metrics

_OPEN_OPTIONS = mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE | mq.MQOO_NO_READ_AHEAD
# A record is in no group, so logical order changes nothing. But on a reconnectable connection, where no group can be put, it is
# refused (2547; IBM MQ, topic q045460). So the first record fails, before any message is put.
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
    """An owner's status queue, open exclusively."""

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
        record_users: Collection[str] = (),
        keeps_user: bool = False,
        user_from: StatusQueue | None = None,
        user: str | None = None,
    ) -> None:
        """Open the status queue, or make it from the model queue if it does not exist.

        Args:
            connection: to the queue manager.
            name: of the status queue.
            model: of the model queue; empty if the status queue must exist.
            owner_wait_s: how long to wait while another owner has the queue open, seconds.
            segmented: put records as segments of one logical message (``core.status_chain``), which saves most MQGETs.
            longest_bytes: the longest message to accept.
            for_owner: the queue is for a new owner of the name. An owner of the same name on this connection loses it.
            record_users: the users whose records are believed: for an owner besides its own; for others by default everybody's.
            keeps_user: a record that replaces another one keeps its user. If that is not this program's user, that needs the
                authority +passid.
            user_from: with ``keeps_user``: the status queue that the other record is got from; by default this one.
            user: put records as this user's. That needs the authority +setid.

        Attributes:
            was_made: whether the queue did not exist before.
            put_by: the user of the record that was put last; empty before.

        Raises:
            OwnerActive: after ``owner_wait_s`` another owner still has the queue open.
            QueueMissing: the queue does not exist, and ``model`` is empty.
            StatusQueueUnusable: neither the queue nor the model queue exists; or the queue is not a local queue of this queue
                manager, is in a cluster, or is deleted with its connection.
            MQIError: the queue cannot be opened.
        """
        self.name = name
        # Why users cannot be kept: the 2035 of opening it for that.
        self._cannot_keep: NotAuthorised | None = None
        self.was_made = False
        self.put_by = ""
        self._connection = connection
        self._patience = Patience(owner_wait_s)
        self._waiting = retrying(self._patience, OWNER_ACTIVE, connection.sleep)
        # If the application could end the unit of work too, each record must be got in it (``hold``), so segments save nothing.
        self._segmented = segmented and not connection.is_shared
        self._longest_bytes = longest_bytes
        # What is on the queue: after the last commit, and as this unit of work sees it.
        self._committed = OnQueue()
        self._current = OnQueue()
        self._held: Kept | None = None
        # What ``read`` found last.
        self._messages: list[FoundMessage] = []
        self._for_owner = for_owner
        self._user = user
        self._user_from = (user_from or self) if keeps_user else None
        # Whose records are believed. Until an owner has put its first message, it does not know its own user.
        self._users = set(record_users)
        self._judges = bool(record_users) and not for_owner
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
        """Whether the queue has a record, as this unit of work sees it."""
        return self._current.kept is not None

    @property
    def most_messages(self) -> int:
        """The most messages that are put and got on this queue in one unit of work."""
        kept = self._current.kept
        return 1 + (MOST_SEGMENTS if self._segmented or (kept is not None and kept.segments) else 1)

    @property
    def is_stale(self) -> bool:
        """Whether the connection was replaced since, so that ``reopen`` is needed."""
        return self._queue.is_stale

    def reopen(self) -> None:
        """Open the queue again on a new connection; one try.

        Raises:
            OwnerActive: the queue is open elsewhere. Either the old connection is not gone yet, or another instance has taken
                over; ``held_by`` returns that one's record.
            QueueMissing: the queue was deleted.
        """
        try:
            self._queue = self._open_as(self.name)
        except MQIError as error:
            if error.reason not in OWNER_ACTIVE:
                raise
            raise OwnerActive(error.verb, f"status queue {self.name}", error.comp, error.reason) from error

    def held_by(self) -> StatusRecord | None:
        """Return the committed record while another owner has the queue open; ``None`` if it is hidden."""
        return held_by(self._connection, self.name, self._users if self._judges else None)

    def read(self, marks: Sequence[Mark] = (), *, wait: bool = True) -> StatusRecord | None:
        """Browse the queue and return its record, the last one of a chain of segments; ``None`` if the queue is empty.

        Args:
            marks: the marks of the caller's own records. If several records are idle, one of these is preferred.
            wait: whether to wait for a record that a unit of work hides.

        Raises:
            StatusRecordCorrupt, StatusRecordVersion: a message cannot be read as a record; it stays on the queue.
            StatusRecordForeign: another user has put a record.
            DuplicateStatusRecords: more than one record or chain is needed by an owner.
            StatusRecordHidden: a record was still hidden when the wait was over.
            OwnerActive: a record is hidden, and ``marks`` are given or ``wait`` is false; try again.
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
        """Get the record at the beginning of a unit of work, so that ``stage`` can detect a foreign backout.

        Raises:
            StatusRecordMissing: the record is gone.
            MQIError: the call failed.
        """
        kept = self._current.kept
        if kept is not None and not kept.is_open:
            self._renew_record()
            self._held = kept

    def stage(self, record: StatusRecord, *, last: bool = False) -> None:
        """Replace the record by ``record``, and put an anchor if there is none. The caller commits or backs out.

        The first call, which claims the name, also removes other records: they are no longer needed.

        Args:
            record: the owner's new record.
            last: end a chain of segments with it, so that ``remove`` can be called in the next unit of work.

        Raises:
            GroupUsage: the record's checkpoint is neither bytes nor a JSON value.
            ForeignSyncpoint: the record that ``hold`` got is back on the queue, so the application has backed out.
            StatusRecordMissing: the record is gone.
            StatusRecordForeign: the first call finds that another user has put a record that ``read`` has found.
            MQIError: a call failed.
        """
        if not self._claimed:
            for leftover in self._current.leftovers:
                self._take_leftover(leftover)
            if any(each.expires and each.msg_id == self._current.anchor for each in self._messages):
                # From a time when the queue limited its expiry.
                self._take(self._current.anchor or b"")
                self._current = OnQueue(self._current.kept)
        anchor = self._current.anchor
        if anchor is None:
            said = encode(replace(saying_nothing(record), state=RecordState.ANCHOR))
            anchor = self._queue.put(_RECORD_MD, _PUT, said)[0][st.MD_MSG_ID]
            self._current = OnQueue(self._current.kept, anchor)
        if not self._for_owner and self._current.kept is not None:
            # Also an open chain: the user is that of a message that was got.
            self._take_record()
        self._put(record, next_record_put(self._current.kept, segmented=self._segmented and not last))
        if not self._claimed and self._for_owner:
            refuse_strangers(self.name, users_of_records(self._messages), self._users)

    def check_committed(self) -> None:
        """Check that the record that was committed is on the queue, and stays there.

        Raises:
            ForeignSyncpoint: it is not there, so the application backed out the unit of work before the commit.
            StatusRecordMissing: it is not there, and no application uses the connection.
            StatusQueueUnusable: it expires.
            MQIError: the call failed.
        """
        kept = self._current.kept
        if kept is None:
            return
        got = self._queue.get(st.md(msg_id=kept.msg_id), _BROWSE_ONE)
        if got is None and not self._connection.is_shared:
            raise self._missing(kept)
        if got is None:
            raise ForeignSyncpoint(f"the status record that was put to {self.name} and committed is not on that queue")
        check_stays(self.name, got[1])

    @property
    def can_be_removed(self) -> bool:
        """Whether ``remove`` can be called. If not, first end the chain of segments: stage a record with ``last`` and commit."""
        return self._current.kept is None or not self._current.kept.is_open

    def remove(self) -> None:
        """Get the record with its anchor. The caller has to commit or back out.

        Only for a record that is no longer needed: both are hidden until the commit, so another owner would not know of it.

        Raises:
            StatusRecordMissing: the record is gone.
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
            self._renew_record()
        md = st.md(
            format_name=mq.MQFMT_STRING,
            ccsid=1208,
            correl_id=self._current.anchor or mq.MQCI_NONE,
            group_id=put.group_id,
            offset=put.offset,
            msg_flags=put.msg_flags,
            user=self._user or "",
        )
        md_out, _ = self._queue.put(md, self._pmo(_PUT_SEGMENT if put.is_segment else _PUT), data)
        self.put_by = st.name_at(md_out, st.MD_USER_IDENTIFIER)
        if self._for_owner:
            self._users.add(self.put_by)
            self._judges = True
        if self._cannot_keep is not None and self._user_from is not None and self.put_by != self._user_from.record_user:
            raise self._cannot_keep
        kept = after_record_put(self._current.kept, put, md_out[st.MD_MSG_ID], md_out[st.MD_GROUP_ID], len(data))
        self._current = OnQueue(kept, self._current.anchor)
        # As the last call: a foreign backout at any earlier moment has brought the old record back.
        if self._held is not None and self._get(self._held):
            raise ForeignSyncpoint(f"the status record that was got from {self.name} is back on that queue")

    def _pmo(self, pmo: bytearray) -> bytearray:
        options = st.long_at(pmo, st.PMO_OPTIONS)
        if self._user is not None:
            return st.pmo(options | mq.MQPMO_SET_IDENTITY_CONTEXT)
        if self._user_from is not None and self._cannot_keep is None:
            return st.pmo(options | mq.MQPMO_PASS_IDENTITY_CONTEXT, context=self._user_from.hobj)
        return pmo

    @property
    def hobj(self) -> int:
        """The object handle, whose context is that of the record that was got last."""
        return self._queue.hobj

    @property
    def record_user(self) -> str:
        """The user who has put the record that ``read`` found; empty if there was none."""
        kept = self._committed.kept
        return next((each.user for each in self._messages if kept is not None and each.msg_id == kept.msg_id), "")

    def _renew_record(self) -> None:
        """Get the record, in order to put the next one; one of this owner's own must not expire."""
        md = self._take_record()
        if self._claimed:
            check_stays(self.name, md)

    def _take_record(self) -> bytes:
        """Get the record; returns its MQMD."""
        kept = self._current.kept
        assert kept is not None
        md = self._take_parts(kept.group_id) if kept.is_open else self._get(kept)
        if md is None:
            raise self._missing(kept)
        self._current = OnQueue(None, self._current.anchor)
        return md

    def _take_parts(self, group_id: bytes) -> bytes | None:
        """Get a chain segment by segment, because it has no end; returns the MQMD of the first one."""
        first = got = self._queue.get(st.md(group_id=group_id), _TAKE_PART)
        while got is not None:
            got = self._queue.get(st.md(group_id=group_id), _TAKE_PART)
        return None if first is None else first[1]

    def _get(self, kept: Kept) -> bytes | None:
        """Get a record; returns its MQMD, that of the first segment; ``None`` if it is not there."""
        md, gmo = (st.md(group_id=kept.group_id), _TAKE_CHAIN) if kept.segments else (st.md(msg_id=kept.msg_id), _TAKE)
        got = self._queue.get(md, gmo)
        return None if got is None else got[1]

    def _take(self, msg_id: bytes) -> None:
        """Get a message by its MsgId, if it is there."""
        self._queue.get(st.md(msg_id=msg_id), _TAKE)

    def _take_leftover(self, leftover: Pair) -> None:
        kept, anchor = leftover
        if kept.segments:
            self._take_parts(kept.group_id)
        else:
            self._take(kept.msg_id)
        if anchor is not None:
            self._take(anchor)

    def move_away(self, to: ForwardQueue | None, msg_ids: Sequence[bytes] | None = None) -> None:
        """Move messages unchanged to ``to``, or remove them. The caller commits or backs out; raises MQIError.

        Args:
            to: the queue to move them to.
            msg_ids: their MsgIds, each as often as it occurs; ``None`` for all messages.
        """
        if msg_ids is None:
            while (got := self._queue.get(st.md(), _TAKE_ANY)) is not None:
                if to is not None:
                    to.take(got[1], got[0])
            self._current = OnQueue()
        for msg_id in msg_ids or ():
            got = self._queue.get(st.md(msg_id=msg_id), _TAKE)
            if got is not None and to is not None:
                to.take(got[1], got[0])

    def ended(self, *, committed: bool) -> None:
        """Take note that the unit of work was committed, or backed out to the record before."""
        if committed:
            self._claimed = True
            self._committed, self._held = self._current, None
        else:
            self._current, self._held = self._committed, None

    def close(self, *, delete: bool = False) -> None:
        """Close the queue; ``delete`` deletes it, which works only if it was made from a model queue and is empty."""
        try:
            if delete:
                self._queue.close(mq.MQCO_DELETE)
        finally:
            self._queue.close()
            if self._connection.status_queues.get(self.name) is self:
                # The entry stays, with no owner: an earlier owner on this connection has lost the name in any case.
                self._connection.status_queues[self.name] = None

    def _open(self, model: str) -> Queue:
        try:
            queue, self.was_made = open_or_make(
                self._connection, self._open_as, self.name, model, "NOSHARE DEFSOPT(EXCL)"
            )
        except MQIError as error:
            if error.reason in OWNER_ACTIVE:
                # This program may have the queue open itself, on an abandoned connection that was not collected (``handle.py``).
                gc.collect()
            if error.reason != mq.MQRC_OPTION_NOT_VALID_FOR_TYPE:
                raise
            raise StatusQueueUnusable(
                f"status queue {self.name} is not a local queue of queue manager {self._connection.q_mgr_name}, so records "
                "cannot be got from it. Give the name of a local queue",
                status_queue=self.name,
                found="a queue of another queue manager",
                expected="local queue",
            ) from error
        return queue

    def _open_as(self, name: str, dynamic_q_name: str = "") -> Queue:
        def opened(context: int) -> Queue:
            return self._connection.open_queue(
                name, _OPEN_OPTIONS | context, dynamic_q_name=dynamic_q_name, max_message_length=self._longest_bytes
            )

        if self._user is not None:
            return opened(mq.MQOO_SET_IDENTITY_CONTEXT)
        if self._user_from is None:
            return opened(0)
        queue, self._cannot_keep = open_keeping_users(opened)
        return queue

    def _look(self, marks: Sequence[Mark]) -> tuple[OnQueue, StatusRecord | None]:
        before: list[FoundMessage] | None = None
        while True:
            messages = self._messages = browsed(self._queue, self._longest_bytes)
            if self._judges:
                refuse_strangers(self.name, users_of_records(messages), self._users)
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
            f"status queue {self.name} holds {error.found}, expected {error.expected}. Two owners have used it, or another "
            f"program puts to it: they were put by user {', '.join(map(shown, users_of_records(self._messages)))}. Browse it, "
            "keep the record of its owner's user with the highest epoch and unit_of_work, and move the others away; or "
            f"{SALVAGE_UNREADABLE}",
            status_queue=self.name,
            found=error.found,
            expected=error.expected,
        )

    def _missing(self, kept: Kept) -> StatusRecordMissing:
        who = "Another program has removed it"
        if self._connection.is_shared:
            who += ", or the application has committed a unit of work of this connection itself"
        return StatusRecordMissing(
            f"the status record that this owner put is not on status queue {self.name} any more, although the queue is open "
            f"exclusively. {who}. The unit of work is backed out. Find out what removed the record. If it stays lost, {SALVAGE}",
            status_queue=self.name,
            found=None,
            expected=kept.msg_id.hex(),
        )

    def _in_use(self, verb: str, reason: int) -> OwnerActive:
        error = OwnerActive(verb, f"status queue {self.name}", mq.MQCC_FAILED, reason)
        error.context = f"Waited {self._patience.wait_s:g} s"
        if verb == "MQGET":
            error.context += ". The queue has an anchor, but the status record beside it is hidden by a unit of work"
        return error


def take_away(connection: Connection, status: StatusQueue) -> None:
    """Remove the record, which is no longer needed, from its status queue. The caller is not its owner.

    Raises:
        CommitOutcomeUnknown, MQIError: a call failed.
    """
    with connection.unit_of_work(status):
        status.remove()
    status.ended(committed=True)

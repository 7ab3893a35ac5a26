"""An MQGET call: the search for a message, the answer, and the effects on the queue and the handle.

``_find`` searches for a message as in Table 16 of "GMOPT": match options, browse cursor, locks, marks, availability options.
``_deliver`` makes the answer and updates the queue and the handle. ``get_options.py`` checks the options.
"""

from __future__ import annotations

import math
import time

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed
from mqembedded.calls.conversion import alike, converted_message
from mqembedded.calls.get_options import (
    BROWSES,
    MOVES_CURSOR,
    UNDER_CURSOR,
    WHOLE_LOGICAL_MESSAGE,
    check_get,
)
from mqembedded.calls.md_fields import HIGHEST_NUMBER
from mqembedded.calls.property_transfer import properties_wanted
from mqembedded.connection import Connection
from mqembedded.messages.groups import View, Whole
from mqembedded.messages.handle import Direction
from mqembedded.messages.logical_order import IS_SEGMENT, Identity, after, departure, next_to_get, statuses
from mqembedded.messages.queue import ANYTHING, Match, Message
from mqembedded.messages.waiting import Turn, WaitingCall, Wanted
from mqembedded.platform import Platform
from mqembedded.properties.control import present
from mqembedded.properties.rfh2 import NATIVE
from mqembedded.queue_manager import QueueManager
from mqembedded.readings import PRECEDENCE
from mqembedded.reports.reports import (
    delivery_is_confirmed,
    discard_expired,
    forget,
    publish,
    reports_on_delivery,
)
from mqembedded.wire.structures import (
    NO_GROUP,
    NO_ID,
    GetMessageOptions,
    SearchDescriptor,
    as_only_segment,
    as_version_1,
    delivered_descriptor,
    name_field,
)

# The physical messages that a call returns, and its answer.
Found = tuple[list[Message], Answer]


class Get:
    """An MQGET call.

    With MQGMO_COMPLETE_MSG it finds all segments of a logical message, ordered by offset. Otherwise it finds a physical message.
    """

    def __init__(
        self,
        q_mgr: QueueManager,
        connection: Connection,
        hobj: int,
        md: SearchDescriptor,
        gmo: GetMessageOptions,
        buffer_length: int,
    ) -> None:
        self.q_mgr = q_mgr
        self.connection = connection
        self.hobj = hobj
        self.md = md
        self.gmo = gmo
        self.options = q_mgr.platform.get_options(gmo.options, BROWSES)
        self.buffer_length = buffer_length
        self.browses = bool(self.options & BROWSES)
        self.direction = Direction.BROWSE if self.browses else Direction.GET
        self.logical_order = bool(self.options & mq.MQGMO_LOGICAL_ORDER)
        with q_mgr.lock:
            self.handle, self.queue = connection.queue_handle(hobj)
            self._check()
            self.properties, self.message_handle = properties_wanted(connection, self.handle, gmo)
        self.match = self._match()

    def _check(self) -> None:
        """Raise Failed if MQGET refuses the call regardless of the messages on the queue."""
        options, handle, zos = self.options, self.handle, self.q_mgr.platform is Platform.ZOS
        # Options that use the browse cursor ignore the sequence number.
        by_number = self.gmo.match_options & mq.MQMO_MATCH_MSG_SEQ_NUMBER and not options & UNDER_CURSOR
        check_get(
            options,
            self.gmo.match_options,
            (self.gmo.version, self.md.version),
            handle.options,
            has_number=not by_number or 1 <= self.md.msg_seq_number <= HIGHEST_NUMBER,
            has_index=not zos or self.queue.values[mq.MQIA_INDEX_TYPE] == mq.MQIT_GROUP_ID,
        )
        if self.buffer_length < 0:
            raise Failed(mq.MQRC_BUFFER_LENGTH_ERROR)
        if self.buffer_length > self.connection.max_msg_length:
            # For a client, this reason code also means that the buffer is longer than the channel's maximum (reason code 2010,
            # MQRC_DATA_LENGTH_ERROR).
            raise Failed(mq.MQRC_DATA_LENGTH_ERROR)
        if options & mq.MQGMO_WAIT and self.gmo.wait_interval_ms < mq.MQWI_UNLIMITED:
            raise Failed(mq.MQRC_WAIT_INTERVAL_ERROR)
        if options & mq.MQGMO_BROWSE_NEXT and handle.browsed_in_logical_order not in (None, self.logical_order):
            raise Failed(mq.MQRC_INCONSISTENT_BROWSE)

    def _match(self) -> Match:
        """Return the call's match criteria. MQMI_NONE, MQCI_NONE and MQGI_NONE match any message (IBM MQ, "MatchOptions")."""
        chosen, md = self.gmo.match_options, self.md
        if not chosen:
            return ANYTHING
        return Match(
            msg_id=md.msg_id if chosen & mq.MQMO_MATCH_MSG_ID and md.msg_id != NO_ID else None,
            correl_id=md.correl_id if chosen & mq.MQMO_MATCH_CORREL_ID and md.correl_id != NO_ID else None,
            group_id=md.group_id if chosen & mq.MQMO_MATCH_GROUP_ID and md.group_id != NO_GROUP else None,
            msg_seq_number=md.msg_seq_number if chosen & mq.MQMO_MATCH_MSG_SEQ_NUMBER else None,
            offset=md.offset if chosen & mq.MQMO_MATCH_OFFSET else None,
            position=self.q_mgr.position(self.gmo.msg_token) if chosen & mq.MQMO_MATCH_MSG_TOKEN else None,
        )

    def begin_wait(self, waiting: WaitingCall[Found]) -> None:
        """Add this call and its criteria to the queue's waiting calls."""
        self.queue.waiting.add(waiting, self.wanted(self.turn()))
        self.handle.waits = True

    def end_wait(self, waiting: WaitingCall[Found]) -> None:
        """End the wait, with or without success."""
        self.queue.waiting.discard(waiting)
        self.handle.waits = False

    def turn(self) -> Turn:
        """Return this call's turn among waiting calls. A browse with a lock is not ``Turn.BROWSE`` (IBM MQ, "MQGMO options")."""
        if self.browses and not self.options & mq.MQGMO_LOCK:
            return Turn.BROWSE
        return Turn.SPECIFIC if self._goes_on_with() is not None or self.match != ANYTHING else Turn.GENERAL

    def wanted(self, turn: Turn) -> Wanted:
        """Return the criteria with which this call waits."""
        goes_on_with, identifier, cursor = self._goes_on_with(), self.match.identifier, None
        whole = bool(self.options & WHOLE_LOGICAL_MESSAGE)
        if goes_on_with is not None:
            identifier = ("group_id", goes_on_with.group_id)
            # After the first segment of a logical message, its other segments need not be there.
            whole = whole and not self.handle.states[self.direction].current_logical_message
        elif self.options & mq.MQGMO_BROWSE_NEXT:
            cursor = self._cursor()
        return Wanted(turn, identifier, whole, (self.options, self.match, goes_on_with, cursor))

    def _goes_on_with(self) -> Identity | None:
        """Return the identity of the message with which the call must continue a group or logical message, or None."""
        if not self.logical_order or self.options & mq.MQGMO_BROWSE_FIRST:
            return None
        return next_to_get(self.handle.states[self.direction])

    def _cursor(self) -> int | None:
        """Return the key of the message after which MQGMO_BROWSE_NEXT continues."""
        return self.handle.logical_cursor if self.logical_order else self.handle.cursor

    def next_expiry_of_marks_s(self) -> float:
        """Return the time (``time.monotonic``) when the next marks expire and free a message, or infinity if no marks expire."""
        expiry_s = None
        if self.options & mq.MQGMO_UNMARKED_BROWSE_MSG:
            with self.q_mgr.lock:
                expiry_s = self.queue.marks.next_expiry_s(self.q_mgr.mark_interval_ms())
        return math.inf if expiry_s is None else expiry_s

    @property
    def inhibited(self) -> bool:
        """Whether gets are inhibited for the queue or for the alias that was opened."""
        inhibited = mq.MQQA_GET_INHIBITED
        opened = self.handle.opened_values
        return self.queue.values[mq.MQIA_INHIBIT_GET] == inhibited or (
            opened is not None and opened[mq.MQIA_INHIBIT_GET] == inhibited
        )

    def attempt(self) -> Found | None:
        """Look once for a message, and return it (or its segments) with the answer, or None. The caller holds the lock."""
        self.q_mgr.fail_if_quiescing(self.connection, self.options & mq.MQGMO_FAIL_IF_QUIESCING)
        if self.queue.deleted:
            raise Failed(mq.MQRC_Q_DELETED)
        if self.handle.changed:
            raise Failed(mq.MQRC_OBJECT_CHANGED)
        if self.inhibited:
            raise Failed(mq.MQRC_GET_INHIBITED)
        discard_expired(self.q_mgr, self.queue)
        if self.queue.marks.of_set:
            self.queue.marks.expire(time.monotonic(), self.q_mgr.mark_interval_ms())
        parts = self._find()
        if parts is None:
            if self.options & MOVES_CURSOR:
                # If the call finds no message, the old lock ends, both before a wait and with MQRC_NO_MSG_AVAILABLE.
                self.handle.unlock()
            return None
        # Segments that are not returned stay on the queue.
        parts, unlike = alike(parts)
        answer = self._deliver(parts, unlike)
        if not self.browses:
            self.queue.let_look_behind(parts)
        return parts, answer

    def finish(self, found: Found) -> Answer:
        """Write a removal outside syncpoint to the disk, and return the answer. The caller does not hold the lock."""
        parts, answer = found
        if not self._removed_for_good(parts, answer):
            return answer
        try:
            self.q_mgr.write_now(self._reports, parts)
        except Failed:
            with self.q_mgr.lock:
                self.give_back(parts, answer)
            raise
        with self.q_mgr.lock:
            self.queue.held -= len(parts)
            publish(self._reports)
        return answer

    def give_back(self, parts: list[Message], answer: Answer) -> None:
        """Undo a removal outside syncpoint whose answer was not sent. (A unit of work is backed out as a whole.)"""
        if self._removed_for_good(parts, answer):
            self.handle.states[Direction.GET] = self._state_before
            self.queue.make_available(parts)
            self.queue.dequeued -= len(parts)
            forget(self._reports)

    def _removed_for_good(self, parts: list[Message], answer: Answer) -> bool:
        """Return whether the call has removed messages outside syncpoint."""
        return not (self.browses or self._in_unit_of_work(parts[0]) or answer[1] == mq.MQRC_TRUNCATED_MSG_FAILED)

    # --- which messages

    def _find(self) -> list[Message] | None:
        options, handle = self.options, self.handle
        if options & UNDER_CURSOR:
            return self._under_cursor()
        goes_on_with = self._goes_on_with()
        if goes_on_with is not None:
            return self._continue(goes_on_with)
        after_key = self._cursor() if options & mq.MQGMO_BROWSE_NEXT else None
        found = self.queue.candidates(self.match, after_key, View(self.logical_order, self._whole()))
        if options & mq.MQGMO_UNMARKED_BROWSE_MSG:
            found = (message for message in found if not self.queue.marks.is_marked_for(message, handle))
        return next(filter(None, map(self._retrievable, found)), None)

    def _whole(self) -> Whole:
        """Return the unit (message, logical message or group) that must be complete so that the call can return a message."""
        if self.options & mq.MQGMO_ALL_MSGS_AVAILABLE:
            return Whole.GROUP
        return Whole.LOGICAL_MESSAGE if self.options & WHOLE_LOGICAL_MESSAGE else Whole.MESSAGE

    def _under_cursor(self) -> list[Message]:
        """Return the message under the browse cursor, or its logical message. Match options are ignored."""
        message = self.queue.available.get(self.handle.cursor)
        if message is None or not self._may_see(message):
            raise Failed(mq.MQRC_NO_MSG_UNDER_CURSOR)
        if self.options & mq.MQGMO_UNMARKED_BROWSE_MSG and self.queue.marks.is_marked_for(message, self.handle):
            # A marked message is not returned. IBM does not document the reason code, so this one is unverified.
            raise Failed(mq.MQRC_NO_MSG_UNDER_CURSOR)
        if self.options & mq.MQGMO_COMPLETE_MSG and message.offset:
            raise Failed(mq.MQRC_INVALID_MSG_UNDER_CURSOR)
        parts = self._retrievable(message)
        if parts is None:
            raise Failed(mq.MQRC_NO_MSG_UNDER_CURSOR)
        return parts

    def _continue(self, wanted: Identity) -> list[Message] | None:
        """Return the messages that continue the current group or logical message, or None if they are not available."""
        if not self.browses and not self.options & mq.MQGMO_SYNCPOINT_IF_PERSISTENT:
            self._check_unit_of_work(bool(self.options & mq.MQGMO_SYNCPOINT))
        group = self.queue.groups.get(wanted.group_id)
        message = group.find(wanted.msg_seq_number, wanted.offset) if group is not None else None
        if message is None:
            return None
        if not self.match.accepts(message):
            raise Failed(mq.MQRC_MATCH_OPTIONS_ERROR)
        if self.handle.states[self.direction].current_logical_message:
            # After its first segment, a logical message need not be complete any more. MQGMO_COMPLETE_MSG cannot complete a
            # message that was begun segment by segment.
            whole = self.options & mq.MQGMO_COMPLETE_MSG
            return [message] if self._may_see(message) and not whole else None
        return self._retrievable(message)

    def _may_see(self, message: Message) -> bool:
        return message.locked_by is None or message.locked_by is self.handle

    def _retrievable(self, message: Message) -> list[Message] | None:
        """Return the message (with MQGMO_COMPLETE_MSG, all segments), or None if it is locked or needs a missing segment."""
        if not self._may_see(message):
            return None
        if not self.options & WHOLE_LOGICAL_MESSAGE:
            return [message]
        if self.options & mq.MQGMO_COMPLETE_MSG:
            # A logical message has the place of its first segment.
            parts = self.queue.groups.logical_message(message) if not message.offset else []
            return parts if parts and parts[0] is message and self._may_see_all(parts) else None
        if not self.queue.groups.has_all_segments(message):
            return None
        locked = self.queue.locking - {self.handle}
        return [message] if not locked or self._may_see_all(self.queue.groups.all_segments(message)) else None

    def _may_see_all(self, messages: list[Message]) -> bool:
        return all(map(self._may_see, messages))

    def _in_unit_of_work(self, message: Message) -> bool:
        return bool(self.options & mq.MQGMO_SYNCPOINT) or (
            bool(self.options & mq.MQGMO_SYNCPOINT_IF_PERSISTENT) and message.persistent
        )

    def _check_unit_of_work(self, in_unit_of_work: bool) -> None:
        state = self.handle.states[Direction.GET]
        if state.unterminated and state.in_unit_of_work != in_unit_of_work:
            raise Failed(mq.MQRC_INCONSISTENT_UOW)

    # --- what returning a message involves

    def _deliver(self, parts: list[Message], unlike: int) -> Answer:
        """Build the answer from a message or its segments. ``unlike`` is the reason code if segments are left out, else 0."""
        handle, first = self.handle, parts[0]
        in_unit_of_work = self._in_unit_of_work(first)
        warning = mq.MQRC_NONE if self.browses else self._leaves(first, in_unit_of_work)
        if self.options & mq.MQGMO_MARK_BROWSE_CO_OP and self.queue.marks.is_marked_for_set(first):
            raise Failed(mq.MQRC_MSG_MARKED_BROWSE_CO_OP)
        flags = first.msg_flags
        left = None if first.expires_at_s is None else max(1, int((first.expires_at_s - time.time()) * 10))
        md, data = delivered_descriptor(first.md, first.backout_count, left), first.data
        if len(parts) > 1:
            if not unlike:
                # The reassembled message has the flags of a message with a single segment.
                flags |= mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT
            md = as_only_segment(md, flags)
        if self.options & mq.MQGMO_COMPLETE_MSG and flags & IS_SEGMENT:
            # A report can have less data than the segment that it is about: "The missing bytes are replaced by nulls".
            data = b"".join(part.data.ljust(part.extent, b"\0") for part in parts)
        length = first.extent if len(parts) == 1 else sum(part.extent for part in parts)
        md, data, properties = present(md, data, first.properties, self.properties)
        if self.message_handle is not None:
            self.message_handle.fill(md, properties.in_handle)
        unconverted = 0
        if self.options & mq.MQGMO_CONVERT and len(data) <= self.buffer_length:
            md, data, unconverted = converted_message(md, data, self.md.encoding_and_ccsid, self.buffer_length)
        platform = self.q_mgr.platform
        form = NATIVE if self.options & mq.MQGMO_CONVERT else (platform.encoding, platform.ccsid)
        md, data = properties.with_header(md, data, form)
        if self.md.version == 1:
            md, data = as_version_1(md, data)
        truncated = len(data) > self.buffer_length
        accepted = not truncated or bool(self.options & mq.MQGMO_ACCEPT_TRUNCATED_MSG)
        warning = unlike or warning or unconverted
        if truncated:
            warning = mq.MQRC_TRUNCATED_MSG_ACCEPTED if accepted else mq.MQRC_TRUNCATED_MSG_FAILED
        if accepted:
            if self.browses:
                self._move_cursor(first)
                self._lock(parts)
                self._mark(first)
            else:
                self._remove(parts, in_unit_of_work)
                if handle.options & mq.MQOO_SAVE_ALL_CONTEXT:
                    handle.saved_context = first.md
            handle.states[self.direction] = after(
                Identity(first.group_id, first.msg_seq_number, first.offset),
                flags,
                length,
                in_unit_of_work=in_unit_of_work,
                persistent=first.persistent,
                logical_order=self.logical_order,
            )
        returned = data[: self.buffer_length]
        gmo = self.gmo.answered(
            name_field(self.queue.name),
            statuses(flags),
            self.q_mgr.token(first),
            len(returned),
        )
        comp = mq.MQCC_WARNING if warning else mq.MQCC_OK
        return comp, warning, [md, gmo, len(data), returned]

    def _leaves(self, message: Message, in_unit_of_work: bool) -> int:
        """Return the warning for a message that does not continue the handle's group or logical message, or MQRC_NONE."""
        state = self.handle.states[Direction.GET]
        if not state.unterminated:
            return mq.MQRC_NONE
        if self.logical_order:
            self._check_unit_of_work(in_unit_of_work)
        identity = Identity(message.group_id, message.msg_seq_number, message.offset)
        reason = departure(
            state,
            identity,
            message.msg_flags,
            self.q_mgr.readings[PRECEDENCE],
            persistent=state.persistent,
            in_unit_of_work=in_unit_of_work,
        )
        if reason and self.logical_order:
            raise Failed(reason)
        return reason if state.logical_order else mq.MQRC_NONE

    def _move_cursor(self, message: Message) -> None:
        handle = self.handle
        if not self.options & MOVES_CURSOR:
            return
        continues = self.logical_order and next_to_get(handle.states[Direction.BROWSE]) is not None
        if not continues or self.options & mq.MQGMO_BROWSE_FIRST:
            handle.logical_cursor = message.key
        handle.cursor = message.key
        handle.browsed_in_logical_order = self.logical_order

    def _lock(self, parts: list[Message]) -> None:
        """Lock the browsed message, or unlock the locked message, if the options ask for it."""
        under_cursor = self.options & mq.MQGMO_BROWSE_MSG_UNDER_CURSOR
        if under_cursor and self.options & mq.MQGMO_LOCK and self.handle.locked:
            # The message under the cursor is the locked message, and stays locked.
            return
        self.handle.unlock()
        if self.options & mq.MQGMO_LOCK:
            self.handle.lock(parts)

    def _mark(self, message: Message) -> None:
        """Mark the browsed message, or remove marks, if the options ask for it."""
        options, marks = self.options, self.queue.marks
        if options & mq.MQGMO_MARK_BROWSE_HANDLE:
            marks.mark(message, self.handle)
        if options & mq.MQGMO_UNMARK_BROWSE_HANDLE:
            marks.unmark(message, self.handle)
        if options & mq.MQGMO_MARK_BROWSE_CO_OP:
            marks.mark_for_set(message, time.monotonic())
        if options & mq.MQGMO_UNMARK_BROWSE_CO_OP and marks.unmark_for_set(message):
            self.queue.wake()

    def _remove(self, parts: list[Message], in_unit_of_work: bool) -> None:
        reported = delivery_is_confirmed(parts[0])
        unit = self.q_mgr.unit_of_work(self.connection, len(parts) + reported) if in_unit_of_work else None
        if unit is None and len(parts) > 1 and parts[0].persistent and self.connection.unit_of_work:
            # Joining persistent segments needs a unit of work, but a connection has only one, which the application uses.
            raise Failed(mq.MQRC_UOW_NOT_AVAILABLE)
        self._state_before = self.handle.states[Direction.GET]
        self.q_mgr.keep_state(self.connection, self.handle, Direction.GET, in_unit_of_work)
        for part in parts:
            self.queue.withdraw(part)
            self.queue.dequeued += 1
        self._reports = reports_on_delivery(self.q_mgr, parts) if reported else []
        if unit is not None:
            unit.add_gets(parts)
            self.queue.uncommitted_gets += len(parts)
            unit.add_reports(self._reports)

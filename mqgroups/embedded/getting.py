"""MQGET: which message, under which conditions, and what it does to the handle.

``_find`` is the search of Table 16 with the match options, browse cursor and availability options; ``_deliver`` does
what
returning the message means. A call that finds nothing and may wait looks again each time something happens to the
queue.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from mqgroups.embedded.handle import Direction
from mqgroups.embedded.logical_order import Identity, after, departure, next_to_get, statuses
from mqgroups.embedded.opening import at_most_one
from mqgroups.embedded.property_control import PROPERTY_OPTIONS, present
from mqgroups.embedded.property_transfer import properties_wanted
from mqgroups.embedded.queue import Match, Message
from mqgroups.embedded.queue_manager import CCSID, Answer, Connection, Failed, QueueManager
from mqgroups.embedded.structures import (
    NO_GROUP,
    NO_ID,
    GetMessageOptions,
    MessageDescriptor,
    StructureError,
    as_version_1,
    delivered_descriptor,
    name_field,
)
from mqgroups.mqi import constants as mq

_MOVES_CURSOR = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_BROWSE_NEXT
_BROWSES = _MOVES_CURSOR | mq.MQGMO_BROWSE_MSG_UNDER_CURSOR
_UNDER_CURSOR = mq.MQGMO_BROWSE_MSG_UNDER_CURSOR | mq.MQGMO_MSG_UNDER_CURSOR
_SYNCPOINTS = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT | mq.MQGMO_NO_SYNCPOINT
_LOCKS = mq.MQGMO_LOCK | mq.MQGMO_UNLOCK
_MARKS = (
    mq.MQGMO_MARK_BROWSE_HANDLE
    | mq.MQGMO_MARK_BROWSE_CO_OP
    | mq.MQGMO_UNMARK_BROWSE_CO_OP
    | mq.MQGMO_UNMARK_BROWSE_HANDLE
    | mq.MQGMO_UNMARKED_BROWSE_MSG
)
_NOT_YET = _LOCKS | _MARKS | mq.MQGMO_COMPLETE_MSG | mq.MQGMO_SET_SIGNAL | mq.MQGMO_MARK_SKIP_BACKOUT
_KNOWN = (
    mq.MQGMO_WAIT
    | mq.MQGMO_FAIL_IF_QUIESCING
    | _SYNCPOINTS
    | _BROWSES
    | PROPERTY_OPTIONS
    | mq.MQGMO_MSG_UNDER_CURSOR
    | mq.MQGMO_ACCEPT_TRUNCATED_MSG
    | mq.MQGMO_CONVERT
    | mq.MQGMO_LOGICAL_ORDER
    | mq.MQGMO_ALL_MSGS_AVAILABLE
    | mq.MQGMO_ALL_SEGMENTS_AVAILABLE
    | _NOT_YET
)
_MATCHES = (
    mq.MQMO_MATCH_MSG_ID
    | mq.MQMO_MATCH_CORREL_ID
    | mq.MQMO_MATCH_GROUP_ID
    | mq.MQMO_MATCH_MSG_SEQ_NUMBER
    | mq.MQMO_MATCH_OFFSET
    | mq.MQMO_MATCH_MSG_TOKEN
)


def get(
    q_mgr: QueueManager, connection: Connection, hobj: int, md_raw: bytes, gmo_raw: bytes, buffer_length: int
) -> Answer:
    """MQGET (IBM MQ, topic "MQGET")."""
    try:
        md = MessageDescriptor(md_raw)
    except StructureError as error:
        raise Failed(mq.MQRC_MD_ERROR) from error
    try:
        gmo = GetMessageOptions(gmo_raw)
    except StructureError as error:
        raise Failed(mq.MQRC_GMO_ERROR) from error
    call = _Get(q_mgr, connection, hobj, md, gmo, buffer_length)
    waits = gmo.options & mq.MQGMO_WAIT and not gmo.options & _UNDER_CURSOR
    deadline = None
    if waits and gmo.wait_interval_ms != mq.MQWI_UNLIMITED:
        deadline = time.monotonic() + gmo.wait_interval_ms / 1000
    waiter = connection.waiter
    waiting = False
    try:
        while True:
            with q_mgr.lock:
                answer = call.attempt()
                if answer is None and waits:
                    # Under the same lock, so that nothing arrives between looking and waiting.
                    call.queue.waiters.add(waiter.wake)
                    waiting = True
            if answer is not None:
                return call.finish(answer)
            left = None if deadline is None else deadline - time.monotonic()
            if not waits or (left is not None and left <= 0):
                raise Failed(mq.MQRC_NO_MSG_AVAILABLE)
            waiter.wait(left)
    finally:
        if waiting:
            with q_mgr.lock:
                call.queue.waiters.discard(waiter.wake)


class _Get:
    """One MQGET call."""

    def __init__(
        self,
        q_mgr: QueueManager,
        connection: Connection,
        hobj: int,
        md: MessageDescriptor,
        gmo: GetMessageOptions,
        buffer_length: int,
    ) -> None:
        self.q_mgr = q_mgr
        self.connection = connection
        self.hobj = hobj
        self.md = md
        self.gmo = gmo
        self.options = gmo.options
        self.buffer_length = buffer_length
        self.browses = bool(self.options & _BROWSES)
        self.direction = Direction.BROWSE if self.browses else Direction.GET
        self.logical_order = bool(self.options & mq.MQGMO_LOGICAL_ORDER)
        with q_mgr.lock:
            self.handle, self.queue = connection.queue_handle(hobj)
            self._check()
            self.properties, self.message_handle = properties_wanted(connection, self.handle, gmo)
        self.match = self._match()

    def _check(self) -> None:
        """Raise Failed for what MQGET refuses before it looks at messages."""
        options, handle = self.options, self.handle
        check_get_options(options)
        if self.gmo.match_options & ~_MATCHES:
            raise Failed(mq.MQRC_MATCH_OPTIONS_ERROR)
        if self.gmo.match_options & mq.MQMO_MATCH_MSG_TOKEN:
            raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)
        if self.logical_order and self.gmo.version < 2:
            raise Failed(mq.MQRC_WRONG_GMO_VERSION)
        if self.logical_order and self.md.version < 2:
            raise Failed(mq.MQRC_WRONG_MD_VERSION)
        if options & (_BROWSES | mq.MQGMO_MSG_UNDER_CURSOR) and not handle.options & mq.MQOO_BROWSE:
            raise Failed(mq.MQRC_NOT_OPEN_FOR_BROWSE)
        if not self.browses and not handle.for_input:
            raise Failed(mq.MQRC_NOT_OPEN_FOR_INPUT)
        if self.buffer_length < 0:
            raise Failed(mq.MQRC_BUFFER_LENGTH_ERROR)
        if self.buffer_length > self.connection.max_msg_length:
            # For a client this reason also means a buffer beyond what its channel carries (reason code 2010,
            # MQRC_DATA_LENGTH_ERROR).
            raise Failed(mq.MQRC_DATA_LENGTH_ERROR)
        if options & mq.MQGMO_WAIT and self.gmo.wait_interval_ms < mq.MQWI_UNLIMITED:
            raise Failed(mq.MQRC_WAIT_INTERVAL_ERROR)
        if options & mq.MQGMO_BROWSE_NEXT and handle.browsed_in_logical_order not in (None, self.logical_order):
            raise Failed(mq.MQRC_INCONSISTENT_BROWSE)

    def _match(self) -> Match:
        """Return what the match options select; MQMI_NONE, MQCI_NONE and MQGI_NONE match anything (topic q096750)."""
        chosen, md = self.gmo.match_options, self.md
        return Match(
            msg_id=md.msg_id if chosen & mq.MQMO_MATCH_MSG_ID and md.msg_id != NO_ID else None,
            correl_id=md.correl_id if chosen & mq.MQMO_MATCH_CORREL_ID and md.correl_id != NO_ID else None,
            group_id=md.group_id if chosen & mq.MQMO_MATCH_GROUP_ID and md.group_id != NO_GROUP else None,
            msg_seq_number=md.msg_seq_number if chosen & mq.MQMO_MATCH_MSG_SEQ_NUMBER else None,
            offset=md.offset if chosen & mq.MQMO_MATCH_OFFSET else None,
        )

    def attempt(self) -> tuple[Message, Answer] | None:
        """Look once, under the lock. Returns the message and the answer, or None if there is none now."""
        if self.queue.deleted:
            raise Failed(mq.MQRC_Q_DELETED)
        for values in (self.handle.opened_values, self.queue.values):
            if values is not None and values[mq.MQIA_INHIBIT_GET] == mq.MQQA_GET_INHIBITED:
                raise Failed(mq.MQRC_GET_INHIBITED)
        message = self._find()
        return None if message is None else (message, self._deliver(message))

    def finish(self, found: tuple[Message, Answer]) -> Answer:
        """Make a removal outside syncpoint durable, without the lock, before it is answered."""
        message, answer = found
        if self.browses or self._in_unit_of_work(message) or answer[1] == mq.MQRC_TRUNCATED_MSG_FAILED:
            return answer
        try:
            self.q_mgr.write_now((), (message,))
        except Failed:
            with self.q_mgr.lock:
                self.handle.states[Direction.GET] = self._state_before
                self.queue.make_available((message,))
            raise
        with self.q_mgr.lock:
            self.queue.depth -= 1
        return answer

    # --- which message

    def _find(self) -> Message | None:
        options, handle = self.options, self.handle
        if options & _UNDER_CURSOR:
            message = self.queue.available.get(handle.cursor)
            if message is None:
                raise Failed(mq.MQRC_NO_MSG_UNDER_CURSOR)
            return message  # type: ignore[no-any-return]  # sortedcontainers is untyped
        fresh = bool(options & mq.MQGMO_BROWSE_FIRST)
        if self.logical_order:
            wanted = None if fresh else next_to_get(handle.states[self.direction])
            if wanted is not None:
                return self._continue(wanted)
            position = None if fresh or not self.browses else handle.logical_cursor
            found = self.queue.heads(self.match, position)
        else:
            position = None if fresh or not self.browses else handle.cursor
            found = self.queue.candidates(self.match, position)
        return next(self._available(found), None)

    def _available(self, found: Iterator[Message]) -> Iterator[Message]:
        """Pass over messages of groups, or of logical messages, that are not complete, as the options ask."""
        if self.options & mq.MQGMO_ALL_MSGS_AVAILABLE:
            return filter(self.queue.group_is_available, found)
        if self.options & mq.MQGMO_ALL_SEGMENTS_AVAILABLE:
            return filter(self.queue.logical_message_is_available, found)
        return found

    def _continue(self, wanted: Identity) -> Message | None:
        """Return the next of the current group or logical message, and of no other."""
        state = self.handle.states[self.direction]
        if not self.browses and not self.options & mq.MQGMO_SYNCPOINT_IF_PERSISTENT:
            self._check_unit_of_work(bool(self.options & mq.MQGMO_SYNCPOINT))
        group = self.queue.group(wanted.group_id)
        message = group.find(wanted.msg_seq_number, wanted.offset) if group is not None else None
        if message is None:
            return None
        if not self.match.accepts(message):
            raise Failed(mq.MQRC_MATCH_OPTIONS_ERROR)
        starts_logical_message = not state.current_logical_message
        if (
            starts_logical_message
            and self.options & mq.MQGMO_ALL_SEGMENTS_AVAILABLE
            and not self.queue.logical_message_is_available(message)
        ):
            return None
        return message

    def _in_unit_of_work(self, message: Message) -> bool:
        return bool(self.options & mq.MQGMO_SYNCPOINT) or (
            bool(self.options & mq.MQGMO_SYNCPOINT_IF_PERSISTENT) and message.persistent
        )

    def _check_unit_of_work(self, in_unit_of_work: bool) -> None:
        state = self.handle.states[Direction.GET]
        if state.unterminated and state.in_unit_of_work != in_unit_of_work:
            raise Failed(mq.MQRC_INCONSISTENT_UOW)

    # --- what returning it means

    def _deliver(self, message: Message) -> Answer:
        handle = self.handle
        in_unit_of_work = self._in_unit_of_work(message)
        warning = mq.MQRC_NONE if self.browses else self._leaves(message, in_unit_of_work)
        md, data = delivered_descriptor(message.md, message.backout_count), message.data
        md, data, properties = present(md, data, message.properties, self.properties)
        if self.message_handle is not None:
            self.message_handle.fill(md, properties.in_handle)
        md, data = properties.with_header(md, data)
        if self.md.version == 1:
            md, data = as_version_1(md, data)
        truncated = len(data) > self.buffer_length
        if self.options & mq.MQGMO_CONVERT and not truncated:
            warning = warning or self._conversion_warning(md)
        accepted = not truncated or bool(self.options & mq.MQGMO_ACCEPT_TRUNCATED_MSG)
        if truncated:
            warning = mq.MQRC_TRUNCATED_MSG_ACCEPTED if accepted else mq.MQRC_TRUNCATED_MSG_FAILED
        if accepted:
            if self.browses:
                self._move_cursor(message)
            else:
                self._remove(message, in_unit_of_work)
            handle.states[self.direction] = after(
                Identity(message.group_id, message.msg_seq_number, message.offset),
                message.msg_flags,
                len(message.data),
                in_unit_of_work=in_unit_of_work,
                persistent=message.persistent,
                logical_order=self.logical_order,
            )
        returned = data[: self.buffer_length]
        gmo = self.gmo.answered(
            name_field(self.queue.name),
            statuses(message.msg_flags),
            message.position.to_bytes(16, "big"),
            len(returned),
        )
        comp = mq.MQCC_WARNING if warning else mq.MQCC_OK
        return comp, warning, [md, gmo, len(data), returned]

    def _leaves(self, message: Message, in_unit_of_work: bool) -> int:
        """Return the warning for a message that is not what the handle's group or logical message goes on with."""
        state = self.handle.states[Direction.GET]
        if self.logical_order:
            self._check_unit_of_work(in_unit_of_work)
        identity = Identity(message.group_id, message.msg_seq_number, message.offset)
        reason = departure(
            state, identity, message.msg_flags, persistent=state.persistent, in_unit_of_work=in_unit_of_work
        )
        if reason and self.logical_order:
            raise Failed(reason)
        return reason if state.logical_order else mq.MQRC_NONE

    def _move_cursor(self, message: Message) -> None:
        handle = self.handle
        if not self.options & _MOVES_CURSOR:
            return
        continues = self.logical_order and next_to_get(handle.states[Direction.BROWSE]) is not None
        if not continues or self.options & mq.MQGMO_BROWSE_FIRST:
            handle.logical_cursor = message.key
        handle.cursor = message.key
        handle.browsed_in_logical_order = self.logical_order

    def _remove(self, message: Message, in_unit_of_work: bool) -> None:
        unit = self.q_mgr.unit_of_work(self.connection) if in_unit_of_work else None
        self._state_before = self.handle.states[Direction.GET]
        self.q_mgr.keep_state(self.connection, self.handle, Direction.GET, in_unit_of_work)
        self.queue.withdraw(message)
        if unit is not None:
            unit.gets.append(message)
            self.queue.uncommitted += 1

    def _conversion_warning(self, delivered: bytes) -> int:
        """Return why MQGMO_CONVERT leaves the data as it is, or MQRC_NONE if it is already as asked for."""
        found = MessageDescriptor(delivered)
        asked = self.md.coded_char_set_id if self.md.coded_char_set_id != mq.MQCCSI_Q_MGR else CCSID
        if (found.coded_char_set_id, found.encoding) == (asked, self.md.encoding):
            return mq.MQRC_NONE
        if found.format == mq.MQFMT_STRING:
            # Only the character set counts for text.
            return mq.MQRC_NONE if found.coded_char_set_id == asked else mq.MQRC_NOT_CONVERTED
        return mq.MQRC_FORMAT_ERROR if found.format == mq.MQFMT_NONE else mq.MQRC_NOT_CONVERTED


def check_get_options(options: int) -> None:
    """Raise Failed with MQRC_OPTIONS_ERROR for a combination that MQGET refuses (topic q103830)."""
    syncpoint = options & (mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT)
    if (
        options & ~_KNOWN
        or not at_most_one(options, _SYNCPOINTS)
        or not at_most_one(options, _BROWSES | mq.MQGMO_MSG_UNDER_CURSOR)
        or (syncpoint and options & (_BROWSES | mq.MQGMO_UNLOCK))
        or (options & mq.MQGMO_SYNCPOINT and options & mq.MQGMO_LOCK)
        or (options & mq.MQGMO_SYNCPOINT_IF_PERSISTENT and options & mq.MQGMO_COMPLETE_MSG)
        or (options & mq.MQGMO_LOCK and not options & _BROWSES)
        or (options & mq.MQGMO_UNLOCK and options & ~(mq.MQGMO_UNLOCK | mq.MQGMO_NO_SYNCPOINT))
        or (options & mq.MQGMO_WAIT and options & mq.MQGMO_SET_SIGNAL)
        or (options & mq.MQGMO_MARK_SKIP_BACKOUT and not options & mq.MQGMO_SYNCPOINT)
        or not at_most_one(options, PROPERTY_OPTIONS)
    ):
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    if options & _NOT_YET:
        raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)

"""GroupCursor: a consumer's queue handle, the position in a group, and the MQGETs that move the position.

``core.group`` decides how to get the next message. The cursor accepts only the next message of the group.

Not here: status records and commits. ``set_back`` gives the cursor the position of the last commit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from math import ceil, inf

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import NOT_CONVERTED, Queue
from mqgroups.connection.retry import ask
from mqgroups.core.group import AT_START, GetPlan, GroupPosition, after_messages, after_segment, follows, next_get
from mqgroups.core.model import GROUP_ID_NONE, MatchOption
from mqgroups.core.run import Run
from mqgroups.errors import ForeignSyncpoint, GroupIncomplete, MessagesTaken, QueueUnavailable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.message import Message
from mqgroups.mqi.reasons import INHIBITED
from mqgroups.mqi.rfh2 import without_properties
from mqgroups.mqi.structures import got_fields
from mqgroups.settings import Consuming

_OPEN_OPTIONS = mq.MQOO_INPUT_SHARED | mq.MQOO_INQUIRE | mq.MQOO_NO_READ_AHEAD
# Properties are always returned in front of the data, whatever the queue's PROPCTL says. With a message handle, each property
# would need an MQINQMP call.
_GET_OPTIONS = mq.MQGMO_SYNCPOINT | mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
# How long to pause between two tries while gets are inhibited, because MQGET does not wait then.
_INHIBITED_PAUSE_S = 1.0
# The longest wait of one MQGET. Between two MQGETs, Ctrl-C and signal handlers run, and a unit of work that is old enough is
# committed, even if no message comes.
_LONGEST_WAIT_MS = 1000
# Between groups no unit of work is open, and an MQGET that gets nothing costs the queue manager as much as any other. So each
# MQGET waits a second longer than the one before, up to this.
_LONGEST_IDLE_WAIT_MS = 5000
# How long to wait for messages that a lost connection gives back. If they come later, MessagesTaken is raised without need.
COMING_BACK_MS = 5000
# Names of this module are found faster than names of another module.
_NOT_A_SEGMENT, _IN_GROUP, _RFH2 = mq.MQSS_NOT_A_SEGMENT, mq.MQGS_MSG_IN_GROUP, mq.MQFMT_RF_HEADER_2.rstrip()
_GROUP_STATUS, _SEGMENT_STATUS = st.GMO_GROUP_STATUS, st.GMO_SEGMENT_STATUS


@dataclass(frozen=True, slots=True)
class _Asked:
    """How the cursor asks for messages, according to the settings and the platform.

    ``segments``: whether to get segments one by one. ``md``: the MQMD of a get that accepts any message, with the CCSID to
    convert to. ``accepted``: the reason codes with which a message is accepted although its data could not be converted.
    """

    segments: bool
    md: bytearray
    accepted: frozenset[int]


class _InEndedGroup(Enum):
    """Whether the queue handle is still in the middle of a group that ended before the handle got the group's last message."""

    NO = "no"
    ONCE_COMMITTED = "when the end is known to be committed"
    YES = "yes"


class GroupCursor:
    """A consumer's queue handle, and its position in a group.

    Attributes:
        queue: the handle, open for shared input.
        unit: the MsgIds of the messages in the open unit of work, which ``get_again`` needs after a lost connection.
    """

    def __init__(self, connection: Connection, settings: Consuming, committed: GroupPosition) -> None:
        """Open the queue, and begin at the position ``committed``. Raises MQIError."""
        self._connection = connection
        self._settings = settings
        self._asked = _Asked(
            # There are no segments on z/OS.
            settings.stream and connection.platform != mq.MQPL_ZOS,
            st.md(ccsid=settings.convert_to),
            NOT_CONVERTED if settings.convert_to else frozenset(),
        )
        self.queue = self._open()
        self.unit: list[bytes] = []
        self._run = Run(committed)
        # How many bytes of properties were removed from the last segment. Offsets include these bytes if the putter wrote them
        # into the data, which 2443 should refuse. Offsets do not include properties that the queue manager has added.
        self._in_data = 0
        # The MQGMO of all following gets, while the handle retains the group.
        self._run_gmo: bytearray | None = None
        self._in_ended_group = _InEndedGroup.NO

    @property
    def position(self) -> GroupPosition:
        """The position in the group after the last message that was got."""
        return self._run.position

    def set_back(self, committed: GroupPosition) -> None:
        """Go back to ``committed``, the position of the last commit."""
        self._run_gmo = None
        self._in_data = 0
        self.unit.clear()
        self._run.go_to(committed)
        if committed.at_start and self._in_ended_group is _InEndedGroup.ONCE_COMMITTED:
            self._in_ended_group = _InEndedGroup.YES

    def group_ended(self) -> None:
        """Go to the position between two groups, because a group has ended."""
        self.set_back(AT_START)

    def take_apart(self, next_one: Message, *, again: bool) -> Iterator[tuple[bytes, bytes]]:
        """Get the next message, of any length, one segment at a time. Yield the MQMD and the data of each segment.

        The iteration ends early if a segment is gone. ``next_one`` identifies the message by GroupId and MsgId. ``again``:
        whether to wait, because a lost connection has backed the message out and it may not be back yet. Raises MQIError.
        """
        group_id = next_one.group_id
        position = replace(self.position, group_id=group_id, retained=False)
        ends = False
        while not ends:
            # The handle has the position from the first segment on, so offsets do not matter.
            plan = next_get(position, segments=self._connection.platform != mq.MQPL_ZOS)
            if group_id == GROUP_ID_NONE and not position.retained:
                # All messages in no group have the same GroupId and number.
                plan = replace(plan, match_options=plan.match_options | MatchOption.MATCH_MSG_ID)
            position = replace(position, retained=True)
            gmo = self._gmo(plan, COMING_BACK_MS if again else 0, whole=False)
            got = self.queue.get_of_any_length(self._wanted(plan, next_one.msg_id), gmo)
            if got is None:
                return
            ends = got[2][_SEGMENT_STATUS] != mq.MQSS_SEGMENT
            if ends:
                self._run_gmo = None
                self._run.go_to(after_messages(position, group_id))
            yield got[1], got[0]

    def end_in_middle(self) -> None:
        """Remember that the next commit ends the group, although the handle has not got the group's last message."""
        self._in_ended_group = _InEndedGroup.ONCE_COMMITTED

    def reopen(self) -> None:
        """Open the queue again if the connection was replaced. Raises MQIError."""
        if self.queue.is_stale:
            self.queue = self._open()
            if self._in_ended_group is _InEndedGroup.YES:
                self._in_ended_group = _InEndedGroup.NO

    def _out_of_ended_group(self) -> None:
        # In logical order the handle would continue that group. A fresh handle is in no group.
        before = self.queue
        self.queue, self._in_ended_group = self._open(), _InEndedGroup.NO
        before.close()

    def close(self) -> None:
        """Close the queue."""
        self.queue.close()

    def get_in_run(self) -> Message | None:
        """Get the group's next message with the MQGMO of the last get. Return ``None`` if the caller must use ``get_in_group``.

        In the middle of a group all gets use the same MQGMO, so this method neither calls ``next_get`` nor reads the clock.
        """
        # A fast path, because only the number changes, and most messages need no check (``_is_plain``). It saves 8 of the 10 µs
        # of processor time that a get takes in Python.
        if self._run_gmo is None:
            return None
        try:
            got = self.queue.get(self._asked.md, self._run_gmo, self._asked.accepted)
        except QueueUnavailable as error:
            if error.reason not in INHIBITED:
                raise
            return None  # get_in_group waits until gets are allowed again
        return self._accept(got) if got else None

    def get_in_group(self, wait_s: float, while_waiting: Callable[[float], bool]) -> Message | None:
        """Get the next message of the group, with the arguments and errors of ``get``."""
        message = self.get(wait_s, while_waiting)
        if message is not None:
            plan = next_get(self.position)
            self._run_gmo = self._gmo(plan, min(_LONGEST_WAIT_MS, ceil(wait_s * 1000)))
        return message

    def get(self, wait_s: float | None, while_waiting: Callable[[float], bool]) -> Message | None:
        """Get the next message. Return ``None`` if it does not come within ``wait_s`` seconds. Without ``wait_s``, wait for ever.

        Args:
            while_waiting: a function to call about every second with the remaining seconds. Between groups, after a wait of ten
                seconds, it is called every five seconds. It can take a syncpoint. If it returns ``True``, the wait ends.

        Raises:
            GroupIncomplete: the message that came is not the group's next message.
            QueueUnavailable: gets were still inhibited when the wait ended.
            MQIError: the call failed.
        """
        if self._in_ended_group is _InEndedGroup.YES:
            self._out_of_ended_group()
        deadline_s = inf if wait_s is None else time.monotonic() + wait_s
        left_s = inf if wait_s is None else wait_s
        longest_ms = _LONGEST_WAIT_MS
        while True:
            # At least 0, because -1 is MQWI_UNLIMITED.
            wait_ms = longest_ms if left_s > longest_ms / 1000 else max(0, ceil(left_s * 1000))
            plan = next_get(
                self.position, complete_groups_only=self._settings.complete_groups_only, segments=self._asked.segments
            )
            md = self._asked.md
            if plan.match_options is not MatchOption.NONE:
                md = self._wanted(plan)
            inhibited = None
            try:
                got = self._get(md, plan, wait_ms)
                if got is not None:
                    return self._accept(got)
                if self.position.at_start:
                    longest_ms = min(longest_ms + _LONGEST_WAIT_MS, _LONGEST_IDLE_WAIT_MS)
            except QueueUnavailable as error:
                if error.reason not in INHIBITED:
                    raise
                # MQGET does not wait while gets are inhibited. An operator may allow them again before the deadline.
                inhibited = error
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                if inhibited is not None:
                    raise inhibited
                return None
            # This is called even without a pause, because an application's sleep function can raise an error to end a wait.
            ask(self._connection.sleep, min(left_s, _INHIBITED_PAUSE_S) if inhibited is not None else 0)
            left_s = deadline_s - time.monotonic()
            if while_waiting(left_s):
                return None

    def get_again(self, msg_id: bytes) -> Message:
        """Get a message again that was backed out because the connection was lost.

        IBM's texts do not say whether the message is back on the queue as soon as the status queue can be opened. So this method
        waits. Raises MQIError; MessagesTaken if the message is not back within a few seconds.
        """
        position = self.position
        plan = next_get(position, segments=self._asked.segments)
        match_options = plan.match_options
        if position.at_start:
            match_options |= MatchOption.MATCH_MSG_ID
        md = self._wanted(plan, msg_id)
        plan = replace(plan, match_options=match_options)
        deadline_s = time.monotonic() + min(self._connection.reconnect.wait_s, COMING_BACK_MS / 1000)
        wait_ms = 0
        while (got := self._get(md, plan, wait_ms)) is None and time.monotonic() < deadline_s:
            wait_ms = _LONGEST_WAIT_MS
        if got is None or got[1][st.MD_MSG_ID] != msg_id:
            raise MessagesTaken(self._settings.queue, position.group_id, position.msg_seq_number + 1)
        return self._accept(got)

    def _open(self) -> Queue:
        settings = self._settings
        queue = self._connection.open_queue(
            settings.queue, _OPEN_OPTIONS, max_message_length=settings.max_message_length
        )
        if settings.convert_to:
            queue.expect_conversion()
        return queue

    def _wanted(self, plan: GetPlan, msg_id: bytes = mq.MQMI_NONE) -> bytearray:
        return st.md(
            msg_id=msg_id,
            group_id=plan.group_id,
            msg_seq_number=plan.msg_seq_number,
            offset=plan.offset,
            ccsid=self._settings.convert_to,
        )

    def _get(self, md: bytearray, plan: GetPlan, wait_ms: int) -> tuple[bytes, bytes, bytes] | None:
        return self.queue.get(md, self._gmo(plan, wait_ms), self._asked.accepted)

    def _gmo(self, plan: GetPlan, wait_ms: int, *, whole: bool = True) -> bytearray:
        options = _GET_OPTIONS
        if self._settings.convert_to and whole:
            options |= mq.MQGMO_CONVERT
        if whole and not self._settings.stream:
            options |= mq.MQGMO_COMPLETE_MSG
        if plan.logical_order:
            options |= mq.MQGMO_LOGICAL_ORDER
        if plan.all_msgs_available:
            options |= mq.MQGMO_ALL_MSGS_AVAILABLE
        return st.gmo(options, match_options=plan.match_options, wait_interval_ms=wait_ms)

    def _accept(self, got: tuple[bytes, bytes, bytes]) -> Message:
        """Return the message if it is the group's next message; otherwise raise GroupIncomplete or ForeignSyncpoint."""
        data, md, gmo = got
        format_name, msg_id, backout_count, group_id, number, offset = got_fields(md)
        taken = None
        if format_name == _RFH2 and (found := without_properties(md, data)) is not None:
            md, data, taken = found
        run, group_status, segment_status = self._run, gmo[_GROUP_STATUS], gmo[_SEGMENT_STATUS]
        base = run.base
        is_plain = False
        if (
            number == base.msg_seq_number + run.ahead + 1
            and group_id == base.group_id
            and segment_status == _NOT_A_SEGMENT
            and self._run_gmo is not None
            and not base.offset
        ):
            run.ahead += 1
            is_plain = group_status == _IN_GROUP and not backout_count
        else:
            position = self.position
            if self._in_data and offset == position.offset + self._in_data:
                position = replace(position, offset=offset)
            if not follows(position, group_id, number, offset):
                raise self._incomplete(group_id, number, offset)
            # IBM MQ should refuse a segment that has only properties (2253). If one comes, its putter has written them into its
            # data, so the next offset counts them.
            length = len(data) or len(got[0])
            self._in_data = 0 if taken is None else len(taken.data) - length
            ends = segment_status != mq.MQSS_SEGMENT
            run.go_to(after_messages(position, group_id) if ends else after_segment(position, group_id, length))
        self.unit.append(msg_id)
        return Message(data, md, group_status, segment_status, taken, is_plain)

    def _incomplete(self, group_id: bytes, msg_seq_number: int, offset: int) -> GroupIncomplete | ForeignSyncpoint:
        position = self.position
        expected = position.msg_seq_number + 1
        if group_id == position.group_id and (msg_seq_number, offset) < (expected, position.offset):
            return ForeignSyncpoint(
                f"message {msg_seq_number}{_at(offset)} of group {group_id.hex()} was got from {self._settings.queue} again, "
                f"expected message {expected}{_at(position.offset)}"
            )
        return GroupIncomplete(
            f"queue {self._settings.queue}: got message {msg_seq_number}{_at(offset)} of group {group_id.hex()}, expected "
            f"message {expected}{_at(position.offset)} of group {position.group_id.hex()}. The message was backed out to the "
            "queue. Browse the group",
            status_queue=self._settings.record_queue,
            group_id=position.group_id,
            found=msg_seq_number,
            expected=expected,
        )


def _at(offset: int) -> str:
    return f" from offset {offset}" if offset else ""

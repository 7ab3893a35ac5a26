"""Puts one message of a group where it belongs: behind the one before, at the same instance of the queue, in a unit of work.

For each message ``core.group`` says how to put it. The MQMD that MQPUT returned is compared with that plan, and only then the
position moves on. Not here: when a unit of work ends, and what is put again (``putter.py``).
"""

from __future__ import annotations

from collections.abc import Callable

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.core.group import GroupPosition, MessagePart, after_messages, after_segment, follows, may_go_unanswered
from mqgroups.core.model import Role
from mqgroups.core.ownership import PendingCommit
from mqgroups.core.restart import Expectations
from mqgroups.core.run import Run
from mqgroups.core.status import Done
from mqgroups.errors import MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.structures import group_place
from mqgroups.put.answers import Answers
from mqgroups.put.descriptors import Descriptors
from mqgroups.put.destination import Destination
from mqgroups.put.payload import Unsent
from mqgroups.settings import Producing
from mqgroups.status.keeper import Keeper
from mqgroups.status.opening import check_apart
from mqgroups.status.owner import new_owner_id
from mqgroups.status.units_of_work import UnitsOfWork
from mqgroups.telemetry import context
from mqgroups.telemetry.message_span import MessageSpan

# Looked up once: to look up a member of an enum takes long.
_WHOLE, _SEGMENT = MessagePart.WHOLE, MessagePart.SEGMENT
_RESOLVED_Q_MGR_NAME, _MSG_ID = st.PMO_RESOLVED_Q_MGR_NAME, st.MD_MSG_ID
# The reason codes of a put that is refused because of its properties: they are longer than MAXPROPL, or the handle is not valid.
# And of one that is too long, perhaps only with its header.
_PROPERTIES_REFUSED = frozenset({mq.MQRC_PROPERTIES_TOO_BIG, mq.MQRC_HMSG_ERROR})
_TOO_LONG = frozenset({mq.MQRC_MSG_TOO_BIG_FOR_Q, mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR, mq.MQRC_DATA_LENGTH_ERROR})


class Placing:
    """A producer's open queue, and its position in a group there.

    Attributes:
        settings: the producer's.
        work, owner: its units of work, and its part of them.
        queue: the data queue, open for output.
    """

    def __init__(
        self,
        connection: Connection,
        settings: Producing,
        keeper: Keeper,
        work: UnitsOfWork,
        open_queue: Callable[[], Queue] | None,
        owner_id: str | None,
    ) -> None:
        """Read the status record and open the queue; arguments and errors as for ``Putter``."""
        self._connection = connection
        self.settings = settings
        self.work = work
        self._destination = Destination(connection, settings.queue, settings.bind)
        self._open_for_any_group = open_queue or self._destination.open
        self._persistence = settings.persistence
        self._pinned = False
        self._descriptors = Descriptors(connection, settings)
        self._answers = Answers(connection, settings, work)
        expected = Expectations(Role.PUT, settings.name, settings.queue, connection.q_mgr_identifier)
        self.owner = work.add(keeper, expected, owner_id or new_owner_id(), settings.hooks)
        self._run = Run(self.owner.committed)
        self.owner.in_hand = lambda: self.position
        # Whether the messages of the open unit of work have spans.
        self._each_message = False
        resumed = self.owner.resumed
        if resumed:
            self._persistence = resumed.persistence
            self._destination.resolved = (resumed.resolved_q_name, resumed.resolved_q_mgr_name)
        self.queue = self._open()
        try:
            self._destination.check_opened(self.queue)
            check_apart(keeper.name, self.queue)
        except BaseException:
            self.queue.close()
            raise

    @property
    def position(self) -> GroupPosition:
        """The position in the group after the last put."""
        return self._run.position

    def _put_once(self, message: Unsent, ends: bool = True, in_handle: bool = False) -> None:
        """Put a message; ``ends``: whether it is the last of its unit of work, or has to be answered in any case.

        ``in_handle``: its trace context goes in a message handle.
        """
        data, kind, _, last, part = message
        owner, descriptors, answers = self.owner, self._descriptors, self._answers
        if owner.unit.messages == 0:
            self._begin()
        span = self._creating() if self._each_message else None
        md = None if last or part is not _WHOLE or in_handle else descriptors.of_run.get(kind)
        in_run = md is not None
        if md is not None:
            pmo = descriptors.in_logical_order
            header = descriptors.in_front(kind) if descriptors.carries_context else b""
        else:
            if kind.msg_type == mq.MQMT_REPORT:
                owner.telemetry.abandoned(kind.feedback - mq.MQFB_APPL_FIRST)
            md, pmo, header = descriptors.prepare(
                self.position, self._persistence, kind, last, part, data, in_handle=in_handle
            )
        # In a run the position is behind the group's first message, on a handle that retains it.
        unanswered = not ends and answers.may_be_asynchronous and (in_run or may_go_unanswered(self.position))
        if unanswered:
            pmo = answers.asynchronously(pmo)
        try:
            md_out, pmo_out = self.queue.put(md, pmo, header + data)
        except MQIError as error:
            if span is not None:
                span.why = error
                span.end()
            self._put_otherwise(message, error, ends, had_header=bool(header))
            return
        if span is not None:
            if not unanswered:
                span.put_as(md_out[_MSG_ID])
            span.end()
        run = self._run
        base = run.base
        if in_run and (
            unanswered
            or (
                group_place(md_out) == (base.group_id, base.msg_seq_number + run.ahead + 1)
                and pmo_out[_RESOLVED_Q_MGR_NAME] == self._destination.field
            )
        ):
            # Most messages: only the number is another one than before.
            run.ahead += 1
            answers.last_came = not unanswered
        else:
            self._arrived(message, md_out, pmo_out, unanswered=unanswered)
        unit = owner.unit
        unit.messages += 1
        unit.data_bytes += len(data)

    def _put_otherwise(self, message: Unsent, error: MQIError, ends: bool, *, had_header: bool) -> None:
        """Put a message again: without trace context if ``error`` refused its properties, with it in a handle if it was too long.
        Else raise the error, or that of a put before it that was not answered and explains it.
        """
        self._answers.explain(error)
        if had_header and error.reason in _TOO_LONG:
            self._put_once(message, ends, in_handle=True)
            return
        if error.reason not in _PROPERTIES_REFUSED or not self._descriptors.carries_context:
            raise error
        self._connection.stop_propagating(str(error))
        self._carry()
        self._put_once(message, ends)

    def _arrived(self, message: Unsent, md: bytes, pmo: bytes, *, unanswered: bool) -> None:
        """Check where a message went, by the MQMD and MQPMO that came back, and move the position behind it.

        Raises QueueManagerChanged: to another queue manager than the first one; ForeignSyncpoint: it is not the group's next one.
        """
        data, kind, _, last, part = message
        run, whole = self._run, part is _WHOLE
        base = run.base
        if unanswered:
            group_id = base.group_id
        else:
            group_id, found = group_place(md)
            if base.at_start:
                self._destination.begins(pmo)
                if kind.properties:
                    self.owner.set_properties(dict(kind.properties))
            else:
                self._destination.went(pmo, md)
            offset = 0 if whole else st.long_at(md, st.MD_OFFSET)
            if not follows(base, group_id, found - run.ahead, offset):
                raise self._answers.misplaced(self.position, group_id, found)
        self._answers.last_came = not unanswered
        if whole and base.msg_seq_number and not base.offset:
            run.ahead += 1
        else:
            ends = part is not _SEGMENT
            position = self.position
            run.go_to(
                after_messages(position, group_id) if ends else after_segment(position, group_id, len(data), last=last)
            )

    def _begin(self) -> None:
        """Begin the owner's part of a unit of work."""
        self.work.begin()
        if not self.queue.is_open:
            self.queue = self._open()
        self.work.begun(self.owner)
        self._each_message = self.owner.telemetry.has_message_spans
        if not self._each_message:
            self._carry()
        self._stand_at_committed()

    def _carry(self, span: MessageSpan | None = None) -> None:
        """Set the trace context of the next messages: that of ``span``, else of the unit of work; none if not propagated."""
        propagates = self._connection.propagates
        self._descriptors.carry(self.owner.telemetry.trace_context(span) if propagates else context.NONE)

    def _creating(self) -> MessageSpan:
        """Begin the span of a message; the message carries its context if propagation is on."""
        telemetry = self.owner.telemetry
        span = telemetry.messages.begin(self._run.next_number, telemetry.context)
        if self._connection.propagates or self._descriptors.carries_context:
            self._carry(span)
        return span

    # --- the end of a unit of work

    def _stand_at_committed(self) -> None:
        self._run.go_to(self.owner.committed)

    def _ending(self, *, ended: bool, done: Done | None = None) -> PendingCommit:
        if not ended:
            self._destination.check_told()
        self._answers.check()
        resolved, persistence = self._destination.resolved, self._persistence
        return self.owner.ending(self.position, ended=ended, resolved=resolved, persistence=persistence, done=done)

    def set_back(self) -> None:
        """Go to the position in the owner's record, after a commit or a backout."""
        self._descriptors.of_run.clear()
        self._stand_at_committed()
        if self.owner.committed.at_start:
            self._group_ended()

    # --- the queue

    def _group_ended(self) -> None:
        self._persistence = self.settings.persistence
        self._destination.ended()
        if self._pinned:
            # The queue was open at one instance only for the rest of that group. The next group's first message opens it again:
            # not here, because an MQOPEN can fail and the commit has already succeeded.
            self._pinned = False
            self.queue.close()
        self._descriptors.of_run.clear()

    def _open(self) -> Queue:
        """Open the queue; for the rest of an interrupted group, open the instance that its beginning went to.

        Otherwise MQOO_BIND_ON_GROUP might send the rest to another instance: the first put after a restart goes without logical
        order, and such a put is workload-balanced as if not bound (IBM MQ, topic q027030).
        """
        self._pinned = bool(self._destination.resolved[1]) and not self.owner.committed.at_start
        return self._destination.open_for_the_rest() if self._pinned else self._open_for_any_group()

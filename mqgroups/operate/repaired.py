"""A status queue for operators' functions, which read, replace or remove its record. The owner must not be running.

A new record can keep the user of the record that it replaces (MQPMO_PASS_IDENTITY_CONTEXT). Then the owner trusts the new record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from mqgroups.connection.connection import Connection
from mqgroups.connection.forwarding import ForwardQueue
from mqgroups.connection.queue import Queue
from mqgroups.core import protocol
from mqgroups.core.status import StatusRecord
from mqgroups.core.status_chain import QueueContents, RecordHidden, RecordPut
from mqgroups.core.steps import RecordArrived, Steps
from mqgroups.errors import NotAuthorised
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.status.opening import open_keeping_users
from mqgroups.status.performer import Performer
from mqgroups.status.queue import StatusQueue
from mqgroups.status.records import LONGEST_RECORD_BYTES

_T = TypeVar("_T")
# Moved messages keep their properties, because MQPUT makes properties of the MQRFH2 again.
_MOVE = mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
_MOVE_ANY, _MOVE_ONE = st.gmo(_MOVE), st.gmo(_MOVE, match_options=mq.MQMO_MATCH_MSG_ID)


class RepairedQueue(StatusQueue):
    """A status queue that is open exclusively for an operator."""

    def __init__(
        self,
        connection: Connection,
        name: str,
        model: str,
        wait_s: float,
        *,
        longest_bytes: int = LONGEST_RECORD_BYTES,
        record_users: Collection[str] = (),
        keeps_user: bool = False,
        user: str | None = None,
    ) -> None:
        """Open the status queue. The errors, and the arguments that are not listed here, are those of ``StatusQueue``.

        Args:
            keeps_user: a new record keeps the user of the old record. If this program has another user, it needs +passid.
            user: the user that new records have. This needs authority +setid.

        Attributes:
            put_by: the user of the record that was put last; empty if no record was put.
        """
        self.put_by = ""
        self.record_user = user or ""
        self._keeps_user = keeps_user
        # Why users cannot be kept: the error 2035 when the queue was opened for this.
        self._cannot_keep: NotAuthorised | None = None
        super().__init__(
            connection, name, model, wait_s, longest_bytes=longest_bytes, for_owner=False, record_users=record_users
        )

    def read(self, *, waits: bool = True) -> StatusRecord | None:
        """Browse the queue and return its record; ``None`` if the queue is empty."""
        try:
            self.kept, record = self._perform(self.kept.read(waits=waits))
        except RecordHidden:
            raise self._in_use("MQGET", mq.MQRC_OBJECT_IN_USE) from None
        return record

    @property
    def user_of_record(self) -> str:
        """The user who put the record that ``read`` found; empty if there was no record."""
        stored = self.kept.contents.stored
        return next((each.user for each in self.kept.found if stored is not None and each.msg_id == stored.msg_id), "")

    def replace(self, record: StatusRecord) -> None:
        """Replace the record, in the caller's unit of work."""
        self.kept = self._perform(self.kept.replaced(record))

    def take_away(self) -> None:
        """Remove the record, because it is no longer needed."""
        self._perform(protocol.taken_away(self.kept))

    def move_away(self, to: ForwardQueue | None, msg_ids: Sequence[bytes] | None = None) -> None:
        """Move messages unchanged to ``to``, or remove them if it is ``None``, in the caller's unit of work. Raises MQIError."""
        if msg_ids is None:
            while (got := self._queue.get(st.md(), _MOVE_ANY)) is not None:
                if to is not None:
                    to.take(got[1], got[0])
            self.kept = self.kept._replace(contents=QueueContents())
        for msg_id in msg_ids or ():
            got = self._queue.get(st.md(msg_id=msg_id), _MOVE_ONE)
            if got is not None and to is not None:
                to.take(got[1], got[0])

    def _open_with(self, open_queue: Callable[[int], Queue]) -> Queue:
        if self.record_user:
            return open_queue(mq.MQOO_SET_IDENTITY_CONTEXT)
        if not self._keeps_user:
            return open_queue(0)
        queue, self._cannot_keep = open_keeping_users(open_queue)
        return queue

    def _pmo(self, pmo: bytearray) -> bytearray:
        options = st.long_at(pmo, st.PMO_OPTIONS)
        if self.record_user:
            return st.pmo(options | mq.MQPMO_SET_IDENTITY_CONTEXT)
        if self._keeps_user and self._cannot_keep is None:
            # The handle has the context of the record that was got last.
            return st.pmo(options | mq.MQPMO_PASS_IDENTITY_CONTEXT, context=self._queue.hobj)
        return pmo

    def _put_record(self, record: StatusRecord, how: RecordPut, anchor: bytes) -> RecordArrived:
        arrived = super()._put_record(record, how, anchor)
        self.put_by = arrived.user
        if self._cannot_keep is not None and arrived.user != self.user_of_record:
            raise self._cannot_keep
        return arrived

    def _perform(self, steps: Steps[_T]) -> _T:
        """Make the calls of ``steps`` on this queue. If a call fails, back out the unit of work that the steps have begun."""
        performer = Performer(self._connection, self)
        performer.keepers = {self.name: self}
        was_begun = self._connection.unit_of_work_of is self
        try:
            return performer.perform(steps)
        except BaseException:
            if not was_begun and self._connection.unit_of_work_of is self:
                self._connection.back_out()
            raise

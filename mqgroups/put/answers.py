"""Decides which puts of a producer may be asynchronous, and checks with MQSTAT what became of them.

On a producer's own connection most messages are put with MQPMO_ASYNC_RESPONSE. Three kinds are answered all the same:

    the first of a group            returns its GroupId, and the instance of a cluster queue that it goes to
    the first on a fresh handle     is put without logical order; all later ones rely on the handle's place in the group
    the last of a unit of work      proves the unit of work

The queue manager numbers the messages of a group on this handle, and gives no number to a message that it refused, or that was
backed out. So if the last message of a unit of work has the expected GroupId, number and offset, all messages before it are in
the unit of work. Its answer also says where the group goes, which the handle keeps for the whole group. Before the status record
MQSTAT is asked, which tells warnings too. If anything is wrong, ``UnitsOfWork.redo`` redoes the unit of work, and all its puts
are answered then, and those of the next ``ANSWERED_UNITS``: a queue that was full is soon full again. That a refused message gets
no number is known from reading only (IBM MQ, topic q023060); MQSTAT does not depend on it.

On a shared connection all are answered: a unit of work that holds messages of the application cannot be redone.
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection
from mqgroups.core.group import GroupPosition, MessagePart
from mqgroups.errors import ForeignSyncpoint, MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.put.payload import Unsent
from mqgroups.settings import Producing
from mqgroups.status.units_of_work import UnitsOfWork

# With fewer, most units of work for a queue that is often full are put twice; with more, puts are answered longer than needed.
ANSWERED_UNITS = 4


class Answers:
    """The answers that one producer waits for.

    Attributes:
        are_asynchronous: whether messages are put asynchronously, if nothing failed.
        may_be_asynchronous: whether they may be at present.
        last_came: whether the last put was answered. Only then may a unit of work end.
    """

    def __init__(self, connection: Connection, settings: Producing, work: UnitsOfWork) -> None:
        self._unanswered = connection.unanswered
        self._work = work
        self._queue = settings.queue
        self.are_asynchronous = (
            settings.put_response == "async" and connection.syncpoint.can_be_redone and self._unanswered.can_be_checked
        )
        self.may_be_asynchronous = self.are_asynchronous
        self.last_came = True
        # How many units of work are still answered after one that was redone.
        self._answered_units = 0
        # An MQPMO and its asynchronous copy; those of a unit of work are mostly the same.
        self._copy = (bytearray(), bytearray())

    @property
    def are_missing(self) -> bool:
        """Whether the open unit of work has messages that were not answered."""
        return self._unanswered.any

    def ends_unit_of_work(self, message: Unsent) -> bool:
        """Whether the unit of work will end with ``message``."""
        data, _, _, last, part = message
        ends_group = last and part is not MessagePart.SEGMENT
        return ends_group or self._work.due(1, len(data))

    def asynchronously(self, pmo: bytearray) -> bytearray:
        """Return the MQPMO for a message that goes unanswered."""
        self._unanswered.any = True
        if self._copy[0] is not pmo:
            self._copy = (pmo, st.asynchronous(pmo))
        return self._copy[1]

    def check(self) -> None:
        """Find out whether all messages that were not answered are put; raises MQIError for the first warning or failure."""
        self._unanswered.check()

    def redo(self) -> None:
        """Have all puts answered from now on, for a while."""
        self._answered_units = ANSWERED_UNITS
        self.may_be_asynchronous = False
        self.are_asynchronous = self.are_asynchronous and self._unanswered.can_be_checked

    def unit_ended(self) -> None:
        """Count a unit of work that was committed."""
        if self._answered_units and not self._work.redoing:
            self._answered_units -= 1
            self.may_be_asynchronous = self.are_asynchronous and not self._answered_units

    def explain(self, error: MQIError) -> None:
        """Raise the MQIError of an earlier put, if one failed unseen and so made ``error`` fail with 2003."""
        if error.reason == mq.MQRC_BACKED_OUT:
            missing = self._unanswered.any
            self.check()
            self._unanswered.any = missing

    def misplaced(self, position: GroupPosition, group_id: bytes, found: int) -> ForeignSyncpoint:
        """Return the error for a message after ``position`` that got another number, offset or group than planned.

        Raises MQIError instead if a message before it was not put, which explains it.
        """
        self.check()
        expected = group_id if position.at_start else position.group_id
        return ForeignSyncpoint(
            f"a message was put to {self._queue} as message {found} of group {group_id.hex()}, expected message "
            f"{position.msg_seq_number + 1} of group {expected.hex()}"
        )

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
no number is known only from reading (IBM MQ, "Logical and physical ordering"). MQSTAT does not depend on it.

On a shared connection all are answered: a unit of work that holds messages of the application cannot be redone.
"""

from __future__ import annotations

from math import inf

from mqgroups.connection.connection import Connection
from mqgroups.errors import MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.put.descriptors import IN_LOGICAL_ORDER
from mqgroups.settings import Producing

# With fewer, most units of work for a queue that is often full are put twice; with more, puts are answered longer than needed.
ANSWERED_UNITS = 4
_UNANSWERED_IN_LOGICAL_ORDER = st.asynchronous(IN_LOGICAL_ORDER)


class Answers:
    """The answers that one producer waits for.

    Attributes:
        answered_units: for how many units of work, from the open one on, all puts are answered; ``inf``: for all. If it is 0,
            messages may be put asynchronously.
        last_came: whether the last put was answered. Only then may a unit of work end.
    """

    def __init__(self, connection: Connection, settings: Producing) -> None:
        self._unanswered = connection.unanswered
        is_wanted = settings.put_response == "async" and connection.syncpoint.can_be_redone
        self.answered_units = 0 if is_wanted and self._unanswered.can_be_checked else inf
        self.last_came = True

    @property
    def are_missing(self) -> bool:
        """Whether the open unit of work has messages that were not answered."""
        return self._unanswered.any

    def asynchronously(self, pmo: bytearray) -> bytearray:
        """Return the MQPMO for a message that goes unanswered."""
        self._unanswered.any = True
        return _UNANSWERED_IN_LOGICAL_ORDER if pmo is IN_LOGICAL_ORDER else st.asynchronous(pmo)

    def check(self) -> None:
        """Ask whether the messages without an answer are put. Raises MQIError for the first warning or failure."""
        self._unanswered.check()

    def redo(self) -> None:
        """Have all puts answered from now on, for a while."""
        self.answered_units = max(self.answered_units, ANSWERED_UNITS) if self._unanswered.can_be_checked else inf

    def unit_ended(self) -> None:
        """Count a unit of work that was committed, and that was not redone."""
        if self.answered_units:
            self.answered_units -= 1

    def explain(self, error: MQIError) -> None:
        """If ``error`` is 2003 because an earlier put failed unseen, raise the MQIError of that put."""
        if error.reason == mq.MQRC_BACKED_OUT:
            missing = self._unanswered.any
            self.check()
            self._unanswered.any = missing

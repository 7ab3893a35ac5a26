"""Decides which messages a producer puts asynchronously, and checks with MQSTAT whether these puts succeeded.

On a producer's own connection most messages are put with MQPMO_ASYNC_RESPONSE. Three kinds of message are put synchronously:

    the first of a group            because MQPUT returns the group's GroupId, and its instance of a cluster queue
    the first on a fresh handle     because it is put without logical order, and later messages rely on the handle's position
    the last of a unit of work      because its answer proves that all messages before it are in the unit of work

The queue manager numbers the messages of a group on this handle. A message that it refused or backed out gets no number. So if
the last message of a unit of work has the expected GroupId, number and offset, all messages before it are in the unit of work.
The answer to that put also names the queue manager that the whole group goes to. MQSTAT is called before the status record is
put, because MQSTAT reports warnings too. If anything is wrong, ``UnitsOfWork.redo`` redoes the unit of work with synchronous
puts. The next few units of work (``ANSWERED_UNITS``) are put synchronously too, because a queue that was full is soon full again.
IBM's documentation says that a refused message gets no number ("Logical and physical ordering"); this was not tried on IBM MQ.
The check with MQSTAT does not depend on this.

On a shared connection all puts are synchronous, because a unit of work that holds messages of the application cannot be redone.
"""

from __future__ import annotations

from math import inf

from mqgroups.connection.connection import Connection
from mqgroups.errors import MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.put.descriptors import IN_LOGICAL_ORDER
from mqgroups.settings import Producing

# With fewer, most units of work for an often full queue are put twice. With more, puts stay synchronous longer than needed.
ANSWERED_UNITS = 4
_UNANSWERED_IN_LOGICAL_ORDER = st.asynchronous(IN_LOGICAL_ORDER)


class Answers:
    """Which puts of one producer are synchronous, and whether asynchronous puts are still unchecked.

    Attributes:
        answered_units: the number of units of work, beginning with the open one, in which all puts are synchronous; ``inf`` if
            all puts always are. If the number is 0, messages can be put asynchronously.
        last_came: whether the last put was synchronous. A unit of work must end with a synchronous put.
    """

    def __init__(self, connection: Connection, settings: Producing) -> None:
        self._unanswered = connection.unanswered
        is_wanted = settings.put_response == "async" and connection.syncpoint.can_be_redone
        self.answered_units = 0 if is_wanted and self._unanswered.can_be_checked else inf
        self.last_came = True

    @property
    def are_missing(self) -> bool:
        """Whether the open unit of work has asynchronous puts that are not checked yet."""
        return self._unanswered.any

    def asynchronously(self, pmo: bytearray) -> bytearray:
        """Return the MQPMO for an asynchronous put, and remember that the unit of work has such a put."""
        self._unanswered.any = True
        return _UNANSWERED_IN_LOGICAL_ORDER if pmo is IN_LOGICAL_ORDER else st.asynchronous(pmo)

    def check(self) -> None:
        """Ask MQSTAT whether all asynchronous puts succeeded. Raises MQIError for the first warning or failure."""
        self._unanswered.check()

    def redo(self) -> None:
        """Make all puts synchronous, in the open unit of work and in the next few units of work."""
        self.answered_units = max(self.answered_units, ANSWERED_UNITS) if self._unanswered.can_be_checked else inf

    def unit_ended(self) -> None:
        """Count down ``answered_units``, because a unit of work was committed without being redone."""
        if self.answered_units:
            self.answered_units -= 1

    def explain(self, error: MQIError) -> None:
        """If ``error`` is 2003 (backed out) because an earlier asynchronous put failed, raise that put's MQIError."""
        if error.reason == mq.MQRC_BACKED_OUT:
            missing = self._unanswered.any
            self.check()
            self._unanswered.any = missing

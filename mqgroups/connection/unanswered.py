"""Calls MQSTAT to find out whether the asynchronous puts of a connection succeeded.

MQPUT with MQPMO_ASYNC_RESPONSE does not wait for the queue manager, so its MQCC_OK does not mean success. MQSTAT returns how many
of these puts had a warning or failed, and the first reason code. These figures belong to the connection. MQBACK does not reset
the figures, but each MQSTAT does (IBM MQ, "Using asynchronous put in a client application"). So after a backout, MQSTAT is also
called at the beginning of the next unit of work.

Not here: which puts are asynchronous (``core/group.py``), and what happens after a failure (``status/units_of_work.py``).
"""

from __future__ import annotations

from mqgroups.connection.handle import CallsOn
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st


class UnansweredPuts:
    """The asynchronous puts of a connection that are not known to have succeeded.

    Attributes:
        any: whether there are such puts. The caller sets it before the first asynchronous put.
        can_be_checked: whether MQSTAT can be called. It becomes false if the queue manager does not support MQSTAT.
    """

    def __init__(self, connection: CallsOn) -> None:
        self._connection = connection
        self.any = False
        self.can_be_checked = connection.binding.has_mqstat

    def check(self) -> None:
        """Raise MQIError if an asynchronous put had a warning or failed, or if MQSTAT failed. Then the caller must back out."""
        if not self.any:
            return
        sts = self._ask()
        comp = st.long_at(sts, st.STS_COMP_CODE)
        if comp or st.long_at(sts, st.STS_PUT_WARNING_COUNT) or st.long_at(sts, st.STS_PUT_FAILURE_COUNT):
            queue, reason = st.name_at(sts, st.STS_OBJECT_NAME), st.long_at(sts, st.STS_REASON)
            raise self._connection.failed("MQPUT", f"queue {queue}", comp or mq.MQCC_FAILED, reason)
        self.any = False

    def forget(self) -> None:
        """Reset the figures of MQSTAT if they may include puts that were backed out. Raises MQIError."""
        if self.any and self.can_be_checked:
            self._ask()
        self.any = False

    def _ask(self) -> bytes:
        connection = self._connection
        sts, comp, reason = connection.binding.MQSTAT(connection.hconn, mq.MQSTAT_TYPE_ASYNC_ERROR, st.sts())
        if comp:
            self.can_be_checked = reason != mq.MQRC_FUNCTION_NOT_SUPPORTED
            raise connection.failed("MQSTAT", f"queue manager {connection.q_mgr_name}", comp, reason)
        return sts

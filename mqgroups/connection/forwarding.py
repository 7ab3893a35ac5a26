"""Moves messages to another queue with the same MsgId, GroupId, number, offset, flags, persistence, expiry and ReplyToQ.

The messages are put without logical order, because logical order would give them a new GroupId (IBM MQ, "MQPMO options"). In a
cluster the queue is bound on open, so that all messages of a group go to one instance.

Only the requests for reports are removed. The queue manager puts reports with the authority of the user in the message (IBM MQ,
"Message context"). A moved message has this program's user. So with these requests, a sender with authority only for the data
queue could send reports to any queue that this user may put to. The log shows which reports a sender asked for.
"""

from __future__ import annotations

import logging

from mqgroups.connection.connection import Connection
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.printable import printable
from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups")
# These options only describe how to make a reply. Any other bit, even an unknown bit, may make the queue manager send a report.
_HARMLESS = mq.MQRO_PASS_MSG_ID | mq.MQRO_PASS_CORREL_ID | mq.MQRO_PASS_DISCARD_AND_EXPIRY


class ForwardQueue:
    """A queue, open for output, to which messages are moved."""

    def __init__(self, connection: Connection, name: str) -> None:
        """Open the queue; raises MQIError. Moved messages get the context (user, program, put time) of this program."""
        self.queue = connection.open_queue(name, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_OPEN)
        self._place = connection.place
        self._pmo = st.pmo(st.PUT_SAME_MESSAGE)

    @property
    def is_stale(self) -> bool:
        """Whether the connection has been remade, so that the queue has to be opened again."""
        return self.queue.is_stale

    def take(self, md: bytes | bytearray, data: bytes) -> None:
        """Put a message in the caller's unit of work; raises MQIError. ``md`` is from MQGET; its report options are removed."""
        asked = st.long_at(md, st.MD_REPORT)
        if asked & ~_HARMLESS:
            reply_to = " at ".join(printable(st.name_at(md, each)) for each in (st.MD_REPLY_TO_Q, st.MD_REPLY_TO_Q_MGR))
            _log.info(
                "message %s, which is moved to queue %s, asked for reports (Report 0x%08x, to %s). It asks for none there",
                bytes(md[st.MD_MSG_ID]).hex(),
                self.queue.name,
                asked & 0xFFFFFFFF,
                reply_to,
                extra=logs.fields(self._place, queue=self.queue.name),
            )
        self.queue.put(st.asking_for(md, asked & _HARMLESS), self._pmo, data)

    def close(self) -> None:
        """Close the queue."""
        self.queue.close()

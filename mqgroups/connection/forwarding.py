"""A queue that messages are moved to as they are: same MsgId, GroupId, number, offset, flags, persistence, expiry and ReplyToQ.

They are put without logical order, which would give them a new GroupId (IBM MQ, "MQPMO options"). In a
cluster the queue is bound on open, so that all messages of a group go to one instance.

But they ask for no reports. The queue manager makes reports with the authority of the user in the message (IBM MQ, "Message
context"), and that is now the user of this program: whoever may put to the data queue would have reports put to any queue that
this user may put to. What a sender asked for is in the log.
"""

from __future__ import annotations

import logging

from mqgroups.connection.connection import Connection
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.printable import printable
from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups")
# These say only how a reply is made. Any other bit, also one that is not known here, may have the queue manager act.
_HARMLESS = mq.MQRO_PASS_MSG_ID | mq.MQRO_PASS_CORREL_ID | mq.MQRO_PASS_DISCARD_AND_EXPIRY


class ForwardQueue:
    """A queue that messages are moved to, open for output."""

    def __init__(self, connection: Connection, name: str) -> None:
        """Open it; raises MQIError. The context of messages there (user, program, put time) is that of this program."""
        self.queue = connection.open_queue(name, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_OPEN)
        self._place = connection.place
        self._pmo = st.pmo(st.PUT_SAME_MESSAGE)

    @property
    def is_stale(self) -> bool:
        """Whether the connection has been remade, so that the queue has to be opened again."""
        return self.queue.is_stale

    def take(self, md: bytes | bytearray, data: bytes) -> None:
        """Put a message with the MQMD that it was got with, without reports, in the caller's unit of work; raises MQIError."""
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

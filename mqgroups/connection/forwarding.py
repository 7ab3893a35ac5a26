"""A queue that messages are moved to as they are: same MsgId, GroupId, number, offset, flags, persistence, expiry and ReplyToQ.

They are put without logical order, which would give them a new GroupId (IBM MQ, "MQPMO options"). In a
cluster the queue is bound on open, so that all messages of a group go to one instance.

But they ask for no reports. The queue manager makes reports with the authority of the user in the message (IBM MQ, "Message
context"). That is now the user of this program, so whoever may put to the data queue could have reports put to any queue that
this user may put to. With the context of the original put it is the sender again, but IBM's texts do not say whose authority
counts for a report of arrival. The log says which reports a sender has asked for.
"""

from __future__ import annotations

import logging

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.printable import printable
from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups")
# These say only how a reply is made. Any other bit, also one that is not known here, may have the queue manager act.
_HARMLESS = mq.MQRO_PASS_MSG_ID | mq.MQRO_PASS_CORREL_ID | mq.MQRO_PASS_DISCARD_AND_EXPIRY


class ForwardQueue:
    """A queue that messages are moved to, open for output."""

    def __init__(self, connection: Connection, name: str, *, context_of: Queue | None = None) -> None:
        """Open the queue; raises MQIError.

        ``context_of``: the queue that the messages are got from, opened with MQOO_SAVE_ALL_CONTEXT. The messages then keep the
        context of their original put (user, program, time); that needs the authority PASSALL. By default they get the context of
        this program.
        """
        options, context = st.PUT_SAME_MESSAGE, 0
        open_options = mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_OPEN
        if context_of is not None:
            options, context = options | mq.MQPMO_PASS_ALL_CONTEXT, context_of.hobj
            open_options |= mq.MQOO_PASS_ALL_CONTEXT
        self.queue = connection.open_queue(name, open_options)
        self._place = connection.place
        self._pmo = st.pmo(options, context=context)

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

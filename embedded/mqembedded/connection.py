"""A connection that an application makes with MQCONNX, with the connection's handles and unit of work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mqembedded import constants as mq
from mqembedded.answer import Failed, Waiter
from mqembedded.heartbeats import NO_HEARTBEATS, Heartbeats
from mqembedded.messages.handle import Handle
from mqembedded.messages.put_status import PutStatus
from mqembedded.messages.queue import Queue
from mqembedded.messages.unit_of_work import UnitOfWork
from mqembedded.parts import Parts
from mqembedded.properties.message_handle import MessageHandle


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a connection, as administrators see it. A program inside the queue manager has no channel.

    ``put1_always_sync`` is Put1DefaultAlwaysSync from the client's configuration file.
    """

    pid: int = 0
    channel_name: str = ""
    conn_name: str = ""
    connect_options: int = 0
    put1_always_sync: bool = False
    heartbeats: Heartbeats = NO_HEARTBEATS

    @property
    def is_reconnectable(self) -> bool:
        """Whether the application asked for automatic reconnection. The embedded client library never reconnects."""
        return bool(self.connect_options & (mq.MQCNO_RECONNECT | mq.MQCNO_RECONNECT_Q_MGR))

    @property
    def is_client(self) -> bool:
        """Whether an application made the connection through a channel."""
        return bool(self.channel_name)


class Connection:
    """A connection of an application or of a program inside the queue manager."""

    def __init__(
        self,
        waiter: Waiter,
        user: str,
        appl_name: str,
        max_msg_length: int,
        connection_id: bytes,
        origin: Origin = Origin(),
        hang_up: Callable[[], None] | None = None,
    ) -> None:
        self.waiter = waiter
        self.user = user
        self.appl_name = appl_name
        # User and application name as bytes, padded as MQMD.UserIdentifier and PutApplName.
        self.user_field = user.encode("latin-1", "replace")[:12].ljust(12)
        self.appl_name_field = appl_name.encode("latin-1", "replace")[:28].ljust(28)
        self.max_msg_length = max_msg_length
        self.connection_id = connection_id
        self.origin = origin
        # A function that breaks the line to the application. None for a program inside the queue manager.
        self.hang_up = hang_up
        # Whether an operator has asked the application to end (STOP CHANNEL).
        self.quiescing = False
        self.handles: dict[int, Handle] = {}
        self.message_handles: dict[int, MessageHandle] = {}
        self.unit_of_work: UnitOfWork | None = None
        self.put_status = PutStatus()
        # Values that packages above this module keep.
        self.parts = Parts()

    def handle(self, hobj: int) -> Handle:
        """Return the open object handle with this number. Raises Failed with MQRC_HOBJ_ERROR."""
        handle = self.handles.get(hobj)
        if handle is None:
            raise Failed(mq.MQRC_HOBJ_ERROR)
        return handle

    def message_handle(self, hmsg: int) -> MessageHandle:
        """Return a message handle of this connection. Raises Failed with MQRC_HMSG_ERROR."""
        handle = self.message_handles.get(hmsg)
        if handle is None:
            raise Failed(mq.MQRC_HMSG_ERROR)
        return handle

    def queue_handle(self, hobj: int) -> tuple[Handle, Queue]:
        """Return an open handle and its queue. Raises Failed with MQRC_HOBJ_ERROR, MQRC_Q_DELETED or MQRC_OBJECT_CHANGED."""
        handle = self.handles.get(hobj)
        queue = handle.queue if handle is not None else None
        if handle is None or queue is None:
            raise Failed(mq.MQRC_HOBJ_ERROR)
        if queue.deleted:
            raise Failed(mq.MQRC_Q_DELETED)
        if handle.changed:
            raise Failed(mq.MQRC_OBJECT_CHANGED)
        return handle, queue

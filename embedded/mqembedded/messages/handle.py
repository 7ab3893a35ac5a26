"""An object handle, with the state that it keeps between calls."""

from __future__ import annotations

import enum
from typing import Protocol

from mqembedded import constants as mq
from mqembedded.messages.logical_order import GroupState
from mqembedded.messages.queue import Message, Queue
from mqembedded.messages.route import Route
from mqembedded.objects.attributes import Value

INPUT = mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_INPUT_SHARED | mq.MQOO_INPUT_EXCLUSIVE


class Direction(enum.Enum):
    """A direction of calls: put, get or browse. A handle has separate group and segment information for each direction."""

    # The hash of Enum is slow, because it hashes the name in Python, and every call looks up states several times.
    __hash__ = object.__hash__

    PUT = "put"
    GET = "get"
    BROWSE = "browse"


class ClosableSubscription(Protocol):
    """The interface through which a handle's subscription is closed. ``pubsub/`` implements the interface."""

    def close(self, user: str, option: int) -> None:
        """Close the subscription for this user. ``option`` is MQCO_KEEP_SUB or MQCO_REMOVE_SUB. Raises Failed."""

    def released(self) -> None:
        """Record that the handle is closed."""


class Handle:
    """An open object: a queue, a topic, a subscription or another object.

    ``queue`` is None for objects other than queues; ``object_type`` is the object's type. ``opened_name`` is the name that MQOPEN
    received, which can be an alias. ``opened_values`` are the attributes of the object with that name; MQINQ returns them.
    ``cursor`` is the key of the message under the browse cursor, or None if the cursor is before the first message.
    While a group is browsed in logical order, ``logical_cursor`` is the key of its first message. Otherwise it equals ``cursor``.
    ``browsed_in_logical_order`` is whether the cursor's last move was in logical order, or None before the first move.
    ``default_put_response`` is the value that DEFPRESP had at MQOPEN. ``topic_string`` is a topic's string. ``subscription`` is
    the subscription that MQSUB opened. ``route`` is set if messages can go to another queue manager. ``waits`` is set while an
    MQGET with this handle waits. ``changed`` is set after a command has made the handle invalid for all calls except MQCLOSE.
    """

    __slots__ = (
        "browsed_in_logical_order",
        "changed",
        "creates_dynamic",
        "cursor",
        "default_put_response",
        "exclusive",
        "hobj",
        "locked",
        "logical_cursor",
        "object_type",
        "opened_name",
        "opened_values",
        "options",
        "queue",
        "route",
        "saved_context",
        "states",
        "subscription",
        "topic_string",
        "waits",
    )

    def __init__(
        self,
        hobj: int,
        options: int,
        queue: Queue | None = None,
        opened_name: str = "",
        opened_values: dict[int, Value] | None = None,
        *,
        exclusive: bool = False,
        creates_dynamic: bool = False,
        default_put_response: int = mq.MQPRT_SYNC_RESPONSE,
        topic_string: str = "",
        subscription: ClosableSubscription | None = None,
        object_type: int = mq.MQOT_Q,
        route: Route | None = None,
    ) -> None:
        self.hobj = hobj
        self.options = options
        self.queue = queue
        self.opened_name = opened_name
        self.opened_values = opened_values
        self.exclusive = exclusive
        self.creates_dynamic = creates_dynamic
        self.default_put_response = default_put_response
        self.topic_string = topic_string
        self.subscription = subscription
        self.object_type = object_type
        self.route = route
        self.states = dict.fromkeys(Direction, GroupState())
        self.cursor: int | None = None
        self.logical_cursor: int | None = None
        self.browsed_in_logical_order: bool | None = None
        self.locked: list[Message] = []
        self.saved_context: bytes | None = None
        self.waits = False
        self.changed = False

    def lock(self, messages: list[Message]) -> None:
        """Lock messages for this handle, so that other handles do not see them."""
        self.locked = messages
        for message in messages:
            message.locked_by = self
        if messages and self.queue is not None:
            self.queue.locking.add(self)

    def unlock(self) -> bool:
        """Unlock the handle's locked messages, and return whether any of them are still on the queue."""
        released = False
        for message in self.locked:
            if message.locked_by is self:
                message.locked_by = None
                released = True
        self.locked = []
        if self.queue is not None:
            self.queue.locking.discard(self)
            if released:
                self.queue.wake()
        return released

    @property
    def for_input(self) -> bool:
        """Whether the handle is open to get messages."""
        return bool(self.options & INPUT)

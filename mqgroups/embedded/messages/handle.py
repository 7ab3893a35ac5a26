"""An object handle: what MQOPEN gave, and what it keeps between calls."""

from __future__ import annotations

import enum
from typing import Protocol

from mqgroups.embedded.messages.logical_order import GroupState
from mqgroups.embedded.messages.queue import Message, Queue
from mqgroups.embedded.messages.route import Route
from mqgroups.embedded.objects.attributes import Value
from mqgroups.mqi import constants as mq

INPUT = mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_INPUT_SHARED | mq.MQOO_INPUT_EXCLUSIVE


class Direction(enum.Enum):
    """The three sets of group and segment information that a handle keeps apart."""

    # Enum's own hashes the name, in Python; every call looks states up several times.
    __hash__ = object.__hash__

    PUT = "put"
    GET = "get"
    BROWSE = "browse"


class ClosableSubscription(Protocol):
    """A subscription that a handle has open, with the methods that closing needs; ``pubsub/`` implements it."""

    def close(self, user: str, option: int) -> None:
        """Close it for this user with MQCO_KEEP_SUB or MQCO_REMOVE_SUB; raises Failed if the option is refused."""

    def released(self) -> None:
        """Note that the handle is closed."""


class Handle:
    """One open object: a queue, through its own name or an alias, or, where ``queue`` is None, what ``object_type`` says, a
    topic or a subscription.

    ``opened_name`` is the name given to MQOPEN and ``opened_values`` the attributes of what it names, which MQINQ answers from:
    those of an alias are the alias's own. ``cursor`` is the place of the browse cursor, None before the first message;
    ``logical_cursor`` is the place of the first item of the group it is in, which is where that group stands in logical order;
    ``browsed_in_logical_order`` is how the last MQGMO_BROWSE_FIRST (or first MQGMO_BROWSE_NEXT) went. ``default_put_response``
    is DEFPRESP as it was at MQOPEN. ``topic_string`` is that of a topic, ``subscription`` what MQSUB opened. ``route`` says
    where messages go that are not simply put on ``queue``. ``waits`` is whether an MQGET of it waits just now.
    """

    __slots__ = (
        "browsed_in_logical_order",
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

    def lock(self, messages: list[Message]) -> None:
        """Make messages invisible to other handles."""
        self.locked = messages
        for message in messages:
            message.locked_by = self
        if messages and self.queue is not None:
            self.queue.locking.add(self)

    def unlock(self) -> bool:
        """Let other handles see the locked messages again; returns whether there were any that are still here."""
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
        """Whether the handle may get messages."""
        return bool(self.options & INPUT)

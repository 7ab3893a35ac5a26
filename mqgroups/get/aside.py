"""Moves messages to the backout queue, as a part of the open unit of work."""

from __future__ import annotations

from collections.abc import Iterator

from mqgroups.connection.connection import Connection
from mqgroups.connection.forwarding import ForwardQueue
from mqgroups.core.group import GroupPosition
from mqgroups.core.rest import Left, Rest
from mqgroups.get.backout_queue import BackoutQueue
from mqgroups.get.cursor import GroupCursor
from mqgroups.get.rest import RestOfGroup
from mqgroups.mqi.message import Message


class Aside:
    """The messages of the open unit of work that go to the backout queue.

    Attributes:
        backout: the values of BOQNAME and BOTHRESH. ``None`` means that no message is moved.
    """

    def __init__(self, connection: Connection, queue: str, backout: BackoutQueue | None) -> None:
        self._connection = connection
        self.backout = backout
        # Opened at the first use.
        self._target: ForwardQueue | None = None
        self._rest = RestOfGroup(connection, queue)
        # Messages that were got in this unit of work, and messages that are got when it ends: the rest of a group that cannot be
        # completed, and a message that is got segment by segment.
        self._messages: list[Message | Left] = []

    def __len__(self) -> int:
        """Return how many messages will be put. Messages that are got segment by segment are not counted."""
        return sum(isinstance(each, Left) or not each._not_got_because for each in self._messages)

    def add(self, message: Message | Left) -> None:
        """Add a message that was got, or only browsed (``Left``). A message that was got in part needs its own unit of work."""
        self._messages.append(message)

    def rest_of_group(self, position: GroupPosition) -> Rest | None:
        """Browse the rest of the group. Return it if the previous browse found the same messages, else None. Raises MQIError."""
        return self._rest.found if self._rest.is_unchanged(position) else None

    def group_goes_on(self) -> None:
        """Forget what the last browse of the rest has found, because the group continues or has ended."""
        self._rest.forget()

    def put_got(self) -> None:
        """Put the messages to the backout queue, except those that ``put_rest`` must get first. Raises MQIError."""
        for message in self._messages:
            if isinstance(message, Message) and not message._not_got_because:
                self._put(*message._as_got)

    def put_rest(self, cursor: GroupCursor, *, again: bool) -> Iterator[int]:
        """Get the remaining messages, and put them to the backout queue. Yield the length of each physical message in bytes.

        A length of -1 means that a message has disappeared from the queue. ``again``: whether to wait for each message, because
        a lost connection has backed it out and it may not be back on the queue yet. Raises MQIError.
        """
        for message in self._messages:
            if isinstance(message, Left):
                got = self._rest.take(cursor.position.group_id, message, again=again)
                if got is None:
                    yield -1
                    return
                self._put(*got)
                yield len(got[1])
            elif message._not_got_because:
                for md, data in cursor.take_apart(message, again=again):
                    self._put(md, data)
                    yield len(data)
                if cursor.position.msg_seq_number != message.msg_seq_number:
                    yield -1

    def clear(self) -> None:
        """Forget the messages, because their unit of work was committed or backed out."""
        self._messages.clear()

    def close(self) -> None:
        """Close the queues that were opened."""
        if self._target is not None:
            self._target.close()
        self._rest.close()

    def _put(self, md: bytes | bytearray, data: bytes) -> None:
        assert self.backout is not None
        if self._target is None or self._target.is_stale:
            self._target = ForwardQueue(self._connection, self.backout.name)
        self._target.take(md, data)

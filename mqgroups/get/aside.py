"""Moves messages to the backout queue, in the unit of work that is open."""

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
        backout: the backout queue and its threshold; ``None`` if no message is moved.
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
        """Return how many messages will be put, not counting messages that are got segment by segment."""
        return sum(isinstance(each, Left) or not each._not_got_because for each in self._messages)

    def add(self, message: Message | Left) -> None:
        """Add a message that was got, or one of a group's rest. A message that was not got whole needs its own unit of work."""
        self._messages.append(message)

    def rest_of_group(self, position: GroupPosition) -> Rest | None:
        """Browse the rest of the group. Return it if the last browse found the same, else ``None``. Raises MQIError."""
        return self._rest.found if self._rest.is_unchanged(position) else None

    def group_goes_on(self) -> None:
        """Forget the last browse of the rest, because the group continues or has ended."""
        self._rest.forget()

    def put_got(self) -> None:
        """Move each message that was got already to the backout queue; raises MQIError."""
        for message in self._messages:
            if isinstance(message, Message) and not message._not_got_because:
                self._put(*message._as_got)

    def put_rest(self, cursor: GroupCursor, *, again: bool) -> Iterator[int]:
        """Get the messages that were not got yet, and put them to the backout queue. Yield each message's length in bytes.

        The last length is -1 if a message has disappeared since it was browsed. ``again``: whether the messages were got before,
        and backed out with a lost connection. Raises MQIError.
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
        """Forget these messages, after they were committed or backed out."""
        self._messages.clear()

    def close(self) -> None:
        """Close both queues."""
        if self._target is not None:
            self._target.close()
        self._rest.close()

    def _put(self, md: bytes | bytearray, data: bytes) -> None:
        assert self.backout is not None
        if self._target is None or self._target.is_stale:
            self._target = ForwardQueue(self._connection, self.backout.name)
        self._target.take(md, data)

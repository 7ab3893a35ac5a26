"""Puts messages aside: to the backout queue, with the commit of the open unit of work."""

from __future__ import annotations

from collections.abc import Iterator

from mqgroups.connection.connection import Connection
from mqgroups.core.group import GroupPosition
from mqgroups.core.rest import Left, Rest
from mqgroups.get.backout_queue import BackoutQueue
from mqgroups.get.cursor import GroupCursor
from mqgroups.get.rest import RestOfGroup
from mqgroups.mqi.message import Message


class Aside:
    """The messages of the open unit of work that go to the backout queue.

    Attributes:
        backout: the queue for them; ``None`` if no message is moved.
    """

    def __init__(self, connection: Connection, queue: str, backout: BackoutQueue | None) -> None:
        self.backout = backout
        self._rest = RestOfGroup(connection, queue)
        # Messages that were got in this unit of work.
        self._moved: list[Message] = []
        # Messages that are got when it ends: the rest of a group that cannot be completed.
        self._left: list[Left] = []
        # A message that is got segment by segment when it ends.
        self._apart: Message | None = None

    def __len__(self) -> int:
        """Return how many messages will be put."""
        return len(self._moved) + len(self._left)

    def move(self, message: Message) -> None:
        """Put aside a message that was got; one that was not got whole needs a unit of work of its own."""
        if message.not_got_because:
            self._apart = message
        else:
            self._moved.append(message)

    def leave(self, left: Left) -> None:
        """Put aside a message of the rest of the group."""
        self._left.append(left)

    def rest_of_group(self, position: GroupPosition) -> Rest | None:
        """Look at the rest of the group; returns it if it is as at the last look, at the same position. Raises MQIError."""
        return self._rest.found if self._rest.is_unchanged(position) else None

    def group_goes_on(self) -> None:
        """Forget the last look at the rest of the group."""
        self._rest.forget()

    def put_moved(self) -> None:
        """Put the messages that were got to the backout queue; raises MQIError."""
        for message in self._moved:
            self._put(*message.as_got)

    def put_rest(self, cursor: GroupCursor, *, again: bool) -> Iterator[int]:
        """Get what was not got yet, and put it to the backout queue; yields the length of each message.

        The last one is -1 if a message is gone since it was looked at. ``again``: it was got before, and backed out with a lost
        connection. Raises MQIError.
        """
        for left in self._left:
            got = self._rest.take(cursor.position.group_id, left, again=again)
            if got is None:
                yield -1
                return
            self._put(*got)
            yield len(got[1])
        apart = self._apart
        if apart is not None:
            for md, data in cursor.take_apart(apart, again=again):
                self._put(md, data)
                yield len(data)
            if cursor.position.msg_seq_number != apart.msg_seq_number:
                yield -1

    def clear(self) -> None:
        """Forget everything: it is committed, or backed out."""
        self._moved.clear()
        self._left.clear()
        self._apart = None

    def close(self) -> None:
        """Close both queues."""
        if self.backout is not None:
            self.backout.close()
        self._rest.close()

    def _put(self, md: bytes | bytearray, data: bytes) -> None:
        assert self.backout is not None
        self.backout.take(md, data)

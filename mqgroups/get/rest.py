"""Browses the rest of a group that cannot be completed, and gets the rest one physical message at a time.

This needs a second queue handle, because a get without logical order would change the position of the consumer's handle.
Segments are not joined, so a message need not be complete. Not here: where the messages go (``getter.py``).
"""

from __future__ import annotations

from collections.abc import Iterator

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.core.group import GroupPosition
from mqgroups.core.rest import Left, Rest, rest_behind
from mqgroups.get.cursor import COMING_BACK_MS
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st

_OPEN_OPTIONS = mq.MQOO_BROWSE | mq.MQOO_INPUT_SHARED | mq.MQOO_NO_READ_AHEAD
# MQPUT turns the MQRFH2 into properties again.
_GET = mq.MQGMO_SYNCPOINT | mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
_MATCH = mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER


class RestOfGroup:
    """The messages of a group that are on the queue and follow the consumer's position."""

    def __init__(self, connection: Connection, queue: str) -> None:
        self._connection = connection
        self._name = queue
        self._queue: Queue | None = None
        # The last browse: its GroupId, the message number of the position, and the messages found.
        self._seen: tuple[bytes, int, Rest] | None = None

    @property
    def found(self) -> Rest:
        """The messages that the last browse found."""
        return self._seen[2] if self._seen is not None else ()

    def is_unchanged(self, position: GroupPosition) -> bool:
        """Browse the queue. Return whether the previous browse had the same position and the same result. Raises MQIError."""
        before = self._seen
        found = rest_behind(position, self._browse(position.group_id))
        self._seen = (position.group_id, position.msg_seq_number, found)
        return self._seen == before

    def forget(self) -> None:
        """Forget what the last browse has found, because the group continues or has ended."""
        self._seen = None

    def take(self, group_id: bytes, left: Left, *, again: bool) -> tuple[bytes, bytes] | None:
        """Get one of the group's remaining messages, in syncpoint. Return its MQMD and data, or ``None`` if it is gone.

        ``again``: wait for the message, because the queue manager backs it out after a lost connection. Raises MQIError.
        """
        match = _MATCH
        if self._connection.platform != mq.MQPL_ZOS:
            # There are no segments on z/OS.
            match |= mq.MQMO_MATCH_OFFSET
        md = st.md(msg_id=left.msg_id, group_id=group_id, msg_seq_number=left.msg_seq_number, offset=left.offset)
        gmo = st.gmo(_GET, match_options=match, wait_interval_ms=COMING_BACK_MS if again else 0)
        got = self._opened().get(md, gmo)
        return None if got is None else (got[1], got[0])

    def close(self) -> None:
        """Close the queue, if it was opened."""
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()

    def _browse(self, group_id: bytes) -> Iterator[Left]:
        found = self._opened().browse_descriptors(st.md(group_id=group_id), mq.MQMO_MATCH_GROUP_ID)
        for md, _, length in found:
            place = st.long_at(md, st.MD_MSG_SEQ_NUMBER), st.long_at(md, st.MD_OFFSET)
            yield Left(*place, bytes(md[st.MD_MSG_ID]), length)

    def _opened(self) -> Queue:
        if self._queue is None or self._queue.is_stale:
            self._queue = self._connection.open_queue(self._name, _OPEN_OPTIONS)
        return self._queue

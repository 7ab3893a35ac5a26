"""Looks again at a group that lacks messages: it may be got, or put, while the queue is browsed.

A consumer gets the first message of its group that is on the queue. If it does so while the queue is browsed, the group seems to
have no beginning, or a gap where the consumer has overtaken the browsing, and it may be with the next group before the status
records are read. So the first message that was seen is looked for again. It stays where messages are really missing.

A producer may put the last message of its group meanwhile, and its record names the next group before the records are read. So
the next message of the group is looked for.

A unit of work hides the messages that it has got. A group may have no beginning only because of that.
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.operate.rules.inspection import GroupInspection, Place

_OPTIONS = (
    mq.MQGMO_BROWSE_FIRST
    | mq.MQGMO_NO_WAIT
    | mq.MQGMO_FAIL_IF_QUIESCING
    | mq.MQGMO_ACCEPT_TRUNCATED_MSG
    | mq.MQGMO_NO_PROPERTIES
)
# More than consumers are at work on. Each takes a search of the queue, unless that is indexed.
_MOST = 100


class SecondLook:
    """Looks again at groups of one queue; raises MQIError. Close it in the end."""

    def __init__(self, connection: Connection, queue: str, hidden: int | None) -> None:
        """Begin; the queue is opened when it is needed.

        Args:
            connection: to the queue manager that has the queue.
            queue: a local queue, or an alias of one.
            hidden: how many messages are in uncommitted units of work; ``None`` if that is not known.
        """
        self._connection = connection
        self._queue = queue
        self._hidden = hidden or 0
        self._opened: Queue | None = None
        self._left = _MOST
        # On z/OS there are no segments.
        match = 0 if connection.platform == mq.MQPL_ZOS else mq.MQMO_MATCH_OFFSET
        self._get = st.gmo(_OPTIONS, match_options=mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER | match)

    def may_be_being_got(self, group: GroupInspection) -> bool:
        """Whether the first message that was seen is gone now, or units of work may hide those before it."""
        number, offset = group.first
        if not group.gaps and number - 1 + (offset > 0) <= self._hidden:
            return True
        return not self._is_there(group, group.first)

    def has_moved_on(self, group: GroupInspection) -> bool:
        """Whether the message behind the last one that was seen is there now, or the first one is gone."""
        return self._is_there(group, group.end) or not self._is_there(group, group.first)

    def _is_there(self, group: GroupInspection, place: Place) -> bool:
        """Whether the message at this place of the group is there; after too many looks, the answer is what was seen before."""
        if not self._left:
            return place != group.end
        self._left -= 1
        if self._opened is None:
            self._opened = self._connection.open_queue(self._queue, mq.MQOO_BROWSE)
        md = st.md(group_id=group.group_id, msg_seq_number=place.msg_seq_number, offset=place.offset)
        return self._opened.get_descriptor(md, self._get) is not None

    def close(self) -> None:
        """Close the queue."""
        if self._opened is not None:
            self._opened.close()

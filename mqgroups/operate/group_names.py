"""Reads the names of groups from their first messages. It reads only names of groups that are shown, up to a limit.

A group's name is the property ``mqgroups.Name`` of its first message. If a status record names the group, the record has the name
too. Then the message is not read, because it may be gone or hidden by a unit of work. Otherwise one MQGET browses the message by
its GroupId and sequence number. The duration of this search depends on the length of the queue, unless the queue is indexed. So
the number of names and the total time are limited. MQGET cuts off the data, because only the properties before it are needed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace

from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.connection.queue import Queue
from mqgroups.core.group_properties import MOST_BYTES, NO_PROPERTIES, GroupProperties, kept, name_of
from mqgroups.mqi import constants as mq
from mqgroups.mqi import property_folders, rfh2
from mqgroups.mqi import structures as st
from mqgroups.operate.rules.judgement import Judgement

_OPTIONS = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_ACCEPT_TRUNCATED_MSG
_FIRST_MESSAGE = mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER
# Most properties fit into the first buffer. In an MQRFH2 they take more bytes than in a status record.
_BUFFERS_BYTES = (4096, 4 * MOST_BYTES)
# How long to read the names of one listing.
_MOST_S = 10.0


def named(
    q_mgr: ConnectionHolder,
    queue: str,
    rows: Iterable[Judgement],
    most: int = sys.maxsize,
    *,
    most_s: float = _MOST_S,
    now_s: Callable[[], float] = time.monotonic,
) -> Iterator[Judgement]:
    """Yield the groups on a queue with their names. After a limit is reached, the names of further groups are ``None``.

    Args:
        most: the maximum number of groups that get a name.
        most_s: the maximum time for reading names, in seconds.
        now_s: the clock.

    Raises:
        MQIError: the queue cannot be opened or browsed.
    """
    until_s = now_s() + most_s
    opened, options = _opened(connection_of(q_mgr), queue)
    with closing(opened):
        for number, row in enumerate(rows):
            if number >= most or now_s() > until_s:
                yield row
                continue
            name = row.recorded_name
            # If the first message is missing, MQGET would search the whole queue for nothing.
            if not name and row.group.has_head:
                name = name_of(_properties(opened, options, row.group_id))
            yield replace(row, name=name)


def properties_of_first_message(connection: Connection, queue: str, group_id: bytes) -> GroupProperties:
    """Return the properties of a group's first message; ``None`` if the message is gone or unreadable. Raises MQIError."""
    opened, options = _opened(connection, queue)
    with closing(opened):
        found = _properties(opened, options, group_id)
    return None if found is None else kept(found)


def _opened(connection: Connection, queue: str) -> tuple[Queue, bytearray]:
    # On z/OS there are no segments.
    match = _FIRST_MESSAGE | (0 if connection.platform == mq.MQPL_ZOS else mq.MQMO_MATCH_OFFSET)
    options = st.gmo(_OPTIONS | mq.MQGMO_PROPERTIES_FORCE_MQRFH2, match_options=match)
    return connection.open_queue(queue, mq.MQOO_BROWSE), options


def _properties(queue: Queue, options: bytearray, group_id: bytes) -> GroupProperties:
    md = st.md(group_id=group_id, msg_seq_number=1)
    for most_bytes in _BUFFERS_BYTES:
        found = queue.get_beginning(md, options, most_bytes)
        if found is None:
            return None
        data, md_out, length = found
        taken = rfh2.without_properties(md_out, data)
        if taken is not None:
            return property_folders.values(taken[2].folders)
        if length <= most_bytes or rfh2.described_by(md_out).format_name != mq.MQFMT_RF_HEADER_2:
            return NO_PROPERTIES
    return None

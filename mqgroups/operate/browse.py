"""What lies on a queue, by browsing: nothing is removed, no status record is needed, and no body is kept.

Two handles. The one browses in physical order, from the first message to the last, without matching anything; it sees what
logical order never shows, the rest of a group whose first message is gone. The other one browses in logical order: it is set
on the first message of one group after the other, and never browses on from there, because at the end of an incomplete group
there is no way on (IBM MQ, topic q023060). Its answer is the queue manager's own: is all of this group available?

What units of work hide is neither browsed nor counted by CurrentQDepth (topics q103130, q106410), so the command server is asked
for it, before and after; where it does not answer, what was browsed may not be all there is.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from mqgroups.config import checked_queue_name
from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.connection.queue import Queue
from mqgroups.core.inspection import Browsed, GroupInspection, QueueInspection, with_message
from mqgroups.core.model import MsgFlag
from mqgroups.errors import CommandRefused
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.operate.command_server import uncommitted

_OPTIONS = (
    mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_ACCEPT_TRUNCATED_MSG | mq.MQGMO_NO_PROPERTIES
)  # fmt: skip
_ANY_MESSAGE = st.md()
_FIRST = st.gmo(mq.MQGMO_BROWSE_FIRST | _OPTIONS)
_NEXT = st.gmo(mq.MQGMO_BROWSE_NEXT | _OPTIONS)
_WHOLE_GROUP = st.gmo(
    mq.MQGMO_BROWSE_FIRST | mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_ALL_MSGS_AVAILABLE | _OPTIONS,
    match_options=mq.MQMO_MATCH_GROUP_ID,
)


def inspect_queue(q_mgr: ConnectionHolder, queue: str) -> QueueInspection:
    """Return the message groups on a queue, found by browsing; no status record is needed.

    It takes one MQGET for each message, without its data, and one for each group. The command server is asked twice how many
    messages units of work hide. If this user may not ask it, ``QueueInspection.uncommitted`` is ``None``.

    Args:
        q_mgr: a connected queue manager (``mqgroups.connect``, ``mqgroups.wrap``).
        queue: a local queue, or an alias of one.

    Raises:
        ConfigurationError: the name is not valid.
        MQIError: a call failed. A queue of another queue manager cannot be browsed.
    """
    checked_queue_name("queue", queue)
    connection = connection_of(q_mgr)
    return connection.reopening(lambda: inspected(connection, queue))


def inspected(connection: Connection, queue: str) -> QueueInspection:
    """Return what lies on a local queue, or on one behind an alias; for the rest of this package.

    Raises:
        MQIError: it cannot be opened or browsed, or its attributes not inquired.
    """
    physical = connection.open_queue(queue, mq.MQOO_BROWSE)
    try:
        logical = connection.open_queue(queue, mq.MQOO_BROWSE)
        try:
            # An alias has no handle counts.
            local = connection.open_queue(physical.resolved_q_name, mq.MQOO_INQUIRE)
            try:
                before = _uncommitted(connection, local.name)
                seen = _inspect(queue, physical, logical, local)
                hidden, unasked = before if before[0] is None else _uncommitted(connection, local.name)
                if hidden is not None:
                    hidden = max(hidden, before[0] or 0)
                return replace(seen, uncommitted=hidden, unasked=unasked)
            finally:
                local.close()
        finally:
            logical.close()
    finally:
        physical.close()


def _inspect(queue: str, physical: Queue, logical: Queue, local: Queue) -> QueueInspection:
    groups, others = browsed_groups(physical)
    return QueueInspection(
        queue,
        physical.resolved_q_name,
        tuple(_with_verdict(group, logical) for group in groups),
        others,
        int(local.inquire(mq.MQIA_OPEN_INPUT_COUNT)),
        int(local.inquire(mq.MQIA_OPEN_OUTPUT_COUNT)),
    )


def browsed_groups(physical: Queue, most: int = sys.maxsize) -> tuple[tuple[GroupInspection, ...], int]:
    """Browse in physical order, from the first message on.

    Args:
        physical: open to browse, and browsed in physical order only.
        most: how many messages to look at.

    Returns: the groups, without the queue manager's verdict, and how many messages are in none.

    Raises:
        MQIError: a call failed.
    """
    groups: dict[bytes, GroupInspection] = {}
    others, options = 0, _FIRST
    for _ in range(most):
        found = physical.get_descriptor(_ANY_MESSAGE, options)
        if found is None:
            break
        options = _NEXT
        message = _browsed(found[0], found[2])
        if not message.in_group:
            others += 1
            continue
        group = groups.get(message.group_id) or GroupInspection(message.group_id)
        groups[message.group_id] = with_message(group, message)
    return tuple(groups.values()), others


def _with_verdict(group: GroupInspection, logical: Queue) -> GroupInspection:
    # No text says that the queue manager looks for messages that are there twice.
    may_be = group.has_head and not group.is_doubled
    whole = may_be and logical.get_descriptor(st.md(group_id=group.group_id), _WHOLE_GROUP) is not None
    return replace(group, whole=whole)


def _uncommitted(connection: Connection, queue: str) -> tuple[int | None, str]:
    try:
        return uncommitted(connection, queue), ""
    except CommandRefused as error:
        return None, str(error)


def _browsed(md: bytes, length: int) -> Browsed:
    return Browsed(
        group_id=md[st.MD_GROUP_ID],
        msg_seq_number=st.long_at(md, st.MD_MSG_SEQ_NUMBER),
        offset=st.long_at(md, st.MD_OFFSET),
        length=length,
        msg_flags=MsgFlag(st.long_at(md, st.MD_MSG_FLAGS)),
        persistence=st.long_at(md, st.MD_PERSISTENCE),
        backout_count=st.long_at(md, st.MD_BACKOUT_COUNT),
        put_appl_name=st.name_at(md, st.MD_PUT_APPL_NAME),
        put_time=st.name_at(md, st.MD_PUT_DATE) + st.name_at(md, st.MD_PUT_TIME),
    )

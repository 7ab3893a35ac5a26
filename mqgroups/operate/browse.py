"""Finds the message groups on a queue by browsing. It removes nothing, needs no status record, and keeps no message data.

It uses two handles. The first browses in physical order, from the first message to the last, without match options. So it also
finds the rest of a group whose first message is gone, which logical order never returns. The second browses in logical order. It
browses only the first message of each group, because at the end of an incomplete group it could not go on (IBM MQ, topic
q023060). Its result is the queue manager's own answer to the question: are all messages of this group available?

Messages in uncommitted units of work cannot be browsed, and CurrentQDepth does not count them (topics q103130, q106410). So the
command server is asked for their number, before and after. If it does not answer, messages may have been missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mqgroups.config import checked_queue_name
from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.connection.queue import Queue
from mqgroups.core.model import MsgFlag
from mqgroups.errors import CommandRefused
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.rfh2 import described_by
from mqgroups.operate.command_server import uncommitted
from mqgroups.operate.rules.inspection import Browsed, GroupInspection, GroupTally, QueueInspection

_OPTIONS = (
    mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_ACCEPT_TRUNCATED_MSG | mq.MQGMO_NO_PROPERTIES
)  # fmt: skip
_ANY_MESSAGE = st.md()
_DEAD_LETTER_HEADER_BYTES = 172
_FIRST = st.gmo(mq.MQGMO_BROWSE_FIRST | _OPTIONS)
_NEXT = st.gmo(mq.MQGMO_BROWSE_NEXT | _OPTIONS)
_WHOLE_GROUP = st.gmo(
    mq.MQGMO_BROWSE_FIRST | mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_ALL_MSGS_AVAILABLE | _OPTIONS,
    match_options=mq.MQMO_MATCH_GROUP_ID,
)


def inspect_queue(q_mgr: ConnectionHolder, queue: str) -> QueueInspection:
    """Return the message groups on a queue, found by browsing; no status record is needed.

    This needs one MQGET for each message, without its data, and one for each group. The command server is asked twice how many
    messages are hidden by units of work. If this user may not ask it, ``QueueInspection.uncommitted`` is ``None``.

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
    """Return the message groups on a queue; see ``inspect_queue``. For other modules of this package.

    Raises:
        MQIError: the queue cannot be opened, browsed or inquired.
    """
    physical = connection.open_queue(queue, mq.MQOO_BROWSE)
    try:
        logical = connection.open_queue(queue, mq.MQOO_BROWSE)
        try:
            # An alias has no handle counts.
            local = connection.open_queue(physical.resolved_q_name, mq.MQOO_INQUIRE)
            try:
                before = hidden_messages(connection, local.name)
                seen = _inspect(queue, physical, logical, local)
                hidden, unasked = before if before[0] is None else hidden_messages(connection, local.name)
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
    groups, others = _browsed_groups(physical)
    return QueueInspection(
        queue,
        physical.resolved_q_name,
        tuple(_with_verdict(group, logical) for group in groups),
        others,
        int(local.inquire(mq.MQIA_OPEN_INPUT_COUNT)),
        int(local.inquire(mq.MQIA_OPEN_OUTPUT_COUNT)),
    )


def _browsed_groups(physical: Queue) -> tuple[tuple[GroupInspection, ...], int]:
    """Return the groups, without the queue manager's answer whether they are complete; and the number of messages in no group."""
    tallies: dict[bytes, GroupTally] = {}
    others = 0
    for message in browsed_messages(physical):
        if not message.in_group:
            others += 1
            continue
        tallies.setdefault(message.group_id, GroupTally(message.group_id)).add(message)
    return tuple(tally.inspection() for tally in tallies.values()), others


def browsed_messages(physical: Queue) -> Iterator[Browsed]:
    """Browse in physical order, from the first message on.

    Args:
        physical: open for browsing, and used for physical order only.

    Raises:
        MQIError: a call failed.
    """
    options = _FIRST
    while (found := physical.get_descriptor(_ANY_MESSAGE, options)) is not None:
        options = _NEXT
        yield browsed_message(found[0], found[2])


def _with_verdict(group: GroupInspection, logical: Queue) -> GroupInspection:
    # IBM's texts do not say that the queue manager checks for doubled messages.
    may_be = group.has_head and not group.is_doubled
    whole = may_be and logical.get_descriptor(st.md(group_id=group.group_id), _WHOLE_GROUP) is not None
    return replace(group, whole=whole)


def hidden_messages(connection: Connection, queue: str) -> tuple[int | None, str]:
    """Return how many messages of a local queue are in units of work; or ``None``, and why the command server did not tell."""
    try:
        return uncommitted(connection, queue), ""
    except CommandRefused as error:
        return None, str(error)


def browsed_message(md: bytes, length: int) -> Browsed:
    """Return a message as its MQMD describes it; ``length`` is that of its data."""
    feedback = st.long_at(md, st.MD_FEEDBACK)
    dead_letter = described_by(md).format_name == mq.MQFMT_DEAD_LETTER_HEADER
    if dead_letter:
        # Offsets do not count it.
        length = max(0, length - _DEAD_LETTER_HEADER_BYTES)
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
        # As ``Message.abandoned_with``.
        abandons=length == 0 and feedback >= mq.MQFB_APPL_FIRST and st.long_at(md, st.MD_MSG_TYPE) == mq.MQMT_REPORT,
        dead_letter=dead_letter,
    )

"""Browses the messages on a queue in physical order, or those of one group: without message data, removing nothing.

So it also finds the rest of a group whose first message is gone, which logical order never returns.

Messages in uncommitted units of work cannot be browsed, and CurrentQDepth does not count them (topics q103130, q106410). So the
command server is asked for their number. If it does not answer, messages may have been missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.connection.queue import Queue
from mqgroups.core.model import MsgFlag
from mqgroups.errors import CommandRefused
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.rfh2 import described_by
from mqgroups.names import checked_queue_name
from mqgroups.operate.command_server import uncommitted
from mqgroups.operate.refusal import checked_group_id
from mqgroups.operate.rules.inspection import Browsed

_OPTIONS = mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_ACCEPT_TRUNCATED_MSG | mq.MQGMO_NO_PROPERTIES
_DEAD_LETTER_HEADER_BYTES = 172


@dataclass(frozen=True, slots=True)
class FoundGroupMessage:
    """A physical message of a group, and its MsgId: 24 bytes."""

    msg_id: bytes
    browsed: Browsed


def browsed_messages(physical: Queue) -> Iterator[Browsed]:
    """Browse in physical order, from the first message on; raises MQIError.

    ``physical``: open for browsing, and used for physical order only.
    """
    return (browsed_message(md, length) for md, length in _found(physical, st.md(), mq.MQMO_NONE))


def messages_of_group(q_mgr: ConnectionHolder, queue: str, group_id: bytes) -> Iterator[FoundGroupMessage]:
    """Yield the physical messages of a group, in physical order.

    Args:
        q_mgr: a connected queue manager (``mqgroups.connect``, ``mqgroups.wrap``).
        queue: a local queue, or an alias of one.
        group_id: 24 bytes.

    Raises:
        ConfigurationError: the name or the GroupId is not valid.
        MQIError: the queue cannot be opened or browsed.
    """
    checked_queue_name("queue", queue)
    wanted = st.md(group_id=checked_group_id(group_id))
    with closing(connection_of(q_mgr).open_queue(queue, mq.MQOO_BROWSE)) as physical:
        for md, length in _found(physical, wanted, mq.MQMO_MATCH_GROUP_ID):
            yield FoundGroupMessage(md[st.MD_MSG_ID], browsed_message(md, length))


def _found(physical: Queue, wanted: bytearray, match_options: int) -> Iterator[tuple[bytes, int]]:
    """Yield the MQMD and the length of the data of each message."""
    options, following = (
        st.gmo(browse | _OPTIONS, match_options=match_options)
        for browse in (mq.MQGMO_BROWSE_FIRST, mq.MQGMO_BROWSE_NEXT)
    )
    while (found := physical.get_descriptor(wanted, options)) is not None:
        options = following
        yield found[0], found[2]


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

"""Browses the messages on a queue in physical order: without match options, without message data, removing nothing.

So it also finds the rest of a group whose first message is gone, which logical order never returns.

Messages in uncommitted units of work cannot be browsed, and CurrentQDepth does not count them (topics q103130, q106410). So the
command server is asked for their number. If it does not answer, messages may have been missed.
"""

from __future__ import annotations

from collections.abc import Iterator

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.core.model import MsgFlag
from mqgroups.errors import CommandRefused
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.rfh2 import described_by
from mqgroups.operate.command_server import uncommitted
from mqgroups.operate.rules.inspection import Browsed

_OPTIONS = (
    mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_ACCEPT_TRUNCATED_MSG | mq.MQGMO_NO_PROPERTIES
)  # fmt: skip
_ANY_MESSAGE = st.md()
_DEAD_LETTER_HEADER_BYTES = 172
_FIRST = st.gmo(mq.MQGMO_BROWSE_FIRST | _OPTIONS)
_NEXT = st.gmo(mq.MQGMO_BROWSE_NEXT | _OPTIONS)


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
        user=st.name_at(md, st.MD_USER_IDENTIFIER),
    )

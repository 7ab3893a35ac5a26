"""Browses messages in physical order: those on a queue, or those of one group. Only ``peek`` reads data. Nothing is removed.

It also finds the rest of a group whose first message is gone. Logical order never returns this rest.

Messages in uncommitted units of work cannot be browsed, and CurrentQDepth does not count them (``command_server.py``). So this
module asks the command server for their number. If the command server does not answer, messages may have been missed.
``SecondLook`` distinguishes groups that programs are putting or getting from groups that lack messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing

from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.connection.queue import Queue
from mqgroups.core.group_properties import MOST_BYTES
from mqgroups.core.model import GROUP_ID_LENGTH, MsgFlag
from mqgroups.errors import CommandRefused
from mqgroups.mqi import constants as mq
from mqgroups.mqi import property_folders
from mqgroups.mqi import structures as st
from mqgroups.mqi.abc import PropertyValue
from mqgroups.mqi.rfh2 import described_by, without_properties
from mqgroups.names import checked_queue_name
from mqgroups.operate.command_server import uncommitted
from mqgroups.operate.refusal import checked_group_id
from mqgroups.operate.rules.inspection import Browsed, BrowsedInstance, GroupInspection, MessagePlace

_OPTIONS = mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_ACCEPT_TRUNCATED_MSG
_DEAD_LETTER_HEADER_BYTES = 172
_HEAD = (
    "report msg_type expiry feedback encoding coded_char_set_id format priority persistence msg_id correl_id backout_count "
    "reply_to_q reply_to_q_mgr user_identifier put_appl_type put_appl_name put_date put_time group_id msg_seq_number offset "
    "msg_flags"
).split()
# The maximum number of searches, more than there are consumers at work. Each searches the queue, unless it is indexed.
_MOST = 100


def browsed_messages(physical: Queue) -> Iterator[Browsed]:
    """Yield the messages on a queue in physical order, from the first message on. Raises MQIError.

    The handle ``physical`` is open for browsing. It must never be used for logical order.
    """
    return (browsed_message(md, length) for md, _, length in physical.browse_descriptors(st.md()))


def messages_of_group(q_mgr: ConnectionHolder, queue: str, group_id: bytes) -> Iterator[Browsed]:
    """Yield the physical messages of a group, in physical order.

    Args:
        queue: the name of a local queue, or of an alias of a local queue.
        group_id: the GroupId, 24 bytes.

    Raises:
        ConfigurationError: the name or the GroupId is not valid.
        MQIError: the queue cannot be opened or browsed.
    """
    checked_queue_name("queue", queue)
    wanted = st.md(group_id=checked_group_id(group_id))
    with closing(connection_of(q_mgr).open_queue(queue, mq.MQOO_BROWSE)) as physical:
        for md, _, length in physical.browse_descriptors(wanted, mq.MQMO_MATCH_GROUP_ID):
            yield browsed_message(md, length)


def peek(
    q_mgr: ConnectionHolder, queue: str, group_id: bytes, msg_seq_number: int, most_bytes: int
) -> tuple[dict[str, int | str], Mapping[str, PropertyValue], bytes] | None:
    """Browse one message of a group, with its data. If several messages have this number, return the first.

    Args:
        q_mgr, queue, group_id: as for ``messages_of_group``.
        msg_seq_number: the number of the message in the group.
        most_bytes: the maximum number of bytes of data to return.

    Returns:
        Three values: the fields of the MQMD and the ``length`` of all data; the properties; and the beginning of the data, in
        the code page that the producer used. ``None`` if the message is not on the queue.

    Raises:
        MQIError: the queue cannot be opened or browsed.
    """
    md = st.md(group_id=checked_group_id(group_id), msg_seq_number=msg_seq_number)
    gmo = st.gmo(
        mq.MQGMO_BROWSE_FIRST | _OPTIONS | mq.MQGMO_PROPERTIES_FORCE_MQRFH2,
        match_options=mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER,
    )
    with closing(connection_of(q_mgr).open_queue(queue, mq.MQOO_BROWSE)) as physical:
        found = physical.get_beginning(md, gmo, 4 * MOST_BYTES + most_bytes)
    if found is None:
        return None
    data, head, length = found
    values: Mapping[str, PropertyValue] = {}
    if (taken := without_properties(head, data)) is not None:
        values = property_folders.values(taken[2].folders)
        head, data, _ = taken
    fields: dict[str, int | str] = {"length": length}
    for name in _HEAD:
        at = getattr(st, f"MD_{name.upper()}")
        is_id = isinstance(at, slice) and at.stop - at.start == GROUP_ID_LENGTH
        fields[name] = (
            head[at].hex() if is_id else st.name_at(head, at) if isinstance(at, slice) else st.long_at(head, at)
        )
    return fields, values, data[:most_bytes]


def hidden_messages(connection: Connection, queue: str) -> tuple[int | None, str]:
    """Return how many messages of a local queue are uncommitted. If this is not known, return ``None`` and the reason."""
    try:
        return uncommitted(connection, queue), ""
    except CommandRefused as error:
        return None, str(error)


def browsed_message(md: bytes, length: int) -> Browsed:
    """Return a message as its MQMD describes it. ``length`` is the length of its data."""
    feedback = st.long_at(md, st.MD_FEEDBACK)
    dead_letter = described_by(md).format_name == mq.MQFMT_DEAD_LETTER_HEADER
    if dead_letter:
        # Offsets do not count the dead-letter header.
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
        # The same rule as in ``Message._abandoned_with``.
        abandons=length == 0 and feedback >= mq.MQFB_APPL_FIRST and st.long_at(md, st.MD_MSG_TYPE) == mq.MQMT_REPORT,
        dead_letter=dead_letter,
        user=st.name_at(md, st.MD_USER_IDENTIFIER),
        msg_id=md[st.MD_MSG_ID],
    )


class SecondLook:
    """A second look at groups that seem to lack messages. Programs may have got or put these messages during the browse.

    While the queue is browsed, a consumer may get messages of its group. Then the group seems to have no beginning, or it seems
    to have a gap where the consumer has overtaken the browse cursor. When the status records are read, the consumer's record may
    already name the next group. So this class searches again for the first message that was seen. If messages are really
    missing, this first message is still on the queue.

    A producer may put its group's last message meanwhile. When the records are read, its record already names the next group.
    So this class also searches for the message after the last message that was seen.

    A unit of work hides the messages that it has got. If it has got the first messages, the group seems to have no beginning.
    """

    def __init__(self, connection: Connection, seen: BrowsedInstance) -> None:
        """Prepare a second look. The queue is opened for the first search."""
        self._connection = connection
        self._seen = seen
        self._opened: Queue | None = None
        self._left = _MOST
        # On z/OS there are no segments.
        match = 0 if connection.platform == mq.MQPL_ZOS else mq.MQMO_MATCH_OFFSET
        match |= mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER
        self._get = st.gmo(mq.MQGMO_BROWSE_FIRST | _OPTIONS, match_options=match)

    def may_be_being_got(self, group: GroupInspection) -> bool:
        """Return whether a program may be getting the group: earlier messages may be hidden, or the first one seen is gone."""
        number, offset = group.first
        if not self._seen.may_be_read:
            return False
        if not group.gaps and number - 1 + (offset > 0) <= (self._seen.hidden or 0):
            return True
        return not self._is_there(group, group.first)

    def has_moved_on(self, group: GroupInspection) -> bool:
        """Return whether the message after the last seen message is on the queue now, or the first seen message is gone."""
        return self._is_there(group, group.end) or not self._is_there(group, group.first)

    def _is_there(self, group: GroupInspection, place: MessagePlace) -> bool:
        """Return whether the message at ``place`` is on the queue now. After too many searches, return whether it was seen."""
        if not self._left:
            return place != group.end
        self._left -= 1
        if self._opened is None:
            self._opened = self._connection.open_queue(self._seen.queue, mq.MQOO_BROWSE)
        md = st.md(group_id=group.group_id, msg_seq_number=place.msg_seq_number, offset=place.offset)
        return self._opened.get_descriptor(md, self._get) is not None

    def close(self) -> None:
        """Close the queue."""
        if self._opened is not None:
            self._opened.close()

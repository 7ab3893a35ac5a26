"""Lists the physical messages of one group on a queue, by browsing with its GroupId, without message data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.names import checked_queue_name
from mqgroups.operate.browse import browsed_message
from mqgroups.operate.refusal import checked_group_id
from mqgroups.operate.rules.inspection import Browsed

_OPTIONS = mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_ACCEPT_TRUNCATED_MSG | mq.MQGMO_NO_PROPERTIES
_FIRST = st.gmo(mq.MQGMO_BROWSE_FIRST | _OPTIONS, match_options=mq.MQMO_MATCH_GROUP_ID)
_NEXT = st.gmo(mq.MQGMO_BROWSE_NEXT | _OPTIONS, match_options=mq.MQMO_MATCH_GROUP_ID)


@dataclass(frozen=True, slots=True)
class FoundGroupMessage:
    """A physical message of a group, and its MsgId: 24 bytes."""

    msg_id: bytes
    browsed: Browsed


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
    md, options = st.md(group_id=checked_group_id(group_id)), _FIRST
    physical = connection_of(q_mgr).open_queue(queue, mq.MQOO_BROWSE)
    try:
        while (found := physical.get_descriptor(md, options)) is not None:
            options = _NEXT
            yield FoundGroupMessage(found[0][st.MD_MSG_ID], browsed_message(found[0], found[2]))
    finally:
        physical.close()

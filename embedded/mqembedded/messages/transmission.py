"""Messages in transit to another queue manager: their form on a transmission queue, and their form on a channel.

On a transmission queue a message has an MQXQH in front of its data. The MQXQH names the destination and contains the message's
own descriptor in version 1. The fields of version 2, for groups and segments, are in an MQMDE after the MQXQH. The outer
descriptor belongs to the transmission. In a cluster its CorrelId is the channel's name (as on SYSTEM.CLUSTER.TRANSMIT.QUEUE).
Elsewhere its CorrelId is the message's MsgId. Its ApplOriginData contains the binding, which IBM MQ keeps in a hidden place.

Source: IBM MQ, "MQXQH", "Message descriptors of messages on transmission queues". ``channels/sender.py`` sends these messages,
``channels/receiver.py`` receives them.
"""

from __future__ import annotations

import enum
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mqembedded import constants as mq
from mqembedded.messages.queue import Message, Queue
from mqembedded.wire.structures import (
    NO_GROUP,
    MessageDescriptor,
    StructureError,
    as_version_1,
    name_field,
    take_extension,
    text_field,
)

_XQH = struct.Struct("<4si48s48s")
_MD_LENGTH = 324
_HEADER_LENGTH = _XQH.size + _MD_LENGTH
_APPL_ORIGIN_DATA = slice(320, 324)
_FORMAT = slice(32, 40)


class Bound(enum.Enum):
    """How a message is bound to an instance of a cluster queue. The transmission's ApplOriginData contains the value."""

    ON_OPEN = b"OPEN"
    ON_GROUP = b"GRP "
    NOT_FIXED = b"NOTF"


@dataclass(frozen=True, slots=True)
class Transmitted:
    """A message on a channel.

    ``expiry`` is the remaining time in tenths of a second, or MQEI_UNLIMITED. ``properties`` come from a message handle.
    """

    queue_name: str
    q_mgr_name: str
    bound: Bound
    expiry: int
    md: MessageDescriptor
    data: bytes
    properties: bytes


def to_transmit(
    message: Message, queue: Queue, destination: tuple[str, str], channel: str, bound: Bound, identifier: bytes
) -> Message:
    """Return a message in its form on a transmission queue.

    Args:
        message: the message in its form on an ordinary queue. The result has the same place in delivery order.
        queue: the transmission queue.
        destination: the names of the final queue and its queue manager.
        channel: the name of the cluster channel; "" for a transmission queue in no cluster.
        bound: how the message is bound to its instance.
        identifier: a new identifier for the transmission's MsgId.
    """
    md = MessageDescriptor(message.md)
    version_1, data = as_version_1(message.md, message.data, always=md.format == mq.MQFMT_MD_EXTENSION)
    header = _XQH.pack(b"XQH ", 1, name_field(destination[0]), name_field(destination[1]))
    # Persistence, priority, expiry and context are those of the message itself.
    md.report, md.msg_type, md.feedback = mq.MQRO_NONE, mq.MQMT_DATAGRAM, mq.MQFB_NONE
    md.encoding, md.coded_char_set_id, md.format = mq.MQENC_NATIVE, mq.MQCCSI_DEFAULT, mq.MQFMT_XMIT_Q_HEADER
    md.msg_id, md.correl_id = identifier, channel.encode("latin-1").ljust(24) if channel else md.msg_id
    md.reply_to_q = md.reply_to_q_mgr = b" " * 48
    md.appl_origin_data = bound.value
    md.group_id, md.msg_seq_number, md.offset = NO_GROUP, 1, 0
    md.msg_flags, md.original_length = mq.MQMF_NONE, mq.MQOL_UNDEFINED
    made = Message(
        queue,
        message.position,
        message.key_priority,
        md.pack(2),
        header + version_1 + data,
        group_fields=(NO_GROUP, 1, 0, mq.MQMF_NONE),
        persistent=message.persistent,
        expires_at_s=message.expires_at_s,
    )
    made.properties = message.properties
    return made


def is_transmission(message: Message) -> bool:
    """Return whether a channel can send this message. Applications can also put other messages on a transmission queue."""
    if message.md[_FORMAT] != mq.MQFMT_XMIT_Q_HEADER or message.data[:4] != b"XQH ":
        return False
    try:
        opened(message)
    except StructureError:
        return False
    return True


def bound(message: Message) -> Bound:
    """Return how a message on a transmission queue is bound to an instance of a cluster queue."""
    try:
        return Bound(message.md[_APPL_ORIGIN_DATA])
    except ValueError:
        # Another program has put the message, so the message stays bound to its instance.
        return Bound.ON_OPEN


def opened(message: Message) -> Transmitted:
    """Return a transmission queue's message in the form that it has on a channel.

    Raises:
        StructureError: a header in the message is malformed.
    """
    expiry: int = mq.MQEI_UNLIMITED
    if message.expires_at_s is not None:
        expiry = max(1, int((message.expires_at_s - time.time()) * 10))
    return _opened(message.data, message.properties, bound(message), expiry)


def _opened(data: bytes, properties: bytes, how: Bound, expiry: int) -> Transmitted:
    if len(data) < _HEADER_LENGTH:
        raise StructureError(f"MQXQH: {len(data)} bytes, {_HEADER_LENGTH} expected")
    _, _, queue_name, q_mgr_name = _XQH.unpack_from(data)
    md = MessageDescriptor(data[_XQH.size : _HEADER_LENGTH])
    body = data[_HEADER_LENGTH:]
    if md.format == mq.MQFMT_MD_EXTENSION:
        body = take_extension(md, body)
    return Transmitted(text_field(queue_name), text_field(q_mgr_name), how, expiry, md, body, properties)


# --- on a channel: a sequence of messages in their transmission form

_ITEM = struct.Struct("<4siII")


def encode(messages: Iterable[Message]) -> bytes:
    """Return messages of a transmission queue as bytes for a channel."""
    pieces = []
    for message in messages:
        left = opened(message).expiry
        pieces.append(_ITEM.pack(bound(message).value, left, len(message.properties), len(message.data)))
        pieces += (message.properties, message.data)
    return b"".join(pieces)


def decode(raw: bytes) -> Iterator[Transmitted]:
    """Yield the messages that the bytes contain; raise StructureError if the bytes are malformed."""
    at = 0
    while at < len(raw):
        if at + _ITEM.size > len(raw):
            raise StructureError(f"{len(raw) - at} bytes are left where a message begins")
        how, expiry, properties_length, length = _ITEM.unpack_from(raw, at)
        at += _ITEM.size
        end = at + properties_length + length
        if end > len(raw):
            raise StructureError(f"a message of {length} bytes is cut short")
        yield _opened(raw[at + properties_length : end], raw[at : at + properties_length], Bound(how), expiry)
        at = end

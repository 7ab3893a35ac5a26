"""A message handle, which has the properties and the descriptor of a message.

MQCRTMH creates a message handle, MQSETMP or MQGET fills it, and MQPUT takes properties from it. A handle belongs to one
connection. The verbs are in ``calls/message_properties.py``, the properties in ``sets.py``.
"""

from __future__ import annotations

from mqembedded import constants as mq
from mqembedded.properties.names import Path, PropertyError
from mqembedded.properties.sets import Property, PropertySet
from mqembedded.wire.structures import MessageDescriptor

_FIELDS = {"".join(map(str.capitalize, name.split("_"))): name for name in MessageDescriptor.__slots__[2:]}
_BYTE_FIELDS = frozenset({"MsgId", "CorrelId", "AccountingToken", "GroupId"})


class MessageHandle:
    """A message handle.

    ``validates`` is set if MQSETMP checks names of properties. With MQCMHO_NO_VALIDATION only MQPUT checks them. ``md`` is the
    version 2 descriptor of the last message that MQGET got with the handle, or None if there is no such message.
    """

    __slots__ = ("hmsg", "md", "properties", "validates")

    def __init__(self, hmsg: int, *, validates: bool = True) -> None:
        self.hmsg = hmsg
        self.validates = validates
        self.properties = PropertySet()
        self.md: bytes | None = None

    def clear(self) -> None:
        """Remove the properties and the descriptor, as MQGET does before it looks for a message."""
        self.properties = PropertySet()
        self.md = None

    def fill(self, md: bytes, properties: PropertySet | None) -> None:
        """Store the descriptor and the properties of a message that MQGET has got."""
        self.properties = properties or PropertySet()
        self.md = md

    def descriptor_field(self, path: Path) -> Property:
        """Return a descriptor field of the message that MQGET has got. ``path`` is the path of a name like ``Root.MQMD.MsgId``.

        Character fields keep their trailing blanks; MQBYTEn fields are byte strings (IBM MQ lists the types at reason code 2473).

        Raises:
            PropertyError: MQRC_PROPERTY_NOT_AVAILABLE if there is no such field, or if MQGET has got no message.
        """
        field = path[2] if len(path) == 3 else ""
        if self.md is None or field not in _FIELDS:
            raise PropertyError(mq.MQRC_PROPERTY_NOT_AVAILABLE)
        value = getattr(MessageDescriptor(self.md), _FIELDS[field])
        if isinstance(value, int):
            return Property(path, mq.MQTYPE_INT32, value)
        if field in _BYTE_FIELDS:
            return Property(path, mq.MQTYPE_BYTE_STRING, value)
        return Property(path, mq.MQTYPE_STRING, value.decode("latin-1"))

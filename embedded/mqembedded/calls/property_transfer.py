"""Properties that MQPUT takes from message handles, and properties that MQGET puts into a message handle.

``message_properties.py`` has the verbs for message handles. ``properties/control.py`` decides how properties are delivered.

Source: IBM MQ, "Action", "OriginalMsgHandle", "MsgHandle". Unverified: without an original handle, all actions except MQACTP_NEW
end with MQRC_HMSG_ERROR; MQPUT checks names that MQSETMP did not validate.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.connection import Connection
from mqembedded.messages.handle import Handle
from mqembedded.messages.logical_order import IS_SEGMENT
from mqembedded.properties import rfh2
from mqembedded.properties.control import Delivery, delivery, kept, read
from mqembedded.properties.folders import property_folders
from mqembedded.properties.message_handle import MessageHandle
from mqembedded.properties.names import MOST_PROPERTIES, PropertyError, check_name, path_of
from mqembedded.properties.sets import Property, combined
from mqembedded.queue_manager import QueueManager
from mqembedded.wire.structures import (
    GetMessageOptions,
    MessageDescriptor,
    PutMessageOptions,
    StructureError,
    blank_padded,
    take_extension,
)

# The queue manager's own limit, also if MAXPROPL is higher.
_LONGEST_PROPERTIES = 104_857_600
_HEADERS = frozenset({mq.MQFMT_RF_HEADER_2, mq.MQFMT_MD_EXTENSION})
_TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def properties_ahead(
    q_mgr: QueueManager, connection: Connection, md: MessageDescriptor, pmo: PutMessageOptions, data: bytes
) -> Callable[[], bytes]:
    """Read a put's properties. The caller does not hold the queue manager's lock, because there can be many properties.

    Return a function that returns the result of ``properties_to_put`` or raises its error, so that other errors can come first.
    """
    if blank_padded(md.format, 8) not in _HEADERS and not (pmo.original_msg_handle or pmo.new_msg_handle or pmo.action):
        return bytes
    if len(data) > connection.max_msg_length:
        # The put itself refuses data of this length.
        return bytes
    if md.version == 1 and blank_padded(md.format, 8) == mq.MQFMT_MD_EXTENSION:
        md = copy.copy(md)
        try:
            data = take_extension(md, data)
        except StructureError:
            # The put itself refuses the malformed header.
            return bytes
    try:
        properties = properties_to_put(q_mgr, connection, md, pmo, data)
    except Failed as error:
        failed = error

        def refuse() -> bytes:
            raise failed

        return refuse
    return lambda: properties


def with_property_of_exit(properties: bytes, name: str, md: MessageDescriptor, data: bytes) -> bytes:
    """Add the property that an API exit for tracing adds to a message, and return all properties in their stored form.

    As with IBM's exit, a message that already has this property, perhaps in the program's own MQRFH2, stays as it is.
    """
    added = Property(path_of(name), mq.MQTYPE_STRING, _TRACE)
    known = read(properties)
    try:
        headers, _ = rfh2.split(data, md.encoding, blank_padded(md.format, 8))
        own = property_folders(folder for header in headers for folder in header.folders)
    except PropertyError:
        own = []
    paths = {one.path for one in known}.union(one.path for _, found in own for one in found)
    return properties if added.path in paths else kept([*known, added])


def properties_to_put(
    q_mgr: QueueManager, connection: Connection, md: MessageDescriptor, pmo: PutMessageOptions, data: bytes
) -> bytes:
    """Check the MQRFH2 headers in a put's data, and return the properties from its message handles in their stored form.

    Raises:
        Failed: MQRC_HMSG_ERROR, MQRC_ACTION_ERROR, MQRC_PROPERTY_NAME_ERROR, MQRC_PROPERTIES_TOO_BIG, MQRC_RFH_ERROR,
            MQRC_RFH_FORMAT_ERROR.
    """
    try:
        if blank_padded(md.format, 8) == mq.MQFMT_RF_HEADER_2 and not md.msg_flags & IS_SEGMENT:
            rfh2.check(data, md.encoding, mq.MQFMT_RF_HEADER_2)
        if not (pmo.original_msg_handle or pmo.new_msg_handle or pmo.action):
            return b""
        given = [
            connection.message_handle(hmsg) if hmsg else None for hmsg in (pmo.original_msg_handle, pmo.new_msg_handle)
        ]
        if pmo.action in (mq.MQACTP_FORWARD, mq.MQACTP_REPLY, mq.MQACTP_REPORT) and given[0] is None:
            raise Failed(mq.MQRC_HMSG_ERROR)
        for handle in filter(None, given):
            handle.properties.reset_cursor()
            if not handle.validates:
                for one in handle.properties:
                    check_name(".".join(one.path))
        original, new = (handle.properties if handle is not None else () for handle in given)
        if max(len(original), len(new)) > MOST_PROPERTIES:
            raise Failed(mq.MQRC_PROPERTIES_TOO_BIG)
        result = combined(original, new, pmo.action)
    except PropertyError as error:
        raise Failed(error.reason) from error
    limit = q_mgr.catalogue.q_mgr_values[mq.MQIA_MAX_PROPERTIES_LENGTH]
    assert isinstance(limit, int)
    if len(result) > MOST_PROPERTIES or result.size() > (limit if limit >= 0 else _LONGEST_PROPERTIES):
        raise Failed(mq.MQRC_PROPERTIES_TOO_BIG)
    return kept(result)


def properties_wanted(
    connection: Connection, handle: Handle, gmo: GetMessageOptions
) -> tuple[Delivery, MessageHandle | None]:
    """Return the form in which properties are delivered, and the message handle to fill, or None. Raises Failed."""
    given = connection.message_handle(gmo.msg_handle) if gmo.msg_handle else None
    if gmo.options & mq.MQGMO_PROPERTIES_IN_HANDLE and given is None:
        raise Failed(mq.MQRC_HMSG_ERROR)
    control = (
        mq.MQPROP_COMPATIBILITY if handle.opened_values is None else handle.opened_values[mq.MQIA_PROPERTY_CONTROL]
    )
    assert isinstance(control, int)
    how = delivery(gmo.options, control, has_handle=given is not None)
    if given is None or how not in (Delivery.IN_HANDLE, Delivery.OTHERS_IN_HANDLE):
        return how, None
    # MQGET empties the handle before it looks for a message, even if it finds no message (IBM MQ, "MsgHandle").
    given.clear()
    return how, given

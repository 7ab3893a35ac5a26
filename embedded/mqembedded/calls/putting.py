"""MQPUT and MQPUT1. ``put_options.py`` checks the MQPMO, ``md_fields.py`` the MQMD."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed
from mqembedded.calls.context import check_context, set_context
from mqembedded.calls.md_fields import HIGHEST_NUMBER, check_group_fields, resolve_descriptor
from mqembedded.calls.opening import descriptor, open_queue
from mqembedded.calls.permission import check_open, options_of_put1
from mqembedded.calls.property_transfer import properties_ahead, with_property_of_exit
from mqembedded.calls.put_options import check_put_options, put_structures
from mqembedded.calls.put_response import put1_is_asynchronous, put_is_asynchronous, put_without_telling
from mqembedded.connection import Connection
from mqembedded.messages.handle import Direction, Handle
from mqembedded.messages.logical_order import (
    IN_GROUP,
    IS_SEGMENT,
    NEW_GROUP_ID,
    Identity,
    after,
    departure,
    put_as_given,
    put_in_logical_order,
    put_refusal,
    stored_flags,
)
from mqembedded.messages.queue import Message, Queue
from mqembedded.messages.route import Target
from mqembedded.platform import ZOS_LOWEST_GROUP_PRIORITY, Platform
from mqembedded.queue_manager import CCSID, MAX_PRIORITY, QueueManager
from mqembedded.readings import (
    DUPLICATE_NUMBER,
    GROUP_GOES_UNTOLD,
    PRECEDENCE,
    PROPERTIES_ON_SEGMENTS,
    PROPERTY_OF_EXIT,
    SEGMENTS_SHARE_MSG_ID,
)
from mqembedded.reports.reports import (
    COA,
    forget,
    is_confirmed,
    reports_on_arrival,
)
from mqembedded.wire.object_descriptors import ObjectDescriptor
from mqembedded.wire.structures import (
    NO_ID,
    MessageDescriptor,
    PutMessageOptions,
    StructureError,
    blank_padded,
    name_field,
    take_extension,
)

_SEGMENT_UNIT = 16


def put(q_mgr: QueueManager, connection: Connection, hobj: int, md_raw: bytes, pmo_raw: bytes, data: bytes) -> Answer:
    """Carry out MQPUT (IBM MQ, "MQPUT")."""
    md, pmo = put_structures(md_raw, pmo_raw, q_mgr.platform)
    with q_mgr.lock:
        handle, _ = connection.queue_handle(hobj)
        if not handle.options & mq.MQOO_OUTPUT:
            raise Failed(mq.MQRC_NOT_OPEN_FOR_OUTPUT)
        if pmo.options & mq.MQPMO_ALTERNATE_USER_AUTHORITY:
            raise Failed(mq.MQRC_OPTIONS_ERROR)
        check_put_options(pmo)
        if pmo.options & mq.MQPMO_LOGICAL_ORDER and connection.origin.is_reconnectable:
            raise Failed(mq.MQRC_RECONNECT_INCOMPATIBLE)
        check_context(connection, handle, pmo, put1=False)

    def told() -> Answer:
        return _put_on_handle(q_mgr, connection, hobj, md, pmo, data)

    if put_is_asynchronous(connection, pmo.options, handle.default_put_response):
        return put_without_telling(q_mgr, connection, handle.opened_name, md_raw, pmo, [], told)
    return told()


def _put_on_handle(
    q_mgr: QueueManager,
    connection: Connection,
    hobj: int,
    md: MessageDescriptor,
    pmo: PutMessageOptions,
    data: bytes,
) -> Answer:
    read_properties = properties_ahead(q_mgr, connection, md, pmo, data)
    with q_mgr.lock:
        # The handle is looked up again, because the queue could have been deleted meanwhile.
        handle, queue = connection.queue_handle(hobj)
        state = handle.states[Direction.PUT]
        reason, messages, names = _put(q_mgr, connection, handle, queue, md, pmo, data, read_properties)
    if not q_mgr.platform.puts_in_syncpoint(pmo.options):
        try:
            _make_visible(q_mgr, messages)
        except Failed:
            handle.states[Direction.PUT] = state
            raise
    return _answer(names, md, pmo, reason, [])


def put1(
    q_mgr: QueueManager, connection: Connection, od_raw: bytes, md_raw: bytes, pmo_raw: bytes, data: bytes
) -> Answer:
    """Carry out MQPUT1 (IBM MQ, "MQPUT1"): open, put, close. There is no logical order and no check of group state."""
    od = descriptor(od_raw)
    md, pmo = put_structures(md_raw, pmo_raw, q_mgr.platform)
    if od.object_type != mq.MQOT_Q:
        raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)
    if pmo.options & mq.MQPMO_LOGICAL_ORDER:
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    check_put_options(pmo)

    def told() -> Answer:
        return _open_and_put(q_mgr, connection, od, md, pmo, data)

    if put1_is_asynchronous(connection, pmo.options):
        return put_without_telling(q_mgr, connection, od.object_name, md_raw, pmo, [od_raw], told)
    return told()


def _open_and_put(
    q_mgr: QueueManager,
    connection: Connection,
    od: ObjectDescriptor,
    md: MessageDescriptor,
    pmo: PutMessageOptions,
    data: bytes,
) -> Answer:
    read_properties = properties_ahead(q_mgr, connection, md, pmo, data)
    with q_mgr.lock:
        check_open(q_mgr, connection, od, options_of_put1(pmo.options))
        # MQPUT1 opens with MQOO_BIND_NOT_FIXED and ignores DEFBIND (IBM MQ, "DEFBIND").
        handle, queue = open_queue(q_mgr, connection, od, mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED)
        try:
            check_context(connection, handle, pmo, put1=True)
            reason, messages, names = _put(q_mgr, connection, handle, queue, md, pmo, data, read_properties)
        finally:
            if connection.unit_of_work is not None:
                connection.unit_of_work.forget_state(handle, Direction.PUT)
            q_mgr.release(handle)
    if not q_mgr.platform.puts_in_syncpoint(pmo.options):
        _make_visible(q_mgr, messages)
    return _answer(names, md, pmo, reason, [od.answered(handle.opened_name, *names)])


def _make_visible(q_mgr: QueueManager, messages: list[Message]) -> None:
    """End a put outside syncpoint: write persistent messages to the disk, then make all messages available."""
    try:
        q_mgr.write_now(messages, ())
    except Failed:
        with q_mgr.lock:
            forget(messages)
        raise
    with q_mgr.lock:
        if len(messages) == 1:
            messages[0].queue.make_available(messages)
            return
        for queue, together in itertools.groupby(messages, lambda message: message.queue):
            queue.make_available(tuple(together))


def _answer(
    names: tuple[str, str],
    md: MessageDescriptor,
    pmo: PutMessageOptions,
    reason: int,
    before: list[object],
) -> Answer:
    comp = mq.MQCC_WARNING if reason else mq.MQCC_OK
    return comp, reason, [*before, md.pack(md.version), pmo.answered(*map(name_field, names))]


def _put(
    q_mgr: QueueManager,
    connection: Connection,
    handle: Handle,
    queue: Queue,
    md: MessageDescriptor,
    pmo: PutMessageOptions,
    data: bytes,
    read_properties: Callable[[], bytes],
) -> tuple[int, list[Message], tuple[str, str]]:
    """Make a put's messages and count them. ``md`` becomes the descriptor that MQPUT returns.

    Return three values: the reason code of a warning, or MQRC_NONE; the message or its segments, with the reports on arrival;
    the names of the queue and the queue manager. In syncpoint, the unit of work already has the messages. Outside syncpoint, the
    caller must make the messages visible.
    """
    q_mgr.fail_if_quiescing(connection, pmo.options & mq.MQPMO_FAIL_IF_QUIESCING)
    _check_inhibition(handle, queue)
    if len(data) > connection.max_msg_length:
        # A message that is longer than the channel's maximum does not reach the queue (reason code 2010, MQRC_DATA_LENGTH_ERROR).
        raise Failed(mq.MQRC_DATA_LENGTH_ERROR)
    logical_order = bool(pmo.options & mq.MQPMO_LOGICAL_ORDER)
    if logical_order and md.version < 2:
        raise Failed(mq.MQRC_WRONG_MD_VERSION)
    if md.version == 1 and blank_padded(md.format, 8) == mq.MQFMT_MD_EXTENSION:
        # The caller's version 1 MQMD keeps its description of the data, which includes the MQMDE.
        caller = (md.encoding, md.coded_char_set_id, md.format)
        try:
            body = take_extension(md, data)
        except StructureError as error:
            raise Failed(mq.MQRC_MDE_ERROR) from error
    else:
        caller, body = None, data
    defaults = handle.opened_values if handle.opened_values is not None else queue.values
    warning = resolve_descriptor(md, defaults[mq.MQIA_DEF_PERSISTENCE], defaults[mq.MQIA_DEF_PRIORITY])
    if md.persistence == mq.MQPER_PERSISTENT and queue.definition_type == mq.MQQDT_TEMPORARY_DYNAMIC:
        raise Failed(mq.MQRC_PERSISTENT_NOT_ALLOWED)
    persistent = md.persistence == mq.MQPER_PERSISTENT
    in_unit_of_work = q_mgr.platform.puts_in_syncpoint(pmo.options)
    check_group_fields(md, body, logical_order=logical_order)
    if q_mgr.platform is Platform.ZOS:
        md.msg_flags &= ~mq.MQMF_SEGMENTATION_ALLOWED
    properties = read_properties()
    if properties and md.msg_flags & (IS_SEGMENT | mq.MQMF_SEGMENTATION_ALLOWED):
        refused = q_mgr.readings[PROPERTIES_ON_SEGMENTS]
        if refused:
            raise Failed(refused)
    # Programs inside the queue manager, such as the command server, have no API exits here.
    if connection.hang_up is not None and (name := q_mgr.readings[PROPERTY_OF_EXIT]):
        properties = with_property_of_exit(properties, name, md, body)

    state = handle.states[Direction.PUT]
    if logical_order:
        precedence = q_mgr.readings[PRECEDENCE]
        refusal = put_refusal(state, md.msg_flags, precedence, persistent=persistent, in_unit_of_work=in_unit_of_work)
        if refusal:
            raise Failed(refusal)
        identity = put_in_logical_order(state, md.msg_flags)
    else:
        given = Identity(md.group_id, md.msg_seq_number, md.offset)
        identity = put_as_given(given, md.msg_flags)
        if state.logical_order:
            precedence = q_mgr.readings[PRECEDENCE]
            left = departure(
                state, identity, md.msg_flags, precedence, persistent=persistent, in_unit_of_work=in_unit_of_work
            )
            warning = left or warning
    if identity.msg_seq_number > HIGHEST_NUMBER:
        raise Failed(mq.MQRC_MSG_SEQ_NUMBER_ERROR)
    if identity.offset > HIGHEST_NUMBER:
        raise Failed(mq.MQRC_OFFSET_ERROR)
    away: Target | None = None
    names = (queue.name, q_mgr.name)
    if handle.route is not None:
        target = handle.route.target(state, md.msg_flags, identity, logical_order=logical_order)
        queue, names = target.queue, (target.queue_name, target.q_mgr_name)
        away = target if target.is_away else None
    if md.msg_flags & IS_SEGMENT and not q_mgr.platform.takes_segments(queue.values[mq.MQIA_INDEX_TYPE]):
        raise Failed(mq.MQRC_SEGMENTS_NOT_SUPPORTED)
    if md.msg_flags & (IN_GROUP | IS_SEGMENT) and away is None:
        duplicate = q_mgr.readings[DUPLICATE_NUMBER]
        if duplicate and _is_there(queue, identity):
            raise Failed(duplicate)
    pieces = _pieces(queue, md, body)
    # The depth is checked only at the start of the put. Its segments can exceed MAXDEPTH (IBM MQ, "CurrentQDepth").
    if queue.depth >= queue.integer(mq.MQIA_MAX_Q_DEPTH):
        raise Failed(mq.MQRC_Q_FULL)
    if len(pieces) > 1 and not in_unit_of_work and connection.unit_of_work:
        # The segments must appear together. This needs a separate unit of work, but the application's unit of work is open
        # (reason code 2255).
        raise Failed(mq.MQRC_UOW_NOT_AVAILABLE)
    # The other queue manager makes the report when a message for it arrives.
    reported = len(pieces) if away is None and is_confirmed(COA, md.report, md.format) else 0
    unit = q_mgr.unit_of_work(connection, 1 + reported) if in_unit_of_work else None

    # From here on only the disk can refuse the put.
    if identity.group_id == NEW_GROUP_ID:
        identity = Identity(q_mgr.new_identifier(), identity.msg_seq_number, identity.offset)
    # The current attributes are used, so a change of CAPEXPRY takes effect at once.
    opened = q_mgr.catalogue.get(handle.opened_name)
    expires_at_s = queue.expires_at_s(md.expiry, opened.values if opened else None)
    messages = _messages(q_mgr, connection, queue, md, pmo, identity, pieces, expires_at_s)
    messages[0].properties = properties
    extent = messages[0].extent if len(messages) == 1 else sum(message.extent for message in messages)
    if away is not None:
        messages = [away.transmitted(message, q_mgr.new_identifier()) for message in messages]
    if caller is not None:
        md.encoding, md.coded_char_set_id, md.format = caller
    q_mgr.keep_state(connection, handle, Direction.PUT, in_unit_of_work)
    queue.count_puts(len(messages))
    reports = reports_on_arrival(q_mgr, messages) if reported else []
    if unit is not None:
        queue.uncommitted_puts += len(messages)
        unit.add_put(messages)
        unit.add_reports(reports)
    handle.states[Direction.PUT] = after(
        identity,
        stored_flags(md.msg_flags),
        extent,
        in_unit_of_work=in_unit_of_work,
        persistent=persistent,
        logical_order=logical_order,
        destination=names[1],
    )
    if (
        handle.route is not None
        and handle.route.binding == mq.MQBND_BIND_ON_GROUP
        and q_mgr.readings[GROUP_GOES_UNTOLD]
    ):
        names = (names[0], "")
    return warning, messages + reports, names


def _is_there(queue: Queue, identity: Identity) -> bool:
    """Return whether a message with this GroupId, sequence number and offset is available on the queue."""
    group = queue.groups.get(identity.group_id)
    return group is not None and group.find(identity.msg_seq_number, identity.offset) is not None


def _check_inhibition(handle: Handle, queue: Queue) -> None:
    """Raise Failed with MQRC_PUT_INHIBITED if puts are inhibited. A cluster queue's instance is checked when it is chosen."""
    if handle.route is not None and handle.route.definition is None:
        return
    if handle.opened_values is not None and handle.opened_values[mq.MQIA_INHIBIT_PUT] == mq.MQQA_PUT_INHIBITED:
        raise Failed(mq.MQRC_PUT_INHIBITED)
    if handle.route is None and queue.values[mq.MQIA_INHIBIT_PUT] == mq.MQQA_PUT_INHIBITED:
        raise Failed(mq.MQRC_PUT_INHIBITED)


def _pieces(queue: Queue, md: MessageDescriptor, body: bytes) -> list[bytes]:
    """Return the data in one piece, or in segments if it is too long for the queue and MQMF_SEGMENTATION_ALLOWED is set.

    Segments end at multiples of 16 bytes (IBM MQ, reason code 2030). Unverified: each segment is as long as possible. Data in
    MQ's own formats is not split, because this would separate its headers.
    """
    limit = queue.integer(mq.MQIA_MAX_MSG_LENGTH)
    if len(body) <= limit:
        return [body]
    splits = md.format == mq.MQFMT_STRING or not md.format.startswith(b"MQ")
    length = limit // _SEGMENT_UNIT * _SEGMENT_UNIT
    if not md.msg_flags & mq.MQMF_SEGMENTATION_ALLOWED or not splits or not length:
        raise Failed(mq.MQRC_MSG_TOO_BIG_FOR_Q)
    return [body[at : at + length] for at in range(0, len(body), length)]


def _placed_priority(q_mgr: QueueManager, queue: Queue, md: MessageDescriptor) -> int:
    """Return the priority that decides a message's place on the queue."""
    priority: int = min(md.priority, MAX_PRIORITY)
    groups_indexed = q_mgr.platform is Platform.ZOS and queue.values[mq.MQIA_INDEX_TYPE] == mq.MQIT_GROUP_ID
    if groups_indexed and md.msg_flags & IN_GROUP and md.msg_seq_number == 1:
        return max(priority, ZOS_LOWEST_GROUP_PRIORITY)
    return priority


def _messages(
    q_mgr: QueueManager,
    connection: Connection,
    queue: Queue,
    md: MessageDescriptor,
    pmo: PutMessageOptions,
    identity: Identity,
    pieces: list[bytes],
    expires_at_s: float | None,
) -> list[Message]:
    """Make the messages to store, and set the fields of ``md`` that MQPUT returns. MsgFlags and CCSID stay as they were."""
    if pmo.options & mq.MQPMO_NEW_MSG_ID or md.msg_id == NO_ID:
        md.msg_id = q_mgr.new_identifier()
    if pmo.options & mq.MQPMO_NEW_CORREL_ID:
        md.correl_id = q_mgr.new_identifier()
    md.backout_count = 0
    md.group_id, md.msg_seq_number, md.offset = identity.group_id, identity.msg_seq_number, identity.offset
    set_context(q_mgr, connection, md, pmo)
    returned = md.msg_id, md.msg_flags, md.coded_char_set_id, md.reply_to_q_mgr
    if md.reply_to_q.strip() and not md.reply_to_q_mgr.strip():
        md.reply_to_q_mgr = q_mgr.name_bytes()
    md.msg_flags = stored_flags(md.msg_flags)
    if md.coded_char_set_id in (mq.MQCCSI_Q_MGR, mq.MQCCSI_INHERIT, mq.MQCCSI_APPL):
        md.coded_char_set_id = CCSID
    is_segment, ends = bool(md.msg_flags & IS_SEGMENT), md.msg_flags & mq.MQMF_LAST_SEGMENT
    reports_on_segment, original_length = is_segment and md.msg_type == mq.MQMT_REPORT, md.original_length
    messages = []
    for number, piece in enumerate(pieces, 1):
        if len(pieces) > 1:
            md.msg_flags = (md.msg_flags | mq.MQMF_SEGMENT) & ~mq.MQMF_LAST_SEGMENT
            if number == len(pieces) and (ends or not is_segment):
                md.msg_flags |= mq.MQMF_LAST_SEGMENT
            if number > 1 and not q_mgr.readings[SEGMENTS_SHARE_MSG_ID]:
                md.msg_id = q_mgr.new_identifier()
        extent = len(piece)
        if reports_on_segment and number == len(pieces):
            extent = original_length - (md.offset - identity.offset)
        md.original_length = extent if md.msg_flags & IS_SEGMENT else mq.MQOL_UNDEFINED
        messages.append(
            Message(
                queue,
                q_mgr.position_on(queue, md.msg_seq_number),
                queue.delivery_priority(_placed_priority(q_mgr, queue, md)),
                md.pack(2),
                piece,
                group_fields=(md.group_id, md.msg_seq_number, md.offset, md.msg_flags),
                persistent=md.persistence == mq.MQPER_PERSISTENT,
                expires_at_s=expires_at_s,
            )
        )
        md.offset += extent
    md.msg_id, md.msg_flags, md.coded_char_set_id, md.reply_to_q_mgr = returned
    md.offset = identity.offset
    return messages

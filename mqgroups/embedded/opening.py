"""MQOPEN and MQCLOSE."""

from __future__ import annotations

from mqgroups.embedded.attributes import MODEL
from mqgroups.embedded.catalogue import Definition
from mqgroups.embedded.handle import INPUT, Direction, Handle
from mqgroups.embedded.logical_order import close_warning
from mqgroups.embedded.object_attributes import Kind
from mqgroups.embedded.objects import CatalogueError
from mqgroups.embedded.queue import Queue
from mqgroups.embedded.queue_manager import Answer, Connection, Failed, QueueManager
from mqgroups.embedded.structures import ObjectDescriptor, StructureError
from mqgroups.mqi import constants as mq

_BIND = mq.MQOO_BIND_ON_OPEN | mq.MQOO_BIND_NOT_FIXED | mq.MQOO_BIND_ON_GROUP
_READ_AHEAD = mq.MQOO_NO_READ_AHEAD | mq.MQOO_READ_AHEAD
_USES = INPUT | mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE | mq.MQOO_SET
_PASS_OR_SET_CONTEXT = (
    mq.MQOO_PASS_IDENTITY_CONTEXT | mq.MQOO_PASS_ALL_CONTEXT | mq.MQOO_SET_IDENTITY_CONTEXT | mq.MQOO_SET_ALL_CONTEXT
)
_NOT_YET = mq.MQOO_ALTERNATE_USER_AUTHORITY
_KNOWN = (
    _USES
    | _BIND
    | _READ_AHEAD
    | _NOT_YET
    | _PASS_OR_SET_CONTEXT
    | mq.MQOO_CO_OP
    | mq.MQOO_SAVE_ALL_CONTEXT
    | mq.MQOO_FAIL_IF_QUIESCING
    | mq.MQOO_RESOLVE_LOCAL_Q
    | mq.MQOO_NO_MULTICAST
)
_CLOSE_OPTIONS = mq.MQCO_DELETE | mq.MQCO_DELETE_PURGE
_TO_INQUIRE = {mq.MQOT_NAMELIST: Kind.NAMELIST, mq.MQOT_PROCESS: Kind.PROCESS}


def at_most_one(options: int, among: int) -> bool:
    """Whether at most one of these option bits is set."""
    return (options & among).bit_count() <= 1


def check_open_options(options: int) -> None:
    """Raise Failed with MQRC_OPTIONS_ERROR for a combination that MQOPEN refuses (topic q103830)."""
    if (
        options & ~_KNOWN
        or not options & (_USES | _BIND)
        or not at_most_one(options, INPUT)
        or not at_most_one(options, _BIND)
        or not at_most_one(options, _READ_AHEAD)
        or (options & mq.MQOO_SAVE_ALL_CONTEXT and not options & INPUT)
        or (options & _PASS_OR_SET_CONTEXT and not options & mq.MQOO_OUTPUT)
        or (options & mq.MQOO_CO_OP and not options & mq.MQOO_BROWSE)
    ):
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    if options & _NOT_YET:
        raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)


def descriptor(raw: bytes) -> ObjectDescriptor:
    """Read an MQOD; raises Failed with MQRC_OD_ERROR, or for what is not supported yet."""
    try:
        od = ObjectDescriptor(raw)
    except StructureError as error:
        raise Failed(mq.MQRC_OD_ERROR) from error
    if od.recs_present or od.has_selection_string:
        raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)
    return od


def open_object(q_mgr: QueueManager, connection: Connection, od_raw: bytes, options: int) -> Answer:
    """MQOPEN (IBM MQ, topic "MQOPEN")."""
    od = descriptor(od_raw)
    check_open_options(options)
    q_mgr.fail_if_quiescing(options & mq.MQOO_FAIL_IF_QUIESCING)
    with q_mgr.lock:
        limit = q_mgr.catalogue.q_mgr_values[mq.MQIA_MAX_HANDLES]
        if isinstance(limit, int) and len(connection.handles) >= limit:
            raise Failed(mq.MQRC_HANDLE_NOT_AVAILABLE)
        if od.object_type == mq.MQOT_Q_MGR:
            handle = _open_q_mgr(q_mgr, od, options)
            answered = od.answered(od.object_name, "", q_mgr.name)
        elif od.object_type == mq.MQOT_Q:
            handle, queue = open_queue(q_mgr, od, options)
            answered = od.answered(handle.opened_name, queue.name, q_mgr.name)
        elif od.object_type in _TO_INQUIRE:
            handle = _open_to_inquire(q_mgr, od, options)
            answered = od.answered(od.object_name, "", q_mgr.name)
        elif od.object_type == mq.MQOT_TOPIC:
            raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)
        else:
            raise Failed(mq.MQRC_OBJECT_TYPE_ERROR)
        connection.handles[handle.hobj] = handle
    return mq.MQCC_OK, mq.MQRC_NONE, [handle.hobj, answered]


def _open_q_mgr(q_mgr: QueueManager, od: ObjectDescriptor, options: int) -> Handle:
    if options & (_USES & ~mq.MQOO_INQUIRE):
        raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    if od.object_name and od.object_name != q_mgr.name:
        raise Failed(mq.MQRC_OBJECT_NAME_ERROR)
    return Handle(q_mgr.new_handle_number(), options, object_type=mq.MQOT_Q_MGR)


def _open_to_inquire(q_mgr: QueueManager, od: ObjectDescriptor, options: int) -> Handle:
    """Open a namelist or a process, of which MQINQ is all that can be asked."""
    if options & (_USES & ~mq.MQOO_INQUIRE):
        raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    if od.object_q_mgr_name not in ("", q_mgr.name):
        # Unverified: the name must be this queue manager's or blank (MQOD), and another gets this reason.
        raise Failed(mq.MQRC_OBJECT_Q_MGR_NAME_ERROR)
    try:
        q_mgr.catalogue.objects.get(_TO_INQUIRE[od.object_type], od.object_name)
    except CatalogueError as error:
        raise Failed(error.reason) from error
    return Handle(q_mgr.new_handle_number(), options, opened_name=od.object_name, object_type=od.object_type)


def open_queue(q_mgr: QueueManager, od: ObjectDescriptor, options: int) -> tuple[Handle, Queue]:
    """Open a queue by the name in an MQOD; returns the handle, not yet in the connection, and the local queue."""
    if od.object_q_mgr_name not in ("", q_mgr.name):
        # There are no remote queue managers and no transmission queues here.
        raise Failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
    try:
        model = q_mgr.catalogue.get(od.object_name)
        if isinstance(model, Definition) and model.type == MODEL:
            unique = q_mgr.new_identifier()[16:].hex().upper()[-15:]
            queue = q_mgr.catalogue.create_dynamic(model, od.dynamic_q_name, unique)
            created, opened_name, values = True, queue.name, queue.values
        else:
            queue, named = q_mgr.catalogue.resolve(od.object_name)
            created, opened_name, values = False, od.object_name, named.values
    except CatalogueError as error:
        raise Failed(error.reason) from error
    exclusive = _claim_input(queue, options) if options & INPUT else False
    queue.open_count += 1
    if options & mq.MQOO_OUTPUT:
        queue.open_output_count += 1
    handle = Handle(
        q_mgr.new_handle_number(),
        options,
        queue,
        opened_name,
        values,
        exclusive=exclusive,
        creates_dynamic=created,
    )
    if options & mq.MQOO_CO_OP:
        queue.marks.join(handle)
    return handle, queue


def _claim_input(queue: Queue, options: int) -> bool:
    """Count one more input handle; returns whether it is exclusive. Raises Failed with MQRC_OBJECT_IN_USE.

    On a queue that is not shareable every input handle is exclusive (topic q041130).
    """
    wanted = options & INPUT
    if wanted == mq.MQOO_INPUT_AS_Q_DEF:
        wanted = queue.integer(mq.MQIA_DEF_INPUT_OPEN_OPTION)
    not_shareable = queue.values[mq.MQIA_SHAREABILITY] == mq.MQQA_NOT_SHAREABLE
    exclusive = wanted == mq.MQOO_INPUT_EXCLUSIVE or not_shareable
    if queue.exclusive_input or (exclusive and queue.open_input_count):
        raise Failed(mq.MQRC_OBJECT_IN_USE)
    queue.open_input_count += 1
    queue.exclusive_input = exclusive
    return exclusive


def close_object(q_mgr: QueueManager, connection: Connection, hobj: int, options: int) -> Answer:
    """MQCLOSE (IBM MQ, topic "MQCLOSE"). A group left unterminated in logical order is a warning (Tables 2 and 17)."""
    with q_mgr.lock:
        handle = connection.handle(hobj)
        if options & ~(_CLOSE_OPTIONS | mq.MQCO_QUIESCE) or not at_most_one(options, _CLOSE_OPTIONS):
            raise Failed(mq.MQRC_OPTIONS_ERROR)
        deletes = options & _CLOSE_OPTIONS
        if deletes:
            _check_deletion(handle, purge=bool(options & mq.MQCO_DELETE_PURGE))
        del connection.handles[hobj]
        q_mgr.release(handle)
        queue = handle.queue
        if deletes and queue is not None and not queue.deleted:
            q_mgr.catalogue.delete_dynamic(queue)
        reason = close_warning(handle.states[Direction.PUT])
        if handle.for_input and reason != mq.MQRC_INCOMPLETE_MSG:
            reason = close_warning(handle.states[Direction.GET]) or reason
    return mq.MQCC_WARNING if reason else mq.MQCC_OK, reason, []


def _check_deletion(handle: Handle, *, purge: bool) -> None:
    """Raise Failed unless this handle may delete its queue on closing."""
    queue = handle.queue
    if queue is None or queue.definition_type == mq.MQQDT_PREDEFINED:
        raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    if queue.deleted:
        return
    if queue.definition_type == mq.MQQDT_TEMPORARY_DYNAMIC:
        # With all that is on it, committed or not; other handles learn of it by MQRC_Q_DELETED.
        if not handle.creates_dynamic:
            raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    elif queue.uncommitted or (queue.depth and not purge):
        raise Failed(mq.MQRC_Q_NOT_EMPTY)

"""MQOPEN and MQCLOSE. ``pubsub/opening.py`` opens topics."""

from __future__ import annotations

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed
from mqembedded.calls.permission import check_deletion, check_dynamic, check_open, grant_created
from mqembedded.catalogue import MANAGED
from mqembedded.connection import Connection
from mqembedded.messages.handle import INPUT, Direction, Handle
from mqembedded.messages.logical_order import close_warning
from mqembedded.messages.queue import Queue
from mqembedded.messages.route import Route
from mqembedded.objects.attributes import MODEL
from mqembedded.objects.definition import Definition
from mqembedded.objects.kinds import Kind
from mqembedded.objects.others import CatalogueError
from mqembedded.queue_manager import QueueManager
from mqembedded.readings import ANOTHERS_TEMPORARY_QUEUE, BROWSING_EXCLUSIVE, OWN_INPUT_IS_NOT_IN_THE_WAY
from mqembedded.wire.object_descriptors import ObjectDescriptor
from mqembedded.wire.structures import StructureError

_BIND = mq.MQOO_BIND_ON_OPEN | mq.MQOO_BIND_NOT_FIXED | mq.MQOO_BIND_ON_GROUP
_READ_AHEAD = mq.MQOO_NO_READ_AHEAD | mq.MQOO_READ_AHEAD
USES = INPUT | mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE | mq.MQOO_SET
_PASS_OR_SET_CONTEXT = (
    mq.MQOO_PASS_IDENTITY_CONTEXT | mq.MQOO_PASS_ALL_CONTEXT | mq.MQOO_SET_IDENTITY_CONTEXT | mq.MQOO_SET_ALL_CONTEXT
)
_KNOWN = (
    USES
    | _BIND
    | _READ_AHEAD
    | _PASS_OR_SET_CONTEXT
    # AlternateUserId affects the authority to open, but not the context (IBM MQ, "AlternateUserId", "UserIdentifier").
    | mq.MQOO_ALTERNATE_USER_AUTHORITY
    | mq.MQOO_CO_OP
    | mq.MQOO_SAVE_ALL_CONTEXT
    | mq.MQOO_FAIL_IF_QUIESCING
    | mq.MQOO_RESOLVE_LOCAL_Q
    | mq.MQOO_NO_MULTICAST
)
_CLOSE_OPTIONS = mq.MQCO_DELETE | mq.MQCO_DELETE_PURGE
_CLOSE_SUB_OPTIONS = mq.MQCO_KEEP_SUB | mq.MQCO_REMOVE_SUB
_TO_INQUIRE = {mq.MQOT_NAMELIST: Kind.NAMELIST, mq.MQOT_PROCESS: Kind.PROCESS}


def at_most_one(options: int, among: int) -> bool:
    """Return whether ``options`` has at most one of the option bits in ``among``."""
    return (options & among).bit_count() <= 1


def check_open_options(options: int) -> None:
    """Raise Failed with MQRC_OPTIONS_ERROR for a combination that MQOPEN refuses (IBM MQ, "Rules for validating MQI options")."""
    if (
        options & ~_KNOWN
        or not options & (USES | _BIND)
        or not at_most_one(options, INPUT)
        or not at_most_one(options, _BIND)
        or not at_most_one(options, _READ_AHEAD)
        or (options & mq.MQOO_SAVE_ALL_CONTEXT and not options & INPUT)
        or (options & _PASS_OR_SET_CONTEXT and not options & mq.MQOO_OUTPUT)
        or (options & mq.MQOO_CO_OP and not options & mq.MQOO_BROWSE)
    ):
        raise Failed(mq.MQRC_OPTIONS_ERROR)


def descriptor(raw: bytes) -> ObjectDescriptor:
    """Read an MQOD. Raises Failed with MQRC_OD_ERROR, or with the reason code of an unsupported feature."""
    try:
        od = ObjectDescriptor(raw)
    except StructureError as error:
        raise Failed(mq.MQRC_OD_ERROR) from error
    if od.recs_present or od.has_selection_string:
        raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)
    return od


def open_object(q_mgr: QueueManager, connection: Connection, od_raw: bytes, options: int) -> Answer:
    """Carry out MQOPEN of any object except a topic (IBM MQ, "MQOPEN")."""
    return open_described(q_mgr, connection, descriptor(od_raw), options)


def open_described(q_mgr: QueueManager, connection: Connection, od: ObjectDescriptor, options: int) -> Answer:
    """Carry out MQOPEN with an MQOD that ``descriptor`` has read."""
    check_open_options(options)
    q_mgr.fail_if_quiescing(connection, options & mq.MQOO_FAIL_IF_QUIESCING)
    with q_mgr.lock:
        check_handles_left(q_mgr, connection)
        check_open(q_mgr, connection, od, options)
        if od.object_type == mq.MQOT_Q_MGR:
            handle = _open_q_mgr(q_mgr, od, options)
            answered = od.answered(od.object_name, "", q_mgr.name)
        elif od.object_type == mq.MQOT_Q:
            handle, queue = open_queue(q_mgr, connection, od, options)
            grant_created(q_mgr, connection, od, options, handle)
            answered = _answered_queue(q_mgr, od, handle, queue)
        elif od.object_type in _TO_INQUIRE:
            handle = _open_to_inquire(q_mgr, od, options)
            answered = od.answered(od.object_name, "", q_mgr.name)
        else:
            raise Failed(mq.MQRC_OBJECT_TYPE_ERROR)
        connection.handles[handle.hobj] = handle
    return mq.MQCC_OK, mq.MQRC_NONE, [handle.hobj, answered, b"", _put_response(connection, handle)]


def _put_response(connection: Connection, handle: Handle) -> int:
    """Return the handle's default put response (MQPRT_*), or 0 if its application cannot put asynchronously."""
    origin = connection.origin
    puts = handle.queue is not None and handle.options & mq.MQOO_OUTPUT
    return handle.default_put_response if puts and origin.is_client and not origin.is_reconnectable else 0


def check_handles_left(q_mgr: QueueManager, connection: Connection, wanted: int = 1) -> None:
    """Raise Failed with MQRC_HANDLE_NOT_AVAILABLE if the connection's limit (MAXHANDS) leaves fewer handles than ``wanted``."""
    limit = q_mgr.catalogue.q_mgr_values[mq.MQIA_MAX_HANDLES]
    assert isinstance(limit, int)
    if len(connection.handles) + wanted > limit:
        raise Failed(mq.MQRC_HANDLE_NOT_AVAILABLE)


def _open_q_mgr(q_mgr: QueueManager, od: ObjectDescriptor, options: int) -> Handle:
    if options & (USES & ~mq.MQOO_INQUIRE):
        raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    if od.object_name and od.object_name != q_mgr.name:
        raise Failed(mq.MQRC_OBJECT_NAME_ERROR)
    return Handle(q_mgr.new_handle_number(), options, object_type=mq.MQOT_Q_MGR)


def _open_to_inquire(q_mgr: QueueManager, od: ObjectDescriptor, options: int) -> Handle:
    """Open a namelist or a process. Only MQINQ can use the handle."""
    if options & (USES & ~mq.MQOO_INQUIRE):
        raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    if od.object_q_mgr_name not in ("", q_mgr.name):
        # The name must be blank or this queue manager's name (IBM MQ, "MQOD"). The reason code is unverified.
        raise Failed(mq.MQRC_OBJECT_Q_MGR_NAME_ERROR)
    try:
        q_mgr.catalogue.objects.get(_TO_INQUIRE[od.object_type], od.object_name)
    except CatalogueError as error:
        raise Failed(error.reason) from error
    return Handle(q_mgr.new_handle_number(), options, opened_name=od.object_name, object_type=od.object_type)


def _answered_queue(q_mgr: QueueManager, od: ObjectDescriptor, handle: Handle, queue: Queue) -> bytes:
    """Return the MQOD of an opened queue. ResolvedQMgrName is blank if no queue manager has been chosen yet."""
    if handle.route is None:
        return od.answered(handle.opened_name, queue.name, q_mgr.name)
    return od.answered(handle.opened_name, handle.route.queue_name, handle.route.fixed)


def open_queue(q_mgr: QueueManager, connection: Connection, od: ObjectDescriptor, options: int) -> tuple[Handle, Queue]:
    """Open the queue that an MQOD names. Return the handle (the caller stores it) and the queue whose open counts include it."""
    route = q_mgr.cluster.route(od.object_name, od.object_q_mgr_name, options)
    if route is not None:
        return _open_route(q_mgr, od, options, route), route.counted_on
    try:
        model = q_mgr.catalogue.get(od.object_name)
        if isinstance(model, Definition) and model.type == MODEL:
            unique = q_mgr.new_serial().hex().upper()[-15:]
            queue = q_mgr.catalogue.create_dynamic(model, od.dynamic_q_name, unique)
            check_dynamic(q_mgr, connection, od, options, queue)
            created, opened_name, values = True, queue.name, queue.values
        else:
            queue, named = q_mgr.catalogue.resolve(od.object_name)
            created, opened_name, values = False, od.object_name, named.values
    except CatalogueError as error:
        raise Failed(error.reason) from error
    _check_sharing(q_mgr, connection, queue, options, created=created)
    exclusive = _claim_input(q_mgr, connection, queue, options) if options & INPUT else False
    queue.open_count += 1
    if options & mq.MQOO_OUTPUT:
        queue.open_output_count += 1
    default_put_response = values[mq.MQIA_DEF_PUT_RESPONSE_TYPE]
    assert isinstance(default_put_response, int)
    handle = Handle(
        q_mgr.new_handle_number(),
        options,
        queue,
        opened_name,
        values,
        exclusive=exclusive,
        creates_dynamic=created,
        default_put_response=default_put_response,
    )
    if created:
        queue.created_by = handle.hobj
    if options & mq.MQOO_CO_OP:
        queue.marks.join(handle)
    return handle, queue


def _open_route(q_mgr: QueueManager, od: ObjectDescriptor, options: int, route: Route) -> Handle:
    route.counted_on.open_count += 1
    if options & mq.MQOO_OUTPUT:
        route.counted_on.open_output_count += 1
    default_put_response = route.values[mq.MQIA_DEF_PUT_RESPONSE_TYPE]
    assert isinstance(default_put_response, int)
    return Handle(
        q_mgr.new_handle_number(),
        options,
        route.counted_on,
        od.object_name,
        route.values,
        default_put_response=default_put_response,
        route=route,
    )


def _check_sharing(q_mgr: QueueManager, connection: Connection, queue: Queue, options: int, *, created: bool) -> None:
    """Raise Failed if the chosen reading of IBM's documentation (``readings.py``) forbids this MQOPEN."""
    if options & mq.MQOO_BROWSE and not options & INPUT and queue.exclusive_input_count:
        _refuse(q_mgr.readings[BROWSING_EXCLUSIVE])
    is_temporary = queue.definition_type == mq.MQQDT_TEMPORARY_DYNAMIC
    if is_temporary and not created and options & (INPUT | mq.MQOO_BROWSE):
        own = queue.created_by in connection.handles
        _refuse(mq.MQRC_NONE if own else q_mgr.readings[ANOTHERS_TEMPORARY_QUEUE])


def _refuse(reason: int) -> None:
    if reason:
        raise Failed(reason)


def _claim_input(q_mgr: QueueManager, connection: Connection, queue: Queue, options: int) -> bool:
    """Count a new input handle, and return whether it is exclusive. Raises Failed with MQRC_OBJECT_IN_USE.

    On a queue that is not shareable, every input handle is exclusive (reason code 2042).
    """
    wanted = options & INPUT
    if wanted == mq.MQOO_INPUT_AS_Q_DEF:
        wanted = queue.integer(mq.MQIA_DEF_INPUT_OPEN_OPTION)
    not_shareable = queue.values[mq.MQIA_SHAREABILITY] == mq.MQQA_NOT_SHAREABLE
    exclusive = wanted == mq.MQOO_INPUT_EXCLUSIVE or not_shareable
    in_the_way = queue.open_input_count
    if q_mgr.readings[OWN_INPUT_IS_NOT_IN_THE_WAY]:
        in_the_way -= sum(handle.queue is queue and handle.for_input for handle in connection.handles.values())
    if in_the_way and (exclusive or queue.exclusive_input_count):
        raise Failed(mq.MQRC_OBJECT_IN_USE)
    queue.open_input_count += 1
    queue.exclusive_input_count += exclusive
    return exclusive


def close_object(q_mgr: QueueManager, connection: Connection, hobj: int, options: int) -> Answer:
    """Carry out MQCLOSE (IBM MQ, "MQCLOSE"), with a warning if a group in logical order is unfinished (see ``close_warning``)."""
    with q_mgr.lock:
        handle = connection.handle(hobj)
        known = _CLOSE_OPTIONS | _CLOSE_SUB_OPTIONS
        if options & ~(known | mq.MQCO_QUIESCE) or not at_most_one(options, known):
            raise Failed(mq.MQRC_OPTIONS_ERROR)
        if options & _CLOSE_SUB_OPTIONS:
            if handle.subscription is None:
                raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
            handle.subscription.close(connection.user, options & _CLOSE_SUB_OPTIONS)
        deletes = options & _CLOSE_OPTIONS
        if deletes:
            _check_deletion(handle, purge=bool(options & mq.MQCO_DELETE_PURGE))
            check_deletion(q_mgr, connection, handle)
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
    """Raise Failed if an MQCLOSE of this handle is not allowed to delete the queue."""
    queue = handle.queue
    if queue is None or queue.definition_type == mq.MQQDT_PREDEFINED or queue.name.startswith(MANAGED):
        raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    if queue.deleted:
        return
    if queue.definition_type == mq.MQQDT_TEMPORARY_DYNAMIC:
        # The queue is deleted with all its messages, committed or not. Calls with other handles get MQRC_Q_DELETED.
        if not handle.creates_dynamic:
            raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    elif queue.uncommitted or (queue.held and not purge):
        raise Failed(mq.MQRC_Q_NOT_EMPTY)

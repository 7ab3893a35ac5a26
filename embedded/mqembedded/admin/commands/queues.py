"""Commands for queues: create, change, copy, delete, clear, inquire, inquire names, reset statistics.

Source: IBM MQ, "Change, Copy, and Create Queue", "Delete Queue", "Clear Queue", "Inquire Queue", "Inquire Queue Names", "Reset
Queue Statistics".
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from mqembedded import constants as mq
from mqembedded.admin import forcing, pcf
from mqembedded.admin.commands import clusters
from mqembedded.admin.commands.request import (
    Request,
    Row,
    Shape,
    check_generic,
    integer,
    integers,
    matches,
    not_known,
    row,
    settable,
    text,
)
from mqembedded.admin.pcf import PCFError
from mqembedded.calls.inquiring import object_values
from mqembedded.messages.queue import Queue
from mqembedded.objects.attributes import BY_SELECTOR, QUEUE_ATTRIBUTES, TYPE_NAMES, Value
from mqembedded.objects.definition import Definition
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

# The type of queues that other members of a cluster host. Commands cannot define them.
_OTHER_TYPES = frozenset({mq.MQQT_CLUSTER})
_ANY_TYPE = pcf.integer(mq.MQIA_Q_TYPE, mq.MQQT_ALL)
_SETTABLE = settable(QUEUE_ATTRIBUTES)
_COMPUTED = frozenset(
    {
        mq.MQCA_Q_NAME,
        mq.MQIA_Q_TYPE,
        mq.MQCA_CREATION_DATE,
        mq.MQCA_CREATION_TIME,
        mq.MQCA_ALTERATION_DATE,
        mq.MQCA_ALTERATION_TIME,
        mq.MQIA_CURRENT_Q_DEPTH,
        mq.MQIA_OPEN_INPUT_COUNT,
        mq.MQIA_OPEN_OUTPUT_COUNT,
        mq.MQIA_DEFINITION_TYPE,
    }
)
_FILTERABLE = _COMPUTED | BY_SELECTOR.keys()

CREATE = Shape(
    text(mq.MQCA_Q_NAME) + integer(mq.MQIA_Q_TYPE), (*integer(cf.MQIACF_REPLACE, cf.MQIACF_FORCE), *_SETTABLE)
)
CHANGE = Shape(text(mq.MQCA_Q_NAME) + integer(mq.MQIA_Q_TYPE), (*integer(cf.MQIACF_FORCE), *_SETTABLE))
COPY = Shape(
    text(cf.MQCACF_FROM_Q_NAME, cf.MQCACF_TO_Q_NAME) + integer(mq.MQIA_Q_TYPE),
    (*integer(cf.MQIACF_REPLACE), *_SETTABLE),
)
DELETE = Shape(text(mq.MQCA_Q_NAME), integer(mq.MQIA_Q_TYPE, cf.MQIACF_PURGE, cf.MQIACF_REMOVE_AUTHREC))
CLEAR = Shape(text(mq.MQCA_Q_NAME))
INQUIRE = Shape(text(mq.MQCA_Q_NAME), integer(mq.MQIA_Q_TYPE) + integers(cf.MQIACF_Q_ATTRS), filters=True)
NAMES = Shape(text(mq.MQCA_Q_NAME), integer(mq.MQIA_Q_TYPE))
RESET_STATS = Shape(text(mq.MQCA_Q_NAME))


def create(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CREATE_Q."""
    name, kind = request.text(mq.MQCA_Q_NAME, mq.MQ_Q_NAME_LENGTH), _type(request)
    q_mgr.catalogue.define(kind, name, _values(q_mgr, request, kind), replace=request.replaces())
    return []


def change(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CHANGE_Q."""
    name, kind = request.text(mq.MQCA_Q_NAME, mq.MQ_Q_NAME_LENGTH), _type(request)
    force = request.integer(cf.MQIACF_FORCE, (cf.MQFC_YES, cf.MQFC_NO), cf.MQFC_NO, cf.MQRCCF_FORCE_VALUE_ERROR)
    forcing.alter(q_mgr, kind, name, _values(q_mgr, request, kind), force=force == cf.MQFC_YES)
    return []


def copy(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_COPY_Q."""
    like = request.text(cf.MQCACF_FROM_Q_NAME, mq.MQ_Q_NAME_LENGTH)
    name, kind = request.text(cf.MQCACF_TO_Q_NAME, mq.MQ_Q_NAME_LENGTH), _type(request)
    q_mgr.catalogue.define(kind, name, _values(q_mgr, request, kind), like=like, replace=request.replaces())
    return []


def delete(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_DELETE_Q."""
    name = request.text(mq.MQCA_Q_NAME, mq.MQ_Q_NAME_LENGTH)
    kind = _type(request) if mq.MQIA_Q_TYPE in request.parameters else None
    allowed = (cf.MQPO_YES, cf.MQPO_NO)
    purge = request.integer(cf.MQIACF_PURGE, allowed, cf.MQPO_NO, cf.MQRCCF_PURGE_VALUE_ERROR)
    q_mgr.catalogue.delete(kind, name, purge=purge == cf.MQPO_YES)
    return []


def clear(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CLEAR_Q."""
    q_mgr.catalogue.clear(request.text(mq.MQCA_Q_NAME, mq.MQ_Q_NAME_LENGTH))
    return []


def inquire(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_Q. If there is a filter, the responses also have its attribute."""
    if request.parameters.get(mq.MQIA_Q_TYPE, _ANY_TYPE).value == mq.MQQT_CLUSTER:
        return clusters.inquire_queues(q_mgr, request)
    wanted = request.selectors(cf.MQIACF_Q_ATTRS)
    if wanted is not None and request.filter is not None:
        wanted |= {request.filter.identifier}
    rows = []
    for found in _chosen(q_mgr, request):
        values = object_values(found)
        hidden = {a.selector for a in QUEUE_ATTRIBUTES if q_mgr.catalogue.attribute(found.type, a) is None}
        values = {selector: value for selector, value in values.items() if selector not in hidden - _COMPUTED}
        if request.passes(values, _FILTERABLE):
            rows.append(row(_identity(found), values, wanted))
    if not rows:
        raise PCFError(mq.MQRC_UNKNOWN_OBJECT_NAME)
    return rows


def names(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_Q_NAMES, with a single response that has all names and types."""
    found = list(_chosen(q_mgr, request))
    return [
        [
            pcf.strings(cf.MQCACF_Q_NAMES, [queue.name for queue in found], mq.MQ_Q_NAME_LENGTH),
            pcf.integers(cf.MQIACF_Q_TYPES, [queue.type for queue in found]),
        ]
    ]


def reset_statistics(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_RESET_Q_STATS: return and reset the statistics that local queues have collected since the last reset."""
    generic = request.text(mq.MQCA_Q_NAME, mq.MQ_Q_NAME_LENGTH)
    check_generic(generic)
    rows = []
    for queue in q_mgr.catalogue.all():
        if not isinstance(queue, Queue) or not matches(queue.name, generic):
            continue
        now_s = time.monotonic()
        counts = {
            mq.MQIA_HIGH_Q_DEPTH: max(queue.highest_depth, queue.depth),
            mq.MQIA_MSG_ENQ_COUNT: queue.enqueued,
            mq.MQIA_MSG_DEQ_COUNT: queue.dequeued,
            mq.MQIA_TIME_SINCE_RESET: int(now_s - queue.statistics_since_s),
        }
        queue.enqueued = queue.dequeued = 0
        queue.highest_depth, queue.statistics_since_s = queue.depth, now_s
        rows.append(row([pcf.string(mq.MQCA_Q_NAME, queue.name, mq.MQ_Q_NAME_LENGTH)], counts, None))
    if not rows:
        raise PCFError(mq.MQRC_UNKNOWN_OBJECT_NAME)
    return rows


def _identity(queue: Queue | Definition) -> Row:
    return [
        pcf.string(mq.MQCA_Q_NAME, queue.name, mq.MQ_Q_NAME_LENGTH),
        pcf.integer(mq.MQIA_Q_TYPE, queue.type),
    ]


def _chosen(q_mgr: QueueManager, request: Request) -> Iterator[Queue | Definition]:
    generic = request.text(mq.MQCA_Q_NAME, mq.MQ_Q_NAME_LENGTH)
    check_generic(generic)
    allowed = {*TYPE_NAMES, *_OTHER_TYPES, mq.MQQT_ALL}
    kind = request.integer(mq.MQIA_Q_TYPE, allowed, mq.MQQT_ALL, cf.MQRCCF_Q_TYPE_ERROR)
    for found in q_mgr.catalogue.all():
        if matches(found.name, generic) and kind in (found.type, mq.MQQT_ALL):
            yield found


def _type(request: Request) -> int:
    allowed = {*TYPE_NAMES, *_OTHER_TYPES}
    kind = request.integer(mq.MQIA_Q_TYPE, allowed, reason=cf.MQRCCF_Q_TYPE_ERROR)
    if kind in _OTHER_TYPES:
        raise PCFError(mq.MQRC_FUNCTION_NOT_SUPPORTED, mq.MQIA_Q_TYPE)
    return kind


def _values(q_mgr: QueueManager, request: Request, kind: int) -> dict[int, Value]:
    """Return the attributes to set; raise PCFError for an attribute that queues of this type do not have."""
    values: dict[int, Value] = {}
    for identifier, parameter in request.parameters.items():
        attribute = BY_SELECTOR.get(identifier)
        if attribute is None:
            continue
        if q_mgr.catalogue.attribute(kind, attribute) is None:
            raise not_known(parameter)
        if isinstance(parameter.value, str):
            values[identifier] = request.text(identifier, attribute.length)
        else:
            assert isinstance(parameter.value, int)
            values[identifier] = parameter.value
    return values

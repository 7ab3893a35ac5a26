"""Commands for objects other than queues: namelists, processes, channels, authentication information.

Source: IBM MQ, "Change, Copy, and Create Namelist", the pages for channels, "Inquire Authentication Information Object". Only
MQSC can define processes. The only type of channels is SVRCONN. The only type of authentication information is IDPWOS.
"""

from __future__ import annotations

from collections.abc import Iterator

from mqembedded import constants as mq
from mqembedded.admin import pcf, stopping
from mqembedded.admin.commands.request import (
    Request,
    Row,
    Shape,
    carried,
    check_generic,
    integer,
    integers,
    matches,
    row,
    settable,
    text,
    texts,
)
from mqembedded.admin.pcf import PCFError
from mqembedded.objects.kinds import ATTRIBUTES, Kind
from mqembedded.objects.others import ObjectValues
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

_CHANNEL_TYPES = (cf.MQCHT_SVRCONN,)


_NAMELIST = settable(ATTRIBUTES[Kind.NAMELIST]) + texts(cf.MQCA_NAMES)
_CHANNEL = settable(ATTRIBUTES[Kind.CHANNEL])
_REPLACE = integer(cf.MQIACF_REPLACE)
_NAMELIST_SELECTORS = frozenset(
    {cf.MQCA_NAMELIST_NAME, cf.MQCA_NAMES, cf.MQIA_NAME_COUNT} | {a.selector for a in ATTRIBUTES[Kind.NAMELIST]}
)
_CHANNEL_SELECTORS = frozenset(
    {cf.MQCACH_CHANNEL_NAME, cf.MQIACH_CHANNEL_TYPE} | {a.selector for a in ATTRIBUTES[Kind.CHANNEL]}
)
_PROCESS_SELECTORS = frozenset({mq.MQCA_PROCESS_NAME} | {a.selector for a in ATTRIBUTES[Kind.PROCESS]})
_AUTH_INFO_SELECTORS = frozenset(
    {cf.MQCA_AUTH_INFO_NAME, cf.MQIA_AUTH_INFO_TYPE} | {a.selector for a in ATTRIBUTES[Kind.AUTH_INFO]}
)
_LENGTHS = {a.selector: a.length for attributes in ATTRIBUTES.values() for a in attributes if a.length} | {
    cf.MQCA_NAMES: mq.MQ_OBJECT_NAME_LENGTH
}

CREATE_NAMELIST = Shape(text(cf.MQCA_NAMELIST_NAME), _NAMELIST + _REPLACE)
CHANGE_NAMELIST = Shape(text(cf.MQCA_NAMELIST_NAME), _NAMELIST)
COPY_NAMELIST = Shape(text(cf.MQCACF_FROM_NAMELIST_NAME, cf.MQCACF_TO_NAMELIST_NAME), _NAMELIST + _REPLACE)
DELETE_NAMELIST = Shape(text(cf.MQCA_NAMELIST_NAME), integer(cf.MQIACF_REMOVE_AUTHREC))
INQUIRE_NAMELIST = Shape(text(cf.MQCA_NAMELIST_NAME), integers(cf.MQIACF_NAMELIST_ATTRS), filters=True)
INQUIRE_PROCESS = Shape(text(mq.MQCA_PROCESS_NAME), integers(cf.MQIACF_PROCESS_ATTRS), filters=True)
NAMELIST_NAMES = Shape(text(cf.MQCA_NAMELIST_NAME))

CREATE_CHANNEL = Shape(text(cf.MQCACH_CHANNEL_NAME) + integer(cf.MQIACH_CHANNEL_TYPE), _CHANNEL + _REPLACE)
CHANGE_CHANNEL = Shape(text(cf.MQCACH_CHANNEL_NAME) + integer(cf.MQIACH_CHANNEL_TYPE), _CHANNEL)
COPY_CHANNEL = Shape(
    text(cf.MQCACF_FROM_CHANNEL_NAME, cf.MQCACF_TO_CHANNEL_NAME) + integer(cf.MQIACH_CHANNEL_TYPE), _CHANNEL + _REPLACE
)
DELETE_CHANNEL = Shape(text(cf.MQCACH_CHANNEL_NAME), integer(cf.MQIACH_CHANNEL_TYPE))
INQUIRE_CHANNEL = Shape(
    text(cf.MQCACH_CHANNEL_NAME), integer(cf.MQIACH_CHANNEL_TYPE) + integers(cf.MQIACF_CHANNEL_ATTRS), filters=True
)
STOP_CHANNEL = Shape(
    text(cf.MQCACH_CHANNEL_NAME),
    integer(cf.MQIACH_CHANNEL_STATUS, cf.MQIACF_MODE) + text(cf.MQCACH_CONNECTION_NAME),
)
START_CHANNEL = Shape(text(cf.MQCACH_CHANNEL_NAME))
CHANNEL_NAMES = Shape(text(cf.MQCACH_CHANNEL_NAME), integer(cf.MQIACH_CHANNEL_TYPE))
INQUIRE_AUTH_INFO = Shape(
    text(cf.MQCA_AUTH_INFO_NAME),
    integer(cf.MQIA_AUTH_INFO_TYPE) + integers(cf.MQIACF_AUTH_INFO_ATTRS),
    filters=True,
)


# --- namelists


def create_namelist(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CREATE_NAMELIST."""
    values = _attributes(request, cf.MQCA_NAMELIST_NAME)
    name = request.text(cf.MQCA_NAMELIST_NAME, mq.MQ_OBJECT_NAME_LENGTH)
    q_mgr.catalogue.objects.define(Kind.NAMELIST, name, values, replace=request.replaces())
    return []


def change_namelist(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CHANGE_NAMELIST."""
    values = _attributes(request, cf.MQCA_NAMELIST_NAME)
    q_mgr.catalogue.objects.alter(Kind.NAMELIST, request.text(cf.MQCA_NAMELIST_NAME, mq.MQ_OBJECT_NAME_LENGTH), values)
    return []


def copy_namelist(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_COPY_NAMELIST."""
    values = _attributes(request, cf.MQCACF_FROM_NAMELIST_NAME, cf.MQCACF_TO_NAMELIST_NAME)
    like = request.text(cf.MQCACF_FROM_NAMELIST_NAME, mq.MQ_OBJECT_NAME_LENGTH)
    name = request.text(cf.MQCACF_TO_NAMELIST_NAME, mq.MQ_OBJECT_NAME_LENGTH)
    q_mgr.catalogue.objects.define(Kind.NAMELIST, name, values, like=like, replace=request.replaces())
    return []


def delete_namelist(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_DELETE_NAMELIST."""
    name = request.text(cf.MQCA_NAMELIST_NAME, mq.MQ_OBJECT_NAME_LENGTH)
    q_mgr.catalogue.objects.delete(Kind.NAMELIST, name)
    return []


def inquire_namelist(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_NAMELIST."""
    rows = []
    for name, found in _chosen(q_mgr, request, Kind.NAMELIST, cf.MQCA_NAMELIST_NAME):
        names = found[cf.MQCA_NAMES]
        assert isinstance(names, list)
        values = {**found, cf.MQCA_NAMELIST_NAME: name, cf.MQIA_NAME_COUNT: len(names)}
        always = [pcf.string(cf.MQCA_NAMELIST_NAME, name, mq.MQ_OBJECT_NAME_LENGTH)]
        rows += _rows(request, always, values, cf.MQIACF_NAMELIST_ATTRS, _NAMELIST_SELECTORS)
    return _found(rows)


def namelist_names(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_NAMELIST_NAMES."""
    names = [name for name, _ in _chosen(q_mgr, request, Kind.NAMELIST, cf.MQCA_NAMELIST_NAME)]
    return [[pcf.strings(cf.MQCACF_NAMELIST_NAMES, names, mq.MQ_OBJECT_NAME_LENGTH)]]


def inquire_process(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_PROCESS."""
    rows = []
    for name, found in _chosen(q_mgr, request, Kind.PROCESS, mq.MQCA_PROCESS_NAME):
        always = [pcf.string(mq.MQCA_PROCESS_NAME, name, mq.MQ_PROCESS_NAME_LENGTH)]
        values = {**found, mq.MQCA_PROCESS_NAME: name}
        rows += _rows(request, always, values, cf.MQIACF_PROCESS_ATTRS, _PROCESS_SELECTORS)
    return _found(rows)


# --- channels


def create_channel(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CREATE_CHANNEL."""
    name = _channel(request, cf.MQCACH_CHANNEL_NAME)
    values = _attributes(request, cf.MQCACH_CHANNEL_NAME, cf.MQIACH_CHANNEL_TYPE)
    q_mgr.catalogue.objects.define(Kind.CHANNEL, name, values, replace=request.replaces())
    return []


def change_channel(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CHANGE_CHANNEL."""
    name = _channel(request, cf.MQCACH_CHANNEL_NAME)
    values = _attributes(request, cf.MQCACH_CHANNEL_NAME, cf.MQIACH_CHANNEL_TYPE)
    q_mgr.catalogue.objects.alter(Kind.CHANNEL, name, values)
    return []


def copy_channel(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_COPY_CHANNEL."""
    like = _channel(request, cf.MQCACF_FROM_CHANNEL_NAME)
    name = request.text(cf.MQCACF_TO_CHANNEL_NAME, mq.MQ_CHANNEL_NAME_LENGTH)
    values = _attributes(request, cf.MQCACF_FROM_CHANNEL_NAME, cf.MQCACF_TO_CHANNEL_NAME, cf.MQIACH_CHANNEL_TYPE)
    q_mgr.catalogue.objects.define(Kind.CHANNEL, name, values, like=like, replace=request.replaces())
    return []


def delete_channel(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_DELETE_CHANNEL."""
    q_mgr.catalogue.objects.delete(Kind.CHANNEL, _channel(request, cf.MQCACH_CHANNEL_NAME))
    return []


def stop_channel(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_STOP_CHANNEL."""
    name = request.text(cf.MQCACH_CHANNEL_NAME, mq.MQ_CHANNEL_NAME_LENGTH)
    mode = request.integer(cf.MQIACF_MODE, stopping.MODES.values(), cf.MQMODE_QUIESCE, cf.MQRCCF_MODE_VALUE_ERROR)
    status = None
    if cf.MQIACH_CHANNEL_STATUS in request.parameters:
        status = request.integer(cf.MQIACH_CHANNEL_STATUS, stopping.STATUSES.values())
    conn_name = request.text(cf.MQCACH_CONNECTION_NAME, mq.MQ_CONN_NAME_LENGTH)
    stopping.stop_channel(q_mgr, name, mode, status, conn_name)
    return []


def start_channel(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_START_CHANNEL."""
    stopping.start_channel(q_mgr, request.text(cf.MQCACH_CHANNEL_NAME, mq.MQ_CHANNEL_NAME_LENGTH))
    return []


def inquire_channel(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_CHANNEL."""
    _channel_type(request, cf.MQCHT_ALL)
    rows = []
    for name, found in _chosen(q_mgr, request, Kind.CHANNEL, cf.MQCACH_CHANNEL_NAME):
        shown = carried(ATTRIBUTES[Kind.CHANNEL], found)
        values = {**shown, cf.MQCACH_CHANNEL_NAME: name, cf.MQIACH_CHANNEL_TYPE: cf.MQCHT_SVRCONN}
        always = [
            pcf.string(cf.MQCACH_CHANNEL_NAME, name, mq.MQ_CHANNEL_NAME_LENGTH),
            pcf.integer(cf.MQIACH_CHANNEL_TYPE, cf.MQCHT_SVRCONN),
        ]
        rows += _rows(request, always, values, cf.MQIACF_CHANNEL_ATTRS, _CHANNEL_SELECTORS)
    if not rows and not request.text(cf.MQCACH_CHANNEL_NAME, mq.MQ_CHANNEL_NAME_LENGTH).endswith("*"):
        raise PCFError(cf.MQRCCF_CHANNEL_NOT_FOUND)
    return _found(rows)


def channel_names(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_CHANNEL_NAMES."""
    _channel_type(request, cf.MQCHT_ALL)
    names = [name for name, _ in _chosen(q_mgr, request, Kind.CHANNEL, cf.MQCACH_CHANNEL_NAME)]
    return [
        [
            pcf.strings(cf.MQCACH_CHANNEL_NAMES, names, mq.MQ_CHANNEL_NAME_LENGTH),
            pcf.integers(cf.MQIACH_CHANNEL_TYPES, [cf.MQCHT_SVRCONN] * len(names)),
        ]
    ]


# --- authentication information


def inquire_auth_info(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_AUTH_INFO."""
    types = (cf.MQAIT_IDPW_OS, cf.MQAIT_ALL)
    request.integer(cf.MQIA_AUTH_INFO_TYPE, types, cf.MQAIT_ALL)
    rows = []
    for name, found in _chosen(q_mgr, request, Kind.AUTH_INFO, cf.MQCA_AUTH_INFO_NAME):
        values = {**found, cf.MQCA_AUTH_INFO_NAME: name, cf.MQIA_AUTH_INFO_TYPE: cf.MQAIT_IDPW_OS}
        always = [
            pcf.string(cf.MQCA_AUTH_INFO_NAME, name, cf.MQ_AUTH_INFO_NAME_LENGTH),
            pcf.integer(cf.MQIA_AUTH_INFO_TYPE, cf.MQAIT_IDPW_OS),
        ]
        rows += _rows(request, always, values, cf.MQIACF_AUTH_INFO_ATTRS, _AUTH_INFO_SELECTORS)
    return _found(rows)


def _attributes(request: Request, *names: int) -> ObjectValues:
    return request.values(*names, cf.MQIACF_REPLACE)


def _channel(request: Request, identifier: int) -> str:
    _channel_type(request)
    return request.text(identifier, mq.MQ_CHANNEL_NAME_LENGTH)


def _channel_type(request: Request, *more: int) -> None:
    request.integer(cf.MQIACH_CHANNEL_TYPE, _CHANNEL_TYPES + more, reason=cf.MQRCCF_CHANNEL_TYPE_ERROR)


def _chosen(q_mgr: QueueManager, request: Request, kind: Kind, identifier: int) -> Iterator[tuple[str, ObjectValues]]:
    """Yield name and attributes of each object that matches the name in the request. That name can be generic."""
    generic = request.text(identifier, mq.MQ_OBJECT_NAME_LENGTH)
    check_generic(generic)
    for name, found in sorted(q_mgr.catalogue.objects.of(kind).items()):
        if matches(name, generic):
            yield name, found


def _rows(request: Request, always: Row, values: ObjectValues, attributes: int, known: frozenset[int]) -> list[Row]:
    wanted = request.selectors(attributes)
    if wanted is not None and request.filter is not None:
        wanted |= {request.filter.identifier}
    return [row(always, values, wanted, _LENGTHS)] if request.passes(values, known) else []


def _found(rows: list[Row]) -> list[Row]:
    if not rows:
        raise PCFError(mq.MQRC_UNKNOWN_OBJECT_NAME)
    return rows

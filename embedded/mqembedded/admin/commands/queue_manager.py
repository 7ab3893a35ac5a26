"""Commands for the queue manager itself.

Source: IBM MQ, "Ping Queue Manager", "Inquire Queue Manager", "Change Queue Manager", "Inquire Queue Manager Status".
"""

from __future__ import annotations

import time

from mqembedded import constants as mq
from mqembedded.admin import pcf
from mqembedded.admin.commands.request import Request, Row, Shape, carried, integer, integers, row, settable
from mqembedded.calls.inquiring import q_mgr_values
from mqembedded.objects.attributes import Value
from mqembedded.objects.kinds import Q_MGR_ATTRIBUTES
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

_LENGTHS = {attribute.selector: attribute.length for attribute in Q_MGR_ATTRIBUTES}

PING = Shape()
INQUIRE = Shape((), integers(cf.MQIACF_Q_MGR_ATTRS))
CHANGE = Shape((), integer(cf.MQIACF_FORCE) + settable(Q_MGR_ATTRIBUTES))
STATUS = Shape((), integers(cf.MQIACF_Q_MGR_STATUS_ATTRS))


def ping(_q_mgr: QueueManager, _request: Request) -> list[Row]:
    """Carry out MQCMD_PING_Q_MGR: return an empty response, which shows that the queue manager answers."""
    return []


def inquire(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_Q_MGR."""
    wanted = request.selectors(cf.MQIACF_Q_MGR_ATTRS)
    return [row(_identity(q_mgr), carried(Q_MGR_ATTRIBUTES, q_mgr_values(q_mgr)), wanted, _LENGTHS)]


def change(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CHANGE_Q_MGR."""
    values: dict[int, Value] = {}
    for attribute in Q_MGR_ATTRIBUTES:
        parameter = request.parameters.get(attribute.selector)
        if parameter is not None:
            if isinstance(parameter.value, tuple):
                values[attribute.selector] = attribute.words(parameter.value)
                continue
            assert isinstance(parameter.value, int | str)
            values[attribute.selector] = parameter.value
            if attribute.length:
                request.text(attribute.selector, attribute.length)
    q_mgr.catalogue.alter_q_mgr(values)
    return []


def status(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_Q_MGR_STATUS."""
    wanted = request.selectors(cf.MQIACF_Q_MGR_STATUS_ATTRS)
    values = {
        cf.MQIACF_Q_MGR_STATUS: cf.MQQMSTA_QUIESCING if q_mgr.quiescing else cf.MQQMSTA_RUNNING,
        cf.MQIACF_CMD_SERVER_STATUS: cf.MQSVC_STATUS_RUNNING,
        cf.MQIACF_CONNECTION_COUNT: len(q_mgr.connections),
        cf.MQCACF_Q_MGR_START_DATE: time.strftime("%Y-%m-%d", q_mgr.started),
        cf.MQCACF_Q_MGR_START_TIME: time.strftime("%H.%M.%S", q_mgr.started),
    }
    return [row(_identity(q_mgr), values, wanted)]


def _identity(q_mgr: QueueManager) -> Row:
    return [pcf.string(mq.MQCA_Q_MGR_NAME, q_mgr.name, mq.MQ_Q_MGR_NAME_LENGTH)]

"""Commands that inquire the queues and the queue managers of the cluster.

Source: IBM MQ, "Inquire Queue" (QType MQQT_CLUSTER), "Inquire Cluster Queue Manager", "DISPLAY QUEUE", "DISPLAY CLUSQMGR". In an
embedded cluster, every member is a full repository.
"""

from __future__ import annotations

from mqembedded import constants as mq
from mqembedded.admin import pcf
from mqembedded.admin.commands.request import Request, Row, Shape, check_generic, integers, matches, row, text
from mqembedded.admin.pcf import PCFError
from mqembedded.objects.attributes import ALIAS, LOCAL, REMOTE
from mqembedded.objects.instances import ADVERTISED
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

_CLUSTER_QUEUE_TYPES = {LOCAL: cf.MQCQT_LOCAL_Q, ALIAS: cf.MQCQT_ALIAS_Q, REMOTE: cf.MQCQT_REMOTE_Q}
_OF_QUEUES = frozenset({mq.MQCA_CLUSTER_Q_MGR_NAME, mq.MQCA_Q_MGR_IDENTIFIER, mq.MQIA_CLUSTER_Q_TYPE, *ADVERTISED})
_OF_QUEUE_MANAGERS = frozenset(
    {
        cf.MQCACH_CHANNEL_NAME,
        mq.MQCA_CLUSTER_NAME,
        mq.MQCA_Q_MGR_IDENTIFIER,
        cf.MQIACF_Q_MGR_TYPE,
        cf.MQIACF_Q_MGR_DEFINITION_TYPE,
        cf.MQIACH_CHANNEL_STATUS,
        cf.MQCACH_CONNECTION_NAME,
        cf.MQCACH_XMIT_Q_NAME,
    }
)
_CONNECTION_NAME_LENGTH = 264
_LENGTHS = {
    mq.MQCA_Q_DESC: mq.MQ_Q_DESC_LENGTH,
    mq.MQCA_CLUSTER_NAME: mq.MQ_CLUSTER_NAME_LENGTH,
    mq.MQCA_CLUSTER_Q_MGR_NAME: mq.MQ_Q_MGR_NAME_LENGTH,
    mq.MQCA_Q_MGR_IDENTIFIER: mq.MQ_Q_MGR_IDENTIFIER_LENGTH,
    cf.MQCACH_CHANNEL_NAME: mq.MQ_CHANNEL_NAME_LENGTH,
    cf.MQCACH_CONNECTION_NAME: _CONNECTION_NAME_LENGTH,
    cf.MQCACH_XMIT_Q_NAME: mq.MQ_Q_NAME_LENGTH,
}

INQUIRE = Shape(text(mq.MQCA_CLUSTER_Q_MGR_NAME), integers(cf.MQIACF_CLUSTER_Q_MGR_ATTRS), filters=True)


def inquire_queues(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_Q of type MQQT_CLUSTER, with a response for each instance of a cluster queue."""
    generic = request.text(mq.MQCA_Q_NAME, mq.MQ_Q_NAME_LENGTH)
    check_generic(generic)
    wanted = request.selectors(cf.MQIACF_Q_ATTRS)
    rows = []
    members = [each.member for each in q_mgr.cluster.members()]
    hosted = [(instance, member) for member in members for instance in member.instances]
    for instance, member in sorted(hosted, key=lambda each: (each[0].queue_name, each[0].q_mgr_name)):
        values = {
            **instance.values,
            mq.MQCA_CLUSTER_Q_MGR_NAME: member.q_mgr_name,
            mq.MQCA_Q_MGR_IDENTIFIER: member.identifier,
            mq.MQIA_CLUSTER_Q_TYPE: _CLUSTER_QUEUE_TYPES[instance.type],
        }
        if matches(instance.queue_name, generic) and request.passes(values, _OF_QUEUES):
            identity = [
                pcf.string(mq.MQCA_Q_NAME, instance.queue_name, mq.MQ_Q_NAME_LENGTH),
                pcf.integer(mq.MQIA_Q_TYPE, mq.MQQT_CLUSTER),
            ]
            rows.append(row(identity, values, wanted, _LENGTHS))
    if not rows:
        raise PCFError(mq.MQRC_UNKNOWN_OBJECT_NAME)
    return rows


def inquire_queue_managers(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_CLUSTER_Q_MGR. Each member's response has the status of the channel to the member."""
    generic = request.text(mq.MQCA_CLUSTER_Q_MGR_NAME, mq.MQ_Q_MGR_NAME_LENGTH)
    check_generic(generic)
    wanted = request.selectors(cf.MQIACF_CLUSTER_Q_MGR_ATTRS)
    rows = []
    for each in q_mgr.cluster.members():
        member = each.member
        values: dict[int, object] = {
            cf.MQCACH_CHANNEL_NAME: each.channel_name,
            mq.MQCA_CLUSTER_NAME: each.cluster_name,
            mq.MQCA_Q_MGR_IDENTIFIER: member.identifier,
            cf.MQIACF_Q_MGR_TYPE: cf.MQQMT_REPOSITORY,
            cf.MQIACF_Q_MGR_DEFINITION_TYPE: (
                cf.MQQMDT_CLUSTER_RECEIVER if each.is_local else cf.MQQMDT_AUTO_CLUSTER_SENDER
            ),
            cf.MQIACH_CHANNEL_STATUS: each.channel_status,
            cf.MQCACH_CONNECTION_NAME: f"{member.host}({member.port})",
            cf.MQCACH_XMIT_Q_NAME: each.transmission_queue,
        }
        if matches(member.q_mgr_name, generic) and request.passes(values, _OF_QUEUE_MANAGERS):
            identity = [pcf.string(mq.MQCA_CLUSTER_Q_MGR_NAME, member.q_mgr_name, mq.MQ_Q_MGR_NAME_LENGTH)]
            rows.append(row(identity, values, wanted, _LENGTHS))
    if not rows:
        raise PCFError(mq.MQRC_UNKNOWN_OBJECT_NAME)
    return rows

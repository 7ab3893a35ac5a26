"""The PCF commands by number, each with the parameters that it takes and the function that carries it out.

The function takes the queue manager and a request. It returns the parameters of each response, or raises ``PCFError`` or
``CatalogueError``. ``admin/command_server.py`` calls the functions while it holds the queue manager's lock.

    request.py          parameters, generic names, filters, responses
    queues.py           create, change, copy, delete, clear, inquire, statistics of queues
    status.py           the status of queues, handles, connections and channels
    objects.py          namelists, processes, channels, authentication information
    topics.py           topic objects, the status of topics, retained publications
    subscriptions.py    subscriptions and their status
    clusters.py         cluster queues and the queue managers of the cluster
    queue_manager.py    the queue manager itself
    escape.py           MQSC commands in PCF; display.py has the DISPLAY commands
    authority.py        authority records; permission.py has the authorities that commands need
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqembedded.admin.commands import (
    authority,
    clusters,
    escape,
    objects,
    queue_manager,
    queues,
    status,
    subscriptions,
    topics,
)
from mqembedded.admin.commands.request import Request, Row, Shape
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

Command = tuple[Shape, Callable[[QueueManager, Request], list[Row]]]

COMMANDS: Mapping[int, Command] = {
    cf.MQCMD_PING_Q_MGR: (queue_manager.PING, queue_manager.ping),
    cf.MQCMD_INQUIRE_Q_MGR: (queue_manager.INQUIRE, queue_manager.inquire),
    cf.MQCMD_CHANGE_Q_MGR: (queue_manager.CHANGE, queue_manager.change),
    cf.MQCMD_INQUIRE_Q_MGR_STATUS: (queue_manager.STATUS, queue_manager.status),
    cf.MQCMD_ESCAPE: (escape.ESCAPE, escape.escape),
    cf.MQCMD_CREATE_Q: (queues.CREATE, queues.create),
    cf.MQCMD_CHANGE_Q: (queues.CHANGE, queues.change),
    cf.MQCMD_COPY_Q: (queues.COPY, queues.copy),
    cf.MQCMD_DELETE_Q: (queues.DELETE, queues.delete),
    cf.MQCMD_CLEAR_Q: (queues.CLEAR, queues.clear),
    cf.MQCMD_INQUIRE_Q: (queues.INQUIRE, queues.inquire),
    cf.MQCMD_INQUIRE_Q_NAMES: (queues.NAMES, queues.names),
    cf.MQCMD_RESET_Q_STATS: (queues.RESET_STATS, queues.reset_statistics),
    cf.MQCMD_INQUIRE_Q_STATUS: (status.QUEUE_STATUS, status.queue_status),
    cf.MQCMD_INQUIRE_CLUSTER_Q_MGR: (clusters.INQUIRE, clusters.inquire_queue_managers),
    cf.MQCMD_INQUIRE_CONNECTION: (status.CONNECTION, status.connection),
    cf.MQCMD_STOP_CONNECTION: (status.STOP_CONNECTION, status.stop_connection),
    cf.MQCMD_INQUIRE_CHANNEL_STATUS: (status.CHANNEL_STATUS, status.channel_status),
    cf.MQCMD_CREATE_NAMELIST: (objects.CREATE_NAMELIST, objects.create_namelist),
    cf.MQCMD_CHANGE_NAMELIST: (objects.CHANGE_NAMELIST, objects.change_namelist),
    cf.MQCMD_COPY_NAMELIST: (objects.COPY_NAMELIST, objects.copy_namelist),
    cf.MQCMD_DELETE_NAMELIST: (objects.DELETE_NAMELIST, objects.delete_namelist),
    cf.MQCMD_INQUIRE_NAMELIST: (objects.INQUIRE_NAMELIST, objects.inquire_namelist),
    cf.MQCMD_INQUIRE_NAMELIST_NAMES: (objects.NAMELIST_NAMES, objects.namelist_names),
    cf.MQCMD_INQUIRE_PROCESS: (objects.INQUIRE_PROCESS, objects.inquire_process),
    cf.MQCMD_CREATE_CHANNEL: (objects.CREATE_CHANNEL, objects.create_channel),
    cf.MQCMD_CHANGE_CHANNEL: (objects.CHANGE_CHANNEL, objects.change_channel),
    cf.MQCMD_COPY_CHANNEL: (objects.COPY_CHANNEL, objects.copy_channel),
    cf.MQCMD_DELETE_CHANNEL: (objects.DELETE_CHANNEL, objects.delete_channel),
    cf.MQCMD_STOP_CHANNEL: (objects.STOP_CHANNEL, objects.stop_channel),
    cf.MQCMD_START_CHANNEL: (objects.START_CHANNEL, objects.start_channel),
    cf.MQCMD_INQUIRE_CHANNEL: (objects.INQUIRE_CHANNEL, objects.inquire_channel),
    cf.MQCMD_INQUIRE_CHANNEL_NAMES: (objects.CHANNEL_NAMES, objects.channel_names),
    cf.MQCMD_INQUIRE_AUTH_INFO: (objects.INQUIRE_AUTH_INFO, objects.inquire_auth_info),
    cf.MQCMD_CREATE_TOPIC: (topics.CREATE, topics.create),
    cf.MQCMD_CHANGE_TOPIC: (topics.CHANGE, topics.change),
    cf.MQCMD_COPY_TOPIC: (topics.COPY, topics.copy),
    cf.MQCMD_DELETE_TOPIC: (topics.DELETE, topics.delete),
    cf.MQCMD_INQUIRE_TOPIC: (topics.INQUIRE, topics.inquire),
    cf.MQCMD_INQUIRE_TOPIC_NAMES: (topics.NAMES, topics.names),
    cf.MQCMD_INQUIRE_TOPIC_STATUS: (topics.STATUS, topics.status),
    cf.MQCMD_CLEAR_TOPIC_STRING: (topics.CLEAR, topics.clear),
    cf.MQCMD_CREATE_SUBSCRIPTION: (subscriptions.CREATE, subscriptions.create),
    cf.MQCMD_CHANGE_SUBSCRIPTION: (subscriptions.CHANGE, subscriptions.change),
    cf.MQCMD_DELETE_SUBSCRIPTION: (subscriptions.DELETE, subscriptions.delete),
    cf.MQCMD_INQUIRE_SUBSCRIPTION: (subscriptions.INQUIRE, subscriptions.inquire),
    cf.MQCMD_INQUIRE_SUB_STATUS: (subscriptions.STATUS, subscriptions.status),
    cf.MQCMD_SET_AUTH_REC: (authority.SET_AUTH_REC, authority.set_auth_rec),
    cf.MQCMD_SET_CHLAUTH_REC: (authority.SET_CHLAUTH_REC, authority.set_chlauth_rec),
    cf.MQCMD_DELETE_AUTH_REC: (authority.DELETE_AUTH_REC, authority.delete_auth_rec),
    cf.MQCMD_INQUIRE_AUTH_RECS: (authority.INQUIRE_AUTH_RECS, authority.inquire_auth_recs),
}

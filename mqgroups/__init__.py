"""IBM MQ message groups across units of work: put, got, and resumed after whatever died.

    import mqgroups

    with mqgroups.connect("QM1", "DEV.APP.SVRCONN", "localhost(1414)", user="app", password=pw) as qmgr:
        with qmgr.group_producer("ORDERS", name="ORDERS.LOADER", commit_every=100) as producer:
            with producer.group() as group:                 # the interrupted group, if there is one
                for row in rows[group.resume_from:]:        # 0 on a fresh start, 1200 after a crash
                    group.put(row)                          # every 100 messages: status record + commit
        with qmgr.group_consumer("ORDERS", name="ORDERS.SINK", commit_every=100) as consumer:
            for group in consumer:                          # resumes mid-group by itself
                for message in group:
                    handle(message.data, message.msg_seq_number)

The whole, from the application down; each imports only what is below it:

     queue_manager.py   connect, wrap: a connection, and what it is asked for
     pipe.py            a consumer and a producer in the same units of work       batch/  groups put by many short-lived attempts
     put/   puts a group                get/   gets a group
     operate/           what operators ask, and repair
     config.py          settings, checked
     status/            messages + status record + MQCMIT, or MQBACK, and what is true afterwards
     connection/        the verbs; completion and reason codes become results or errors (errors.py) here; connects again
     telemetry/         spans, metrics, log fields
     mqi/               structures, constants, and the C layer of pymqi or ibmmq
     core/              decides: how the next message is put or got, when a unit of work ends, what a status record means.
                        Values in, values out; it calls nobody.
     ═══════════════    C MQI: IBM MQ, or the embedded queue manager (embedded/) for development and tests

One status record, in the same unit of work as the messages it speaks of, tells what is committed. Nothing else is believed after
a crash, or after a commit without an answer. The record is on the status queue while its owner works, and while a group is
interrupted; otherwise the status queue is empty.

Operators' functions are in ``mqgroups.operate``, and all errors in ``mqgroups.errors``.
"""

from __future__ import annotations

import sys

from mqgroups import errors, operate
from mqgroups.core.model import GroupStatus, MsgFlag, Persistence
from mqgroups.core.status import Checkpoint
from mqgroups.core.unit_of_work import Every
from mqgroups.errors import MQGroupsError
from mqgroups.get.consumer import GroupConsumer
from mqgroups.get.group import IncomingGroup
from mqgroups.mqi.message import Message
from mqgroups.mqi.secret import Secret
from mqgroups.pipe import GroupPipe, PipedGroup
from mqgroups.put.group import OutgoingGroup
from mqgroups.put.producer import GroupProducer
from mqgroups.queue_manager import QueueManager, connect, wrap
from mqgroups.status.hooks import InDoubt, Resumed

__all__ = [
    "Checkpoint",
    "Every",
    "GroupConsumer",
    "GroupPipe",
    "GroupProducer",
    "GroupStatus",
    "InDoubt",
    "IncomingGroup",
    "MQGroupsError",
    "Message",
    "MsgFlag",
    "OutgoingGroup",
    "Persistence",
    "PipedGroup",
    "QueueManager",
    "Resumed",
    "Secret",
    "connect",
    "errors",
    "operate",
    "wrap",
]

# Tracebacks, help() and pickles name a class or a function by the module that an application imports it from. Where it is written
# may change. ``errors.py`` is such a module itself.
for _room in (sys.modules[__name__], operate):
    for _name in _room.__all__:
        _public = getattr(_room, _name)
        _written_in = getattr(_public, "__module__", "")
        if _written_in.startswith("mqgroups.") and _written_in != errors.__name__:
            _public.__module__ = _room.__name__

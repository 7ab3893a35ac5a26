"""Put and get IBM MQ message groups across units of work, and resume them after any crash.

    import mqgroups

    with mqgroups.connect("QM1", "DEV.APP.SVRCONN", "localhost(1414)", user="app", password=pw) as qmgr:
        with qmgr.group_producer("ORDERS", name="ORDERS.LOADER", commit_every=100) as producer:
            with producer.group("orders-2026-11-28") as group:      # a group of this name is put only once
                for row in rows[group.resume_from:]:        # 0 on a fresh start, 1200 after a crash
                    group.put(row)                          # every 100 messages: status record + commit
        with qmgr.group_consumer("ORDERS", name="ORDERS.SINK", commit_every=100) as consumer:
            for group in consumer:                          # resumes in the middle of a group if it was interrupted there
                for message in group:
                    handle(message.data, message.msg_seq_number)

The parts of the package, from the application downwards. Each line imports only from the lines below it:

     workers/           several consumers or pipes at once, supervised       files/  groups as files       aio/  for asyncio
     queue_manager.py   connect, wrap: a connection that makes producers, consumers and pipes
     codecs.py          text and JSON as message data       progress.py  a progress bar
     pipe.py            a consumer and a producer in the same units of work       batch/  groups from many short-lived attempts
     put/   puts a group                get/   gets a group
     operate/           operators' functions: show, repair, move
     settings.py        settings and their checks                 names.py  names of queues, owners and users
     status/            units of work: messages + status record + MQCMIT or MQBACK, and the outcome of a commit
     connection/        calls the verbs, turns completion and reason codes into results or errors (errors.py), reconnects
     telemetry/         spans, metrics, log fields
     mqi/               structures, constants, and the C layer of pymqi or ibmmq
     core/              decides how to put or get the next message, when a unit of work ends, what a status record means.
                        It has only pure functions, and uses no other part of the package.
     ═══════════════    the C MQI: of IBM MQ, or of mqembedded for development and tests

One status record shows what a producer or consumer has committed. It is put in the same unit of work as the messages that it
describes. After a crash, or a commit without an answer, the package relies only on that record. The status queue has the record
while the producer or consumer works, while a group is interrupted, and while there is a checkpoint. Otherwise it is empty.

``mqgroups.operate`` has the operators' functions, ``mqgroups.errors`` has all errors.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from mqgroups.public_names import name_by_room

if TYPE_CHECKING:
    from mqgroups import codecs, errors, operate
    from mqgroups.core.model import MsgFlag, Persistence
    from mqgroups.core.status import Checkpoint
    from mqgroups.core.unit_of_work import Every
    from mqgroups.errors import MQGroupsError
    from mqgroups.files.sink import FileSink
    from mqgroups.get.consumer import GroupConsumer
    from mqgroups.get.group import IncomingGroup
    from mqgroups.mqi.message import Message
    from mqgroups.mqi.secret import Secret
    from mqgroups.pipe import GroupPipe, PipedGroup
    from mqgroups.progress import ProgressBar
    from mqgroups.put.group import OutgoingGroup
    from mqgroups.put.producer import GroupProducer
    from mqgroups.queue_manager import QueueManager, connect, wrap
    from mqgroups.status.hooks import InDoubt, Progress, Resumed
    from mqgroups.stopping import stop_on_signals
    from mqgroups.workers import Workers, WorkerStatus

__all__ = [
    "Checkpoint",
    "Every",
    "FileSink",
    "GroupConsumer",
    "GroupPipe",
    "GroupProducer",
    "InDoubt",
    "IncomingGroup",
    "MQGroupsError",
    "Message",
    "MsgFlag",
    "OutgoingGroup",
    "Persistence",
    "PipedGroup",
    "Progress",
    "ProgressBar",
    "QueueManager",
    "Resumed",
    "Secret",
    "WorkerStatus",
    "Workers",
    "codecs",
    "connect",
    "errors",
    "operate",
    "stop_on_signals",
    "wrap",
]

# The module of each name. A process that uses only a part of the package, such as a Spark task, does not import the other parts.
_DEFINED_IN = {
    "core.model": ("MsgFlag", "Persistence"),
    "core.status": ("Checkpoint",),
    "core.unit_of_work": ("Every",),
    "errors": ("MQGroupsError",),
    "get.consumer": ("GroupConsumer",),
    "get.group": ("IncomingGroup",),
    "mqi.message": ("Message",),
    "mqi.secret": ("Secret",),
    "pipe": ("GroupPipe", "PipedGroup"),
    "progress": ("ProgressBar",),
    "put.group": ("OutgoingGroup",),
    "put.producer": ("GroupProducer",),
    "queue_manager": ("QueueManager", "connect", "wrap"),
    "status.hooks": ("InDoubt", "Progress", "Resumed"),
    "stopping": ("stop_on_signals",),
}
# Most programs do not need these, and they take long to import: asyncio, multiprocessing, an HTTP server.
_LATER = {"FileSink": "files.sink", "Workers": "workers", "WorkerStatus": "workers"}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("codecs", "errors", "operate"):
        return importlib.import_module(f"mqgroups.{name}")
    if name in _LATER:
        found = getattr(importlib.import_module(f"mqgroups.{_LATER[name]}"), name)
        found.__module__ = __name__
        return found
    # All at once, because an object that one module returns may be of another module's class, which needs its public name.
    for module, names in _DEFINED_IN.items():
        defined = vars(importlib.import_module(f"mqgroups.{module}"))
        globals().update((each, defined[each]) for each in names)
    name_by_room(sys.modules[__name__])
    return globals()[name]

"""The embedded queue manager, which gives unmodified pymqi and ibmmq programs IBM MQ's documented behaviour.

It is for development, tests and demos without IBM MQ. It runs only if a program starts it, or if a user starts it with
``mqembedded run``::

    from mqembedded import EmbeddedQueueManager

    with EmbeddedQueueManager("QM1", mqsc=["queues.mqsc"]) as qmgr:
        ...  # connect to qmgr.conn_name with any MQ program

The path of a call::

    application -> pymqi | ibmmq -> libmqic_r.so (libmqm/: marshals, decides nothing) -> TCP on loopback
        -> serve/ (frames and verbs of wire/) -> calls/ -> queue_manager -> messages/, store

The README.md of this distribution lists what the embedded queue manager implements and what it does not.
"""

from mqembedded.platform import Platform
from mqembedded.readings import READINGS, ReadingError
from mqembedded.serve.cluster_file import ClusterFile, ClusterFileError
from mqembedded.serve.cluster_launcher import EmbeddedCluster
from mqembedded.serve.control import Control, ControlError
from mqembedded.serve.faults import Fault, random_fault
from mqembedded.serve.launcher import EmbeddedQueueManager, EmbeddedQueueManagerError

__all__ = [
    "READINGS",
    "ClusterFile",
    "ClusterFileError",
    "Control",
    "ControlError",
    "EmbeddedCluster",
    "EmbeddedQueueManager",
    "EmbeddedQueueManagerError",
    "Fault",
    "Platform",
    "ReadingError",
    "random_fault",
]

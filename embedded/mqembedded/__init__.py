"""The embedded queue manager: IBM MQ's documented behaviour in front of the unmodified pymqi and ibmmq.

It is for development, tests and demos without IBM MQ. It never replaces a real queue manager by itself: a program starts it
explicitly, here or with ``mqembedded run``::

    from mqembedded import EmbeddedQueueManager

    with EmbeddedQueueManager("QM1", mqsc=["queues.mqsc"]) as qmgr:
        ...  # connect to qmgr.conn_name with any MQ program

The path of a call::

    application -> pymqi | ibmmq -> libmqic_r.so (libmqm/: marshals, decides nothing) -> TCP on loopback
        -> serve/ (frames and verbs of wire/) -> calls/ -> queue_manager -> messages/, store

README.md of the distribution says what it implements and what it does not.
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

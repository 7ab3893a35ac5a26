"""The embedded queue manager: IBM MQ's documented behaviour in front of the unmodified pymqi and ibmmq.

It is for development, tests and demos, where no IBM MQ is at hand. It never replaces a real queue manager unasked: a program
starts it explicitly, here or with ``mqgroups embedded run``::

    from mqgroups.embedded import STANDARD_MQSC, EmbeddedQueueManager

    with EmbeddedQueueManager("QM1", mqsc=[STANDARD_MQSC]) as qmgr:
        ...  # connect to qmgr.conn_name with any MQ program

The path of a call::

    application -> pymqi | ibmmq -> libmqic_r.so (libmqm/: marshals, decides nothing) -> TCP on loopback
        -> serve/ (frames and verbs of wire/) -> calls/ -> queue_manager -> messages/, store

Of the rest of the package it imports only the numbers in ``mqgroups.mqi.constants``: if it shared the library's rules, it could
not contradict them. ``embedded/README.md`` says what it implements and what it does not.
"""

from mqgroups.embedded.platform import Platform
from mqgroups.embedded.readings import READINGS, ReadingError
from mqgroups.embedded.serve.cluster_file import ClusterFile, ClusterFileError
from mqgroups.embedded.serve.cluster_launcher import EmbeddedCluster
from mqgroups.embedded.serve.control import Control, ControlError
from mqgroups.embedded.serve.faults import Fault, random_fault
from mqgroups.embedded.serve.launcher import ROLES_MQSC, STANDARD_MQSC, EmbeddedQueueManager, EmbeddedQueueManagerError

__all__ = [
    "READINGS",
    "ROLES_MQSC",
    "STANDARD_MQSC",
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

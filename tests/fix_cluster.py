"""Clusters of embedded queue managers for tests: three queue managers, QM1 to QM3, in the cluster GRPCLUS.

    cluster.define("CLUSTER(GRPCLUS) DEFBIND(GROUP)", at=("QM2", "QM3"))     # a cluster queue; its name
    out = cluster.connect("QM1").open(name, MQOO_OUTPUT)
    cluster.waits_for("QM2", name, 3)                                        # until three messages are there

``cluster`` is one for the session: its queue managers are not to be killed, and its channels are as they were after each test.
``make_cluster`` makes one of the test's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mqgroups.embedded import EmbeddedCluster, EmbeddedQueueManager
from mqgroups.embedded import pcf_constants as cf
from mqgroups.embedded.cluster_file import ClusterFile, QueueManagerEntry
from mqgroups.embedded.membership import ChannelSettings
from mqgroups.mqi.constants import MQOO_INQUIRE
from mqgroups.testing.under_test import MQSC
from tests.fix_mqi import OK, Answer, Connection, text, wait_until

GRPCLUS = "GRPCLUS"
NAMES = ("QM1", "QM2", "QM3")
# A user without any authority, in the session's cluster.
USER, PASSWORD = "putter", "putters own"
DEAD_LETTERS = "CLUSTER.DEAD.LETTERS"
CLUSTER_MQSC = Path(__file__).parents[1] / "docker" / "cluster" / "30-cluster.mqsc"
# So that a channel's repeated attempts are over soon.
SETTINGS = ChannelSettings(mrrty=2, mrtmr=20, retry_s=0.05)

_numbers = itertools.count(1)


class ClusterUnderTest:
    """A running cluster, and connections to its queue managers."""

    def __init__(self, embedded: EmbeddedCluster, binding: Any, connect: Callable[..., Connection]) -> None:
        self.embedded = embedded
        self._binding = binding
        self._connect = connect
        self._connections: dict[str, Connection] = {}

    def __getitem__(self, q_mgr_name: str) -> EmbeddedQueueManager:
        return self.embedded[q_mgr_name]

    def connect(self, q_mgr_name: str) -> Connection:
        """Return a new connection."""
        return self._connect(to=self.embedded[q_mgr_name])

    def connect_as_user(self, q_mgr_name: str) -> Connection:
        """Return a new connection of ``USER``."""
        return self._connect(to=self.embedded[q_mgr_name], user=USER, password=PASSWORD)

    def at(self, q_mgr_name: str) -> Connection:
        """Return this test's connection for looking at queues; a new one after a restart."""
        connection = self._connections.get(q_mgr_name)
        if connection is not None:
            handle = connection.open("SYSTEM.DEFAULT.LOCAL.QUEUE", MQOO_INQUIRE)
            if handle.code == OK and handle.close() == OK:
                return connection
        connection = self._connections[q_mgr_name] = self.connect(q_mgr_name)
        return connection

    def mqsc(self, q_mgr_name: str, *commands: str) -> list[str]:
        """Carry out MQSC commands at a queue manager; returns what they say."""
        target = self.embedded[q_mgr_name]
        q_mgr = self._binding.QueueManager(None, disconnect_on_exit=False)
        q_mgr.connect_tcp_client("", self._binding.CD(), target.channel, target.conn_name, None, None)
        executor = self._binding.PCFExecute(q_mgr)
        said: list[str] = []
        for command in commands:
            asked = {cf.MQIACF_ESCAPE_TYPE: cf.MQET_MQSC, cf.MQCACF_ESCAPE_TEXT: command.encode()}
            said += [row[cf.MQCACF_ESCAPE_TEXT].rstrip(b" \0").decode() for row in executor.MQCMD_ESCAPE(asked)]
        executor.disconnect()
        q_mgr.disconnect()
        return said

    def define(self, attributes: str = "", *, at: tuple[str, ...] = NAMES) -> str:
        """Define a cluster queue with these attributes at some queue managers; returns its name."""
        name = f"T{next(_numbers)}"
        for q_mgr_name in at:
            self.mqsc(q_mgr_name, f"DEFINE QLOCAL({name}) CLUSTER({GRPCLUS}) DEFPSIST(YES) {attributes}")
        return name

    def depth(self, q_mgr_name: str, name: str) -> int:
        """CURDEPTH of a queue."""
        return self.at(q_mgr_name).depth(name)

    def browse(self, q_mgr_name: str, name: str) -> list[Answer]:
        """Return what is on an instance, in physical order."""
        return self.at(q_mgr_name).browse(name)

    def data(self, q_mgr_name: str, name: str) -> list[bytes]:
        """Return the data of what is on an instance, in physical order."""
        return [answer.data for answer in self.browse(q_mgr_name, name)]

    def waits_for(self, q_mgr_name: str, name: str, messages: int) -> None:
        """Return when so many messages can be got from an instance."""
        wait_until(lambda: len(self.browse(q_mgr_name, name)) == messages)

    def waits_for_all(self, name: str, messages: int, at: tuple[str, ...] = NAMES) -> None:
        """Return when so many messages can be got from all instances together."""
        wait_until(lambda: sum(len(self.browse(each, name)) for each in at) == messages)

    def channel(self, from_: str, to: str) -> dict[str, Any]:
        """Return the status of a channel."""
        return next(each for each in self.embedded[from_].control.channels() if each["to"] == to)

    def waits_for_status(self, from_: str, to: str, status: str) -> None:
        """Return when a channel has this status."""
        wait_until(lambda: self.channel(from_, to)["status"] == status)


def went_to(answer: Answer) -> str:
    """Return the queue manager that a message was put to: ResolvedQMgrName of its MQPMO."""
    return text(answer.pmo.ResolvedQMgrName)


def described(names: tuple[str, ...] = NAMES, settings: ChannelSettings = SETTINGS) -> ClusterFile:
    """Return the description of a cluster with these queue managers, on any ports that are free."""
    entries = tuple(QueueManagerEntry(name, "127.0.0.1:0", None, (CLUSTER_MQSC,)) for name in names)
    return ClusterFile(GRPCLUS, entries, settings)


@pytest.fixture(scope="session")
def _session_cluster(mq_mqsc, _client_library):
    with EmbeddedCluster(described(), mqsc=[MQSC, *mq_mqsc], users={USER: PASSWORD}) as cluster:
        yield cluster


@pytest.fixture
def cluster(_session_cluster, binding, connect):
    """The session's cluster."""
    yield ClusterUnderTest(_session_cluster, binding, connect)
    for each in _session_cluster.queue_managers.values():
        for channel in each.control.channels():
            each.control.slow_channel(channel["to"], 0)
            each.control.interleave_channel(channel["to"], None)
            each.control.start_channel(channel["to"])


@pytest.fixture
def make_cluster(binding, connect, mq_mqsc):
    """A function that starts a cluster of this test's own; it takes what ``described`` takes."""
    started: list[EmbeddedCluster] = []

    def make(names: tuple[str, ...] = NAMES, settings: ChannelSettings = SETTINGS) -> ClusterUnderTest:
        embedded = EmbeddedCluster(described(names, settings), mqsc=[MQSC, *mq_mqsc])
        started.append(embedded)
        embedded.start()
        return ClusterUnderTest(embedded, binding, connect)

    yield make
    for each in started:
        each.__exit__(None, None, None)

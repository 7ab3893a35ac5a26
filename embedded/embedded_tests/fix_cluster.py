"""The cluster under test: three queue managers, QM1 to QM3, in the cluster GRPCLUS.

    queue = cluster.define("DEFBIND(GROUP)", at=("QM2", "QM3"))              # a cluster queue; its name
    out = cluster.connect("QM1").open(queue, MQOO_OUTPUT)
    cluster.waits_for("QM2", queue, 3)                                       # until three messages are there

``cluster`` is one for the session, of the kind that ``--mq`` says (``cluster_sites.py``). A test that needs it to be embedded
asks for ``embedded_cluster`` too, which is the same one in hand: its queue managers are not to be killed, and its channels are as
they were after each test. ``make_cluster`` makes an embedded one of the test's own.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from embedded_tests import cluster_sites
from embedded_tests.cluster_sites import GRPCLUS, NAMES, SETTINGS, Site, described
from embedded_tests.fix_mqi import MOST, OK, Answer, Connection, failed, text, wait_until
from mqembedded import EmbeddedCluster
from mqembedded.channels.settings import ChannelSettings
from mqembedded.constants import (
    MQOO_BIND_NOT_FIXED,
    MQOO_INQUIRE,
    MQOO_OUTPUT,
    MQRC_CLUSTER_RESOLUTION_ERROR,
    MQRC_UNKNOWN_OBJECT_NAME,
)
from mqembedded.testing.options import MISSING, wanted
from mqembedded.testing.under_test import MQSC

# A user without any authority, in the session's cluster where that is embedded.
USER, PASSWORD = "putter", "putters own"
DEAD_LETTERS = "CLUSTER.DEAD.LETTERS"
# Those know every queue without having been asked for it.
FULL_REPOSITORIES = NAMES[:2]
_UNKNOWN = (failed(MQRC_UNKNOWN_OBJECT_NAME), failed(MQRC_CLUSTER_RESOLUTION_ERROR))

_numbers = itertools.count(1)


class ClusterUnderTest:
    """A running cluster, and connections to its queue managers."""

    def __init__(self, site: Site, connect: Callable[..., Connection]) -> None:
        self._site = site
        self._connect = connect
        self._connections: dict[str, Connection] = {}

    def __getitem__(self, q_mgr_name: str) -> Any:
        return self._site.members[q_mgr_name]

    @property
    def embedded(self) -> EmbeddedCluster:
        """The queue managers, to disturb them; only where they are embedded."""
        assert self._site.embedded is not None, "this needs --mq=embedded: let the test ask for embedded_cluster"
        return self._site.embedded

    def connect(self, q_mgr_name: str) -> Connection:
        """Return a new connection."""
        return self._connect(to=self[q_mgr_name])

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
        said: list[str] = []
        for command in commands:
            done, texts = self._site.commands[q_mgr_name](command)
            assert done, f"{command}: {texts}"
            said += texts
        return said

    def name(self) -> str:
        """Return a name for a queue that no other has."""
        return f"MQTEST.{os.getpid()}.{next(_numbers)}"

    def define(self, attributes: str = "", *, at: tuple[str, ...] = NAMES, name: str | None = None) -> str:
        """Define a cluster queue with these attributes at some queue managers; returns its name when all know it."""
        name = name or self.name()
        for q_mgr_name in at:
            self.mqsc(q_mgr_name, f"DEFINE QLOCAL({name}) CLUSTER({GRPCLUS}) DEFPSIST(YES) {attributes}")
        self._waits_until_known(lambda known: set(at) <= set(known), name)
        wait_until(lambda: all(self._can_put(self.at(each), name) for each in self._site.members))
        return name

    def alter(self, q_mgr_name: str, name: str, attribute: str) -> None:
        """Change an attribute of an instance, and return when the full repositories know."""
        self.mqsc(q_mgr_name, f"ALTER QLOCAL({name}) {attribute}")
        self._waits_until_known(lambda known: attribute in known[q_mgr_name], name)

    def withdraw(self, q_mgr_name: str, name: str, command: str) -> None:
        """Take an instance out of the cluster with this command, and return when the full repositories know."""
        self.mqsc(q_mgr_name, command)
        self._waits_until_known(lambda known: q_mgr_name not in known, name)

    def _waits_until_known(self, condition: Callable[[dict[str, str]], bool], name: str) -> None:
        repositories = [each for each in FULL_REPOSITORIES if each in self._site.members]
        wait_until(lambda: all(condition(self._instances(each, name)) for each in repositories))

    def _instances(self, q_mgr_name: str, name: str) -> dict[str, str]:
        """Return what a queue manager knows of a cluster queue's instances: what it displays, by their queue manager."""
        asked = f"DISPLAY QCLUSTER({name}) CLUSQMGR CLWLPRTY CLWLRANK PUT"
        _, said = self._site.commands[q_mgr_name](asked)
        shown = re.split(r"AMQ\d{4}\w?:", "\n".join(said))
        return {found[1].strip(): each for each in shown if (found := re.search(r"CLUSQMGR\(([^)]+)\)", each))}

    @staticmethod
    def _can_put(connection: Connection, name: str) -> bool:
        handle = connection.open(name, MQOO_OUTPUT | MQOO_BIND_NOT_FIXED)
        if handle.code not in _UNKNOWN:
            assert handle.code == OK
            handle.close()
        return handle.code == OK

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


def until_all_were_chosen(put: Callable[[], str], names: tuple[str, ...] = NAMES) -> list[str]:
    """Repeat a put until each of these queue managers was chosen; returns where the puts went, one after the other.

    The least recently used destination is chosen (IBM MQ, topics "The cluster workload management algorithm", "Cluster workload
    balancing"); which that is depends on other queues and on the channels' states too. Embedded queue managers take exact turns.
    """
    went: list[str] = []
    while not set(names) <= set(went):
        went.append(put())
        assert len(went) <= MOST, f"{MOST} times it was one of {set(went)}"
    return went


@pytest.fixture(scope="session")
def _site(pytestconfig, mq_mqsc, _client_library):
    asked = wanted(pytestconfig)
    if MISSING in pytestconfig.stash:
        pytest.skip(pytestconfig.stash[MISSING])
    elif asked.is_embedded:
        with cluster_sites.embedded(mq_mqsc, {USER: PASSWORD}, asked.readings) as site:
            yield site
    elif asked.is_container:
        with cluster_sites.containers(asked, mq_mqsc) as site:
            yield site
    elif cluster_sites.VARIABLE in os.environ:
        with cluster_sites.given(os.environ) as site:
            yield site
    else:
        pytest.skip(f"{cluster_sites.VARIABLE} names no cluster")


@pytest.fixture
def cluster(_site, connect):
    """The session's cluster."""
    under_test = ClusterUnderTest(_site, connect)
    yield under_test
    if _site.embedded is not None:
        for name, each in _site.embedded.queue_managers.items():
            for channel in each.control.channels():
                if channel["to"] not in NAMES:
                    # A transmission queue of the test's own, with its channel.
                    under_test.mqsc(name, f"DELETE QLOCAL({channel['to']}) PURGE")
                    continue
                each.control.slow_channel(channel["to"], 0)
                each.control.interleave_channel(channel["to"], None)
                each.control.start_channel(channel["to"])


@pytest.fixture
def embedded_cluster(cluster):
    """The session's embedded queue managers, to stop their channels."""
    return cluster.embedded


@pytest.fixture
def make_cluster(pytestconfig, connect, mq_mqsc):
    """A function that starts an embedded cluster of this test's own; it takes what ``described`` takes, and readings."""
    started: list[EmbeddedCluster] = []

    def make(
        names: tuple[str, ...] = NAMES, settings: ChannelSettings = SETTINGS, readings: Mapping[str, str] | None = None
    ) -> ClusterUnderTest:
        followed = wanted(pytestconfig).readings if readings is None else readings
        embedded = EmbeddedCluster(described(names, settings), mqsc=[MQSC, *mq_mqsc], readings=followed)
        started.append(embedded)
        embedded.start()
        return ClusterUnderTest(cluster_sites.in_hand(embedded), connect)

    yield make
    for each in started:
        each.__exit__(None, None, None)

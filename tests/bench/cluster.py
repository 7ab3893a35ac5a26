"""A cluster to measure on: producers are at QM0, which hosts nothing, and the instances of ``BENCH.n`` at QM1 to QMn.

So every message is put at one queue manager and goes through one channel, whatever is measured. Work is timed until its last
commit, and until all of it is at the instances.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymqi
from pymqi import CMQC

from mqgroups.embedded import EmbeddedCluster, EmbeddedQueueManager
from mqgroups.embedded.channels.settings import ChannelSettings
from mqgroups.embedded.serve.cluster_file import ClusterFile, QueueManagerEntry
from tests.bench.costs import Spent
from tests.bench.site import processor_s

INSTANCES = (1, 2, 4)
GATEWAY = "QM0"
_HOSTS = tuple(f"QM{number}" for number in range(1, max(INSTANCES) + 1))
_END = "BENCH.END"
_STATUS_MODEL = Path(__file__).parents[2] / "docker" / "20-mqgroups.mqsc"
_QLOCAL = "DEFINE QLOCAL({}) MAXDEPTH(999999999) DEFPSIST(YES) REPLACE {}\n"
_PATIENCE_MS = 60_000


class Bench:
    """The cluster, and a connection to each of its queue managers."""

    def __init__(self, embedded: EmbeddedCluster) -> None:
        self.gateway = embedded[GATEWAY]
        self.q_mgr = _connected(self.gateway)
        self._hosts = [_Host(embedded[name], self.q_mgr) for name in _HOSTS]

    def close(self) -> None:
        """Disconnect."""
        for q_mgr in (self.q_mgr, *(host.q_mgr for host in self._hosts)):
            q_mgr.disconnect()

    def spent(self, instances: int, work: Callable[[], float]) -> Spent:
        """Put to the queue with so many instances by ``work``, which returns the processor time of who did it, and wait until all
        has arrived."""
        batches = self._batches()
        gateway, hosts, began = processor_s(self.gateway), self._hosts_s(), time.perf_counter()
        client = work()
        put = time.perf_counter()
        # A channel sends persistent messages in the order of arrival: when the last one is there all are.
        for host in self._hosts[:instances]:
            host.there.put(b"end")
        for host in self._hosts[:instances]:
            host.here.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=_PATIENCE_MS))
        arrived = time.perf_counter()
        gateway, hosts = processor_s(self.gateway) - gateway, self._hosts_s() - hosts
        return Spent(put - began, arrived - began, client, gateway, hosts, self._batches() - batches)

    def take_off(self, instances: int, messages: int) -> list[int]:
        """Clear the queue with so many instances; returns how many groups each of them had.

        Raises:
            RuntimeError: there is not what was put.
        """
        hosts = self._hosts[:instances]
        found = [host.take_off(f"BENCH.{instances}") for host in hosts]
        if sum(depth for depth, _ in found) != messages:
            raise RuntimeError(f"BENCH.{instances} has {found} messages and groups, {messages} messages were put")
        return [groups for _, groups in found]

    def _batches(self) -> int:
        return sum(channel["batches"] for channel in self.gateway.control.channels())

    def _hosts_s(self) -> float:
        return sum(processor_s(host.embedded) for host in self._hosts)


class _Host:
    """A queue manager with instances."""

    def __init__(self, embedded: EmbeddedQueueManager, gateway: Any) -> None:
        self.embedded = embedded
        self.q_mgr = _connected(embedded)
        self.here = pymqi.Queue(self.q_mgr, _END, CMQC.MQOO_INPUT_SHARED)
        self.there = pymqi.Queue(gateway)
        name = embedded.q_mgr_name
        self.there.open(pymqi.OD(ObjectName=_END.encode(), ObjectQMgrName=name.encode()), CMQC.MQOO_OUTPUT)

    def take_off(self, name: str) -> tuple[int, int]:
        """Clear a queue; returns how many messages and how many first messages of groups there were."""
        queue = pymqi.Queue(self.q_mgr, name, CMQC.MQOO_BROWSE | CMQC.MQOO_INQUIRE)
        depth, groups = queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH), 0
        match = {"Options": CMQC.MQGMO_BROWSE_NEXT, "MatchOptions": CMQC.MQMO_MATCH_MSG_SEQ_NUMBER}
        try:
            while True:
                md = pymqi.MD(Version=2, MsgSeqNumber=1)
                queue.get(None, md, pymqi.GMO(Version=2, **match))
                groups += bool(md.MsgFlags & CMQC.MQMF_MSG_IN_GROUP)
        except pymqi.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
        queue.close()
        _clear(self.q_mgr, name)
        return depth, groups


@contextmanager
def bench() -> Iterator[Bench]:
    """Start the cluster."""
    with tempfile.TemporaryDirectory() as directory, EmbeddedCluster(_described(Path(directory))) as embedded:
        found = Bench(embedded)
        yield found
        found.close()


def _described(directory: Path) -> ClusterFile:
    gateway = Path(directory, "gateway.mqsc")
    gateway.write_text("ALTER QMGR MAXHANDS(10000)\n")
    entries = [QueueManagerEntry(GATEWAY, "127.0.0.1:0", None, (_STATUS_MODEL, gateway))]
    for number, name in enumerate(_HOSTS, 1):
        mqsc = Path(directory, f"{name}.mqsc")
        shared = (
            _QLOCAL.format(f"BENCH.{each}", "CLUSTER(BENCH) DEFBIND(GROUP)") for each in INSTANCES if each >= number
        )
        mqsc.write_text("".join([_QLOCAL.format(_END, ""), *shared]))
        entries.append(QueueManagerEntry(name, "127.0.0.1:0", None, (mqsc,)))
    return ClusterFile("BENCH", tuple(entries), ChannelSettings())


def _connected(embedded: EmbeddedQueueManager) -> Any:
    q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
    q_mgr.connect_tcp_client(embedded.q_mgr_name, pymqi.CD(), embedded.channel, embedded.conn_name)
    return q_mgr


def _clear(q_mgr: Any, name: str) -> None:
    commands = pymqi.PCFExecute(q_mgr)
    commands.MQCMD_CLEAR_Q({CMQC.MQCA_Q_NAME: name.encode()})
    commands.disconnect()

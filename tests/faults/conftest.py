"""A queue manager to do harm to, and a reader that trusts nobody."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mqgroups.embedded import EmbeddedQueueManager
from tests.faults.worker import Job

MQSC = """
DEFINE QMODEL(MQGROUPS.STATUS.MODEL) DEFTYPE(PERMDYN) DEFPSIST(YES) NOSHARE DEFSOPT(EXCL) REPLACE
DEFINE QMODEL(FAULTS.MODEL) DEFTYPE(PERMDYN) DEFPSIST(YES) SHARE DEFSOPT(SHARED) REPLACE
"""
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Found:
    """What the independent reader sees on a queue: (GroupId, MsgSeqNumber, last in group, data), in physical order."""

    messages: list[tuple[bytes, int, bool, bytes]]

    def is_whole_group(self, messages: int) -> bool:
        """Whether it is exactly one whole group of that many messages with the data of ``worker.payload``."""
        return bool(self.messages) and self.messages == [
            (self.messages[0][0], number, number == messages, b"%03d" % number) for number in range(1, messages + 1)
        ]


class Harm:
    """A queue manager of its own, with a fresh queue for every case, and raw pymqi to look at it."""

    def __init__(self, qmgr: EmbeddedQueueManager, directory: Path) -> None:
        self.qmgr = qmgr
        self._directory = directory

    def job(self, role: str, *, messages: int, every: int, checkpoints: bool, queue: str = "", name: str = "") -> Job:
        """Return a job on a new queue, or on the one given."""
        name = name or f"N{next(_numbers)}"
        queue = queue or self._make_queue(f"Q.{name}")
        qmgr = self.qmgr
        file = str(self._directory / f"{name}.{role}")
        return Job(role, qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name, queue, name, messages, every, checkpoints, file)

    def _connected(self):
        import pymqi

        connection = pymqi.QueueManager(None, disconnect_on_exit=False)
        connection.connect_tcp_client(self.qmgr.q_mgr_name, pymqi.CD(), self.qmgr.channel, self.qmgr.conn_name)
        return connection

    def _make_queue(self, name: str) -> str:
        import pymqi
        from pymqi import CMQC

        connection = self._connected()
        od = pymqi.OD(ObjectName=b"FAULTS.MODEL", DynamicQName=name.encode())
        pymqi.Queue(connection, od, CMQC.MQOO_OUTPUT).close()
        connection.disconnect()
        return name

    def browse(self, queue: str) -> Found:
        """Browse everything that is committed on a queue, in physical order; nothing if there is no such queue."""
        import pymqi
        from pymqi import CMQC

        connection = self._connected()
        found = []
        try:
            browsed = pymqi.Queue(connection, queue, CMQC.MQOO_BROWSE)
            while True:
                md = pymqi.MD(Version=2)
                gmo = pymqi.GMO(Version=2, Options=CMQC.MQGMO_BROWSE_NEXT, MatchOptions=CMQC.MQMO_NONE)
                data = browsed.get(100_000, md, gmo)
                found.append((md.GroupId, md.MsgSeqNumber, gmo.GroupStatus == ord("L"), data))
        except pymqi.MQMIError as error:
            if error.reason not in (CMQC.MQRC_NO_MSG_AVAILABLE, CMQC.MQRC_UNKNOWN_OBJECT_NAME):
                raise
        finally:
            connection.disconnect()
        return Found(found)

    def fill(self, job: Job) -> None:
        """Put the group that a getting job gets, in one unit of work."""
        import pymqi
        from pymqi import CMQC

        connection = self._connected()
        queue = pymqi.Queue(connection, job.queue, CMQC.MQOO_OUTPUT)
        for number in range(1, job.messages + 1):
            flag = CMQC.MQMF_LAST_MSG_IN_GROUP if number == job.messages else CMQC.MQMF_MSG_IN_GROUP
            md = pymqi.MD(Version=2, MsgFlags=flag)
            pmo = pymqi.PMO(Version=2, Options=CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT)
            queue.put(b"%03d" % number, md, pmo)
        connection.commit()
        connection.disconnect()

    def status(self, job: Job) -> list[bytes]:
        """Return the status records of a job."""
        return [data for *_, data in self.browse(f"MQGROUPS.{job.role.upper()}.{job.name}").messages]


@pytest.fixture(scope="session")
def harm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harm]:
    directory = tmp_path_factory.mktemp("faults")
    mqsc = directory / "faults.mqsc"
    mqsc.write_text(MQSC)
    with EmbeddedQueueManager("QMF", data=directory / "data", mqsc=[mqsc]) as qmgr:
        yield Harm(qmgr, directory)

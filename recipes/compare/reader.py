"""The independent reader: plain pymqi, physical order, no knowledge of the programs that put the messages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pymqi
from pymqi import CMQC

from recipes.compare.job import Job, payload


@dataclass(frozen=True, slots=True)
class Found:
    """The messages on the queue of a job.

    Attributes:
        lost: the number of missing messages.
        doubled: the number of surplus messages.
        torn: the number of groups that are incomplete, or have a number or message twice or in the wrong place.
        grouped: whether there are groups at all.
    """

    lost: int
    doubled: int
    torn: int
    grouped: bool

    @property
    def is_right(self) -> bool:
        """Whether every message is there once, and in a whole group if in a group."""
        return not (self.lost or self.doubled or self.torn)


class Reader:
    """A separate connection for inspecting and creating queues."""

    def __init__(self, q_mgr_name: str, channel: str, conn_name: str) -> None:
        self._q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
        self._q_mgr.connect_tcp_client(q_mgr_name, pymqi.CD(), channel, conn_name)

    def make_queue(self, name: str, model: str) -> str:
        """Make an empty queue."""
        od = pymqi.OD(ObjectName=model.encode(), DynamicQName=name.encode())
        pymqi.Queue(self._q_mgr, od, CMQC.MQOO_OUTPUT).close()
        return name

    def fill(self, job: Job) -> None:
        """Put the messages of a job, in no group, on its second queue; answers to them belong on its queue."""
        queue = pymqi.Queue(self._q_mgr, job.second_queue, CMQC.MQOO_OUTPUT)
        for number in range(1, job.messages + 1):
            queue.put(payload(number), pymqi.MD(ReplyToQ=job.queue.encode(), Persistence=CMQC.MQPER_PERSISTENT))
        queue.close()

    def look(self, job: Job) -> Found:
        """Count what is committed on a job's queue."""
        queue = pymqi.Queue(self._q_mgr, job.queue, CMQC.MQOO_BROWSE)
        groups: dict[bytes, list[tuple[int, bool, bytes]]] = {}
        while True:
            md = pymqi.MD(Version=CMQC.MQMD_VERSION_2)
            gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_2, Options=CMQC.MQGMO_BROWSE_NEXT, MatchOptions=CMQC.MQMO_NONE)
            try:
                data = queue.get(10_000, md, gmo)
            except pymqi.MQMIError as error:
                if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                    raise
                break
            last = bool(md.MsgFlags & CMQC.MQMF_LAST_MSG_IN_GROUP)
            groups.setdefault(md.GroupId, []).append((md.MsgSeqNumber, last, data))
        queue.close()
        return count(groups, job.messages)

    def close(self) -> None:
        """Disconnect."""
        self._q_mgr.disconnect()


def count(groups: dict[bytes, list[tuple[int, bool, bytes]]], messages: int) -> Found:
    """Count what is wrong with (MsgSeqNumber, last in group, data) by GroupId, in physical order."""
    wanted = [payload(number) for number in range(1, messages + 1)]
    whole = [(number, number == messages, data) for number, data in enumerate(wanted, 1)]
    found = Counter(data for members in groups.values() for _, _, data in members)
    grouped = {group_id: members for group_id, members in groups.items() if group_id != CMQC.MQGI_NONE}
    return Found(
        lost=sum(data not in found for data in wanted),
        doubled=sum(copies - 1 for copies in found.values()),
        torn=sum(members != whole for members in grouped.values()),
        grouped=bool(grouped),
    )

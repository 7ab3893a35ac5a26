"""Processes that put, browse or get groups by hand, as cheaply as Python can: structures are packed beforehand.

Groups are put in logical order, with a commit after as many messages as Spark's sink commits after. A group is browsed, or got,
by its GroupId. There are no status records.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pymqi
from pymqi import CMQC, pymqe

from mqembedded import EmbeddedQueueManager

EVERY = 100
PROCESSES = 2
PAYLOAD = b"x" * 100
_PUT = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_SYNC_RESPONSE | CMQC.MQPMO_NEW_MSG_ID | CMQC.MQPMO_FAIL_IF_QUIESCING
_BROWSE = CMQC.MQGMO_COMPLETE_MSG | CMQC.MQGMO_NO_PROPERTIES | CMQC.MQGMO_FAIL_IF_QUIESCING
_TAKE = CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG | CMQC.MQGMO_NO_PROPERTIES | CMQC.MQGMO_FAIL_IF_QUIESCING
_TO_GET = CMQC.MQOO_BROWSE | CMQC.MQOO_INPUT_SHARED
_OPEN = {"put": CMQC.MQOO_OUTPUT, "browse": CMQC.MQOO_BROWSE, "take": _TO_GET, "get": _TO_GET}
# What to do: "put"; "browse"; "get", as a consumer does; or "take", which browses and then removes without the data. To which
# queue, groups, messages of each; the seconds.
Raw = Callable[[str, str, int, int], float]


@contextmanager
def raw_processes(qmgr: EmbeddedQueueManager, processes: int = PROCESSES) -> Iterator[Raw]:
    """Have so many processes; what is given lets each of them do a share, and returns the seconds."""
    os.environ.update(qmgr.environment())
    context = multiprocessing.get_context("spawn")
    pipes = []
    for number in range(processes):
        mine, its = context.Pipe()
        context.Process(
            target=_process, args=(its, number, qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name), daemon=True
        ).start()
        pipes.append(mine)

    def work(what: str, queue: str, groups: int, messages: int) -> float:
        for pipe in pipes:
            pipe.send((what, queue, groups // processes, messages))
        for pipe in pipes:
            pipe.recv()  # it is ready: queues open, groups known
        began_s = time.perf_counter()
        for pipe in pipes:
            pipe.send(None)
        for pipe in pipes:
            pipe.recv()
        return time.perf_counter() - began_s

    yield work
    for pipe in pipes:
        pipe.send(None)


def _process(pipe: Any, number: int, q_mgr_name: str, channel: str, conn_name: str) -> None:
    qmgr = pymqi.QueueManager(None, disconnect_on_exit=False)
    qmgr.connect_tcp_client(q_mgr_name, pymqi.CD(), channel, conn_name)
    while (asked := pipe.recv()) is not None:
        what, name, groups, messages = asked
        queue = pymqi.Queue(qmgr, name, _OPEN[what])
        if what == "put":
            work = partial(_put, qmgr, queue, groups, messages)
        else:
            group_ids = _group_ids(queue)[number * groups : (number + 1) * groups]
            work = partial(_get, qmgr, queue, group_ids, messages, what)
        pipe.send("ready")
        pipe.recv()
        work()
        pipe.send("done")
        queue.close()


def _group_ids(queue: pymqi.Queue) -> list[bytes]:
    """Return the GroupIds on a queue, by the first message of each."""
    found: list[bytes] = []
    while True:
        md = pymqi.MD(Version=2, MsgSeqNumber=1)
        gmo = pymqi.GMO(Version=2, Options=CMQC.MQGMO_BROWSE_NEXT, MatchOptions=CMQC.MQMO_MATCH_MSG_SEQ_NUMBER)
        try:
            queue.get(None, md, gmo)
        except pymqi.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            return found
        found.append(md.GroupId)


def _get(qmgr: pymqi.QueueManager, queue: pymqi.Queue, group_ids: list[bytes], messages: int, what: str) -> None:
    hconn, hobj, mqget, mqcmit = qmgr.get_handle(), queue.get_handle(), pymqe.MQGET, pymqe.MQCMIT
    first, following, taking = (
        bytearray(pymqi.GMO(Version=2, Options=options, MatchOptions=CMQC.MQMO_MATCH_GROUP_ID).pack())
        for options in (_BROWSE | CMQC.MQGMO_BROWSE_FIRST, _BROWSE | CMQC.MQGMO_BROWSE_NEXT, _TAKE)
    )
    for group_id in group_ids:
        md = bytearray(pymqi.MD(Version=2, GroupId=group_id).pack())
        gmo = first
        for _ in range(messages if what != "get" else 0):
            # The library writes into the bytes it is given: every call gets a copy of its own.
            *_, comp, reason = mqget(hconn, hobj, bytes(md), bytes(gmo), 4096)
            if comp:
                raise RuntimeError(reason)
            gmo = following
        for number in range(1, messages + 1 if what != "browse" else 1):
            *_, comp, reason = mqget(hconn, hobj, bytes(md), bytes(taking), 4096 if what == "get" else 0)
            if comp == CMQC.MQCC_FAILED:
                raise RuntimeError(reason)
            if (number % EVERY == 0 or number == messages) and mqcmit(hconn)[0]:
                raise RuntimeError("MQCMIT")


def _put(qmgr: pymqi.QueueManager, queue: pymqi.Queue, groups: int, messages: int) -> None:
    hconn, hobj, mqput, mqcmit = qmgr.get_handle(), queue.get_handle(), pymqe.MQPUT, pymqe.MQCMIT
    middle = bytearray(pymqi.MD(Version=2, Persistence=1, MsgFlags=CMQC.MQMF_MSG_IN_GROUP).pack())
    last = bytearray(pymqi.MD(Version=2, Persistence=1, MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP).pack())
    pmo = bytearray(pymqi.PMO(Version=2, Options=_PUT | CMQC.MQPMO_LOGICAL_ORDER).pack())
    for _ in range(groups):
        for number in range(1, messages + 1):
            md = middle if number < messages else last
            *_, comp, reason = mqput(hconn, hobj, bytes(md), bytes(pmo), PAYLOAD)
            if comp:
                raise RuntimeError(reason)
            if (number % EVERY == 0 or number == messages) and mqcmit(hconn)[0]:
                raise RuntimeError("MQCMIT")

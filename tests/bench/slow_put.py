"""Putting over a slow line: the library's answered and unanswered puts, a raw asynchronous loop, and faststream-mq's publish.

Everything arrives later by the latency, in each direction, so an answer comes after twice the latency. All ways take turns on one
queue manager for each latency.

There are two raw loops. One makes the library's own calls, so that its ratio is what the library itself costs. The other makes
the fewest that put a group in units of work with a status record: asynchronous MQPUTs, but the first one is answered, because
the record needs the GroupId; MQSTAT; the old record got and the new one put, but none before a group and after it; MQCMIT. It
would notice no foreign end of a unit of work, and after a crash there would be no record of a group that was completed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pymqi
from pymqi import CMQC, pymqe

import mqgroups
from mqembedded import EmbeddedQueueManager
from mqgroups.mqi import structures as st
from mqgroups.mqi.binding import binding_of
from tests.bench.site import queue_manager
from tests.bench.tell import Tell

# faststream-mq, where `tools/setup.sh compare` has put it, beside the environment's own packages.
_COMPARE = Path(sys.prefix) / "share" / "compare"
LATENCIES_MS = (0.0, 0.2, 1.0, 5.0, 20.0)
SYNC, ASYNC, FASTSTREAM = "mqgroups, sync", "mqgroups, async", "faststream-mq, publish"
SEGMENTED = "mqgroups, async, segmented status"
RAW, FEWEST = "raw loop, async, the same calls", "raw loop, async, the fewest calls"
EVERY = 100
MESSAGES = 1_000
# Where each message waits for its answer, and time would be long, it takes fewer to see how long one takes.
_WAITS = {SYNC: 100, FASTSTREAM: 10}
_LONG_MS = 5.0
_PAYLOAD = b"x" * 100
_PUT = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_NEW_MSG_ID | CMQC.MQPMO_FAIL_IF_QUIESCING
_QUEUE = "BENCH"
# Seconds a message of each round, by way.
Times = dict[str, list[float]]


def ways() -> list[str]:
    """Return the ways whose packages are installed."""
    there = (_COMPARE / "faststream_mq").is_dir() or importlib.util.find_spec("faststream_mq") is not None
    return [SYNC, ASYNC, SEGMENTED, RAW, FEWEST, *([FASTSTREAM] if there else [])]


def measure(tell: Tell, latency_ms: float, rounds: int, seconds: float) -> Times:
    """Put in all ways in turns; returns what a message took in each round, in seconds."""
    found: Times = {name: [] for name in ways()}
    with queue_manager(latency_ms=latency_ms) as qmgr, ExitStack() as opened:
        works = {name: opened.enter_context(_WAYS[name](qmgr)) for name in found}
        names = list(works)
        for number in tell.rounds(f"put at {latency_ms:g} ms", rounds, seconds):
            # Another order in every round, so that none always runs behind the same one.
            for name in names[number % len(names) :] + names[: number % len(names)]:
                messages = messages_of(name, latency_ms)
                began = time.perf_counter()
                works[name](messages)
                took = time.perf_counter() - began
                if number:  # the first round warms up
                    found[name].append(took / messages)
    return found


def messages_of(name: str, latency_ms: float) -> int:
    """Return how many messages are put in one way in each round."""
    few = name in _WAITS and (latency_ms >= _LONG_MS or name == FASTSTREAM)
    return _WAITS[name] if few else MESSAGES


def ratio(times: Times, slow: str, fast: str) -> float:
    """Return how many times as fast one way is as another: the median of the ratios within a round."""
    return statistics.median(one / other for one, other in zip(times[slow], times[fast], strict=True))


def _ours(name: str, **settings: Any) -> Callable[[EmbeddedQueueManager], Any]:
    @contextmanager
    def way(qmgr: EmbeddedQueueManager) -> Iterator[Callable[[int], None]]:
        with (
            mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name) as connection,
            connection.group_producer(_QUEUE, name=name, commit_every=EVERY, **settings) as producer,
        ):

            def work(messages: int) -> None:
                with producer.group() as group:
                    for _ in range(messages):
                        group.put(_PAYLOAD)

            yield work

    return way


def _raw(status_queue: str, *, fewest: bool) -> Callable[[EmbeddedQueueManager], Any]:
    @contextmanager
    def way(qmgr: EmbeddedQueueManager) -> Iterator[Callable[[int], None]]:
        with _opened(qmgr, status_queue) as put:
            yield partial(put, fewest=fewest)

    return way


@contextmanager
def _opened(qmgr: EmbeddedQueueManager, status_queue: str) -> Iterator[Callable[..., None]]:
    q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
    q_mgr.connect_tcp_client(qmgr.q_mgr_name, pymqi.CD(), qmgr.channel, qmgr.conn_name)
    queue = pymqi.Queue(q_mgr, _QUEUE, CMQC.MQOO_OUTPUT)
    status = pymqi.Queue(q_mgr, status_queue, CMQC.MQOO_INPUT_EXCLUSIVE | CMQC.MQOO_OUTPUT)
    hconn, hobj, hstatus = q_mgr.get_handle(), queue.get_handle(), status.get_handle()
    mqput, mqget, mqcmit, mqstat = pymqe.MQPUT, pymqe.MQGET, pymqe.MQCMIT, binding_of(q_mgr).MQSTAT
    middle, last = (
        bytearray(pymqi.MD(Version=2, Persistence=1, MsgFlags=flag).pack())
        for flag in (CMQC.MQMF_MSG_IN_GROUP, CMQC.MQMF_LAST_MSG_IN_GROUP)
    )
    record_md = bytearray(pymqi.MD(Version=2, Persistence=1).pack())
    unanswered, answered, record_pmo = (
        bytearray(pymqi.PMO(Version=2, Options=_PUT | more).pack())
        for more in (
            CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_ASYNC_RESPONSE,
            CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNC_RESPONSE,
            CMQC.MQPMO_SYNC_RESPONSE,
        )
    )
    gmo = bytearray(pymqi.GMO(Version=2, Options=CMQC.MQGMO_SYNCPOINT, MatchOptions=0).pack())
    record = b"x" * 500

    def put(messages: int, *, fewest: bool) -> None:
        for number in range(1, messages + 1):
            md = middle if number < messages else last
            ends = number % EVERY == 0 or number == messages
            pmo = answered if number == 1 or (ends and not fewest) else unanswered
            # The library writes into the bytes it is given: every call gets a copy of its own.
            *_, comp, reason = mqput(hconn, hobj, bytes(md), bytes(pmo), _PAYLOAD)
            if comp:
                raise RuntimeError(reason)
            if ends:
                sts, *_ = mqstat(hconn, 0, st.sts())
                if st.long_at(sts, st.STS_COMP_CODE):
                    raise RuntimeError("MQSTAT")
                if number > EVERY or not fewest:
                    mqget(hconn, hstatus, bytes(record_md), bytes(gmo), 65536)
                if number < messages or not fewest:
                    mqput(hconn, hstatus, bytes(record_md), bytes(record_pmo), record)
                if mqcmit(hconn)[0]:
                    raise RuntimeError("MQCMIT")

    if mqput(hconn, hstatus, bytes(record_md), bytes(record_pmo), record)[2] or mqcmit(hconn)[0]:
        raise RuntimeError("the status record before the first group")
    yield put
    q_mgr.backout()
    q_mgr.disconnect()


@contextmanager
def _faststream(qmgr: EmbeddedQueueManager) -> Iterator[Callable[[int], None]]:
    if str(_COMPARE) not in sys.path:
        sys.path.append(str(_COMPARE))
    from faststream_mq import MQBroker

    broker = MQBroker(qmgr.q_mgr_name, channel=qmgr.channel, conn_name=qmgr.conn_name, logger=None)
    with asyncio.Runner() as runner:
        runner.run(broker.connect())

        async def publish(messages: int) -> None:
            for _ in range(messages):
                await broker.publish(_PAYLOAD, _QUEUE, persistence=True)

        yield lambda messages: runner.run(publish(messages))
        runner.run(broker.stop())


_WAYS: dict[str, Callable[[EmbeddedQueueManager], Any]] = {
    SYNC: _ours("SYNC"),
    ASYNC: _ours("ASYNC", put_response="async"),
    SEGMENTED: _ours("SEGMENTED", put_response="async", status_layout="segmented"),
    RAW: _raw("BENCH.STATUS.1", fewest=False),
    FEWEST: _raw("BENCH.STATUS.2", fewest=True),
    FASTSTREAM: _faststream,
}


def medians(times: Times) -> dict[str, float]:
    """Return messages a second of each way."""
    return {name: 1 / statistics.median(values) for name, values in times.items()}

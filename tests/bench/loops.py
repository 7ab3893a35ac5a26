"""The ways to put and get a group across units of work that the benchmark compares, and the rounds in which they take turns.

``Ours`` is the library. ``Raw`` makes the library's MQI calls by hand as cheaply as Python can: the bindings' C functions with
structures packed beforehand. Its calls have the library's options, and its record is as long as the library's; there are two
calls less for each group, because IBM's pattern has no record after a group's end. ``RawAsync`` puts without answers, and makes
these two calls too: over a slow line they count. ``Pymqi`` is what IBM's pseudo-code becomes when it is typed with pymqi's
classes.
"""

from __future__ import annotations

import abc
import gc
import json
import random
import statistics
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Protocol

import pymqi
from pymqi import CMQC, pymqe

import mqgroups
from mqembedded import EmbeddedQueueManager
from mqgroups.core.model import Role
from mqgroups.core.status import RecordState, StatusRecord, encode
from mqgroups.mqi import structures as st
from mqgroups.mqi.binding import binding_of
from tests.bench.site import QUEUE, STATUS

_PUT = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_NEW_MSG_ID | CMQC.MQPMO_FAIL_IF_QUIESCING
_PUT_SYNC, _PUT_ASYNC = _PUT | CMQC.MQPMO_SYNC_RESPONSE, _PUT | CMQC.MQPMO_ASYNC_RESPONSE
_GET = CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_FAIL_IF_QUIESCING
_GET_NEXT = _GET | CMQC.MQGMO_WAIT | CMQC.MQGMO_LOGICAL_ORDER
# What the library's consumer asks for besides: properties in front of the data, and whole messages only.
_AS_THE_LIBRARY = CMQC.MQGMO_PROPERTIES_FORCE_MQRFH2 | CMQC.MQGMO_COMPLETE_MSG
_LONGEST = 65536
_RECORD = encode(
    StatusRecord(
        role=Role.PUT,
        name="BENCH",
        state=RecordState.IN_GROUP,
        owner_id="0" * 32,
        epoch=1,
        unit_of_work=1,
        queue=QUEUE,
        group_id=b"G" * 24,
        msg_seq_number=100,
        q_mgr_identifier="BENCH_2026-01-01_00.00.00",
        resolved_q_name=QUEUE,
        resolved_q_mgr_name="BENCH",
    )
)


Work = Callable[[], None]


class Loop(Protocol):
    """One way to do it. A loop is made, does one group, and is closed.

    ``put`` and ``get`` are context managers: entering opens the queues, leaving closes them, and what they give is called to do
    the work. Only that is timed.
    """

    def put(self, payloads: Sequence[bytes], every: int) -> AbstractContextManager[Work]: ...
    def get(self, messages: int, every: int) -> AbstractContextManager[Work]: ...
    def close(self) -> None: ...


class Spent(NamedTuple):
    """What one loop took in one round, in seconds: processor time of the client alone, and time that passed."""

    processor: float
    passed: float


def take_turns(
    loops: Mapping[str, Callable[[], Loop]],
    ways: Sequence[str],
    payloads: Sequence[bytes],
    every: int,
    rounds: Iterable[int],
    before: Callable[[], object] = gc.collect,
) -> dict[str, dict[str, list[Spent]]]:
    """Put a group, or put it and get it, in all loops in turns; return what each round took, by way and name of the loop.

    ``before`` does what the loop before has left to do: it is not this one's.
    """
    spent: dict[str, dict[str, list[Spent]]] = {way: {name: [] for name in loops} for way in ways}
    for number in rounds:
        # Another order in every round, so that no loop always runs behind the same one.
        for name in random.Random(number).sample(sorted(loops), len(loops)):
            loop = loops[name]()
            for way in ways:
                with loop.put(payloads, every) if way == "put" else loop.get(len(payloads), every) as work:
                    before()
                    began_s = time.process_time(), time.perf_counter()
                    work()
                    took = Spent(time.process_time() - began_s[0], time.perf_counter() - began_s[1])
                if number:  # the first round warms up
                    spent[way][name].append(took)
            loop.close()
    return spent


def ratio(
    one: Sequence[Spent], other: Sequence[Spent], of: Callable[[Spent], float] = lambda spent: spent.processor
) -> float:
    """Return the median of the ratios within a round: of processor time unless told otherwise."""
    return statistics.median(of(mine) / of(its) for mine, its in zip(one, other, strict=True))


class Ours:
    """The library's producer and consumer, with settings of the connection or the producer; each group has a name."""

    def __init__(self, qmgr: EmbeddedQueueManager, producer: Mapping[str, Any] | None = None, **settings: Any) -> None:
        self._connection = mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name, **settings)
        self._producer = {"name": "BENCH", "status_queue": STATUS, **(producer or {})}

    @contextmanager
    def put(self, payloads: Sequence[bytes], every: int) -> Iterator[Work]:
        with self._connection.group_producer(QUEUE, commit_every=every, **self._producer) as producer:

            def work() -> None:
                with producer.group(uuid.uuid4().hex) as group:
                    for payload in payloads:
                        group.put(payload)

            yield work
            producer.forget()

    @contextmanager
    def get(self, messages: int, every: int) -> Iterator[Work]:
        with self._connection.group_consumer(QUEUE, name="BENCH", commit_every=every, status_queue=STATUS) as consumer:

            def work() -> None:
                got = 0
                for message in next(iter(consumer)):
                    message.data  # noqa: B018 - what an application does at the least
                    got += 1
                assert got == messages, f"{got} messages got, {messages} put"

            yield work

    def close(self) -> None:
        self._connection.close()


class _ByHand(abc.ABC):
    """Connection and queues of the loops that are written by hand."""

    def __init__(self, qmgr: EmbeddedQueueManager) -> None:
        self._qmgr = pymqi.QueueManager(None, disconnect_on_exit=False)
        self._qmgr.connect_tcp_client(qmgr.q_mgr_name, pymqi.CD(), qmgr.channel, qmgr.conn_name)

    @contextmanager
    def _open(self, options: int) -> Iterator[tuple[pymqi.Queue, pymqi.Queue]]:
        status_options = CMQC.MQOO_INPUT_EXCLUSIVE | CMQC.MQOO_OUTPUT
        queue, status = pymqi.Queue(self._qmgr, QUEUE, options), pymqi.Queue(self._qmgr, STATUS, status_options)
        yield queue, status
        queue.close()
        status.close()

    @contextmanager
    def put(self, payloads: Sequence[bytes], every: int) -> Iterator[Work]:
        with self._open(CMQC.MQOO_OUTPUT) as (queue, status):
            yield lambda: self._put(queue, status, payloads, every)

    @contextmanager
    def get(self, messages: int, every: int) -> Iterator[Work]:
        with self._open(CMQC.MQOO_INPUT_SHARED) as (queue, status):
            yield lambda: self._get(queue, status, messages, every)

    @abc.abstractmethod
    def _put(self, queue: pymqi.Queue, status: pymqi.Queue, payloads: Sequence[bytes], every: int) -> None: ...

    @abc.abstractmethod
    def _get(self, queue: pymqi.Queue, status: pymqi.Queue, messages: int, every: int) -> None: ...

    def close(self) -> None:
        self._qmgr.backout()
        self._qmgr.disconnect()


def _packed(structure: Any) -> bytearray:
    # The library writes into the bytes it is given: every call gets a copy of its own.
    return bytearray(structure.pack())


class Raw(_ByHand):
    """The MQI calls with nothing around them."""

    asynchronous = False

    def _put(self, queue: pymqi.Queue, status: pymqi.Queue, payloads: Sequence[bytes], every: int) -> None:
        hconn, hobj = self._qmgr.get_handle(), queue.get_handle()
        mqput, mqstat = pymqe.MQPUT, binding_of(self._qmgr).MQSTAT
        middle = _packed(pymqi.MD(Version=2, Persistence=1, MsgFlags=CMQC.MQMF_MSG_IN_GROUP))
        last = _packed(pymqi.MD(Version=2, Persistence=1, MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP))
        answered, unanswered = (
            _packed(pymqi.PMO(Version=2, Options=options | CMQC.MQPMO_LOGICAL_ORDER))
            for options in (_PUT_SYNC, _PUT_ASYNC if self.asynchronous else _PUT_SYNC)
        )
        commit, end = self._commit(status), len(payloads)
        for number, payload in enumerate(payloads, 1):
            ends = number % every == 0 or number == end
            pmo = answered if ends or number == 1 else unanswered
            *_, comp, reason = mqput(hconn, hobj, bytes(middle if number < end else last), bytes(pmo), payload)
            if comp:
                raise RuntimeError(reason)
            if ends:
                if self.asynchronous and st.long_at(mqstat(hconn, 0, st.sts())[0], st.STS_COMP_CODE):
                    raise RuntimeError("MQSTAT")
                commit(first=number <= every, last=number == end)

    def _get(self, queue: pymqi.Queue, status: pymqi.Queue, messages: int, every: int) -> None:
        hconn, hobj, mqget = self._qmgr.get_handle(), queue.get_handle(), pymqe.MQGET
        md = _packed(pymqi.MD(Version=2))
        gmo = _packed(pymqi.GMO(Version=2, Options=_GET_NEXT | _AS_THE_LIBRARY, WaitInterval=1000, MatchOptions=0))
        commit = self._commit(status)
        for number in range(1, messages + 1):
            *_, comp, reason = mqget(hconn, hobj, bytes(md), bytes(gmo), _LONGEST)
            if comp:
                raise RuntimeError(reason)
            if number % every == 0 or number == messages:
                commit(first=number <= every, last=number == messages)

    def _commit(self, status: pymqi.Queue) -> Callable[..., None]:
        """Return what ends a unit of work: the record is replaced; there is none before the first one and after the last."""
        hconn, hstatus = self._qmgr.get_handle(), status.get_handle()
        mqput, mqget, mqcmit = pymqe.MQPUT, pymqe.MQGET, pymqe.MQCMIT
        md = _packed(pymqi.MD(Version=2, Persistence=1))
        pmo = _packed(pymqi.PMO(Version=2, Options=_PUT_SYNC))
        gmo = _packed(pymqi.GMO(Version=2, Options=_GET, MatchOptions=0))

        def commit(*, first: bool, last: bool) -> None:
            if not first or self.asynchronous:
                mqget(hconn, hstatus, bytes(md), bytes(gmo), _LONGEST)
            if not last or self.asynchronous:
                mqput(hconn, hstatus, bytes(md), bytes(pmo), _RECORD)
            if mqcmit(hconn)[0]:
                raise RuntimeError("MQCMIT")

        return commit


class RawAsync(Raw):
    """The same, putting without answers. It puts a record before its first group and leaves the last one, so it gets nothing."""

    asynchronous = True

    @contextmanager
    def put(self, payloads: Sequence[bytes], every: int) -> Iterator[Work]:
        with self._open(CMQC.MQOO_OUTPUT) as (queue, status):
            commit = self._commit(status)
            commit(first=False, last=False)
            yield lambda: self._put(queue, status, payloads, every)
            status.get(None, pymqi.MD(), pymqi.GMO(Options=_GET))
            self._qmgr.commit()


class Pymqi(_ByHand):
    """IBM's pseudo-code with pymqi's own classes."""

    def _put(self, queue: pymqi.Queue, status: pymqi.Queue, payloads: Sequence[bytes], every: int) -> None:
        end = len(payloads)
        for number, payload in enumerate(payloads, 1):
            flag = CMQC.MQMF_MSG_IN_GROUP if number < end else CMQC.MQMF_LAST_MSG_IN_GROUP
            md = pymqi.MD(Version=2, Persistence=CMQC.MQPER_PERSISTENT, MsgFlags=flag)
            queue.put(payload, md, pymqi.PMO(Version=2, Options=_PUT_SYNC | CMQC.MQPMO_LOGICAL_ORDER))
            if number % every == 0 or number == end:
                self._keep_status(status, md, first=number <= every, last=number == end)

    def _get(self, queue: pymqi.Queue, status: pymqi.Queue, messages: int, every: int) -> None:
        for number in range(1, messages + 1):
            md = pymqi.MD(Version=2)
            queue.get(_LONGEST, md, pymqi.GMO(Version=2, Options=_GET_NEXT, WaitInterval=1000, MatchOptions=0))
            if number % every == 0 or number == messages:
                self._keep_status(status, md, first=number <= every, last=number == messages)

    def _keep_status(self, status: pymqi.Queue, md: pymqi.MD, *, first: bool, last: bool) -> None:
        if not first:
            status.get(None, pymqi.MD(Version=2), pymqi.GMO(Version=2, Options=_GET, MatchOptions=0))
        if not last:
            record = json.dumps({"group_id": md.GroupId.hex(), "msg_seq_number": md.MsgSeqNumber})
            record_md = pymqi.MD(Version=2, Persistence=CMQC.MQPER_PERSISTENT)
            status.put(record, record_md, pymqi.PMO(Version=2, Options=_PUT_SYNC))
        self._qmgr.commit()

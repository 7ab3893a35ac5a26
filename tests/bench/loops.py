"""The three ways to put and get a group across units of work that the benchmark compares.

``Ours`` is the library. ``Raw`` makes the library's MQI calls by hand as cheaply as Python can: the bindings' C functions with
structures packed beforehand. Its calls have the library's options, and its record is as long as the library's; there are two
calls less for each group, because IBM's pattern has no record after a group's end. ``Pymqi`` is what IBM's pseudo-code becomes
when it is typed with pymqi's classes.
"""

from __future__ import annotations

import abc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import pymqi
from pymqi import CMQC, pymqe

import mqgroups
from mqembedded import EmbeddedQueueManager
from mqgroups.core.model import Role
from mqgroups.core.status import RecordState, StatusRecord, encode

QUEUE = "BENCH"
STATUS = "BENCH.STATUS"
_PUT = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_SYNC_RESPONSE | CMQC.MQPMO_NEW_MSG_ID | CMQC.MQPMO_FAIL_IF_QUIESCING
_GET = CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_FAIL_IF_QUIESCING
_GET_NEXT = _GET | CMQC.MQGMO_WAIT | CMQC.MQGMO_LOGICAL_ORDER
# What the library's consumer asks for besides: properties in front of the data, and whole messages only.
_AS_THE_LIBRARY = CMQC.MQGMO_PROPERTIES_FORCE_MQRFH2 | CMQC.MQGMO_COMPLETE_MSG
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

    name: str

    def put(self, payloads: Sequence[bytes], every: int) -> AbstractContextManager[Work]: ...
    def get(self, messages: int, every: int) -> AbstractContextManager[Work]: ...
    def close(self) -> None: ...


class Ours:
    """The library's producer and consumer."""

    name = "mqgroups"

    def __init__(self, qmgr: EmbeddedQueueManager, **settings: Any) -> None:
        self._connection = mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name, **settings)

    @contextmanager
    def put(self, payloads: Sequence[bytes], every: int) -> Iterator[Work]:
        with self._connection.group_producer(QUEUE, name="BENCH", commit_every=every, status_queue=STATUS) as producer:

            def work() -> None:
                with producer.group() as group:
                    for payload in payloads:
                        group.put(payload)

            yield work

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
    """Connection and queues of the two loops that are written by hand."""

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


class Raw(_ByHand):
    """The MQI calls with nothing around them."""

    name = "raw loop"

    def _put(self, queue: pymqi.Queue, status: pymqi.Queue, payloads: Sequence[bytes], every: int) -> None:
        hconn, hobj, hstatus = self._qmgr.get_handle(), queue.get_handle(), status.get_handle()
        mqput, mqget, mqcmit = pymqe.MQPUT, pymqe.MQGET, pymqe.MQCMIT
        md = pymqi.MD(Version=2, Persistence=1)
        # The library writes into the bytes it is given: every call gets a copy of its own.
        middle = bytearray(pymqi.MD(Version=2, Persistence=1, MsgFlags=CMQC.MQMF_MSG_IN_GROUP).pack())
        last = bytearray(pymqi.MD(Version=2, Persistence=1, MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP).pack())
        record_md = bytearray(md.pack())
        pmo = bytearray(pymqi.PMO(Version=2, Options=_PUT | CMQC.MQPMO_LOGICAL_ORDER).pack())
        record_pmo = bytearray(pymqi.PMO(Version=2, Options=_PUT).pack())
        gmo = bytearray(pymqi.GMO(Version=2, Options=_GET, MatchOptions=0).pack())
        record, end, first = _RECORD, len(payloads), True
        for number, payload in enumerate(payloads, 1):
            flags = middle if number < end else last
            *_, comp, reason = mqput(hconn, hobj, bytes(flags), bytes(pmo), payload)
            if comp:
                raise RuntimeError(reason)
            if number % every == 0 or number == end:
                if not first:
                    mqget(hconn, hstatus, bytes(record_md), bytes(gmo), 65536)
                if number < end:
                    mqput(hconn, hstatus, bytes(record_md), bytes(record_pmo), record)
                if mqcmit(hconn)[0]:
                    raise RuntimeError("MQCMIT")
                first = False

    def _get(self, queue: pymqi.Queue, status: pymqi.Queue, messages: int, every: int) -> None:
        hconn, hobj, hstatus = self._qmgr.get_handle(), queue.get_handle(), status.get_handle()
        mqput, mqget, mqcmit = pymqe.MQPUT, pymqe.MQGET, pymqe.MQCMIT
        md = bytearray(pymqi.MD(Version=2).pack())
        record_md = bytearray(pymqi.MD(Version=2, Persistence=1).pack())
        record_pmo = bytearray(pymqi.PMO(Version=2, Options=_PUT).pack())
        gmo = bytearray(
            pymqi.GMO(Version=2, Options=_GET_NEXT | _AS_THE_LIBRARY, WaitInterval=1000, MatchOptions=0).pack()
        )
        record_gmo = bytearray(pymqi.GMO(Version=2, Options=_GET, MatchOptions=0).pack())
        record, first = _RECORD, True
        for number in range(1, messages + 1):
            *_, comp, reason = mqget(hconn, hobj, bytes(md), bytes(gmo), 65536)
            if comp:
                raise RuntimeError(reason)
            if number % every == 0 or number == messages:
                if not first:
                    mqget(hconn, hstatus, bytes(md), bytes(record_gmo), 65536)
                if number < messages:
                    mqput(hconn, hstatus, bytes(record_md), bytes(record_pmo), record)
                if mqcmit(hconn)[0]:
                    raise RuntimeError("MQCMIT")
                first = False


class Pymqi(_ByHand):
    """IBM's pseudo-code with pymqi's own classes."""

    name = "pymqi loop"

    def _put(self, queue: pymqi.Queue, status: pymqi.Queue, payloads: Sequence[bytes], every: int) -> None:
        end, first = len(payloads), True
        for number, payload in enumerate(payloads, 1):
            flag = CMQC.MQMF_MSG_IN_GROUP if number < end else CMQC.MQMF_LAST_MSG_IN_GROUP
            md = pymqi.MD(Version=2, Persistence=CMQC.MQPER_PERSISTENT, MsgFlags=flag)
            pmo = pymqi.PMO(Version=2, Options=_PUT | CMQC.MQPMO_LOGICAL_ORDER)
            queue.put(payload, md, pmo)
            if number % every == 0 or number == end:
                self._keep_status(status, md, first=first, last=number == end)
                first = False

    def _get(self, queue: pymqi.Queue, status: pymqi.Queue, messages: int, every: int) -> None:
        first = True
        for number in range(1, messages + 1):
            md = pymqi.MD(Version=2)
            gmo = pymqi.GMO(Version=2, Options=_GET_NEXT, WaitInterval=1000, MatchOptions=0)
            queue.get(65536, md, gmo)
            if number % every == 0 or number == messages:
                self._keep_status(status, md, first=first, last=number == messages)
                first = False

    def _keep_status(self, status: pymqi.Queue, md: pymqi.MD, *, first: bool, last: bool) -> None:
        if not first:
            status.get(None, pymqi.MD(Version=2), pymqi.GMO(Version=2, Options=_GET, MatchOptions=0))
        if not last:
            record = json.dumps({"group_id": md.GroupId.hex(), "msg_seq_number": md.MsgSeqNumber})
            record_md = pymqi.MD(Version=2, Persistence=CMQC.MQPER_PERSISTENT)
            status.put(record, record_md, pymqi.PMO(Version=2, Options=_PUT))
        self._qmgr.commit()


LOOPS = (Raw, Ours, Pymqi)

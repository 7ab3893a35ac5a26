"""Producers and consumers under test: an owner's name, its queue, its connections, and an eye that trusts none of them.

A test that asks for ``owner`` has a case for pymqi and one for ibmmq; README.md says when which runs. What is on a queue is
looked at through raw MQI calls (``fix_mqi``), never through the library under test.

    with owner.producer(commit_every=2) as producer, producer.group() as group:
        group.put(b"first")
    assert [found.data for found in owner.on_queue()] == [b"first"]
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import re
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tenacity

import mqgroups
import mqgroups.connection.retry
import mqgroups.get.cursor
import mqgroups.status.owner
import mqgroups.status.units_of_work
from embedded_tests.fix_mqi import OK, Connection, delete, failed
from mqembedded import constants as mqi
from mqgroups.connection.holder import connection_of
from mqgroups.core.model import Role
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.operate.groups import browse_groups
from mqgroups.operate.rules.inspection import GroupInspection

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Found:
    """A message as it lies on a queue."""

    group_id: bytes
    msg_seq_number: int
    msg_flags: int
    data: bytes
    md: Any

    @property
    def is_last(self) -> bool:
        """Whether its flags say that it is the last of its group."""
        return bool(self.msg_flags & mqi.MQMF_LAST_MSG_IN_GROUP)


def is_anchor(data: bytes) -> bool:
    """Whether a message of a status queue is an anchor."""
    return b'"state":"anchor"' in data


class Owner:
    """A producer's and a consumer's name, a queue, and connections of ``mqgroups`` to put and get with."""

    def __init__(self, target: Any, queue: str, name: str, eye: Connection) -> None:
        self.target = target
        self.queue = queue
        self.name = name
        self.eye = eye
        self._connections: list[mqgroups.QueueManager] = []
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()
        self._open: list[mqgroups.OutgoingGroup] = []
        self._shared: mqgroups.QueueManager | None = None

    # --- the library under test

    def connect(self, **more: Any) -> mqgroups.QueueManager:
        """Connect once more; what is still connected after the test is closed."""
        credentials = {"user": getattr(self.target, "user", None), "password": getattr(self.target, "password", None)}
        target = self.target
        settings = {"reconnect_wait_s": 0, **credentials, **more}
        connection = mqgroups.connect(target.q_mgr_name, target.channel, target.conn_name, **settings)
        self._connections.append(connection)
        return connection

    @property
    def qmgr(self) -> mqgroups.QueueManager:
        """The connection that is used where a test gives none; a new one when it is not usable any more."""
        if self._shared is None or not self._shared.usable:
            self._shared = self.connect()
        return self._shared

    def producer(self, qmgr: mqgroups.QueueManager | None = None, **more: Any) -> mqgroups.GroupProducer:
        """Return a producer of this owner that waits for nothing."""
        settings = {"name": self.name, "commit_every": 2, "owner_wait_s": 0, "full_wait_s": 0, **more}
        producer = (qmgr or self.qmgr).group_producer(settings.pop("queue", self.queue), **settings)
        self._made.add(producer)
        return producer

    def consumer(self, qmgr: mqgroups.QueueManager | None = None, **more: Any) -> mqgroups.GroupConsumer:
        """Return a consumer of this owner that waits for nothing."""
        settings = {"name": self.name, "commit_every": 2, "owner_wait_s": 0, "wait_s": 0, "group_wait_s": 0, **more}
        consumer = (qmgr or self.qmgr).group_consumer(settings.pop("queue", self.queue), **settings)
        self._made.add(consumer)
        return consumer

    def pipe(self, target: str, qmgr: mqgroups.QueueManager | None = None, **more: Any) -> mqgroups.GroupPipe:
        """Return a pipe from this owner's queue to another one, that waits for nothing."""
        waits = {"owner_wait_s": 0, "wait_s": 0, "group_wait_s": 0, "full_wait_s": 0}
        return (qmgr or self.qmgr).group_pipe(
            self.queue, target, **{"name": self.name, "commit_every": 2, **waits, **more}
        )

    def start(self, role: str, qmgr: mqgroups.QueueManager | None = None, **more: Any) -> Any:
        """Return a producer or a consumer; ``role`` is put or get."""
        return self.producer(qmgr, **more) if role == "put" else self.consumer(qmgr, **more)

    def put_group(self, payloads: Iterable[bytes | str], **more: Any) -> None:
        """Put one group and close the producer."""
        with self.producer(**more) as producer, producer.group() as group:
            self.put_all(group, payloads)

    def open_group(
        self, payloads: Iterable[bytes], qmgr: mqgroups.QueueManager | None = None, **more: Any
    ) -> mqgroups.OutgoingGroup:
        """Put the beginning of a group, which stays open; one payload is held back."""
        group = self.producer(qmgr, **more).group()
        self._open.append(group)  # as an application holds it
        self.put_all(group, payloads)
        return group

    @staticmethod
    def put_all(group: Any, payloads: Iterable[bytes | str]) -> None:
        """Put messages of a group, which stays open."""
        for payload in payloads:
            group.put(payload)

    def resume_put(self, payloads: Sequence[bytes], **more: Any) -> int:
        """Start the producer again, put the rest of its group and close it; returns where the group was resumed."""
        with self.producer(**more) as producer, producer.group() as group:
            self.put_all(group, payloads[group.resume_from :])
            return group.resume_from

    def interrupt_put(
        self,
        payloads: Sequence[bytes],
        *,
        checkpoints: Sequence[Any] = (),
        group_name: str = "",
        properties: Any = None,
        **more: Any,
    ) -> None:
        """Put the beginning of a group and lose the connection; one payload is held back, so it takes one more."""
        qmgr = self.connect()
        group = self.producer(qmgr, **more).group(group_name, properties=properties)
        for payload, checkpoint in itertools.zip_longest(payloads, checkpoints):
            group.set_checkpoint(checkpoint)
            group.put(payload)
        qmgr.close()

    def interrupt_get(self, committed: int = 4, *, of: Sequence[bytes] = (), **more: Any) -> None:
        """Get messages, of a group that is put first, in units of work of two, and lose the connection in the next one."""
        if of:
            self.put_raw_group(of)
        qmgr = self.connect()
        for message in next(iter(self.consumer(qmgr, **more))):
            if message.msg_seq_number == committed + 1:
                break
        qmgr.close()

    def get_groups(self, **more: Any) -> list[list[bytes]]:
        """Get all groups and close the consumer."""
        with self.consumer(**more) as consumer:
            return [[message.data for message in group] for group in consumer]

    def get_poison(
        self, poison: Any = "quarantine", *, data: bytes = b"4", every: int = 3, between: Callable[[], object] = list
    ) -> None:
        """Start a consumer again and again, which fails at the message with this data, until that is taken for poison."""
        for _ in range(10):
            try:
                with self.consumer(commit_every=every, poison=poison) as consumer:
                    for message in itertools.chain.from_iterable(consumer):
                        if message.data == data:
                            raise ZeroDivisionError
            except ZeroDivisionError:
                between()
            except (mqgroups.errors.PoisonMessage, mqgroups.errors.GroupQuarantined):
                return

    @staticmethod
    def doctor(qmgr: mqgroups.QueueManager, **verbs: Callable[..., Any]) -> None:
        """Replace verbs of a connection's binding, for answers that no fault of the embedded queue manager gives."""
        connection = connection_of(qmgr)
        connection.binding = _Doctored(connection.binding, verbs)

    # --- the eye

    def on_queue(self, queue: str | None = None, options: int = 0) -> list[Found]:
        """Return what is committed on a queue, in physical order; nothing if there is no such queue."""
        handle = self.eye.open(queue or self.queue, mqi.MQOO_BROWSE)
        if handle.code == failed(mqi.MQRC_UNKNOWN_OBJECT_NAME):
            return []
        assert handle.code == OK
        answers = handle.all(mqi.MQGMO_BROWSE_NEXT | options, length=1_000_000)
        handle.close()
        return [Found(*answer.place[:2], answer.md.MsgFlags, answer.data, answer.md) for answer in answers]

    def inspections(self, queue: str | None = None) -> list[GroupInspection]:
        """Return the groups on a queue, as the library counts them."""
        with browse_groups(self.qmgr, queue or self.queue) as found:
            return list(found.inspections())

    def data(self, queue: str | None = None, options: int = 0) -> list[bytes]:
        """Return the data of what is committed on a queue."""
        return [found.data for found in self.on_queue(queue, options)]

    def status_queue(self, role: str) -> str:
        """Return the name of a status queue; ``role`` is put or get."""
        return f"MQGROUPS.{role.upper()}.{self.name}"

    def has_status_queue(self, role: str) -> bool:
        """Whether there is a status queue."""
        handle = self.eye.open(self.status_queue(role), mqi.MQOO_INQUIRE)
        handle.close()
        assert handle.code in (OK, failed(mqi.MQRC_UNKNOWN_OBJECT_NAME))
        return handle.code == OK

    def records(self, role: str) -> list[bytes]:
        """Return the committed status records, without their anchors."""
        return [found.data for found in self.on_queue(self.status_queue(role)) if not is_anchor(found.data)]

    def anchors(self, role: str) -> int:
        """Return how many anchors are beside them."""
        return sum(is_anchor(found.data) for found in self.on_queue(self.status_queue(role)))

    def status_record(self, role: str = "put", **more: Any) -> StatusRecord:
        """Return a record of an interrupted group that this owner could have left behind, with other fields."""
        fields: dict[str, Any] = {
            "role": Role(role),
            "name": self.name,
            "state": RecordState.IN_GROUP,
            "owner_id": "0" * 32,
            "epoch": 3,
            "unit_of_work": 9,
            "queue": self.queue,
            "group_id": b"G" * 24,
            "msg_seq_number": 4,
            "q_mgr_identifier": self.qmgr.q_mgr_identifier,
            "resolved_q_name": self.queue if role == "put" else "",
            "resolved_q_mgr_name": self.target.q_mgr_name if role == "put" else "",
        }
        return StatusRecord(**{**fields, **more})

    def record(self, role: str) -> dict[str, Any]:
        """Return the one committed status record."""
        (data,) = self.records(role)
        return json.loads(data)

    def take(self, number: int = 1, queue: str | None = None, options: int = 0) -> list[bytes]:
        """Get the first messages of a queue; with MQGMO_SYNCPOINT, a unit of work of the eye hides them."""
        handle = self.eye.open(queue or self.queue, mqi.MQOO_INPUT_SHARED)
        answers = [handle.get(options) for _ in range(number)]
        assert {answer.code for answer in answers} == {OK}
        assert handle.close() == OK
        return [answer.data for answer in answers]

    def take_record(self, role: str, options: int = 0) -> bytes:
        """Get the one status record, and leave its anchor; with MQGMO_SYNCPOINT, a unit of work of the eye hides it."""
        (record,) = (found for found in self.on_queue(self.status_queue(role)) if not is_anchor(found.data))
        handle = self.eye.open(self.status_queue(role), mqi.MQOO_INPUT_EXCLUSIVE)
        assert handle.code == OK
        answer = handle.get(options, match=mqi.MQMO_MATCH_MSG_ID, MsgId=record.md.MsgId)
        assert answer.code == OK
        assert handle.close() == OK
        return answer.data

    def empty(self, queue: str | None = None) -> None:
        """Take all committed messages from a queue."""
        handle = self.eye.open(queue or self.queue, mqi.MQOO_INPUT_SHARED)
        while handle.get(length=1_000_000).code == OK:
            pass
        assert handle.close() == OK

    def put_raw(self, data: bytes, queue: str | None = None, **fields: Any) -> None:
        """Put one message outside syncpoint; ``fields`` are those of the MQMD."""
        handle = self.eye.open(queue or self.queue, mqi.MQOO_OUTPUT)
        assert handle.code == OK
        assert handle.put(data, **fields).code == OK
        handle.close()

    def put_raw_group(self, payloads: Sequence[bytes], *, whole: bool = True) -> None:
        """Put a group, or its beginning, outside syncpoint."""
        handle = self.eye.open(self.queue, mqi.MQOO_OUTPUT)
        for number, data in enumerate(payloads, 1):
            last = whole and number == len(payloads)
            flags = mqi.MQMF_LAST_MSG_IN_GROUP if last else mqi.MQMF_MSG_IN_GROUP
            assert handle.put(data, mqi.MQPMO_LOGICAL_ORDER, MsgFlags=flags).code == OK
        handle.close()

    def own(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return properties without those that an API exit adds to each message of this queue manager."""
        return {name: value for name, value in properties.items() if name not in self._of_exit}

    @functools.cached_property
    def _of_exit(self) -> set[str]:
        queue = self.eye.open("TEST.TEMPORARY.MODEL", mqi.MQOO_INPUT_SHARED | mqi.MQOO_OUTPUT)
        assert queue.put(b"").code == OK
        header = queue.get(mqi.MQGMO_PROPERTIES_FORCE_MQRFH2).data
        assert queue.close() == OK
        return set(re.findall(r"<(\w+)", header.decode("latin-1")))

    def set_attribute(self, selector: int, value: int) -> None:
        """MQSET on the queue."""
        handle = self.eye.open(self.queue, mqi.MQOO_SET)
        assert handle.set(selector, value) == OK
        handle.close()

    # --- the end

    def close(self) -> None:
        """Close all connections and delete the status queues, those of workers too: other tests look at all that there are."""
        for connection in self._connections:
            connection.close()
        for made in self._made:
            # What is collected later would be told in another test.
            with contextlib.suppress(Exception):
                made.close()
        for role in ("put", "get"):
            of_workers = [f"{self.status_queue(role)}.{number}" for number in range(1, 5)]
            for status_queue in (self.status_queue(role), *of_workers):
                handle = self.eye.open(status_queue, mqi.MQOO_INQUIRE)
                if handle.code == OK:
                    delete(handle)


class _Doctored:
    def __init__(self, binding: Any, verbs: dict[str, Callable[..., Any]]) -> None:
        self._binding = binding
        self.__dict__.update(verbs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._binding, name)


class Clock:
    """Time that passes only when somebody sleeps, or when a test says so; ``tick_s`` at every reading.

    Attributes:
        now_s: the time, seconds.
        naps: how long was slept, each time.
        on_sleep: called in every sleep: what goes on in the world meanwhile.
    """

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.tick_s = 0.0
        self.naps: list[float] = []
        self.on_sleep: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        """As ``time.monotonic``."""
        self.now_s += self.tick_s
        return self.now_s

    def time_ns(self) -> int:
        """As ``time.time_ns``."""
        return int(self.now_s * 1_000_000_000)

    def sleep(self, seconds: float) -> None:
        """As ``time.sleep``."""
        self.naps.append(seconds)
        self.now_s += seconds
        self.on_sleep()


class Program:
    """Runs Python programs in processes of their own, against the queue manager under test.

    A program begins with ``connect()``, ``queue`` and ``name`` defined.
    """

    PROLOGUE = """
import gc, os, sys
import mqgroups
env = os.environ
queue, name = env["TEST_QUEUE"], env["TEST_NAME"]
def connect():
    return mqgroups.connect(env["TEST_Q_MGR"], env["TEST_CHANNEL"], env["TEST_CONN_NAME"],
                            user=env.get("TEST_USER"), password=env.get("TEST_PASSWORD"))
"""

    def __init__(self, owner: Owner, binding: str) -> None:
        target = owner.target
        embedded = target.environment()
        given = {
            "MQGROUPS_MQI": binding,
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "TEST_QUEUE": owner.queue,
            "TEST_NAME": owner.name,
            "TEST_Q_MGR": target.q_mgr_name,
            "TEST_CHANNEL": target.channel,
            "TEST_CONN_NAME": target.conn_name,
            "TEST_USER": getattr(target, "user", None),
            "TEST_PASSWORD": getattr(target, "password", None),
        }
        self.environment = {**os.environ, **embedded, **{key: value for key, value in given.items() if value}}

    def command(self, text: str) -> list[str]:
        """Return the command that runs the program ``text``."""
        return [sys.executable, "-W", "error", "-c", self.PROLOGUE + text]

    def run(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run it; returns what it wrote and how it ended."""
        return subprocess.run(
            self.command(text), env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )


# --- fixtures


@pytest.fixture
def make_owner(mq, make_queue, connect, binding, monkeypatch):
    """A function that makes an owner on the queue manager under test, or on ``target`` with a ``queue`` and a ``name``."""
    monkeypatch.setenv("MQGROUPS_MQI", binding.__name__)
    owners = []

    def make(target: Any = None, queue: str | None = None, model: str | None = None, name: str | None = None) -> Owner:
        eye = connect() if target is None else connect(target)
        name = name or f"TEST.{os.getpid()}.{next(_numbers)}"
        owner = Owner(target or mq, queue or make_queue(model), name, eye)
        owners.append(owner)
        return owner

    yield make
    for owner in owners:
        owner.close()


@pytest.fixture
def owner(make_owner):
    """An owner."""
    return make_owner()


@pytest.fixture
def clock(monkeypatch):
    """Time for everything that waits or measures in the library, but not for the queue manager."""
    clock = Clock()
    modules = (
        tenacity,
        mqgroups.connection.retry,
        mqgroups.status.units_of_work,
        mqgroups.status.owner,
        mqgroups.get.cursor,
    )
    for module in modules:
        monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def program(owner, binding):
    """Runs programs in processes of their own."""
    return Program(owner, binding.__name__)

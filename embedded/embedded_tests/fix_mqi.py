"""The MQI as the bindings' C functions give it: completion code, reason code, structures and data, and no exceptions.

pymqi and ibmmq raise on every warning, before they unpack what came back; a test of Tables 2 and 17 must see it. So these
thin functions call ``pymqe.MQPUT`` and its siblings with packed structures of the binding's own classes.

    out = connection.open(queue, MQOO_OUTPUT)
    answer = out.put(b"first", MQPMO_LOGICAL_ORDER, MsgFlags=MQMF_MSG_IN_GROUP)
    assert answer.code == OK
    assert answer.md.MsgSeqNumber == 1
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from mqembedded import EmbeddedQueueManager
from mqembedded import constants as c
from mqembedded.constants import reason_name
from mqembedded.testing.options import wanted
from mqembedded.testing.under_test import MQSC
from mqembedded.wire.pcf_constants import (
    MQHSTATE_ACTIVE,
    MQIACF_HANDLE_STATE,
    MQIACF_Q_HANDLE,
    MQIACF_Q_STATUS_TYPE,
)

# Longer than anything takes that is expected to happen.
PATIENCE_S = 30
PATIENCE_MS = PATIENCE_S * 1000
# More messages than any test puts on a queue.
MOST = 1000
_RETURN_OF_PROPERTIES = (
    c.MQGMO_NO_PROPERTIES
    | c.MQGMO_PROPERTIES_IN_HANDLE
    | c.MQGMO_PROPERTIES_FORCE_MQRFH2
    | c.MQGMO_PROPERTIES_COMPATIBILITY
)


@dataclass(frozen=True, slots=True, repr=False)
class Code:
    """Completion code and reason code."""

    comp: int
    reason: int

    def __repr__(self) -> str:
        return f"{('MQCC_OK', 'MQCC_WARNING', 'MQCC_FAILED')[self.comp]} {self.reason} {reason_name(self.reason)}"


OK = Code(c.MQCC_OK, c.MQRC_NONE)


def warning(reason: int) -> Code:
    """Return MQCC_WARNING with this reason."""
    return Code(c.MQCC_WARNING, reason)


def failed(reason: int) -> Code:
    """Return MQCC_FAILED with this reason."""
    return Code(c.MQCC_FAILED, reason)


EMPTY = failed(c.MQRC_NO_MSG_AVAILABLE)


@dataclass(slots=True)
class Answer:
    """What a call answered: the code, and what it returns besides."""

    code: Code
    md: Any = None
    pmo: Any = None
    gmo: Any = None
    od: Any = None
    data: bytes = b""
    length: int = 0

    @property
    def place(self) -> tuple[bytes, int, int]:
        """GroupId, MsgSeqNumber, Offset."""
        return self.md.GroupId, self.md.MsgSeqNumber, self.md.Offset

    @property
    def status(self) -> str:
        """GroupStatus, SegmentStatus and Segmentation as characters."""
        return bytes((self.gmo.GroupStatus, self.gmo.SegmentStatus, self.gmo.Segmentation)).decode()


def text(value: bytes) -> str:
    """Return a character field without its padding."""
    return value.split(b"\0", 1)[0].decode().rstrip()


class Mqi:
    """One binding: its C functions, and its structure classes at the versions that know groups."""

    def __init__(self, package: Any) -> None:
        self.package = package
        self.name = package.__name__
        self.c = package.pymqe if self.name == "pymqi" else package.ibmmqc

    def md(self, **fields: Any) -> Any:
        return self.package.MD(**{"Version": 2, **fields})

    def gmo(self, **fields: Any) -> Any:
        return self.package.GMO(**{"Version": 2, "MatchOptions": c.MQMO_NONE, **fields})

    def pmo(self, **fields: Any) -> Any:
        return self.package.PMO(**{"Version": 1, **fields})

    def od(self, **fields: Any) -> Any:
        return self.package.OD(**{"Version": 3, **fields})

    def connect(
        self,
        q_mgr_name: str,
        channel: str,
        conn_name: str,
        *,
        user: str | None = None,
        password: str | None = None,
        options: int = c.MQCNO_HANDLE_SHARE_BLOCK,
        max_msg_length: int = 4_194_304,
        mqcd: Mapping[str, Any] = MappingProxyType({}),
    ) -> tuple[Code, Connection]:
        """MQCONNX; ``mqcd`` are more fields of MQCD. All threads of the process may use the handle, one after the other."""
        q_mgr = self.package.QueueManager(None, disconnect_on_exit=False)
        cd = self.package.CD(**mqcd)
        cd.ChannelName = channel.encode()
        cd.ConnectionName = conn_name.encode()
        cd.ChannelType = self.package.CMQXC.MQCHT_CLNTCONN
        cd.TransportType = c.MQXPT_TCP
        cd.MaxMsgLength = max_msg_length
        credentials = {} if user is None else {"user": user, "password": password or ""}
        code = OK
        try:
            q_mgr.connect_with_options(q_mgr_name, cd=cd, opts=options, **credentials)
        except self.package.MQMIError as error:
            code = Code(error.comp, error.reason)
        return code, Connection(self, q_mgr.get_handle() if code.comp != c.MQCC_FAILED else -1)


CHILD = """
import importlib, os, sys
from mqembedded.libmqm.build import build, load
load(build())
from mqembedded import constants as c
from embedded_tests.fix_mqi import Mqi, OK, shared_input
binding, q_mgr_name, channel, conn_name, queue, *more = sys.argv[1:]
_, connection = Mqi(importlib.import_module(binding)).connect(q_mgr_name, channel, conn_name)
"""


def child(program: str, mqi: Mqi, mq: Any, queue: str, *more: object) -> list[str]:
    """Return the command of a process with a ``connection`` of its own; ``queue`` and ``more`` are its arguments."""
    arguments = [mqi.name, mq.q_mgr_name, mq.channel, mq.conn_name, queue, *map(str, more)]
    return [sys.executable, "-c", CHILD + program, *arguments]


class Connection:
    """A connection handle."""

    def __init__(self, mqi: Mqi, hconn: int) -> None:
        self.mqi = mqi
        self.hconn = hconn

    def open(self, name: str, options: int, *, od: Any = None, **fields: Any) -> ObjectHandle:
        """MQOPEN; the handle says how it went."""
        od = od or self.mqi.od(ObjectName=name.encode(), **fields)
        hobj, packed, comp, reason = self.mqi.c.MQOPEN(self.hconn, od.pack(), options)
        return ObjectHandle(self, hobj, Code(comp, reason), _unpacked(od, packed))

    def put1(
        self, name: str, data: bytes = b"", options: int = 0, *, od: Any = None, md: Any = None, **fields: Any
    ) -> Answer:
        """MQPUT1."""
        od = od or self.mqi.od(ObjectName=name.encode())
        md = md or self.mqi.md(**fields)
        pmo = self.mqi.pmo(Options=_put_options(options))
        packed_md, packed_pmo, comp, reason = self.mqi.c.MQPUT1(self.hconn, od.pack(), md.pack(), pmo.pack(), data)
        return Answer(Code(comp, reason), md=_unpacked(md, packed_md), pmo=_unpacked(pmo, packed_pmo))

    def commit(self) -> Code:
        """MQCMIT."""
        return Code(*self.mqi.c.MQCMIT(self.hconn))

    def back_out(self) -> Code:
        """MQBACK."""
        return Code(*self.mqi.c.MQBACK(self.hconn))

    def begin(self) -> Code:
        """MQBEGIN."""
        return Code(*self.mqi.c.MQBEGIN(self.hconn))

    def disconnect(self) -> Code:
        """MQDISC."""
        return Code(*self.mqi.c.MQDISC(self.hconn))

    def depth(self, name: str) -> int:
        """CURDEPTH."""
        handle = self.open(name, c.MQOO_INQUIRE)
        _, depth = handle.inquire(c.MQIA_CURRENT_Q_DEPTH)
        handle.close()
        return depth

    def browse(self, name: str) -> list[Answer]:
        """Return what is visible on a queue, in physical order, by a handle of its own."""
        handle = self.open(name, c.MQOO_BROWSE)
        found = handle.all(c.MQGMO_BROWSE_NEXT)
        handle.close()
        return found


class ObjectHandle:
    """An object handle."""

    def __init__(self, connection: Connection, hobj: int, code: Code, od: Any) -> None:
        self.connection = connection
        self.mqi = connection.mqi
        self.hobj = hobj
        self.code = code
        self.od = od

    @property
    def name(self) -> str:
        """ObjectName as MQOPEN returned it."""
        return text(self.od.ObjectName)

    def put(self, data: bytes = b"", options: int = 0, *, md: Any = None, pmo: Any = None, **fields: Any) -> Answer:
        """MQPUT, outside syncpoint unless the options say otherwise; ``fields`` are those of the MQMD."""
        md = md or self.mqi.md(**fields)
        pmo = pmo or self.mqi.pmo(Options=_put_options(options))
        packed_md, packed_pmo, comp, reason = self.mqi.c.MQPUT(
            self.connection.hconn, self.hobj, md.pack(), pmo.pack(), data
        )
        return Answer(Code(comp, reason), md=_unpacked(md, packed_md), pmo=_unpacked(pmo, packed_pmo))

    def get(
        self,
        options: int = 0,
        *,
        match: int = c.MQMO_NONE,
        wait_ms: int = 0,
        length: int = 4096,
        md: Any = None,
        gmo: Any = None,
        **fields: Any,
    ) -> Answer:
        """MQGET, outside syncpoint and without properties unless the options say otherwise; ``fields`` are those of the MQMD.

        An API exit may have added properties; without MQGMO_NO_PROPERTIES they would be an MQRFH2 in front of the data.
        """
        md = md or self.mqi.md(**fields)
        if gmo is None:
            options = _get_options(options) | (c.MQGMO_WAIT if wait_ms else 0)
            gmo = self.mqi.gmo(Options=options, MatchOptions=match, WaitInterval=wait_ms)
        data, packed_md, packed_gmo, data_length, comp, reason = self.mqi.c.MQGET(
            self.connection.hconn, self.hobj, md.pack(), gmo.pack(), length
        )
        code = Code(comp, reason)
        if comp == c.MQCC_FAILED:
            data = b""
        return Answer(code, md=_unpacked(md, packed_md), gmo=_unpacked(gmo, packed_gmo), data=data, length=data_length)

    def all(self, options: int = 0, **more: Any) -> list[Answer]:
        """MQGET until there is nothing left; every call before must succeed."""
        found = []
        while (answer := self.get(options, **more)).code == OK:
            found.append(answer)
            assert len(found) <= MOST, "the same messages come round and round"
        assert answer.code == EMPTY
        return found

    def close(self, options: int = 0) -> Code:
        """MQCLOSE."""
        return Code(*self.mqi.c.MQCLOSE(self.connection.hconn, self.hobj, options))

    def inquire(self, selector: int) -> tuple[Code, Any]:
        """MQINQ of one attribute, as pymqi and ibmmq ask for it; character attributes as they come."""
        if self.mqi.name == "pymqi":
            value, comp, reason = self.mqi.c.MQINQ(self.connection.hconn, self.hobj, selector)
            return Code(comp, reason), value
        code, integers, characters = self.inquire_many([selector])
        if c.MQIA_FIRST <= selector <= c.MQIA_LAST:
            return code, integers[0] if integers else None
        return code, characters

    def inquire_many(
        self, selectors: list[int], int_count: int | None = None, char_length: int | None = None
    ) -> tuple[Code, list[int], bytes]:
        """MQINQ of several attributes; ibmmq only, pymqi has no room for them."""
        from ibmmq.mqinq import get_attr_info

        info = get_attr_info(selectors)
        int_count = info["intAttrCount"] if int_count is None else int_count
        char_length = info["charAttrLen"] if char_length is None else char_length
        integers, characters, comp, reason = self.mqi.c.MQINQ(
            self.connection.hconn, self.hobj, selectors, [], int_count, info["charAttrCount"], char_length
        )
        return Code(comp, reason), integers, characters

    def set(self, selector: int, value: Any) -> Code:
        """MQSET of one attribute."""
        if self.mqi.name == "pymqi":
            return Code(*self.mqi.c.MQSET(self.connection.hconn, self.hobj, selector, value))
        integers, characters = ([value], b"") if isinstance(value, int) else ([], value)
        *_, comp, reason = self.mqi.c.MQSET(self.connection.hconn, self.hobj, [selector], integers, characters)
        return Code(comp, reason)


def _unpacked(structure: Any, packed: bytes) -> Any:
    structure.unpack(packed)  # pymqi's returns nothing, ibmmq's returns the structure
    return structure


def _put_options(options: int) -> int:
    return options if options & c.MQPMO_SYNCPOINT else options | c.MQPMO_NO_SYNCPOINT


def _get_options(options: int) -> int:
    if not options & (c.MQGMO_SYNCPOINT | c.MQGMO_SYNCPOINT_IF_PERSISTENT):
        options |= c.MQGMO_NO_SYNCPOINT
    return options if options & _RETURN_OF_PROPERTIES else options | c.MQGMO_NO_PROPERTIES


# --- fixtures


@pytest.fixture(scope="session")
def mqi(binding):
    """The binding's MQI; a test that asks for it, or for a connection, has a case for pymqi and one for ibmmq."""
    return Mqi(binding)


@pytest.fixture
def connect(mqi, mq, make_queue):
    """A function that connects once more, to the queue manager under test or to ``to``.

    What is still connected after the test is backed out and disconnected, before the test's queues are deleted.
    """
    connections = []

    def connect_once(to=None, **more: Any) -> Connection:
        target = to or mq
        credentials = {each: getattr(target, each, None) for each in ("user", "password")}
        conn_name = more.pop("conn_name", target.conn_name)
        code, connection = mqi.connect(target.q_mgr_name, target.channel, conn_name, **{**credentials, **more})
        assert code == OK
        connections.append(connection)
        return connection

    yield connect_once
    for connection in connections:
        connection.back_out()
        connection.disconnect()


@pytest.fixture
def connection(connect):
    """A connection."""
    return connect()


@pytest.fixture
def no_api_exit(connection, queue):
    """For a test that counts properties and headers, or bytes with them: it is skipped where an API exit adds some of its own."""
    connection.put1(queue)
    if shared_input(connection, queue).get(c.MQGMO_PROPERTIES_FORCE_MQRFH2).data:
        pytest.skip("an API exit adds properties to each message of this queue manager")


@pytest.fixture(scope="module")
def module_queue_manager(pytestconfig, _client_library, mq_mqsc, tmp_path_factory):
    """A function that starts an embedded queue manager for the tests of a module, with these MQSC commands, or those of a file.

    It is what ``own_queue_manager`` is for one test. The tests leave nothing that is in another one's way (``empty``). A module
    that uses it is marked ``embedded``.
    """
    with contextlib.ExitStack() as started:

        def start(commands: str | Path = "", name: str = "QM2", **more: Any) -> EmbeddedQueueManager:
            file = commands
            if isinstance(commands, str):
                file = tmp_path_factory.mktemp("module") / "commands.mqsc"
                file.write_text(commands)
            files = [MQSC, *mq_mqsc, file]
            more.setdefault("readings", wanted(pytestconfig).readings)
            return started.enter_context(EmbeddedQueueManager(name, mqsc=files, **more))

        yield start


def _is_empty(connection: Connection, source: ObjectHandle, name: str) -> bool:
    return not source.all() and connection.depth(name) == 0


def empty(connection: Connection, *names: str) -> None:
    """Get what is on these queues, and what comes back to them from the units of work of connections that were lost."""
    for name in names:
        source = shared_input(connection, name)
        wait_until(functools.partial(_is_empty, connection, source, name))
        source.close()


@pytest.fixture
def faults(mq):
    """The embedded queue manager, to arm faults; none is left afterwards."""
    mq.queue_manager.clear_faults()
    yield mq.queue_manager
    mq.queue_manager.clear_faults()


@pytest.fixture
def count_calls(mq):
    """A function that returns how many calls of each verb were made since it was last asked."""
    before = Counter(mq.queue_manager.calls())

    def count() -> dict[str, int]:
        nonlocal before
        now = Counter(mq.queue_manager.calls())
        since, before = now - before, now
        return dict(since)

    return count


@pytest.fixture
def background():
    """A function that runs a call in a thread; returns its Future."""
    with ThreadPoolExecutor(max_workers=8) as pool:

        def run(call: Callable[..., Any], *arguments: Any, **more: Any) -> Future[Any]:
            started = threading.Event()

            def called() -> Any:
                started.set()
                return call(*arguments, **more)

            future = pool.submit(called)
            assert started.wait(PATIENCE_S)
            return future

        yield run


@pytest.fixture
def count_waiting(mq, binding):
    """A function that returns how many MQGETs wait at a queue: handles that are active (DISPLAY QSTATUS, HSTATE)."""
    q_mgr = mq.connect(binding)
    commands = binding.PCFExecute(q_mgr)

    def count(name: str) -> int:
        asked = {c.MQCA_Q_NAME: name.encode(), MQIACF_Q_STATUS_TYPE: MQIACF_Q_HANDLE}
        return sum(row[MQIACF_HANDLE_STATE] == MQHSTATE_ACTIVE for row in commands.MQCMD_INQUIRE_Q_STATUS(asked))

    yield count
    commands.disconnect()
    q_mgr.disconnect()


@pytest.fixture
def waiting_get(background, count_waiting):
    """A function that starts an MQGET which waits, in a thread, and returns when it does."""

    def start(source: ObjectHandle, options: int = 0, wait_ms: int = PATIENCE_MS, **more: Any) -> Future[Answer]:
        name = text(source.od.ObjectName)
        before = count_waiting(name)
        future = background(source.get, options, wait_ms=wait_ms, **more)
        wait_until(lambda: count_waiting(name) > before)
        return future

    return start


def wait_until(condition: Callable[[], bool]) -> None:
    """Return when the condition holds; each look asks the queue manager, so there is nothing to sleep for."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"still waiting after {PATIENCE_S} s"


def delete(handle: ObjectHandle) -> None:
    """Delete a queue that is open, with what is on it; what a lost connection has in its unit of work is waited for."""
    wait_until(lambda: handle.close(c.MQCO_DELETE_PURGE) == OK)


def shared_input(connection: Connection, name: str) -> ObjectHandle:
    """Open a queue to get from it, and to browse it."""
    return connection.open(name, c.MQOO_INPUT_SHARED | c.MQOO_BROWSE)

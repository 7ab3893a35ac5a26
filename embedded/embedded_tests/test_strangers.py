"""Peers that connect and do not say who they are: they cost little, they are gone in time, and nobody else notices them."""

from __future__ import annotations

import contextlib
import errno
import resource
import socket
import threading
import time
from pathlib import Path

import pytest

from embedded_tests.fix_mqi import OK, PATIENCE_S, wait_until
from mqembedded.constants import MQCC_FAILED, MQCC_OK, MQRC_NONE, MQRC_RESOURCE_PROBLEM
from mqembedded.queue_manager import QueueManager
from mqembedded.serve import server as serving
from mqembedded.serve.control import Control
from mqembedded.serve.start_up import started
from mqembedded.wire.frames import (
    HEADER,
    MAX_FIRST_BODY_LENGTH,
    FrameError,
    FrameReader,
    FrameTimeout,
    decode_reply,
    encode_request,
)
from mqembedded.wire.verbs import BY_NAME, table_digest

Q = "TEST.LOCAL"

pytestmark = pytest.mark.embedded


@contextlib.contextmanager
def strangers(address, number):
    """So many connections that say nothing."""
    with contextlib.ExitStack() as open_sockets:
        for _ in range(number):
            open_sockets.enter_context(socket.create_connection(address, timeout=PATIENCE_S))
        yield


def descriptors(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def is_hung_up(sock):
    """Whether the peer ends the connection without a word."""
    sock.settimeout(PATIENCE_S)
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.fixture(scope="module")
def queue_manager(module_queue_manager):
    return module_queue_manager()


@pytest.fixture
def lowered(own_queue_manager):
    """A queue manager with few file descriptors left."""
    queue_manager = own_queue_manager()
    few = descriptors(queue_manager.pid) + 40
    resource.prlimit(queue_manager.pid, resource.RLIMIT_NOFILE, (few, few))
    return queue_manager


def test_strangers_that_use_up_the_file_descriptors_keep_nobody_out(lowered, connect):
    before = connect(to=lowered)
    with strangers((lowered.host, lowered.port), 300):
        assert before.put1(Q, b"with the old connection").code == OK
        for _ in range(3):
            assert connect(to=lowered).put1(Q, b"with a new one").code == OK
    after = connect(to=lowered)
    assert after.put1(Q, b"afterwards").code == OK
    assert after.depth(Q) == 5


def test_applications_that_use_up_the_file_descriptors_keep_nobody_out_for_good(lowered, connect):
    # Given more connections than there is room for: those that are there stay
    held = []

    def one_more():
        try:
            held.append(connect(to=lowered))
        except AssertionError:
            return False
        return True

    while one_more():
        assert len(held) < 40
    assert all(connection.put1(Q, b"m").code == OK for connection in held)
    # When one goes, another one comes
    held.pop(0).disconnect()
    wait_until(one_more)
    assert held[-1].put1(Q, b"m").code == OK


@pytest.mark.slow
def test_a_thousand_idle_strangers_leave_it_working(queue_manager, connect):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip(f"this system allows {hard} file descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    try:
        before = connect(to=queue_manager)
        with strangers((queue_manager.host, queue_manager.port), 1000):
            assert before.put1(Q, b"m").code == OK
            assert connect(to=queue_manager).put1(Q, b"m").code == OK
        assert connect(to=queue_manager).put1(Q, b"m").code == OK
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_server_raises_its_soft_limit_of_file_descriptors(queue_manager):
    soft, hard = resource.prlimit(queue_manager.pid, resource.RLIMIT_NOFILE)
    assert soft == min(hard, 65_536)


def test_strangers_that_announce_large_bodies_are_hung_up_on(queue_manager):
    for verb in ("MQCONNX", "CONTROL", "CHANNEL", "MQPUT"):
        with socket.create_connection((queue_manager.host, queue_manager.port)) as sock:
            sock.sendall(HEADER.pack(MAX_FIRST_BODY_LENGTH + 1, BY_NAME[verb].code, 1))
            assert is_hung_up(sock)


def test_a_stranger_may_not_take_its_time_byte_by_byte():
    near, far = socket.socketpair()
    with near, far:
        reader = FrameReader(far, time.monotonic() + 0.2)
        near.sendall(HEADER.pack(1000, 1, 1))
        stop = threading.Event()

        def drip():
            while not stop.wait(0.01):
                near.sendall(b"x")

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            with pytest.raises(FrameTimeout):
                reader.read()
        finally:
            stop.set()
            dripping.join()


def test_a_trusted_peer_may_take_its_time_and_send_much():
    near, far = socket.socketpair()
    with near, far:
        reader = FrameReader(far, time.monotonic() - 1)
        near.sendall(HEADER.pack(MAX_FIRST_BODY_LENGTH + 1, 1, 1))
        with pytest.raises(FrameError, match=str(MAX_FIRST_BODY_LENGTH)):
            reader.read()
        reader.trust()
        near.sendall(HEADER.pack(MAX_FIRST_BODY_LENGTH + 1, 1, 1) + b"x" * (MAX_FIRST_BODY_LENGTH + 1))
        assert reader.read() == (1, 1, b"x" * (MAX_FIRST_BODY_LENGTH + 1))


# --- in this process


@pytest.fixture
def server(tmp_path: Path):
    """A server whose strangers have little time, and where it listens."""
    q_mgr = started("QM1", tmp_path)
    served = serving.Server(q_mgr, stranger_s=0.1)
    address = served.listen("127.0.0.1", 0)
    accepting = threading.Thread(target=served.serve)
    accepting.start()
    yield address
    served.stop()
    accepting.join()


def test_quiescing_is_answered_although_another_connection_ends_meanwhile(tmp_path, monkeypatch):
    quiesce = QueueManager.quiesce
    stopped_early: list[bool] = []

    def quiesce_and_end_another(q_mgr):
        quiesce(q_mgr)
        served._stop_when_idle()
        stopped_early.append(not served.to_stop.empty())

    monkeypatch.setattr(QueueManager, "quiesce", quiesce_and_end_another)
    served = serving.Server(started("QM1", tmp_path))
    control = Control(*served.listen("127.0.0.1", 0), served.token, "QM1")
    accepting = threading.Thread(target=served.serve)
    accepting.start()
    control.quiesce()
    assert served.to_stop.get(timeout=PATIENCE_S) is None
    served.stop()
    accepting.join()
    assert stopped_early == [False]


def connects(address):
    """Return completion and reason code of MQCONNX."""
    verb = BY_NAME["MQCONNX"]
    values = [table_digest().encode(), 0, b"test", b"", b"SYSTEM.DEF.SVRCONN", b"", b"", 0, 0, 0, b"", 1, 1]
    with socket.create_connection(address, timeout=PATIENCE_S) as sock:
        sock.sendall(encode_request(verb, 1, values))
        frame = FrameReader(sock).read()
    assert frame is not None
    return decode_reply(verb, frame[2])[:2]


def test_a_stranger_that_says_nothing_is_hung_up_on(server):
    with socket.create_connection(server) as sock:
        assert is_hung_up(sock)


def test_a_thread_that_cannot_be_started_costs_one_connection(server, monkeypatch):
    start, refused = threading.Thread.start, threading.Event()

    def refuse_once(thread):
        if not refused.is_set():
            refused.set()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_once)
    with socket.create_connection(server) as sock:
        assert is_hung_up(sock)
    assert refused.is_set()
    assert connects(server) == (MQCC_OK, MQRC_NONE)


def test_trouble_with_accepting_is_told_once(server, monkeypatch, caplog):
    accept, failures = socket.socket.accept, iter(range(5))

    def fail_at_first(listener):
        for number in failures:
            raise OSError(errno.EMFILE, f"Too many open files, {number}")
        return accept(listener)

    monkeypatch.setattr(socket.socket, "accept", fail_at_first)
    # The accept that was under way is the real one.
    assert connects(server) == (MQCC_OK, MQRC_NONE)
    assert connects(server) == (MQCC_OK, MQRC_NONE)
    assert next(failures, None) is None
    told = [record.message for record in caplog.records if "cannot be accepted" in record.message]
    assert len(told) == 1
    assert told[0].endswith("Too many open files, 0")


def test_an_application_without_descriptors_to_wait_with_is_told_so(server, monkeypatch):
    def refuse(_sock, _line):
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(serving, "SocketWaiter", refuse)
        assert connects(server) == (MQCC_FAILED, MQRC_RESOURCE_PROBLEM)
    assert connects(server) == (MQCC_OK, MQRC_NONE)

"""MQCONNX and MQDISC: names, credentials, and where a connection handle may be used."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from embedded_tests.fix_mqi import OK, PATIENCE_S, child, failed
from embedded_tests.tables import table
from mqembedded import EmbeddedQueueManager, EmbeddedQueueManagerError
from mqembedded import constants as c
from mqembedded.serve import server
from mqembedded.serve.start_up import started

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.embedded


def code_of(mqi, mq, **changed):
    """Connect, with something changed; returns the code. A connection that was made is ended."""
    given = {"q_mgr_name": mq.q_mgr_name, "channel": mq.channel, "conn_name": mq.conn_name, **changed}
    code, connection = mqi.connect(given.pop("q_mgr_name"), given.pop("channel"), given.pop("conn_name"), **given)
    if code == OK:
        assert connection.disconnect() == OK
    return code


@table("name", ["QM1", ""])
def test_the_queue_manager_by_its_name_and_as_the_default(mqi, mq, name):
    assert code_of(mqi, mq, q_mgr_name=name) == OK


@table("name", ["QM9", "qm1", "QM"])
def test_another_queue_managers_name(mqi, mq, name):
    assert code_of(mqi, mq, q_mgr_name=name) == failed(c.MQRC_Q_MGR_NAME_ERROR)


def test_an_unknown_channel(mqi, mq):
    assert code_of(mqi, mq, channel="NO.SUCH.SVRCONN") == failed(c.MQRC_UNKNOWN_CHANNEL_NAME)


def test_nothing_listens(mqi, mq):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: nobody else can take the port meanwhile
        conn_name = f"127.0.0.1({taken.getsockname()[1]})"
        assert code_of(mqi, mq, conn_name=conn_name) == failed(c.MQRC_HOST_NOT_AVAILABLE)


@table(
    ("user", "password", "expected"),
    [
        ("app", "passw0rd", OK),
        ("app", "wrong", failed(c.MQRC_NOT_AUTHORIZED)),
        ("app", "", failed(c.MQRC_NOT_AUTHORIZED)),
        ("nobody", "passw0rd", failed(c.MQRC_NOT_AUTHORIZED)),
        ("APP", "passw0rd", failed(c.MQRC_NOT_AUTHORIZED)),
        (None, None, OK),
    ],
)
def test_credentials_that_are_given_must_be_right(mqi, mq, user, password, expected):
    assert code_of(mqi, mq, user=user, password=password) == expected


def test_a_refused_connection_leaves_the_next_one_alone(mqi, mq):
    assert code_of(mqi, mq, user="app", password="wrong") == failed(c.MQRC_NOT_AUTHORIZED)
    assert code_of(mqi, mq, user="app", password="passw0rd") == OK


def test_after_mqdisc_the_handle_is_no_handle(connect, queue):
    connection = connect()
    out = connection.open(queue, c.MQOO_OUTPUT)
    assert connection.disconnect() == OK
    assert out.put(b"").code == failed(c.MQRC_HCONN_ERROR)
    assert connection.disconnect() == failed(c.MQRC_HCONN_ERROR)
    assert connection.open(queue, c.MQOO_OUTPUT).code == failed(c.MQRC_HCONN_ERROR)


def test_handles_are_never_zero_and_never_given_twice(connect, queue):
    first = connect()
    known = {first.hconn}
    first.disconnect()
    for _ in range(3):
        connection = connect()
        assert connection.hconn > 0
        assert connection.hconn not in known
        known.add(connection.hconn)
        handle = connection.open(queue, c.MQOO_OUTPUT)
        assert handle.hobj > 0


def test_a_handle_that_is_not_shared_belongs_to_its_thread(mqi, connect, queue, background):
    if mqi.name == "ibmmq":
        pytest.skip("ibmmq always asks for a shared handle")
    connection = connect(options=c.MQCNO_HANDLE_SHARE_NONE)
    assert connection.put1(queue, b"").code == OK
    assert background(connection.put1, queue, b"").result(PATIENCE_S).code == failed(c.MQRC_HCONN_ERROR)
    assert connection.put1(queue, b"").code == OK


def test_a_shared_handle_serves_other_threads(connection, queue, background):
    assert background(connection.put1, queue, b"").result(PATIENCE_S).code == OK


FORKED = """
handle = connection.open(queue, c.MQOO_OUTPUT | c.MQOO_INPUT_SHARED)
print(handle.put(b"before the fork", c.MQPMO_SYNCPOINT).code.reason)
sys.stdout.flush()
child = os.fork()
calls = [
    lambda: handle.put(b"child").code.reason,
    lambda: handle.get().code.reason,
    lambda: connection.commit().reason,
    lambda: connection.back_out().reason,
    lambda: handle.close().reason,
    lambda: connection.disconnect().reason,
    lambda: Mqi(importlib.import_module(binding)).connect(q_mgr_name, channel, conn_name)[0].reason,
]
if child == 0:
    for call in calls:
        print(call())
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
print(handle.put(b"parent", c.MQPMO_SYNCPOINT).code.reason, connection.commit().reason)
"""


def test_each_call_of_a_child_that_is_forked_after_an_mqi_call_gets_2012(mqi, mq, connection, queue):
    done = subprocess.run(child(FORKED, mqi, mq, queue), stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    # IBM MQ, topic q025875.
    assert done.stdout.split() == ["0", *["2012"] * 7, "0", "0"]
    assert [answer.data for answer in connection.browse(queue)] == [b"before the fork", b"parent"]


def test_only_loopback_is_listened_on(tmp_path):
    with (
        pytest.raises(EmbeddedQueueManagerError, match="is not a loopback address"),
        EmbeddedQueueManager(listen="[::]:0", data=tmp_path),
    ):
        pass


def test_a_start_that_fails_leaves_no_directory_of_messages():
    queue_manager = EmbeddedQueueManager(listen="[::]:0")
    with pytest.raises(EmbeddedQueueManagerError, match="is not a loopback address"):
        queue_manager.start()
    assert not queue_manager.data.exists()


def test_a_restart_that_fails_leaves_the_messages(monkeypatch):
    with EmbeddedQueueManager() as queue_manager:
        queue_manager.stop()
        with monkeypatch.context() as patch:
            patch.setattr(queue_manager, "host", "192.0.2.1")
            with pytest.raises(EmbeddedQueueManagerError, match="is not a loopback address"):
                queue_manager.start()
        assert queue_manager.data.exists()
        queue_manager.start()
    assert not queue_manager.data.exists()


def test_without_a_temporary_directory_the_variable_for_one_is_named(monkeypatch):
    def none(**_):
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", none)
    with pytest.raises(EmbeddedQueueManagerError, match=r"No usable temporary directory found.* in TMPDIR"):
        EmbeddedQueueManager()


def test_a_host_name_is_listened_on_only_where_it_means_loopback(monkeypatch, tmp_path):
    def resolves_to(address):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        found = [(family, socket.SOCK_STREAM, 6, "", (address, 0))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    q_mgr = started("QM1", tmp_path)
    listening = server.Server(q_mgr)
    for address in ("192.0.2.1", "0.0.0.0", "::", "2001:db8::1"):
        resolves_to(address)
        with pytest.raises(ValueError, match=r"my\.host is not a loopback address"):
            listening.listen("my.host", 0)
    resolves_to("127.0.0.1")
    assert listening.listen("my.host", 0)[0] == "127.0.0.1"
    listening.stop()


SIGNALLED = """
import os, pathlib, signal, sys, threading
from mqembedded.serve import process

def run(nth, data):
    # SIGTERM comes at the nth line that this thread executes once it is ready, or else soon after.
    later = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM))
    left = nth

    def trace(frame, event, arg):
        nonlocal left
        left -= event == "line"
        if not left:
            os.kill(os.getpid(), signal.SIGTERM)
        return trace

    def ready(*_):
        later.start()
        caller = sys._getframe(1)
        caller.f_trace = trace
        sys.settrace(trace)

    process.run("QM1", "127.0.0.1", 0, data, ready=ready)
    sys.settrace(None)
    later.cancel()

for nth in range(1, 26):
    run(nth, pathlib.Path(sys.argv[1], str(nth)))
    print(nth, flush=True)
"""


def test_a_signal_ends_it_between_any_two_lines_of_its_waiting(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, [str(nth) for nth in range(1, 26)]), done.stderr


def test_it_ends_quietly_if_the_process_that_started_it_is_gone():
    command = [sys.executable, "-m", "mqembedded.serve.process"]
    reading, writing = os.pipe()
    os.close(reading)
    # Its answer is an error here, because nothing is asked.
    done = subprocess.run(
        command, input="{}\n", stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")

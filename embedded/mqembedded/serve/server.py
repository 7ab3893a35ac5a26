"""The server, which accepts connections. Each connection has a thread that reads verbs and writes answers.

The server listens on loopback only. A thread reads a frame, calls the verb, and writes the answer. While an MQGET waits, its
thread also watches the socket. So if the application dies, the server notices at once, and backs out the application's unit of
work. If descriptors or threads run out, the server closes the oldest connections without an MQCONNX or token (``strangers.py``),
so that it can accept new connections.

``verb_table.py`` has the functions that carry out the verbs. ``process.py`` has the server's process.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import logging
import queue
import secrets
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from mqembedded import constants as mq
from mqembedded.admin.command_server import CommandServer
from mqembedded.admin.commands.escape import EscapeFailed, run_text
from mqembedded.answer import Answer, ConnectionGone, Failed
from mqembedded.callbacks.consumption import Consumption
from mqembedded.calls import put_response
from mqembedded.connection import Connection
from mqembedded.heartbeats import Heartbeats
from mqembedded.objects.authority import ADMINISTRATOR
from mqembedded.queue_manager import QueueManager
from mqembedded.serve.faults import CallAnswered, ConnectionDropped, Fault, Faults
from mqembedded.serve.latency import delayed
from mqembedded.serve.line import Line, Lines
from mqembedded.serve.strangers import Strangers
from mqembedded.serve.verb_table import CARRIED_OUT_BY
from mqembedded.serve.waiter import SocketWaiter
from mqembedded.wire.frames import (
    FrameError,
    FrameReader,
    FrameTimeout,
    decode_request,
    empty_reply_values,
    encode_reply,
)
from mqembedded.wire.structures import text_field
from mqembedded.wire.verbs import Verb, table_digest

_log = logging.getLogger(__name__)
# Seconds within which an application must introduce itself after it has connected.
_STRANGER_S = 30.0
# Seconds until the next attempt to accept, and seconds in which a failure to accept is not logged again.
_ACCEPT_AGAIN_S, _TELL_AGAIN_S = 0.05, 60.0
_WAITER_ATTEMPTS = 20


@dataclass(slots=True)
class _Client:
    """The state of a client: its socket, its process and its connection."""

    sock: socket.socket
    reader: FrameReader
    line: Line
    address: str
    waiter: SocketWaiter | None = None
    pid: int = 0
    appl_name: str = ""
    connection: Connection | None = None

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)


@dataclass
class Server:
    """The server of one queue manager. Control and channel commands must contain ``token``.

    If ``access_key`` is not empty, only applications that have the key in their environment can connect.
    ``latency_s`` delays all data in each direction.
    """

    q_mgr: QueueManager
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    faults: Faults = field(default_factory=Faults)
    command_server: CommandServer | None = None
    stranger_s: float = _STRANGER_S
    access_key: str = ""
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        self._clients: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._strangers = Strangers()
        self._lines = Lines()
        self._troubled_at_s = -_TELL_AGAIN_S
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._stopping = False
        # The process at the other end of each connection.
        self._connected: dict[socket.socket, int] = {}
        # An item means that the server must stop, because of a signal or because a quiesced queue manager has no application
        # left. A signal handler interrupts the waiting thread, so the two must not share a lock, as they would with a
        # threading.Event.
        self.to_stop: queue.SimpleQueue[None] = queue.SimpleQueue()

    def listen(self, host: str, port: int) -> tuple[str, int]:
        """Listen on a loopback address, and return the address and the actual port; raise ValueError for any other address."""
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if not ipaddress.ip_address(address[0]).is_loopback:
            raise ValueError(
                f"{host} is not a loopback address; the embedded queue manager is for one machine and listens on "
                "loopback only (127.0.0.1)"
            )
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(socket.SOMAXCONN)
        self._listener = listener
        bound = listener.getsockname()
        return str(bound[0]), int(bound[1])

    def serve(self) -> None:
        """Accept connections until ``stop`` is called. Continue after a connection that could not be accepted."""
        assert self._listener is not None
        while not self._stopping:
            try:
                sock, address = self._listener.accept()
            except OSError as error:
                self._make_room(error)
                continue
            try:
                self._begin(sock, str(address[0]))
            except (RuntimeError, MemoryError) as error:
                # The system allows no more threads.
                sock.close()
                self._make_room(error)

    def _begin(self, sock: socket.socket, address: str) -> None:
        """Start the thread of a connection; raise RuntimeError or MemoryError if no thread can be started."""
        thread = threading.Thread(target=self._serve_client, args=(sock, address), daemon=True)
        with self._lock:
            if self._stopping:
                sock.close()
                return
            # A thread that cannot be started is never added. The thread takes the lock at its end, so it removes itself
            # afterwards.
            thread.start()
            self._clients.add(sock)
            self._threads.add(thread)

    def _make_room(self, error: Exception) -> None:
        """Log that a connection could not be accepted, disconnect ``Strangers``, and give their threads a moment to end."""
        if self._stopping:
            return
        now_s = time.monotonic()
        if now_s - self._troubled_at_s >= _TELL_AGAIN_S:
            _log.warning(
                "a connection cannot be accepted; connections that have not introduced themselves are closed: %s", error
            )
        self._troubled_at_s = now_s
        self._strangers.make_room()
        self.q_mgr.stopping.wait(_ACCEPT_AGAIN_S)

    def disconnect(self, pid: int) -> None:
        """Drop the connections of a process, so that their units of work are backed out."""
        with self._lock:
            for sock in [sock for sock, owner in self._connected.items() if owner == pid]:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _stop_when_idle(self) -> None:
        with self._lock:
            if self.q_mgr.quiescing and not self._connected:
                self.to_stop.put(None)

    def stop(self) -> None:
        """Drop all connections, back out their units of work, and close the store."""
        with self._lock:
            self._stopping = True
            clients, threads = list(self._clients), list(self._threads)
        self.faults.clear()
        self.q_mgr.stopping.set()
        self.q_mgr.cluster.stop()
        if self._listener is not None:
            # A close does not wake accept().
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for sock in clients:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        self._lines.stop()
        if self.command_server is not None:
            self.command_server.stop()
        self.q_mgr.close()

    def _serve_client(self, sock: socket.socket, address: str) -> None:
        accepted = sock
        if self.latency_s:
            sock = delayed(accepted, self.latency_s)
        client = _Client(sock, FrameReader(sock, time.monotonic() + self.stranger_s), Line(sock), address)
        self._strangers.add(sock)
        try:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._answer_calls(client)
        except FrameTimeout as error:
            _log.debug("%s is disconnected: %s", client.appl_name or "a stranger", error)
        except (ConnectionDropped, ConnectionGone, ConnectionError, BlockingIOError):
            _log.debug("connection of %s ended without MQDISC", client.appl_name or "a stranger")
        except FrameError as error:
            _log.warning("connection of %s sent a malformed frame: %s", client.appl_name or "a stranger", error)
        except Exception:
            _log.exception("connection of %s is dropped", client.appl_name or "a stranger")
        finally:
            if client.connection is not None:
                self.q_mgr.drop(client.connection, client.hang_up)
            self._lines.discard(client.line)
            if client.waiter is not None:
                client.waiter.close()
            self._strangers.discard(sock)
            sock.close()
            with self._lock:
                self._clients.discard(accepted)
                self._connected.pop(sock, None)
                self._threads.discard(threading.current_thread())
            self._stop_when_idle()

    def _answer_calls(self, client: _Client) -> None:
        reader = client.reader
        while (frame := reader.read()) is not None:
            code, serial, body = frame
            verb, values = decode_request(code, body)
            is_wake = verb.name == "WAKE" or (verb.name == "CALLBACK" and reader.has_more)
            if client.connection is not None and is_wake:
                # A frame after a CALLBACK is a WAKE. The reader has already read it, so the waiter does not see it on the socket.
                Consumption.of(client.connection).woken = True
            if verb.name == "WAKE":
                continue
            client.line.begin_call()
            if verb.name == "CONTROL":
                answer: Answer = self._control(client, *values)
            else:
                answer = self._call(client, verb, values)
            client.line.answer(encode_reply(verb, serial, *answer))
            if verb.name == "MQDISC" and client.connection is None:
                return

    def _call(self, client: _Client, verb: Verb, values: list[Any]) -> Answer:
        """Call a verb, and carry out a fault if one is due. Return completion code, reason code and reply values."""
        if verb.name == "MQCONNX":
            # Faults need to know the application, and they come before the call.
            client.pid, client.appl_name = values[1], text_field(values[2])
        # Programmers count MQI calls, so an ASYNC_PUT counts as an MQPUT.
        counted = "MQPUT" if verb.name == "ASYNC_PUT" else verb.name
        fault = self.faults.at(counted, client.appl_name) if verb.name != "IDENTIFIERS" else None
        try:
            if fault is not None and fault.when == "before":
                self.faults.perform(fault, client.pid)
            try:
                answer = self._perform(client, verb, values)
            except Failed as failed:
                answer = (mq.MQCC_FAILED, failed.reason, empty_reply_values(verb))
            if fault is not None and fault.when == "after":
                self.faults.perform(fault, client.pid)
        except CallAnswered as answered:
            if verb.name == "ASYNC_PUT" and client.connection is not None and answered.comp == mq.MQCC_FAILED:
                hobj, md, pmo, _ = values
                return put_response.failed_untold(self.q_mgr, client.connection, hobj, md, pmo, answered.reason)
            return answered.comp, answered.reason, empty_reply_values(verb)
        return answer

    def _perform(self, client: _Client, verb: Verb, values: list[Any]) -> Answer:
        perform_verb = CARRIED_OUT_BY.get(verb.name)
        if perform_verb is not None and client.connection is not None:
            return perform_verb(self.q_mgr, client.connection, *values)
        if verb.name == "MQCONNX":
            return self._connect(client, *values)
        if verb.name == "CHANNEL":
            return self._channel(client, *values)
        if client.connection is None:
            raise Failed(mq.MQRC_HCONN_ERROR)
        if verb.name == "MQDISC":
            connection, client.connection = client.connection, None
            return self.q_mgr.disconnect(connection)
        if verb.name == "MQBEGIN":
            # Global units of work need a server-bound application (IBM MQ, "MQBEGIN").
            raise Failed(mq.MQRC_ENVIRONMENT_ERROR)
        raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)

    def _connect(
        self,
        client: _Client,
        digest: bytes,
        _pid: int,
        _appl_name: bytes,
        q_mgr_name: bytes,
        channel_name: bytes,
        user: bytes,
        password: bytes,
        options: int,
        max_msg_length: int,
        put1_always_sync: int,
        access_key: bytes,
        heartbeat: int,
        sharing: int,
    ) -> Answer:
        if digest.decode("ascii", "replace") != table_digest():
            _log.warning("a library with another verb table is refused; run 'mqembedded build' again")
            raise Failed(mq.MQRC_Q_MGR_NOT_AVAILABLE)
        if self.access_key and not secrets.compare_digest(access_key, self.access_key.encode()):
            _log.warning("%s does not have the access key of this queue manager", client.appl_name)
            raise Failed(mq.MQRC_NOT_AUTHORIZED)
        if client.connection is not None:
            raise FrameError("a second MQCONNX on one socket")
        client.connection = self.q_mgr.connect(
            self._waiter(client),
            q_mgr_name=text_field(q_mgr_name),
            channel_name=text_field(channel_name),
            user=user.decode("utf-8", "replace"),
            password=password.decode("utf-8", "replace"),
            appl_name=client.appl_name,
            max_msg_length=max_msg_length,
            pid=client.pid,
            conn_name=client.address,
            connect_options=options,
            put1_always_sync=bool(put1_always_sync),
            heartbeats=Heartbeats(heartbeat, sharing),
            hang_up=client.hang_up,
        )
        with self._lock:
            self._connected[client.sock] = client.pid
        self._trust(client)
        found = client.connection.origin.heartbeats
        client.line.agree(found)
        self._lines.add(client.line)
        return mq.MQCC_OK, mq.MQRC_NONE, [client.connection.connection_id, found.interval_s, found.conversations]

    def _waiter(self, client: _Client) -> SocketWaiter:
        """Return a connection's waiter; raise Failed with MQRC_RESOURCE_PROBLEM if there are no descriptors left."""
        self._strangers.discard(client.sock)
        for _ in range(_WAITER_ATTEMPTS):
            try:
                client.waiter = client.waiter or SocketWaiter(client.sock, client.line)
            except OSError as error:
                self._make_room(error)
            else:
                return client.waiter
        raise Failed(mq.MQRC_RESOURCE_PROBLEM)

    def _trust(self, client: _Client) -> None:
        self._strangers.discard(client.sock)
        client.reader.trust()

    def _channel(self, client: _Client, token: bytes, command: bytes, messages: bytes) -> Answer:
        """Answer the channel verb, which the sending end of a cluster channel calls."""
        self._check(client, token)
        answer = self.q_mgr.cluster.receive(json.loads(command), messages)
        if answer is None:
            raise ConnectionDropped("a channel command to a queue manager without a cluster")
        return mq.MQCC_OK, mq.MQRC_NONE, [json.dumps(answer).encode()]

    def _check(self, client: _Client, token: bytes) -> None:
        if not secrets.compare_digest(token, self.token.encode()):
            raise ConnectionDropped("a command without the token")
        self._trust(client)

    def _mqsc(self, text: str) -> dict[str, Any]:
        try:
            with self.q_mgr.lock:
                return {"done": True, "said": run_text(self.q_mgr, ADMINISTRATOR, text)}
        except EscapeFailed as error:
            return {"done": False, "said": [error.text]}

    def _control(self, client: _Client, token: bytes, command: bytes) -> Answer:
        """Carry out a control command, which ``Control`` has sent, and answer it."""
        self._check(client, token)
        asked: dict[str, Any] = json.loads(command)
        answer: dict[str, Any] = {}
        what = asked.pop("do")
        if what == "arm":
            self.faults.arm(Fault(**asked))
        elif what == "clear":
            self.faults.clear()
        elif what == "fill_log":
            self.q_mgr.store.is_full = asked["full"]
        elif what == "quiesce":
            # The server stops when the last connection has ended. This connection counts, too, so that the server answers it
            # before it stops.
            with self._lock:
                self._connected[client.sock] = 0
            self.q_mgr.quiesce()
        elif what == "disconnect":
            self.disconnect(asked["pid"])
        elif what == "channel":
            answer = self.q_mgr.cluster.control(**asked)
        elif what == "mqsc":
            answer = self._mqsc(asked["text"])
        elif what == "count":
            answer = {"calls": dict(self.faults.calls), "fired": self.faults.fired}
        else:
            raise ConnectionDropped(f"no control command {what!r}")
        return mq.MQCC_OK, mq.MQRC_NONE, [json.dumps(answer).encode()]

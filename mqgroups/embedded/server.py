"""The server: one process, a thread for each connection, verbs in and answers out.

It listens on loopback only. A thread reads a frame, calls the verb, writes the answer. A thread whose MQGET waits
watches its socket as well, so that an application that dies while waiting is noticed at once and its unit of work
backed out. What a verb does is not here.

``python -m mqgroups.embedded.server`` is how ``EmbeddedQueueManager`` starts one: a JSON object on standard input, a
JSON object on standard output when ready; it ends when standard input does, so it never outlives who started it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import logging
import os
import secrets
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mqgroups.embedded import (
    channel_control,
    consuming,
    dispatching,
    getting,
    inquiring,
    message_properties,
    mqsc_commands,
    opening,
    publishing,
    put_response,
    subscribing,
)
from mqgroups.embedded.cluster import Cluster
from mqgroups.embedded.command_server import CommandServer
from mqgroups.embedded.control import Control
from mqgroups.embedded.faults import CallAnswered, ConnectionDropped, Fault, Faults
from mqgroups.embedded.frames import FrameError, FrameReader, decode_request, empty_reply_values, encode_reply
from mqgroups.embedded.latency import delayed
from mqgroups.embedded.membership import Membership
from mqgroups.embedded.mqsc import MQSCError, parse
from mqgroups.embedded.platform import Platform
from mqgroups.embedded.queue_manager import Answer, Connection, ConnectionGone, Failed, Interrupted, QueueManager
from mqgroups.embedded.readings import Readings
from mqgroups.embedded.structures import text_field
from mqgroups.embedded.verbs import Verb, table_digest
from mqgroups.mqi import constants as mq

_log = logging.getLogger(__name__)

_VERBS: Mapping[str, Callable[..., Answer]] = {
    "MQOPEN": opening.open_object,
    "MQCLOSE": consuming.close_object,
    "MQPUT": publishing.put,
    "MQPUT1": publishing.put1,
    "MQGET": getting.get,
    "MQCMIT": QueueManager.commit,
    "MQBACK": QueueManager.back_out,
    "MQSTAT": put_response.status,
    "MQINQ": inquiring.inquire,
    "MQSET": inquiring.set_attributes,
    "MQSUB": subscribing.subscribe,
    "MQSUBRQ": subscribing.request,
    "MQCB": consuming.manage,
    "MQCTL": consuming.control,
    "CALLBACK": dispatching.next_callback,
    "ASYNC_PUT": publishing.put_untold,
    "IDENTIFIERS": put_response.identifiers,
    "MQCRTMH": message_properties.create_handle,
    "MQDLTMH": message_properties.delete_handle,
    "MQSETMP": message_properties.set_property,
    "MQINQMP": message_properties.inquire_property,
    "MQDLTMP": message_properties.delete_property,
}


class _SocketWaiter:
    """Sleeps until woken or until the peer of a socket is gone."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._selector = selectors.DefaultSelector()
        self._selector.register(sock, selectors.EVENT_READ)
        self._selector.register(self._event, selectors.EVENT_READ)

    def wait(self, timeout_s: float | None) -> None:
        for key, _ in self._selector.select(timeout_s):
            if key.fd != self._event:
                # Nothing may come while a call is under way, except WAKE while a CALLBACK is.
                raise Interrupted if self._sock.recv(1, socket.MSG_PEEK) else ConnectionGone
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._event)

    def wake(self) -> None:
        os.eventfd_write(self._event, 1)

    def close(self) -> None:
        self._selector.close()
        os.close(self._event)


@dataclass(slots=True)
class _Client:
    """What the server knows of one socket."""

    sock: socket.socket
    waiter: _SocketWaiter
    address: str
    pid: int = 0
    appl_name: str = ""
    connection: Connection | None = None

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)


@dataclass
class Server:
    """Serves one queue manager. ``token`` opens the control verb; it is handed only to who started the server. ``latency_s`` is
    how much later what is sent arrives, in each direction."""

    q_mgr: QueueManager
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    faults: Faults = field(default_factory=Faults)
    command_server: CommandServer | None = None
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        self._clients: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._stopping = False
        # The process at the other end of each connection.
        self._connected: dict[socket.socket, int] = {}
        # Set when it is time to stop: a signal came, or it quiesced and the last application is gone.
        self.to_stop = threading.Event()

    def listen(self, host: str, port: int) -> tuple[str, int]:
        """Bind to a loopback address; returns it with the port in use. Raises ValueError for any other address."""
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if not ipaddress.ip_address(address[0]).is_loopback:
            raise ValueError(
                f"{host} is not a loopback address; the embedded queue manager is for one machine and listens on "
                "loopback only (127.0.0.1)"
            )
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
        self._listener = listener
        bound = listener.getsockname()
        return str(bound[0]), int(bound[1])

    def serve(self) -> None:
        """Accept connections until ``stop``."""
        assert self._listener is not None
        while True:
            try:
                sock, address = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._stopping:
                    sock.close()
                    return
                thread = threading.Thread(target=self._serve_client, args=(sock, str(address[0])), daemon=True)
                self._clients.add(sock)
                self._threads.add(thread)
            thread.start()

    def quiesce(self) -> None:
        """End as ``endmqm`` does: nobody new, and when the last application has disconnected the server stops."""
        self.q_mgr.quiesce()
        self._stop_when_idle()

    def disconnect(self, pid: int) -> None:
        """Drop the connections of a process, which backs their units of work out."""
        with self._lock:
            for sock in [sock for sock, owner in self._connected.items() if owner == pid]:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _stop_when_idle(self) -> None:
        with self._lock:
            if self.q_mgr.quiescing and not self._connected:
                self.to_stop.set()

    def stop(self) -> None:
        """Drop all connections, which backs their units of work out, and close the store."""
        with self._lock:
            self._stopping = True
            clients, threads = list(self._clients), list(self._threads)
        self.faults.clear()
        self.q_mgr.stopping.set()
        if self.q_mgr.cluster is not None:
            self.q_mgr.cluster.stop()
        if self._listener is not None:
            # Waking accept() needs shutdown; close alone leaves it waiting.
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for sock in clients:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        if self.command_server is not None:
            self.command_server.stop()
        self.q_mgr.close()

    def _serve_client(self, sock: socket.socket, address: str) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        accepted = sock
        if self.latency_s:
            sock = delayed(accepted, self.latency_s)
        client = _Client(sock, _SocketWaiter(sock), address)
        try:
            self._answer_calls(client)
        except (ConnectionDropped, ConnectionGone, ConnectionError):
            _log.debug("connection of %s ended without MQDISC", client.appl_name or "a stranger")
        except FrameError as error:
            _log.warning("connection of %s sent what is no frame: %s", client.appl_name or "a stranger", error)
        except Exception:
            _log.exception("connection of %s is dropped", client.appl_name or "a stranger")
        finally:
            if client.connection is not None:
                self.q_mgr.drop(client.connection, client.hang_up)
            client.waiter.close()
            sock.close()
            with self._lock:
                self._clients.discard(accepted)
                self._connected.pop(sock, None)
                self._threads.discard(threading.current_thread())
            self._stop_when_idle()

    def _answer_calls(self, client: _Client) -> None:
        reader = FrameReader(client.sock)
        while (frame := reader.read()) is not None:
            code, serial, body = frame
            verb, values = decode_request(code, body)
            is_wake = verb.name == "WAKE" or (verb.name == "CALLBACK" and reader.has_more)
            if client.connection is not None and is_wake:
                # What comes behind a CALLBACK is a WAKE as well. The socket does not show it any more.
                client.connection.consumption.woken = True
            if verb.name == "WAKE":
                continue
            if verb.name == "CONTROL":
                answer: Answer = self._control(*values)
            else:
                answer = self._call(client, verb, values)
            client.sock.sendall(encode_reply(verb, serial, *answer))
            if verb.name == "MQDISC" and client.connection is None:
                return

    def _call(self, client: _Client, verb: Verb, values: list[Any]) -> Answer:
        """Call a verb, with the fault that is due; returns completion code, reason and reply values."""
        if verb.name == "MQCONNX":
            # Who it is matters to faults too, and they come before the call.
            client.pid, client.appl_name = values[1], text_field(values[2])
        # Application programmers count MQI calls.
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
        if verb.name == "MQCONNX":
            return self._connect(client, *values)
        if verb.name == "CHANNEL":
            return self._channel(*values)
        if client.connection is None:
            raise Failed(mq.MQRC_HCONN_ERROR)
        if verb.name == "MQDISC":
            connection, client.connection = client.connection, None
            return self.q_mgr.disconnect(connection)
        if verb.name == "MQBEGIN":
            # Global units of work need a server-bound application (topic "MQBEGIN").
            raise Failed(mq.MQRC_ENVIRONMENT_ERROR)
        perform_verb = _VERBS.get(verb.name)
        if perform_verb is None:
            raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)
        return perform_verb(self.q_mgr, client.connection, *values)

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
    ) -> Answer:
        if digest.decode("ascii", "replace") != table_digest():
            _log.warning("a library with another verb table is refused; run 'mqgroups embedded build' again")
            raise Failed(mq.MQRC_Q_MGR_NOT_AVAILABLE)
        if client.connection is not None:
            raise FrameError("a second MQCONNX on one socket")
        client.connection = self.q_mgr.connect(
            client.waiter,
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
        )
        with self._lock:
            self._connected[client.sock] = client.pid
        return mq.MQCC_OK, mq.MQRC_NONE, [client.connection.connection_id]

    def _channel(self, token: bytes, command: bytes, messages: bytes) -> Answer:
        """Serve the channel verb: the sending end of a cluster channel."""
        self._check(token)
        if self.q_mgr.cluster is None:
            raise ConnectionDropped("a channel command to a queue manager without a cluster")
        answer = self.q_mgr.cluster.receiver.answer(json.loads(command), messages)
        return mq.MQCC_OK, mq.MQRC_NONE, [json.dumps(answer).encode()]

    def _check(self, token: bytes) -> None:
        if not secrets.compare_digest(token, self.token.encode()):
            raise ConnectionDropped("a command without the token")

    def _control(self, token: bytes, command: bytes) -> Answer:
        """Serve the control verb: counts of calls, faults, a full log, quiescing, connections, channels."""
        self._check(token)
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
            self.quiesce()
        elif what == "disconnect":
            self.disconnect(asked["pid"])
        elif what == "channel":
            answer = channel_control.perform(self.q_mgr, **asked)
        elif what == "count":
            answer = {"calls": dict(self.faults.calls), "fired": self.faults.fired}
        else:
            raise ConnectionDropped(f"no control command {what!r}")
        return mq.MQCC_OK, mq.MQRC_NONE, [json.dumps(answer).encode()]


def run(
    q_mgr_name: str,
    host: str,
    port: int,
    data: Path,
    mqsc: Sequence[Path] = (),
    users: Mapping[str, str] | None = None,
    platform: Platform = Platform.UNIX,
    ready: Callable[[str, int, Server], None] | None = None,
    until: Callable[[Callable[[], None]], None] | None = None,
    *,
    command_server: bool = True,
    membership: Membership | None = None,
    readings: Readings | None = None,
    latency_ms: float = 0,
) -> None:
    """Serve a queue manager until SIGTERM or SIGINT.

    Args:
        q_mgr_name: name of the queue manager.
        host: a loopback address.
        port: TCP port; 0 for any that is free.
        data: directory of the queue manager; made if missing.
        mqsc: command files, read in this order at every start.
        users: passwords by user.
        platform: whose rules apply where platforms differ.
        ready: called with host, port and server when connections are accepted.
        until: called with a function that stops the server; for a caller with another reason to stop.
        command_server: whether PCF commands are answered.
        membership: the cluster it is in.
        readings: which way it goes where IBM's texts leave something open.
        latency_ms: how much later what is sent arrives, in each direction, as on a slow line.

    Raises:
        StoreError: the data directory cannot be used.
        MQSCError: a command file cannot be carried out; the message names file and line.
        OSError: a file cannot be read, or the address cannot be bound.
    """
    q_mgr = QueueManager(q_mgr_name, data, users, platform, readings)
    with contextlib.ExitStack() as if_it_fails:
        if_it_fails.callback(q_mgr.close)
        for path in mqsc:
            try:
                mqsc_commands.run(q_mgr.catalogue, parse(path.read_text()))
            except MQSCError as error:
                raise MQSCError(f"{path}: {error}") from error
        if membership is not None:
            with q_mgr.lock:
                q_mgr.cluster = Cluster(q_mgr, membership)
        commands = CommandServer(q_mgr) if command_server else None
        server = Server(q_mgr, command_server=commands, latency_s=latency_ms / 1000)
        bound_host, bound_port = server.listen(host, port)
        if server.command_server is not None:
            server.command_server.start()
        if_it_fails.pop_all()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.to_stop.set())
    if until is not None:
        until(server.to_stop.set)
    accepting = threading.Thread(target=server.serve, daemon=True)
    accepting.start()
    Control(bound_host, bound_port, server.token).write(data)
    if q_mgr.cluster is not None:
        q_mgr.cluster.start(bound_host, bound_port, server.token)
    if ready is not None:
        ready(bound_host, bound_port, server)
    server.to_stop.wait()
    server.stop()


def main() -> None:
    """Serve what standard input describes; see the module's docstring."""
    asked = json.loads(sys.stdin.readline())
    logging.basicConfig(level=asked.get("log_level", "WARNING"), format="%(levelname)s %(name)s: %(message)s")

    def ready(host: str, port: int, server: Server) -> None:
        print(json.dumps({"host": host, "port": port, "pid": os.getpid(), "token": server.token}), flush=True)

    def until_input_ends(stop: Callable[[], None]) -> None:
        def watch() -> None:
            sys.stdin.read()
            stop()

        threading.Thread(target=watch, daemon=True).start()

    try:
        run(
            asked["q_mgr_name"],
            asked["host"],
            asked["port"],
            Path(asked["data"]),
            [Path(path) for path in asked["mqsc"]],
            asked["users"],
            Platform(asked["platform"]),
            ready,
            until_input_ends,
            command_server=asked["command_server"],
            membership=Membership.of(asked["membership"]) if asked["membership"] else None,
            readings=Readings(asked["readings"], cleanup_gap_s=asked["cleanup_gap_s"]),
            latency_ms=asked["latency_ms"],
        )
    except Exception as error:
        # Who started it reads this line instead of the one that says it is ready.
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

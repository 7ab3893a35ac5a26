"""The process that starts a queue manager and serves it until a signal or its parent process stops it.

``EmbeddedQueueManager`` starts the process as ``python -m mqembedded.serve.process``. The process reads a JSON object from
standard input, and writes a JSON object to standard output when it is ready. The process ends when standard input ends, so
it never outlives its parent process.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mqembedded.admin import mqsc_commands
from mqembedded.admin.command_server import CommandServer
from mqembedded.admin.mqsc import MQSCError, decoded, parse
from mqembedded.cluster.cluster import Cluster
from mqembedded.cluster.membership import Membership
from mqembedded.platform import Platform
from mqembedded.printable import OneLine
from mqembedded.readings import Readings
from mqembedded.serve.control import Control
from mqembedded.serve.server import Server
from mqembedded.serve.start_up import started

_log = logging.getLogger(__name__)

# A connection takes three descriptors. Most systems allow a process 1,024 descriptors unless it asks for more.
_MOST_DESCRIPTORS = 65_536
_REQUIRE_CREDENTIALS = """
ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKCLNT(REQUIRED)
ALTER QMGR CONNAUTH(SYSTEM.DEFAULT.AUTHINFO.IDPWOS)
"""


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
    access_key: str = "",
    require_credentials: bool = False,
    latency_ms: float = 0,
    queue_sharing_group: str = "",
) -> None:
    """Serve a queue manager until SIGTERM or SIGINT.

    Args:
        q_mgr_name: name of the queue manager.
        host: a loopback address.
        port: the TCP port; 0 means any free port.
        data: the queue manager's directory, which is created if it does not exist.
        mqsc: MQSC files, read in this order at every start.
        users: passwords by user.
        platform: the rules that apply where platforms differ.
        ready: a function that ``run`` calls with host, port and server as soon as the server accepts connections.
        until: a function that ``run`` calls once. Its argument is a function that stops the server, as a signal would.
        command_server: whether the queue manager answers PCF commands.
        membership: the queue manager's cluster; None means that the queue manager is in no cluster.
        readings: choices of behaviour that IBM's documentation leaves open.
        access_key: a key that applications need in their environment. With "", all applications can connect.
        require_credentials: whether applications must give user and password, even if the MQSC files do not require credentials.
        latency_ms: milliseconds that data needs in each direction, to simulate a slow line.
        queue_sharing_group: a second name by which applications can connect.

    Raises:
        StoreError: the data directory cannot be used.
        MQSCError: a command in an MQSC file fails; the message names file and line.
        OSError: a file cannot be read, or the server cannot listen on the address.
    """
    _raise_descriptor_limit()
    q_mgr = started(q_mgr_name, data, users, platform, readings)
    q_mgr.queue_sharing_group = queue_sharing_group
    with contextlib.ExitStack() as if_it_fails:
        if_it_fails.callback(q_mgr.close)
        for path in mqsc:
            try:
                ignored = mqsc_commands.run(q_mgr, parse(decoded(path.read_bytes())))
            except MQSCError as error:
                raise MQSCError(f"{path}: {error}") from error
            # The cluster channels of a member come from the cluster file.
            if told := mqsc_commands.told(each for each in ignored if membership is None or not each[0].is_of_cluster):
                _log.warning("%s: %s", path, told)
        if without_effect := mqsc_commands.attributes_without_effect(q_mgr):
            _log.warning("stored, but without effect here: %s", without_effect)
        if require_credentials:
            mqsc_commands.run(q_mgr, parse(_REQUIRE_CREDENTIALS))
        if membership is not None:
            with q_mgr.lock:
                q_mgr.cluster = Cluster(q_mgr, membership)
        commands = CommandServer(q_mgr) if command_server else None
        server = Server(q_mgr, command_server=commands, access_key=access_key, latency_s=latency_ms / 1000)
        bound_host, bound_port = server.listen(host, port)
        if server.command_server is not None:
            server.command_server.start()
        if_it_fails.pop_all()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.to_stop.put(None))
    if until is not None:
        until(lambda: server.to_stop.put(None))
    accepting = threading.Thread(target=server.serve, daemon=True)
    accepting.start()
    Control(bound_host, bound_port, server.token, q_mgr_name).write(data)
    q_mgr.cluster.start(bound_host, bound_port, server.token)
    if ready is not None:
        ready(bound_host, bound_port, server)
    server.to_stop.get()
    server.stop()


def _raise_descriptor_limit() -> None:
    """Raise this process's limit of file descriptors as far as the system allows and the server needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # macOS has a lower limit, which getrlimit does not report.
        with contextlib.suppress(ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main() -> None:
    """Serve the queue manager that standard input describes; see the module's docstring."""
    asked = json.loads(sys.stdin.readline())
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=asked.get("log_level", "WARNING"), handlers=[handler])

    def ready(host: str, port: int, server: Server) -> None:
        _answer({"host": host, "port": port, "pid": os.getpid(), "token": server.token})

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
            access_key=asked["access_key"],
            latency_ms=asked["latency_ms"],
            queue_sharing_group=asked["queue_sharing_group"],
        )
    except Exception as error:
        # The parent process reads this line instead of the line that reports readiness.
        _answer({"error": f"{type(error).__name__}: {error}"})
        sys.exit(1)


def _answer(values: Mapping[str, object]) -> None:
    # If the parent process is gone, standard input has ended, too. print would raise again at the exit.
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), (json.dumps(values) + "\n").encode())


if __name__ == "__main__":
    main()

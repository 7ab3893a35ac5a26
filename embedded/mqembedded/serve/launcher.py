"""Starts an embedded queue manager as a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from mqembedded.cluster.membership import Membership
from mqembedded.libmqm.build import build
from mqembedded.platform import Platform
from mqembedded.printable import even_half_made
from mqembedded.readings import CLEANUP_GAP_S, Readings, recorded_in
from mqembedded.serve.control import Control
from mqembedded.serve.faults import Fault

DEFAULT_CHANNEL = "DEV.APP.SVRCONN"


class EmbeddedQueueManagerError(Exception):
    """The embedded queue manager could not be started, or is not running; the message explains why."""


def temporary_directory() -> tempfile.TemporaryDirectory[str]:
    """Make a temporary data directory, which is deleted together with the returned object. Raises EmbeddedQueueManagerError."""
    try:
        return tempfile.TemporaryDirectory(prefix="mqembedded-")
    except OSError as error:
        raise EmbeddedQueueManagerError(
            f"there is no temporary directory for the messages ({error.strerror}): name one in TMPDIR, or give `data` (--data)"
        ) from error


class EmbeddedQueueManager:
    """A queue manager that runs as a process of its own, for development, tests and demos.

    As a context manager, it starts on entry and stops on exit. ``kill`` sends SIGKILL. After ``kill`` or ``stop``, ``start``
    starts it again with the same data and the same port::

        with EmbeddedQueueManager("QM1", mqsc=["queues.mqsc"]) as qmgr:
            connection = pymqi.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name)
    """

    def __init__(
        self,
        q_mgr_name: str = "QM1",
        *,
        listen: str = "127.0.0.1:0",
        data: Path | str | None = None,
        mqsc: Sequence[Path | str] = (),
        users: Mapping[str, str] | None = None,
        platform: Platform | str = Platform.UNIX,
        log_level: str = "WARNING",
        command_server: bool = True,
        membership: Membership | None = None,
        readings: Mapping[str, str] | None = None,
        answers: Path | str | None = None,
        cleanup_gap_s: float = CLEANUP_GAP_S,
        access_key: str = "",
        latency_ms: float = 0,
        queue_sharing_group: str = "",
    ) -> None:
        """Set up the queue manager, without starting it.

        Args:
            q_mgr_name: the queue manager's name.
            listen: ``host:port`` on loopback. Port 0 takes any free port; a later start uses the same port.
            data: the data directory; None means a temporary directory, which is deleted together with this object.
            mqsc: MQSC files that the queue manager reads at every start.
            users: passwords by user. Other credentials are refused.
            platform: ``"unix"`` or ``"zos"``: the rules that apply where platforms differ.
            log_level: the level of the server's log on standard error.
            command_server: whether the queue manager answers PCF commands on SYSTEM.ADMIN.COMMAND.QUEUE.
            membership: the cluster that the queue manager is in; ``EmbeddedCluster`` sets this.
            readings: a mapping from names of ``READINGS`` to values. It chooses behaviour that IBM's documentation leaves open.
            answers: a file that ``make first-contact`` wrote, with further readings. ``readings`` overrides the file.
            cleanup_gap_s: seconds between the two steps of "closes handles, then backs out" (reading ``lost connection``).
            access_key: a key that applications need as ``MQEMBEDDED_ACCESS_KEY`` in their environment; ``environment()`` contains
                the key. With "", all applications can connect.
            latency_ms: milliseconds that data needs in each direction, to simulate a slow line.
            queue_sharing_group: a second name by which applications can connect. No queue is shared.

        Raises:
            ReadingError: there is no such reading or value, or the file ``answers`` cannot be used.
            EmbeddedQueueManagerError: no temporary directory can be made.
        """
        recorded = recorded_in(answers) if answers is not None else {}
        self._readings = Readings({**recorded, **(readings or {})}, cleanup_gap_s=cleanup_gap_s)
        self.q_mgr_name = q_mgr_name
        self.channel = DEFAULT_CHANNEL
        host, _, port = listen.rpartition(":")
        self.host, self.port = host.strip("[]"), int(port)
        self._mqsc = [str(Path(path).resolve()) for path in mqsc]
        self._users = dict(users or {})
        self._platform = Platform(platform)
        self._log_level = log_level
        self._command_server = command_server
        self._membership = membership
        self._access_key = access_key
        self.latency_ms = latency_ms
        self._queue_sharing_group = queue_sharing_group
        self._process: subprocess.Popen[str] | None = None
        self._control: Control | None = None
        # This is the last step, so that there is nothing to clean up if an argument is refused.
        self._temporary = temporary_directory() if data is None else None
        self.data = Path(self._temporary.name if self._temporary else data or "")

    @even_half_made
    def __repr__(self) -> str:
        state = f"pid={self.pid}" if self.is_running else "stopped"
        return f"<EmbeddedQueueManager {self.q_mgr_name} {self.conn_name} {state}>"

    def __enter__(self) -> EmbeddedQueueManager:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._temporary is not None:
            self._temporary.cleanup()

    @property
    def conn_name(self) -> str:
        """The connection name for applications, such as ``127.0.0.1(41234)``."""
        return f"{self.host}({self.port})"

    @property
    def pid(self) -> int:
        """The server's process number; 0 if the server is not running."""
        return self._process.pid if self._process is not None and self.is_running else 0

    @property
    def is_running(self) -> bool:
        """Whether the server process is alive."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the server, and return when it accepts connections. Raises EmbeddedQueueManagerError."""
        with contextlib.ExitStack() as if_it_fails:
            if self._temporary is not None and self._control is None:
                # After the first start there can be messages. A later failure must not delete them.
                if_it_fails.callback(self._temporary.cleanup)
            self._start()
            if_it_fails.pop_all()

    def _start(self) -> None:
        if self.is_running:
            raise EmbeddedQueueManagerError(f"{self!r} is running already")
        if self._process is not None:
            # The process has ended by itself, but its exit code has not been collected yet.
            self.wait()
        process = subprocess.Popen(
            [sys.executable, "-m", "mqembedded.serve.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdin is not None and process.stdout is not None
        asked = {
            "q_mgr_name": self.q_mgr_name,
            "host": self.host,
            "port": self.port,
            "data": str(self.data),
            "mqsc": self._mqsc,
            "users": self._users,
            "platform": self._platform.value,
            "log_level": self._log_level,
            "command_server": self._command_server,
            "membership": asdict(self._membership) if self._membership is not None else None,
            "readings": self._readings.chosen,
            "cleanup_gap_s": self._readings.cleanup_gap_s,
            "access_key": self._access_key,
            "latency_ms": self.latency_ms,
            "queue_sharing_group": self._queue_sharing_group,
        }
        # Passwords go through the pipe, because other users can read command lines.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
        line = process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended before it was ready"}
        if "error" in answer:
            process.wait()
            _close_pipes(process)
            raise EmbeddedQueueManagerError(f"queue manager {self.q_mgr_name} did not start: {answer['error']}")
        self.host, self.port = answer["host"], answer["port"]
        self._control = Control(self.host, self.port, answer["token"], self.q_mgr_name)
        self._process = process

    def stop(self) -> None:
        """Stop the server cleanly, which backs out open units of work. Do nothing if the server is not running."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        self._end(signal.SIGKILL)

    def wait(self) -> int:
        """Wait until the server has ended, for example because a fault has killed it, and return its exit code."""
        assert self._process is not None
        code = self._process.wait()
        _close_pipes(self._process)
        return code

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        if self.is_running:
            self._process.send_signal(number)
        self.wait()
        self._process = None

    def environment(self) -> dict[str, str]:
        """Return environment variables that let any pymqi or ibmmq program connect to this queue manager.

        ``MQSERVER`` names the channel, as on IBM MQ. The library path makes the embedded C library the client library.
        """
        library = build()
        search = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
        path = os.environ.get(search)
        return {
            **({"MQEMBEDDED_ACCESS_KEY": self._access_key} if self._access_key else {}),
            "MQSERVER": f"{self.channel}/TCP/{self.conn_name}",
            "MQGROUPS_LIBMQM": str(library),
            "MQGROUPS_Q_MGR_NAME": self.q_mgr_name,
            search: f"{library / 'lib64'}:{path}" if path else str(library / "lib64"),
        }

    # --- control

    @property
    def control(self) -> Control:
        """The control client of the running server. Raises EmbeddedQueueManagerError if the server is not running."""
        if self._control is None or not self.is_running:
            raise EmbeddedQueueManagerError(f"{self!r} is not running")
        return self._control

    def arm(self, fault: Fault) -> None:
        """Arm a fault, which then fires at the calls that ``Fault`` describes."""
        self.control.arm(fault)

    def clear_faults(self) -> None:
        """Disarm all faults, release frozen or delayed calls, and set all counts to zero."""
        self.control.clear_faults()

    def calls(self) -> dict[str, int]:
        """Return how many calls of each verb the server has counted since its start or the last ``clear_faults``."""
        return self.control.calls()

    def faults_fired(self) -> int:
        """Return how often faults have fired since the server's start or the last ``clear_faults``."""
        return self.control.faults_fired()


def _close_pipes(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()

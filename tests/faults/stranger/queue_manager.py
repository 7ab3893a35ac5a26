"""A queue manager that somebody else has started, with what the campaign does to its own: faults, cuts, an end and a start.

The faults happen in the client (``injector.py``) and on the line (``proxy.py``). When the queue manager "ends", all lines are cut
and nobody is let in until it "starts": to the programs, and to the queue manager, which backs out, that is the same, except that
what is not persistent survives.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mqembedded import Fault
from mqembedded.testing.under_test import QueueManagerUnderTest
from tests.faults.stranger.injector import Injector


@dataclass(frozen=True)
class Address:
    """Where a queue manager is, and as whom to connect: of the reader, past the proxy."""

    q_mgr_name: str
    channel: str
    conn_name: str
    credentials: Mapping[str, str] = field(repr=False)
    # Connections to it are not lost with the lines.
    pid: int = 0


class Stranger:
    """It, as the campaign's machines see it."""

    def __init__(self, given: QueueManagerUnderTest, directory: Path, program: str) -> None:
        """``directory``: of this worker; ``program``: the name under which the programs connect."""
        credentials = {} if given.user is None else {"user": given.user, "password": given.password or ""}
        self.address = Address(given.q_mgr_name, given.channel, given.conn_name, credentials)
        self.q_mgr_name, self.channel, self.credentials = given.q_mgr_name, given.channel, credentials
        host, _, port = given.conn_name.partition("(")
        control = directory / "line"
        command = [sys.executable, "-m", "tests.faults.stranger.proxy", host, port.rstrip(")") or "1414", str(control)]
        # The proxy calls no verb.
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        self._proxy = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self._proxy.stdout is not None
        proxy_port = int(self._proxy.stdout.readline())
        self.conn_name = f"127.0.0.1({proxy_port})"
        self._control = str(control)
        self._injector = Injector(program, control, proxy_port)
        self.control = self

    @property
    def pid(self) -> int:
        """The process that stands for it here."""
        return self._proxy.pid

    # --- as if it were controlled

    @property
    def is_running(self) -> bool:
        """Whether programs are let in."""
        return not self._injector.ended

    def start(self) -> None:
        """Let programs in."""
        self._order("up")
        self._injector.clear()

    def wait(self) -> None:
        """It has ended when programs are no longer let in."""

    def stop(self) -> None:
        """End the line; the queue manager goes on."""
        self._proxy.terminate()
        self._proxy.wait()

    def disconnect(self, pid: int) -> None:
        """Cut all lines of a process."""
        for port in self._injector.take_ports(pid):
            self._order(f"cut {port}")

    def arm(self, fault: Fault) -> None:
        """Arm a fault."""
        self._injector.arm(fault)

    def clear_faults(self) -> None:
        """Disarm all faults, and count anew."""
        self._injector.clear()

    def faults_fired(self) -> int:
        """Return how many have fired."""
        return self._injector.fired

    def _order(self, order: str) -> None:
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(self._control)
            control.sendall(f"{order}\n".encode())
            control.recv(1)

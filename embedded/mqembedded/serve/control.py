"""Controls a running server outside the MQI: faults, counts of calls, a full disk, quiescing, channels, MQSC commands.

A server writes its address, and the token for its control verb, to ``control.json`` in its data directory. Only the file's owner
can read it.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mqembedded.serve.faults import Fault
from mqembedded.wire.frames import FrameReader, decode_reply, encode_request
from mqembedded.wire.verbs import BY_NAME

_FILE = "control.json"


class ControlError(Exception):
    """The server cannot be reached, or refuses the command; the message explains why."""


@dataclass(frozen=True, slots=True)
class Control:
    """A client that sends control commands to one server."""

    host: str
    port: int
    token: str
    q_mgr_name: str

    @classmethod
    def of(cls, data: Path) -> Control:
        """Return a client for the server that uses this data directory; raise ControlError if ``control.json`` is missing."""
        try:
            return cls(**json.loads((data / _FILE).read_text()))
        except FileNotFoundError as error:
            raise ControlError(f"no embedded queue manager runs on {data}: there is no {_FILE}") from error

    def write(self, data: Path) -> None:
        """Write ``control.json`` in the data directory."""
        path = data / _FILE
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(asdict(self), file)

    def arm(self, fault: Fault) -> None:
        """Arm a fault, which then fires at the calls that ``Fault`` describes."""
        self._do("arm", **asdict(fault))

    def clear_faults(self) -> None:
        """Disarm all faults, release frozen or delayed calls, and set all counts to zero."""
        self._do("clear")

    def calls(self) -> dict[str, int]:
        """Return how many calls of each verb the server has counted since its start or the last ``clear_faults``."""
        calls: dict[str, int] = self._do("count")["calls"]
        return calls

    def faults_fired(self) -> int:
        """Return how often faults have fired since the server's start or the last ``clear_faults``."""
        fired: int = self._do("count")["fired"]
        return fired

    def fill_log(self, full: bool = True) -> None:
        """Simulate a full disk, or end the simulation.

        During the simulation, persistent puts outside syncpoint fail with MQRC_STORAGE_MEDIUM_FULL, and MQCMIT backs out units of
        work with persistent puts.
        """
        self._do("fill_log", full=full)

    def quiesce(self) -> None:
        """Quiesce like ``endmqm``. Calls with FAIL_IF_QUIESCING get MQRC_Q_MGR_QUIESCING. The last MQDISC ends the server."""
        self._do("quiesce")

    def mqsc(self, text: str) -> tuple[bool, list[str]]:
        """Run an MQSC command as administrator, as runmqsc does. Return whether it succeeded, and the lines that it prints."""
        answer = self._do("mqsc", text=text)
        return answer["done"], answer["said"]

    def channels(self) -> list[dict[str, Any]]:
        """Return the status of the channels to the other members of the cluster, ordered by member."""
        channels: list[dict[str, Any]] = self._do("channel", action="status")["channels"]
        return channels

    def stop_channel(self, to: str) -> None:
        """Stop the channel to a queue manager after the channel's current batch. Later messages wait."""
        self._do("channel", action="stop", to=to)

    def start_channel(self, to: str) -> None:
        """Start a stopped channel to a queue manager."""
        self._do("channel", action="start", to=to)

    def slow_channel(self, to: str, delay_s: float) -> None:
        """Let the channel to a queue manager wait ``delay_s`` seconds before each batch; 0 ends the delay."""
        self._do("channel", action="slow", to=to, delay_s=delay_s)

    def interleave_channel(self, to: str, seed: int | None) -> None:
        """Let a channel deliver each batch in a random order that depends on ``seed``; None restores the usual order."""
        self._do("channel", action="interleave", to=to, seed=seed)

    def cut_channel(self, to: str, when: str = "after", *, stop: bool = False) -> None:
        """Let a channel's connection break while the channel sends its next batch, so that the batch is in doubt.

        Args:
            to: the queue manager that the channel leads to.
            when: the connection breaks ``before`` or ``after`` the other end receives the batch. "" cancels a planned break.
            stop: whether the channel then stops. Otherwise, the channel resolves the batch in doubt as soon as it can.
        """
        self._do("channel", action="cut", to=to, when=when, stop=stop)

    def disconnect(self, pid: int) -> None:
        """Drop the connections of a process, as the server does for a client that misses its heartbeats."""
        self._do("disconnect", pid=pid)

    def _do(self, what: str, **arguments: Any) -> dict[str, Any]:
        verb = BY_NAME["CONTROL"]
        command = json.dumps({"do": what, **arguments}).encode()
        try:
            with socket.create_connection((self.host, self.port)) as sock:
                sock.sendall(encode_request(verb, 1, [self.token.encode(), command]))
                frame = FrameReader(sock).read()
        except OSError as error:
            raise ControlError(f"no server answers at {self.host}:{self.port}: {error}") from error
        if frame is None:
            raise ControlError(f"the queue manager at {self.host}:{self.port} refused the command {what}")
        _, _, values = decode_reply(verb, frame[2])
        answer: dict[str, Any] = json.loads(values[0])
        if "error" in answer:
            raise ControlError(answer["error"])
        return answer

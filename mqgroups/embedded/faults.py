"""Faults for tests: a call that is refused, whose reply is lost, or that somebody does not survive.

A fault is armed through the control verb and fires once, at the n-th MQI call that fits it, before the call took effect
or after. The queue manager itself knows nothing of faults; ``server.py`` asks here around every call.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from dataclasses import dataclass

ACTIONS = ("kill_client", "kill_server", "drop", "answer")


class ConnectionDropped(Exception):
    """A fault ended this connection; there is no reply."""


class CallAnswered(Exception):
    """A fault refused this call."""

    def __init__(self, comp: int, reason: int) -> None:
        super().__init__(reason)
        self.comp = comp
        self.reason = reason


@dataclass(slots=True)
class Fault:
    """One fault.

    Attributes:
        action: ``kill_client`` and ``kill_server`` send SIGKILL, ``drop`` closes the connection, ``answer`` ends the
        call
            with MQCC_FAILED and ``reason``.
        when: ``before`` or ``after`` the call took effect. ``answer`` is always before.
        nth: fires at this call that fits, counted from 1 since it was armed.
        verb: only calls of this verb count; "" for all.
        appl_name: only calls of applications of this name count; "" for all.
        reason: reason code for ``answer``.
    """

    action: str
    when: str = "before"
    nth: int = 1
    verb: str = ""
    appl_name: str = ""
    reason: int = 0

    def __post_init__(self) -> None:
        if self.action not in ACTIONS or self.when not in ("before", "after"):
            raise ValueError(f"a fault is one of {', '.join(ACTIONS)}, before or after; not {self.action} {self.when}")
        if self.nth < 1:
            raise ValueError(f"a fault fires at the 1st call or a later one, not at the {self.nth}th")


class Faults:
    """The armed faults and the count of calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._armed: list[Fault] = []
        self.calls: Counter[str] = Counter()
        self.fired = 0

    def arm(self, fault: Fault) -> None:
        """Let a fault fire."""
        with self._lock:
            self._armed.append(fault)

    def clear(self) -> None:
        """Forget the armed faults and all counts."""
        with self._lock:
            self._armed.clear()
            self.calls.clear()
            self.fired = 0

    def at(self, verb: str, appl_name: str) -> Fault | None:
        """Count one call; return the fault that fires at it."""
        with self._lock:
            self.calls[verb] += 1
            for fault in self._armed:
                if fault.verb in ("", verb) and fault.appl_name in ("", appl_name):
                    fault.nth -= 1
                    if fault.nth == 0:
                        self._armed.remove(fault)
                        self.fired += 1
                        return fault
        return None


def perform(fault: Fault, client_pid: int) -> None:
    """Do what the fault says.

    Raises:
        CallAnswered: the call ends with the fault's reason.
        ConnectionDropped: the connection is to be closed without a reply.
    """
    if fault.action == "answer":
        raise CallAnswered(2, fault.reason)
    if fault.action == "kill_server":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault.action == "kill_client" and client_pid > 0:
        os.kill(client_pid, signal.SIGKILL)
    raise ConnectionDropped(fault.action)

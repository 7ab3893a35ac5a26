"""Faults for tests: calls that are refused or delayed, lost replies, and clients and servers that are killed.

A test arms a fault through the control verb. The fault fires at the n-th MQI call that matches, before or after the call takes
effect. It can fire again at later calls. Faults depend only on counts of calls, never on chance. A random campaign draws its
faults beforehand with ``random_fault``, and the same seed gives the same faults. ``server.py`` checks for faults around every
call. The queue manager does not know of faults.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mqembedded import constants as mq

ACTIONS = ("kill_client", "kill_server", "drop", "freeze", "answer", "delay")
_WHEN = ("before", "after")


class ConnectionDropped(Exception):
    """A fault ended this connection without a reply."""


class CallAnswered(Exception):
    """A fault answered this call with the fault's own completion code and reason code."""

    def __init__(self, comp: int, reason: int) -> None:
        super().__init__(reason)
        self.comp = comp
        self.reason = reason


@dataclass(slots=True)
class Fault:
    """A fault: an action, and the calls at which the action happens.

    Attributes:
        action: ``kill_client`` and ``kill_server`` send SIGKILL; ``drop`` closes the connection without a reply, so the outcome
            of an MQCMIT is unknown; ``freeze`` never replies, but leaves the connection open; ``answer`` ends the call with
            ``comp`` and ``reason``; ``delay`` delays the call by ``delay_s``.
        when: the action happens ``before`` or ``after`` the call takes effect. An ``answer`` after the call is a false reply.
        nth: the fault first fires at the n-th matching call after arming. 1 is the next matching call.
        verb: only calls of this verb match; "" means that calls of every verb match.
        appl_name: only calls of applications with this name match; "" means that calls of every application match.
        comp, reason: the completion code and the reason code that ``answer`` returns.
        delay_s: the seconds by which ``delay`` delays a call.
        times: the number of matching calls at which the fault fires, from the n-th on. 0 means every call from the n-th on.
    """

    action: str
    when: str = "before"
    nth: int = 1
    verb: str = ""
    appl_name: str = ""
    comp: int = mq.MQCC_FAILED
    reason: int = 0
    delay_s: float = 0.0
    times: int = 1

    def __post_init__(self) -> None:
        if self.action not in ACTIONS or self.when not in _WHEN:
            raise ValueError(
                f"a fault is one of {', '.join(ACTIONS)}, before or after a call; not {self.action} {self.when}"
            )
        if self.nth < 1 or self.times < 0:
            raise ValueError(
                f"a fault needs nth of 1 or higher and times of 0 or higher, not {self.nth} and {self.times}"
            )
        if self.action == "answer" and not self.reason and self.comp:
            raise ValueError("an answer that is not MQCC_OK needs a reason code")
        if not self.delay_s >= 0:
            raise ValueError(f"a delay lasts 0 seconds or longer, not {self.delay_s!r}")


def random_fault(seed: int, calls: int, actions: Sequence[str] = ("kill_client", "drop", "kill_server")) -> Fault:
    """Return a random fault that fires once, at the latest at MQI call number ``calls``. The same seed gives the same fault."""
    draw = random.Random(seed)
    return Fault(draw.choice(actions), draw.choice(_WHEN), draw.randint(1, calls))


class Faults:
    """The armed faults, and the counts of calls and of fired faults."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._armed: list[Fault] = []
        self._thawed = threading.Event()
        self.calls: Counter[str] = Counter()
        self.fired = 0

    def arm(self, fault: Fault) -> None:
        """Add a fault to the armed faults."""
        with self._lock:
            self._armed.append(fault)

    def clear(self) -> None:
        """Disarm all faults, set all counts to zero, and end freezes and delays."""
        with self._lock:
            self._armed.clear()
            self.calls.clear()
            self.fired = 0
            self._thawed.set()
            self._thawed = threading.Event()

    def at(self, verb: str, appl_name: str) -> Fault | None:
        """Count one call, and return the fault that fires at this call, or None."""
        with self._lock:
            self.calls[verb] += 1
            if not self._armed:
                return None
            due = None
            for fault in tuple(self._armed):
                if fault.verb not in ("", verb) or fault.appl_name not in ("", appl_name):
                    continue
                if fault.nth > 1:
                    fault.nth -= 1
                elif due is None:
                    due = fault
                    self.fired += 1
                    if fault.times:
                        fault.times -= 1
                        if not fault.times:
                            self._armed.remove(fault)
            return due

    def perform(self, fault: Fault, client_pid: int) -> None:
        """Carry out a fault. Return if the call can continue, otherwise raise.

        Raises:
            CallAnswered: the call ends with the fault's completion and reason code.
            ConnectionDropped: the connection must be closed without a reply.
        """
        if fault.action == "answer":
            raise CallAnswered(fault.comp, fault.reason)
        if fault.action == "delay":
            self._thawed.wait(fault.delay_s)
            return
        if fault.action == "freeze":
            self._thawed.wait()
        if fault.action == "kill_server":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault.action == "kill_client" and client_pid > 0:
            os.kill(client_pid, signal.SIGKILL)
        raise ConnectionDropped(fault.action)

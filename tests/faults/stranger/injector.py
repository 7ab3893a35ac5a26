"""The injector: compiled, loaded into the worker processes, and armed.

``environment()`` is for those who start a process; in one that has the injector, ``Injector()`` arms it. Faults count as they do
on an embedded queue manager, so the same names of cases mean the same.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
from pathlib import Path

from mqembedded import Fault
from mqembedded.libmqm.build import build
from mqgroups.mqi import _pymqi
from mqgroups.mqi._c_layer import Mqstat

_SOURCE = Path(__file__).with_name("injector.c")
_FLAGS = "-std=c11 -D_GNU_SOURCE -O2 -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror -pthread"
_PRELOAD = "LD_PRELOAD"
_ACTIONS = {"kill_client": 1, "kill_server": 2, "drop": 3, "answer": 4, "delay": 5, "freeze": 6}
_MOST_LINES = 256


def environment(directory: Path) -> dict[str, str]:
    """Compile it into a directory, and return the environment that has a process load it."""
    library = directory / "injector.so"
    # The types and constants of the MQI are the same for every client library.
    command = ["cc", *shlex.split(_FLAGS), f"-I{build() / 'inc'}", str(_SOURCE), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True)
    return {_PRELOAD: f"{library}:{os.environ[_PRELOAD]}" if _PRELOAD in os.environ else str(library)}


def is_loaded() -> bool:
    """Whether this process has it."""
    return hasattr(ctypes.CDLL(None), "injector_watch")


def count_mqstat() -> None:
    """Have the adapter for pymqi call MQSTAT through the injector of this process.

    pymqi has no MQSTAT, so the adapter looks for it in the library that pymqi is linked to, past what is loaded before.
    """
    library = os.environ[_PRELOAD].partition(":")[0]
    of_library = _pymqi._mqstat

    def mqstat(c_module: str) -> Mqstat:
        return of_library(library)

    _pymqi._mqstat = mqstat


class Injector:
    """The injector in this process, and in those that it forks."""

    def __init__(self, program: str, control: Path, proxy_port: int) -> None:
        """``program``: the name of the programs whose calls count; ``control``: the proxy's Unix socket."""
        self._c = ctypes.CDLL(None)
        if not is_loaded():
            raise RuntimeError("this process has no injector: start it with the environment that environment() returns")
        self._c.injector_arm.restype = self._c.injector_ended.restype = ctypes.c_bool
        self._c.injector_watch(program.encode(), os.fsencode(control), proxy_port)

    def arm(self, fault: Fault) -> None:
        """Arm a fault; what it says of the application's name is known already."""
        what = _ACTIONS[fault.action], fault.when == "after", fault.nth, fault.verb.encode()
        if not self._c.injector_arm(*what, fault.comp, fault.reason, int(fault.delay_s * 1_000_000)):
            raise RuntimeError("more faults are armed than there is room for")

    def clear(self) -> None:
        """Disarm all faults, and count anew."""
        self._c.injector_clear()

    @property
    def fired(self) -> int:
        """How many faults have fired."""
        return int(self._c.injector_fired())

    @property
    def ended(self) -> bool:
        """Whether a fault has ended all lines since ``clear``."""
        return bool(self._c.injector_ended())

    def take_ports(self, pid: int) -> list[int]:
        """Return the ports at this end of a process's lines, which are forgotten, because they are to be cut."""
        ports = (ctypes.c_int32 * _MOST_LINES)()
        count = self._c.injector_ports(pid, ports, _MOST_LINES)
        return list(ports[:count])

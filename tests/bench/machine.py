"""What the benchmark runs on, and how much else the machine had to do meanwhile."""

from __future__ import annotations

import os
import platform
import resource
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple


class _Spent(NamedTuple):
    """Seconds of processor time since the machine was started: of everything, and of everything that was not idle."""

    all: float
    busy: float
    ours: float


class Load:
    """The load of the machine from now on, until ``told``."""

    def __init__(self) -> None:
        self._before = _spent()
        self._waiting = os.getloadavg()[0]

    def told(self) -> str:
        """Return the load averages at the beginning and now, and which share of the processors others had in between."""
        before, after = self._before, _spent()
        every = max(after.all - before.all, 1e-9)
        others = max((after.busy - before.busy) - (after.ours - before.ours), 0.0) / every
        return (
            f"load average {self._waiting:.1f} to {os.getloadavg()[0]:.1f}, others had {others:.0%} of the processors"
        )


def described() -> str:
    """Return cores, system and Python in a few words."""
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def today() -> str:
    """Return the date."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def _spent() -> _Spent:
    fields = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    tick = os.sysconf("SC_CLK_TCK")
    # user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5))
    idle = fields[3] + fields[4]
    ours = sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )
    return _Spent(sum(fields) / tick, (sum(fields) - idle) / tick, ours)

"""What the benchmark runs on, and how much else the machine had to do meanwhile."""

from __future__ import annotations

import os
import platform
import resource
from pathlib import Path


class Load:
    """The load of the machine from now on, until ``told``."""

    def __init__(self) -> None:
        self._before = _spent_s()
        self._waiting = os.getloadavg()[0]

    def told(self) -> str:
        """Return the load averages at the beginning and now, and which share of the processors others had in between."""
        every, busy, ours = (after - before for after, before in zip(_spent_s(), self._before, strict=True))
        others = max(busy - ours, 0.0) / max(every, 1e-9)
        return (
            f"load average {self._waiting:.1f} to {os.getloadavg()[0]:.1f}, others had {others:.0%} of the processors"
        )


def described() -> str:
    """Return cores, system and Python in a few words."""
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def _spent_s() -> tuple[float, float, float]:
    """Return the processor time since the machine was started: all, what was not idle, and what of it was ours."""
    # user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5))
    fields = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    tick = os.sysconf("SC_CLK_TCK")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ours = sum(each.ru_utime + each.ru_stime for each in used)
    return sum(fields) / tick, (sum(fields) - fields[3] - fields[4]) / tick, ours

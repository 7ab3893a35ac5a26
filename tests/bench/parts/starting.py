"""Part ``starting``: the processor time that programs take to start, against that of a Python that does nothing."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys

from tests.bench.figures import Figure
from tests.bench.parts import Bench

TITLE = "the processor time of starting"
_NOTHING = "python -c pass"
# What is run, and at most how many seconds of processor time it should take.
_COMMANDS: dict[str, tuple[list[str], float | None]] = {
    _NOTHING: (["-c", "pass"], None),
    "import mqgroups": (["-c", "import mqgroups"], 0.12),
    "mqgroups recover --help": (["-m", "mqgroups", "recover", "--help"], 0.2),
    "mqembedded exec -- true": (["-m", "mqembedded", "exec", "--", "true"], 0.8),
}
_SECONDS = 60


def run(bench: Bench) -> list[Figure]:
    """Measure."""
    found: dict[str, list[float]] = {name: [] for name in _COMMANDS}
    for number in bench.tell.rounds("programs", bench.of(11, 5), _SECONDS):
        for name, (arguments, _) in _COMMANDS.items():
            took_s = _processor_s(arguments)
            if number:  # the first round warms up
                found[name].append(took_s)
    figures = []
    for name, (_, at_most) in _COMMANDS.items():
        figures.append(Figure(f"{name}, processor time", statistics.median(found[name]), at_most=at_most, unit="s"))
        if name != _NOTHING:
            ratios = (mine / nothing for mine, nothing in zip(found[name], found[_NOTHING], strict=True))
            figures.append(Figure(f"{name} ÷ {_NOTHING}", statistics.median(ratios), digits=1))
    bench.details |= found
    return figures


def _processor_s(arguments: list[str]) -> float:
    """Return the processor time of a program and of all processes that it has waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

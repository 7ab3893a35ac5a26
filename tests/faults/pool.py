"""The worker processes of the campaign: each has a queue manager of its own, runs cases by their names, and says what came of
them.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pymqi

from mqgroups.mqi import constants as mq
from tests.faults import (
    call_faults,
    cancellations,
    foreign_ends,
    functions,
    interruptions,
    intrusions,
    randomly,
    refusals,
    settings,
    signals,
    stops,
    zombies,
)
from tests.faults.directory import temporary_directory
from tests.faults.extents import Task
from tests.faults.interrupter import Place
from tests.faults.patterns import PATTERNS
from tests.faults.result import Result
from tests.faults.site import Site
from tests.faults.without import take_out

_PHASES: dict[str, Callable[..., Result]] = {
    "zombie": zombies.run,
    "interruption": interruptions.run,
    "cancellation": cancellations.run,
    "foreign": foreign_ends.run,
    "stop": stops.run,
    "refusal": refusals.run,
    "function": functions.run,
    "settings": settings.run,
    "intrusion": intrusions.run,
    "race": intrusions.race,
    "signal": signals.run,
    "drawn": lambda site, seed: randomly.drawn_case(site.single(), int(seed)),
    "drawn-cluster": lambda site, seed: randomly.drawn_on_cluster(site, int(seed)),
}
_site: Site


@dataclass(frozen=True)
class Setting:
    """What a worker's cases run under.

    Attributes:
        without: safeties that are taken out of the library.
        binding: pymqi or ibmmq; empty for the one of the environment.
        readings: of the embedded queue manager, by name.
        stranger: whether it is the queue manager that the environment names, instead.
    """

    without: Sequence[str] = ()
    binding: str = ""
    readings: Mapping[str, str] = field(default_factory=dict)
    stranger: bool = False


def begin(directory: str, setting: Setting) -> None:
    """Begin in a worker, or in this process."""
    global _site
    if setting.binding:
        os.environ["MQGROUPS_MQI"] = setting.binding
    # A library that leaves connections open is to be told so by its cases, not to end them.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    take_out(setting.without)
    _site = Site(Path(directory, str(os.getpid())), setting.readings, stranger=setting.stranger)
    atexit.register(_site.stop)


def end() -> None:
    """End what ``begin`` has begun in this process."""
    _site.stop()


def run_case(name: str) -> Result:
    """Run one case by its name."""
    first, *words = name.split(" ")
    return _PHASES[first](_site, *words) if first in _PHASES else call_faults.run(_site, first, *words)


def run_task(task: Task) -> tuple[Task, Result, list[int], dict[str, int]]:
    """Run a task; returns how many calls each case took, and the memory and handles of the processes after it."""
    total, calls = Result(), []
    for name in task.cases:
        try:
            result = run_case(name)
        except Exception as error:
            result = Result(runs=1, wrong=[f"the case ended with {type(error).__name__}: {error}"])
        calls.append(len(result.calls))
        result.wrong = [f"{name}: {wrong}" for wrong in result.wrong]
        total.add(result)
    return task, total, calls, _site.holdings()


def undisturbed(name: str) -> list[tuple[str, int]]:
    """Return the calls that a pattern makes when nothing goes wrong."""
    run_case(name)
    result = run_case(name)
    if result.wrong:
        raise RuntimeError(f"{name} goes wrong without a fault: {result.wrong}")
    return result.calls


def reached(name: str, connection: str, opcodes: bool) -> dict[Place, int]:
    """Return the lines, or opcodes, of the library that a pattern reaches, and how often."""
    # Some lines are reached once in a process.
    interruptions.reached(_site, PATTERNS[name], connection, opcodes=opcodes)
    return interruptions.reached(_site, PATTERNS[name], connection, opcodes=opcodes)


def heartbeat_s() -> tuple[int, str]:
    """Return HBINT of the channel; 0 if it is not told, and why."""
    machine = _site.single()
    try:
        return machine.reader.heartbeat_s(machine.qmgr.channel), ""
    except pymqi.MQMIError as error:
        needed = (
            "it needs DSP for the channel" if error.reason == mq.MQRC_NOT_AUTHORIZED else "the command server refuses"
        )
        return 0, f"HBINT of the channel is not told, reason {error.reason}: {needed}"


def waits(name: str) -> int:
    """Return how often the task of a pattern of asyncio waits when nothing goes wrong."""
    return cancellations.waits(_site, PATTERNS[name])


@contextlib.contextmanager
def worker_processes(count: int, setting: Setting) -> Iterator[ProcessPoolExecutor]:
    """Start workers, and end them."""
    context = multiprocessing.get_context("spawn")
    with (
        temporary_directory() as directory,
        ProcessPoolExecutor(count, context, initializer=begin, initargs=(directory, setting)) as workers,
    ):
        yield workers

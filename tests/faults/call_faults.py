"""Two phases: a fault at each MQI call of each pattern; and a second one at each call of the recovery from the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.faults.cases import KILLED, LOST, case_name, fault_at, second_faults, single_faults
from tests.faults.extents import Extent, Sample, Task
from tests.faults.machine import Result
from tests.faults.patterns import PATTERNS
from tests.faults.programs import Pattern
from tests.faults.site import Site

SINGLE, DOUBLE = "single", "double"


def run(site: Site, name: str, *faults: str) -> Result:
    """Run a case of either phase."""
    pattern = PATTERNS[name]
    return site.machine(pattern).case(pattern, [fault_at(fault) for fault in faults])


def singles(
    undisturbed: Mapping[Pattern, list[tuple[str, int]]], extents: Mapping[Pattern, Extent], sample: Sample
) -> Iterator[Task]:
    """Yield single faults, given the calls that each pattern makes without any."""
    for pattern, calls in undisturbed.items():
        extent = extents[pattern]
        for nth in range(1, len(calls) + 1):
            cases = (case_name(pattern, [fault]) for fault in single_faults(calls, nth))
            taken = (
                case
                for case in cases
                if sample.takes(case, extent.single_kills if "kill_client" in case else extent.single)
            )
            yield Task(SINGLE, pattern.name, tuple(taken))


def doubles(made: Mapping[str, int], extents: Mapping[Pattern, Extent], sample: Sample) -> Iterator[Task]:
    """Yield pairs, given how many calls a program makes in all in each case of a single fault."""
    for single, calls in made.items():
        name, first = single.split(" ")
        extent = extents[PATTERNS[name]]
        what, _, nth = first.partition("@")
        if what not in (*LOST, *KILLED):
            continue
        cases = []
        for second in second_faults((*LOST, *KILLED), int(nth), calls):
            killed = "kill_client" in first + second
            case = f"{single} {second}"
            if sample.takes(case, extent.double_kills if killed else extent.double):
                cases.append(case)
        yield Task(DOUBLE, name, tuple(cases))

"""Part ``growth``: what calls cost the embedded queue manager when there is more and more of something.

Each case makes so many of one thing and returns the calls that are timed, which leave things as they were. There is a queue
manager for each size, and they take turns, so that a ratio is of calls made one after the other.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack

from mqembedded import constants as mq
from tests.bench.program import Program, program
from tests.bench.run import Run

Work = Callable[[], None]
_WHOLE_GROUP = mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_ALL_MSGS_AVAILABLE
_IN_ORDER = mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_LOGICAL_ORDER


def _id(number: int) -> bytes:
    return number.to_bytes(24, "big")


def _messages(here: Program, number: int) -> Work:
    """A message is put behind others and got by its CorrelId."""
    for each in range(1, number + 1):
        here.put(correl_id=_id(each))
    new = itertools.count(number + 1)

    def work() -> None:
        wanted = _id(next(new))
        here.put(correl_id=wanted)
        here.get(match=mq.MQMO_MATCH_CORREL_ID, correl_id=wanted)

    return work


def _groups(here: Program, number: int) -> Work:
    """Groups without their last message are in front of a group that is there as a whole."""
    for each in range(1, number + 1):
        here.put(group_id=_id(each), msg_flags=mq.MQMF_MSG_IN_GROUP)

    def work() -> None:
        here.put(_IN_ORDER, msg_flags=mq.MQMF_MSG_IN_GROUP)
        here.put(_IN_ORDER, msg_flags=mq.MQMF_LAST_MSG_IN_GROUP)
        here.get(_WHOLE_GROUP)
        here.get(_WHOLE_GROUP)

    return work


CASES: Mapping[str, Callable[[Program, int], Work]] = {"messages": _messages, "groups": _groups}


def measure(run: Run) -> dict[str, float]:
    """Measure: with the most, ÷ with the fewest."""
    fewest, most, repeats, rounds = run.of((100, 100_000, 200, 5), (100, 10_000, 100, 3))
    return {
        case: measured(case, fewest, most, repeats, run.rounds(f"{fewest:,} and {most:,} {case}", rounds, 60))
        for case in CASES
    }


def measured(case: str, fewest: int, most: int, repeats: int, rounds: Iterable[int]) -> float:
    """Return the median of the ratios of a case within a round."""
    ratios = []
    with ExitStack() as programs:
        works = [CASES[case](programs.enter_context(program()), size) for size in (fewest, most)]
        for number in rounds:
            few_s, many_s = (_spent_s(work, repeats) for work in works)
            if number:  # the first round warms up
                ratios.append(many_s / few_s)
    return statistics.median(ratios)


def _spent_s(work: Work, times: int) -> float:
    began_s = time.process_time()
    for _ in range(times):
        work()
    return time.process_time() - began_s

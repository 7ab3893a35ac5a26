"""What a call costs when there is more and more of something: messages, groups, segments, handles, connections, subscriptions.

Each case makes so many of one thing and returns the calls that are timed, which leave things as they were. ``measure`` keeps a
queue manager for each size and lets them take turns, so that a ratio is of calls made one after the other. Time is processor
time of the queue manager in this process, and of packing the structures of the calls.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from mqembedded import constants as mq
from mqembedded.properties.names import MOST_PROPERTIES
from tests.bench.program import Program, program

Work = Callable[[], None]
_ANY_GROUP = mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_ALL_MSGS_AVAILABLE
_JOINED = mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_COMPLETE_MSG
_IN_ORDER = mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_LOGICAL_ORDER
_QUEUE = "GROWTH"


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to have many of.

    Attributes:
        things: what there are many of.
        calls: what is timed.
        prepare: makes so many things and returns the calls.
        for_each: the calls are about all things, and their time is told for each; else it is told for the calls as they are.
        most: how many there can be without a refusal.
    """

    things: str
    calls: str
    prepare: Callable[[Program, int], Work]
    for_each: bool = False
    most: int = 1_000_000


def _id(number: int) -> bytes:
    return number.to_bytes(24, "big")


def _filled(here: Program, number: int) -> int:
    """Put so many messages, with CorrelIds of their own, and return the handle of the queue."""
    queue = here.open(here.define(_QUEUE))
    for each in range(1, number + 1):
        here.put(queue, correl_id=_id(each))
    return queue


def _first_message(here: Program, number: int) -> Work:
    queue = _filled(here, number)

    def work() -> None:
        here.put(queue)
        assert here.get(queue) >= 0

    return work


def _one_message(here: Program, number: int) -> Work:
    queue, new = _filled(here, number), itertools.count(number + 1)

    def work() -> None:
        wanted = _id(next(new))
        here.put(queue, correl_id=wanted)
        assert here.get(queue, match=mq.MQMO_MATCH_CORREL_ID, correl_id=wanted) >= 0

    return work


def _browsed_messages(here: Program, number: int) -> Work:
    queue, options = _filled(here, number), mq.MQGMO_NO_SYNCPOINT

    def work() -> None:
        assert here.get(queue, options | mq.MQGMO_BROWSE_FIRST) >= 0
        assert here.get(queue, options | mq.MQGMO_BROWSE_NEXT) >= 0

    return work


def _marked_messages(here: Program, number: int) -> Work:
    queue = here.open(here.define(_QUEUE))
    options = mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_MARK_BROWSE_HANDLE
    for _ in range(number):
        here.put(queue)
        assert here.get(queue, options | mq.MQGMO_BROWSE_NEXT) >= 0

    def work() -> None:
        here.put(queue)
        assert here.get(queue, options | mq.MQGMO_BROWSE_NEXT) >= 0
        assert here.get(queue) >= 0

    return work


def _whole_group(here: Program, number: int) -> Work:
    """Groups without their last message are in front of a group that is there as a whole."""
    queue = here.open(here.define(_QUEUE))
    for each in range(1, number + 1):
        here.put(queue, group_id=_id(each), msg_flags=mq.MQMF_MSG_IN_GROUP)

    def work() -> None:
        here.put(queue, options=_IN_ORDER, msg_flags=mq.MQMF_MSG_IN_GROUP)
        here.put(queue, options=_IN_ORDER, msg_flags=mq.MQMF_LAST_MSG_IN_GROUP)
        assert here.get(queue, _ANY_GROUP) >= 0
        assert here.get(queue, _ANY_GROUP) >= 0

    return work


def _messages_of_a_group(here: Program, number: int) -> Work:
    queue = here.open(here.define(_QUEUE))

    def work() -> None:
        for each in range(1, number + 1):
            last = each == number
            here.put(queue, options=_IN_ORDER, msg_flags=mq.MQMF_LAST_MSG_IN_GROUP if last else mq.MQMF_MSG_IN_GROUP)
        for _ in range(number):
            assert here.get(queue, _ANY_GROUP) >= 0

    return work


def _segments(here: Program, number: int) -> Work:
    queue = here.open(here.define(_QUEUE))

    def work() -> None:
        for each in range(1, number + 1):
            here.put(queue, options=_IN_ORDER, msg_flags=mq.MQMF_LAST_SEGMENT if each == number else mq.MQMF_SEGMENT)
        assert here.get(queue, _JOINED) > 0

    return work


def _uncommitted(here: Program, number: int) -> Work:
    queue = here.open(here.define(_QUEUE))

    def work() -> None:
        for _ in range(number):
            here.put(queue, options=mq.MQPMO_SYNCPOINT)
        here.commit()
        for _ in range(number):
            assert here.get(queue, mq.MQGMO_SYNCPOINT) >= 0
        here.commit()

    return work


def _backed_out(here: Program, number: int) -> Work:
    queue = _filled(here, number)

    def work() -> None:
        for _ in range(number):
            assert here.get(queue, mq.MQGMO_SYNCPOINT) >= 0
        here.back_out()

    return work


def _waiting_calls(here: Program, number: int) -> Work:
    queue, other = here.open(here.define(_QUEUE)), here.connect()
    for each in range(1, number + 1):
        here.wait(queue, match=mq.MQMO_MATCH_CORREL_ID, correl_id=_id(each))
    mine = here.open(_QUEUE, connection=other)
    program_of_mine = Program(here.q_mgr, other)
    wanted = _id(number + 1)

    def work() -> None:
        program_of_mine.put(mine, correl_id=wanted)
        assert program_of_mine.get(mine, match=mq.MQMO_MATCH_CORREL_ID, correl_id=wanted) >= 0

    return work


def _handles(here: Program, number: int) -> Work:
    name = here.define(_QUEUE)
    for _ in range(number):
        here.open(name)
    return lambda: here.close(here.open(name))


def _connections(here: Program, number: int) -> Work:
    name = here.define(_QUEUE)
    for _ in range(number):
        here.open(name, connection=here.connect())

    def work() -> None:
        one = here.connect()
        here.open(name, connection=one)
        here.q_mgr.disconnect(one)

    return work


def _properties(here: Program, number: int) -> Work:
    handle = here.message_handle()
    for each in range(number):
        here.set_property(handle, f"property{each}")

    def work() -> None:
        here.set_property(handle, "one.more")
        here.inquire_property(handle, "one.more")
        here.delete_property(handle, "one.more")

    return work


def _subscriptions(here: Program, number: int) -> Work:
    queue, topic = here.open(here.define(_QUEUE)), here.open_topic(f"growth/{number - 1}")
    for each in range(number):
        here.subscribe(f"growth/{each}", queue)

    def work() -> None:
        here.put(topic)
        assert here.get(queue) >= 0

    return work


def _retained(here: Program, number: int) -> Work:
    queue = here.open(here.define(_QUEUE))
    for each in range(number):
        topic = here.open_topic(f"growth/{each}")
        here.put(topic, options=mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_RETAIN)
        here.close(topic)

    def work() -> None:
        subscription = here.subscribe(f"growth/{number - 1}", queue)
        assert here.get(queue) >= 0
        here.close(subscription)

    return work


CASES = (
    Case("messages on the queue", "MQPUT, MQGET of the first", _first_message),
    Case("messages on the queue", "MQPUT, MQGET by CorrelId", _one_message),
    Case("messages on the queue", "MQGET, browsing the first two", _browsed_messages),
    Case("messages with a browse mark", "MQPUT, browse and mark, MQGET", _marked_messages),
    Case("incomplete groups", "a group of two, put and got whole", _whole_group),
    Case("messages of a group", "put, and got whole; each", _messages_of_a_group, for_each=True),
    Case("segments of a message", "put, and joined by one MQGET; each", _segments, for_each=True),
    Case("messages in a unit of work", "put, committed, got, committed; each", _uncommitted, for_each=True),
    Case("messages in a unit of work", "got, backed out; each", _backed_out, for_each=True),
    Case("waiting MQGETs", "MQPUT, MQGET by CorrelId", _waiting_calls),
    Case("open handles", "MQOPEN, MQCLOSE", _handles),
    Case("connections with the queue open", "MQCONNX, MQOPEN, MQDISC", _connections),
    Case("properties of a message", "MQSETMP, MQINQMP, MQDLTMP", _properties, most=MOST_PROPERTIES),
    Case("subscriptions to other topics", "MQPUT to a topic, MQGET", _subscriptions),
    Case("retained publications", "MQSUB, MQGET, MQCLOSE", _retained),
)


@dataclass(frozen=True, slots=True)
class Grown:
    """What came of a case: microseconds by the number of things, and the ratio of the most to the fewest."""

    case: Case
    us: dict[int, float]
    ratio: float


def measure(case: Case, sizes: Sequence[int], repeats: int, rounds: Iterable[int]) -> Grown:
    """Measure a case; times and ratio are medians of the rounds.

    Args:
        case: what to measure.
        sizes: how many things, ascending.
        repeats: how often the calls are made in a round, where they are not about all things.
        rounds: numbers of rounds; 0 warms up, which calls about all things do by themselves.
    """
    sizes = [each for each in sizes if each <= case.most]
    found: dict[int, list[float]] = {each: [] for each in sizes}
    with contextlib.ExitStack() as programs:
        works = [(size, case.prepare(programs.enter_context(program()), size)) for size in sizes]
        for number in rounds:
            if case.for_each and not number:
                continue
            for size, work in works:
                times = max(1, sizes[-1] // (20 * size)) if case.for_each else repeats
                began_s = time.process_time()
                for _ in range(times):
                    work()
                spent_s = time.process_time() - began_s
                if number:
                    found[size].append(spent_s / (times * (size if case.for_each else 1)) * 1e6)
    fewest, most = found[sizes[0]], found[sizes[-1]]
    return Grown(
        case,
        {size: statistics.median(values) for size, values in found.items()},
        statistics.median(after / before for before, after in zip(fewest, most, strict=True)),
    )


def report(console: Console, grown: Sequence[Grown], sizes: Sequence[int]) -> None:
    """Print the figures as a table."""
    table = Table(
        title="Processor time of calls in µs, by how much there is of something; embedded queue manager (not IBM MQ)"
    )
    table.add_column("so many")
    table.add_column("calls")
    for size in sizes:
        table.add_column(f"{size:,}", justify="right")
    table.add_column("ratio", justify="right")
    for each in grown:
        cells = (f"{each.us[size]:,.1f}" if size in each.us else "" for size in sizes)
        table.add_row(each.case.things, each.case.calls, *cells, f"{each.ratio:.2f}")
    console.print(table)

"""What the library itself does for each message, in Python's opcodes: a figure that does not depend on the machine.

Opcodes of the standard library and of the bindings are not counted. Another version of Python has other opcodes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from mqgroups import GroupConsumer, GroupProducer
from tests.faults.interrupter import Interrupter

MESSAGES = 50


def to_put_and_get(producer: GroupProducer, consumer: GroupConsumer) -> tuple[float, float]:
    """Put a group, and get it; return how many opcodes a message in the middle of a unit of work takes.

    Both commit every 1000 messages, so that no unit of work ends meanwhile.
    """
    with producer.group() as group:

        def put() -> None:
            for _ in range(MESSAGES):
                group.put(b"data")

        put()
        to_put = _opcodes(put)
        put()
    messages = iter(next(iter(consumer)))
    list(islice(messages, MESSAGES))
    to_get = _opcodes(lambda: list(islice(messages, MESSAGES)))
    list(messages)
    return to_put, to_get


def _opcodes(work: Callable[[], object]) -> float:
    with Interrupter(opcodes=True) as counter:
        work()
    return sum(count for place, count in counter.reached.items() if place.offset >= 0) / MESSAGES

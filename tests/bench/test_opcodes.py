"""A message in the middle of a unit of work costs the library few opcodes.

Opcodes of the standard library and of the bindings are not counted. Another version of Python has other opcodes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest

from tests.faults.interrupter import Interrupter

MESSAGES = 50
# In Python 3.11 it is 493 and 415; other versions have other opcodes. What is left is one check for each thing that can be
# different from the message before.
MOST_TO_PUT = 500
MOST_TO_GET = 440


def opcodes(work: Callable[[], object]) -> float:
    """Return how many opcodes of the library each message takes."""
    with Interrupter(opcodes=True) as counter:
        work()
    return sum(count for place, count in counter.reached.items() if place.offset >= 0) / MESSAGES


@pytest.mark.usefixtures("no_api_exit")
def test_a_message_in_the_middle_of_a_unit_of_work_costs_few_opcodes(owner):
    with owner.producer(commit_every=1000) as producer, owner.consumer(owner.connect(), commit_every=1000) as consumer:
        with producer.group() as group:

            def put() -> None:
                for _ in range(MESSAGES):
                    group.put(b"data")

            put()
            to_put = opcodes(put)
            put()
        messages = iter(next(iter(consumer)))
        list(islice(messages, MESSAGES))
        to_get = opcodes(lambda: list(islice(messages, MESSAGES)))
        list(messages)
    assert 0 < to_put <= MOST_TO_PUT
    assert 0 < to_get <= MOST_TO_GET

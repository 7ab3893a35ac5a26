"""What the library itself does for each message, counted in Python's opcodes: a figure that does not depend on the machine.

The benchmark's part ``client`` measures time. Opcodes of the standard library and of the bindings are not counted. Other versions
of Python than 3.11 have other opcodes; the limits leave room for that.
"""

from __future__ import annotations

from itertools import islice

from tests.faults.interrupter import Interrupter

MESSAGES = 50
# In Python 3.11 it is 260 and 386. What is left is one check for each thing that can be different from the message before.
MOST_TO_PUT = 290
MOST_TO_GET = 425


def opcodes_of_a_message(work):
    """Return how many opcodes of the library one message takes."""
    with Interrupter(opcodes=True) as counter:
        work()
    return sum(count for place, count in counter.reached.items() if place.offset >= 0) / MESSAGES


def test_a_message_in_the_middle_of_a_unit_of_work_costs_few_opcodes_to_put(owner):
    with owner.producer(commit_every=1000) as producer, producer.group() as group:
        for _ in range(3):
            group.put(b"begins")

        def work():
            for _ in range(MESSAGES):
                group.put(b"data")

        assert 0 < opcodes_of_a_message(work) <= MOST_TO_PUT


def test_a_message_in_the_middle_of_a_unit_of_work_costs_few_opcodes_to_get(owner):
    owner.put_raw_group([b"data"] * 3 * MESSAGES)
    with owner.consumer(commit_every=1000) as consumer:
        messages = iter(next(iter(consumer)))
        for _ in islice(messages, 3):
            pass
        assert 0 < opcodes_of_a_message(lambda: list(islice(messages, MESSAGES))) <= MOST_TO_GET

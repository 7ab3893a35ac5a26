"""A message in the middle of a unit of work costs the library few opcodes."""

from __future__ import annotations

from tests.bench.opcodes import to_put_and_get

# In Python 3.11 it is 364 and 438; other versions have other opcodes. What is left is one check for each thing that can be
# different from the message before.
MOST_TO_PUT = 390
MOST_TO_GET = 460


def test_a_message_in_the_middle_of_a_unit_of_work_costs_few_opcodes(owner):
    with owner.producer(commit_every=1000) as producer, owner.consumer(owner.connect(), commit_every=1000) as consumer:
        to_put, to_get = to_put_and_get(producer, consumer)
    assert 0 < to_put <= MOST_TO_PUT
    assert 0 < to_get <= MOST_TO_GET

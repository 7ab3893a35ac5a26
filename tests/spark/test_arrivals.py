"""The groups that are new on a queue: each is found once, at a cost that depends on what is new; none is overlooked for long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from mqgroups.spark.arrivals import Arrivals
from mqgroups.spark.offsets import Key, Planned


class Queue:
    """First messages in physical order, of which those in ``complete`` can be seen; each that is seen takes a second."""

    def __init__(self):
        self.order = []
        self.complete = set()
        self.now_s = 0.0
        self.calls = 0
        self._cursor = None
        self.forgotten = []

    def put(self, *keys, complete=True):
        self.order += keys
        self.complete.update(keys if complete else ())

    def remove(self, key):
        if self._cursor == key:
            # The cursor stays where the message was.
            self._cursor = self.order[self.order.index(key) - 1] if self.order.index(key) else None
        self.order.remove(key)

    def heads(self):
        self._cursor = None
        return self.more_heads(0)

    def more_heads(self, _):
        while True:
            at = self.order.index(self._cursor) + 1 if self._cursor is not None else 0
            self.calls += 1
            self.now_s += 1
            following = next((key for key in self.order[at:] if key in self.complete), None)
            if following is None:
                return
            self._cursor = following
            yield Planned(following, 0)

    def heads_of(self, group_id):
        return [Planned(key, 0) for key in self.order if key in self.complete and key.identifier == group_id]

    def forget(self, keys):
        self.forgotten += keys


class Planning:
    """What is in micro-batches."""

    def __init__(self, knows, held=()):
        self.knows = knows
        self.held = held

    def holds(self, key):
        return self.knows(key) or key.identifier in self.held


def key(number):
    return Key(bytes([number]) * 24)


def found(arrivals, known=(), most=None):
    keys = []
    for head in arrivals.found(Planning(lambda key: key in known)):
        keys.append(head.key)
        if len(keys) == most:
            break
    arrivals.planned(keys)
    return [each.identifier[0] for each in keys]


def start(*numbers):
    queue = Queue()
    queue.put(*map(key, numbers))
    return queue, Arrivals(queue, lambda: queue.now_s)


def test_a_group_is_found_once_and_the_next_ones_cost_what_they_are():
    queue, arrivals = start(*range(50))
    known = list(map(key, range(50)))
    assert found(arrivals) == list(range(50))
    queue.put(key(100), key(101))
    queue.calls = 0
    assert found(arrivals, known) == [100, 101]
    # Two groups, and the call that finds no more.
    assert queue.calls == 3


def test_what_does_not_fit_waits_and_is_not_looked_for_again():
    queue, arrivals = start(1, 2, 3, 4)
    assert found(arrivals, most=2) == [1, 2]
    queue.calls = 0
    assert found(arrivals, [key(1), key(2)], most=1) == [3]
    assert queue.calls == 1
    unused = iter(arrivals.found(Planning(lambda _: False)))
    assert next(unused).key == key(4)
    assert arrivals.waiting == 1
    queue.calls = 0
    assert found(arrivals) == [4]


def test_a_group_that_is_completed_behind_the_cursor_is_found_by_the_next_pass():
    queue, arrivals = start()
    queue.put(key(1), complete=False)
    queue.put(*map(key, range(10, 20)))
    assert found(arrivals) == list(range(10, 20))
    known = list(map(key, range(10, 20)))
    queue.complete.add(key(1))
    # The first pass took eleven seconds: the next one is due 44 seconds later.
    assert found(arrivals, known) == []
    queue.now_s = 54
    assert found(arrivals, known) == []
    queue.now_s = 55
    assert found(arrivals, known) == [1]


def test_a_pass_goes_on_where_a_micro_batch_was_full():
    queue, arrivals = start(*range(30))
    known: list[Key] = []
    for _ in range(3):
        known += map(key, found(arrivals, known, most=10))
    assert len(known) == 30
    # Each group was seen once, and the end of the queue not yet.
    assert queue.calls == 30
    assert found(arrivals, known) == []
    assert queue.calls == 31


def test_only_what_was_there_is_found_when_it_is_closed():
    queue, arrivals = start(1, 2)
    arrivals.find_all_and_close()
    queue.put(key(3))
    assert arrivals.waiting == 2
    assert found(arrivals, [key(1)]) == [2]
    assert arrivals.waiting == 0
    assert list(arrivals.next_ones(Planning(lambda _: False), 10)) == []


def test_what_is_removed_does_not_wait_any_more():
    queue, arrivals = start(1, 2)
    arrivals.find_all_and_close()
    arrivals.removed([key(1)])
    assert found(arrivals) == [2]
    assert queue.forgotten == [key(1)]


def test_groups_of_one_group_id_come_one_after_the_other():
    first, second, third = (Key(b"G" * 24, "2026112113482001", letter * 24) for letter in (b"1", b"2", b"3"))
    queue, arrivals = start(1)
    queue.put(first, second, third, key(2))
    assert found(arrivals) == [1, ord("G"), 2]
    known = [key(1), first, key(2)]
    assert [head.key for head in arrivals.found(Planning(lambda key: key in known, [b"G" * 24]))] == []
    # The second one was complete only with messages of the first.
    queue.complete.remove(second)
    assert [head.key for head in arrivals.found(Planning(lambda key: key in known))] == [third]
    assert arrivals.waiting == 1


def test_messages_outside_groups_that_are_alike_are_planned_together():
    alike = [Key(b"M" * 24, "2026112113482001", copies=copies) for copies in (1, 2, 3)]
    queue, arrivals = start()
    queue.put(*alike)
    queue.more_heads = lambda _: (Planned(each, each.copies) for each in alike)
    (head,) = arrivals.found(Planning(lambda _: False))
    assert arrivals.latest(head) == Planned(head.key, 3)
    assert arrivals.latest(head).key.copies == 3


STEPS = some.lists(
    some.one_of(
        some.tuples(some.just("put"), some.integers(1, 5), some.booleans()),
        some.tuples(some.just("complete"), some.integers(0, 50), some.just(True)),
        some.tuples(some.just("plan"), some.integers(1, 4), some.just(True)),
        some.tuples(some.just("remove"), some.integers(0, 50), some.just(True)),
        some.tuples(some.just("later"), some.integers(0, 100), some.just(True)),
    ),
    max_size=30,
)


@given(STEPS)
def test_every_group_is_found_once_whatever_happens_in_between(steps):
    queue, arrivals = start()
    planned: list[Key] = []
    removed: list[Key] = []
    number = 0

    def known(key):
        return key in planned and key not in removed

    for step, value, flag in steps:
        if step == "put":
            for _ in range(value):
                number += 1
                queue.put(Key(number.to_bytes(24, "big")), complete=flag)
        elif step == "complete" and queue.order:
            queue.complete.add(queue.order[value % len(queue.order)])
        elif step == "remove" and planned:
            each = planned[value % len(planned)]
            if each not in removed:
                queue.remove(each)
                arrivals.removed([each])
                removed.append(each)
        elif step == "later":
            queue.now_s += value
        elif step == "plan":
            heads = []
            for head in arrivals.found(Planning(known)):
                heads.append(head.key)
                if len(heads) == value:
                    break
            arrivals.planned(heads)
            assert not set(heads) & set(planned)
            planned += heads
    queue.now_s += 1_000_000
    while heads := [head.key for head in arrivals.found(Planning(known))]:
        arrivals.planned(heads)
        planned += heads
    queue.now_s += 1_000_000
    heads = [head.key for head in arrivals.found(Planning(known))]
    assert sorted([*planned, *heads], key=lambda each: each.identifier) == sorted(
        {*removed, *(each for each in queue.order if each in queue.complete)}, key=lambda each: each.identifier
    )

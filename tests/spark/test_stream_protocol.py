"""The stream source against a model of Spark that dies wherever it can: no group is lost, none comes in two micro-batches.

The model is what a killed driver was seen to do with PySpark 4.3: the offset log is written before ``commit`` of the micro-batch
before; a micro-batch without an entry in the commit log is planned again from the same two offsets, in a new process; a
``commit`` that was skipped is never made up for.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from mqgroups.spark.browse import Head
from mqgroups.spark.offsets import Key, Offset, Planned
from mqgroups.spark.options import Use, source_options

pytest.importorskip("pyspark", reason="pyspark needs Python 3.11 or newer")
from mqgroups.spark.stream_source import GroupStreamReader


class DriverKilled(Exception):
    pass


class Queue:
    """Groups and how many messages of each are there. ``kill_in`` messages from now, the driver dies."""

    def __init__(self):
        self.groups = {}
        self.sizes = {}
        self.kill_in = None

    def put(self, size):
        key = Key(len(self.sizes).to_bytes(24, "big"))
        self.groups[key] = self.sizes[key] = size

    def is_whole(self, key):
        return self.groups.get(key) == self.sizes[key]

    # --- what the source sees; arguments that a model has no use for are not named

    def heads(self):
        return [Head(key, False, 0) for key in self.groups if self.is_whole(key)]

    def more_heads(self, _):
        return []

    def planned(self, head, _):
        return Planned(head.key, self.groups[head.key])

    def remove(self, keys, _):
        for key in keys:
            while key in self.groups:
                if self.kill_in == 0:
                    raise DriverKilled
                if self.kill_in is not None:
                    self.kill_in -= 1
                self.groups[key] -= 1
                if not self.groups[key]:
                    del self.groups[key]


class Spark:
    """The logs of a checkpoint, and drivers that go by them."""

    def __init__(self, queue, options):
        self.queue = queue
        self.options = options
        self.offsets = []
        self.committed = 0
        self.delivered = []

    def run(self, dies_at, available_now):
        """Start a driver; it dies at its ``dies_at``-th step, or ends when there is no more. Returns whether it ended."""
        self.steps = dies_at
        reader = GroupStreamReader(source_options(self.options, Use.STREAM_READ))
        reader._queue = self.queue
        try:
            if available_now:
                reader.prepareForTriggerAvailableNow()
            self._micro_batches(reader)
        except DriverKilled:
            return False
        return True

    def _step(self):
        if self.steps == 0:
            raise DriverKilled
        self.steps -= 1

    def _start(self, reader):
        return self._kept(reader.initialOffset() if self.committed == 0 else self.offsets[self.committed - 1])

    @staticmethod
    def _kept(offset):
        return json.loads(json.dumps(offset))

    def _micro_batches(self, reader):
        if len(self.offsets) > self.committed:
            self._micro_batch(reader, self._start(reader))
        while True:
            self._step()
            start = self._start(reader)
            end = reader.latestOffset(start, reader.getDefaultReadLimit())
            if end == start:
                return
            self._step()
            self.offsets.append(self._kept(end))
            if self.committed:
                self._step()
                reader.commit(start)
            self._step()
            self._micro_batch(reader, start)

    def _micro_batch(self, reader, start):
        end = self._kept(self.offsets[self.committed])
        batch = [planned for bundle in reader.partitions(start, end) for planned in bundle.value]
        for planned in batch:
            assert self.queue.is_whole(planned.key), "a group is gone before it was read"
            assert planned.messages == self.queue.sizes[planned.key]
        # Read, and written to a sink that takes a micro-batch once.
        del self.delivered[self.committed :]
        self.delivered.append({planned.key for planned in batch})
        self._step()
        self.committed += 1


LIVES = some.lists(
    some.tuples(
        some.lists(some.integers(1, 4), max_size=4),  # groups that come before the driver starts
        some.integers(0, 20),  # at which step it dies
        some.one_of(some.none(), some.integers(0, 12)),  # after how many messages removed it dies
        some.booleans(),  # whether it runs with availableNow
    ),
    max_size=12,
)


@pytest.mark.parametrize("eager", ["auto", "true", "false"])
@given(lives=LIVES, most=some.integers(1, 3))
def test_every_group_is_in_one_micro_batch_however_often_the_driver_dies(eager, lives, most):
    queue = Queue()
    options = {"mq.queueManager": "Q", "queue": "Q", "eagerCommit": eager, "maxGroupsPerTrigger": str(most)}
    spark = Spark(queue, options)
    for groups, dies_at, kill_in, available_now in lives:
        for size in groups:
            queue.put(size)
        queue.kill_in = kill_in
        spark.run(dies_at, available_now)
    queue.kill_in = None
    assert spark.run(-1, True)
    counted = [key for batch in spark.delivered for key in batch]
    assert sorted(counted, key=lambda key: key.identifier) == list(queue.sizes)
    # Without eager removal the last micro-batch stays, and one before it whose removal a dead driver skipped.
    known = Offset.from_json(spark.offsets[-1]).known() if spark.offsets else frozenset()
    assert set(queue.groups) <= (known if eager == "false" else set())


def test_the_model_notices_a_source_that_forgets_what_is_pending():
    queue = Queue()
    spark = Spark(queue, {"mq.queueManager": "Q", "queue": "Q", "eagerCommit": "false", "maxGroupsPerTrigger": "1"})
    for _ in range(3):
        queue.put(2)
    # Killed in the middle of removing the first group, after the second was planned: commit(1) is skipped.
    queue.kill_in = 1
    assert not spark.run(-1, False)
    assert queue.groups[Key(bytes(24))] == 1
    queue.kill_in = None
    assert spark.run(-1, False)
    assert [len(batch) for batch in spark.delivered] == [1, 1, 1]
    # The rest of the first group went with the second.
    assert list(queue.groups) == [Key((2).to_bytes(24, "big"))]

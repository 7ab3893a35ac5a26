"""The stream source against a model of Spark that dies wherever it can: no group is lost, none comes in two micro-batches.

``model.py`` says what a killed driver was seen to do. The queue manager of the model here has the data queue, with removers that
get on while the driver goes on, and the status queue of the manifests. A driver may die before or after any unit of work, or in
the middle of several, which then are backed out or committed some calls later.
"""

from __future__ import annotations

import itertools
import json
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as some

from embedded_tests.fix_mqi import OK
from mqgroups.errors import ConfigurationError
from mqgroups.spark.ahead import Ahead
from mqgroups.spark.arrivals import Arrivals
from mqgroups.spark.manifests import Manifests
from mqgroups.spark.offsets import Key, Offset, Planned
from mqgroups.spark.option import Use
from mqgroups.spark.options import source_options
from mqgroups.spark.signs import note_of, put_sign, sign_of
from tests.spark.model import Checkpoint, Clock
from tests.spark.test_browse import put_to
from tests.spark.test_removal import hide

pytest.importorskip("pyspark", reason="pyspark is not installed")
from mqgroups.spark import stream_source
from mqgroups.spark.stream_source import GroupStreamReader, ReaderWithoutLimits


class DriverKilled(Exception):
    pass


class Queue:
    """Groups and how many messages of each are there. Removers get ``pace`` messages at each call of the driver.

    After ``kill_in`` messages the driver dies. What its removers had got since their last commits is hidden then, for so many
    calls of whoever has the queue next; that is how a queue manager may do it that closes the handles of a lost connection before
    it backs out.
    """

    def __init__(self):
        self.groups = {}
        self.sizes = {}
        self.kill_in = None
        self.hides_for = 0
        self.every = 3
        self.pace = 0
        self._hidden = []
        self._removers = {}
        self._cursor = -1

    def put(self, size, shares_group_id=False):
        number = len(self.sizes)
        key = Key((0 if shares_group_id else number + 1).to_bytes(24, "big"), f"{number:016}", b"M" * 24)
        self.groups[key] = self.sizes[key] = size

    def is_whole(self, key):
        return self.groups.get(key) == self.sizes[key]

    def come_back(self):
        """Back out what dead drivers have got."""
        for _, got in self._hidden:
            self._back(got)
        self._hidden.clear()

    def can_come(self, key):
        """Whether messages of a group are on the queue, or hidden."""
        return key in self.groups or any(key in got for _, got in self._hidden)

    def driver_ends(self):
        """Hide what the removers have got, and not committed."""
        self._hidden += [[self.hides_for, list(got)] for got in self._removers.values()]
        self._removers.clear()

    def _called(self):
        for hidden in tuple(self._hidden):
            hidden[0] -= 1
            if hidden[0] < 0:
                self._hidden.remove(hidden)
                self._back(hidden[1])
        self._work(self.pace)

    def _back(self, got):
        for key in got:
            self.groups[key] = self.groups.get(key, 0) + 1

    # --- what the source sees; arguments that a model has no use for are not named

    def heads(self):
        self._cursor = -1
        return self.more_heads(0)

    def more_heads(self, _):
        self._called()
        for number, key in enumerate(self.sizes):
            if number > self._cursor and self.is_whole(key):
                self._cursor = number
                yield Planned(key, 0)

    def heads_of(self, group_id):
        return [Planned(key, 0) for key in self.groups if key.identifier == group_id and self.is_whole(key)]

    def forget(self, _):
        pass

    def counted(self, planned, _):
        return Planned(planned.key, self.groups[planned.key])

    # --- removal

    @property
    def is_removing(self):
        return bool(self._removers)

    def remove(self, shares):
        assert not self._removers
        self._missed = set()
        for share in shares:
            self._missed.update(share.left)
            got: list[Key] = []
            remover = self._removal(share, got)
            next(remover)
            self._removers[remover] = got

    def removed(self):
        while self._removers:
            self._called()
            self._work(1)
        return frozenset(self._missed)

    def _removal(self, share, got):
        """A remover: gets a message, or commits the last ones, each time that it may go on."""
        for key in share.left:
            there = self.groups.get(key, 0)
            if there < self.sizes[key] and key in share._hidden:
                # Its beginning may come back.
                continue
            for number in range(1, there + 1):
                yield
                self.groups[key] -= 1
                got.append(key)
                if len(got) == self.every:
                    if number < there == self.sizes[key] and number <= self.every:
                        share._note(None, key)
                    got.clear()
            if self.groups.get(key) == 0:
                del self.groups[key]
            if there == self.sizes[key]:
                self._missed.discard(key)
        yield
        got.clear()

    def _work(self, messages):
        """Let the removers go on in turn, for so many messages."""
        for remover in itertools.islice(itertools.cycle(tuple(self._removers)), messages):
            if remover in self._removers:
                if self.kill_in == 0:
                    raise DriverKilled
                if self.kill_in is not None:
                    self.kill_in -= 1
                if next(remover, self) is self:
                    del self._removers[remover]


class Status:
    """The messages on the status queue. The ``die_in``-th change from now is the driver's last.

    How it dies: before anything is done; with the change done and not known; or in doubt: what it deletes is hidden for so many
    calls, and what it puts is not there yet, and then the change is committed, or backed out.
    """

    name = "STATUS"

    def __init__(self):
        self.data = {}
        self.die_in = None
        self.dies = "before"
        self.hides_for = 0
        self._hidden = []
        self._numbers = itertools.count()

    def browse(self, source):
        self._called()
        return [(msg_id, data) for msg_id, (owner, data) in self.data.items() if owner == source]

    def has(self, source, msg_id):
        self._called()
        return self.data.get(msg_id, (None, None))[0] == source

    def change(self, source, put, delete):
        self._called()
        put = {b"%d" % next(self._numbers): (source, data) for data in put}
        if self.die_in is not None:
            self.die_in -= 1
        if self.die_in != 0:
            self._do(put, delete)
            return list(put)
        if self.dies == "after":
            self._do(put, delete)
        elif self.dies != "before":
            got = {msg_id: self.data.pop(msg_id) for msg_id in delete if msg_id in self.data}
            self._hidden.append([self.hides_for, put if self.dies == "committed later" else got])
        raise DriverKilled

    def _do(self, put, delete):
        for msg_id in delete:
            self.data.pop(msg_id, None)
        self.data.update(put)

    def _called(self):
        for hidden in tuple(self._hidden):
            hidden[0] -= 1
            if hidden[0] < 0:
                self._hidden.remove(hidden)
                self.data.update(hidden[1])

    def come_back(self):
        for _, messages in self._hidden:
            self.data.update(messages)
        self._hidden.clear()

    def of(self, source):
        return {json.loads(data)["manifest"] for owner, data in self.data.values() if owner == source}


class AheadAtOnce(Ahead):
    """Takes so many steps ahead, in no thread."""

    def __init__(self, most):
        super().__init__()
        self._most = most

    def begin(self, steps):
        for _ in itertools.islice(steps, self._most):
            pass


class Spark:
    """A query over the model of a queue, and its drivers."""

    def __init__(self, queue, options):
        self.queue = queue
        self.options = options
        self.status = Status()
        self.checkpoint = Checkpoint(self._process)
        self.delivered = []
        self._now_s = 0
        self._steps = -1

    def run(self, dies_at, available_now, *, older=False):
        """Start a driver; it dies at its ``dies_at``-th step, or ends when there is no more. Returns whether it ended."""
        self._steps = dies_at
        reader = self.reader(older=older)
        try:
            with patch.object(stream_source, "put_note", self._note):
                self.checkpoint.run(reader, available_now=available_now, older=older, step=self._step)
            assert not (available_now != older and self.queue.is_removing)
        except DriverKilled:
            return False
        finally:
            self.queue.driver_ends()
        return True

    def reader(self, *, older):
        """Return the reader of a new driver."""
        kind = ReaderWithoutLimits if older else GroupStreamReader
        reader = kind(source_options(self.options, Use.STREAM_READ))
        reader._reservation = self.queue, Manifests(self.status), Arrivals(self.queue, self._clock_s)
        reader._ahead = AheadAtOnce(self.queue.pace)
        return reader

    def _note(self, _, source, *of):
        manifest, bundle, _, key = of
        msg_id, data = note_of(manifest, bundle, key)
        self.status.data[msg_id] = bytes.fromhex(source), data

    def _clock_s(self):
        # The clock goes on with each look at it, so a pass over the queue takes time and the next one is not due at once.
        self._now_s += 1
        return self._now_s

    def _step(self):
        if self._steps == 0:
            raise DriverKilled
        self._steps -= 1

    def _process(self, _, bundles, number):
        batch = [planned for bundle in bundles for planned in bundle.value]
        # What the tasks do.
        for bundle in bundles:
            source, manifest, at = bundle.sign
            msg_id, data = sign_of(manifest, at)
            self.status.data[msg_id] = bytes.fromhex(source), data
        for planned in batch:
            assert self.queue.is_whole(planned.key), "a group is gone before it was read"
            assert planned.messages == self.queue.sizes[planned.key]
        # Nothing else with a GroupId that messages could be taken for: neither here nor from before, also if it comes back.
        assert len({planned.key.name for planned in batch}) == len(batch)
        there = {planned.key.name for planned in batch}
        for key in (key for earlier in self.delivered[:number] for key in earlier):
            assert key.name not in there or not self.queue.can_come(key)
        # Read, and written to a sink that takes a micro-batch once.
        self.delivered[number:] = [{planned.key for planned in batch}]


LIVES = some.lists(
    some.tuples(
        some.integers(0, 12),  # for how many calls what this driver had got is hidden, if it dies while it removes
        # groups that come before the driver starts: how long, and whether they share a GroupId
        some.lists(some.tuples(some.integers(1, 4), some.booleans()), max_size=4),
        some.integers(0, 20),  # at which step it dies
        some.one_of(some.none(), some.integers(0, 12)),  # after how many messages removed it dies
        some.one_of(some.none(), some.integers(1, 4)),  # at which change of the status queue it dies
        some.sampled_from(["before", "after", "committed later", "backed out later"]),  # and how
        some.booleans(),  # whether it runs with availableNow
        some.integers(0, 5),  # how many messages its removers get at each of its calls
        some.booleans(),  # whether Spark is older
    ),
    max_size=12,
)


def query(queue, most=1):
    """Return a query over the queue, whose micro-batches have so many groups."""
    return Spark(queue, {"mq.queueManager": "Q", "queue": "Q", "maxGroupsPerTrigger": str(most)})


@given(lives=LIVES, most=some.integers(1, 3), older=some.booleans())
def test_every_group_is_in_one_micro_batch_however_often_the_driver_dies(lives, most, older):
    queue = Queue()
    spark = query(queue, most)
    with pytest.MonkeyPatch.context() as patched:
        clock = patch_time(patched)
        for hides_for, groups, dies_at, kill_in, die_in, dies, available_now, pace, was_older in lives:
            for group in groups:
                queue.put(*group)
            queue.kill_in, queue.hides_for, queue.pace = kill_in, hides_for, pace
            status = spark.status
            status.die_in, status.dies, status.hides_for = die_in, dies, hides_for
            spark.run(dies_at, available_now, older=was_older)
            clock.now_s += 60
        queue.kill_in = spark.status.die_in = None
        queue.come_back()
        spark.status.come_back()
        # An older Spark ends without availableNow when nothing more comes.
        assert spark.run(-1, not older, older=older)
        clock.now_s += 600
        assert spark.run(-1, not older, older=older)
    counted = [key for batch in spark.delivered for key in batch]
    assert sorted(counted, key=lambda key: key.stamp) == list(queue.sizes)
    last = Offset.from_json(spark.checkpoint.offsets[-1]) if spark.checkpoint.offsets else Offset()
    source = bytes.fromhex(last.source)
    manifests = Manifests(spark.status)
    manifests.learn(last)
    assert not queue.groups
    # On the status queue is what the last offset names, and nothing else of this source.
    assert spark.status.of(source) == set(last.manifests)


def patch_time(patch):
    clock = Clock()
    patch.setattr(stream_source, "time", clock)
    return clock


def test_with_an_older_spark_each_run_with_available_now_is_a_micro_batch_and_the_next_one_removes_it():
    queue = Queue()
    spark = query(queue, 2)
    queue.pace = 10
    for _ in range(3):
        queue.put(2)
    for batches, left in ((1, 3), (2, 1), (2, 0)):
        assert spark.run(-1, True, older=True)
        assert (len(spark.delivered), len(queue.groups)) == (batches, left)


def test_an_older_spark_that_asks_for_groups_before_it_names_the_end_of_its_log_is_refused():
    queue = Queue()
    spark = query(queue)
    queue.put(2)
    assert spark.run(-1, False, older=True)
    seen = spark.checkpoint.offsets[-1]
    reader = spark.reader(older=True)
    reader.latestOffset()
    with pytest.raises(ConfigurationError, match=r"triggerAvailableNowWrapper\.enabled to false"):
        reader.partitions(seen, seen)


@pytest.mark.parametrize("available_now", [True, False])
def test_what_a_dead_driver_had_got_is_not_read_again_when_it_comes_back(available_now):
    queue = Queue()
    spark = query(queue)
    queue.every, queue.pace = 10, 10
    queue.put(2)
    queue.put(2)
    # Killed before the first group's removal is committed; its successor finds nothing of it until it has planned the second one.
    queue.kill_in, queue.hides_for = 2, 3
    assert not spark.run(-1, available_now)
    queue.kill_in = None
    assert spark.run(-1, available_now)
    queue.come_back()
    assert spark.run(-1, available_now)
    assert [len(batch) for batch in spark.delivered] == [1, 1]


def test_the_model_notices_a_source_that_forgets_what_is_pending():
    queue = Queue()
    spark = query(queue)
    for _ in range(3):
        queue.put(2)
    # Killed in the middle of removing the first group, after the second was planned: commit(1) is skipped.
    queue.kill_in = 1
    queue.every, queue.pace = 1, 10
    assert not spark.run(-1, False)
    first, *_ = queue.sizes
    assert queue.groups[first] == 1
    queue.kill_in = None
    assert spark.run(-1, False)
    assert [len(batch) for batch in spark.delivered] == [1, 1, 1]
    # The rest of the first group went with the second.
    assert not queue.groups


# --- the source itself, on the queue manager under test


@pytest.fixture
def source(owner, mq_options):
    """A function that starts a source as a new driver does; they are stopped after the test."""
    started = []

    def start(**options):
        reader = GroupStreamReader(
            source_options({**mq_options, "queue": owner.queue, "mq.waitMs": "0", **options}, Use.STREAM_READ)
        )
        started.append(reader)
        return reader

    yield start
    for reader in started:
        reader.stop()


def planned(reader, start, end):
    bundles = reader.partitions(start, end)
    # What the tasks do.
    for bundle in bundles:
        put_sign(reader._q_mgr, reader._options.status_queue, *bundle.sign)
    return [each for bundle in bundles for each in bundle.value]


def test_groups_that_come_back_behind_the_next_driver_are_removed_and_not_read_again(
    owner, source, connect, monkeypatch
):
    clock = patch_time(monkeypatch)
    owner.put_raw_group([b"a1", b"a2"])
    first = source(pollTimeoutMs="0")
    limit, start = first.getDefaultReadLimit(), first.initialOffset()
    one = first.latestOffset(start, limit)
    (group,) = planned(first, start, one)
    first.stop()
    # It dies while it removes the group: its handle is gone, and its unit of work is not backed out.
    dying = connect()
    hide(dying, owner.queue, 2)

    owner.put_raw_group([b"b1", b"b2"])
    second = source(pollTimeoutMs="0")
    two = second.latestOffset(one, limit)
    assert group.key not in [each.key for each in planned(second, one, two)]
    second.commit(one)
    owner.put_raw_group([b"c1", b"c2"])
    three = second.latestOffset(two, limit)
    second.commit(two)
    planned(second, two, three)
    second.stop()
    assert dying.back_out() == OK
    assert sorted(owner.data()) == [b"a1", b"a2", b"c1", b"c2"]

    third = source(pollTimeoutMs="0")
    assert third.latestOffset(three, limit) == three
    owner.put_raw_group([b"d1", b"d2"])
    four = third.latestOffset(three, limit)
    assert len(planned(third, three, four)) == 1
    clock.now_s += 600
    third.commit(three)
    assert third._note_removed(wait=True)
    assert owner.data() == [b"d1", b"d2"]
    owner.put_raw_group([b"e1"])
    five = Offset.from_json(third.latestOffset(four, limit))
    assert len(five.manifests) == 2


def begun(owner, source, connect, messages):
    """A driver dies while it removes a group: ``messages`` of it were got, its handle is gone, and its unit of work is not backed
    out. Returns the offset it ended with and the dying connection."""
    reader = source(pollTimeoutMs="0")
    start = reader.initialOffset()
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    assert len(planned(reader, start, end)) == 1
    reader.stop()
    dying = connect()
    hide(dying, owner.queue, messages)
    return end, dying


@pytest.mark.parametrize("hidden", [1, 2, 3])
def test_another_group_with_the_group_id_is_read_after_one_whose_beginning_a_dead_driver_hid(
    owner, source, connect, monkeypatch, hidden
):
    """If the rest of the one were gone when its beginning comes back, messages of the other one would be taken for it."""
    clock = patch_time(monkeypatch)
    put_to(owner, b"G" * 24, (1, b"a1"), (2, b"a2"), (3, b"a3."))
    one, dying = begun(owner, source, connect, hidden)
    others = [b"b1", b"b2", b"b3."]
    put_to(owner, b"G" * 24, *enumerate(others, 1))
    second = source(pollTimeoutMs="0")
    assert second.latestOffset(one, second.getDefaultReadLimit()) == one
    second.stop()
    assert owner.data() == [b"a1", b"a2", b"a3."][hidden:] + others
    assert dying.back_out() == OK
    clock.now_s += 600
    third = source(pollTimeoutMs="0")
    two = third.latestOffset(one, third.getDefaultReadLimit())
    assert owner.data() == others
    assert [each.messages for each in planned(third, one, two)] == [3]


def test_a_long_group_that_a_dead_driver_has_begun_to_remove_is_gone_at_once(owner, source, gate):
    """It has noted that the beginning does not come back."""
    put_to(owner, b"G" * 24, (1, b"a1"), (2, b"a2"), (3, b"a3"), (4, b"a4"), (5, b"a5."))
    first = source(pollTimeoutMs="0", messagesPerUnitOfWork="2")
    start, limit = first.initialOffset(), first.getDefaultReadLimit()
    one = first.latestOffset(start, limit)
    planned(first, start, one)
    first.commit(one)
    (taker,) = first._reservation[0]._removers._takers
    gate.reached()
    # The third message is got on a connection that is lost.
    get, got = taker._queue.get_descriptor, []

    def dies(md, gmo):
        got.append(get(md, gmo))
        if owner.data() == [b"a4", b"a5."]:
            raise DriverKilled
        return got[-1]

    taker._queue.get_descriptor = dies
    gate.open()
    with pytest.raises(DriverKilled):
        first.stop()
    assert owner.data() == [b"a3", b"a4", b"a5."]
    second = source(pollTimeoutMs="0", messagesPerUnitOfWork="2")
    assert second.latestOffset(one, limit) == one
    assert second._note_removed(wait=True)
    assert owner.data() == []

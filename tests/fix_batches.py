"""Batch producers under test: attempts at the parts of a batch, which share a status queue, and an eye that trusts none of them.

    attempt = batches.attempt(partition=0)
    attempt.put_group("A", [b"first", b"last"])
    batches.complete(0)
    assert batches.groups() == {"A": [b"first", b"last"]}

Messages are to begin with their group's key and a colon; that is how the eye finds out which group of the queue is whose.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

import mqgroups
from embedded_tests.fix_mqi import OK, delete
from mqgroups.batch.completion import complete_batch
from mqgroups.batch.producer import BatchMessage, BatchProducer, BatchSettings
from mqgroups.connection.holder import connection_of
from mqgroups.core.unit_of_work import Every
from mqgroups.mqi import constants as mqi

_tokens = itertools.count(1)


def messages(key: str, number: int) -> list[BatchMessage]:
    """Return the messages of a group, which the eye knows again."""
    return [BatchMessage(f"{key}:{n}".encode()) for n in range(1, number + 1)]


class Died(Exception):
    """What ends an attempt in the middle of a group."""


def dying(key: str, number: int, after: int) -> Iterator[BatchMessage]:
    """The messages of a group, up to where the attempt dies."""
    yield from messages(key, number)[:after]
    raise Died


def interrupt(attempt: Any, key: str, number: int, after: int) -> None:
    """Have an attempt die in the middle of a group."""
    with pytest.raises(Died):
        attempt.put_group(key, dying(key, number, after))


class Batches:
    """A sink, its queue and its shared status queue."""

    def __init__(self, owner: Any, status_queue: str) -> None:
        self.owner = owner
        self.queue = owner.queue
        self.status_queue = status_queue
        self.sink = owner.name

    def attempt(
        self, qmgr: mqgroups.QueueManager | None = None, *, every: int = 2, batch: int = 0, **more: Any
    ) -> BatchProducer:
        """Return a batch producer with a token of its own, on a connection of its own if none is given."""
        settings = BatchSettings(
            **{
                "queue": self.queue,
                "name": self.sink,
                "batch": batch,
                "run": "run-1",
                "partition": 0,
                "token": f"attempt-{next(_tokens)}",
                "status_queue": self.status_queue,
                "commit_every": Every(messages=every),
                "owner_wait_s": 0,
                "full_wait_s": 0,
                **more,
            }
        )
        return BatchProducer(connection_of(qmgr or self.owner.connect()), settings)

    def complete(self, batch: int = 0, qmgr: mqgroups.QueueManager | None = None, **more: Any) -> None:
        """Complete a batch, as the scheduler's driver does."""
        complete_batch(
            connection_of(qmgr or self.owner.connect()),
            self.status_queue,
            self.sink,
            self.queue,
            batch,
            f"driver-{next(_tokens)}",
            **more,
        )

    def forget(self) -> None:
        """Empty both queues."""
        self.owner.empty()
        self.owner.empty(self.status_queue)

    # --- the eye

    def groups(self) -> dict[str, list[bytes]]:
        """Return the data of the whole groups on the queue, by key; fails if one is there twice, or not in order.

        Messages of groups that are not whole are passed over: no consumer of complete groups sees them.
        """
        by_group = defaultdict(list)
        for found in self.owner.on_queue():
            by_group[found.group_id].append(found)
        whole: dict[str, list[bytes]] = {}
        for found in by_group.values():
            numbers = [each.msg_seq_number for each in found]
            assert len(set(numbers)) == len(numbers), f"a sequence number is there twice: {numbers}"
            found.sort(key=lambda each: each.msg_seq_number)
            if not found[-1].is_last:
                continue
            assert [each.msg_seq_number for each in found] == list(range(1, len(found) + 1))
            key = found[0].data.split(b":")[0].decode()
            assert key not in whole, f"two whole groups of key {key}"
            whole[key] = [each.data for each in found]
        return whole

    def depth(self) -> int:
        """Return how many messages are on the queue, whole groups or not."""
        return len(self.owner.on_queue())

    def records(self) -> list[dict[str, Any]]:
        """Return the committed records of the sink."""
        found = [json.loads(each.data) for each in self.owner.on_queue(self.status_queue)]
        return [each for each in found if each["checkpoint"]["json"]["sink"] == self.sink]

    def kinds(self) -> list[str]:
        """Return what the committed records of the sink are, sorted."""
        return sorted(each["checkpoint"]["json"]["kind"] for each in self.records())

    def status(self, key: str) -> dict[str, Any]:
        """Return the one committed status record of a group."""
        (found,) = [
            each
            for each in self.records()
            if each["checkpoint"]["json"]["kind"] == "status" and each["checkpoint"]["json"]["key"] == key
        ]
        return found


@pytest.fixture
def make_batches(make_owner, mq, connect):
    """A function that makes a sink with queues of its own; its arguments are those of ``make_owner``."""
    made = []

    def make(**more: Any) -> Batches:
        owner = make_owner(**more)
        batches = Batches(owner, f"{owner.name}.SHARED")
        made.append(batches)
        return batches

    yield make
    for batches in made:
        handle = batches.owner.eye.open(batches.status_queue, mqi.MQOO_INQUIRE)
        if handle.code == OK:
            delete(handle)


@pytest.fixture
def batches(make_batches):
    """A sink."""
    return make_batches()

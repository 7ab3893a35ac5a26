"""The sink in a Spark session: each key one group, whole, in order, once; whatever is done again."""

from __future__ import annotations

import os
import signal

import pytest

from mqgroups.spark.errors import SparkOptionError

pytest.importorskip("pyspark")


@pytest.fixture
def target(make_batches, mq_options):
    """A queue and a shared status queue, and the options to write there."""
    batches = make_batches()
    batches.options = {**mq_options, "queue": batches.queue, "statusQueue": batches.status_queue}
    return batches


@pytest.fixture(autouse=True)
def _one_binding(request):
    """The session's workers have one binding, whichever the test's own is."""
    if "binding" in request.fixturenames and request.getfixturevalue("binding").__name__ != "pymqi":
        pytest.skip("the workers of the session have pymqi")


def kinds(target):
    """What lies on the status queue, of all sinks."""
    import json

    found = [json.loads(each.data) for each in target.owner.on_queue(target.status_queue)]
    return sorted(each["checkpoint"]["json"]["kind"] for each in found)


def rows(*keys, number=5):
    """Rows in an order that is not theirs."""
    return [(key, n, f"{key}:{n}".encode()) for n in range(number, 0, -1) for key in keys]


SCHEMA = "group_key string, msg_seq_number int, value binary"


def expected(*keys, number=5):
    return {key: [f"{key}:{n}".encode() for n in range(1, number + 1)] for key in keys}


def write(frame, target, **more):
    frame.write.format("ibmmq").mode("append").options(**target.options, **more).save()


def test_a_batch_write_makes_a_group_of_each_key(spark, target):
    keys = [f"K{n}" for n in range(10)]
    frame = spark.createDataFrame(rows(*keys), SCHEMA).repartition(4, "group_key")
    write(frame, target, messagesPerUnitOfWork="2")
    assert target.groups() == expected(*keys)
    assert kinds(target) == ["high-water mark"]

"""What the campaign for Spark finds on the queues: it can fail."""

from __future__ import annotations

import json

import pytest

from mqgroups.mqi import constants as mq
from tests.faults.reader import Seen
from tests.faults.spark.look import wrong_with_manifests, wrong_with_output, wrong_with_status

IN_GROUP, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP
EXPECTED = {"000a": [b"000a:01", b"000a:03"]}


def seen(number, flags, data, group_id=b"G" * 24):
    return Seen(group_id, number, 0, flags, mq.MQPER_PERSISTENT, data)


FIRST, SECOND = seen(1, IN_GROUP, b"000a:01"), seen(2, LAST, b"000a:03")
AGAIN = [seen(1, IN_GROUP, b"000a:01", b"H" * 24), seen(2, LAST, b"000a:03", b"H" * 24)]


def record(kind):
    return seen(1, 0, json.dumps({"checkpoint": {"json": {"kind": kind}}}).encode())


def test_one_whole_group_for_each_key_is_right():
    assert wrong_with_output([FIRST, SECOND], EXPECTED) == []


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ([], "key 000a: 0 groups"),
        ([FIRST], "1 messages of 2"),
        ([FIRST, FIRST, SECOND], "message 1 offset 0 where 2 offset 0 belongs"),
        ([SECOND, FIRST], "message 2 offset 0 where 1 offset 0 belongs"),
        ([FIRST, SECOND, *AGAIN], "key 000a: 2 groups"),
        ([FIRST, SECOND, AGAIN[0]], "key 000a: 2 groups"),
        ([FIRST, SECOND, seen(1, LAST, b"001a:01", b"I" * 24)], "key '001a' was never put"),
    ],
)
def test_what_is_lost_doubled_or_out_of_order_is_told(output, says):
    assert says in " ".join(wrong_with_output(output, EXPECTED))


def test_only_one_high_water_mark_may_be_left():
    assert wrong_with_status([record("high-water mark")]) == []
    assert wrong_with_status([]) == ["on the status queue: {}"]
    assert wrong_with_status([record("high-water mark"), record("intent")]) == [
        "on the status queue: {'high-water mark': 1, 'intent': 1}"
    ]


SOURCE = b"S" * 24


def manifest(number, source=SOURCE):
    data = json.dumps({"manifest": f"{number:032x}"}).encode()
    return Seen(bytes(24), 1, 0, 0, mq.MQPER_PERSISTENT, data, correl_id=source)


@pytest.fixture
def checkpoint(tmp_path):
    """A checkpoint whose last offset names the manifests 2 and 10."""
    (tmp_path / "offsets").mkdir()
    for number in (9, 10):
        offset = {"source": SOURCE.hex(), "manifest": f"{number:032x}", "pending": [f"{2:032x}"]}
        (tmp_path / "offsets" / str(number)).write_text(f"v1\n{{}}\n{json.dumps(offset)}")
    return tmp_path


def test_what_the_checkpoint_names_is_right_and_other_sources_do_not_matter(checkpoint):
    seen = [manifest(2), manifest(10), manifest(10), manifest(1, b"T" * 24)]
    assert wrong_with_manifests(seen, checkpoint) == []


@pytest.mark.parametrize("numbers", [(), (2,), (10,), (2, 9, 10)])
def test_manifests_that_are_missing_or_left_over_are_wrong(checkpoint, numbers):
    (wrong,) = wrong_with_manifests(map(manifest, numbers), checkpoint)
    assert wrong.startswith("on the source's status queue")

"""``mqgroups.spark.checked`` in a session: which groups fail, as rows of the source and as any rows."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")


from mqgroups.mqi import constants as mqi
from mqgroups.spark import checked
from mqgroups.spark.errors import SparkOptionError
from mqgroups.spark.verdicts import GroupFacts, verdict

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "spark" / "pipelines.md"
ROWS = (
    "value BINARY, key BINARY, group_id BINARY, msg_seq_number INT, last_msg_in_group BOOLEAN, msg_type INT, feedback INT, "
    "headers MAP<STRING, BINARY>, declared INT"
)
_DATAGRAM = 8


def read(spark, mq_options, queue):
    """What is on a queue, with the columns that a check needs."""
    options = {**mq_options, "queue": queue, "includeMqmd": "true", "includeHeaders": "true"}
    return spark.read.format("ibmmq").options(**options).load()


def test_groups_of_a_queue_that_fail_have_a_row_and_good_ones_have_none(spark, owner, mq_options):
    owner.put_group([b"a", b"b", b"TRAILER,2"])
    owner.put_group([b"a", b"b", b"TRAILER,3"])
    owner.put_group([b"TRAILER,0"])
    owner.put_group([b"a", b"b"])
    owner.put_group([b"a", b"TRAILER,1", b"TRAILER,2"])
    with owner.producer(commit_every=1) as producer, producer.group() as group:
        group.put(b"v")
        group.put(b"w")
        group.abandon(3, "no more")
    with owner.producer() as producer, producer.group() as group:
        group.put(b"x")
        # IBM MQ, topic "Failure of a file-to-message transfer"
        group.put(b"", last=True, properties={"WMQFTEResultCode": 40, "WMQFTESupplement": "BFGTR0036I"})
    # Two messages outside groups, whose CorrelId is the same.
    owner.put_raw(b"alone")
    owner.put_raw(b"alone")
    # Not above: mutations run tests of this file without the documents.
    from tests.test_document_code import blocks

    (code,) = blocks(PAGE, "python")
    of_page: dict[str, Any] = {"batch": read(spark, mq_options, owner.queue)}
    exec(code, of_page)
    messages, failed, good, rejects = (of_page[name] for name in ("messages", "failed", "good", "rejects"))
    no_trailer = "the last message is not a trailer"
    assert sorted((row.reason, row.detail) for row in failed.collect()) == [
        ("abandoned", f"the producer ended the group without completing it; {no_trailer}"),
        ("abandoned", f"the producer ended the group without completing it; {no_trailer}"),
        ("not_in_group", f"the message is not in a group; {no_trailer}"),
        ("not_in_group", f"the message is not in a group; {no_trailer}"),
        ("trailer", "message 2 is a trailer, but not the last message"),
        ("trailer", no_trailer),
        ("trailer", "the trailer says 3 rows, but there are 2 messages besides it"),
    ]
    assert sorted(bytes(row.value) for row in good.collect()) == [b"TRAILER,0", b"TRAILER,2", b"a", b"b"]
    assert rejects.count() == messages.count() - 4
    assert rejects.where("reason IS NULL").count() == 0
    # Without a trailer the other reasons hold alone.
    assert {row.reason for row in checked(messages).collect()} == {"abandoned", "not_in_group"}


def test_any_rows_are_judged_as_one_by_one(spark):
    """Given groups of any numbers, in any order, when Spark counts them, then the verdicts are those of counting in Python."""
    chance = Random(20)
    groups = {bytes([number]): _group(chance) for number in range(200)}
    rows: list[Any] = [
        (b"", key, key, number, last, _DATAGRAM, 0, {}, declared)
        for key, messages in groups.items()
        for number, last, declared in messages
    ]
    chance.shuffle(rows)
    found = {
        bytes(row.key): (row.reason, row.detail)
        for row in checked(spark.createDataFrame(rows, ROWS), trailer="declared").collect()
    }
    judged = {key: verdict(_facts(messages), has_trailer=True) for key, messages in groups.items()}
    assert found == {key: problem for key, problem in judged.items() if problem is not None}
    assert {reason for reason, _ in found.values()} == {"duplicate", "gap", "incomplete", "sequence", "trailer"}
    assert len(found) < len(groups)


def _group(chance):
    """Messages as (number, whether it is the last, the number in a trailer): often good, often nearly."""
    size = chance.randint(1, 6)
    numbers = chance.choices(range(1, size + 2), k=size) if chance.random() < 0.3 else list(range(1, size + 1))
    last = size if chance.random() < 0.8 else chance.randint(1, size + 1)
    trailer = last if chance.random() < 0.9 else chance.randint(1, size)
    return [(number, number == last, len(numbers) - 1 if number == trailer else None) for number in numbers]


def _facts(messages):
    numbers = sorted(number for number, _, _ in messages)
    trailers = [(number, declared) for number, _, declared in messages if declared is not None]
    steps = [
        {"before": before, "number": number}
        for before, number in zip([0, *numbers], numbers, strict=False)
        if number != before + 1
    ]
    return GroupFacts(
        in_group=True,
        abandoned=False,
        messages=len(messages),
        highest=numbers[-1],
        last=min((number for number, last, _ in messages if last), default=None),
        steps=steps,
        trailers=len(trailers),
        first_trailer=min((number for number, _ in trailers), default=None),
        rows=max((declared for _, last, declared in messages if last and declared is not None), default=None),
    )


def test_what_ends_an_abandoned_group_is_told_from_an_empty_message_and_from_a_report(spark):
    def judged(value, msg_type, feedback, headers, *, grouped=True):
        key = b"G" * 24
        rows: list[Any] = [(value, key, key if grouped else None, 1, True, msg_type, feedback, headers, None)]
        return [row.reason for row in checked(spark.createDataFrame(rows, ROWS)).collect()]

    of_application = mqi.MQFB_APPL_FIRST
    assert judged(b"", mqi.MQMT_REPORT, of_application, {}) == ["abandoned"]
    assert judged(b"", _DATAGRAM, 0, {"UserReturnCode": b"-7"}) == ["abandoned"]
    assert judged(b"", mqi.MQMT_REPORT, of_application - 1, {}) == []
    assert judged(b"", _DATAGRAM, 0, None) == []
    assert judged(b"x", mqi.MQMT_REPORT, of_application, {"WMQFTEResultCode": b"40"}) == []
    assert judged(b"", _DATAGRAM, 0, {"WMQFTEResultCode": b"0", "UserReturnCode": b"none"}) == []
    assert judged(b"", _DATAGRAM, 0, {"WMQFTEResultCode": b"40"}, grouped=False) == ["not_in_group"]


def test_a_missing_column_is_refused_with_the_option_that_gives_it(spark):
    rows = spark.createDataFrame([], ROWS)
    with pytest.raises(
        SparkOptionError, match=r"option includeMqmd .*needs the columns msg_type, feedback, found value, key"
    ) as error:
        checked(rows.drop("msg_type", "feedback"))
    assert error.value.option == "includeMqmd"
    with pytest.raises(
        SparkOptionError, match=r"option includeHeaders .*the column headers, found .*includeHeaders=true"
    ):
        checked(rows.drop("headers"))

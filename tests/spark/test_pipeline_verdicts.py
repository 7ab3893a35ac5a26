"""What is wrong with a group: each reason, and any sequence of numbers."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as some

from embedded_tests.tables import table
from mqgroups.spark.pipeline.verdicts import First, GroupFacts, Reason, Verdict, numbering_problems, problems, verdict

GOOD = GroupFacts(
    key=b"G" * 24,
    in_group=True,
    abandoned=False,
    messages=4,
    numbers=None,
    last_numbers=(4,),
    highest=4,
    rows=3,
    trailer=3,
    bodies=None,
    repeated=None,
    first_put_s=1.0,
    last_put_s=2.0,
)


def test_a_group_that_is_whole_passes():
    assert verdict(GOOD, has_trailer=True) is None


def test_without_a_trailer_all_messages_are_rows():
    assert verdict(replace(GOOD, rows=4, trailer=None), has_trailer=False) is None


@table(
    ("change", "reason", "detail"),
    [
        ({"abandoned": True}, Reason.ABANDONED, "the producer ended the group without completing it"),
        ({"in_group": False}, Reason.NOT_IN_GROUP, "the message is not in a group"),
        (
            {"numbers": (1, 2, 2, 3), "highest": 3, "last_numbers": (3,)},
            Reason.DUPLICATE,
            "repeated sequence numbers: 2",
        ),
        (
            {"numbers": (1, 3, 4, 9), "highest": 9, "last_numbers": (9,)},
            Reason.GAP,
            "missing sequence numbers: 2, 5 to 8",
        ),
        ({"numbers": (2, 3, 4, 5), "highest": 5, "last_numbers": (5,)}, Reason.GAP, "missing sequence numbers: 1"),
        ({"last_numbers": ()}, Reason.INCOMPLETE, "no message is marked as the last of the group"),
        (
            {"last_numbers": (3, 4)},
            Reason.SEQUENCE,
            "message 3 is marked as the last, but there are messages up to 4",
        ),
        ({"trailer": 1234}, Reason.TRAILER, "the trailer says 1,234 rows, but there are 3 messages before it"),
        (
            {"bodies": First(1, 2, "column a is not a valid int"), "rows": 2},
            Reason.BODY,
            "message 2: column a is not a valid int",
        ),
        (
            {"bodies": First(2, 1, "it has 2 fields, expected 3"), "rows": 1},
            Reason.BODY,
            "message 1: it has 2 fields, expected 3, and 1 more like it",
        ),
        (
            {"bodies": First(1, 4, "it is not a trailer"), "trailer": None},
            Reason.TRAILER,
            "message 4: it is not a trailer",
        ),
        ({"repeated": First(1, 3)}, Reason.UNIQUE, "message 3 repeats another row"),
        ({"repeated": First(1500, 3)}, Reason.UNIQUE, "message 3 repeats another row, and 1,499 more like it"),
    ],
)
def test_each_reason_is_told_with_numbers(change, reason, detail):
    assert verdict(replace(GOOD, **change), has_trailer=True) == Verdict(reason, detail)


def test_what_weighs_most_stands_for_all_and_all_is_told():
    facts = replace(GOOD, numbers=(1, 2, 4), highest=4, repeated=First(1, 2), trailer=9, messages=3, rows=2)
    assert verdict(facts, has_trailer=True) == Verdict(
        Reason.GAP,
        "missing sequence numbers: 3; the trailer says 9 rows, but there are 2 messages before it; message 2 repeats another row",
    )


def test_long_lists_are_cut():
    (gap,) = numbering_problems(range(2, 100, 2), [98], 98)
    assert gap.detail == "missing sequence numbers: 1, 3, 5, 7, 9 and 44 more"


@given(some.lists(some.integers(1, 12), min_size=1).map(sorted), some.data())
def test_numbers_are_judged_as_by_going_through_them_one_by_one(numbers, data):
    lasts = sorted(data.draw(some.lists(some.sampled_from(numbers), unique=True)))
    found = {problem.reason for problem in numbering_problems(numbers, lasts, numbers[-1])}
    expected = set()
    if any(often > 1 for often in Counter(numbers).values()):
        expected.add(Reason.DUPLICATE)
    if any(number not in numbers for number in range(1, numbers[-1])):
        expected.add(Reason.GAP)
    if not lasts:
        expected.add(Reason.INCOMPLETE)
    elif any(number > lasts[0] for number in numbers):
        expected.add(Reason.SEQUENCE)
    assert found == expected


@given(some.integers(1, 50))
def test_a_group_as_the_queue_manager_makes_it_has_nothing_wrong(count):
    facts = replace(GOOD, messages=count, last_numbers=(count,), highest=count, rows=count, trailer=None)
    assert problems(facts, has_trailer=False) == []


@given(some.sets(some.integers(1, 60), min_size=1))
def test_every_missing_number_is_told_and_no_other(numbers):
    ascending = sorted(numbers)
    found = [
        each for each in numbering_problems(ascending, [ascending[-1]], ascending[-1]) if each.reason is Reason.GAP
    ]
    missing = set(range(1, ascending[-1])) - numbers
    assert bool(found) is bool(missing)
    if found and " more" not in found[0].detail:
        told = set()
        for part in found[0].detail.removeprefix("missing sequence numbers: ").split(", "):
            low, _, high = part.partition(" to ")
            told |= set(range(int(low), int(high or low) + 1))
        assert told == missing

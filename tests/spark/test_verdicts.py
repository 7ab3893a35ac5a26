"""What is wrong with a group: each reason, and any sequence of numbers."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as some

from embedded_tests.tables import table
from mqgroups.spark.verdicts import GroupFacts, Problem, Reason, Step, Trailers, problems, verdict

# Four messages, of which the last is a trailer.
GOOD = GroupFacts(in_group=True, abandoned=False, messages=4, highest=4, last=4, trailers=Trailers(1, 4, 3))


def steps_of(numbers):
    """The steps that are not 1, as Spark collects them."""
    ascending = sorted(numbers)
    steps = zip([0, *ascending], ascending, strict=False)
    return [Step(before, number) for before, number in steps if number != before + 1]


def of_numbers(*numbers, **more):
    return {"messages": len(numbers), "highest": max(numbers), "steps": steps_of(numbers), "trailers": None, **more}


@table("facts", [GOOD, replace(GOOD, trailers=None), replace(GOOD, messages=1, highest=1, last=1, trailers=None)])
def test_a_group_that_is_whole_is_good(facts):
    assert verdict(facts) is None


@table(
    ("change", "reason", "detail"),
    [
        ({"abandoned": True}, Reason.ABANDONED, "the producer ended the group without completing it"),
        ({"in_group": False}, Reason.NOT_IN_GROUP, "the message is not in a group"),
        (of_numbers(1, 2, 2, 2, 3, last=3), Reason.DUPLICATE, "repeated sequence numbers: 2"),
        (of_numbers(1, 3, 4, 9, last=9), Reason.GAP, "missing sequence numbers: 2, 5 to 8"),
        (of_numbers(2, 3, 4, 5, last=5), Reason.GAP, "missing sequence numbers: 1"),
        ({"last": None}, Reason.INCOMPLETE, "no message is marked as the last of the group"),
        ({"last": 3}, Reason.SEQUENCE, "message 3 is marked as the last, but there are messages up to 4"),
        ({"trailers": Trailers()}, Reason.TRAILER, "the last message is not a trailer"),
        ({"trailers": Trailers(1, 2, None)}, Reason.TRAILER, "the last message is not a trailer"),
        ({"trailers": Trailers(2, 1, 3)}, Reason.TRAILER, "message 1 is a trailer, but not the last message"),
        (
            {"trailers": Trailers(1, 4, 1234)},
            Reason.TRAILER,
            "the trailer says 1,234 rows, but there are 3 messages besides it",
        ),
    ],
)
def test_each_reason_is_told_with_numbers(change, reason, detail):
    assert verdict(replace(GOOD, **change)) == Problem(reason, detail)


def test_the_most_important_reason_stands_for_all_and_all_are_told():
    facts = replace(GOOD, messages=3, steps=steps_of([1, 2, 4]), trailers=Trailers(1, 4, 9))
    assert verdict(facts) == Problem(
        Reason.GAP, "missing sequence numbers: 3; the trailer says 9 rows, but there are 2 messages besides it"
    )


def test_long_lists_are_cut():
    (gap,) = problems(replace(GOOD, **of_numbers(*range(2, 100, 2), last=98)))
    assert gap.detail == "missing sequence numbers: 1, 3, 5, 7, 9 and 44 more"


@given(some.lists(some.integers(1, 12), min_size=1), some.data())
def test_numbers_are_judged_as_by_going_through_them_one_by_one(numbers, data):
    lasts = data.draw(some.sets(some.sampled_from(numbers)))
    facts = replace(GOOD, **of_numbers(*numbers, last=min(lasts, default=None)))
    expected = set()
    if any(often > 1 for often in Counter(numbers).values()):
        expected.add(Reason.DUPLICATE)
    if any(number not in numbers for number in range(1, max(numbers))):
        expected.add(Reason.GAP)
    if not lasts:
        expected.add(Reason.INCOMPLETE)
    elif any(number > min(lasts) for number in numbers):
        expected.add(Reason.SEQUENCE)
    assert {problem.reason for problem in problems(facts)} == expected


@given(some.integers(1, 50), some.booleans())
def test_a_group_as_the_queue_manager_makes_it_has_nothing_wrong(count, has_trailer):
    trailers = Trailers(1, count, count - 1) if has_trailer else None
    assert problems(replace(GOOD, messages=count, highest=count, last=count, trailers=trailers)) == []


@given(some.sets(some.integers(1, 60), min_size=1))
def test_every_missing_number_is_told_and_no_other(numbers):
    found = problems(replace(GOOD, **of_numbers(*numbers, last=max(numbers))))
    missing = set(range(1, max(numbers))) - numbers
    assert bool(found) is bool(missing)
    if found and " more" not in found[0].detail:
        told = set()
        for part in found[0].detail.removeprefix("missing sequence numbers: ").split(", "):
            low, _, high = part.partition(" to ")
            told |= set(range(int(low), int(high or low) + 1))
        assert told == missing

"""What is wrong with a group: each reason, and any sequence of numbers."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as some

from embedded_tests.tables import table
from mqgroups.spark.verdicts import GroupFacts, problems, verdict

# Four messages, of which the last is a trailer.
GOOD = GroupFacts(in_group=True, abandoned=False, messages=4, highest=4, last=4, trailers=1, first_trailer=4, rows=3)


def replace(facts, **change):
    """These facts with a change."""
    return facts._replace(**change)


def trailers(count, first, rows):
    return {"trailers": count, "first_trailer": first, "rows": rows}


def judged(facts):
    """All problems, of a group that has no trailer if it says nothing of trailers."""
    return list(problems(facts, has_trailer=facts.trailers > 0))


def steps_of(numbers):
    """The steps that are not 1, as Spark collects them."""
    ascending = sorted(numbers)
    steps = zip([0, *ascending], ascending, strict=False)
    return [{"before": before, "number": number} for before, number in steps if number != before + 1]


def of_numbers(*numbers, **more):
    return {
        "messages": len(numbers),
        "highest": max(numbers),
        "steps": steps_of(numbers),
        **trailers(0, None, None),
        **more,
    }


@table(
    "facts",
    [
        GOOD,
        replace(GOOD, **trailers(0, None, None)),
        replace(GOOD, messages=1, highest=1, last=1, **trailers(0, None, None)),
    ],
)
def test_a_group_that_is_whole_is_good(facts):
    assert verdict(facts, has_trailer=facts.trailers > 0) is None


@table(
    ("change", "reason", "detail"),
    [
        ({"abandoned": True}, "abandoned", "the producer ended the group without completing it"),
        ({"in_group": False}, "not_in_group", "the message is not in a group"),
        (of_numbers(1, 2, 2, 2, 3, last=3), "duplicate", "repeated sequence numbers: 2"),
        (of_numbers(1, 3, 4, 9, last=9), "gap", "missing sequence numbers: 2, 5 to 8"),
        (of_numbers(2, 3, 4, 5, last=5), "gap", "missing sequence numbers: 1"),
        ({"last": None}, "incomplete", "no message is marked as the last of the group"),
        ({"last": 3}, "sequence", "message 3 is marked as the last, but there are messages up to 4"),
        (trailers(0, None, None), "trailer", "the last message is not a trailer"),
        (trailers(1, 2, None), "trailer", "the last message is not a trailer"),
        (trailers(2, 1, 3), "trailer", "message 1 is a trailer, but not the last message"),
        (
            trailers(1, 4, 1234),
            "trailer",
            "the trailer says 1,234 rows, but there are 3 messages besides it",
        ),
    ],
)
def test_each_reason_is_told_with_numbers(change, reason, detail):
    facts = replace(GOOD, **change)
    assert verdict(facts, has_trailer="messages" not in change) == (reason, detail)


def test_the_most_important_reason_stands_for_all_and_all_are_told():
    facts = replace(GOOD, messages=3, steps=steps_of([1, 2, 4]), **trailers(1, 4, 9))
    assert verdict(facts, has_trailer=True) == (
        "gap",
        "missing sequence numbers: 3; the trailer says 9 rows, but there are 2 messages besides it",
    )


def test_long_lists_are_cut():
    (gap,) = judged(replace(GOOD, **of_numbers(*range(2, 100, 2), last=98)))
    assert gap[1] == "missing sequence numbers: 1, 3, 5, 7, 9 and 44 more"


@given(some.lists(some.integers(1, 12), min_size=1), some.data())
def test_numbers_are_judged_as_by_going_through_them_one_by_one(numbers, data):
    lasts = data.draw(some.sets(some.sampled_from(numbers)))
    facts = replace(GOOD, **of_numbers(*numbers, last=min(lasts, default=None)))
    expected = set()
    if any(often > 1 for often in Counter(numbers).values()):
        expected.add("duplicate")
    if any(number not in numbers for number in range(1, max(numbers))):
        expected.add("gap")
    if not lasts:
        expected.add("incomplete")
    elif any(number > min(lasts) for number in numbers):
        expected.add("sequence")
    assert {reason for reason, _ in judged(facts)} == expected


@given(some.integers(1, 50), some.booleans())
def test_a_group_as_the_queue_manager_makes_it_has_nothing_wrong(count, has_trailer):
    of_trailer = trailers(1, count, count - 1) if has_trailer else trailers(0, None, None)
    assert judged(replace(GOOD, messages=count, highest=count, last=count, **of_trailer)) == []


@given(some.sets(some.integers(1, 60), min_size=1))
def test_every_missing_number_is_told_and_no_other(numbers):
    found = judged(replace(GOOD, **of_numbers(*numbers, last=max(numbers))))
    missing = set(range(1, max(numbers))) - numbers
    assert bool(found) is bool(missing)
    if found and " more" not in found[0][1]:
        told = set()
        for part in found[0][1].removeprefix("missing sequence numbers: ").split(", "):
            low, _, high = part.partition(" to ")
            told |= set(range(int(low), int(high or low) + 1))
        assert told == missing

"""What lies on several instances of a cluster queue: which groups are split, and what their parts make together."""

from __future__ import annotations

from embedded_tests.tables import table
from mqgroups.operate.rules.inspection import GroupPart, Place, Run, split_group
from tests.operate.rules.test_inspection import LAST, MIG, inspected, message


def split(*parts):
    """Return the group whose parts these are, at QM1, QM2 and so on."""
    return split_group(b"G" * 24, [GroupPart(f"QM{number}", each) for number, each in enumerate(parts, 1)])


def part(*numbers, last=0):
    """Return what an instance has of a group."""
    return inspected([message(each, LAST if each == last else MIG) for each in numbers])


def test_of_a_group_at_two_instances_it_is_said_what_is_where():
    first, second = part(1, 2), part(3, 4, last=4)
    found = split(first, second)
    assert [(each.q_mgr_name, each.group) for each in found.parts] == [("QM1", first), ("QM2", second)]
    assert (found.runs, found.gaps, found.overlapping) == ((Run(Place(1), Place(5)),), (), 0)
    assert found.is_whole_together


@table(
    ("parts", "gaps", "overlapping"),
    [
        ([part(1, 3), part(2)], (), 0),
        ([part(1), part(4, last=4)], (Run(Place(2), Place(4)),), 0),
        ([part(2), part(3, last=3)], (), 0),
        ([part(1, 2), part(2, 3, last=3)], (), 1),
        ([part(1), part(1, last=1)], (), 1),
    ],
)
def test_parts_that_do_not_make_one_group(parts, gaps, overlapping):
    found = split(*parts)
    assert not found.is_whole_together
    assert (found.gaps, found.overlapping) == (gaps, overlapping)


def test_parts_in_any_order_at_three_instances_make_one_group():
    assert split(part(3, 6, last=6), part(1, 4), part(2, 5)).is_whole_together

"""What lies on several instances of a cluster queue: which groups are split, and what their parts make together."""

from __future__ import annotations

from embedded_tests.tables import table
from mqgroups.operate.rules.cluster import Instance, group_splits
from mqgroups.operate.rules.inspection import Place, Run
from tests.operate.rules.test_inspection import LAST, MIG, inspected, message, on_queue

H = b"H" * 24


def instances(*queues):
    """Return instances at QM1, QM2 and so on, each with these groups."""
    return [Instance(f"QM{number}", on_queue(*groups)) for number, groups in enumerate(queues, 1)]


def part(*numbers, last=0, group_id=b"G" * 24):
    """Return what an instance has of a group."""
    return inspected([message(each, LAST if each == last else MIG) for each in numbers], group_id)


def test_a_group_at_one_instance_is_not_split_whole_or_not():
    assert group_splits(instances([part(1, 2, last=2)], [part(1, 4, group_id=H)], [])) == ()


def test_a_group_at_two_instances_is_split_and_it_is_said_what_is_where():
    first, second = part(1, 2), part(3, 4, last=4)
    (split,) = group_splits(instances([first, part(1, group_id=H)], [], [second]))
    assert split.group_id == b"G" * 24
    assert [(each.q_mgr_name, each.group) for each in split.parts] == [("QM1", first), ("QM3", second)]
    assert (split.runs, split.gaps, split.overlapping) == ((Run(Place(1), Place(5)),), (), 0)
    assert split.is_whole_together


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
    (split,) = group_splits(instances(*([each] for each in parts)))
    assert not split.is_whole_together
    assert (split.gaps, split.overlapping) == (gaps, overlapping)


def test_parts_in_any_order_at_three_instances_make_one_group():
    (split,) = group_splits(instances([part(3, 6, last=6)], [part(1, 4)], [part(2, 5)]))
    assert split.is_whole_together

"""Several queues at one look: aliases, and queues that cannot be browsed."""

from __future__ import annotations

import pytest

from mqgroups.operate.queues import look_at_queues

THIS = [b"%d" % number for number in range(1, 8)]


@pytest.mark.embedded
def test_a_queue_and_its_alias_are_one_and_groups_without_messages_are_found_by_either_name(owner, make_owner):
    other = make_owner()
    owner.interrupt_put(THIS, queue="TEST.ALIAS")
    other.interrupt_put(THIS, queue="TEST.BASE")
    owner.empty("TEST.BASE")
    with look_at_queues(owner.qmgr, ["TEST.BASE", "TEST.ALIAS"]) as sight:
        ((queue, found),) = sight.lists.items()
        found.judge(sight.owners, "")
    assert (queue, found.names) == ("TEST.ALIAS", {"TEST.ALIAS", "TEST.BASE"})
    assert {each.owners[0].name for each in found.gone} >= {owner.name, other.name}


def test_a_queue_that_cannot_be_browsed_does_not_hide_the_others(owner):
    owner.interrupt_put(THIS)
    with look_at_queues(owner.qmgr, [owner.queue, "NO.SUCH.QUEUE"]) as sight:
        assert (set(sight.lists), set(sight.refused)) == ({owner.queue}, {"NO.SUCH.QUEUE"})
        (said,) = (each for each in sight.unseen() if "NO.SUCH.QUEUE" in each)
    assert "2085" in said

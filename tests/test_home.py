"""find_home: the queue manager of a uniform cluster that has a producer's status queue.

Each of three queue managers is asked, and can be down. The members of the tests' cluster stand for those of a uniform cluster.
"""

from __future__ import annotations

import pytest

import mqgroups
from mqembedded import Fault
from mqgroups import errors
from tests.put.whole_groups import THIS, put_rest

pytestmark = pytest.mark.embedded
MEMBERS = ("QM1", "QM2", "QM3")


@pytest.fixture
def owners(cluster, make_owner):
    """A producer's name, as an owner at each member."""
    queue = cluster.name()
    for member in MEMBERS:
        cluster.mqsc(member, f"DEFINE QLOCAL({queue}) DEFPSIST(YES)")
    return {member: make_owner(cluster[member], queue, name=queue[-20:]) for member in MEMBERS}


@pytest.fixture
def find_home(owners):
    """A function that finds the producer's home, with these members down."""

    def find(down=()):
        def connect(member):
            if member in down:
                raise errors.mqi_error("MQCONNX", f"queue manager {member}", 2, 2538)
            return owners[member].connect()

        return mqgroups.find_home(owners["QM1"].name, MEMBERS, connect)

    return find


def test_the_first_start_is_at_the_first_member_and_every_other_where_the_record_is(owners, find_home):
    assert find_home().q_mgr_name == "QM1"
    owners["QM3"].interrupt_put(THIS[:4])
    home = find_home()
    assert home.q_mgr_name == "QM3"
    with owners["QM3"].producer(home) as producer:
        # A producer at work hides its record, and has it exclusively.
        assert find_home().q_mgr_name == "QM3"
        assert put_rest(producer) == 2
    # The empty status queue that it leaves is its home still.
    assert find_home().q_mgr_name == "QM3"


def test_a_member_that_is_down_may_have_the_record_unless_another_one_has_it(owners, find_home):
    with pytest.raises(errors.MQIError, match=r"2538 .* QM2 may have the record of .* start QM2") as caught:
        find_home(down=["QM2"])
    assert caught.value.verb == "MQCONNX"
    owners["QM1"].put_group(THIS)
    with pytest.raises(errors.MQIError, match="QM2, QM3 may have the record"):
        find_home(down=["QM2", "QM3"])
    owners["QM1"].interrupt_put(THIS[:4])
    assert find_home(down=["QM2", "QM3"]).q_mgr_name == "QM1"


def test_a_member_whose_connection_is_lost_while_it_is_asked_counts_as_down(owners, find_home):
    control = owners["QM2"].target.queue_manager.control
    control.arm(Fault("drop", "before", 2, "MQOPEN"))
    try:
        with pytest.raises(errors.ConnectionBroken, match="QM2 may have the record"):
            find_home()
    finally:
        control.clear_faults()


def test_two_homes_are_refused(owners, find_home):
    for member in ("QM1", "QM3"):
        owners[member].interrupt_put(THIS[:4])
    with pytest.raises(errors.StatusQueueUnusable, match="QM1 and QM3") as caught:
        find_home()
    assert caught.value.found == ("QM1", "QM3")


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ((), "no members"),
        (("QM1", "QM1"), "twice"),
        (("QM1", "QM2"), "connect gave QM1 for QM2"),
        # Its characters are no members, and a set has another order at each start.
        ("QM1", "members must be a list of names, in their order, got 'QM1'"),
        ({"QM1"}, "members must be a list of names, in their order, got {'QM1'}"),
    ],
)
def test_what_cannot_be_asked_is_refused(owners, members, said):
    with pytest.raises(errors.ConfigurationError, match=said):
        mqgroups.find_home("N", members, lambda _: owners["QM1"].connect())

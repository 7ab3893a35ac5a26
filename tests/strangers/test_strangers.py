"""Groups of partners that are not mqgroups, and every receiver: nothing is lost, nothing is doubled untold, nobody is stopped.

Behind what a partner puts lies a group that is right. Whatever the partner did, a receiver has to get to it. Each message that
was put is in the end with the receiver, on the backout queue, or still on the queue; where it should not be, that is told.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from pathlib import Path

import pytest

from embedded_tests.fix_mqi import OK, wait_until
from embedded_tests.fix_properties import MessageHandle
from mqgroups.errors import GroupStalled, MQGroupsError
from mqgroups.operate import SeenOwners, browse_groups
from tests.strangers import receivers
from tests.strangers.partners import GOOD, PARTNERS, TELLS, Partner

BACKOUT_QUEUE = "TEST.BACKOUT"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "partners.md"


def put_all(owner, partner: Partner) -> None:
    """Put what the partner puts, and a good group; return when what expires has expired."""
    handle = owner.eye.open(owner.queue, receivers.OUTPUT)
    assert handle.code == OK
    for put in (*partner.puts, *GOOD):
        pmo = None
        if put.properties:
            properties = MessageHandle(owner.eye)
            for name, value in put.properties.items():
                assert properties.set(name, value, receivers.TYPES[type(value)]) == OK
            pmo = owner.eye.mqi.package.PMO(
                Version=3, Options=receivers.NO_SYNCPOINT, OriginalMsgHandle=properties.hmsg
            )
        assert handle.put(put.data, pmo=pmo, **put.fields).code == OK
    handle.close()
    wait_until(lambda: len(owner.data()) == len(partner.puts) + len(GOOD) - partner.gone)


def told(lines) -> set[str]:
    """Return what these texts of errors and log lines tell."""
    return {name for name, words in TELLS.items() if any(re.search(words, line) for line in lines)}


def states(owner) -> set[str]:
    """Return the states in which ``mqgroups groups`` shows the groups that are left; none of them is being put any more."""
    with browse_groups(owner.qmgr, owner.queue) as groups:
        groups.judge(SeenOwners((), ("status queues",)), "9" * 16)
        return {row.state.value for row in groups.groups()}


@pytest.fixture
def receives(make_owner, make_queue, mq_options, tmp_path, caplog):
    """A function that has a receiver get what a partner has put, and compares where everything is."""

    def receive_all(receive, partner: Partner) -> None:
        owner = make_owner(model="TEST.BACKOUT.MODEL")
        owner.empty(BACKOUT_QUEUE)
        put_all(owner, partner)
        directory = tmp_path / owner.name
        directory.mkdir()
        put = Counter(each.data for each in (*partner.puts, *GOOD) if each.data)
        kinds = receivers.KINDS.get(receive, ())
        outcome = next((partner.otherwise[kind] for kind in kinds if kind in partner.otherwise), partner.outcome)
        expected = outcome or partner.outcome

        def lines():
            return [*site.told, *(record.getMessage() for record in caplog.records)]

        def all_told():
            untold = receivers.UNTOLD.get(receive, frozenset())
            return told(lines()) - untold == expected.told - untold

        site = receivers.Site(
            owner,
            directory,
            make_queue,
            lambda: (len(owner.data()) == expected.left or receive in receivers.WITHOUT_NUMBERS) and all_told(),
            frozenset(put),
            {**mq_options, "queue": owner.queue},
        )
        caplog.clear()
        if outcome is None:
            with pytest.raises(GroupStalled):
                receive(site)
            return
        with caplog.at_level(logging.WARNING, "mqgroups"):
            got = Counter(filter(None, receive(site)))
        if got[partner.joined]:
            got = got - Counter([partner.joined]) + Counter(put.data for put in partner.puts)
        # A message that has only properties is one without data.
        aside, left = (
            Counter(data for data in owner.data(queue) if data and not data.startswith(b"RFH "))
            for queue in (BACKOUT_QUEUE, owner.queue)
        )
        shown = states(owner)
        owner.empty(BACKOUT_QUEUE)
        lacking = put - got - aside - left
        assert lacking.total() == partner.gone, f"lost: {lacking}"
        assert not got - put, f"doubled: {got - put}"
        assert all(got[each.data] for each in GOOD), "the good group did not come"
        if receive not in receivers.WITHOUT_NUMBERS:
            assert (got.total() - len(GOOD), aside.total(), left.total()) == expected[:3]
            assert shown == expected.shown
        assert all_told(), lines()

    return receive_all


@pytest.mark.parametrize("receive", receivers.ALL, ids=lambda receive: receive.__name__)
def test_what_a_partner_puts_is_got_or_put_aside_or_told(receive, receives):
    wrong = {}
    for partner in PARTNERS:
        try:
            receives(receive, partner)
        except (AssertionError, MQGroupsError) as error:
            wrong[partner.name] = str(error)
    assert wrong == {}


def test_the_page_has_a_row_for_each_partner_and_its_numbers():
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in PAGE.read_text().splitlines()]
    found = [(row[0], *row[2:]) for row in rows if len(row) == 7 and row[0] in {each.name for each in PARTNERS}]
    assert found == [partner.row for partner in PARTNERS]

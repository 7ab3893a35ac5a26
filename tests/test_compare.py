"""recipes/compare: the four ways are disturbed as they should be, and what is on the queue is counted right."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from embedded_tests.tables import table
from mqembedded import Fault

pytestmark = pytest.mark.embedded


@pytest.fixture
def campaign(own_queue_manager, tmp_path):
    pytest.importorskip("pymqi", reason="the ways compared are on pymqi")
    from recipes.compare.campaign import MQSC, Campaign

    mqsc = tmp_path / "compare.mqsc"
    mqsc.write_text(MQSC)
    campaign = Campaign(own_queue_manager("QMC", mqsc=[mqsc]), tmp_path)
    yield campaign
    campaign.close()


FINE = (0, 0, 0, False)
CONSEQUENCES = [
    # The number in the status message is put again.
    ("pymqi, pseudo-code", "kill_client", "after", "MQCMIT", 1, (0, 1, 1, True)),
    ("pymqi, pseudo-code", "kill_client", "before", "MQCMIT", 1, FINE),
    ("pymqi, pseudo-code, plus 1", "kill_client", "after", "MQCMIT", 1, FINE),
    # Nothing tells that the group is complete, so it is put again.
    ("pymqi, pseudo-code, plus 1", "drop", "after", "MQCMIT", 3, (0, 6, 0, True)),
    ("ibmmq, pseudo-code, plus 1", "drop", "after", "MQCMIT", 3, (0, 6, 0, True)),
    # The messages of the unit of work are gone with the connection, and the group with its handle.
    ("pymqi, retried calls", "drop", "before", "MQPUT", 4, (1, 0, 2, True)),
    ("pymqi, retried calls", "drop", "after", "MQCMIT", 1, (0, 0, 2, True)),
    ("faststream-mq, publish", "drop", "after", "MQPUT", 3, (0, 1, 0, True)),
    ("faststream-mq, subscriber", "drop", "after", "MQPUT", 3, (0, 1, 0, True)),
    ("faststream-mq, subscriber", "kill_client", "after", "MQPUT", 3, FINE),
    ("mqgroups", "kill_client", "after", "MQCMIT", 2, FINE),
    ("mqgroups", "kill_client", "before", "MQPUT", 4, FINE),
    ("mqgroups", "drop", "after", "MQCMIT", 4, FINE),
    ("mqgroups", "drop", "before", "MQCMIT", 4, FINE),
]


def test_a_disturbed_call_has_its_consequence(campaign):
    """What is lost, doubled and torn, and whether a statement of the application is wrong; of the approaches that are there."""
    from recipes.compare.campaign import Case
    from recipes.compare.worker import available

    approaches = available()
    for approach, action, when, verb, nth, expected in CONSEQUENCES:
        if approach in approaches:
            outcome = campaign.run(Case(approach, "", (Fault(action, when, nth, verb),)))
            found = (outcome.found.lost, outcome.found.doubled, outcome.found.torn, outcome.is_wrong_statement)
            assert found == expected, (approach, action, when, verb, nth)


def test_every_call_of_an_approach_is_a_case_and_undisturbed_it_is_right(campaign):
    from recipes.compare.campaign import KINDS

    cases = list(campaign.cases("pymqi, retried calls", every_nth=1, seeds=range(1, 3)))
    # MQCONNX, MQOPEN, six MQPUT, three MQCMIT, MQCLOSE, MQDISC.
    assert [sum(case.kind == kind for case in cases) for kind in KINDS] == [13, 13, 13, 10, 3, 6, 2]
    assert cases[0].faults == (Fault("kill_client", "before", 1, "MQCLOSE", reason=2053),)
    assert cases == list(campaign.cases("pymqi, retried calls", every_nth=1, seeds=range(1, 3)))


NONE, ONE, TWO = bytes(24), b"1" * 24, b"2" * 24


@table(
    ("groups", "expected"),
    [
        ({ONE: [(1, False, b"message 1"), (2, True, b"message 2")]}, (0, 0, 0)),
        ({ONE: [(1, False, b"message 1")]}, (1, 0, 1)),
        ({ONE: [(1, False, b"message 1"), (2, False, b"message 2")]}, (0, 0, 1)),
        ({ONE: [(2, True, b"message 2"), (1, False, b"message 1")]}, (0, 0, 1)),
        ({ONE: [(1, False, b"message 1"), (1, False, b"message 1"), (2, True, b"message 2")]}, (0, 1, 1)),
        ({ONE: [(1, False, b"message 1")], TWO: [(1, True, b"message 2")]}, (0, 0, 2)),
        ({group: [(1, False, b"message 1"), (2, True, b"message 2")] for group in (ONE, TWO)}, (0, 2, 0)),
        ({NONE: [(1, False, b"message 1"), (1, False, b"message 2"), (1, False, b"message 2")]}, (0, 1, 0)),
        ({}, (2, 0, 0)),
    ],
)
def test_the_reader_counts_what_is_lost_doubled_and_torn(mq, groups, expected):
    pytest.importorskip("pymqi", reason="the ways compared are on pymqi")
    from recipes.compare.reader import count

    found = count(groups, 2)
    assert (found.lost, found.doubled, found.torn) == expected
    assert found.is_right is (expected == (0, 0, 0))


def test_the_page_has_a_place_for_figures_and_keeps_what_is_around_it(mq, tmp_path):
    pytest.importorskip("pymqi", reason="the ways compared are on pymqi")
    from recipes.compare.report import markdown, write

    page = tmp_path / "why.md"
    page.write_text("before\n<!-- figures: make compare -->\nold\n<!-- end of figures -->\nafter\n")
    write(page, markdown([["approach", "cases"], ["mqgroups", "7"]]))
    assert page.read_text() == (
        "before\n<!-- figures: make compare -->\n\n| approach | cases |\n|---|---:|\n| mqgroups | 7 |\n\n"
        "<!-- end of figures -->\nafter\n"
    )
    page.write_text("no place")
    with pytest.raises(ValueError, match="no place for figures"):
        write(page, "")


def test_the_picture_has_a_bar_for_each_approach_as_long_as_its_share_of_cases_gone_wrong(mq):
    pytest.importorskip("pymqi", reason="the ways compared are on pymqi")
    from recipes.compare.campaign import Case, Outcome
    from recipes.compare.reader import Found
    from recipes.compare.report import picture

    right, doubled = Found(0, 0, 0, True), Found(0, 1, 0, True)
    founds = [("pymqi, pseudo-code", right), ("pymqi, pseudo-code", doubled), ("mqgroups", right)]
    svg = ElementTree.fromstring(picture([Outcome(Case(approach, "", ()), True, found) for approach, found in founds]))
    bars = [each.get("width") for each in svg.iter() if each.get("class") == "gone"]
    texts = [each.text for each in svg.iter() if each.tag.endswith("text")][1:]
    assert (bars, texts) == (["190", "0"], ["pymqi, pseudo-code", "1 of 2", "mqgroups", "0 of 1"])


def test_the_committed_page_has_figures_for_every_approach(mq):
    pytest.importorskip("pymqi", reason="the ways compared are on pymqi")
    from recipes.compare.worker import APPROACHES

    page = (Path(__file__).parents[1] / "docs" / "explanation" / "why.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| ([a-z][^:|]*) \| [0-9]+ \|", page, re.MULTILINE) == list(APPROACHES)

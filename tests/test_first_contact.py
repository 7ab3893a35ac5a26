"""A first contact with IBM MQ: its record and its page say what was found, and show no address; a record can be replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embedded_tests.tables import table
from mqembedded import READINGS, EmbeddedQueueManager, ReadingError
from mqembedded.cache import cache
from mqembedded.readings import chosen_by, recorded_in
from mqembedded.testing.under_test import QueueManagerUnderTest
from mqgroups.definitions import DEVELOPMENT_MQSC
from mqgroups.mqi.constants import (
    MQGMO_SYNCPOINT,
    MQIA_CURRENT_Q_DEPTH,
    MQOO_INPUT_SHARED,
    MQOO_INQUIRE,
    MQPMO_SYNCPOINT,
)
from tests.first_contact.record import Outcomes, record
from tests.first_contact.report import MEANING, NOTICED, page, wrong_with_rehearsal

ROOT = Path(__file__).resolve().parents[1]
# Where the C library is compiled already; pytester gives each run a home of its own.
CACHE = cache()
HEADER = "mq: IBM MQ 9.4.2.0 in ibm-messaging/mq:latest, QM1 at mq.example.com(49153), command level 942; bindings ibmmq 2.1.2"
FAULTS = {
    "seconds": 17,
    "kept": [],
    "left out": {"silent line": "HBINT of the channel is 300"},
    "total": {"runs": 12, "fired": 11, "kinds": {}},
    "phase single": {"runs": 12},
    "phase double": {"runs": 0},
}


def recorded(header=HEADER, *, passed=1, failed=(), skipped=None, readings=None, findings=(), faults=None):
    """Return a record of a run with these outcomes."""
    found = {
        "mq": header,
        "contract": {"passed": passed, "failed": list(failed), "skipped": skipped or {}},
        "readings": {name: [] for name in READINGS} | (readings or {}),
        "findings": list(findings),
    }
    return record(found, faults, recorded="2026-11-25", library="0.1.0")


def test_a_good_run_says_so_and_shows_no_address():
    asked = {"test": "test_a", "question": "seconds until a queue is free", "answer": "0.0 at 10.0.0.7"}
    made = recorded(passed=400, findings=[asked], faults=FAULTS)
    text = page(made)
    assert (
        "400 tests passed, 0 failed, 0 were skipped. The fault campaign ran 12 cases in 17 s, 11 faults fired: 0"
        in text
    )
    assert "**As expected.**" in text
    assert made["surprises"] == []
    assert made["faults"]["phases"] == {"single": 12}
    assert "IBM MQ 9.4.2.0" in text
    for shown in (text, json.dumps(made)):
        assert "mq.example.com" not in shown
        assert "10.0.0.7" not in shown


def test_a_run_on_the_embedded_queue_manager_is_no_first_contact():
    header = "mq: embedded queue manager (not IBM MQ), QM1 at 127.0.0.1(1414), command level 940; bindings ibmmq 2.1.2"
    text = page(recorded(header, passed=72))
    assert "**This was not IBM MQ.**" in text
    assert "Open an issue" not in text
    assert "**This was not IBM MQ.**" not in page(recorded(passed=72))


def test_failures_are_sorted_by_what_they_mean_for_users():
    failed = [
        ["tests/put/test_producer.py::test_a", "AssertionError: assert 1 == 2 at qm(1414)"],
        ["embedded/embedded_tests/test_groups.py::test_b", "KeyError"],
        ["tests/put/test_payload.py::test_c", "ValueError"],
    ]
    made = recorded(failed=failed)
    text = page(made).partition("## Tests that failed")[2]
    assert "**Not as expected.**" in page(made)
    assert text.count(MEANING["tests/put/"]) == 1
    assert text.index("test_a") < text.index("test_c") < text.index(MEANING["embedded/"]) < text.index("test_b")
    assert "assert 1 == 2 at (address)" in text
    assert len(made["surprises"]) == 3


def test_harm_done_by_a_fault_comes_first():
    faults = FAULTS | {"total": {"runs": 12, "fired": 11, "kinds": {"… messages left on the queue": 2}}}
    made = recorded(faults=faults)
    assert "**Do not use mqgroups on this queue manager" in page(made)
    assert made["surprises"] == ["fault campaign: … messages left on the queue"]


def test_a_run_without_a_queue_manager_is_no_success():
    text = page(recorded(passed=0, skipped={"no Docker engine answers": 12}))
    assert "**Nothing was tested.**" in text
    assert "- 12: no Docker engine answers" in text


@table(
    ("followed", "said", "surprises"),
    [
        ([], "not seen", 0),
        (["tells the instance"], "the library does not depend on it", 0),
        (["tells nothing"], 'use `bind="open"`', 1),
        (["tells nothing", "tells the instance"], "Tests disagree", 1),
        (["none of them: 17"], "please report it", 1),
    ],
)
def test_a_reading_is_told_with_its_meaning(followed, said, surprises):
    made = recorded(readings={"bind on group": followed})
    assert any(said in line for line in page(made).splitlines() if line.startswith("| bind on group"))
    assert len(made["surprises"]) == surprises


def test_a_rehearsal_is_wrong_where_the_evening_would_be():
    header = "mq: embedded queue manager (not IBM MQ), set up as IBM's image, command level 940; bindings ibmmq 2.1.2"
    good = recorded(header, skipped={"needs IBM MQ": 2}, faults=FAULTS | {"left out": {}})
    assert wrong_with_rehearsal(good, page(good), ["single"]) == []
    assert wrong_with_rehearsal(good, page(good), ["single", "double"]) == ["phase 'double' has no figures"]
    faults = FAULTS | {"kept": ["files"]}
    bad = recorded(failed=[["test_a", "KeyError"]], skipped={"": 1}, faults=faults)
    assert wrong_with_rehearsal(bad, page(bad).replace("| curdepth |", ""), ["single"]) == [
        "phase 'silent line' was left out: HBINT of the channel is 300",
        "violation: files",
        "test_a failed: KeyError",
        "reading 'curdepth' is not on the page",
        "1 tests were skipped without a reason",
        "the page does not say that this was not IBM MQ",
    ]
    assert wrong_with_rehearsal(recorded(header), page(recorded(header)), ["single"]) == [
        "phase 'single' has no figures"
    ]


def test_what_users_notice_are_values_of_readings():
    assert all(value in READINGS[name] for name, value in NOTICED)


def test_every_folder_of_contract_tests_has_a_meaning():
    assert {path for path in MEANING if path.endswith("/")} <= {
        f"tests/{path.name}/" for path in (ROOT / "tests").iterdir()
    } | {"embedded/", "tests/"}


@pytest.mark.embedded
def test_a_run_writes_what_became_of_its_tests(pytester, monkeypatch):
    monkeypatch.setenv("MQEMBEDDED_CACHE", str(CACHE))
    pytester.makeconftest('pytest_plugins = ["mqembedded.testing.plugin", "tests.fix_findings"]')
    pytester.makepyfile(
        """
        def test_one(mq, finding): finding("MQDISC", "committed", "mqdisc", {"committed": "commits"})
        def test_two(): assert 1 == 2
        """
    )
    pytester.runpytest_subprocess("--findings=build/findings.json", "-p", "no:randomly")
    found = json.loads((pytester.path / "build" / "findings.json").read_text())
    assert Outcomes(**found["contract"]) == Outcomes(
        1, [["test_a_run_writes_what_became_of_its_tests.py::test_two", "assert 1 == 2"]], {}
    )
    assert found["readings"]["mqdisc"] == ["commits"]


# --- a record, replayed


def test_a_record_has_the_readings_of_its_queue_manager(tmp_path):
    file = tmp_path / "ibm-mq.json"
    followed = {name: [values[-1]] for name, values in READINGS.items()} | {"curdepth": []}
    file.write_text(json.dumps(recorded(readings=followed)))
    expected = {name: values[-1] for name, values in READINGS.items() if name != "curdepth"}
    assert recorded_in(file) == expected
    assert chosen_by([f"@{file}"]) == expected
    assert chosen_by([f"@{file}", "mqdisc=commits"]) == expected | {"mqdisc": "commits"}


@pytest.mark.embedded
def test_an_embedded_queue_manager_does_what_was_recorded(tmp_path, binding):
    file = tmp_path / "ibm-mq.json"
    file.write_text(json.dumps(recorded(readings={"mqdisc": ["backs out"], "curdepth": ["counts uncommitted gets"]})))
    usual = {"curdepth": "excludes uncommitted gets"}
    with EmbeddedQueueManager(mqsc=[DEVELOPMENT_MQSC], answers=file, readings=usual) as qmgr:
        q_mgr = QueueManagerUnderTest(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name, None, None).connect(binding)
        q_mgr.put1("ORDERS", b"m", binding.MD(), binding.PMO(Options=MQPMO_SYNCPOINT))
        q_mgr.disconnect()
        q_mgr = QueueManagerUnderTest(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name, None, None).connect(binding)
        queue = binding.Queue(q_mgr, "ORDERS", MQOO_INPUT_SHARED | MQOO_INQUIRE)
        assert queue.inquire(MQIA_CURRENT_Q_DEPTH) == 0
        q_mgr.put1("ORDERS", b"m")
        queue.get(None, binding.MD(), binding.GMO(Options=MQGMO_SYNCPOINT))
        assert queue.inquire(MQIA_CURRENT_Q_DEPTH) == 0
        q_mgr.backout()


@table(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("9" * 5000, "is not JSON"),
        ("[]", 'has no "readings"'),
        ('{"readings": {"mqdisc": 7}}', 'has no "readings"'),
        ('{"readings": {"gravity": ["off"]}}', "'gravity'"),
        ('{"readings": {"mqdisc": ["commits", "backs out"]}}', "has several values"),
        ('{"readings": {"mqdisc": ["none of them: 17"]}}', "none of them: 17"),
    ],
)
def test_what_cannot_be_replayed_is_said(tmp_path, text, said):
    file = tmp_path / "ibm-mq.json"
    file.write_text(text)
    with pytest.raises(ReadingError, match=said):
        EmbeddedQueueManager(answers=file)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ReadingError, match="cannot be read"):
        EmbeddedQueueManager(answers=tmp_path / "none.json")

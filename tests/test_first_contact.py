"""The report of a first contact with IBM MQ: what it says, and what it must not show."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqgroups.cache import cache
from mqgroups.embedded import READINGS
from tests.first_contact import MEANING, NOTICED, Outcomes, report, without_addresses
from tests.tables import table

ROOT = Path(__file__).resolve().parents[1]
# Where the C library is compiled already; pytester gives each run a home of its own.
CACHE = cache()
HEADER = "mq: IBM MQ 9.4.2.0 in ibm-messaging/mq:latest, QM1 at mq.example.com(49153), command level 942; bindings ibmmq 2.1.2"


def test_a_good_run_says_so_and_shows_no_address():
    text = report(HEADER, Outcomes(passed=400), {}, ["seconds until a queue is free: 0.0 at 10.0.0.7"])
    assert "400 tests passed, 0 failed, 0 were skipped." in text
    assert "**As expected.**" in text
    assert "IBM MQ 9.4.2.0" in text
    assert "mq.example.com" not in text
    assert "10.0.0.7" not in text


def test_a_run_on_the_embedded_queue_manager_is_no_first_contact():
    header = "mq: embedded queue manager (not IBM MQ), QM1 at 127.0.0.1(1414), command level 940; bindings ibmmq 2.1.2"
    text = report(header, Outcomes(passed=72), {}, [])
    assert "**This was not IBM MQ.**" in text
    assert "Open an issue" not in text
    assert "**This was not IBM MQ.**" not in report(HEADER, Outcomes(passed=72), {}, [])


def test_failures_are_sorted_by_what_they_mean_for_users():
    failed = [
        ("tests/put/test_producer.py::test_a", "AssertionError: assert 1 == 2 at qm(1414)"),
        ("tests/embedded/test_groups.py::test_b", "KeyError"),
        ("tests/put/test_payload.py::test_c", "ValueError"),
    ]
    text = report(HEADER, Outcomes(passed=1, failed=failed), {}, [])
    assert "**Not as expected.**" in text
    assert text.count(MEANING["tests/put/"]) == 1
    assert text.index("test_a") < text.index("test_c") < text.index(MEANING["tests/embedded/"]) < text.index("test_b")
    assert "assert 1 == 2 at (address)" in text


def test_a_run_without_a_queue_manager_is_no_success():
    text = report(HEADER, Outcomes(skipped={"no Docker engine answers": 12}), {}, [])
    assert "**Nothing was tested.**" in text
    assert "- 12: no Docker engine answers" in text


@table(
    ("followed", "said"),
    [
        ([], "not seen"),
        (["tells the instance"], "the library does not depend on it"),
        (["tells nothing"], 'use `bind="open"`'),
        (["tells nothing", "tells the instance"], "Tests disagree"),
        (["none of them: 17"], "please report it"),
    ],
)
def test_a_reading_is_told_with_its_meaning(followed, said):
    text = report(HEADER, Outcomes(passed=1), {"bind on group": followed}, [])
    assert any(said in line for line in text.splitlines() if line.startswith("| bind on group"))


def test_what_users_notice_are_values_of_readings():
    assert all(value in READINGS[name] for name, value in NOTICED)


def test_every_folder_of_contract_tests_has_a_meaning():
    assert {path for path in MEANING if path.endswith("/")} <= {
        f"tests/{path.name}/" for path in (ROOT / "tests").iterdir()
    } | {"tests/"}


def test_addresses_are_host_names_with_ports_and_numbers():
    assert (
        without_addresses("QM1 at db-7.example.com(1414) and 192.168.1.1, MQRC (2035)")
        == "QM1 at (address) and (address), MQRC (2035)"
    )


@pytest.mark.embedded
def test_a_run_writes_the_report(pytester, monkeypatch):
    monkeypatch.setenv("MQGROUPS_CACHE", str(CACHE))
    pytester.makeconftest('pytest_plugins = ["mqgroups.testing.plugin", "tests.fix_findings"]')
    pytester.makepyfile(
        """
        def test_one(mq, finding): finding("MQDISC", "committed", "mqdisc", {"committed": "commits"})
        def test_two(): assert 1 == 2
        """
    )
    pytester.runpytest_subprocess("--first-contact=build/first-contact.md", "-p", "no:randomly")
    text = (pytester.path / "build" / "first-contact.md").read_text()
    assert "1 tests passed, 1 failed, 0 were skipped." in text
    assert "`test_a_run_writes_the_report.py::test_two`: assert 1 == 2" in text
    assert "| mqdisc | MQDISC commits an open unit of work. |" in text

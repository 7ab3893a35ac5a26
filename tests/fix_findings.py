"""What a queue manager was seen to do where IBM's texts leave it open: noted by tests, told at the end of the run.

    finding("CURDEPTH counts an uncommitted put", answer.depth == 1)

A test that can tell which value of a reading (``mqembedded.READINGS``) the queue manager follows says which answer means
which value:

    finding("MQDISC", done, "mqdisc", {"committed": "commits", "backed out": "backs out"})

``--findings=FILE`` writes them as JSON, with what became of the tests: the contract's part of a first contact
(``first_contact/``). There ``readings`` has each reading with the values that the queue manager was seen to follow: one, or none
where no test ran that can tell; more where tests disagree. An answer that means none of the values is there as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from mqembedded import READINGS
from mqembedded.testing import plugin
from tests.first_contact.record import Outcomes, answers

_FOUND = pytest.StashKey["Findings"]()
_PROPERTY = "finding"
_FOLLOWS = "follows"


def pytest_addoption(parser):
    parser.addoption("--findings", metavar="FILE", help="write what the queue manager was seen to do, as JSON")


class Findings:
    """Collects them from reports, which come from processes of their own too (``-n 2``)."""

    def __init__(self) -> None:
        self.found: list[dict[str, str]] = []
        self.readings: dict[str, list[str]] = {name: [] for name in READINGS}
        self.outcomes = Outcomes()

    def _count(self, report):
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            error = (crash.message if crash else str(report.longrepr)).splitlines()
            self.outcomes.failed.append((report.nodeid, error[0] if error else "no message"))
        elif report.skipped and isinstance(report.longrepr, tuple):
            why = report.longrepr[2].removeprefix("Skipped: ")
            self.outcomes.skipped[why] = self.outcomes.skipped.get(why, 0) + 1
        elif report.passed and report.when == "call":
            self.outcomes.passed += 1

    def pytest_runtest_logreport(self, report):
        self._count(report)
        if report.when == "teardown":  # the last report of a test has all its properties
            for name, value in report.user_properties:
                if name == _PROPERTY:
                    question, answer = value
                    test = report.nodeid.partition("::")[2]
                    self.found.append({"test": test, "question": question, "answer": answer})
                elif name == _FOLLOWS:
                    reading, followed = value
                    if followed not in self.readings[reading]:
                        self.readings[reading].append(followed)


def pytest_configure(config):
    config.stash[_FOUND] = Findings()
    config.pluginmanager.register(config.stash[_FOUND])


@pytest.fixture
def finding(request):
    """A function that notes what the queue manager did; never a failure. Values are shown as they print.

    Where the answer tells how to read IBM's texts, ``reading`` names the reading and ``meaning`` has its values by answers.
    """

    def note(question: str, answer: object, reading: str = "", meaning: Mapping[object, str] | None = None) -> None:
        request.node.user_properties.append((_PROPERTY, (question, str(answer))))
        if reading:
            assert meaning is not None
            assert set(meaning.values()) <= set(READINGS[reading])
            followed = meaning.get(answer, f"none of them: {question}: {answer}")
            request.node.user_properties.append((_FOLLOWS, (reading, followed)))

    return note


def pytest_terminal_summary(terminalreporter, config):
    found, readings = config.stash[_FOUND].found, config.stash[_FOUND].readings
    if found:
        terminalreporter.section("what the queue manager did")
        for line in answers(found):
            terminalreporter.write_line(line)
        for name, followed in readings.items():
            if followed:
                terminalreporter.write_line(f"follows reading {name}={' or '.join(followed)}")
    if config.option.findings:
        path = Path(config.option.findings)
        path.parent.mkdir(parents=True, exist_ok=True)
        written = {
            "mq": plugin.pytest_report_header(config),
            "contract": asdict(config.stash[_FOUND].outcomes),
            "readings": readings,
            "findings": found,
        }
        path.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")

"""What a queue manager was seen to do where IBM's texts leave it open: noted by tests, told at the end of the run.

    finding("CURDEPTH counts an uncommitted put", answer.depth == 1)

``--findings=FILE`` writes them as JSON too: who runs the suite on a queue manager can keep what it did.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from mqgroups.testing import plugin

_FOUND = pytest.StashKey["Findings"]()
_PROPERTY = "finding"


def pytest_addoption(parser):
    parser.addoption("--findings", metavar="FILE", help="write what the queue manager was seen to do, as JSON")


class Findings:
    """Collects them from reports, which come from processes of their own too (``-n 2``)."""

    def __init__(self) -> None:
        self.found: list[dict[str, str]] = []

    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":  # the last report of a test has all its properties
            for name, value in report.user_properties:
                if name == _PROPERTY:
                    question, answer = value
                    test = report.nodeid.partition("::")[2]
                    self.found.append({"test": test, "question": question, "answer": answer})


def pytest_configure(config):
    config.stash[_FOUND] = Findings()
    config.pluginmanager.register(config.stash[_FOUND])


@pytest.fixture
def finding(request):
    """A function that notes what the queue manager did; never a failure. Values are shown as they print."""

    def note(question: str, answer: object) -> None:
        request.node.user_properties.append((_PROPERTY, (question, str(answer))))

    return note


def pytest_terminal_summary(terminalreporter, config):
    found = config.stash[_FOUND].found
    if found:
        terminalreporter.section("what the queue manager did")
        for line in sorted(_lines(found)):
            terminalreporter.write_line(line)
    if config.option.findings:
        path = Path(config.option.findings)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps({"mq": plugin.pytest_report_header(config), "findings": found}, indent=1) + "\n",
            encoding="utf-8",
        )


def _lines(found):
    """Return a line for each question; one for each answer, with the tests that got it, where they differ."""
    answers: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        answers[each["question"]][each["answer"]].append(each["test"])
    for question, by_answer in answers.items():
        for answer, tests in by_answer.items():
            yield f"{question}: {answer}" + (f"  [{', '.join(sorted(tests))}]" if len(by_answer) > 1 else "")

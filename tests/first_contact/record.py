"""What is known of a queue manager after a first contact: one JSON, which an embedded queue manager can replay.

It has no address and no password, so that it can be sent to anybody::

    {"recorded": "2026-11-25", "mqgroups": "0.1.0", "queue_manager": "IBM MQ 9.4.2.0, QM1, command level 942; bindings ...",
     "contract": {"passed": 412, "failed": [["tests/...", "AssertionError: ..."]], "skipped": {"why": 3}},
     "readings": {"curdepth": ["excludes uncommitted gets"], ...},
     "findings": [{"test": "...", "question": "...", "answer": "..."}],
     "faults": {"cases": 4801, "fired": 4612, "seconds": 402, "phases": {"single": 1730, ...}, "left_out": {},
                "violations": []},
     "surprises": ["..."]}

``readings`` is what ``EmbeddedQueueManager(answers=FILE)`` follows. ``faults`` is missing where the campaign was left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mqembedded import READINGS

# In the header of a run on the embedded queue manager.
_EMBEDDED = "(not IBM MQ)"
# The version of IBM MQ has four numbers too.
_ADDRESS = re.compile(r"\S+\(\d+\)|(?<!MQ )(?<!mq:)\b\d{1,3}(?:\.\d{1,3}){3}\b")


@dataclass
class Outcomes:
    """What became of the tests: numbers, the failures with the first line of their error, and reasons for skipping."""

    passed: int = 0
    failed: list[Sequence[str]] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)


def record(
    found: Mapping[str, Any], faults: Mapping[str, Any] | None, *, recorded: str, library: str
) -> dict[str, Any]:
    """Return the record.

    Args:
        found: what the contract tests have written (``--findings``).
        faults: what the fault campaign has written (``--json``); None if it was left out.
        recorded: the date.
        library: the version of mqgroups.
    """
    made: dict[str, Any] = {"recorded": recorded, "mqgroups": library, "queue_manager": found["mq"]}
    made |= {name: found[name] for name in ("contract", "readings", "findings")}
    if faults is not None:
        total = faults["total"]
        made["faults"] = {
            "cases": total["runs"],
            "fired": total["fired"],
            "seconds": faults["seconds"],
            "phases": {
                name.removeprefix("phase "): figures["runs"]
                for name, figures in faults.items()
                if name.startswith("phase ") and figures["runs"]
            },
            "left_out": faults["left out"],
            "violations": sorted(total["kinds"]) + faults["kept"],
        }
    made["surprises"] = list(_surprises(made))
    without: dict[str, Any] = _without_addresses(made)
    return without


def is_embedded(made: Mapping[str, Any]) -> bool:
    """Whether it is a record of an embedded queue manager, and says nothing about IBM MQ."""
    return _EMBEDDED in made["queue_manager"]


def answers(findings: Sequence[Mapping[str, str]]) -> list[str]:
    """Return a line for each question; one for each answer, with the tests that got it, where they differ."""
    by_question: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in findings:
        by_question[each["question"]][each["answer"]].append(each["test"])
    return sorted(
        f"{question}: {answer}" + (f"  [{', '.join(sorted(tests))}]" if len(by_answer) > 1 else "")
        for question, by_answer in by_question.items()
        for answer, tests in by_answer.items()
    )


def _surprises(made: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is not as on an embedded queue manager that is left alone."""
    for test, error in made["contract"]["failed"]:
        yield f"{test} failed: {error}"
    for name, followed in made["readings"].items():
        usual = READINGS[name][0]
        if len(followed) > 1:
            yield f"reading {name!r}: tests disagree: {' or '.join(followed)}"
        elif followed and followed[0] != usual:
            yield f"reading {name!r}: {followed[0]}, not {usual}"
    for violation in made.get("faults", {}).get("violations", ()):
        yield f"fault campaign: {violation}"


def _without_addresses(value: Any) -> Any:
    if isinstance(value, str):
        return _ADDRESS.sub("(address)", value)
    if isinstance(value, Mapping):
        return {key: _without_addresses(each) for key, each in value.items()}
    return [_without_addresses(each) for each in value] if isinstance(value, list) else value

"""The report for people of a run of the contract tests on IBM MQ: ``build/first-contact.md``.

It says which queue manager it was, which readings of IBM's texts it follows, which tests failed, and what both mean for users of
the library. A pure function makes it of what the run has noted (``fix_findings.py``). It shows no address and no password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mqgroups.embedded import READINGS
from mqgroups.embedded.readings import TABLE

# What a failed test says to users, by the beginning of its path; the longest beginning counts.
MEANING = {
    "tests/put/": "**Putting.** Do not use producers on this queue manager until it is understood.",
    "tests/get/": "**Getting.** Do not use consumers on this queue manager until it is understood.",
    "tests/test_pipe.py": "**Pipes.** Do not use pipes on this queue manager until it is understood.",
    "tests/status/": "**The status record.** What is promised about crashes is not shown on this queue manager.",
    "tests/connection/": "**Connections.** Reconnecting, or an option of `connect`, is different on this queue manager.",
    "tests/operate/": "**Operators' functions.** Check by hand what `recover` and `salvage` say.",
    "tests/batch/": "**Spark's sink.** Do not use it on this queue manager until it is understood.",
    "tests/spark/": "**Spark.** Do not use source and sink on this queue manager until it is understood.",
    "tests/telemetry/": "**Telemetry.** Messages are not affected; spans or metrics may be wrong.",
    "tests/cli/": "**Commands.** Check by hand what the command printed.",
    "tests/embedded/": "**The embedded queue manager is wrong about IBM MQ.** What was tested on it about this is not shown.",
    "tests/test_open_questions": "**IBM's documentation says otherwise**, or is misread. The library may rely on it.",
    "tests/": "**Something else.** Read the test: its name is a statement.",
}
# Values of readings that a user of the library notices. It does not depend on the others.
NOTICED = {
    (
        "bind on group",
        "tells nothing",
    ): 'A group on a cluster queue that needs several units of work is refused; use `bind="open"`.',
    (
        "properties on segments",
        "refused with 2443",
    ): "Properties of a message in segments are refused, also by `mqgroups send --records file`. Put them with a whole message.",
    ("browsing what is open exclusively", "refused with 2042"): "The Spark source cannot work on this queue manager.",
    ("group at an inhibited instance", "becomes dead letters"): "Messages of a group can be on the dead-letter queue.",
    (
        "mqcmit after a failed asynchronous put",
        "MQCC_OK",
    ): 'Nothing with `put_response="async"`: MQSTAT is asked before each commit. If you put asynchronously yourself, on a '
    "wrapped connection, ask MQSTAT before the group ends: its commit does not tell that a message of yours failed.",
    ("identifiers", "begin otherwise"): "`salvage` cannot tell by a GroupId where a group was begun.",
}
_NEXT = """Open an issue with this report, whatever it says. It has no addresses and no passwords. If tests failed, add the output
of `pytest` for one of them, without the address of your queue manager."""
# In the header of a run on the embedded queue manager.
_EMBEDDED = "(not IBM MQ)"
# The version of IBM MQ has four numbers too.
_ADDRESS = re.compile(r"\S+\(\d+\)|(?<!MQ )(?<!mq:)\b\d{1,3}(?:\.\d{1,3}){3}\b")


@dataclass
class Outcomes:
    """What became of the tests: numbers, the failures with the first line of their error, and reasons for skipping."""

    passed: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)


def report(header: str, outcomes: Outcomes, readings: Mapping[str, Sequence[str]], answers: Sequence[str]) -> str:
    """Return the report as Markdown.

    Args:
        header: the line of the test run about the queue manager and the bindings.
        outcomes: of the tests.
        readings: the values that the queue manager was seen to follow, by name.
        answers: a line for each open question that was asked.
    """
    skipped = sum(outcomes.skipped.values())
    embedded = _EMBEDDED in header
    parts = [
        "# First contact",
        without_addresses(header),
        f"{outcomes.passed} tests passed, {len(outcomes.failed)} failed, {skipped} were skipped.",
        *(["**This was not IBM MQ.** The report shows what it looks like, and says nothing about IBM MQ."] * embedded),
        _verdict(outcomes),
        "## Tests that failed",
        *(_failures(outcomes.failed) or ["None."]),
        "## Readings of IBM's documentation",
        "Where the documentation leaves a behaviour open, this queue manager does the following.",
        _readings(readings),
        "## Answers to open questions",
        "\n".join(f"- {without_addresses(line)}" for line in sorted(answers)) or "None were asked.",
        "## Tests that were skipped",
        "\n".join(f"- {number}: {without_addresses(why)}" for why, number in sorted(outcomes.skipped.items()))
        or "None.",
        "## What to do next",
        "Run the tests on IBM MQ. Nobody needs this report." if embedded else _NEXT,
    ]
    return "\n\n".join(parts) + "\n"


def without_addresses(text: str) -> str:
    """Return a text with addresses replaced."""
    return _ADDRESS.sub("(address)", text)


def _verdict(outcomes: Outcomes) -> str:
    if not outcomes.passed and not outcomes.failed:
        return "**Nothing was tested.** The reasons are below."
    if outcomes.failed:
        return "**Not as expected.** Each failure is a difference between this queue manager and the embedded one."
    return (
        "**As expected.** What any queue manager must do, and the library on it, are as on the embedded queue manager."
    )


def _failures(failed: Sequence[tuple[str, str]]) -> list[str]:
    by_meaning: dict[str, list[str]] = {}
    for test, error in failed:
        beginning = max((path for path in MEANING if test.startswith(path)), key=len, default="tests/")
        line = f"- `{test}`: {without_addresses(error)}"
        by_meaning.setdefault(MEANING[beginning], []).append(line)
    return [f"{meaning}\n\n" + "\n".join(lines) for meaning, lines in by_meaning.items()]


def _readings(readings: Mapping[str, Sequence[str]]) -> str:
    rows = ["| reading | this queue manager | what that means for programs |", "|---|---|---|"]
    does = {(reading.name, value.name): value.does for reading in TABLE for value in reading.values}
    for name in READINGS:
        followed = readings.get(name, ())
        if not followed:
            rows.append(f"| {name} | not seen | no test ran that can tell |")
        for value in followed:
            said = NOTICED.get((name, value), "Nothing: the library does not depend on it.")
            if (name, value) not in does:
                said = "Neither of the values that were thought of: please report it."
            rows.append(f"| {name} | {does.get((name, value), without_addresses(value))} | {said} |")
        if len(followed) > 1:
            rows.append(f"| {name} | | Tests disagree: please report it. |")
    return "\n".join(rows)

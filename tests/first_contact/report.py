"""The page for people about a first contact: ``build/first-contact.md``.

It says which queue manager it was, which readings of IBM's texts it follows, which tests failed, whether faults lost or doubled
anything, and what all that means for users of the library. A pure function makes it of the record (``record.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mqembedded import READINGS
from mqembedded.readings import TABLE
from tests.first_contact.record import answers, is_embedded

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
    "embedded/": "**The embedded queue manager is wrong about IBM MQ.** What was tested on it about this is not shown.",
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
_NEXT = """Open an issue with `first-contact.json`, whatever it says. It has no addresses and no passwords. If tests failed, add
the output of `pytest` for one of them, without the address of your queue manager. With the JSON everybody has an embedded queue
manager that does what yours does: `mqembedded run --reading @first-contact.json`."""
_BY_HAND = """What no program can do from outside; tell what you see:

- In the queue manager's own container or on its host, with ibmmq: `mqgroups doctor --channel ... --conn-name ...` must connect
  through the channel, not locally (`DISPLAY CONN(*) CHANNEL`).
- `endmqm -i`, `endmqm -r` and a kill of `amqrmppa` while `make demo` works: which reason codes its programs log.
- A firewall rule that drops packets (`iptables -j DROP`) during an MQPUT: after how many seconds 2009 comes."""


def page(made: Mapping[str, Any]) -> str:
    """Return the page, as Markdown."""
    contract, embedded = made["contract"], is_embedded(made)
    passed, failed, skipped = contract["passed"], contract["failed"], contract["skipped"]
    parts = [
        "# First contact",
        f"{made['queue_manager']}; mqgroups {made['mqgroups']}; {made['recorded']}",
        f"{passed} tests passed, {len(failed)} failed, {sum(skipped.values())} were skipped. {_faults(made)}",
        *(["**This was not IBM MQ.** The report shows what it looks like, and says nothing about IBM MQ."] * embedded),
        _verdict(made),
        "## Surprises",
        "\n".join(f"- {line}" for line in made["surprises"]) or "None.",
        "## Tests that failed",
        *(_failures(failed) or ["None."]),
        "## Readings of IBM's documentation",
        "Where the documentation leaves a behaviour open, this queue manager does the following.",
        _readings(made["readings"]),
        "## Answers to open questions",
        "\n".join(f"- {line}" for line in answers(made["findings"])) or "None were asked.",
        "## By hand",
        _BY_HAND,
        "## Tests that were skipped",
        "\n".join(f"- {number}: {why}" for why, number in sorted(skipped.items())) or "None.",
        "## What to do next",
        "Run it on IBM MQ. Nobody needs this report." if embedded else _NEXT,
    ]
    return "\n\n".join(parts) + "\n"


def wrong_with_rehearsal(made: Mapping[str, Any], text: str, phases: Sequence[str]) -> list[str]:
    """Return what a rehearsal shows that should not be on an evening with IBM MQ.

    Args:
        made: the record of a run on the imitation.
        text: the page of it.
        phases: all phases of the campaign.
    """
    faults = made.get("faults", {"phases": {}, "left_out": {}, "violations": []})
    wrong = [f"phase {phase!r} has no figures" for phase in phases if not faults["phases"].get(phase)]
    wrong += [f"phase {phase!r} was left out: {why}" for phase, why in faults["left_out"].items()]
    wrong += [f"violation: {violation}" for violation in faults["violations"]]
    wrong += [f"{test} failed: {error}" for test, error in made["contract"]["failed"]]
    wrong += [f"reading {name!r} is not on the page" for name in READINGS if f"| {name} | " not in text]
    wrong += [
        f"{number} tests were skipped without a reason"
        for why, number in made["contract"]["skipped"].items()
        if not why
    ]
    if "**This was not IBM MQ.**" not in text:
        wrong.append("the page does not say that this was not IBM MQ")
    return wrong


def _faults(made: Mapping[str, Any]) -> str:
    if "faults" not in made:
        return "The fault campaign was left out."
    faults = made["faults"]
    return (
        f"The fault campaign ran {faults['cases']:,} cases in {faults['seconds']} s, {faults['fired']:,} faults fired: "
        f"{len(faults['violations'])} kinds of violations."
        + "".join(f" Not asked, or not to the end: {phase}: {why}." for phase, why in faults["left_out"].items())
    )


def _verdict(made: Mapping[str, Any]) -> str:
    contract, violations = made["contract"], made.get("faults", {}).get("violations", ())
    if not contract["passed"] and not contract["failed"]:
        return "**Nothing was tested.** The reasons are below."
    if violations:
        return "**Do not use mqgroups on this queue manager until this is understood**: faults have done harm."
    if contract["failed"]:
        return "**Not as expected.** Each failure is a difference between this queue manager and the embedded one."
    return (
        "**As expected.** What any queue manager must do, and the library on it, are as on the embedded queue manager."
    )


def _failures(failed: Sequence[tuple[str, str]]) -> list[str]:
    by_meaning: dict[str, list[str]] = {}
    for test, error in failed:
        beginning = max((path for path in MEANING if test.startswith(path)), key=len, default="tests/")
        line = f"- `{test}`: {error}"
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
            rows.append(f"| {name} | {does.get((name, value), value)} | {said} |")
        if len(followed) > 1:
            rows.append(f"| {name} | | Tests disagree: please report it. |")
    return "\n".join(rows)

"""All of a first contact: contract tests with the open questions, then the fault campaign; one JSON, and a page for people.

``python -m tests.first_contact [--mq=url|container|imitation] [--to DIRECTORY] [--short]``. ``url`` is the queue manager that
MQTEST_QMGR and so on name (``embedded/mqembedded/testing/README.md``); it must have read the MQSC files that ``tests/README.md``
lists. ``container`` starts IBM MQ's developer container, ``imitation`` an embedded queue manager that has what it has, as a
rehearsal: its page is read too. Exit code 1 if a test failed or a fault did harm; a surprise is no failure.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mqembedded.testing import IMAGE
from mqembedded.testing.provision import (
    CONTAINER,
    GIVEN,
    IMITATION,
    LICENSE_VARIABLE,
    NotToBeHad,
    Wanted,
    check,
    running,
)
from tests.faults.campaign import PHASES
from tests.faults.machine import MQSC
from tests.first_contact.record import record
from tests.first_contact.report import page, wrong_with_rehearsal


def main() -> int:
    """Do it; see the module's docstring."""
    parser = argparse.ArgumentParser(description="What is there to know about a queue manager that nobody has seen?")
    parser.add_argument(
        "--mq", choices=(GIVEN, CONTAINER, IMITATION), default=GIVEN, help="default: url, named in the environment"
    )
    parser.add_argument("--mq-image", default=IMAGE, help="of the container, with its tag")
    parser.add_argument("--to", type=Path, default=Path("build"), help="where the two files go")
    parser.add_argument(
        "--short", action="store_true", help="the open questions, and a few cases of the fault campaign"
    )
    arguments = parser.parse_args()
    wanted = Wanted(arguments.mq, license=os.environ.get(LICENSE_VARIABLE, ""), image=arguments.mq_image)
    try:
        check(wanted)
    except NotToBeHad as error:
        print(error, file=sys.stderr)
        return 2
    arguments.to.mkdir(parents=True, exist_ok=True)
    findings, figures = arguments.to / "findings.json", arguments.to / "faults-of-first-contact.json"
    for old in (findings, figures):
        old.unlink(missing_ok=True)
    where = [f"--mq={arguments.mq}", f"--mq-image={arguments.mq_image}"]
    # In one process: tests that look at all status queues would see those of others.
    tests = sorted(map(str, Path("tests").glob("test_open_questions*.py"))) if arguments.short else []
    failed = _run("pytest", "-m", "contract", *where, f"--findings={findings}", *tests)
    extent = "--glimpse" if arguments.short else "--short"
    with _environment(wanted) as environment:
        failed |= _run("tests.faults.campaign", extent, "--mq=url", f"--json={figures}", environment=environment)
    if not findings.exists():
        return failed or 1
    faults: dict[str, Any] | None = json.loads(figures.read_text()) if figures.exists() else None
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    made = record(json.loads(findings.read_text()), faults, recorded=today, library=version("mqgroups"))
    for name, text in (("first-contact.json", json.dumps(made, indent=1) + "\n"), ("first-contact.md", page(made))):
        (arguments.to / name).write_text(text, encoding="utf-8")
        print(arguments.to / name)
    if arguments.mq == IMITATION:
        for wrong in (found := wrong_with_rehearsal(made, page(made), PHASES)):
            print(f"rehearsal: {wrong}", file=sys.stderr)
        failed |= bool(found)
    return failed


def _run(module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> int:
    done = subprocess.run([sys.executable, "-m", module, *arguments], env=environment and {**os.environ, **environment})
    if done.returncode not in (0, 1):
        print(f"{module} ended with exit code {done.returncode}", file=sys.stderr)
    return int(done.returncode != 0)


@contextlib.contextmanager
def _environment(wanted: Wanted) -> Iterator[Mapping[str, str]]:
    """Start the container, if it is one, for the campaign; yield the variables that name the queue manager."""
    with running(wanted, [MQSC]) as under_test:
        yield under_test.environment()


if __name__ == "__main__":
    sys.exit(main())

"""The benchmark: ``python -m tests.bench [PART ...] [--short]``; without a part, all of them.

At the end it prints the table of all questions with their goals. In its full form it also writes the table, the load of the
machine, and the tables of putting and getting over a slow line into ``docs/``, and the headlines into the README. Rows of parts
that were not measured keep their figures.
"""

from __future__ import annotations

import argparse
import importlib
import time
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table

from mqembedded.libmqm.build import build, load
from tests.bench import documents, machine
from tests.bench.documents import MEASUREMENTS, PERFORMANCE, README
from tests.bench.questions import COLUMNS, PARTS, headlines, table
from tests.bench.run import Run

RUN_COLUMNS = ("part", "measured", "on", "load meanwhile")


def main() -> None:
    """Run the benchmark; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Measure mqgroups against loops written by hand, all embedded.")
    parser.add_argument("part", nargs="*", help=f"which parts, by default all: {', '.join(PARTS)}")
    parser.add_argument("--short", action="store_true", help="fewer messages and rounds; no document is changed")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.part if name not in PARTS]:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    load(build())
    run = Run(arguments.short)
    figures: dict[tuple[str, str], float] = {}
    runs = {row[0]: row for row in documents.rows_of(documents.read(MEASUREMENTS, "runs"))}
    for part in [name for name in PARTS if name in arguments.part or not arguments.part]:
        print(part, flush=True)
        meanwhile, began_s = machine.Load(), time.monotonic()
        found: dict[str, float] = importlib.import_module(f"tests.bench.{part}").measure(run)
        when = f"{datetime.now(UTC):%Y-%m-%d}, {time.monotonic() - began_s:.0f} s"
        runs[part] = (part, when, machine.described(), meanwhile.told())
        figures |= {(part, name): value for name, value in found.items()}
    measured = {part for part, _ in figures}
    rows = table(figures, documents.rows_of(documents.read(MEASUREMENTS, "figures")))
    _print([row for row in rows if row[0] in measured], [runs[part] for part in PARTS if part in measured])
    if not arguments.short:
        documents.write(MEASUREMENTS, "figures", documents.markdown(COLUMNS, rows, COLUMNS[-2:]))
        told = [runs[part] for part in PARTS if part in runs]
        documents.write(MEASUREMENTS, "runs", documents.markdown(RUN_COLUMNS, told))
        documents.write(README, "headlines", "".join(f"{line}\n" for line in headlines(rows)))
        for name, text in run.tables.items():
            documents.write(PERFORMANCE, name, text)


def _print(rows: list[tuple[str, ...]], runs: list[tuple[str, ...]]) -> None:
    console = Console(width=160)
    printed = Table(*COLUMNS, title="Embedded queue manager, not IBM MQ; bold: the goal is missed")
    for row in rows:
        printed.add_row(*row[:-1], f"[bold red]{row[-1].strip('*')}" if row[-1].startswith("*") else row[-1])
    console.print(printed)
    for run in runs:
        console.print("; ".join(run), highlight=False)


if __name__ == "__main__":
    main()

"""The benchmark: ``python -m tests.bench [PART ...] [--short] [--long] [--json FILE]``; without a part, all of them.

Each part (``parts/``) takes at most five minutes, tells from the first second what it does, and prints tables of its own. At the
end there is one table of all figures, with their goals. In its full form the benchmark also writes that table, the load of the
machine, and the tables of putting and getting over a slow line into ``docs/``, and its headlines into the README.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mqembedded.libmqm.build import build, load
from tests.bench import documents, machine, parts
from tests.bench.figures import COLUMNS, Figure, not_met
from tests.bench.parts import Bench
from tests.bench.site import ROOT
from tests.bench.tell import Tell

MEASUREMENTS = ROOT / "docs" / "reference" / "measurements.md"
PERFORMANCE = ROOT / "docs" / "how-to" / "performance.md"
README = ROOT / "README.md"
RUN_COLUMNS = ("part", "measured", "on", "load meanwhile")


def main() -> None:
    """Run the benchmark; see the module's docstring."""
    there = parts.names()
    parser = argparse.ArgumentParser(description="Measure mqgroups against loops written by hand, all embedded.")
    parser.add_argument("part", nargs="*", help=f"which parts, by default all: {', '.join(there)}")
    parser.add_argument("--short", action="store_true", help="fewer messages and rounds; no document is changed")
    parser.add_argument("--long", action="store_true", help="restarts of a group of a million messages too")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="where all figures go")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.part if name not in there]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(there)}")
    chosen = [name for name in there if not arguments.part or name in arguments.part]
    console = Console(width=140)
    load(build())
    figures: dict[str, list[Figure]] = {}
    runs: documents.Rows = []
    details: dict[str, object] = {}
    texts: dict[str, str] = {}
    tell = Tell(console)
    for name in chosen:
        part, meanwhile = parts.part(name), machine.Load()
        bench = Bench(console, tell, arguments.short, arguments.long)
        tell.begin(name, part.TITLE)
        figures[name] = part.run(bench)
        took_s = tell.end()
        runs.append((name, f"{machine.today()}, {took_s:.0f} s", machine.described(), meanwhile.told()))
        details[name] = bench.details
        texts |= bench.documents
    rows: documents.Rows = [figure.row(name) for name, found in figures.items() for figure in found]
    _report(console, rows, runs)
    if not arguments.short:
        _write(rows, runs, texts, chosen)
        _write_readme(figures)
        console.print(f"tables in {MEASUREMENTS.relative_to(ROOT)} and {PERFORMANCE.relative_to(ROOT)}")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"runs": runs, "figures": rows, "details": details}, indent=2) + "\n")
    console.print(f"all figures in {arguments.json}")


def _report(console: Console, rows: documents.Rows, runs: documents.Rows) -> None:
    table = Table(title="All figures, embedded queue manager (not IBM MQ)")
    for column in COLUMNS:
        table.add_column(column, justify="right" if column in ("goal", "now") else "left")
    for row in rows:
        table.add_row(*row[:-1], row[-1].replace("**no**", "[bold red]no"))
    console.print(table)
    for name, when, where, meanwhile in runs:
        console.print(f"{name}: {when}; {where}; {meanwhile}", highlight=False)
    missed = not_met(rows)
    if missed:
        console.print(f"[bold]{len(missed)} goals are not met:[/bold]")
    for line in missed:
        console.print(f"  {line}", highlight=False)


def _write(rows: documents.Rows, runs: documents.Rows, texts: dict[str, str], chosen: list[str]) -> None:
    """Write tables into the documents; those of parts that were not measured stay."""
    for name, columns, new, right in (
        ("figures", COLUMNS, rows, ("goal", "now")),
        ("runs", RUN_COLUMNS, runs, ()),
    ):
        before = documents.rows_of(documents.read(MEASUREMENTS, name))
        kept = documents.replaced(before, new, chosen, parts.ORDER)
        documents.write(MEASUREMENTS, name, documents.markdown(columns, kept, right))
    for name, text in texts.items():
        documents.write(PERFORMANCE, name, text)


def _write_readme(figures: dict[str, list[Figure]]) -> None:
    """Replace the README's lines of the parts that were measured; a line names its part at its end."""
    before = documents.read(README, "headlines").splitlines()
    new = [
        f"- {each.headline.format(each.now)} ({name})"
        for name, found in figures.items()
        for each in found
        if each.headline
    ]
    kept = [line for line in before if line.rpartition("(")[2].rstrip(")") not in figures]
    lines = [line for name in parts.ORDER for line in (*kept, *new) if line.endswith(f"({name})")]
    documents.write(README, "headlines", "".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()

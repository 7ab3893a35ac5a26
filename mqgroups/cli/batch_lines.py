"""The output of ``mqgroups pipeline run``: a line for each micro-batch, and the report as tables."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from mqgroups.cli.console import console, say
from mqgroups.cli.progress import Progress

if TYPE_CHECKING:
    from rich.table import Table

    from mqgroups.spark.pipeline.records import BatchRecord
    from mqgroups.spark.pipeline.report import Report
    from mqgroups.spark.pipeline.run import Reported

_MOST_REJECTED = 10


class TextLines:
    """For people: a line for each micro-batch; at a terminal also the current step."""

    def __init__(self) -> None:
        self._step = Progress()
        self._step.__enter__()

    def say(self, sentence: str) -> None:
        """Show the current step."""
        self._step.say(sentence)

    def step(self, batch: int, name: str) -> None:
        """As ``Watcher``."""
        words = {"began": "reading", "counted": "transforming", "parquet": "putting", "outgoing": "putting"}
        self.say(f"micro-batch {batch}: {words.get(name, 'finishing')}")

    def done(self, record: BatchRecord) -> None:
        """As ``Watcher``."""
        took_s = record.done_s - record.began_s
        put = f" -> {record.rows_out:,} rows" + (f" in {record.groups_out:,} groups" if record.groups_out else "")
        rejected = f", {len(record.rejected):,} rejected" if record.rejected else ""
        say(
            f"micro-batch {record.batch:3}  {record.groups:4,} groups  {record.messages:7,} messages  "
            f"{record.messages / took_s:7,.0f}/s{put}{rejected}"
        )
        self.say("waiting for groups")

    def report(self, found: Reported | None) -> None:
        """Print the report and its files."""
        self.end()
        if found is None:
            say("no micro-batch has run, so there is no report")
            return
        out = console()
        for each in (report_table(found.report), table_of_rejected(found.report)):
            if each is not None:
                out.print(each, soft_wrap=False)
        say(f"report  {found.json}")
        say(f"page    {found.html}")

    def end(self) -> None:
        """Stop showing the current step."""
        self._step.__exit__(None, None, None)


class JsonLines:
    """For programs: a line of JSON for each step."""

    def say(self, sentence: str) -> None:
        """As ``TextLines``."""
        self._write(event="says", text=sentence)

    def step(self, batch: int, name: str) -> None:
        """As ``Watcher``."""
        self._write(event="step", batch=batch, step=name)

    def done(self, record: BatchRecord) -> None:
        """As ``Watcher``."""
        rejected = [each.reason for each in record.rejected]
        self._write(event="done", batch=record.batch, groups=record.groups, messages=record.messages, rejected=rejected)

    def report(self, found: Reported | None) -> None:
        """As ``TextLines``."""
        files = {} if found is None else {"json": str(found.json), "html": str(found.html)}
        self._write(event="report", **files)

    def end(self) -> None:
        """As ``TextLines``."""

    def _write(self, **values: Any) -> None:
        # Written at once, because a program may be waiting for it.
        click.echo(json.dumps({"at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-4] + "Z", **values}))


def report_table(report: Report) -> Table:
    """Return the report as a table for a terminal."""
    from rich.table import Table

    from mqgroups.spark.pipeline.report import figures

    found = Table(title=f"pipeline {report.pipeline}", title_justify="left", show_header=False)
    found.add_column()
    found.add_column(justify="right")
    for row in figures(report):
        found.add_row(*row)
    for reason, count in report.reasons.items():
        found.add_row(f"  {reason}", f"{count:,}")
    return found


def table_of_rejected(report: Report) -> Table | None:
    """Return a table of the first rejected groups and the reasons; ``None`` if no group was rejected."""
    if not report.rejected:
        return None
    shown = report.rejected[:_MOST_REJECTED]
    more = len(report.rejected) - len(shown)
    from rich.table import Table
    from rich.text import Text

    found = Table(title="rejected", title_justify="left", caption=f"and {more:,} more" if more else None)
    found.add_column("group", overflow="fold", max_width=26)
    found.add_column("reason")
    found.add_column("in detail")
    for each in shown:
        # A detail may have brackets, which rich would take for markup.
        found.add_row(each.group, each.reason, Text(each.detail))
    return found

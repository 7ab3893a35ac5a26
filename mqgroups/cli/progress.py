"""Prints the progress of ``mqgroups pipeline run``, a line for each micro-batch, and the report as tables."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import click

from mqgroups.cli.console import console

if TYPE_CHECKING:
    from rich.status import Status
    from rich.table import Table

    from mqgroups.spark.pipeline.records import BatchRecord
    from mqgroups.spark.pipeline.report import Report
    from mqgroups.spark.pipeline.run import Reported

_MOST_REJECTED = 10


class TextProgress:
    """For people: a line for each micro-batch; on a terminal also the current step."""

    def __init__(self) -> None:
        self._out = console()
        self._status: Status | None = None

    def say(self, sentence: str) -> None:
        """Show the current step, on a terminal."""
        if self._status is not None:
            self._status.update(sentence)
        elif self._out.is_terminal:
            self._status = self._out.status(sentence)
            self._status.start()

    def step(self, batch: int, name: str) -> None:
        """As ``Watcher``."""
        words = {"began": "reading", "counted": "transforming", "parquet": "putting", "outgoing": "putting"}
        self.say(f"micro-batch {batch}: {words.get(name, 'finishing')}")

    def done(self, record: BatchRecord) -> None:
        """As ``Watcher``."""
        took_s = record.done_s - record.began_s
        put = f" -> {record.rows_out:,} rows" + (f" in {record.groups_out:,} groups" if record.groups_out else "")
        rejected = f", [red]{len(record.rejected):,} rejected[/red]" if record.rejected else ""
        self._out.print(
            f"micro-batch {record.batch:3}  {record.groups:4,} groups  {record.messages:7,} messages  "
            f"{record.messages / took_s:7,.0f}/s{put}{rejected}",
            soft_wrap=not self._out.is_terminal,
        )
        self.say("waiting for groups")

    def report(self, found: Reported | None) -> None:
        """Print the report and its file."""
        self.end()
        if found is None:
            self._out.print("no micro-batch has run, so there is no report")
            return
        for each in (report_table(found.report), table_of_rejected(found.report)):
            if each is not None:
                self._out.print(each, soft_wrap=False)
        self._out.print(f"report  {found.json}", markup=False)

    def end(self) -> None:
        """Stop showing the current step."""
        if self._status:
            self._status.stop()


class JsonProgress:
    """For programs: a line of JSON for each step."""

    def say(self, sentence: str) -> None:
        """As ``TextProgress``."""
        self._write(event="says", text=sentence)

    def step(self, batch: int, name: str) -> None:
        """As ``Watcher``."""
        self._write(event="step", batch=batch, step=name)

    def done(self, record: BatchRecord) -> None:
        """As ``Watcher``."""
        rejected = [each.reason for each in record.rejected]
        self._write(event="done", batch=record.batch, groups=record.groups, messages=record.messages, rejected=rejected)

    def report(self, found: Reported | None) -> None:
        """As ``TextProgress``."""
        files = {} if found is None else {"json": str(found.json)}
        self._write(event="report", **files)

    def end(self) -> None:
        """As ``TextProgress``."""

    def _write(self, **values: Any) -> None:
        # Written at once, because a program may be waiting for it.
        click.echo(json.dumps({"at_s": round(time.time(), 3), **values}))


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

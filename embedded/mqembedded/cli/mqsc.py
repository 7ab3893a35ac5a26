"""The command ``mqembedded mqsc``, which runs MQSC commands on an embedded queue manager, as runmqsc does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from mqembedded.cli.manners import ExitCode, data_option, one_message


@click.command()
@data_option
@click.option("--command", "-c", "commands", multiple=True, metavar="TEXT", help="An MQSC command; can be repeated.")
def mqsc(data: Path, commands: Sequence[str]) -> None:
    """Run MQSC commands on an embedded queue manager, from -c or, without -c, from standard input.

    \b
        mqembedded mqsc --data ./qm1 -c 'DISPLAY QLOCAL(*) CURDEPTH'
        mqembedded mqsc --data ./qm1 < queues.mqsc

    As with runmqsc, a user who can read the data directory is allowed to do everything. If a command is refused, the next
    commands still run, and the exit code is 1. END ends the commands.
    """
    refused = False
    with one_message():
        from mqembedded import Control
        from mqembedded.admin.mqsc import decoded, statements

        control = Control.of(data)
        text = "\n".join(commands) if commands else decoded(sys.stdin.buffer.read())
        for line, statement in statements(text):
            done, answers = control.mqsc(statement.strip())
            refused = refused or not done
            for answer in answers:
                click.echo(answer if done or commands else f"line {line}: {answer}", err=not done)
    sys.exit(ExitCode.FAILED if refused else ExitCode.DONE)

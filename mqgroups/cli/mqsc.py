"""The command ``mqgroups embedded mqsc``: runs MQSC commands on an embedded queue manager, as runmqsc does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from mqgroups.cli.console import one_message
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import data_option
from mqgroups.cli.secrets import user_and_password
from mqgroups.connection.holder import connection_of
from mqgroups.operate.mqsc import MQSCClient
from mqgroups.queue_manager import connect


@click.command()
@data_option
@click.option("--command", "-c", "commands", multiple=True, metavar="TEXT", help="An MQSC command; may be repeated.")
@click.option(
    "--user",
    default="",
    metavar="NAME:VARIABLE",
    help="A user to connect as, for example admin, who may do everything, and the environment variable that holds the password.",
)
def mqsc(data: Path, commands: Sequence[str], user: str) -> None:
    """Run MQSC commands on an embedded queue manager, from -c or else from standard input.

    \b
        mqgroups embedded mqsc --data ./qm1 -c 'DISPLAY QLOCAL(*) CURDEPTH'
        mqgroups embedded mqsc --data ./qm1 < queues.mqsc

    If a command is refused, the following ones still run, and the exit code is 1. END ends the commands.
    """
    refused = False
    with one_message():
        from mqgroups.embedded import Control
        from mqgroups.embedded.admin.mqsc import decoded, statements
        from mqgroups.embedded.libmqm.build import build, load

        control = Control.of(data)
        load(build())
        text = "\n".join(commands) if commands else decoded(sys.stdin.buffer.read())
        name, password = user_and_password(user) if user else (None, None)
        # No channel, as runmqsc: an operator can stop every channel, and start it again.
        where = control.q_mgr_name, " ", f"{control.host}({control.port})"
        with connect(*where, user=name, password=password) as q_mgr:
            client = MQSCClient(connection_of(q_mgr))
            for line, statement in statements(text):
                done, answers = client.run(statement.strip())
                refused = refused or not done
                for answer in answers:
                    click.echo(answer if done or commands else f"line {line}: {answer}", err=not done)
    sys.exit(ExitCode.FAILED if refused else ExitCode.DONE)

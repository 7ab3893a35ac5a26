"""The command ``mqgroups mqsc``: prints the definitions that an installation needs, or compares them with a queue manager."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, Literal

import click

from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.doctor import ShownFindings
from mqgroups.cli.options import NAME, QUEUE, pair
from mqgroups.cli.report import Report
from mqgroups.connection.holder import connection_of
from mqgroups.definitions import DEVELOPMENT_MQSC, ROLES_MQSC
from mqgroups.operate.command_server import MQSCClient
from mqgroups.operate.rules.definitions import (
    Names,
    as_text,
    compared,
    display_command,
    role_definitions,
    roles,
    spark_definitions,
    status_definitions,
)
from mqgroups.operate.rules.findings import Finding, Severity
from mqgroups.operate.rules.mqsc_text import MQSCCommand, commands
from mqgroups.queue_manager import QueueManager

Part = Literal["status", "roles", "spark", "all", "development"]


def _users(_context: click.Context, _parameter: click.Parameter, values: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the users of roles."""
    known = roles(_templates()[1])
    for role, user in values:
        if role not in known or "'" in user:
            raise click.BadParameter(f"'{role}={user}' is not ROLE=USER with a role of {', '.join(known)}")
    return dict(values)


@click.command()
@click.argument("part", type=click.Choice(["status", "roles", "spark", "all", "development"]), default="all")
@click.option("--queue", default="ORDERS", type=QUEUE, help="The queue for groups.")
@click.option("--target", default="INVOICES", type=QUEUE, help="The queue that a pipe puts to.")
@click.option("--backout-queue", type=QUEUE, help="Its BOQNAME. Default: the queue's name and .BACKOUT, made to fit.")
@click.option("--name", type=NAME, help="A producer or consumer, for its status queues and those who look at them.")
@click.option(
    "--role-user",
    "users",
    multiple=True,
    callback=_users,
    **pair("ROLE=USER"),
    help="The user of a role, such as loader=alice; only these roles are printed then; may be repeated.",
)
@click.option(
    "--ask", is_flag=True, help="Also the authorities to ask the command server, for the roles that can use it."
)
@click.option(
    "--check", is_flag=True, help="Compare with the queue manager, through its command server; print what differs."
)
@connection_options(required=False)
def mqsc(
    part: Part,
    queue: str,
    target: str,
    backout_queue: str | None,
    name: str | None,
    users: dict[str, str],
    ask: bool,
    check: bool,
    **connection: Any,
) -> None:
    """Print the MQSC definitions that an installation needs, for your names.

    \b
    Parts:
      status  the model of status queues, a queue for groups, status queues
      roles   the least authorities of each role
      spark   the models that the Spark sink needs
      all     all of these
      development
              the queues of the examples; one user may do everything

    Pipe the output into runmqsc, as in: mqgroups mqsc status --queue PAYMENTS | runmqsc QM1

    With --check, the definitions are compared with those of the queue manager, and nothing is changed.

    \b
    Exit codes:
      0  done; --check: all is there, though a definition may differ
      1  failed; --check: a definition or an authority is missing
      2  the command line is wrong
    """
    names = Names(queue, target, backout_queue or "", name or "", users, ask)
    found = _definitions(part, names)
    if not check:
        for line in as_text(found):
            click.echo(line)
        return
    if not connection["q_mgr_name"]:
        raise click.UsageError("--check needs --q-mgr")
    report = Report()
    shown = ShownFindings(report)
    with connected(report, **connection) as q_mgr:
        shown.add(_compared(q_mgr, found))
    shown.end()


def _definitions(part: Part, names: Names) -> list[MQSCCommand]:
    queues, authorities = _templates()
    if part == "development":
        return list(commands(queues))
    return [
        *(status_definitions(queues, names) if part in ("status", "all") else []),
        *(spark_definitions(queues) if part in ("spark", "all") else []),
        *(role_definitions(authorities, names) if part in ("roles", "all") else []),
    ]


def _compared(q_mgr: QueueManager, found: Sequence[MQSCCommand]) -> Iterator[Finding]:
    with closing(MQSCClient(connection_of(q_mgr))) as client:
        for command in found:
            asked = display_command(command)
            done, texts = client.run(asked)
            if not done and any("NOT_AUTHORIZED" in text for text in texts):
                yield Finding(asked.removeprefix("DISPLAY "), Severity.UNSEEN, "this user may not display it")
            else:
                yield compared(command, texts if done else ())


def _templates() -> tuple[str, str]:
    """Return the package's MQSC: the queues, and the authorities of each role."""
    return DEVELOPMENT_MQSC.read_text(encoding="utf-8"), ROLES_MQSC.read_text(encoding="utf-8")

"""The command ``mqgroups mqsc``: prints the definitions that an installation needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import click

from mqgroups.cli.options import NAME, QUEUE, pair
from mqgroups.definitions import DEVELOPMENT_MQSC, ROLES_MQSC
from mqgroups.operate.rules.definitions import (
    Names,
    as_text,
    role_definitions,
    roles,
    spark_definitions,
    status_definitions,
)
from mqgroups.operate.rules.mqsc_text import MQSCCommand, commands

Part = Literal["status", "roles", "spark", "all", "development"]


def _users(_context: click.Context, _parameter: click.Parameter, values: Sequence[tuple[str, str]]) -> dict[str, str]:
    known = roles(_templates()[1])
    for role, user in values:
        if role not in known or "'" in user:
            raise click.BadParameter(f"'{role}={user}' is not ROLE=USER with a role of {', '.join(known)}")
    return dict(values)


@click.command()
@click.argument("part", type=click.Choice(["status", "roles", "spark", "all", "development"]), default="all")
@click.option("--queue", default="ORDERS", type=QUEUE, help="The queue for groups.")
@click.option("--target", default="INVOICES", type=QUEUE, help="The queue that a pipe puts to.")
@click.option("--name", type=NAME, help="A producer or consumer; adds its status queues and their authorities.")
@click.option(
    "--role-user",
    "users",
    multiple=True,
    callback=_users,
    **pair("ROLE=USER"),
    help="The user of a role, such as loader=alice. Only roles with a user are printed then; may be repeated.",
)
@click.option(
    "--ask", is_flag=True, help="Add the authorities to ask the command server, for the roles that can use it."
)
def mqsc(part: Part, queue: str, target: str, name: str | None, users: dict[str, str], ask: bool) -> None:
    """Print the MQSC definitions that an installation needs, with your names.

    \b
    Parts:
      status  the model of status queues, a queue for groups, status queues
      roles   the least authorities of each role
      spark   the models that the Spark sink needs
      all     all of these
      development
              the queues of the examples; one user may do everything

    Pipe the output into runmqsc, for example: mqgroups mqsc status --queue PAYMENTS | runmqsc QM1
    """
    names = Names(queue, target, name or "", users, ask)
    for line in as_text(_definitions(part, names)):
        click.echo(line)


def _definitions(part: Part, names: Names) -> list[MQSCCommand]:
    queues, authorities = _templates()
    if part == "development":
        return list(commands(queues))
    return [
        *(status_definitions(queues, names) if part in ("status", "all") else []),
        *(spark_definitions(queues) if part in ("spark", "all") else []),
        *(role_definitions(authorities, names) if part in ("roles", "all") else []),
    ]


def _templates() -> tuple[str, str]:
    return DEVELOPMENT_MQSC.read_text(encoding="utf-8"), ROLES_MQSC.read_text(encoding="utf-8")

"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from mqgroups.cli.secrets import Command
from mqgroups.core.unit_of_work import LONGEST_S, Every

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
DIRECTORY = click.Path(file_okay=False, path_type=Path)
EXISTING_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
# How long a command waits by default, seconds.
WAIT_S = 30.0
# When ``send`` and ``receive`` commit.
FILES_EVERY = Every(messages=1000, bytes=16 << 20, seconds=LONGEST_S)


def host_and_port(value: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``."""
    host, _, port = value.rpartition(":")
    host = host.strip("[]")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is not HOST:PORT, such as 127.0.0.1:1414")
    return host, int(port)


def address(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, int] | None:
    """Return host and port of an option that may be left out."""
    return None if value is None else host_and_port(value)


def _output(help_: str) -> Callable[[Command], Command]:
    """Return a decorator that adds --output, --wide and --json."""
    output = click.option(
        "--output",
        "-o",
        "output",
        type=click.Choice(["table", "wide", "json", "csv"]),
        default="table",
        show_default=True,
        help=help_,
    )
    return lambda command: output(_WIDE(_JSON(command)))


_WIDE = click.option("--wide", "output", flag_value="wide", help="The same as --output wide.")
_JSON = click.option("--json", "output", flag_value="json", help="The same as --output json.")
output_option = _output("A table that fits the terminal, a table with everything, JSON, or CSV.")


# For commands that print as long as they run.
json_lines_option = click.option(
    "--json", "output", flag_value="json", default="table", help="Print a line of JSON for each look."
)


# For commands that print a line for each file, as it is done.
file_lines_option = _output("A line for each file: text, text with the length, JSON, or CSV.")


def _wait(help_: str) -> Callable[[Command], Command]:
    return click.option(
        "--wait",
        "wait_s",
        type=click.FloatRange(0),
        default=WAIT_S,
        show_default=True,
        metavar="SECONDS",
        help=help_,
    )


wait_option = _wait("How long to wait for the queue manager.")
# For commands that need an owner, or a group, for themselves.
wait_for_owner_option = _wait("How long to wait for the queue manager, and for a program at work to end.")


def _instance(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, str] | None:
    """Return the two names of OLD=NEW."""
    if value is None:
        return None
    old, _, new = value.partition("=")
    if not old or not new:
        raise click.BadParameter(f"{value!r} is not OLD=NEW, two names of queue managers")
    return old, new


def adopt_options(command: Command) -> Command:
    """Decorate a command that adopts records with its options."""
    for option in (
        click.option("--apply", is_flag=True, help="Adopt. Without it, the command says what it would adopt."),
        click.option(
            "--instance",
            callback=_instance,
            metavar="OLD=NEW",
            help="The messages of groups that went to queue manager OLD are at queue manager NEW now.",
        ),
        click.option(
            "--adopt-from",
            metavar="QMID",
            help="Adopt records that were moved here, with the messages of their groups, from the queue manager with this QMID.",
        ),
    ):
        command = option(command)
    return command


name_option = click.option("--name", required=True, metavar="NAME", help="The name of the producer or consumer.")
status_queue_option = click.option(
    "--status-queue",
    "status_queues",
    multiple=True,
    metavar="QUEUE",
    help="A status queue to look at besides those that the command server lists; may be repeated.",
)
limit_option = click.option(
    "--limit",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    metavar="ROWS",
    help="How many rows a table has at most; 0: all. JSON and CSV have all.",
)

"""Options, passwords, messages and exit codes that the commands share."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any

import click

from mqembedded.printable import OneLine, printable

Command = Callable[..., None]


class _Directory(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            # An unset shell variable gives an empty text, which would mean the working directory.
            self.fail("it is empty", param, ctx)
        return super().convert(value, param, ctx)


FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
DIRECTORY = _Directory(file_okay=False, path_type=Path)
data_option = click.option(
    "--data", type=DIRECTORY, required=True, help="The data directory of a queue manager that runs on this machine."
)


class ExitCode(IntEnum):
    """The exit code of a command. The help of each command lists the codes that it uses."""

    DONE = 0
    FAILED = 1
    # The codes of ``exec``, as in a shell. If signal n ended the program, the code is SIGNAL + n.
    NOT_STARTED = 125
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127
    SIGNAL = 128


class Commands(click.Group):
    """A command group whose help has the whole first sentence of each command. (click would cut the sentences.)"""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands as ``Group`` does, but with whole sentences."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(1000)) for name, command in found if command])


def complain(message: str) -> None:
    """Print an error to standard error, with ``?`` for control characters, because names in the error can come from others."""
    click.echo(f"mqembedded: {printable(message)}", err=True)


def in_words(error: OSError) -> str:
    """Return a text that names the file and the error, without the error number."""
    named = error.filename is not None and error.strerror
    return f"{error.filename}: {error.strerror}" if named else error.strerror or str(error)


def log(verbose: bool) -> None:
    """Log to standard error, one line for each record, from level WARNING on, or from INFO on with ``verbose``."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level="INFO" if verbose else "WARNING", handlers=[handler])


@contextmanager
def one_message(code: int = ExitCode.FAILED, *, about: str = "") -> Iterator[None]:
    """If the block raises, end the command with a message and an exit code instead of a traceback.

    This is for errors that a user can correct: OSError, and errors of this package, whose messages explain what to do. Any other
    exception is a bug, and keeps its traceback. ``about`` is the beginning of the message.
    """
    try:
        yield
        return
    except OSError as error:
        complain(f"{about}{in_words(error)}")
    except Exception as error:
        if not type(error).__module__.startswith("mqembedded."):
            raise
        complain(f"{about}{error}")
    sys.exit(code)


def host_and_port(value: str) -> tuple[str, int]:
    """Return the host and the port of ``HOST:PORT``."""
    host, _, port = value.rpartition(":")
    host = host.strip("[]")
    if not host or not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is not HOST:PORT, such as 127.0.0.1:1414")
    return host, int(port)


def passwords(variables: Sequence[str], file: Path | None) -> dict[str, str]:
    """Return passwords by user name, from environment variables (NAME:VARIABLE) and a file with lines NAME:PASSWORD.

    Passwords are never arguments, because every user of the machine can read a command line.
    """
    users = {}
    for given in variables:
        name, _, variable = given.partition(":")
        if not name or not variable:
            raise click.BadParameter(f"{given!r} is not NAME:VARIABLE", param_hint="'--user'")
        if not os.environ.get(variable):
            raise click.BadParameter(
                f"the environment variable {variable} is not set or empty. It must hold the password of user {name}",
                param_hint="'--user'",
            )
        users[name] = os.environ[variable]
    for number, line in enumerate(file.read_text().splitlines() if file is not None else (), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, password = line.partition(":")
        if not name or not password:
            raise click.BadParameter(f"{file}, line {number}: expected NAME:PASSWORD", param_hint="'--users-file'")
        users[name] = password
    return users

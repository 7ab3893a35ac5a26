"""Passwords and tokens of the command line: in an environment variable or in a file, never an argument.

A command line can be read by every user of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from mqgroups.mqi.secret import Secret

Command = Callable[..., None]


def secret_options(name: str, what: str) -> list[Callable[[Command], Command]]:
    """Return the options --NAME-env and --NAME-file; ``what`` is what the secret is called in their help."""
    variable = _usual_variable(name)
    return [
        click.option(
            f"--{name}-env",
            default=variable,
            show_default=True,
            metavar="VARIABLE",
            help=f"The environment variable that holds {what}.",
        ),
        click.option(
            f"--{name}-file",
            envvar=f"{variable}_FILE",
            show_envvar=True,
            metavar="FILE",
            help=f"A file that holds {what}; not with --{name}-env.",
        ),
    ]


def secret(name: str, variable: str, file: str | None, *, wanted: bool = True) -> Secret | None:
    """Return where a secret is: where an option says, else in the usual variable if it is ``wanted`` and set."""
    is_usual = variable == _usual_variable(name)
    if file is not None:
        if not is_usual:
            raise click.UsageError(f"--{name}-file and --{name}-env: give one or the other")
        return Secret.from_file(file)
    return Secret.from_variable(variable) if not is_usual or (wanted and os.environ.get(variable)) else None


def _usual_variable(name: str) -> str:
    return f"MQGROUPS_{name.replace('-', '_').upper()}"


def no_password(user: str, variable: str, option: str) -> click.BadParameter:
    """Return the error about a variable that holds no password."""
    return click.BadParameter(
        f"the environment variable {variable}, which should hold the password of {user}, is not set or empty",
        param_hint=f"'{option}'",
    )


def user_and_password(given: str) -> tuple[str, str]:
    """Return the user of NAME:VARIABLE, and the password that the variable holds."""
    name, _, variable = given.partition(":")
    if not name or not variable:
        raise click.BadParameter(f"{given!r} is not NAME:VARIABLE", param_hint="'--user'")
    password = os.environ.get(variable)
    if not password:
        raise no_password(name, variable, "--user")
    return name, password


def passwords(variables: Sequence[str], file: Path | None) -> dict[str, str]:
    """Return passwords by user: of each NAME:VARIABLE, and of each line NAME:PASSWORD of a file."""
    users = dict(user_and_password(given) for given in variables)
    if file is not None:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, _, password = line.partition(":")
            if not name or not password:
                raise click.BadParameter(f"{file}, line {number}: expected NAME:PASSWORD", param_hint="'--users-file'")
            users[name] = password
    return users

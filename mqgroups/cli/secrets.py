"""Passwords and tokens for commands, from an environment variable or a file, never from an argument.

Every user of the machine can read a command line.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import click

from mqgroups.cli.profiles import ConnectionOption
from mqgroups.mqi.secret import Secret

Command = Callable[..., None]


def secret_options(name: str, what: str) -> list[Callable[[Command], Command]]:
    """Return the options --NAME-env and --NAME-file; ``what`` describes the secret in their help."""
    variable = _usual_variable(name)
    return [
        click.option(
            f"--{name}-env",
            default=variable,
            show_default=True,
            metavar="VARIABLE",
            help=f"The environment variable that holds {what}.",
            cls=ConnectionOption,
        ),
        click.option(
            f"--{name}-file",
            envvar=f"{variable}_FILE",
            show_envvar=True,
            metavar="FILE",
            help=f"A file that holds {what}; not with --{name}-env.",
            cls=ConnectionOption,
        ),
    ]


def secret(name: str, variable: str | None, file: str | None, *, wanted: bool = True) -> Secret | None:
    """Return a secret from the file or variable of its option, else from the default variable if ``wanted`` and set.

    ``variable`` is ``None`` if another secret has replaced this one.
    """
    is_usual = variable == _usual_variable(name)
    if file is not None:
        if variable is not None and not is_usual:
            raise click.UsageError(f"--{name}-file and --{name}-env cannot be combined. Use one of them")
        return Secret.from_file(file)
    if variable is None:
        return None
    return Secret.from_variable(variable) if not is_usual or (wanted and os.environ.get(variable)) else None


def _usual_variable(name: str) -> str:
    return f"MQGROUPS_{name.replace('-', '_').upper()}"


def no_password(user: str, variable: str, option: str) -> click.BadParameter:
    """Return the error for a variable that is not set or empty."""
    return click.BadParameter(
        f"the environment variable {variable} is not set or empty. It must hold the password of user {user}",
        param_hint=f"'{option}'",
    )

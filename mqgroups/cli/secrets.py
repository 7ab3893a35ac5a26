"""Passwords and tokens for commands, from an environment variable or a file, never from an argument.

Every user of the machine can read a command line.
"""

from __future__ import annotations

from collections.abc import Callable

import click

from mqgroups.cli.profiles import ConnectionOption, variable_of
from mqgroups.mqi.secret import Secret

Command = Callable[..., None]


def secret_options(name: str, what: str) -> list[Callable[[Command], Command]]:
    """Return the options --NAME-env and --NAME-file; ``what`` describes the secret in their help."""
    return [
        click.option(
            f"--{name}-env",
            metavar="VARIABLE",
            help=f"The environment variable that holds {what}.  [env var: {variable_of(name)} has it]",
            cls=ConnectionOption,
        ),
        click.option(
            f"--{name}-file",
            envvar=f"{variable_of(name)}_FILE",
            show_envvar=True,
            metavar="FILE",
            help=f"A file that holds {what}; not with --{name}-env.",
            cls=ConnectionOption,
        ),
    ]


def secret(name: str, variable: str | None, file: str | None) -> Secret | None:
    """Return the secret that is in a variable or a file; ``None`` if neither is named."""
    if file is not None and variable is not None:
        raise click.UsageError(f"--{name}-file and --{name}-env cannot be combined. Use one of them")
    if file is not None:
        return Secret.from_file(file)
    return None if variable is None else Secret.from_variable(variable)

"""Passwords and tokens for commands, from an environment variable or a file, never from an argument.

Every user of the machine can read a command line.
"""

from __future__ import annotations

from collections.abc import Callable

import click

from mqgroups.cli.profiles import ConnectionOption, variable_of
from mqgroups.mqi.secret import Secret
from mqgroups.setting import Field

Command = Callable[..., None]


def secret_options(field: Field) -> list[Callable[[Command], Command]]:
    """Return the options --NAME-env and --NAME-file for a setting that is a secret."""
    name, what = field.name.replace("_", "-"), field.first_sentence.removesuffix(".")
    variable = variable_of(field.name)
    return [
        click.option(
            f"--{name}-env",
            metavar="VARIABLE",
            help=f"The environment variable that holds {what}.  [env var: {variable} has it]",
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


def secret(name: str, variable: str | None, file: str | None) -> Secret | None:
    """Return the secret that is in a variable or a file; ``None`` if neither is named."""
    if file is not None and variable is not None:
        raise click.UsageError(f"--{name}-file and --{name}-env cannot be combined. Use one of them")
    if file is not None:
        return Secret.from_file(file)
    return None if variable is None else Secret.from_variable(variable)

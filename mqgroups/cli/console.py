"""What the commands print beside their reports: errors, logs and tables.

rich is imported only when something is drawn with it, so that ``mqgroups --help`` stays quick.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from mqgroups.cli.exit_codes import ExitCode
from mqgroups.errors import ConfigurationError

if TYPE_CHECKING:
    from rich.console import Console

# Of a file or a pipe, which has no width.
_WIDTH = 200
# What has to be installed for a module that is not there.
_EXTRAS = {"sortedcontainers": "embedded", "pyspark": "spark", "pyarrow": "spark"}


def console(*, err: bool = False) -> Console:
    """Return where text with colours and tables are printed: a terminal, or a file without colours."""
    from rich.console import Console

    made = Console(stderr=err, highlight=False, soft_wrap=True)
    return made if made.is_terminal else Console(stderr=err, highlight=False, soft_wrap=True, width=_WIDTH)


def complain(message: str) -> None:
    """Print an error to standard error."""
    click.echo(f"mqgroups: {message}", err=True)


def log(verbose: bool) -> None:
    """Log to standard error: warnings, or with ``verbose`` more."""
    from rich.logging import RichHandler

    handler = RichHandler(console=console(err=True), show_path=False)
    logging.basicConfig(level="INFO" if verbose else "WARNING", format="%(message)s", handlers=[handler])


@contextmanager
def one_message(code: int | None = None, *, about: str = "", with_cause: bool = False) -> Iterator[None]:
    """End the command with one message and an exit code instead of a traceback.

    That is for what a user can mend: a package that is not installed, a file that cannot be read, and this package's own
    errors, which say what to do. Any other exception is a bug, and keeps its traceback.

    Args:
        code: the exit code; by default 2 for a configuration and 1 for everything else.
        about: what a message begins with.
        with_cause: also print what caused the error.
    """
    try:
        yield
        return
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        extra = _EXTRAS.get(missing)
        if extra is None:
            raise
        complain(f"this command needs {missing}: pip install 'mqgroups[cli,{extra}]'")
    except OSError as error:
        complain(f"{about}{error}")
    except Exception as error:
        if not type(error).__module__.startswith("mqgroups."):
            raise
        complain(f"{about}{error}")
        if with_cause and error.__cause__ is not None:
            click.echo(str(error.__cause__), err=True)
        if isinstance(error, ConfigurationError):
            code = code or ExitCode.USAGE
    sys.exit(code or ExitCode.FAILED)

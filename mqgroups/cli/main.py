"""The command ``mqgroups`` and its subcommands.

Each command, or each family of commands, has a module, which is imported when it is needed. All of them share the modules for
options (``connection.py``, ``options.py``), output (``report.py``, ``console.py``) and exit codes (``exit_codes.py``). Each turns
an error into one message and an exit code.
"""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Any

import click

from mqgroups.cli.console import Commands, complain, one_message
from mqgroups.cli.exit_codes import ExitCode

# The commands, each of which is in a module of its name; what needs no queue manager comes last.
_COMMANDS = (
    *("groups", "owners", "describe", "watch", "doctor", "mqsc", "check", "adopt", "salvage"),
    *("work", "send", "receive", "demo"),
)


class _Main(Commands):
    """The command; Ctrl-C, and files that cannot be used, end it with one sentence instead of a traceback.

    It imports the module of a command when that command is asked for. All of them together take twice as long as one.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"mqgroups.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with one_message():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            complain("interrupted with Ctrl-C; what is not committed is backed out")
            sys.exit(ExitCode.INTERRUPTED)


_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True}


@click.group(cls=_Main, context_settings=_SETTINGS)
@click.version_option(package_name="mqgroups", message="mqgroups %(version)s")
def main() -> None:
    """IBM MQ message groups that span several units of work.

    A command that failed ends with exit code 75 instead of 1 if that clears up by itself, as when no queue manager answers.
    """
    # Names come from messages, and the locale may not have their characters.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")

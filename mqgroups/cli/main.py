"""The command ``mqgroups`` and its subcommands.

Each command or family of commands has a module, which is imported when it is needed. The commands share modules for options
(``connection.py``, ``options.py``), output (``report.py``, ``console.py``) and exit codes (``exit_codes.py``). Each command turns
an error into one message and an exit code.
"""

from __future__ import annotations

import io
import signal
import sys
from importlib import import_module
from typing import Any, ClassVar

import click

from mqgroups.cli.console import Commands, complain, one_message
from mqgroups.cli.exit_codes import ExitCode


class _Main(Commands):
    """The command ``mqgroups``. If Ctrl-C or an unusable file ends it, it prints one sentence instead of a traceback.

    It imports the module of a command only when the command is used. Importing all modules takes twice as long as importing one.
    """

    # The commands by their users. Each command is in a module with its name.
    sections: ClassVar = {
        "Operating: what is there, and what is wrong": ("doctor", "groups", "owners", "describe", "watch"),
        "Operating: before a start, and repairs": ("check", "adopt", "salvage"),
        "Files and workers": ("send", "receive", "work"),
        "Setting up": ("mqsc", "demo"),
    }

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [name for names in self.sections.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = getattr(import_module(f"mqgroups.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            # Up to now, Ctrl-C ended a process that ``mqgroups_command.py`` has started.
            if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            with one_message():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            looks, *_ = self.sections.values()
            rest = "" if ctx.invoked_subcommand in (None, *looks) else "; what is not committed is backed out"
            complain(f"interrupted with Ctrl-C{rest}")
            sys.exit(ExitCode.INTERRUPTED)


def _help_connection(ctx: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from mqgroups.cli.connection import explained

        click.echo(explained.get_help(click.Context(explained, parent=ctx, info_name="COMMAND")))
        ctx.exit()


_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True}


@click.group(cls=_Main, context_settings=_SETTINGS)
@click.version_option(package_name="mqgroups", message="mqgroups %(version)s")
@click.option(
    "--help-connection",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_help_connection,
    help="Show how commands connect to a queue manager, and exit.",
)
def main() -> None:
    """IBM MQ message groups that span several units of work.

    \b
    Exit codes, if a command's help shows no others:
      0    done
      1    failed, or something needs an operator; the output shows what
      2    the command line is wrong
      75   temporary failure, for example if no queue manager answers
      130  ended with Ctrl-C, or with SIGTERM before all was done
    """
    # Names come from messages, and may have characters that the locale lacks.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")

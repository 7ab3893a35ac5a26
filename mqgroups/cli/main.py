"""The command ``mqgroups`` and its subcommands.

    mqgroups demo             send flights while everything is killed
    mqgroups groups           show the groups on a queue: how complete, whose, since when nothing happens
    mqgroups doctor           check machine, connection, queues, authorities, records and groups, and say what mends them
    mqgroups mqsc             print the MQSC definitions that an installation needs, or compare them with a queue manager
    mqgroups owners           show the producers and consumers with a status queue, and what they do
    mqgroups work             handle message groups by a function of yours, with several workers
    mqgroups send             send files, each as a message group
    mqgroups receive          receive files that were sent
    mqgroups completion       print or install the completion of a shell
    mqgroups manual           print or install the manual page
    mqgroups recover          inspect a producer's or consumer's status queue before it is started
    mqgroups salvage rebuild  write a lost status record again, from the messages of its group
    mqgroups salvage move     move the rest of a group to another queue
    mqgroups watch            watch the groups and owners of a queue, with rates
    mqgroups batches list     show the records that the Spark sink has left on a shared status queue
    mqgroups batches purge    remove the records of a sink that does not come back
    mqgroups batches adopt    adopt the records of sinks, after a move to another queue manager
    mqgroups pipeline check   check a pipeline's file, and show what would be read
    mqgroups pipeline run     run message groups through Spark
    mqgroups pipeline report  write its report again

Each command, or each family of commands, has a module, which is imported when it is needed. All of them share the modules for
options (``connection.py``, ``secrets.py``, ``options.py``), output (``report.py``, ``console.py``) and exit codes
(``exit_codes.py``). Each turns an error into one message and an exit code.

Exit codes: 0 done; 1 failed, and standard error says why; 2 the command line is wrong; 130 Ctrl-C. The help of a command names
any others.
"""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Any

import click

from mqgroups.cli.console import Commands, complain, in_words, wrapped
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.errors import ConfigurationError, MQGroupsError

# Each command, and the module that has it under the module's own name.
_MODULES = {
    "batches": "batches",
    "completion": "completion",
    "demo": "demo",
    "doctor": "doctor",
    "groups": "groups",
    "manual": "manual",
    "mqsc": "definitions",
    "owners": "owners",
    "pipeline": "pipeline",
    "receive": "receive",
    "recover": "recover",
    "salvage": "salvage",
    "send": "send",
    "watch": "watch",
    "work": "work",
}

# What click writes before the message of a wrong command line.
_ERROR = "Error: "


class _Main(Commands):
    """The command; Ctrl-C, and files that cannot be used, end it with one sentence instead of a traceback.

    It imports the module of a command when that command is asked for. All of them together take twice as long as one.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """As ``Group``."""
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """As ``Group``."""
        if cmd_name not in _MODULES:
            return None
        module = _MODULES[cmd_name]
        command: click.Command = getattr(import_module(f"mqgroups.cli.{module}"), module)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """As ``Group``."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            # Some show the help instead.
            if type(error).show is not click.UsageError.show:
                raise
            raise click.UsageError(_wrapped(error.format_message()), error.ctx) from error
        except ConfigurationError as error:
            raise click.UsageError(_wrapped(str(error)), ctx) from error
        except MQGroupsError as error:
            complain(str(error))
            sys.exit(ExitCode.FAILED)
        except KeyboardInterrupt:
            complain("interrupted with Ctrl-C; what is not committed is backed out")
            sys.exit(ExitCode.CTRL_C)
        except BrokenPipeError:
            # The reader of the output has ended, such as head; click ends quietly.
            raise
        except OSError as error:
            complain(in_words(error))
            sys.exit(ExitCode.FAILED)


def _wrapped(message: str) -> str:
    """Break what click will print behind its own word."""
    return wrapped(f"{_ERROR}{message}", err=True).removeprefix(_ERROR)


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="mqgroups", message="mqgroups %(version)s")
def main() -> None:
    """IBM MQ message groups that span several units of work."""
    # Names come from messages, and the locale may not have their characters.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")

"""The command ``mqembedded``: the command group, the client library, and control of a running queue manager.

``serve.py`` starts queue managers, ``cluster.py`` has the commands for clusters, ``mqsc.py`` runs MQSC commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mqembedded.cli.cluster import channel
from mqembedded.cli.manners import Commands, data_option, one_message
from mqembedded.cli.mqsc import mqsc
from mqembedded.cli.serve import exec_, run


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True},
)
@click.version_option(package_name="mqembedded", message="mqembedded %(version)s")
def main() -> None:
    """Run a queue manager for development, tests and demos without IBM MQ.

    The queue manager is not IBM MQ and does not replace it. Unmodified pymqi and ibmmq programs run on it.
    """


@main.command()
@click.option("--print-dir", is_flag=True, help="Print only the directory.")
def build(print_dir: bool) -> None:
    """Compile the client library, if there is none yet, and print its directory.

    The directory has the layout of IBM's client (inc/, lib64/libmqic_r.so, lib64/libmqm_r.so), so you can build pymqi with it:

    \b
        MQ_FILE_PATH=$(mqembedded build --print-dir) \\
            pip install --no-cache-dir --no-binary pymqi pymqi
    """
    with one_message():
        from mqembedded.libmqm.build import build as build_library

        directory = build_library()
    click.echo(directory if print_dir else f"client library of the embedded queue manager: {directory}")


@main.command()
@data_option
@click.option(
    "--when",
    type=click.Choice(["before", "after"]),
    default="before",
    help="Whether the fault comes before or after the call takes effect.",
)
@click.option("--nth", type=click.IntRange(1), default=1, help="The number of the first matching call to fail.")
@click.option(
    "--times",
    type=click.IntRange(0),
    default=1,
    help="The number of calls that fail; 0 for all calls from then on.",
)
@click.option("--verb", default="", show_default=False, help="Only calls of this verb match, such as MQCMIT.")
@click.option(
    "--appl", "appl_name", default="", show_default=False, help="Only calls of applications with this name match."
)
@click.option("--reason", type=int, default=0, help="For 'answer': the reason code.")
@click.option("--comp", type=click.IntRange(0, 2), default=2, help="For 'answer': the completion code.")
@click.option("--delay-s", type=click.FloatRange(0), default=0.0, help="For 'delay': seconds.")
@click.argument(
    "action", type=click.Choice(["kill_client", "kill_server", "drop", "freeze", "answer", "delay", "clear"])
)
def fault(data: Path, action: str, **how: Any) -> None:
    """Make an MQI call fail, to test how a program handles it.

    \b
        kill_client   SIGKILL the program that makes the call
        kill_server   SIGKILL the queue manager
        drop          close the connection without a reply; an MQCMIT is then in doubt
        freeze        never reply, and leave the connection open
        answer        end the call with --comp and --reason
        delay         answer the call after --delay-s
        clear         remove all faults, and answer frozen calls
    """
    with one_message():
        from mqembedded import Control, Fault

        control = Control.of(data)
        if action == "clear":
            control.clear_faults()
        else:
            control.arm(Fault(action, **how))


@main.command()
@data_option
def quiesce(data: Path) -> None:
    """End a queue manager as endmqm does.

    The queue manager refuses new connections, and ends when the last application has disconnected.
    """
    with one_message():
        from mqembedded import Control

        Control.of(data).quiesce()


@main.command()
@data_option
def calls(data: Path) -> None:
    """Show how many MQI calls a queue manager has answered, by verb."""
    with one_message():
        from mqembedded import Control

        counted = Control.of(data).calls()
    for verb, number in sorted(counted.items()):
        click.echo(f"{verb:8} {number}")


for command in (run, exec_, channel, mqsc):
    main.add_command(command)

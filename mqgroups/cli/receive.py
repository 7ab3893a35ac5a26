"""The command ``mqgroups receive``: makes a file of each message group, exactly once."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from mqgroups.cli.connection import connection_options, open_q_mgr
from mqgroups.cli.console import ProgressLine, complain, log, say_file
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import EXISTING_DIRECTORY, FILES_EVERY, NAME, QUEUE, SECONDS, output_option, setting_options
from mqgroups.cli.table import Output
from mqgroups.files.receiving import FileReceiver
from mqgroups.settings import Consuming
from mqgroups.stopping import stop_on_signals


@click.command()
@click.option("--queue", required=True, type=QUEUE, help="The queue to get the groups from.")
@click.option("--name", required=True, type=NAME, help="The receiver's name. Each name has its own status queue.")
@click.option(
    "--into",
    type=EXISTING_DIRECTORY,
    required=True,
    metavar="DIR",
    help="The directory for the files. Nothing else may write to it.",
)
@click.option(
    "--idle",
    "idle_s",
    type=SECONDS,
    help="End when no file has come for this time. Default: wait until SIGTERM or Ctrl-C.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(min=1),
    default=sys.maxsize,
    show_default=False,
    help="Cut off longer files, and put them in quarantine. Default: no limit.",
)
@setting_options(Consuming, "complete_groups_only", "record_users")
@output_option
@connection_options()
def receive(
    queue: str,
    name: str,
    into: Path,
    idle_s: float | None,
    max_bytes: int,
    complete_groups_only: bool,
    record_users: tuple[str, ...],
    output: Output,
    **connection: Any,
) -> None:
    """Receive files that `mqgroups send` or IBM MQ Managed File Transfer has put as message groups.

    A file is written under a hidden name, and compared with the length and the SHA-256 that were sent. It is renamed when its
    group is committed. A file that differs from what was sent, or was not sent to its end, goes to DIR/quarantine with a file
    that has the reason. If the command ends in the middle of a file, the same command continues there. Memory does not depend on
    the length of a file.

    \b
    Exit codes:
      0   done, or stopped by SIGTERM or Ctrl-C; the next start continues
      1   failed, or a file went to quarantine
      75  temporary failure; the same command continues
    """
    log()
    quarantined = False
    with open_q_mgr(acts=True, reconnects=True, **connection) as q_mgr, ProgressLine() as line:
        open_consumer = partial(
            q_mgr.group_consumer,
            queue,
            name=name,
            commit_every=FILES_EVERY,
            wait_s=idle_s,
            group_wait_s=Consuming.group_wait_s if idle_s is None else idle_s,
            complete_groups_only=complete_groups_only,
            stream=True,
            record_users=record_users,
        )
        receiver = FileReceiver(
            open_consumer, into, keep_waiting=idle_s is None, max_bytes=max_bytes, on_bytes=line.say_bytes
        )
        with receiver.consumer as consumer, stop_on_signals(consumer) as stopping:
            for received in receiver:
                quarantined = quarantined or bool(received.reason)
                say_file(output, str(received.path), received.reason, received.data_bytes, group_id=received.group_id)
            consumer.forget()
    if stopping.signal is not None:
        complain(f"stopped by {stopping.signal.name}; the same command continues")
    if quarantined:
        sys.exit(ExitCode.FAILED)

"""The command ``mqgroups send``: puts files as message groups, each exactly once."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from mqgroups.cli.connection import connection_options, open_q_mgr
from mqgroups.cli.console import ProgressLine, complain, log, say_file
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import EXISTING_DIRECTORY, FILES_EVERY, NAME, QUEUE, output_option, setting_options
from mqgroups.cli.table import Output
from mqgroups.files.sending import FileSender, Look, Looks, Records
from mqgroups.settings import Owning
from mqgroups.stopping import stop_on_signals

# A missing file may be in the archive.
_PATH = click.Path(dir_okay=False, path_type=Path)
_LOOK_EVERY_S = 1.0


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=_PATH)
@click.option("--queue", required=True, type=QUEUE, help="The queue to put the groups to.")
@click.option("--name", required=True, type=NAME, help="The sender's name. Each name has its own status queue.")
@click.option(
    "--records",
    default="bytes:1048576",
    metavar="bytes:N|lines|file",
    help="What each message has: N bytes, a line, or the whole file, in segments.",
)
@click.option(
    "--watch",
    type=EXISTING_DIRECTORY,
    metavar="DIR",
    help="Send all files that appear in DIR, until SIGTERM or Ctrl-C.",
)
@click.option("--archive", type=EXISTING_DIRECTORY, metavar="DIR", help="Move each file to DIR when it is sent.")
@click.option("--abandon", is_flag=True, help="First end the group of an interrupted file that does not come again.")
@setting_options(Owning, "record_users")
@output_option
@connection_options()
def send(
    files: tuple[Path, ...],
    queue: str,
    name: str,
    records: str,
    watch: Path | None,
    archive: Path | None,
    abandon: bool,
    record_users: tuple[str, ...],
    output: Output,
    **connection: Any,
) -> None:
    """Send files, each as a message group, for `mqgroups receive` or any other consumer.

    The group has the file's name, length, modification time and SHA-256 as properties. If the command ends in the middle of a
    file, the same command continues there, so no file is sent twice or omitted. Without --archive, a sent file is remembered
    under --name, and is not sent again unless its path, contents or time change. A command that sends a file forgets all
    remembered files that it does not name. Each MiB of a file needs 16 bytes of memory.

    \b
    Exit codes:
      0    all files are sent; or --watch was ended by SIGTERM or Ctrl-C
      1    failed; standard error shows why
      75   temporary failure; the same command continues
      130  ended with SIGTERM or Ctrl-C before all files were sent; the same
           command continues
    """
    log()
    if (files and watch is not None) or not (files or watch is not None or abandon):
        raise click.UsageError("give files, or --watch")
    if watch is not None and archive is None:
        raise click.UsageError("--watch needs --archive, or the files would be sent again")
    if watch is not None and archive is not None and watch.resolve() == archive.resolve():
        raise click.UsageError("--watch and --archive need different directories")
    all_sent = False
    divided = Records.of(records)
    with (
        open_q_mgr(acts=True, reconnects=True, **connection) as q_mgr,
        ProgressLine() as line,
        q_mgr.group_producer(queue, name=name, commit_every=FILES_EVERY, record_users=record_users) as producer,
        stop_on_signals(producer) as stopping,
    ):
        sender = FileSender(producer, records=divided, archive=archive, on_bytes=line.say_bytes)
        if abandon and (abandoned := sender.abandon()):
            say_file(output, abandoned, "abandoned", None)
        named: list[Looks] = [dict.fromkeys(files)] if files else []
        for looks in named if watch is None else _looks(watch, lambda: producer.stopping):
            for path in sender.in_order(looks):
                if sent := sender.send(path):
                    say_file(output, str(path), "sent" if sent.is_new else "was sent before", sent.data_bytes)
        sender.finish()
        all_sent = True
    # A script that sends files may remove them afterwards, so it needs another exit code.
    if not all_sent and watch is None and stopping.signal is not None:
        complain(f"stopped by {stopping.signal.name} before all files were sent; the same command continues")
        sys.exit(ExitCode.INTERRUPTED)
    if watch is not None and stopping.signal is not None:
        complain(f"stopped by {stopping.signal.name}; the same command continues")


def _looks(folder: Path, is_over: Callable[[], bool]) -> Iterator[Looks]:
    """List a folder again and again. Yield the files that were unchanged in two successive listings, until ``is_over()``."""
    before: dict[Path, Look] = {}
    while not is_over():
        found: dict[Path, Look] = {}
        for path in sorted(folder.iterdir()):
            with suppress(FileNotFoundError):
                look = Look.of(path.lstat())
                # Links and hidden files are omitted, because programs write to hidden files and rename them.
                if look is not None and not path.name.startswith("."):
                    found[path] = look
        ready = {path: look for path, look in found.items() if before.get(path) == look}
        if ready:
            yield ready
        before = {path: look for path, look in found.items() if path not in ready}
        time.sleep(_LOOK_EVERY_S)

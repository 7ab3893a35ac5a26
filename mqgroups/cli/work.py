"""The command ``mqgroups work``: calls a user's function for each message group, with several workers."""

from __future__ import annotations

import importlib
import inspect
import logging
import operator
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from mqgroups import codecs
from mqgroups.cli.connection import connect_arguments, connection_options, say_where
from mqgroups.cli.console import complain, log
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import NAME, QUEUE, SECONDS, host_and_port, setting_options
from mqgroups.errors import MQIError
from mqgroups.queue_manager import QueueManager, connect
from mqgroups.setting import settings_of
from mqgroups.settings import Connecting, Consuming
from mqgroups.stopping import stop_on_signals
from mqgroups.workers import Workers
from mqgroups.workers.worker import MOST_WORKERS

_log = logging.getLogger("mqgroups.workers")


def _function(_context: click.Context, _parameter: click.Parameter, value: str) -> Any:
    """Import and return the function ``MODULE:FUNCTION``. The module may be in the working directory."""
    module, _, name = value.partition(":")
    if not module or not name:
        raise click.BadParameter(f"{value!r} is not MODULE:FUNCTION, such as orders:handle")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - sys.path has strings
    try:
        found = operator.attrgetter(name)(importlib.import_module(module))
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # a module that the user's own imports
        why = f"there is no module {error.name} in the working directory or on PYTHONPATH"
        raise click.BadParameter(why) from error
    except AttributeError as error:
        raise click.BadParameter(f"module {module} has no {name}") from error
    if not callable(found):
        raise click.BadParameter(f"{value} is not a function")
    return found


@click.command()
@click.argument("handler", metavar="MODULE:FUNCTION", callback=_function)
@click.option("--queue", required=True, type=QUEUE, help="The queue to get groups from.")
@click.option(
    "--target", type=QUEUE, help="The queue to put a group to for each group that is got. The workers are then pipes."
)
@click.option(
    "--name", required=True, type=NAME, help="The workers are NAME.1, NAME.2 and so on. Each has a status queue."
)
@click.option("--workers", type=click.IntRange(1, MOST_WORKERS), default=2, help="The number of workers.")
@setting_options(Consuming, "commit_every", "complete_groups_only", "poison", "group_wait_s", "stalled", "record_users")
@click.option(
    "--codec",
    type=click.Choice(codecs.__all__),
    help="How to decode messages to values: JSON or text. Default: messages have only data.",
)
@click.option(
    "--grace", "grace_s", type=SECONDS, default=30.0, help="How long workers may take to stop before they are killed."
)
@click.option(
    "--stuck-after",
    "stuck_after_s",
    type=click.FloatRange(10),
    metavar="SECONDS",
    help="Restart a worker that has not requested a message for this time. Give more than the longest message takes.",
)
@click.option(
    "--http",
    type=host_and_port,
    metavar="HOST:PORT",
    help="Serve /livez, /readyz and /metrics (for Prometheus) at this address.",
)
@setting_options(Connecting, "trace")
@connection_options()
def work(
    handler: Callable[..., object],
    queue: str,
    target: str | None,
    name: str,
    workers: int,
    codec: str | None,
    grace_s: float,
    stuck_after_s: float | None,
    http: tuple[str, int] | None,
    wait_s: float,
    **options: Any,
) -> None:
    """Call FUNCTION of MODULE for each message group, with several workers at once, until SIGTERM or Ctrl-C.

    \b
        def handle(group):              or async def handle(group)
            for message in group:
                ...

    With --target, FUNCTION is called with two groups. The messages that it puts to the second group are committed together with
    the messages of the first. One worker gets all messages of a group. A worker that fails restarts after a pause, and resumes
    its group.

    On SIGTERM each worker commits what it has processed, and ends. If a later command has fewer workers, it also finishes the
    groups that the other workers have interrupted.

    \b
    Exit codes:
      0  stopped in order
      1  a worker did not stop in time, or failed; a start resumes its group
    """
    log()
    try:
        inspect.signature(handler).bind(*[None] * (2 if target else 1))
    except TypeError as error:
        needed = "two arguments, because of --target" if target else "one argument; with --target it gets two"
        raise click.UsageError(f"the function must accept {needed}: {error}") from error
    settings = {each.name: options.pop(each.name) for each in settings_of(Consuming) if each.name in options}
    settings["codec"] = codec and getattr(codecs, codec)
    opens: Any = partial(QueueManager.group_consumer, queue=queue, **settings)
    if target is not None:
        opens = partial(QueueManager.group_pipe, source=queue, target=target, **settings)
    arguments = connect_arguments(**options)
    say_where(options)
    connecting = partial(connect, **arguments, connect_wait_s=wait_s)
    supervised = Workers(
        handler,
        connect=connecting,
        open=opens,
        name=name,
        workers=workers,
        grace_s=grace_s,
        stuck_after_s=stuck_after_s,
        setup=log,
    )
    # A failure that a person must correct, such as a wrong password, ends the command. Otherwise the workers try again.
    try:
        connect(**arguments, connect_wait_s=0).close()
    except MQIError as error:
        if not error.clears_up:
            raise
        _log.warning("%s. The workers try again", error)
    with stop_on_signals(supervised) as stopping:
        in_order = supervised.run(http=http)
    if stopping.signal is not None:
        complain(f"stopped by {stopping.signal.name}; the same command continues")
    if not in_order:
        sys.exit(ExitCode.FAILED)

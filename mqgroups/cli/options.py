"""Options that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial, reduce
from inspect import cleandoc
from pathlib import Path
from textwrap import wrap
from typing import Any, get_args, get_origin

import click

from mqgroups.core.unit_of_work import LONGEST_S, Every
from mqgroups.errors import ConfigurationError
from mqgroups.names import checked_name, checked_queue_name
from mqgroups.setting import Field, Settings, checked_seconds, settings_of

Command = Callable[..., None]
Decorator = Callable[[Command], Command]


def checked(metavar: str, check: Callable[[Any], object], read: Callable[[str], Any] = str) -> Callable[[str], Any]:
    """Return an option type that calls ``check`` before the command connects. If a value is wrong, the error names the option."""

    def convert(text: str) -> Any:
        value = read(text)
        try:
            check(value)
        except ConfigurationError as error:
            raise click.BadParameter(str(error)) from error
        return value

    # click shows this name of the type.
    convert.__name__ = metavar
    return convert


NAME = checked("NAME", checked_name)
QUEUE = checked("QUEUE", partial(checked_queue_name, "queue"))
SECONDS = checked("SECONDS", partial(checked_seconds, "it"), click.FLOAT)
EXISTING_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
# How many seconds a command waits by default. A command that only looks waits less, to report soon that no queue manager answers.
WAIT_S, LOOK_S = 30.0, 5.0
# If nothing happens in an incomplete group for this time, the group counts as stalled.
STALLED_AFTER = timedelta(minutes=5)
# When ``send`` and ``receive`` commit.
FILES_EVERY = Every(messages=1000, bytes=16 << 20, seconds=LONGEST_S)


def combined(options: Sequence[Decorator]) -> Decorator:
    """Return a decorator that adds these options, in this order."""
    return lambda command: reduce(lambda made, each: each(made), reversed(options), command)


def setting_options(settings: type[Settings], *names: str) -> Decorator:
    """Return a decorator that adds an option for each named field. The command's argument has the field's name."""
    known = {each.name: each for each in settings_of(settings)}
    return combined([_option(known[name]) for name in names])


def _option(field: Field) -> Decorator:
    more: dict[str, Any] = {"type": checked("NAME", field.check_value)}
    text = field.first_sentence
    if field.kind is bool:
        more = {"is_flag": True}
    elif field.choices:
        more = {"type": click.Choice(field.choices)}
    elif float in (field.kind, *get_args(field.kind)):
        more = {"type": checked("SECONDS", field.check_value, click.FLOAT)}
    elif int in (field.kind, *get_args(field.kind)):
        more = {"type": checked("NUMBER", field.check_value, click.INT)}
    elif get_origin(field.kind) is Collection:
        what = field.name.rpartition("_")[2].removesuffix("s").upper()
        more = {"multiple": True, "type": checked(what, lambda value: field.check_value([value]))}
        text = f"{text.removesuffix('.')}; may be repeated."
    # The option for group_wait_s is --group-wait. The option for record_users is --record-user, which is repeated for each user.
    flag = f"--{re.sub('_s$' if not more.get('multiple') else 's$', '', field.name).replace('_', '-')}"
    return click.option(flag, field.name, default=field.default, help=text[:1].upper() + text[1:], **more)


def host_and_port(value: str) -> tuple[str, int]:
    """Split ``HOST:PORT`` into host and port."""
    host, _, port = value.rpartition(":")
    host = host.strip("[]")
    if not host or not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is not HOST:PORT, such as 127.0.0.1:1414")
    return host, int(port)


def pair(form: str) -> dict[str, Any]:
    """Return the type and the metavar of an option whose value consists of two texts, such as OLD=NEW."""

    def read(value: str) -> tuple[str, str]:
        first, _, second = value.partition("=")
        if not first or not second:
            raise click.BadParameter(f"{value!r} is not {form}")
        return first, second

    return {"type": read, "metavar": form}


output_option = click.option(
    "--output",
    "-o",
    type=click.Choice(["table", "json"]),
    default="table",
    help="Text for people, or JSON (docs/reference/json.md).",
)
apply_option = click.option("--apply", is_flag=True, help="Do it. Without --apply, the command shows what it would do.")
name_option = click.option("--name", required=True, type=NAME, help="The name of the producer or consumer.")
own_status_queue_option = click.option(
    "--status-queue", type=QUEUE, help="Its status queue. Default: MQGROUPS.PUT.NAME or MQGROUPS.GET.NAME."
)
status_queues_option = click.option(
    "--status-queue",
    "status_queues",
    multiple=True,
    type=QUEUE,
    help="A status queue that the command server does not list; may be repeated.",
)


def states_told(states: Iterable[Any]) -> Callable[[click.Command], click.Command]:
    """Return a decorator that replaces STATES in a command's help with a list of the states and their meanings."""

    def told(command: click.Command) -> click.Command:
        lines = [line for each in states for line in _state_lines(each.value, each.means)]
        command.help = cleandoc(command.help or "").replace("STATES", "\n".join(["\b", "States:", *lines]))
        return command

    return told


def _state_lines(state: str, means: str) -> Iterator[str]:
    first, *rest = wrap(means, 56)
    if len(state) > 16:
        yield f"  {state}"
        state = ""
    yield f"  {state:<16} {first}"
    yield from (f"{'':18} {line}" for line in rest)

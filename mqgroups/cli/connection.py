"""Connects a command to a queue manager, and turns errors into the command's message and exit code."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click
from click.core import ParameterSource

from mqgroups.cli.console import ProgressLine, complain, echo
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import LOOK_S, SECONDS, WAIT_S, Decorator, combined
from mqgroups.cli.report import Report
from mqgroups.connection.retry import CONNECT_LATER, Patience, retrying
from mqgroups.errors import ConfigurationError, MQGroupsError, MQIError, OwnerActive
from mqgroups.mqi.abc import ConnectArguments
from mqgroups.mqi.secret import SECRETS, Secret
from mqgroups.printable import printable
from mqgroups.queue_manager import QueueManager, connect
from mqgroups.setting import Field, settings_of

_METAVARS = {"conn_name": "HOST(PORT)", "ccdt_url": "URL", "key_repository": "FILE"}
# Settings of a connection that are not options of commands. The variable MQSSLFIPS sets ``fips``.
_NO_OPTIONS = frozenset({"fips"})
# Secrets of the environment that are used only together with another setting.
_ONLY_WITH = {"password": ["user"], "key_repository_password": ["key_repository"]}


class _SharedOption(click.Option):
    """An option that all connecting commands have. A command's help shows only the first; ``--help-connection`` shows all."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        if ctx.command is explained:
            return super().get_help_record(ctx)
        if self.name == "q_mgr_name":
            return "--q-mgr NAME ...", "How to connect, and how long to wait: mqgroups --help-connection."
        return None


class _ConnectionOption(_SharedOption):
    """An option for connecting. If the command line has one of these options, the environment is used for none of them.

    So a password is sent only to the address with which the password was given.
    """

    def __init__(self, flags: Sequence[str], *, variable: str, secret: str = "", **more: Any) -> None:
        """Make an option. ``variable``: the environment variable with the option's value, or for --NAME-env with the secret."""
        self.variable, self._secret = variable, secret
        super().__init__(flags, envvar=None if secret else variable, show_envvar=not secret, **more)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        options = [each for each in ctx.command.params if isinstance(each, _ConnectionOption)]
        given = next((each for each in options if each.name in opts), None)
        if given is not None and self is options[0] and not ctx.resilient_parsing:
            unused = dict.fromkeys(each.variable for each in options if os.environ.get(each.variable))
            if unused:
                complain(f"the command line has {given.opts[0]}, so these are not used: {', '.join(unused)}")
        if given is not None and self.name not in opts:
            return self.get_default(ctx), ParameterSource.DEFAULT
        if given is None and self._has_secret():
            return self.variable, ParameterSource.ENVIRONMENT
        return super().consume_value(ctx, opts)

    def _has_secret(self) -> bool:
        """Return whether the environment has the secret itself, and not the name of a file with the secret."""
        needed = [self.variable, *(_variable_of(each) for each in _ONLY_WITH.get(self._secret, ()))]
        return bool(self._secret) and all(map(os.environ.get, needed)) and not os.environ.get(f"{self.variable}_FILE")


def _variable_of(name: str) -> str:
    return f"MQGROUPS_{name.upper()}"


def connection_options(wait_s: float = WAIT_S) -> Decorator:
    """Return a decorator that adds the options for connecting to a queue manager."""
    wait = click.option(
        "--wait",
        "wait_s",
        type=SECONDS,
        default=wait_s,
        show_default=False,
        help="How long to wait for the queue manager, and for a program at work under a name that the command needs. "
        f"Default: {LOOK_S:.0f} for a look, else {WAIT_S:.0f}.",
        cls=_SharedOption,
    )
    options: list[Decorator] = []
    for field in settings_of(ConnectArguments):
        if field.name in SECRETS:
            options += _secret_options(field)
        elif field.name not in _NO_OPTIONS:
            options.append(_option(field))
    return combined([*options, wait])


def _option(field: Field) -> Decorator:
    # ``default=None`` would also count as a default.
    more: dict[str, Any] = {"default": "DEV.APP.SVRCONN"} if field.name == "channel" else {}
    text = field.first_sentence
    return click.option(
        "--q-mgr" if field.name == "q_mgr_name" else f"--{field.name}".replace("_", "-"),
        field.name,
        metavar=_METAVARS.get(field.name, "NAME"),
        help=text[:1].upper() + text[1:],
        required=field.name == "q_mgr_name",
        cls=_ConnectionOption,
        variable=_variable_of(field.name),
        **more,
    )


def _secret_options(field: Field) -> list[Decorator]:
    """Return the options --NAME-env and --NAME-file. All users of a machine can see arguments, so there is no --NAME."""
    name, what = field.name.replace("_", "-"), field.first_sentence.removesuffix(".")
    variable = _variable_of(field.name)
    return [
        click.option(
            f"--{name}-env",
            metavar="VARIABLE",
            help=f"The environment variable that holds {what}.  [env var: {variable} has it]",
            cls=_ConnectionOption,
            variable=variable,
            secret=field.name,
        ),
        click.option(
            f"--{name}-file",
            metavar="FILE",
            help=f"A file that holds {what}; not with --{name}-env.",
            cls=_ConnectionOption,
            variable=f"{variable}_FILE",
        ),
    ]


@click.command(add_help_option=False)
@connection_options()
def explained(**_: object) -> None:
    """These options determine how to connect.

    If the command line has one of them, except --wait, no option takes its value from the environment. So a password is sent only
    to the address with which it was given.
    """


def parted(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide options into a command's own options and the options that ``connection_options`` adds."""
    of_connection = {each.name for each in explained.params}
    own = {name: value for name, value in options.items() if name not in of_connection}
    return own, {name: value for name, value in options.items() if name in of_connection}


def connect_arguments(**options: Any) -> dict[str, Any]:
    """Convert the options that ``connection_options`` adds into arguments of ``connect``, without the time to wait."""
    options.pop("wait_s", None)
    for name in SECRETS:
        variable, file = options.pop(f"{name}_env"), options.pop(f"{name}_file")
        if file is not None and variable is not None:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option}-file and {option}-env cannot be combined. Use one of them")
        named = None if variable is None else Secret.from_variable(variable)
        options[name] = named if file is None else Secret.from_file(file)
    options["conn_name"] = options["conn_name"] or None
    if options["conn_name"] is None:
        options["channel"] = None
    return options


def open_q_mgr(*, acts: bool = False, reconnects: bool = False, **options: Any) -> QueueManager:
    """Connect with the options that ``connection_options`` adds."""
    arguments = connect_arguments(**options) | {"connect_wait_s": 0}
    awaited, why, began_s = arguments["q_mgr_name"], "", time.monotonic()
    line = ProgressLine()

    def sleep(seconds: float) -> None:
        with line:
            line.say(f"waiting for {awaited}: {time.monotonic() - began_s:.0f} s of {options['wait_s']:.0f} s{why}")
            time.sleep(seconds)

    def say(error: MQIError, _pause_s: float) -> None:
        nonlocal why
        why = f"; {error.reason} {error.reason_name}"

    if not reconnects:
        arguments |= {"reconnect_wait_s": 0, "sleep": sleep}
    until = retrying(Patience(options["wait_s"]), CONNECT_LATER, sleep, say, q_mgr_name=arguments["q_mgr_name"])
    q_mgr = until(connect, **arguments)
    # From now on ``sleep`` is only called to wait until another program closes a status queue.
    awaited, why, began_s = "the status queue", "", time.monotonic()
    if acts:
        say_where({**options, "q_mgr_name": q_mgr.q_mgr_name})
    return q_mgr


def say_where(options: Mapping[str, Any]) -> None:
    """Print to standard error on which queue manager a command acts, and as which user."""
    address = options["conn_name"] or options["ccdt_url"]
    who = "by a token" if options.get("token_env") or options.get("token_file") else "as the user of this process"
    who = f"as user {options['user']}" if options["user"] else who
    echo(printable(f"queue manager {options['q_mgr_name']}{f' at {address}' if address else ''}, {who}"), err=True)


@contextmanager
def connected(report: Report, *, acts: bool = False, **options: Any) -> Iterator[QueueManager]:
    """Connect for the ``with`` block, as ``open_q_mgr`` does. After an error, the command ends with the error's exit code."""
    try:
        with open_q_mgr(acts=acts, **options) as q_mgr:
            yield q_mgr
    except ConfigurationError:
        raise
    except OwnerActive as error:
        report.fail(ExitCode.OWNER_ACTIVE, error)
    except MQGroupsError as error:
        report.fail(ExitCode.of(error), error)

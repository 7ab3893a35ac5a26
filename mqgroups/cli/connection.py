"""Connects a command to a queue manager, and turns errors into the command's message and exit code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from mqgroups.cli.console import echo
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import wait_option
from mqgroups.cli.profiles import ConnectionOption, profile_option, variable_of
from mqgroups.cli.progress import Progress
from mqgroups.cli.report import Report
from mqgroups.cli.secrets import Command, secret, secret_options
from mqgroups.errors import ConfigurationError, MQGroupsError, OwnerActive
from mqgroups.mqi.abc import ConnectArguments
from mqgroups.mqi.secret import SECRETS
from mqgroups.printable import printable
from mqgroups.queue_manager import QueueManager, connect
from mqgroups.setting import Field, settings_of

_METAVARS = {"conn_name": "HOST(PORT)", "ccdt_url": "URL", "key_repository": "FILE"}
_NO_OPTIONS = frozenset({"fips"})
_USUAL_CHANNEL = "DEV.APP.SVRCONN"


def connection_options(required: bool = True, *, waits: bool = True) -> Callable[[Command], Command]:
    """Return a decorator that adds the options for connecting to a queue manager.

    ``profiles.py`` says where their values come from.

    Args:
        required: whether a queue manager must be named.
        waits: whether there is an option for how long to wait for it.
    """

    options: list[Callable[[Command], Command]] = [*([wait_option] if waits else []), profile_option]
    for field in settings_of(ConnectArguments):
        if field.name in SECRETS:
            options += secret_options(field)
        elif field.name not in _NO_OPTIONS:
            options.append(_option(field, required=required and field.name == "q_mgr_name"))

    def add(command: Command) -> Command:
        for each in reversed(options):
            command = each(command)
        return command

    return add


def _option(field: Field, *, required: bool) -> Callable[[Command], Command]:
    more: dict[str, Any] = {"default": _USUAL_CHANNEL, "show_default": True} if field.name == "channel" else {}
    text = field.first_sentence
    return click.option(
        "--q-mgr" if field.name == "q_mgr_name" else f"--{field.name}".replace("_", "-"),
        field.name,
        envvar=variable_of(field.name),
        show_envvar=True,
        metavar=_METAVARS.get(field.name, "NAME"),
        help=text[:1].upper() + text[1:],
        required=required,
        cls=ConnectionOption,
        **more,
    )


def connect_arguments(
    *,
    conn_name: str | None,
    channel: str,
    password_env: str | None,
    password_file: str | None,
    token_env: str | None,
    token_file: str | None,
    key_repository_password_env: str | None,
    key_repository_password_file: str | None,
    **settings: Any,
) -> dict[str, Any]:
    """Return arguments of ``connect`` for the options of ``connection_options``; ``settings`` are those of the same name."""
    if "wait_s" in settings:
        settings["connect_wait_s"] = settings.pop("wait_s")
    return {
        **settings,
        "channel": channel if conn_name else None,
        "conn_name": conn_name or None,
        "password": secret("password", password_env, password_file),
        "token": secret("token", token_env, token_file),
        "key_repository_password": secret(
            "key-repository-password", key_repository_password_env, key_repository_password_file
        ),
    }


def open_q_mgr(*, acts: bool = False, reconnects: bool = False, **options: Any) -> QueueManager:
    """Connect; ``options`` are those of ``connection_options``.

    Args:
        acts: say where the command acts, and as which user.
        reconnects: whether a lost connection is made again.
        options: see above.

    Raises:
        UsageError: options cannot be combined, or a secret is missing.
        BindingMissing, MQIError: connecting failed.
    """
    arguments = connect_arguments(**options)
    awaited, began_s = arguments["q_mgr_name"], time.monotonic()
    line = Progress()

    def sleep(seconds: float) -> None:
        with line:
            line.say(f"waiting for {awaited}: {time.monotonic() - began_s:.0f} s of {options['wait_s']:.0f} s")
            time.sleep(seconds)

    if not reconnects:
        arguments |= {"reconnect_wait_s": 0, "sleep": sleep}
    q_mgr = connect(**arguments)
    # A connection that is there sleeps only until another program closes a status queue.
    awaited, began_s = "the status queue", time.monotonic()
    if acts:
        say_where(**{**options, "q_mgr_name": q_mgr.q_mgr_name})
    return q_mgr


def say_where(
    *,
    q_mgr_name: str,
    conn_name: str | None,
    ccdt_url: str | None,
    user: str | None,
    token_env: str | None = None,
    token_file: str | None = None,
    **_: Any,
) -> None:
    """Say on standard error on which queue manager a command acts, and as which user."""
    address, who = conn_name or ccdt_url, "by a token" if token_env or token_file else "as the user of this process"
    who = f"as user {user}" if user else who
    echo(printable(f"queue manager {q_mgr_name}{f' at {address}' if address else ''}, {who}"), err=True)


@contextmanager
def connected(report: Report, *, acts: bool = False, **options: Any) -> Iterator[QueueManager]:
    """Connect for the ``with`` block, as ``open_q_mgr``. An error ends the report, with the error's exit code."""
    try:
        with open_q_mgr(acts=acts, **options) as q_mgr:
            yield q_mgr
    except ConfigurationError:
        raise
    except OwnerActive as error:
        report.fail(ExitCode.OWNER_ACTIVE, error)
    except MQGroupsError as error:
        report.fail(ExitCode.FAILED, error)

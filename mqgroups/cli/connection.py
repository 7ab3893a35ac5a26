"""Connects a command to a queue manager, and turns errors into the command's message and exit code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.profiles import ConnectionOption, profile_option
from mqgroups.cli.progress_line import ProgressLine
from mqgroups.cli.report import Report
from mqgroups.cli.secrets import Command, no_password, secret, secret_options
from mqgroups.errors import (
    BindingMissing,
    CommandRefused,
    CommitOutcomeUnknown,
    ConfigurationError,
    ConnectionBroken,
    MQIError,
    OwnerActive,
    StatusError,
)
from mqgroups.queue_manager import QueueManager, connect


def connection_options(required: bool = True) -> Callable[[Command], Command]:
    """Return a decorator that adds the options for connecting to a queue manager.

    Each can also be set by an environment variable, or in a profile. ``required``: whether a queue manager must be named.
    """

    def option(name: str, parameter: str, envvar: str, help_: str, **more: Any) -> Callable[[Command], Command]:
        return click.option(
            name,
            parameter,
            envvar=envvar,
            show_envvar=True,
            help=help_,
            cls=ConnectionOption,
            **{"metavar": "NAME", **more},
        )

    options: list[Callable[[Command], Command]] = [
        profile_option,
        option("--q-mgr", "q_mgr_name", "MQGROUPS_Q_MGR_NAME", "The queue manager.", required=required),
        option(
            "--conn-name",
            "conn_name",
            "MQGROUPS_CONN_NAME",
            "Where it listens. Default: from MQSERVER or a CCDT.",
            metavar="HOST(PORT)",
        ),
        option(
            "--channel",
            "channel",
            "MQGROUPS_CHANNEL",
            "Its server-connection channel; used with --conn-name only.",
            default="DEV.APP.SVRCONN",
            show_default=True,
        ),
        option(
            "--ccdt-url",
            "ccdt_url",
            "MQGROUPS_CCDT_URL",
            "A client channel definition table, instead of --conn-name; ibmmq only.",
            metavar="URL",
        ),
        option("--user", "user", "MQGROUPS_USER", "The user to connect as; needs a password."),
        *secret_options("password", "the user's password"),
        *secret_options("token", "a JSON web token, used instead of a user; ibmmq only"),
        option("--cipher-spec", "cipher_spec", "MQGROUPS_CIPHER_SPEC", "The CipherSpec of TLS; needs --conn-name."),
        option(
            "--key-repository",
            "key_repository",
            "MQGROUPS_KEY_REPOSITORY",
            "The key repository of TLS.",
            metavar="FILE",
        ),
        *secret_options("key-repository-password", "the password of the key repository; ibmmq only"),
        option(
            "--certificate-label",
            "certificate_label",
            "MQGROUPS_CERTIFICATE_LABEL",
            "The label of this client's certificate in the key repository.",
        ),
        option(
            "--peer-name",
            "peer_name",
            "MQGROUPS_PEER_NAME",
            "The distinguished name that the queue manager's certificate must match.",
        ),
    ]

    def add(command: Command) -> Command:
        for each in reversed(options):
            command = each(command)
        return command

    return add


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
    user = settings["user"]
    password = secret("password", password_env, password_file, wanted=user is not None)
    if user is not None and password is None and password_env is not None:
        raise no_password(user, password_env, "--password-env")
    repository_password = secret(
        "key-repository-password",
        key_repository_password_env,
        key_repository_password_file,
        wanted=settings["key_repository"] is not None,
    )
    return {
        **settings,
        "channel": channel if conn_name else None,
        "conn_name": conn_name or None,
        "password": password,
        "token": secret("token", token_env, token_file),
        "key_repository_password": repository_password,
    }


def open_q_mgr(wait_s: float, **options: Any) -> QueueManager:
    """Connect; ``options`` are those of ``connection_options``.

    Raises:
        UsageError: options cannot be combined, or a secret is missing.
        BindingMissing, MQIError: connecting failed.
    """
    arguments = connect_arguments(**options)
    awaited, began_s = arguments["q_mgr_name"], time.monotonic()
    with ProgressLine() as line:

        def sleep(seconds: float) -> None:
            line.say(f"waiting for {awaited}: {time.monotonic() - began_s:.0f} s of {wait_s:.0f} s")
            time.sleep(seconds)
            line.clear()

        try:
            q_mgr = connect(**arguments, connect_wait_s=wait_s, reconnect_wait_s=0, sleep=sleep)
        except ConfigurationError as error:
            raise click.UsageError(str(error)) from error
    # A connection that is there sleeps only until another program closes a status queue.
    awaited, began_s = "the status queue", time.monotonic()
    return q_mgr


@contextmanager
def connected(report: Report, wait_s: float, **options: Any) -> Iterator[QueueManager]:
    """Connect for the ``with`` block. An error while connecting or in the block ends the report, with the error's exit code.

    ``options`` are those of ``connection_options``.
    """
    code = ExitCode.NO_CONNECTION
    try:
        with open_q_mgr(wait_s, **options) as q_mgr:
            code = ExitCode.FAILED
            yield q_mgr
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    except OwnerActive as error:
        report.fail(ExitCode.OWNER_ACTIVE, error)
    except StatusError as error:
        report.fail(ExitCode.DISARRAY, error)
    except (ConnectionBroken, CommitOutcomeUnknown) as error:
        report.fail(ExitCode.NO_CONNECTION, error)
    except (MQIError, BindingMissing, CommandRefused) as error:
        report.fail(code, error)

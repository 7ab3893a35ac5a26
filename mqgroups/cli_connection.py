"""What the commands that look at a queue manager have in common: how to get there, and how to say what went wrong."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console

from mqgroups.core.status import StatusRecord, encode
from mqgroups.errors import (
    BindingMissing,
    CommitOutcomeUnknown,
    ConfigurationError,
    ConnectionBroken,
    MQGroupsError,
    MQIError,
)
from mqgroups.queue_manager import QueueManager, connect

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_OWNER_ACTIVE = 4
EXIT_DISARRAY = 5
EXIT_NO_CONNECTION = 6

Command = Callable[..., None]


class Report:
    """What a command says, and its exit code: text as it comes, or JSON at the end."""

    def __init__(self, said: dict[str, Any], *, as_json: bool, code: int = 0) -> None:
        self.said = said
        self.as_json = as_json
        self.code = code

    def failed(self, code: int, error: MQGroupsError) -> None:
        """Say why there is no more to say."""
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"mqgroups: {error}", markup=False)
        self.said |= error_values(error)
        self.code = code

    def end(self) -> int:
        """Write JSON, if that is wanted; returns the exit code."""
        if self.as_json:
            click.echo(json.dumps({**self.said, "exit_code": self.code}, indent=2))
        return self.code


def connection_options(command: Command) -> Command:
    """How to get to the queue manager; each from the environment too."""

    def option(name: str, parameter: str, envvar: str, help_: str, **more: Any) -> Callable[[Command], Command]:
        return click.option(name, parameter, envvar=envvar, show_envvar=True, metavar="NAME", help=help_, **more)

    options: list[Callable[[Command], Command]] = [
        option("--q-mgr", "q_mgr_name", "MQGROUPS_Q_MGR_NAME", "Queue manager.", required=True),
        option("--conn-name", "conn_name", "MQGROUPS_CONN_NAME", "host(port). Default: what MQSERVER or a CCDT says."),
        option(
            "--channel",
            "channel",
            "MQGROUPS_CHANNEL",
            "Server-connection channel, with --conn-name.",
            default="DEV.APP.SVRCONN",
            show_default=True,
        ),
        option("--user", "user", "MQGROUPS_USER", "User, with a password."),
        click.option(
            "--password-env",
            default="MQGROUPS_PASSWORD",
            show_default=True,
            metavar="VARIABLE",
            help="The environment variable that holds the user's password.",
        ),
        option("--cipher-spec", "cipher_spec", "MQGROUPS_CIPHER_SPEC", "CipherSpec, for TLS."),
        option("--key-repository", "key_repository", "MQGROUPS_KEY_REPOSITORY", "Key repository, for TLS."),
    ]
    for each in reversed(options):
        command = each(command)
    return command


@contextmanager
def connected(
    report: Report,
    wait_s: float,
    *,
    q_mgr_name: str,
    conn_name: str | None,
    channel: str,
    user: str | None,
    password_env: str,
    cipher_spec: str | None,
    key_repository: str | None,
) -> Iterator[QueueManager]:
    """Connect, and end the command if that fails, or what is done then."""
    password = os.environ.get(password_env)
    if user is not None and not password:
        raise click.BadParameter(
            f"the environment variable {password_env}, which should hold the password of {user}, is not set or empty",
            param_hint="'--password-env'",
        )
    code = EXIT_NO_CONNECTION
    try:
        with connect(
            q_mgr_name,
            channel if conn_name else None,
            conn_name or None,
            user=user,
            password=password if user else None,
            cipher_spec=cipher_spec,
            key_repository=key_repository,
            connect_wait_s=wait_s,
            reconnect_wait_s=0,
        ) as q_mgr:
            code = EXIT_FAILED
            yield q_mgr
        return
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    except (ConnectionBroken, CommitOutcomeUnknown) as error:
        report.failed(EXIT_NO_CONNECTION, error)
    except (MQIError, BindingMissing) as error:
        report.failed(code, error)
    sys.exit(report.end())


def record_values(record: StatusRecord | None) -> dict[str, Any] | None:
    """Return the record as it lies on its queue, without its envelope."""
    if record is None:
        return None
    values: dict[str, Any] = json.loads(encode(record))
    del values["sha256"]
    return values


def error_values(error: MQGroupsError) -> dict[str, str]:
    """Return which error it is, and what it says."""
    return {"error": type(error).__name__, "message": str(error)}

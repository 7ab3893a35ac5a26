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
    CommandRefused,
    CommitOutcomeUnknown,
    ConfigurationError,
    ConnectionBroken,
    MQGroupsError,
    MQIError,
)
from mqgroups.mqi.secret import Secret
from mqgroups.queue_manager import QueueManager, connect

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_OWNER_ACTIVE = 4
EXIT_DISARRAY = 5
EXIT_NO_CONNECTION = 6
EXIT_MISSING = 7
EXIT_DOUBLED = 8

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

    def secret(name: str, what: str) -> list[Callable[[Command], Command]]:
        variable = _variable(name)
        return [
            click.option(
                f"--{name}-env",
                default=variable,
                show_default=True,
                metavar="VARIABLE",
                help=f"The environment variable that holds {what}.",
            ),
            click.option(
                f"--{name}-file",
                envvar=f"{variable}_FILE",
                show_envvar=True,
                metavar="FILE",
                help=f"A file that holds {what}, instead.",
            ),
        ]

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
        option(
            "--ccdt-url", "ccdt_url", "MQGROUPS_CCDT_URL", "Channel definition table, not with --conn-name; ibmmq only."
        ),
        option("--user", "user", "MQGROUPS_USER", "User, with a password."),
        *secret("password", "the user's password"),
        *secret("token", "a JSON web token, instead of a user; ibmmq only"),
        option("--cipher-spec", "cipher_spec", "MQGROUPS_CIPHER_SPEC", "CipherSpec, for TLS; with --conn-name."),
        option("--key-repository", "key_repository", "MQGROUPS_KEY_REPOSITORY", "Key repository, for TLS."),
        *secret("key-repository-password", "the password of the key repository; ibmmq only"),
        option("--certificate-label", "certificate_label", "MQGROUPS_CERTIFICATE_LABEL", "Certificate of this client."),
        option("--peer-name", "peer_name", "MQGROUPS_PEER_NAME", "What the queue manager's certificate has to say."),
    ]
    for each in reversed(options):
        command = each(command)
    return command


@contextmanager
def connected(
    report: Report,
    wait_s: float,
    *,
    conn_name: str | None,
    channel: str,
    password_env: str,
    password_file: str | None,
    token_env: str,
    token_file: str | None,
    key_repository_password_env: str,
    key_repository_password_file: str | None,
    **settings: Any,
) -> Iterator[QueueManager]:
    """Connect, and end the command if that fails, or what is done then. ``settings`` are those of ``connect``."""
    password = _secret("password", password_env, password_file, wanted=settings["user"] is not None)
    if settings["user"] is not None and password is None:
        raise click.BadParameter(
            f"the environment variable {password_env}, which should hold the password of {settings['user']}, is not set or empty",
            param_hint="'--password-env'",
        )
    repository_password = _secret(
        "key-repository-password",
        key_repository_password_env,
        key_repository_password_file,
        wanted=settings["key_repository"] is not None,
    )
    code = EXIT_NO_CONNECTION
    try:
        with connect(
            channel=channel if conn_name else None,
            conn_name=conn_name or None,
            password=password,
            token=_secret("token", token_env, token_file),
            key_repository_password=repository_password,
            connect_wait_s=wait_s,
            reconnect_wait_s=0,
            **settings,
        ) as q_mgr:
            code = EXIT_FAILED
            yield q_mgr
        return
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    except (ConnectionBroken, CommitOutcomeUnknown) as error:
        report.failed(EXIT_NO_CONNECTION, error)
    except (MQIError, BindingMissing, CommandRefused) as error:
        report.failed(code, error)
    sys.exit(report.end())


def _variable(name: str) -> str:
    return f"MQGROUPS_{name.replace('-', '_').upper()}"


def _secret(name: str, variable: str, file: str | None, *, wanted: bool = True) -> Secret | None:
    """Return where a secret is: in what was named, or in the usual environment variable if it is ``wanted`` and there."""
    usual = variable == _variable(name)
    if file is not None:
        if not usual:
            raise click.UsageError(f"--{name}-file and --{name}-env: give one or the other")
        return Secret.from_file(file)
    return Secret.from_variable(variable) if not usual or (wanted and os.environ.get(variable)) else None


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

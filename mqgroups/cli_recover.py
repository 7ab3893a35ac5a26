"""The command ``mqgroups recover``: what is on an owner's status queue, as text or JSON, and as an exit code.

Made for what runs before an application: ``ExecStartPre=`` of a systemd unit, an init container. There 0 has to mean "start
it", so an interrupted group is no failure: the start resumes it. ``--check`` is for who wants to know.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol

import click
from rich.console import Console
from rich.text import Text

from mqgroups.config import STATUS_MODEL
from mqgroups.core.status import RecordState, StatusRecord, encode
from mqgroups.errors import (
    BindingMissing,
    CommitOutcomeUnknown,
    ConfigurationError,
    ConnectionBroken,
    MQGroupsError,
    MQIError,
    StatusError,
)
from mqgroups.queue_manager import QueueManager, connect
from mqgroups.recovery import OwnerState, OwnerStatus

EXIT_MAY_START = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 3
EXIT_OWNER_ACTIVE = 4
EXIT_DISARRAY = 5
EXIT_NO_CONNECTION = 6

_WAIT_S = 30.0

Command = Callable[..., None]


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


@click.command()
@click.option("--name", required=True, metavar="NAME", help="The producer's or consumer's name.")
@click.option("--role", type=click.Choice(["put", "get"]), help="Producer or consumer. Default: whichever there is.")
@click.option("--check", is_flag=True, help="Change nothing, and end with 3 if a group is interrupted.")
@click.option("--queue", metavar="QUEUE", help="Which it puts to or gets from, to be compared with its record.")
@click.option("--status-queue", metavar="QUEUE", help="Its status queue, with --role. Default: MQGROUPS.PUT|GET.NAME.")
@click.option(
    "--status-model",
    default=STATUS_MODEL,
    show_default=True,
    metavar="QUEUE",
    help="The model queue that its status queue is made from. Tried, with --role, if there is none yet.",
)
@connection_options
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help=f"How long to wait for the queue manager, and for another instance to go. Default: {_WAIT_S:g}, or 0 with --check.",
)
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON, on standard output.")
def recover(
    name: str,
    role: Literal["put", "get"] | None,
    check: bool,
    queue: str | None,
    status_queue: str | None,
    status_model: str,
    wait_s: float | None,
    as_json: bool,
    **connection: Any,
) -> None:
    """Look at a producer's or consumer's status queue before it is started.

    An interrupted group is left for the start to resume. A record that says nothing any more (of no group, or of a
    completed one without a checkpoint) is taken away, unless --check is given; nothing else is changed.

    \b
    Exit codes:
      0  the application may start: nothing is interrupted, or it resumes what is
      1  it did not work, and standard error says why
      2  the command was not understood
      3  with --check: a group is interrupted, and the next start resumes it
      4  another instance of this name is active, or not gone yet after --wait
      5  the status queue is in disarray, and a start would be refused: an operator has to look
      6  the queue manager cannot be connected to
    """
    if status_queue is not None and role is None:
        raise click.UsageError("--status-queue needs --role")
    if wait_s is None:
        wait_s = 0.0 if check else _WAIT_S
    report = _Report(name, connection["q_mgr_name"], check=check, as_json=as_json)
    with connected(report, wait_s, **connection) as q_mgr:
        for each in (role,) if role else ("put", "get"):
            try:
                status = q_mgr.inspect_owner(
                    name,
                    each,
                    queue=queue,
                    status_queue=status_queue,
                    status_model=status_model if role else None,
                    wait_s=wait_s,
                    tidy=not check,
                )
            except StatusError as error:
                report.disarray(each, error)
            else:
                report.found(status)
    sys.exit(report.end())


class _Report:
    """What is said, of each role that was looked at; the worst is the exit code."""

    def __init__(self, name: str, q_mgr_name: str, *, check: bool, as_json: bool) -> None:
        self._check = check
        self._as_json = as_json
        self._out = Console(highlight=False, soft_wrap=True)
        self._said: dict[str, Any] = {"name": name, "q_mgr_name": q_mgr_name, "owners": []}
        self._code = EXIT_MAY_START

    def found(self, status: OwnerStatus) -> None:
        """Say what there was."""
        code = {OwnerState.FREE: EXIT_MAY_START, OwnerState.ACTIVE: EXIT_OWNER_ACTIVE}.get(
            status.state, EXIT_INTERRUPTED if self._check else EXIT_MAY_START
        )
        self._add(
            code,
            {
                "role": status.role,
                "status_queue": status.status_queue,
                "state": status.state.value,
                "taken_away": status.taken_away,
                "record": _values(status.record),
            },
            _text(status),
        )

    def disarray(self, role: str, error: StatusError) -> None:
        """Say what is wrong with a status queue."""
        said = {"role": role, "status_queue": error.status_queue, "state": "disarray", **_error_values(error)}
        text = Text.assemble((f"{role} {self._said['name']}: status queue in disarray", "bold red"), f"\n  {error}")
        self._add(EXIT_DISARRAY, said, text)

    def failed(self, code: int, error: MQGroupsError) -> None:
        """Say why there is no more to say."""
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"mqgroups: {error}", markup=False)
        self._said |= _error_values(error)
        self._code = code

    def end(self) -> int:
        """Write JSON, if that is wanted; returns the exit code."""
        if self._as_json:
            click.echo(json.dumps({**self._said, "exit_code": self._code}, indent=2))
        return self._code

    def _add(self, code: int, values: dict[str, Any], text: Text) -> None:
        self._code = max(self._code, code)
        self._said["owners"].append(values)
        if not self._as_json:
            self._out.print(text)


class Reporter(Protocol):
    """Who is told that the queue manager cannot be connected to, or what was done on it failed."""

    def failed(self, code: int, error: MQGroupsError) -> None:
        """Say why there is no more to say."""

    def end(self) -> int:
        """Return the exit code."""


@contextmanager
def connected(
    report: Reporter,
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


def _text(status: OwnerStatus) -> Text:
    record = status.record
    style, sentence = {
        OwnerState.FREE: ("green", "nothing is interrupted"),
        OwnerState.INTERRUPTED: ("yellow", "a group is interrupted, and the next start resumes it"),
        OwnerState.ACTIVE: ("red", "another instance of this name is active, or not gone yet"),
    }[status.state]
    lines = [f"status queue  {status.status_queue}"]
    if record is not None:
        taken = ", taken away" if status.taken_away else ""
        lines.append(
            f"record        {record.state.value}, unit of work {record.unit_of_work}, epoch {record.epoch}{taken}"
        )
    if record is not None and record.state is not RecordState.IDLE:
        inside = f" and {record.offset} bytes of the next" if record.offset else ""
        lines += [
            f"group         {record.group_id.hex()} on queue {record.queue}",
            f"committed     {record.msg_seq_number} messages{inside}",
            f"checkpoint    {record.checkpoint!r}",
        ]
    return Text.assemble(
        (f"{status.role} {status.name}: {sentence}", f"bold {style}"), *(f"\n  {each}" for each in lines)
    )


def _values(record: StatusRecord | None) -> dict[str, Any] | None:
    """Return the record as it lies on its queue, without its envelope."""
    if record is None:
        return None
    values: dict[str, Any] = json.loads(encode(record))
    del values["sha256"]
    return values


def _error_values(error: MQGroupsError) -> dict[str, str]:
    return {"error": type(error).__name__, "message": str(error)}

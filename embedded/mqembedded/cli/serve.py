"""The commands ``mqembedded run`` and ``exec``, which run an embedded queue manager for any programs or for a single program."""

from __future__ import annotations

import ipaddress
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from mqembedded.cache import make_directory
from mqembedded.cli import cluster as clusters
from mqembedded.cli.manners import (
    DIRECTORY,
    FILE,
    Command,
    ExitCode,
    complain,
    host_and_port,
    in_words,
    log,
    one_message,
    passwords,
)


def _listen(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, int]:
    """Return the host and the port of ``HOST:PORT``; the host must be on loopback."""
    host, port = host_and_port(value)
    if not _is_loopback(host):
        raise click.BadParameter(
            f"{host} is not a loopback address. The embedded queue manager is for one machine: use 127.0.0.1, [::1] or "
            "localhost"
        )
    return host, port


def _regular(_context: click.Context, _parameter: click.Parameter, files: Sequence[Path]) -> Sequence[Path]:
    """Refuse pipes, such as the shell's ``<(...)``, because the queue manager's process reads the files at every start."""
    for each in files:
        if not each.is_file():
            raise click.BadParameter(f"{each} is not a regular file. Write the commands to a file, and give its name")
    return files


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _queue_manager_options(command: Command) -> Command:
    """Add the options that ``run`` and ``exec`` share."""
    options = [
        click.option("--qmgr", "q_mgr_name", default="QM1", metavar="NAME", help="The queue manager's name."),
        click.option(
            "--mqsc",
            multiple=True,
            type=FILE,
            callback=_regular,
            envvar="MQEMBEDDED_MQSC",
            show_envvar=True,
            help="A file of MQSC commands to run at every start; can be repeated.",
        ),
        click.option(
            "--user",
            "user_variables",
            multiple=True,
            metavar="NAME:VARIABLE",
            help="A user, and the environment variable with the password; can be repeated.",
        ),
        click.option(
            "--platform",
            type=click.Choice(["unix", "zos"]),
            default="unix",
            help="The platform whose rules apply where IBM MQ's platforms differ.",
        ),
        click.option(
            "--reading",
            "reading_values",
            multiple=True,
            metavar="NAME=VALUE",
            help="A choice of behaviour that IBM's documentation leaves open (table in embedded/README.md), "
            "or @FILE: a file of make first-contact, with the behaviour of a queue manager; can be repeated.",
        ),
        click.option(
            "--latency-ms",
            type=click.FloatRange(min=0),
            default=0,
            metavar="MS",
            help="Delay data by this many milliseconds in each direction, as on a slow line.",
        ),
        click.option(
            "--users-file", type=FILE, help="A file with a line NAME:PASSWORD for each user; # begins a comment line."
        ),
        click.option("--verbose", "-v", is_flag=True, help="Log more to standard error."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@_queue_manager_options
@click.option(
    "--listen",
    callback=_listen,
    metavar="HOST:PORT",
    default="127.0.0.1:1414",
    help="The loopback address to listen on; port 0 takes any free port. Any user of this machine can connect to it. With "
    "--require-credentials, only users of --user and --users-file can.",
)
@click.option(
    "--require-credentials",
    is_flag=True,
    help="Refuse applications without user and password. This sets CHCKCLNT(REQUIRED), which stays until it "
    "is altered. Needs --user or --users-file.",
)
@click.option(
    "--data",
    type=DIRECTORY,
    help="The directory to keep messages in. Default: mqembedded/NAME in $XDG_STATE_HOME or ~/.local/state.",
)
@click.option(
    "--cluster",
    type=FILE,
    help="Serve the cluster that this TOML file describes: all its queue managers, or only the queue manager of --qmgr.",
)
@click.pass_context
def run(
    context: click.Context,
    q_mgr_name: str,
    mqsc: Sequence[Path],
    user_variables: Sequence[str],
    platform: str,
    reading_values: Sequence[str],
    latency_ms: float,
    users_file: Path | None,
    verbose: bool,
    listen: tuple[str, int],
    require_credentials: bool,
    data: Path | None,
    cluster: Path | None,
) -> None:
    """Serve an embedded queue manager until SIGTERM or Ctrl-C.

    With --cluster, addresses and MQSC files come from the cluster file (files of --mqsc run first), and --data is the directory
    of the cluster. Each queue manager is a process of its own. You can kill it, and start it again with --qmgr.

    Applications without a user can connect, and have all authorities. If an application gives user and password, they must be
    in --user or --users-file, and SET AUTHREC decides what the user is allowed to do. Passwords are never arguments, because
    every user of the machine can read a command line.
    """
    log(verbose)
    users = passwords(user_variables, users_file)
    if require_credentials and (not users or cluster is not None):
        raise click.UsageError(
            "--require-credentials needs --user or --users-file, and cannot be combined with --cluster"
        )
    if cluster is not None:
        if latency_ms:
            raise click.UsageError("--latency-ms is for a queue manager that is in no cluster")
        is_given = context.get_parameter_source("q_mgr_name") is not click.core.ParameterSource.DEFAULT
        _run_cluster(cluster, q_mgr_name if is_given else None, data, mqsc, users, _log_level(verbose), reading_values)
        return

    def ready(host: str, port: int, *_: object) -> None:
        click.echo(
            f"Queue manager {q_mgr_name} (embedded: for development, not IBM MQ) is ready.\n"
            f"  connect to   {host}({port}), channel DEV.APP.SVRCONN\n"
            f"  data         {directory}\n"
            + (
                ""
                if require_credentials
                else "  any user of this machine can connect; --require-credentials asks for passwords\n"
            )
            + "  for programs in another shell:\n"
            f"    export MQSERVER='DEV.APP.SVRCONN/TCP/{host}({port})'\n"
            '    export LD_LIBRARY_PATH="$(mqembedded build --print-dir)/lib64"'
        )

    with one_message(about=f"queue manager {q_mgr_name} on {listen[0]}({listen[1]}): "):
        from mqembedded import Platform
        from mqembedded.readings import Readings, chosen_by
        from mqembedded.serve import process as server

        readings = Readings(chosen_by(reading_values))
        directory = data or _state_directory(q_mgr_name)
        server.run(
            q_mgr_name,
            *listen,
            directory,
            mqsc,
            users,
            Platform(platform),
            ready,
            readings=readings,
            require_credentials=require_credentials,
            latency_ms=latency_ms,
        )


def _run_cluster(
    file: Path,
    q_mgr_name: str | None,
    data: Path | None,
    mqsc: Sequence[Path],
    users: Mapping[str, str],
    log_level: str,
    reading_values: Sequence[str],
) -> None:
    with one_message():
        from mqembedded.readings import chosen_by
        from mqembedded.serve.cluster_file import read

        readings = chosen_by(reading_values)
        described = read(file)
        directory = data or _state_directory(described.cluster)
        if q_mgr_name is None:
            clusters.serve_all(described, directory, mqsc, users, log_level, readings)
        else:
            clusters.serve_one(described, q_mgr_name, directory, mqsc, users, readings)


@click.command("exec", context_settings={"allow_interspersed_args": False})
@_queue_manager_options
@click.option(
    "--data", type=DIRECTORY, help="The directory to keep messages in. By default a temporary directory, removed later."
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(
    q_mgr_name: str,
    mqsc: Sequence[Path],
    user_variables: Sequence[str],
    platform: str,
    reading_values: Sequence[str],
    latency_ms: float,
    users_file: Path | None,
    verbose: bool,
    data: Path | None,
    command: Sequence[str],
) -> None:
    """Start an embedded queue manager, run COMMAND on it, and stop it.

    \b
        mqembedded exec -- python your_pymqi_script.py

    COMMAND finds the queue manager by MQSERVER, as any IBM MQ program does. For programs that use mqgroups, MQGROUPS_CONN_NAME
    has the address and MQGROUPS_Q_MGR_NAME the name. Only COMMAND and the programs that it starts can connect, because they
    inherit a random key in MQEMBEDDED_ACCESS_KEY.

    \b
    Exit codes:
      the exit code of COMMAND, or 128 + n if signal n ended it
      125  the queue manager did not start; standard error has the reason
      126  COMMAND cannot be executed
      127  COMMAND does not exist
    """
    log(verbose)
    users = passwords(user_variables, users_file)
    with ExitStack() as stack:
        with one_message(ExitCode.NOT_STARTED):
            from mqembedded import EmbeddedQueueManager
            from mqembedded.readings import chosen_by

            q_mgr = stack.enter_context(
                EmbeddedQueueManager(
                    q_mgr_name,
                    data=data,
                    mqsc=mqsc,
                    users=users,
                    platform=platform,
                    log_level=_log_level(verbose),
                    readings=chosen_by(reading_values),
                    access_key=secrets.token_hex(16),
                    latency_ms=latency_ms,
                )
            )
            environment = {**os.environ, **q_mgr.environment(), "MQGROUPS_CONN_NAME": q_mgr.conn_name}
        code = _run_program(command, environment)
    sys.exit(code)


def _run_program(command: Sequence[str], environment: Mapping[str, str]) -> int:
    try:
        program = subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        complain(f"the program {command[0]} does not exist")
        return ExitCode.NOT_FOUND
    except OSError as error:
        complain(f"{command[0]} cannot be executed: {error.strerror}")
        return ExitCode.NOT_EXECUTABLE
    # Ctrl-C also reaches the program, which decides what to do. SIGTERM reaches only this process, so it is passed on.
    previous = (
        signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.signal(signal.SIGTERM, lambda number, _: program.send_signal(number)),
    )
    try:
        code = program.wait()
    finally:
        signal.signal(signal.SIGINT, previous[0])
        signal.signal(signal.SIGTERM, previous[1])
    return code if code >= 0 else ExitCode.SIGNAL - code


def _state_directory(name: str) -> Path:
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        directory = Path(state) / "mqembedded" / name
        make_directory(directory, 0o700)
    except (OSError, RuntimeError) as error:
        cause = in_words(error) if isinstance(error, OSError) else "this user has no home directory"
        raise click.UsageError(
            f"name a directory to keep messages in with --data, or in XDG_STATE_HOME: {cause}"
        ) from error
    return directory


def _log_level(verbose: bool) -> str:
    return "INFO" if verbose else "WARNING"

"""The command ``mqgroups``. A leaf: it turns words into calls, and errors into one message and an exit code.

    mqgroups recover          look at a producer's or consumer's status queue before it is started (cli_recover.py)
    mqgroups salvage look     show the groups on a queue, whole or not (cli_salvage.py)
    mqgroups salvage rebuild  write a lost status record again, from the messages of its group
    mqgroups salvage move     move what is left of a group to another queue
    mqgroups pipeline check   say whether a pipeline's file is right, and what would be read (cli_pipeline.py)
    mqgroups pipeline run     message groups through Spark
    mqgroups pipeline report  its report once more
    mqgroups status list      show what batches have left on a shared status queue (cli_status.py)
    mqgroups status purge     take away what a batch has left that is not done again
    mqgroups embedded build   compile the client library of the embedded queue manager
    mqgroups embedded run     serve an embedded queue manager until it is told to stop
    mqgroups embedded exec    run a program on an embedded queue manager of its own
    mqgroups embedded fault   let something go wrong at an MQI call
    mqgroups embedded quiesce end a queue manager as endmqm does
    mqgroups embedded calls   show how many MQI calls it has answered
    mqgroups embedded channel show, stop, start or break the channels of a cluster's queue manager
    mqgroups embedded mqsc    let a queue manager carry out MQSC commands, as runmqsc does

Exit codes: 0 done; 1 it did not work, and standard error says why; 2 the command was not understood. ``exec`` ends with
the exit code of the program, 128 + n if signal n ended it, and 125, 126 or 127 if it never ran (see its help). ``recover``
and ``salvage`` have exit codes for what they found (see their help).
"""

from __future__ import annotations

import functools
import ipaddress
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.logging import RichHandler

from mqgroups.cli.batches import status
from mqgroups.cli.pipeline import pipeline
from mqgroups.cli.recover import recover
from mqgroups.cli.salvage import salvage

if TYPE_CHECKING:
    from collections.abc import Iterator

EXIT_NOT_STARTED = 125
EXIT_NOT_EXECUTABLE = 126
EXIT_NOT_FOUND = 127
EXIT_SIGNAL = 128

_out = Console(highlight=False, soft_wrap=True)
_err = Console(stderr=True, highlight=False, soft_wrap=True)


def default_mqsc() -> Path:
    """Return the MQSC file that an embedded queue manager starts with: ``docker/20-mqgroups.mqsc`` of the sources.

    An installed package carries a copy beside the embedded queue manager; a checkout has the file itself.
    """
    package = Path(__file__).resolve().parents[1]
    installed = package / "embedded" / "20-mqgroups.mqsc"
    return installed if installed.exists() else package.parent / "docker" / "20-mqgroups.mqsc"


def _listen(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT`` on loopback."""
    host, _, port = value.rpartition(":")
    host = host.strip("[]")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is not HOST:PORT, such as 127.0.0.1:1414")
    if not _is_loopback(host):
        raise click.BadParameter(
            f"{host} is not a loopback address; the embedded queue manager is for one machine and listens on "
            "127.0.0.1, [::1] or localhost only"
        )
    return host, int(port)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_DIRECTORY = click.Path(file_okay=False, path_type=Path)

_Command = Callable[..., None]


def _queue_manager_options(command: _Command) -> _Command:
    """The options ``run`` and ``exec`` have in common."""
    options = [
        click.option("--qmgr", "q_mgr_name", default="QM1", show_default=True, metavar="NAME", help="Its name."),
        click.option(
            "--mqsc",
            multiple=True,
            type=_FILE,
            help="A file of MQSC commands to carry out at every start, after the standard one; may be repeated.",
        ),
        click.option(
            "--bare", is_flag=True, help="Leave the standard MQSC file out (MQGROUPS.STATUS.MODEL, ORDERS, FLIGHTS)."
        ),
        click.option(
            "--user",
            "user_variables",
            multiple=True,
            metavar="NAME:VARIABLE",
            help="A user, and the environment variable that holds the password; may be repeated.",
        ),
        click.option(
            "--platform",
            type=click.Choice(["unix", "zos"]),
            default="unix",
            show_default=True,
            help="Whose rules apply where platforms differ.",
        ),
        click.option(
            "--reading",
            "reading_values",
            multiple=True,
            metavar="NAME=VALUE",
            help="Which way it goes where IBM's texts leave something open: the table in mqgroups/embedded/README.md; may be "
            "repeated.",
        ),
        click.option(
            "--latency-ms",
            type=click.FloatRange(min=0),
            default=0,
            metavar="MS",
            help="Let what is sent arrive so much later, in each direction, as on a slow line.",
        ),
        click.option("--users-file", type=_FILE, help="Users, one NAME:PASSWORD a line; # begins a comment line."),
        click.option("--verbose", "-v", is_flag=True, help="Say more on standard error."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="mqgroups", message="mqgroups %(version)s")
def main() -> None:
    """IBM MQ message groups that span several units of work."""


main.add_command(pipeline)
main.add_command(recover)
main.add_command(salvage)
main.add_command(status)


@main.group()
def embedded() -> None:
    """A queue manager for development, tests and demos, where no IBM MQ is at hand.

    It is not IBM MQ and no replacement for it. Unmodified pymqi and ibmmq programs run on it.
    """


@embedded.command()
@click.option("--print-dir", is_flag=True, help="Print the directory and nothing else.")
def build(print_dir: bool) -> None:
    """Compile the client library, unless that was done before.

    The directory it ends up in is laid out as IBM's client is (inc/, lib64/libmqic_r.so, lib64/libmqm_r.so), so that
    pymqi can be built against it:

    \b
        MQ_FILE_PATH=$(mqgroups embedded build --print-dir) \\
            pip install --no-cache-dir --no-binary pymqi pymqi
    """
    with _one_message():
        from mqgroups.embedded.libmqm.build import build as build_library

        directory = build_library()
    click.echo(directory if print_dir else f"client library of the embedded queue manager: {directory}")


@embedded.command()
@_queue_manager_options
@click.option(
    "--listen",
    callback=_listen,
    metavar="HOST:PORT",
    default="127.0.0.1:1414",
    show_default=True,
    help="Loopback address to listen on; port 0 takes any that is free.",
)
@click.option(
    "--data",
    type=_DIRECTORY,
    help="Its directory, where messages are kept. Default: mqgroups/NAME in $XDG_STATE_HOME or ~/.local/state.",
)
@click.option(
    "--cluster",
    type=_FILE,
    help="Serve the cluster that this TOML file describes: all its queue managers, or the one of --qmgr.",
)
@click.pass_context
def run(
    context: click.Context,
    q_mgr_name: str,
    mqsc: Sequence[Path],
    bare: bool,
    user_variables: Sequence[str],
    platform: str,
    reading_values: Sequence[str],
    latency_ms: float,
    users_file: Path | None,
    verbose: bool,
    listen: tuple[str, int],
    data: Path | None,
    cluster: Path | None,
) -> None:
    """Serve an embedded queue manager until SIGTERM or Ctrl-C.

    With --cluster its addresses and MQSC files are those of the file (--mqsc are read before them), and --data is the directory
    of the cluster. Each queue manager is a process of its own, which can be killed, and started again with --qmgr.

    Applications may connect without a user, and may do everything then; a user and password that one does give must be among
    --user and --users-file, and SET AUTHREC says what it may do. A password is never an argument: a command line is there for
    everybody to read.
    """
    _log(verbose)
    users = _users(user_variables, users_file)
    if cluster is not None:
        if latency_ms:
            raise click.UsageError("--latency-ms is for a queue manager that is in no cluster")
        is_given = context.get_parameter_source("q_mgr_name") is not click.core.ParameterSource.DEFAULT
        log_level = "INFO" if verbose else "WARNING"
        _run_cluster(cluster, q_mgr_name if is_given else None, data, mqsc, users, log_level, reading_values)
        return
    directory = data or _state_directory(q_mgr_name)

    def ready(host: str, port: int, *_: object) -> None:
        _out.print(
            f"Queue manager {q_mgr_name} (embedded: for development, not IBM MQ) is ready.\n"
            f"  connect to   {host}({port}), channel DEV.APP.SVRCONN\n"
            f"  data         {directory}",
            markup=False,
        )

    with _one_message(about=f"queue manager {q_mgr_name} on {listen[0]}({listen[1]}): "):
        from mqgroups.embedded import Platform, server
        from mqgroups.embedded.readings import Readings, chosen_by

        readings = Readings(chosen_by(reading_values))
        directory.mkdir(parents=True, exist_ok=True)
        files = _mqsc_files(mqsc, bare=bare)
        rules = Platform(platform)
        serve = functools.partial(server.run, readings=readings, latency_ms=latency_ms)
        serve(q_mgr_name, *listen, directory, files, users, rules, ready)


def _run_cluster(
    file: Path,
    q_mgr_name: str | None,
    data: Path | None,
    mqsc: Sequence[Path],
    users: Mapping[str, str],
    log_level: str,
    reading_values: Sequence[str],
) -> None:
    def say(text: str) -> None:
        _out.print(text, markup=False)

    with _one_message():
        from mqgroups.cli.cluster import serve_all, serve_one
        from mqgroups.embedded.cluster_file import read
        from mqgroups.embedded.readings import chosen_by

        readings = chosen_by(reading_values)
        described = read(file)
        directory = data or _state_directory(described.cluster)
        if q_mgr_name is None:
            serve_all(described, directory, mqsc, users, log_level, say, readings)
        else:
            serve_one(described, q_mgr_name, directory, mqsc, users, say, readings)


@embedded.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@_queue_manager_options
@click.option("--data", type=_DIRECTORY, help="Its directory. Default: a temporary one, removed afterwards.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(
    q_mgr_name: str,
    mqsc: Sequence[Path],
    bare: bool,
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
        mqgroups embedded exec -- python your_pymqi_script.py

    COMMAND finds the queue manager as any IBM MQ program does, by MQSERVER; the address alone is in MQGROUPS_CONN_NAME
    and the queue manager's name in MQGROUPS_Q_MGR_NAME. The exit code is COMMAND's, or 128 + n if signal n ended it;
    125 if the queue manager did not start, 126 if COMMAND cannot be executed, 127 if it does not exist.
    """
    _log(verbose)
    users = _users(user_variables, users_file)
    with ExitStack() as stack:
        with _one_message(EXIT_NOT_STARTED):
            from mqgroups.embedded import EmbeddedQueueManager
            from mqgroups.embedded.readings import chosen_by

            q_mgr = stack.enter_context(
                EmbeddedQueueManager(
                    q_mgr_name,
                    data=data,
                    mqsc=_mqsc_files(mqsc, bare=bare),
                    users=users,
                    platform=platform,
                    log_level="INFO" if verbose else "WARNING",
                    readings=chosen_by(reading_values),
                    latency_ms=latency_ms,
                )
            )
            environment = {**os.environ, **q_mgr.environment(), "MQGROUPS_CONN_NAME": q_mgr.conn_name}
        code = _run_program(command, environment)
    sys.exit(code)


_DATA = click.option(
    "--data", type=_DIRECTORY, required=True, help="The directory of a queue manager that runs on this machine."
)


@embedded.command()
@_DATA
@click.option(
    "--when", type=click.Choice(["before", "after"]), default="before", show_default=True, help="The call took effect."
)
@click.option("--nth", type=click.IntRange(1), default=1, show_default=True, help="At the n-th call that fits.")
@click.option("--times", type=click.IntRange(0), default=1, show_default=True, help="At so many calls; 0: for good.")
@click.option("--verb", default="", help="Count calls of this verb only, such as MQCMIT.")
@click.option("--appl", "appl_name", default="", help="Count calls of applications of this name only.")
@click.option("--reason", type=int, default=0, help="Reason code for 'answer'.")
@click.option("--comp", type=click.IntRange(0, 2), default=2, show_default=True, help="Completion code for 'answer'.")
@click.option("--delay-s", type=float, default=0.0, help="Seconds for 'delay'.")
@click.argument(
    "action", type=click.Choice(["kill_client", "kill_server", "drop", "freeze", "answer", "delay", "clear"])
)
def fault(data: Path, action: str, **how: Any) -> None:
    """Let something go wrong at an MQI call, to see what your program makes of it.

    \b
        kill_client   SIGKILL the program that makes the call
        kill_server   SIGKILL the queue manager
        drop          close the connection without a reply: after an MQCMIT took effect, a commit in doubt
        freeze        never reply, and leave the connection open
        answer        end the call with --comp and --reason
        delay         let the call wait
        clear         forget all faults that are set, and let go what is frozen
    """
    with _one_message():
        from mqgroups.embedded import Control, Fault

        control = Control.of(data)
        if action == "clear":
            control.clear_faults()
        else:
            control.arm(Fault(action, **how))


@embedded.command()
@_DATA
def quiesce(data: Path) -> None:
    """End a queue manager as endmqm does: nobody new, and the end when the last application has disconnected."""
    with _one_message():
        from mqgroups.embedded import Control

        Control.of(data).quiesce()


@embedded.command()
@_DATA
def calls(data: Path) -> None:
    """Show how many MQI calls a queue manager has answered, by verb."""
    with _one_message():
        from mqgroups.embedded import Control

        counted = Control.of(data).calls()
    for verb, number in sorted(counted.items()):
        click.echo(f"{verb:8} {number}")


@embedded.command()
@_DATA
@click.option("--to", default="", metavar="NAME", help="The queue manager that the channel leads to.")
@click.option(
    "--delay-s", type=click.FloatRange(0), default=0.0, help="For 'slow': seconds before each batch; 0 ends it."
)
@click.option("--seed", type=int, help="Seed for 'interleave'; without it the order is left alone again.")
@click.option(
    "--when",
    type=click.Choice(["before", "after"]),
    default="after",
    show_default=True,
    help="For 'cut': before or after the batch was received.",
)
@click.option("--stop", is_flag=True, help="For 'cut': the channel is stopped then, and the batch stays in doubt.")
@click.argument("action", type=click.Choice(["status", "stop", "start", "slow", "interleave", "cut"]))
def channel(data: Path, to: str, delay_s: float, seed: int | None, when: str, stop: bool, action: str) -> None:
    """Show, stop or start the channels from a queue manager of a cluster, or let them misbehave.

    \b
        status        show all channels
        stop          stop a channel when its batch is over; messages that are bound for there wait
        start         start it
        slow          let it wait before each batch
        interleave    let it deliver each batch in another order
        cut           break it around the next batch, which is in doubt then
    """
    if action != "status" and not to:
        raise click.UsageError(f"'{action}' needs --to")
    with _one_message():
        from mqgroups.cli.cluster import show_channels
        from mqgroups.embedded import Control

        control = Control.of(data)
        if action == "status":
            show_channels(control)
        elif action == "stop":
            control.stop_channel(to)
        elif action == "start":
            control.start_channel(to)
        elif action == "slow":
            control.slow_channel(to, delay_s)
        elif action == "interleave":
            control.interleave_channel(to, seed)
        else:
            control.cut_channel(to, when, stop=stop)


@embedded.command()
@_DATA
@click.option("--command", "-c", "commands", multiple=True, metavar="TEXT", help="An MQSC command; may be repeated.")
@click.option("--user", default="", metavar="NAME:VARIABLE", help="A user, and the variable that holds the password.")
def mqsc(data: Path, commands: Sequence[str], user: str) -> None:
    """Let a queue manager carry out MQSC commands: those of -c, or those on standard input.

    \b
        mqgroups embedded mqsc --data ./qm1 -c 'DISPLAY QLOCAL(*) CURDEPTH WHERE(CURDEPTH GT 0)'
        mqgroups embedded mqsc --data ./qm1 < queues.mqsc

    A command that is refused does not keep the next ones from being carried out; the exit code is 1 then.
    """
    with _one_message():
        from mqgroups.embedded import Control
        from mqgroups.embedded.launcher import DEFAULT_CHANNEL
        from mqgroups.embedded.libmqm.build import build as build_library
        from mqgroups.embedded.libmqm.build import load
        from mqgroups.embedded.mqsc import statements
        from mqgroups.operate.mqsc import MQSCClient
        from mqgroups.queue_manager import connect, connection_of

        control = Control.of(data)
        load(build_library())
        text = "\n".join(commands) if commands else sys.stdin.read()
        name, password = next(iter(_users([user], None).items())) if user else (None, None)
        refused = 0
        with connect("", DEFAULT_CHANNEL, f"{control.host}({control.port})", user=name, password=password) as q_mgr:
            client = MQSCClient(connection_of(q_mgr))
            for _, statement in statements(text):
                done, answers = client.run(statement.strip())
                refused += not done
                for answer in answers:
                    click.echo(answer, err=not done)
    sys.exit(1 if refused else 0)


def _run_program(command: Sequence[str], environment: Mapping[str, str]) -> int:
    try:
        program = subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        _complain(f"there is no program {command[0]}")
        return EXIT_NOT_FOUND
    except OSError as error:
        _complain(f"{command[0]} cannot be executed: {error.strerror}")
        return EXIT_NOT_EXECUTABLE
    # Ctrl-C reaches the program too, which decides; a SIGTERM is passed on.
    previous = (
        signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.signal(signal.SIGTERM, lambda number, _: program.send_signal(number)),
    )
    try:
        code = program.wait()
    finally:
        signal.signal(signal.SIGINT, previous[0])
        signal.signal(signal.SIGTERM, previous[1])
    return code if code >= 0 else EXIT_SIGNAL - code


def _mqsc_files(files: Sequence[Path], *, bare: bool) -> list[Path]:
    return [*([] if bare else [default_mqsc()]), *files]


def _users(variables: Sequence[str], file: Path | None) -> dict[str, str]:
    """Return passwords by user, from the environment and from a file."""
    users: dict[str, str] = {}
    for given in variables:
        name, _, variable = given.partition(":")
        if not name or not variable:
            raise click.BadParameter(f"{given!r} is not NAME:VARIABLE", param_hint="'--user'")
        password = os.environ.get(variable)
        if not password:
            raise click.BadParameter(
                f"the environment variable {variable}, which should hold the password of {name}, is not set or empty",
                param_hint="'--user'",
            )
        users[name] = password
    if file is not None:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, _, password = line.partition(":")
            if not name or not password:
                raise click.BadParameter(f"{file}, line {number}: expected NAME:PASSWORD", param_hint="'--users-file'")
            users[name] = password
    return users


def _state_directory(q_mgr_name: str) -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "mqgroups" / q_mgr_name


def _log(verbose: bool) -> None:
    handler = RichHandler(console=_err, show_path=False)
    logging.basicConfig(level="INFO" if verbose else "WARNING", format="%(message)s", handlers=[handler])


def _complain(message: str) -> None:
    _err.print(f"mqgroups: {message}", markup=False)


@contextmanager
def _one_message(code: int = 1, about: str = "") -> Iterator[None]:
    """Turn an error that somebody can do something about into one message and an exit code."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "sortedcontainers":
            raise
        _complain("the embedded queue manager needs sortedcontainers: pip install 'mqgroups[embedded]'")
    except OSError as error:
        _complain(f"{about}{error}")
    except Exception as error:
        # The package's own errors say what is wrong and what to do; anything else is a bug, and shows where.
        if not type(error).__module__.startswith("mqgroups."):
            raise
        _complain(f"{about}{error}")
    else:
        return
    sys.exit(code)

"""The common parts of the producer and the consumer program: arguments, lines of progress, exit codes.

Exit code 0 means that the work is done. 75 means that the program resumes the work when it is restarted. 1 is any other failure.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import mqgroups
from mqgroups.connection.holder import connection_of
from mqgroups.demo.source import SourceError
from mqgroups.errors import MQGroupsError
from mqgroups.files.sink import make_durable

QUEUE = "FLIGHTS"
EVERY = 500
EXIT_TRY_AGAIN = 75
PASSWORD_VARIABLE = "FLIGHTS_PASSWORD"
_REPORT_EVERY = 25


class DemoProgress:
    """Reports the progress of this program, in lines on standard output.

    at 1500 1                   the number of messages (some may not be committed yet), and the number of reconnections
    resumed 2013-01-02 500      this program continues the work of an earlier instance at this place

    For other lines, a program calls ``say``.
    """

    def __init__(self, connection: mqgroups.QueueManager, position: int = 0) -> None:
        self.position = position
        self._connection = connection

    def step(self) -> None:
        """Count one more message."""
        self.position += 1
        if self.position % _REPORT_EVERY == 0:
            self.report()

    def report(self) -> None:
        """Write the numbers of messages and reconnections."""
        self.say(f"at {self.position} {connection_of(self._connection).generation}")

    def resumed(self, where: str) -> None:
        """Report that the work of an earlier instance is resumed."""
        self.say(f"resumed {where}")
        self.report()

    def say(self, line: str) -> None:
        """Write a line. The first word is the kind of the line."""
        # The line is written at once, without a buffer, because the reader may kill this process after this line.
        os.write(sys.stdout.fileno(), f"{line}\n".encode())


def arguments(description: str) -> argparse.ArgumentParser:
    """Return a parser with the arguments that both programs have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--qmgr", default="QM1", help="queue manager")
    parser.add_argument("--conn-name", required=True, help="host(port)")
    parser.add_argument("--channel", default="DEV.APP.SVRCONN")
    parser.add_argument("--user", default="app", help=f"its password is taken from {PASSWORD_VARIABLE}")
    parser.add_argument("--done", type=Path, required=True, help="file to make when everything is done")
    return parser


def connect(options: argparse.Namespace, connect_wait_s: float = 0.0) -> mqgroups.QueueManager:
    """Connect with the program's arguments. Wait up to ``connect_wait_s`` seconds for the queue manager."""
    with_password = bool(os.environ.get(PASSWORD_VARIABLE))
    return mqgroups.connect(
        options.qmgr,
        options.channel,
        options.conn_name,
        user=options.user if with_password else None,
        password=mqgroups.Secret.from_variable(PASSWORD_VARIABLE) if with_password else None,
        connect_wait_s=connect_wait_s,
    )


def mark_done(path: Path) -> None:
    """Make an empty file that survives a crash."""
    with path.open("wb") as file:
        os.fsync(file.fileno())
    make_durable(path.parent)


def run(program: Callable[[], None]) -> None:
    """Run a program. If the program fails, write one line to standard error and end the process."""
    try:
        program()
    except MQGroupsError as error:
        _end(EXIT_TRY_AGAIN if error.clears_up else 1, error)
    except SourceError as error:
        _end(1, error)


def _end(code: int, error: Exception) -> None:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(code)

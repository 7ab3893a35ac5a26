"""How an application goes on when something other than an error of the library's ends what it does: at which level it catches it.

Where there is nothing yet to go on with, as when a connection is being made, the next level does: so an application that catches
everything around its groups catches it around its producer and its connection, too.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import mqgroups
from tests.faults.machine import INTERRUPTIONS, Machine
from tests.faults.patterns import AnyProgram

# What catches it. "holding": goes on in the except block, where the traceback keeps the frames that it went through.
LEVELS = ("group", "holding", "owner", "connection", "process")
CONNECTIONS = ("connected", "wrapped")
# Waiting for who is not there is waiting for nothing: everything is on this machine, and of this application.
PATIENCE_S = 0.5


class GoingOn:
    """One start of a program that goes on."""

    def __init__(self, machine: Machine, program: AnyProgram, level: str, connection: str) -> None:
        self._machine = machine
        self._program = program
        self._level = level
        self._connection = connection

    def run(self) -> None:
        """Work until it is done; raises what the library does, and at the level of the process everything."""
        while True:
            try:
                with self._connected() as connection:
                    self._on_connection(connection)
                return
            except INTERRUPTIONS:
                if self._level == "process":
                    raise

    def _connected(self) -> AbstractContextManager[mqgroups.QueueManager]:
        return self._machine.wrapped() if self._connection == "wrapped" else self._machine.connect(PATIENCE_S)

    def _on_connection(self, connection: mqgroups.QueueManager) -> None:
        while True:
            try:
                with self._program.make(connection) as owner:
                    self._with_owner(owner)
                return
            except INTERRUPTIONS:
                if self._level in ("connection", "process"):
                    raise

    def _with_owner(self, owner: Any) -> None:
        program = self._program
        while not program.done:
            try:
                program.work(owner)
                program.is_done()
            except INTERRUPTIONS:
                if self._level not in ("group", "holding"):
                    raise
                if self._level == "holding":
                    self._with_owner(owner)
        program.forget(owner)

"""How an application goes on when an exception ends what it does: at which level it catches it.

Where there is nothing yet to go on with, as when a connection is being made, the next level does: so an application that catches
everything around its groups catches it around its producer and its connection, too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import mqgroups
from tests.faults.batch_program import BatchProgram
from tests.faults.machine import INTERRUPTIONS, Machine
from tests.faults.patterns import AnyProgram

# What catches it. "holding": goes on in the except block, where the traceback keeps the frames that it went through.
LEVELS = ("group", "holding", "owner", "connection", "process")
CONNECTIONS = ("connected", "wrapped")
# Waiting for who is not there is waiting for nothing: everything is on this machine, and of this application.
PATIENCE_S = 0.5


class GoingOn:
    """One start of a program that goes on."""

    def __init__(
        self,
        machine: Machine,
        program: AnyProgram,
        level: str,
        connection: str,
        catches: tuple[type[BaseException], ...] = INTERRUPTIONS,
        caught: Callable[[BaseException], object] = str,
    ) -> None:
        """``catches``: what it goes on after; ``caught`` is called with each of them."""
        self._machine = machine
        self._program = program
        self.level = level
        self._connection = connection
        self._catches = catches
        self._caught = caught

    def run(self) -> None:
        """Work until it is done; raises what the library does, and at the level of the process everything."""
        while True:
            try:
                with self._connected() as connection:
                    self._on_connection(connection)
                return
            except self._catches as error:
                if self.level == "process":
                    raise
                self._caught(error)

    def _connected(self) -> AbstractContextManager[mqgroups.QueueManager]:
        return self._machine.wrapped() if self._connection == "wrapped" else self._machine.connect(PATIENCE_S)

    def _on_connection(self, connection: mqgroups.QueueManager) -> None:
        while True:
            try:
                if isinstance(self._program, BatchProgram):
                    # Each attempt makes its own producer.
                    self._program.run(connection)
                    return
                with self._program.make(connection) as owner:
                    self._with_owner(owner)
                return
            except self._catches as error:
                if self.level in ("connection", "process"):
                    raise
                self._caught(error)

    def _with_owner(self, owner: Any) -> None:
        program = self._program
        while not program.done:
            try:
                program.work(owner)
                program.is_done()
            except self._catches as error:
                if self.level not in ("group", "holding"):
                    raise
                self._caught(error)
                if self.level == "holding":
                    self._with_owner(owner)
        program.forget(owner)

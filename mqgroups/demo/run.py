"""Runs the demo and compares its result with the table. See the package's docstring."""

from __future__ import annotations

import os
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

import mqgroups
from mqembedded import EmbeddedQueueManager
from mqgroups.definitions import DEVELOPMENT_MQSC
from mqgroups.demo import compare, consumer, producer, source
from mqgroups.demo.program import EVERY, PASSWORD_VARIABLE, QUEUE
from mqgroups.demo.supervisor import Killer, Program
from mqgroups.mqi.binding import load_binding

QUEUES = (QUEUE, f"MQGROUPS.PUT.{producer.NAME}", f"MQGROUPS.GET.{consumer.NAME}")
FILES = "flights"
# The number of times that producer and consumer are killed.
_KILLS = 3


class View:
    """The display of a running demo. It shows progress bars on a terminal, and otherwise lines of text."""

    def __init__(self, console: Console, programs: Sequence[Program]) -> None:
        self._console = console
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._tenths = {program.name: 0 for program in programs}
        if console.is_terminal:
            columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
            self._bars = Progress(*columns, console=console)
            self._tasks = {program.name: self._bars.add_task(program.name, total=program.total) for program in programs}

    def __enter__(self) -> View:
        if self._bars:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars:
            self._bars.stop()

    def moved(self, program: Program) -> None:
        """Show the progress of a program."""
        if self._bars:
            self._bars.update(self._tasks[program.name], completed=program.position)
            return
        tenth = 10 * program.position // program.total
        if tenth > self._tenths[program.name]:
            self._tenths[program.name] = tenth
            self.tell(f"{program.name} at {program.position:,} of {program.total:,}")

    def tell(self, sentence: str) -> None:
        """Show a sentence about an event."""
        self._console.print(f"  {sentence}", markup=False, highlight=False, soft_wrap=not self._console.is_terminal)


def run(console: Console, *, days: int | None) -> int:
    """Run the demo. Print the differences between the table and the messages that arrived, and return their number.

    Args:
        console: the console to print to.
        days: the number of days of the table; None for all.

    Raises:
        DemoFailed, SourceError, EmbeddedQueueManagerError, MQGroupsError: the demo could not be run.
    """
    sizes = [len(day.flights) for day in source.days(source.DEFAULT_TABLE, days)]
    total = sum(sizes)
    groups = f"{len(sizes)} message group{'s' if len(sizes) > 1 else ''}"
    console.print(
        f"{total:,} flights in {groups}, a unit of work every {EVERY}, on the embedded queue manager "
        "(for development; it is not IBM MQ).",
        markup=False,
        highlight=False,
        soft_wrap=not console.is_terminal,
    )
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mqgroups-flights-")))
        files = work / FILES
        files.mkdir()
        password = secrets.token_urlsafe(16)
        q_mgr = stack.enter_context(
            EmbeddedQueueManager("QM1", data=work / "QM1", mqsc=[DEVELOPMENT_MQSC], users={"app": password})
        )
        # This process needs the library, too, to inquire the queues at the end.
        os.environ.update(q_mgr.environment())
        # If there is no binding, this call fails before a program is started.
        load_binding()
        environment = {**os.environ, PASSWORD_VARIABLE: password}
        programs = _programs(days, q_mgr.conn_name, work, total, len(sizes))
        view = stack.enter_context(View(console, programs))
        chance = random.Random()
        for program in programs:
            # The last kill is between the last commit and the end of the program, when all work is done but not reported.
            program.kill_at = [*sorted(chance.sample(range(1, total), _KILLS - 1)), total]
        killer = Killer(
            programs,
            environment=environment,
            kill_q_mgr=q_mgr.kill,
            start_q_mgr=q_mgr.start,
            kill_q_mgr_at=chance.randrange(total // 4, total // 2),
            tell=view.tell,
            moved=view.moved,
        )
        began_s = time.monotonic()
        killer.run()
        took_s = time.monotonic() - began_s
        view.__exit__()
        sentences = compare.differences(source.days(source.DEFAULT_TABLE, days), files)
        with mqgroups.connect("QM1", q_mgr.channel, q_mgr.conn_name, user="app", password=password) as connection:
            sentences += compare.left_on_queues(connection, QUEUES)
    console.print(_balance(programs, killer, total, len(sizes), took_s, len(sentences)))
    if not sentences:
        console.print(
            "Every flight arrived once and in order, every group whole; the queues are empty.", highlight=False
        )
    for sentence in sentences:
        console.print(f"different: {sentence}", markup=False, highlight=False, soft_wrap=not console.is_terminal)
    return len(sentences)


def _programs(days: int | None, conn_name: str, work: Path, total: int, groups: int) -> list[Program]:
    def program(name: str, *arguments: object) -> Program:
        own = ["--conn-name", conn_name, "--done", work / f"{name}.done", *arguments]
        command = [sys.executable, "-m", f"mqgroups.demo.{name}", *map(str, own)]
        return Program(name, command, work / f"{name}.log", total)

    some = [] if days is None else ["--days", days]
    return [
        program("producer", "--data", source.DEFAULT_TABLE, *some),
        program("consumer", "--to", work / FILES, "--groups", groups),
    ]


def _balance(
    programs: Sequence[Program], killer: Killer, total: int, groups: int, took_s: float, different: int
) -> Table:
    table = Table(title="embedded queue manager, not IBM MQ", title_justify="left")
    table.add_column("")
    for program in programs:
        table.add_column(program.name, justify="right")
    rows = {
        "messages": [total, total],
        "groups": [groups, groups],
        "kill -9": [program.kills for program in programs],
        "resumes": [program.resumes for program in programs],
        "went on by themselves": [program.went_on for program in programs],
    }
    for name, values in rows.items():
        table.add_row(name, *(f"{value:,}" for value in values))
    rate = f"{total / took_s:,.0f}/s"
    table.add_row("rate, deaths included", rate, rate)
    table.add_section()
    table.add_row("kill -9 queue manager", f"{killer.q_mgr_kills}", "")
    table.add_row("differences", "", f"{different}")
    return table

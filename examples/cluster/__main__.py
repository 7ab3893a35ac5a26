"""``python -m examples.cluster``: run the demo and compare its result. See the package's docstring.

Exit codes: 0 no differences; 1 differences, or the demo could not be run; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from rich.console import Console

import mqgroups
from examples import year
from examples.cluster import airports, compare, disturbance, report
from examples.cluster.disturbance import Disturber, Member
from examples.cluster.program import QUEUE
from mqembedded import (
    ClusterFile,
    ControlError,
    EmbeddedCluster,
    EmbeddedQueueManager,
    EmbeddedQueueManagerError,
)
from mqembedded.serve.cluster_file import read
from mqgroups.demo import source
from mqgroups.demo.compare import left_on_queues
from mqgroups.demo.program import PASSWORD_VARIABLE
from mqgroups.demo.supervisor import DemoFailed

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_WORK = ROOT / "build" / "cluster"
CLUSTER = ROOT / "docker" / "cluster" / "cluster.toml"
ALL_PUT = "all-put"
DEAD_LETTERS = "CLUSTER.DEAD.LETTERS"
DAYS_OF_JANUARY = 31
DAYS_OF_SHORT = 3

_console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    """Run the demo; return the exit code."""
    options = _options()
    try:
        return _demo(options)
    except (DemoFailed, source.SourceError, ControlError, EmbeddedQueueManagerError, mqgroups.MQGroupsError) as error:
        _say(f"demo: {error}")
        return 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.cluster", description="Flights through a cluster.")
    parser.add_argument("--short", action="store_true", help="three days")
    parser.add_argument("--rounds", type=int, help="of everything that goes wrong; 3 unless given (--short: 1)")
    parser.add_argument("--consumers", type=int, default=2, help="at each instance; 2 unless given")
    parser.add_argument("--seed", type=int, help="of what goes wrong when; another one each time unless given")
    parser.add_argument("--data", type=Path, default=year.TABLE, help="flights.csv.zip, or one like it")
    parser.add_argument("--work", type=Path, help="an empty folder to work in; default: build/cluster, emptied first")
    options = parser.parse_args()
    if options.rounds is None:
        options.rounds = 1 if options.short else 3
    if options.rounds < 1 or options.consumers < 1:
        parser.error("--rounds and --consumers must be at least 1")
    if options.work and options.work.exists() and any(options.work.iterdir()):
        parser.error(f"--work {options.work} is not empty")
    options.days = DAYS_OF_SHORT if options.short else DAYS_OF_JANUARY
    if options.seed is None:
        options.seed = secrets.randbelow(1_000_000)
    return options


def _demo(options: argparse.Namespace) -> int:
    if options.data == year.TABLE:
        year.check(options.data)
    groups = airports.groups(options.data, options.days)
    total = sum(len(group.flights) for group in groups)
    _say(
        f"{total:,} flights in {len(groups)} message groups over three embedded queue managers (for development; they are not "
        f"IBM MQ). --seed {options.seed}"
    )
    if options.work is None:
        options.work = DEFAULT_WORK
        shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True, exist_ok=True)
    began_s = time.monotonic()
    disturber, left = _run(options, total)
    took_s = time.monotonic() - began_s
    arrived: list[compare.Arrived] = []
    for each in disturber.members:
        if not each.is_producer:
            arrived += compare.read(_file(options.work, each.q_mgr_name, each.what), each.q_mgr_name, each.what)
    different = [*compare.differences(groups, arrived), *left]
    report.write(options.work / "groups.csv", arrived)
    for table in report.tables(disturber, groups, arrived, different):
        _console.print(table)
    _say(f"where each group went: {options.work / 'groups.csv'}")
    for difference in different:
        _say(f"different: {difference.sentence}")
    if not different:
        _say(f"equal: every group came once, in sequence, whole to one consumer at one instance. {took_s:.0f} s")
    return 1 if different else 0


def _run(options: argparse.Namespace, total: int) -> tuple[Disturber, list[compare.Difference]]:
    """Let the programs work and disturb them, to the end; return also what is left on queues."""
    password = secrets.token_urlsafe(16)
    file, users = _on_free_ports(read(CLUSTER)), {"app": password}
    began_s = time.monotonic()
    with EmbeddedCluster(file, data=options.work, users=users, log_level="ERROR") as cluster:
        # This process needs the library, too, to look at the queues at the end.
        os.environ.update(cluster[file.names[0]].environment())
        for name, q_mgr in cluster.queue_managers.items():
            _say(f"{name} is ready at {q_mgr.conn_name}; mqembedded channel --data {q_mgr.data} status")
        chance = Random(options.seed)
        disturber = Disturber(
            _members(options, cluster),
            cluster,
            environment={**os.environ, PASSWORD_VARIABLE: password},
            all_put=options.work / ALL_PUT,
            total=total,
            planned=disturbance.plan(chance, options.rounds),
            chance=chance,
            tell=lambda sentence: _say(f"{time.monotonic() - began_s:5.1f} s  {sentence}"),
        )
        disturber.run()
        return disturber, _left(cluster, disturber.members, password)


def _on_free_ports(described: ClusterFile) -> ClusterFile:
    entries = tuple(replace(entry, listen="127.0.0.1:0") for entry in described.queue_managers)
    return replace(described, queue_managers=entries)


def _members(options: argparse.Namespace, cluster: EmbeddedCluster) -> list[Member]:
    q_mgrs = cluster.queue_managers.values()
    table = ["--data", options.data, "--days", options.days]
    members = [
        _member(options.work, q_mgr, "producer", airport, "--airport", airport, *table)
        for airport, q_mgr in zip(airports.AIRPORTS, q_mgrs, strict=True)
    ]
    for q_mgr in q_mgrs:
        for name in (f"SINK.{number}" for number in range(1, options.consumers + 1)):
            file = _file(options.work, q_mgr.q_mgr_name, name)
            own = ["--name", name, "--to", file, "--until", options.work / ALL_PUT]
            members.append(_member(options.work, q_mgr, "consumer", name, *own))
    return members


def _member(work: Path, q_mgr: EmbeddedQueueManager, program: str, what: str, *arguments: object) -> Member:
    at = q_mgr.q_mgr_name
    own = ["--qmgr", at, "--conn-name", q_mgr.conn_name, "--done", work / f"{at}-{what}.done", *arguments]
    command = [sys.executable, "-m", f"examples.cluster.{program}", *map(str, own)]
    log = work / f"{at}-{what}.log"
    return Member(
        f"{program} {what} at {at}", command, log, q_mgr_name=at, what=what, is_producer=program == "producer"
    )


def _file(work: Path, q_mgr_name: str, consumer: str) -> Path:
    return work / f"{q_mgr_name}-{consumer}.csv"


def _left(cluster: EmbeddedCluster, members: Sequence[Member], password: str) -> list[compare.Difference]:
    """Return a difference for each queue that is not empty: the instances, the dead letters, the status queues."""
    found = []
    for name, q_mgr in cluster.queue_managers.items():
        own = [each for each in members if each.q_mgr_name == name]
        status = [f"MQGROUPS.{'PUT' if each.is_producer else 'GET'}.FLIGHTS.{each.what}" for each in own]
        with mqgroups.connect(name, q_mgr.channel, q_mgr.conn_name, user="app", password=password) as connection:
            sentences = left_on_queues(connection, [QUEUE, DEAD_LETTERS, *status])
        found += [compare.Difference(compare.Kind.OTHER, 1, f"{name}: {sentence}") for sentence in sentences]
    return found


def _say(sentence: str) -> None:
    _console.print(f"  {sentence}", markup=False)


if __name__ == "__main__":
    sys.exit(main())

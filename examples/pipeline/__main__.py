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
from contextlib import ExitStack
from pathlib import Path
from random import Random

from rich.console import Console

import mqgroups
from examples import year
from examples.pipeline import compare, feed
from examples.pipeline.cluster import SparkCluster
from examples.pipeline.kills import Kind, Program, any_kill
from mqembedded import EmbeddedQueueManager, EmbeddedQueueManagerError
from mqgroups.demo import source
from mqgroups.demo.supervisor import DemoFailed

ROOT = Path(__file__).resolve().parents[2]
MQSC = ROOT / "docker" / "20-mqgroups.mqsc"
WORK = ROOT / "build" / "pipeline"
DAYS_OF_SHORT = 3
# maxGroupsPerTrigger of pipeline.py.
BATCH = 4
ON_CLUSTER = (Kind.EXECUTOR, Kind.WORKER, Kind.QUEUE_MANAGER, *[Kind.EXECUTOR] * 3)

_console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    """Run the example; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.pipeline", description="Flights through Spark.")
    parser.add_argument("--short", action="store_true", help="three days")
    parser.add_argument("--cluster", action="store_true", help="on a standalone cluster of Spark that is started here")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), help="of what is drawn")
    options = parser.parse_args()
    try:
        year.check(year.TABLE)
        differences = _differences(options.short, options.cluster, options.seed)
    except (DemoFailed, source.SourceError, EmbeddedQueueManagerError, mqgroups.MQGroupsError) as error:
        differences = [f"pipeline: {error}"]
    for sentence in differences:
        _say(sentence)
    return bool(differences)


def _differences(short: bool, on_cluster: bool, seed: int) -> list[str]:
    """Run the program, with kills; return the differences from the results that are computed without MQ."""
    began_s, chance = time.monotonic(), Random(seed)
    days = DAYS_OF_SHORT if short else feed.DAYS_OF_JANUARY
    groups = feed.groups(year.TABLE, days, chance)
    bad = [group for group in groups if group.reason is not None]
    expected = compare.delays(source.days(year.TABLE, days))
    on = "on the embedded queue manager (for development; it is not IBM MQ)"
    _say(f"{len(groups)} groups, {len(bad)} of them bad, {on}. --seed {seed}")
    half = len(groups) // 2
    # The first start does half of the groups. In its last micro-batch the program may end before a kill.
    kills = [any_kill(chance, Kind.DRIVER, range(half // BATCH))]
    if not short:
        kills.append(any_kill(chance, Kind.DRIVER, range(half // BATCH + 1, len(groups) // BATCH - 1)))
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    with ExitStack() as stack:
        password = secrets.token_urlsafe(16)
        (password_file := WORK / "password").touch(mode=0o600)
        password_file.write_text(password)
        q_mgr = stack.enter_context(
            EmbeddedQueueManager("QM1", data=WORK / "QM1", mqsc=[MQSC], users={"app": password})
        )
        # This process needs the library, too, to feed the queue and to look at it.
        os.environ.update(q_mgr.environment())
        connection = stack.enter_context(
            mqgroups.connect("QM1", q_mgr.channel, q_mgr.conn_name, user="app", password=password)
        )
        mq = {"mq.channel": q_mgr.channel, "mq.connectionNameList": q_mgr.conn_name}
        mq |= {"mq.user": "app", "mq.passwordFile": str(password_file)}
        settings, cluster = {"spark.master": "local[2]"}, None
        if on_cluster:
            cluster = stack.enter_context(SparkCluster(WORK / "spark"))
            _say(f"Spark's master is ready at {cluster.url}, with {cluster.workers} workers")
            binding = {name: os.environ[name] for name in ["MQGROUPS_MQI"] if name in os.environ}
            settings = cluster.settings({**q_mgr.environment(), **binding, "PYTHONPATH": str(ROOT)})
            for kind in ON_CLUSTER[:3] if short else ON_CLUSTER:
                kills.append(any_kill(chance, kind, range(len(groups) // BATCH - 1)))
        program = Program(WORK / "results", WORK / "log", settings, mq, kills, _say, cluster, q_mgr)
        with connection.group_producer(feed.QUEUE, name=feed.NAME, commit_every=feed.EVERY) as producer:
            for part in (groups[:half], groups[half:]):
                count = feed.put(producer, part)
                _say(f"put {len(part)} groups, {count:,} messages, to queue {feed.QUEUE}; the program starts")
                killed = program.run()
        while killed:
            _say("the program starts again")
            killed = program.run()
        if kills:
            raise DemoFailed(f"the program ended before all kills: {', '.join(map(str, kills))}")
        differences = list(compare.differences(WORK / "results", connection, expected, bad))
    if not differences:
        _say(
            f"equal: {sum(map(len, expected.values())):,} rows of {days} days, in the table and as groups, are those counted "
            f"without MQ; all {len(bad)} bad groups are rejected, each with its reason; nothing is left. "
            f"{time.monotonic() - began_s:.0f} s"
        )
    return differences


def _say(sentence: object) -> None:
    _console.print(f"  {sentence}", markup=False)


if __name__ == "__main__":
    sys.exit(main())

"""The receivers: each gets what is on a queue by another door of the library, until nothing comes any more.

A receiver returns the data that it has at the end, in whatever it keeps it, and the texts of the errors that it met. An error
that its application would have to act on is no end: it goes on, as a program that logs it and takes the next group.
"""

from __future__ import annotations

import asyncio
import functools
import runpy
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mqgroups
import mqgroups.aio
from embedded_tests.fix_mqi import wait_until
from mqgroups import operate
from mqgroups.errors import GroupAbandoned, GroupQuarantined
from mqgroups.files.receiving import FileReceiver
from mqgroups.mqi import constants as mq
from mqgroups.spark.option import Use
from mqgroups.spark.options import source_options
from tests.fix_groups import Owner
from tests.spark.model import Checkpoint
from tests.strangers.partners import TELLS

ROOT = Path(__file__).resolve().parents[2]
OUTPUT, NO_SYNCPOINT = mq.MQOO_OUTPUT, mq.MQPMO_NO_SYNCPOINT
TYPES = {str: mq.MQTYPE_STRING, int: mq.MQTYPE_INT32}
# What a consumer does with what can never be got; its queue has a backout queue.
GOES_ON: dict[str, Any] = {"poison": "quarantine", "stalled": "quarantine", "group_wait_s": 0.02}
_ENDS_OF_GROUPS = (GroupAbandoned, GroupQuarantined)


@dataclass
class Site:
    """Where a receiver works.

    Attributes:
        owner: with the queue.
        directory: the receiver's own.
        make_queue: makes another queue.
        is_done: whether nothing is on the queue but what is to stay there, and all was told that has to be told.
        put: what was put, each data once.
        spark_options: of a connection to the queue.
        all_told: whether everything was told that has to be told.
        told: the errors that were met.
    """

    owner: Owner
    directory: Path
    make_queue: Callable[[], str]
    is_done: Callable[[], bool]
    put: frozenset[bytes]
    spark_options: dict[str, str]
    told: list[str] = field(default_factory=list)

    def of(self, group: Any) -> Iterator[Any]:
        """Yield a group's messages; how it ends, if not whole, is told."""
        try:
            yield from group
        except _ENDS_OF_GROUPS as error:
            self.told.append(f"{type(error).__name__}: {error}")


def consumed(site: Site, **more: Any) -> list[bytes]:
    got: list[bytes] = []

    def get() -> bool:
        got.extend(message.data for group in groups for message in site.of(group))
        return site.is_done()

    with site.owner.consumer(**{**GOES_ON, **more}) as groups:
        wait_until(get)
    return got


def consumer(site: Site) -> list[bytes]:
    """Get them with a consumer."""
    return consumed(site)


def of_whole_groups(site: Site) -> list[bytes]:
    """Get only groups that are complete."""
    return consumed(site, complete_groups_only=True)


def restarted(site: Site) -> list[bytes]:
    """Get each group with a new consumer, which has nothing but the status record of the one before."""
    got: list[bytes] = []
    while True:
        with site.owner.consumer(**GOES_ON) as consumer:
            group = next(iter(consumer), None)
            if group is None:
                consumer.forget()
                return got
            # A checkpoint keeps the record, so that the next start knows which group was the last.
            group.set_checkpoint("a place")
            got += [message.data for message in site.of(group)]


def asynchronous(site: Site) -> list[bytes]:
    """Get them in an event loop."""
    target, owner = site.owner.target, site.owner

    async def get() -> list[bytes]:
        got = []
        user: dict[str, Any] = {"user": getattr(target, "user", None), "password": getattr(target, "password", None)}
        async with (
            await mqgroups.aio.connect(target.q_mgr_name, target.channel, target.conn_name, **user) as q_mgr,
            await q_mgr.group_consumer(
                owner.queue, name=owner.name, commit_every=2, wait_s=0, owner_wait_s=0, **GOES_ON
            ) as consumer,
        ):
            async for group in consumer:
                try:
                    async for message in group:
                        got.append(message.data)
                except _ENDS_OF_GROUPS as error:
                    site.told.append(f"{type(error).__name__}: {error}")
        return got

    return asyncio.run(get())


def pipe(site: Site) -> list[bytes]:
    """Put them to another queue in the same units of work."""
    target = site.make_queue()
    owner = site.owner
    with owner.qmgr.group_pipe(
        owner.queue, target, name=owner.name, commit_every=2, wait_s=0, owner_wait_s=0, **GOES_ON
    ) as pipe:
        for source, outgoing in pipe:
            for message in site.of(source):
                outgoing.put(message.data)
    # An abandoned group ends with a report.
    return [found.data for found in owner.on_queue(target) if found.md.MsgType != mq.MQMT_REPORT]


def files(site: Site) -> list[bytes]:
    """Write each group to a file; those of groups that were put aside are in quarantine, those of abandoned ones are removed."""
    removed: list[bytes] = []
    with site.owner.consumer(**GOES_ON) as consumer:
        sink = mqgroups.FileSink(site.directory, consumer)
        for group in consumer:
            lines = []
            with sink.file(group) as file:
                for message in site.of(group):
                    file.write(message.data + b"\n")
                    lines.append(message.data)
            removed += lines if group.abandoned else []
        consumer.forget()
    kept = [path for path in site.directory.rglob("*") if path.is_file() and path.suffix != ".reason"]
    assert not [path for path in kept if path.name.startswith(".")]
    return [*removed, *(line for path in kept for line in path.read_bytes().splitlines())]


def database(site: Site) -> list[bytes]:
    """Add them up in a database, as ``examples/orders_to_database.py`` does; returns each order as often as it was counted."""
    example = runpy.run_path(str(ROOT / "examples" / "orders_to_database.py"))
    connection = sqlite3.connect(site.directory / "orders.sqlite")
    kept = example["Database"](connection, "?")
    while True:
        with site.owner.consumer(**GOES_ON) as consumer:
            try:
                example["drain"](consumer, kept)
                break
            except _ENDS_OF_GROUPS as error:
                site.told.append(f"{type(error).__name__}: {error}")
    rows = connection.execute("SELECT customer, pieces FROM pieces").fetchall()
    connection.close()
    as_put = {data.decode("ascii" if data.isascii() else "cp037"): data for data in site.put}
    return [as_put[f"{customer} 1"] for customer, pieces in rows for _ in range(pieces)]


def workers(site: Site) -> list[bytes]:
    """Share them among two workers."""
    got: list[bytes] = []
    owner = site.owner

    def handle(group: Any) -> None:
        got.extend(message.data for message in site.of(group))

    def opened(q_mgr: Any, /, *, name: str, wait_s: float) -> Any:
        return q_mgr.group_consumer(owner.queue, name=name, commit_every=2, wait_s=wait_s, owner_wait_s=10, **GOES_ON)

    crew = mqgroups.Workers(handle, connect=owner.connect, open=opened, name=owner.name, workers=2, threads=True)
    thread = threading.Thread(target=crew.run)
    thread.start()
    try:
        wait_until(lambda: [data for data in got if data.startswith(b"good")] == [b"good1 1", b"good2 1"])
        wait_until(site.is_done)
    finally:
        crew.stop()
        thread.join()
    return got


def operator(site: Site) -> list[bytes]:
    """Move away the groups that are not complete, as ``mqgroups groups`` and ``salvage move`` do, and get the others."""
    owner, elsewhere = site.owner, site.make_queue()
    for group in owner.inspections():
        if group.gaps or not group.has_head or not group.has_end:
            operate.move_group(owner.qmgr, owner.queue, group.group_id, to=elsewhere)
    return [*consumer(site), *owner.data(elsewhere)]


def received_files(site: Site) -> list[bytes]:
    """Write complete groups to files, as ``mqgroups receive --complete-groups-only`` does."""
    opened = functools.partial(
        site.owner.consumer, stream=True, complete_groups_only=True, group_wait_s=GOES_ON["group_wait_s"]
    )
    receiver = FileReceiver(opened, site.directory, keep_waiting=False)
    got: list[bytes] = []

    def receive() -> bool:
        for received in receiver:
            if received.reason:
                site.told.append(f"GroupAbandoned: {received.reason}")
            whole = received.path.read_bytes()
            got.extend(data for data in site.put for _ in range(whole.count(data)))
        return site.is_done()

    wait_until(receive)
    receiver.consumer.close()
    return got


def spark_batch(site: Site) -> list[bytes]:
    """Read them with Spark's batch source, which takes nothing away."""
    from mqgroups.spark.batch_source import GroupBatchReader

    reader = GroupBatchReader(source_options(site.spark_options, Use.BATCH_READ))
    return _values(reader, reader.partitions())


def spark_stream(site: Site) -> list[bytes]:
    """Read them with a stream of Spark, whose driver starts until there is nothing more."""
    from mqgroups.spark.stream_source import GroupStreamReader

    got: list[bytes] = []
    checkpoint = Checkpoint(lambda reader, partitions, _: got.extend(_values(reader, partitions)))
    before = None
    while before != got:
        before = list(got)
        reader = GroupStreamReader(
            source_options({**site.spark_options, "pollTimeoutMs": "0", "mq.waitMs": "0"}, Use.STREAM_READ)
        )
        try:
            checkpoint.run(reader)
        finally:
            reader.stop()
    return got


def _values(reader: Any, partitions: Any) -> list[bytes]:
    return [row["value"] for each in partitions for batch in reader.read(each) for row in batch.to_pylist()]


ALL = (
    consumer,
    restarted,
    asynchronous,
    pipe,
    files,
    database,
    workers,
    of_whole_groups,
    received_files,
    spark_batch,
    spark_stream,
    operator,
)
# The kinds of outcomes that come first for them (``Partner.otherwise``).
KINDS = {
    of_whole_groups: ("whole",),
    received_files: ("receive", "segments", "whole"),
    spark_batch: ("spark", "segments", "whole"),
    spark_stream: ("spark", "segments", "whole"),
}
# A batch takes nothing away, and of a group that is there twice it may read one; an operator leaves nothing.
WITHOUT_NUMBERS = (spark_batch, operator)
# What they do not tell: Spark shows in figures what it leaves (``reportLatestOffset``); a worker compares its own groups only; an
# operator knows it already.
UNTOLD = {
    operator: frozenset(TELLS),
    spark_batch: frozenset(TELLS),
    spark_stream: frozenset(TELLS),
    workers: frozenset({"repeats", "reused"}),
}

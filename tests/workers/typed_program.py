# mypy: disallow-untyped-defs, disallow-incomplete-defs, disallow-untyped-calls, disallow-untyped-decorators, warn-return-any
"""A user's program, for ``make types``: mypy accepts it in strict mode, and refuses the lines that say so. It is never run."""

from __future__ import annotations

import functools
import signal
import threading

import mqgroups
from mqgroups import Secret
from mqgroups.errors import Stopped

connect = functools.partial(
    mqgroups.connect,
    "QM1",
    "DEV.APP.SVRCONN",
    "localhost(1414)",
    user="app",
    password=Secret.from_file("/run/secrets/app"),
)


def open_consumer(q_mgr: mqgroups.QueueManager, /, *, name: str, wait_s: float) -> mqgroups.GroupConsumer:
    return q_mgr.group_consumer("ORDERS", name=name, wait_s=wait_s)


def open_pipe(q_mgr: mqgroups.QueueManager, *, name: str, wait_s: float) -> mqgroups.GroupPipe:
    return q_mgr.group_pipe("ORDERS", "INVOICES", name=name, wait_s=wait_s)


def handle(group: mqgroups.IncomingGroup) -> None:
    @group.before_commit
    def before_commit(group: mqgroups.IncomingGroup) -> None:
        group.set_checkpoint({"done": True})

    for message in group:
        print(message.text)
    assert group.has_ended


async def handle_async(group: mqgroups.IncomingGroup) -> int:
    return sum(1 for _ in group)


def forward(group: mqgroups.IncomingGroup, out: mqgroups.PipedGroup) -> None:
    for message in group:
        out.put(message.data)


def work() -> bool:
    workers = mqgroups.Workers(handle, connect=connect, open=open_consumer, name="ORDERS.SINK", workers=4)
    mqgroups.Workers(handle_async, connect=connect, open=open_consumer, name="N", threads=True, grace_s=10)
    mqgroups.Workers(forward, connect=connect, open=open_pipe, name="INVOICING")
    mqgroups.Workers(forward, connect=connect, open=open_consumer, name="N")  # type: ignore[call-overload]  # no pipe
    mqgroups.Workers(handle, connect=connect, open=open_pipe, name="N")  # type: ignore[call-overload]  # a pipe
    mqgroups.Workers(handle, connect=connect, open=connect, name="N")  # type: ignore[arg-type]  # opens nothing
    with mqgroups.stop_on_signals(workers, signals=[signal.SIGTERM]) as stopping:
        in_order = workers.run(http=("0.0.0.0", 8080))
    came: signal.Signals | None = stopping.signal
    names: list[str] = [one.name for one in workers.status() if one.running]
    print(came, names)
    return in_order


def one_consumer() -> None:
    try:
        with (
            connect() as q_mgr,
            q_mgr.group_consumer("ORDERS", name="ORDERS.SINK") as consumer,
            q_mgr.group_producer("INVOICES", name="INVOICING") as producer,
            mqgroups.stop_on_signals(consumer, producer),
        ):
            threading.Timer(60, consumer.stop).start()
            for group in consumer:
                handle(group)
    except Stopped as stopped:
        number: int = stopped.msg_seq_number
        print(stopped.owner, stopped.queue, stopped.group_id.hex(), number)
    mqgroups.stop_on_signals(open_pipe)  # type: ignore[arg-type]  # a function cannot be stopped

"""An application with all annotations: mypy accepts it, and refuses its mistakes, as strictly as for a user; and it works.

mypy checks this file too. It reports a ``type: ignore`` that ignores nothing, so each of them below is an error that an
application would see before it runs.
"""

# What pyproject.toml allows to tests, ``mypy --strict`` refuses.
# mypy: disallow-untyped-defs, disallow-incomplete-defs, disallow-untyped-calls, disallow-untyped-decorators, warn-return-any

from __future__ import annotations

import asyncio
import functools
import itertools
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, assert_type

import mqgroups
from mqgroups import aio
from mqgroups.codecs import JSON
from tests.fix_groups import Owner


@dataclass(frozen=True)
class Order:
    number: int
    text: str

    def as_json(self) -> str:
        return mqgroups.codecs.json.encode([self.number, self.text])


class OrderCodec:
    """Orders as JSON."""

    def decode(self, data: str | bytes) -> Order:
        number, text = mqgroups.codecs.json.decode(data)
        return Order(int(number), str(text))


@dataclass
class Application:
    """Where it works."""

    q_mgr_name: str
    channel: str
    conn_name: str
    user: str | None
    password: str | None
    orders: str
    checked: str
    name: str

    def connect(self) -> mqgroups.QueueManager:
        return mqgroups.connect(self.q_mgr_name, self.channel, self.conn_name, user=self.user, password=self.password)

    def connect_later(self) -> aio.Opening[aio.AsyncQueueManager]:
        return aio.connect(self.q_mgr_name, self.channel, self.conn_name, user=self.user, password=self.password)

    def load(self, file: str, orders: list[Order], tell: Callable[[mqgroups.Progress], None]) -> None:
        every = mqgroups.Every(messages=2, seconds=5)
        with (
            self.connect() as q_mgr,
            q_mgr.group_producer(self.orders, name=self.name, commit_every=every, on_progress=tell) as producer,
        ):
            assert_type(producer, mqgroups.GroupProducer)
            with producer.group(name=file, properties={"Region": "north", "Rows": len(orders)}) as group:
                assert_type(group, mqgroups.OutgoingGroup)
                for number, order in enumerate(orders[group.resume_from :], group.resume_from + 1):
                    group.set_checkpoint({"row": number})
                    group.put(order.as_json(), last=number == len(orders))
            producer.forget()

    async def check(self) -> int:
        """Have each order checked; returns how many there were."""
        count = 0
        async with (
            self.connect_later() as q_mgr,
            q_mgr.group_pipe(self.orders, self.checked, name=self.name, wait_s=0, codec=OrderCodec()) as pipe,
        ):
            assert_type(q_mgr, aio.AsyncQueueManager)
            assert_type(pipe, aio.AsyncGroupPipe)
            async for incoming, outgoing in pipe:
                await outgoing.set_properties(incoming.properties, name=incoming.name)
                async for message in incoming:
                    assert_type(message, mqgroups.Message)
                    order: Order = message.value
                    await outgoing.put(Order(order.number, f"{order.text}, checked").as_json())
                    count += 1
        return count

    def write(self, folder: Path) -> dict[str, str]:
        """Write each group of orders to a file; returns the files' names and texts."""

        def name_of(group: mqgroups.IncomingGroup) -> str:
            region = group.properties["Region"]
            assert isinstance(region, str)
            return f"{region}-{group.name}"

        def check(group: mqgroups.IncomingGroup, path: Path) -> str:
            rows = len(path.read_bytes().splitlines())
            return "" if rows == group.properties["Rows"] else f"{rows} rows"

        with (
            mqgroups.ProgressBar() as bar,
            self.connect() as q_mgr,
            q_mgr.group_consumer(
                self.checked, name=self.name, wait_s=0, codec=OrderCodec(), on_progress=bar
            ) as consumer,
        ):
            sink = mqgroups.FileSink(folder, consumer, name_of=name_of, check=check)
            for group in consumer:
                with sink.file(group) as file:
                    for message in group:
                        order: Order = message.value
                        file.write(f"{order.number};{order.text}\n".encode())
            assert sink.finished is not None
            path, reason = sink.finished
            assert (path.parent, reason) == (folder, "")
            consumer.forget()
        return {path.name: path.read_text() for path in folder.iterdir()}

    def open_orders(self, q_mgr: mqgroups.QueueManager, /, *, name: str, wait_s: float) -> mqgroups.GroupConsumer:
        return q_mgr.group_consumer(self.orders, name=name, wait_s=wait_s, codec=OrderCodec())

    def open_checking(
        self, q_mgr: mqgroups.QueueManager, /, *, name: str, wait_s: float, codec: JSON
    ) -> mqgroups.GroupPipe:
        return q_mgr.group_pipe(self.orders, self.checked, name=name, wait_s=wait_s, codec=codec)

    def work(self, groups: int) -> list[Order]:
        """Handle so many groups with two workers; returns their orders."""
        handled: list[list[Order]] = []

        async def handle(group: mqgroups.IncomingGroup) -> None:
            orders: list[Order] = [message.value for message in group]
            handled.append(orders)
            if len(handled) == groups:
                workers.stop()

        workers = mqgroups.Workers(
            handle, connect=self.connect, open=self.open_orders, name=self.name, workers=2, threads=True
        )
        with mqgroups.stop_on_signals(workers):
            assert workers.run()
        assert sum(status.groups for status in workers.status()) == groups
        return sorted(itertools.chain(*handled), key=lambda order: order.number)


if TYPE_CHECKING:

    def handle(group: mqgroups.IncomingGroup, out: mqgroups.PipedGroup) -> None:
        """What a worker that is a pipe calls."""
        for message in group:
            out.put(message.data)

    def print_all(group: mqgroups.IncomingGroup) -> None:
        """What a worker that is none calls."""

        @group.before_commit
        def before_commit(group: mqgroups.IncomingGroup) -> None:
            group.set_checkpoint({"done": True})

        for message in group:
            print(message.text)
        assert group.has_ended

    async def count(group: mqgroups.IncomingGroup) -> int:
        return sum(1 for _ in group)

    def work(application: Application, q_mgr: mqgroups.QueueManager) -> bool:
        connect = functools.partial(mqgroups.connect, "QM1", user="app", password=mqgroups.Secret.from_file("/secret"))
        mqgroups.Workers(handle, connect=connect, open=application.open_orders, name="N")  # type: ignore[call-overload]  # no pipe
        mqgroups.Workers(print_all, connect=connect, open=connect, name="N")  # type: ignore[arg-type]  # opens nothing
        mqgroups.stop_on_signals(handle)  # type: ignore[arg-type]  # a function cannot be stopped
        consumer = q_mgr.group_consumer("ORDERS", name="N")
        producer = q_mgr.group_producer("ORDERS", name="N")
        workers = mqgroups.Workers(count, connect=connect, open=application.open_orders, name="N", grace_s=10)
        try:
            with mqgroups.stop_on_signals(workers, consumer, producer, signals=[signal.SIGTERM]) as stopping:
                return workers.run(http=("0.0.0.0", 8080))
        except mqgroups.errors.Stopped as stopped:
            assert_type(stopped.msg_seq_number, int)
            print(stopped.owner, stopped.queue, stopped.group_id.hex())
        assert_type(stopping.signal, signal.Signals | None)
        return all(one.running for one in workers.status())

    async def refused(application: Application, q_mgr: mqgroups.QueueManager, incoming: mqgroups.IncomingGroup) -> None:
        mqgroups.connect("QM1", chanel="DEV.APP.SVRCONN")  # type: ignore[call-arg]  # "channel"
        aio.connect("QM1", chanel="DEV.APP.SVRCONN")  # type: ignore[call-arg]  # "channel"
        q_mgr.group_consumer("ORDERS")  # type: ignore[call-arg]  # no name
        q_mgr.group_consumer("ORDERS", name="N", codec=Order)  # type: ignore[arg-type]  # no codec
        q_mgr.group_producer("ORDERS", name="N", on_progress=handle)  # type: ignore[arg-type]  # other arguments
        mqgroups.FileSink("/", q_mgr.group_producer("ORDERS", name="N"))  # type: ignore[arg-type]  # no consumer
        opening = functools.partial(application.open_checking, codec=mqgroups.codecs.json)
        mqgroups.Workers(handle, connect=application.connect, open=opening, name="N")
        mqgroups.Workers(print_all, connect=application.connect, open=opening, name="N")  # type: ignore[arg-type]  # a pipe
        async with application.connect_later() as later:
            later.group_producer("ORDERS", nam="N")  # type: ignore[call-arg]  # "name"
            with later.group_producer("ORDERS", name="N"):  # type: ignore[attr-defined]  # without async
                pass
            producer = await later.group_producer("ORDERS", name="N")
            assert_type(producer, aio.AsyncGroupProducer)
            async with producer.group(properties={"Region": "north"}) as group:
                assert_type(group, aio.AsyncOutgoingGroup)
                group.put(b"data")  # type: ignore[unused-coroutine]  # not awaited
                group.set_checkpoint({"at": {1, 2}})  # type: ignore[dict-item]  # a set is no JSON
            async with later.group_consumer("ORDERS", name="N") as consumer:

                @consumer.before_commit
                async def flush(group: mqgroups.IncomingGroup) -> None:
                    """May be a coroutine function here, and stays one."""

                flush(incoming)  # type: ignore[unused-coroutine]  # not awaited
            assert_type(await later.run(mqgroups.operate.inspect_owner, "N", "put"), mqgroups.operate.SeenOwner)

    def retries(error: mqgroups.errors.StatusQueueUnusable | mqgroups.errors.OwnershipLost) -> bool:
        return error.because == "hiden"  # type: ignore[comparison-overlap]  # "hidden"


def test_the_application_works(owner: Owner, make_queue: Callable[[], str], tmp_path: Path) -> None:
    target = owner.target
    user, password = getattr(target, "user", None), getattr(target, "password", None)
    application = Application(
        target.q_mgr_name, target.channel, target.conn_name, user, password, owner.queue, make_queue(), owner.name
    )
    orders = [Order(number, f"order {number}") for number in range(5)]
    told: list[mqgroups.Progress] = []
    application.load("a.csv", orders, told.append)
    assert [(each.total_messages, each.checkpoint) for each in told] == [
        (2, {"row": 2}),
        (4, {"row": 4}),
        (5, {"row": 5}),
    ]
    assert asyncio.run(application.check()) == 5
    assert application.write(tmp_path) == {
        "north-a.csv": "".join(f"{order.number};{order.text}, checked\n" for order in orders)
    }
    for order in orders:
        application.load("", [order], told.append)
    assert application.work(5) == orders
    assert owner.data() == owner.data(application.checked) == owner.records("get") == owner.records("put") == []

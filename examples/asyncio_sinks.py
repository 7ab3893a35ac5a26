"""Several consumers of queue ORDERS in one process, with asyncio: each has a connection and a name, and gets whole groups.

    mqembedded exec -- python asyncio_sinks.py

SIGTERM and SIGINT stop all of them politely: each finishes and commits the message that it is processing. The program connects
with MQGROUPS_Q_MGR_NAME, _CONN_NAME, _CHANNEL, _USER and _PASSWORD.
"""

import asyncio
import os
import signal

from mqgroups import Secret, aio
from mqgroups.errors import Stopped

SINKS = 4
WAIT_S = float(os.environ.get("WAIT_S", "1"))


def connect() -> aio.Opening[aio.AsyncQueueManager]:
    conn_name = os.environ.get("MQGROUPS_CONN_NAME")  # without it, MQSERVER or a CCDT says where to go
    file = os.environ.get("MQGROUPS_PASSWORD_FILE")
    return aio.connect(
        os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"),
        os.environ.get("MQGROUPS_CHANNEL", "DEV.APP.SVRCONN") if conn_name else None,
        conn_name,
        user=os.environ.get("MQGROUPS_USER"),
        password=Secret.from_file(file) if file else os.environ.get("MQGROUPS_PASSWORD"),
    )


async def load(groups: int) -> None:
    async with (
        connect() as q_mgr,
        q_mgr.group_producer("ORDERS", name="sinks.loader", commit_every=100) as producer,
    ):
        for number in range(groups):
            # One unit of work, which is never interrupted. A longer group would have to be resumed under its own name first.
            async with producer.group(name=f"group {number}") as group:
                for row in range(100):
                    await group.put(f"order {number}.{row}")


async def sink(number: int, consumers: list[aio.AsyncGroupConsumer]) -> int:
    """Get groups until none comes; return the number of messages."""
    messages = 0
    async with (
        connect() as q_mgr,
        q_mgr.group_consumer("ORDERS", name=f"sinks.{number}", complete_groups_only=True, wait_s=WAIT_S) as consumer,
    ):
        consumers.append(consumer)
        try:
            async for group in consumer:
                async for message in group:
                    await asyncio.sleep(0)  # stands for what is done with message.text
                    messages += bool(message.text)
        except Stopped as stopped:
            print(f"sink {number}: {stopped}")
    return messages


async def main() -> None:
    await load(12)
    consumers: list[aio.AsyncGroupConsumer] = []

    def stop() -> None:
        for consumer in consumers:
            consumer.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    async with asyncio.TaskGroup() as tasks:
        sinks = [tasks.create_task(sink(number, consumers)) for number in range(SINKS)]
    print(f"{sum(each.result() for each in sinks)} messages by {SINKS} sinks")


if __name__ == "__main__":
    asyncio.run(main())

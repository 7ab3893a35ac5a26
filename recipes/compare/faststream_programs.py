"""The two ways of putting messages with the PyPI package faststream-mq (0.3.0), unchanged. It does not support groups.

``publish``: ``broker.publish`` for each message, and a file with the number of the last one. It opens the queue, puts
one message outside syncpoint, and closes it. After a reason code for a lost connection it reconnects and repeats all
that once.

``answer``: a subscriber whose handler returns an answer. Message and answer are in one unit of work (MQGMO_SYNCPOINT,
MQPMO_SYNCPOINT), committed when the handler has returned. If the connection is lost, each of these calls, even
MQCMIT, is repeated once on a new connection, although the unit of work was backed out with the old one.

MsgFlags and GroupId cannot be set, so the messages are not in a group, and only lost and doubled messages can be counted.
"""

import asyncio
from typing import Any

from faststream_mq import MQBroker

from recipes.compare.job import Job, payload

_WAIT_S = 0.02
# Its consuming task can end with an exception that is not reported.
_STUCK_S = 5


def publish(job: Job) -> None:
    """Publish the messages, or those that are not noted as published."""
    asyncio.run(_publish(job))


def answer(job: Job) -> None:
    """Answer messages until no more arrive."""
    asyncio.run(_answer(job))


async def _publish(job: Job) -> None:
    broker = MQBroker(job.q_mgr_name, channel=job.channel, conn_name=job.conn_name, logger=None)
    await broker.connect()
    for number in range(job.progress + 1, job.messages + 1):
        await broker.publish(payload(number), job.queue, persistence=True)
        job.note_progress(number)
    job.say_done()
    await broker.stop()


async def _answer(job: Job) -> None:
    async def handle(body: bytes) -> bytes:
        return body

    broker = MQBroker(job.q_mgr_name, channel=job.channel, conn_name=job.conn_name, logger=None)
    subscriber = broker.subscriber(job.second_queue, wait_interval=_WAIT_S)
    subscriber(handle)
    await broker.start()
    # A subscriber normally never ends. This one ends when no message arrives in time; its messages are inspected, not changed.
    consumer = subscriber._consumer
    get_message, empty = consumer.get_message, asyncio.Event()

    async def observed(**arguments: Any) -> Any:
        message = await get_message(**arguments)
        if message is None:
            empty.set()
        return message

    consumer.get_message = observed
    await asyncio.wait_for(empty.wait(), _STUCK_S)
    job.say_done()
    await broker.stop()

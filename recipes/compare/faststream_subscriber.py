"""faststream-mq (0.3.0 on PyPI, unchanged): a subscriber whose handler returns an answer.

Message and answer are in one unit of work (MQGMO_SYNCPOINT, MQPMO_SYNCPOINT), committed when the handler has returned. If the
connection is lost, each of these calls, even MQCMIT, is repeated once on a new connection, although the unit of work was backed
out with the old one. The messages are not in a group, as in ``faststream_publish.py``.
"""

import asyncio
from typing import Any

from faststream_mq import MQBroker

from recipes.compare.job import Job

_WAIT_S = 0.02
# Its consuming task can end with an exception that is not reported; so long for a few messages, and for each one more.
_STUCK_S, _MESSAGE_S = 5, 0.05


def put_group(job: Job) -> None:
    """Answer messages until no more arrive."""
    asyncio.run(_answer(job))


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
    await asyncio.wait_for(empty.wait(), _STUCK_S + job.messages * _MESSAGE_S)
    job.say_done()
    await broker.stop()

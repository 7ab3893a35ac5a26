"""faststream-mq (0.3.0 on PyPI, unchanged): ``broker.publish`` for each message, and a file with the number of the last one.

It opens the queue, puts one message outside syncpoint, and closes it. After a reason code for a lost connection it reconnects and
repeats all that once. MsgFlags and GroupId cannot be set, so the messages are not in a group, and only lost and doubled messages
can be counted.
"""

import asyncio

from faststream_mq import MQBroker

from recipes.compare.job import Job, payload


def put_group(job: Job) -> None:
    """Publish the messages, or those that are not noted as published."""
    asyncio.run(_publish(job))


async def _publish(job: Job) -> None:
    broker = MQBroker(job.q_mgr_name, channel=job.channel, conn_name=job.conn_name, logger=None)
    await broker.connect()
    for number in range(job.progress + 1, job.messages + 1):
        await broker.publish(payload(number), job.queue, persistence=True)
        job.note_progress(number)
    job.say_done()
    await broker.stop()

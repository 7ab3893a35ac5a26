"""Producers, consumers and pipes for asyncio. The synchronous classes do the work, in one thread for each connection.

    from mqgroups import aio

    async with aio.connect("QM1", "DEV.APP.SVRCONN", "localhost(1414)") as qmgr:
        async with qmgr.group_producer("ORDERS", name="ORDERS.LOADER") as producer:
            async with producer.group() as group:
                for row in rows[group.resume_from:]:
                    await group.put(row)
        async with qmgr.group_consumer("ORDERS", name="ORDERS.SINK") as consumer:
            async for group in consumer:
                async for message in group:
                    await handle(message.data)

``connect``, ``group_producer`` and so on take the same arguments as in ``mqgroups``, with the same meaning. Use their result
with ``async with``, or await it.

thread.py         the thread of a connection, and the effect of a cancellation
opening.py        the object that ``connect`` and ``group_producer`` return
queue_manager.py  connect, and the factory of producers, consumers and pipes
group.py          the common base of all groups
owner.py          the common base of producers, consumers and pipes
producer.py  consumer.py  pipe.py     producers, consumers and pipes with methods to await

Theory of operation. All calls of a connection run in one thread, in the order in which tasks made them. So no call waits for a
call of another connection, and the event loop never waits for a queue manager. If a call is cancelled, its task gets
CancelledError at once. The task cannot know what the call did, or whether the call began. In the thread, the call ends normally
or at its next wait. An end at a wait is an interruption (docs/explanation/message-groups.md), so the next call on the connection
backs out, opens the queues again and reads the status record. In both cases the group of the cancelled call accepts no more
calls. The group can be resumed after its last commit by the same producer or consumer, by a new one, or by another program.
"""

from __future__ import annotations

import sys

from mqgroups.aio.consumer import AsyncGroupConsumer, AsyncIncomingGroup
from mqgroups.aio.opening import Opening
from mqgroups.aio.pipe import AsyncGroupPipe, AsyncPipedGroup
from mqgroups.aio.producer import AsyncGroupProducer, AsyncOutgoingGroup
from mqgroups.aio.queue_manager import AsyncQueueManager, connect
from mqgroups.public_names import name_by_room

__all__ = [
    "AsyncGroupConsumer",
    "AsyncGroupPipe",
    "AsyncGroupProducer",
    "AsyncIncomingGroup",
    "Opening",
    "AsyncOutgoingGroup",
    "AsyncPipedGroup",
    "AsyncQueueManager",
    "connect",
]

name_by_room(sys.modules[__name__])

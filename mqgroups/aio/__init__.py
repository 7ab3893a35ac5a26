"""Producers, consumers and pipes for asyncio. The classes of the library do the work, in a thread for each connection.

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

``connect``, ``group_producer`` and so on take the arguments of the functions with the same names in ``mqgroups``, and mean the
same. Their result is for ``async with``, or for ``await``.

thread.py         the thread of a connection, and what a cancelled call means
opening.py        what ``connect`` and ``group_producer`` return
queue_manager.py  connect, and the factory of producers, consumers and pipes
group.py          what groups have in common
owner.py          what producers, consumers and pipes have in common
producer.py  consumer.py  pipe.py     the classes of the same names, with calls to await

Theory of operation. A connection handle is used by one thread, in the order in which the calls were made; so no call waits for
another connection's, and the event loop never waits for a queue manager. A task whose call is cancelled gets CancelledError at
once, and cannot know what the call did, or whether it began. In the thread the call ends normally, or at its next wait, which is
then an interruption (docs/explanation/message-groups.md): the next call on the connection backs out, opens the queues again and
reads the status record. The group of a cancelled call takes no more calls, whatever the call did. The same producer or consumer,
a new one, or another program resumes it after what is committed.
"""

from __future__ import annotations

import sys

from mqgroups.aio.consumer import GroupConsumer, IncomingGroup
from mqgroups.aio.opening import Opening
from mqgroups.aio.pipe import GroupPipe, PipedGroup
from mqgroups.aio.producer import GroupProducer, OutgoingGroup
from mqgroups.aio.queue_manager import QueueManager, connect
from mqgroups.public_names import name_by_room

__all__ = [
    "GroupConsumer",
    "GroupPipe",
    "GroupProducer",
    "IncomingGroup",
    "Opening",
    "OutgoingGroup",
    "PipedGroup",
    "QueueManager",
    "connect",
]

name_by_room(sys.modules[__name__])

"""The applications of the campaign for asyncio: what those of ``programs.py`` do, with ``mqgroups.aio``."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import mqgroups
from mqgroups import aio
from mqgroups.connection.holder import connection_of
from tests.aio.canceller import Canceller, goes_on
from tests.faults.application import Application
from tests.faults.pattern import changed, key_of
from tests.faults.programs import GetProgram, PipeProgram, PutProgram


class _AioProgram(Application):
    """Runs in an event loop of its own. The library's calls are made in another thread, on the connection that it is given.

    Attributes:
        canceller: runs the event loop of the next start, and may cancel its task.
        level: where it goes on after that: with the same ``group`` producer, consumer or pipe, with a new ``owner``, or, on a new
            ``connection``, in its next start.
    """

    canceller = Canceller()
    level = "connection"

    def run(self, connection: mqgroups.QueueManager) -> None:
        try:
            self.canceller.run(self._run(connection))
        finally:
            # What a thread of this start does is not to be counted in the next one.
            for thread in threading.enumerate():
                if thread.name.startswith("mqgroups.aio"):
                    thread.join()

    async def _run(self, connection: mqgroups.QueueManager) -> None:
        nap = connection_of(connection).sleep
        async with aio.AsyncQueueManager(connection) as qmgr:

            def sleep(seconds: float) -> None:
                # Ends the wait if its call was cancelled.
                qmgr.thread.sleep(0)
                nap(seconds)

            connection_of(connection).sleep = sleep
            # It has the methods of the synchronous one.
            while not await self._with_owner(cast("mqgroups.QueueManager", qmgr)):
                pass

    async def _with_owner(self, qmgr: mqgroups.QueueManager) -> bool:
        """Work with a new producer, consumer or pipe; returns whether it came to its end."""
        try:
            async with self._make(qmgr) as owner:
                self._there.write(self.name.encode())
                while not self.done:
                    try:
                        await self._work(owner)
                        self.is_done()
                    except asyncio.CancelledError:
                        if self.level != "group":
                            raise
                        goes_on()
                if hasattr(owner, "forget"):
                    await owner.forget()
        except asyncio.CancelledError:
            if self.level == "connection":
                raise
            goes_on()
            return False
        return True

    async def _work(self, owner: Any) -> None:
        raise NotImplementedError  # each program does its own


class AioPutProgram(_AioProgram, PutProgram):
    """Puts groups, as ``PutProgram`` does."""

    async def _work(self, producer: Any) -> None:
        group_number, message_number = await producer.checkpoint() or (1, 0)
        if message_number == len(self._payloads):
            group_number += 1
        for number in range(group_number, self.pattern.groups + 1):
            async with producer.group() as group:
                for count, payload in enumerate(self._payloads[group.resume_from :], group.resume_from + 1):
                    if count in (1, len(self._payloads)):
                        group.set_checkpoint([number, count])
                    await group.put(payload)


class AioGetProgram(_AioProgram, GetProgram):
    """Gets groups, as ``GetProgram`` does."""

    async def _work(self, consumer: Any) -> None:
        self.notes.cut(await consumer.checkpoint() or 0)
        handled = len(self.notes.lines())
        async for group in consumer:
            async for message in group:
                async for chunk in group.chunks(message):
                    self.notes.write(b"%s %s" % (key_of(group), chunk))
                    handled += 1
                    group.set_checkpoint(handled)


class AioPipeProgram(_AioProgram, PipeProgram):
    """Gets groups and puts what it makes of them, as ``PipeProgram`` does."""

    async def _work(self, pipe: Any) -> None:
        async for incoming, outgoing in pipe:
            async for message in incoming:
                await outgoing.put(changed(message.data))

"""A web service that puts each upload as a message group to queue ORDERS, a line a message, with FastAPI.

    mqembedded exec --data DIR -- uvicorn --factory upload:application
    curl -T orders-0815.csv http://localhost:8000/groups/orders-0815.csv

The answer comes when the group is committed. The checkpoint is the name of the last upload that is whole: if the answer
is lost and the client tries again, the group is not put twice, unless another upload came in between. So each upload
needs a name of its own: new lines under the name of the last one are not put, and the answer is 0 messages. If an upload
breaks off, or the server ends in the middle of one, its group is abandoned, and consumers get GroupAbandoned. It
connects with MQGROUPS_Q_MGR_NAME, _CONN_NAME, _CHANNEL, _USER and _PASSWORD.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any

import mqgroups
from mqgroups import aio
from mqgroups.errors import EmptyGroup, MessageRefused, MessageTooLong


class Uploads:
    """Puts uploads one after the other. For more at a time, make more of them, each with a name and a connection."""

    def __init__(self, q_mgr: aio.QueueManager, name: str = "uploads") -> None:
        self._q_mgr = q_mgr
        self._name = name
        self._one_at_a_time = asyncio.Lock()

    async def put(self, name: str, chunks: AsyncIterator[bytes]) -> int:
        """Put the lines of an upload; returns how many."""
        interrupted: list[mqgroups.Resumed] = []
        async with (
            self._one_at_a_time,
            self._q_mgr.group_producer("ORDERS", name=self._name, on_resume=interrupted.append) as producer,
        ):
            if interrupted:
                # The rest of it does not come any more: the client begins again.
                async with producer.group() as group:
                    await group.abandon(1, "the server ended in the middle of the upload")
            if await producer.checkpoint() == name:
                return 0
            messages = 0
            async with producer.group(name=name) as group:
                try:
                    async for line, is_last in lines(chunks):
                        if is_last:
                            group.set_checkpoint(name)
                        await group.put(line)
                        messages += 1
                except Exception:
                    await group.abandon(2, "the upload broke off")
                    raise
            return messages


async def lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[tuple[bytes, bool]]:
    """Yield each line, and whether it is the last one."""
    rest, before = b"", None
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if before is not None:
                yield before, False
            before = line
    if rest:
        if before is not None:
            yield before, False
        before = rest
    if before is not None:
        yield before, True


def application() -> Any:
    from fastapi import FastAPI, HTTPException, Request

    conn_name = os.environ.get("MQGROUPS_CONN_NAME")  # without it, MQSERVER or a CCDT says where to go
    file = os.environ.get("MQGROUPS_PASSWORD_FILE")

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with aio.connect(
            os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"),
            os.environ.get("MQGROUPS_CHANNEL", "DEV.APP.SVRCONN") if conn_name else None,
            conn_name,
            user=os.environ.get("MQGROUPS_USER"),
            password=mqgroups.Secret.from_file(file) if file else os.environ.get("MQGROUPS_PASSWORD"),
        ) as q_mgr:
            app.state.uploads = Uploads(q_mgr)
            yield

    async def put_group(name: str, request: Request) -> dict[str, int]:
        try:
            return {"messages": await request.app.state.uploads.put(name, request.stream())}
        except EmptyGroup as error:
            raise HTTPException(422, "a group needs at least one line") from error
        except (MessageRefused, MessageTooLong) as error:
            raise HTTPException(422, "a line or the name is too long, or the name is not valid") from error

    # FastAPI reads the annotations of this function.
    put_group.__annotations__["request"] = Request
    app = FastAPI(lifespan=lifespan)
    app.add_api_route("/groups/{name}", put_group, methods=["PUT"])
    return app

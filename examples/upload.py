"""A web service that puts each upload as a message group to queue ORDERS, a line a message, with FastAPI.

    mqembedded exec --data DIR -- uvicorn --factory upload:application
    curl -T orders-0815.csv http://localhost:8000/groups/orders-0815.csv

The answer comes when the group is committed: the number of its messages. If the answer is lost and the client tries again, it
gets the same answer, and nothing is put, unless another upload came in between. So each upload needs a name of its own. If an
upload breaks off, or the server ends in the middle of one, its group is abandoned, and consumers get GroupAbandoned. It connects
with MQGROUPS_Q_MGR_NAME, _CONN_NAME, _CHANNEL, _USER and _PASSWORD.
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
    """Puts uploads one after the other. To put several at a time, make several objects, each with a name and a connection."""

    def __init__(self, q_mgr: aio.AsyncQueueManager, name: str = "uploads") -> None:
        self._q_mgr = q_mgr
        self._name = name
        self._one_at_a_time = asyncio.Lock()

    async def put(self, name: str, chunks: AsyncIterator[bytes]) -> int:
        """Put the lines of an upload; return their number."""
        async with (
            self._one_at_a_time,
            self._q_mgr.group_producer("ORDERS", name=self._name, interrupted="abandon") as producer,
            producer.group(name) as group,
        ):
            messages = group.resume_from
            if not group.is_complete:
                async for line in lines(chunks):
                    await group.put(line)
                    messages += 1
        return messages


async def lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield each line."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
    if rest:
        yield rest


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

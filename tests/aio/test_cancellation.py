"""A task that is cancelled: nothing is lost, nothing doubled, and everything can go on.

The campaign (``tests/faults/cancellations.py``) cancels at each await of producers, consumers and pipes, and goes on. Here is
what its programs do not do.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import warnings
from pathlib import Path

import pytest

from mqgroups import errors
from tests.aio.canceller import Cancellation, Canceller
from tests.aio.test_aio import connect, consumer, producer
from tests.put.whole_groups import THIS, is_whole_group

PATIENT = {"owner_wait_s": 20}


@pytest.fixture(autouse=True)
def _nothing_is_left_open():
    """No connection, and no producer that nobody has closed."""
    before = _sockets()
    gc.freeze()  # so that only what the test has made is looked through
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
        gc.collect()
    gc.unfreeze()
    for thread in threading.enumerate():
        if thread.name.startswith("mqgroups.aio"):
            thread.join(20)
            assert not thread.is_alive()
    assert _sockets() <= before + 3  # the eye's, and those of a first connection


def _sockets() -> int:
    count = 0
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += str(each.readlink()).startswith("socket:")
    return count


@pytest.mark.parametrize("when", ["under-way", "done"])
@pytest.mark.parametrize("nth", [1, 2], ids=["connection", "producer"])
def test_what_nobody_gets_is_closed(owner, nth, when):
    async def main():
        async with connect(owner) as qmgr, producer(owner, qmgr):
            raise AssertionError

    canceller = Canceller(Cancellation(when, nth))
    with pytest.raises(asyncio.CancelledError):
        canceller.run(main())
    assert canceller.came == 1


def test_a_waiting_consumer_is_cancelled_at_once_and_the_iteration_goes_on(owner):
    async def main():
        async with connect(owner) as qmgr, consumer(owner, qmgr, wait_s=None) as it:
            groups = aiter(it)
            for _ in range(2):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await anext(groups)
            await asyncio.to_thread(owner.put_group, THIS)
            return [message.data async for message in await anext(groups)]

    assert asyncio.run(main()) == THIS


def test_a_group_in_which_a_call_was_cancelled_has_failed(owner):
    async def main():
        async with connect(owner) as qmgr, producer(owner, qmgr) as it, it.group() as group:
            for data in THIS[:4]:
                await group.put(data)
            await cancelled(group.put(THIS[4]))
            for use in (lambda: group.put(THIS[4]), group.abandon):
                with pytest.raises(errors.GroupUsage, match="a call was cancelled"):
                    await use()
            with pytest.raises(errors.GroupUsage, match="a call was cancelled"):
                group.set_checkpoint(5)
            raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(main())
    assert asyncio.run(rest(owner)) is None
    assert owner.data() == THIS


@pytest.mark.parametrize("begun", [True, False], ids=["begun", "not begun"])
def test_a_group_whose_cancelled_put_went_unnoticed_is_not_completed(owner, begun):
    """The application goes on as if the message had been put. Another owner on the connection recovers in between."""

    async def main():
        async with connect(owner) as qmgr, producer(owner, qmgr) as it:
            group = it.group()
            await group.__aenter__()
            for data in THIS[:4]:
                await group.put(data)
            busy = threading.Event()
            first = asyncio.ensure_future(qmgr.run(lambda _: busy.wait(20)))
            if begun:
                busy.set()
                await first
            await cancelled(group.put(THIS[4]))
            busy.set()
            await first
            await it.checkpoint()
            with pytest.raises(errors.GroupUsage, match="Leave its block"):
                await group.__aexit__(None, None, None)
            async with it.group() as group:
                for data in THIS[group.resume_from :]:
                    await group.put(data)

    asyncio.run(main())
    assert is_whole_group(owner.on_queue(), THIS)
    assert owner.data() == THIS


@pytest.mark.parametrize("begun", [True, False], ids=["begun", "not begun"])
def test_an_iteration_in_which_a_call_was_cancelled_does_not_end_as_if_the_group_had(owner, begun):
    owner.put_group(THIS)

    async def main():
        async with connect(owner) as qmgr, consumer(owner, qmgr, commit_every=100) as it:
            group = await anext(aiter(it))
            messages = aiter(group)
            await anext(messages)
            busy = threading.Event()
            first = asyncio.ensure_future(qmgr.run(lambda _: busy.wait(20)))
            if begun:
                busy.set()
                await first
            await cancelled(anext(messages))
            busy.set()
            await first
            for _ in range(2):
                with pytest.raises(errors.GroupUsage, match="Iterate over the consumer again"):
                    await anext(messages)
            with pytest.raises(errors.GroupUsage, match="a call was cancelled"):
                group.set_checkpoint(1)
            return [[message.data async for message in group] async for group in it]

    assert asyncio.run(main()) == [THIS]
    assert owner.data() == []


def test_a_pipe_in_which_a_put_was_cancelled_does_not_go_on_without_it(owner, make_queue):
    owner.put_group(THIS)
    target = make_queue()
    settings = {"name": owner.name, "commit_every": 2, "wait_s": 0, "group_wait_s": 0, "full_wait_s": 0, **PATIENT}

    async def main():
        async with connect(owner) as qmgr, qmgr.group_pipe(owner.queue, target, **settings) as pipe:
            incoming, outgoing = await anext(aiter(pipe))
            messages = aiter(incoming)
            await outgoing.put((await anext(messages)).data)
            message = await anext(messages)
            await cancelled(outgoing.put(message.data))
            with pytest.raises(errors.GroupUsage, match="a call was cancelled"):
                await anext(messages)
            async for incoming, outgoing in pipe:
                async for message in incoming:
                    await outgoing.put(message.data)

    asyncio.run(main())
    assert is_whole_group(owner.on_queue(target), THIS)


async def rest(owner):
    async with connect(owner) as qmgr, producer(owner, qmgr) as it, it.group() as group:
        for data in THIS[group.resume_from :]:
            await group.put(data)


async def cancelled(coroutine):
    """Cancel a call that is under way."""
    task = asyncio.ensure_future(coroutine)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_coroutine_before_commit_is_cancelled_with_the_task_that_waits_for_it(owner):
    owner.put_group(THIS)
    ended: list[bool] = []

    async def main():
        async with connect(owner) as qmgr, consumer(owner, qmgr) as it:

            @it.before_commit
            async def flush(group):
                if ended:
                    return
                try:
                    waiting.set()
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    ended.append(True)
                    raise

            waiting = asyncio.Event()
            task = asyncio.ensure_future(drain(it))
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await drain(it)

    async def drain(it):
        return [[message.data async for message in group] async for group in it]

    assert asyncio.run(asyncio.wait_for(main(), 30)) == [THIS]
    assert ended == [True]
    assert owner.data() == []


def test_a_wait_for_another_owner_ends_when_it_is_cancelled(owner):
    async def main():
        async with connect(owner) as one, connect(owner) as other, producer(owner, one):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await producer(owner, other, owner_wait_s=600)
            # The thread has ended the wait, so it takes the next call.
            assert await asyncio.wait_for(other.run(lambda q_mgr: q_mgr.usable), 20)

    asyncio.run(main())


def test_tasks_of_other_connections_go_on(make_owner):
    one, other = make_owner(), make_owner()

    async def main():
        async with connect(one) as first, connect(other) as second:
            task = asyncio.ensure_future(put_with(one, first))
            await asyncio.sleep(0)
            task.cancel()
            await put_with(other, second)
            with pytest.raises(asyncio.CancelledError):
                await task

    async def put_with(owner, qmgr):
        async with producer(owner, qmgr) as it, it.group() as group:
            for data in THIS[group.resume_from :]:
                await group.put(data)

    asyncio.run(main())
    assert other.data() == THIS


def test_a_program_that_ends_in_the_middle_leaves_everything_resumable(owner):
    """asyncio.run cancels what is left when the main coroutine ends."""

    async def main():
        task = asyncio.ensure_future(put_slowly())
        while len(owner.data()) < 4:
            await asyncio.sleep(0.01)
        assert not task.done()

    async def put_slowly():
        async with connect(owner) as qmgr, producer(owner, qmgr) as it, it.group() as group:
            for data in THIS[:6]:
                await group.put(data)
            await asyncio.sleep(60)

    asyncio.run(main())
    assert asyncio.run(rest(owner)) is None
    assert owner.data() == THIS

"""Producers, consumers and pipes for asyncio: they do what the synchronous ones do, in a thread for each connection."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from mqembedded import Fault
from mqgroups import aio, codecs, errors, operate
from mqgroups.connection.holder import connection_of
from tests.put.whole_groups import THIS

NO_WAIT = {"owner_wait_s": 0, "wait_s": 0, "group_wait_s": 0}


def connect(owner, **more):
    """Return what connects to an owner's queue manager."""
    target = owner.target
    credentials = {"user": getattr(target, "user", None), "password": getattr(target, "password", None)}
    settings = {"reconnect_wait_s": 0, **credentials, **more}
    return aio.connect(target.q_mgr_name, target.channel, target.conn_name, **settings)


def producer(owner, qmgr, **more):
    settings = {"name": owner.name, "commit_every": 2, "owner_wait_s": 0, "full_wait_s": 0, **more}
    return qmgr.group_producer(owner.queue, **settings)


def consumer(owner, qmgr, **more):
    settings = {"name": owner.name, "commit_every": 2, **NO_WAIT, **more}
    return qmgr.group_consumer(settings.pop("queue", owner.queue), **settings)


async def put_all(owner, payloads=THIS, **more):
    async with connect(owner, **more) as qmgr, producer(owner, qmgr) as it:
        async with it.group("file") as group:
            for payload in payloads[group.resume_from :]:
                await group.put(payload)
        await it.forget()


async def get_all(owner, **more):
    async with connect(owner, **more) as qmgr, consumer(owner, qmgr) as it:
        return [(group.name, [message.data async for message in group]) async for group in it]


# --- what the synchronous ones do


def test_a_group_is_put_and_got(owner):
    asyncio.run(put_all(owner))
    assert [(found.msg_seq_number, found.is_last) for found in owner.on_queue()] == [
        *((number, False) for number in range(1, 7)),
        (7, True),
    ]
    assert asyncio.run(get_all(owner)) == [("file", THIS)]
    assert owner.records("put") == owner.records("get") == []


def test_await_opens_and_leaves_closing_to_the_caller(owner):
    async def main():
        async with await connect(owner) as qmgr:
            it = await producer(owner, qmgr)
            async with it.group() as group:
                await group.put(b"1")
            assert len(owner.records("put")) == 1
            await it.close()
            await it.close()
        with pytest.raises(errors.GroupUsage, match="opened already"):
            async with (opening := connect(owner)):
                await opening.__aenter__()
        return opening

    asyncio.run(main())
    assert owner.records("put") == []


def test_checkpoints_properties_and_places_are_there_on_both_sides(owner):
    async def put(payloads):
        async with connect(owner) as qmgr, producer(owner, qmgr) as it:
            assert await it.checkpoint() == (4 if len(payloads) > 5 else None)
            async with it.group(properties={"file": "a"}) as group:
                assert (group.resume_from, group.resume_offset) == ((4, 0) if len(payloads) > 5 else (0, 0))
                assert group.checkpoint == await it.checkpoint()
                assert (group.properties, group.name) == ({"file": "a"}, "")
                for number in range(group.resume_from, len(payloads)):
                    group.set_checkpoint(number + 1)
                    await group.put(payloads[number])
                if len(payloads) == 5:
                    raise ZeroDivisionError
            await it.forget()

    async def get():
        async with connect(owner) as qmgr, consumer(owner, qmgr) as it:
            async for group in it:
                assert (group.resume_from, group.checkpoint) == (0, None)
                assert owner.own(group.properties) == {"file": "a"}
                async for message in group:
                    group.set_checkpoint(message.msg_seq_number)
            assert await it.checkpoint() == 7
            await it.forget()
            assert await it.checkpoint() is None
            await it.delete_status_queue()

    with pytest.raises(ZeroDivisionError):
        asyncio.run(put(THIS[:5]))
    asyncio.run(put(THIS))
    asyncio.run(get())


def test_streams_and_abandoned_groups(owner):
    async def main():
        async with connect(owner) as qmgr:
            async with producer(owner, qmgr, segment_bytes=4) as it:
                async with it.group() as group:
                    await group.put('{"a":1}')
                    await group.put([b"segments", b" of a stream"], last=True)
                async with it.group() as group:
                    for payload in THIS[:4]:
                        await group.put(payload)
                    await group.abandon(3, "no more")
            found = []
            async with consumer(owner, qmgr, stream=True) as it:
                with pytest.raises(errors.GroupAbandoned, match="no more"):  # noqa: PT012 - raised by the loop
                    async for group in it:
                        async for message in group:
                            found.append([chunk async for chunk in group.chunks(message)])
            return found

    assert asyncio.run(main())[:2] == [[b'{"a"', b":1}"], [b"segm", b"ents", b" of ", b"a st", b"ream"]]


def test_a_pipe_puts_what_it_made_of_each_group(owner, make_queue):
    target = make_queue()
    owner.put_group(THIS)

    async def main():
        settings = {"name": owner.name, "commit_every": 2, "full_wait_s": 0, **NO_WAIT}
        async with connect(owner) as qmgr, qmgr.group_pipe(owner.queue, target, codec=codecs.json, **settings) as pipe:
            async for incoming, outgoing in pipe:
                await outgoing.set_properties({"of": incoming.group_id.hex()})
                async for message in incoming:
                    await outgoing.put(codecs.json.encode(message.value * 2))
                    await outgoing.put(b"raw")
        async with connect(owner) as qmgr, consumer(owner, qmgr, queue=target) as it:
            return [[message.data async for message in group] async for group in it]

    assert asyncio.run(main()) == [[data for number in range(7) for data in (b"%d" % (number * 2), b"raw")]]


def test_an_operators_function_runs_on_the_connection(owner):
    owner.interrupt_put(THIS)

    async def main():
        async with connect(owner) as qmgr:
            return await qmgr.run(operate.inspect_owner, owner.name, "put")

    assert asyncio.run(main()).state is operate.OwnerState.INTERRUPTED


def test_the_applications_own_connection_can_be_used(owner):
    async def main():
        async with aio.AsyncQueueManager(owner.connect()) as qmgr, producer(owner, qmgr) as it, it.group() as group:
            await group.put(b"1")

    asyncio.run(main())
    assert owner.data() == [b"1"]


def test_stop_ends_the_iteration(owner):
    owner.put_group(THIS)

    async def main():
        async with connect(owner) as qmgr, consumer(owner, qmgr, wait_s=None) as it:
            async for group in it:
                async for message in group:
                    if message.msg_seq_number == 3:
                        it.stop()
                        assert it.stopping

    with pytest.raises(errors.Stopped):
        asyncio.run(main())
    assert owner.data() == THIS[3:]


def test_a_sleep_of_the_applications_own_is_refused():
    async def main():
        with pytest.raises(errors.ConfigurationError, match=r"takes no sleep="):
            await aio.connect("QM1", sleep=print)

    asyncio.run(main())


def test_what_is_not_awaited_is_told(owner):
    async def main():
        async with connect(owner) as q_mgr:
            q_mgr.group_producer(owner.queue, name=owner.name)
        gc.collect()

    with pytest.warns(RuntimeWarning, match="coroutine 'QueueManager.group_producer' was never awaited"):
        asyncio.run(main())


def test_a_connection_that_is_not_closed_is_told(owner):
    async def main():
        await connect(owner)
        # The connection may be garbage only when its thread has ended.
        for thread in threading.enumerate():
            if thread.name.startswith("mqgroups.aio"):
                thread.join(20)

    with pytest.warns(ResourceWarning, match="Use it in an async with statement"):
        asyncio.run(main())
    # Until here the first warning has kept it.
    with pytest.warns(ResourceWarning, match="a connection to a queue manager was not closed"):
        gc.collect()


def test_a_connection_that_is_closed_takes_no_calls(owner):
    async def main():
        qmgr = await connect(owner)
        await qmgr.close()
        await qmgr.close()
        with pytest.raises(errors.GroupUsage, match="the connection is closed"):
            await producer(owner, qmgr)

    asyncio.run(main())


def test_errors_reach_the_task_that_asked(owner):
    async def main():
        async with connect(owner) as qmgr:
            with pytest.raises(errors.QueueMissing):
                await qmgr.group_producer("NO.SUCH.QUEUE", name=owner.name)
            async with producer(owner, qmgr) as it:
                with pytest.raises(errors.EmptyGroup):
                    async with it.group():
                        pass
                async with it.group() as group:
                    with pytest.raises(errors.MessageRefused):
                        await group.put(object())
                    await group.put(b"1")

    asyncio.run(main())
    assert owner.data() == [b"1"]


# --- threads


def test_all_calls_of_a_connection_are_made_in_one_thread_and_of_another_in_another(make_owner):
    owners = [make_owner() for _ in range(2)]
    threads: dict[str, set[str]] = {}

    async def work(owner):
        async with connect(owner) as qmgr:
            binding = connection_of(qmgr.q_mgr).binding

            def noted(verb):
                call = getattr(binding, verb)

                def made(*arguments):
                    threads.setdefault(owner.name, set()).add(threading.current_thread().name)
                    return call(*arguments)

                return made

            owner.doctor(qmgr.q_mgr, **{verb: noted(verb) for verb in ("MQPUT", "MQGET", "MQCMIT", "MQOPEN", "MQDISC")})
            async with producer(owner, qmgr) as it, it.group() as group:
                for payload in THIS:
                    await group.put(payload)
            async with consumer(owner, qmgr) as it:
                return [[message.data async for message in group] async for group in it]

    async def main():
        return await asyncio.gather(*map(work, owners))

    assert asyncio.run(main()) == [[THIS], [THIS]]
    assert [len(names) for names in threads.values()] == [1, 1]
    assert len(set.union(*threads.values())) == 2
    assert threading.current_thread().name not in set.union(*threads.values())


def test_more_consumers_wait_than_a_thread_pool_has_threads_and_none_starves_another(make_owner):
    """Each waits for its own group, and what is put last is got first."""
    owners = [make_owner() for _ in range(5)]

    async def work(owner):
        async with connect(owner) as qmgr, consumer(owner, qmgr, wait_s=30, group_wait_s=30) as it:
            async for group in it:
                return [message.data async for message in group]
        return None

    async def main():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        async with asyncio.TaskGroup() as tasks:
            waiting = [tasks.create_task(work(owner)) for owner in owners]
            for owner, task in reversed(list(zip(owners, waiting, strict=True))):
                await asyncio.to_thread(owner.put_group, THIS)
                assert await task == THIS

    asyncio.run(main())


def test_calls_of_several_tasks_on_one_connection_are_made_in_turn(make_owner):
    owners = [make_owner() for _ in range(5)]

    async def work(owner, qmgr):
        async with producer(owner, qmgr, commit_every=100) as it, it.group() as group:
            for payload in THIS:
                await group.put(payload)

    async def main():
        async with connect(owners[0]) as qmgr:
            results = await asyncio.gather(*(work(owner, qmgr) for owner in owners), return_exceptions=True)
        return [type(result) for result in results if result is not None]

    # A connection has one unit of work: whoever has messages in it keeps the others out, and nobody's thread is found inside.
    kinds = asyncio.run(main())
    assert set(kinds) <= {errors.GroupUsage}
    whole = sum(owner.data() == THIS for owner in owners)
    assert whole == len(owners) - len(kinds) >= 1


def test_the_context_of_a_task_is_seen_in_its_calls(owner):
    who: ContextVar[str] = ContextVar("who")
    seen = []

    async def main():
        async with connect(owner) as qmgr:
            who.set("task")
            async with producer(owner, qmgr, on_progress=lambda _: seen.append(who.get())) as it, it.group() as group:
                await group.put(b"1")

    asyncio.run(main())
    assert seen == ["task"]


# --- before_commit


@pytest.mark.parametrize("kind", ["coroutine", "function"])
def test_before_commit_may_be_a_coroutine_function(owner, kind):
    owner.put_group(THIS)
    flushed = []

    async def main():
        loop = asyncio.get_running_loop()
        async with connect(owner) as qmgr, consumer(owner, qmgr) as it:
            if kind == "coroutine":

                @it.before_commit
                async def flush(group):
                    await asyncio.sleep(0)
                    assert asyncio.get_running_loop() is loop
                    flushed.append(len(handled))
                    group.set_checkpoint(len(handled))

            else:

                @it.before_commit
                def flush_now(group):
                    flushed.append(len(handled))
                    group.set_checkpoint(len(handled))

            async for group in it:
                async for message in group:
                    handled.append(message.data)
            assert await it.checkpoint() == 7
            await it.forget()

    handled: list[bytes] = []
    asyncio.run(main())
    assert flushed == [2, 4, 6, 7]


def test_a_coroutine_before_commit_that_fails_backs_out(owner):
    owner.put_group(THIS)

    async def main():
        async with connect(owner) as qmgr, consumer(owner, qmgr) as it:

            @it.before_commit
            async def flush(group):
                raise ZeroDivisionError

            async for group in it:
                [message async for message in group]

    with pytest.raises(ZeroDivisionError):
        asyncio.run(main())
    assert owner.data() == THIS


def cancelled():
    """A function that raises what cancels a task."""
    raise asyncio.CancelledError


async def with_a_cancelled_task():
    """A coroutine function that waits for a task of its own, which is cancelled."""
    task = asyncio.ensure_future(asyncio.sleep(60))
    asyncio.get_running_loop().call_soon(task.cancel)
    await task


@pytest.mark.parametrize("fails", [cancelled, with_a_cancelled_task])
def test_a_before_commit_that_is_cancelled_does_not_look_like_a_task_that_is(owner, fails):
    # A TaskGroup ends a task with CancelledError without a word.
    owner.put_group(THIS)

    async def main():
        async with connect(owner) as qmgr, consumer(owner, qmgr) as it:
            it.before_commit(lambda _: fails())
            with pytest.raises(RuntimeError, match="CancelledError"):
                [message async for message in await anext(aiter(it))]
            it.before_commit(lambda _: None)
            return [message.data async for group in it async for message in group]

    assert asyncio.run(main()) == THIS


def test_a_coroutine_before_commit_that_uses_its_own_connection_is_refused_and_not_stuck(owner):
    owner.put_group(THIS)

    async def main():
        async with connect(owner) as qmgr, consumer(owner, qmgr) as it:

            @it.before_commit
            async def flush(group):
                await it.checkpoint()

            async for group in it:
                [message async for message in group]

    with pytest.raises(errors.GroupUsage, match="must not use the consumer that waits for it"):
        asyncio.run(asyncio.wait_for(main(), 20))
    assert owner.data() == THIS


# --- a connection that is lost


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_both_sides_go_on_by_themselves_when_the_connection_is_lost(owner, faults, when):
    async def main():
        async with connect(owner, reconnect_wait_s=30) as qmgr:
            faults.arm(Fault("drop", when, nth=3, verb="MQCMIT"))
            async with producer(owner, qmgr) as it, it.group() as group:
                for payload in THIS:
                    await group.put(payload)
            faults.arm(Fault("drop", when, nth=3, verb="MQCMIT"))
            async with consumer(owner, qmgr, wait_s=1) as it:
                async for group in it:
                    found = [message.data async for message in group]
                    it.stop()
            return found

    assert asyncio.run(main()) == THIS
    assert faults.faults_fired() == 2
    assert owner.data() == owner.records("put") == owner.records("get") == []

"""An object whose constructor failed has a repr: it is a local of the error's frames, and whoever shows them asks for it.

An error of the repr would hide the library's own error.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import pkgutil
import traceback
from pathlib import Path

import pytest

import mqembedded
import mqgroups
from mqembedded import EmbeddedQueueManager, Fault
from mqembedded.readings import ReadingError
from mqgroups import aio
from mqgroups.mqi import constants as mq

ROOT = Path(mqgroups.__file__).parents[1]
OURS = ("mqgroups", "mqembedded")


def classes():
    """Return the classes of all modules."""
    for package in (mqgroups, mqembedded):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                values = vars(importlib.import_module(found.name)).values()
                yield from (each for each in values if isinstance(each, type) and each.__module__.startswith(OURS))


def reprs_of_frames(error):
    """Return the representations of all locals of the package's frames."""
    chain = [error, *filter(None, (error.__cause__, error.__context__))]
    frames = [frame for each in chain for frame, _ in traceback.walk_tb(each.__traceback__)]
    inside = [frame for frame in frames if Path(frame.f_code.co_filename).is_relative_to(ROOT)]
    return [repr(value) for frame in inside for value in frame.f_locals.values()]


def test_every_class_has_a_repr_before_its_constructor():
    seen = set()
    for cls in set(classes()):
        writer = next(each for each in cls.__mro__ if "__repr__" in vars(each))
        params = getattr(writer, "__dataclass_params__", None)
        if params is not None and params.repr:
            # Its constructor sets all fields before any code that may fail.
            assert all(field.init or not field.repr for field in vars(writer)["__dataclass_fields__"].values()), cls
        elif writer.__module__.startswith(OURS) and not issubclass(writer, tuple):
            seen.add(cls.__name__)
            assert cls.__name__ in repr(cls.__new__(cls))
    assert {"GroupProducer", "GroupConsumer", "GroupPipe", "Message", "Secret", "EmbeddedQueueManager"} <= seen


MAKERS = {
    "producer": lambda owner, q_mgr: owner.producer(q_mgr),
    "consumer": lambda owner, q_mgr: owner.consumer(q_mgr),
    "pipe": lambda owner, q_mgr: q_mgr.group_pipe(
        owner.queue, "TEST.BACKOUT", name=owner.name, wait_s=0, owner_wait_s=0
    ),
    "connection": lambda owner, _: owner.connect(),
}


@pytest.mark.embedded
@pytest.mark.parametrize("what", MAKERS)
def test_an_error_in_any_call_of_a_constructor_can_be_shown_with_its_frames(owner, faults, what):
    for nth in itertools.count(1):
        q_mgr = owner.connect()
        faults.arm(Fault("answer", nth=nth, reason=mq.MQRC_UNEXPECTED_ERROR))
        refused = None
        try:
            MAKERS[what](owner, q_mgr).close()
        except mqgroups.MQGroupsError as error:
            refused = error
        if faults.faults_fired() < nth:
            break
        assert refused is None or reprs_of_frames(refused)
        q_mgr.close()
    assert nth > 2


def test_the_same_for_asyncio_and_for_an_embedded_queue_manager(owner):
    async def make():
        async with aio.AsyncQueueManager(owner.connect()) as q_mgr:
            await q_mgr.group_producer("NO.SUCH.QUEUE", name=owner.name)

    with pytest.raises(mqgroups.errors.QueueMissing) as missing:
        asyncio.run(make())
    assert reprs_of_frames(missing.value)
    with pytest.raises(ReadingError) as unknown:
        EmbeddedQueueManager(readings={"no such": "reading"})
    assert reprs_of_frames(unknown.value)

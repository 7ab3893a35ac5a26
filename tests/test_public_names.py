"""The public names: where they say that they are, and that they come back from a pickle."""

from __future__ import annotations

import copy
import pickle
import traceback

import mqgroups
from mqgroups import aio, operate
from mqgroups.operate.rules.inspection import GroupInspection

PUBLIC = [(room, name) for room in (mqgroups, operate) for name in room.__all__ if callable(getattr(room, name))]


def test_what_a_room_shows_is_what_is_public():
    for room in (mqgroups, operate, aio):
        assert dir(room) == sorted(room.__all__)


def test_the_end_of_a_group_is_its_block_and_no_close_that_would_leave_its_last_message_out(owner):
    with owner.producer() as producer, producer.group() as group:
        assert not hasattr(group, "close")
        group.put(b"0")


VALUES = (
    mqgroups.Every(messages=3, seconds=2.5),
    mqgroups.Persistence.NOT_PERSISTENT,
    mqgroups.MsgFlag.SEGMENT | mqgroups.MsgFlag.LAST_SEGMENT,
    mqgroups.Resumed("put", "N", "Q", bytes(24), 3, 0, {"row": 3}, 1, 2),
    operate.SeenOwner("get", "N", "MQGROUPS.GET.N", operate.OwnerState.INTERRUPTED),
    operate.Salvage("put", "N", "MQGROUPS.PUT.N", GroupInspection(bytes(24)), None, unreadable=1),
    operate.BrowsedInstance("QM1", "Q"),
)


def test_a_class_or_function_is_found_where_it_says_that_it_is():
    for room, name in PUBLIC:
        thing = getattr(room, name)
        says = "mqgroups.errors" if name == "MQGroupsError" else room.__name__
        assert (thing.__module__, thing.__qualname__) == (says, name)
        assert pickle.loads(pickle.dumps(thing)) is thing, name


def test_a_value_comes_back_from_a_pickle_and_a_copy():
    for value in VALUES:
        for again in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
            assert (type(again), again) == (type(value), value)


def test_a_class_has_its_public_path_in_its_representation_and_errors_in_tracebacks():
    assert repr(mqgroups.GroupProducer) == "<class 'mqgroups.GroupProducer'>"
    assert repr(operate.Salvage) == "<class 'mqgroups.operate.Salvage'>"
    (line,) = traceback.format_exception_only(mqgroups.errors.EmptyGroup("nothing"))
    assert line == "mqgroups.errors.EmptyGroup: nothing\n"

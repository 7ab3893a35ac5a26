"""An exception comes where a case says, once, and a second one so many lines later, in what handles the first."""

from __future__ import annotations

import asyncio
import gc
import inspect
from types import SimpleNamespace

import pytest

from mqgroups.connection.interruptions import Turn
from mqgroups.core.group import AT_START
from mqgroups.core.unit_of_work import Every, syncpoint_due
from mqgroups.put.group import OutgoingGroup
from tests.faults.interrupter import EXCEPTIONS, Interrupter, Place, Point, point_at

FILE = "core/unit_of_work.py"
FIRST_LINE = inspect.getsourcelines(syncpoint_due)[1]
EVERY = Every(messages=2)


@pytest.fixture(autouse=True)
def _nothing_else_of_the_library_runs():
    """Objects of earlier tests that are collected meanwhile may run lines of the library."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def due(messages=1):
    return syncpoint_due(EVERY, messages, 0, 0.0)


def reached(*, opcodes=False):
    with Interrupter(opcodes=opcodes) as interrupter:
        due()
        due()
    return interrupter.reached


@pytest.mark.parametrize(
    "text",
    ["KeyboardInterrupt@producer.py:321.2", "MemoryError@core/group.py:34+12.1", "GeneratorExit+57"],
)
def test_a_point_is_what_its_name_says(text):
    assert str(point_at(text)) == text


def test_lines_of_the_library_are_reached_and_none_of_others():
    lines = reached()
    assert {place.file for place in lines} == {FILE}
    assert set(lines.values()) == {2}
    assert min(place.line for place in lines) > FIRST_LINE
    assert all(place.offset == -1 for place in lines)


def test_opcodes_are_reached_besides():
    opcodes = {place: count for place, count in reached(opcodes=True).items() if place.offset >= 0}
    assert len(opcodes) > len(reached())
    assert set(opcodes.values()) == {2}


@pytest.mark.parametrize("opcodes", [False, True], ids=["lines", "opcodes"])
@pytest.mark.parametrize("exception", EXCEPTIONS)
def test_an_exception_comes_at_each_place_at_the_time_that_is_said(exception, opcodes):
    for place in reached(opcodes=opcodes):
        if (place.offset >= 0) == opcodes:
            with Interrupter([Point(exception, place, 2)]) as interrupter:
                due()
                with pytest.raises(EXCEPTIONS[exception], match=f"at {FILE}:{place.line}"):
                    due()
                # No other one.
                due()
            assert (interrupter.fired, interrupter.has_more) == (1, False)


def test_a_second_exception_comes_so_many_lines_after_the_first():
    first = min(reached(), key=lambda place: place.line)
    for lines in range(1, len(reached()) + 1):
        with Interrupter([Point("KeyboardInterrupt", first, 1), Point("CancelledError", None, lines)]) as interrupter:
            with pytest.raises(KeyboardInterrupt):
                due()
            with pytest.raises(asyncio.CancelledError):
                due()
        assert interrupter.fired == 2


def test_a_place_that_is_not_reached_so_often_interrupts_nothing():
    place = next(iter(reached()))
    with Interrupter([Point("KeyboardInterrupt", place, 3)]) as interrupter:
        due()
        due()
    assert interrupter.fired == 0


class FailingPutter:
    """Stands in for a group's putter; its frames are none of the library's."""

    turn = Turn()
    settings = SimpleNamespace(segment_bytes=None)
    owner = SimpleNamespace(committed=AT_START)

    def put(self, message):
        raise KeyboardInterrupt(message[0])

    def back_out(self, error):
        pass


def test_the_second_exception_may_come_in_what_handles_the_first():
    group = OutgoingGroup(FailingPutter())  # type: ignore[arg-type]  # stands in for one
    first = Point("SystemExit", _line_of(OutgoingGroup._put, "putter.put(message"), 1)
    with (
        Interrupter([first, Point("MemoryError", None, 1)]) as interrupter,
        pytest.raises(MemoryError) as raised,
    ):
        group.put(b"data", last=True)
    # From Python 3.12 on the line of `except` is told too, and it is the next one.
    assert raised.traceback[-3].name in ("_put", "_fail")
    assert interrupter.fired == 2
    assert isinstance(raised.value.__context__, SystemExit)


def _line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return Place("put/group.py", first + next(number for number, line in enumerate(lines) if text in line))

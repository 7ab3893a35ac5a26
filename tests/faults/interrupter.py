"""Raises an exception at a line of the library, or at one of its opcodes: what a signal, or a thread that cancels, may do.

A point is named by its place, so that a case can be run again: ``KeyboardInterrupt@producer.py:321.2`` is the second time that
line 321 begins, ``SystemExit@producer.py:321+34.1`` the first time that its opcode at offset 34 does. A second exception comes
so many lines after the first: ``KeyboardInterrupt+57``.

Lines are those of ``mqgroups``, but for the embedded queue manager. Python 3.12 and later watch by ``sys.monitoring``; before, by
``sys.settrace``, which ends with the first exception that it raises, so a profile function sets it again.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import mqgroups

EXCEPTIONS: dict[str, type[BaseException]] = {
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": SystemExit,
    "MemoryError": MemoryError,
    "CancelledError": asyncio.CancelledError,
    "GeneratorExit": GeneratorExit,
}
_LIBRARY = f"{Path(mqgroups.__file__).parent}/"
_NOT_OF_IT = ("embedded/", "testing/")
_places: dict[CodeType, str] = {}


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the library's, or an opcode of it: its file, its line, and the opcode's offset, -1 for the line."""

    file: str
    line: int
    offset: int = -1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f"+{self.offset}" if self.offset >= 0 else "")


@dataclass(frozen=True, slots=True)
class Point:
    """Where an exception comes: the n-th time that a place is reached, or n lines after the exception before it."""

    exception: str
    place: Place | None
    nth: int

    def __str__(self) -> str:
        return f"{self.exception}@{self.place}.{self.nth}" if self.place else f"{self.exception}+{self.nth}"


def point_at(text: str) -> Point:
    """Return the point that a part of a case's name says."""
    exception, at, where = text.partition("@")
    if not at:
        exception, _, nth = text.partition("+")
        return Point(exception, None, int(nth))
    where, _, nth = where.rpartition(".")
    file, _, where = where.rpartition(":")
    line, _, offset = where.partition("+")
    return Point(exception, Place(file, int(line), int(offset or -1)), int(nth))


def file_of(code: CodeType) -> str:
    """Return the library's file that code is from, as its places name it; empty if it is no code of the library.

    Nor is ``__del__``: what is raised there goes nowhere, so no application goes on after it.
    """
    file = _places.get(code)
    if file is None:
        _, _, file = code.co_filename.partition(_LIBRARY)
        file = _places[code] = "" if file.startswith(_NOT_OF_IT) or code.co_name == "__del__" else file
    return file


class Interrupter:
    """As a context manager: raises at these points, one after the other. Without points it only counts what is reached.

    Attributes:
        fired: how many exceptions were raised.
        reached: how often each place was, if there are no points.
    """

    def __init__(self, points: Sequence[Point] = (), *, opcodes: bool = False) -> None:
        self.fired = 0
        self.reached: Counter[Place] = Counter()
        self._points = list(points)
        self._left = points[0].nth if points else 0
        self.opcodes = opcodes or any(point.place and point.place.offset >= 0 for point in points)
        self._watching: _Monitoring | _Tracing = (_Monitoring if sys.version_info >= (3, 12) else _Tracing)(self)

    @property
    def has_more(self) -> bool:
        """Whether there is an exception to be raised still."""
        return bool(self._points)

    def __enter__(self) -> Interrupter:
        self._watching.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._watching.end()

    def at(self, file: str, line: int, offset: int) -> None:
        """Take note that a place is reached."""
        if not self._points:
            if not self.fired:
                self.reached[Place(file, line, offset)] += 1
            return
        place = self._points[0].place
        if place is None:
            if offset >= 0:
                return
        elif place.line != line or place.offset != offset or place.file != file:
            return
        self._left -= 1
        if not self._left:
            point = self._points.pop(0)
            self._left = self._points[0].nth if self._points else 0
            self.fired += 1
            self._watching.fires()
            raise EXCEPTIONS[point.exception](f"of the campaign, at {file}:{line}")


class _Tracing:
    """By ``sys.settrace``, and ``sys.setprofile`` where there is more than one exception to raise."""

    def __init__(self, interrupter: Interrupter) -> None:
        self._interrupter = interrupter
        self._again = False

    def begin(self) -> None:
        sys.setprofile(self._profile)
        sys.settrace(self._call)

    def end(self) -> None:
        sys.settrace(None)
        sys.setprofile(None)

    def fires(self) -> None:
        self._again = self._interrupter.has_more
        if not self._again:
            sys.setprofile(None)

    def _call(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        if not file_of(frame.f_code):
            return None
        frame.f_trace_opcodes = self._interrupter.opcodes
        return self._line

    def _line(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            self._interrupter.at(file_of(frame.f_code), frame.f_lineno, -1)
        elif event == "opcode":
            self._interrupter.at(file_of(frame.f_code), frame.f_lineno or 0, frame.f_lasti)
        return self._line

    def _profile(self, frame: FrameType, _event: str, _arg: Any) -> None:
        if not self._again:
            return
        self._again = False
        sys.settrace(self._call)
        one: FrameType | None = frame
        while one is not None:
            if file_of(one.f_code):
                one.f_trace = self._line
            one = one.f_back


class _Monitoring:
    """By ``sys.monitoring``."""

    _TOOL = 3

    def __init__(self, interrupter: Interrupter) -> None:
        self._interrupter = interrupter
        self._lines: dict[CodeType, dict[int, int]] = {}
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]  # of Python 3.12

    def begin(self) -> None:
        monitoring, events = self._monitoring, self._monitoring.events
        monitoring.use_tool_id(self._TOOL, "faults")
        monitoring.register_callback(self._TOOL, events.LINE, self._line)
        monitoring.register_callback(self._TOOL, events.INSTRUCTION, self._instruction)
        monitoring.set_events(self._TOOL, events.LINE | (events.INSTRUCTION if self._interrupter.opcodes else 0))
        monitoring.restart_events()

    def end(self) -> None:
        self._monitoring.set_events(self._TOOL, 0)
        self._monitoring.free_tool_id(self._TOOL)

    def fires(self) -> None:
        if not self._interrupter.has_more:
            self._monitoring.set_events(self._TOOL, 0)

    def _line(self, code: CodeType, line: int) -> Any:
        if not file_of(code):
            return self._monitoring.DISABLE
        self._interrupter.at(file_of(code), line, -1)
        return None

    def _instruction(self, code: CodeType, offset: int) -> Any:
        if not file_of(code):
            return self._monitoring.DISABLE
        lines = self._lines.get(code)
        if lines is None:
            lines = self._lines[code] = {
                at: line or 0 for start, end, line in code.co_lines() for at in range(start, end, 2)
            }
        self._interrupter.at(file_of(code), lines.get(offset, 0), offset)
        return None

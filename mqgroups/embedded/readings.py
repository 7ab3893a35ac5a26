"""Readings: where IBM's texts leave a behaviour open, or queue managers may differ, which way this one goes.

A reading has a name and values; the first value is the default: what IBM's text says, or, where the texts say nothing, what this
project takes for true. Tests and fault campaigns start a queue manager that follows another value, to show that what they test
does not depend on it::

    EmbeddedQueueManager(readings={"curdepth": "counts uncommitted gets"})

This module is the whole table. Code that differs by a reading asks for what the chosen value means:
``q_mgr.readings[CURDEPTH_COUNTS_GETS]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

T = TypeVar("T")

CLEANUP_GAP_S = 0.05


class ReadingError(ValueError):
    """No such reading, or the reading has no such value; the message lists what there is."""


@dataclass(frozen=True)
class Value(Generic[T]):
    """One way to read it: its name, what it means to the code, and what the queue manager does."""

    name: str
    means: T
    does: str


@dataclass(frozen=True, eq=False)
class Reading(Generic[T]):
    """What is open, where it is (or is not) written, and the values, the default first."""

    name: str
    source: str
    values: tuple[Value[T], ...]


CURDEPTH_COUNTS_GETS = Reading(
    "curdepth",
    "CurrentQDepth (q103130, q106410): decremented during a nonbrowse MQGET call",
    (
        Value("excludes uncommitted gets", False, "A message leaves CURDEPTH with the MQGET that removes it."),
        Value("counts uncommitted gets", True, "A message leaves CURDEPTH when the unit of work that got it commits."),
    ),
)
CLOSES_HANDLES_FIRST = Reading(
    "lost connection",
    "MQDISC, MQCONN: both happen, in no order that is written",
    (
        Value(
            "backs out, then closes handles", False, "Messages are back before another program can open exclusively."
        ),
        Value(
            "closes handles, then backs out", True, "Another program can open a queue whose messages are still hidden."
        ),
    ),
)

TABLE: tuple[Reading[Any], ...] = (
    CURDEPTH_COUNTS_GETS,
    CLOSES_HANDLES_FIRST,
)
READINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {reading.name: tuple(value.name for value in reading.values) for reading in TABLE}
)


class Readings:
    """What one queue manager follows."""

    def __init__(self, chosen: Mapping[str, str] | None = None, *, cleanup_gap_s: float = CLEANUP_GAP_S) -> None:
        """Choose values by name; the others are the defaults.

        Args:
            chosen: values by names of readings.
            cleanup_gap_s: seconds between closing the handles and backing out, where a lost connection ends in this order.

        Raises:
            ReadingError: no such reading or value.
        """
        self.chosen = dict(chosen or {})
        self.cleanup_gap_s = cleanup_gap_s
        if not cleanup_gap_s >= 0:
            raise ReadingError(f"cleanup_gap_s is 0 seconds or more, not {cleanup_gap_s!r}")
        for name, value in self.chosen.items():
            if name not in READINGS:
                raise ReadingError(f"there is no reading {name!r}; there are {_quoted(READINGS)}")
            if value not in READINGS[name]:
                raise ReadingError(f"reading {name!r} has no value {value!r}; it has {_quoted(READINGS[name])}")
        self._means = {
            reading.name: next(
                value.means
                for value in reading.values
                if value.name == self.chosen.get(reading.name, reading.values[0].name)
            )
            for reading in TABLE
        }

    def __getitem__(self, reading: Reading[T]) -> T:
        """Return what the chosen value of a reading means."""
        means: T = self._means[reading.name]
        return means


def chosen_by(pairs: Iterable[str]) -> dict[str, str]:
    """Return readings of a command line, ``NAME=VALUE`` each, by name; raises ReadingError, also for one given twice."""
    chosen: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ReadingError(f"{pair!r} is not NAME=VALUE; names are {_quoted(READINGS)}")
        if chosen.setdefault(name, value) != value:
            raise ReadingError(f"reading {name!r} is given twice, as {chosen[name]!r} and as {value!r}")
    return Readings(chosen).chosen


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))

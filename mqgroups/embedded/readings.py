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

from mqgroups.mqi import constants as mq

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
PLACED_AT_COMMIT = Reading(
    "place of a put",
    "nothing written for units of work",
    (
        Value("taken at MQPUT", False, "Among equal priorities messages lie in the order of their MQPUTs."),
        Value("taken at commit", True, "Among equal priorities messages lie in the order of their commits."),
    ),
)
BACKED_OUT_TO_THE_END = Reading(
    "place after a backout",
    "nothing written",
    (
        Value("the original place", False, "A message that is backed out lies where it lay before it was got."),
        Value("the end of the queue", True, "A message that is backed out lies behind all others of its priority."),
    ),
)
MQDISC_BACKS_OUT = Reading(
    "mqdisc",
    "MQDISC: commits; which environments differ is not written for clients",
    (
        Value("commits", False, "MQDISC commits an open unit of work."),
        Value("backs out", True, "MQDISC backs an open unit of work out, and answers MQCC_OK."),
    ),
)
DUPLICATE_NUMBER = Reading(
    "duplicate sequence number",
    "reason code 2250; nothing written about duplicates",
    (
        Value("accepted", mq.MQRC_NONE, "Messages of a group may have the same number and offset."),
        Value(
            "refused with 2250",
            mq.MQRC_MSG_SEQ_NUMBER_ERROR,
            "MQPUT fails while a message of the group with this number and offset can be got from the queue.",
        ),
    ),
)
_DIFFER = (mq.MQRC_INCONSISTENT_PERSISTENCE, mq.MQRC_INCONSISTENT_UOW)
_LEAVE = (mq.MQRC_INCOMPLETE_MSG, mq.MQRC_INCOMPLETE_GROUP)
PRECEDENCE: Reading[tuple[int, ...]] = Reading(
    "precedence of group errors",
    "Logical and physical ordering: 2242 before 2241, no more",
    (
        Value("2242, 2241, 2185, 2245", (*_LEAVE, *_DIFFER), "What leaves the group is told first, then persistence."),
        Value(
            "2242, 2241, 2245, 2185", (*_LEAVE, *_DIFFER[::-1]), "What leaves the group is told first, then syncpoint."
        ),
        Value("2185, 2245, 2242, 2241", (*_DIFFER, *_LEAVE), "Persistence is told first, then syncpoint."),
        Value("2245, 2185, 2242, 2241", (*_DIFFER[::-1], *_LEAVE), "Syncpoint is told first, then persistence."),
    ),
)
SEGMENTS_SHARE_MSG_ID = Reading(
    "msgids of segments",
    "MQMF_SEGMENTATION_ALLOWED (q097540): says nothing of MsgId",
    (
        Value("one each", False, "Of segments that the queue manager makes the first has the message's MsgId."),
        Value("all the same", True, "All segments that the queue manager makes have the message's MsgId."),
    ),
)
GROUP_GOES_UNTOLD = Reading(
    "bind on group",
    "ResolvedQMgrName (q098810): blank if not fixed; a group is neither",
    (
        Value("tells the instance", False, "MQPMO.ResolvedQMgrName is the queue manager that the message went to."),
        Value("tells nothing", True, "MQPMO.ResolvedQMgrName is blank."),
    ),
)
GROUP_STAYS = Reading(
    "group at an inhibited instance",
    "MQOPEN and clusters (q027030), note: a group may be split",
    (
        Value(
            "goes on to another",
            False,
            "What arrives for an instance that is inhibited or gone goes on to another one.",
        ),
        Value(
            "becomes dead letters",
            True,
            "What arrives for an instance that is inhibited or gone is a dead letter there.",
        ),
    ),
)
ANOTHERS_TEMPORARY_QUEUE = Reading(
    "temporary queue of another",
    "Dynamic queues (q003140): nothing written about getting",
    (
        Value(
            "opens as any queue",
            mq.MQRC_NONE,
            "Another connection may open it to get and to browse, if it is shareable.",
        ),
        Value("refused with 2042", mq.MQRC_OBJECT_IN_USE, "Another connection may put to it and no more."),
        Value("refused with 2085", mq.MQRC_UNKNOWN_OBJECT_NAME, "The same, as if it were not there."),
    ),
)
BROWSING_EXCLUSIVE = Reading(
    "browsing what is open exclusively",
    "MQOPEN: an open to browse is no open for input",
    (
        Value("allowed", mq.MQRC_NONE, "Whoever may browse browses."),
        Value("refused with 2042", mq.MQRC_OBJECT_IN_USE, "MQOPEN to browse fails while somebody has exclusive input."),
    ),
)
OWN_INPUT_IS_NOT_IN_THE_WAY = Reading(
    "second exclusive open",
    "2042 (q041130): does not say whose handle",
    (
        Value("refused with 2042", False, "Handles of the same connection are in the way like any others."),
        Value("allowed", True, "Handles of the same connection are not in the way."),
    ),
)
TOLD_OF_A_FAILED_PUT: Reading[tuple[int, int] | None] = Reading(
    "mqcmit after a failed asynchronous put",
    "2003 (q040770), asynchronous put (q027340): no completion code for this case",
    (
        Value("MQCC_WARNING 2003", (mq.MQCC_WARNING, mq.MQRC_BACKED_OUT), "MQCMIT backs out."),
        Value("MQCC_FAILED 2003", (mq.MQCC_FAILED, mq.MQRC_BACKED_OUT), "MQCMIT backs out."),
        Value("MQCC_OK", None, "MQCMIT commits the other messages; only MQSTAT tells of the one that failed."),
    ),
)
IDENTIFIERS_BEGIN_WITH_NAME = Reading(
    "identifiers",
    "MsgId (q097550), GroupId (q097530): product and name for MsgId only",
    (
        Value("begin with the name", True, "GroupIds and MsgIds begin with AMQ and the queue manager's name."),
        Value("begin otherwise", False, "They begin with a number, and the name comes behind it."),
    ),
)

TABLE: tuple[Reading[Any], ...] = (
    CURDEPTH_COUNTS_GETS,
    CLOSES_HANDLES_FIRST,
    PLACED_AT_COMMIT,
    BACKED_OUT_TO_THE_END,
    MQDISC_BACKS_OUT,
    DUPLICATE_NUMBER,
    PRECEDENCE,
    SEGMENTS_SHARE_MSG_ID,
    GROUP_GOES_UNTOLD,
    GROUP_STAYS,
    ANOTHERS_TEMPORARY_QUEUE,
    BROWSING_EXCLUSIVE,
    OWN_INPUT_IS_NOT_IN_THE_WAY,
    TOLD_OF_A_FAILED_PUT,
    IDENTIFIERS_BEGIN_WITH_NAME,
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

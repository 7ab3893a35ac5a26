"""Readings: choices of what this queue manager does where IBM's documentation leaves a behaviour open or queue managers differ.

A reading has a name and values. The first value is the default: IBM's documented behaviour, or this project's assumption. Tests
and fault campaigns start queue managers with other values, to show that the results do not depend on the reading::

    EmbeddedQueueManager(readings={"curdepth": "counts uncommitted gets"})
    EmbeddedQueueManager(answers="first-contact.json")  # the behaviour that ``make first-contact`` has recorded

This module has the table of readings. Code that depends on a reading looks up the meaning of the chosen value:
``q_mgr.readings[CURDEPTH_COUNTS_GETS]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from mqembedded import constants as mq

T = TypeVar("T")

CLEANUP_GAP_S = 0.05


class ReadingError(ValueError):
    """A reading or a value does not exist, or a file of readings is invalid. The message says what is allowed."""


@dataclass(frozen=True)
class Value(Generic[T]):
    """A value of a reading: its name, its meaning to the code, and the queue manager's behaviour with this value."""

    name: str
    means: T
    does: str


@dataclass(frozen=True, eq=False)
class Reading(Generic[T]):
    """A behaviour that IBM's documentation leaves open: its name, the source, and the possible values, with the default first."""

    name: str
    source: str
    values: tuple[Value[T], ...]


CURDEPTH_COUNTS_GETS = Reading(
    "curdepth",
    "CurrentQDepth: decremented during a nonbrowse MQGET call",
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
        Value(
            "2242, 2241, 2185, 2245", (*_LEAVE, *_DIFFER), "An incomplete group is reported first, then persistence."
        ),
        Value(
            "2242, 2241, 2245, 2185",
            (*_LEAVE, *_DIFFER[::-1]),
            "An incomplete group is reported first, then syncpoint.",
        ),
        Value("2185, 2245, 2242, 2241", (*_DIFFER, *_LEAVE), "Persistence is reported first, then syncpoint."),
        Value("2245, 2185, 2242, 2241", (*_DIFFER[::-1], *_LEAVE), "Syncpoint is reported first, then persistence."),
    ),
)
SEGMENTS_SHARE_MSG_ID = Reading(
    "msgids of segments",
    "MQMF_SEGMENTATION_ALLOWED: says nothing of MsgId",
    (
        Value(
            "one each",
            False,
            "Each segment that the queue manager makes has its own MsgId; the first has the message's.",
        ),
        Value("all the same", True, "All segments that the queue manager makes have the message's MsgId."),
    ),
)
PROPERTIES_ON_SEGMENTS = Reading(
    "properties on segments",
    "2443: properties in the message data; nothing of handles",
    (
        Value("accepted", mq.MQRC_NONE, "MQPUT takes properties from a message handle with a segment."),
        Value(
            "refused with 2443",
            mq.MQRC_SEGMENTATION_NOT_ALLOWED,
            "MQPUT takes none with a segment, or with a message that it may segment.",
        ),
    ),
)
GROUP_GOES_UNTOLD = Reading(
    "bind on group",
    "ResolvedQMgrName: blank if not fixed; a group is neither",
    (
        Value("tells the instance", False, "MQPMO.ResolvedQMgrName is the queue manager that the message went to."),
        Value("tells nothing", True, "MQPMO.ResolvedQMgrName is blank."),
    ),
)
GROUP_STAYS = Reading(
    "group at an inhibited instance",
    "MQOPEN and clusters, note: a group may be split",
    (
        Value(
            "goes on to another",
            False,
            "Messages that arrive for an instance that is inhibited or gone are forwarded to another one.",
        ),
        Value(
            "becomes dead letters",
            True,
            "Messages that arrive for an instance that is inhibited or gone become dead letters there.",
        ),
    ),
)
ANOTHERS_TEMPORARY_QUEUE = Reading(
    "temporary queue of another",
    "Dynamic queues: nothing written about getting",
    (
        Value(
            "opens as any queue",
            mq.MQRC_NONE,
            "Another connection may open it to get and to browse, if it is shareable.",
        ),
        Value("refused with 2042", mq.MQRC_OBJECT_IN_USE, "Another connection may only put to it."),
        Value("refused with 2085", mq.MQRC_UNKNOWN_OBJECT_NAME, "Another connection may only put to it."),
    ),
)
BROWSING_EXCLUSIVE = Reading(
    "browsing what is open exclusively",
    "MQOPEN: an open to browse is no open for input",
    (
        Value("allowed", mq.MQRC_NONE, "MQOPEN to browse succeeds, whoever has exclusive input."),
        Value("refused with 2042", mq.MQRC_OBJECT_IN_USE, "MQOPEN to browse fails while somebody has exclusive input."),
    ),
)
OWN_INPUT_IS_NOT_IN_THE_WAY = Reading(
    "second exclusive open",
    "2042: does not say whose handle",
    (
        Value("refused with 2042", False, "An open handle of the same connection prevents it like any other handle."),
        Value("allowed", True, "Open handles of the same connection do not prevent it."),
    ),
)
TOLD_OF_A_FAILED_PUT: Reading[tuple[int, int] | None] = Reading(
    "mqcmit after a failed asynchronous put",
    "2003, asynchronous put: no completion code for this case",
    (
        Value("MQCC_WARNING 2003", (mq.MQCC_WARNING, mq.MQRC_BACKED_OUT), "MQCMIT backs out."),
        Value("MQCC_FAILED 2003", (mq.MQCC_FAILED, mq.MQRC_BACKED_OUT), "MQCMIT backs out."),
        Value("MQCC_OK", None, "MQCMIT commits the other messages; only MQSTAT reports the one that failed."),
    ),
)
IDENTIFIERS_BEGIN_WITH_NAME = Reading(
    "identifiers",
    "MsgId, GroupId: product and name for MsgId only",
    (
        Value("begin with the name", True, "GroupIds and MsgIds begin with AMQ and the queue manager's name."),
        Value("begin otherwise", False, "They begin with a number, followed by the name."),
    ),
)
DYNAMIC_NAME_IS_CHECKED = Reading(
    "name of a dynamic queue",
    "IBM's texts disagree for other platforms than z/OS",
    (
        Value("needs no authority", False, "MQOPEN of a model queue checks the model; on z/OS it checks both."),
        Value("is checked too", True, "MQOPEN of a model queue checks the model, and the dynamic queue's own name."),
    ),
)
OTHER_REPORTS_NEED_AUTHORITY = Reading(
    "authority for other reports",
    "Message context: COD and expiration need PUT and PASSID; nothing of others",
    (
        Value("is checked too", True, "The user of a message needs both for its COA and exception reports, too."),
        Value("is not checked", False, "COA and exception reports go to any queue."),
    ),
)
PROPERTY_OF_EXIT = Reading(
    "api exit",
    "OpenTelemetry integration: an API exit adds properties to every message put",
    (
        Value("none", "", "A message has the properties that its program gave it."),
        Value(
            "adds a property",
            "traceparent",
            "Each message that a program puts gets the property traceparent too, unless it has one.",
        ),
    ),
)
PRINCIPALS_ARE_GROUPS = Reading(
    "security policy",
    "Installable services: UserExternal in IBM's container, group elsewhere on Linux",
    (
        Value("user", False, "SET AUTHREC with PRINCIPAL gives authorities to the user."),
        Value("group", True, "SET AUTHREC with PRINCIPAL gives them to the user's primary group."),
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
    PROPERTIES_ON_SEGMENTS,
    GROUP_GOES_UNTOLD,
    GROUP_STAYS,
    ANOTHERS_TEMPORARY_QUEUE,
    BROWSING_EXCLUSIVE,
    OWN_INPUT_IS_NOT_IN_THE_WAY,
    TOLD_OF_A_FAILED_PUT,
    IDENTIFIERS_BEGIN_WITH_NAME,
    DYNAMIC_NAME_IS_CHECKED,
    OTHER_REPORTS_NEED_AUTHORITY,
    PROPERTY_OF_EXIT,
    PRINCIPALS_ARE_GROUPS,
)
READINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {reading.name: tuple(value.name for value in reading.values) for reading in TABLE}
)


class Readings:
    """The values that a queue manager uses, one value for each reading."""

    def __init__(self, chosen: Mapping[str, str] | None = None, *, cleanup_gap_s: float = CLEANUP_GAP_S) -> None:
        """Choose a value for each reading. A reading that ``chosen`` does not name has its default value.

        Args:
            chosen: a mapping from the names of readings to the names of values.
            cleanup_gap_s: seconds between closing the handles and backing out, if "closes handles, then backs out" is chosen.

        Raises:
            ReadingError: there is no such reading or value, or ``cleanup_gap_s`` is negative.
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
        """Return the meaning of the value that is chosen for a reading."""
        means: T = self._means[reading.name]
        return means


def chosen_by(pairs: Iterable[str]) -> dict[str, str]:
    """Return the values that command-line arguments choose: a mapping from names of readings to names of values.

    An argument is ``NAME=VALUE``, or ``@FILE`` for a file that ``make first-contact`` wrote. ``NAME=VALUE`` overrides the file.

    Raises:
        ReadingError: there is no such reading or value, a reading is given two values, or the file cannot be used.
    """
    recorded: dict[str, str] = {}
    chosen: dict[str, str] = {}
    for pair in pairs:
        if pair.startswith("@"):
            recorded |= recorded_in(pair[1:])
            continue
        name, equals, value = pair.partition("=")
        if not equals:
            raise ReadingError(f"{pair!r} is neither NAME=VALUE nor @FILE; names are {_quoted(READINGS)}")
        if chosen.setdefault(name, value) != value:
            raise ReadingError(f"reading {name!r} is given twice, as {chosen[name]!r} and as {value!r}")
    return Readings(recorded | chosen).chosen


def recorded_in(file: Path | str) -> dict[str, str]:
    """Return the values that ``make first-contact`` recorded in a JSON file: a mapping from names of readings to names of values.

    A reading that was not observed is left out, so its default applies.

    Raises:
        ReadingError: the file cannot be read or has a wrong format, or a reading has several values or an unknown value.
    """
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))["readings"]
        followed = {name: list(values) for name, values in found.items()}
    except OSError as error:
        raise ReadingError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ReadingError(f"{file} is not JSON: {error}") from error
    except (AttributeError, KeyError, TypeError):
        raise ReadingError(
            f'{file} has no "readings" with values by names: it is not a file of make first-contact'
        ) from None
    chosen = {}
    for name, values in followed.items():
        if len(values) > 1:
            raise ReadingError(
                f"{file}: reading {name!r} has several values: {_quoted(values)}. Keep only the right value"
            )
        if values:
            chosen[name] = values[0]
    return Readings(chosen).chosen


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))

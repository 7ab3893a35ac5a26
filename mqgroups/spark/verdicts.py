"""Why a group fails, decided from counts of its messages.

A group fails as a whole. The reason is the first one in this list that holds; the detail names all that hold:

    abandoned       the producer ended the group without completing it (``group.abandon``)
    not_in_group    a message is not in a group
    duplicate       a sequence number occurs more than once
    gap             sequence numbers are missing
    incomplete      no message is marked as the last
    sequence        there are messages after the one marked as the last
    trailer         the last message is no trailer, another message is one, or its number is not that of the other messages

A stream reads complete groups only, so a correct source never causes some of these. They prevent wrong results if somebody puts
a message by hand, if other applications get messages from the queue, or with ``failOnDataLoss=false``. Pure: no Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

_SHOWN = 5


class Reason(Enum):
    """Why a group fails, the most important first."""

    ABANDONED = "abandoned"
    NOT_IN_GROUP = "not_in_group"
    DUPLICATE = "duplicate"
    GAP = "gap"
    INCOMPLETE = "incomplete"
    SEQUENCE = "sequence"
    TRAILER = "trailer"


_ORDER = {reason: place for place, reason in enumerate(Reason)}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a group, described with numbers."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Step:
    """From a sequence number to the next one in ascending order, if that is not greater by one; from 0 to the first one."""

    before: int
    number: int


@dataclass(frozen=True, slots=True)
class Trailers:
    """The messages that are trailers.

    Attributes:
        count: how many there are.
        first: the lowest sequence number of them; ``None`` if there is none.
        rows: the number that the trailer gives, if the group's last message is one.
    """

    count: int = 0
    first: int | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """Counts and facts of a group.

    Attributes:
        in_group: whether it has a GroupId.
        abandoned: whether a message says that the producer abandoned the group.
        messages: how many messages it has, with the trailer.
        highest: the highest sequence number.
        last: the lowest sequence number that is marked as the last; ``None`` if there is none.
        steps: ascending; empty if the numbers are 1 to ``highest``, each once.
        trailers: ``None`` if groups have no trailer.
    """

    in_group: bool
    abandoned: bool
    messages: int
    highest: int
    last: int | None
    steps: Sequence[Step] = ()
    trailers: Trailers | None = None


def verdict(facts: GroupFacts) -> Problem | None:
    """Return why a group fails, with the most important reason and all details; ``None`` if it is good."""
    found = problems(facts)
    return Problem(found[0].reason, "; ".join(each.detail for each in found)) if found else None


def problems(facts: GroupFacts) -> list[Problem]:
    """Return all problems of a group, the most important first."""
    found = []
    if facts.abandoned:
        found.append(Problem(Reason.ABANDONED, "the producer ended the group without completing it"))
    if not facts.in_group:
        found.append(Problem(Reason.NOT_IN_GROUP, "the message is not in a group"))
    if twice := dict.fromkeys(each.number for each in facts.steps if each.number == each.before):
        found.append(Problem(Reason.DUPLICATE, f"repeated sequence numbers: {_some(twice)}"))
    gaps = [(each.before + 1, each.number - 1) for each in facts.steps if each.number > each.before + 1]
    if gaps:
        texts = [str(low) if low == high else f"{low} to {high}" for low, high in gaps]
        found.append(Problem(Reason.GAP, f"missing sequence numbers: {_some(texts)}"))
    if facts.last is None:
        found.append(Problem(Reason.INCOMPLETE, "no message is marked as the last of the group"))
    elif facts.last != facts.highest:
        text = f"message {facts.last} is marked as the last, but there are messages up to {facts.highest}"
        found.append(Problem(Reason.SEQUENCE, text))
    if facts.trailers is not None and (text := _of_trailers(facts.trailers, facts.messages)):
        found.append(Problem(Reason.TRAILER, text))
    return sorted(found, key=lambda problem: _ORDER[problem.reason])


def _of_trailers(trailers: Trailers, messages: int) -> str:
    if trailers.rows is None:
        return "the last message is not a trailer"
    if trailers.count > 1:
        return f"message {trailers.first} is a trailer, but not the last message"
    if trailers.rows != messages - 1:
        return f"the trailer says {trailers.rows:,} rows, but there are {messages - 1:,} messages besides it"
    return ""


def _some(values: Sequence[object] | dict[int, None]) -> str:
    texts = [str(each) for each in values]
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more

"""What is wrong with a group, decided from what was counted of it.

A group passes as a whole or not at all. The reasons, in the order in which one stands for all:

    abandoned       its producer has ended it without completing it (``group.abandon``)
    not_in_group    a message without a group
    duplicate       a sequence number more than once
    gap             sequence numbers missing
    incomplete      no message says that it is the last
    sequence        messages after the one that says it is the last
    trailer         none, or it counts other than there are
    body            a body that is no row of the declared columns
    unique          two rows with the same values in the columns of ``checks.unique``

A stream reads complete groups, so some of these never come from a well-behaved source; they are what stands between a
message that somebody put by hand, or a queue that others consume too, and wrong results. Pure: no Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

_SHOWN = 5


class Reason(Enum):
    """Why a group is rejected."""

    ABANDONED = "abandoned"
    NOT_IN_GROUP = "not_in_group"
    DUPLICATE = "duplicate"
    GAP = "gap"
    INCOMPLETE = "incomplete"
    SEQUENCE = "sequence"
    TRAILER = "trailer"
    BODY = "body"
    UNIQUE = "unique"


_ORDER = {reason: place for place, reason in enumerate(Reason)}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, with numbers."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class First:
    """How often something was found, and in which message first."""

    count: int
    msg_seq_number: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """What was counted of a group.

    Attributes:
        key: its GroupId; of a message in no group its MsgId.
        abandoned: whether a message says that the producer has given it up.
        messages: how many there are, the trailer included.
        numbers: the sequence numbers, ascending; ``None`` if they are 1 to ``messages``, each once.
        last_numbers: sequence numbers of the messages that say they are the last, ascending.
        highest: the highest sequence number.
        rows: bodies that are rows.
        trailer: the number in the trailer, ``None`` if there was none to be read.
        bodies: those that are neither row nor trailer.
        repeated: rows that have been there before, by ``checks.unique``.
        first_put_s, last_put_s: put times of its messages, seconds since 1970, ``None`` if they do not say.
    """

    key: bytes
    in_group: bool
    abandoned: bool
    messages: int
    numbers: tuple[int, ...] | None
    last_numbers: tuple[int, ...]
    highest: int
    rows: int
    trailer: int | None
    bodies: First | None
    repeated: First | None
    first_put_s: float | None
    last_put_s: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a group is rejected: the reason that stands for all, and all in words."""

    reason: Reason
    detail: str


def verdict(facts: GroupFacts, *, has_trailer: bool) -> Verdict | None:
    """Return why a group is rejected, ``None`` if it passes."""
    found = problems(facts, has_trailer=has_trailer)
    if not found:
        return None
    return Verdict(found[0].reason, "; ".join(problem.detail for problem in found))


def problems(facts: GroupFacts, *, has_trailer: bool) -> list[Problem]:
    """Return everything that is wrong with a group, what weighs most first."""
    found = numbering_problems(facts.numbers, facts.last_numbers, facts.highest)
    if facts.abandoned:
        found.append(Problem(Reason.ABANDONED, "its producer has ended it without completing it"))
    if not facts.in_group:
        found.append(Problem(Reason.NOT_IN_GROUP, "the message is in no group"))
    if has_trailer and facts.trailer is not None and facts.trailer != facts.rows + (facts.bodies or First(0, 0)).count:
        counted = facts.rows + (facts.bodies or First(0, 0)).count
        found.append(
            Problem(
                Reason.TRAILER, f"the trailer says {facts.trailer:,} rows, and there are {counted:,} messages before it"
            )
        )
    if facts.bodies is not None:
        more = f", and {facts.bodies.count - 1:,} more like it" if facts.bodies.count > 1 else ""
        # The trailer is read as one, so what is wrong with the last message is wrong with the trailer.
        reason = Reason.TRAILER if has_trailer and facts.bodies.msg_seq_number in facts.last_numbers else Reason.BODY
        found.append(Problem(reason, f"message {facts.bodies.msg_seq_number}: {facts.bodies.detail}{more}"))
    if facts.repeated is not None:
        more = f", and {facts.repeated.count - 1:,} more like it" if facts.repeated.count > 1 else ""
        found.append(Problem(Reason.UNIQUE, f"message {facts.repeated.msg_seq_number} repeats another row{more}"))
    return sorted(found, key=lambda problem: _ORDER[problem.reason])


def numbering_problems(numbers: Sequence[int] | None, last_numbers: Sequence[int], highest: int) -> list[Problem]:
    """Return what is wrong with a group's sequence numbers.

    Args:
        numbers: ascending; ``None`` if they are 1 to ``highest``, each once.
        last_numbers: of the messages that say they are the last, ascending.
        highest: of all numbers.
    """
    found = []
    if numbers is not None:
        often = Counter(numbers)
        twice = [number for number, count in often.items() if count > 1]
        if twice:
            found.append(Problem(Reason.DUPLICATE, f"sequence numbers more than once: {_some(twice)}"))
        gaps = [
            (before + 1, after - 1) for before, after in zip([0, *often], often, strict=False) if after > before + 1
        ]
        if gaps:
            texts = [str(low) if low == high else f"{low} to {high}" for low, high in gaps]
            found.append(Problem(Reason.GAP, f"sequence numbers missing: {_some(texts)}"))
    if not last_numbers:
        found.append(Problem(Reason.INCOMPLETE, "no message says that it is the last of the group"))
    elif last_numbers[0] != highest:
        found.append(
            Problem(
                Reason.SEQUENCE,
                f"message {last_numbers[0]} says that it is the last, and there are some up to {highest}",
            )
        )
    return found


def _some(values: Sequence[object]) -> str:
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ", ".join(map(str, values[:_SHOWN])) + more

"""The checks of a group: whether it passes or is rejected, and why, decided from counts of its messages.

A group passes or is rejected as a whole. If there are several reasons, the first in this list counts:

    abandoned       the producer ended the group without completing it (``group.abandon``)
    not_in_group    a message is not in a group
    duplicate       a sequence number occurs more than once
    gap             sequence numbers are missing
    incomplete      no message is marked as the last
    sequence        there are messages after the one marked as the last
    trailer         the trailer is missing, or its number differs from the number of rows
    body            a body is not a row of the declared columns
    unique          two rows have the same values in the columns of ``checks.unique``

A stream reads complete groups only, so a correct source never causes some of these. They prevent wrong results if somebody puts
a message by hand, or if other applications consume the queue too. Pure: no Spark.
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
class Verdict:
    """Why a group is rejected: one problem, described with numbers; or the most important reason, and all of them described."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class First:
    """How often a problem was found, and the first message that has it."""

    count: int
    msg_seq_number: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """Counts and facts of a group.

    Attributes:
        key: its GroupId, or the MsgId of a message outside groups.
        in_group: whether it has a GroupId.
        abandoned: whether a message says that the producer abandoned the group.
        messages: how many messages it has, with the trailer.
        numbers: the sequence numbers, ascending; ``None`` if they are 1 to ``messages``, each once.
        last_numbers: sequence numbers of the messages that are marked as the last, ascending.
        highest: the highest sequence number.
        rows: how many bodies are rows.
        trailer: the number in the trailer; ``None`` if there is no readable trailer.
        bodies: bodies that are neither a row nor a trailer.
        repeated: rows that repeat earlier ones, by ``checks.unique``.
        first_put_s, last_put_s: put times of its messages, in seconds since 1970; ``None`` if unknown.
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


def verdict(facts: GroupFacts, *, has_trailer: bool) -> Verdict | None:
    """Return why a group is rejected; ``None`` if it passes."""
    found = problems(facts, has_trailer=has_trailer)
    if not found:
        return None
    return Verdict(found[0].reason, "; ".join(problem.detail for problem in found))


def problems(facts: GroupFacts, *, has_trailer: bool) -> list[Verdict]:
    """Return all problems of a group, the most important first."""
    found = numbering_problems(facts.numbers, facts.last_numbers, facts.highest)
    if facts.abandoned:
        found.append(Verdict(Reason.ABANDONED, "the producer ended the group without completing it"))
    if not facts.in_group:
        found.append(Verdict(Reason.NOT_IN_GROUP, "the message is not in a group"))
    if has_trailer and facts.trailer is not None and facts.trailer != facts.rows + (facts.bodies or First(0, 0)).count:
        counted = facts.rows + (facts.bodies or First(0, 0)).count
        found.append(
            Verdict(
                Reason.TRAILER, f"the trailer says {facts.trailer:,} rows, but there are {counted:,} messages before it"
            )
        )
    if facts.bodies is not None:
        more = f", and {facts.bodies.count - 1:,} more like it" if facts.bodies.count > 1 else ""
        # The last message is parsed as the trailer, so its problem is a problem of the trailer.
        reason = Reason.TRAILER if has_trailer and facts.bodies.msg_seq_number in facts.last_numbers else Reason.BODY
        found.append(Verdict(reason, f"message {facts.bodies.msg_seq_number}: {facts.bodies.detail}{more}"))
    if facts.repeated is not None:
        more = f", and {facts.repeated.count - 1:,} more like it" if facts.repeated.count > 1 else ""
        found.append(Verdict(Reason.UNIQUE, f"message {facts.repeated.msg_seq_number} repeats another row{more}"))
    return sorted(found, key=lambda problem: _ORDER[problem.reason])


def numbering_problems(numbers: Sequence[int] | None, last_numbers: Sequence[int], highest: int) -> list[Verdict]:
    """Return the problems of a group's sequence numbers.

    Args:
        numbers: ascending; ``None`` if they are 1 to ``highest``, each once.
        last_numbers: of the messages that are marked as the last, ascending.
        highest: the highest number.
    """
    found = []
    if numbers is not None:
        often = Counter(numbers)
        twice = [number for number, count in often.items() if count > 1]
        if twice:
            found.append(Verdict(Reason.DUPLICATE, f"repeated sequence numbers: {_some(twice)}"))
        gaps = [
            (before + 1, after - 1) for before, after in zip([0, *often], often, strict=False) if after > before + 1
        ]
        if gaps:
            texts = [str(low) if low == high else f"{low} to {high}" for low, high in gaps]
            found.append(Verdict(Reason.GAP, f"missing sequence numbers: {_some(texts)}"))
    if not last_numbers:
        found.append(Verdict(Reason.INCOMPLETE, "no message is marked as the last of the group"))
    elif last_numbers[0] != highest:
        found.append(
            Verdict(
                Reason.SEQUENCE,
                f"message {last_numbers[0]} is marked as the last, but there are messages up to {highest}",
            )
        )
    return found


def _some(values: Sequence[object]) -> str:
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ", ".join(map(str, values[:_SHOWN])) + more

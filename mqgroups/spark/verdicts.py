"""Decides why a group fails, from the counts of its messages.

A group fails as a whole. The detail names all reasons that apply. The reason is the first of them in this list:

    abandoned       the producer ended the group without completing it (``group.abandon``)
    not_in_group    a message is not in a group
    duplicate       a sequence number occurs more than once
    gap             sequence numbers are missing
    incomplete      no message is marked as the last
    sequence        there are messages after the message that is marked as the last
    trailer         the last message is not a trailer, or another message is a trailer, or the number in the trailer is wrong

A stream reads only complete groups. So some reasons occur only if a message was put by hand, if other applications get messages
from the queue, or with ``failOnDataLoss=false``. This module does not use Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

_SHOWN = 5


class GroupFacts(NamedTuple):
    """Counts of a group, as Spark collects them.

    Attributes:
        in_group: whether the group has a GroupId.
        abandoned: whether a message shows that the producer abandoned the group.
        messages: the number of messages, including the trailer.
        highest: the highest sequence number.
        last: the lowest sequence number of a message that is marked as the last; ``None`` if no message is marked.
        steps: neighbors ``before`` and ``number`` that do not differ by 1, in the sorted sequence numbers with a 0 in front.
        trailers: the number of trailers.
        first_trailer: the lowest sequence number of a trailer.
        rows: the number in the trailer, if the last message is a trailer.
    """

    in_group: bool
    abandoned: bool | None
    messages: int
    highest: int
    last: int | None
    steps: Sequence[Mapping[str, int]] = ()
    trailers: int = 0
    first_trailer: int | None = None
    rows: int | None = None


def verdict(facts: GroupFacts, *, has_trailer: bool) -> tuple[str, str] | None:
    """Return why a group fails: the first reason, and the details of all reasons. ``None`` if the group is good."""
    found = list(problems(facts, has_trailer=has_trailer))
    return (found[0][0], "; ".join(detail for _, detail in found)) if found else None


def problems(facts: GroupFacts, *, has_trailer: bool) -> Iterator[tuple[str, str]]:
    """Yield the reason and the detail of each problem of a group, the most important problem first."""
    if facts.abandoned:
        yield "abandoned", "the producer ended the group without completing it"
    if not facts.in_group:
        yield "not_in_group", "the message is not in a group"
    steps = [(each["before"], each["number"]) for each in facts.steps]
    if twice := dict.fromkeys(str(number) for before, number in steps if number == before):
        yield "duplicate", f"repeated sequence numbers: {_some(list(twice))}"
    gaps = [(before + 1, number - 1) for before, number in steps if number > before + 1]
    if gaps:
        texts = [str(low) if low == high else f"{low} to {high}" for low, high in gaps]
        yield "gap", f"missing sequence numbers: {_some(texts)}"
    if facts.last is None:
        yield "incomplete", "no message is marked as the last of the group"
    elif facts.last != facts.highest:
        yield "sequence", f"message {facts.last} is marked as the last, but there are messages up to {facts.highest}"
    if has_trailer:
        others = facts.messages - 1
        if facts.rows is None:
            yield "trailer", "the last message is not a trailer"
        elif facts.trailers > 1:
            yield "trailer", f"message {facts.first_trailer} is a trailer, but not the last message"
        elif facts.rows != others:
            yield "trailer", f"the trailer says {facts.rows:,} rows, but there are {others:,} messages besides it"


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more

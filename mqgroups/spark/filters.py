"""Filters that Spark pushes down to a batch read: which of them reduce the messages to browse.

These are ``group_id`` equal to a value or in a list, and comparisons of ``msg_seq_number``. Spark evaluates all other filters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from mqgroups.core.model import GROUP_ID_NONE
from mqgroups.spark.browse import WHOLE, Span


@dataclass(frozen=True, slots=True)
class Wanted:
    """The messages to read: those of groups with these GroupIds, or ``None`` for everything; and a span of their numbers."""

    group_ids: frozenset[bytes] | None = None
    span: Span = WHOLE


EVERYTHING = Wanted()


def narrowed(wanted: Wanted, filters: Iterable[Filter]) -> tuple[Wanted, list[Filter]]:
    """Return ``wanted`` narrowed by these filters, and the filters that are left to Spark."""
    left = []
    for one in filters:
        group_ids = _group_ids(one)
        span = _span(one)
        if group_ids is not None:
            both = group_ids if wanted.group_ids is None else wanted.group_ids & group_ids
            wanted = replace(wanted, group_ids=both)
        elif span is not None:
            first, last = max(wanted.span.first, span.first), min(wanted.span.last, span.last)
            wanted = replace(wanted, span=Span(first, last))
        else:
            left.append(one)
    return wanted, left


def _group_ids(one: Filter) -> frozenset[bytes] | None:
    """Return the GroupIds that a filter selects. Others never are in the column; a queue manager might find messages for them."""
    if not isinstance(one, EqualTo | In) or one.attribute != ("group_id",):
        return None
    values = one.value if isinstance(one, In) else (one.value,)
    given = (bytes(value) for value in values if value is not None)
    return frozenset(each for each in given if len(each) == len(GROUP_ID_NONE) and each != GROUP_ID_NONE)


def _span(one: Filter) -> Span | None:
    if getattr(one, "attribute", None) != ("msg_seq_number",):
        return None
    if isinstance(one, EqualTo):
        return Span(one.value, one.value)
    if isinstance(one, GreaterThan):
        return Span(first=one.value + 1)
    if isinstance(one, GreaterThanOrEqual):
        return Span(first=one.value)
    if isinstance(one, LessThan):
        return Span(last=one.value - 1)
    if isinstance(one, LessThanOrEqual):
        return Span(last=one.value)
    return None

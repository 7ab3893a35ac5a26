"""Writes numbers, sizes, times and durations for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any


def number(many: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 group``, ``2,000 groups``."""
    return f"{many:,} {noun if many == 1 else plural or noun + 's'}"


def tally(noun: str, states: Iterable[Enum], counts: Mapping[Any, int]) -> str:
    """Return the total number, and the number in each state: ``3 groups: 1 complete, 2 stalled``."""
    said = ", ".join(f"{many:,} {state.value}" for state in states if (many := counts.get(state, 0)))
    return number(sum(counts.values()), noun) + (f": {said}" if said else "")


def size(data_bytes: int) -> str:
    """Return a number of bytes: ``812 bytes``, ``1.5 kB`` (1 kB is 1000 bytes)."""
    from rich.filesize import decimal

    return decimal(data_bytes)


def span(seconds: float) -> str:
    """Return a duration with at most two units: ``45 s``, ``1 h 12 m``, ``3 d 4 h``."""
    whole = max(0, int(seconds))
    parts = [(whole // 86_400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "m"), (whole % 60, "s")]
    while len(parts) > 1 and parts[0][0] == 0:
        parts.pop(0)
    return " ".join(f"{many} {unit}" for many, unit in parts[:2] if many or len(parts) == 1)


def moment(put_time: str) -> datetime | None:
    """Return PutDate and PutTime (UTC) as a time; ``None`` if they are not a date and time."""
    try:
        return datetime.strptime(put_time[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def put_time(when: datetime) -> str:
    """Return a time as PutDate and PutTime: 16 digits, UTC."""
    return when.astimezone(UTC).strftime("%Y%m%d%H%M%S") + f"{when.microsecond // 10_000:02}"


def timestamp(text: str) -> str:
    """Return PutDate and PutTime in ISO form, to the second, UTC; unchanged if they are not a date and time."""
    when = moment(text)
    return when.strftime("%Y-%m-%d %H:%M:%S") if when else text


def iso(text: str) -> str | None:
    """Return PutDate and PutTime in ISO 8601, UTC, for JSON; ``None`` if they are not a date and time."""
    when = moment(text)
    return None if when is None else f"{when:%Y-%m-%dT%H:%M:%S}.{text[14:16] or '00'}Z"


def age_s(text: str, now: datetime) -> float | None:
    """Return how many seconds before ``now`` a message was put; ``None`` if its put time is not known."""
    when = moment(text)
    return max(0.0, (now - when).total_seconds()) if when else None


def age(text: str, now: datetime) -> str:
    """Return how long ago a message was put, for people; ``-`` if its put time is not known."""
    seconds = age_s(text, now)
    return "-" if seconds is None else span(seconds)

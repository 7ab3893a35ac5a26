"""Draws a group as a bar, which shows which of its messages are on the queue, got, or missing.

If only some segments of a message are there, the message counts as missing, unless the consumer has got the other segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from mqgroups.operate.rules.inspection import GroupInspection, MessagePlace
from mqgroups.operate.rules.judgement import Cause, GroupState
from mqgroups.operate.rules.owner_state import SeenOwner

Kind: TypeAlias = Literal["got", "on the queue", "missing", "some missing", "not there yet"]
# More parts would not be visible, and a group may have a gap after each message.
_MOST = 60
# The number of parts that are described in words.
_MOST_TOLD = 6
_DRAWN: dict[Kind, str] = {"got": "-", "on the queue": "#", "missing": "!", "some missing": "?", "not there yet": "."}


class Part(NamedTuple):
    """Consecutive messages of the same kind. ``last`` is 0 if the end of the group is not known."""

    kind: Kind
    first: int
    last: int


def bar(group: GroupInspection, cause: Cause, owners: Sequence[SeenOwner]) -> list[Part]:
    """Return the parts of a group's bar. ``owners``: the owners whose records name the group as unfinished."""
    parts = list(_parts(group, cause, owners))
    if len(parts) <= _MOST:
        return parts
    is_open = parts[-1].last == 0
    end = parts[-1 - is_open].last
    return [*parts[:_MOST], Part("some missing", parts[_MOST].first, end), *parts[len(parts) - is_open :]]


def told(parts: Sequence[Part]) -> str:
    """Return the parts in words. If there are many parts, return only the first ones."""
    words = [
        f"from {first:,} {kind}"
        if not last
        else f"{first:,} {kind}"
        if first == last
        else f"{first:,} to {last:,} {kind}"
        for kind, first, last in parts[:_MOST_TOLD]
    ]
    return "; ".join([*words, *(["and so on"] if len(parts) > _MOST_TOLD else [])])


def drawn(parts: Sequence[Part], width: int = 60) -> str:
    """Return a picture of parts: ``-`` got, ``#`` on the queue, ``!`` missing, ``?`` some missing, ``.`` not there yet."""
    most = max((part.last for part in parts), default=0) or 1
    lengths = ((last - first + 1) * width // most if last else 3 for _, first, last in parts)
    return "".join(_DRAWN[part.kind] * max(1, length) for part, length in zip(parts, lengths, strict=True))


def _parts(group: GroupInspection, cause: Cause, owners: Sequence[SeenOwner]) -> Iterator[Part]:
    got = max((_committed(each) for each in owners if each.role == "get"), default=MessagePlace(1))
    put = max((_committed(each) for each in owners if each.role == "put"), default=MessagePlace(1))
    # While a consumer works, messages that its unit of work hides are not missing.
    absent: Kind = "got" if cause.state is GroupState.BEING_GOT else "missing"

    def absent_before(end: int) -> Iterator[Part]:
        if (behind := min(got.msg_seq_number, end)) > at:
            yield Part("got", at, behind - 1)
        if (begin := max(at, behind)) < end:
            yield Part(absent, begin, end - 1)

    at = 1
    for run in group.runs:
        first = run.first.msg_seq_number + (run.first.offset > 0 and run.first > got)
        if first < run.end.msg_seq_number:
            yield from absent_before(first)
            yield Part("on the queue", first, run.end.msg_seq_number - 1)
            at = run.end.msg_seq_number
    end = max(at, got.msg_seq_number, put.msg_seq_number, group.last + 1)
    yield from absent_before(end)
    if not group.last:
        yield Part("not there yet", end, 0)


def _committed(owner: SeenOwner) -> MessagePlace:
    """Return the place after the last message or segment that an owner has committed."""
    return MessagePlace(owner.record.msg_seq_number + 1, owner.record.offset) if owner.record else MessagePlace(1)

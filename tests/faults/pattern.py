"""A pattern: what a program does, the messages that it is about, and what keeps what is found from being these messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mqgroups.core.modes import PutResponse
from tests.faults.reader import Seen, looks_whole, wrong_with_group

SEGMENT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a program does.

    Attributes:
        role: which program of ``patterns.PROGRAMS``.
        status: classic or segmented.
        segmented: whether messages are longer than a segment.
        messages, groups: messages in each group, and how many groups.
        every: how often it takes a syncpoint.
        put_response: whether its puts are all answered.
        stays: after an error the program goes on with the producer or consumer that it has, instead of ending.
        backwards: whether what is to be got lies on the queue in the opposite order.
    """

    role: str
    status: str
    segmented: bool
    messages: int
    every: int
    groups: int = 1
    put_response: PutResponse = "sync"
    stays: bool = False
    backwards: bool = False

    @property
    def name(self) -> str:
        """As it stands in tables and in the names of cases."""
        status = "one-unit-of-work" if self.every >= 100 else self.status
        response = "" if self.put_response == "sync" else f"/{self.put_response}"
        order = "/backwards" if self.backwards else ""
        return f"{self.role}/{status}/{'segments' if self.segmented else 'plain'}{response}{order}"

    def payloads(self) -> list[bytes]:
        """Return the data of the messages; with segments two of three messages are longer than one."""
        long = b"-segments" if self.segmented else b""
        return [b"%03d" % number + (long if number % 3 else b"") for number in range(1, self.messages + 1)]


def changed(payload: bytes) -> bytes:
    """Return what a pipe makes of a message."""
    return payload[::-1]


def cut(payload: bytes, segmented: bool) -> list[bytes]:
    step = SEGMENT_BYTES if segmented else len(payload)
    return [payload[start : start + step] for start in range(0, len(payload), step)]


def wrong_with_groups(seen: Sequence[Seen], payloads: Sequence[bytes], groups: int) -> str:
    """Say what keeps messages from being so many whole groups of these payloads; empty if nothing does."""
    found = list(_by_group(seen))
    if len(found) != groups:
        return f"{len(found)} groups, {groups} were to be put: {[(one.msg_seq_number, one.offset) for one in seen]}"
    return next((wrong for group in found if (wrong := wrong_with_group(group, payloads))), "")


def wrong_with_whole_groups(seen: Sequence[Seen], payloads: Sequence[bytes] | None) -> str:
    """Say what is wrong with groups that a consumer would take for whole ones, and with any that has a message twice.

    Without payloads nothing is known of what makes a group whole.
    """
    for group in _by_group(seen):
        if len({(one.msg_seq_number, one.offset) for one in group}) < len(group):
            return f"doubled: {[(one.msg_seq_number, one.offset) for one in group]}"
        if payloads is not None and looks_whole(group) and (wrong := wrong_with_group(group, payloads)):
            return f"a group looks whole and is not: {wrong}"
    return ""


def _by_group(seen: Sequence[Seen]) -> Iterator[list[Seen]]:
    by_group: dict[bytes, list[Seen]] = {}
    for message in seen:
        by_group.setdefault(message.group_id, []).append(message)
    yield from by_group.values()


def key_of(group: Any) -> bytes:
    """Return what a line begins with: the group's key, which must be the same after a restart. No group here repeats another."""
    return b"repeats" if group.repeats else group.key.hex().encode()


def wrong_with_handled(lines: Sequence[bytes], pattern: Pattern, *, complete: bool = True) -> str:
    """Say what keeps the lines of notebooks from being each message of each group once, in order; empty if nothing does.

    Where they need not be ``complete``, groups may end early.
    """
    handled: dict[bytes, list[bytes]] = {}
    for line in lines:
        key, data = line.split(b" ", 1)
        handled.setdefault(key, []).append(data)
    expected = [chunk for payload in pattern.payloads() for chunk in cut(payload, pattern.segmented)]
    wrong = [data for data in handled.values() if data != (expected if complete else expected[: len(data)])]
    if wrong:
        return f"handled {wrong[0]}, expected {expected}"
    if not complete:
        return ""
    return "" if len(handled) == pattern.groups else f"{len(handled)} groups handled, {pattern.groups} put"

"""Find groups whose messages are at more than one instance of a cluster queue.

The groups of each instance are counted separately (``inspection.py``). Here they are combined by GroupId, which is unique.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqgroups.operate.rules.inspection import HEAD, GroupInspection, Place, Run, Runs, gaps


@dataclass(frozen=True, slots=True)
class GroupPart:
    """The messages of a split group at one instance."""

    q_mgr_name: str
    group: GroupInspection


@dataclass(frozen=True, slots=True)
class GroupSplit:
    """A group whose messages are at several instances. No consumer gets it whole until they are moved to one instance.

    Attributes:
        group_id: 24 bytes.
        parts: the messages at each instance, in the order of the instances; at least two.
        runs: the messages at all instances together, ascending.
        overlapping: how many runs of messages are at more than one instance.
    """

    group_id: bytes
    parts: tuple[GroupPart, ...]
    runs: tuple[Run, ...]
    overlapping: int

    @property
    def is_whole_together(self) -> bool:
        """Whether the parts together are a whole group: every message from the first to the last, once."""
        last = max(part.group.last for part in self.parts)
        return not self.overlapping and last > 0 and self.runs == (Run(HEAD, Place(last + 1)),)

    @property
    def gaps(self) -> tuple[Run, ...]:
        """The messages that no instance has, between the first and the last one found."""
        return gaps(self.runs)


def split_group(group_id: bytes, parts: Sequence[GroupPart]) -> GroupSplit:
    """Return a group with messages at several instances."""
    together = Runs()
    overlapping = sum(not together.add(*run) for part in parts for run in part.group.runs)
    return GroupSplit(group_id, tuple(parts), tuple(together), overlapping)

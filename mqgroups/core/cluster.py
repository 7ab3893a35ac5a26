"""What lies on the instances of a cluster queue: groups whose messages are at more than one of them.

Each instance is looked at for itself (``core.inspection``); here the views are laid one upon the other, by GroupId, which no two
groups share. A group that is at one instance only is no matter of the cluster's, whole or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from mqgroups.core.inspection import HEAD, GroupInspection, Place, QueueInspection, Run, joined


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a cluster queue: whose it is, and what lies on it."""

    q_mgr_name: str
    seen: QueueInspection


@dataclass(frozen=True, slots=True)
class GroupPart:
    """What one instance has of a group that is split."""

    q_mgr_name: str
    group: GroupInspection


@dataclass(frozen=True, slots=True)
class GroupSplit:
    """A group whose messages are at several instances. No consumer gets it whole before they are brought together.

    Attributes:
        group_id: 24 bytes.
        parts: what each of the instances has, in their order; two at least.
        runs: what all have together, ascending.
        overlapping: how many runs of messages are at more than one instance.
    """

    group_id: bytes
    parts: tuple[GroupPart, ...]
    runs: tuple[Run, ...]
    overlapping: int

    @property
    def is_whole_together(self) -> bool:
        """Whether the parts make one group: from its first message to its last, each once."""
        last = max(part.group.last for part in self.parts)
        return not self.overlapping and last > 0 and self.runs == (Run(HEAD, Place(last + 1)),)

    @property
    def gaps(self) -> tuple[Run, ...]:
        """What no instance has, between the first and the last message that are there."""
        return tuple(Run(one.end, other.first) for one, other in pairwise(self.runs))


@dataclass(frozen=True, slots=True)
class ClusterInspection:
    """What lies on the instances of a cluster queue.

    Attributes:
        queue: its name.
        instances: in the order in which they were asked for.
        splits: the groups that are at more than one of them, in the order in which they were found.
    """

    queue: str
    instances: tuple[Instance, ...]
    splits: tuple[GroupSplit, ...]


def group_splits(instances: Sequence[Instance]) -> tuple[GroupSplit, ...]:
    """Return the groups of which more than one instance has something."""
    found: dict[bytes, list[GroupPart]] = {}
    for instance in instances:
        for group in instance.seen.groups:
            found.setdefault(group.group_id, []).append(GroupPart(instance.q_mgr_name, group))
    return tuple(_split(group_id, parts) for group_id, parts in found.items() if len(parts) > 1)


def _split(group_id: bytes, parts: Sequence[GroupPart]) -> GroupSplit:
    runs: tuple[Run, ...] = ()
    overlapping = 0
    for part in parts:
        for run in part.group.runs:
            together = joined(runs, run)
            overlapping += together is None
            runs = together or runs
    return GroupSplit(group_id, tuple(parts), runs, overlapping)

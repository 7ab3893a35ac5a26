"""Find groups whose messages are at more than one instance of a cluster queue.

Each instance is inspected separately (``inspection.py``). Here the results are combined by GroupId, which is unique. A group
at one instance only is not reported, whether it is whole or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from mqgroups.operate.rules.inspection import HEAD, GroupInspection, Place, QueueInspection, Run, Runs


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a cluster queue: its queue manager, and the messages on it."""

    q_mgr_name: str
    seen: QueueInspection


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
        return tuple(Run(one.end, other.first) for one, other in pairwise(self.runs))


@dataclass(frozen=True, slots=True)
class ClusterInspection:
    """The messages on the instances of a cluster queue.

    Attributes:
        queue: its name.
        instances: in the order in which the caller named them.
        splits: the groups that are at more than one instance, in the order in which they were found.
    """

    queue: str
    instances: tuple[Instance, ...]
    splits: tuple[GroupSplit, ...]


def group_splits(instances: Sequence[Instance]) -> tuple[GroupSplit, ...]:
    """Return the groups that have messages at more than one instance."""
    found: dict[bytes, list[GroupPart]] = {}
    for instance in instances:
        for group in instance.seen.groups:
            found.setdefault(group.group_id, []).append(GroupPart(instance.q_mgr_name, group))
    return tuple(split_group(group_id, parts) for group_id, parts in found.items() if len(parts) > 1)


def split_group(group_id: bytes, parts: Sequence[GroupPart]) -> GroupSplit:
    """Return a group with messages at several instances."""
    together = Runs()
    overlapping = sum(not together.add(*run) for part in parts for run in part.group.runs)
    return GroupSplit(group_id, tuple(parts), together.all(), overlapping)

"""A position in a group, stored as an earlier position and the number of whole messages since then.

In a run of similar messages only that number changes. The putter and the getter's cursor store their positions in this way.
"""

from __future__ import annotations

from mqgroups.core.group import GroupPosition, after_messages


class Run:
    """A position in a group: the position ``base``, and the number of whole messages after it (``ahead``)."""

    __slots__ = ("ahead", "base")

    def __init__(self, base: GroupPosition) -> None:
        self.base = base
        self.ahead = 0

    @property
    def position(self) -> GroupPosition:
        """The position in the group."""
        base = self.base
        return after_messages(base, base.group_id, self.ahead) if self.ahead else base

    @property
    def next_number(self) -> int:
        """The number of the next message."""
        return self.base.msg_seq_number + self.ahead + 1

    def go_to(self, position: GroupPosition) -> None:
        """Go to another position."""
        self.base, self.ahead = position, 0

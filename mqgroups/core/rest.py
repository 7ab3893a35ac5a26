"""The rest of a group whose next message does not arrive: the group's messages that are on the queue and come after the position.

Logical order does not show these messages, so they are found by browsing. Not here: when to browse (``get/getter.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from mqgroups.core.group import GroupPosition


class Left(NamedTuple):
    """A physical message of the rest: its place in the group, its MsgId (24 bytes), and the length of its data."""

    msg_seq_number: int
    offset: int
    msg_id: bytes
    length: int


Rest: TypeAlias = tuple[Left, ...]


def rest_behind(position: GroupPosition, found: Iterable[Left]) -> Rest:
    """Return the messages with higher numbers than ``position``, in the order of the group.

    Messages in ``found`` with other numbers belong to another group with the same GroupId, which begins with number 1 again.
    Segments of the next message are part of the rest, because that message is not delivered until all its segments are there.
    """
    return tuple(sorted(each for each in found if each.msg_seq_number > position.msg_seq_number))

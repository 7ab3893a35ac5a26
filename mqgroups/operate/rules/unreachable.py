"""Which groups on a queue a waiting consumer never gets, and why; from what browsing shows of them."""

from __future__ import annotations

from mqgroups.operate.rules.inspection import GroupInspection


def never_got(group: GroupInspection, *, quiet_since: str) -> bool:
    """Return whether a waiting consumer does not get the group.

    Args:
        group: as it was browsed.
        quiet_since: PutDate and PutTime, digits in UTC. A group without an end is being put, unless its last message was put
            before that; messages without a put time do not count. Empty: a group without an end does not matter.
    """
    if not group.has_head or group.gaps or group.is_doubled:
        return True
    return not group.has_end and "" < group.last_put < quiet_since


def why_not_got(group: GroupInspection) -> str:
    """Return the reason, for a group that is never got."""
    if not group.has_head:
        return "its beginning is missing"
    if group.gaps:
        return f"message {group.gaps[0].first.msg_seq_number} is missing"
    if group.is_doubled:
        return "messages of it are there twice"
    return "its last message is missing"

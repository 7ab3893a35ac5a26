"""The *looks* of ``mqgroups watch``. A look inspects all queues once. The command looks again and again."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from mqgroups.cli.connection import open_q_mgr
from mqgroups.cli.options import STALLED_AFTER
from mqgroups.cli.owners import by_need, summary
from mqgroups.cli.words import put_time, size
from mqgroups.errors import BindingMissing, ConnectionBroken, MQIError
from mqgroups.operate.group_names import named
from mqgroups.operate.groups import GroupList, in_order
from mqgroups.operate.owners import SeenOwners
from mqgroups.operate.queues import look_at_queues
from mqgroups.operate.rules.judgement import GroupState, Judgement
from mqgroups.operate.rules.owner_state import SeenOwner
from mqgroups.queue_manager import QueueManager

NO_QUEUE = "no status record names a queue"
# The pause between two tries to connect, if a person must correct the reason of the failure.
_UNTIL_IT_IS_MENDED_S = 60.0
# The maximum number of groups that a look keeps.
_MOST_GROUPS = 200
# How long a look reads names of groups that are not in records.
_MOST_FOR_NAMES_S = 1.0


@dataclass(slots=True)
class SeenQueue:
    """What one look has seen of a queue, or why it has seen nothing.

    Attributes:
        oldest_complete: the time since which the oldest complete group has been complete; empty if no group is complete.
        groups: the groups to show, the most dangerous first. Some may have no messages on the queue.
    """

    queue: str
    problem: str = ""
    oldest_complete: str = ""
    messages: int = 0
    others: int = 0
    hidden: int | None = None
    data_bytes: int = 0
    states: Mapping[GroupState, int] = field(default_factory=dict)
    groups: list[Judgement] = field(default_factory=list)
    owners: list[SeenOwner] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)


def said(seen: SeenQueue) -> str:
    """Return a summary of what was seen, or why nothing was seen."""
    if seen.problem:
        return seen.problem
    states = "".join(f", {many:,} {state.value}" for state in GroupState if (many := seen.states.get(state, 0)))
    hidden = f", {seen.hidden:,} in units of work" if seen.hidden else ""
    messages = f"messages {seen.messages:,}, {size(seen.data_bytes)}{hidden}"
    return f"{messages}; groups {sum(seen.states.values()):,}{states}; {summary(seen.owners)}"


@dataclass(slots=True)
class Seen:
    """What one look has seen of all queues.

    Attributes:
        at: when the look began.
        took_s: how long the look took, in seconds. After some failures it is a longer time, so that the next look comes later.
        problem: why the look has seen nothing; otherwise empty. After a problem, ``queues`` has only names of queues.
        queues: what the look has seen of each queue; empty if no record names a queue.
        owners: the owners of the named queues, or all owners if no queues were named. Owners that need an operator come first.
    """

    at: datetime
    took_s: float = 0.0
    problem: str = ""
    queues: list[SeenQueue] = field(default_factory=list)
    owners: list[SeenOwner] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield a line for each queue, or one line with the reason why no queue was seen."""
        if self.problem or not self.queues:
            names = ", ".join(each.queue for each in self.queues) or "all queues"
            yield f"{names}: {self.problem or NO_QUEUE}"
            return
        yield from (f"{each.queue}: {said(each)}" for each in self.queues)

    @property
    def groups(self) -> list[Judgement]:
        """The groups of all queues, the most dangerous groups first."""
        return list(in_order(each.groups for each in self.queues))


def looks(
    queues: Sequence[str], status_queues: Sequence[str], connection: dict[str, Any], q_mgr: QueueManager | None
) -> Generator[Seen, None, None]:
    """Yield what each look at ``queues`` has seen, again and again. If no queue is given, look at all queues that records name.

    Raises:
        MQIError: a failure that another try does not correct.
    """
    before: Sequence[str] = ()
    try:
        while True:
            began_s = time.monotonic()
            seen = Seen(datetime.now(UTC), queues=[SeenQueue(each) for each in before or queues])
            try:
                q_mgr = q_mgr or open_q_mgr(**{**connection, "wait_s": 0.0})
            except (MQIError, BindingMissing) as error:
                seen.problem = f"not connected: {error}"
                # If a password is refused again and again, the account is locked.
                seen.took_s = 0.0 if error.clears_up else _UNTIL_IT_IS_MENDED_S
                yield seen
                continue
            try:
                _look(q_mgr, seen, queues, before, status_queues)
            except ConnectionBroken as error:
                q_mgr.close()
                q_mgr = None
                seen.problem = f"connection lost: {error}"
            else:
                seen.took_s = time.monotonic() - began_s
                before = [each.queue for each in seen.queues]
            yield seen
    finally:
        if q_mgr is not None:
            q_mgr.close()


def _look(
    q_mgr: QueueManager, seen: Seen, queues: Sequence[str], before: Sequence[str], status_queues: Sequence[str]
) -> None:
    with look_at_queues(q_mgr, queues or None, also=before, status_queues=status_queues) as sight:
        if queues and not before and sight.refused:
            # The name may be wrong. But a queue that was there before may come back.
            raise next(iter(sight.refused.values()))
        quiet_since = put_time(seen.at - STALLED_AFTER)
        found = [_judged(q_mgr, queue, each, sight.owners, quiet_since) for queue, each in sight.lists.items()]
    seen.queues = [*found, *(SeenQueue(each, f"not browsed: {error}") for each, error in sight.refused.items())]
    seen.owners = by_need([owner for each in found for owner in each.owners] if queues else sight.owners.owners)
    seen.unseen = list(dict.fromkeys([*sight.owners.unseen, *(each for one in found for each in one.unseen)]))


def _judged(q_mgr: QueueManager, queue: str, found: GroupList, owners: SeenOwners, quiet_since: str) -> SeenQueue:
    """Judge the groups of a queue that was browsed, and return what was seen of it."""
    instance = found.instance
    mine = owners.of_queues(found.names)
    seen = SeenQueue(queue, messages=instance.messages, others=instance.others, hidden=instance.hidden)
    seen.owners, seen.unseen = list(mine.owners), [*mine.unseen, *instance.unseen]

    def wanted(each: Judgement) -> bool:
        if each.cause.state is GroupState.COMPLETE:
            seen.oldest_complete = min(seen.oldest_complete or each.since, each.since)
        return True

    found.judge(owners, quiet_since, wanted)
    seen.states, seen.data_bytes = dict(found.counts), found.data_bytes
    there = named(q_mgr, queue, islice(found.groups(), _MOST_GROUPS), most_s=_MOST_FOR_NAMES_S)
    seen.groups = list(in_order([found.gone, there]))
    return seen

"""What one look of ``mqgroups watch`` has seen: at queues, again and again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from mqgroups.cli.connection import open_q_mgr
from mqgroups.cli.options import STALLED_AFTER
from mqgroups.cli.owners import by_need, of_queue, summary
from mqgroups.cli.words import put_time, size
from mqgroups.errors import BindingMissing, ConnectionBroken, MQIError
from mqgroups.operate.group_names import GroupNames
from mqgroups.operate.groups import GroupList, ListedGroup, browse_groups, in_order
from mqgroups.operate.owners import SeenOwners
from mqgroups.operate.queues import look_at_queues
from mqgroups.operate.rules.judgement import GroupState, Judgement
from mqgroups.operate.rules.owner_state import SeenOwner
from mqgroups.operate.rules.rates import Look, Rates, rates
from mqgroups.queue_manager import QueueManager

NO_QUEUE = "no status record names a queue"
# Groups of a queue that a look keeps.
_MOST_GROUPS = 200
# Names that a look has no time for are read by the next one.
_MOST_FOR_NAMES_S = 1.0
# Between two tries to connect that only somebody can make succeed.
_UNTIL_IT_IS_MENDED_S = 60.0


@dataclass(slots=True)
class SeenQueue:
    """What one look has seen of a queue, or why it has seen nothing.

    Attributes:
        look: for the rates of the next look.
        newest: the latest put time on the queue.
        oldest_complete: since when the group is complete that has been so for longest; empty without one.
        groups: the first ones, the most dangerous ones first, with those of which no message is on the queue.
        names: of groups, by GroupId, for the next look.
        owners: those of the queue, by need.
    """

    queue: str
    problem: str = ""
    look: Look | None = None
    newest: str = ""
    oldest_complete: str = ""
    rates: Rates = field(default_factory=Rates)
    messages: int = 0
    others: int = 0
    hidden: int | None = None
    data_bytes: int = 0
    states: Mapping[GroupState, int] = field(default_factory=dict)
    groups: list[ListedGroup] = field(default_factory=list)
    names: Mapping[bytes, str] = field(default_factory=dict)
    owners: list[SeenOwner] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def said(self) -> str:
        """Return how much there is, and how fast it moves; or why nothing was seen."""
        if self.problem:
            return self.problem
        states = "".join(f", {many:,} {state.value}" for state in GroupState if (many := self.states.get(state, 0)))
        hidden = f", {self.hidden:,} in units of work" if self.hidden else ""
        each = self.rates
        return (
            f"messages {self.messages:,}, {size(self.data_bytes)}{hidden}; groups {sum(self.states.values()):,}{states}; "
            f"messages/s {each.messages_in:.1f} in, {each.messages_out:.1f} out; "
            f"groups/s {each.groups_in:.1f} in, {each.groups_out:.1f} out; commits/s {each.commits:.1f}; {summary(self.owners)}"
        )


@dataclass(slots=True)
class Seen:
    """One look.

    Attributes:
        at: when it began.
        took_s: how long it took; or how long the next one should wait.
        problem: why it has seen nothing; the queues are then those of the look before.
        queues: what it has seen; none if no record names one.
        owners: by need: those of the queues; all owners if no queues were named.
        unseen: what could not be seen, and for want of what: a sentence each.
    """

    at: datetime
    took_s: float = 0.0
    problem: str = ""
    queues: list[SeenQueue] = field(default_factory=list)
    owners: list[SeenOwner] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield a line for each queue; or one that says why there is none."""
        if self.problem or not self.queues:
            names = ", ".join(each.queue for each in self.queues) or "all queues"
            yield f"{names}: {self.problem or NO_QUEUE}"
            return
        yield from (f"{each.queue}: {each.said()}" for each in self.queues)

    @property
    def groups(self) -> list[ListedGroup]:
        """The groups of all queues, the most dangerous ones first."""
        return list(in_order(each.groups for each in self.queues))


@dataclass(slots=True)
class Watcher:
    """Looks at queues again and again; without ``queues`` at all that records name."""

    _queues: Sequence[str]
    _status_queues: Sequence[str]
    _connection: dict[str, Any]
    _q_mgr: QueueManager | None
    _before: dict[str, SeenQueue] = field(default_factory=dict)

    def close(self) -> None:
        """Disconnect."""
        if self._q_mgr is not None:
            self._q_mgr.close()

    def look(self) -> Seen:
        """Look once.

        Raises:
            MQIError: a failure that trying again does not mend.
        """
        began_s = time.monotonic()
        known = self._before or dict.fromkeys(self._queues)
        seen = Seen(datetime.now(UTC), queues=[SeenQueue(each) for each in known])
        try:
            self._q_mgr = self._q_mgr or open_q_mgr(**{**self._connection, "wait_s": 0.0})
        except (MQIError, BindingMissing) as error:
            seen.problem = f"not connected: {error}"
            # A password that is refused again and again locks the account.
            seen.took_s = 0.0 if error.clears_up else _UNTIL_IT_IS_MENDED_S
            return seen
        try:
            self._look(self._q_mgr, seen)
        except ConnectionBroken as error:
            self._q_mgr.close()
            self._q_mgr = None
            seen.problem = f"connection lost: {error}"
            return seen
        seen.took_s = time.monotonic() - began_s
        self._before = {each.queue: each for each in seen.queues}
        return seen

    def _look(self, q_mgr: QueueManager, seen: Seen) -> None:
        def browse(q_mgrs: Sequence[QueueManager], queue: str) -> GroupList:
            before = self._before.get(queue)
            return browse_groups(q_mgrs, queue, newer_than=before.newest if before else "")

        with look_at_queues([q_mgr], self._queues or None, browse, status_queues=self._status_queues) as sight:
            if self._queues and not self._before and sight.refused:
                # The name may be wrong. A queue that was there may come back.
                raise next(iter(sight.refused.values()))
            found = [self._seen(q_mgr, seen.at, each, sight.owners) for each in sight.lists.items()]
        seen.queues = [*found, *(SeenQueue(each, f"not browsed: {error}") for each, error in sight.refused.items())]
        of_queues = [owner for each in found for owner in each.owners]
        seen.owners = by_need(of_queues if self._queues else sight.owners.owners)
        seen.unseen = list(dict.fromkeys([*sight.owners.unseen, *(each for one in found for each in one.unseen)]))

    def _seen(self, q_mgr: QueueManager, at: datetime, found: tuple[str, GroupList], owners: SeenOwners) -> SeenQueue:
        queue, groups = found
        before = self._before.get(queue) or SeenQueue(queue)
        seen = SeenQueue(queue)
        new_groups = 0

        def wanted(each: Judgement) -> bool:
            nonlocal new_groups
            new_groups += each.group is not None and each.group.first_put > before.newest
            if each.cause.state is GroupState.COMPLETE:
                seen.oldest_complete = min(seen.oldest_complete or each.since, each.since)
            return True

        groups.judge(owners, put_time(at - STALLED_AFTER), wanted)
        (instance,) = groups.instances
        with GroupNames([q_mgr], queue) as names:
            some = islice(groups.groups(), _MOST_GROUPS)
            there = list(names.named(some, most_s=_MOST_FOR_NAMES_S, known=before.names))
        seen.groups = list(in_order([groups.gone, there]))
        # A group without a name may still get its first message, or a record.
        seen.names = {
            row.group.group_id: row.name or ""
            for row in there
            if row.name or (row.name is not None and row.group.has_head)
        }
        seen.states, seen.data_bytes = dict(groups.counts), groups.data_bytes
        seen.messages, seen.others, seen.hidden = instance.messages, instance.others, instance.hidden
        seen.newest = max(instance.newest, before.newest)
        mine = of_queue(owners, groups.names)
        seen.owners = by_need(mine.owners)
        seen.unseen = [*mine.unseen, *instance.unseen]
        # What was there before the first look is not new.
        is_first = before.look is None
        seen.look = Look(
            time.monotonic(),
            instance.messages,
            sum(seen.states.values()),
            0 if is_first else instance.newer,
            0 if is_first else new_groups,
            {
                (owner.record.owner_id, owner.record.epoch): owner.record.unit_of_work
                for owner in mine.owners
                if owner.record is not None
            },
        )
        if before.look is not None:
            seen.rates = rates(before.look, seen.look)
        return seen

"""What one look of ``mqgroups watch`` has seen: at queues, again and again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mqgroups.cli.connection import open_q_mgr
from mqgroups.cli.options import STALLED_AFTER
from mqgroups.cli.owners import by_need, summary
from mqgroups.cli.words import put_time, size
from mqgroups.errors import BindingMissing, ConnectionBroken, MQIError
from mqgroups.operate.groups import GroupList, ListedGroup, browse_groups, in_order
from mqgroups.operate.queues import look_at_queues
from mqgroups.operate.rules.judgement import GroupState
from mqgroups.operate.rules.owner_state import SeenOwner
from mqgroups.operate.watching import SeenQueue, seen_queue
from mqgroups.queue_manager import QueueManager

NO_QUEUE = "no status record names a queue"
# Between two tries to connect that only somebody can make succeed.
_UNTIL_IT_IS_MENDED_S = 60.0


def said(seen: SeenQueue) -> str:
    """Return how much there is, and how fast it moves; or why nothing was seen."""
    if seen.problem:
        return seen.problem
    states = "".join(f", {many:,} {state.value}" for state in GroupState if (many := seen.states.get(state, 0)))
    hidden = f", {seen.hidden:,} in units of work" if seen.hidden else ""
    each = seen.rates
    return (
        f"messages {seen.messages:,}, {size(seen.data_bytes)}{hidden}; groups {sum(seen.states.values()):,}{states}; "
        f"messages/s {each.messages_in:.1f} in, {each.messages_out:.1f} out; "
        f"groups/s {each.groups_in:.1f} in, {each.groups_out:.1f} out; commits/s {each.commits:.1f}; {summary(seen.owners)}"
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
        yield from (f"{each.queue}: {said(each)}" for each in self.queues)

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

        with look_at_queues(
            [q_mgr], self._queues or None, browse, also=self._before, status_queues=self._status_queues
        ) as sight:
            if self._queues and not self._before and sight.refused:
                # The name may be wrong. A queue that was there may come back.
                raise next(iter(sight.refused.values()))
            quiet_since = put_time(seen.at - STALLED_AFTER)
            found = [
                seen_queue(q_mgr, each, sight.owners, quiet_since, self._before.get(queue))
                for queue, each in sight.lists.items()
            ]
        seen.queues = [*found, *(SeenQueue(each, f"not browsed: {error}") for each, error in sight.refused.items())]
        of_queues = [owner for each in found for owner in each.owners]
        seen.owners = by_need(of_queues if self._queues else sight.owners.owners)
        seen.unseen = list(dict.fromkeys([*sight.owners.unseen, *(each for one in found for each in one.unseen)]))

"""The figures of a queue for Prometheus: how many groups are in which state, and how long the oldest complete one has waited."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from mqgroups.operate.rules.judgement import GroupState
from mqgroups.pages import Figure, Page, metrics_page


@dataclass(frozen=True, slots=True)
class QueueLook:
    """What a look at a queue has seen.

    Attributes:
        q_mgr_name, queue: of the queue.
        states: how many groups are in each state; ``None`` if nothing was seen.
        messages: how many messages are there.
        oldest_complete_s: how long the group has waited that has been complete for longest; 0 if none is complete.
        good_for_s: how long this counts.
    """

    q_mgr_name: str
    queue: str
    states: Mapping[GroupState, int] | None = None
    messages: int = 0
    oldest_complete_s: float = 0.0
    good_for_s: float = 0.0


class QueuePage:
    """The page of a queue: that of the last look, unless that is old, because the next one hangs."""

    def __init__(self, look: QueueLook) -> None:
        """``look``: what is known before the first look."""
        self.show(look)

    def show(self, look: QueueLook) -> None:
        """Show this look from now on."""
        self._shown = look, time.monotonic()

    def __call__(self) -> Page:
        """Return the page."""
        look, at_s = self._shown
        where = {"queue_manager": look.q_mgr_name, "queue": look.queue}
        states = look.states if time.monotonic() - at_s <= look.good_for_s else None
        seen = Figure(
            "mqgroups_queue_seen", "gauge", "Whether the queue can be looked at.", [(where, int(states is not None))]
        )
        if states is None:
            return metrics_page([seen])
        groups = [({**where, "state": state.value}, states.get(state, 0)) for state in GroupState]
        return metrics_page(
            [
                seen,
                Figure("mqgroups_queue_groups", "gauge", "Groups by state.", groups),
                Figure("mqgroups_queue_messages", "gauge", "Messages.", [(where, look.messages)]),
                Figure(
                    "mqgroups_queue_oldest_complete_seconds",
                    "gauge",
                    "How long the oldest complete group has been complete; 0 without one.",
                    [(where, look.oldest_complete_s)],
                ),
            ]
        )

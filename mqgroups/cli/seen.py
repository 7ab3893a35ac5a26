"""What one look of ``mqgroups watch`` has seen of a queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from mqgroups.cli.words import size
from mqgroups.operate.groups import ListedGroup
from mqgroups.operate.rules.judgement import GroupState, Judgement
from mqgroups.operate.rules.owner_state import SeenOwner
from mqgroups.operate.rules.rates import Look, Rates


@dataclass(slots=True)
class Seen:
    """What one look has seen, or why it has seen nothing.

    Attributes:
        at: when it began.
        took_s: how long it took; or how long the next one should wait.
        look: for the rates of the next look.
        newest: the latest put time on the queue.
        oldest_complete: since when the group is complete that has been so for longest; empty without one.
        groups: the first ones, the most dangerous ones first.
        gone: groups that records name, and of which no message is on the queue.
    """

    at: datetime
    took_s: float = 0.0
    look: Look | None = None
    newest: str = ""
    oldest_complete: str = ""
    rates: Rates = field(default_factory=Rates)
    messages: int = 0
    others: int = 0
    hidden: int | None = None
    data_bytes: int = 0
    states: dict[GroupState, int] = field(default_factory=dict)
    groups: list[ListedGroup] = field(default_factory=list)
    gone: list[Judgement] = field(default_factory=list)
    owners: list[SeenOwner] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    problem: str = ""


def sums(seen: Seen) -> list[tuple[str, str, str]]:
    """Return how much there is, and how fast it moves: what, how much, and more of it."""
    states = ", ".join(f"{many:,} {state.value}" for state in GroupState if (many := seen.states.get(state, 0)))
    hidden = f", {seen.hidden:,} in units of work" if seen.hidden else ""
    each = seen.rates
    return [
        ("messages", f"{seen.messages:,}", f"{size(seen.data_bytes)}{hidden}"),
        ("groups", f"{sum(seen.states.values()):,}", states),
        ("messages/s", f"{each.messages_in:.1f} in", f"{each.messages_out:.1f} out"),
        ("groups/s", f"{each.groups_in:.1f} in", f"{each.groups_out:.1f} out"),
        ("commits/s", f"{each.commits:.1f}", ""),
    ]

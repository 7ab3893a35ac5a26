"""Who starts, with how many faults: of the protocol as it is to be, and of the protocol without one of its safeties."""

from __future__ import annotations

from dataclasses import dataclass

from tests.ownership.explorer import Scenario, Start
from tests.ownership.owners import Protocol, taker
from tests.ownership.queue_manager import Reading

GET, PUT, PIPE = ("G",), ("P",), ("G", "P")
WHOLE = Protocol()
ROLES = {"get": GET, "put": PUT, "pipe": PIPE}


def owners(role: str, starts: int, faults: int, *, kills: bool = True, losses: bool = True) -> Scenario:
    """Return a scenario of several starts of one name."""
    statuses = ROLES[role]
    who = tuple(Start(name, statuses) for name in "ABC"[:starts])
    what = "" if kills and losses else " (no kills)" if losses else " (kills)"
    return Scenario(
        f"{role}, {starts} starts, {faults} faults{what}", who, (Start("last", statuses),), faults, kills, losses
    )


def takeover(starts: str, faults: int, *, kills: bool = True, losses: bool = True) -> Scenario:
    """Return a scenario in which T moves the group of A's name to another; then starts A's name again, or the other one.

    ``starts``: "T" for nobody else before the end, "T, again" or "T, other".
    """
    other = ("P2",)
    third = {"T": (), "T, again": (Start("B", PUT),), "T, other": (Start("C", other),)}[starts]
    who = (Start("A", PUT), Start("T", ("P", "P2"), taker), *third)
    last = (Start("last", PUT), Start("last other", other))
    return Scenario(f"takeover {starts}, {faults} faults", who, last, faults, kills, losses)


@dataclass(frozen=True)
class Holds:
    """A protocol that holds in a scenario."""

    scenario: Scenario
    protocol: Protocol = WHOLE
    reading: Reading = Reading.EITHER
    what: str = "the protocol"

    def __str__(self) -> str:
        return f"{self.what}: {self.scenario.name}; {self.reading.value}"


@dataclass(frozen=True)
class Breaks:
    """A protocol without a safety, and words of what goes wrong then. ``is_large``: it takes a larger bound to find that."""

    protocol: Protocol
    scenario: Scenario
    wrong: str
    reading: Reading = Reading.EITHER
    is_large: bool = False


SEGMENTED = Protocol(gets_record=False)
RECORD_FIRST = Protocol(record_first=True, gets_again=False)
COUNTED_AT_ONCE = Protocol(sees_all="not fewer", browses="at once")
NO_ANCHOR = Protocol(anchor="none")
DEPTH = Protocol(anchor="depth")
DEPTH_THAT_COUNTS = Protocol(anchor="depth", depth_counts_gets=True)

HOLDS = [
    Holds(owners("put", 2, 2, losses=False)),
    Holds(owners("put", 2, 1)),
    Holds(owners("get", 2, 1)),
    Holds(owners("pipe", 2, 1)),
    Holds(takeover("T, again", 1)),
    Holds(owners("pipe", 2, 1), SEGMENTED, what="segmented status"),
    Holds(owners("pipe", 2, 1), RECORD_FIRST, what="record first, nothing waited for"),
    Holds(owners("put", 2, 1), reading=Reading.COMMITS_LATE),
    Holds(owners("get", 2, 1), reading=Reading.COMMITS_LATE),
    Holds(owners("pipe", 2, 1), Protocol(closes_together=False), what="two closing units of work"),
    Holds(owners("put", 2, 1), Protocol(takes_leftovers=False), what="leftovers left"),
    Holds(owners("put", 2, 1), Protocol(judges_holder="never"), what="no holder judged"),
    Holds(owners("put", 2, 1), COUNTED_AT_ONCE, what="anchors counted, if a browse were one call"),
    # Where the queue manager backs out before it closes handles, neither anchors nor CURDEPTH are needed; nor are
    # anchors if CURDEPTH counted what is got in open units of work.
    Holds(owners("put", 2, 1), NO_ANCHOR, Reading.BACKS_OUT_FIRST, "no anchor"),
    Holds(owners("put", 2, 1), DEPTH, Reading.BACKS_OUT_FIRST, "CURDEPTH"),
    Holds(owners("put", 2, 1), DEPTH_THAT_COUNTS, Reading.CLOSES_FIRST, "a CURDEPTH that counts uncommitted gets"),
]
LARGER = [
    Holds(owners("put", 3, 1)),
    Holds(owners("get", 3, 1)),
    Holds(takeover("T, other", 1)),
    Holds(owners("put", 2, 1), SEGMENTED, what="segmented status"),
    Holds(owners("get", 2, 1), SEGMENTED, what="segmented status"),
    Holds(owners("get", 2, 1), RECORD_FIRST, what="record first, nothing waited for"),
]
LARGE = [
    Holds(owners("put", 2, 2), COUNTED_AT_ONCE, what="anchors counted, if a browse were one call"),
    Holds(owners("put", 2, 2)),
    Holds(owners("get", 2, 2)),
    Holds(owners("pipe", 2, 2)),
    Holds(owners("put", 3, 2)),
    Holds(owners("get", 3, 2)),
    Holds(owners("pipe", 3, 1)),
    Holds(takeover("T, again", 2)),
    Holds(takeover("T, other", 2)),
    Holds(owners("put", 2, 2), SEGMENTED, what="segmented status"),
    Holds(owners("get", 2, 2), SEGMENTED, what="segmented status"),
    Holds(owners("get", 2, 2), RECORD_FIRST, what="record first, nothing waited for"),
    Holds(owners("put", 2, 2), reading=Reading.COMMITS_LATE),
    Holds(owners("get", 2, 2), reading=Reading.COMMITS_LATE),
    Holds(owners("put", 2, 2), Protocol(takes_leftovers=False), what="leftovers left"),
]

_LOST = "is told it has lost its ownership, and has not"
BREAKS = {
    "anchor": Breaks(NO_ANCHOR, owners("put", 2, 1), _LOST, Reading.CLOSES_FIRST),
    "anchor, CURDEPTH instead": Breaks(DEPTH, owners("put", 2, 1), _LOST, Reading.CLOSES_FIRST),
    "exclusive open": Breaks(Protocol(exclusive=False), owners("put", 2, 1), "stops for an operator"),
    "every record is seen": Breaks(Protocol(sees_all="any"), owners("put", 2, 1), _LOST),
    "every record is seen, not only no fewer than anchors": Breaks(
        Protocol(sees_all="not fewer"), owners("put", 2, 1), "1 records, 2 anchors"
    ),
    "claim": Breaks(Protocol(claims=False), owners("put", 2, 1), "for backed out that was committed"),
    "claim is started over": Breaks(Protocol(starts_over=False), owners("put", 2, 1), _LOST),
    "waiting for the old connection": Breaks(Protocol(waits=False), owners("put", 2, 1), "stops for an operator"),
    "a holder is judged when all is seen": Breaks(Protocol(judges_holder="always"), owners("put", 2, 1), _LOST),
    "a pipe claims both queues in one unit of work": Breaks(
        Protocol(claims_together=False), owners("pipe", 2, 1), _LOST
    ),
    "a pipe reads both records first": Breaks(
        Protocol(reads_all=False, browses="at once"),
        owners("pipe", 1, 2, kills=False),
        "for backed out that was committed",
    ),
    "a record that is closed is nobody's loss": Breaks(
        Protocol(closes_for_sure=False, browses="at once"), owners("put", 2, 2, kills=False), _LOST
    ),
    "one anchor goes with one record": Breaks(
        Protocol(closes_exactly=False), owners("put", 2, 1), "1 records, 0 anchors"
    ),
    "messages in the old unit of work are waited for": Breaks(
        Protocol(gets_again=False), owners("get", 2, 1), "a message of the group is missing"
    ),
    "a takeover leaves an idle record": Breaks(Protocol(leaves_idle=False), takeover("T", 2), _LOST),
    "the record is got (late commits)": Breaks(
        SEGMENTED, owners("put", 2, 1), "concluded to be backed out took effect", Reading.COMMITS_LATE
    ),
    "every record is seen, not only as many as anchors": Breaks(
        Protocol(sees_all="equal"), owners("put", 2, 2, kills=False), _LOST, is_large=True
    ),
    "one's own record is looked for": Breaks(
        Protocol(finds_own=False, browses="at once"), owners("put", 2, 2, kills=False), _LOST, is_large=True
    ),
}

"""Who starts, with how many faults: of the shipped protocol, and of the protocol without one of its safeties."""

from __future__ import annotations

from dataclasses import dataclass

from tests.ownership.bodies import Ways
from tests.ownership.explorer import Scenario, Start
from tests.ownership.queue_manager import Reading
from tests.ownership.safeties import Patch, Protocol

GET, PUT, PIPE = ("G",), ("P",), ("G", "P")
WHOLE = Protocol()
ROLES = {"get": GET, "put": PUT, "pipe": PIPE}


def owners(
    role: str, starts: int, faults: int, *, kills: bool = True, losses: bool = True, interruptions: bool = False
) -> Scenario:
    """Return a scenario of several starts of one name."""
    statuses = ROLES[role]
    who = tuple(Start(name, statuses) for name in "ABC"[:starts])
    kinds = [("kills", kills), ("losses", losses), ("interruptions", interruptions)]
    what = ", ".join(kind for kind, may in kinds if may)
    name = f"{role}, {starts} starts, {faults} of {what}"
    return Scenario(name, who, Start("last", statuses), faults, kills, losses, interruptions)


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


SEGMENTED = Protocol(ways=Ways(segmented=True))
AT_ONCE = Ways(browses="at once")

_LOST = "is told it has lost its ownership, and has not"
_LOST = "is told it has lost its ownership, and has not"


AS_SHIPPED = Ways()


def without(*patches: Patch, ways: Ways = AS_SHIPPED, anchors: bool = True) -> Protocol:
    """Return the shipped protocol with these patches."""
    return Protocol(patches, ways, anchors)


NO_ANCHOR = without(
    Patch("kept_record", "anchor = yield PutAnchor(self.queue, record)", "anchor = bytes(24)"), anchors=False
)
HIDDEN, AGAIN = "if not anchors <= anchored:", "if not anchored <= anchors and not seen_twice:"
LEFTOVERS_LEFT = without(
    Patch(
        "kept_record",
        "if not self.claimed:\n            for leftover",
        "if not self.claimed and self.for_owner is None:\n            for leftover",
    )
)
NO_HOLDER_JUDGED = without(
    Patch(
        "protocol", "if holder is not None and holder.epoch > own.epoch:", "if holder is not None and holder.epoch < 0:"
    )
)
SHORT_CHAINS = without(Patch("status_chain", "MOST_SEGMENTS = 32", "MOST_SEGMENTS = 2"), ways=Ways(segmented=True))

HOLDS = [
    Holds(owners("put", 2, 2, losses=False)),
    Holds(owners("put", 2, 1, interruptions=True)),
    Holds(owners("get", 2, 1, interruptions=True)),
    Holds(owners("pipe", 2, 1, interruptions=True)),
    Holds(owners("pipe", 2, 1), SEGMENTED, what="segmented status"),
    Holds(owners("put", 2, 1), reading=Reading.COMMITS_LATE),
    Holds(owners("get", 2, 1), reading=Reading.COMMITS_LATE),
    Holds(owners("pipe", 2, 1), reading=Reading.COMMITS_LATE),
    Holds(owners("put", 2, 1), LEFTOVERS_LEFT, what="leftovers left"),
    Holds(owners("put", 2, 1), NO_HOLDER_JUDGED, what="no holder judged"),
    # Where the queue manager backs out before it closes handles, anchors are not needed.
    Holds(owners("put", 2, 1), NO_ANCHOR, Reading.BACKS_OUT_FIRST, "no anchor"),
]
LARGER = [
    Holds(owners("put", 3, 1)),
    Holds(owners("get", 3, 1)),
    Holds(owners("pipe", 3, 1)),
    Holds(owners("put", 2, 1, interruptions=True), SEGMENTED, what="segmented status"),
    Holds(owners("get", 2, 1, interruptions=True), SEGMENTED, what="segmented status"),
    Holds(owners("put", 2, 1), SHORT_CHAINS, what="chains of one segment or two"),
]
LARGE = [
    Holds(owners("put", 2, 2, interruptions=True)),
    Holds(owners("get", 2, 2, interruptions=True)),
    Holds(owners("pipe", 2, 2)),
    Holds(owners("put", 3, 1), reading=Reading.COMMITS_LATE),
    Holds(owners("put", 3, 2)),
    Holds(owners("get", 3, 2)),
    Holds(owners("put", 2, 2), SEGMENTED, what="segmented status"),
    Holds(owners("get", 2, 2), SEGMENTED, what="segmented status"),
    Holds(owners("put", 2, 2), reading=Reading.COMMITS_LATE),
    Holds(owners("get", 2, 2), reading=Reading.COMMITS_LATE),
    Holds(owners("pipe", 2, 2), reading=Reading.COMMITS_LATE),
    Holds(owners("put", 2, 2), LEFTOVERS_LEFT, what="leftovers left"),
]

BREAKS = {
    "anchor": Breaks(NO_ANCHOR, owners("put", 2, 1), _LOST, Reading.CLOSES_FIRST),
    "exclusive open": Breaks(without(ways=Ways(exclusive=False)), owners("put", 2, 1), "stops for an operator"),
    "every record is seen": Breaks(without(Patch("status_chain", HIDDEN, "if False:")), owners("put", 2, 1), _LOST),
    "every record is seen, not only no fewer than anchors": Breaks(
        without(
            Patch("status_chain", HIDDEN, "if len(anchors) > len(chains):"), Patch("status_chain", AGAIN, "if False:")
        ),
        owners("put", 2, 1),
        "0 records, 1 anchors",
    ),
    "every record is seen, not only as many as anchors": Breaks(
        without(
            Patch("status_chain", HIDDEN, "if len(anchors) != len(chains):"), Patch("status_chain", AGAIN, "if False:")
        ),
        owners("put", 2, 2, kills=False),
        _LOST,
        is_large=True,
    ),
    "a record without its anchor is looked at again": Breaks(
        without(Patch("status_chain", AGAIN, "if False:")), owners("put", 2, 1), "0 records, 1 anchors"
    ),
    "claim": Breaks(
        without(
            Patch(
                "protocol",
                "return (yield from unit_ended(ownerships, tuple(map(_claim, ownerships)), checks=True))",
                "return ownerships",
            )
        ),
        owners("put", 2, 1),
        "for backed out that was committed",
    ),
    "a claim keeps what the record says": Breaks(
        without(Patch("protocol", "if record is None or not keeps_on_claim(record, own.expected):", "if True:")),
        owners("put", 2, 1),
        "records say",
    ),
    "claim is started over": Breaks(
        without(
            Patch(
                "programs",
                "        attempt += 1\n",
                "        if now.known:\n"
                "            now, known = yield from _settled(world, now)\n"
                "            if known:\n"
                '                yield "note", "owns", None\n'
                "                return now\n"
                "        attempt += 1\n",
            )
        ),
        owners("put", 2, 1),
        _LOST,
    ),
    "waiting for the old connection": Breaks(
        without(
            Patch("protocol", "was_lost = yield from _opened_again(own)", "was_lost = False"),
            Patch(
                "protocol",
                "    return verdicts\n",
                "    for own in opened:\n        yield from _opened_again(own)\n    return verdicts\n",
            ),
        ),
        owners("put", 2, 1),
        "stops for an operator",
    ),
    "a pipe reads both records first": Breaks(
        without(
            Patch(
                "protocol",
                "        verdicts = (*verdicts, _verdict(own, kept, record))\n",
                "        verdicts = (*verdicts, _verdict(own, kept, record))\n"
                "        yield Remember((*(verdict.after for verdict in verdicts), *opened[len(verdicts) :]))\n",
            ),
            ways=AT_ONCE,
        ),
        owners("pipe", 1, 2, kills=False),
        "half of a unit of work",
    ),
    "what is under way is remembered before": Breaks(
        without(Patch("protocol", "    yield Remember(pending)\n    after: Own", "    after: Own")),
        owners("put", 1, 1, kills=False, losses=False, interruptions=True),
        _LOST,
    ),
    "another mark is another owner's": Breaks(
        without(Patch("restart", "    return CommitOutcome.OWNERSHIP_LOST", "    return CommitOutcome.BACKED_OUT")),
        owners("put", 2, 1),
        "for backed out that was committed",
    ),
    "a holder is judged by its epoch": Breaks(
        without(Patch("protocol", "holder.epoch > own.epoch", "holder.owner_id != own.owner_id")),
        owners("get", 2, 2, kills=False),
        _LOST,
        is_large=True,
    ),
    "a record that is closed is nobody's loss": Breaks(
        without(Patch("protocol", "if own.is_closing and mark not in own.marks:", "if False:"), ways=AT_ONCE),
        owners("get", 2, 2, kills=False),
        _LOST,
        is_large=True,
    ),
    "one anchor goes with one record": Breaks(
        without(
            Patch(
                "kept_record",
                "        if anchor is not None:\n            yield TakeAnchor(self.queue, anchor)\n        return",
                "        messages = yield Browse(self.queue)\n"
                "        for each in messages:\n"
                '            if each.record.state.value == "anchor":\n'
                "                yield TakeAnchor(self.queue, each.msg_id)\n"
                "        return",
            )
        ),
        owners("put", 2, 1),
        "1 records, 0 anchors",
    ),
    "messages in the old unit of work are waited for": Breaks(
        without(
            Patch(
                "programs",
                "            while answer == NO_MESSAGE:\n                answer = yield",
                '            if answer == NO_MESSAGE:\n                raise Refused("a message of the group is missing")\n'
                "                answer = yield",
            )
        ),
        owners("get", 2, 1),
        "a message of the group is missing",
    ),
    "the record is got (late commits)": Breaks(
        SEGMENTED, owners("put", 2, 1), "concluded to be backed out took effect", Reading.COMMITS_LATE
    ),
    "one's own record is looked for": Breaks(
        without(
            Patch(
                "status_chain",
                "mine = len(marks) - marks.index(record.mark) if record.mark in marks else 0",
                "mine = 0",
            ),
            ways=AT_ONCE,
        ),
        owners("get", 2, 2, kills=False),
        _LOST,
        is_large=True,
    ),
}

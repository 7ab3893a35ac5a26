"""What came of one case, or of many."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Result:
    """What came of one case, or of many.

    Attributes:
        runs: cases.
        fired: faults that fired.
        starts: how often programs were started.
        in_doubt, verdicts: commits in doubt, and conclusions about them that were compared with the queues.
        errors: errors that reached an application, by class and reason code.
        left: connections that nobody ends: their MQBACK was refused, and MQDISC would commit.
        places: groups of cluster queues, by the queue managers they were found at; "QM1 QM2" is a split one.
        outcomes: how cases ended, in words, where there is more than one good end.
        wrong: what is not as it should be, each with the name of its case.
        calls: of the library in this process, (verb, reason); of one case only.
    """

    runs: int = 0
    fired: int = 0
    starts: int = 0
    in_doubt: int = 0
    verdicts: int = 0
    wrong_verdicts: int = 0
    left: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    calls: list[tuple[str, int]] = field(default_factory=list)

    def add(self, other: Result) -> None:
        """Add another result's counts to these."""
        for name in ("runs", "fired", "starts", "in_doubt", "verdicts", "wrong_verdicts", "left"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("errors", "places", "outcomes"):
            for what, count in getattr(other, name).items():
                self.note(getattr(self, name), what, count)
        self.wrong += other.wrong

    @staticmethod
    def note(counts: dict[str, int], what: str, count: int = 1) -> None:
        """Count something more."""
        counts[what] = counts.get(what, 0) + count

    def note_places(self, places: Mapping[bytes, frozenset[str]]) -> None:
        """Count groups by where they were found."""
        for found in places.values():
            self.note(self.places, " ".join(sorted(found)))

    def kinds(self) -> dict[str, int]:
        """Count what is wrong by kind: what is said of it without the case and its particulars."""
        counts: dict[str, int] = {}
        for wrong in self.wrong:
            self.note(counts, kind_of(wrong.partition(": ")[2] or wrong))
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    @property
    def groups(self) -> int:
        """How many groups of cluster queues were found."""
        return sum(self.places.values())

    @property
    def split(self) -> int:
        """How many groups were found at more than one queue manager."""
        return sum(count for places, count in self.places.items() if " " in places)


_PARTICULARS = re.compile(r"\d+|[0-9a-f]{12,}|[\[{(<].*|'[^']*'")


def kind_of(wrong: str) -> str:
    """Return what kind of thing is wrong: its text up to the first colon, without numbers, names and data."""
    text = _PARTICULARS.sub("…", wrong.partition(": ")[0])
    return re.sub(r"…(\W*…)*", "…", text).strip()[:100]

"""Compare the groups of the table with the files that the consumers wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from examples.cluster.airports import Group, name_of


class Kind(Enum):
    """The kinds of differences."""

    LOST = "flights lost"
    DOUBLED = "flights doubled"
    SPLIT = "groups split"
    OTHER = "other differences"


@dataclass(frozen=True, slots=True)
class Arrived:
    """The messages of one group at one consumer of one instance: sequence numbers and flights, in order of arrival."""

    q_mgr_name: str
    consumer: str
    group_id: str
    messages: tuple[tuple[int, str], ...]

    @property
    def name(self) -> str:
        """Name of the group, by its first message."""
        return name_of(self.messages[0][1])

    @property
    def airport(self) -> str:
        """Airport of the group, whose producer put it."""
        return self.name[11:14]

    @property
    def where(self) -> str:
        """Instance, consumer, and number of messages."""
        return f"{len(self.messages)} messages at {self.q_mgr_name} by {self.consumer} in group {self.group_id}"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference. ``number`` counts messages; for SPLIT and OTHER it is 1."""

    kind: Kind
    number: int
    sentence: str


def read(path: Path, q_mgr_name: str, consumer: str) -> list[Arrived]:
    """Return the groups in a consumer's file, in order of arrival."""
    found: dict[str, list[tuple[int, str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        group_id, number, flight = line.split(",", 2)
        found.setdefault(group_id, []).append((int(number), flight))
    return [Arrived(q_mgr_name, consumer, group_id, tuple(messages)) for group_id, messages in found.items()]


def differences(expected: Iterable[Group], arrived: Iterable[Arrived]) -> list[Difference]:
    """Return the differences between the expected groups and those that have arrived.

    A group is split if several consumers, at one or several instances, got messages of it, and none got it whole.
    """
    found: dict[str, list[Arrived]] = {}
    for part in arrived:
        found.setdefault(part.name, []).append(part)
    different: list[Difference] = []
    for group in expected:
        different += _of_group(group, found.pop(group.name, []))
    for name, parts in found.items():
        different.append(_other(f"group {name!r} is not in the table: {_places(parts)}"))
    return different


def _of_group(group: Group, parts: Sequence[Arrived]) -> Iterable[Difference]:
    whole = tuple(enumerate(group.flights, 1))
    if [part.messages for part in parts] == [whole]:
        return
    came = Counter(flight for part in parts for _, flight in part.messages)
    lost, more = Counter(group.flights) - came, came - Counter(group.flights)
    if lost:
        first = next(iter(lost))
        yield Difference(
            Kind.LOST,
            lost.total(),
            f"{group.name}: {lost.total()} of {len(whole)} flights lost, the first is {first!r}",
        )
    doubled = Counter({flight: number for flight, number in more.items() if flight in group.flights})
    if doubled:
        yield Difference(Kind.DOUBLED, doubled.total(), f"{group.name}: {doubled.total()} too many: {_places(parts)}")
    if len(parts) > 1 and not any(part.messages == whole for part in parts):
        yield Difference(Kind.SPLIT, 1, f"{group.name} is split: {_places(parts)}")
    if more - doubled:
        yield _other(f"{group.name} has messages of other groups: {_places(parts)}")
    if len(parts) == 1 and not lost and not more:
        yield _other(f"{group.name} is not in sequence: {_places(parts)}")


def _places(parts: Sequence[Arrived]) -> str:
    return "; ".join(part.where for part in parts)


def _other(sentence: str) -> Difference:
    return Difference(Kind.OTHER, 1, sentence)

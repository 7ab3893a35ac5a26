"""An index of a queue's messages by an identifier or a number. It finds one message among a million immediately."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Generic, Protocol, TypeVar

from sortedcontainers import SortedDict


class Placed(Protocol):
    """A message with a place in delivery order."""

    @property
    def key(self) -> int: ...


M = TypeVar("M", bound=Placed)
K = TypeVar("K", bound=Hashable)


class Index(Generic[K, M]):
    """An index of messages by identifier. Messages with the same identifier are in delivery order.

    Most identifiers belong to a single message, which is stored without a dictionary.
    """

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: dict[K, M | SortedDict[int, M]] = {}

    def __bool__(self) -> bool:
        return bool(self._buckets)

    def __contains__(self, identifier: object) -> bool:
        return identifier in self._buckets

    def add(self, identifier: K, message: M) -> None:
        """Add a message with this identifier."""
        held = self._buckets.setdefault(identifier, message)
        if held is message:
            return
        if not isinstance(held, SortedDict):
            held = self._buckets[identifier] = SortedDict({held.key: held})
        held[message.key] = message

    def remove(self, identifier: K, message: M) -> None:
        """Remove a message with this identifier. The message must be in the index."""
        held = self._buckets[identifier]
        if isinstance(held, SortedDict):
            del held[message.key]
            if held:
                return
        del self._buckets[identifier]

    def first(self, identifier: K) -> M | None:
        """Return the first message in delivery order with this identifier, or None."""
        held = self._buckets.get(identifier)
        if isinstance(held, SortedDict):
            found: M = held.peekitem(0)[1]
            return found
        return held

    def all(self, identifier: K) -> Collection[M]:
        """Return the messages with this identifier in delivery order."""
        bucket = self.bucket(identifier)
        return bucket.values() if isinstance(bucket, SortedDict) else bucket

    def bucket(self, identifier: K) -> SortedDict[int, M] | Sequence[M]:
        """Return the messages with this identifier in delivery order, as a dictionary by key or as a short sequence."""
        held = self._buckets.get(identifier)
        if held is None:
            return ()
        return held if isinstance(held, SortedDict) else (held,)

"""Messages of a queue by an identifier, so that one of a million is found at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from sortedcontainers import SortedDict


class Placed(Protocol):
    """A message as far as it has a place in delivery order."""

    @property
    def key(self) -> int: ...


K = TypeVar("K", bound=Placed)


class Index(Generic[K]):
    """Ks by an identifier, each bucket in delivery order. Most identifiers have one message: no bucket is
    made."""

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: dict[bytes, K | SortedDict[int, K]] = {}

    def add(self, identifier: bytes, message: K) -> None:
        held = self._buckets.get(identifier)
        if held is None:
            self._buckets[identifier] = message
        elif not isinstance(held, SortedDict):
            self._buckets[identifier] = SortedDict({held.key: held, message.key: message})
        else:
            held[message.key] = message

    def remove(self, identifier: bytes, message: K) -> None:
        held = self._buckets[identifier]
        if isinstance(held, SortedDict):
            del held[message.key]
            if held:
                return
        del self._buckets[identifier]

    def bucket(self, identifier: bytes) -> SortedDict[int, K] | Sequence[K]:
        held = self._buckets.get(identifier)
        if held is None:
            return ()
        return (held,) if not isinstance(held, SortedDict) else held

"""Messages of a queue by an identifier, so that one of a million is found at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from sortedcontainers import SortedDict


class Placed(Protocol):
    """A message as far as it has a place in delivery order."""

    @property
    def key(self) -> int: ...


M = TypeVar("M", bound=Placed)


class Index(Generic[M]):
    """Messages by an identifier, those with the same one in delivery order. Most have one of their own: it gets no bucket."""

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: dict[bytes, M | SortedDict[int, M]] = {}

    def add(self, identifier: bytes, message: M) -> None:
        held = self._buckets.get(identifier)
        if held is None:
            self._buckets[identifier] = message
        elif not isinstance(held, SortedDict):
            self._buckets[identifier] = SortedDict({held.key: held, message.key: message})
        else:
            held[message.key] = message

    def remove(self, identifier: bytes, message: M) -> None:
        held = self._buckets[identifier]
        if isinstance(held, SortedDict):
            del held[message.key]
            if held:
                return
        del self._buckets[identifier]

    def bucket(self, identifier: bytes) -> SortedDict[int, M] | Sequence[M]:
        held = self._buckets.get(identifier)
        if held is None:
            return ()
        return (held,) if not isinstance(held, SortedDict) else held

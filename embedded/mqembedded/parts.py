"""A container with at most one value of each type. The queue manager does not need to know the types.

The queue manager and each connection have a container. ``pubsub/`` keeps the subscriptions in the queue manager's container, and
``callbacks/`` keeps callbacks in each connection's container.
"""

from __future__ import annotations

from typing import Any, TypeVar

Part = TypeVar("Part")


class Parts:
    """A container that maps a type to a value of that type."""

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        self._by_type: dict[type, Any] = {}

    def add(self, part: object) -> None:
        """Keep a value under its type."""
        self._by_type[type(part)] = part

    def get(self, kind: type[Part]) -> Part:
        """Return the value of a type; raise KeyError if there is none."""
        found: Part = self._by_type[kind]
        return found

    def get_or_make(self, kind: type[Part]) -> Part:
        """Return the value of a type, and make it if there is none yet."""
        found: Part | None = self._by_type.get(kind)
        return self._by_type.setdefault(kind, kind()) if found is None else found

"""A container for values of rooms above, one of each type. The queue manager and each connection have one.

``pubsub/`` keeps the subscriptions with the queue manager, ``callbacks/`` the callbacks with each connection. Queue manager and
connection do not know these types.
"""

from __future__ import annotations

from typing import Any, TypeVar

Part = TypeVar("Part")


class Parts:
    """Values by their type."""

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        self._by_type: dict[type, Any] = {}

    def add(self, part: object) -> None:
        """Keep a value."""
        self._by_type[type(part)] = part

    def get(self, kind: type[Part]) -> Part:
        """Return the value of a type; raises KeyError if none was added."""
        found: Part = self._by_type[kind]
        return found

    def get_or_make(self, kind: type[Part]) -> Part:
        """Return the value of a type; make it if there is none yet."""
        found: Part | None = self._by_type.get(kind)
        return self._by_type.setdefault(kind, kind()) if found is None else found

"""A QueueManager object of the application's own, while this package uses its connection.

A connection has one unit of work. While a group's messages are in it, only this package can end it: the status record has to be
in it too. So the object's own ``commit``, ``backout``, ``begin`` and ``disconnect`` are refused meanwhile. What calls the
binding's C functions itself cannot be refused; it is noticed (``StatusQueue.hold``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqgroups.errors import GroupUsage

_REFUSED = ("begin", "commit", "backout", "disconnect")


def refuse_ends(q_mgr: Any, owner_of_unit_of_work: Callable[[], object | None]) -> Callable[[], None]:
    """Have an object refuse to end the unit of work, or to begin another one, while that has an owner.

    The object gets a class of its own for it. Returns: what gives it the old one back.
    """
    its_class = type(q_mgr)

    def refusing(name: str) -> Callable[..., object]:
        method = getattr(its_class, name)

        def refuse_or_call(self: Any, *arguments: object, **more: object) -> object:
            owner = owner_of_unit_of_work()
            if owner is not None:
                raise GroupUsage(
                    f"{name}() on a connection in whose unit of work {owner!r} has messages: it ends with their status record, "
                    "by the producer, consumer or pipe. Nothing was done. Leave its group first; or give it a connection of its "
                    "own"
                )
            return method(self, *arguments, **more)

        return refuse_or_call

    guarded = type(its_class.__name__, (its_class,), {name: refusing(name) for name in _REFUSED})
    q_mgr.__class__ = guarded

    def give_back() -> None:
        if type(q_mgr) is guarded:
            q_mgr.__class__ = its_class

    return give_back

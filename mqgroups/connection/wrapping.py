"""Guard the application's own QueueManager object while this package uses its connection.

A connection has one unit of work. While a group's messages are in it, only this package may end it, because the status record
must be in it too. Until then the object's own ``commit``, ``backout``, ``begin`` and ``disconnect`` are refused. Code that calls
the binding's C functions directly cannot be refused, but is detected afterwards (``StatusQueue.hold``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqgroups.errors import GroupUsage

_REFUSED = ("begin", "commit", "backout", "disconnect")


def refuse_ends(q_mgr: Any, owner_of_unit_of_work: Callable[[], object | None]) -> Callable[[], None]:
    """Make ``q_mgr`` refuse to end the unit of work, or to begin another one, while the unit of work has an owner.

    The object's class is replaced by a subclass. Returns a function that restores the old class.
    """
    its_class = type(q_mgr)

    def refusing(name: str) -> Callable[..., object]:
        method = getattr(its_class, name)

        def refuse_or_call(self: Any, *arguments: object, **more: object) -> object:
            owner = owner_of_unit_of_work()
            if owner is not None:
                raise GroupUsage(
                    f"{name}() was called while {owner!r} has messages in the connection's unit of work. Only that producer, "
                    "consumer or pipe may end it, because its status record must be committed too. Nothing was done. Leave its "
                    "group first, or give it a connection of its own"
                )
            return method(self, *arguments, **more)

        return refuse_or_call

    guarded = type(its_class.__name__, (its_class,), {name: refusing(name) for name in _REFUSED})
    q_mgr.__class__ = guarded

    def give_back() -> None:
        if type(q_mgr) is guarded:
            q_mgr.__class__ = its_class

    return give_back

"""Guards the application's own QueueManager object while this package uses its connection.

A connection has one unit of work. While a group's messages are in the unit of work, only this package may end it, because the
status record must be in it, too. Meanwhile the object's own ``commit``, ``backout``, ``begin`` and ``disconnect`` are refused.
Code that calls the binding's C functions directly cannot be refused, but is detected afterwards (``core.protocol.unit_begun``).

An object cannot be wrapped twice at the same time. Otherwise each wrapped connection would know only its own producers and
consumers. So the second connection would commit the messages of the first without their record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mqgroups.errors import GroupUsage

if TYPE_CHECKING:
    from mqgroups.connection.connection import Connection

_REFUSED = ("begin", "commit", "backout", "disconnect")
_WRAPPED_BY = "_wrapped_by_mqgroups"


def refuse_ends(q_mgr: Any, connection: Connection) -> Callable[[], None]:
    """Make ``q_mgr`` refuse to end the unit of work, or to begin another one, while the unit of work has an owner.

    For this, the object gets a subclass as its class. Returns a function that restores the old class. Raises GroupUsage if the
    object is wrapped already.
    """
    earlier = getattr(q_mgr, _WRAPPED_BY, None)
    if earlier is not None:
        if earlier.usable:
            raise GroupUsage(
                "this QueueManager is wrapped already, and its connection has only one unit of work. Use the object that wrap() "
                "returned the first time, or close that before you wrap again"
            )
        # The object's connection was lost, and the application has connected the same object again.
        q_mgr.__class__ = type(q_mgr).__base__
    its_class = type(q_mgr)

    def refusing(name: str) -> Callable[..., object]:
        method = getattr(its_class, name)

        def refuse_or_call(self: Any, *arguments: object, **more: object) -> object:
            owner = connection.unit_of_work_of
            if owner is not None:
                raise GroupUsage(
                    f"{name}() was called while {owner!r} has messages in the connection's unit of work. Only that producer, "
                    "consumer or pipe may end it, because its status record must be committed too. Nothing was done. Leave its "
                    "group first, or give it a connection of its own"
                )
            done = method(self, *arguments, **more)
            if name == "disconnect":
                give_back()
            return done

        return refuse_or_call

    members = {name: refusing(name) for name in _REFUSED} | {_WRAPPED_BY: connection}
    guarded = type(its_class.__name__, (its_class,), members)

    def give_back() -> None:
        if type(q_mgr) is guarded:
            q_mgr.__class__ = its_class

    # This is last, because an interruption may come, and the object's own disconnect() calls the function above.
    q_mgr.__class__ = guarded
    return give_back

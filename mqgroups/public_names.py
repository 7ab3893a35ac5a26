"""Classes and functions have the name of the module that an application imports them from, not of the one that defines them.

Tracebacks, help() and pickles show that name, and the module that defines a class may change.
"""

from __future__ import annotations

from types import ModuleType


def name_by_room(room: ModuleType) -> None:
    """Name what is in ``__all__`` of a module by that module, and have ``dir()`` show it alone.

    What is in ``errors.py`` keeps its name, because that is public.
    """
    for name in room.__all__:
        public = vars(room).get(name)
        written_in = getattr(public, "__module__", "")
        if written_in.startswith("mqgroups.") and written_in != "mqgroups.errors":
            setattr(public, "__module__", room.__name__)  # noqa: B010 - mypy knows no __module__ of an object
    vars(room)["__dir__"] = lambda: room.__all__

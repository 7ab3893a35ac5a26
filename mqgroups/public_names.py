"""Gives classes and functions the name of the module from which applications import them.

Tracebacks, help() and pickles show that name, while the defining module may change.
"""

from __future__ import annotations

from types import ModuleType


def name_by_room(room: ModuleType) -> None:
    """Give the names in ``__all__`` of a module that module, and let ``dir()`` show only them.

    Classes of ``errors.py`` keep their module, because it is public.
    """
    for name in room.__all__:
        public = vars(room).get(name)
        written_in = getattr(public, "__module__", "")
        if written_in.startswith("mqgroups.") and written_in != "mqgroups.errors":
            setattr(public, "__module__", room.__name__)  # noqa: B010 - mypy knows no __module__ of an object
    vars(room)["__dir__"] = lambda: room.__all__

"""Sets ``__module__`` of classes and functions to the module from which applications import them.

Tracebacks, help() and pickles show that module. So a later version can define a class in another module.
"""

from __future__ import annotations

from types import ModuleType


def name_by_room(room: ModuleType) -> None:
    """Set ``__module__`` of everything in ``room.__all__`` to ``room``, and make ``dir(room)`` show only these names.

    Classes of ``errors.py`` keep their module, because it is public.
    """
    for name in room.__all__:
        public = vars(room).get(name)
        written_in = getattr(public, "__module__", "")
        if written_in.startswith("mqgroups.") and written_in != "mqgroups.errors":
            setattr(public, "__module__", room.__name__)  # noqa: B010 - mypy knows no __module__ of an object
    vars(room)["__dir__"] = lambda: room.__all__

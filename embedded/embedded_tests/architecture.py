"""Checks of the architecture of a package: its imports, circles of them, names with underscores, the length of files.

A package is a root directory and a table of its rooms. A room is a package or a module right under the root, by name, or one in
another room that has a floor of its own (``mqi.constants``); the table has them in the order of their floors, the lowest first,
each with the rooms beneath it that it may import. Modules are named by
their path under the root with dots (``calls.getting``), a package's ``__init__`` by the package's name, the root's by
``__init__``. Imports count wherever they are: for annotations only, and in functions too.

Functions that check return a sentence for each violation, and an empty list if there is none.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

# Names of Python and of libraries that are public although they begin with an underscore.
API = {"_replace", "_make", "_getframe", "_jsc"}

Table = Mapping[str, Collection[str]]


def modules(root: Path) -> dict[str, Path]:
    """Return all modules under a package's root, by name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


def room_of(module: str, table: Table) -> str:
    """Return the room of a module; of two that it could be in, the inner one."""
    while module not in table and "." in module:
        module = module.rpartition(".")[0]
    return module


@functools.cache
def _imports(text: str) -> list[tuple[str | None, list[str]]]:
    """Return the imports of a module: the names of each, with the module that they come from."""
    found: list[tuple[str | None, list[str]]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.append((None, [alias.name for alias in node.names]))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.append((node.module, [alias.name for alias in node.names]))
    return found


def imported(path: Path) -> set[str]:
    """Return every module that a file imports; ``from a import b`` as ``a.b`` and as ``a``."""
    names: set[str] = set()
    for module, given in _imports(path.read_text(encoding="utf-8")):
        names.update(given if module is None else {module, *(f"{module}.{name}" for name in given)})
    return names


def graph(root: Path, package: str) -> dict[str, set[str]]:
    """Return which modules of a package each of them imports. ``from a import b`` is the module ``a.b`` or a name of ``a``."""
    known = modules(root)
    return {module: _imported_of(path, package, known) - {module} for module, path in known.items()}


def _imported_of(path: Path, package: str, known: Collection[str]) -> set[str]:
    found: set[str] = set()
    for module, given in _imports(path.read_text(encoding="utf-8")):
        for name in given if module is None else [f"{module}.{name}" for name in given]:
            if name == package or name.startswith(package + "."):
                inside = name[len(package) + 1 :]
                found.add(inside if inside in known else inside.rpartition(".")[0] or "__init__")
    return found


def without_room(root: Path, table: Table) -> list[str]:
    """Return modules that have no room, and rooms that have no module."""
    known = modules(root)
    rooms = {module: room_of(module, table) for module in known}
    return [f"{module} is in no room" for module, room in rooms.items() if room not in table] + [
        f"{room} is a room without modules" for room in table if room not in rooms.values()
    ]


def upward_rooms(table: Table) -> list[str]:
    """Return rooms that may import what is not beneath them."""
    floors = list(table)
    return [
        f"{room} is beneath {other}, or {other} is unknown"
        for number, room in enumerate(floors)
        for other in table[room]
        if other not in floors[:number]
    ]


def forbidden_imports(root: Path, package: str, table: Table, outside: Collection[str] = ()) -> list[str]:
    """Return imports that the table does not have; of the rest of the library only ``outside`` may be imported."""
    wrong = [
        f"{module} must not import {other}"
        for module, others in graph(root, package).items()
        for other in sorted(others)
        if room_of(other, table) not in {room_of(module, table), *table.get(room_of(module, table), ())}
    ]
    library = package.split(".")[0]
    for module, path in modules(root).items():
        foreign = {name for name in imported(path) if name.split(".")[0] == library and not _is_in(name, {package})}
        permitted = {name for name in foreign if _is_in(name, outside)}
        # ``from a import b`` names ``a`` too.
        permitted |= {name for name in foreign if any(other.startswith(name + ".") for other in permitted)}
        wrong += [f"{module} must not import {name}" for name in sorted(foreign - permitted)]
    return wrong


def _is_in(name: str, packages: Collection[str]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def circles(arrows: Mapping[str, Collection[str]]) -> list[str]:
    """Return a circle if there is one."""
    try:
        graphlib.TopologicalSorter({node: set(others) for node, others in arrows.items()}).prepare()
    except graphlib.CycleError as error:
        return [" <- ".join(error.args[1])]
    return []


def foreign_underscores(root: Path, friends: Collection[str] = ()) -> list[str]:
    """Return where a module imports a name with an underscore, or reaches for one, that its own folder does not define.

    ``friends`` are names that any folder may use.
    """
    texts = {module: (path.parent, path.read_text(encoding="utf-8")) for module, path in modules(root).items()}
    own: dict[Path, set[str]] = {}
    for folder, text in texts.values():
        own.setdefault(folder, set()).update(_names(text).defined)
    wrong = []
    for module, (folder, text) in texts.items():
        wrong += [f"{module} imports {name}" for name in _names(text).imported if name not in own[folder]]
        wrong += [
            f"{module}, line {line}: {expression}"
            for name, line, expression in _names(text).reached
            if name not in friends and name not in own[folder]
        ]
    return wrong


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


class _Names(NamedTuple):
    """Names in a module.

    Attributes:
        defined: given to functions, classes and attributes, those of its objects too.
        imported: those with an underscore that it imports.
        reached: those with an underscore that are attributes of another object: name, line, expression.
    """

    defined: set[str]
    imported: list[str]
    reached: list[tuple[str, int, str]]


# A module is parsed once, although each friend is looked for in all of them.
@functools.cache
def _names(text: str) -> _Names:
    names = _Names(set(), [], [])
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.defined.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.defined.add(node.id)
        elif isinstance(node, ast.ImportFrom):
            names.imported.extend(each.name for each in node.names if _is_private(each.name))
        elif isinstance(node, ast.Attribute):
            # What is set on itself is its own; what is set on somebody else is not.
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                if isinstance(node.ctx, ast.Store):
                    names.defined.add(node.attr)
            elif _is_private(node.attr) and node.attr not in API:
                names.reached.append((node.attr, node.lineno, ast.unparse(node)))
    return names


def c_includes(sources: Collection[Path]) -> dict[str, set[str]]:
    """Return which of these C files each of them includes."""
    names = {path.name for path in sources}
    return {
        path.name: set(re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)) & names for path in sources
    }

"""Each ``name`` in a docstring of the package is there: a file, a module, a class, what a class has, or a word of the code."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import sys
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "mqgroups"
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
# A name as it is written: with dots, perhaps a call without arguments.
_NAME = re.compile(r"``([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?``")
_FILE = re.compile(r"``([\w/]+\.(?:py|md|c|h|html|toml))``")


def words(tree):
    """Every identifier of a module, and the words of its constants that are not docstrings."""
    docstrings = {id(node) for node in commented(tree)}
    for node in ast.walk(tree):
        for name in ("id", "attr", "arg", "name", "asname"):
            if isinstance(found := getattr(node, name, None), str):
                yield from found.split(".")
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield from re.findall(r"\w+", node.value)


def commented(tree):
    """The docstrings of a module, and of what is in it, as constants."""
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            for statement in body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    yield statement.value


def members(node):
    """What a class or module has: names that are assigned, defined, imported or declared in it."""
    for inner in ast.walk(node):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield inner.name
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
        elif (
            isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id in ("self", "cls")
        ):
            yield inner.attr
        elif isinstance(inner, ast.alias):
            yield inner.asname or inner.name
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str) and inner.value.isidentifier():
            yield inner.value  # in __slots__ or __all__


FOLDERS = ("mqgroups", "embedded", "tests", "docs", "examples", "pyspark_ibmmq", "recipes", "tools")
FILES = {
    f"/{each.relative_to(PACKAGE.parent)}"
    for folder in FOLDERS
    for each in PACKAGE.parent.joinpath(folder).rglob("*.*")
}
TEXTS = {
    node.value
    for tree in TREES.values()
    for node in ast.walk(tree)
    if isinstance(node, ast.Constant)
    and isinstance(node.value, str)
    and " " not in node.value
    and "\n" not in node.value
}
# Names of Spark, JMS and HTTP, which no code of the package has.
OF_OTHERS = set(
    "Server awaitTermination getOrCreate jms.Dst left_anti maxPartitions Parameter.empty persist pollTimeoutMs pyspark_ibmmq"
    " save".split()
)
# Not imported: without IBM MQ's client they cannot be.
BINDINGS = {"pymqi", "ibmmq"}
WORDS = {word for tree in TREES.values() for word in words(tree)} | set(dir(builtins)) | set(sys.stdlib_module_names)
MEMBERS = defaultdict(set)
for path, tree in TREES.items():
    MEMBERS[path.stem if path.stem != "__init__" else path.parent.name].update(members(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            MEMBERS[node.name].update(members(node))
            bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
            MEMBERS[node.name].update("<" + ast.unparse(base).rpartition(".")[2] for base in bases)


def has(owner, name):
    return name in MEMBERS[owner] or any(has(base[1:], name) for base in tuple(MEMBERS[owner]) if base[0] == "<")


def is_there(name):
    """Whether a name is known: whole, or its last part as a member of the one before."""
    owner, _, last = name.rpartition(".")
    owner = owner.rpartition(".")[2]
    if not owner:
        return last in WORDS or last in MEMBERS or last in OF_OTHERS
    if has(owner, last) or outside(name) or any(name in text for text in TEXTS):
        return True
    if any(file.endswith((f"/{owner}/{last}.py", f"/{owner}/{last}/__init__.py")) for file in FILES):
        return True
    # What a variable has, or a module that is not imported by this path: ``group.put``.
    return owner in BINDINGS or name in OF_OTHERS or (owner.islower() and last.islower() and {owner, last} <= WORDS)


def outside(name):
    """Whether a name is one of another package."""
    module, _, last = name.rpartition(".")
    while module:
        try:
            found = importlib.import_module(module)
        except ImportError:
            module, _, before = module.rpartition(".")
            last = f"{before}.{last}"
            continue
        return hasattr(found, last.partition(".")[0])
    return False


def test_each_name_in_a_docstring_is_there():
    wrong = []
    for path, tree in TREES.items():
        for docstring in commented(tree):
            if isinstance(docstring.value, str):
                text = docstring.value
                files = set(_FILE.findall(text))
                there = {each for each in files if any(file.endswith(f"/{each}") for file in FILES)}
                wrong += [f"{path.relative_to(PACKAGE)}: {each}" for each in sorted(files - there)]
                names = {name for name in _NAME.findall(text) if name not in files}
                wrong += [f"{path.relative_to(PACKAGE)}: {name}" for name in names if not is_there(name)]
    assert wrong == []

"""The rooms of the package: each has its floor, and arrows only go down. ARCHITECTURE.md shows the same table."""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from embedded_tests import architecture
from embedded_tests.architecture import imported

PACKAGE = Path(__file__).parents[1] / "mqgroups"

# Rooms that are named together, here and in ARCHITECTURE.md.
EDGE = {
    *("code_pages", "core", "errors", "mqi.constants", "mqi.reasons"),
    *("mqi", "printable", "setting", "telemetry", "connection"),
}
OWNERS = {"status", "names", "settings"} | EDGE
# The lowest floor first, with what each room may import beneath itself. A new module belongs into one of them.
ROOMS: dict[str, set[str]] = {
    "core": set(),
    "operate.rules": {"core"},
    "mqi.constants": set(),
    "definitions": set(),
    "public_names": set(),
    "printable": set(),
    "code_pages": set(),
    "mqi.reasons": {"mqi.constants"},
    "errors": {"core", "mqi.constants", "mqi.reasons", "printable"},
    "setting": {"core", "errors"},
    "mqi": {"code_pages", "errors", "mqi.constants", "printable", "setting"},
    "telemetry": {"core", "errors", "mqi", "mqi.constants", "printable"},
    "connection": EDGE - {"connection"},
    "status": EDGE,
    "names": {"core", "errors", "setting"},
    "settings": {"status", "names"} | EDGE,
    "operate": {"operate.rules", "public_names"} | OWNERS,
    "put": OWNERS,
    "get": OWNERS,
    "pipe": {"get", "put"} | OWNERS,
    "batch": {"put"} | OWNERS,
    "queue_manager": {"get", "pipe", "put"} | OWNERS,
    "codecs": {"errors"},
    "stopping": {"errors"},
    "pages": set(),
    "progress": {"core", "errors", "printable", "status"},
    "files": {"core", "errors", "get", "printable", "put"},
    "workers": {"get", "operate", "operate.rules", "pages", "pipe", "queue_manager"} | OWNERS,
    "aio": {"get", "pipe", "public_names", "put", "queue_manager"} | OWNERS,
    "__init__": {
        "codecs",
        "files",
        "get",
        "operate",
        "pipe",
        "progress",
        "public_names",
        "put",
        "queue_manager",
        "stopping",
        "workers",
    }
    | OWNERS,
    "spark": {"batch"} | OWNERS,
    "demo": {"__init__", "connection", "definitions", "files", "errors", "mqi", "mqi.constants"},
    "cli": {
        "batch",
        "codecs",
        "definitions",
        "demo",
        "files",
        "operate",
        "operate.rules",
        "pages",
        "progress",
        "queue_manager",
        "spark",
        "stopping",
        "workers",
    }
    | OWNERS,
    "__main__": {"cli"},
}
# Names with an underscore that other rooms than their own may use: a user's editor doesn't list them.
FRIENDS: set[str] = {
    "_abandoned_because",
    "_abandoned_with",
    "_as_got",
    "_decode",
    "_followed_by",
    "_is_in_block",
    "_is_plain",
    "_not_got_because",
    "_taken",
    "_was_left",
}
# Where verbs are called (a name that is called and is an MQI verb's), apart from mqi/ itself.
VERB_CALLERS = {f"connection/{name}.py" for name in ("connection", "handle", "open_objects", "unanswered")}
VERBS = {"MQOPEN", "MQCLOSE", "MQPUT", "MQGET", "MQCMIT", "MQBACK", "MQDISC", "MQCONNX", "MQINQ", "MQSTAT"}


def sources(room: str) -> list[Path]:
    return sorted((PACKAGE / room).rglob("*.py"))


def within(module: str, packages: set[str]) -> bool:
    return any(module == part or module.startswith(part + ".") for part in packages)


def test_every_module_has_a_room():
    assert not architecture.without_room(PACKAGE, ROOMS)


def test_every_room_may_import_what_is_beneath_it_only():
    assert not architecture.upward_rooms(ROOMS)


def test_imports_only_go_down():
    assert not architecture.forbidden_imports(PACKAGE, "mqgroups", ROOMS)


def test_no_modules_import_each_other():
    assert not architecture.circles(architecture.graph(PACKAGE, "mqgroups"))


def test_no_room_reaches_for_a_name_with_an_underscore_of_another():
    assert not architecture.foreign_underscores(PACKAGE, FRIENDS)


def test_a_class_name_stands_for_one_class():
    names = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, times in names.items() if times > 1] == []


def test_every_friend_is_used_by_another_room():
    assert all(architecture.foreign_underscores(PACKAGE, FRIENDS - {name}) for name in FRIENDS)


def test_the_architecture_document_shows_these_rooms():
    text = (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z_.]+)/?` \|", text, re.MULTILINE) == list(reversed(ROOMS))


@pytest.mark.parametrize(
    ("room", "rules"), [("core", {"mqgroups.core"}), ("operate/rules", {"mqgroups.core", "mqgroups.operate.rules"})]
)
def test_rules_import_nothing_but_rules_and_the_standard_library(room, rules):
    for path in sources(room):
        for name in imported(path):
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names or within(name, rules), f"{path.name} imports {name}"


def test_rules_have_no_clock_no_chance_and_no_log():
    impure = {"time", "random", "uuid", "logging", "os", "socket", "threading", "datetime"}
    rules = sources("core") + sources("operate/rules")
    assert not any(within(name, impure) for path in rules for name in imported(path))


def test_libraries_are_imported_by_their_own_part_only():
    for libraries, parts in (
        ({"opentelemetry"}, sources("telemetry")),
        ({"opentelemetry.sdk", "opentelemetry.exporter"}, []),
        ({"pyspark", "pyarrow"}, sources("spark")),
        ({"testcontainers", "docker", "pytest"}, []),
        ({"mqembedded"}, [*sources("demo"), PACKAGE / "cli" / "demo.py"]),
    ):
        using = {path for path in PACKAGE.rglob("*.py") if any(within(name, libraries) for name in imported(path))}
        assert using <= set(parts), libraries


_BEFORE_A_WORD = re.compile(r"(\('|--(name|queue|status-queue|to|from|instance|record-user) |mqgroups [a-z]+ )$")


def test_words_in_lines_that_people_copy_are_quoted_in_one_place():
    """A value of MQSC, and a word behind a command or an option for names, is a word of ``to_copy``, unless it is a constant."""
    for path in set(sources("")) - set(sources("demo")):
        tree = ast.parse(path.read_text())
        quoting = [
            call.args for call in ast.walk(tree) if isinstance(call, ast.Call) and called_name(call) == "to_copy"
        ]
        lines = {line for arguments in quoting for line in arguments[:1]}
        for text in ast.walk(tree):
            if not isinstance(text, ast.JoinedStr) or text in lines:
                continue
            for before, word in itertools.pairwise(text.values):
                if isinstance(before, ast.Constant) and isinstance(word, ast.FormattedValue):
                    named = ast.unparse(word.value)
                    assert named.isupper() or not _BEFORE_A_WORD.search(str(before.value)), f"{path.name}: {named}"


def called_name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def test_verbs_are_called_in_the_connection_only():
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        text = path.read_text(encoding="utf-8")
        # Only to parse fewer files.
        if name in VERB_CALLERS or name.startswith("mqi/") or "MQ" not in text:
            continue
        called = {
            node.func.attr
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        assert not called & VERBS, f"{name} calls {sorted(called & VERBS)}"


def test_every_public_name_exists():
    import mqgroups

    assert all(hasattr(mqgroups, name) for name in mqgroups.__all__)

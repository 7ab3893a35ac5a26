"""The rooms of the embedded queue manager: each has its floor, and arrows only go down. In Python and in C."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import mqembedded
from embedded_tests import architecture
from mqembedded.libmqm.build import verbs_header

PACKAGE = "mqembedded"
ROOT = Path(mqembedded.__file__).parent
LIBMQM = ROOT / "libmqm"

# Every room may import these.
FACTS = {"cache", "code_pages", "constants", "printable"}
_VALUES = {"answer", "platform", "readings", "store", "wire", "properties", "objects", "messages"}
_QUEUE_MANAGER = _VALUES | {
    "heartbeats",
    "parts",
    "catalogue",
    "connection",
    "remote_queues",
    "cluster_view",
    "queue_manager",
}
# The lowest floor first, with what each room may import beneath itself.
ROOMS: dict[str, set[str]] = {
    "constants": set(),
    "printable": set(),
    "cache": set(),
    "code_pages": set(),
    "answer": set(),
    "heartbeats": set(),
    "parts": set(),
    "platform": set(),
    "readings": set(),
    "store": set(),
    "wire": set(),
    "libmqm": {"wire"},
    "properties": {"wire"},
    "objects": {"store", "wire"},
    "messages": {"answer", "objects", "wire"},
    "catalogue": {"messages", "objects", "platform", "readings", "store", "wire"},
    "connection": {"answer", "heartbeats", "messages", "parts", "properties"},
    "remote_queues": {"answer", "catalogue", "messages", "objects"},
    "cluster_view": {"answer", "catalogue", "messages", "objects", "remote_queues"},
    "queue_manager": _VALUES | {"catalogue", "cluster_view", "connection", "heartbeats", "parts"},
    "reports": _QUEUE_MANAGER,
    "calls": _QUEUE_MANAGER | {"reports"},
    "channels": _QUEUE_MANAGER | {"reports"},
    "cluster": _QUEUE_MANAGER | {"channels"},
    "callbacks": _QUEUE_MANAGER | {"calls"},
    "pubsub": _QUEUE_MANAGER | {"calls"},
    "admin": _QUEUE_MANAGER | {"calls", "channels", "pubsub"},
    "serve": _QUEUE_MANAGER | {"admin", "callbacks", "calls", "channels", "cluster", "libmqm", "pubsub"},
    "__init__": {"platform", "readings", "serve"},
    "testing": {"__init__", "libmqm", "queue_manager", "readings", "wire"},
    "cli": {"__init__", "admin", "libmqm", "readings", "serve"},
    "__main__": {"cli"},
}
# Rooms that can be taken away without touching what is beneath them.
BREADTH = {"callbacks", "pubsub", "admin"}


def test_every_module_has_a_room():
    assert not architecture.without_room(ROOT, ROOMS)


def test_every_room_may_import_what_is_beneath_it_only():
    assert not architecture.upward_rooms(ROOMS)


def test_imports_only_go_down():
    table = {room: others if room in FACTS else others | FACTS for room, others in ROOMS.items()}
    assert not architecture.forbidden_imports(ROOT, PACKAGE, table)


def test_neither_house_imports_the_other():
    for path in ROOT.rglob("*.py"):
        assert not [name for name in architecture.imported(path) if name.split(".")[0] == "mqgroups"], path


def test_no_arrow_of_the_table_is_without_an_import():
    arrows = architecture.graph(ROOT, PACKAGE)
    used = {
        (architecture.room_of(module, ROOMS), architecture.room_of(other, ROOMS))
        for module, others in arrows.items()
        for other in others
    }
    # Above the queue manager each room may use all of it, and happens not to need each part.
    above = list(ROOMS)[list(ROOMS).index("queue_manager") :]
    needed = {room: others - _QUEUE_MANAGER if room in above else others for room, others in ROOMS.items()}
    for room in ("__init__", "cli", "testing"):
        needed[room] = ROOMS[room]
    assert {(room, other) for room, others in needed.items() for other in others} <= used


def test_nothing_but_another_of_them_the_server_and_the_command_imports_a_room_of_breadth():
    assert {room for room, others in ROOMS.items() if BREADTH & others} == {"admin", "cli", "serve"}


def test_no_modules_import_each_other():
    assert not architecture.circles(architecture.graph(ROOT, PACKAGE))


def test_no_module_reaches_for_a_name_with_an_underscore_of_another():
    assert not architecture.foreign_underscores(ROOT)


def test_the_page_about_it_shows_these_rooms():
    text = (ROOT.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    shown = re.search(r"^`__main__`, .*?\n\n", text, re.MULTILINE | re.DOTALL)
    assert shown is not None
    rooms = re.findall(r"`([a-z_]+)/?`", shown[0])
    assert rooms == [room for room in reversed(ROOMS) if room != "__init__"]


# --- C


@pytest.fixture(scope="module")
def c_sources(tmp_path_factory):
    """All C files, the generated one too."""
    generated = tmp_path_factory.mktemp("generated") / "verbs.h"
    generated.write_text(verbs_header())
    return [*sorted(LIBMQM.glob("*.[ch]")), generated]


def test_no_c_files_include_each_other(c_sources):
    arrows = architecture.c_includes(c_sources)
    assert len(arrows) > 10
    assert not architecture.circles(arrows)


def test_no_c_files_call_each_other(c_sources, tmp_path):
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))))
    defined: dict[str, str] = {}
    needed: dict[str, set[str]] = {}
    for source in (path for path in c_sources if path.suffix == ".c"):
        made = tmp_path / f"{source.stem}.o"
        includes = (f"-I{LIBMQM / 'inc'}", f"-I{LIBMQM}", f"-I{c_sources[-1].parent}")
        subprocess.run(
            [compiler, "-std=c11", "-D_GNU_SOURCE", "-fPIC", "-c", *includes, str(source), "-o", str(made)], check=True
        )
        table = subprocess.run(["nm", "-P", "-g", str(made)], capture_output=True, text=True, check=True).stdout
        symbols = [line.split()[:2] for line in table.splitlines()]
        defined.update({name: source.name for name, kind in symbols if kind != "U"})
        needed[source.name] = {name for name, kind in symbols if kind == "U"}
    arrows = {name: {defined[each] for each in others & defined.keys()} for name, others in needed.items()}
    assert "connection.c" in arrows["objects.c"]
    assert not architecture.circles(arrows)


# --- what the checks above notice


@pytest.fixture
def package(tmp_path):
    """A package of two rooms, one of which may import the other."""
    root = tmp_path / "above"
    for name, text in {
        "__init__.py": "",
        "low/__init__.py": "",
        "low/value.py": "class Value:\n    def __init__(self):\n        self._kept = 1\n",
        "high/__init__.py": "",
        "high/verb.py": "from above.low.value import Value\nfrom above.low import value\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


TABLE: dict[str, set[str]] = {"low": set(), "high": {"low"}, "__init__": set()}


def test_a_package_in_order_has_nothing_wrong(package):
    assert architecture.graph(package, "above") == {
        "__init__": set(),
        "low": set(),
        "low.value": set(),
        "high": set(),
        "high.verb": {"low.value"},
    }
    assert not architecture.without_room(package, TABLE)
    assert not architecture.upward_rooms(TABLE)
    assert not architecture.forbidden_imports(package, "above", TABLE)
    assert not architecture.foreign_underscores(package)


@pytest.mark.parametrize(
    "text",
    [
        "from above.high.verb import anything\n",
        "from above.high import verb\n",
        "import above.high.verb\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from above.high.verb import anything\n",
        "def late():\n    from above.high import verb\n",
    ],
)
def test_an_import_that_goes_up_is_noticed_wherever_it_is(package, text):
    (package / "low/value.py").write_text(text)
    assert architecture.forbidden_imports(package, "above", TABLE) == ["low.value must not import high.verb"]
    assert len(architecture.circles(architecture.graph(package, "above"))) == 1


def test_a_module_without_a_room_and_a_room_without_modules_are_noticed(package):
    (package / "stray.py").write_text("")
    table = {**TABLE, "empty": {"low"}}
    assert architecture.without_room(package, table) == ["stray is in no room", "empty is a room without modules"]


def test_a_table_whose_arrows_go_up_is_noticed():
    assert len(architecture.upward_rooms({"low": {"high"}, "high": set()})) == 1


def test_what_is_outside_the_package_is_noticed(package):
    (package / "inside").mkdir()
    (package / "inside/one.py").write_text("from above.low import value\nfrom above.low.value import Value\n")
    inside = package / "inside"
    assert not architecture.forbidden_imports(inside, "above.inside", {"one": set()}, outside={"above.low"})
    assert architecture.forbidden_imports(inside, "above.inside", {"one": set()}, outside={"above.high"}) == [
        "one must not import above.low",
        "one must not import above.low.value",
        "one must not import above.low.value.Value",
    ]


@pytest.mark.parametrize("text", ["from above.low.value import _hidden\n", "def of(value):\n    return value._kept\n"])
def test_reaching_for_a_name_with_an_underscore_is_noticed(package, text):
    (package / "high/verb.py").write_text(text)
    assert len(architecture.foreign_underscores(package)) == 1

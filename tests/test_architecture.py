"""The arrows between the modules go one way: drivers -> core; drivers -> edge -> mqi -> C; leaves import, nobody imports them."""

from __future__ import annotations

import ast
import graphlib
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "mqgroups"

# What each part of the package may import of the package, at any depth of its source. A new module belongs in here.
LOWEST = {"mqi.constants"}
EDGE = {
    "connection",
    "status_queue",
    "record_keeper",
    "owner",
    "unit_of_work",
    "payload",
    "backout_queue",
    "retry",
    "config",
    "errors",
    "hooks",
    "telemetry",
    "message_handles",
    "mqi",
    "core",
}
ALLOWED: dict[str, set[str]] = {
    "core": {"core"},
    "errors": LOWEST,
    "secret": {"errors"},
    "mqi": {"mqi", "errors", "secret"},
    "connect_rules": {"errors", "mqi"},
    "hooks": {"core", "errors"},
    "config": {"errors", "core", "hooks"},
    "telemetry": {"telemetry", "core", "errors", "mqi"},
    "retry": {"errors", "mqi.constants", "telemetry"},
    "authorities": {"mqi.constants"},
    "message_handles": {"connection", "mqi.constants", "telemetry"},
    "turn": {"errors"},
    "handle": {"errors", "mqi"},
    "wrapping": {"errors"},
    "connection": {"authorities", "errors", "handle", "message_handles", "retry", "mqi", "telemetry", "turn"},
    "payload": {"core", "errors", "mqi"},
    "status_queue": {"connection", "core", "errors", "forwarding", "retry", "mqi", "telemetry"},
    "record_keeper": {"core.status", "errors"},
    "shared_status_queue": {"connection", "core", "errors", "mqi", "status_queue"},
    "group_status": {"connection", "core", "errors", "shared_status_queue", "status_queue"},
    "batch_producer": EDGE | {"group_status", "put_group", "putter", "shared_status_queue"},
    "batches": {"config", "connection", "core", "errors", "mqi", "retry", "shared_status_queue", "telemetry"},
    "owner": {"connection", "core", "errors", "hooks", "record_keeper", "status_queue", "telemetry"},
    "unit_of_work": {"connection", "core", "errors", "hooks", "mqi", "owner", "retry", "telemetry"},
    "putter": EDGE | {"destination"},
    "put_group": {"core", "errors", "mqi.abc", "payload", "putter", "record_keeper", "turn"},
    "backout_queue": {"connection", "errors", "forwarding", "mqi"},
    "browse": {"connection", "core.inspection", "core.model", "errors", "mqi", "pcf_client"},
    "pcf_client": {"connection", "errors", "mqi"},
    "mqsc_client": {"connection", "mqi", "pcf_client"},
    "other_owners": {"connection", "core", "errors", "mqi", "pcf_client", "status_queue"},
    "forwarding": {"connection", "mqi"},
    "group_cursor": EDGE,
    "consumption": EDGE | {"group_cursor", "unreachable_groups"},
    "get_group": {"consumption", "core", "errors", "mqi", "record_keeper", "turn"},
    "unreachable_groups": {"browse", "connection", "core.inspection", "errors", "mqi", "telemetry"},
    "destination": {"connection", "errors", "mqi"},
    "producer": {"config", "connection", "core", "errors", "put_group", "putter", "status_queue", "unit_of_work"},
    "consumer": {"config", "connection", "consumption", "core", "errors", "get_group", "unit_of_work"},
    "pipe": EDGE | {"consumer", "consumption", "get_group", "putter"},
    "recovery": {"connection", "core", "errors", "status_queue"},
    "salvage": EDGE | {"browse", "forwarding", "other_owners", "pcf_client"},
    "cluster": {"core"},
    "takeover": {"connection", "core", "errors", "status_queue", "telemetry"},
    "queue_manager": EDGE
    | {
        "connect_rules",
        "secret",
        "producer",
        "consumer",
        "destination",
        "pipe",
        "recovery",
        "browse",
        "salvage",
        "takeover",
        "wrapping",
    },
    "cli_connection": {"core.status", "errors", "queue_manager", "secret"},
    "cli_recover": {"cli_connection", "config", "core.status", "errors", "queue_manager", "recovery", "takeover"},
    "cli_salvage": {"cli_connection", "cluster", "config", "core", "errors", "queue_manager"},
    "cli_status": {"batches", "cli_connection", "core.status", "errors", "queue_manager"},
    "cli_cluster": {"embedded"},
    "cli_pipeline": {"errors", "spark"},
    "embedded": {"embedded", "mqi.constants"},
    "testing": {"testing", "embedded", "mqi.constants"},
    "spark": EDGE | {"secret", "spark", "queue_manager", "batch_producer", "batches"},
}
# What names everything, and is imported by nothing in the package.
TOPS = {"__init__", "__main__", "cli"}
# Where verbs are called (a name that is called and is an MQI verb's), apart from mqi/ itself.
VERB_CALLERS = {"connection", "handle"}
VERBS = {"MQOPEN", "MQCLOSE", "MQPUT", "MQGET", "MQCMIT", "MQBACK", "MQDISC", "MQCONNX", "MQINQ"}


def sources(part: str) -> list[Path]:
    path = PACKAGE / part
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def imported(path: Path, *, for_types: bool = True) -> set[str]:
    """Every module a file imports, inside functions too; ``from a import b`` as both ``a`` and ``a.b``.

    ``for_types``: also what is imported for annotations only, at the top of a module.
    """
    names: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not for_types:
        tree.body = [
            node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            module = node.module or ""
            names.add(module)
            names.update(f"{module}.{alias.name}" for alias in node.names)
    return names


def within(module: str, allowed: set[str]) -> bool:
    return any(module == part or module.startswith(part + ".") for part in allowed)


def part_of(path: Path) -> str:
    """The part a file belongs to: a sub-package, or a module."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_module_has_its_place():
    parts = {part_of(path) for path in PACKAGE.rglob("*.py")}
    assert parts == set(ALLOWED) | TOPS


def test_no_two_parts_import_each_other():
    arrows: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        # IBM's names and numbers are below everything, the rest of mqi too.
        names = {name for name in imported(path, for_types=False) if name.startswith("mqgroups.")}
        names -= {"mqgroups.mqi.constants"} | ({"mqgroups.mqi"} if "mqgroups.mqi.constants" in names else set())
        ours = {name.split(".")[1] for name in names}
        arrows.setdefault(part_of(path), set()).update((ours & set(ALLOWED)) - {part_of(path)})
    # Raises CycleError, which names the parts, if there is a way back.
    assert set(graphlib.TopologicalSorter(arrows).static_order()) >= set(ALLOWED)


@pytest.mark.parametrize("part", ALLOWED)
def test_imports_go_one_way(part):
    for path in sources(part):
        ours = {name.removeprefix("mqgroups.") for name in imported(path) if name.startswith("mqgroups.")}
        # ``from mqgroups.mqi import constants`` names mqgroups.mqi too; what counts is what is taken from it.
        packages = {name for name in ours if any(other.startswith(name + ".") for other in ours)}
        wrong = {name for name in ours - packages if not within(name, ALLOWED[part])}
        assert not wrong, f"{path.relative_to(PACKAGE)} must not import {sorted(wrong)}"


def test_the_core_imports_nothing_but_itself_and_the_standard_library():
    for path in sources("core"):
        for name in imported(path):
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names or within(name, {"mqgroups.core"}), f"{path.name} imports {name}"


@pytest.mark.parametrize("impure", ["time", "random", "uuid", "logging", "os", "socket", "threading", "datetime"])
def test_the_core_has_no_clock_no_chance_and_no_log(impure):
    assert not any(within(name, {impure}) for path in sources("core") for name in imported(path))


def test_opentelemetry_is_imported_by_telemetry_only_and_its_sdk_by_nobody():
    for path in PACKAGE.rglob("*.py"):
        names = {name for name in imported(path) if within(name, {"opentelemetry"})}
        assert not names or path.parent.name == "telemetry", f"{path.name} imports {sorted(names)}"
        assert not any(within(name, {"opentelemetry.sdk", "opentelemetry.exporter"}) for name in names)


def test_spark_is_imported_by_its_own_part_only():
    using = {path for path in PACKAGE.rglob("*.py") if any(within(n, {"pyspark", "pyarrow"}) for n in imported(path))}
    assert using <= set(sources("spark"))


def test_containers_are_started_in_one_place():
    using = {
        path for path in PACKAGE.rglob("*.py") if any(within(n, {"testcontainers", "docker"}) for n in imported(path))
    }
    assert using == {PACKAGE / "testing" / "container.py"}


def test_pytest_is_imported_by_the_plugin_only():
    using = {path for path in PACKAGE.rglob("*.py") if any(within(n, {"pytest"}) for n in imported(path))}
    assert using <= set(sources("testing"))


def test_verbs_are_called_in_the_connection_only():
    for path in (*PACKAGE.glob("*.py"), *sources("spark")):
        if path.stem in VERB_CALLERS:
            continue
        called = {
            node.func.attr
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        assert not called & VERBS, f"{path.name} calls {sorted(called & VERBS)}"


def test_every_public_name_exists():
    import mqgroups

    assert all(hasattr(mqgroups, name) for name in mqgroups.__all__)

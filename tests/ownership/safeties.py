"""The protocol as it is shipped, or with a patch that takes a safety out of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

from tests.ownership.bodies import Ways

_ROOT = Path(__file__).resolve().parents[2]
# What is loaded anew, each after what it imports.
_MODULES = (
    "mqgroups.core.restart",
    "mqgroups.core.status_chain",
    "mqgroups.core.ownership",
    "mqgroups.core.kept_record",
    "mqgroups.core.protocol",
    "tests.ownership.programs",
)


class Patch(NamedTuple):
    """One replacement in a module's source: ``old`` occurs there exactly once."""

    module: str
    old: str
    new: str


@dataclass(frozen=True)
class Protocol:
    """The shipped protocol with patches, and what all programs do alike; ``anchors``: whether each record has to have one."""

    patches: tuple[Patch, ...] = ()
    ways: Ways = field(default_factory=Ways)
    anchors: bool = True


@cache
def _loaded(patches: tuple[Patch, ...]) -> ModuleType:
    with patch.dict(sys.modules):
        for name in _MODULES:
            path = _ROOT.joinpath(*name.split(".")).with_suffix(".py")
            source = path.read_text(encoding="utf-8")
            for each in patches:
                if name.endswith(f".{each.module}"):
                    if source.count(each.old) != 1:
                        raise AssertionError(f"{each.old!r} occurs {source.count(each.old)} times in {name}")
                    source = source.replace(each.old, each.new)
            # In the place of the shipped module, so that those behind it import from this one.
            module = sys.modules[name] = ModuleType(name)
            exec(compile(source, str(path), "exec"), module.__dict__)
        return module


def programs(protocol: Protocol) -> Any:
    """Return the module ``programs``, run by the library's protocol with the patches of ``protocol``."""
    return _loaded(protocol.patches)

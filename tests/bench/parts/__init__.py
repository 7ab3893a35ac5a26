"""The parts of the benchmark, a module for each: ``python -m tests.bench client latency`` runs two of them.

A part has a ``TITLE``, and a function that measures it in at most five minutes:

    def run(bench: Bench) -> list[Figure]

``bench`` has the console for tables of its own, ``tell`` for progress and rounds, and ``details``, which are written to a file. A
new part is a module here and its name in ``ORDER``.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from rich.console import Console

from tests.bench.figures import Figure
from tests.bench.tell import Tell

ORDER = ("client", "starting", "latency", "growth", "tracing", "spark", "pipeline")


@dataclass(slots=True)
class Bench:
    """What a part is given.

    Attributes:
        short: fewer messages and rounds.
        long: restarts of a group of a million messages too.
        details: all figures of the part, for ``--json``.
        documents: texts for documents, by the name of their marks.
    """

    console: Console
    tell: Tell
    short: bool = False
    long: bool = False
    details: dict[str, Any] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)

    def of(self, in_full: Any, in_short: Any) -> Any:
        """Return one of two values, by how much is asked for."""
        return in_short if self.short else in_full


Run = Callable[[Bench], list[Figure]]


def names() -> list[str]:
    """Return the names of the parts that there are, in order."""
    return [name for name in ORDER if importlib.util.find_spec(f"{__name__}.{name}") is not None]


def part(name: str) -> ModuleType:
    """Return a part; it is imported only now, because some need packages of their own."""
    return importlib.import_module(f"{__name__}.{name}")

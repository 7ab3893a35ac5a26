"""What the Makefile has, for the tests of what documents and workflows make."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tests.bench.questions import PARTS

_TEXT = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
_TARGETS = set(re.findall(r"^([a-z-]+):.*##", _TEXT, re.MULTILINE))
_VALUES = set(re.findall(r"^[a-z-]+_([a-z-]+) =", _TEXT, re.MULTILINE)) | set(PARTS)
_VARIABLES = set(re.findall("[A-Z_]+", _TEXT))


def unknown(words: Sequence[str]) -> list[str]:
    """Return which of the words behind ``make`` are targets, variables or values of OF that it does not have."""
    given = dict(word.split("=", 1) for word in words if re.match("[A-Z_]+=", word))
    lacking = {word for word in words if re.fullmatch("[a-z-]+", word)} - _TARGETS
    lacking |= given.keys() - _VARIABLES
    return sorted(lacking | {given.get("OF", PARTS[0])} - _VALUES)

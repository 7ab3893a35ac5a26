"""What the benchmark writes into documents, between ``<!-- bench:NAME -->`` and ``<!-- /bench:NAME -->``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEASUREMENTS = ROOT / "docs" / "reference" / "measurements.md"
PERFORMANCE = ROOT / "docs" / "how-to" / "performance.md"
README = ROOT / "README.md"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> str:
    """Return a table; the columns named in ``right`` are aligned to the right."""
    lines = [columns, ["--:" if column in right else "---" for column in columns], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def rows_of(table: str) -> list[tuple[str, ...]]:
    """Return the rows of a table of ``markdown``, without its head."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[2:]]


def read(path: Path, name: str) -> str:
    """Return what is between the marks; raises ValueError if they are not there exactly once."""
    return _split(path, name)[1]


def write(path: Path, name: str, text: str) -> None:
    """Replace what is between the marks."""
    before, _, after = _split(path, name)
    path.write_text(f"{before}\n{text}{after}", encoding="utf-8")


def _split(path: Path, name: str) -> tuple[str, str, str]:
    text = path.read_text(encoding="utf-8")
    found = re.split(rf"(?<=<!-- bench:{name} -->)\n|(?=<!-- /bench:{name} -->)", text)
    if len(found) != 3:
        raise ValueError(f"{path} does not have the marks of bench:{name} exactly once")
    return found[0], found[1], found[2]

"""Output of ``send`` and ``receive``: a line for each file, and how far the file in hand is."""

from __future__ import annotations

import json
from pathlib import Path

from mqgroups.cli.console import say
from mqgroups.cli.progress import Progress
from mqgroups.cli.table import Output
from mqgroups.cli.words import size
from mqgroups.files.description import OnBytes


def say_file(output: Output, file: str, result: str, data_bytes: int | None, **more: str) -> None:
    """Print what became of a file, at once, so that it stays true if the command is killed; empty: all is well."""
    if output == "json":
        say(json.dumps({"file": file, "result": result, "data_bytes": data_bytes, **more}))
    else:
        say(f"{file}: {result}" if result else file)


def shown_by(line: Progress) -> OnBytes:
    """Return the function that shows in a line how many bytes of a file are done."""

    def show(doing: str, path: Path, done: int, total: int | None) -> None:
        line.say(f"{doing} {path.name}: {size(done)}{'' if total is None else f' of {size(total)}'}", done, total)

    return show

"""Record a run of ``mqgroups demo`` as a picture of a terminal: docs/_static/demo.svg."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "_static" / "demo.svg"
COMMAND = ["mqgroups", "demo", "--days", "3"]
WIDTH = 92
# Colours that read well on a light page and on a dark one; no fonts from elsewhere.
FORMAT = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="a run of mqgroups demo">
<style>.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px; white-space: pre; }}
{styles}</style>
<defs>{lines}</defs>
<rect width="{width}" height="{height}" rx="8" fill="#1e1e2e"/>
<g transform="translate({terminal_x}, {terminal_y})">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def main() -> None:
    """Run the demo and draw what it printed."""
    done = subprocess.run([sys.executable, "-m", *COMMAND], cwd=ROOT, capture_output=True, text=True, check=True)
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text(f"$ {' '.join(COMMAND)}", style="bold green"))
    for line in done.stdout.splitlines():
        if " at " in line and "kill" not in line and "resumes" not in line:
            continue  # progress
        console.print(Text(line, style=_style(line)), soft_wrap=False)
    picture = console.export_svg(code_format=FORMAT, unique_id="demo")
    PICTURE.write_text("".join(f"{line.rstrip()}\n" for line in picture.splitlines()))


def _style(line: str) -> str:
    if "│" in line:
        return ""
    styles = {"kill -9": "bold red", "resumes": "cyan", "reconnected": "cyan", "Every flight": "bold green"}
    return next((style for words, style in styles.items() if words in line), "")


if __name__ == "__main__":
    main()

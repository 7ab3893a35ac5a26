"""The commands of the pages that a newcomer follows, word for word, each page in an empty environment and an empty folder.

    python tools/first_hour.py PYTHON

pip finds what dist/ holds as it would find it on PyPI; what the pages say for a clone is run on the checkout. Blocks are
followed from top to bottom: a block of Python that the page saves under a name is saved (``tests/test_document_code.py`` runs
the others); a server runs until the page ends. ``NOT_HERE`` says which lines are left out, and why. Prints what each page took;
exits with 1, and what was printed, at the first line that fails.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Of each page the headings to follow; all, if none is named.
PAGES: dict[str, tuple[str, ...]] = {
    "README.md": (),
    "docs/how-to/installing.md": ("Packages",),
    "docs/tutorial/first-group.md": (),
    "embedded/README.md": ("Install", "Start it"),
}
NOT_HERE = {
    "docker": "there is no Docker engine; tests/test_docker.py reads its files",
    "npm": "make test-bindings OF=node",
    "node": "make test-bindings OF=node",
    "make": "in a clone, by continuous integration",
}
ARM64 = "# on arm64"
SERVERS = ("mqembedded run ",)
# The tutorial's programs kill themselves at a row.
DIES = re.compile(r"python \w+\.py \d+$")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$|(?<=\n\n)((?: {4}[^\n]*\n|\n(?= {4}))+)", re.MULTILINE | re.DOTALL)
_IN_A_CLONE = re.compile(r"`(pip install \./embedded[^`]*)` in a clone")
PATIENCE_S = 600


class Failed(Exception):
    """A line of a page fails."""


def lines_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the steps of a page in their order: a file's name with its text, or an empty name with a line of shell."""
    at, last_python = 0, ""
    for block in _BLOCK.finditer(text):
        before, at = text[at : block.start()], block.end()
        language, fenced, indented = block.groups()
        if last_python and (named := re.search(r"[Ss]ave the one above as\s+`(\w+\.py)`", before)):
            yield named[1], last_python
        if language == "python":
            last_python = fenced
            if named := re.search(r"[Ss]ave this(?: program)? as\s+`(\w+\.py)`", before):
                yield named[1], fenced
        elif language == "console":
            yield from (("", line) for line in re.findall(r"^\$ (.*)$", fenced, re.MULTILINE))
        elif language in (None, "sh"):
            shown = re.sub(r"^ {4}", "", fenced or indented, flags=re.MULTILINE)
            yield from (("", line) for line in shown.replace("\\\n", " ").splitlines() if line)


def followed(text: str, headings: tuple[str, ...]) -> str:
    """Return the parts of a page below these headings, or all of it."""
    if not headings:
        return text
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return "".join(f"\n{part}" for heading, part in zip(parts[1::2], parts[2::2], strict=True) if heading in headings)


class Newcomer:
    """One empty environment, with a shell's variables that stay from line to line."""

    def __init__(self, python: str, folder: Path, *, find_links: bool) -> None:
        self.folder = folder
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
        (folder / "home").mkdir()
        (folder / "project").mkdir()
        self.environment = {
            "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{os.defpath}",
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        } | {name: value for name, value in os.environ.items() if name in ("PIP_INDEX_URL", "PIP_CACHE_DIR", "TMPDIR")}
        if find_links:
            self.environment["PIP_FIND_LINKS"] = str(ROOT / "dist")
        self.servers: list[subprocess.Popen[bytes]] = []

    def run(self, line: str, folder: Path | None = None) -> str:
        """Run a line of shell. Raises Failed."""
        here = folder or self.folder / "project"
        if line.startswith(SERVERS):
            self.servers.append(
                subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=here, env=self.environment, stdout=subprocess.PIPE)
            )
            assert self.servers[-1].stdout is not None
            self.servers[-1].stdout.readline()  # it is ready
            return ""
        # Variables that a line exports are there for the next one; the tutorial's environment is the one that is there.
        script = f"set -euo pipefail\n{line}\nenv -0 >&3"
        read, write = os.pipe()
        with os.fdopen(read, "rb") as exported:
            started = subprocess.Popen(
                ["bash", "-c", script.replace(">&3", f">&{write}")],
                cwd=here,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[write],
                text=True,
            )
            os.close(write)
            said, _ = started.communicate(timeout=PATIENCE_S)
            variables = exported.read()
        if started.returncode and not (DIES.search(line) and started.returncode == 128 + signal.SIGKILL):
            raise Failed(f"$ {line}\n{said}exit code {started.returncode}")
        if variables:
            self.environment = dict(
                each.decode().split("=", 1) for each in variables.split(b"\0") if each and b"=" in each
            )
        return said

    def leave(self) -> None:
        """End the servers."""
        for server in self.servers:
            server.terminate()
            server.wait(PATIENCE_S)


def follow(page: str, python: str) -> int:
    """Follow a page, and return how many lines were run. Raises Failed."""
    text = (ROOT / page).read_text(encoding="utf-8")
    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        newcomer = Newcomer(python, Path(folder), find_links=True)
        try:
            for file, step in lines_of(followed(text, PAGES[page])):
                if file:
                    (newcomer.folder / "project" / file).write_text(step, encoding="utf-8")
                elif step.split()[0] not in NOT_HERE and not step.endswith(ARM64):
                    newcomer.run(step)
                    ran += 1
        finally:
            newcomer.leave()
    return ran


def in_a_clone(python: str) -> None:
    """Run the line for a clone, and after it the first line of the page of installing, without dist/. Raises Failed."""
    for page in ("README.md", "docs/how-to/installing.md", "embedded/README.md"):
        text = re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8"))
        (line,) = _IN_A_CLONE.findall(text)
        first = re.search(r'pip install "mq[^"]*"', text)
        assert first is not None
        with tempfile.TemporaryDirectory() as folder:
            newcomer = Newcomer(python, Path(folder), find_links=False)
            newcomer.run(line, ROOT)
            newcomer.run(first[0])


def main() -> None:
    """Follow each page; exit with the first line that fails."""
    python = sys.argv[1]
    for page in PAGES:
        began = time.monotonic()
        try:
            ran = follow(page, python)
        except Failed as error:
            sys.exit(f"first-hour: {page}: {error}")
        print(f"first-hour: {page}: {ran} lines as they stand, {time.monotonic() - began:.0f} s", flush=True)
    try:
        in_a_clone(python)
    except Failed as error:
        sys.exit(f"first-hour: in a clone: {error}")
    print("first-hour: what the pages say for a clone works")


if __name__ == "__main__":
    main()

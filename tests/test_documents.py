"""The documents: each link leads somewhere, each page begins with its question, and the README's program runs as printed."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith((".", "build")) for part in path.relative_to(ROOT).parts)
)
PAGES = sorted(path for path in (ROOT / "docs").glob("*.md") if path.name != "README.md")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def anchors(path: Path) -> set[str]:
    """Return the names that a link can end with, as GitHub makes them from headings."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_of_a_document_lead_somewhere(document):
    lost = []
    for link in LINK.findall(document.read_text(encoding="utf-8")):
        if link.startswith(("https://", "http://")):
            continue
        where, _, anchor = link.partition("#")
        target = (document.parent / where).resolve() if where else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert not lost


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_begins_with_the_question_that_it_answers(page):
    title, empty, first = page.read_text(encoding="utf-8").splitlines()[:3]
    assert (title[:2], empty, first[:19]) == ("# ", "", "This page answers: ")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_is_listed(page):
    assert f"]({page.name})" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")


@pytest.mark.embedded
def test_the_program_of_the_readme_runs_as_printed(tmp_path):
    program = re.search(r"^```python\n(.*?)^```\n", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert program is not None
    given = """
        rows = [f"order {number}" for number in range(1, 1001)]
        password = "passw0rd"
        invoice = bytes.upper
        handle = print
    """
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(given) + re.sub(r"connect\(.*\) as", 'connect("QM1") as', program[1]))
    command = [sys.executable, "-m", "mqgroups", "embedded", "exec", "--", sys.executable, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"b'ORDER {number}' {number}" for number in range(1, 1001)]

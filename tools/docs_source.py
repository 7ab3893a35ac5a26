"""Put the source of the documentation site together: docs/, documents from elsewhere, pages made from the code.

    python tools/docs_source.py build/docs/source

The site begins with the project's README. It has the pages that docs/README.md lists, in its order; its headings are the
site's parts. A document stays where its readers in the repository look for it, beside the code that it describes;
docs/site.toml gives it a place in the site too. Links lead to these places. A file that has no place there, and that a page
leads to, becomes a page of its own under files/: the site is enough without the repository.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
HOME = "index.md"
CONTENTS = "contents.md"
FOR_MADE = "Reference"
FILES = "files/"
PLAIN = "plain"
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".service": "ini", ".sql": "sql"}
PICTURES = "docs/_static/"
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)")
# Code keeps its text: fenced, indented after an empty line, or in a line.
_CODE = re.compile(r"^( *)```.*?^\1```$|(?<=\n\n)(?: {4}[^\n]*\n)+|`(?!\])[^`\n]+`(?!\])", re.MULTILINE | re.DOTALL)


class LinkLost(Exception):
    """A link leads nowhere, or a page has no place."""


def write(target: Path) -> None:
    """Write the source into an empty directory. Raises LinkLost."""
    sys.path[:0] = [str(ROOT), str(ROOT / "embedded")]
    from tools import site_pages

    site = tomllib.loads((DOCS / "site.toml").read_text())
    places: dict[str, str] = {
        f"docs/{path.relative_to(DOCS)}": path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")
    }
    places |= site["documents"] | {"README.md": HOME, "docs/README.md": CONTENTS}
    files = set[str]()
    texts = {place: linked((ROOT / source).read_text(), source, places, files) for source, place in places.items()}
    made = site_pages.pages()
    texts |= made
    texts |= {f"{FILES}{file}.md": _file(file) for file in files}
    below = {
        page: sorted(place for place in texts if place.startswith(f"{folder}/"))
        for page, folder in site["below"].items()
    }
    parts = listed(texts[CONTENTS])
    next(iter(parts.values())).append(CONTENTS)
    parts[FOR_MADE] += made
    placed = {page for pages in [*parts.values(), *below.values()] for page in pages}
    if unplaced := sorted({place for place in texts if not place.startswith(FILES)} - {HOME} - placed):
        raise LinkLost(
            f"docs/README.md does not list {', '.join(unplaced)}: list each below the heading that it belongs to"
        )
    shutil.rmtree(target, ignore_errors=True)
    for place, text in texts.items():
        _write(target / place, _CODE.sub(lambda code: _diagram(code[0]), text))
        if place not in made:
            _write(target / PLAIN / place, text)
    _write(target / PLAIN / "llms.txt", _list_of(parts, texts, made))
    for part, pages in parts.items():
        _add_contents(target / HOME, pages, f":caption: {part}\n")
    for page, pages in below.items():
        _add_contents(target / page, pages)
    shutil.copyfile(DOCS / "conf.py", target / "conf.py")
    shutil.copytree(DOCS / "_static", target / "_static")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _list_of(parts: Mapping[str, list[str]], texts: Mapping[str, str], made: Mapping[str, str]) -> str:
    """Return the list of the pages, in the form of llmstxt.org: of what is made from the code, the site has HTML only."""
    _, summary, *_ = texts[HOME].split("\n\n")
    lines = ["# mqgroups", "", f"> {' '.join(summary.split())}"]
    for part, pages in parts.items():
        lines += ["", f"## {part}", ""]
        for page in pages:
            title, first, *_ = texts[page].split("\n\n")
            place = f"{page.removesuffix('.md')}.html" if page in made else page
            lines += [
                f"- [{title.removeprefix('# ')}]({place}): {_LINK.sub(lambda link: link[1], ' '.join(first.split()))}"
            ]
    return "\n".join(lines) + "\n"


def listed(contents: str) -> dict[str, list[str]]:
    """Return the pages below each heading of the page of contents; one that stands below two has its place below the first."""
    _, *parts = re.split(r"^## (.+)$", contents, flags=re.MULTILINE)
    part_of: dict[str, str] = {}
    for part, text in zip(parts[::2], parts[1::2], strict=True):
        for link in _LINK.finditer(text):
            part_of.setdefault(link[2].partition("#")[0], part)
    return {part: [page for page in part_of if part_of[page] == part] for part in parts[::2]}


def _add_contents(page: Path, pages: list[str], caption: str = "") -> None:
    names = "\n".join(f"/{name.removesuffix('.md')}" for name in pages)
    with page.open("a") as file:
        file.write(f"\n```{{toctree}}\n{caption}:hidden:\n\n{names}\n```\n")


def linked(text: str, source: str, places: Mapping[str, str], files: set[str]) -> str:
    """Return a document with its links leading to places of the site. Files that get a page of their own are added to `files`."""
    parts, at = [], 0
    for code in _CODE.finditer(text):
        parts += [_LINK.sub(lambda link: _link(link, source, places, files), text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, _LINK.sub(lambda link: _link(link, source, places, files), text[at:])])


def _diagram(code: str) -> str:
    """Return a diagram as what docs/_static/diagrams.js draws, and any other code as it is."""
    if not code.startswith("```mermaid\n"):
        return code
    text = html.escape(code.removeprefix("```mermaid\n").removesuffix("```"))
    return f'```{{raw}} html\n<pre class="mermaid">\n{text}</pre>\n```'


def _file(file: str) -> str:
    """Return the page of a file: its text, without a place in the table of contents."""
    language = LANGUAGES.get(Path(file).suffix, "text")
    return f"---\norphan: true\n---\n# {file}\n\n````{language}\n{(ROOT / file).read_text()}````\n"


def _link(link: re.Match[str], source: str, places: Mapping[str, str], files: set[str]) -> str:
    label, to = link[1], link[2]
    if to.startswith(("http://", "https://", "#")):
        return link[0]
    where, _, anchor = to.partition("#")
    anchor = f"#{anchor}" if anchor else ""
    target = os.path.normpath(Path(source).parent / where)
    if target in places:
        return f"[{label}]({os.path.relpath(places[target], Path(places[source]).parent)}{anchor})"
    if not (ROOT / target).exists():
        raise LinkLost(f"{source}: {to} leads nowhere")
    if target.startswith(PICTURES):
        return f"[{label}]({os.path.relpath(Path(target).relative_to('docs'), Path(places[source]).parent)})"
    if (ROOT / target).is_dir() or target.endswith(".md"):
        raise LinkLost(f"{source}: {to} has no place in the site: give it one in docs/site.toml")
    files.add(target)
    return f"[{label}]({os.path.relpath(f'{FILES}{target}.md', Path(places[source]).parent)})"


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]))
    except LinkLost as error:
        sys.exit(f"docs: {error}")

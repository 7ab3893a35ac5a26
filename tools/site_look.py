"""Whether the documentation site fits: no cell of a table is cut off, no code on a screen, and no page is wider than its window.

    python tools/site_look.py build/docs/site [FOLDER]

Each page is opened in a browser with the width of a telephone and of two screens. Code may scroll on the telephone. Listings of
files are left out. With FOLDER a picture of each page of ``SHOWN`` is written there, in both colour schemes. Exits with 1, and
each thing that is cut off.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.browser import Browser, BrowserMissing, chromium  # noqa: E402 - after the path

TELEPHONE = 390
WIDTHS = (TELEPHONE, 1400, 1920)
SHOWN = (
    "index",
    "contents",
    "how-to/using",
    "how-to/pytest",
    "reference/settings",
    "reference/reason-codes",
    "explanation/why",
)
# A cell is cut off where its table, or what the table is in, has more inside than it shows.
_LOOK = """(() => {
  const cut = (element) => element.scrollWidth > element.clientWidth + 1;
  const words = (element) => element.textContent.trim().replace(/\\s+/g, " ").slice(0, 50);
  const found = [];
  for (const table of document.querySelectorAll("article table.docutils"))
    if (cut(table) || cut(table.parentElement))
      found.push(`table '${words(table)}': ${table.scrollWidth} in ${table.clientWidth}`);
  for (const cell of document.querySelectorAll("article :is(td, th)"))
    if (cut(cell)) found.push(`cell '${words(cell)}': ${cell.scrollWidth} in ${cell.clientWidth}`);
  if (!TELEPHONE) for (const code of document.querySelectorAll("article pre"))
    if (cut(code)) found.push(`code '${words(code)}': ${code.scrollWidth} in ${code.clientWidth}`);
  const page = document.documentElement;
  if (page.scrollWidth > innerWidth) found.push(`page: ${page.scrollWidth} in ${innerWidth}`);
  return found;
})()"""


def look(browser: Browser, site: Path) -> list[str]:
    """Return what is cut off, each with its page and the width of the window."""
    found = []
    for page in sorted(site.rglob("*.html")):
        place = page.relative_to(site).as_posix()
        if place.startswith(("files/", "_static/")):
            continue
        for width in WIDTHS:
            # A page is the same on all screens: only a telephone gets other tables and diagrams.
            if width == WIDTHS[-1]:
                browser.resize(width)
            else:
                browser.open(page.resolve().as_uri(), width, "light")
                browser.until("document.readyState === 'complete'")
            told = browser.ask(_LOOK.replace("TELEPHONE", str(width == TELEPHONE).lower()))
            found += [f"{place} at {width}: {each}" for each in told]
    return found


def show(browser: Browser, site: Path, folder: Path) -> None:
    """Write the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for place in SHOWN:
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                browser.open((site / f"{place}.html").resolve().as_uri(), width, scheme)
                browser.until("document.readyState === 'complete'")
                browser.screenshot(folder / f"{place.replace('/', '-')}-{width}-{scheme}.png")


def main() -> None:
    """Look, and exit with 1 if something is cut off."""
    site, folders = Path(sys.argv[1]), sys.argv[2:]
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, chromium(Path(profile)) as browser:
            found = look(browser, site)
            for folder in folders:
                show(browser, site, Path(folder))
    except BrowserMissing as error:
        print(f"docs: not looked at, {error}")
        return
    if found:
        sys.exit("\n".join(["docs: these are cut off:", *found]))


if __name__ == "__main__":
    main()

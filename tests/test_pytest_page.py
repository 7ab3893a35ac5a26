"""The page of the pytest plugin: its tests of groups that are put aside run as they stand, and have right types."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mqgroups.definitions import DEVELOPMENT_MQSC
from tests.test_document_code import blocks

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "embedded" / "mqembedded" / "testing" / "README.md"


@pytest.fixture
def project(tmp_path):
    """A folder with the page's files."""
    conftest, _, aside, _ = blocks(PAGE, "python")
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_aside.py").write_text(aside)
    (tmp_path / "queues.mqsc").write_text(DEVELOPMENT_MQSC.read_text() + "".join(blocks(PAGE, "mqsc")))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmq_mqsc = queues.mqsc\n")
    return tmp_path


def run(project, *words):
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=project,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'embedded'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.embedded
def test_the_pages_tests_of_groups_put_aside_pass(project):
    done = run(project, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout


def test_the_pages_tests_of_groups_put_aside_have_right_types(project):
    done = run(project, "mypy", "--strict", "--cache-dir=", "test_aside.py")
    assert done.stdout == "Success: no issues found in 1 source file\n"

"""The page of the pytest plugin: its tests of groups that are put aside run as they stand."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mqgroups.definitions import DEVELOPMENT_MQSC
from tests.test_document_code import PYTEST_PAGE, ROOT, blocks


@pytest.fixture
def project(tmp_path):
    """A folder with the page's files."""
    conftest, _, aside, _ = blocks(PYTEST_PAGE, "python")
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_aside.py").write_text(aside)
    (tmp_path / "queues.mqsc").write_text(DEVELOPMENT_MQSC.read_text() + "".join(blocks(PYTEST_PAGE, "mqsc")))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmq_mqsc = queues.mqsc\n")
    return tmp_path


@pytest.mark.embedded
def test_the_pages_tests_of_groups_put_aside_pass(project):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'embedded'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout

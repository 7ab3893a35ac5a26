"""An earlier build of the package, to run beside this one."""

from __future__ import annotations

import io
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Records and manifests have had their form since then. With a release, that one takes its place.
EARLIER = "6ed4c418"


@pytest.fixture(scope="session")
def builds(tmp_path_factory):
    """The folders that ``mqgroups`` is imported from: the earlier build's, and this one's."""
    command = ["git", "-C", str(ROOT), "archive", "--format=zip", EARLIER, "mqgroups"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("git is not installed, so the earlier build cannot be had")
    if done.returncode:
        pytest.skip(f"the earlier build {EARLIER} cannot be had: this is no clone with its history")
    folder = tmp_path_factory.mktemp("earlier")
    with zipfile.ZipFile(io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder)
    return {"earlier": str(folder), "this": str(ROOT)}

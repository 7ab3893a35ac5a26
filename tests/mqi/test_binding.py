"""Which binding is chosen, and what a user is told when there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mqgroups.errors import BindingMissing, ConfigurationError
from mqgroups.mqi import binding as chooser

PROBE = "import mqgroups.mqi.binding as b; print(b.load_binding().name)"


def probe(**environment: str) -> subprocess.CompletedProcess[str]:
    """Load the binding in a fresh process: a binding, once loaded, stays."""
    root = str(Path(__file__).parents[2])
    return subprocess.run(
        [sys.executable, "-c", PROBE],
        env={"PYTHONPATH": root, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_mqgroups_mqi_must_name_a_binding(monkeypatch):
    monkeypatch.setenv("MQGROUPS_MQI", "jms")
    with pytest.raises(ConfigurationError, match="'jms'"):
        chooser.load_binding()


def test_a_binding_that_is_not_installed_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr(chooser, "_installed", lambda _name: False)
    monkeypatch.setitem(sys.modules, "pymqi", None)
    monkeypatch.delenv("MQGROUPS_LIBMQM", raising=False)
    chooser._load.cache_clear()
    with pytest.raises(BindingMissing, match="pip install") as caught:
        chooser._load("pymqi")
    assert caught.value.binding == "pymqi"
    assert caught.value.problem.startswith("neither pymqi nor ibmmq is installed")


def test_a_missing_client_library_is_told_from_a_missing_binding():
    if not chooser._installed("ibmmq"):
        pytest.skip("ibmmq is not installed")
    done = probe(MQGROUPS_MQI="ibmmq")
    if done.returncode == 0:
        pytest.skip("an MQ client library is installed on this machine")
    assert "BindingMissing" in done.stderr
    assert "client library" in done.stderr
    assert "mqgroups embedded exec" in done.stderr
    assert 'export LD_LIBRARY_PATH="$(mqgroups embedded build --print-dir)/lib64"' in done.stderr


def test_a_directory_without_the_library_is_named(tmp_path):
    done = probe(MQGROUPS_LIBMQM=str(tmp_path))
    assert "BindingMissing" in done.stderr
    assert str(tmp_path) in done.stderr

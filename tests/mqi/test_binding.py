"""Which binding is chosen, and what a user is told when there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mqembedded.libmqm.build import build
from mqgroups.errors import BindingMissing, ConfigurationError
from mqgroups.mqi import binding as chooser

PROBE = "import mqgroups.mqi.binding as b; print(b.load_binding().name)"


def probe(before: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Load the binding in a fresh process: a binding, once loaded, stays."""
    root = str(Path(__file__).parents[2])
    return subprocess.run(
        [sys.executable, "-c", before + PROBE],
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


@pytest.mark.parametrize(("name", "library"), [("ibmmq", "libmqm_r.so"), ("pymqi", "libmqic_r.so")])
def test_a_missing_client_library_is_told_from_a_missing_binding(name, library):
    if not chooser._installed(name):
        pytest.skip(f"{name} is not installed")
    done = probe(MQGROUPS_MQI=name)
    if done.returncode == 0:
        pytest.skip("an MQ client library is installed on this machine")
    assert "BindingMissing" in done.stderr
    assert f"cannot load the IBM MQ client library ({library}: cannot open shared object file" in done.stderr
    # A script's last lines, not those of the loader.
    assert done.stderr.count("Traceback") == 1
    assert "mqembedded exec" in done.stderr


def test_the_client_is_found_where_ibm_installs_it(binding):
    # The wheel of ibmmq 2.1.2 looks in a directory below the working directory, and where the loader looks
    installed = f"import mqgroups.mqi.binding as b, pathlib; b._INSTALLATION = pathlib.Path({str(build())!r});"
    done = probe(installed, MQGROUPS_MQI=binding.__name__)
    assert done.stdout.strip() == binding.__name__, done.stderr


def test_a_directory_without_the_library_is_named(tmp_path):
    done = probe(MQGROUPS_LIBMQM=str(tmp_path))
    assert "BindingMissing" in done.stderr
    assert str(tmp_path) in done.stderr

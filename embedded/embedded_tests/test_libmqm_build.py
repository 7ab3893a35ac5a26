"""The C library is compiled once, whole, and used only if it is this user's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mqembedded.libmqm import build as build_module
from mqembedded.libmqm.build import CLIENT_LIBRARY, BuildError, build

pytestmark = pytest.mark.embedded


@pytest.fixture(autouse=True)
def quick_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A compiler that writes a word instead of a library, for what is done with the result; other tests load one."""
    script = tmp_path_factory.mktemp("compiler") / "cc"
    script.write_text(
        '#!/bin/sh\nwhile [ "$1" != -o ]; do\n  [ $# -gt 0 ] || exit 0\n  shift\ndone\necho compiled > "$2"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))


def test_a_second_build_takes_the_first_one_s_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MQEMBEDDED_CACHE", str(tmp_path))
    first = build()
    stamp = (first / "lib64" / CLIENT_LIBRARY).stat().st_mtime_ns
    assert build() == first
    assert (first / "lib64" / CLIENT_LIBRARY).stat().st_mtime_ns == stamp


def test_builds_at_the_same_time_end_in_one_whole_result(tmp_path: Path) -> None:
    code = "from mqembedded.libmqm.build import build; print(build())"
    environment = {**os.environ, "MQEMBEDDED_CACHE": str(tmp_path)}
    builds = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    results = {process.communicate()[0].strip() for process in builds}
    assert [process.returncode for process in builds] == [0, 0, 0]
    assert len(results) == 1
    assert [path.name for path in tmp_path.iterdir()] == [Path(results.pop()).name]


def test_a_build_that_comes_second_leaves_the_first_one_s_in_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Given a build during which another process's build of the same is finished, and perhaps in use already
    monkeypatch.setenv("MQEMBEDDED_CACHE", str(tmp_path))
    compile_it = build_module._compile
    firsts: list[int] = []

    def compile_second(*arguments: object) -> None:
        monkeypatch.setattr(build_module, "_compile", compile_it)
        compile_it(*arguments)  # type: ignore[arg-type]  # as they were given
        firsts.append(_inode(build()))

    monkeypatch.setattr(build_module, "_compile", compile_second)
    # When it ends, then that one was never away
    assert [_inode(build())] == firsts
    assert len(list(tmp_path.iterdir())) == 1


def _inode(directory: Path) -> int:
    return (directory / "lib64" / CLIENT_LIBRARY).stat().st_ino


def test_a_directory_of_the_caller_s_takes_the_newest_build_and_nothing_foreign(tmp_path: Path) -> None:
    target = tmp_path / "client"
    assert build(target) == target
    older = _inode(target)
    build(target)
    assert _inode(target) != older
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").touch()
    with pytest.raises(BuildError, match="has other content"):
        build(foreign)
    assert {path.name for path in tmp_path.iterdir()} == {"client", "foreign"}


def test_no_compiler_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC")
    monkeypatch.setenv("MQEMBEDDED_CACHE", str(tmp_path))
    with pytest.raises(BuildError, match="apt-get install gcc"):
        build()


_FOR_MACOS = """
import ctypes, hashlib, pathlib, shutil, subprocess, sys, tempfile
sys.platform = "darwin"
from mqembedded.libmqm.build import build
build(pathlib.Path(sys.argv[1]))
"""


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_it_compiles_and_links_for_macos(tmp_path: Path, arch: str) -> None:
    """With Zig's headers and linker, on Linux; nothing was run on macOS."""
    pytest.importorskip("ziglang")
    environment = {**os.environ, "CC": f"{sys.executable} -m ziglang cc -target {arch}-macos"}
    subprocess.run([sys.executable, "-c", _FOR_MACOS, str(tmp_path / "made")], env=environment, check=True)
    for name in ("libmqic_r.dylib", "libmqm_r.dylib", "libmqic.dylib", "libmqm.dylib"):
        assert (tmp_path / "made" / "lib64" / name).read_bytes().startswith(b"\xcf\xfa\xed\xfe")


def test_a_library_in_the_package_needs_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packaged = build(tmp_path / "built")
    monkeypatch.setattr(build_module, "_PACKAGED", packaged)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC")
    assert build() == packaged


def test_a_library_in_the_package_that_is_of_other_sources_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Given a packaged library, and a table of verbs that has changed since
    packaged = build(tmp_path / "built")
    monkeypatch.setattr(build_module, "_PACKAGED", packaged)
    monkeypatch.setenv("MQEMBEDDED_CACHE", str(tmp_path / "cache"))
    header = build_module.verbs_header()
    monkeypatch.setattr(build_module, "verbs_header", lambda: f"{header}/* changed */\n")
    # When the library is asked for, then it is compiled
    assert build().parent == tmp_path / "cache"

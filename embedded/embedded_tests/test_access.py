"""Whose the things are that programs load and connect to: the cached library, and a queue manager for one program's children."""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import pytest

import mqembedded.cache
from embedded_tests.fix_mqi import failed
from embedded_tests.tables import table
from mqembedded.cache import CacheRefused
from mqembedded.cli.serve import _state_directory
from mqembedded.constants import MQRC_NOT_AUTHORIZED
from mqembedded.libmqm import build as building
from mqembedded.store.files import make_private_directory

pytestmark = pytest.mark.embedded

CONNECT = """
import sys, pymqi
try:
    pymqi.connect(sys.argv[1], sys.argv[2], sys.argv[3])
except pymqi.MQMIError as error:
    sys.exit(error.reason % 256)
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and a compiler that takes no time."""

    def compiled(_compiler, made, *_):
        for name in (building.CLIENT_LIBRARY, building.SERVER_LIBRARY):
            (made / "lib64" / name).write_text("made by this test")

    monkeypatch.setenv("MQEMBEDDED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(building, "_compile", compiled)
    before = os.umask(0)
    yield tmp_path / "cache"
    os.umask(before)


def test_what_is_built_is_writable_by_nobody_else_whatever_the_umask(cache):
    built = building.build()
    assert not [path for path in (cache, built, *built.rglob("*")) if path.stat().st_mode & 0o022]
    assert building.build() == built


@table("what", ["cache", "library", "data", "messages of exec"])
def test_directories_above_what_is_made_are_writable_by_nobody_else_whatever_the_umask(
    cache, tmp_path, monkeypatch, what
):
    """Whoever can write there renames a directory, and puts another one in its place."""
    home = tmp_path / what
    deep = home / "a" / "b" / "c"
    if what == "cache":
        monkeypatch.setenv("MQEMBEDDED_CACHE", str(deep))
        mqembedded.cache.cache()
    elif what == "library":
        building.build(deep)
    elif what == "data":
        make_private_directory(deep)
    else:
        monkeypatch.setenv("XDG_STATE_HOME", str(deep))
        assert _state_directory("QM1").is_relative_to(deep)
    made = [home, *home.rglob("*")]
    assert deep in made
    assert [path for path in made if path.stat().st_mode & 0o022] == []


@pytest.mark.parametrize("what", ["", "lib64", "lib64/libmqic_r.so", "lib64/libmqm_r.so"])
def test_a_cached_library_that_others_can_write_is_not_used(cache, what):
    built = building.build()
    (built / what).chmod(0o777)
    with pytest.raises(CacheRefused, match=f"{built / what} is not used"):
        building.build()


def test_a_directory_that_is_everybodys_is_refused_and_stays_as_it_is(cache):
    cache.mkdir()
    cache.chmod(0o1777)
    with pytest.raises(CacheRefused, match="no other user may write to it"):
        building.build()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o1777


def test_a_cached_library_of_another_user_is_not_used(cache, monkeypatch):
    building.build()
    os.chown(cache, 4711, -1) if os.geteuid() == 0 else monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(CacheRefused, match="must belong to this user"):
        building.build()


def test_a_cached_library_that_is_a_symbolic_link_is_not_used(cache, tmp_path):
    library = building.build() / "lib64" / building.CLIENT_LIBRARY
    library.rename(tmp_path / "elsewhere")
    library.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CacheRefused, match="is not used"):
        building.build()


# --- users without a home directory of their own, as in containers


@pytest.fixture
def homeless(monkeypatch, tmp_path):
    """A function that sets HOME for a user who has no name; the temporary directory is this test's."""

    def nobody(_uid):
        raise KeyError

    def at(home):
        monkeypatch.setenv("HOME", home) if home is not None else monkeypatch.delenv("HOME", raising=False)

    for variable in ("MQEMBEDDED_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return at


def owned_by_another(path, monkeypatch):
    os.chown(path, 4711, -1) if os.geteuid() == 0 else monkeypatch.setattr(os, "geteuid", lambda: 4711)


@table("home", [None, "/dev/null", "/dev/null/home", "another's"])
def test_the_cache_of_a_user_without_a_home_directory_is_a_private_one_in_the_temporary_directory(
    homeless, monkeypatch, tmp_path, home
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if home == "another's" and os.geteuid() == 0:
        (tmp_path / "home").mkdir()
        os.chown(tmp_path / "home", 4711, -1)
        home = str(tmp_path / "home")
    homeless("/" if home == "another's" else home)
    made = mqembedded.cache.cache()
    assert (made, stat.S_IMODE(made.stat().st_mode)) == (tmp_path / f"mqembedded-{os.geteuid()}", 0o700)
    assert not list(tmp_path.glob("home/*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
def test_a_cache_in_the_home_directory_that_another_user_made_is_left_alone(homeless, tmp_path):
    of_another = tmp_path / "home" / ".cache" / "mqembedded"
    of_another.mkdir(parents=True)
    os.chown(of_another, 4711, -1)
    homeless(str(tmp_path / "home"))
    assert mqembedded.cache.cache() == tmp_path / f"mqembedded-{os.geteuid()}"


def test_a_cache_in_the_temporary_directory_that_another_user_made_is_refused(homeless, monkeypatch, tmp_path):
    homeless(None)
    owned_by_another(mqembedded.cache.cache(), monkeypatch)
    if os.geteuid() == 4711:
        (tmp_path / "mqembedded-4711").symlink_to(tmp_path)
    with pytest.raises(CacheRefused, match=r"must belong to this user.* in MQEMBEDDED_CACHE"):
        mqembedded.cache.cache()


def test_a_cache_that_cannot_be_says_which_variable_names_another(homeless, monkeypatch, tmp_path):
    def none():
        raise FileNotFoundError

    homeless(None)
    with pytest.raises(CacheRefused, match=r"/dev/null .*File exists.* in MQEMBEDDED_CACHE"):
        mqembedded.cache.cache({"MQEMBEDDED_CACHE": "/dev/null"})
    with monkeypatch.context() as patch:
        patch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
        with pytest.raises(CacheRefused, match=r"noexec.* in MQEMBEDDED_CACHE"):
            mqembedded.cache.cache()
    monkeypatch.setattr(tempfile, "gettempdir", none)
    with pytest.raises(CacheRefused, match=r"no temporary directory.* in MQEMBEDDED_CACHE"):
        mqembedded.cache.cache()


def test_a_library_that_cannot_be_written_to_the_cache_says_so(cache, monkeypatch):
    def refused(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refused)
    with pytest.raises(building.BuildError, match=r"cannot be written to \(Permission denied\).* in MQEMBEDDED_CACHE"):
        building.build()


def test_a_queue_manager_with_an_access_key_is_for_programs_that_have_it(own_queue_manager, mqi):
    queue_manager = own_queue_manager(access_key="the key")
    code, _ = mqi.connect(queue_manager.q_mgr_name, queue_manager.channel, queue_manager.conn_name)
    assert code == failed(MQRC_NOT_AUTHORIZED)
    arguments = [queue_manager.q_mgr_name, queue_manager.channel, queue_manager.conn_name]
    for key, expected in (("the key", 0), ("another", MQRC_NOT_AUTHORIZED % 256)):
        environment = {**os.environ, **queue_manager.environment(), "MQEMBEDDED_ACCESS_KEY": key}
        done = subprocess.run([sys.executable, "-c", CONNECT, *arguments], env=environment, check=False)
        assert done.returncode == expected

"""What a data directory that is damaged, incomplete or full does: it is refused with path, cause and remedy, or works on."""

from __future__ import annotations

import errno
import os
import random
import shutil
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from embedded_tests.tables import table
from mqembedded.store.files import DATABASE, StoreError, StoreFiles
from mqembedded.store.rows import StoredObject
from mqembedded.store.store import Store

pytestmark = pytest.mark.embedded

# Of the journal, bytes: header and page.
FRAME = 24 + 4096


@dataclass(frozen=True)
class Named:
    name: str


@dataclass
class Put:
    """A message to store."""

    position: int
    data: bytes = b"data"
    queue: Named = field(default_factory=lambda: Named("Q"))
    key_priority: int = 0
    md: bytes = b"m" * 364
    properties: bytes = b""
    persistent: bool = True
    backout_count: int = 0
    expires_at_s: float | None = None


def mode(path):
    return path.stat().st_mode & 0o7777


def contents(directory):
    """What a start reads: definitions and messages."""
    store = Store(directory, "QM1")
    try:
        rows = (store.other_objects(), store.authorities(), store.subscriptions())
        messages = [(stored.position, stored.data, stored.backout_count) for stored in store.messages()]
        return store.objects(), rows, store.q_mgr_values, store.channel("C", "P"), messages
    finally:
        store.close()


def filled(directory):
    """A store with rows in every table."""
    store = Store(directory, "QM1")
    store.put_object(StoredObject("Q", 1, 1, {15: 5}))
    store.put_other_object("NAMELIST", "N", {1: "x"})
    store.put_authority("QUEUE", "Q", "GROUP", "mqclient", "PUT GET")
    store.put_subscription(b"s" * 24, {"topic": "t"})
    store.put_q_mgr_values({5: 7})
    store.commit([Put(n, b"%d" % n * 50) for n in range(1, 20)], ())
    store.give_back([(Put(3, backout_count=2), 3)])
    return store


@pytest.fixture
def killed(tmp_path):
    """A copy of a data directory as it is after SIGKILL: what was committed is in the journal."""
    store = filled(tmp_path / "running")
    shutil.copytree(tmp_path / "running", tmp_path / "killed")
    store.close()
    return tmp_path / "killed"


@pytest.fixture
def stopped(tmp_path):
    """A data directory as it is after a stop in order."""
    filled(tmp_path / "stopped").close()
    return tmp_path / "stopped"


def refused(directory, path):
    """Return the cause with which a start is refused, which has to name the file and a remedy."""
    with pytest.raises(StoreError) as error:
        contents(directory)
    said = str(error.value)
    assert said.startswith(f"{path} cannot be used: ")
    assert "Restore" in said
    return said


def test_what_was_killed_and_what_was_stopped_is_read_alike(killed, stopped):
    assert contents(killed) == contents(stopped)
    assert contents(stopped)[4][2] == (3, b"3" * 50, 2)


# --- damage


def test_an_empty_database_is_refused_and_not_started(stopped):
    (stopped / DATABASE).write_bytes(b"")
    assert "it is empty" in refused(stopped, stopped / DATABASE)
    assert (stopped / DATABASE).stat().st_size == 0


def test_a_missing_journal_is_refused(killed):
    (killed / f"{DATABASE}-wal").unlink()
    assert "not stopped cleanly" in refused(killed, killed / f"{DATABASE}-wal")


def test_a_missing_database_beside_its_journal_is_refused(killed):
    (killed / DATABASE).unlink()
    assert "it is missing" in refused(killed, killed / DATABASE)


def test_something_else_in_place_of_the_database_is_refused(stopped):
    (stopped / DATABASE).write_bytes(b"no database at all " * 500)
    refused(stopped, stopped / DATABASE)


@table(
    ("text", "cause"),
    [
        (b"CREATE TABLE message", "its schema is damaged"),
        (b"message (\n    position", "malformed database schema"),
        (b"attributes TEXT", "made it"),
        (b"mqclient", "table authority is damaged"),
    ],
    ids=["a key word", "a name", "a column", "a row"],
)
def test_a_byte_that_is_no_text_is_refused(stopped, tmp_path, text, cause):
    path = shutil.copytree(stopped, tmp_path / "damaged") / DATABASE
    raw = path.read_bytes()
    path.write_bytes(raw.replace(text, text[:3] + b"\x86" + text[4:]))
    assert cause in refused(path.parent, path)


def test_a_format_of_tables_that_sqlite_does_not_know_is_refused(stopped):
    path = stopped / DATABASE
    raw = path.read_bytes()
    path.write_bytes(raw[:47] + b"\xff" + raw[48:])
    assert "unsupported file format" in refused(stopped, path)


@table("cut", [1, 100, 4096, 9000])
def test_a_database_cut_short_is_refused(stopped, tmp_path, cut):
    path = shutil.copytree(stopped, tmp_path / "cut") / DATABASE
    os.truncate(path, path.stat().st_size - cut)
    refused(path.parent, path)


@table("name", ["message", "object", "other_object", "authority", "subscription", "queue_manager"])
def test_a_row_that_does_not_fit_its_checksum_is_refused(stopped, tmp_path, name):
    path = shutil.copytree(stopped, tmp_path / "damaged") / DATABASE
    column = {"message": "data", "authority": "authorities"}.get(name, "attributes")
    value = "x'7b'" if name == "message" else "'{'"
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE {name} SET {column} = {value}")
    db.close()
    assert "its checksum is wrong" in refused(path.parent, path)


def test_a_backout_count_that_does_not_fit_its_checksum_is_refused(stopped):
    with sqlite3.connect(stopped / DATABASE) as db:
        db.execute("UPDATE message SET backout_count = 1 WHERE position = 7")
    db.close()
    assert "message 7, of queue Q" in refused(stopped, stopped / DATABASE)


def flipped(raw, place):
    """Return bytes with one bit flipped."""
    changed = bytearray(raw)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


@pytest.mark.parametrize("name", [DATABASE, f"{DATABASE}-wal"])
def test_a_flipped_bit_is_refused_or_changes_nothing(killed, stopped, name, tmp_path):
    whole = stopped if name == DATABASE else killed
    raw = (whole / name).read_bytes()
    expected = contents(shutil.copytree(whole, tmp_path / "read"))
    # Not in the last frame of the journal: that may also be one that a crash cut off.
    bits = (len(raw) - FRAME * (name != DATABASE)) * 8
    draw = random.Random(1)
    for number in range(30):
        directory = shutil.copytree(whole, tmp_path / f"flipped-{number}")
        (directory / name).write_bytes(flipped(raw, place := draw.randrange(bits)))
        said = None
        try:
            assert contents(directory) == expected, place
        except StoreError as error:
            said = str(error)
        assert said is None or str(directory) in said


def test_what_a_crash_cut_off_at_the_end_of_the_journal_is_no_damage(killed):
    path = killed / f"{DATABASE}-wal"
    expected = contents(shutil.copytree(killed, killed.parent / "whole"))
    with path.open("ab") as journal:
        # The beginning of a frame that was never committed.
        journal.write(path.read_bytes()[32:36] + bytes(2000))
    assert contents(killed) == expected


def test_a_flipped_bit_in_the_last_frame_of_the_journal_undoes_the_last_unit_of_work_only(killed):
    name = f"{DATABASE}-wal"
    raw = (killed / name).read_bytes()
    cut = shutil.copytree(killed, killed.parent / "cut")
    (cut / name).write_bytes(raw[:-FRAME])
    whole, without = (contents(shutil.copytree(each, killed.parent / f"{each.name} read")) for each in (killed, cut))
    assert whole != without
    draw = random.Random(1)
    for number in range(5):
        directory = shutil.copytree(killed, killed.parent / f"flipped-{number}")
        (directory / name).write_bytes(flipped(raw, place := draw.randrange((len(raw) - FRAME) * 8, len(raw) * 8)))
        assert contents(directory) == without, place


@table("commits", [1, 2], ids=["the first one of a round", "a later one"])
def test_a_server_that_is_killed_at_any_write_of_a_commit_starts_again(tmp_path, commits):
    """The journal is written from its start again, over what it had before. So a frame that is cut off is no shorter."""
    store = filled(tmp_path / "running")
    store.commit([Put(n, bytes(9000)) for n in range(100, 140)], ())
    store._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
    for number in range(commits):
        was = shutil.copytree(tmp_path / "running", tmp_path / f"before-{number}")
        store.commit([Put(200 + number, bytes(9000))], ())
    is_now = shutil.copytree(tmp_path / "running", tmp_path / "after")
    store.close()
    old, new = ((directory / f"{DATABASE}-wal").read_bytes() for directory in (was, is_now))
    assert len(old) == len(new)
    begin, end = (
        next(at for at in order if old[at] != new[at]) for order in (range(len(old)), reversed(range(len(old))))
    )
    frames = [at for at in range(32, len(old), FRAME) if begin <= at <= end]
    assert len(frames) > 2
    before, after = contents(shutil.copytree(was, tmp_path / "b")), contents(shutil.copytree(is_now, tmp_path / "a"))
    for cut in [at + more for at in frames for more in (0, 24, 24 + 2000)]:
        torn = shutil.copytree(was, tmp_path / f"torn-{cut}")
        (torn / f"{DATABASE}-wal").write_bytes(new[:cut] + old[cut:])
        assert contents(torn) == before
    assert after != before


def test_a_server_that_is_killed_while_it_creates_the_database_leaves_none(tmp_path, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", die)
        with pytest.raises(KeyboardInterrupt):
            Store(tmp_path, "QM1")
    assert contents(tmp_path)[4] == []


def test_a_directory_is_one_servers_at_a_time(tmp_path):
    store = Store(tmp_path, "QM1")
    with pytest.raises(StoreError, match="in use by another queue manager"):
        Store(tmp_path, "QM1")
    store.close()
    Store(tmp_path, "QM1").close()


def test_a_stop_that_fails_closes_the_database(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "no space left")

    store = Store(tmp_path, "QM1")
    monkeypatch.setattr(StoreFiles, "mark_closed", full)
    with pytest.raises(OSError, match="no space left"):
        store.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        store._db.execute("SELECT 1")


# --- who may read it


def test_the_directory_and_its_files_are_their_owners_alone(tmp_path):
    directory = tmp_path / "data"
    before = os.umask(0)
    try:
        directory.mkdir()
        store = filled(directory)
        assert mode(directory) == 0o700
        assert {mode(path) for path in directory.iterdir()} == {0o600}
        assert {path.name for path in directory.iterdir()} >= {DATABASE, f"{DATABASE}-wal"}
        store.close()
    finally:
        os.umask(before)


def test_files_that_others_could_read_are_taken_back_and_a_directory_that_was_there_is_left_as_it_is(stopped):
    # It may be everybody's, such as /tmp or the working directory.
    stopped.chmod(0o1777)
    (stopped / DATABASE).chmod(0o644)
    store = Store(stopped, "QM1")
    assert {mode(path) for path in stopped.iterdir()} == {0o600}
    assert mode(stopped) == 0o1777
    store.close()


def test_a_database_that_is_a_symbolic_link_is_not_followed(stopped, tmp_path):
    elsewhere = tmp_path / "elsewhere.db"
    (stopped / DATABASE).rename(elsewhere)
    (stopped / DATABASE).symlink_to(elsewhere)
    with pytest.raises(StoreError, match="is a symbolic link"):
        Store(stopped, "QM1")


# --- space


def full(*_):
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    raise error


@pytest.fixture
def on_a_full_disk(tmp_path, monkeypatch):
    """A store with messages, on a disk that has no more room than the reserve."""
    store = filled(tmp_path)
    reserve = tmp_path / "queue-manager.reserve"
    assert reserve.stat().st_size > 0
    write = Store._write

    def refuse(self, *arguments):
        return full() if reserve.exists() else write(self, *arguments)

    monkeypatch.setattr(Store, "_write", refuse)
    monkeypatch.setattr(os, "posix_fallocate", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    yield store
    store.close()


def test_messages_are_got_from_a_full_disk_and_none_is_put(on_a_full_disk):
    store = on_a_full_disk
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.commit([Put(30)], ())
    store.commit((), [Put(1), Put(2)])
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.commit([Put(30)], ())
    # A status record, say, in place of the one before.
    store.commit([Put(31, b"short")], [Put(4, b"longer")])
    assert [stored.position for stored in store.messages()] == [3, *range(5, 20), 31]


def test_a_start_for_which_there_is_no_room_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(Store, "_prepare", full)
    with pytest.raises(StoreError, match="there is no space left on the file system of"):
        Store(tmp_path, "QM1")


@table(("length", "whole"), [(1_000, 24_000_000), (400_000, 40_000_000)])
def test_space_comes_back_when_a_queue_is_drained(tmp_path, length, whole):
    def used():
        return sum(path.stat().st_blocks * 512 for path in tmp_path.iterdir())

    store = Store(tmp_path, "QM1")
    puts = [Put(n, bytes(length)) for n in range(1, whole // length)]
    store.commit(puts, ())
    assert used() > whole
    for at in range(0, len(puts), 100):
        store.commit((), puts[at : at + 100])
    assert used() < 16_000_000
    store.close()


def test_what_is_deleted_is_not_overwritten_on_the_disk(tmp_path):
    store = Store(tmp_path, "QM1")
    assert store._db.execute("PRAGMA secure_delete").fetchone() == (0,)
    store.close()

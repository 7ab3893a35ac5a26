"""The data of a queue manager on the disk: objects, authority records, durable subscriptions, and committed persistent messages.

All data is in one SQLite database. A unit of work is one SQLite transaction. The database is in WAL mode with
``synchronous=FULL``, so when ``commit`` returns, the transaction is in a file that was fsynced. If the process is killed earlier,
either the whole transaction remains or nothing of it. Uncommitted and non-persistent messages never reach the disk. At the start,
the store reads and verifies every row. It refuses damaged data with an error that explains what to do. ``files.py`` has the
files. ``journal.py`` checks the journal.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mqembedded.store import journal
from mqembedded.store.files import StoreError, StoreFiles
from mqembedded.store.rows import (
    EXPECTED,
    SCHEMA,
    SCHEMA_VERSION,
    ChannelState,
    Storable,
    StoredMessage,
    StoredObject,
    checksum,
    definitions,
    message_checksum,
)

_log = logging.getLogger(__name__)
_JOURNAL_BYTES = 4 * 1024 * 1024
# The approximate size of a message's row without the message data: descriptor, index, and SQLite's overhead.
_ROW_BYTES = 512
# The unused pages that the database keeps for later puts, and the fewest pages that a commit gives back.
_UNUSED_PAGES, _STEP_PAGES, _PAGE_BYTES = 2048, 256, 4096


class Store:
    """A queue manager's database. Several threads can use it at once. Each method call is one transaction."""

    def __init__(self, directory: Path, q_mgr_name: str) -> None:
        """Open or create the database in ``directory``.

        Raises:
            StoreError: the database is in use, damaged, not writable, or belongs to another queue manager.
        """
        self._lock = threading.Lock()
        # With this, tests simulate a full disk. Every write that needs space then fails as in SQLite.
        self.is_full = False
        self._freed_bytes = 0
        self._gives_space_back = False
        self._files = StoreFiles(directory)
        try:
            self._db = self._opened(q_mgr_name)
        except BaseException:
            self._files.unlock()
            raise

    def _opened(self, q_mgr_name: str) -> sqlite3.Connection:
        files = self._files
        try:
            if not files.check():
                _create(files, q_mgr_name)
            problem = journal.damage(files.journal) if files.was_left_open else None
            if problem is not None:
                raise files.damaged(files.journal, problem)
            db = sqlite3.connect(files.database, check_same_thread=False, isolation_level=None)
            # With this, a damaged byte in text fails its row's checksum, instead of raising a decoder's error.
            db.text_factory = lambda raw: raw.decode(errors="backslashreplace")
        except (OSError, sqlite3.Error) as error:
            raise self._refusal(error) from error
        try:
            self._prepare(db)
            self.identifier, self.q_mgr_values = self._q_mgr(db, q_mgr_name)
            (self._kept,) = db.execute("SELECT count(*) FROM message").fetchone()
            # The first write after each start creates the journal. From then on, a marker without a journal means that the
            # journal was lost.
            db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            files.mark_open()
            if not files.take_reserve():
                _log.warning("little space is left for %s; messages can be got but not put", files.directory)
        except BaseException as error:
            self._end(db)
            if isinstance(error, OSError | sqlite3.Error | UnicodeDecodeError):
                raise self._refusal(error) from error
            raise
        return db

    def _refusal(self, error: OSError | sqlite3.Error | UnicodeDecodeError) -> StoreError:
        """Return the StoreError for a start that failed with this error."""
        if isinstance(error, UnicodeDecodeError):
            # SQLite's message quotes the damaged word, which sqlite3 cannot decode.
            return self._files.damaged(self._files.database, "its schema is damaged")
        if _is_full(error):
            return self._files.no_space()
        is_of_system = isinstance(error, OSError) or getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR
        if isinstance(error, sqlite3.OperationalError | OSError) and is_of_system:
            return StoreError(f"{self._files.directory} cannot be read or written: {error}")
        return self._files.damaged(self._files.database, str(error))

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Check the database, and set its SQLite options."""
        path = self._files.database
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute(f"PRAGMA journal_size_limit={_JOURNAL_BYTES}")
        # Deleted rows are not overwritten, because every message would then be written once more when it is got.
        db.execute("PRAGMA secure_delete=OFF")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{path} holds data of schema version {version}; this program knows versions up to {SCHEMA_VERSION}"
            )
        if version != SCHEMA_VERSION or definitions(db) != EXPECTED:
            raise self._files.damaged(
                path, "it is damaged, or another program or another version of mqembedded made it"
            )
        (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise self._files.damaged(path, found.replace("\n", " "))

    def _q_mgr(self, db: sqlite3.Connection, q_mgr_name: str) -> tuple[str, dict[int, int | str]]:
        """Return the queue manager's identifier, which never changes, and the queue manager's attributes."""
        rows = db.execute("SELECT name, identifier, attributes, checksum FROM queue_manager").fetchall()
        if len(rows) != 1:
            raise self._files.damaged(self._files.database, f"it has {len(rows)} rows about the queue manager")
        name, identifier, attributes = self._verified("queue_manager", rows[0])
        if name != q_mgr_name:
            raise StoreError(f"{self._files.directory} holds the data of queue manager {name}, not of {q_mgr_name}")
        self._name = name
        return identifier, _values(attributes)

    def _verified(self, table: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row without its checksum; raise StoreError if the checksum does not match the row."""
        *values, stored = row
        if checksum(values) != stored:
            raise self._files.damaged(self._files.database, f"a row of table {table} is damaged: its checksum is wrong")
        return tuple(values)

    def _rows(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """Return all rows of a table; raise StoreError if a row is damaged."""
        try:
            found = self._db.execute(f"SELECT {columns}, checksum FROM {table} ORDER BY 1").fetchall()
        except sqlite3.DatabaseError as error:
            raise self._refusal(error) from error
        return [self._verified(table, row) for row in found]

    def objects(self) -> list[StoredObject]:
        """Return all queue definitions. Raises StoreError."""
        rows = self._rows("object", "name, type, definition_type, attributes")
        return [StoredObject(name, kind, definition, _values(text)) for name, kind, definition, text in rows]

    def messages(self) -> Iterator[StoredMessage]:
        """Yield all messages in order of arrival; raise StoreError at a damaged message."""
        try:
            for *row, body, place in self._db.execute(
                "SELECT position, queue, priority, md, data, backout_count, expires_at_s, properties, checksum, "
                "place_checksum FROM message ORDER BY position"
            ):
                stored = StoredMessage(*row)
                if (
                    message_checksum(stored, stored.queue, stored.priority) != body
                    or checksum((stored.position, stored.backout_count)) != place
                ):
                    raise self._files.damaged(
                        self._files.database,
                        f"message {stored.position}, of queue {stored.queue}, is damaged: its checksum is wrong",
                    )
                yield stored
        except (sqlite3.DatabaseError, TypeError) as error:
            # A flipped bit can also turn a byte string into text.
            raise self._files.damaged(self._files.database, str(error)) from error

    def put_object(self, stored: StoredObject) -> None:
        """Store a queue definition. It replaces a stored definition with the same name."""
        row = (stored.name, stored.type, stored.definition_type, json.dumps(stored.values))
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))

    def delete_object(self, name: str) -> None:
        """Delete a queue definition and the queue's messages."""
        with self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.execute("DELETE FROM object WHERE name = ?", (name,))
            self._kept -= self._db.execute("DELETE FROM message WHERE queue = ?", (name,)).rowcount

    def other_objects(self) -> list[tuple[str, str, dict[int, Any]]]:
        """Return the kind, name and attributes of each object that is not a queue."""
        rows = self._rows("other_object", "kind, name, attributes")
        return [(kind, name, _values(text)) for kind, name, text in rows]

    def put_other_object(self, kind: str, name: str, values: Mapping[int, Any]) -> None:
        """Store an object that is not a queue. It replaces an object of the same kind and name."""
        row = (kind, name, json.dumps(values))
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO other_object VALUES (?, ?, ?, ?)", (*row, checksum(row)))

    def delete_other_object(self, kind: str, name: str) -> None:
        """Delete an object that is not a queue."""
        with self._lock:
            self._db.execute("DELETE FROM other_object WHERE kind = ? AND name = ?", (kind, name))

    def authorities(self) -> list[tuple[Any, ...]]:
        """Return all authority records, each as object type, profile, entity type, entity, authorities (separated by blanks)."""
        return self._rows("authority", "object_type, profile, entity_type, entity, authorities")

    def put_authority(self, *record: str) -> None:
        """Store an authority record. It replaces a stored record of the same object type, profile and entity."""
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO authority VALUES (?, ?, ?, ?, ?, ?)", (*record, checksum(record)))

    def delete_authority(self, *key: str) -> None:
        """Delete an authority record."""
        with self._lock:
            self._db.execute(
                "DELETE FROM authority WHERE object_type = ? AND profile = ? AND entity_type = ? AND entity = ?", key
            )

    def subscriptions(self) -> list[dict[str, Any]]:
        """Return the attributes of all durable subscriptions."""
        return [json.loads(text) for _, text in self._rows("subscription", "sub_id, attributes")]

    def put_subscription(self, sub_id: bytes, attributes: dict[str, Any]) -> None:
        """Store a durable subscription. It replaces a stored subscription with the same identifier."""
        row = (sub_id, json.dumps(attributes))
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO subscription VALUES (?, ?, ?)", (*row, checksum(row)))

    def delete_subscription(self, sub_id: bytes) -> None:
        """Delete a durable subscription."""
        with self._lock:
            self._db.execute("DELETE FROM subscription WHERE sub_id = ?", (sub_id,))

    def put_q_mgr_values(self, values: dict[int, int | str]) -> None:
        """Store the queue manager's own attributes."""
        row = (self._name, self.identifier, json.dumps(values))
        with self._lock:
            self._db.execute("UPDATE queue_manager SET attributes = ?, checksum = ?", (row[2], checksum(row)))

    def channel(self, name: str, partner: str) -> ChannelState:
        """Return the state of this end of a channel. The batch number is 0 if the channel was never used."""
        with self._lock:
            row = self._db.execute(
                "SELECT name, partner, batch, in_doubt, checksum FROM channel WHERE name = ? AND partner = ?",
                (name, partner),
            ).fetchone()
        if row is None:
            return ChannelState(name, partner, 0)
        *_, batch, in_doubt = self._verified("channel", row)
        return ChannelState(name, partner, batch, tuple(json.loads(in_doubt)))

    def commit(self, puts: Iterable[Storable], gets: Iterable[Storable], channel: ChannelState | None = None) -> None:
        """Write a unit of work and, if given, a channel's state to the disk. Ignore messages that are not persistent.

        Raises:
            sqlite3.Error: the write failed, and nothing of the unit of work is on disk.
        """
        rows = [
            (
                m.position,
                m.queue.name,
                m.key_priority,
                m.md,
                m.data,
                m.backout_count,
                m.expires_at_s,
                m.properties,
                message_checksum(m, m.queue.name, m.key_priority),
                checksum((m.position, m.backout_count)),
            )
            for m in puts
            if m.persistent
        ]
        gone = [m for m in gets if m.persistent]
        if not rows and not gone and channel is None:
            return
        freed_bytes = sum(len(m.data) + _ROW_BYTES for m in gone)
        with self._lock:
            # Without space, messages can still be got, or replaced by shorter messages.
            takes = bool(rows) and sum(len(row[4]) + _ROW_BYTES for row in rows) > freed_bytes
            if rows and (self.is_full or (takes and not self._files.take_reserve())):
                raise _full()
            try:
                self._write(rows, gone, channel)
            except sqlite3.OperationalError as error:
                if takes or not _is_full(error):
                    raise
                self._files.release_reserve()
                self._shorten_journal()
                self._write(rows, gone, channel)
            self._kept += len(rows) - len(gone)
            if gone:
                self._give_space_back(freed_bytes)

    def _write(self, rows: Sequence[tuple[Any, ...]], gone: Sequence[Storable], channel: ChannelState | None) -> None:
        with self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._db.executemany("DELETE FROM message WHERE position = ?", [(m.position,) for m in gone])
            if channel is not None:
                row = (channel.name, channel.partner, channel.batch, json.dumps(channel.in_doubt))
                self._db.execute("INSERT OR REPLACE INTO channel VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))

    def _give_space_back(self, freed_bytes: int) -> None:
        """Shorten the database step by step if more than half of it is unused."""
        self._freed_bytes += freed_bytes
        enough_bytes = _UNUSED_PAGES * _PAGE_BYTES if self._kept else _STEP_PAGES * _PAGE_BYTES
        if not self._gives_space_back and self._freed_bytes < enough_bytes:
            return
        self._freed_bytes = 0
        try:
            (pages,) = self._db.execute("PRAGMA page_count").fetchone()
            (unused,) = self._db.execute("PRAGMA freelist_count").fetchone()
            if unused <= _UNUSED_PAGES or (not self._gives_space_back and unused * 2 < pages):
                self._gives_space_back = False
                return
            self._gives_space_back = self._kept > 0
            step = _STEP_PAGES + 2 * freed_bytes // _PAGE_BYTES if self._kept else unused
            # SQLite frees one page per step of this statement, which returns no rows. Only executescript takes all steps.
            self._db.executescript(f"PRAGMA incremental_vacuum({min(step, unused - _UNUSED_PAGES)})")
            if not self._kept:
                self._shorten_journal()
        except sqlite3.Error:
            # The unit of work is already on the disk.
            _log.warning("unused space of the database cannot be given back", exc_info=True)

    def _shorten_journal(self) -> bool:
        """Move the journal's content into the database, and return whether the journal is then empty."""
        try:
            return bool(self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)
        except sqlite3.Error:
            return False

    def give_back(self, messages: Iterable[tuple[Storable, int]]) -> None:
        """Store the new backout counts and positions of backed-out messages (IBM MQ, "BackoutCount": always hardened).

        If this method raises sqlite3.Error, the counts and positions on the disk have not changed.
        """
        rows = [
            (m.backout_count, position, checksum((position, m.backout_count)), m.position)
            for m, position in messages
            if m.persistent
        ]
        if rows:
            with self._lock, self._db:
                self._db.execute("BEGIN")
                self._db.executemany(
                    "UPDATE message SET backout_count = ?, position = ?, place_checksum = ? WHERE position = ?", rows
                )

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._end(self._db)
            self._files.unlock()

    def _end(self, db: sqlite3.Connection) -> None:
        """Close a database. If the journal is empty, remove the marker first, because closing deletes the journal."""
        with contextlib.closing(db), contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
            if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0:
                self._files.mark_closed()


def _create(files: StoreFiles, q_mgr_name: str) -> None:
    """Create the database of a new queue manager under a temporary name, and rename the database when it is complete."""
    handle, name = tempfile.mkstemp(dir=files.directory, prefix=".new-")
    os.close(handle)
    try:
        with contextlib.closing(sqlite3.connect(name, isolation_level=None)) as db:
            db.execute("PRAGMA auto_vacuum=INCREMENTAL")
            db.executescript(SCHEMA)
            # As in IBM MQ, the identifier is the name and the time of creation.
            identifier = f"{q_mgr_name}_{time.strftime('%Y-%m-%d_%H.%M.%S')}"[:48]
            row = (q_mgr_name, identifier, "{}")
            db.execute("INSERT INTO queue_manager VALUES (?, ?, ?, ?)", (*row, checksum(row)))
            db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        Path(name).rename(files.database)
    finally:
        Path(name).unlink(missing_ok=True)


def _full() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


def _is_full(error: OSError | sqlite3.Error) -> bool:
    """Return whether the error means that the disk is full."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


def _values(text: str) -> dict[int, Any]:
    return {int(selector): value for selector, value in json.loads(text).items()}

"""The queue manager's disk: object definitions, authority records, durable subscriptions and committed persistent messages,
in one SQLite database.

A unit of work is one SQLite transaction. The database is in WAL mode with ``synchronous=FULL``: when ``commit``
returns, the transaction is in a file that was fsynced, and a process killed at any moment before leaves nothing of it.
Uncommitted and non-persistent messages never reach the disk. Not here: what is in a unit of work.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

_SCHEMA_VERSION = 2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS queue_manager (name TEXT NOT NULL, identifier TEXT NOT NULL, attributes TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS object (
    name TEXT PRIMARY KEY, type INTEGER NOT NULL, definition_type INTEGER NOT NULL, attributes TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS other_object (
    kind TEXT NOT NULL, name TEXT NOT NULL, attributes TEXT NOT NULL, PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS message (
    position INTEGER PRIMARY KEY, queue TEXT NOT NULL, priority INTEGER NOT NULL,
    md BLOB NOT NULL, data BLOB NOT NULL, backout_count INTEGER NOT NULL, expires_at_s REAL,
    properties BLOB NOT NULL DEFAULT x''
);
CREATE TABLE IF NOT EXISTS channel (
    name TEXT NOT NULL, partner TEXT NOT NULL, batch INTEGER NOT NULL, in_doubt TEXT NOT NULL, PRIMARY KEY (name, partner)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS subscription (sub_id BLOB PRIMARY KEY, attributes TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS authority (
    object_type TEXT NOT NULL, profile TEXT NOT NULL, entity_type TEXT NOT NULL, entity TEXT NOT NULL,
    authorities TEXT NOT NULL, PRIMARY KEY (object_type, profile, entity_type, entity)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS message_queue ON message (queue);
"""
# What makes data of a schema version data of the next one.
_STEPS = {
    1: "ALTER TABLE message ADD COLUMN expires_at_s REAL; "
    "ALTER TABLE message ADD COLUMN properties BLOB NOT NULL DEFAULT x''"
}


class Named(Protocol):
    """A queue with its name."""

    @property
    def name(self) -> str: ...


class Storable(Protocol):
    """The fields of a message that the store keeps; it passes over messages that are not persistent."""

    @property
    def persistent(self) -> bool: ...
    @property
    def position(self) -> int: ...
    @property
    def queue(self) -> Named: ...
    @property
    def key_priority(self) -> int: ...
    @property
    def md(self) -> bytes: ...
    @property
    def data(self) -> bytes: ...
    @property
    def properties(self) -> bytes: ...
    @property
    def backout_count(self) -> int: ...
    @property
    def expires_at_s(self) -> float | None: ...


class StoreError(Exception):
    """The data directory cannot serve this queue manager; the message says why."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A queue definition as it is kept."""

    name: str
    type: int
    definition_type: int
    values: dict[int, int | str]


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A persistent message as it is kept; ``priority`` is the one that decides its place."""

    position: int
    queue: str
    priority: int
    md: bytes
    data: bytes
    backout_count: int
    expires_at_s: float | None
    properties: bytes


@dataclass(frozen=True, slots=True)
class ChannelState:
    """What one end of a channel has to remember: the last batch, and which messages of it are in doubt.

    At the sending end ``partner`` is a queue manager's name, at the receiving end the sender's identifier, and nothing is in
    doubt.
    """

    name: str
    partner: str
    batch: int
    in_doubt: tuple[int, ...] = ()


class Store:
    """One queue manager's database. Safe to call from several threads; each call is one transaction."""

    def __init__(self, directory: Path, q_mgr_name: str) -> None:
        """Open or create the database in ``directory``; raises StoreError if it is another queue manager's."""
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        # Tests fill the disk with this: every write is refused as SQLite refuses it when there is no room.
        self.is_full = False
        self._db = sqlite3.connect(directory / "queue-manager.db", check_same_thread=False, isolation_level=None)
        try:
            self._prepare(directory)
            self.identifier, self.q_mgr_values = self._q_mgr(directory, q_mgr_name)
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, directory: Path) -> None:
        """Lock the database, and bring it to this program's schema."""
        try:
            # One server at a time: a second one on the same directory is refused here, not found out later. The lock
            # goes with the process, however it ends.
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(_SCHEMA)
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > _SCHEMA_VERSION:
                raise StoreError(f"{directory} holds data of schema version {version}; {_SCHEMA_VERSION} is known")
            for step in range(version or _SCHEMA_VERSION, _SCHEMA_VERSION):
                # In one transaction with its number: killed in between, the next start takes the step once more.
                self._db.executescript(f"BEGIN; {_STEPS[step]}; PRAGMA user_version={step + 1}; COMMIT")
            self._db.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{directory} is in use by another queue manager, or cannot be written: {error}"
            ) from error
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{directory}/queue-manager.db is not a database of this program: {error}") from error

    def _q_mgr(self, directory: Path, q_mgr_name: str) -> tuple[str, dict[int, int | str]]:
        """Return the queue manager's identifier, made when it was created, and its attributes."""
        row = self._db.execute("SELECT name, identifier, attributes FROM queue_manager").fetchone()
        if row is None:
            # As IBM MQ does: the name and the moment of creation.
            identifier = f"{q_mgr_name}_{time.strftime('%Y-%m-%d_%H.%M.%S')}"[:48]
            row = (q_mgr_name, identifier, "{}")
            self._db.execute("INSERT INTO queue_manager VALUES (?, ?, ?)", row)
        if row[0] != q_mgr_name:
            raise StoreError(f"{directory} holds the data of queue manager {row[0]}, not of {q_mgr_name}")
        return row[1], _values(row[2])

    def objects(self) -> list[StoredObject]:
        """Return all definitions."""
        rows = self._db.execute("SELECT name, type, definition_type, attributes FROM object").fetchall()
        return [StoredObject(name, kind, definition, _values(text)) for name, kind, definition, text in rows]

    def messages(self) -> Iterator[StoredMessage]:
        """Yield all messages in order of arrival."""
        for row in self._db.execute(
            "SELECT position, queue, priority, md, data, backout_count, expires_at_s, properties FROM message "
            "ORDER BY position"
        ):
            yield StoredMessage(*row)

    def put_object(self, stored: StoredObject) -> None:
        """Keep a definition, in place of one of the same name."""
        row = (stored.name, stored.type, stored.definition_type, json.dumps(stored.values))
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?)", row)

    def delete_object(self, name: str) -> None:
        """Forget a definition and its messages."""
        with self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.execute("DELETE FROM object WHERE name = ?", (name,))
            self._db.execute("DELETE FROM message WHERE queue = ?", (name,))

    def other_objects(self) -> list[tuple[str, str, dict[int, Any]]]:
        """Return what is no queue: kind, name, attributes."""
        rows = self._db.execute("SELECT kind, name, attributes FROM other_object").fetchall()
        return [(kind, name, _values(text)) for kind, name, text in rows]

    def put_other_object(self, kind: str, name: str, values: Mapping[int, Any]) -> None:
        """Keep what is no queue, in place of one of the same kind and name."""
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO other_object VALUES (?, ?, ?)", (kind, name, json.dumps(values)))

    def delete_other_object(self, kind: str, name: str) -> None:
        """Forget what is no queue."""
        with self._lock:
            self._db.execute("DELETE FROM other_object WHERE kind = ? AND name = ?", (kind, name))

    def authorities(self) -> list[tuple[str, str, str, str, str]]:
        """Return all authority records: object type, profile, entity type, entity, authorities with blanks between."""
        return self._db.execute(
            "SELECT object_type, profile, entity_type, entity, authorities FROM authority"
        ).fetchall()

    def put_authority(self, *record: str) -> None:
        """Keep an authority record, in place of the one of the same object type, profile and entity."""
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO authority VALUES (?, ?, ?, ?, ?)", record)

    def delete_authority(self, *key: str) -> None:
        """Forget an authority record."""
        with self._lock:
            self._db.execute(
                "DELETE FROM authority WHERE object_type = ? AND profile = ? AND entity_type = ? AND entity = ?", key
            )

    def subscriptions(self) -> list[dict[str, Any]]:
        """Return the attributes of all durable subscriptions."""
        rows = self._db.execute("SELECT attributes FROM subscription ORDER BY sub_id").fetchall()
        return [json.loads(text) for (text,) in rows]

    def put_subscription(self, sub_id: bytes, attributes: dict[str, Any]) -> None:
        """Keep a durable subscription, in place of the one of the same identifier."""
        row = (sub_id, json.dumps(attributes))
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO subscription VALUES (?, ?)", row)

    def delete_subscription(self, sub_id: bytes) -> None:
        """Forget a durable subscription."""
        with self._lock:
            self._db.execute("DELETE FROM subscription WHERE sub_id = ?", (sub_id,))

    def put_q_mgr_values(self, values: dict[int, int | str]) -> None:
        """Keep the queue manager's own attributes."""
        with self._lock:
            self._db.execute("UPDATE queue_manager SET attributes = ?", (json.dumps(values),))

    def channel(self, name: str, partner: str) -> ChannelState:
        """Return what this end of a channel remembers; batch 0 if it was never used."""
        with self._lock:
            row = self._db.execute(
                "SELECT batch, in_doubt FROM channel WHERE name = ? AND partner = ?", (name, partner)
            ).fetchone()
        return ChannelState(name, partner, row[0], tuple(json.loads(row[1]))) if row else ChannelState(name, partner, 0)

    def commit(self, puts: Iterable[Storable], gets: Iterable[Storable], channel: ChannelState | None = None) -> None:
        """Make a unit of work durable, with what a channel remembers of it. Messages that are not persistent are passed over.

        Raises:
            sqlite3.Error: nothing of it is on disk.
        """
        rows = [
            (m.position, m.queue.name, m.key_priority, m.md, m.data, m.backout_count, m.expires_at_s, m.properties)
            for m in puts
            if m.persistent
        ]
        gone = [(m.position,) for m in gets if m.persistent]
        if not rows and not gone and channel is None:
            return
        if self.is_full and rows:
            raise sqlite3.OperationalError("database or disk is full")
        with self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._db.executemany("DELETE FROM message WHERE position = ?", gone)
            if channel is not None:
                row = (channel.name, channel.partner, channel.batch, json.dumps(channel.in_doubt))
                self._db.execute("INSERT OR REPLACE INTO channel VALUES (?, ?, ?, ?)", row)

    def give_back(self, messages: Iterable[tuple[Storable, int]]) -> None:
        """Keep backout counts (always hardened: topic q097450) and new positions of messages that a unit of work gave back.

        Raises:
            sqlite3.Error: counts and positions on disk are what they were.
        """
        rows = [(m.backout_count, position, m.position) for m, position in messages if m.persistent]
        if rows:
            with self._lock, self._db:
                self._db.execute("BEGIN")
                self._db.executemany("UPDATE message SET backout_count = ?, position = ? WHERE position = ?", rows)

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._db.close()


def _values(text: str) -> dict[int, Any]:
    return {int(selector): value for selector, value in json.loads(text).items()}

"""The rows of the database: their tables, their values, and a checksum for each row.

The checksum covers all values of a row. A message has two checksums: one for the values that never change, and one for the place
and backout count, which can change while the message is on its queue. ``store.py`` reads and writes the rows.
"""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

SCHEMA_VERSION = 3
SCHEMA = """
CREATE TABLE queue_manager (
    name TEXT NOT NULL, identifier TEXT NOT NULL, attributes TEXT NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE object (
    name TEXT PRIMARY KEY, type INTEGER NOT NULL, definition_type INTEGER NOT NULL, attributes TEXT NOT NULL,
    checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE other_object (
    kind TEXT NOT NULL, name TEXT NOT NULL, attributes TEXT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE message (
    position INTEGER PRIMARY KEY, queue TEXT NOT NULL, priority INTEGER NOT NULL,
    md BLOB NOT NULL, data BLOB NOT NULL, backout_count INTEGER NOT NULL, expires_at_s REAL,
    properties BLOB NOT NULL, checksum INTEGER NOT NULL, place_checksum INTEGER NOT NULL
);
CREATE TABLE channel (
    name TEXT NOT NULL, partner TEXT NOT NULL, batch INTEGER NOT NULL, in_doubt TEXT NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (name, partner)
) WITHOUT ROWID;
CREATE TABLE subscription (
    sub_id BLOB PRIMARY KEY, attributes TEXT NOT NULL, checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE authority (
    object_type TEXT NOT NULL, profile TEXT NOT NULL, entity_type TEXT NOT NULL, entity TEXT NOT NULL,
    authorities TEXT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (object_type, profile, entity_type, entity)
) WITHOUT ROWID;
CREATE INDEX message_queue ON message (queue);
"""


class Named(Protocol):
    """A queue as the store sees it: an object that has a name."""

    @property
    def name(self) -> str: ...


class Storable(Protocol):
    """A message as the store sees it. The store ignores messages that are not persistent."""

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


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A stored queue definition."""

    name: str
    type: int
    definition_type: int
    values: dict[int, int | str]


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A stored persistent message. ``priority`` is the priority that decides the message's place on the queue."""

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
    """The stored state of one end of a channel: the number of the last batch, and the positions of its messages in doubt.

    At the sending end, ``partner`` is a queue manager's name. At the receiving end, ``partner`` is the sender's identifier, and
    no message is in doubt.
    """

    name: str
    partner: str
    batch: int
    in_doubt: tuple[int, ...] = ()


def checksum(values: Iterable[object]) -> int:
    """Return the checksum of a row's values."""
    return zlib.crc32(repr(tuple(values)).encode())


def message_checksum(message: Storable | StoredMessage, queue: str, priority: int) -> int:
    """Return the checksum of the values of a message that stay the same while the message is on its queue."""
    expires_at_s = None if message.expires_at_s is None else float(message.expires_at_s)
    fixed = repr((queue, priority, expires_at_s, len(message.md), len(message.data))).encode()
    return zlib.crc32(message.properties, zlib.crc32(message.data, zlib.crc32(message.md, zlib.crc32(fixed))))


def definitions(db: sqlite3.Connection) -> list[tuple[str]]:
    """Return the SQL definitions of all tables and indexes in a database."""
    return db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").fetchall()


def _expected() -> list[tuple[str]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        return definitions(db)


EXPECTED = _expected()

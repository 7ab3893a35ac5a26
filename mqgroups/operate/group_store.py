"""Keeps the groups of a browsed queue: a few in memory, the others in a temporary database, however many there are.

The database is SQLite's: a file without a name that is gone when it is closed, and that is only written if the groups do not fit
its cache. It has no message data: identifiers, numbers, counts, times, and the names of applications.
"""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal, TypeAlias

from mqgroups.operate.rules.inspection import Browsed, GroupInspection
from mqgroups.operate.rules.judgement import Cause, Judgement

# Causes are stored as numbers; those that an operator looks for come first.
_CAUSES = tuple(Cause)
RANKS = {cause: rank for rank, cause in enumerate(_CAUSES)}
# What comes first: the most dangerous groups, those in which nothing has happened for longest, or those with most data.
Order: TypeAlias = Literal["danger", "quiet", "size"]
_ORDERS: dict[Order, str] = {"danger": "rank, since", "quiet": "since", "size": "data_bytes DESC"}
_TABLES = """
CREATE TABLE tally (
    seen INTEGER NOT NULL, group_id BLOB NOT NULL PRIMARY KEY, packed BLOB
) WITHOUT ROWID;
CREATE TABLE judged (
    group_id BLOB NOT NULL PRIMARY KEY, rank INTEGER, since TEXT, data_bytes INTEGER
) WITHOUT ROWID;
"""
# How many groups are in memory; one takes less than a kilobyte.
_MOST_IN_MEMORY = 20_000
_CACHE_KIB = 16_384


class GroupStore:
    """The groups on a queue, counted while they are browsed."""

    def __init__(self, most_in_memory: int = _MOST_IN_MEMORY) -> None:
        self._most = most_in_memory
        # The number under which a group was first seen, and its messages.
        self._counting: dict[bytes, tuple[int, GroupInspection]] = {}
        self._seen = 0
        self._spilled = False
        # An empty name makes a temporary file (SQLite, "Temporary Databases").
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("PRAGMA journal_mode = OFF")
        # Sorting takes place in a file too.
        self._database.execute("PRAGMA temp_store = FILE")
        self._database.executescript(_TABLES)

    @property
    def groups(self) -> int:
        """How many groups were seen."""
        return self._seen

    def add(self, message: Browsed) -> None:
        """Count a message of a group."""
        group_id = message.group_id
        found = self._counting.get(group_id)
        if found is None:
            found = self._unspilled(group_id) if self._spilled else None
            if found is None:
                self._seen += 1
                found = self._seen, GroupInspection(group_id)
            self._counting[group_id] = found
        found[1].add(message)
        # After the message is counted: the group that it belongs to may be written, too.
        if len(self._counting) > self._most:
            self._spill()

    def _unspilled(self, group_id: bytes) -> tuple[int, GroupInspection] | None:
        row = self._database.execute("SELECT seen, packed FROM tally WHERE group_id = ?", (group_id,)).fetchone()
        return (row[0], pickle.loads(row[1])) if row else None

    def _spill(self) -> None:
        """Write complete groups to the database; and if most are not complete, those that were seen first."""
        keys = [key for key, (_, group) in self._counting.items() if group.is_complete]
        least = max(1, self._most // 2)
        if len(keys) < least:
            chosen = set(keys)
            keys += islice((key for key in self._counting if key not in chosen), least)
        self._write(keys)

    def _write(self, keys: list[bytes]) -> None:
        self._spilled = True
        self._database.execute("BEGIN")
        self._database.executemany("REPLACE INTO tally VALUES (?, ?, ?)", map(self._row, keys))
        self._database.execute("COMMIT")
        for key in keys:
            del self._counting[key]

    def _row(self, group_id: bytes) -> tuple[object, ...]:
        seen, group = self._counting[group_id]
        return seen, group_id, pickle.dumps(group)

    def inspections(self) -> Iterator[GroupInspection]:
        """Yield all groups, in the order in which they were first seen."""
        self._write(list(self._counting))
        for (packed,) in self._database.execute("SELECT packed FROM tally ORDER BY seen"):
            yield pickle.loads(packed)

    def judge(self, judge: Callable[[GroupInspection], Judgement | None]) -> None:
        """Judge every group; ``None`` leaves it out of ``all``."""
        self._write(list(self._counting))

        def rows() -> Iterator[tuple[bytes, int, str, int]]:
            for group_id, packed in self._database.execute("SELECT group_id, packed FROM tally"):
                group = pickle.loads(packed)
                verdict = judge(group)
                if verdict is not None:
                    yield group_id, RANKS[verdict.cause], verdict.since, group.data_bytes

        self._database.execute("BEGIN")
        self._database.executemany("REPLACE INTO judged VALUES (?, ?, ?, ?)", rows())
        self._database.execute("COMMIT")

    def judged(self) -> int:
        """Return how many groups ``all`` yields."""
        (number,) = self._database.execute("SELECT count(*) FROM judged").fetchone()
        return int(number)

    def all(self, order: Order = "danger") -> Iterator[tuple[GroupInspection, Cause, str]]:
        """Yield the groups that were judged: group, cause, since when."""
        query = f"SELECT packed, rank, since FROM judged JOIN tally USING (group_id) ORDER BY {_ORDERS[order]}, seen"
        for packed, rank, since in self._database.execute(query):
            yield pickle.loads(packed), _CAUSES[rank], since

    def close(self) -> None:
        """Delete the database."""
        self._database.close()

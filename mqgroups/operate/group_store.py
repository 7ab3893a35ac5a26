"""Keeps the groups of a browsed queue: a few in memory, the others in a temporary database, however many there are.

The database is SQLite's: a file without a name that is gone when it is closed, and that is only written if the groups do not fit
its cache. It has no message data: identifiers, numbers, counts, times, and the names of applications.
"""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable, Iterator
from typing import Literal, Self, TypeAlias

from mqgroups.operate.rules.inspection import Browsed, GroupInspection
from mqgroups.operate.rules.judgement import Cause, Judgement

# Causes are stored as numbers; those that an operator looks for come first.
_CAUSES = tuple(Cause)
RANKS = {cause: rank for rank, cause in enumerate(_CAUSES)}
# What comes first: the most dangerous groups, those in which nothing has happened for longest, or those with most data.
Order: TypeAlias = Literal["danger", "quiet", "size"]
_ORDERS: dict[Order, str] = {"danger": "rank, since", "quiet": "since", "size": "data_bytes DESC"}
# The cache has 16 MiB. Sorting takes place in a file, too.
_TABLES = """
PRAGMA cache_size = -16384;
PRAGMA synchronous = OFF;
PRAGMA journal_mode = OFF;
PRAGMA temp_store = FILE;
CREATE TABLE tally (seen INTEGER, group_id BLOB NOT NULL PRIMARY KEY, packed BLOB) WITHOUT ROWID;
CREATE TABLE judged (group_id BLOB NOT NULL PRIMARY KEY, rank INTEGER, since TEXT, data_bytes INTEGER) WITHOUT ROWID;
"""
# How many groups are in memory; one takes less than a kilobyte.
_MOST_IN_MEMORY = 20_000


class GroupStore:
    """The groups on a queue, counted while they are browsed. Use it in a ``with`` statement.

    Attributes:
        seen: how many groups there are.
        listed: how many of them were chosen.
    """

    def __init__(self, most_in_memory: int = _MOST_IN_MEMORY) -> None:
        self.seen = self.listed = 0
        self._most = most_in_memory
        # The number under which a group was first seen, and its messages.
        self._counting: dict[bytes, tuple[int, GroupInspection]] = {}
        # An empty name makes a temporary file (SQLite, "Temporary Databases").
        self._database = sqlite3.connect("")
        self._database.executescript(_TABLES)

    def add(self, message: Browsed) -> None:
        """Count a message of a group."""
        group_id = message.group_id
        found = self._counting.get(group_id)
        if found is None:
            if len(self._counting) >= self._most:
                self._write()
            where = "SELECT seen, packed FROM tally WHERE group_id = ?"
            row = self._database.execute(where, (group_id,)).fetchone() if self.seen > len(self._counting) else None
            self.seen += row is None
            found = (row[0], pickle.loads(row[1])) if row else (self.seen, GroupInspection(group_id))
            self._counting[group_id] = found
        found[1].add(message)

    def _write(self) -> None:
        """Write the groups that are in memory to the database."""
        rows = ((seen, group_id, pickle.dumps(group)) for group_id, (seen, group) in self._counting.items())
        with self._database:
            self._database.executemany("REPLACE INTO tally VALUES (?, ?, ?)", rows)
        self._counting.clear()

    def inspections(self) -> Iterator[GroupInspection]:
        """Yield all groups in the order of their first messages on the queue. They need not be judged."""
        self._write()
        for (packed,) in self._database.execute("SELECT packed FROM tally ORDER BY seen"):
            yield pickle.loads(packed)

    def _choose(self, judge: Callable[[GroupInspection], Judgement | None]) -> None:
        """Judge every group; ``None`` leaves it out of ``_chosen``."""
        self._write()

        def rows() -> Iterator[tuple[bytes, int, str, int]]:
            for group_id, packed in self._database.execute("SELECT group_id, packed FROM tally"):
                group = pickle.loads(packed)
                verdict = judge(group)
                if verdict is not None:
                    yield group_id, RANKS[verdict.cause], verdict.since, group.data_bytes

        with self._database:
            self.listed = self._database.executemany("REPLACE INTO judged VALUES (?, ?, ?, ?)", rows()).rowcount

    def _chosen(self, order: Order = "danger") -> Iterator[tuple[GroupInspection, Cause, str]]:
        """Yield the groups that were chosen: group, cause, since when."""
        query = f"SELECT packed, rank, since FROM judged JOIN tally USING (group_id) ORDER BY {_ORDERS[order]}, seen"
        for packed, rank, since in self._database.execute(query):
            yield pickle.loads(packed), _CAUSES[rank], since

    def close(self) -> None:
        """Delete the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

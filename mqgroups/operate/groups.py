"""Lists the groups on a queue with their states. It only browses, and needs a limited amount of memory for queues of any length.

One handle browses in physical order, without message data, from the first message to the last (``browse.py``). A ``GroupStore``
counts the messages of each group. It keeps a few groups in memory and the others in a temporary SQLite database. Closing the
store deletes the database. The database has identifiers, numbers, counts, times and names of applications, but no message data.

The status records show which programs put and get a group (``owners.py``). The messages show whether a group is complete. The
queue manager is not asked for this fact, because it would search the queue for each group. If a group lacks messages and a
program may be working on the group, this module looks again (``SecondLook``).
"""

from __future__ import annotations

import heapq
import pickle
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal, Self, TypeAlias

from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.errors import NotAuthorised
from mqgroups.mqi import constants as mq
from mqgroups.names import checked_queue_name
from mqgroups.operate.browse import SecondLook, browsed_messages, hidden_messages
from mqgroups.operate.owners import SeenOwners
from mqgroups.operate.rules.inspection import Browsed, BrowsedInstance, GroupInspection
from mqgroups.operate.rules.judgement import Cause, GroupState, Judgement, Surroundings, judged
from mqgroups.operate.rules.owner_state import SeenOwner, owners_of_groups

# Causes are stored as numbers. Causes that need an operator come first.
_CAUSES = tuple(Cause)
RANKS = {cause: rank for rank, cause in enumerate(_CAUSES)}
# Which groups come first: the most dangerous, those that have been quiet for longest, or those with most data.
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
# The maximum number of groups in memory. Each takes less than a kilobyte.
_MOST_IN_MEMORY = 20_000


class GroupStore:
    """The groups on a queue, whose messages are counted while the queue is browsed. Use it in a ``with`` statement.

    Attributes:
        listed: the number of groups that were chosen.
    """

    def __init__(self, most_in_memory: int = _MOST_IN_MEMORY) -> None:
        self.listed = 0
        self._seen = 0
        self._most = most_in_memory
        # The number under which a group was first seen, and its messages.
        self._counting: dict[bytes, tuple[int, GroupInspection]] = {}
        # An empty name makes a temporary file (SQLite, "Temporary Databases").
        self._database = sqlite3.connect("")
        self._database.executescript(_TABLES)

    def _add(self, message: Browsed) -> None:
        group_id = message.group_id
        found = self._counting.get(group_id)
        if found is None:
            if len(self._counting) >= self._most:
                self._write()
            where = "SELECT seen, packed FROM tally WHERE group_id = ?"
            row = self._database.execute(where, (group_id,)).fetchone() if self._seen > len(self._counting) else None
            self._seen += row is None
            found = (row[0], pickle.loads(row[1])) if row else (self._seen, GroupInspection(group_id))
            self._counting[group_id] = found
        found[1].add(message)

    def _write(self) -> None:
        rows = ((seen, group_id, pickle.dumps(group)) for group_id, (seen, group) in self._counting.items())
        with self._database:
            self._database.executemany("REPLACE INTO tally VALUES (?, ?, ?)", rows)
        self._counting.clear()

    def inspections(self) -> Iterator[GroupInspection]:
        """Yield all groups in the order of their first messages on the queue, without judging them."""
        self._write()
        for (packed,) in self._database.execute("SELECT packed FROM tally ORDER BY seen"):
            yield pickle.loads(packed)

    def _choose(self, judge: Callable[[GroupInspection], Judgement | None]) -> None:
        """Judge every group, and choose the groups for which ``judge`` returns a judgement."""
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
        """Yield each chosen group with its cause and the time of its last known message or commit."""
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


# How often progress is reported, in messages.
_STEP = 1000
OnProgress = Callable[[BrowsedInstance], None]
# The same orders as in the database.
_KEYS: dict[Order, Callable[[Judgement], Any]] = {
    "danger": lambda row: (RANKS[row.cause], row.since),
    "quiet": lambda row: row.since,
    "size": lambda row: -row.group.data_bytes,
}


def in_order(rows: Iterable[Iterable[Judgement]], order: Order = "danger") -> Iterator[Judgement]:
    """Merge iterables of groups, each sorted by ``order``, into one iterator. The groups are not collected in memory."""
    return heapq.merge(*rows, key=_KEYS[order])


class GroupList(GroupStore):
    """The groups on a queue. Use it in a ``with`` statement.

    Attributes:
        instance: what was seen of the queue.
        names: the names of the queue: the name that was given, the name of the local queue, and the names of its other aliases.
        gone: the chosen groups that have no message on the queue, but are named by records of this queue's owners.
        counts: the number of groups on the queue, by state, without the groups in ``gone``.
        data_bytes: the length of the data of all messages in groups.
    """

    def __init__(self, connection: Connection, queue: str) -> None:
        super().__init__()
        self._connection = connection
        self._owners: Mapping[bytes, tuple[SeenOwner, ...]] = {}
        self.instance = BrowsedInstance(connection.q_mgr_name, queue)
        self._around = Surroundings(self.instance)
        self.names = {queue}
        self.gone: list[Judgement] = []
        self.counts: Counter[GroupState] = Counter()
        self.data_bytes = 0

    def judge(
        self,
        owners: SeenOwners,
        quiet_since: str,
        wanted: Callable[[Judgement], bool] = lambda _: True,
        say: Callable[[str], None] = lambda _: None,
        name: str = "NAME",
    ) -> None:
        """Judge all groups, and choose the groups to list.

        Args:
            owners: the result of a call of ``find_owners`` after the browse. Earlier results may name groups that are gone.
            quiet_since: a group in which nothing has happened since this time is stalled; 16 digits, UTC.
            wanted: returns whether to list a group. It is called once for each group, also for groups without messages.
            say: called from time to time with a text about the progress.
            name: the owner that the operator asks about, for the text of remedies.
        """
        self._owners = owners_of_groups(owners.owners)
        self.counts.clear()
        self.data_bytes = 0
        done = 0
        seen = owners.owners, owners._producers_seen, not owners.unseen
        self._around = around = Surroundings(self.instance, *seen, quiet_since, name)
        gone = dict(self._owners)

        def judge(group: GroupInspection) -> Judgement | None:
            nonlocal done
            done += 1
            if done % _STEP == 0:
                say(f"{done:,} of {self._seen:,} groups looked at")
            gone.pop(group.group_id, None)
            verdict = judged(group, self._owners.get(group.group_id, ()), around)
            verdict = replace(verdict, cause=_at_work(verdict.cause, group, look) or verdict.cause)
            self.counts[verdict.cause.state] += 1
            self.data_bytes += group.data_bytes
            return verdict if wanted(verdict) else None

        with closing(SecondLook(self._connection, self.instance)) as look:
            self._choose(judge)
        found = (judged(None, of, around) for of in gone.values() if any(each.queue in self.names for each in of))
        chosen = (replace(each, name=each.recorded_name) for each in found if wanted(each))
        self.gone = sorted(chosen, key=_KEYS["danger"])

    def groups(self, order: Order = "danger") -> Iterator[Judgement]:
        """Yield the chosen groups that have messages on the queue, by default the most dangerous groups first."""
        for group, cause, since in self._chosen(order):
            yield Judgement(cause, since, group, self._owners.get(group.group_id, ()), self._around)


def _at_work(cause: Cause, group: GroupInspection, look: SecondLook) -> Cause | None:
    """Return the true cause if a group seems wrong only because programs are working on it. Otherwise return ``None``."""
    if cause.look == "got" and look.may_be_being_got(group):
        return Cause.GETTING
    if cause.look == "put" and look.has_moved_on(group):
        return Cause.PUTTING if group.has_head else Cause.GETTING
    return None


def browse_groups(q_mgr: ConnectionHolder, queue: str, on_progress: OnProgress = lambda _: None) -> GroupList:
    """Browse a queue, and count the messages of each group. Call ``judge`` on the result before you list its groups.

    The queue is browsed in physical order. Messages that are put or got meanwhile may be missed.

    Args:
        queue: the name of a local queue, or of an alias of a local queue.
        on_progress: called after every 1000 messages, and at the end.

    Raises:
        ConfigurationError: the name is not valid.
        MQIError: the queue cannot be opened or browsed.
    """
    checked_queue_name("queue", queue)
    return _browsed(connection_of(q_mgr), queue, on_progress)


def counted(connection: Connection, queue: str) -> tuple[BrowsedInstance, tuple[GroupInspection, ...]]:
    """Browse a queue for a repair. Return what was seen of the queue, and the groups. Raises MQIError.

    Raises NotAuthorised if the user is not allowed to inquire the queue.
    """
    with _browsed(connection, queue, lambda _: None, must_inquire=True) as found:
        return found.instance, tuple(found.inspections())


def _browsed(connection: Connection, queue: str, on_progress: OnProgress, *, must_inquire: bool = False) -> GroupList:
    found = GroupList(connection, queue)
    instance = found.instance
    try:
        with closing(connection.open_queue(queue, mq.MQOO_BROWSE)) as physical:
            local = instance.resolved_q_name = physical.resolved_q_name
            found.names.add(local)
            _inquire(connection, local, instance, must=must_inquire)
            before, unasked = hidden_messages(connection, local)
            on_progress(instance)
            for message in browsed_messages(physical):
                instance.messages += 1
                if message.in_group:
                    found._add(message)
                else:
                    instance.others += 1
                if instance.messages % _STEP == 0:
                    on_progress(instance)
            on_progress(instance)
            after = before
            if before is not None:
                after, unasked = hidden_messages(connection, local)
            if after is None:
                why = f"the command server did not answer ({unasked})"
                instance.unseen.append(f"how many messages units of work hide: {why}")
            else:
                instance.hidden = max(after, before or 0)
    except BaseException:
        found.close()
        raise
    return found


def _inquire(connection: Connection, local: str, instance: BrowsedInstance, *, must: bool) -> None:
    """Store attributes of the local queue in ``instance``, because an alias has neither a depth nor numbers of open handles."""
    try:
        opened = closing(connection.open_queue(local, mq.MQOO_INQUIRE))
    except NotAuthorised as error:
        if must:
            raise
        instance.unseen.append(f"the depth of queue {local} and its open handles: {error}")
        return
    with opened as queue:
        instance.depth = int(queue.inquire(mq.MQIA_CURRENT_Q_DEPTH))
        instance.open_input = int(queue.inquire(mq.MQIA_OPEN_INPUT_COUNT))
        instance.open_output = int(queue.inquire(mq.MQIA_OPEN_OUTPUT_COUNT))
        instance.threshold = int(queue.inquire(mq.MQIA_BACKOUT_THRESHOLD))
        instance.backout_queue = str(queue.inquire(mq.MQCA_BACKOUT_REQ_Q_NAME))

"""Add up the orders of queue ORDERS in a database, each exactly once, whatever dies when.

    mqembedded exec --data DIR -- python orders_to_database.py orders.sqlite
    mqembedded exec --data DIR -- python orders_to_database.py postgresql://user:password@host/orders

The position in the group is a row in the same database, written in the same transaction as the effects of the
messages. That transaction is committed before the unit of work. If the program dies between the two, the messages
come again, and the row says that they are done. So no two-phase commit is needed. The checkpoint, which the queue
manager commits, counts the groups that have ended: a group with the identifiers of an earlier one has another count.
The queue must have no other consumer and one priority; docs/how-to/databases.md says why. A message has a customer
and a number of pieces: "miller 3". The orders of a group that was abandoned stay counted: on_abandon= could undo them.
Python's sqlite3 is enough for SQLite; PostgreSQL needs psycopg. It connects to the queue manager with
MQGROUPS_Q_MGR_NAME, _CONN_NAME, _CHANNEL, _USER and _PASSWORD.
"""

import os
import sqlite3
import sys
from typing import Any

import mqgroups

NAME = "database.sink"


class Database:
    """The effects, and the position, by any DB-API connection that begins transactions by itself."""

    def __init__(self, connection: Any, mark: str) -> None:
        self.connection = connection
        self._mark = mark
        self.execute("CREATE TABLE IF NOT EXISTS pieces (customer VARCHAR(100) PRIMARY KEY, pieces INTEGER NOT NULL)")
        self.execute(
            "CREATE TABLE IF NOT EXISTS position "
            "(name VARCHAR(35) PRIMARY KEY, ended INTEGER NOT NULL, group_key CHAR(96) NOT NULL, "
            "message INTEGER NOT NULL)"
        )
        connection.commit()

    def execute(self, statement: str, *values: object) -> Any:
        cursor = self.connection.cursor()
        cursor.execute(statement.replace("?", self._mark), values)
        return cursor

    def position(self, ended: int, group_key: str) -> int:
        """Return how many messages of a group are done; ``ended``: how many groups have ended before it."""
        row = self.execute("SELECT ended, group_key, message FROM position WHERE name = ?", NAME).fetchone()
        return row[2] if row is not None and row[:2] == (ended, group_key) else 0

    def process(self, customer: str, pieces: int) -> None:
        self.execute(
            "INSERT INTO pieces VALUES (?, ?) "
            "ON CONFLICT (customer) DO UPDATE SET pieces = pieces.pieces + excluded.pieces",
            customer,
            pieces,
        )

    def commit(self, ended: int, group_key: str, message: int) -> None:
        """Commit what was processed, with the position after it."""
        self.execute(
            "INSERT INTO position VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE "
            "SET ended = excluded.ended, group_key = excluded.group_key, message = excluded.message",
            NAME,
            ended,
            group_key,
            message,
        )
        self.connection.commit()


def drain(consumer: mqgroups.GroupConsumer, database: Database) -> None:
    ended = done = 0

    @consumer.before_commit
    def before_commit(group: mqgroups.IncomingGroup) -> None:
        database.commit(ended, group.key.hex(), done)
        if group.ends:
            group.set_checkpoint(ended + 1)

    for group in consumer:
        # Effects that were not committed. If a loop was left early, their messages come again.
        database.connection.rollback()
        count = consumer.checkpoint
        ended = count if isinstance(count, int) else 0
        done = database.position(ended, group.key.hex())
        for message in group:
            if message.msg_seq_number > done:
                customer, pieces = message.text.split()
                database.process(customer, int(pieces))
                done = message.msg_seq_number


def open_database(where: str) -> Database:
    if not where.startswith("postgresql://"):
        return Database(sqlite3.connect(where), "?")
    import psycopg

    return Database(psycopg.connect(where), "%s")


def connect() -> mqgroups.QueueManager:
    conn_name = os.environ.get("MQGROUPS_CONN_NAME")  # without it, MQSERVER or a CCDT says where to go
    file = os.environ.get("MQGROUPS_PASSWORD_FILE")
    return mqgroups.connect(
        os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"),
        os.environ.get("MQGROUPS_CHANNEL", "DEV.APP.SVRCONN") if conn_name else None,
        conn_name,
        user=os.environ.get("MQGROUPS_USER"),
        password=mqgroups.Secret.from_file(file) if file else os.environ.get("MQGROUPS_PASSWORD"),
    )


def main(where: str) -> None:
    database = open_database(where)
    try:
        with (
            connect() as q_mgr,
            q_mgr.group_consumer("ORDERS", name=NAME, commit_every=100, wait_s=0) as consumer,
        ):
            drain(consumer, database)
    finally:
        # What was processed since the last commit is rolled back.
        database.connection.close()


if __name__ == "__main__":
    main(sys.argv[1])

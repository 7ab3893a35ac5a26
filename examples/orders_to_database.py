"""Add up the orders of queue ORDERS in a database, each exactly once, whatever dies when.

    mqgroups embedded exec --data DIR -- python orders_to_database.py orders.sqlite
    mqgroups embedded exec --data DIR -- python orders_to_database.py postgresql://user:password@host/orders

The position in the group is a row in the same database, written in the same transaction as the effects of the
messages. That transaction is committed before the unit of work. If the program dies between the two, the messages
come again, and the row says that they are done. So no two-phase commit is needed. A message has a customer and a
number of pieces: "miller 3". The orders of a group that was abandoned stay counted: on_abandon= could undo them.
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
            "(name VARCHAR(35) PRIMARY KEY, group_id CHAR(48) NOT NULL, message INTEGER NOT NULL)"
        )
        connection.commit()

    def execute(self, statement: str, *values: object) -> Any:
        cursor = self.connection.cursor()
        cursor.execute(statement.replace("?", self._mark), values)
        return cursor

    def position(self, group_id: str) -> int:
        """Return how many messages of a group are done."""
        row = self.execute("SELECT group_id, message FROM position WHERE name = ?", NAME).fetchone()
        return row[1] if row is not None and row[0] == group_id else 0

    def process(self, customer: str, pieces: int) -> None:
        self.execute(
            "INSERT INTO pieces VALUES (?, ?) "
            "ON CONFLICT (customer) DO UPDATE SET pieces = pieces.pieces + excluded.pieces",
            customer,
            pieces,
        )

    def commit(self, group_id: str, message: int) -> None:
        """Commit what was processed, with the position after it."""
        self.execute(
            "INSERT INTO position VALUES (?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET group_id = excluded.group_id, message = excluded.message",
            NAME,
            group_id,
            message,
        )
        self.connection.commit()


def drain(consumer: mqgroups.GroupConsumer, database: Database) -> None:
    done = 0

    @consumer.before_commit
    def before_commit(group: mqgroups.IncomingGroup) -> None:
        database.commit(group.group_id.hex(), done)

    for group in consumer:
        # Effects that were not committed: if a loop was left early, their messages come again.
        database.connection.rollback()
        done = database.position(group.group_id.hex())
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

"""The recipes of docs/how-to/databases.md and their example lose and double nothing, whatever identifiers the messages have.

The queue has messages of strangers: two in no group with one MsgId and one text, two groups that have all identifiers in common,
and one that has only its GroupId in common with them. Every commit of the queue manager is lost once, before or after it took
effect: each time the database's was made.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from examples import orders_to_database
from mqembedded import Fault
from mqgroups import errors
from tests.get.test_group_key import BATCH, LAST, MIG, OTHERS, OURS

pytestmark = pytest.mark.embedded

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "databases.md"
ROWS, TOTAL, *_ = (block.split("```")[0] for block in PAGE.read_text(encoding="utf-8").split("```python\n")[1:])
TWIN = "smith 1"
GROUPS = [(OURS, ["miller 1", "miller 2", "miller 3"]), (OURS, ["brown 1", "brown 2"]), (OTHERS, ["brown 3"])]
TEXTS = [TWIN, TWIN, *itertools.chain(*(texts for _, texts in GROUPS))]
# The first commit claims the name; then one for each of the two messages, and one for each two of a group.
COMMITS = range(2, 8)


def put_strangers(owner):
    for _ in range(2):
        owner.put_raw(TWIN.encode(), MsgId=OURS, Format=b"MQSTR   ", CodedCharSetId=1208)
    for msg_id, texts in GROUPS:
        for number, text in enumerate(texts, 1):
            ids = {"MsgId": msg_id} if number == 1 else {}
            flags = LAST if number == len(texts) else MIG
            text_fields = {"Format": b"MQSTR   ", "CodedCharSetId": 1208}
            owner.put_raw(text.encode(), GroupId=BATCH, MsgSeqNumber=number, MsgFlags=flags, **text_fields, **ids)


def run_block(block: str, owner, qmgr, path: str) -> None:
    """Run a program of the page until the queue is empty."""
    for name in ("ORDERS.TO.DB", "ORDERS.TOTAL"):
        settings = f"{owner.queue!r}, name={owner.name!r}, commit_every=2, owner_wait_s=30"
        block = block.replace(f'"ORDERS", name="{name}", commit_every=100', settings)
    given = {"qmgr": qmgr, "database": sqlite3.connect(path)}
    try:
        exec(block.replace('sqlite3.connect("invoices.db")', "database"), given)
    finally:
        given["database"].close()


def run_example(owner, qmgr, path: str) -> None:
    opened = orders_to_database.open_database(path)
    try:
        with owner.consumer(qmgr, owner_wait_s=30) as consumer:
            orders_to_database.drain(consumer, opened)
    finally:
        opened.connection.close()


def rows(owner, qmgr, path):
    run_block(ROWS, owner, qmgr, path)


def total(owner, qmgr, path):
    run_block(TOTAL, owner, qmgr, path)


def pieces(texts: list[str]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for customer, number in (text.split() for text in texts):
        found[customer] = found.get(customer, 0) + int(number)
    return sorted(found.items())


@pytest.mark.parametrize(
    ("run", "query", "expected"),
    [
        # Two messages with the same text and the same identifiers are one row.
        (rows, "SELECT text FROM invoice ORDER BY text", lambda texts: sorted((text,) for text in set(texts))),
        (total, "SELECT characters FROM total", lambda texts: [(len("".join(texts)),)]),
        (run_example, "SELECT customer, pieces FROM pieces ORDER BY customer", pieces),
    ],
)
def test_no_message_is_lost_or_counts_twice_whatever_identifiers_it_has_and_whatever_commit_is_the_last(
    owner, faults, tmp_path, run: Callable[..., None], query: str, expected: Callable[[list[str]], object]
):
    for when, nth in itertools.product(("before", "after"), COMMITS):
        path = str(tmp_path / f"{when}.{nth}")
        put_strangers(owner)
        qmgr = owner.connect()
        faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
        with pytest.raises(errors.MQGroupsError):
            run(owner, qmgr, path)
        qmgr.close()
        # Then a program that ends in order, and one that finds the same messages once more
        run(owner, owner.qmgr, path)
        with sqlite3.connect(path) as database:
            assert database.execute(query).fetchall() == expected(TEXTS), (when, nth)
        database.close()
        assert owner.data() == []
    put_strangers(owner)
    run(owner, owner.qmgr, path)
    with sqlite3.connect(path) as database:
        assert database.execute(query).fetchall() == expected(TEXTS * 2)
    database.close()

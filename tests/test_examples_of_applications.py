"""Examples of the rooms above the library: they run, and lose and repeat nothing whatever kills them."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest

import mqgroups
from examples import orders_as_json, orders_to_database
from mqgroups import errors
from mqgroups.embedded import Fault
from tests.each_call import each_call
from tests.fix_examples import ROOT

FILES = {name: [f"{name} line {number}" for number in range(lines)] for name, lines in (("b.csv", 350), ("c.csv", 100))}


def write(folder, name, lines):
    (folder / name).write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def connected(faults, monkeypatch):
    """A connection to the queue manager that the examples use; nothing is on their queues afterwards."""
    with mqgroups.connect("QM1", "DEV.APP.SVRCONN", faults.conn_name) as qmgr:
        yield qmgr


@pytest.mark.embedded
def test_files_are_put_as_groups_with_their_names_whatever_kills_the_program(supervised, connected, tmp_path):
    for name, lines in FILES.items():
        write(tmp_path, name, lines)
    # Given a program that dies in the first file's group, when another file has come that is before it in the alphabet
    supervised("put_files.py", str(tmp_path), kills=[("after", 3)], last=False)
    write(tmp_path, "a.csv", ["one", "two"])
    write(tmp_path, "empty.csv", [])
    # And that dies after a group's last commit, before the file is moved, and before a group's last commit
    supervised("put_files.py", str(tmp_path), kills=[("after", 4), ("before", 2)])
    # Then each file is a group with its name, once
    with connected.group_consumer("ORDERS", name="files.test", wait_s=0) as consumer:
        found = [(group.name, group.properties["lines"], [message.text for message in group]) for group in consumer]
    expected = {"a.csv": ["one", "two"], **FILES}
    assert sorted(found) == [(name, len(lines), lines) for name, lines in sorted(expected.items())]
    assert found[0][0] == "b.csv"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["put"]
    assert sorted(path.name for path in (tmp_path / "put").iterdir()) == ["a.csv", "b.csv", "c.csv", "empty.csv"]


@pytest.mark.embedded
def test_orders_are_put_and_got_as_objects():
    program = [sys.executable, "examples/orders_as_json.py"]
    command = [sys.executable, "-m", "mqgroups", "embedded", "exec", "--", *program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "orders of today: 1000 pieces\n")


def test_a_message_that_is_no_order_is_poison(connected):
    with connected.group_producer("ORDERS", name="orders.test") as producer, producer.group() as group:
        group.put('{"number": 1, "customer": "secret"}')
    with pytest.raises(errors.PoisonMessage, match=r"it is not an order: number, customer, pieces") as caught:
        orders_as_json.drain(connected)
    assert "secret" not in str(caught.value)
    with connected.group_consumer("ORDERS", name="orders.sink", wait_s=0) as consumer:
        assert [len(list(group)) for group in consumer] == [1]


@pytest.mark.embedded
def test_groups_are_files_on_the_other_side_whatever_kills_the_program(supervised, connected, tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    for name, lines in FILES.items():
        write(source, name, lines)
    supervised("put_files.py", str(source), kills=[])
    supervised("get_files.py", str(target), kills=[("after", 3), ("before", 3), ("after", 3)])
    assert {path.name: path.read_text().splitlines() for path in target.iterdir()} == FILES


# --- a database


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The name of a database of its own, as the example takes it."""
    if request.param == "sqlite":
        return str(tmp_path / "orders.sqlite")
    pytest.importorskip("psycopg", reason="psycopg is not installed, so PostgreSQL is not tried")
    return request.getfixturevalue("postgresql")


ORDERS = [f"{customer} {pieces}" for customer in ("miller", "smith", "brown") for pieces in range(1, 6)]
SUMS = {"miller": 15, "smith": 15, "brown": 15}


def sums(where):
    opened = orders_to_database.open_database(where)
    found = dict(opened.execute("SELECT customer, pieces FROM pieces").fetchall())
    opened.connection.close()
    return found


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
@each_call(least=15, most=44)
def test_each_order_counts_once_in_the_database_whatever_call_is_the_last(make_owner, faults, database, when, call):
    owner = make_owner()
    owner.put_group(ORDERS)
    qmgr = owner.connect()
    opened = orders_to_database.open_database(database)
    faults.clear_faults()
    faults.arm(Fault("drop", when, nth=call.nth))
    with contextlib.suppress(errors.MQGroupsError), owner.consumer(qmgr, commit_every=6) as consumer:
        orders_to_database.drain(consumer, opened)
    fired = faults.faults_fired()
    faults.clear_faults()
    qmgr.close()
    opened.connection.close()
    opened = orders_to_database.open_database(database)
    with owner.consumer(commit_every=6, owner_wait_s=30) as consumer:
        orders_to_database.drain(consumer, opened)
    opened.connection.close()
    assert sums(database) == SUMS
    assert owner.data() == []
    call.check(fired)


@pytest.mark.embedded
def test_each_order_counts_once_in_the_database_whatever_kills_the_program(supervised, connected, database):
    with connected.group_producer("ORDERS", name="orders.test") as producer, producer.group() as group:
        for order in ORDERS * 30:
            group.put(order)
    kills = [("after", 3), ("before", 3), ("before", 2), ("after", 2)]
    supervised("orders_to_database.py", database, kills=kills)
    assert sums(database) == {customer: total * 30 for customer, total in SUMS.items()}

"""Examples of the rooms above the library: they run, and lose and repeat nothing whatever kills them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mqgroups
from examples import orders_as_json
from mqgroups import errors
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

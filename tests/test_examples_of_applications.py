"""Examples of the rooms above the library: they run, and lose and repeat nothing whatever kills them."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import subprocess
import sys

import pytest

import mqgroups
from examples import lines_worker, orders_as_json, orders_to_database, put_files, upload
from mqembedded import Fault
from mqgroups import aio, errors
from mqgroups.files.sending import Records
from tests.fix_examples import MQEMBEDDED_EXEC, ROOT

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
    assert sorted(found) == sorted((put_as(name, lines), len(lines), lines) for name, lines in expected.items())
    assert found[0][0].startswith("b.")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["put"]
    names = [put_as(name, lines) for name, lines in {**expected, "empty.csv": []}.items()]
    assert sorted(path.name for path in (tmp_path / "put").iterdir()) == sorted(names)


def put_as(name, lines):
    stem, _, suffix = name.partition(".")
    digest = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    return f"{stem}.{digest[:16]}.{suffix}"


@pytest.mark.embedded
def test_another_file_of_the_same_name_and_time_is_put_too(supervised, connected, tmp_path):
    for line in ("yesterday", "today"):
        write(tmp_path, "orders.csv", [line])
        os.utime(tmp_path / "orders.csv", (0, 0))
        supervised("put_files.py", str(tmp_path), kills=[])
    with connected.group_consumer("ORDERS", name="files.test", wait_s=0) as consumer:
        found = [(group.name, [message.text for message in group]) for group in consumer]
    assert found == [(put_as("orders.csv", lines), lines) for lines in (["yesterday"], ["today"])]
    assert sorted(path.read_text() for path in (tmp_path / "put").iterdir()) == ["today\n", "yesterday\n"]


@pytest.mark.embedded
def test_a_file_that_changes_while_it_is_put_is_not_moved_and_put_again(
    faults, connected, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("MQGROUPS_CONN_NAME", faults.conn_name)
    write(tmp_path, "orders.csv", ["one"])
    put_lines = put_files.put_lines

    def grows(*group):
        put_lines(*group)
        write(tmp_path, "orders.csv", ["one", "two"])

    with monkeypatch.context() as patch:
        patch.setattr(put_files, "put_lines", grows)
        put_files.main(tmp_path)
    assert capsys.readouterr().err == f"{tmp_path / 'orders.csv'} has changed; the next start puts it\n"
    put_files.main(tmp_path)
    with connected.group_consumer("ORDERS", name="files.test", wait_s=0) as consumer:
        assert [[message.text for message in group] for group in consumer] == [["one"], ["one", "two"]]
    assert [path.name for path in (tmp_path / "put").iterdir()] == [put_as("orders.csv", ["one", "two"])]


@pytest.mark.parametrize(
    "data",
    [b"a\r\nb\r\n", b"a\nb", b"\n", b"a\n\n\n", b"\n\na", b"\xef\xbb\xbfa\n", b"a\rb\r", b"a\x0b\x0c\x85\n\0\n"],
)
def test_put_files_and_send_cut_lines_alike(data):
    sent = list(Records.of("lines").read(io.BytesIO(data)))
    assert b"".join(sent) == data
    assert put_files.lines_of(data) == [line.removesuffix(b"\n") for line in sent]


@pytest.mark.embedded
def test_orders_are_put_and_got_as_objects():
    program = [sys.executable, "examples/orders_as_json.py"]
    command = [*MQEMBEDDED_EXEC, "--", *program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "orders of today: 1000 pieces\n")


def test_a_message_that_is_no_order_is_poison(connected):
    with connected.group_producer("ORDERS", name="orders.test") as producer, producer.group() as group:
        group.put('{"number": 1, "customer": "secret"}')
    with pytest.raises(errors.PoisonMessage, match="it is not an order: number, customer, pieces") as caught:
        orders_as_json.drain(connected)
    assert "secret" not in str(caught.value)
    with connected.group_consumer("ORDERS", name="orders.test", wait_s=0) as consumer:
        assert [message.text for group in consumer for message in group] == ['{"number": 1, "customer": "secret"}']


@pytest.mark.embedded
def test_groups_are_files_on_the_other_side_whatever_kills_the_program(supervised, connected, tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    for name, lines in FILES.items():
        write(source, name, lines)
    supervised("put_files.py", str(source), kills=[])
    supervised("get_files.py", str(target), kills=[("after", 3), ("before", 3)])
    expected = {put_as(name, lines): lines for name, lines in FILES.items()}
    assert {path.name: path.read_text().splitlines() for path in target.iterdir()} == expected


# --- a database


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The name of a database of its own, as the example takes it."""
    if request.param == "sqlite":
        return str(tmp_path / "orders.sqlite")
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed, so PostgreSQL is not tried")
    where = request.getfixturevalue("postgresql")
    with psycopg.connect(where) as connection:
        connection.execute("DROP TABLE IF EXISTS pieces, position")
    return where


ORDERS = [f"{customer} {pieces}" for customer in ("miller", "smith", "brown") for pieces in range(1, 6)]
SUMS = {"miller": 15, "smith": 15, "brown": 15}


def sums(where):
    opened = orders_to_database.open_database(where)
    found = dict(opened.execute("SELECT customer, pieces FROM pieces").fetchall())
    opened.connection.close()
    return found


@pytest.mark.embedded
@pytest.mark.parametrize(("when", "nth"), [("before", 1), ("after", 2), ("before", 3), ("after", 3)])
def test_each_order_counts_once_in_the_database_whatever_commit_is_the_last(owner, faults, database, when, nth):
    owner.put_group(ORDERS)
    qmgr = owner.connect()
    opened = orders_to_database.open_database(database)
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
    with pytest.raises(errors.MQGroupsError), owner.consumer(qmgr, commit_every=6) as consumer:
        orders_to_database.drain(consumer, opened)
    qmgr.close()
    opened.connection.close()
    opened = orders_to_database.open_database(database)
    with owner.consumer(commit_every=6, owner_wait_s=30) as consumer:
        orders_to_database.drain(consumer, opened)
    opened.connection.close()
    assert sums(database) == SUMS
    assert owner.data() == []


@pytest.mark.embedded
def test_each_order_counts_once_in_the_database_if_the_same_program_goes_on(make_owner, database, monkeypatch):
    """Messages 7 and 8 come again, and their effects are not committed."""
    owner = make_owner()
    owner.put_group(ORDERS)
    opened = orders_to_database.open_database(database)
    process, numbers = opened.process, iter(range(1, 100))

    def fails_once(customer, pieces):
        if next(numbers) == 9:
            raise ZeroDivisionError
        process(customer, pieces)

    monkeypatch.setattr(opened, "process", fails_once)
    with owner.consumer(commit_every=6) as consumer:
        with pytest.raises(ZeroDivisionError):
            orders_to_database.drain(consumer, opened)
        orders_to_database.drain(consumer, opened)
    opened.connection.close()
    assert sums(database) == SUMS


@pytest.mark.embedded
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_each_order_counts_once_in_the_database_whatever_kills_the_program(supervised, connected, database):
    with connected.group_producer("ORDERS", name="orders.test") as producer, producer.group() as group:
        for order in ORDERS * 30:
            group.put(order)
    kills = [("after", 3), ("before", 2)]
    supervised("orders_to_database.py", database, kills=kills)
    assert sums(database) == {customer: total * 30 for customer, total in SUMS.items()}


# --- asyncio


@pytest.mark.embedded
def test_several_consumers_get_all_groups_in_one_process():
    program = [sys.executable, "examples/asyncio_sinks.py"]
    command = [*MQEMBEDDED_EXEC, "--", *program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "1200 messages by 4 sinks\n")


async def chunks_of(text, size=7, broken=False):
    for start in range(0, len(text), size):
        yield text[start : start + size].encode()
    if broken:
        raise ConnectionError


UPLOAD = "".join(f"line {number}\n" for number in range(250))


def uploaded(faults, *uploads):
    """Put uploads as the service does; returns what each was answered."""

    async def main():
        answers: list[object] = []
        async with aio.connect("QM1", "DEV.APP.SVRCONN", faults.conn_name) as q_mgr:
            service = upload.Uploads(q_mgr)
            for name, chunks in uploads:
                try:
                    answers.append(await service.put(name, chunks))
                except ConnectionError as error:
                    answers.append(type(error))
        return answers

    return asyncio.run(main())


def groups_on(connected):
    """Get what is on the queue of the examples: name and lines of each group, or its reason if it was abandoned."""
    found: list[object] = []
    with connected.group_consumer("ORDERS", name="uploads.test", wait_s=0) as consumer:
        while True:
            try:
                for group in consumer:
                    found.append((group.name, [message.text for message in group]))
            except errors.GroupAbandoned as error:
                found.append(error.reason)
            else:
                return found


@pytest.fixture
def uploads(connected):
    """Uploads begin without a checkpoint."""
    yield
    with connected.group_producer("ORDERS", name="uploads") as producer:
        producer.forget()


@pytest.mark.embedded
def test_an_upload_is_a_group_and_is_not_put_twice(faults, connected, uploads):
    answers = uploaded(faults, *(("a.csv", chunks_of(text)) for text in (UPLOAD, UPLOAD)), ("b.csv", chunks_of("1")))
    assert answers == [250, 250, 1]
    assert groups_on(connected) == [("a.csv", UPLOAD.splitlines()), ("b.csv", ["1"])]


@pytest.mark.embedded
def test_an_upload_that_breaks_off_is_an_abandoned_group(faults, connected, uploads):
    answers = uploaded(faults, ("a.csv", chunks_of(UPLOAD, broken=True)), ("a.csv", chunks_of(UPLOAD)))
    assert answers == [ConnectionError, 250]
    assert groups_on(connected) == ["ConnectionError in its block", ("a.csv", UPLOAD.splitlines())]


@pytest.mark.embedded
def test_the_file_of_an_abandoned_group_is_removed(connected, tmp_path, monkeypatch):
    monkeypatch.setenv("LINES", str(tmp_path))
    with connected.group_producer("ORDERS", name="lines.test", commit_every=2) as producer, producer.group() as group:
        for line in UPLOAD.splitlines()[:5]:
            group.put(line)
        group.abandon()
    with connected.group_consumer("ORDERS", name="lines.test", commit_every=2, wait_s=0) as consumer:
        group = next(iter(consumer))
        with pytest.raises(errors.GroupAbandoned):
            lines_worker.handle(group)
        assert list(tmp_path.iterdir()) == []
        consumer.forget()


@pytest.mark.embedded
def test_the_web_service_answers_when_the_group_is_committed(faults, connected, uploads, monkeypatch):
    pytest.importorskip("fastapi", reason="FastAPI is not installed, so the web service is not tried")
    for name, value in faults.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MQGROUPS_CONN_NAME", faults.conn_name)
    sent: list[dict[str, object]] = []

    async def main():
        app = upload.application()
        async with app.router.lifespan_context(app):
            await put(app, "/groups/a.csv", UPLOAD)
            await put(app, "/groups/b.csv", "")
            await put(app, "/groups/c.csv", "1" * 5_000_000)
            await put(app, "/groups/d\0.csv", "1")
            await put(app, f"/groups/{'e' * 40_000}.csv", "1")

    async def put(app, path, text):
        body = iter([{"type": "http.request", "body": text.encode(), "more_body": False}])
        scope: dict[str, object] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "PUT",
            "headers": [],
        }
        scope |= {"path": path, "raw_path": path.encode(), "query_string": b"", "root_path": ""}
        scope |= {"scheme": "http", "server": ("localhost", 80), "client": ("localhost", 1)}

        async def receive():
            return next(body, {"type": "http.disconnect"})

        async def send(message):
            sent.append(message)

        await app(scope, receive, send)

    asyncio.run(main())
    said = [message["status"] if "status" in message else message["body"] for message in sent]
    refused = b'{"detail":"a line or the name is too long, or the name is not valid"}'
    assert said[:4] == [200, b'{"messages":250}', 422, b'{"detail":"a group needs at least one line"}']
    assert said[4:] == [422, refused] * 3
    assert groups_on(connected) == [("a.csv", UPLOAD.splitlines())]

"""A planted secret is given everywhere where a secret can be given, and looked for everywhere where something is shown."""

from __future__ import annotations

import asyncio
import functools
import logging
import pickle
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import mqgroups
from embedded_tests.tables import table
from mqembedded import EmbeddedQueueManager, Fault
from mqembedded.cli.main import main as embedded_main
from mqgroups import Secret, aio, errors, operate
from mqgroups.cli.main import main
from mqgroups.mqi.abc import ConnectArguments
from mqgroups.spark import connections
from mqgroups.spark.option import Use
from mqgroups.spark.options import sink_options, source_options
from mqgroups.workers.status import Board
from mqgroups.workers.worker import Job, Worker
from tests.fix_cli import environment

pytestmark = pytest.mark.embedded
# Not found in anything by chance, and in no message of a part of it.
PLANTED = "Xyzzy-4711-plugh"


def reprs(value, seen=None):
    """Return the representations of an object and of what hangs on it, as far as it is this package's."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return []
    seen.add(id(value))
    found = [repr(value), str(value)]
    parts = []
    if isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    elif isinstance(value, dict):
        parts = [*value, *value.values()]
    elif type(value).__module__.startswith("mqgroups.") and not isinstance(value, Secret):
        slots = [slot for cls in type(value).__mro__ for slot in getattr(cls, "__slots__", ())]
        parts = [*getattr(value, "__dict__", {}).values(), *(getattr(value, slot, None) for slot in slots)]
    return [text for part in parts for text in reprs(part, seen)] + found


def shown(error):
    return "".join(traceback.format_exception(error)) + repr(error) + repr(error.__dict__) + repr(error.args)


@pytest.fixture
def server(own_queue_manager, tmp_path, binding, monkeypatch):
    """A queue manager whose user app has the planted password."""
    monkeypatch.setenv("MQGROUPS_MQI", binding.__name__)
    return own_queue_manager(users={"app": PLANTED}, data=tmp_path / "data")


@pytest.fixture
def everything(caplog, spans, measured):
    """A list to add to; log records of every logger at DEBUG, spans and metrics are added at the end, and the secret is looked
    for."""
    caplog.set_level(logging.DEBUG)
    found: list[str] = []
    yield found
    found += [span.to_json() for span in spans()]
    found.append(repr(measured()))
    found += [f"{record.getMessage()} {record.__dict__!r}" for record in caplog.records]
    assert found
    assert not [text for text in found if PLANTED in text]


def locals_of(error):
    """Return the representations of all locals of the package's frames, those of earlier errors too."""
    found: list[str] = []
    while error is not None:
        found.append(repr(error))
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        inside = [frame for frame in frames if "/mqgroups/" in frame.f_code.co_filename]
        found += [
            f"{frame.f_code.co_name}: {name}={value!r}" for frame in inside for name, value in frame.f_locals.items()
        ]
        error = error.__cause__ or error.__context__
    return found


def connected(server, **more):
    settings = {
        "user": "app",
        "password": PLANTED,
        "reconnect_wait_s": 5,
        "trace": "message",
        "propagate": True,
        **more,
    }
    return mqgroups.connect(server.q_mgr_name, server.channel, server.conn_name, **settings)


def test_objects_records_spans_and_logs_of_an_owner_s_life(server, everything, spans, measured, tmp_path):
    with connected(server) as q_mgr:
        producer = q_mgr.group_producer("ORDERS", name="SECRETS", commit_every=2, owner_wait_s=5)
        with producer, producer.group() as group:
            for number in range(3):
                group.put(b"%d" % number)
            server.arm(Fault("drop", "after", verb="MQCMIT"))
            group.set_checkpoint({"row": 3})
            group.put(b"3")
            everything += reprs(q_mgr) + reprs(producer) + reprs(group)
        assert server.faults_fired() == 1
        with q_mgr.group_consumer("ORDERS", name="SECRETS", wait_s=0) as consumer:
            for got in consumer:
                everything += [*reprs(consumer), *(text for message in got for text in reprs(message))]
            everything.append(repr(operate.inspect_owner(q_mgr, "SECRETS", "get")))
    ended = spans()
    assert {"create ORDERS", "put ORDERS", "commit ORDERS", "get ORDERS"} <= {span.name for span in ended}
    assert measured()["mqgroups.units_of_work"]
    everything += [span.to_json() for span in ended]
    everything += reprs(server.control)
    everything.append(repr(server))
    server.stop()
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert any(path.stat().st_size for path in files)
    everything += [path.read_bytes().decode("latin-1") for path in files]


def test_command_lines_of_the_server(server, everything):
    everything.append(Path(f"/proc/{server.pid}/cmdline").read_text())
    everything.append(Path(f"/proc/{server.pid}/environ").read_text())


@table(
    ("given", "error"),
    [
        ({"password": PLANTED + "x"}, errors.NotAuthorised),
        ({"user": "nobody"}, errors.NotAuthorised),
        ({"user": None}, errors.ConfigurationError),
        ({"token": PLANTED}, errors.ConfigurationError),
        ({"user": None, "password": None, "token": PLANTED}, errors.MQGroupsError),
        ({"key_repository_password": PLANTED}, errors.ConfigurationError),
        ({"cipher_spec": "A", "key_repository": "/k", "key_repository_password": PLANTED}, errors.MQGroupsError),
        ({"password": PLANTED + "\u00e4"}, errors.NotAuthorised),
        ({"conn_name": "127.0.0.1(1)"}, errors.ConnectionBroken),
    ],
)
def test_errors_of_connecting(server, everything, given, error):
    settings = {"conn_name": server.conn_name, "user": "app", "password": PLANTED, **given}
    with pytest.raises(error) as refused:
        mqgroups.connect(server.q_mgr_name, server.channel, **settings)
    everything.append(shown(refused.value))
    everything.append(pickle.dumps(refused.value).decode("latin-1"))


def by_asyncio(**settings):
    async def connects():
        await aio.connect(**settings)

    asyncio.run(connects())


def by_a_worker(**settings):
    connect = functools.partial(mqgroups.connect, **settings)
    job = Job(
        print, connect, functools.partial(mqgroups.QueueManager.group_consumer, queue="Q"), "N", range(1, 2), 0, None
    )
    Worker(job, 1, Board()).run()


def by_spark(q_mgr_name, channel, conn_name, user, password, **_):
    connection = {
        "mq.queueManager": q_mgr_name,
        "mq.channel": channel,
        "mq.connectionNameList": conn_name,
        "mq.user": user,
    }
    options = source_options({**connection, "mq.password": password, "queue": "Q"}, Use.BATCH_READ)
    connections.connected(replace(options.connection, connect_wait_s=0))


@table("connects", [mqgroups.connect, by_asyncio, by_a_worker, by_spark])
def test_locals_of_a_connect_that_fails(server, everything, connects):
    settings = {
        "q_mgr_name": server.q_mgr_name,
        "channel": server.channel,
        "conn_name": server.conn_name,
        "user": "app",
    }
    failures: list[dict[str, object]] = [
        {"user": "nobody"},
        {"q_mgr_name": "QM9"},
        {"conn_name": "127.0.0.1(1)"},
    ]
    if connects is not by_spark:
        failures += [
            {"user": None},
            {"trace": "no such"},
            {"token": PLANTED},
            {"user": None, "password": None, "token": PLANTED},
            {"key_repository_password": PLANTED},
            {"cipher_spec": "A", "key_repository": "/k", "key_repository_password": PLANTED},
        ]
    kinds: list[Callable[[str], object]] = [str]
    kinds += [] if connects is by_spark else [str.encode, Secret, lambda text: text + "\ud800"]
    for failure in failures:
        for kind in kinds:
            given = {**settings, "password": PLANTED, **failure}
            given = {name: kind(value) if value == PLANTED else value for name, value in given.items()}
            with pytest.raises(errors.MQGroupsError) as refused:
                connects(**given)
            everything += locals_of(refused.value)


@table("connects", [mqgroups.connect, by_asyncio])
def test_locals_of_a_connect_that_the_binding_ends(server, binding, monkeypatch, everything, connects):
    monkeypatch.setattr(binding.QueueManager, "connect_with_options", lambda *_, **__: 1 // 0)
    with pytest.raises(ZeroDivisionError) as ended:
        connects(
            q_mgr_name=server.q_mgr_name,
            channel=server.channel,
            conn_name=server.conn_name,
            user="app",
            password=PLANTED,
        )
    everything += locals_of(ended.value)


def test_locals_of_a_command_that_cannot_connect(server, everything):
    words = ["groups", "--queue", "ORDERS", "--user", "nobody", "--password-env", "PLANTED"]
    result = CliRunner(env={**environment(server), "PLANTED": PLANTED}).invoke(main, words)
    assert result.exit_code
    assert result.exc_info is not None
    everything += locals_of(result.exc_info[1])


@table("content", [PLANTED.encode() + b"\xff", b""])
def test_locals_of_a_secret_that_cannot_be_read(server, everything, tmp_path, content):
    (tmp_path / "secret").write_bytes(content)
    with pytest.raises(errors.ConfigurationError) as refused:
        connected(server, password=Secret.from_file(tmp_path / "secret"))
    everything += locals_of(refused.value)


def test_errors_after_connecting(server, everything):
    with connected(server) as q_mgr:
        with pytest.raises(errors.QueueMissing) as missing:
            q_mgr.group_producer("NO.SUCH.QUEUE", name="SECRETS.E").group().put(b"1")
        server.stop()
        with pytest.raises(errors.ConnectionBroken) as broken:
            operate.browse_groups(q_mgr, "ORDERS")
    everything += [shown(missing.value), shown(broken.value)]


HERE = ("--q-mgr", "QM1", "--conn-name", "{conn_name}")


@table(
    "words",
    [
        ("check", "N", "-o", "json"),
        ("check", "N", "-o", "json", *HERE, "--user", "app", "--password-env", "MQGROUPS_PASSWORD"),
        ("check", "N", *HERE, "--token-file", "{planted}"),
        ("check", "N", *HERE, "--cipher-spec", "A", "--key-repository", "/k"),
        ("check", "N", *HERE, "--password-file", "{planted}", "--user", "nobody"),
        ("salvage", "rebuild", "--name", "N", "--role", "put", "--queue", "ORDERS"),
    ],
)
def test_the_commands(server, everything, tmp_path, words):
    planted = tmp_path / "planted"
    planted.write_text(PLANTED)
    secrets = {"MQGROUPS_PASSWORD": PLANTED, "MQGROUPS_KEY_REPOSITORY_PASSWORD": PLANTED}
    variables = {**environment(server), "MQGROUPS_USER": "app", **secrets}
    command = [word.format(planted=planted, conn_name=server.conn_name) for word in words]
    result = CliRunner(env=variables).invoke(main, [*command, "--wait", "0"])
    assert result.output
    everything += [result.output, result.stderr, repr(result.exception)]


def test_what_the_queue_manager_displays(server, everything, tmp_path):
    variables = {"PLANTED": PLANTED}
    for command in (
        "DISPLAY CONN(*) ALL",
        "DISPLAY QMGR ALL",
        "DISPLAY CHANNEL(*) ALL",
        "DISPLAY QSTATUS(*) TYPE(HANDLE)",
    ):
        words = ["mqsc", "--data", str(tmp_path / "data"), "-c", command]
        result = CliRunner(env=variables).invoke(embedded_main, words)
        assert result.exit_code == 0, result.output
        everything.append(result.output)


def test_values_that_carry_settings(everything):
    connection = {"mq.queuemanager": "QM1", "mq.user": "u", "mq.password": PLANTED, "queue": "Q", "statusqueue": "S"}
    everything += reprs(
        ConnectArguments(
            "QM1", password=Secret(PLANTED), token=Secret(PLANTED), key_repository_password=Secret(PLANTED)
        )
    )
    read = {name: text for name, text in connection.items() if name != "statusqueue"}
    for options in (source_options(read, Use.STREAM_READ), sink_options(connection, Use.BATCH_WRITE)):
        everything += [repr(options), str(options), repr(options.connection)]
    everything.append(repr(EmbeddedQueueManager(users={"u": PLANTED}, data="nowhere")))


@table("given", [{"mq.password": ""}, {"mq.passwordenv": "E"}, {"mq.user": ""}])
def test_refused_options(everything, given):
    options = {"mq.queuemanager": "QM1", "mq.user": "u", "mq.password": PLANTED, "queue": "Q", **given}
    with pytest.raises(errors.ConfigurationError) as refused:
        source_options(options, Use.BATCH_READ)
    everything.append(shown(refused.value))


def test_the_search_finds_what_is_there():
    class Leak:
        def __repr__(self):
            return PLANTED

    Leak.__module__ = "mqgroups.test"
    holder = type("Holder", (), {"__module__": "mqgroups.test", "__repr__": lambda _: "<Holder>"})()
    holder.inner = {"deep": [Leak()]}
    assert any(PLANTED in text for text in reprs(holder))

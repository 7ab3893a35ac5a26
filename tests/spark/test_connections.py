"""Connections of worker processes: kept, lent, dropped when something went wrong, never another process's."""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys

import pytest

from embedded_tests.tables import table
from mqgroups.errors import ConfigurationError, MQGroupsError, NotAuthorised, StatusQueueUnusable
from mqgroups.mqi.secret import Secret
from mqgroups.settings import Connecting
from mqgroups.spark.connections import close_idle, lent
from mqgroups.spark.errors import CheckpointUnusable, GroupGone, QueueReserved, SparkOptionError, WriteRefused
from mqgroups.spark.option import Use
from mqgroups.spark.options import source_options
from mqgroups.spark.stream_source import GroupStreamReader


@pytest.fixture
def options(owner, tmp_path):
    """How to reach the queue manager under test, with a file for the password."""
    target = owner.target
    path = tmp_path / "password"
    path.write_text(f"{target.password or ''}\n")
    credentials = {} if target.user is None else {"user": target.user, "password": Secret.from_file(path)}
    yield Connecting(target.q_mgr_name, target.channel, target.conn_name, reconnect_wait_s=0, **credentials)
    close_idle()


def test_a_connection_is_made_once_and_lent_again(options):
    with lent(options) as first:
        pass
    with lent(options) as second:
        assert second is first


def test_who_borrows_while_it_is_lent_gets_another_one(options):
    with lent(options) as first, lent(options) as second:
        assert second is not first


@pytest.mark.parametrize("error", [ValueError, GeneratorExit])
def test_a_connection_on_which_something_went_wrong_is_closed(options, error):
    with pytest.raises(error), lent(options) as first:
        raise error
    assert not first.usable
    with lent(options) as second:
        assert second is not first


def test_a_forked_process_does_not_get_its_parents_connection(options, monkeypatch):
    with lent(options) as first:
        pass
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with lent(options) as second:
        assert second is not first
    second.close()
    monkeypatch.undo()
    with lent(options) as third:
        assert third is first


def test_what_is_idle_is_disconnected_at_the_end(options):
    with lent(options) as first:
        pass
    close_idle()
    assert not first.usable


@pytest.fixture
def with_password(options):
    """A function that returns how to connect if the password is given by an option of Spark."""
    given = {"mq.queueManager": options.q_mgr_name, "mq.channel": options.channel, "queue": "ORDERS"}
    given |= {"mq.connectionNameList": options.conn_name, "mq.user": options.user, "mq.waitMs": "0"}
    return lambda **way: source_options({**given, **way}, Use.BATCH_READ).connection


def test_the_password_comes_from_where_the_options_say(options, with_password, monkeypatch):
    given = options.password.read("password")
    monkeypatch.setenv("SOME_PASSWORD", given)
    for way in ("mq.passwordFile", options.password.file), ("mq.passwordEnv", "SOME_PASSWORD"), ("mq.password", given):
        with lent(with_password(**{way[0]: str(way[1])})) as q_mgr:
            assert q_mgr.usable


def test_a_password_that_is_not_there_is_told_with_the_place(with_password, tmp_path):
    for name, value, problem in (
        ("mq.passwordFile", str(tmp_path / "none"), r"password: file .*none cannot be read: No such file"),
        ("mq.passwordEnv", "NO_SUCH", r"password: environment variable NO_SUCH is not set"),
    ):
        with pytest.raises(ConfigurationError, match=problem), lent(with_password(**{name: value})):
            pass


@pytest.mark.embedded
def test_a_wrong_name_of_the_queue_manager_names_the_options_of_spark(options):
    without = dataclasses.replace(options, q_mgr_name="NOSUCH", conn_name=None, channel=None)
    said = r"2058 .*In Spark, set the options mq.connectionNameList and mq.channel"
    with pytest.raises(MQGroupsError, match=said), lent(without):
        pass


def test_a_wrong_password_is_refused_without_being_shown(options):
    wrong = dataclasses.replace(options, password=Secret("geheim"))
    with pytest.raises(NotAuthorised) as refused, lent(wrong):
        pass
    assert "geheim" not in str(refused.value)


@table(
    "error",
    [
        SparkOptionError("queue", "it is required"),
        WriteRefused("column 'value' is null", "row"),
        CheckpointUnusable("it is not there", "missing", status_queue="MQGROUPS.SOURCE.ORDERS", found=1, expected=2),
        StatusQueueUnusable("it is not there", status_queue="MQGROUPS.SOURCE.ORDERS", because="version", found=3),
        QueueReserved("ORDERS", 20),
        GroupGone("ORDERS", "GQ", 3, 7),
    ],
)
def test_errors_travel_from_the_workers(error: MQGroupsError):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)


def test_a_task_that_reads_imports_the_part_of_the_package_that_reads():
    reader = pickle.dumps(GroupStreamReader(source_options({"mq.queueManager": "QM1", "queue": "Q"}, Use.STREAM_READ)))
    code = "import pickle, sys; type(pickle.load(sys.stdin.buffer)).read; print(*sys.modules)"
    imported = subprocess.run(
        [sys.executable, "-c", code], input=reader, capture_output=True, check=True
    ).stdout.split()
    assert b"mqgroups.spark.batch_source" in imported
    assert not {b"mqgroups.spark.manifests", b"mqgroups.status.owner", b"mqgroups.get", b"mqgroups.put"} & {*imported}

"""Connections of worker processes: kept, lent, dropped when something went wrong, never another process's."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import pickle

import pytest

from embedded_tests.tables import table
from mqgroups.errors import ConfigurationError, MQGroupsError, NotAuthorised, StatusQueueUnusable
from mqgroups.mqi.secret import Secret
from mqgroups.spark.connections import close_idle, lent
from mqgroups.spark.errors import CheckpointUnusable, GroupGone, QueueReserved, SparkOptionError, WriteRefused
from mqgroups.spark.options import ConnectionOptions


@pytest.fixture
def options(owner, tmp_path):
    """How to reach the queue manager under test, with a file for the password."""
    target = owner.target
    path = tmp_path / "password"
    path.write_text(f"{target.password or ''}\n")
    credentials = {} if target.user is None else {"user": target.user, "password_file": str(path)}
    yield ConnectionOptions(target.q_mgr_name, target.conn_name, target.channel, reconnect_timeout_ms=0, **credentials)
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


def test_the_password_comes_from_where_the_options_say(options, monkeypatch):
    given = pathlib.Path(options.password_file).read_text().strip()
    monkeypatch.setenv("SOME_PASSWORD", given)
    for way in ({"password_env": "SOME_PASSWORD"}, {"password": given}):
        with lent(dataclasses.replace(options, password_file=None, **way)) as q_mgr:
            assert q_mgr.usable


def test_a_password_that_is_not_there_is_told_with_the_place(options, tmp_path):
    for way, problem in (
        ({"password_file": str(tmp_path / "none")}, r"password: file .*none cannot be read: No such file"),
        ({"password_env": "NO_SUCH"}, r"password: environment variable NO_SUCH is not set"),
    ):
        with (
            pytest.raises(ConfigurationError, match=problem),
            lent(dataclasses.replace(options, **{"password_file": None, **way})),
        ):
            pass


@pytest.mark.embedded
def test_a_wrong_name_of_the_queue_manager_names_the_options_of_spark(options):
    without = dataclasses.replace(options, q_mgr_name="NOSUCH", conn_name=None, channel=None, connect_timeout_ms=0)
    said = r"2058 .*In Spark, the options mq.connectionNameList and mq.channel say it"
    with pytest.raises(MQGroupsError, match=said), lent(without):
        pass


def test_a_wrong_password_is_refused_without_being_shown(options):
    wrong = ConnectionOptions(options.q_mgr_name, options.conn_name, options.channel, options.user, Secret("geheim"))
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

"""Options of format ibmmq: what is refused is named, and what is secret is not shown."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Annotated, Literal

import pytest

from embedded_tests.tables import table
from mqgroups.core.model import Persistence
from mqgroups.core.modes import PutResponse
from mqgroups.mqi.secret import Secret
from mqgroups.setting import Whole, settings_of
from mqgroups.settings import Connecting
from mqgroups.spark.errors import SparkOptionError
from mqgroups.spark.option import Use, options_of
from mqgroups.spark.options import (
    _NO_OPTIONS,
    OPTIONS,
    SinkOptions,
    SourceOptions,
    markdown,
    sink_options,
    source_options,
)

LEAST = {"mq.queuemanager": "QM1", "queue": "ORDERS"}


def read(**more):
    return source_options(LEAST | more, Use.STREAM_READ)


def test_the_defaults_are_those_of_the_documentation():
    options = read()
    assert options.connection == Connecting("QM1", connect_wait_s=10, reconnect_wait_s=60)
    assert (options.queue, options.max_partitions, options.max_groups_per_trigger) == ("ORDERS", 8, 1000)
    assert (options.fail_on_data_loss, options.include_mqmd) == (True, False)
    assert options.poll_timeout_ms == 3000
    assert options.max_messages_per_trigger is None
    sink = sink_options({**LEAST, "statusqueue": "S"}, Use.BATCH_WRITE)
    assert (sink.status_queue, sink.messages_per_unit_of_work) == ("S", 100)
    assert (sink.persistence, sink.priority, sink.txn_version) == (Persistence.PERSISTENT, None, None)
    assert sink.put_response == "async"


def test_users_are_a_list_with_commas():
    sink = {**LEAST, "statusqueue": "S"}
    assert sink_options({**sink, "recordUsers": "etl, ops"}, Use.BATCH_WRITE).record_users == ("etl", "ops")
    with pytest.raises(SparkOptionError, match=r"recordUsers.* 'ops@example.com' is not a user"):
        sink_options({**sink, "recordUsers": "ops@example.com"}, Use.BATCH_WRITE)


def test_names_are_compared_without_regard_to_case():
    assert read(MAXGROUPSPERTRIGGER="7").max_groups_per_trigger == 7


def test_an_option_is_said_by_its_field_alone():
    @dataclasses.dataclass(frozen=True)
    class More:
        """More options.

        Attributes:
            must_be: what it is.
            longest_wait_ms: how long.
        """

        must_be: Annotated[str, Use.ALL]
        longest_wait_ms: Annotated[int | None, Whole(0, 9), Use.READ] = None
        mode: Annotated[Literal["on", "Off"], Use.READ] = "on"
        put_response: Annotated[PutResponse, Use.WRITE] = "sync"
        not_one: bool = False

    must_be, wait, mode, response = options_of(More)
    assert must_be.line(of_connection=True) == "| `mustBe` | required | what it is |"
    assert wait.line(of_connection=False) == "| `longestWaitMs` | integer, 0 to 9 | read |  | how long |"
    assert mode.line(of_connection=False) == "| `mode` | `on` or `Off` | read | `on` |  |"
    # What it leaves out, the library's setting of this name says.
    assert "does not wait for the queue manager at each message" in response.meaning
    assert (wait.value("9"), mode.value("off"), must_be.value("x")) == (9, "Off", "x")
    for option, text, said in (
        (wait, "10", "longestWaitMs must be a whole number, 0 to 9, got 10"),
        (wait, "x", "'x' is not valid; expected integer, 0 to 9"),
        (mode, "x", "'x' is not valid; expected `on` or `Off`"),
        (must_be, "", "'' is not valid; expected text"),
    ):
        with pytest.raises(SparkOptionError, match=f"option {option.name} .*: {said}"):
            option.value(text)


def test_every_field_is_an_option_and_they_are_not_more():
    fields = {field.name for cls in (SourceOptions, SinkOptions) for field in dataclasses.fields(cls)} - {"connection"}
    of_connections = {field.name for field in settings_of(Connecting)} - _NO_OPTIONS
    assert {option.field for option in OPTIONS} == fields | of_connections | {"wait_ms"}
    assert len({option.name for option in OPTIONS}) == len(OPTIONS) <= 39


@table(
    ("more", "option", "sentence"),
    [
        (
            {"maxgroupspertriger": "7"},
            "maxgroupspertriger",
            "there is no such option. The nearest is maxGroupsPerTrigger",
        ),
        ({"xyzzy": "7"}, "xyzzy", "there is no such option"),
        (
            {"maxgroupspertrigger": "0"},
            "maxGroupsPerTrigger",
            "maxGroupsPerTrigger must be a whole number, at least 1, got 0",
        ),
        ({"maxgroupspertrigger": "many"}, "maxGroupsPerTrigger", "'many' is not valid; expected integer, at least 1"),
        ({"convert": "perhaps"}, "convert", "'perhaps' is not valid; expected `true` or `false`"),
        ({"queue": "NO SUCH"}, "queue", "queue 'NO SUCH' has ' ' at position 3"),
        ({"txnappid": "S"}, "txnAppId", "it is for batch write, not for stream read"),
        ({"queue": "Q" * 33}, "statusQueue", "it is required, because MQGROUPS.SOURCE.QQQ"),
        ({"mq.channel": "C"}, "mq.channel", "mq.channel and mq.connectionNameList belong together"),
        ({"mq.sslcipherspec": "ANY_TLS12"}, "mq.sslCipherSpec", "mq.sslCipherSpec without mq.channel: it is part"),
        ({"mq.sslpeername": "CN=x"}, "mq.sslPeerName", "mq.sslPeerName without mq.channel: it is part"),
        (
            {"mq.channel": "C", "mq.connectionnamelist": "h(1)", "mq.keyrepository": "k"},
            "mq.keyRepository",
            "mq.keyRepository without mq.sslCipherSpec: the connection would",
        ),
        ({"queue": "ORDERS", "statusqueue": "ORDERS"}, "statusQueue", "it is the queue itself"),
        ({"mq.passwordenv": "P"}, "mq.passwordEnv", "mq.passwordEnv without mq.user: give both"),
        ({"mq.user": "u"}, "mq.user", "mq.user without mq.password: the queue"),
        (
            {"mq.keyrepositorypasswordfile": "f"},
            "mq.keyRepositoryPasswordFile",
            "mq.keyRepositoryPasswordFile without mq.keyRepository",
        ),
        (
            {"mq.tokenenv": "T", "mq.user": "u"},
            "mq.tokenEnv",
            "mq.tokenEnv and mq.user: a token identifies its user; give either a token, or user and password",
        ),
        ({"mq.channel": "C" * 21, "mq.connectionnamelist": "h"}, "mq.channel", "mq.channel has 21 bytes"),
        ({"mq.queuemanager": "*user"}, "mq.queueManager", "mq.queueManager '*user' may connect"),
        ({"mq.waitms": "-1"}, "mq.waitMs", "mq.waitMs must be a whole number, at least 0, got -1"),
        (
            {"mq.user": "u", "mq.passwordenv": "P", "mq.passwordfile": "f"},
            "mq.passwordFile",
            "give only one of mq.passwordFile and",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(more, option, sentence):
    with pytest.raises(SparkOptionError) as refused:
        read(**more)
    assert refused.value.option == option
    assert f"option {option} of format 'ibmmq': {sentence}" in str(refused.value)


def test_what_is_missing_is_named():
    with pytest.raises(SparkOptionError, match="option queue of format 'ibmmq': it is required"):
        source_options({"mq.queuemanager": "QM1"}, Use.BATCH_READ)
    with pytest.raises(SparkOptionError, match=r"option statusQueue .* it is the queue itself"):
        sink_options({"mq.queueManager": "QM1", "queue": "ORDERS", "statusQueue": "ORDERS"}, Use.BATCH_WRITE)
    with pytest.raises(SparkOptionError, match=r"option statusQueue .* is required for a write"):
        sink_options(LEAST, Use.STREAM_WRITE)


def test_what_spark_adds_to_the_options_of_a_stream_is_no_mistake():
    sink = sink_options({**LEAST, "statusqueue": "S", "checkpointlocation": "/c", "queryname": "q"}, Use.STREAM_WRITE)
    assert sink.status_queue == "S"


def test_a_password_is_in_no_repr_and_no_message():
    options = read(**{"mq.user": "u", "mq.password": "geheim"})
    assert options.connection.password == Secret("geheim")
    assert "geheim" not in repr(options)
    with pytest.raises(SparkOptionError) as refused:
        read(**{"mq.password": "geheim"})
    assert "geheim" not in str(refused.value)


def test_options_travel_to_the_workers():
    options = read(**{"mq.user": "u", "mq.password": "geheim"})
    assert pickle.loads(pickle.dumps(options)) == options


def test_the_tables_for_the_documentation_have_every_option_once():
    rows = [row for row in markdown().splitlines() if row.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [option.name for option in OPTIONS]


def test_the_documentation_has_this_table():
    pages = [path.read_text(encoding="utf-8") for path in (Path(__file__).parents[2] / "docs").rglob("*.md")]
    (text,) = (page for page in pages if "<!-- options -->\n" in page)
    between = text.partition("<!-- options -->\n")[2].partition("<!-- /options -->")[0]
    assert between == markdown(), (
        "python -c 'from mqgroups.spark.options import markdown; print(markdown())' is the table"
    )

"""``ccdt_url`` and MQCCDTURL: a channel table in JSON, and what is said of one that is no use."""

from __future__ import annotations

import json
from typing import Any

import pytest

import mqgroups
from embedded_tests.tables import table
from mqgroups import errors

pytestmark = pytest.mark.embedded


@pytest.fixture(autouse=True)
def client(monkeypatch, tmp_path):
    """The directory of a client for which nothing is defined: it is the working, the data and the home directory."""
    for variable in ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB", "MQCLNTCF", "MQSSLKEYR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    for variable in ("MQ_OVERRIDE_DATA_PATH", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    return tmp_path


def test_a_channel_table_says_where_the_queue_manager_is(binding, mq, client, monkeypatch):
    monkeypatch.setenv("MQGROUPS_MQI", binding.__name__)
    host, port = mq.conn_name.rstrip(")").split("(")
    channel = {
        "name": mq.channel,
        "type": "clientConnection",
        "clientConnection": {"connection": [{"host": host, "port": int(port)}], "queueManager": "QM1"},
    }
    (client / "ccdt.json").write_text(json.dumps({"channel": [channel]}))
    given: dict[str, Any] = {"ccdt_url": f"file://{client}/ccdt.json"}
    if binding.__name__ == "pymqi":
        monkeypatch.setenv("MQCCDTURL", given.pop("ccdt_url"))
    with mqgroups.connect("QM1", **given) as q_mgr:
        assert "QM1" in repr(q_mgr)


@table(
    ("content", "sentence"),
    [
        (
            b"AMQR",
            "2298 MQRC_FUNCTION_NOT_SUPPORTED. The client does not support this kind of channel definition table",
        ),
        (b"{", "2600 MQRC_CCDT_URL_ERROR. The channel definition table cannot be read; check ccdt_url or MQCCDTURL"),
        (
            b"{}",
            "2058 MQRC_Q_MGR_NAME_ERROR. The channel definition table has no definition for this name (queueManager)",
        ),
    ],
)
def test_errors_say_what_is_wrong_with_a_channel_table(binding, client, monkeypatch, content, sentence):
    monkeypatch.setenv("MQGROUPS_MQI", binding.__name__)
    (client / "ccdt.json").write_bytes(content)
    given: dict[str, Any] = {"ccdt_url": f"file://{client}/ccdt.json"}
    if binding.__name__ == "pymqi":
        monkeypatch.setenv("MQCCDTURL", given.pop("ccdt_url"))
        if content == b"{}":
            sentence = "If it is, there is no queue manager of this name there"
    with pytest.raises(errors.MQIError) as refused:
        mqgroups.connect("QM1", **given)
    assert sentence in str(refused.value)

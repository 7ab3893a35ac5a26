"""``mqgroups pipeline``: what it says and how it ends."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from mqgroups.spark.pipeline.records import BatchRecords
from tests import fix_cli
from tests.spark.test_pipeline_config import WHOLE
from tests.spark.test_pipeline_report import FIRST, SECOND


@pytest.fixture
def config(tmp_path, mq, owner, make_queue, monkeypatch):
    """A configuration for the queue manager under test."""
    monkeypatch.setenv("TEST_MQ_PASSWORD", mq.password or "")
    out, bad = make_queue(), make_queue()
    text = WHOLE.replace("localhost(1414)", mq.conn_name).replace("DEV.APP.SVRCONN", mq.channel)
    text = text.replace('passwordFile = "secrets/password"', 'passwordEnv = "TEST_MQ_PASSWORD"').replace(
        '"OUT"', f'"{out}"'
    )
    text = text.replace('"IN"', f'"{owner.queue}"').replace('path = "bad"', f'queue = "{bad}"')
    (tmp_path / "q.sql").write_text("SELECT * FROM rows")
    path = tmp_path / "p.toml"
    path.write_text(text)
    return path


def invoke(*words):
    return fix_cli.invoke("pipeline", *words)


def test_check_says_what_would_be_read_and_written(config, owner):
    owner.put_group([b"1", b"2"])
    result = invoke("check", config)
    assert result.exit_code == 0, result.output
    assert f"{owner.queue}: 1 group, 2 messages" in result.output
    assert "a group for each a" in result.output
    assert "MQGROUPS.SPARK.P, to be made" in result.output


def test_check_ends_with_2_on_a_wrong_file_and_names_the_key(config):
    result = invoke("check", config, "--set", "source.maxGroupsPerTriger=1")
    assert result.exit_code == 2
    assert "source.maxgroupspertriger: there is no such option. The nearest is maxGroupsPerTrigger" in result.output


def test_check_ends_with_1_when_a_queue_is_missing(config):
    result = invoke("check", config, "--set", "outgoing.queue=NO.SUCH.QUEUE")
    assert result.exit_code == 1
    assert "NO.SUCH.QUEUE" in result.output
    assert "2085" in result.output


def test_run_ends_with_2_before_it_starts_anything_when_the_file_is_wrong(config):
    result = invoke("run", config, "--set", "name=7")
    assert result.exit_code == 2
    assert "name: found 7, expected text" in result.output


def test_run_wants_settings_with_a_value(config, monkeypatch):
    monkeypatch.setattr("mqgroups.spark.pipeline.run.set_up", lambda *_, **__: None)
    result = invoke("run", config, "--conf", "spark.cores.max")
    assert result.exit_code == 2
    assert "'spark.cores.max' is not NAME=VALUE" in result.output


def test_report_is_made_of_the_records_and_says_where_it_is(config, tmp_path):
    records = BatchRecords(tmp_path / "report")
    records.open()
    records.add(FIRST)
    records.add(SECOND)
    result = invoke("report", config)
    assert result.exit_code == 0, result.output
    assert "messages read" in result.output
    found = json.loads((tmp_path / "report" / "report.json").read_text())
    assert found["batches"] == [json.loads(json.dumps(asdict(record))) for record in (FIRST, SECOND)]


def test_report_is_on_the_present_checkpoint_only(config, tmp_path):
    records = BatchRecords(tmp_path / "report")
    records.open()
    records.add(FIRST)
    records.add(replace(FIRST, query="new", groups=9))
    assert invoke("report", config).exit_code == 0
    assert json.loads((tmp_path / "report" / "report.json").read_text())["groups"] == 9


def test_without_records_there_is_no_report(config):
    result = invoke("report", config)
    assert result.exit_code == 0
    assert "no micro-batch has run" in result.output

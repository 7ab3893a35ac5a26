"""The pipeline in a Spark session: what passes is transformed and written once, what does not is in quarantine with why."""

from __future__ import annotations

import json
import os
import shutil
import signal
from itertools import count
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark import SparkConf, SparkContext

from mqgroups.cli.batch_lines import JsonLines
from mqgroups.connection.holder import connection_of
from mqgroups.errors import ConfigurationError
from mqgroups.mqi import constants as mqi
from mqgroups.mqi import structures as st
from mqgroups.spark.browse import BrowsedQueue
from mqgroups.spark.errors import CheckpointUnusable
from mqgroups.spark.headers import taken_off
from mqgroups.spark.pipeline import run
from mqgroups.spark.pipeline.config import read_config
from mqgroups.spark.pipeline.errors import PipelineConfigError, QueryFailed, TransformFailed
from mqgroups.spark.pipeline.inspection import Waiting, inspect
from mqgroups.spark.pipeline.micro_batch import MicroBatches
from mqgroups.spark.pipeline.outputs import DETAIL, GROUP_ID, REASON, SEQ_NUMBER
from mqgroups.spark.pipeline.transform import transformation
from tests import fix_cli

pytestmark = pytest.mark.slow
_numbers = count(1)
CONFIG = """
name = "{name}"
checkpoint = "checkpoint"
[mq]
queueManager = "{mq.q_mgr_name}"
connectionNameList = "{mq.conn_name}"
channel = "{mq.channel}"
user = "{mq.user}"
passwordEnv = "TEST_MQ_PASSWORD"
[source]
queue = "{queue}"
maxPartitions = 2
[body]
format = "json"
columns = {{ item = "string not null", price = "int" }}
[checks]
unique = ["item"]
[transform]
sql = "q.sql"
[parquet]
path = "parquet"
[outgoing]
queue = "{out}"
groupBy = "group"
orderBy = ["item"]
[quarantine]
queue = "{bad}"
[report]
path = "report"
"""
SQL = "SELECT min(item) OVER (PARTITION BY group_id) AS `group`, item, price * 2 AS double FROM rows"


class Steps:
    """Takes note of what it is told; the micro-batch may fail when all its steps are done, before Spark notes that."""

    def __init__(self, fails=False):
        self.steps, self.records = [], []
        self._fails = fails

    def step(self, batch, name):
        self.steps.append((batch, name))

    def done(self, record):
        self.records.append(record)
        if self._fails:
            raise ZeroDivisionError


class Case:
    """A pipeline between three queues of its own, in a folder of its own."""

    def __init__(self, mq, spark, owner, make_queue, folder):
        self.mq, self.spark, self.owner, self.folder = mq, spark, owner, folder
        self.out, self.bad = make_queue(), make_queue()
        name = f"TEST.{os.getpid()}.{next(_numbers)}"
        self.path = folder / "pipeline.toml"
        self.path.write_text(CONFIG.format(name=name, mq=mq, queue=owner.queue, out=self.out, bad=self.bad))
        (folder / "q.sql").write_text(SQL)

    def put(self, *items, **prices):
        """Put a group of these items."""
        self.owner.put_group([json.dumps({"item": item, "price": prices.get(item, 1)}) for item in items])

    def run(self, *overrides, text=None, steps=None, **more):
        """Run it once over what is there; returns what its watcher was told."""
        if text is not None:
            self.path.write_text(text)
        steps = steps or Steps()
        config = read_config(self.path, overrides)
        run.start(config, self.spark, steps, available_now=True, **more).wait()
        return steps

    def without(self, table):
        """Return the configuration without a table."""
        head, _, rest = self.path.read_text().partition(f"[{table}]\n")
        return head + rest[rest.index("\n[") + 1 :]

    def parquet(self):
        """Return the rows that readers see in Parquet."""
        import pyarrow.parquet

        if not list((self.folder / "parquet").rglob("*.parquet")):
            return []
        rows = pyarrow.parquet.read_table(self.folder / "parquet", partitioning=None).to_pylist()
        return sorted((row["group"], row["item"], row["double"]) for row in rows)

    def groups(self, queue):
        """Return the groups on a queue, each message with its properties."""
        with self.owner.connect() as q_mgr, BrowsedQueue(connection_of(q_mgr), queue, headers=True) as browsed:
            found = []
            for head in browsed.heads():
                messages = []
                for message in browsed.messages(head):
                    encoding, ccsid = (st.long_at(message.md, at) for at in (st.MD_ENCODING, st.MD_CODED_CHAR_SET_ID))
                    headed = taken_off(message.data, encoding, ccsid)
                    messages.append((headed.data, headed.properties) if headed else (message.data, {}))
                found.append(messages)
        return found

    def published(self):
        """Return the bodies of the groups on the outgoing queue."""
        return sorted([data for data, _ in group] for group in self.groups(self.out))

    def rejected(self):
        """Return, of each group in quarantine, its bodies and its reason."""
        return sorted(
            ([data for data, _ in group], {properties[REASON].decode() for _, properties in group})
            for group in self.groups(self.bad)
        )


@pytest.fixture
def case(mq, spark, owner, make_queue, tmp_path):
    return Case(mq, spark, owner, make_queue, tmp_path)


SHUFFLE, ADAPTIVE = "spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled"


@pytest.fixture
def settings(spark):
    """The session's settings, which are as before after the test."""
    before = {each: spark.conf.get(each) for each in (SHUFFLE, ADAPTIVE)}
    yield spark.conf
    for each, value in before.items():
        spark.conf.set(each, value)


def test_good_groups_are_written_to_both_outputs_and_bad_ones_are_in_quarantine_as_they_were(case):
    case.put("b", "a", a=5, b=7)
    case.put("c")
    bad = [
        ([b'{"item": "x", "price": 1}', b"secret"], "body"),
        ([b'{"item": "x", "price": 1}', b'{"item": "x", "price": 2}'], "unique"),
        ([b'{"item": "z"}'], "body"),
    ]
    for bodies, _ in bad:
        case.owner.put_group(bodies)
    (secret,) = (found for found in case.owner.on_queue() if found.data == b"secret")
    # What no column or property can hold.
    for body, format_name in ((b'{"item": "\\ud800"}', mqi.MQFMT_NONE), (b"a format that is no text", b"\xff" * 8)):
        case.owner.put_raw(body, Format=format_name, MsgFlags=mqi.MQMF_LAST_MSG_IN_GROUP)
        bad.append(([body], "body"))
    # Text from a mainframe: read by its CCSID, and labelled with it in quarantine.
    alone = '{"item": "alone", "price": 1}'.encode("cp500")
    case.owner.put_raw(alone, Format=mqi.MQFMT_STRING, CodedCharSetId=500)
    bad.append(([alone], "not_in_group"))
    with case.owner.producer(commit_every=1) as producer, producer.group() as group:
        group.put(b'{"item": "v", "price": 1}')
        group.put(b'{"item": "w", "price": 1}')
        group.abandon(3, "no more")
    bad.append(([b'{"item": "v", "price": 1}', b""], "abandoned"))
    with case.owner.producer() as producer, producer.group() as group:
        group.put(b'{"item": "x", "price": 1}')
        # IBM MQ, topic "Failure of a file-to-message transfer"
        group.put(b"", last=True, properties={"WMQFTEResultCode": 40, "WMQFTESupplement": "BFGTR0036I"})
    bad.append(([b'{"item": "x", "price": 1}', b""], "abandoned"))
    steps = case.run()
    assert case.parquet() == [("a", "a", 10), ("a", "b", 14), ("c", "c", 2)]
    assert case.published() == [
        [b'{"group":"a","item":"a","double":10}', b'{"group":"a","item":"b","double":14}'],
        [b'{"group":"c","item":"c","double":2}'],
    ]
    assert case.rejected() == sorted((bodies, {reason}) for bodies, reason in bad)
    assert case.owner.on_queue() == []
    assert steps.steps == [(0, step) for step in ("began", "counted", "parquet", "outgoing", "quarantine")]
    (record,) = steps.records
    assert (record.groups, record.messages, record.rows, record.rows_out, record.groups_out) == (10, 15, 3, 3, 2)
    assert all(0 <= latency < 600 for latency in record.latencies_s)
    assert [found.md.CodedCharSetId for found in case.owner.on_queue(case.bad) if found.data == alone] == [500]
    # A message in quarantine says where it was and what was wrong.
    (properties,) = (of for group in case.groups(case.bad) for data, of in group if data == b"secret")
    assert properties[DETAIL] == b"message 2: it is not JSON at character 0"
    assert properties[SEQ_NUMBER] == b"2"
    assert bytes.fromhex(properties[GROUP_ID].decode()) == secret.group_id
    # The page of Spark's UI says what is done in a job.
    jobs = case.spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    described = {text.get() for text in (jobs.apply(at).description() for at in range(jobs.size())) if text.isDefined()}
    done = ("check groups", "write Parquet", "count the result", "put groups", "put rejected groups in quarantine")
    assert described >= {f"{read_config(case.path, ()).name}, micro-batch 0: {step}" for step in done}


def test_rows_that_spark_takes_for_equal_repeat_one_another_and_bad_groups_alone_give_no_result(case):
    case.owner.put_group(
        [b'{"item": "x", "price": 0.0}', b'{"item": null, "price": 1}', b'{"item": "x", "price": -0.0}']
    )
    case.owner.put_group([b'{"item": null, "price": 4}', b'{"item": null, "price": 4}', b'{"item": null, "price": 4}'])
    (case.folder / "q.sql").write_text("SELECT 'all' AS `group`, 'n' AS item, count(*) AS double FROM rows")
    steps = case.run(
        'checks.unique=["item", "price"]',
        "body.columns.item=string",
        "body.columns.price=double",
        "outgoing.orderBy=[]",
    )
    assert sorted(each.detail for each in steps.records[0].rejected) == [
        "message 2 repeats another row, and 1 more like it",
        "message 3 repeats another row",
    ]
    assert (case.parquet(), case.published(), len(case.rejected())) == ([], [], 2)


def test_a_function_transforms_trailers_are_no_rows_and_quarantine_can_be_a_folder(case):
    (case.folder / "own_transform.py").write_text(
        "from pyspark.sql import functions as F\n\n"
        "def double(rows):\n"
        "    return rows.select(F.lit('all').alias('group'), 'item', (F.col('price') * 2).alias('double'))\n"
    )
    case.owner.put_group([b'{"item": "b", "price": 1}', b'{"item": "a", "price": 1}', b'{"rows": 2}'])
    case.owner.put_group([b'{"item": "b", "price": 1}', b'{"rows": 2}'])
    case.owner.put_group([b'{"item": "c", "price": 1}', b'{"item": "d", "price": 1}'])
    case.owner.put_group([b'{"rows": 0}'])
    case.owner.put_group(['{"item": "ø"}', b"\xff\x00", b'{"rows": 2}'])
    text = case.path.read_text().replace('sql = "q.sql"', 'function = "own_transform:double"')
    steps = case.run("body.trailer=rows", text=text.replace(f'queue = "{case.bad}"', 'path = "bad"'))
    assert case.published() == [[b'{"group":"all","item":"a","double":2}', b'{"group":"all","item":"b","double":2}']]
    assert sorted(each.detail for each in steps.records[0].rejected) == [
        "message 1: column price is missing, and 1 more like it",
        'message 2: it is not a trailer, expected {"rows": <number of rows>}',
        "the trailer says 2 rows, but there are 1 messages before it",
    ]
    files = list((case.folder / "bad").rglob("part-*.json"))
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert sorted(
        (line["msg_seq_number"], line.get("text"), line["value"]) for line in lines if line["reason"] == "body"
    ) == [(1, '{"item": "ø"}', "eyJpdGVtIjogIsO4In0="), (2, None, "/wA="), (3, '{"rows": 2}', "eyJyb3dzIjogMn0=")]
    assert {path.parent.name for path in files} == {"batch=0"}


def test_rows_go_out_as_they_come_without_a_transform(case):
    case.put("a")
    case.run("checks.unique=[]", "outgoing.groupBy=item", "outgoing.body=csv", text=case.without("transform"))
    ((body,),) = case.published()
    assert body.endswith(b",a,1")


def test_a_failed_transform_loses_nothing_and_the_corrected_one_goes_on_with_the_same_groups(case):
    case.put("a")
    for sql, error, said in (
        ("SELECT nothing FROM rows", TransformFailed, r"q.sql failed: AnalysisException: .*nothing.* SQLSTATE: 42703"),
        # This one fails inside a task.
        ("SELECT CAST(NULL AS STRING) AS `group`, item, price AS double FROM rows", QueryFailed, "WriteRefused: "),
    ):
        (case.folder / "q.sql").write_text(sql)
        with pytest.raises(error, match=said) as failed:
            case.run()
        assert "\n" not in str(failed.value)
        assert len(case.owner.on_queue()) == 1
    shutil.rmtree(case.folder / "parquet")
    (case.folder / "q.sql").write_text(SQL)
    assert [record.batch for record in case.run().records] == [0]
    assert case.parquet() == [("a", "a", 2)]
    assert case.owner.on_queue() == []


def test_a_result_without_the_columns_that_the_outputs_name_is_refused(case):
    rows = case.spark.createDataFrame([("a", 1)], "item string, price int")
    for sql, problem in (
        ("SELECT item FROM rows", "has the columns item; expected 'group', which outgoing names"),
        ("SELECT item AS `group` FROM rows", "expected 'item', which outgoing names"),
        ("SELECT 1 AS `group`, item, 2 AS batch FROM rows", "'batch', but the Parquet folders use that name"),
    ):
        (case.folder / "q.sql").write_text(sql)
        config = read_config(case.path)
        with pytest.raises(TransformFailed, match=problem):
            MicroBatches(config, case.spark, transformation(config), Steps())._result(rows)


def test_what_was_done_before_its_end_was_noted_is_not_done_again_and_half_a_folder_is_written_anew(case):
    """Given a micro-batch that is done, when Spark does not note that, then its outputs stay as they are."""

    def run():
        steps = Steps(fails=True)
        with pytest.raises(QueryFailed, match="ZeroDivisionError"):
            case.run(steps=steps)
        return steps

    case.put("a")
    case.owner.put_group([b"bad"])
    held = case.owner.on_queue()
    run()
    assert len(case.owner.on_queue()) == len(held)
    before = case.parquet(), case.groups(case.out), case.groups(case.bad)
    assert [record.batch for record in run().records] == [0]
    assert (case.parquet(), case.groups(case.out), case.groups(case.bad)) == before
    (query,) = (case.folder / "parquet").glob("query=*")
    staging = case.folder / "parquet" / "_staging" / f"{query.name.removeprefix('query=')}-0"
    (query / "batch=0").rename(staging)
    (staging / "part-of-a-dead-attempt.parquet").write_bytes(b"PAR1")
    case.run()
    assert (case.parquet(), case.groups(case.out), case.groups(case.bad)) == before
    assert case.owner.on_queue() == []
    assert len((case.folder / "report" / "batches.jsonl").read_text().splitlines()) == 1


def test_a_new_checkpoint_is_refused_until_it_is_meant(case):
    case.put("a")
    case.run()
    case.put("b")
    (case.folder / "checkpoint").rename(case.folder / "lost")
    with pytest.raises(CheckpointUnusable, match="--new-checkpoint"):
        case.run()
    assert case.parquet() == [("a", "a", 2)]
    case.run(new_checkpoint=True)
    assert case.parquet() == [("a", "a", 2), ("b", "b", 2)]
    assert len(case.published()) == 2
    assert case.owner.on_queue() == []


def test_micro_batches_are_as_large_as_the_source_is_told_and_one_output_is_enough(case):
    for item in "abc":
        case.put(item)
    steps = case.run("source.maxGroupsPerTrigger=2", text=case.without("outgoing"))
    assert [(record.batch, record.groups) for record in steps.records] == [(0, 2), (1, 1)]
    assert [(record.rows_out, record.groups_out) for record in steps.records] == [(2, 0), (1, 0)]
    assert case.parquet() == [(item, item, 2) for item in "abc"]
    reported = run.write_report(read_config(case.path))
    assert reported is not None
    report, file = reported
    assert (report.groups, report.micro_batches) == (3, 2)
    assert json.loads(file.read_text())["groups"] == 3


def test_a_local_session_has_settings_for_few_cores_unless_the_file_says_otherwise(case, settings, monkeypatch):
    # The session of the tests was made with values of its own.
    monkeypatch.setattr(SparkContext, "getConf", lambda _: SparkConf(loadDefaults=False))
    text = case.path.read_text()
    for name, of_spark, given, expected in (
        (SHUFFLE, "200", None, "2"),
        (SHUFFLE, "200", "5", "5"),
        (ADAPTIVE, "true", None, "false"),
        (ADAPTIVE, "true", "true", "true"),
    ):
        settings.set(name, of_spark)
        case.path.write_text(text if given is None else f'{text}[spark]\n"{name}" = {given}\n')
        assert run.session(read_config(case.path)).conf.get(name) == expected


@pytest.fixture
def command(case, settings, monkeypatch):
    """A function that runs ``mqgroups pipeline run`` in the session of the tests, which it does not stop."""
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "of the tests")
    monkeypatch.setattr(type(case.spark), "stop", lambda _: None)
    return lambda *words: fix_cli.invoke("pipeline", "run", case.path, "-o", "json", *words)


def test_the_command_ends_with_1_and_one_sentence_when_its_pipeline_fails(case, command):
    case.put("a")
    (case.folder / "q.sql").write_text("SELECT nothing FROM rows")
    done = command("--available-now")
    assert done.exit_code == 1
    (sentence,) = (line for line in done.stderr.splitlines() if line.startswith("mqgroups: "))
    assert "q.sql failed: AnalysisException" in sentence
    assert "Traceback" not in done.output


def test_the_command_goes_on_until_it_is_told_to_stop_and_then_reports(case, command, monkeypatch):
    class Disturbed(JsonLines):
        def done(self, record):
            super().done(record)
            if record.batch == 0:
                case.put("b")
            else:
                os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("mqgroups.cli.pipeline.JsonLines", Disturbed)
    case.put("a")
    done = command()
    assert done.exit_code == 0, done.output
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(event["batch"], event["groups"]) for event in events if event["event"] == "done"] == [(0, 1), (1, 1)]
    assert json.loads(Path(events[-1]["json"]).read_text())["groups"] == 2


def test_a_second_signal_does_not_interrupt_a_call_to_the_jvm_either(command, monkeypatch):
    """Given a query that is being ended, when another signal comes, then the query ends as after one."""

    def wait(running, stop):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(number)
        assert stop()
        running.query.stop()

    monkeypatch.setattr(run.RunningPipeline, "wait", wait)
    done = command()
    assert done.exit_code == 0, done.output


def test_a_function_that_cannot_be_imported_is_a_configuration_error(case):
    text = case.path.read_text().replace('sql = "q.sql"', 'function = "no_such_module:f"')
    with pytest.raises(PipelineConfigError, match="no_such_module:f cannot be imported"):
        case.run(text=text)


def test_a_password_that_is_not_there_is_told(case, monkeypatch):
    monkeypatch.delenv("TEST_MQ_PASSWORD")
    with pytest.raises(ConfigurationError, match="TEST_MQ_PASSWORD"):
        inspect(read_config(case.path))


def test_inspection_says_what_waits_and_changes_nothing(case):
    case.put("a", "b")
    case.put("c")
    case.owner.put_raw(b"alone")
    case.owner.put_raw_group([b"begun"], whole=False)
    found = inspect(read_config(case.path))
    assert found.waiting == Waiting(groups=2, messages=3, ungrouped=1, depth=5, readers=0)
    assert set(found.status_queues.values()) == {False}
    assert len(case.owner.on_queue()) == 5
    handle = case.owner.eye.open(case.owner.queue, mqi.MQOO_INPUT_SHARED)
    assert inspect(read_config(case.path)).waiting.readers == 1
    handle.close()

"""The pipeline in a Spark session: what passes is transformed and written once, what does not is in quarantine with why."""

from __future__ import annotations

import json
import os
from itertools import count

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark import SparkConf, SparkContext

from mqgroups.connection.holder import connection_of
from mqgroups.errors import ConfigurationError
from mqgroups.mqi import constants as mqi
from mqgroups.mqi import structures as st
from mqgroups.spark.browse import BrowsedQueue
from mqgroups.spark.headers import taken_off
from mqgroups.spark.pipeline import run
from mqgroups.spark.pipeline.config import read_config
from mqgroups.spark.pipeline.errors import CheckpointForeign, PipelineConfigError, QueryFailed, TransformFailed
from mqgroups.spark.pipeline.outputs import DETAIL, GROUP_ID, REASON, SEQ_NUMBER

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
minPartitions = 2
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
    """Takes note of what it is told."""

    def __init__(self):
        self.steps, self.records = [], []

    def step(self, batch, name):
        self.steps.append((batch, name))

    def done(self, record):
        self.records.append(record)


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

    def run(self, *overrides, text=None, **more):
        """Run it once over what is there; returns what its watcher was told."""
        if text is not None:
            self.path.write_text(text)
        steps = Steps()
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
                for message in browsed.messages(head.planned):
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


def test_groups_are_transformed_and_written_to_both_outputs_and_the_queue_is_empty(case):
    case.put("b", "a", a=5, b=7)
    case.put("c")
    steps = case.run()
    assert case.parquet() == [("a", "a", 10), ("a", "b", 14), ("c", "c", 2)]
    assert case.published() == [
        [b'{"group":"a","item":"a","double":10}', b'{"group":"a","item":"b","double":14}'],
        [b'{"group":"c","item":"c","double":2}'],
    ]
    assert case.groups(case.bad) == []
    assert case.owner.on_queue() == []
    assert steps.steps == [(0, "began"), (0, "counted"), (0, "parquet"), (0, "outgoing")]
    (record,) = steps.records
    assert (record.groups, record.messages, record.rows, record.rows_out, record.groups_out) == (2, 3, 3, 3, 2)
    assert all(0 <= latency < 600 for latency in record.latencies_s)


def test_each_bad_group_is_in_quarantine_as_it_was_with_its_reason_and_nothing_of_it_elsewhere(case):
    case.put("good")
    case.owner.put_group([b'{"item": "x", "price": 1}', b'{"item": "y", "price": "1"}'])
    case.owner.put_group([b'{"item": "x", "price": 1}', b'{"item": "x", "price": 2}'])
    case.owner.put_group([b'{"item": "z"}'])
    case.owner.put_raw(b'{"item": "alone", "price": 1}')
    with case.owner.producer(commit_every=1) as producer, producer.group() as group:
        group.put(b'{"item": "v", "price": 1}')
        group.put(b'{"item": "w", "price": 1}')
        group.abandon(3, "no more")
    case.run()
    assert case.rejected() == [
        ([b'{"item": "alone", "price": 1}'], {"not_in_group"}),
        ([b'{"item": "v", "price": 1}', b""], {"abandoned"}),
        ([b'{"item": "x", "price": 1}', b'{"item": "x", "price": 2}'], {"unique"}),
        ([b'{"item": "x", "price": 1}', b'{"item": "y", "price": "1"}'], {"body"}),
        ([b'{"item": "z"}'], {"body"}),
    ]
    assert case.parquet() == [("good", "good", 2)]
    assert case.published() == [[b'{"group":"good","item":"good","double":2}']]
    assert case.owner.on_queue() == []


def test_messages_that_no_column_or_property_can_hold_are_in_quarantine_and_do_not_stop_what_follows(case):
    bodies = {
        b'{"item": "\\ud800"}': mqi.MQFMT_NONE,
        b"a format that is no text": b"\xff" * 8,
    }
    for data, format_name in bodies.items():
        case.owner.put_raw(data, Format=format_name, MsgFlags=mqi.MQMF_LAST_MSG_IN_GROUP)
    case.put("good")
    case.run()
    assert case.rejected() == sorted(([data], {"body"}) for data in bodies)
    assert case.parquet() == [("good", "good", 2)]


def test_rows_that_spark_takes_for_equal_repeat_one_another(case):
    case.owner.put_group(
        [b'{"item": "x", "price": 0.0}', b'{"item": null, "price": 1}', b'{"item": "x", "price": -0.0}']
    )
    case.owner.put_group([b'{"item": "y", "price": 2}', b'{"item": null, "price": 2}', b'{"item": null, "price": 3}'])
    case.owner.put_group([b'{"item": null, "price": 4}', b'{"item": null, "price": 4}', b'{"item": null, "price": 4}'])
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


def test_jobs_are_described_by_what_the_pipeline_does_in_them(case):
    case.put("good")
    case.owner.put_group([b'{"item": "x", "price": "1"}'])
    case.run()
    name = read_config(case.path, ()).name
    jobs = case.spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = [jobs.apply(at).description() for at in range(jobs.size())]
    described = {text.get() for text in found if text.isDefined()}
    steps = ("check groups", "write Parquet", "count the result", "put groups", "put rejected groups in quarantine")
    assert described >= {f"{name}, micro-batch 0: {step}" for step in steps}


def test_a_message_in_quarantine_says_where_it_was_and_what_was_wrong(case):
    case.owner.put_group([b'{"item": "x", "price": 1}', b"secret"])
    (first, _) = case.owner.on_queue()
    case.run()
    ((_, (data, properties)),) = case.groups(case.bad)
    assert data == b"secret"
    assert properties[DETAIL] == b"message 2: it is not JSON at character 0"
    assert properties[SEQ_NUMBER] == b"2"
    assert bytes.fromhex(properties[GROUP_ID].decode()) == first.group_id


def test_trailers_are_counted_and_are_no_rows(case):
    case.owner.put_group([b'{"item": "a", "price": 1}', b'{"rows": 1}'])
    case.owner.put_group([b'{"item": "b", "price": 1}', b'{"rows": 2}'])
    case.owner.put_group([b'{"item": "c", "price": 1}', b'{"item": "d", "price": 1}'])
    case.owner.put_group([b'{"rows": 0}'])
    steps = case.run("body.trailer=rows")
    assert case.parquet() == [("a", "a", 2)]
    assert sorted(each.detail for each in steps.records[0].rejected) == [
        'message 2: it is not a trailer, expected {"rows": <number of rows>}',
        "the trailer says 2 rows, but there are 1 messages before it",
    ]


def test_quarantine_can_be_a_folder(case):
    case.owner.put_group(['{"item": "ø"}', b"\xff\x00"])
    text = case.path.read_text().replace(f'queue = "{case.bad}"', 'path = "bad"')
    case.run(text=text)
    (path,) = (case.folder / "bad").rglob("part-*.json")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["msg_seq_number"], line["reason"], line.get("text"), line["value"]) for line in lines] == [
        (1, "body", '{"item": "ø"}', "eyJpdGVtIjogIsO4In0="),
        (2, "body", None, "/wA="),
    ]
    assert path.parent.name == "batch=0"


def test_a_function_transforms_as_sql_does(case):
    (case.folder / "own_transform.py").write_text(
        "from pyspark.sql import functions as F\n\n"
        "def double(rows):\n"
        "    return rows.select(F.lit('all').alias('group'), 'item', (F.col('price') * 2).alias('double'))\n"
    )
    case.put("b", "a")
    case.run(text=case.path.read_text().replace('sql = "q.sql"', 'function = "own_transform:double"'))
    assert case.published() == [[b'{"group":"all","item":"a","double":2}', b'{"group":"all","item":"b","double":2}']]


def test_rows_go_out_as_they_come_without_a_transform(case):
    case.put("a")
    case.run("outgoing.groupBy=item", "outgoing.body=csv", text=case.without("transform"))
    ((body,),) = case.published()
    assert body.endswith(b",a,1")


def test_one_output_is_enough(case):
    case.put("a")
    steps = case.run(text=case.without("outgoing"))
    assert case.parquet() == [("a", "a", 2)]
    assert (steps.records[0].rows_out, steps.records[0].groups_out) == (1, 0)


def test_a_micro_batch_of_bad_groups_only_gives_no_result_even_if_the_transform_would(case):
    case.owner.put_group([b"{}"])
    (case.folder / "q.sql").write_text("SELECT 'all' AS `group`, 'n' AS item, count(*) AS double FROM rows")
    case.run()
    assert case.parquet() == []
    assert case.published() == []
    assert len(case.rejected()) == 1


def test_a_failed_transform_loses_nothing_and_the_corrected_one_goes_on_with_the_same_groups(case):
    case.put("a")
    (case.folder / "q.sql").write_text("SELECT nothing FROM rows")
    with pytest.raises(
        TransformFailed, match=r"q.sql failed: AnalysisException: .*nothing.* SQLSTATE: 42703[^\n]*$"
    ) as error:
        case.run()
    assert "\n" not in str(error.value)
    assert len(case.owner.on_queue()) == 1
    (case.folder / "q.sql").write_text(SQL)
    assert [record.batch for record in case.run().records] == [0]
    assert case.parquet() == [("a", "a", 2)]
    assert case.owner.on_queue() == []


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("SELECT item FROM rows", "has the columns item; expected 'group', which outgoing names"),
        ("SELECT item AS `group` FROM rows", "expected 'item', which outgoing names"),
        ("SELECT 1 AS `group`, item, 2 AS batch FROM rows", "a column 'batch', but the Parquet folders use that name"),
    ],
)
def test_a_result_without_the_columns_that_the_outputs_name_is_refused_before_anything_is_written(case, sql, problem):
    case.put("a")
    (case.folder / "q.sql").write_text(sql)
    with pytest.raises(TransformFailed, match=problem):
        case.run()
    assert case.parquet() == []


def test_what_fails_inside_a_task_is_told_in_one_sentence(case):
    case.put("a")
    (case.folder / "q.sql").write_text("SELECT CAST(NULL AS STRING) AS `group`, item, price AS double FROM rows")
    with pytest.raises(QueryFailed) as error:
        case.run()
    assert "RowRefused: " in str(error.value)
    assert "\n" not in str(error.value)


def test_what_was_done_before_its_end_was_noted_is_not_done_again(case):
    """Given a micro-batch that is done, when Spark's note of that is lost, then its outputs stay as they are."""
    case.put("a")
    case.owner.put_group([b"bad"])
    held = case.owner.on_queue()
    case.run("source.eagerCommit=false")
    assert len(case.owner.on_queue()) == len(held)
    (case.folder / "checkpoint" / "commits" / "0").unlink()
    (case.folder / "checkpoint" / "commits" / ".0.crc").unlink()
    before = case.parquet(), case.groups(case.out), case.groups(case.bad)
    steps = case.run()
    assert [record.batch for record in steps.records] == [0]
    assert (case.parquet(), case.groups(case.out), case.groups(case.bad)) == before
    assert case.owner.on_queue() == []
    assert len((case.folder / "report" / "batches.jsonl").read_text().splitlines()) == 1


def test_half_a_folder_in_staging_is_written_anew(case):
    case.put("a")
    case.run("source.eagerCommit=false")
    (query,) = (case.folder / "parquet").glob("query=*")
    staging = case.folder / "parquet" / "_staging" / f"{query.name.removeprefix('query=')}-0"
    (query / "batch=0").rename(staging)
    (staging / "part-of-a-dead-attempt.parquet").write_bytes(b"PAR1")
    for name in ("0", ".0.crc"):
        (case.folder / "checkpoint" / "commits" / name).unlink()
    case.run()
    assert case.parquet() == [("a", "a", 2)]
    assert case.published() == [[b'{"group":"a","item":"a","double":2}']]


def test_a_new_checkpoint_is_refused_until_it_is_meant(case):
    case.put("a")
    case.run()
    case.put("b")
    (case.folder / "checkpoint").rename(case.folder / "lost")
    with pytest.raises(CheckpointForeign, match="--new-checkpoint"):
        case.run()
    assert case.parquet() == [("a", "a", 2)]
    case.run(new_checkpoint=True)
    assert case.parquet() == [("a", "a", 2), ("b", "b", 2)]
    assert len(case.published()) == 2
    assert case.owner.on_queue() == []
    case.put("c")
    assert [record.batch for record in case.run().records] == [1]


def test_micro_batches_are_as_large_as_the_source_is_told(case):
    for item in "abc":
        case.put(item)
    steps = case.run("source.maxGroupsPerTrigger=2")
    assert [(record.batch, record.groups) for record in steps.records] == [(0, 2), (1, 1)]
    reported = run.write_report(read_config(case.path))
    assert reported is not None
    assert (reported.report.groups, reported.report.micro_batches) == (3, 2)
    assert json.loads(reported.json.read_text())["groups"] == 3


@pytest.mark.parametrize(
    ("name", "of_spark", "given", "expected"),
    [
        ("spark.sql.shuffle.partitions", "200", None, "2"),
        ("spark.sql.shuffle.partitions", "200", "5", "5"),
        ("spark.sql.adaptive.enabled", "true", None, "false"),
        ("spark.sql.adaptive.enabled", "true", "true", "true"),
    ],
)
def test_a_local_session_has_settings_for_few_cores_unless_the_file_says_otherwise(
    case, monkeypatch, name, of_spark, given, expected
):
    names = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")
    before = {each: case.spark.conf.get(each) for each in names}
    # The session of the tests was made with values of its own.
    monkeypatch.setattr(SparkContext, "getConf", lambda _: SparkConf(loadDefaults=False))
    case.spark.conf.set(name, of_spark)
    if given is not None:
        case.path.write_text(f'{case.path.read_text()}[spark]\n"{name}" = {given}\n')
    try:
        assert run.session(read_config(case.path)).conf.get(name) == expected
    finally:
        for each, value in before.items():
            case.spark.conf.set(each, value)


def test_a_function_that_cannot_be_imported_is_a_configuration_error(case):
    text = case.path.read_text().replace('sql = "q.sql"', 'function = "no_such_module:f"')
    with pytest.raises(PipelineConfigError, match="no_such_module:f cannot be imported"):
        case.run(text=text)


def test_a_password_that_is_not_there_is_told(case, monkeypatch):
    monkeypatch.delenv("TEST_MQ_PASSWORD")
    from mqgroups.spark.pipeline.inspection import inspect

    with pytest.raises(ConfigurationError, match="TEST_MQ_PASSWORD"):
        inspect(read_config(case.path))


def test_inspection_says_what_waits_and_changes_nothing(case):
    from mqgroups.spark.pipeline.inspection import Waiting, inspect

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

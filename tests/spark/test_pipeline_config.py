"""CONFIG.toml: what is not understood is refused with its key, what was found, and what was expected."""

import os
import sys
from pathlib import Path

import pytest

from embedded_tests.tables import table
from mqgroups.mqi.secret import Secret
from mqgroups.spark.pipeline import run
from mqgroups.spark.pipeline.body import Body, Column
from mqgroups.spark.pipeline.config import Outgoing, Parquet, Quarantine, Transform, read_config
from mqgroups.spark.pipeline.errors import PipelineConfigError
from mqgroups.spark.pipeline.transform import transformation

WHOLE = """
name = "P"
checkpoint = "work/checkpoint"

[mq]
queueManager = "QM1"
connectionNameList = "localhost(1414)"
channel = "DEV.APP.SVRCONN"
user = "app"
passwordFile = "secrets/password"

[source]
queue = "IN"
maxGroupsPerTrigger = 7
convert = true

[body]
format = "csv"
columns = { a = "int not null", b = "string" }

[transform]
sql = "q.sql"

[parquet]
path = "hdfs://h/out"
partitionBy = ["a"]

[outgoing]
queue = "OUT"
groupBy = "a"
orderBy = ["b"]
messagesPerUnitOfWork = 50

[quarantine]
path = "bad"

[report]
path = "report"

[spark]
"spark.sql.shuffle.partitions" = 2
"""


@pytest.fixture
def config(tmp_path):
    """Reads a configuration, the one above or another text, with some values replaced."""
    (tmp_path / "q.sql").write_text("SELECT * FROM rows;\n")

    def read(text=WHOLE, *overrides):
        path = tmp_path / "p.toml"
        path.write_text(text)
        return read_config(path, overrides)

    return read


def test_a_file_beside_the_configuration_does_not_stand_in_for_an_installed_module(config, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    found = {}
    for name in ("colorsys", "beside"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        (tmp_path / f"{name}.py").write_text("def yiq_to_rgb(rows):\n    return rows\n")
        transformation(config(WHOLE.replace('sql = "q.sql"', f'function = "{name}:yiq_to_rgb"')))
        found[name] = Path(str(sys.modules[name].__file__)).parent == tmp_path
    assert found == {"colorsys": False, "beside": True}


def test_a_pipeline_is_read(config, tmp_path):
    found = config()
    assert (found.name, found.trigger, found.folder) == ("P", "1 second", tmp_path.resolve())
    assert found.checkpoint == str(tmp_path.resolve() / "work/checkpoint")
    assert found.connection.password == Secret.from_file(tmp_path.resolve() / "secrets/password")
    assert (found.source.queue, found.source.max_groups_per_trigger, found.source.convert) == ("IN", 7, True)
    assert found.body == Body("csv", (Column("a", "int", not_null=True), Column("b", "string")))
    assert found.unique == ()
    assert found.transform == Transform(sql="SELECT * FROM rows", where=str(tmp_path.resolve() / "q.sql"))
    assert found.parquet == Parquet("hdfs://h/out", ("a",))
    assert isinstance(found.outgoing, Outgoing)
    assert (found.outgoing.queue, found.outgoing.group_by, found.outgoing.order_by) == ("OUT", "a", ("b",))
    assert found.outgoing.options["statusQueue"] == "MQGROUPS.SPARK.P"
    assert found.outgoing.options["messagesPerUnitOfWork"] == "50"
    assert found.quarantine == Quarantine(None, {}, str(tmp_path.resolve() / "bad"))
    assert found.report == tmp_path.resolve() / "report"
    assert found.spark == {"spark.sql.shuffle.partitions": "2"}


def test_the_example_is_a_pipeline():
    found = read_config(Path(__file__).parents[2] / "examples" / "pipeline" / "flights.toml")
    assert (found.source.queue, found.body.trailer, len(found.body.columns)) == ("FLIGHTS", "TRAILER", 19)


def test_values_can_be_given_besides_the_file(config):
    found = config(
        WHOLE, "source.queue=OTHER", "source.maxGroupsPerTrigger=3", "checks.unique=['a']", "parquet.path=x=y"
    )
    assert (found.source.queue, found.source.max_groups_per_trigger, found.unique) == ("OTHER", 3, ("a",))
    assert found.parquet.path.endswith("/x=y")


def test_a_status_queue_can_be_named_and_quarantine_be_a_queue(config):
    text = WHOLE.replace('path = "bad"', 'queue = "BAD"').replace('queue = "OUT"', 'queue = "OUT"\nstatusQueue = "S"')
    found = config(text)
    assert found.outgoing.options["statusQueue"] == "S"
    assert (found.quarantine.queue, found.quarantine.options["statusQueue"]) == ("BAD", "MQGROUPS.SPARK.P.BAD")


@table(
    ("old", "new", "key", "problem"),
    [
        ('name = "P"', "", "name", "it is missing, expected text"),
        ('name = "P"', 'nam = "P"', "nam", "there is no such key, expected name, checkpoint, .*The nearest is name$"),
        ('name = "P"', "name = 7", "name", "found 7, expected text"),
        ('name = "P"', 'name = "a b"', "name", "' '"),
        ('name = "P"', f'name = "{"P" * 35}"', "outgoing.statusQueue", "50 characters"),
        ('name = "P"', 'name = "P"\ntrigger = "often"', "trigger", "found 'often', expected a pause"),
        ("[source]", "[sources]", "sources", "The nearest is source$"),
        ('queue = "IN"', "", "source.queue", "it is required"),
        ('queue = "IN"', 'queue = "I N"', "source.queue", "' '"),
        (
            "maxGroupsPerTrigger",
            "maxGroupsPerTriger",
            "source.maxgroupspertriger",
            "The nearest is maxGroupsPerTrigger",
        ),
        ("= 7", '= "many"', "source.maxGroupsPerTrigger", "'many' is not valid; expected integer"),
        ("convert = true", "includeMqmd = true", "source.includeMqmd", "the pipeline sets it itself"),
        ("convert = true", "convert = []", "source.convert", r"found \[\], expected text, a number"),
        ('passwordFile = "secrets/password"', 'password = "x"', "mq.password", "passwordFile or passwordEnv$"),
        # Spark ignores the case of an option's name; a key of another case would not be checked, or not be used.
        ('passwordFile = "secrets/password"', 'Password = "x"', "mq.Password", "expected password$"),
        ('passwordFile = "secrets/password"', 'passwordfile = "x"', "mq.passwordfile", "expected passwordFile$"),
        (
            'queueManager = "QM1"',
            'queueManager = "QM1"\nQueueManager = "Q2"',
            "mq.QueueManager",
            "expected queueManager$",
        ),
        ("convert = true", "includemqmd = true", "source.includemqmd", "expected includeMqmd$"),
        ('queue = "OUT"', 'queue = "OUT"\nQueue = "IN"', "outgoing.Queue", "expected queue$"),
        ('channel = "DEV.APP.SVRCONN"', "", "mq.channel", "belong together"),
        ('format = "csv"', 'format = "xml"', "body.format", "found 'xml', expected csv or json"),
        ('format = "csv"', 'format = "json"\ndelimiter = ";"', "body.delimiter", "it is only for the format csv"),
        ('format = "csv"', 'format = "csv"\ndelimiter = ";;"', "body.delimiter", "expected one character"),
        ('"int not null"', '"integer"', "body.columns.a", "found 'integer', expected one of string, int"),
        ('"int not null"', "7", "body.columns.a", "found 7, expected text"),
        (
            "{ a =",
            "{ put_time =",
            "body.columns.put_time",
            "the pipeline itself adds the columns group_id, msg_seq_number, put_time",
        ),
        ('columns = { a = "int not null", b = "string" }', "columns = {}", "body.columns", "found no column"),
        ('sql = "q.sql"', 'sql = "gone.sql"', "transform.sql", "cannot be read: No such file"),
        ('sql = "q.sql"', 'sql = "q.sql"\nfunction = "a:b"', "transform", "found both of sql and function"),
        ('sql = "q.sql"', "", "transform", "found neither of sql and function"),
        ('sql = "q.sql"', 'function = "a.b"', "transform.function", "found 'a.b', expected module:function"),
        ('partitionBy = ["a"]', 'partitionBy = "a"', "parquet.partitionBy", "expected a list of column names"),
        ('groupBy = "a"', "", "outgoing.groupBy", "it is missing"),
        ('orderBy = ["b"]', 'sequenceColumn = "b"', "outgoing.sequenceColumn", "the pipeline sets it itself"),
        ('orderBy = ["b"]', "txnVersion = 3", "outgoing.txnVersion", "the pipeline sets it itself"),
        ('orderBy = ["b"]', 'body = "yaml"', "outgoing.body", "found 'yaml', expected json or csv or column"),
        ('path = "bad"', "", "quarantine", "found neither of queue and path"),
        ('path = "bad"', 'path = "bad"\nqueue = "B"', "quarantine", "found both of queue and path"),
        ('path = "bad"', 'queue = "B"\ngroupBy = "x"', "quarantine.groupBy", "the pipeline sets it itself"),
        ('queue = "OUT"', 'queue = "IN"', "outgoing.queue", "found 'IN', which is also source.queue"),
        ('path = "bad"', 'queue = "IN"', "quarantine.queue", "found 'IN', which is also source.queue"),
        ('[report]\npath = "report"', "", "report", "it is missing, expected a table"),
        ('"spark.sql.shuffle.partitions"', "spark.sql.shuffle.partitions", "spark.spark", "put its name in quotes"),
        ('"spark.sql.shuffle.partitions"', '"sql.shuffle"', "spark.sql.shuffle", "does not begin with spark."),
    ],
)
def test_what_cannot_be_is_refused_by_key(config, old, new, key, problem):
    assert old in WHOLE
    with pytest.raises(PipelineConfigError, match=problem) as error:
        config(WHOLE.replace(old, new, 1))
    assert error.value.key == key
    assert f"p.toml: {key}: " in str(error.value)


def test_a_pipeline_writes_somewhere(config):
    text = WHOLE[: WHOLE.index("[parquet]")] + WHOLE[WHOLE.index("[quarantine]") :]
    with pytest.raises(PipelineConfigError, match=r"neither \[parquet\] nor \[outgoing\]"):
        config(text)


def test_unique_columns_are_columns_of_the_body(config):
    with pytest.raises(PipelineConfigError, match=r"checks.unique: found 'A', expected columns of the body"):
        config(WHOLE + '[checks]\nunique = ["A"]\n')


def test_what_is_no_toml_is_told_with_its_line(config):
    with pytest.raises(PipelineConfigError, match=r"p.toml: is not TOML: .*line 2"):
        config("name = 'P'\nname = 7\n")


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(PipelineConfigError, match=r"gone.toml: cannot be read: No such file"):
        read_config(tmp_path / "gone.toml")


@table("text", ["source.queue", "=x", "name.x=1"])
def test_an_override_that_is_none_is_refused(config, text):
    with pytest.raises(PipelineConfigError):
        config(WHOLE, text)


def test_a_process_is_set_up_for_spark_submit(monkeypatch):
    monkeypatch.setattr(os, "environ", {"SPARK_SUBMIT_OPTS": "-Xmx1g"})
    run.set_up(["--py-files", "a b.zip"], quiet=True)
    given = os.environ
    assert given["PYSPARK_SUBMIT_ARGS"] == "--py-files 'a b.zip' pyspark-shell"
    assert given["SPARK_SUBMIT_OPTS"].startswith("-Dlog4j2.configurationFile=file:///")
    assert given["SPARK_SUBMIT_OPTS"].endswith(" -Xmx1g")
    assert given["PYSPARK_DRIVER_PYTHON"] == sys.executable

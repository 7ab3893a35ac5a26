"""A setting is said once: whatever shows or checks it is made of its field."""

import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mqgroups
from mqgroups.setting import Settings, settings_of, table
from mqgroups.settings import Connecting, Consuming, Piping, Producing

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
FACTORIES: dict[Callable[..., Any], type[Settings]] = {
    mqgroups.connect: Connecting,
    mqgroups.QueueManager.group_producer: Producing,
    mqgroups.QueueManager.group_consumer: Consuming,
    mqgroups.QueueManager.group_pipe: Piping,
}
# A field of connections and one of producers, each with its line of the docstring: what a file has, and what is put in front.
ADDED = {
    "mqi/abc.py": (
        ("        q_mgr_name: ", "        motto: what the connection\n            says. Nobody has asked.\n"),
        ("    user: str | None = None\n", "    motto: str | None = None\n"),
    ),
    "settings.py": (
        ("        segment_bytes: ", "        greetings: how often the producer greets. Nobody has asked.\n"),
        ("    segment_bytes: Annotated", "    greetings: Annotated[int, Whole(0, 9)] = 3\n"),
    ),
}
# Runs on a copy of the package that has the two fields.
PROGRAM = """
import inspect

import click, pytest
from click.testing import CliRunner

import mqgroups, mqgroups.aio
from mqgroups.cli.connection import connection_options
from mqgroups.cli.main import main
from mqgroups.cli.options import setting_options
from mqgroups.errors import ConfigurationError
from mqgroups.setting import table
from mqgroups.settings import Connecting, Piping, Producing
from mqgroups.spark.option import Use
from mqgroups.spark.options import markdown, source_options

def invoke(*words, command=main, **variables):
    return " ".join(CliRunner(env=variables).invoke(command, words).output.split())

# Signature, help and check.
makes = (mqgroups.QueueManager.group_producer, mqgroups.aio.AsyncQueueManager.group_producer)
for functions, name, kind, default, said in (
    ((mqgroups.connect, mqgroups.aio.connect), "motto", str | None, None, "what the connection says."),
    (makes, "greetings", int, 3, "how often the producer greets."),
):
    for function in functions:
        shown = inspect.signature(function).parameters[name]
        assert (shown.kind, shown.annotation, shown.default) == (shown.KEYWORD_ONLY, kind, default)
        text = inspect.getdoc(function)
        assert text.index("Args:") < text.index(f"    {name}: {said} Nobody has asked.\\n") < text.index("Raises:")
with pytest.raises(ConfigurationError, match="motto must be a str, got 7"):
    mqgroups.connect("QM1", motto=7)
with pytest.raises(ConfigurationError, match="greetings must be a whole number, 0 to 9, got 10"):
    Producing("Q", name="N", greetings=10)
# The reference.
assert "| `motto` | `None` | what the connection says. Nobody has asked. |" in table(("connection", Connecting))
line = "| `greetings` | `3` | producer | how often the producer greets. Nobody has asked. |"
assert line in table(("producer", Producing), ("pipe", Piping))
# Commands: all have what a connection has; of a producer's settings each has those that it names.
assert "--motto NAME What the connection says. [env var: MQGROUPS_MOTTO]" in invoke("--help-connection")
command = click.command()(connection_options()(lambda motto, **_: click.echo(motto)))
for words, variables, expected in (
    (("--q-mgr", "QM1", "--motto", "of the option"), {}, "of the option"),
    ((), {"MQGROUPS_Q_MGR_NAME": "QM1", "MQGROUPS_MOTTO": "of the variable"}, "of the variable"),
):
    assert invoke(*words, command=command, **variables) == expected
command = click.command()(setting_options(Producing, "greetings")(click.echo))
assert "--greetings NUMBER How often the producer greets." in invoke("--help", command=command)
assert "'--greetings': greetings must be a whole number, 0 to 9, got 10" in invoke("--greetings", "10", command=command)
# Spark; which of a producer's settings Spark has is a list (SinkOptions).
assert "| `mq.motto` |  | what the connection says |\\n" in markdown()
given = {"mq.queueManager": "QM1", "queue": "Q", "mq.motto": "of Spark"}
assert source_options(given, Use.BATCH_READ).connection.motto == "of Spark"
"""


def test_a_setting_that_is_added_is_found_everywhere(tmp_path):
    copy = tmp_path / "mqgroups"
    shutil.copytree(Path(mqgroups.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, changes in ADDED.items():
        text = (copy / name).read_text(encoding="utf-8")
        for before, added in changes:
            assert text.count(before) == 1
            text = text.replace(before, added + before)
        (copy / name).write_text(text, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MQ")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_a_name_that_is_none_of_a_functions_settings_is_told_with_the_functions_name(owner):
    for wrong, said in (
        ({"name": "N", "commit_evry": 5}, r"group_producer\(\): got an unexpected keyword argument 'commit_evry'"),
        ({}, r"group_producer\(\): missing a required .*argument: 'name'"),
    ):
        with pytest.raises(TypeError, match=said):
            owner.qmgr.group_producer("Q", **wrong)
    with pytest.raises(TypeError, match=r"connect\(\): too many positional arguments"):
        mqgroups.connect("QM1", "C", "h(1)", "more")  # type: ignore[call-arg]  # at most three


def test_each_factory_shows_its_settings_and_each_of_them_is_documented():
    for factory, settings in FACTORIES.items():
        fields = settings_of(settings)
        given = [name for name in inspect.signature(factory).parameters if name != "self"]
        assert given == [each.name for each in fields]
        assert [each.name for each in fields if not each.help.endswith(".")] == []


def test_the_page_has_the_tables_of_the_fields():
    text = PAGE.read_text(encoding="utf-8")
    for expected in (
        table(("producer", Producing), ("consumer", Consuming), ("pipe", Piping)),
        table(("connection", Connecting)),
    ):
        assert expected in text, f"mqgroups.setting.table(...) is a table of {PAGE}:\n{expected}"

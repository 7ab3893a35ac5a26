"""The code of the documents: programs run as printed, commands have the options that they are given, definitions load.

A page's Python blocks are one program, run from top to bottom on an embedded queue manager. ``GIVEN`` has what such a page takes
for granted, and what stands for its ``...``. Blocks that need a queue manager of somebody else's are compiled only; ``COMPILED``
says why.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import click
import pytest

from mqembedded import EmbeddedQueueManager
from mqembedded.cli.main import main as embedded_main
from mqgroups.cli.main import main
from mqgroups.definitions import DEVELOPMENT_MQSC
from tests import makefile

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith((".", "build")) for part in path.relative_to(ROOT).parts)
)
PYTEST_PAGE = ROOT / "embedded" / "mqembedded" / "testing" / "README.md"
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)((?: {4}[^\n]*\n|\n(?= {4}))+)")


@dataclass(frozen=True, slots=True)
class Given:
    """What a page takes for granted: code before its first block, texts that stand for others, and what it prints."""

    before: str = "import os, mqgroups\nqmgr = mqgroups.connect('QM1')\n"
    instead: dict[str, str] = field(default_factory=dict)
    after: str = ""
    prints: str | None = None


ORDERS = """
import os, mqgroups
qmgr = mqgroups.connect("QM1")
rows = [f"order {number}" for number in range(1, 1001)]
def put_orders():
    with qmgr.group_producer("ORDERS", name="GIVEN.BY.TEST") as producer, producer.group() as group:
        for row in rows[group.resume_from:]:
            group.put(row)
"""
CONNECT = '"QM1", "DEV.APP.SVRCONN", "localhost(1414)", user="app", password=password'
GIVEN = {
    "README.md": Given(before="", prints="".join(f"{number} order {number}\n" for number in range(1, 1001))),
    "docs/how-to/application.md": Given(
        ORDERS
        + """
import pymqi, signal
queue_manager = pymqi.QueueManager(None)
queue_manager.connect("QM1")
handled = []
class Done:
    def __await__(self):
        return iter(())
def handle(data):
    handled.append(data.decode())
    if len(handled) == 1500:
        os.kill(os.getpid(), signal.SIGTERM)
    return Done()
""",
        # The first group is got with asyncio, half of the second one before the signal.
        instead={
            "    ...": "    pass",
            f"aio.connect({CONNECT})": 'aio.connect("QM1")',
            'name="ORDERS.SINK") as': 'name="ORDERS.SINK", wait_s=0) as',
            f"with (\n    mqgroups.connect({CONNECT})": 'put_orders()\nwith (\n    mqgroups.connect("QM1")',
        },
        after="""
assert handled == rows + rows[:500]
assert stopping.signal == signal.SIGTERM

async def noted(putting, request, served):
    await putting
    if request == "second":
        served.set()

async def requested():
    requests = asyncio.Queue()
    for request in [("first", rows[:3]), ("first", rows[:3]), ("second", rows[:2])]:
        requests.put_nowait(request)
    served, serving = asyncio.Event(), asyncio.create_task(serve(requests))
    globals()["put"] = lambda *given, one=put: noted(one(*given), given[1], served)
    await served.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await serving

asyncio.run(requested())
with mqgroups.connect("QM1") as qmgr, qmgr.group_consumer("ORDERS", name="ORDERS.SINK", wait_s=0) as consumer:
    print([(group.resume_from, len(list(group))) for group in consumer])
""",
        prints="[(500, 500), (0, 3), (0, 2)]\n",
    ),
    "docs/how-to/databases.md": Given(
        ORDERS + "put_orders()\norders = rows\n",
        instead={'name="ORDERS.TOTAL"': 'name=put_orders() or "ORDERS.TOTAL"'},
        after="""
assert database.execute("SELECT count(*) FROM invoice").fetchone() == (1000,)
assert database.execute("SELECT characters FROM total").fetchall() == [(sum(map(len, orders)),)]
texts = []
with qmgr.group_consumer("INVOICES", name="CHECK", wait_s=0) as consumer:
    for group in consumer:
        texts.append([message.text for message in group])
assert texts == [orders]
""",
    ),
    "docs/how-to/files.md": Given(
        ORDERS + "put_orders()\nimport tempfile, pathlib\ndirectory = tempfile.mkdtemp()\n",
        instead={'"/var/orders"': "directory", "commit_every=100": "commit_every=100, wait_s=0"},
        after="""
(file,) = pathlib.Path(directory).iterdir()
assert file.read_text().splitlines() == rows
""",
    ),
    "docs/how-to/partners.md": Given(
        ORDERS + "put_orders()\nhandled = []\nhandle = handled.append\n",
        instead={"commit_every=100": "wait_s=0"},
        after="assert handled == [row.encode() for row in rows]\n",
    ),
    "docs/how-to/performance.md": Given(),
    "docs/how-to/using.md": Given(
        ORDERS
        + """
rows = [f"order {number}" for number in range(900)]
handled = []
handle = lambda data, _: handled.append(data.decode())
invoice = bytes.upper
days = ["2026-11-27", "2026-11-28"]
rows_of = lambda day: [day]
file = open("effects", "w")
consumers = qmgr.group_consumer
qmgr.group_consumer = lambda *a, **k: consumers(*a, wait_s=0, **k)
pipes = qmgr.group_pipe
qmgr.group_pipe = lambda *a, **k: pipes(*a, wait_s=0, **k)
""",
        # The blocks of the page are parts of a program: a hook belongs before the loop.
        instead={"@consumer.before_commit": "@(lambda hook: hook(None))"},
        after="assert handled == rows + days\n",
    ),
    "docs/how-to/messages.md": Given(
        ORDERS
        + """
consumers = qmgr.group_consumer
qmgr.group_consumer = lambda *a, **k: consumers(*a, wait_s=0, **k)
handle = print
invoice = bytes.upper
to_files = mqgroups.connect("QM1").group_producer("DEV.QUEUE.3", name="PROPERTIES")
from_files = mqgroups.connect("QM1").group_consumer("DEV.QUEUE.3", name="PROPERTIES", wait_s=0)
large = mqgroups.connect("QM1").group_producer("DEV.QUEUE.2", name="LARGE")
open("large.bin", "wb").write(bytes(3_000_000))
with qmgr.group_producer("DEV.QUEUE.1", name="CUSTOMERS") as customers:
    with customers.group(name="c7", properties={"customer": 7}) as group:
        group.put("order")
pipe = mqgroups.connect("QM1").group_pipe("DEV.QUEUE.1", "INVOICES", name="INVOICING", wait_s=0)
""",
        # The producer and consumer of the first block are closed.
        instead={
            "with producer.group(name=": "with to_files.group(name=",
            'with producer.group("large.bin") as group, open(': 'with large.group("large.bin") as group, open(',
            "for group in consumer:\n    source,": "for group in from_files:\n    source,",
        },
        after="""
assert (source, expected, line) == ("orders-0815.csv", 1200, 1000)
with qmgr.group_consumer("INVOICES", name="CHECK") as check:
    for group in check:
        assert (group.name, group.properties["customer"]) == ("c7", 7)
        print([message.data for message in group])
""",
        prints="{'order': 815, 'lines': [1, 2, 3]}\n[b'ORDER']\n",
    ),
    "docs/how-to/unfinished-groups.md": Given(
        ORDERS
        + """
put_orders()
refused = []
def handle(data):
    if data == b"order 500":
        raise ValueError("it is out of stock")
consumer = qmgr.group_consumer("ORDERS", name="ORDERS.SINK", wait_s=0)
""",
        after="assert refused == [b'order 500']\n",
    ),
    "docs/how-to/workers.md": Given(
        # Each worker is a process that imports the program, so only its first process puts.
        f"""
if __name__ == "__main__":
{ORDERS.replace(chr(10), chr(10) + "    ")}
    put_orders()
import functools, mqgroups, threading
def stop_after(groups, workers):
    while sum(worker.groups for worker in workers.status()) < groups:
        threading.Event().wait(0.01)
    workers.stop()
""",
        instead={
            ', "DEV.APP.SVRCONN", "localhost(1414)")': ")",
            "        workers.run()": "        threading.Thread(target=stop_after, args=(1, workers)).start()\n"
            "        assert workers.run()",
        },
    ),
    "docs/how-to/clusters.md": Given(
        ORDERS,
        {', ccdt_url="file:///etc/mq/ccdt.json"': "", '["QM1", "QM2", "QM3"]': '["QM1"]'},
    ),
    "embedded/README.md": Given(
        # orders.py is the page's own first program; the ports of its cluster may be in use.
        """
from pathlib import Path
page = Path("program.py").read_text()
Path("orders.py").write_text(page[page.rindex("import ibmmq\\n"):page.rindex("import os\\n")])
Path("queues.mqsc").touch()
members = "".join(f'[[queue_manager]]\\nname = "{name}"\\n' for name in ("QM1", "QM2"))
Path("cluster.toml").write_text(f'cluster = "GRPCLUS"\\n{members}')
""",
        prints="b'an order'\n" * 2,
    ),
    "docs/reference/tracing.md": Given(
        "import json, logging, sys\n",
        instead={"logging.StreamHandler()": "logging.StreamHandler(sys.stdout)", '"at": record.created, ': ""},
        after="logging.getLogger('mqgroups').warning('lost', extra={'messaging.system.name': 'ibmmq', 'trace_id': ''})\n",
        prints='{"level": "WARNING", "text": "lost", "messaging.system.name": "ibmmq", "trace_id": ""}\n',
    ),
}
COMPILED = {
    "CONTRIBUTING.md": "tests of this project, which have its fixtures",
    "docs/how-to/installing.md": "the address of a queue manager of the reader's",
    "docs/tutorial/first-group.md": "run by a test of its own, below",
    "docs/spark/json.md": "tests/spark/test_json_page.py runs it",
    "docs/spark/pipelines.md": "tests/spark/test_group_checks.py runs it",
    "docs/spark/start.md": "the programs of examples/, which tests/spark runs and compares with it",
    "embedded/mqembedded/testing/README.md": "embedded/embedded_tests/testing runs its examples",
    "docs/how-to/security.md": "TLS, which the embedded queue manager does not have",
}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path, language: str) -> list[str]:
    """Return the fenced blocks of a language, without the indentation of the list that they are in."""
    found = []
    for indent, tag, code in BLOCK.findall(path.read_text(encoding="utf-8")):
        if tag == language:
            found.append(re.sub(f"^{indent}", "", code, flags=re.MULTILINE))
    return found


WITH_PYTHON = [path for path in DOCUMENTS if blocks(path, "python")]
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
ENVIRONMENT = {
    **os.environ,
    "PATH": PATH,
    "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'embedded'}",
    "PYTHONWARNINGS": "ignore::ResourceWarning",
}


def test_each_page_with_python_is_run_or_has_a_reason():
    assert {name(path) for path in WITH_PYTHON} == GIVEN.keys() | COMPILED.keys()
    assert not GIVEN.keys() & COMPILED.keys()


def test_python_that_is_not_run_is_python():
    for path in WITH_PYTHON:
        if name(path) in COMPILED:
            for code in blocks(path, "python"):
                compile(code, name(path), "exec")


# What programs take for granted, for mypy.
REDEFINING = "# mypy: allow-redefinition, local-partial-types\n"
TYPED = """
import functools, os, sys
from typing import Any, BinaryIO
import mqgroups
qmgr: mqgroups.QueueManager
producer: mqgroups.GroupProducer
consumer: mqgroups.GroupConsumer
pipe: mqgroups.GroupPipe
group: mqgroups.OutgoingGroup
rows: list[str]
row: str
password: str
days: list[str]
def rows_of(day: str) -> list[str]: return []
file: BinaryIO
queue_manager: Any
directory: str
handled: list[bytes]
refused: list[bytes]
database: Any
def handle(*values: object) -> Any: ...
def invoice(data: bytes) -> bytes: return data
"""


def test_the_python_of_the_pages_has_right_types(tmp_path):
    """With the configuration, and so the cache, of ``make types``; alone this would take a minute."""
    files = []
    for page in [*GIVEN, "docs/tutorial/first-group.md"]:
        code = "\n".join(blocks(ROOT / page, "python"))
        files.append(tmp_path / f"{page.replace('/', '_').replace('-', '_').removesuffix('.md')}_page.py")
        # In a function, a producer's group and a consumer's may have the same name.
        files[-1].write_text(f"{REDEFINING}{TYPED}\ndef program() -> None:\n{textwrap.indent(code, '    ')}")
    # A test module of that page is one as it stands.
    files.append(tmp_path / "test_aside_page.py")
    files[-1].write_text(blocks(PYTEST_PAGE, "python")[2])
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *map(str, files)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1:] == [f"Success: no issues found in {len(files)} source files"], done.stdout


@pytest.mark.embedded
@pytest.mark.parametrize("page", GIVEN)
def test_the_python_of_a_page_runs_from_top_to_bottom(page, tmp_path):
    given = GIVEN[page]
    code = "\n".join(blocks(ROOT / page, "python"))
    for written, instead in given.instead.items():
        assert written in code
        code = code.replace(written, instead)
    (tmp_path / "program.py").write_text(f"{given.before}\n{code}\n{given.after}")
    with EmbeddedQueueManager("QM1", mqsc=[DEVELOPMENT_MQSC]) as q_mgr:
        done = subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            env={**ENVIRONMENT, **q_mgr.environment(), "MQGROUPS_CONN_NAME": q_mgr.conn_name},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    # Pages show parts of programs, which leave open what the part does not end.
    said = [
        line for line in done.stderr.splitlines() if not line.startswith("WARNING:") and "was not closed" not in line
    ]
    assert (done.returncode, said) == (0, []), "\n".join(said)
    assert given.prints is None or done.stdout == given.prints


@pytest.mark.embedded
def test_the_tutorial_can_be_followed_and_prints_what_it_says(tmp_path):
    page = ROOT / "docs" / "tutorial" / "first-group.md"
    programs = blocks(page, "python")
    for file, code in zip(("load.py", "read.py"), programs, strict=True):
        (tmp_path / file).write_text(code)
    (tmp_path / "bin").mkdir()
    for command in ("mqgroups", "mqembedded"):
        (tmp_path / "bin" / command).write_text(f'#!/bin/sh\nexec {sys.executable} -m {command} "$@"\n')
        (tmp_path / "bin" / command).chmod(0o755)
    environment = {**ENVIRONMENT, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{PATH}"}
    environment["MQEMBEDDED_MQSC"] = str(DEVELOPMENT_MQSC)
    for session in blocks(page, "console"):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE):
            done = subprocess.run(
                ["sh", "-c", command],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=60,
                check=False,
            )
            shown = ".*".join(map(re.escape, expected.split("...")))
            assert not expected or re.fullmatch(shown, done.stdout), done.stdout
            if command.endswith("owners"):
                assert "2 owners: 1 done, 1 clean" in done.stdout
            if "mqgroups check" in command:
                assert "interrupted" in done.stdout
                assert "1200" in done.stdout.replace(",", "")


def commands(path: Path) -> list[str]:
    """Return the commands ``mqgroups ...``, ``mqembedded ...`` and ``make ...`` in the code of a document."""
    text = path.read_text(encoding="utf-8")
    code = [code for _, tag, code in BLOCK.findall(text) if tag in ("sh", "console")]
    code += INDENTED.findall(BLOCK.sub("", text))
    wrapped = re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", BLOCK.sub("", text))
    code += [re.sub(r"\n\s*", " ", each) for each in wrapped]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(code))
    lines = [re.sub(r"^\s*(\$ )?((\w+=\S*|\w+=\"\$\(.*?\)\") )*", "", line) for line in joined.splitlines()]
    # Three blanks begin what is said about a command.
    return [
        re.split(r"\s{3,}", line)[0].strip() for line in lines if line.startswith(("mqgroups ", "mqembedded ", "make "))
    ]


def words_of(command: str) -> list[str]:
    """Return the words of the first command in a line of shell."""
    lexer = shlex.shlex(command.replace("…", "x"), posix=True, punctuation_chars=";|&")
    lexer.whitespace_split = True
    return list(itertools.takewhile(lambda word: not set(word) <= set(";|&"), lexer))


def unknown_in(command: str) -> str | None:
    """Return what a command does not have of what it is given."""
    words = words_of(command)
    if words[0] == "make":
        lacking = makefile.unknown(words[1:])
        return f"the Makefile has no {', '.join(lacking)}" if lacking else None
    found: click.Command = embedded_main if words[0] == "mqembedded" else main
    context = click.Context(found, info_name=words[0])
    words = words[1:]
    while isinstance(found, click.Group) and words and not words[0].startswith("-"):
        word = words.pop(0)
        inner = found.get_command(context, word)
        if inner is None:
            return f"there is no command {word}"
        found = inner
        context = click.Context(found, parent=context)
    try:
        try:
            found.make_parser(context).parse_args(list(words))
        except click.BadOptionUsage:  # a sentence that names an option leaves its argument out
            found.make_parser(context).parse_args([*words, "1"])
    except click.UsageError as error:
        return error.format_message()
    return None


def test_a_command_has_the_options_that_it_is_given():
    named = {(name(path), command) for path in DOCUMENTS for command in commands(path)}
    assert len(named) > 150
    told = {(path, command): unknown_in(command) for path, command in sorted(named)}
    assert {each: why for each, why in told.items() if why is not None} == {}


@pytest.mark.embedded
def test_definitions_load(tmp_path):
    found = [code for path in DOCUMENTS for code in blocks(path, "mqsc")]
    assert found
    (tmp_path / "found.mqsc").write_text("\n".join(found))
    with EmbeddedQueueManager("QM1", mqsc=[DEVELOPMENT_MQSC, tmp_path / "found.mqsc"]) as q_mgr:
        assert q_mgr.is_running


def test_data_can_be_read():
    for path in DOCUMENTS:
        for code in blocks(path, "toml"):
            tomllib.loads(code)
        for code in blocks(path, "json"):
            json.loads(code)

"""The MQSC files that the contract suite needs, held against what IBM MQ takes; the embedded queue manager is more lenient.

IBM MQ, topics "Rules for naming IBM MQ objects", "DEFINE queues" (DESCR, MAXDEPTH), "Running MQSC commands from text files".
"""

from __future__ import annotations

import re
from pathlib import Path

from embedded_tests.tables import table
from mqembedded.admin.mqsc import parse

ROOT = Path(__file__).parents[3]
FILES = [
    ROOT / "docker" / "20-mqgroups.mqsc",
    ROOT / "embedded" / "embedded_tests" / "objects.mqsc",
    ROOT / "embedded" / "mqembedded" / "testing" / "queues.mqsc",
    ROOT / "docker" / "cluster" / "30-cluster.mqsc",
]
each_file = table("path", FILES)


@each_file
def test_it_is_ascii_in_lines_that_runmqsc_reads(path):
    lines = path.read_bytes().decode("ascii").splitlines()
    assert max(map(len, lines)) < 2048


@each_file
def test_it_can_be_run_again_at_every_start(path):
    commands = parse(path.read_text())
    assert {command.verb for command in commands} <= {"ALTER", "DEFINE", "SET"}
    assert all("REPLACE" in command.parameters for command in commands if command.verb == "DEFINE")


@each_file
def test_names_and_descriptions_are_as_long_as_they_may_be(path):
    for command in parse(path.read_text()):
        if command.verb == "DEFINE":
            assert re.fullmatch(r"[A-Za-z0-9./_%]{1,48}", command.name)
            assert len(command.parameters.get("DESCR", "")) <= 64
            assert int(command.parameters.get("MAXDEPTH", 0)) <= 999_999_999


@each_file
def test_what_is_set_aside_here_is_what_only_a_real_queue_manager_enforces(path):
    assert {command.kind for command in parse(path.read_text()) if command.set_aside} <= {"AUTHREC"}


@each_file
def test_authorities_are_given_to_user_app_alone_because_a_user_has_to_exist(path):
    """SET AUTHREC fails for a principal that the system does not know (from memory)."""
    granted = [command.parameters for command in parse(path.read_text()) if command.kind == "AUTHREC"]
    assert granted
    assert {each["PRINCIPAL"] for each in granted} == {"app"}


def test_tests_make_their_queues_from_models_that_are_defined():
    defined = {command.name for path in FILES for command in parse(path.read_text()) if command.kind == "QMODEL"}
    asked = set()
    for path in (ROOT / "embedded" / "embedded_tests").rglob("test_*.py"):
        asked |= set(re.findall(r'make_queue\("([A-Z0-9.]+)"\)', path.read_text()))
    assert asked
    assert asked <= defined | {"SYSTEM.DEFAULT.MODEL.QUEUE"}

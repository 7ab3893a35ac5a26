"""The command ``mqgroups``, run in this process or in one of its own; its JSON has to fit docs/reference/json-schema.json."""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
from click.testing import CliRunner, Result

from mqgroups.cli.main import main

SCHEMA = Path(__file__).parents[1] / "docs" / "reference" / "json-schema.json"
# These print a line for each look, file or step; the others one document.
OF_LINES = ("watch", "send", "receive")
MQGROUPS = [sys.executable, "-m", "mqgroups"]


def environment(target):
    """Return what a command needs to find the queue manager under test."""
    variables = {
        "MQGROUPS_Q_MGR_NAME": target.q_mgr_name,
        "MQGROUPS_CONN_NAME": target.conn_name,
        "MQGROUPS_CHANNEL": target.channel,
        "MQGROUPS_USER": getattr(target, "user", None),
        "MQGROUPS_PASSWORD": getattr(target, "password", None),
    }
    return {name: value for name, value in variables.items() if value}


def free_port() -> int:
    """Return a port of loopback that nothing listens at."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def invoke(*words: object, text: str = "", **variables: str) -> Result:
    """Run a command in this process."""
    done = CliRunner(env=variables).invoke(main, [str(word) for word in words], input=text)
    if done.exception is None or isinstance(done.exception, SystemExit):
        check_json(words, done.stdout)
    return done


def run(*words: object, text: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    done = subprocess.run(
        [*MQGROUPS, *map(str, words)],
        env={**os.environ, **variables},
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    check_json(words, done.stdout)
    return done


@functools.cache
def schema(name: str) -> Any:
    """Return what checks a value by the definition of this name."""
    return jsonschema.Draft202012Validator({**json.loads(SCHEMA.read_text()), "$ref": f"#/$defs/{name}"})


def check_json(words: tuple[object, ...], stdout: str) -> None:
    """Compare what a command has printed as JSON with its schema."""
    said = [str(word) for word in words]
    if not stdout or "-o" not in said or said[said.index("-o") + 1] != "json":
        return
    name = "groups --group" if said[0] == "groups" and "--group" in said else said[0]
    for text in stdout.splitlines() if name in OF_LINES else [stdout]:
        schema(name).validate(json.loads(text))

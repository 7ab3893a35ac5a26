"""What all commands have in common: options of a connection, Ctrl-C, completion, the manual page, and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from click.shell_completion import BashComplete

from embedded_tests.tables import table
from mqembedded import Fault
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.main import main
from mqgroups.mqi.abc import ConnectArguments
from mqgroups.mqi.secret import SECRETS
from mqgroups.setting import settings_of
from tests.cli.test_main import commands
from tests.cli.test_watch import Terminal
from tests.fix_cli import MQGROUPS, environment, invoke


def with_connection():
    for path, command in commands():
        names = {each.name for each in command.params}
        if "conn_name" in names:
            yield path, command


WITH_CONNECTION = list(with_connection())


@table(("path", "command"), WITH_CONNECTION)
def test_every_command_that_connects_has_the_same_options(path, command):
    names = {each.name for each in command.params}
    assert {each[0] for each, _ in WITH_CONNECTION} >= {
        "groups",
        "owners",
        "doctor",
        "check",
        "adopt",
        "salvage",
    }
    settings = {each.name for each in settings_of(ConnectArguments)} - {*SECRETS, "fips"}
    assert settings | {f"{secret}_{where}" for secret in SECRETS for where in ("file", "env")} <= names
    # What changes something has --apply, or is meant to work, and says where; what looks prints JSON, too.
    options = {each for option in command.params for each in option.opts}
    assert options & {"--output", "--apply"} or path == ("work",)


WORK = ("work", "json:dumps", "--queue", "Q", "--name", "N")
BAD_NAME = "queue 'bad name' has ' ' at position 4"


@table(
    ("arguments", "option", "said"),
    [
        *(
            (command, "--queue", BAD_NAME)
            for command in ("groups", "owners", "doctor", "watch", "send", "receive", "work")
        ),
        *((command, "--status-queue", BAD_NAME) for command in ("groups", "check", "adopt", "owners")),
        ("salvage rebuild", "--other-status-queue", BAD_NAME),
        ("salvage rebuild", "--record-user", "'bad name' is not a user as in UserIdentifier"),
        (WORK, "--target", BAD_NAME),
        ((*WORK, "--commit-every", "0"), "--commit-every", "got 0"),
        ((*WORK, "--group-wait", "nan"), "--group-wait", "group_wait_s must be 0 or more seconds, got nan"),
        ((*WORK, "--record-user", ""), "--record-user", "'' is not a user as in UserIdentifier"),
        ((*WORK, "--grace", "nan"), "--grace", "it must be 0 or more seconds, got nan"),
        (("owners", "--wait", "-1"), "--wait", "it must be 0 or more seconds, got -1.0"),
        (("groups", "--queue", "Q", "--only", ""), "--only", "'' is not one of 'complete'"),
    ],
)
def test_a_value_that_is_not_valid_is_refused_with_its_option_before_anything_is_connected(arguments, option, said):
    given = (*arguments.split(), option, "bad name") if isinstance(arguments, str) else arguments
    result = invoke(*given if option in given else (*given, option, "bad name"))
    assert result.exit_code == ExitCode.USAGE
    assert f"Error: Invalid value for '{option}': " in result.stderr
    assert said in " ".join(result.stderr.split())


@table(
    ("arguments", "said"),
    [
        (("doctor", "--status-queue", "S"), "--status-queue needs --name or --queue"),
        (("adopt", "N"), "--from is missing"),
        (("adopt", "--status-queue", "S", "--instance", "A=B"), "--from is missing"),
    ],
)
def test_an_option_that_is_missing_is_named(arguments, said):
    result = invoke(*arguments, "--q-mgr", "QM1")
    assert result.exit_code == ExitCode.USAGE
    assert said in result.stderr


@pytest.mark.embedded
@table(
    ("words", "sentence"),
    [
        (("owners",), "interrupted with Ctrl-C"),
        (("adopt", "N", "--from", "QMID"), "interrupted with Ctrl-C; what is not committed is backed out"),
    ],
)
def test_ctrl_c_ends_a_command_with_one_sentence_and_130(owner, faults, words, sentence):
    faults.arm(Fault("answer", verb="MQCONNX", times=0, reason=2059))
    before = faults.faults_fired()
    program = subprocess.Popen(
        # Where the tests were started in the background SIGINT is ignored, and a program inherits that.
        ["env", "--default-signal=INT", *MQGROUPS, *words, "--wait", "60"],
        env={**os.environ, **owner.target.environment(), **environment(owner.target)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while faults.faults_fired() == before:
        assert program.poll() is None
    program.send_signal(signal.SIGINT)
    out, said = program.communicate(timeout=60)
    assert (program.returncode, out) == (ExitCode.INTERRUPTED, "")
    assert said == f"mqgroups: {sentence}\n"


# Loading a module sends the signal, as if Ctrl-C came then.
INTERRUPTED = """
import importlib.abc, os, signal, sys

class AtImport(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

module = sys.argv.pop()
sys.meta_path.insert(0, AtImport())
from mqgroups_command import main
main()
"""


@table("module", ["mqgroups", "click", "mqgroups.cli.main", "mqgroups.cli.owners", "mqgroups.operate.owners"])
def test_ctrl_c_while_the_command_starts_shows_no_traceback(module):
    words = ["env", "--default-signal=INT", sys.executable, "-c", INTERRUPTED, "owners", module]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    by_signal, said = (-signal.SIGINT, ""), (ExitCode.INTERRUPTED, "mqgroups: interrupted with Ctrl-C\n")
    assert (done.returncode, done.stderr) in (by_signal, said)


def test_at_a_terminal_ctrl_c_removes_the_line_of_progress(owner):
    terminal = Terminal(replace(owner.target, conn_name="127.0.0.1(1)"), "owners", width=100, height=24)
    # The reason is said from the beginning.
    terminal.until(f"waiting for {owner.target.q_mgr_name}: 0 s of 5 s; 2538 MQRC_HOST_NOT_AVAILABLE")
    terminal.press(b"\x03")
    terminal.until("interrupted with Ctrl-C")
    before, _, said = terminal.shown.partition("mqgroups: interrupted")
    assert before.rpartition("waiting for")[2].count("\x1b[2K")
    assert "waiting for" not in said
    assert terminal.ended() == ExitCode.INTERRUPTED


def test_a_wait_for_another_program_is_told_from_a_wait_for_the_queue_manager(owner):
    with owner.producer():
        terminal = Terminal(owner.target, "check", owner.name, "--role", "put", "--wait", "30", width=80, height=24)
        terminal.until("waiting for the status queue")
    assert terminal.ended() == ExitCode.DONE


def test_a_log_without_a_terminal_has_a_line_for_each_message():
    program = "import logging; from mqgroups.cli import console; console.log(); logging.warning('word ' * 50)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    (line,) = done.stderr.splitlines()
    assert line.endswith(" WARNING " + "word " * 50)


@pytest.mark.parametrize(
    ("charset", "shown"), [("latin-1", "\\u540d\xe9"), ("cp1252", "\\u540d\xe9"), ("ascii", "\\u540d\\xe9")]
)
@pytest.mark.parametrize("terminal", [{}, {"FORCE_COLOR": "1", "COLUMNS": "200"}], ids=["pipe", "terminal"])
def test_what_a_charset_lacks_is_escaped(owner, charset, shown, terminal):
    qmgr = owner.connect()
    group = owner.producer(qmgr).group(name="\u540d\xe9")
    owner.put_all(group, (b"1", b"2", b"3"))
    qmgr.close()
    variables = {**os.environ, **owner.target.environment(), **environment(owner.target), **terminal}
    for words in (("groups", "--queue", owner.queue), ("owners", owner.name), ("check", owner.name, "--role", "put")):
        done = subprocess.run(
            [*MQGROUPS, *words],
            env={**variables, "PYTHONIOENCODING": charset},
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert shown in done.stdout.decode(charset)


@table(
    ("words", "begun", "expected"),
    [
        ([], "ow", ["owners"]),
        (["owners"], "--on", ["--only"]),
        (["owners"], "--password-", ["--password-env", "--password-file"]),
        (["doctor", "-o"], "", ["table", "json", "mqsc"]),
    ],
)
def test_a_shell_completes_commands_options_and_their_words(words, begun, expected):
    complete = BashComplete(main, {}, "mqgroups", "_MQGROUPS_COMPLETE")
    assert [each.value for each in complete.get_completions(words, begun)] == expected

"""``mqgroups embedded run`` and ``exec``: what they refuse, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from mqgroups.cli.exit_codes import ExitCode
from mqgroups.embedded.libmqm.build import build
from tests import fix_cli
from tests.each_row import each_row
from tests.fix_cli import MQGROUPS, invoke

PUT_AND_GET = """
import os, {package} as mq
q_mgr = mq.connect(os.environ["MQGROUPS_Q_MGR_NAME"], "DEV.APP.SVRCONN", os.environ["MQGROUPS_CONN_NAME"])
mq.Queue(q_mgr, "ORDERS").put(b"a raw program's message")
print(mq.Queue(q_mgr, "ORDERS").get())
q_mgr.disconnect()
"""


@each_row("listen", ["0.0.0.0:1414", "192.168.0.1:0", "example.com:1414", "[::]:1414"])
def test_only_loopback_is_listened_on(listen):
    result = invoke("embedded", "run", "--listen", listen)
    assert result.exit_code == 2
    assert "not a loopback address" in result.output


@each_row("listen", ["127.0.0.1", "1414", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:x"])
def test_listen_that_is_no_address_is_refused(listen):
    result = invoke("embedded", "run", "--listen", listen)
    assert result.exit_code == 2
    assert "is not HOST:PORT" in result.output


@each_row("user", ["app", "app:", ":VARIABLE"])
def test_user_without_a_variable_is_refused(user):
    result = invoke("embedded", "run", "--user", user)
    assert result.exit_code == 2
    assert "NAME:VARIABLE" in result.output


def test_user_whose_variable_is_not_set_is_refused():
    result = invoke("embedded", "run", "--user", "app:NO_SUCH_VARIABLE")
    assert result.exit_code == 2
    assert "NO_SUCH_VARIABLE" in result.output


def test_line_of_users_file_without_password_is_named_but_not_shown(tmp_path):
    file = tmp_path / "users"
    file.write_text("# users\n\napp:secret\nadmin\n")
    result = invoke("embedded", "run", "--users-file", str(file))
    assert result.exit_code == 2
    assert "line 4" in result.output
    assert "secret" not in result.output


@each_row(
    ("given", "said"),
    [
        ("curdepth", "is not NAME=VALUE; names are 'curdepth', "),
        ("depth=both", "there is no reading 'depth'; there are 'curdepth', "),
        ("curdepth=both", "it has 'excludes uncommitted gets', 'counts uncommitted gets'"),
    ],
)
@each_row("command", [("run",), ("exec", "true")])
def test_a_reading_that_there_is_not_is_refused_with_those_there_are(command, given, said):
    verb, *program = command
    result = invoke("embedded", verb, "--reading", given, *program)
    assert said in result.output
    assert result.exit_code == (1 if verb == "run" else ExitCode.NOT_STARTED)


def test_an_option_that_exec_does_not_have_is_named_and_those_of_the_program_are_its_own():
    result = invoke("embedded", "exec", "--queue", "ORDERS", "--", "true")
    assert (result.exit_code, "No such option '--queue'" in result.stderr) == (ExitCode.USAGE, True)
    assert invoke("embedded", "exec", "sh", "-c", "exit 3", "--queue").exit_code == 3


def test_credentials_are_required_of_users_that_there_are():
    result = invoke("embedded", "run", "--require-credentials")
    assert result.exit_code == 2
    assert "needs --user or --users-file" in result.output


ANONYMOUS_AND_ADMIN = """
import sys, pymqi
for credentials in ({}, {"user": "admin", "password": "wrong"}, {"user": "admin", "password": "secret"}):
    try:
        pymqi.connect("QM1", "DEV.APP.SVRCONN", sys.argv[1], **credentials)
        print("connected")
    except pymqi.MQMIError as error:
        print(error.reason)
"""


@pytest.mark.embedded
def test_where_credentials_are_required_nobody_connects_without(tmp_path):
    command = [*MQGROUPS, "embedded", "run", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")]
    environment = {**os.environ, "ADMIN_PASSWORD": "secret"}
    with subprocess.Popen(
        [*command, "--require-credentials", "--user", "admin:ADMIN_PASSWORD"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as server:
        try:
            assert server.stdout is not None
            server.stdout.readline()
            conn_name = server.stdout.readline().split()[2].rstrip(",")
            library = build() / "lib64"
            done = subprocess.run(
                [sys.executable, "-c", ANONYMOUS_AND_ADMIN, conn_name],
                env={**os.environ, "LD_LIBRARY_PATH": str(library)},
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            server.terminate()
    assert done.stdout.split() == ["2035", "2035", "connected"], done.stderr


def test_listening_is_described_with_who_can_connect():
    assert "Any user of this machine can connect" in " ".join(invoke("embedded", "run", "--help").output.split())


CONNECT = """
import os, pymqi
pymqi.connect(os.environ["MQGROUPS_Q_MGR_NAME"], "DEV.APP.SVRCONN", os.environ["MQGROUPS_CONN_NAME"])
"""
WITHOUT_THE_KEY = f"""
import os, subprocess, sys
child = [sys.executable, "-c", {CONNECT!r}]
with_key = subprocess.run(child, capture_output=True).returncode
assert len(os.environ.pop("MQGROUPS_ACCESS_KEY")) >= 32
without = subprocess.run(child, capture_output=True, text=True)
print(with_key, "2035" in without.stderr)
"""


@pytest.mark.embedded
def test_exec_lets_nobody_else_connect():
    done = run("exec", "--", sys.executable, "-c", WITHOUT_THE_KEY)
    assert done.stdout.split() == ["0", "True"]


def test_exec_needs_a_command():
    assert invoke("embedded", "exec").exit_code == 2


@pytest.mark.embedded
@pytest.mark.parametrize("package", ["pymqi", "ibmmq"])
def test_exec_runs_a_program_that_knows_nothing_of_mqgroups(package):
    script = PUT_AND_GET.format(package=package)
    done = run("exec", "--", sys.executable, "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (0, 'b"a raw program\'s message"\n', "")


@pytest.mark.embedded
@pytest.mark.parametrize(("program", "code"), [("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)])
def test_exec_ends_as_its_program_did(program, code):
    assert run("exec", "--", "sh", "-c", program).returncode == code


@pytest.mark.embedded
def test_exec_takes_options_of_its_program_for_the_programs(tmp_path):
    done = run("exec", "--qmgr", "QM9", "sh", "-c", "echo $MQGROUPS_Q_MGR_NAME $1", "sh", "--qmgr")
    assert done.stdout == "QM9 --qmgr\n"


@pytest.mark.embedded
def test_exec_of_nothing_that_exists_ends_127():
    done = run("exec", "--", "no-such-program")
    assert (done.returncode, done.stderr) == (127, "mqgroups: the program no-such-program does not exist\n")


@pytest.mark.embedded
def test_exec_of_what_cannot_be_executed_ends_126(tmp_path):
    assert run("exec", "--", str(tmp_path)).returncode == 126


@pytest.mark.embedded
def test_exec_with_wrong_mqsc_ends_125_and_names_file_and_line(tmp_path):
    file = tmp_path / "wrong.mqsc"
    file.write_text("* a comment\nDEFINE QLOCAL(A) MAXDEPTH(many)\n")
    done = run("exec", "--mqsc", str(file), "--", "true")
    assert done.returncode == 125
    assert f"{file}: line 2" in done.stderr
    assert "Traceback" not in done.stderr


def test_mqsc_from_a_pipe_is_refused(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = run("exec", "--mqsc", str(pipe), "--", "true")
    assert f"{pipe} is not a regular file. Write the commands to a file, and name that" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.embedded
def test_exec_keeps_messages_in_its_data_directory(tmp_path):
    put, get = (
        f"""
import os, pymqi as mq
q_mgr = mq.connect("QM1", "DEV.APP.SVRCONN", os.environ["MQGROUPS_CONN_NAME"])
{verb}
"""
        for verb in ('mq.Queue(q_mgr, "ORDERS").put(b"kept")', 'print(mq.Queue(q_mgr, "ORDERS").get())')
    )
    data = str(tmp_path / "QM1")
    assert run("exec", "--data", data, "--", sys.executable, "-c", put).returncode == 0
    assert run("exec", "--data", data, "--", sys.executable, "-c", get).stdout == "b'kept'\n"


@pytest.mark.embedded
def test_exec_bare_has_no_queues_of_the_standard_file():
    done = run("exec", "--bare", "--", sys.executable, "-c", PUT_AND_GET.format(package="pymqi"))
    assert done.returncode == 1
    assert "2085" in done.stderr


@pytest.mark.embedded
def test_exec_checks_the_password_of_a_user():
    script = """
import os, pymqi
for password in ("right", "wrong"):
    try:
        pymqi.connect("QM1", "DEV.APP.SVRCONN", os.environ["MQGROUPS_CONN_NAME"], "app", password)
        print("connected")
    except pymqi.MQMIError as error:
        print(error.reason)
"""
    done = run("exec", "--user", "app:APP_PASSWORD", "--", sys.executable, "-c", script, APP_PASSWORD="right")
    assert done.stdout == "connected\n2035\n", done.stderr


@pytest.mark.embedded
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_run_says_when_it_is_ready_and_ends_by_signal(tmp_path, number):
    with subprocess.Popen(
        [*MQGROUPS, "embedded", "run", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "QM1")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first, second, *more = [process.stdout.readline() for _ in range(7)]
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert first == "Queue manager QM1 (embedded: for development, not IBM MQ) is ready.\n"
    assert "connect to   127.0.0.1(" in second
    where = second.split()[2].rstrip(",")
    assert [line.strip() for line in more[-2:]] == [
        f"export MQSERVER='DEV.APP.SVRCONN/TCP/{where}'",
        'export LD_LIBRARY_PATH="$(mqgroups embedded build --print-dir)/lib64"',
    ]


@pytest.mark.embedded
def test_run_on_an_address_in_use_says_so_in_one_line(tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("run", "--listen", f"127.0.0.1:{port}", "--data", str(tmp_path / "QM1"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"mqgroups: queue manager QM1 on 127.0.0.1({port}): ")
    assert "in use" in done.stderr
    assert done.stderr.count("\n") == 1


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return fix_cli.run("embedded", *words, **environment)

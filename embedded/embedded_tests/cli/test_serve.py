"""``mqembedded run`` and ``exec``: what they refuse, and how they end."""

from __future__ import annotations

import os
import pwd
import signal
import socket
import subprocess
import sys

import pytest

from embedded_tests.fix_cli import MQEMBEDDED, invoke, run
from embedded_tests.tables import table
from mqembedded.cli.manners import ExitCode
from mqembedded.libmqm.build import build


@table("listen", ["0.0.0.0:1414", "192.168.0.1:0", "example.com:1414", "[::]:1414"])
def test_only_loopback_is_listened_on(listen):
    result = invoke("run", "--listen", listen)
    assert result.exit_code == 2
    assert "not a loopback address" in result.output


@table("listen", ["127.0.0.1", "1414", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:x"])
def test_listen_that_is_no_address_is_refused(listen):
    result = invoke("run", "--listen", listen)
    assert result.exit_code == 2
    assert "is not HOST:PORT" in result.output


@table("words", [("run",), ("exec", "true"), ("calls",)])
def test_an_empty_name_is_not_the_working_directory(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    command, *rest = words
    result = invoke(command, "--data", "", *rest)
    assert (result.exit_code, "'--data': it is empty" in result.output, [*tmp_path.iterdir()]) == (2, True, [])


@table("home", ["", "/dev/null"])
def test_a_user_without_a_home_directory_is_told_what_names_a_directory_of_messages(monkeypatch, home):
    def nobody(_uid):
        raise KeyError

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setenv("HOME", home) if home else monkeypatch.delenv("HOME", raising=False)
    result = invoke("run", "--listen", "127.0.0.1:0")
    assert result.exit_code == 2
    assert "with --data, or in XDG_STATE_HOME" in result.output


@table("user", ["app", "app:", ":VARIABLE"])
def test_user_without_a_variable_is_refused(user):
    result = invoke("run", "--user", user)
    assert result.exit_code == 2
    assert "NAME:VARIABLE" in result.output


def test_user_whose_variable_is_not_set_is_refused():
    result = invoke("run", "--user", "app:NO_SUCH_VARIABLE")
    assert result.exit_code == 2
    assert "NO_SUCH_VARIABLE" in result.output


def test_line_of_users_file_without_password_is_named_but_not_shown(tmp_path):
    file = tmp_path / "users"
    file.write_text("# users\n\napp:secret\nadmin\n")
    result = invoke("run", "--users-file", str(file))
    assert result.exit_code == 2
    assert "line 4" in result.output
    assert "secret" not in result.output


@table(
    ("given", "said"),
    [
        ("curdepth", "is neither NAME=VALUE nor @FILE; names are 'curdepth', "),
        ("depth=both", "there is no reading 'depth'; there are 'curdepth', "),
        ("curdepth=both", "it has 'excludes uncommitted gets', 'counts uncommitted gets'"),
    ],
)
@table("command", [("run",), ("exec", "true")])
def test_a_reading_that_there_is_not_is_refused_with_those_there_are(command, given, said):
    verb, *program = command
    result = invoke(verb, "--reading", given, *program)
    assert said in result.output
    assert result.exit_code == (1 if verb == "run" else ExitCode.NOT_STARTED)


def test_an_option_that_exec_does_not_have_is_named_and_those_of_the_program_are_its_own():
    result = invoke("exec", "--queue", "DEV.QUEUE.1", "--", "true")
    assert (result.exit_code, "No such option '--queue'" in result.stderr) == (2, True)
    assert invoke("exec", "sh", "-c", "exit 3", "--queue").exit_code == 3


def test_credentials_are_required_of_users_that_there_are():
    result = invoke("run", "--require-credentials")
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
    command = [*MQEMBEDDED, "run", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")]
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
    assert "Any user of this machine can connect" in " ".join(invoke("run", "--help").output.split())


def test_a_default_is_shown():
    for command, default in (
        ("exec", "as on a slow line. [default: 0;"),
        ("channel", "0 ends the delay. [default: 0.0;"),
    ):
        assert default in " ".join(invoke(command, "--help").output.split())


@pytest.fixture
def execute(capfd):
    """A function that runs ``mqembedded exec``; returns its exit code, and what it and the program have written."""

    def run(*words, **environment):
        result = invoke("exec", *words, **environment)
        out, error = capfd.readouterr()
        return result.exit_code, result.stdout + out, result.stderr + error

    return run


PUT_AND_GET = """
import os, {package} as mq
q_mgr = mq.connect(os.environ["MQGROUPS_Q_MGR_NAME"], "DEV.APP.SVRCONN", os.environ["MQGROUPS_CONN_NAME"])
mq.Queue(q_mgr, "DEV.QUEUE.1").put(b"a raw program's message")
print(mq.Queue(q_mgr, "DEV.QUEUE.1").get())
q_mgr.disconnect()
"""
WITH_PASSWORDS = """
import os, pymqi
for password in ("right", "wrong"):
    try:
        pymqi.connect("QM9", "DEV.APP.SVRCONN", os.environ["MQGROUPS_CONN_NAME"], "app", password)
        print("connected")
    except pymqi.MQMIError as error:
        print(error.reason)
"""


@pytest.mark.embedded
def test_exec_runs_programs_that_know_nothing_of_it_and_nobody_else(execute):
    """Options of the program are the program's own; its exit code is that of the command."""
    script = """
echo $MQGROUPS_Q_MGR_NAME $1
"$PYTHON" -c "$PYMQI" && "$PYTHON" -c "$IBMMQ" && "$PYTHON" -c "$PASSWORDS"
test ${#MQEMBEDDED_ACCESS_KEY} -ge 32 && unset MQEMBEDDED_ACCESS_KEY
"$PYTHON" -c "$PASSWORDS"
exit 7
"""
    programs = {"PYTHON": sys.executable, "PASSWORDS": WITH_PASSWORDS, "APP_PASSWORD": "right"}
    programs |= {package.upper(): PUT_AND_GET.format(package=package) for package in ("pymqi", "ibmmq")}
    words = ("--qmgr", "QM9", "--user", "app:APP_PASSWORD", "sh", "-c", script, "sh", "--qmgr")
    message = 'b"a raw program\'s message"'
    said = f"QM9 --qmgr\n{message}\n{message}\nconnected\n2035\n2035\n2035\n"
    code, out, errors = execute(*words, **programs)
    assert (code, out) == (7, said)
    assert [line for line in errors.splitlines() if "does not have the access key" not in line] == []


@pytest.mark.embedded
def test_exec_keeps_messages_in_its_data_directory(tmp_path, execute):
    put, get = (
        f"""
import os, pymqi as mq
q_mgr = mq.connect("QM1", "DEV.APP.SVRCONN", os.environ["MQGROUPS_CONN_NAME"])
{verb}
"""
        for verb in (
            'mq.Queue(q_mgr, "DEV.QUEUE.1").put(b"kept", mq.MD(Persistence=1))',
            'print(mq.Queue(q_mgr, "DEV.QUEUE.1").get())',
        )
    )
    data = str(tmp_path / "QM1")
    assert execute("--data", data, "--", sys.executable, "-c", put) == (0, "", "")
    assert execute("--data", data, "--", sys.executable, "-c", get) == (0, "b'kept'\n", "")


@pytest.mark.embedded
def test_a_start_file_that_would_change_what_exists_is_told(tmp_path, execute):
    file, data = tmp_path / "start.mqsc", str(tmp_path / "QM1")
    channel = "DEFINE CHANNEL(DEV.ADMIN.SVRCONN) CHLTYPE(SVRCONN) MCAUSER('{}')\n"
    arguments = ("--data", data, "--mqsc", str(file), "--", "true")
    file.write_text("DEFINE QLOCAL(A) MAXDEPTH(5)\n" + channel.format("admin"))
    assert execute(*arguments)[0] == 0
    # The same again says nothing, as at each second start.
    _, _, same = execute(*arguments)
    file.write_text("DEFINE QLOCAL(A) MAXDEPTH(9)\n" + channel.format("another"))
    _, _, said = execute(*arguments)
    stays = "AMQ8150E: DEFINE {}: it exists, and REPLACE is not given, so it stays as it is"
    told = [stays.format(what) in said for what in ("QLOCAL(A)", "CHANNEL(DEV.ADMIN.SVRCONN)")]
    assert (told, "QLOCAL(A)" in same) == ([True, True], False)


@pytest.mark.embedded
def test_exec_says_by_its_exit_code_that_its_program_was_killed_or_not_started(tmp_path, execute):
    assert invoke("exec").exit_code == 2
    assert execute("--", "sh", "-c", "kill -TERM $$")[0] == 143
    said = "mqembedded: the program no-such-program does not exist\n"
    assert execute("--", "no-such-program") == (127, "", said)
    assert execute("--", str(tmp_path))[0] == 126
    file = tmp_path / "wrong.mqsc"
    file.write_text("* a comment\nDEFINE QLOCAL(A) MAXDEPTH(many)\n")
    done = run("exec", "--mqsc", file, "--", "true")
    assert (done.returncode, f"{file}: line 2" in done.stderr, "Traceback" in done.stderr) == (125, True, False)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    _, _, said = execute("--mqsc", pipe, "--", "true")
    assert f"{pipe} is not a regular file. Write the commands to a file, and give its name" in " ".join(said.split())


@pytest.mark.embedded
def test_run_says_when_it_is_ready_and_ends_by_signal(tmp_path):
    with subprocess.Popen(
        [*MQEMBEDDED, "run", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "QM1")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first, second, *more = [process.stdout.readline() for _ in range(7)]
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert first == "Queue manager QM1 (embedded: for development, not IBM MQ) is ready.\n"
    assert "connect to   127.0.0.1(" in second
    where = second.split()[2].rstrip(",")
    assert [line.strip() for line in more[-2:]] == [
        f"export MQSERVER='DEV.APP.SVRCONN/TCP/{where}'",
        'export LD_LIBRARY_PATH="$(mqembedded build --print-dir)/lib64"',
    ]


@pytest.mark.embedded
def test_run_on_an_address_in_use_says_so_in_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("run", "--listen", f"127.0.0.1:{port}", "--data", tmp_path / "QM1")
    assert done.returncode == 1
    assert done.stderr.startswith(f"mqembedded: queue manager QM1 on 127.0.0.1({port}): ")
    assert "in use" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.embedded
def test_a_variable_names_files_of_mqsc_commands_where_the_option_does_not(tmp_path, execute):
    for name in ("ONE", "TWO", "THREE"):
        (tmp_path / name).write_text(f"DEFINE QLOCAL({name})\n")
    opens = """
import os, pymqi as mq
q_mgr = mq.connect("QM1", "DEV.APP.SVRCONN", os.environ["MQGROUPS_CONN_NAME"])
for name in ("ONE", "TWO", "THREE"):
    try:
        mq.Queue(q_mgr, name).inquire(mq.CMQC.MQIA_CURRENT_Q_DEPTH)
        print(name)
    except mq.MQMIError as error:
        assert error.reason == 2085
"""
    both = {"MQEMBEDDED_MQSC": f"{tmp_path / 'ONE'}:{tmp_path / 'TWO'}"}
    assert execute("--", sys.executable, "-c", opens, **both) == (0, "ONE\nTWO\n", "")
    assert execute("--mqsc", tmp_path / "THREE", "--", sys.executable, "-c", opens, **both) == (0, "THREE\n", "")

"""What all commands have in common: profiles, Ctrl-C, completion, the manual page, and no traceback."""

from __future__ import annotations

import itertools
import os
import pwd
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest

from embedded_tests.tables import table
from mqembedded import Fault
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.main import main
from mqgroups.cli.profiles import KEYS, config_file, read_profiles
from tests.cli.test_main import commands
from tests.cli.test_watch import Terminal
from tests.fix_cli import MQGROUPS, environment, invoke


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A function that writes the configuration file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def write(text):
        path = config_file()
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def profile(owner, name, tmp_path, **more):
    """Return a profile of the queue manager under test."""
    password = tmp_path / "password"
    password.write_text(owner.target.password or "")
    values = {
        "q_mgr": owner.target.q_mgr_name,
        "conn_name": owner.target.conn_name,
        "channel": owner.target.channel,
        **({"user": owner.target.user, "password_file": str(password)} if owner.target.user else {}),
        **more,
    }
    return f"[profiles.{name}]\n" + "".join(f'{key} = "{value}"\n' for key, value in values.items())


def test_a_profile_is_as_good_as_options(owner, config, tmp_path):
    config(profile(owner, "here", tmp_path) + profile(owner, "nowhere", tmp_path, conn_name="127.0.0.1(1)"))
    assert invoke("owners", "--profile", "here", "--wait", "0").exit_code == ExitCode.DONE
    assert invoke("owners", "--profile", "nowhere", "--wait", "0").exit_code == ExitCode.NO_CONNECTION
    options = (
        "--profile",
        "nowhere",
        "--conn-name",
        owner.target.conn_name,
        "--password-file",
        str(tmp_path / "password"),
    )
    assert invoke("owners", *options, "--user", owner.target.user, "--wait", "0").exit_code == ExitCode.DONE


def test_a_profile_that_is_named_comes_before_the_environment_and_the_default_profile_after_it(owner, config, tmp_path):
    config('default_profile = "here"\n' + profile(owner, "here", tmp_path))
    assert invoke("owners", "--wait", "0").exit_code == ExitCode.DONE
    elsewhere = {
        "MQGROUPS_CONN_NAME": "127.0.0.1(1)",
        "MQGROUPS_Q_MGR_NAME": "OTHER",
        "MQGROUPS_PASSWORD_FILE": "/no/such",
    }
    said = "MQGROUPS_Q_MGR_NAME is set, so the environment says how to connect, and not default_profile 'here'"
    for none in ((), ("--profile", "")):
        by_environment = invoke("owners", "--wait", "0", *none, **elsewhere)
        assert by_environment.exit_code != ExitCode.DONE
        assert (said in by_environment.stderr) is (none == ())
    for named in (("--profile", "here"), ()):
        elsewhere |= {} if named else {"MQGROUPS_PROFILE": "here"}
        assert invoke("owners", "--wait", "0", *named, **elsewhere).exit_code == ExitCode.DONE


@pytest.fixture
def connected(config, tmp_path, monkeypatch):
    """A function that runs a command and returns with which conn_name, user, password and token it connects, and its result."""
    given: list[str | None] = []

    def connect(conn_name, user, password, token, **_):
        given[:] = [conn_name, user, password and password.read("password"), token and token.read("token")]
        raise ZeroDivisionError

    monkeypatch.setattr("mqgroups.cli.connection.connect", connect)
    for name in [name for name in os.environ if name.startswith(("MQGROUPS_", "MQSERVER", "MQCH", "MQCCDT"))]:
        monkeypatch.delenv(name)

    def run(of_profile, words, variables):
        file = tmp_path / "secret"
        file.write_text("by file")
        config('default_profile = "p"\n[profiles.p]\nq_mgr = "QM1"\n' + of_profile.format(file=file))
        words = [word.format(file=file) for word in words]
        result = invoke(
            "owners", *words, XX="by option", **{each: of.format(file=file) for each, of in variables.items()}
        )
        assert isinstance(result.exception, ZeroDivisionError), result.output
        return tuple(given), result

    return run


OF_PROFILE = "user = 'night'\npassword_file = '{file}'\n"
HERE = {"MQGROUPS_Q_MGR_NAME": "QM1"}


@table(
    ("of_profile", "words", "variables", "expected"),
    [
        (OF_PROFILE, (), {}, ("night", "by file", None)),
        (OF_PROFILE, (), {"MQGROUPS_USER": "u", "MQGROUPS_PASSWORD": "v"}, ("night", "by file", None)),
        (OF_PROFILE, (), {**HERE, "MQGROUPS_USER": "u", "MQGROUPS_PASSWORD": "v"}, ("u", "v", None)),
        (OF_PROFILE, (), {**HERE, "MQGROUPS_TOKEN": "t"}, (None, None, "t")),
        (OF_PROFILE, ("--password-env", "XX"), {}, ("night", "by option", None)),
        (OF_PROFILE, ("--token-env", "XX"), {}, (None, None, "by option")),
        ("user = 'night'\npassword_env = 'XX'\n", (), {}, ("night", "by option", None)),
        ("user = 'night'\npassword_env = 'XX'\n", ("--password-file", "{file}"), {}, ("night", "by file", None)),
        ("", (), {"MQGROUPS_TOKEN": "t", "MQGROUPS_PASSWORD_FILE": "/no/such/file"}, (None, None, None)),
        ("token_file = '{file}'\n", ("--user", "u", "--password-env", "XX"), {}, ("u", "by option", None)),
        (
            "token_file = '{file}'\n",
            ("--profile", ""),
            {"MQGROUPS_USER": "u", "MQGROUPS_PASSWORD": "v"},
            ("u", "v", None),
        ),
        # And connect refuses a user without a password.
        ("user = 'night'\n", (), {"MQGROUPS_PASSWORD": "v"}, ("night", None, None)),
        (OF_PROFILE, ("--user", "other"), {}, ("other", None, None)),
    ],
)
def test_user_password_and_token_are_one_setting_of_one_source(connected, of_profile, words, variables, expected):
    assert connected(of_profile, ["--q-mgr", "QM1", *words], variables)[0][1:] == expected


@pytest.mark.parametrize("chosen", [(), ("--profile", "p"), ("--profile", "")], ids=["default", "named", "none"])
def test_a_password_goes_to_the_address_of_its_source_and_to_no_other(connected, chosen):
    seen = set()
    for profile_at, environment_at, option_at, of_client, option in itertools.product((True, False), repeat=5):
        of_profile = "user = 'p'\npassword_env = 'PP'\n" + ("conn_name = 'p(1)'\n" if profile_at else "")
        variables = {"MQGROUPS_USER": "e", "MQGROUPS_PASSWORD": "e", "PP": "p", "OO": "o"}
        variables |= {"MQGROUPS_CONN_NAME": "e(1)"} if environment_at else {}
        variables |= {"MQSERVER": "C/TCP/m(1)"} if of_client else {}
        words = ["--q-mgr", "QM1", *chosen, *(("--conn-name", "o(1)") if option_at else ())]
        words += ["--user", "o", "--password-env", "OO"] if option else []
        (conn_name, user, password, _), result = connected(of_profile, words, variables)
        at = conn_name[0] if conn_name else "m" if of_client else None
        assert user == password
        if password == "p":
            assert (at, profile_at) in (("p", True), (None, False))
        if password == "e":
            assert at in ("e", "m") or not (environment_at or of_client)
        if option:
            assert password == "o"
        if password is None:
            assert "not used" in result.stderr
        seen.add((password, at))
    mine = {(): {("p", "p"), ("e", "e")}, ("--profile", "p"): {("p", "p")}, ("--profile", ""): {("e", "e"), ("e", "m")}}
    assert {*mine[chosen], ("o", "o")} <= seen


def test_without_a_queue_manager_the_message_names_each_way_to_give_one(config, monkeypatch):
    monkeypatch.delenv("MQGROUPS_Q_MGR_NAME", raising=False)
    path = config("")
    result = invoke("owners")
    said = " ".join(result.stderr.split())
    assert result.exit_code == ExitCode.USAGE
    assert all(way in said for way in ("--q-mgr", "MQGROUPS_Q_MGR_NAME", f"a profile of {path} with --profile"))


@table("secret", ["password", "token", "key_repository_password"])
def test_a_profile_has_no_secrets(config, secret):
    path = config(f'[profiles.p]\nq_mgr = "QM1"\n{secret} = "geheim"\n')
    result = invoke("owners", "--profile", "p")
    said = " ".join(result.stderr.split())
    assert result.exit_code == ExitCode.USAGE
    assert f"{path}, profile p: {secret} may not be in this file" in said
    assert f"{secret}_file" in said
    assert "geheim" not in result.output


@table(
    ("text", "sentence"),
    [
        ('[profiles.p]\nqueue = "Q"\n', "queue is not known"),
        ("[profiles.p]\nq_mgr = 1\n", "q_mgr must be a text in quotes"),
        ("[profiles.p\n", "cannot be read"),
        ('colour = "red"\n', "may have default_profile and [profiles.NAME]"),
        ('default_profile = "x"\n', "default_profile 'x' is not a profile of this file"),
        ("", "'p' is not a profile"),
        ('[profiles.q]\nq_mgr = "QM1"\n', "'p' is not a profile"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(config, text, sentence):
    config(text)
    result = invoke("owners", "--profile", "p")
    assert (result.exit_code, sentence in " ".join(result.stderr.split())) == (ExitCode.USAGE, True)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config_file().mkdir(parents=True)
    result = invoke("owners", "--profile", "p")
    assert (result.exit_code, "cannot be read" in result.stderr) == (ExitCode.USAGE, True)


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
        "mqsc",
        "recover",
        "salvage",
        "batches",
    }
    expected = {("q_mgr_name" if key == "q_mgr" else key) for key in KEYS} | {"profile"}
    assert expected <= names
    # One runs a program of the user's, whose output it is, and logs; the other has a screen, or a line for each look.
    if path not in (("work",), ("watch",)):
        assert {"--output", "--wide", "--json"} <= {each for option in command.params for each in option.opts}


@table("command", ["groups", "owners", "doctor", "watch", "send", "receive"])
def test_a_name_that_is_not_valid_is_one_sentence(owner, tmp_path, command):
    more = {"send": (__file__, "--name", "N"), "receive": ("--name", "N", "--into", tmp_path)}.get(command, ())
    result = invoke(command, "--queue", "bad name", *more, **environment(owner.target))
    assert result.exit_code == ExitCode.USAGE
    assert "queue 'bad name' has ' ' at position 4" in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.embedded
def test_ctrl_c_ends_a_command_with_one_sentence_and_130(owner, faults):
    faults.arm(Fault("answer", verb="MQCONNX", times=0, reason=2059))
    program = subprocess.Popen(
        # Where the tests were started in the background SIGINT is ignored, and a program inherits that.
        ["env", "--default-signal=INT", *MQGROUPS, "owners", "--wait", "60"],
        env={**os.environ, **owner.target.environment(), **environment(owner.target)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not faults.faults_fired():
        assert program.poll() is None
    program.send_signal(signal.SIGINT)
    out, said = program.communicate(timeout=60)
    assert (program.returncode, out) == (ExitCode.CTRL_C, "")
    assert said == "mqgroups: interrupted with Ctrl-C; what is not committed is backed out\n"


def test_at_a_terminal_ctrl_c_removes_the_line_of_progress(owner):
    terminal = Terminal(replace(owner.target, conn_name="127.0.0.1(1)"), "owners", width=80, height=24)
    terminal.until("waiting for")
    terminal.press(b"\x03")
    terminal.until("interrupted with Ctrl-C")
    assert terminal.shown.partition("mqgroups: ")[0].endswith("\r\x1b[K")
    assert terminal.ended() == ExitCode.CTRL_C


def test_a_wait_for_another_program_is_told_from_a_wait_for_the_queue_manager(owner):
    with owner.producer():
        terminal = Terminal(owner.target, "recover", "--name", owner.name, "--role", "put", width=80, height=24)
        terminal.until("waiting for the status queue")
    assert terminal.ended() == ExitCode.DONE


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_and_installed(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    printed = invoke("completion", shell)
    assert printed.exit_code == ExitCode.DONE
    assert "_MQGROUPS_COMPLETE" in printed.stdout
    installed = invoke("completion", "--install", SHELL=f"/bin/{shell}")
    path = Path(installed.stdout.partition(" written")[0])
    assert path.is_relative_to(tmp_path)
    assert path.read_text().strip() == printed.stdout.strip()


def test_a_shell_that_is_not_known_is_one_sentence():
    result = invoke("completion", SHELL="/bin/tcsh")
    assert (result.exit_code, "tcsh is not one of bash, zsh, fish" in result.stderr) == (ExitCode.USAGE, True)


def test_profiles_are_completed(config):
    config('[profiles.production]\nq_mgr = "P"\n[profiles.test]\nq_mgr = "T"\n')
    words = {"_MQGROUPS_COMPLETE": "bash_complete", "COMP_WORDS": "mqgroups owners --profile p", "COMP_CWORD": "3"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in words.items():
            patch.setenv(name, value)
        from click.testing import CliRunner

        result = CliRunner().invoke(main, prog_name="mqgroups")
    assert result.output.split() == ["plain,production"]


def test_the_manual_has_every_command_and_option(tmp_path, monkeypatch):
    page = invoke("manual").stdout.replace("\\-", "-").replace("\\&", "")
    for path, command in commands():
        if path:
            assert f".SS mqgroups {' '.join(path)} " in page
        for option in command.params:
            if isinstance(option, click.Option):
                assert all(name in page for name in option.opts), option.opts
    assert ".SH CONNECTION OPTIONS" in page
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    installed = invoke("manual", "--install")
    assert (tmp_path / "man" / "man1" / "mqgroups.1").is_file()
    assert "man mqgroups too, if ~/.local/bin is in PATH" in installed.stdout


@table("home", ["", "/dev/null"])
def test_a_user_without_a_home_directory_has_no_profiles_and_installs_nothing(monkeypatch, home):
    def nobody(_uid):
        raise KeyError

    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setenv("HOME", home) if home else monkeypatch.delenv("HOME", raising=False)
    assert read_profiles(config_file()) == (None, {})
    result = invoke("manual", "--install")
    assert "Traceback" not in result.output
    assert ("set HOME or XDG_DATA_HOME" if not home else "Not a directory") in result.stderr


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    result = invoke("manual", "--install", XDG_DATA_HOME=str(blocked))
    assert result.exit_code == ExitCode.FAILED
    assert result.stderr.startswith("mqgroups: ")
    assert "Traceback" not in result.output


def test_a_log_without_a_terminal_has_a_line_for_each_message():
    program = "import logging; from mqgroups.cli import console; console.log(False); logging.warning('word ' * 50)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    (line,) = done.stderr.splitlines()
    assert line.endswith(" WARNING " + "word " * 50)

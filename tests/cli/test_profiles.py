"""One connection, one source: the command line, a profile, or the environment."""

from __future__ import annotations

import itertools
import os

import pytest
from click.testing import CliRunner

from embedded_tests.tables import table
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.main import main
from mqgroups.cli.profiles import config_file
from tests.fix_cli import environment, invoke


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


def test_a_profile_is_as_good_as_options_and_as_variables(owner, config, tmp_path):
    config(profile(owner, "here", tmp_path) + profile(owner, "nowhere", tmp_path, conn_name="127.0.0.1(1)"))
    assert invoke("owners", "--profile", "here", "--wait", "0").exit_code == ExitCode.DONE
    assert invoke("owners", "--profile", "nowhere", "--wait", "0").exit_code != ExitCode.DONE
    assert invoke("owners", "--wait", "0", **environment(owner.target)).exit_code == ExitCode.DONE
    at = ("--q-mgr", owner.target.q_mgr_name, "--conn-name", owner.target.conn_name)
    who = ("--user", owner.target.user, "--password-file", tmp_path / "password") if owner.target.user else ()
    assert invoke("owners", *at, "--channel", owner.target.channel, *who, "--wait", "0").exit_code == ExitCode.DONE


@pytest.fixture
def connected(config, monkeypatch):
    """A function that runs a command and returns with which conn_name, user and password it connects, and its result."""
    given: list[str | None] = []

    def connect(conn_name, user, password, **_):
        given[:] = [conn_name, user, password and password.read("password")]
        raise ZeroDivisionError

    monkeypatch.setattr("mqgroups.cli.connection.connect", connect)
    for name in [name for name in os.environ if name.startswith(("MQGROUPS_", "MQSERVER", "MQCH", "MQCCDT"))]:
        monkeypatch.delenv(name)

    def run(text, words, variables):
        config(text)
        result = invoke("owners", *words, **variables)
        return (tuple(given), result) if isinstance(result.exception, ZeroDivisionError) else (None, result)

    return run


PROFILE = "[profiles.p]\nq_mgr = 'QM1'\nconn_name = 'p(1)'\nuser = 'p'\npassword_env = 'PP'\n"
AT = ("--q-mgr", "QM1", "--conn-name", "o(1)")
WHO = ("--user", "o", "--password-env", "OO")
HERE = {"MQGROUPS_Q_MGR_NAME": "QM1", "MQGROUPS_CONN_NAME": "e(1)"}
ELSE = {"MQGROUPS_USER": "e", "MQGROUPS_PASSWORD": "e"}
NOT_USED = "says how to connect; not used:"


@table(
    ("text", "words", "variables", "expected", "said"),
    [
        # Each source alone.
        ("", (*AT, *WHO), {}, ("o(1)", "o", "o"), ""),
        ("", (), {**HERE, **ELSE}, ("e(1)", "e", "e"), ""),
        (PROFILE, ("--profile", "p"), {}, ("p(1)", "p", "p"), ""),
        (f"default_profile = 'p'\n{PROFILE}", (), {}, ("p(1)", "p", "p"), ""),
        # The first that is there counts, and nothing of another one.
        ("", AT, {**HERE, **ELSE}, ("o(1)", None, None), f"the command line has --q-mgr, so it {NOT_USED} MQGROUPS_Q_MGR"),
        (PROFILE, ("--profile", "p"), {**HERE, **ELSE}, ("p(1)", "p", "p"), ""),
        (PROFILE, (), {"MQGROUPS_PROFILE": "p", **ELSE}, ("p(1)", "p", "p"), f"profile 'p' {NOT_USED} MQGROUPS_USER"),
        (
            f"default_profile = 'p'\n{PROFILE}", (), {**HERE, **ELSE}, ("e(1)", "e", "e"),
            f"the environment {NOT_USED} default_profile 'p'",
        ),
        (
            f"default_profile = 'p'\n{PROFILE}", (), ELSE, ("p(1)", "p", "p"),
            f"profile 'p' {NOT_USED} MQGROUPS_USER, MQGROUPS_PASSWORD",
        ),
        (f"default_profile = 'p'\n{PROFILE}", AT, {}, ("o(1)", None, None), f"{NOT_USED} profile 'p'"),
        # No profile is asked for.
        (f"default_profile = 'p'\n{PROFILE}", ("--profile", ""), {**HERE, **ELSE}, ("e(1)", "e", "e"), ""),
        (f"default_profile = 'p'\n{PROFILE}", (), {"MQGROUPS_PROFILE": "", **HERE}, ("e(1)", None, None), ""),
        # What belongs to the MQ client is not passed over in silence.
        ("", (), {**HERE, "MQSERVER": "C/TCP/m(1)"}, ("e(1)", None, None), f"the environment {NOT_USED} MQSERVER"),
        ("", (), {**HERE, "MQSERVER": "C/TCP/e(1)"}, ("e(1)", None, None), ""),
        ("", AT, {"MQSERVER": "C/TCP/m(1)"}, ("o(1)", None, None), "MQSERVER"),
        (
            "[profiles.p]\nq_mgr = 'QM1'\n", ("--profile", "p"), {"MQSERVER": "C/TCP/m(1)"}, (None, None, None),
            "profile 'p' has no address, so MQSERVER says where to connect",
        ),
        # These end the command.
        (PROFILE, ("--profile", "p", *WHO), {}, None, "--profile and --user cannot be combined"),
        ("", WHO, HERE, None, "Missing option '--q-mgr'"),
        ("", (*AT, "--user", "o"), ELSE, ("o(1)", "o", None), f"{NOT_USED} MQGROUPS_USER, MQGROUPS_PASSWORD"),
        (
            PROFILE.replace("conn_name", "#"), ("--profile", "p"), {"MQSERVER": "C/TCP/m(1)"}, None,
            "MQSERVER leads to an address that its user or token may not belong to",
        ),
        # As mqembedded exec sets them.
        (
            PROFILE.replace("conn_name", "#"), ("--profile", "p"), {**HERE, "MQSERVER": "C/TCP/e(1)"}, None,
            "MQSERVER leads to an address that its user or token may not belong to",
        ),
    ],
)  # fmt: skip
def test_one_connection_has_one_source_and_says_which_where_it_is_not_obvious(
    connected, text, words, variables, expected, said
):
    found, result = connected(text, words, {"OO": "o", "PP": "p", **variables})
    stderr = " ".join(result.stderr.split())
    if expected is None or found is not None:
        assert found == expected
    else:
        # connect was not reached.
        assert (result.exit_code, expected) == (ExitCode.USAGE, None), stderr
    assert said in stderr
    assert bool(said) is bool(stderr)


def test_a_password_goes_to_the_address_that_it_was_given_with(connected):
    seen = set()
    for chosen, at_profile, at_environment, at_option, of_client, who in itertools.product(
        ((), ("--profile", "p"), ("--profile", "")), *((True, False),) * 5
    ):
        text = f"default_profile = 'p'\n{PROFILE if at_profile else PROFILE.replace('conn_name', '#')}"
        variables = {"PP": "p", "OO": "o", **ELSE, "MQGROUPS_Q_MGR_NAME": "QM1"}
        variables |= HERE if at_environment else {}
        variables |= {"MQSERVER": "C/TCP/m(1)"} if of_client else {}
        words = (*chosen, *(AT if at_option else ()), *(WHO if who else ()))
        found, _ = connected(text, words, variables)
        if found is not None:
            conn_name, user, password = found
            assert user == password
            seen.add((password, conn_name[0] if conn_name else "m" if of_client else None))
    assert seen == {("p", "p"), ("p", None), ("e", "e"), ("e", "m"), ("e", None), ("o", "o"), (None, "o")}


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


def test_profiles_are_completed(config):
    config('[profiles.production]\nq_mgr = "P"\n[profiles.test]\nq_mgr = "T"\n')
    words = {"_MQGROUPS_COMPLETE": "bash_complete", "COMP_WORDS": "mqgroups owners --profile p", "COMP_CWORD": "3"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in words.items():
            patch.setenv(name, value)
        result = CliRunner().invoke(main, prog_name="mqgroups")
    assert result.output.split() == ["plain,production"]

"""How commands connect: where the password is, which settings go together, and the exit code when nobody answers."""

from __future__ import annotations

import itertools
import json
import os

import pytest

from embedded_tests.tables import table
from mqembedded import Fault
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.mqi import constants as mq
from tests.fix_cli import environment, invoke

THIS = [b"%d" % number for number in range(7)]


@pytest.fixture
def check(owner):
    """A function that runs ``mqgroups check`` for the owner, which waits for nothing."""

    def run(*arguments, wait="0", **variables):
        words = ["check", owner.name, "--wait", wait, *arguments]
        return invoke(*words, **{**environment(owner.target), **variables})

    return run


@pytest.mark.embedded
def test_the_password_is_in_a_file_or_in_a_variable_that_is_named(owner, check, tmp_path):
    path = tmp_path / "password"
    path.write_text(f"{owner.target.password}\n")
    assert check(MQGROUPS_PASSWORD="", MQGROUPS_PASSWORD_FILE=str(path)).exit_code == ExitCode.DONE
    target = owner.target
    on_command_line = ("--q-mgr", target.q_mgr_name, "--conn-name", target.conn_name, "--user", target.user)
    for named in (("--password-file", path), ("--password-env", "ANOTHER")):
        done = check(*on_command_line, *named, MQGROUPS_PASSWORD="wrong", ANOTHER=f"{target.password}\n")
        assert done.exit_code == ExitCode.DONE


@table(
    ("arguments", "variables", "sentence"),
    [
        (("--user", "u", "--password-file", "/no/such"), {}, "password: file /no/such cannot be read"),
        (
            ("--password-file", "f", "--password-env", "V"),
            {},
            "--password-file and --password-env cannot be combined",
        ),
        (("--token-env", "NO_SUCH_VARIABLE", "--user", "u"), {}, "token and user"),
        ((), {"MQGROUPS_TOKEN": "t"}, "token and user: a token identifies its user"),
        (("--ccdt-url", "file:///c"), {}, "ccdt_url and channel"),
        ((), {"MQGROUPS_KEY_REPOSITORY": "/k"}, "key_repository without cipher_spec"),
        (("--peer-name", "CN=x"), {}, "peer_name without cipher_spec"),
        (("--certificate-label", "l"), {}, "certificate_label without cipher_spec"),
        (("--key-repository-password-file", "f"), {}, "key_repository_password without key_repository"),
        ((), {"MQGROUPS_Q_MGR_NAME": "*QM1"}, "may connect to different queue managers"),
    ],
)
def test_security_options_that_make_no_sense_end_2(check, arguments, variables, sentence):
    result = check(*(("--q-mgr", "QM1", "--conn-name", "h(1)", *arguments) if arguments else ()), **variables)
    assert result.exit_code == ExitCode.USAGE
    assert sentence in " ".join(result.stderr.split())


@pytest.fixture
def connected(monkeypatch):
    """A function that runs a command and returns with which conn_name, user and password it connects, and its result."""
    given: list[str | None] = []

    def connect(conn_name, user, password, **_):
        given[:] = [conn_name, user, password and password.read("password")]
        raise ZeroDivisionError

    monkeypatch.setattr("mqgroups.cli.connection.connect", connect)
    for name in [name for name in os.environ if name.startswith("MQGROUPS_")]:
        monkeypatch.delenv(name)

    def run(words, variables):
        result = invoke("owners", *words, **variables)
        return (tuple(given), result) if isinstance(result.exception, ZeroDivisionError) else (None, result)

    return run


AT = ("--q-mgr", "QM1", "--conn-name", "o(1)")
WHO = ("--user", "o", "--password-env", "OO")
HERE = {"MQGROUPS_Q_MGR_NAME": "QM1", "MQGROUPS_CONN_NAME": "e(1)"}
ELSE = {"MQGROUPS_USER": "e", "MQGROUPS_PASSWORD": "e"}


@table(
    ("words", "variables", "expected", "unused"),
    [
        ((*AT, *WHO), {}, ("o(1)", "o", "o"), ""),
        ((), {**HERE, **ELSE}, ("e(1)", "e", "e"), ""),
        (AT, {**HERE, **ELSE}, ("o(1)", None, None), ", ".join([*HERE, *ELSE])),
        ((*AT, "--user", "o"), ELSE, ("o(1)", "o", None), ", ".join(ELSE)),
        # A password without its user is another connection's.
        ((), {**HERE, "MQGROUPS_PASSWORD": "e"}, ("e(1)", None, None), ""),
    ],
)
def test_one_connection_has_one_source_and_the_other_one_is_said_to_be_unused(
    connected, words, variables, expected, unused
):
    found, result = connected(words, {"OO": "o", **variables})
    said = f"mqgroups: the command line has --q-mgr, so these are not used: {unused}\n" if unused else ""
    assert (found, result.stderr) == (expected, said)


def test_a_password_goes_to_the_address_that_it_was_given_with(connected):
    seen = set()
    for at_environment, at_option, who in itertools.product(*((True, False),) * 3):
        variables = {"OO": "o", **ELSE, "MQGROUPS_Q_MGR_NAME": "QM1", **(HERE if at_environment else {})}
        found, result = connected((*(AT if at_option else ()), *(WHO if who else ())), variables)
        if found is None:
            assert (who, at_option, "Missing option '--q-mgr'" in result.stderr) == (True, False, True)
        else:
            conn_name, user, password = found
            assert user == password
            seen.add((password, conn_name and conn_name[0]))
    assert seen == {("e", "e"), ("e", None), ("o", "o"), (None, "o")}


def test_without_a_queue_manager_to_ask_the_command_is_not_understood():
    result = invoke("check", "N", MQGROUPS_Q_MGR_NAME="")
    assert result.exit_code == ExitCode.USAGE
    assert all(way in result.stderr for way in ("--q-mgr", "MQGROUPS_Q_MGR_NAME"))


def test_a_queue_manager_that_is_not_there_ends_75_because_it_may_come_back(check):
    result = check("-o", "json", MQGROUPS_CONN_NAME="127.0.0.1(1)")
    assert result.exit_code == ExitCode.TRY_AGAIN
    assert result.stderr.startswith("mqgroups: MQCONNX for queue manager")
    said = json.loads(result.stdout)
    assert (said["error"], said["owners"], said["exit_code"]) == ("ConnectionBroken", [], ExitCode.TRY_AGAIN)


@table("variables", [{"MQGROUPS_Q_MGR_NAME": "NOBODY"}, {"MQGROUPS_PASSWORD": "wrong"}])
def test_a_queue_manager_that_refuses_ends_1(check, variables):
    result = check(**variables)
    assert result.exit_code == ExitCode.FAILED
    assert "wrong" not in result.output


@pytest.mark.embedded
def test_a_call_that_fails_for_another_reason_ends_1(owner, check, faults):
    owner.put_group(THIS)
    faults.arm(Fault("answer", verb="MQGET", reason=mq.MQRC_UNEXPECTED_ERROR))
    result = check("--role", "put")
    assert (result.exit_code, "2195" in result.stderr) == (ExitCode.FAILED, True)


@pytest.mark.embedded
def test_a_queue_manager_that_comes_in_time_is_waited_for(check, faults):
    faults.arm(Fault("answer", verb="MQCONNX", times=3, reason=mq.MQRC_Q_MGR_NOT_AVAILABLE))
    assert check(wait="30").exit_code == ExitCode.DONE
    assert faults.faults_fired() == 3

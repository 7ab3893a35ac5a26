"""``mqgroups mqsc``: what it prints can be run, makes an installation, and is what ``--check`` finds there."""

from __future__ import annotations

import json

import pytest

import mqgroups
from mqgroups.connection.holder import connection_of
from mqgroups.core.definitions import Names, compared, role_definitions, roles, spark_definitions, status_definitions
from mqgroups.core.findings import Severity
from mqgroups.core.mqsc_text import MQSCCommand, commands
from mqgroups.embedded import ROLES_MQSC, STANDARD_MQSC
from mqgroups.operate.mqsc import MQSCClient
from tests.fix_cli import invoke
from tests.tables import table

DONE, USAGE, WARNING, MISSING = 0, 2, 3, 5
NAMES = (
    "--queue",
    "PAYMENTS",
    "--name",
    "PAY.LOADER",
    "--role-user",
    "loader=alice",
    "--role-user",
    "operator=night",
    "--ask",
)


@pytest.fixture
def q_mgr(own_queue_manager, binding, monkeypatch):
    """A queue manager of this test alone."""
    monkeypatch.setenv("MQGROUPS_MQI", binding.__name__)
    for variable in ("MQGROUPS_USER", "MQGROUPS_PASSWORD"):
        monkeypatch.delenv(variable, raising=False)
    return own_queue_manager("QM5")


@pytest.fixture
def mqsc(q_mgr):
    """A function that runs ``mqgroups mqsc`` there."""
    variables = {
        "MQGROUPS_Q_MGR_NAME": q_mgr.q_mgr_name,
        "MQGROUPS_CONN_NAME": q_mgr.conn_name,
        "MQGROUPS_CHANNEL": q_mgr.channel,
    }
    return lambda *arguments: invoke("mqsc", *arguments, **variables)


@pytest.fixture
def execute(q_mgr):
    """A function that runs an MQSC file there, as an administrator."""

    def run(text):
        with mqgroups.connect(q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name) as connected:
            client = MQSCClient(connection_of(connected))
            for command in commands(text):
                done, said = client.run(command.text)
                assert done, said

    return run


def findings(result):
    """Return what ``--check --json`` found."""
    report = json.loads(result.stdout)
    assert "findings" in report, report
    return report["findings"]


def test_what_is_printed_makes_what_check_looks_for(mqsc, execute):
    before = mqsc("all", *NAMES, "--check", "--json")
    missing = [each["subject"] for each in findings(before) if each["severity"] == "error"]
    assert before.exit_code == MISSING
    assert {"queue PAYMENTS", "queue MQGROUPS.PUT.PAY.LOADER", "authorities of alice for PAYMENTS"} <= set(missing)
    execute(mqsc("all", *NAMES).stdout)
    after = mqsc("all", *NAMES, "--check", "--json")
    assert [each for each in findings(after) if each["severity"] != "ok"] == []
    assert after.exit_code == DONE


def test_check_says_what_differs_and_how_to_mend_it(mqsc, execute):
    execute("ALTER QMODEL('MQGROUPS.STATUS.MODEL') SHARE DEFTYPE(TEMPDYN)")
    result = mqsc("status", "--check", "--json")
    (wrong,) = (each for each in findings(result) if each["severity"] != "ok")
    assert (result.exit_code, wrong["found"]) == (
        WARNING,
        "DEFTYPE(TEMPDYN) and not DEFTYPE(PERMDYN), SHARE and not NOSHARE",
    )
    execute(wrong["mqsc"][0])
    assert mqsc("status", "--check").exit_code == DONE


def test_without_names_the_templates_are_printed_as_they_are():
    printed = invoke("mqsc", "roles").stdout
    assert [each.text for each in commands(printed)] == [each.text for each in commands(ROLES_MQSC.read_text())]
    assert "MQGROUPS.STATUS.MODEL" in invoke("mqsc", "status").stdout
    assert set(roles(ROLES_MQSC.read_text())) == {
        "loader", "sink", "pipe", "recoverer", "operator", "repairer", "sparksource", "sparksink",
    }  # fmt: skip


def test_names_of_the_command_line_take_the_place_of_those_of_the_templates():
    names = Names("PAYMENTS", "RESULTS", "PAYMENTS.BACKOUT", "PAY.LOADER", {"pipe": "p", "repairer": "r"}, ask=True)
    found = role_definitions(ROLES_MQSC.read_text(), names)
    profiles = {each.attributes.get("PROFILE", "") for each in found}
    assert profiles == {
        "", "PAYMENTS", "RESULTS", "PAYMENTS.BACKOUT", "MQGROUPS.PUT.PAY.LOADER", "MQGROUPS.GET.PAY.LOADER",
        "MQGROUPS.STATUS.MODEL", "MQGROUPS.**", "SYSTEM.ADMIN.COMMAND.QUEUE", "SYSTEM.DEFAULT.MODEL.QUEUE",
    }  # fmt: skip
    assert {each.attributes["PRINCIPAL"] for each in found} == {"p", "r"}
    queues = STANDARD_MQSC.read_text()
    made = [each.attributes.get("QLOCAL") or each.attributes["QMODEL"] for each in status_definitions(queues, names)]
    assert made == [
        "MQGROUPS.STATUS.MODEL", "PAYMENTS", "PAYMENTS.BACKOUT", "MQGROUPS.PUT.PAY.LOADER", "MQGROUPS.GET.PAY.LOADER",
    ]  # fmt: skip
    assert len(spark_definitions(queues)) == 2


def test_a_queue_that_exists_is_not_replaced():
    model, *queues = status_definitions(STANDARD_MQSC.read_text(), Names("PAYMENTS"))
    assert "REPLACE" in model.words
    assert ["NOREPLACE" in queue.words for queue in queues] == [True, True]


def test_the_backout_queue_is_named_after_its_queue():
    _, queue, backout = status_definitions(STANDARD_MQSC.read_text(), Names("PAYMENTS"))
    assert (queue.attributes["BOQNAME"], backout.attributes["QLOCAL"]) == ("PAYMENTS.BACKOUT", "PAYMENTS.BACKOUT")


def test_the_doctor_has_nothing_to_say_of_what_is_printed(q_mgr, mqsc, execute):
    execute(mqsc("status", *NAMES).stdout)
    # The channel is the site's own
    execute(f"ALTER CHANNEL('{q_mgr.channel}') CHLTYPE(SVRCONN) HBINT(10)")
    where = {"MQGROUPS_CONN_NAME": q_mgr.conn_name, "MQGROUPS_CHANNEL": q_mgr.channel}
    result = invoke("doctor", "--queue", "PAYMENTS", "--q-mgr", q_mgr.q_mgr_name, "--json", **where)
    assert [each for each in findings(result) if each["severity"] != "ok"] == []


def test_the_doctor_warns_that_there_is_no_model(q_mgr, execute):
    execute("DELETE QMODEL('MQGROUPS.STATUS.MODEL')")
    where = {"MQGROUPS_CONN_NAME": q_mgr.conn_name, "MQGROUPS_CHANNEL": q_mgr.channel}
    result = invoke("doctor", "--q-mgr", q_mgr.q_mgr_name, "--json", **where)
    found = {each["subject"]: each["severity"] for each in findings(result)}
    assert (result.exit_code, found["model queue MQGROUPS.STATUS.MODEL"]) == (WARNING, "warning")


def test_what_is_printed_fits_a_narrow_terminal():
    assert max(map(len, invoke("mqsc", "all", *NAMES).stdout.splitlines())) <= 80


def test_commands_that_mend_are_shown_so_that_they_can_be_copied(mqsc):
    lines = [line[10:] for line in mqsc("roles", "--check").stdout.splitlines() if line.startswith(" " * 10)]
    copied = [line[5:] for line in lines if line.startswith(("do:  ", "     "))]
    assert any(line.endswith("+") for line in copied)
    shown = {each.text for each in commands("\n".join(copied)) if each.text.startswith("SET ")}
    assert shown == {each.text for each in role_definitions(ROLES_MQSC.read_text(), Names())}


def test_authorities_of_several_records_count_together():
    command = MQSCCommand("SET AUTHREC PROFILE('Q') OBJTYPE(QUEUE) PRINCIPAL('u') AUTHADD(GET,PUT)")
    assert compared(command, ["AUTHLIST(PUT)", "AUTHLIST(BROWSE,GET)"]).severity is Severity.OK
    assert compared(command, ["AUTHLIST(PUT)"]).found == "no record gives GET"


@table(
    ("arguments", "said"),
    [
        (("--queue", "not a name"), "--queue"),
        (("--queue", "Q" * 48), "--backout-queue"),
        (("--name", "not a name"), "--name"),
        (("--role-user", "nobody=x"), "'nobody=x' is not ROLE=USER"),
        (("--role-user", "loader=a'b"), "is not ROLE=USER"),
        (("--check",), "--check needs --q-mgr"),
        (("everything",), "everything"),
    ],
)
def test_what_cannot_be_printed_ends_2(arguments, said):
    result = invoke("mqsc", *arguments, MQGROUPS_Q_MGR_NAME="")
    assert (result.exit_code, said in result.stderr) == (USAGE, True)

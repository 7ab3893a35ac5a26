"""``mqgroups mqsc``: what it prints can be run, and makes an installation."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

import mqgroups
from embedded_tests.tables import table
from mqembedded import READINGS, EmbeddedQueueManager
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.definitions import DEVELOPMENT_MQSC, ROLES_MQSC
from mqgroups.names import checked_queue_name
from mqgroups.operate.attributes import inquired
from mqgroups.operate.command_server import PCFClient
from mqgroups.operate.rules.definitions import (
    PINNED,
    Names,
    role_definitions,
    roles,
    spark_definitions,
    status_definitions,
)
from mqgroups.operate.rules.mqsc_text import commands
from tests.fix_cli import environment, invoke

ROOT = Path(__file__).parents[2]
DONE, _, USAGE = range(3)
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
    return lambda *arguments: invoke("mqsc", *arguments, **environment(q_mgr))


@pytest.fixture
def execute(q_mgr):
    """A function that runs an MQSC file there, as an administrator."""

    def run(text):
        with mqgroups.connect(q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name) as connected:
            client = PCFClient(connection_of(connected))
            for command in commands(text):
                done, said = client.run(command.text)
                assert done, said

    return run


def test_what_is_printed_makes_an_installation(q_mgr, mqsc, execute):
    printed = list(commands(mqsc("all", *NAMES).stdout))
    execute(mqsc("all", *NAMES).stdout)
    made = {each.attributes[kind] for each in printed for kind in ("QLOCAL", "QMODEL") if kind in each.attributes}
    assert {"PAYMENTS", "PAYMENTS.BACKOUT", "MQGROUPS.PUT.PAY.LOADER", "MQGROUPS.STATUS.MODEL"} <= made
    given = {
        (each.attributes["PRINCIPAL"], each.attributes.get("PROFILE"))
        for each in printed
        if "AUTHADD" in each.attributes
    }
    assert {("alice", "PAYMENTS"), ("night", "MQGROUPS.**"), ("night", "SYSTEM.ADMIN.COMMAND.QUEUE")} <= given
    with mqgroups.connect(q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name) as connected:
        display = PCFClient(connection_of(connected)).run
        assert all(display(f"DISPLAY QUEUE('{name}')")[1] for name in made)
        for user, profile in given:
            of_profile = f"PROFILE('{profile}') OBJTYPE(QUEUE)" if profile else "OBJTYPE(QMGR)"
            assert display(f"DISPLAY AUTHREC {of_profile} PRINCIPAL('{user}')")[1]


def test_without_names_the_templates_are_printed_as_they_are():
    printed = invoke("mqsc", "roles").stdout
    assert [each.text for each in commands(printed)] == [each.text for each in commands(ROLES_MQSC.read_text())]
    assert "MQGROUPS.STATUS.MODEL" in invoke("mqsc", "status").stdout
    assert set(roles(ROLES_MQSC.read_text())) == {
        "loader", "sink", "pipe", "recoverer", "operator", "repairer", "sparksource", "sparksink",
    }  # fmt: skip


def test_names_of_the_command_line_take_the_place_of_those_of_the_templates():
    names = Names("PAYMENTS", "RESULTS", "PAY.LOADER", {"pipe": "p", "repairer": "r"}, ask=True)
    found = role_definitions(ROLES_MQSC.read_text(), names)
    profiles = {each.attributes.get("PROFILE", "") for each in found}
    assert profiles == {
        "", "PAYMENTS", "RESULTS", "PAYMENTS.BACKOUT", "MQGROUPS.PUT.PAY.LOADER", "MQGROUPS.GET.PAY.LOADER",
        "MQGROUPS.STATUS.MODEL", "MQGROUPS.**", "SYSTEM.ADMIN.COMMAND.QUEUE", "SYSTEM.DEFAULT.MODEL.QUEUE",
    }  # fmt: skip
    assert {each.attributes["PRINCIPAL"] for each in found} == {"p", "r"}
    queues = DEVELOPMENT_MQSC.read_text()
    made = [each.attributes.get("QLOCAL") or each.attributes["QMODEL"] for each in status_definitions(queues, names)]
    assert made == [
        "MQGROUPS.STATUS.MODEL", "PAYMENTS", "PAYMENTS.BACKOUT", "MQGROUPS.PUT.PAY.LOADER", "MQGROUPS.GET.PAY.LOADER",
    ]  # fmt: skip
    assert len(spark_definitions(queues)) == 2


def test_a_queue_that_exists_is_not_replaced():
    model, *queues = status_definitions(DEVELOPMENT_MQSC.read_text(), Names("PAYMENTS"))
    assert "REPLACE" in model.words
    assert ["NOREPLACE" in queue.words for queue in queues] == [True, True]


def test_the_backout_queue_is_named_after_its_queue():
    _, queue, backout = status_definitions(DEVELOPMENT_MQSC.read_text(), Names("PAYMENTS"))
    assert (queue.attributes["BOQNAME"], backout.attributes["QLOCAL"]) == ("PAYMENTS.BACKOUT", "PAYMENTS.BACKOUT")


def test_the_doctor_has_nothing_to_say_of_what_is_printed(q_mgr, mqsc, execute):
    execute(mqsc("status", *NAMES).stdout)
    # The channel is the site's own
    execute(f"ALTER CHANNEL('{q_mgr.channel}') CHLTYPE(SVRCONN) HBINT(10)")
    result = invoke("doctor", "--queue", "PAYMENTS", "-o", "json", **environment(q_mgr))
    assert [each for each in json.loads(result.stdout)["findings"] if each["severity"] != "ok"] == []


def test_every_definition_names_what_a_site_may_have_altered_in_the_default_objects():
    """Defaults are IBM's, "but your installation might have changed them" (IBM MQ, "DEFINE QLOCAL")."""
    files = [*(ROOT / "docker").rglob("*.mqsc"), *(ROOT / "recipes").glob("*.mqsc"), *(ROOT / "docs").rglob("*.md")]
    found = [each for file in files for each in commands(_mqsc_of(file)) if each.words[0] == "DEFINE"]
    found = [each for each in found if {"QLOCAL", "QMODEL"} & set(each.attributes)]
    assert len(found) > 10
    assert [each.text for each in found if PINNED not in each.text] == []


def _mqsc_of(file):
    """Return the MQSC of a file; of a document, the lines that define queues, with those that continue them."""
    text = file.read_text()
    if file.suffix == ".mqsc":
        return text
    return "\n".join(re.findall(r"^ *DEFINE Q(?:LOCAL|MODEL)\((?:.*\+\n)*.*$", text, re.MULTILINE))


ALTERED_DEFAULTS = """
ALTER QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE) GET(DISABLED) PUT(DISABLED) TRIGGER MAXMSGL(10) USAGE(XMITQ) +
  CUSTOM('CAPEXPRY(600)') STREAMQ(COPIES) CAPEXPRY(600)
ALTER QMODEL(SYSTEM.DEFAULT.MODEL.QUEUE) GET(DISABLED) PUT(DISABLED) TRIGGER MAXMSGL(10) USAGE(XMITQ) +
  CUSTOM('CAPEXPRY(600)') STREAMQ(COPIES) CAPEXPRY(600)
"""


def test_what_is_printed_is_the_same_whatever_a_site_has_altered_in_its_default_objects(own_queue_manager, tmp_path):
    file = tmp_path / "altered.mqsc"
    printed = invoke("mqsc", "status", "--queue", "PAYMENTS").stdout
    file.write_text(f"{ALTERED_DEFAULTS}DEFINE QLOCAL('PLAIN')\n{printed}")
    q_mgr = own_queue_manager("QM5", mqsc=[file], data=tmp_path / "data")
    with mqgroups.connect(q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name) as connected:
        with connected.group_producer("PAYMENTS", name="PAY.LOADER") as producer, producer.group() as group:
            group.put("longer than ten")
        altered = {
            "USAGE": "XMITQ",
            "TRIGGER": "YES",
            "CUSTOM": "CAPEXPRY(600)",
            "STREAMQ": "COPIES",
            "CAPEXPRY": "600",
        }
        usual = {"USAGE": "NORMAL", "TRIGGER": "NO", "CUSTOM": "", "STREAMQ": "", "CAPEXPRY": "NOLIMIT"}
        for queue, expected in (("PLAIN", altered), ("PAYMENTS", usual)):
            assert inquired(connection_of(connected), queue, altered)[0] == expected


@pytest.mark.parametrize("value", READINGS["name of a dynamic queue"])
def test_the_roles_of_a_name_are_enough_whatever_is_checked_when_its_status_queue_is_made(
    own_queue_manager, tmp_path, value
):
    roles_of_name = invoke("mqsc", "roles", "--name", "PAY.LOADER", "--role-user", "loader=alice").stdout
    file = tmp_path / "roles.mqsc"
    file.write_text(roles_of_name)
    users, readings = {"alice": "pw"}, {"name of a dynamic queue": value}
    q_mgr = own_queue_manager("QM5", mqsc=[file], users=users, readings=readings, data=tmp_path / "data")
    where = (q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name)
    with mqgroups.connect(*where, user="alice", password="pw") as connected:
        with connected.group_producer("ORDERS", name="PAY.LOADER") as producer, producer.group() as group:
            group.put("paid")
        refused = pytest.raises(errors.NotAuthorised, match=r"own name is checked too: .*'MQGROUPS\.PUT\.OTHER'")
        with refused if value == "is checked too" else contextlib.nullcontext():
            connected.group_producer("ORDERS", name="OTHER").close()


def test_the_doctor_warns_that_there_is_no_model(q_mgr, execute):
    execute("DELETE QMODEL('MQGROUPS.STATUS.MODEL')")
    result = invoke("doctor", "-o", "json", **environment(q_mgr))
    found = {each["subject"]: each["severity"] for each in json.loads(result.stdout)["findings"]}
    assert (result.exit_code, found["model queue MQGROUPS.STATUS.MODEL"]) == (DONE, "warning")


def test_what_is_printed_fits_a_narrow_terminal_and_z_os():
    # CSQINP2 and CSQUTIL read columns 1 to 72 (IBM MQ, topics q085110, q088790).
    assert max(map(len, invoke("mqsc", "all", *NAMES).stdout.splitlines())) <= 72


@pytest.mark.parametrize("length", [40, 41, 48])
def test_a_queue_name_of_any_length_has_a_backout_queue_of_its_own(mqsc, length):
    backout = []
    for last in "AB":
        queue = "COM.EXAMPLE.DIVISION.APPLICATION.SUBSYSTEM.ORDERS"[: length - 1] + last
        _, data, aside = commands(invoke("mqsc", "status", "--queue", queue).stdout)
        backout.append(data.attributes["BOQNAME"])
        assert (data.attributes["QLOCAL"], aside.attributes["QLOCAL"]) == (queue, backout[-1])
        assert backout[-1] == checked_queue_name("BOQNAME", backout[-1])
        assert backout[-1].endswith(".BACKOUT")
        # Attributes and authorities name the same.
        assert f"'{backout[-1]}'" in invoke("mqsc", "roles", "--queue", queue).stdout
    assert len(set(backout)) == 2


@table(
    ("arguments", "said"),
    [
        (("--queue", "not a name"), "--queue"),
        (("--queue", "Q" * 49), "--queue"),
        (("--name", "not a name"), "name 'not a name'"),
        (("--role-user", "nobody=x"), "'nobody=x' is not ROLE=USER"),
        (("--role-user", "loader=a'b"), "is not ROLE=USER"),
        (("everything",), "everything"),
    ],
)
def test_what_cannot_be_printed_ends_2(arguments, said):
    result = invoke("mqsc", *arguments, MQGROUPS_Q_MGR_NAME="")
    assert (result.exit_code, said in result.stderr) == (USAGE, True)


@pytest.mark.embedded
def test_the_queues_of_the_examples_are_printed_for_a_queue_manager_of_development(tmp_path):
    printed = invoke("mqsc", "development")
    assert printed.exit_code == DONE
    (tmp_path / "queues.mqsc").write_text(printed.stdout)
    texts = [[command.text for command in commands(text)] for text in (printed.stdout, DEVELOPMENT_MQSC.read_text())]
    assert texts[0] == texts[1]
    with EmbeddedQueueManager("QM6", mqsc=[tmp_path / "queues.mqsc"]) as q_mgr:
        assert q_mgr.control.mqsc("DISPLAY QLOCAL(FLIGHTS.DELAYS)")[0]
        assert not q_mgr.control.mqsc("DISPLAY QLOCAL(NO.SUCH)")[0]

"""docker/roles.mqsc: with exactly these authorities each role does its work, and without any single one of them it does not."""

# ruff: noqa: PT012 - a producer dies inside its block, so the block is inside the raises

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

import mqgroups
from mqembedded import EmbeddedQueueManager
from mqembedded.admin.mqsc import parse
from mqembedded.testing.under_test import MQSC
from mqgroups import operate
from mqgroups.batch.completion import complete_batch
from mqgroups.batch.producer import BatchMessage, BatchProducer, BatchSettings
from mqgroups.connection.holder import connection_of
from mqgroups.core.modes import Accept
from mqgroups.definitions import DEVELOPMENT_MQSC
from mqgroups.errors import NotAuthorised, OwnerActive, RepairRefused, StatusQueueUnusable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.operate import GroupState, OwnerState
from mqgroups.operate.command_server import PCFClient
from mqgroups.operate.rules.definitions import Names, role_definitions, status_definitions
from mqgroups.operate.status_queues import look_at
from mqgroups.spark.browse import BrowsedQueue
from mqgroups.spark.manifest_queue import ManifestQueue
from mqgroups.spark.removal import Removers, Share
from mqgroups.spark.reservation import ReservedQueue
from mqgroups.spark.signs import put_note
from tests.fix_cli import run

pytestmark = pytest.mark.embedded
ROOT = Path(__file__).parents[2]
ROLES_FILE = ROOT / "docker" / "roles.mqsc"
NAME = "ORDERS.LOADER"
STATUS_QUEUES = [
    f"MQGROUPS.PUT.{NAME}",
    f"MQGROUPS.GET.{NAME}",
    "MQGROUPS.SHARED.ROLES",
    "MQGROUPS.PUT.FEEDER",
    "MQGROUPS.SOURCE.ORDERS",
]
DATA_QUEUES = ["ORDERS", "INVOICES", "ORDERS.BACKOUT"]
OBJECTS = "DEFINE QLOCAL('INVOICES') DEFPSIST(YES) REPLACE\nDEFINE QLOCAL('ORDERS.BACKOUT') DEFPSIST(YES) REPLACE\n"


class Authority(NamedTuple):
    """One authority of a role."""

    object_type: str
    profile: str
    word: str

    def __str__(self) -> str:
        return f"{self.word} {self.profile or self.object_type}"


def roles() -> dict[str, list[Authority]]:
    """Return the authorities of each role, as the file gives them."""
    found: dict[str, list[Authority]] = {}
    for command in parse(ROLES_FILE.read_text()):
        given = command.parameters
        authorities = found.setdefault(given["PRINCIPAL"], [])
        authorities += [
            Authority(given["OBJTYPE"], given.get("PROFILE", ""), word) for word in given["AUTHADD"].split(",")
        ]
    return found


ROLES = roles()


@pytest.fixture(scope="module")
def server(_client_library, tmp_path_factory):
    objects = tmp_path_factory.mktemp("roles") / "objects.mqsc"
    objects.write_text(OBJECTS)
    mqsc = [MQSC, ROOT / "docker" / "20-mqgroups.mqsc", objects]
    with EmbeddedQueueManager("QM4", mqsc=mqsc, users=dict.fromkeys(ROLES, "secret")) as running:
        yield running


@pytest.fixture
def administrator(server):
    """A connection that may do everything."""
    with mqgroups.connect(server.q_mgr_name, server.channel, server.conn_name, reconnect_wait_s=0) as q_mgr:
        yield q_mgr


@pytest.fixture
def mqsc(administrator):
    """A function that carries an MQSC command out."""
    client = PCFClient(connection_of(administrator))
    return client.run


@pytest.fixture
def as_role(server, mqsc):
    """A function that gives a role its authorities, all ``but`` one, and returns how to connect as it."""
    used = []

    def prepare(role: str, but: Authority | None = None) -> Callable[[], mqgroups.QueueManager]:
        used.append(role)
        for authority in ROLES[role]:
            if authority != but:
                done, said = mqsc(line("SET", role, authority))
                assert done, said
        return lambda: mqgroups.connect(
            server.q_mgr_name, server.channel, server.conn_name, user=role, password="secret", reconnect_wait_s=0
        )

    yield prepare
    for role in used:
        for authority in ROLES[role]:
            mqsc(line("DELETE", role, authority))


def line(verb: str, role: str, authority: Authority) -> str:
    where = f"PROFILE('{authority.profile}') " if authority.profile else ""
    add = f" AUTHADD({authority.word})" if verb == "SET" else ""
    return f"{verb} AUTHREC {where}OBJTYPE({authority.object_type}) PRINCIPAL('{role}'){add}"


def run_as(server, user, *words, **more):
    """Run a command as this user."""
    where = {"MQGROUPS_CONN_NAME": server.conn_name, "MQGROUPS_CHANNEL": server.channel}
    return run(
        *words, **{**server.environment(), **where, "MQGROUPS_USER": user, "MQGROUPS_PASSWORD": "secret", **more}
    )


def empty(mqsc):
    """Leave no status queue and no message of another case. The records of a queue go with it."""
    for name in STATUS_QUEUES:
        mqsc(f"DELETE QLOCAL('{name}') PURGE")
    for name in DATA_QUEUES:
        mqsc(f"CLEAR QLOCAL('{name}')")


@pytest.fixture
def clean(mqsc):
    """Queues as they are at first."""
    empty(mqsc)


# --- what the roles do


class Died(Exception):
    """What ends a producer that does not close in order."""


def put_group(q_mgr: mqgroups.QueueManager, name: str = "FEEDER") -> None:
    with (
        q_mgr.group_producer("ORDERS", name=name, commit_every=2, owner_wait_s=0) as producer,
        producer.group() as group,
    ):
        for number in range(3):
            group.put(b"%d" % number)


def interrupt_group(q_mgr: mqgroups.QueueManager, queue: str = "ORDERS", name: str = NAME, **more: Any) -> None:
    """Commit two messages of a group and go."""
    with pytest.raises(Died), q_mgr.group_producer(queue, name=name, commit_every=2, **more) as producer:
        group = producer.group()
        for number in range(4):
            group.put(b"%d" % number)
        raise Died


def loader(q_mgr, _administrator):
    put_group(q_mgr, NAME)
    put_group(q_mgr, NAME)


def sink(q_mgr, administrator):
    put_group(administrator)
    with q_mgr.group_consumer("ORDERS", name=NAME, commit_every=2, wait_s=0, owner_wait_s=0) as consumer:
        assert [[message.data for message in group] for group in consumer] == [[b"0", b"1", b"2"]]


def pipe(q_mgr, administrator):
    put_group(administrator)
    with q_mgr.group_pipe("ORDERS", "INVOICES", name=NAME, commit_every=2, wait_s=0, owner_wait_s=0) as through:
        for orders, invoices in through:
            for order in orders:
                invoices.put(order.data)
    with operate.browse_groups(administrator, "INVOICES") as found:
        assert len(list(found.inspections())) == 1


def recoverer(q_mgr, administrator):
    for there in ((q_mgr.q_mgr_name, "QM9"), ("QM9", q_mgr.q_mgr_name)):
        assert operate.adopt(q_mgr, NAME, "put", instance=there).done
    # Its owner believes the record. It dies after its last commit, and leaves the record of a completed group.
    with pytest.raises(Died), administrator.group_producer("ORDERS", name=NAME, owner_wait_s=0) as producer:
        with producer.group() as group:
            assert group.resume_from == 2
            group.put(b"2")
        raise Died
    found = operate.inspect_owner(q_mgr, NAME, "put", tidy=True)
    assert found.state is operate.OwnerState.CLEAN
    assert found.record is not None


def operator(q_mgr, administrator):
    looked = look(q_mgr)
    assert looked.states == {GroupState.STALLED}
    assert looked.owners == {(NAME, OwnerState.INTERRUPTED)}
    # It may not ask the command server, and is told so.
    assert [sentence for sentence in looked.unseen if "the command server did not answer" not in sentence] == []


class Looked(NamedTuple):
    """What an operator has seen."""

    states: set[GroupState]
    owners: set[tuple[str, OwnerState]]
    unseen: list[str]
    held: set[str]


def look(q_mgr, *, by_name: bool = True) -> Looked:
    """Look at the groups on the queue, and at the owner by its name or as the command server lists it."""
    seen = operate.find_owners(q_mgr, names=[NAME] if by_name else ())
    with operate.browse_groups(q_mgr, "ORDERS") as found:
        found.judge(seen, "0")
        states = set(found.counts)
        unseen = [*seen.unseen, *found.instance.unseen]
    with operate.browse_groups(q_mgr, "ORDERS.BACKOUT") as backed_out:
        unseen += backed_out.instance.unseen
    problems = [owner.problem for owner in seen.owners if owner.problem]
    owners = {(owner.name, owner.state) for owner in seen.owners}
    return Looked(states, owners, [*unseen, *problems], {owner.name for owner in seen.owners if owner.holders})


def repairer(q_mgr, _administrator):
    with operate.browse_groups(q_mgr, "ORDERS") as found:
        (group,) = found.inspections()
    # It may not ask the command server, so it has to say what that would.
    accept: list[Accept] = ["in-use", "other-owners"]
    assert (
        operate.salvage_owner(q_mgr, NAME, "put", queue="ORDERS", record_user="loader", accept=accept).user == "loader"
    )
    # It may not see that a producer resumes this group.
    assert operate.move_group(q_mgr, "ORDERS", group.group_id, to="ORDERS.BACKOUT", accept=accept).done
    assert operate.move_group(q_mgr, "ORDERS.BACKOUT", group.group_id, to="ORDERS", accept=accept).done


def sparksource(q_mgr, administrator):
    put_group(administrator)
    connection = connection_of(q_mgr)
    with BrowsedQueue(connection, "ORDERS") as queue:
        (head,) = queue.heads()
        assert len(list(queue.messages(head))) == 3
    with ReservedQueue(connection, "ORDERS", 0, Removers(lambda: connection, "ORDERS", 1, 2)) as reserved:
        manifests = ManifestQueue(connection, reserved, STATUS_QUEUES[4], "MQGROUPS.SHARED.STATUS.MODEL")
        (manifest,) = manifests.change(b"S" * 24, [b"{}"], ())
        note = partial(put_note, STATUS_QUEUES[4], (b"S" * 24).hex(), "1" * 32, 0)
        reserved.remove([Share([head.key], note=note)])
        assert reserved.removed() == frozenset()
        assert manifests.browse(b"S" * 24)[0] == (manifest, b"{}")
        assert len(manifests.browse(b"S" * 24)) == 2
        manifests.change(b"S" * 24, (), [msg_id for msg_id, _ in manifests.browse(b"S" * 24)])


def sparksink(q_mgr, administrator):
    shared = STATUS_QUEUES[2]
    settings = BatchSettings(
        queue="ORDERS", name=NAME, batch=0, run="run", partition=0, token="attempt", status_queue=shared,
        commit_every=2, owner_wait_s=0, full_wait_s=0,
    )  # fmt: skip
    connection = connection_of(q_mgr)
    producer = BatchProducer(connection, settings)
    assert producer.put_group("K", [BatchMessage(b"K:1"), BatchMessage(b"K:2"), BatchMessage(b"K:3")]) == 3
    producer.close()
    complete_batch(connection, shared, NAME, "ORDERS", 0, "driver")


WORK = {work.__name__: work for work in (loader, sink, pipe, recoverer, operator, repairer, sparksource, sparksink)}


def before(role: str, administrator: mqgroups.QueueManager) -> None:
    """Do what has to be there before a role comes."""
    if role == "repairer":
        interrupt_group(administrator)
        PCFClient(connection_of(administrator)).run(f"CLEAR QLOCAL('{STATUS_QUEUES[0]}')")
    elif role in ("operator", "recoverer"):
        interrupt_group(administrator)


@pytest.fixture
def without_each(as_role, administrator, mqsc):
    """A function that yields how to connect as a role, and the authority that it has not, one after the other."""

    def each(role: str):
        for missing in ROLES[role]:
            empty(mqsc)
            before(role, administrator)
            connect = as_role(role)
            assert mqsc(line("SET", role, missing).replace("AUTHADD", "AUTHRMV"))[0]
            yield connect, missing

    return each


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("role", ROLES)
def test_these_authorities_are_enough(role, as_role, administrator):
    before(role, administrator)
    with as_role(role)() as q_mgr:
        WORK[role](q_mgr, administrator)


# An operator without one of its authorities is told which one; the next test shows it.
@pytest.mark.parametrize("role", [role for role in ROLES if role != "operator"])
def test_each_of_them_is_needed(role, without_each, administrator):
    for connect, missing in without_each(role):
        with pytest.raises(NotAuthorised) as refused, connect() as q_mgr:
            WORK[role](q_mgr, administrator)
            pytest.fail(f"{role} does not need {missing}")
        assert missing.word in refused.value.context
        assert f"OBJTYPE({missing.object_type})" in refused.value.context
        assert (f"PROFILE('{missing.profile}')" in refused.value.context) == bool(missing.profile)


def test_an_operator_works_without_any_of_its_authorities_and_is_told_which(without_each):
    for connect, missing in without_each("operator"):
        try:
            with connect() as q_mgr:
                told = " ".join(look(q_mgr).unseen)
        except NotAuthorised as error:
            # Without these there is nothing to look at.
            assert (missing.object_type, missing.word) in (("QMGR", "CONNECT"), ("QMGR", "INQ"), ("QUEUE", "BROWSE"))
            told = str(error)
        assert missing.word in told
        assert f"OBJTYPE({missing.object_type})" in told
        assert missing.profile in ("", "ORDERS", "ORDERS.BACKOUT", "MQGROUPS.**")
        if missing.profile:
            assert f"PROFILE('{STATUS_QUEUES[0] if missing.profile == 'MQGROUPS.**' else missing.profile}')" in told


def asking(role: str) -> list[str]:
    """Return the commands for a role that may ask the command server."""
    lines = [each.removeprefix("*ask ") for each in ROLES_FILE.read_text().splitlines() if each.startswith("*ask ")]
    return [each for each in lines if f"PRINCIPAL('{role}')" in each]


@pytest.fixture
def may_ask(mqsc):
    """A function that lets a role ask the command server, all commands ``but`` one."""
    given = []

    def let(role: str, but: str = "") -> None:
        for each in asking(role):
            if each != but:
                given.append(each)
                done, said = mqsc(each)
                assert done, said

    yield let
    for each in given:
        mqsc(each.replace("SET AUTHREC", "DELETE AUTHREC").split(" AUTHADD")[0])


@pytest.fixture
def at_work(clean, administrator):
    """An interrupted producer, and another one that works."""
    before("operator", administrator)
    producer = administrator.group_producer("ORDERS", name="FEEDER", owner_wait_s=0)
    yield producer
    producer.close()


def test_an_operator_who_may_ask_the_command_server_sees_everything(at_work, as_role, may_ask):
    connect = as_role("operator")
    with connect() as q_mgr:
        assert look(q_mgr, by_name=False).owners == set()
    may_ask("operator")
    with connect() as q_mgr:
        looked = look(q_mgr, by_name=False)
        assert looked.owners == {(NAME, OwnerState.INTERRUPTED), ("FEEDER", OwnerState.ACTIVE)}
        assert (looked.unseen, looked.held) == ([], {"FEEDER"})
        with operate.browse_groups(q_mgr, "ORDERS") as found:
            assert found.instance.hidden == 0


@pytest.mark.parametrize("but", asking("operator"))
def test_an_operator_needs_each_of_these_to_ask(but, at_work, as_role, may_ask):
    connect = as_role("operator")
    may_ask("operator", but)
    with connect() as q_mgr:
        looked = look(q_mgr, by_name=False)
    assert looked.unseen or not looked.held


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(("command", "mqi"), [("groups", "pymqi"), ("owners", "ibmmq"), ("doctor", "ibmmq")])
def test_an_operator_runs_the_commands_on_both_bindings(command, mqi, server, as_role, administrator):
    before("operator", administrator)
    as_role("operator")
    what = {
        "groups": ["--queue", "ORDERS", "--status-queue", STATUS_QUEUES[0]],
        "owners": [NAME],
        "doctor": ["--queue", "ORDERS"],
    }[command]
    done = run_as(server, "operator", command, *what, "-o", "json", "--wait", "0", MQGROUPS_MQI=mqi)
    said = json.loads(done.stdout)
    assert "Traceback" not in done.stderr
    if command == "groups":
        assert [each["state"] for each in said["groups"]] == ["stalled"]
    elif command == "owners":
        assert [(each["name"], each["state"]) for each in said["owners"]] == [(NAME, "interrupted")]
    else:
        found = {each["subject"]: each["severity"] for each in said["findings"]}
        assert found["command server"] == "not seen"
        assert found["connection"] == "ok"


@pytest.mark.usefixtures("clean")
def test_a_loader_may_send_files_and_a_sink_may_receive_them(server, as_role, tmp_path):
    file, archive, into = tmp_path / "a.csv", tmp_path / "archive", tmp_path / "into"
    file.write_bytes(b"1,2\n")
    archive.mkdir()
    into.mkdir()
    as_role("loader")
    as_role("sink")

    def done_as(role, *words):
        done = run_as(server, role, *words, "--queue", "ORDERS", "--name", NAME, MQGROUPS_MQI="ibmmq")
        assert (done.returncode, len(done.stderr.splitlines())) == (0, 1), done.stderr
        return done.stdout

    assert done_as("loader", "send", file, "--archive", archive) == f"{file}: sent\n"
    assert done_as("sink", "receive", "--into", into, "--idle", "0") == f"{into / 'a.csv'}\n"
    assert (into / "a.csv").read_bytes() == b"1,2\n"


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("role", ["put", "get"])
def test_the_doctor_gives_an_operator_no_authority_of_a_program(role, server, as_role, administrator, mqsc):
    mqsc("ALTER QLOCAL('ORDERS') BOQNAME('ORDERS.BACKOUT')")
    before("operator", administrator)
    as_role("operator")
    done = run_as(server, "operator", "doctor", "--queue", "ORDERS", "--role", role, "--name", NAME, "-o", "json")
    found = json.loads(done.stdout)["findings"]
    assert [each["found"] for each in found if each["severity"] == "error"] == []
    may = {"BROWSE", "INQ", "DSP"}
    for each in found:
        granted = re.findall(
            r"PROFILE\('(?:ORDERS|MQGROUPS)[^']*'\).*?AUTHADD\((.*?)\)", each["remedy"] + " ".join(each["mqsc"])
        )
        assert {word for words in granted for word in words.split(",")} <= may, each


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("missing", [None, "INQ"])
def test_the_doctor_says_if_the_backout_queue_may_not_be_looked_at(missing, server, as_role, mqsc):
    mqsc("ALTER QLOCAL('ORDERS') BOQNAME('ORDERS.BACKOUT')")
    but = next((each for each in ROLES["operator"] if (each.profile, each.word) == ("ORDERS.BACKOUT", missing)), None)
    as_role("operator", but=but)
    done = run_as(server, "operator", "doctor", "--queue", "ORDERS", "-o", "json")
    found = [each for each in json.loads(done.stdout)["findings"] if "backout queue" in each["subject"]]
    unseen = [each["mqsc"] for each in found if each["severity"] == "not seen"]
    grant = "SET AUTHREC PROFILE('ORDERS.BACKOUT') OBJTYPE(QUEUE) PRINCIPAL('operator') AUTHADD(INQ)"
    assert unseen == ([[grant]] if missing else [])


@pytest.mark.usefixtures("clean")
def test_a_repairer_who_may_ask_the_command_server_has_nothing_to_accept(as_role, administrator, may_ask, mqsc):
    before("repairer", administrator)
    connect = as_role("repairer")
    with connect() as q_mgr, pytest.raises(RepairRefused) as refused:
        operate.salvage_owner(q_mgr, NAME, "put", queue="ORDERS")
    assert refused.value.because == "in-use"
    may_ask("repairer")
    with connect() as q_mgr:
        with operate.browse_groups(q_mgr, "ORDERS") as found:
            (group,) = found.inspections()
        assert operate.salvage_owner(q_mgr, NAME, "put", queue="ORDERS").done
        with pytest.raises(RepairRefused) as refused:
            operate.move_group(q_mgr, "ORDERS", group.group_id, to="ORDERS.BACKOUT")
        assert refused.value.because == "owned"
        mqsc(f"CLEAR QLOCAL('{STATUS_QUEUES[0]}')")
        assert operate.move_group(q_mgr, "ORDERS", group.group_id, to="ORDERS.BACKOUT").done
        assert operate.move_group(q_mgr, "ORDERS.BACKOUT", group.group_id, to="ORDERS").done


@pytest.mark.usefixtures("clean")
def test_a_repairer_is_not_stopped_by_a_record_that_is_lost_elsewhere(as_role, administrator, may_ask, mqsc):
    before("repairer", administrator)
    interrupt_group(administrator, "INVOICES", "FEEDER")
    connection = connection_of(administrator)
    (lost,) = (each for each in look_at(connection, STATUS_QUEUES[3]).messages if each.record.is_needed)
    queue = connection.open_queue(STATUS_QUEUES[3], mq.MQOO_INPUT_EXCLUSIVE)
    assert queue.get(st.md(msg_id=lost.msg_id), st.gmo(mq.MQGMO_NO_SYNCPOINT, match_options=mq.MQMO_MATCH_MSG_ID))
    queue.close()
    connect = as_role("repairer")
    may_ask("repairer")
    remove = "SET AUTHREC PROFILE('MQGROUPS.**') OBJTYPE(QUEUE) PRINCIPAL('repairer') AUTHRMV(INQ)"
    for command in (remove, remove.replace("AUTHRMV", "AUTHADD")):
        assert mqsc(command)[0]
        with connect() as q_mgr:
            if command == remove:
                with pytest.raises(OwnerActive, match=r"or it is lost: .*needs INQ"):
                    operate.salvage_owner(q_mgr, NAME, "put", queue="ORDERS")
            else:
                assert operate.salvage_owner(q_mgr, NAME, "put", queue="ORDERS").done


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("role", ["loader", "sink", "pipe", "recoverer", "repairer"])
def test_what_is_printed_for_a_name_is_enough_for_its_defined_status_queues(role, as_role, mqsc):
    connect = as_role(role)
    names = Names(name=NAME, users={role: role})
    for command in (
        *status_definitions(DEVELOPMENT_MQSC.read_text(), names)[-2:],
        *role_definitions(ROLES_FILE.read_text(), names),
    ):
        done, said = mqsc(command.text)
        assert done, said
    sides: dict[str, tuple[Literal["put", "get"], ...]] = {"loader": ("put",), "sink": ("get",)}
    with connect() as q_mgr:
        for side in sides.get(role, ("put", "get")):
            assert operate.inspect_owner(q_mgr, NAME, side).state is operate.OwnerState.CLEAN


@pytest.mark.usefixtures("clean")
def test_a_status_queue_that_was_deleted_is_made_by_an_administrator_who_gives_it_to_its_user(
    as_role, administrator, mqsc
):
    connect = as_role("loader")
    with connect() as q_mgr:
        interrupt_group(q_mgr)
    mqsc(f"DELETE QLOCAL('{STATUS_QUEUES[0]}') PURGE")
    with connect() as q_mgr, pytest.raises(NotAuthorised, match=r"ORDERS.*needs BROWSE"):
        operate.salvage_owner(q_mgr, NAME, "put", queue="ORDERS")
    with as_role("repairer")() as q_mgr, pytest.raises(NotAuthorised, match=r"MQGROUPS\.STATUS\.MODEL"):
        operate.salvage_owner(q_mgr, NAME, "put", queue="ORDERS", accept=["in-use", "other-owners"])
    assert operate.salvage_owner(administrator, NAME, "put", queue="ORDERS", record_user="loader").done
    with connect() as q_mgr, pytest.raises(NotAuthorised, match=STATUS_QUEUES[0]):
        put_group(q_mgr, NAME)
    where = f"PROFILE('{STATUS_QUEUES[0]}') OBJTYPE(QUEUE) PRINCIPAL('loader')"
    assert mqsc(f"SET AUTHREC {where} AUTHADD(BROWSE,GET,INQ,PUT)")[0]
    with connect() as q_mgr, q_mgr.group_producer("ORDERS", name=NAME, owner_wait_s=0) as producer:
        assert producer.group().resume_from == 2


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("status", ["classic", "segmented"])
def test_what_an_administrator_writes_is_believed_by_the_owner(as_role, administrator, mqsc, status):
    connect = as_role("loader")
    with connect() as q_mgr:
        interrupt_group(q_mgr, status_layout=status)
    for there in ((administrator.q_mgr_name, "QM9"), ("QM9", administrator.q_mgr_name)):
        assert operate.adopt(administrator, NAME, "put", instance=there).done

    def resumed(**more):
        with connect() as q_mgr, q_mgr.group_producer("ORDERS", name=NAME, owner_wait_s=0, **more) as producer:
            return producer.group().resume_from

    assert resumed() == 2
    # A record that there was none of is the administrator's own, unless it says whose it is.
    assert mqsc(f"CLEAR QLOCAL('MQGROUPS.PUT.{NAME}')")[0]
    rebuilt = operate.salvage_owner(administrator, NAME, "put", queue="ORDERS")
    with pytest.raises(StatusQueueUnusable, match=rf"record_users=\('{rebuilt.user}',\)"):
        resumed()
    # Records of others can be moved away, and the one that is written then is the owner's.
    moved = operate.salvage_owner(
        administrator, NAME, "put", queue="ORDERS", record_user="loader", unreadable_to="ORDERS.BACKOUT"
    )
    assert (moved.unreadable, moved.user, resumed()) == (2, "loader", 2)


def test_every_role_of_the_file_works():
    assert set(ROLES) == set(WORK)

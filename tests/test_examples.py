"""examples/: they run, and the demo's balance finds what it is there to find."""

import hashlib
import os
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

import examples.workers as workers_example
import mqgroups
import mqgroups.aio
from embedded_tests.fix_mqi import PATIENCE_S
from mqembedded import Fault
from mqgroups.cli.check import check
from mqgroups.cli.work import work
from mqgroups.demo.compare import differences
from mqgroups.demo.source import Day, date_of
from tests.fix_examples import MQEMBEDDED_EXEC
from tests.workers.conftest import wait_until

ROOT = Path(__file__).resolve().parents[1]
FLIGHTS = [f"2013,1,{day},{time},more" for day in (1, 2) for time in (517, 533, 542)]
TABLE = [Day("2013-01-01", FLIGHTS[:3]), Day("2013-01-02", FLIGHTS[3:])]


def with_queue_manager(*command):
    """Run a program that has an embedded queue manager; returns what it printed."""
    words = [*MQEMBEDDED_EXEC, "--", *command]
    done = subprocess.run(words, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def arrived(tmp_path):
    for number, day in enumerate(TABLE, 1):
        (tmp_path / f"{number:04}-{day.date}.csv").write_text("".join(f"{flight}\n" for flight in day.flights))
    return tmp_path


def test_date_of_a_flight():
    assert date_of("2013,1,9,517,515,2") == "2013-01-09"


def test_nothing_is_different_when_everything_arrived(arrived):
    assert differences(TABLE, arrived) == []


def test_differences_inside_a_group_are_named(arrived):
    path = arrived / "0001-2013-01-01.csv"
    whole = path.read_text()
    for old, new, sentence in (
        (f"{FLIGHTS[1]}\n", "", "flights missing: 1, "),
        (f"{FLIGHTS[1]}\n", f"{FLIGHTS[1]}\n" * 2, "lines too many: 1, "),
        (f"{FLIGHTS[0]}\n{FLIGHTS[1]}\n", f"{FLIGHTS[1]}\n{FLIGHTS[0]}\n", "not in order, from line 1 on"),
        (f"{FLIGHTS[2]}\n", f"{FLIGHTS[2]}\n2013,1,", "ends in the middle of a line"),
    ):
        path.write_text(whole.replace(old, new))
        (found,) = differences(TABLE, arrived)
        assert sentence in found


def test_group_that_did_not_come_and_group_that_came_twice_are_named(arrived):
    (arrived / "0002-2013-01-02.csv").rename(arrived / "0003-2013-01-02.csv")
    missing, surplus = differences(TABLE, arrived)
    assert missing.startswith("0002-2013-01-02.csv is missing")
    assert surplus == "0003-2013-01-02.csv should not be there"


@pytest.mark.embedded
def test_quickstart_puts_and_gets_every_row():
    said = with_queue_manager(sys.executable, "examples/quickstart.py")
    assert said.splitlines() == [f"{number} order {number}" for number in range(1, 1001)]


def test_programs_take_the_password_from_a_file_that_the_environment_names(monkeypatch):
    monkeypatch.setenv("MQGROUPS_PASSWORD_FILE", "/run/secrets/mine")
    monkeypatch.setenv("MQGROUPS_PASSWORD", "older")
    for module in mqgroups, mqgroups.aio:
        monkeypatch.setattr(module, "connect", lambda *_, password, **__: repr(password))
    programs = [path for path in (ROOT / "examples").glob("*.py") if "\ndef connect(" in path.read_text()]
    assert len(programs) >= 6
    taken = {path.name: runpy.run_path(str(path))["connect"]() for path in programs if path.name != "workers.py"}
    assert set(taken.values()) == {"<Secret in file /run/secrets/mine>"}, taken


# --- programs for a supervisor, and their supervisors


LINES = [f"line {number}" for number in range(1, 2351)]


def ours(said):
    """Return the lines of the examples; the library warns of a resumed group, too."""
    return [line for line in said if not line.startswith("mqgroups.")]


def groups_in(output):
    """The lines of the files that the consumer has written, in the order of the input."""
    files = (path.read_text().splitlines() for path in output.iterdir())
    return sorted(files, key=lambda lines: LINES.index(lines[0]))


@pytest.mark.embedded
def test_resumable_programs_lose_and_repeat_nothing_whatever_kills_them(supervised, tmp_path):
    # Given a producer that dies in its first group, at the end of its second, and when all is committed
    source, output = tmp_path / "input", tmp_path / "output"
    source.write_text("".join(f"{line}\n" for line in LINES))
    said = supervised("resumable_producer.py", str(source), kills=[("after", 4), ("after", 18), ("after", 5)])
    (done,) = tmp_path.glob("input*")
    digest = hashlib.sha256(done.read_bytes()).hexdigest()[:16]
    begun = ["input", digest, sum(len(line) + 1 for line in LINES[:300])]
    assert ours(said) == [f"resumable_producer: resuming a group after message 300, input {begun}"]
    assert done.name == f"input.{digest}.put"
    # And a consumer that dies after a commit, and before one
    output.mkdir()
    said = supervised("resumable_consumer.py", str(output), "0", kills=[("after", 5), ("before", 3)])
    assert [line.split(",")[0] for line in ours(said)] == [
        "resumable_consumer: resuming a group after message 400",
        "resumable_consumer: resuming a group after message 500",
    ]
    # Then every line came once, in order, in groups of a thousand
    assert groups_in(output) == [LINES[:1000], LINES[1000:2000], LINES[2000:]]
    # And another input is put from its first line
    source = tmp_path / "another"
    source.write_text("".join(f"{line}\n" for line in LINES[:200]))
    supervised("resumable_producer.py", str(source), kills=[])
    taken = set(output.iterdir())
    supervised("resumable_consumer.py", str(output), "0", kills=[])
    (new,) = set(output.iterdir()) - taken
    assert new.read_text().splitlines() == LINES[:200]


@pytest.mark.embedded
def test_the_rest_of_an_input_is_not_taken_from_another_one(supervised, faults, tmp_path):
    source, other = tmp_path / "input", tmp_path / "other"
    source.write_text("".join(f"{line}\n" for line in LINES))
    # Given a producer that died in its second group
    supervised("resumable_producer.py", str(source), kills=[("after", 14)], last=False)
    # When it is started with a file that does not exist, or with another one
    environment = {**os.environ, **faults.environment(), "MQGROUPS_CONN_NAME": faults.conn_name}
    command = [sys.executable, str(ROOT / "examples" / "resumable_producer.py"), str(other)]
    for exists in (False, True):
        if exists:
            other.write_text("another line\n" * 2000)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (
            1,
            "resumable_producer: the lines of input are not all put: start it with that file, unchanged",
        )
    # Then it puts nothing, and the rest comes from the first one
    supervised("resumable_producer.py", str(source), kills=[])
    output = tmp_path / "output"
    output.mkdir()
    supervised("resumable_consumer.py", str(output), "0", kills=[])
    assert groups_in(output) == [LINES[:1000], LINES[1000:2000], LINES[2000:]]


@pytest.mark.embedded
def test_a_new_input_of_the_same_name_is_put_from_its_first_line(supervised, tmp_path):
    source, output = tmp_path / "input", tmp_path / "output"
    source.write_text("".join(f"{line}\n" for line in LINES[:200]))
    # Given a producer that died between the renaming and the commit that clears the checkpoint
    supervised("resumable_producer.py", str(source), kills=[("before", 4)], last=False)
    assert not source.exists()
    source.write_text("".join(f"{line}\n" for line in LINES[200:500]))
    supervised("resumable_producer.py", str(source), kills=[])
    output.mkdir()
    supervised("resumable_consumer.py", str(output), "0", kills=[])
    assert groups_in(output) == [LINES[:200], LINES[200:500]]


@pytest.mark.embedded
def test_an_input_is_known_by_its_contents_and_replaces_none_that_was_put(supervised, tmp_path):
    source = tmp_path / "input"
    days = [LINES[:200], LINES[200:500], LINES[:200]]
    for number, day in enumerate(days):
        source.write_text("".join(f"{line}\n" for line in day))
        os.utime(source, (0, 0))
        # The last one, which was put before, too, dies in its group, or at its end: it was not renamed then.
        supervised("resumable_producer.py", str(source), kills=[("after", 2), ("after", 2)] if number == 2 else [])
        assert not source.exists()
    assert len(list(tmp_path.iterdir())) == 2
    output = tmp_path / "output"
    output.mkdir()
    supervised("resumable_consumer.py", str(output), "0", kills=[])
    assert sorted(path.read_text().splitlines() for path in output.iterdir()) == sorted(days)


@pytest.mark.embedded
def test_a_producer_says_that_its_input_does_not_exist(supervised, tmp_path):
    assert supervised("resumable_producer.py", str(tmp_path / "inptu"), kills=[]) == [
        f"resumable_producer: {tmp_path}/inptu does not exist, so nothing was put"
    ]


@pytest.mark.embedded
def test_resumable_programs_stop_politely_and_resume(supervised, faults, tmp_path):
    environment = {**os.environ, **faults.environment(), "MQGROUPS_CONN_NAME": faults.conn_name}

    def stopped(program: str, *arguments: str, nth: int) -> None:
        """Start an example and have it stopped by SIGTERM in its n-th commit."""
        faults.arm(Fault("delay", verb="MQCMIT", nth=nth, delay_s=60))
        command = [sys.executable, str(ROOT / "examples" / program), *arguments]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            wait_until(lambda: bool(faults.faults_fired()))
            process.terminate()
            faults.clear_faults()
            _, said = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, said) == (0, "")

    # Given a producer that is stopped in its first group, and is started again
    source, output = tmp_path / "input", tmp_path / "output"
    source.write_text("".join(f"{line}\n" for line in LINES))
    stopped("resumable_producer.py", str(source), nth=4)
    assert source.exists()
    said = supervised("resumable_producer.py", str(source), kills=[])
    assert [line.split(",")[0] for line in ours(said)] == ["resumable_producer: resuming a group after message 300"], (
        said
    )
    assert not source.exists()
    # And a consumer likewise
    output.mkdir()
    stopped("resumable_consumer.py", str(output), nth=6)
    said = supervised("resumable_consumer.py", str(output), "0", kills=[])
    assert [line.split(",")[0][:-1] for line in ours(said)] == [
        "resumable_consumer: resuming a group after message 50"
    ], said
    # Then every line came once, in order
    assert groups_in(output) == [LINES[:1000], LINES[1000:2000], LINES[2000:]]


@pytest.mark.embedded
def test_workers_of_the_example_share_ten_groups():
    said = with_queue_manager(sys.executable, "examples/workers.py")
    expected = [f"order {first} to order {first + 99}" for first in range(0, 1000, 100)]
    assert sorted(said.splitlines(), key=lambda line: int(line.split()[1])) == expected


@pytest.mark.parametrize("program", ["resumable_producer.py", "resumable_consumer.py"])
@pytest.mark.embedded
def test_a_resumable_program_without_queue_manager_asks_to_be_started_again(program, faults, tmp_path):
    environment = {**os.environ, **faults.environment(), "MQGROUPS_CONN_NAME": "127.0.0.1(1)"}
    command = [sys.executable, str(ROOT / "examples" / program), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 75
    assert "MQCONNX for queue manager" in done.stderr


@pytest.mark.parametrize("program", ["resumable_producer.py", "resumable_consumer.py"])
@pytest.mark.embedded
def test_a_resumable_program_that_nobody_lets_in_is_not_started_again(program, faults, tmp_path):
    environment = {**os.environ, **faults.environment(), "MQGROUPS_USER": "app", "MQGROUPS_PASSWORD": "wrong"}
    command = [sys.executable, str(ROOT / "examples" / program), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "2035" in done.stderr


def accepted(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Return what the command line of an ``mqgroups check`` means; an error if it means nothing."""
    assert command[:2] == ["mqgroups", "check"]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return check.make_context("check", command[2:]).params


@pytest.fixture
def unit() -> dict[str, str]:
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment]  # systemd's names are case-sensitive
    parser.read_string((ROOT / "examples" / "systemd" / "lines-loader.service").read_text())
    return {**parser["Unit"], **parser["Service"]}


def in_a_row(start: str) -> tuple[list[str], list[str]]:
    """Return the two commands of an ``ExecStart=``; the second one replaces the shell."""
    shell, option, line = shlex.split(start.replace("\\\n", " "))
    assert (shell, option) == ("/bin/sh", "-c")
    before, then = line.split(" && exec ")
    return shlex.split(before), shlex.split(then)


def test_the_unit_asks_for_what_its_program_is(unit, tmp_path):
    lines = (ROOT / "examples" / "systemd" / "lines-loader.env").read_text().splitlines()
    environment = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert unit["EnvironmentFile"].endswith("/lines-loader.env")
    before, start = in_a_row(unit["ExecStart"])
    # As systemd does: the credential is a file in the directory %d.
    credential, source = unit["LoadCredential"].split(":")
    (tmp_path / credential).write_text("given")
    assert Path(source).parent == Path(unit["EnvironmentFile"]).parent
    environment |= dict(each.replace("%d", str(tmp_path)).split("=") for each in unit["Environment"].split())
    given = accepted([Path(before[0]).name, *before[1:]], environment)
    assert Path(given["password_file"]).read_text() == "given"
    assert (given["name"], given["role"], given["queue"]) == ("lines.loader", "put", "ORDERS")
    assert (given["q_mgr_name"], given["conn_name"], given["user"]) == ("QM1", "mq.example.com(1414)", "app")
    program = Path(start[1])
    assert f'name="{given["name"]}"' in (ROOT / "examples" / program.name).read_text()
    # What clears up by itself is tried again for ever, anything else not once: of check, too, so it is not in ExecStartPre=.
    assert (unit["Restart"], unit["RestartPreventExitStatus"]) == ("on-failure", "1 2")
    assert "ExecStartPre" not in unit
    assert unit["StartLimitIntervalSec"] == "0"


@pytest.mark.embedded
def test_what_the_unit_runs_runs(unit, tmp_path):
    (tmp_path / "input").write_text("one\ntwo\n")
    before, start = in_a_row(unit["ExecStart"])
    before[:1] = [sys.executable, "-m", "mqgroups"]
    start = [sys.executable, str(ROOT / "examples" / Path(start[1]).name), str(tmp_path / "input")]
    both = f"{shlex.join(before)} && {shlex.join(start)}"
    with_queue_manager("sh", "-c", both)
    assert [path.suffix for path in tmp_path.glob("input*")] == [".put"]


def test_the_init_container_asks_for_what_its_program_is():
    stateful_set, config_map = manifests("lines-sink.yaml")
    pod = stateful_set["spec"]["template"]["spec"]
    (init,), (container,) = pod["initContainers"], pod["containers"]
    given = accepted(init["command"], config_map["data"])
    assert (given["name"], given["role"], given["queue"]) == ("lines.sink", "get", "ORDERS")
    assert (given["q_mgr_name"], given["conn_name"]) == ("QM1", "mq.example.com(1414)")
    program = Path(container["command"][1])
    assert f'name="{given["name"]}"' in (ROOT / "examples" / program.name).read_text()
    assert init["envFrom"] == container["envFrom"]
    assert {"configMapRef": {"name": config_map["metadata"]["name"]}} in init["envFrom"]
    assert stateful_set["spec"]["replicas"] == 1
    # lines-workers.yaml has the same ConfigMap.
    for each_pod in pod, next(manifests("lines-workers.yaml"))["spec"]["template"]["spec"]:
        may_write = {each["name"] for each in each_pod["volumes"] if "emptyDir" in each} | {"data"}
        (secret,) = (each["name"] for each in each_pod["volumes"] if "secret" in each)
        for each in (*each_pod.get("initContainers", ()), *each_pod["containers"]):
            mounts = {mount["mountPath"]: mount["name"] for mount in each["volumeMounts"]}
            assert mounts[str(Path(config_map["data"]["MQGROUPS_PASSWORD_FILE"]).parent)] == secret
            assert mounts[config_map["data"]["MQ_OVERRIDE_DATA_PATH"]] in may_write
            assert each["securityContext"]["readOnlyRootFilesystem"]


def manifests(name: str) -> Iterator[Any]:
    return yaml.safe_load_all((ROOT / "examples" / "container" / name).read_text())


@pytest.fixture
def workers_manifest() -> dict[str, Any]:
    manifest, policy = manifests("lines-workers.yaml")
    assert policy["spec"]["podSelector"] == manifest["spec"]["selector"]
    assert manifest["spec"]["replicas"] == 1
    return cast(dict[str, Any], manifest["spec"]["template"])


def test_pods_that_share_a_name_have_workers_of_their_own_and_as_many_as_there_are_names(monkeypatch):
    stateful_set, scaled = manifests("orders-scaled.yaml")
    (container,) = stateful_set["spec"]["template"]["spec"]["containers"]
    (program,) = container["args"]
    monkeypatch.setitem(sys.modules, "orders", workers_example)
    served: list[object] = []
    monkeypatch.setattr(mqgroups.Workers, "run", lambda _, http: served.append(http))
    names: list[str] = []
    for pod in range(scaled["spec"]["maxReplicaCount"]):
        monkeypatch.setenv("POD", str(pod))
        made: dict[str, Any] = {}
        exec(program, made)
        names += [one.name for one in made["workers"].status()]
    assert names == [f"orders.sink.{number}" for number in range(1, 101)]
    (port,) = container["ports"]
    assert set(served) == {("0.0.0.0", port["containerPort"])}
    assert scaled["spec"]["scaleTargetRef"]["name"] == stateful_set["metadata"]["name"]
    assert scaled["spec"]["minReplicaCount"] >= 1


def test_the_workers_of_the_container_are_probed_where_they_answer_and_have_time_to_stop(workers_manifest, monkeypatch):
    pod = workers_manifest["spec"]
    (container,) = pod["containers"]
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setenv("MQGROUPS_Q_MGR_NAME", "QM1")
    given = work.make_context("work", [*container["command"][2:], *container["args"]]).params
    assert (given["queue"], given["name"], given["workers"]) == ("ORDERS", "lines.sink", 4)
    assert given["handler"].__name__ == "handle"
    (port,) = container["ports"]
    assert given["http"][1] == port["containerPort"]
    assert workers_manifest["metadata"]["annotations"]["prometheus.io/port"] == str(port["containerPort"])
    probes = {name: container[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")}
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    assert (probes["livenessProbe"]["path"], probes["readinessProbe"]["path"]) == ("/livez", "/readyz")
    assert pod["terminationGracePeriodSeconds"] > given["grace_s"]


@pytest.mark.embedded
def test_what_the_container_of_workers_runs_runs(workers_manifest, faults, tmp_path):
    (container,) = workers_manifest["spec"]["containers"]
    environment = {**os.environ, **faults.environment(), "MQGROUPS_CONN_NAME": faults.conn_name}
    environment |= {"MQGROUPS_Q_MGR_NAME": faults.q_mgr_name, "LINES": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", *container["command"], "--grace", "20"]
    source = tmp_path / "input"
    source.write_text("".join(f"{line}\n" for line in LINES))
    putting = [sys.executable, str(ROOT / "examples" / "resumable_producer.py"), str(source)]
    subprocess.run(putting, env=environment, check=True, timeout=60)
    # A worker is killed before it commits the end of a group.
    faults.arm(Fault("kill_client", "before", verb="MQCMIT", nth=15))
    with subprocess.Popen(
        command, env=environment, cwd=ROOT / "examples", stderr=subprocess.PIPE, text=True
    ) as process:

        def lines() -> list[list[str]]:
            found = [path.read_text().splitlines() for path in tmp_path.iterdir() if len(path.name) == 96]
            return sorted(found, key=lambda each: LINES.index(each[0]) if each else -1)

        try:
            wait_until(lambda: lines() == [LINES[:1000], LINES[1000:2000], LINES[2000:]])
        finally:
            process.terminate()
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "ended (signal 9). It is started again" in " ".join(said.split())

"""docker/: the files for IBM's container. It is not started here; what can be checked without it is."""

import stat
import tomllib
from pathlib import Path

import pytest
import yaml

from embedded_tests.tables import table
from mqembedded.admin.mqsc import Command, parse
from mqembedded.serve.cluster_file import read
from mqgroups.definitions import DEVELOPMENT_MQSC, ROLES_MQSC
from mqgroups.mqi.secret import Secret
from mqgroups.settings import STATUS_MODEL
from mqgroups.spark.option import Use
from mqgroups.spark.options import source_options

DOCKER = Path(__file__).resolve().parents[1] / "docker"
SPARK = DOCKER / "spark"
MQSC = DOCKER / "20-mqgroups.mqsc"


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((DOCKER / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def commands() -> dict[tuple[str, str, str], Command]:
    found = parse(MQSC.read_text())
    by_subject = {(each.verb, each.kind, each.name or each.parameters.get("PROFILE", "")): each for each in found}
    assert len(by_subject) == len(found)
    return by_subject


def test_files_that_compose_mounts_exist(compose):
    for volume in compose["services"]["qm1"]["volumes"]:
        source, target, *_ = volume.split(":")
        if source.startswith("."):
            assert (DOCKER / source).is_file()
            assert target.startswith("/etc/mqm/")
        else:
            assert source in compose["volumes"]


def test_mqsc_is_readable_by_the_containers_user():
    assert MQSC.stat().st_mode & stat.S_IROTH


def test_passwords_are_secrets_outside_git(compose):
    ignored = (DOCKER.parent / ".gitignore").read_text().splitlines()
    assert set(compose["services"]["qm1"]["secrets"]) == {"mqAppPassword", "mqAdminPassword"} == set(compose["secrets"])
    for secret in compose["secrets"].values():
        assert secret["file"].startswith("./secrets/")
    assert "/docker/secrets/" in ignored
    assert not any("PASSWORD" in name for name in compose["services"]["qm1"]["environment"])


def test_licence_has_to_be_accepted_by_who_starts_it(compose):
    assert compose["services"]["qm1"]["environment"]["LICENSE"].startswith("${LICENSE:?")


def test_ports_are_open_on_loopback_only():
    files = {path: yaml.safe_load(path.read_text())["services"] for path in DOCKER.rglob("compose.yaml")}
    ports = [
        (path, each) for path, services in files.items() for of in services.values() for each in of.get("ports", [])
    ]
    assert len({path for path, _ in ports}) == 4
    assert [each for each in ports if not each[1].startswith("127.0.0.1:")] == []


def test_every_object_is_replaced_and_not_refused_at_the_next_start(commands):
    defined = [each for each in commands.values() if each.verb == "DEFINE"]
    assert defined
    assert all("REPLACE" in each.parameters for each in defined)


def test_status_queues_are_permanent_and_have_one_owner(commands):
    model = commands["DEFINE", "QMODEL", STATUS_MODEL].parameters
    assert (model["DEFTYPE"], model["DEFPSIST"], model["DEFSOPT"]) == ("PERMDYN", "YES", "EXCL")
    assert "NOSHARE" in model


@table("queue", ["ORDERS", "INVOICES", "FLIGHTS", "FLIGHTS.DELAYS"])
def test_data_queues_take_a_long_backlog_and_are_shared(commands, queue):
    parameters = commands["DEFINE", "QLOCAL", queue].parameters
    assert (parameters["MAXDEPTH"], parameters["DEFPSIST"], parameters["DEFSOPT"]) == ("999999999", "YES", "SHARED")
    assert "SHARE" in parameters


def test_user_app_may_use_every_queue(commands):
    """IBM MQ, topic "Authorizations for MQI calls": BROWSE, GET, INQ and PUT follow the open options."""
    for verb, kind, name in commands:
        if verb == "DEFINE":
            profile = "MQGROUPS.**" if kind == "QMODEL" else name
            granted = commands["SET", "AUTHREC", profile]
            assert granted.parameters["PRINCIPAL"] == "app"
            assert {"BROWSE", "GET", "INQ", "PUT"} <= set(granted.parameters["AUTHADD"].split(","))


def test_default_of_the_embedded_queue_manager_is_this_file():
    assert DEVELOPMENT_MQSC.read_text() == MQSC.read_text()
    assert ROLES_MQSC.read_text() == (DOCKER / "roles.mqsc").read_text()


# --- the cluster


CLUSTER = DOCKER / "cluster"


@pytest.fixture(scope="module")
def cluster_compose():
    return yaml.safe_load((CLUSTER / "compose.yaml").read_text())


@table(("service", "port"), [("qm1", 1414), ("qm2", 1415), ("qm3", 1416)])
def test_containers_of_the_cluster_are_the_queue_managers_of_its_file(cluster_compose, service, port):
    described = {entry.name: entry for entry in read(CLUSTER / "cluster.toml").queue_managers}
    container = cluster_compose["services"][service]
    entry = described[container["environment"]["MQ_QMGR_NAME"]]
    assert container["ports"] == [f"127.0.0.1:{port}:1414"]
    assert entry.listen == f"127.0.0.1:{port}"
    assert container["environment"]["LICENSE"].startswith("${LICENSE:?")
    mounted = [volume.split(":") for volume in container["volumes"] if volume.startswith(".")]
    files = [(CLUSTER / source).resolve() for source, *_ in mounted]
    assert all(path.is_file() for path in files)
    assert [path.resolve() for path in entry.mqsc] == files[:2]
    assert files[2].name == f"40-{service}.mqsc"
    assert [target for _, target, _ in mounted] == [f"/etc/mqm/{path.name}" for path in files]


@table("number", [1, 2, 3])
def test_every_queue_manager_of_the_cluster_lets_its_channels_in(number):
    found = parse((CLUSTER / f"40-qm{number}.mqsc").read_text())
    channels = {each.parameters["CHLTYPE"]: each for each in found if each.kind == "CHANNEL"}
    assert channels["CLUSRCVR"].name == f"GRPCLUS.QM{number}"
    assert channels["CLUSRCVR"].parameters["CONNAME"] == f"qm{number}(1414)"
    # To a queue manager with a full repository, and not to itself.
    assert channels["CLUSSDR"].name == ("GRPCLUS.QM2" if number == 1 else "GRPCLUS.QM1")
    assert {each.parameters["CLUSTER"] for each in channels.values()} == {"GRPCLUS"}
    (rule,) = (each for each in found if each.kind == "CHLAUTH")
    assert (rule.name, rule.parameters["USERSRC"]) == ("GRPCLUS.*", "CHANNEL")
    repositories = [each.parameters["REPOS"] for each in found if "REPOS" in each.parameters]
    assert repositories == (["GRPCLUS"] if number < 3 else [])


def test_cluster_queues_are_bound_by_group():
    by_name = {each.name: each for each in parse((CLUSTER / "30-cluster.mqsc").read_text()) if each.kind == "QLOCAL"}
    parameters = by_name["CLUSTER.ORDERS"].parameters
    assert (parameters["CLUSTER"], parameters["DEFBIND"], parameters["CLWLUSEQ"]) == ("GRPCLUS", "GROUP", "ANY")
    assert all("REPLACE" in each.parameters for each in by_name.values())


# --- docker/spark: a cluster beside it


@pytest.fixture(scope="module")
def spark_compose():
    return yaml.safe_load((SPARK / "compose.yaml").read_text())


def test_the_spark_cluster_includes_the_queue_manager_and_waits_for_it(spark_compose, compose):
    (included,) = spark_compose["include"]
    assert (SPARK / included["path"]).resolve() == DOCKER / "compose.yaml"
    needed = spark_compose["services"]["pipeline"]["depends_on"]
    assert set(needed) <= set(spark_compose["services"]) | set(compose["services"])
    assert needed["qm1"] == {"condition": "service_healthy"}
    assert "healthcheck" in compose["services"]["qm1"]


def test_driver_and_executors_have_one_image_one_volume_and_the_password_as_a_file(spark_compose, compose):
    services = spark_compose["services"].values()
    assert {service["image"] for service in services} == {"mqgroups-spark"}
    assert all(service["volumes"] == ["work:/data"] for service in services)
    assert all(set(service["secrets"]) <= set(compose["secrets"]) for service in services)
    assert not any("environment" in service for service in services)
    assert set(spark_compose["volumes"]) == {"work"}


def test_the_pipeline_is_submitted_to_the_master_with_options_of_a_connection_and_a_folder_that_all_have(spark_compose):
    command, master, *words = spark_compose["services"]["pipeline"]["command"]
    assert (command, master) == ("spark-submit", "--master=spark://spark-master:7077")
    program, folder, *options = [word for word in words if not word.startswith("--conf=")]
    assert (program, folder) == ("/opt/pipeline/pipeline.py", "/data")
    given = {"mq.queueManager": "QM1", "queue": "FLIGHTS", **dict(option.split("=", 1) for option in options)}
    connection = source_options(given, Use.STREAM_READ).connection
    assert connection.conn_name == "qm1(1414)"
    assert connection.password == Secret.from_file("/run/secrets/mqAppPassword")


def test_the_spark_image_is_made_of_files_that_exist_and_a_client_outside_git():
    lines = (SPARK / "Dockerfile").read_text().splitlines()
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    ours = [name for name in copied if name not in ("${MQ_CLIENT}", "--from=client", "/opt/mqm")]
    assert len(copied) == len(ours) + 3
    assert all((DOCKER.parent / name).exists() for name in ours)
    (client,) = [line.split("=", 1)[1] for line in lines if line.startswith("ARG MQ_CLIENT=")]
    assert client.startswith("docker/spark/")
    assert client.endswith(".tar.gz")
    assert "/docker/spark/*.tar.gz" in (DOCKER.parent / ".gitignore").read_text().splitlines()


@table("image", ["app", "spark"])
def test_an_image_has_all_files_that_its_build_of_the_package_reads(image):
    lines = (DOCKER / image / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1:] for line in lines if line.startswith("COPY ")]
    sources = {word for *names, target in copied if target.startswith("/src/") for word in names}
    project = tomllib.loads((DOCKER.parent / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    read_by_the_build = {"pyproject.toml", "hatch_build.py", "README.md", *wheel["packages"]}
    assert sources == read_by_the_build | {*project["project"]["license-files"], *wheel["force-include"]}


def test_the_spark_image_has_the_python_that_its_paths_name():
    text = (SPARK / "Dockerfile").read_text()
    assert "FROM python:3.11-" in text
    assert "SPARK_HOME=/usr/local/lib/python3.11/site-packages/pyspark" in text

"""docker/telemetry and docker/app: no container is started here; what can be checked without one is."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import urllib.parse
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
import yaml
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY, generate_latest

from embedded_tests.tables import table
from mqgroups.cli.main import main
from mqgroups.cli.seen import Seen, SeenQueue
from mqgroups.cli.watch_page import WatchPages
from mqgroups.core.group import GroupPosition
from mqgroups.core.model import Role
from mqgroups.core.restart import CommitOutcome
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.errors import ConnectionBroken
from mqgroups.pages import metrics_page
from mqgroups.telemetry import events, metrics
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.lag import REPORTS, observe_lag
from mqgroups.telemetry.owner import OwnerTelemetry
from mqgroups.telemetry.place import Place
from mqgroups.telemetry.settings import EACH_MESSAGE, TelemetrySettings
from mqgroups.workers.health import figures
from mqgroups.workers.status import WorkerStatus

ROOT = Path(__file__).resolve().parents[1]
DOCKER = ROOT / "docker"
TELEMETRY = DOCKER / "telemetry"
APP = DOCKER / "app"


def read(path):
    return yaml.safe_load(path.read_text())


def mounted(service):
    """The files and folders of this project that a service has, by where it has them."""
    volumes = (volume.split(":") for volume in service.get("volumes", []))
    return {target: TELEMETRY / source for source, target, *_ in volumes if source.startswith("./")}


def host_ports(compose):
    return [port.split(":")[1] for service in compose["services"].values() for port in service.get("ports", [])]


@pytest.fixture(scope="module")
def compose():
    return read(TELEMETRY / "compose.yaml")


@pytest.fixture(scope="module")
def app():
    return read(APP / "compose.yaml")


# --- the parts fit each other


def test_every_service_has_the_file_that_it_is_started_with(compose):
    services = compose["services"]
    for name, option in ("otel-collector", "--config="), ("prometheus", "--config.file="):
        (given,) = (word.removeprefix(option) for word in services[name]["command"] if word.startswith(option))
        assert mounted(services[name])[given].is_file()
    (alerts,) = read(TELEMETRY / "prometheus.yaml")["rule_files"]
    assert mounted(services["prometheus"])[alerts] == TELEMETRY / "alerts.yaml"


def test_the_collector_s_pipelines_are_made_of_what_it_has_and_lead_to_services(compose):
    collector = read(TELEMETRY / "collector.yaml")
    for pipeline in collector["service"]["pipelines"].values():
        for kind in "receivers", "processors", "exporters":
            assert set(pipeline[kind]) <= set(collector[kind])
    host, port = collector["exporters"]["otlp/jaeger"]["endpoint"].split(":")
    assert (host in compose["services"], port) == (True, "4317")
    listens = collector["exporters"]["prometheus"]["endpoint"].split(":")[1]
    scraped, pages = read(TELEMETRY / "prometheus.yaml")["scrape_configs"]
    assert scraped["static_configs"] == [{"targets": [f"otel-collector:{listens}"]}]
    assert scraped["honor_labels"] is True  # or job would be the collector's
    ((targets,),) = (each["files"] for each in pages["file_sd_configs"])
    assert mounted(compose["services"]["prometheus"])[targets] == TELEMETRY / "targets.yaml"


def test_programs_send_to_the_collector(compose, app):
    otlp = read(TELEMETRY / "collector.yaml")["receivers"]["otlp"]["protocols"]["http"]["endpoint"].split(":")[1]
    for name in "loader", "sink":
        assert app["services"][name]["environment"]["OTEL_EXPORTER_OTLP_ENDPOINT"] == f"http://otel-collector:{otlp}"
    assert f"127.0.0.1:{otlp}:{otlp}" in compose["services"]["otel-collector"]["ports"]


def test_grafana_finds_its_dashboards_and_they_their_data(compose):
    grafana = compose["services"]["grafana"]
    folders = mounted(grafana)
    (provider,) = read(TELEMETRY / "grafana/provisioning/dashboards/mqgroups.yaml")["providers"]
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert provider["options"]["path"] == str(home.parent)
    assert (folders[str(home.parent)] / home.name).is_file()
    assert folders["/etc/grafana/provisioning"] == TELEMETRY / "grafana/provisioning"
    sources = read(TELEMETRY / "grafana/provisioning/datasources/mqgroups.yaml")["datasources"]
    for source in sources:
        assert urllib.parse.urlsplit(source["url"]).hostname in compose["services"]
    used = set(re.findall(r'"uid": "(\w+)"', (TELEMETRY / "grafana/dashboards/mqgroups.json").read_text()))
    assert used - {"mqgroups"} <= {source["uid"] for source in sources}


def test_telemetry_goes_with_every_other_compose_file(compose):
    others = [path for path in DOCKER.rglob("compose.yaml") if path.parent != TELEMETRY]
    assert {DOCKER / "compose.yaml", DOCKER / "spark" / "compose.yaml", APP / "compose.yaml"} <= set(others)
    for path in others:
        other = read(path)
        for kind in "services", "volumes", "secrets":
            assert not set(compose.get(kind, ())) & set(other.get(kind, ())), (path, kind)
        assert not set(host_ports(compose)) & set(host_ports(other)), path
    assert "include" not in compose  # a file cannot be included twice


# --- queries


@pytest.fixture(scope="module")
def exposed():
    """What Prometheus gets to see: names of samples, and which labels each has."""
    reader = PrometheusMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "INSTRUMENTS", metrics.Instruments(provider.get_meter("mqgroups")))
        for role in Role:
            everything_happens(
                OwnerTelemetry(TelemetrySettings(EACH_MESSAGE), role.value, "N", "Q", Place("QM"), propagates=False)
            )
        observe_lag(provider.get_meter("mqgroups"))
        nothing = {"oldest": None, "waiting": 0, "incomplete": None}
        patch.setitem(REPORTS, "run", [{"queueManager": "QM", "queue": "Q", **nothing}])
        metrics.connected(Place("QM", "QM_1", "host", 1414))
        metrics.could_not_connect(Place("QM", "", "host", 1414), 2538)
        metrics.retried("QM", 2009)
        metrics.waited_for_status_queue("MQGROUPS.PUT.N", 0.1)
        page = generate_latest(REGISTRY).decode()
    provider.shutdown()
    page += metrics_page(figures([WorkerStatus("N.1", True, True, 1, 0.0, 0.0, 0)])).text
    look = WatchPages("QM")
    look.show(Seen(datetime.now(UTC), queues=[SeenQueue("Q")]), 1.0)
    page += look.by_path["/metrics"]().text
    found: dict[str, set[str]] = {}
    for name, labels in re.findall(r"^((?:mqgroups|messaging)_\w+)\{(.*)\} ", page, re.MULTILINE):
        found.setdefault(name, {"job", "instance"}).update(re.findall(r'(\w+)="', labels))
    return found


def everything_happens(telemetry):
    """Have each instrument record something."""
    end = GroupPosition(b"G" * 24, 3)
    record = StatusRecord(Role.PUT, "N", RecordState.IN_GROUP, "O", 1, 1, "Q", b"G" * 24, 3, "QM_1")
    for why in None, ConnectionBroken("MQCMIT", "queue manager QM", 2, 2009):
        telemetry.take(events.UnitBegun(1))
        telemetry.messages.begin(1, telemetry.context).end()
        telemetry.settle(sc.COMMIT)
        telemetry.take(
            events.UnitCommitted(record, end, 3, 3, "", True, 0.0)
            if why is None
            else events.UnitBackedOut(end, end, 3, "", why, is_lost=False)
        )
    telemetry.take(events.GroupFound(record, 2, 0))
    telemetry.take(events.OutcomeFound(CommitOutcome.COMMITTED, 1, 3, 2009))
    telemetry.take(events.OutcomeFound(CommitOutcome.OWNERSHIP_LOST, 1, 0, 0))
    telemetry.poison(1, 3)


def by(query):
    """The labels that a query's results have, or its parts'."""
    made = re.findall(r'label_replace\(.*?, "(\w+)"', query)
    return {name for names in re.findall(r"by \((.*?)\)", query) for name in names.split(", ")} - {*made}


def rules():
    """The rules of all alerts and recorded series."""
    return [rule for group in read(TELEMETRY / "alerts.yaml")["groups"] for rule in group["rules"]]


def queries():
    dashboard = json.loads((TELEMETRY / "grafana/dashboards/mqgroups.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
            for name in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                assert name in by(target["expr"]), panel["title"]
    for variable in dashboard["templating"]["list"]:
        yield variable["name"], variable["query"]["query"]
    for rule in rules():
        for alternative in re.split(r" or (?=\(group )", rule["expr"]):
            yield rule.get("alert") or rule["record"], alternative


def test_dashboard_and_alerts_ask_for_metrics_and_labels_that_there_are(exposed):
    asked = list(queries())
    recorded = {where: query for where, query in asked if ":" in where}
    assert len(asked) > 20
    for where, query in asked:
        assert all(query.count(opening) == query.count(closing) for opening, closing in ("()", "[]", "{}")), where
        names = re.findall(r"\b(?:mqgroups|messaging)_[a-z_]+(?=[{\[, )]|$)", re.sub(r"by \(.*?\)|\{.*?\}", "", query))
        names = [name for name in names if name != "messaging_destination_name"]
        used = set(re.findall(r"\bmqgroups:[a-z_0-9:]+", query))
        assert used <= recorded.keys(), where
        # What a query of recorded series can ask for is what they are made of.
        names += [name for each in used for name in re.findall(r"\bmqgroups_[a-z_]+", recorded[each])]
        names = [
            name for name in names if name in exposed or not name.startswith(("mqgroups_role", "mqgroups_outcome"))
        ]
        assert names or "__name__" in query or "up{" in query, where
        for name in names:
            assert name in exposed, (where, name)
            assert by(query) <= exposed[name], (where, name)
        for name, selector in re.findall(r"(\w+)\{(.*?)\}", query):
            if name in ("up", "ALERTS") or ":" in query.partition(f"{name}{{")[0][-1:]:
                continue
            selected = set(re.findall(r'(\w+)(?:=~|!~|!=|=)"', selector))
            assert selected, (where, selector)
            assert selected <= exposed[name], (where, name)


def test_every_instrument_is_on_the_dashboard(exposed):
    shown = " ".join(query for _, query in queries())
    families = {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in exposed}
    assert len(families) == 28
    assert [family for family in families if family not in shown] == []


@pytest.fixture
def promtool():
    """A function that runs the tests of a file beside the alerts, which promtool evaluates."""
    command = shutil.which("promtool")
    if command is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")

    def run(path):
        done = subprocess.run(
            [command, "test", "rules", path], cwd=TELEMETRY, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    return run


def test_each_alert_fires_and_does_not_fire_when_its_test_says(promtool):
    promtool("alerts_test.yaml")


def test_a_process_with_too_many_series_is_told(promtool, tmp_path):
    many = [{"series": f'mqgroups_retries_total{{job="sink",n="{n}"}}', "values": "1x90"} for n in range(2001)]
    few = [{"series": f'mqgroups_retries_total{{job="few",n="{n}"}}', "values": "1x90"} for n in range(2000)]
    told = [{"labels": '{job="sink"}', "value": 1}]
    expr = 'sum by (job) (ALERTS{alertname="TooManySeries",alertstate="firing"})'
    asked = [{"expr": expr, "eval_time": at, "exp_samples": found} for at, found in (("9m", []), ("11m", told))]
    test = {"interval": "10s", "input_series": many + few, "promql_expr_test": asked}
    rules = {"rule_files": [str(TELEMETRY / "alerts.yaml")], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(rules))
    promtool(str(tmp_path / "test.yaml"))


def test_each_line_of_who_is_paged_is_a_test_of_its_alert_and_each_alert_has_a_line():
    page = (ROOT / "docs" / "how-to" / "production.md").read_text()
    section = page.partition("## Who is paged\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| ([^|]+) \| (page|ticket) \| [^|]+ \| `(\w+)` \|$", section, re.MULTILINE)
    assert len(lines) >= 16
    severities = {rule["alert"]: rule["labels"]["severity"] for rule in rules() if "alert" in rule}
    tests = {test["name"]: test for test in read(TELEMETRY / "alerts_test.yaml")["tests"]}
    for situation, severity, alert in lines:
        assert severities[alert] == severity, situation
        if alert != "TooManySeries":  # above
            asked = [found for each in tests[situation]["promql_expr_test"] for found in each["exp_samples"]]
            assert any(f'alertname="{alert}"' in found["labels"] for found in asked), situation
    assert {alert for _, _, alert in lines} == severities.keys()


def test_each_alert_leads_to_a_paragraph_that_there_is_and_says_what_to_do():
    for rule in rules():
        if "alert" in rule:
            page, anchor = rule["annotations"]["runbook"].split("#")
            text = (ROOT / page).read_text()
            headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, rule["alert"]
            assert f"`{rule['alert']}`" in text, rule["alert"]


# --- the application


def test_each_program_starts_when_its_init_step_has_succeeded(app):
    services = app["services"]
    for name in "loader", "sink":
        depends_on = services[name]["depends_on"]
        assert depends_on[f"{name}-check"] == {"condition": "service_completed_successfully"}
        assert services[f"{name}-check"]["depends_on"]["qm1"] == {"condition": "service_healthy"}
        assert "restart" not in services[f"{name}-check"]  # Compose waits for its end
    included = {(APP / each["path"]).resolve() for each in app["include"]}
    assert included == {DOCKER / "compose.yaml", TELEMETRY / "compose.yaml"}


@table(("service", "program"), [("loader", "resumable_producer.py"), ("sink", "resumable_consumer.py")])
def test_the_init_step_asks_for_the_name_and_queue_of_its_program(app, service, program):
    words = app["services"][f"{service}-check"]["command"]
    assert words[:2] == ["mqgroups", "check"]
    command = main.get_command(click.Context(main), "check")
    assert command is not None
    given = command.make_context("check", [*words[2:], "--q-mgr", "QM1"])
    source = (ROOT / "examples" / program).read_text()
    assert f'name="{given.params["name"]}"' in source
    assert f'"{given.params["queue"]}", name=' in source
    assert f"group_{'producer' if given.params['role'] == 'put' else 'consumer'}(" in source
    run = app["services"][service]["command"]
    assert run[:3] == ["opentelemetry-instrument", "python", f"/opt/mqgroups/examples/{program}"]


def test_the_image_is_made_of_files_that_exist_and_of_a_client_whose_licence_is_accepted(app):
    lines = (APP / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ")]
    sources = [word for words in copied for word in words if not word.startswith("--")]
    ours = [source for source in sources if not source.startswith("/opt/")]
    assert len(ours) == 11
    assert all((ROOT / source).exists() for source in ours)
    build = app["services"]["loader-check"]["build"]
    assert (APP / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()
    assert build["args"]["LICENSE"].startswith("${LICENSE:?")
    assert {line.split()[1].split("=")[0] for line in lines if line.startswith("ARG ")} >= set(build["args"])


@pytest.mark.parametrize("image", ["app", "spark"])
def test_no_image_is_built_from_a_client_without_a_digest_or_with_another_one(tmp_path, image):
    text = re.sub(r"\\\n", "", (ROOT / "docker" / image / "Dockerfile").read_text())
    empty, fetch = re.findall(r"^RUN (.*MQ_CLIENT_SHA256.*)$", text, re.MULTILINE)
    package = tmp_path / "client.tar.gz"
    with tarfile.open(package, "w:gz") as file:
        file.add(__file__, "lib64")
    (tmp_path / "fetched").write_bytes(package.read_bytes())  # as COPY does
    # Both names are of the container's file system.
    fetch = fetch.replace("/tmp/mqm.tar.gz", str(tmp_path / "fetched")).replace("/opt/mqm", str(tmp_path / "mqm"))
    right = hashlib.sha256(package.read_bytes()).hexdigest()
    for digest in "", "0" * 64, right:
        environment = {"PATH": os.environ["PATH"], "MQ_CLIENT_URL": package.as_uri(), "MQ_CLIENT_SHA256": digest}
        command = ["sh", "-e", "-c", f"{empty}\n{fetch}"]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert "ADD" not in text
        assert (done.returncode == 0) == (tmp_path / "mqm" / "lib64").exists() == (digest == right)


def test_the_password_is_in_a_file_and_in_no_variable(app):
    for service in app["services"].values():
        environment = service["environment"]
        assert "MQGROUPS_PASSWORD" not in environment
        assert environment["MQGROUPS_PASSWORD_FILE"].removeprefix("/run/secrets/") in service["secrets"]
    assert "ENTRYPOINT" not in (APP / "Dockerfile").read_text()

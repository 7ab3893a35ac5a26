"""The workflow files. ``make lint`` holds them against their schema; here is what the schema does not know."""

import re
import shlex
from pathlib import Path

import yaml

from embedded_tests.tables import table
from tests import makefile

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTHONS = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())


def jobs(path):
    return yaml.safe_load(path.read_text())["jobs"]


@table("path", WORKFLOWS)
def test_workflows_make_what_the_makefile_has(path):
    runs = [step["run"] for job in jobs(path).values() for step in job["steps"] if "run" in step]
    made = [line for run in runs for line in run.splitlines() if line.startswith("make ")]
    assert {line: lacking for line in made if (lacking := makefile.unknown(shlex.split(line)[1:]))} == {}


@table("path", WORKFLOWS)
def test_no_checkout_leaves_a_token_behind(path):
    steps = [step for job in jobs(path).values() for step in job["steps"] if "actions/checkout" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in steps)


def test_what_makes_the_distributions_is_fixed_by_hash_and_nothing_else_runs_before_they_are_uploaded():
    release = jobs(ROOT / ".github" / "workflows" / "release.yml")
    *_, made, uploaded = release["build"]["steps"]
    assert (made, uploaded["with"]) == ({"run": "make distributions"}, {"name": "dist", "path": "dist/"})
    assert "bash tools/sbom.sh" in [step.get("run") for step in release["bills"]["steps"]]
    assert (release["bills"]["needs"], "permissions" in release["bills"]) == ("build", False)
    for name in "distributions", "sbom":
        assert "--require-hashes" in (ROOT / "tools" / f"{name}.sh").read_text()
        lines = (ROOT / "tools" / f"{name}.txt").read_text().splitlines()
        assert [line for line in lines if not re.match(r"#|\S+==\S+( --hash=sha256:[0-9a-f]{64})+$", line)] == []


@table("path", WORKFLOWS)
def test_actions_are_pinned_to_commits(path):
    used = re.findall(r"uses: (.*)", path.read_text())
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)] == []


def test_what_is_checked_before_a_release_is_what_will_be_published():
    """``make distributions CHECK=1`` builds dist/ anew."""
    check, publish = (
        jobs(ROOT / ".github" / "workflows" / "release.yml")[job]["steps"] for job in ("check", "publish")
    )
    for steps in (check, publish):
        (dist,) = [step for step in steps if step.get("with", {}).get("path") == "dist"]
        assert (dist["uses"].partition("@")[0], dist["with"]["name"]) == ("actions/download-artifact", "dist")
    assert not any("make" in step.get("run", "") for step in check)


@table(("workflow", "job"), [("ci", "embedded"), ("nightly", "second-binding"), ("ibm-mq", "contract")])
def test_every_python_that_is_promised_is_run(workflow, job):
    matrix = jobs(ROOT / ".github" / "workflows" / f"{workflow}.yml")[job]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS == ["3.11", "3.12", "3.13", "3.14"]


def test_the_second_binding_runs_all_tests_every_night():
    job = jobs(ROOT / ".github" / "workflows" / "nightly.yml")["second-binding"]
    assert job["env"] == {"MQGROUPS_MQI": "ibmmq"}
    assert {"run": 'make test ARGS="--mqi=ibmmq --nightly"'} in job["steps"]


def test_ibm_mq_is_reached_through_both_bindings():
    matrix = jobs(ROOT / ".github" / "workflows" / "ibm-mq.yml")["contract"]["strategy"]["matrix"]
    assert matrix["binding"] == ["pymqi", "ibmmq"]


def test_the_cluster_is_tested_on_ibm_mq_too():
    matrix = jobs(ROOT / ".github" / "workflows" / "ibm-mq.yml")["contract"]["strategy"]["matrix"]
    assert matrix["tests"] == ["contract and not cluster", "contract and cluster"]


def test_nothing_of_ibms_is_started_where_nobody_has_accepted_the_licence():
    by_hand, by_night = "inputs.license == 'accept'", "github.event_name == 'schedule' && vars.MQ_LICENSE == 'accept'"
    for name, job in jobs(ROOT / ".github" / "workflows" / "ibm-mq.yml").items():
        assert job["if"] == f"{by_hand} || ({by_night})", name

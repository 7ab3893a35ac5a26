"""The lag of streams as metrics, from what Spark tells its listeners."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

pytest.importorskip("pyspark", reason="pyspark is not installed")
from mqgroups.spark import lag_listener
from mqgroups.telemetry.lag import REPORTS, observe_lag


@pytest.fixture
def read():
    """A function that returns the value of each metric, by queue."""
    REPORTS.clear()
    reader = InMemoryMetricReader()
    observe_lag(MeterProvider([reader], shutdown_on_exit=False).get_meter("test"))

    def values():
        data = reader.get_metrics_data()
        resources = json.loads(data.to_json())["resource_metrics"] if data else []
        return {
            metric["name"].removeprefix("mqgroups.spark."): {
                point["attributes"]["messaging.destination.name"]: point["value"]
                for point in metric["data"]["data_points"]
            }
            for each in resources
            for metric in each["scope_metrics"][0]["metrics"]
        }

    yield values
    REPORTS.clear()


def progress(run, *reports):
    sources = [SimpleNamespace(latestOffset=each) for each in reports]
    return SimpleNamespace(progress=SimpleNamespace(runId=run, sources=sources))


def report(queue, oldest=None, waiting=0, incomplete=None):
    fields = {"queueManager": "QM", "queue": queue, "oldest": oldest, "waiting": waiting, "incomplete": incomplete}
    return json.dumps(fields)


def test_the_ages_of_what_waits_go_on_growing_and_other_sources_have_none(read):
    listener = lag_listener()
    ago = (datetime.now(UTC) - timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    # Of Kafka, of a rate source, of a repeated micro-batch, and what nobody can read.
    others = ['{"topic": {"0": 5}}', "7", "null", "", "None"]
    listener.onQueryProgress(progress("run", report("A", ago, 3), *others, report("B", None, 0, ago)))
    listener.onQueryProgress(progress("other", *others))
    listener.onQueryProgress(progress("broken", "{"))
    seen = read()
    assert seen["waiting"] == {"A": 3, "B": 0}
    assert (300 <= seen["lag"]["A"] < 900, seen["lag"]["B"]) == (True, 0)
    assert (seen["incomplete"]["A"], 300 <= seen["incomplete"]["B"] < 900) == (0, True)
    assert read()["lag"]["A"] > seen["lag"]["A"]
    # A repeated micro-batch tells nothing new.
    listener.onQueryProgress(progress("run", "null"))
    assert read()["waiting"] == {"A": 3, "B": 0}


def test_an_idle_query_has_no_lag_and_one_that_ended_has_no_metric(read):
    listener = lag_listener()
    listener.onQueryStarted(SimpleNamespace(runId="run"))
    listener.onQueryIdle(SimpleNamespace(runId="run"))
    assert read() == {}
    long_ago = "2026-01-01T00:00:00Z"
    listener.onQueryProgress(progress("run", report("A", long_ago, 3, long_ago)))
    listener.onQueryIdle(SimpleNamespace(runId="run"))
    assert read() == {"lag": {"A": 0}, "waiting": {"A": 0}, "incomplete": {"A": 0}}
    listener.onQueryTerminated(SimpleNamespace(runId="run"))
    assert read() == {}

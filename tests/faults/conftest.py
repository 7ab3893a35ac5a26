"""Processes of the campaign: the library of the one that runs the tests stays as it is."""

from __future__ import annotations

import pytest

from tests.faults.pool import Setting, run_case, worker_processes


@pytest.fixture(scope="session")
def worker():
    """A process that runs cases."""
    with worker_processes(1, Setting()) as workers:
        yield workers


@pytest.fixture
def run(worker):
    """Run a case by its name, with the whole library or without some safeties."""

    def run(case, *without):
        if not without:
            return worker.submit(run_case, case).result()
        with worker_processes(1, Setting(without)) as workers:
            return workers.submit(run_case, case).result()

    return run

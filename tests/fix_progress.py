"""What a run of all tests says of itself: how far it is, and at the end what it has left out."""

from __future__ import annotations

import time

import pytest

_SAY_EVERY_S = 10
_LEFT_OUT = """\
Spark Connect, more killed drivers, large data   make test ARGS=--nightly
faults: these were a few, drawn from the seed    make faults SHORT=1, make faults; OF=workers, OF=spark
the second binding, but for a few files          make test ARGS=--mqi=ibmmq
mutations, more random calls, more bad input     make mutations, make fuzz OF=calls, make fuzz
IBM MQ                                           make first-contact, make test MQ=container, make test MQ=url"""


def pytest_addoption(parser):
    parser.addoption(
        "--nightly", action="store_true", help="run also what is marked nightly, and otherwise only where it is named"
    )


def pytest_configure(config):
    if _is_whole(config) and not hasattr(config, "workerinput") and not config.option.collectonly:
        config.pluginmanager.register(_Progress(config))


def _is_whole(config):
    """Whether no files and no tests are named."""
    return config.args_source is not config.ArgsSource.ARGS


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out what takes long, where nobody asks for it."""
    if _is_whole(config) and not config.option.nightly:
        left = [item for item in items if item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


class _Progress:
    """Says at intervals how far it is, instead of a dot for each test."""

    def __init__(self, config) -> None:
        self._config = config
        self._total = self._done = self._failed = 0
        self._began_s = self._said_s = 0.0

    def pytest_collection_finish(self, session):
        self._begin(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        self._begin(len(ids))

    def _begin(self, total: int) -> None:
        self._total = total
        self._began_s = self._said_s = time.monotonic()

    def pytest_report_teststatus(self, report):
        return (
            ("passed", "", "") if report.passed and report.when == "call" and not self._config.option.verbose else None
        )

    def pytest_runtest_logreport(self, report):
        self._failed += report.failed
        self._done += report.when == "teardown"
        now_s = time.monotonic()
        if report.when == "teardown" and now_s - self._said_s >= _SAY_EVERY_S:
            self._said_s = now_s
            took_s = now_s - self._began_s
            to_go_s = took_s * (self._total - self._done) / self._done
            reporter = self._config.pluginmanager.getplugin("terminalreporter")
            reporter.ensure_newline()
            reporter.write_line(
                f"{self._done:,} of {self._total:,} tests, {self._failed} failed, {took_s:.0f} s; about {to_go_s:.0f} s to go"
            )

    def pytest_terminal_summary(self, terminalreporter):
        option = self._config.option
        if not option.markexpr and not option.keyword:
            terminalreporter.section("not run here, and how to run it")
            terminalreporter.write_line(_LEFT_OUT)

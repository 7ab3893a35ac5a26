"""A pytest plugin that provides tests with a queue manager, queues, and the bindings pymqi and ibmmq.

``--mq=embedded`` (the default) starts an embedded queue manager. ``--mq=container`` starts IBM MQ's developer container. ``url``
uses the queue manager that the environment names. ``auto`` starts the container if Docker is available and IBM's licence is
accepted; otherwise it skips the tests that need a queue manager. ``--mqi`` chooses the bindings for tests with the fixture
``binding``. README.md beside this file has examples.

Tests marked ``embedded`` need an embedded queue manager that they control. Tests marked ``real`` need IBM MQ. Unmarked tests run
on any queue manager. The fixtures are in ``fixtures.py``.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from mqembedded.testing import provision
from mqembedded.testing.bindings import bindings, loaded
from mqembedded.testing.options import EMBEDDED_ONLY, FAILED, MISSING, SESSION, add_options, wanted
from mqembedded.testing.provision import NotToBeHad
from mqembedded.testing.under_test import embedded_client, given

pytest_plugins = ["mqembedded.testing.fixtures"]

_ENDING = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's command-line options and its ini option ``mq_mqsc``."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin's marks."""
    config.addinivalue_line("markers", "embedded: needs the embedded queue manager")
    config.addinivalue_line("markers", "real: needs IBM MQ")
    config.addinivalue_line("markers", "one_binding: shows nothing more on a second binding")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Check that the queue manager is available; start a container at once, because pytest's header shows IBM MQ's version."""
    config = session.config
    if config.option.collectonly:
        return
    asked = wanted(config)
    try:
        provision.check(asked)
    except NotToBeHad as error:
        if asked.kind != provision.AUTO:
            raise pytest.UsageError(str(error)) from error
        config.stash[MISSING] = str(error)
        return
    if asked.is_container and config.getoption("--mq-scope") == "session":
        ending = config.stash[_ENDING] = ExitStack()
        config.stash[SESSION] = ending.enter_context(provision.running(asked, config.getini("mq_mqsc")))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the container that ``pytest_sessionstart`` has started."""
    config.stash.get(_ENDING, ExitStack()).close()


def pytest_report_header(config: pytest.Config) -> str:
    """Return the header line, which shows queue manager, command level and bindings."""
    names = bindings(config.getoption("--mqi"))
    installed = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names) or "none installed"
    return f"mq: {_where(config, names)}; bindings {installed}"


def _where(config: pytest.Config, names: Sequence[str]) -> str:
    asked = wanted(config)
    if asked.is_embedded:
        from mqembedded.queue_manager import COMMAND_LEVEL

        follows = "".join(f", {name}={value}" for name, value in asked.readings.items())
        set_up = ", set up as IBM's image" if asked.kind == provision.IMITATION else ""
        return f"embedded queue manager (not IBM MQ){set_up}, command level {COMMAND_LEVEL}{follows}"
    if MISSING in config.stash:
        return f"none, tests that need one are skipped: {config.stash[MISSING]}"
    if config.option.collectonly:
        return f"--mq={asked.kind}, not asked"
    if asked.is_container and SESSION not in config.stash:
        return f"IBM MQ in {asked.image}, one for each {config.getoption('--mq-scope')}"
    if not names:
        return "not asked"
    under_test = config.stash.get(SESSION, None) or given(os.environ)
    try:
        return under_test.described(loaded(names[0]))
    except ImportError as error:
        return f"{under_test.q_mgr_name} at {under_test.conn_name}, not asked: {error}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Mark tests that control an embedded queue manager, and skip tests that cannot use the chosen queue manager."""
    embedded = config.getoption("--mq") == provision.EMBEDDED
    unwanted, why = ("real", "needs IBM MQ") if embedded else ("embedded", "needs --mq=embedded")
    for item in items:
        if EMBEDDED_ONLY in getattr(item, "fixturenames", ()):
            item.add_marker("embedded")
        if item.get_closest_marker(unwanted):
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Skip a test that needs IBM MQ if the given queue manager turns out to be embedded."""
    if item.get_closest_marker("real") and embedded_client():
        pytest.skip("needs IBM MQ, and this is an embedded queue manager")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Record in a test's stash that the test raised an exception. The fixtures that clean up after the test need this."""
    if call.excinfo is not None:
        item.stash[FAILED] = True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that uses ``binding`` once per binding, or only with the first binding if it is marked ``one_binding``."""
    if "binding" in metafunc.fixturenames:
        names = bindings(metafunc.config.getoption("--mqi"))
        if metafunc.definition.get_closest_marker("one_binding"):
            names = names[:1]
        metafunc.parametrize("binding", names or [None], indirect=True, scope="session")

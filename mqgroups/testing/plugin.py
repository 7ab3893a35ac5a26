"""A pytest plugin: the queue manager under test, its queues, and the bindings to reach it.

``--mq=embedded`` (the default) starts an embedded queue manager, ``container`` IBM MQ's developer container, ``url`` uses the
one that the environment names; ``auto`` is ``container`` where that can be had, and skips what needs it where not. ``--mqi`` says
which of the installed bindings a test that asks for ``binding`` runs on. README.md beside this file tells more.

Tests marked ``embedded`` need an embedded queue manager that the tests have in hand, tests marked ``real`` need IBM MQ; the
others run on all of them. The fixtures are in ``fixtures.py``.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from mqgroups.testing import provision
from mqgroups.testing.bindings import bindings, loaded
from mqgroups.testing.options import EMBEDDED_ONLY, MISSING, SESSION, add_options, wanted
from mqgroups.testing.provision import NotToBeHad
from mqgroups.testing.under_test import embedded_client, given

pytest_plugins = ["mqgroups.testing.fixtures"]

_ENDING = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, and the ini option ``mq_mqsc``."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks."""
    config.addinivalue_line("markers", "embedded: needs the embedded queue manager")
    config.addinivalue_line("markers", "real: needs IBM MQ")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Find out whether the queue manager can be had, and start a container for all tests: the header tells its version."""
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
    """End what the session's start has started."""
    config.stash.get(_ENDING, ExitStack()).close()


def pytest_report_header(config: pytest.Config) -> str:
    """Say what the results are worth: which queue manager, which bindings, which level."""
    names = bindings(config.getoption("--mqi"))
    installed = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names) or "none installed"
    return f"mq: {_where(config, names)}; bindings {installed}"


def _where(config: pytest.Config, names: Sequence[str]) -> str:
    asked = wanted(config)
    if asked.kind == provision.EMBEDDED:
        from mqgroups.embedded.queue_manager import COMMAND_LEVEL

        follows = "".join(f", {name}={value}" for name, value in asked.readings.items())
        return f"embedded queue manager (not IBM MQ), command level {COMMAND_LEVEL}{follows}"
    if MISSING in config.stash:
        return f"none, what needs one is skipped: {config.stash[MISSING]}"
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
    """Mark what takes an embedded queue manager in hand, and skip what the queue manager under test cannot do."""
    embedded = config.getoption("--mq") == provision.EMBEDDED
    unwanted, why = ("real", "needs IBM MQ") if embedded else ("embedded", "needs --mq=embedded")
    for item in items:
        if EMBEDDED_ONLY in getattr(item, "fixturenames", ()):
            item.add_marker("embedded")
        if item.get_closest_marker(unwanted):
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Skip what needs IBM MQ where the queue manager that was given turns out to be an embedded one."""
    if item.get_closest_marker("real") and embedded_client():
        pytest.skip("needs IBM MQ, and this is an embedded queue manager")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for ``binding`` once with each."""
    if "binding" in metafunc.fixturenames:
        names = bindings(metafunc.config.getoption("--mqi"))
        metafunc.parametrize("binding", names or [None], indirect=True, scope="session")

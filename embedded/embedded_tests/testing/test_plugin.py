"""The pytest plugin in somebody else's project: fixtures, header, marks, and what it says when there is no queue manager."""

from __future__ import annotations

import http.cookiejar  # noqa: F401 - what a run imports first pytester removes, but the package http would keep it
import importlib.metadata
import importlib.util
import re
from pathlib import Path
from textwrap import dedent

import pytest

from mqembedded import EmbeddedQueueManager
from mqembedded.cache import cache
from mqembedded.testing.bindings import BINDINGS
from mqembedded.testing.under_test import MQSC

pytestmark = pytest.mark.embedded

ROOT = Path(__file__).parents[3]
# pytester gives each project a home of its own, in which the C library would be compiled again.
CACHE = cache()

needs_testcontainers = pytest.mark.skipif(
    importlib.util.find_spec("testcontainers") is None, reason="testcontainers is not installed"
)
INSTALLED = [name for name in BINDINGS if importlib.util.find_spec(name)]
VERSIONS = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in INSTALLED)
NO_ENGINE = (
    "no Docker engine answers (No such file or directory), but IBM MQ's container needs one: start it, or name it in "
    "DOCKER_HOST."
)

ROUND_TRIP = """
    def test_a_message_comes_back(mq, binding, queue):
        q_mgr = mq.connect(binding)
        q_mgr.put1(queue, b"hello")
        assert binding.Queue(q_mgr, queue).get() == b"hello"
        q_mgr.disconnect()
"""


@pytest.fixture
def project(pytester, monkeypatch):
    """A project of its own, tested in a process of its own; ``run`` takes pytest's arguments."""
    for name in ("QMGR", "CHANNEL", "CONN_NAME", "USER", "PASSWORD", "MODEL", "LICENSE"):
        monkeypatch.delenv(f"MQTEST_{name}", raising=False)
    monkeypatch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
    monkeypatch.setenv("MQEMBEDDED_CACHE", str(CACHE))
    # Other plugins of this environment are nothing to the project, and take longer to load than its tests do.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    class Project:
        path = pytester.path

        def file(self, **files):
            pytester.makepyfile(**files)

        def ini(self, text):
            pytester.makeini(text)

        def run(self, *arguments, inprocess=False):
            run = pytester.runpytest_inprocess if inprocess else pytester.runpytest_subprocess
            return run("-p", "mqembedded.testing.plugin", "-p", "no:randomly", "-W", "error", *arguments)

    return Project()


def test_a_test_of_somebody_elses_runs_on_the_embedded_queue_manager_with_each_binding_or_with_one(project):
    once = "import pytest\n@pytest.mark.one_binding\ndef test_once(binding): print('once on', binding.__name__)"
    project.file(test_it=ROUND_TRIP, test_once=once)
    result = project.run("-v", "-s", "--strict-markers")
    result.assert_outcomes(passed=len(INSTALLED) + 1)
    result.stdout.fnmatch_lines(f"*once on {INSTALLED[0]}*")
    header = f"mq: embedded queue manager (not IBM MQ), command level 940; bindings {VERSIONS}"
    assert header in result.outlines


def test_the_examples_of_the_readme_run(project):
    readme = (ROOT / "embedded" / "mqembedded" / "testing" / "README.md").read_text()
    _, tests = re.findall("```python\n(.*?)```", readme, re.DOTALL)[:2]
    project.file(test_it=tests)
    project.run().assert_outcomes(passed=1 + 2 * len(INSTALLED))


def test_a_child_process_works_as_the_user_of_the_tests_and_not_as_the_administrator(project):
    # SYSTEM.ADMIN.COMMAND.QUEUE is for administrators: app may not put there (2035), mqm may.
    child = """
        import os, sys, {binding} as binding
        q_mgr = binding.QueueManager(None)
        q_mgr.connect_with_options(os.environ["MQTEST_QMGR"], {credentials}opts=0)
        try:
            q_mgr.put1("SYSTEM.ADMIN.COMMAND.QUEUE", b"hello")
        except binding.MQMIError as error:
            print("reason", error.reason)
    """
    given = "user=os.environ['MQTEST_USER'], password=os.environ['MQTEST_PASSWORD'], "
    (project.path / "with_credentials.py").write_text(dedent(child.format(binding=INSTALLED[0], credentials=given)))
    (project.path / "without.py").write_text(dedent(child.format(binding=INSTALLED[0], credentials="")))
    project.file(
        test_it="""
            import os, subprocess, sys
            import pytest
            @pytest.mark.parametrize("program", ["with_credentials.py", "without.py"])
            def test_it(mq, program):
                environment = {**os.environ, **mq.environment()}
                done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True)
                assert (done.stdout, done.stderr) == ("reason 2035\\n", "")
        """
    )
    project.run().assert_outcomes(passed=2)


def test_without_any_binding_tests_end_with_an_error_and_without_the_one_that_was_chosen_they_are_skipped(project):
    project.file(
        conftest="import mqembedded.testing.bindings as b\nb.BINDINGS = ('no_such_binding',)",
        test_it=ROUND_TRIP,
        test_another="def test_it(queue): pass",
    )
    result = project.run()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*neither pymqi nor ibmmq is installed: pip install ibmmq*"])
    project.run("--mqi=pymqi").assert_outcomes(skipped=2)


def test_queues_of_ones_own_are_defined_by_mqsc_files_of_the_ini_file_and_one_binding_can_be_asked_for(project):
    (project.path / "mine.mqsc").write_text(
        "DEFINE QLOCAL(MINE) REPLACE\nSET AUTHREC PROFILE(MINE) PRINCIPAL('app') OBJTYPE(QUEUE) AUTHADD(GET,PUT)\n"
    )
    project.ini("[pytest]\nmq_mqsc = mine.mqsc\n")
    project.file(
        test_it=ROUND_TRIP.replace("binding, queue", "binding")
        .replace("queue,", '"MINE",')
        .replace("queue)", '"MINE")')
    )
    project.run(f"--mqi={INSTALLED[0]}").assert_outcomes(passed=1)


@pytest.mark.parametrize(("scope", "queue_managers"), [("session", 1), ("module", 2)])
def test_a_queue_manager_lives_as_long_as_the_option_says(project, scope, queue_managers):
    tests = """
        def test_first(mq): print("pid", mq.queue_manager.pid)
        def test_second(mq): print("pid", mq.queue_manager.pid)
    """
    project.file(test_one=tests, test_two=tests)
    result = project.run(f"--mq-scope={scope}", "-s")
    result.assert_outcomes(passed=4)
    pids = {line.split("pid ")[1].split(".")[0] for line in result.outlines if "pid " in line}
    assert len(pids) == queue_managers


LEAVES_A_UNIT_OF_WORK = """
    import pytest
    left, connections = [], []
    @pytest.mark.parametrize("how", ["fails", "is expected to fail"])
    def test_first(mq, binding, queue, how, request):
        if how != "fails":
            request.applymarker(pytest.mark.xfail)
        left.append(queue)
        q_mgr = mq.connect(binding)
        connections.append(q_mgr)
        q_mgr.put1(queue, b"hello")
        gmo = binding.GMO(Options=binding.CMQC.MQGMO_SYNCPOINT)
        binding.Queue(q_mgr, queue).get(None, None, gmo)
        assert how == "the first error"
    def test_second(binding, queue):
        for q_mgr in connections:
            q_mgr.backout()
            q_mgr.disconnect()
    def test_third(mq, binding):
        q_mgr = mq.connect(binding)
        for name in left:
            with pytest.raises(binding.MQMIError) as error:
                binding.Queue(q_mgr, name, binding.CMQC.MQOO_INQUIRE)
            assert error.value.reason == binding.CMQC.MQRC_UNKNOWN_OBJECT_NAME
        q_mgr.disconnect()
"""


def test_the_error_of_a_test_that_leaves_a_unit_of_work_stands_alone_and_its_queue_is_deleted_later(project):
    project.file(test_it=LEAVES_A_UNIT_OF_WORK)
    result = project.run(f"--mqi={INSTALLED[0]}")
    result.assert_outcomes(failed=1, xfailed=1, passed=2)
    result.stdout.fnmatch_lines("*AssertionError: assert 'fails' == 'the first error'*")
    assert result.duration < 15


def test_what_needs_another_queue_manager_is_skipped_and_what_takes_one_in_hand_is_marked(project):
    tests = """
        import pytest
        @pytest.mark.real
        def test_real(): pass
        def test_own(own_queue_manager): own_queue_manager("QMX").kill()
    """
    project.file(test_it=tests)
    project.run("-rs").assert_outcomes(passed=1, skipped=1)
    project.run("-m", "embedded").assert_outcomes(passed=1, deselected=1)


@needs_testcontainers
def test_a_container_without_an_engine_is_one_sentence(project, no_engine):
    project.file(test_it=ROUND_TRIP)
    result = project.run("--mq=container")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in result.outlines + result.errlines if line.strip()] == [
        f"ERROR: --mq=container: {NO_ENGINE}"
    ]


@needs_testcontainers
def test_auto_without_an_engine_skips_what_needs_a_queue_manager_and_says_why(project, no_engine):
    project.file(test_it=ROUND_TRIP, test_pure="def test_pure(): pass")
    result = project.run("--mq=auto", "-rs")
    result.assert_outcomes(passed=1, skipped=len(INSTALLED))
    header = f"mq: none, tests that need one are skipped: --mq=auto: {NO_ENGINE}; bindings {VERSIONS}"
    assert header in result.outlines
    result.stdout.fnmatch_lines([f"SKIPPED * --mq=auto: {NO_ENGINE}"])


def test_a_container_without_testcontainers_is_one_sentence(project):
    project.file(test_it=ROUND_TRIP, testcontainers="raise ModuleNotFoundError('No module named \\'testcontainers\\'')")
    result = project.run("--mq=container")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    wanted = "ERROR: --mq=container needs testcontainers (No module named '*'): pip install testcontainers"
    result.stderr.fnmatch_lines([wanted])


@needs_testcontainers
def test_the_licence_is_accepted_by_who_runs_it_or_not_at_all(project, engine):
    project.file(test_it=ROUND_TRIP)
    result = project.run("--mq=container", "--mq-license=yes")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *the licence of icr.io/ibm-messaging/mq:latest is not accepted*"])
    assert engine.created == {}


@needs_testcontainers
@pytest.mark.parametrize("how", ["--mq-license=accept", "environment"])
def test_the_container_is_started_once_with_the_model_of_test_queues_and_removed(project, engine, monkeypatch, how):
    monkeypatch.setenv("MQTEST_LICENSE", "accept" if how == "environment" else "")
    (project.path / "mine.mqsc").write_text("DEFINE QLOCAL(MINE) REPLACE\n")
    project.ini("[pytest]\nmq_mqsc = mine.mqsc\n")
    tests = """
        def test_first(mq): assert (mq.q_mgr_name, mq.version[:8], mq.queue_manager) == ("QM1", "9.4.2.0 ", None)
        def test_second(mq): assert mq.model == "MQTEST.MODEL"
    """
    project.file(test_it=tests)
    result = project.run("--mq=container", *([how] if how != "environment" else []), inprocess=True)
    result.assert_outcomes(passed=2)
    assert engine.files["/etc/mqm/30-00-queues.mqsc"][0] == MQSC.read_text()
    assert engine.files["/etc/mqm/30-01-mine.mqsc"][0] == "DEFINE QLOCAL(MINE) REPLACE\n"
    assert engine.executed.count(["dspmqver", "-b", "-f", "2"]) == 1
    assert engine.removed


@needs_testcontainers
def test_a_program_with_the_embedded_client_library_is_told_that_it_cannot_reach_ibm_mq(project, engine, mq, binding):
    project.file(test_it=ROUND_TRIP)
    result = project.run("--mq=container", "--mq-license=accept", f"--mqi={binding.__name__}", inprocess=True)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["the embedded queue manager's client library is loaded, and cannot reach IBM MQ*"])
    assert engine.removed


def test_a_queue_manager_that_is_given_has_to_be_named(project):
    project.file(test_it=ROUND_TRIP)
    result = project.run("--mq=url")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    wanted = (
        "ERROR: --mq=url needs MQTEST_QMGR in the environment; README.md of mqembedded.testing lists all variables."
    )
    assert wanted in result.errlines


@pytest.fixture
def given_queue_manager(monkeypatch, project):
    """A queue manager that was started elsewhere, and named in the environment."""
    with EmbeddedQueueManager("QMGIVEN", mqsc=[MQSC], users={"app": "passw0rd"}) as queue_manager:
        library = queue_manager.environment()["LD_LIBRARY_PATH"]
        given = {"QMGR": "QMGIVEN", "CHANNEL": queue_manager.channel, "CONN_NAME": queue_manager.conn_name}
        for name, value in {**given, "USER": "app", "PASSWORD": "passw0rd"}.items():
            monkeypatch.setenv(f"MQTEST_{name}", value)
        monkeypatch.setenv("LD_LIBRARY_PATH", library)
        yield queue_manager


def test_a_queue_manager_that_is_given_is_used_and_called_what_it_is(project, given_queue_manager):
    real = "import pytest\n@pytest.mark.real\ndef test_real(mq, queue): pass"
    project.file(test_it=ROUND_TRIP, test_real=real)
    result = project.run("--mq=url")
    result.assert_outcomes(passed=len(INSTALLED), skipped=1)
    where = f"QMGIVEN at {given_queue_manager.conn_name}, command level 940"
    assert f"mq: embedded queue manager (not IBM MQ), {where}; bindings {VERSIONS}" in result.outlines


def test_without_a_client_library_the_header_and_the_tests_say_what_is_missing(
    project, given_queue_manager, monkeypatch
):
    monkeypatch.delenv("LD_LIBRARY_PATH")
    project.file(test_it=ROUND_TRIP)
    result = project.run("--mq=url", "--mqi=pymqi")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["mq: QMGIVEN at *, not asked: pymqi cannot be loaded (*): it needs IBM's MQ client library*"]
    )


FOLLOWS = """
    def test_a_message_got_counts(mq, binding, queue):
        q_mgr = mq.connect(binding)
        q_mgr.put1(queue, b"hello")
        source, gmo = binding.Queue(q_mgr, queue), binding.GMO(Options=binding.CMQC.MQGMO_SYNCPOINT)
        assert source.get(None, None, gmo) == b"hello"
        assert binding.Queue(q_mgr, queue).inquire(binding.CMQC.MQIA_CURRENT_Q_DEPTH) == 1
        q_mgr.backout()
        source.close()
        q_mgr.disconnect()
"""


def test_the_queue_manager_follows_the_readings_that_are_given(project):
    project.file(test_follows=FOLLOWS)
    asked = "curdepth=counts uncommitted gets"
    result = project.run("--mq-reading", asked)
    result.assert_outcomes(passed=len(INSTALLED))
    assert asked in result.stdout.str()


def test_a_reading_that_there_is_not_is_refused_with_those_there_are(project):
    project.file(test_follows=FOLLOWS)
    result = project.run("--mq-reading", "curdepth=both")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "reading 'curdepth' has no value 'both'; it has 'excludes uncommitted gets', " in result.stderr.str()

"""The command ``mqgroups``: the help of all commands, and what it says where its packages are missing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import click

import mqgroups
from mqgroups.cli.main import main
from mqgroups.cli.manual import subcommands
from tests.each_row import each_row
from tests.fix_cli import invoke


def commands(command: click.Command = main, path: tuple[str, ...] = ()):
    yield path, command
    for name, each in subcommands(command):
        yield from commands(each, (*path, name))


@each_row(("path", "command"), list(commands()))
def test_every_command_and_option_has_help(path, command):
    result = invoke(*path, "--help", COLUMNS="80")
    assert result.exit_code == 0
    assert command.help
    assert all(option.help for option in command.params if isinstance(option, click.Option))
    assert max(map(len, result.output.splitlines())) <= 80
    if isinstance(command, click.Group):
        # No sentence is cut.
        assert result.output.count("...") == result.output.splitlines()[0].count("...")


def test_every_command_is_in_the_modules_docstring():
    from mqgroups.cli import main as cli

    for path, command in commands():
        if not isinstance(command, click.Group):
            assert f"mqgroups {' '.join(path)} " in cli.__doc__


def named_commands():
    """Return the words of the commands that texts of the package name, such as the remedies of errors."""
    for path in Path(mqgroups.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for words in re.findall(r"`mqgroups ([^`]*)", node.value):
                    yield words.split()


def test_commands_that_texts_of_the_package_name_exist():
    named = list(named_commands())
    assert named
    for words in named:
        found: click.Command = main
        rest = list(words)
        while isinstance(found, click.Group) and rest and not rest[0].startswith("-"):
            known = dict(subcommands(found))
            assert rest[0] in known, words
            found = known[rest.pop(0)]


def test_version():
    assert invoke("--version").output.startswith("mqgroups 0.")


# Python with these modules not installed.
WITHOUT = """
import sys
for name in {names}:
    sys.modules[name] = None
sys.argv = ["mqgroups", "--version"]
{code}
"""


def without(*names: str, code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT.format(names=names, code=code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@each_row("module", ["mqgroups", "mqgroups.spark", "mqgroups.embedded", "mqgroups.testing"])
def test_an_application_needs_neither_click_nor_rich(module):
    done = without("click", "rich", code=f"import {module}")
    assert (done.returncode, done.stderr) == (0, "")


@each_row(("names", "said"), [(("click", "rich"), "click and rich"), (("click",), "click"), (("rich",), "rich")])
def test_the_command_says_what_to_install_in_one_sentence(names, said):
    done = without(*names, code="import runpy; runpy.run_module('mqgroups', run_name='__main__')")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"mqgroups: the command needs {said}: pip install 'mqgroups[cli]'\n"


@each_row(
    ("name", "words", "extra"),
    [
        ("sortedcontainers", ("embedded", "run", "--listen", "127.0.0.1:0"), "ibmmq,embedded"),
        ("pyspark", ("pipeline", "run", "examples/pipeline/flights.toml"), "cli,spark"),
    ],
)
def test_a_command_says_which_extra_it_lacks(name, words, extra):
    code = f"sys.argv = ['mqgroups', *{words!r}]; import runpy; runpy.run_module('mqgroups', run_name='__main__')"
    done = without(name, code=code)
    assert done.returncode == 1
    assert done.stderr == f"mqgroups: this command needs {name}: pip install 'mqgroups[{extra}]'\n"


@each_row("words", [("demo",), ("embedded", "exec", "true")])
def test_demo_and_embedded_queue_manager_say_at_once_all_that_they_lack(words):
    code = f"sys.argv = ['mqgroups', *{words!r}]; import runpy; runpy.run_module('mqgroups', run_name='__main__')"
    done = without("click", "rich", "sortedcontainers", code=code)
    assert done.returncode == 1
    assert done.stderr == "mqgroups: the command needs click and rich: pip install 'mqgroups[ibmmq,embedded]'\n"


@each_row(("names", "extra"), [((), "embedded"), (("pymqi", "ibmmq"), "ibmmq,embedded")])
def test_the_demo_says_that_it_lacks_the_embedded_queue_manager(tmp_path, names, extra):
    arguments = ["mqgroups", "demo", "--keep", str(tmp_path)]
    code = f"sys.argv = {arguments!r}; import runpy; runpy.run_module('mqgroups', run_name='__main__')"
    done = without("sortedcontainers", *names, code=code)
    assert done.returncode == 1
    assert done.stderr == (
        f"mqgroups: demo: the embedded queue manager needs sortedcontainers: pip install 'mqgroups[{extra}]'\n"
    )


def test_help_needs_no_rich_no_embedded_queue_manager_and_no_spark():
    code = """
from mqgroups.cli.main import main
from mqgroups.cli.manual import subcommands
main(["--help"], standalone_mode=False)
heavy = {"rich", "pyspark", "pyarrow", "sortedcontainers", "mqgroups.embedded", "mqgroups.spark"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    done = without(code=code)
    assert (done.returncode, done.stderr) == (0, "")

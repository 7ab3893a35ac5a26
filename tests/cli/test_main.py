"""The command ``mqgroups``: the help of all commands, and what it says where its packages are missing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import mqgroups
from embedded_tests.tables import table
from mqgroups.__main__ import main as without_its_packages
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.main import main
from tests.fix_cli import invoke
from tools.site_pages import subcommands


def commands(command: click.Command = main, path: tuple[str, ...] = ()):
    yield path, command
    for name, each in subcommands(command):
        yield from commands(each, (*path, name))


@table(("path", "command"), list(commands()))
def test_every_command_and_option_has_help(path, command):
    result = invoke(*path, "--help", COLUMNS="80")
    assert result.exit_code == 0
    assert command.help
    assert all(option.help for option in command.params if isinstance(option, click.Option))
    assert max(map(len, result.output.splitlines())) <= 80
    if isinstance(command, click.Group):
        # No sentence is cut.
        assert result.output.count("...") == result.output.splitlines()[0].count("...")


def test_commands_end_with_seven_exit_codes():
    assert set(ExitCode) == {0, 1, 2, 3, 4, 75, 130}
    for path, command in commands():
        _, _, told = (command.help or "").partition("Exit codes")
        assert set(map(int, re.findall(r"^\s+(\d+)  ", told, re.MULTILINE))) <= set(ExitCode), path


def test_commands_options_and_help_stay_few():
    """Somebody reads them at night. The options of a connection stand once."""
    found = list(commands())
    does = [command for _, command in found if not isinstance(command, click.Group)]
    texts = [invoke(*path, "--help").stdout for path, _ in found]
    own = [re.findall(r"^  (?:-\w, )?--([a-z-]+)", text, re.MULTILINE) for text in texts[1:]]
    connection = invoke("--help-connection").stdout
    assert len(does) <= 14
    assert sum(len({*each} - {"help", "q-mgr"}) for each in own) <= 85
    assert sum(len(text.split()) for text in (*texts, connection)) <= 5000
    assert "--password-file" in connection
    assert not any("--password-file" in text for text in texts)


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


def in_python(code: str) -> str:
    """Return what a Python of its own prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_an_application_needs_neither_click_nor_rich():
    in_python("""
import sys
sys.modules["click"] = sys.modules["rich"] = None
import mqgroups, mqgroups.spark, mqembedded, mqembedded.testing
""")


@table(
    ("names", "words", "said"),
    [
        (("click", "rich"), (), "click and rich: pip install 'mqgroups[cli]'"),
        (("click",), ("check",), "click: pip install 'mqgroups[cli]'"),
        (("rich",), ("--version",), "rich: pip install 'mqgroups[cli]'"),
        # These say at once all that they lack.
        (("click", "rich"), ("demo",), "click and rich: pip install 'mqgroups[ibmmq,demo]'"),
    ],
)
def test_the_command_says_what_to_install_in_one_sentence(names, words, said):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["mqgroups", *words])
        for name in names:
            patch.setitem(sys.modules, name, None)
        with pytest.raises(SystemExit) as ended:
            without_its_packages()
    assert ended.value.code == f"mqgroups: the command needs {said}"


def test_a_command_says_which_extra_it_lacks():
    said = in_python("""
import contextlib, io, sys
sys.modules["mqembedded"] = None
from mqgroups.__main__ import main
def run(*words):
    sys.argv = ["mqgroups", *words]
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.suppress(SystemExit):
        main()
    print(said.getvalue(), end="")
run("demo")
""")
    assert [line for line in said.splitlines() if line.startswith("mqgroups: ")] == [
        "mqgroups: this command needs mqembedded: pip install 'mqgroups[ibmmq,demo]'",
    ]


def test_help_needs_no_rich_no_embedded_queue_manager_and_no_spark():
    assert "mqgroups" in in_python("""
import sys
from mqgroups.cli.main import main
main(["--help"], standalone_mode=False)
heavy = {"rich", "pyspark", "pyarrow", "sortedcontainers", "mqembedded", "mqgroups.spark"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
""")

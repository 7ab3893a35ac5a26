"""The command ``mqgroups manual``: the manual page, made from the help of all commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version

import click

from mqgroups.cli.connection import connection_options
from mqgroups.cli.directories import of_this_user
from mqgroups.cli.profiles import ConnectionOption

_PROGRAM = "mqgroups"
_FILES = """\
.SH FILES
.TP
.I ~/.config/mqgroups/config.toml
Named profiles of connections, without passwords:
.PP
.nf
    default_profile = "test"

    [profiles.test]
    q_mgr = "QM1"
    conn_name = "localhost(1414)"
    user = "night"
    password_file = "/run/secrets/night"
.fi
.PP
With \\-\\-profile, environment variables of the connection are ignored; with the default profile they come first.
"""


@click.command()
@click.option("--install", is_flag=True, help="Write it to ~/.local/share/man/man1, where man finds it.")
@click.pass_context
def manual(context: click.Context, install: bool) -> None:
    """Print the manual page of all commands, or install it for this user.

    \b
        mqgroups manual --install
        mqgroups manual | man -l -
    """
    text = "\n".join(_page(context.find_root().command)) + "\n"
    if not install:
        click.echo(text, nl=False)
        return
    path = of_this_user("XDG_DATA_HOME", ".local/share") / "man" / "man1" / f"{_PROGRAM}.1"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    click.echo(f"{path} written. man {path} shows it; man {_PROGRAM} too, if ~/.local/bin is in PATH.")


def _page(main: click.Command) -> Iterator[str]:
    yield f'.TH {_PROGRAM.upper()} 1 "" "{_PROGRAM} {version(_PROGRAM)}"'
    yield f".SH NAME\n{_PROGRAM} \\- {_escaped((main.help or '').strip().rstrip('.'))}"
    yield f".SH SYNOPSIS\n.B {_PROGRAM}\n[\\fIoption\\fR]... \\fIcommand\\fR [\\fIargument\\fR]..."
    yield ".SH OPTIONS"
    with click.Context(main) as context:
        yield from _options(main.get_params(context), context)
    yield ".SH COMMANDS"
    for path, command in _commands(main, ()):
        yield from _described(path, command)
    yield ".SH CONNECTION OPTIONS"
    yield from _connection_options()
    yield _FILES


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if path:
        yield path, command
    for name, each in subcommands(command):
        yield from _commands(each, (*path, name))


def subcommands(command: click.Command) -> list[tuple[str, click.Command]]:
    """Return the commands of a group by name, in order; of a command that is no group, none."""
    if not isinstance(command, click.Group):
        return []
    with click.Context(command) as context:
        found = ((name, command.get_command(context, name)) for name in sorted(command.list_commands(context)))
        return [(name, each) for name, each in found if each is not None]


def _described(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    with click.Context(command, info_name=" ".join((_PROGRAM, *path))) as context:
        words = " ".join(command.collect_usage_pieces(context))
        yield f".SS {_escaped(' '.join((_PROGRAM, *path)))} {_escaped(words)}"
        yield from _paragraphs(command.help or "")
        own = [each for each in command.get_params(context) if not _is_of_connection(each)]
        yield from _options(own, context)
        if len(own) < len(command.get_params(context)):
            yield ".PP\nIt also has the connection options."


def _options(parameters: Iterable[click.Parameter], context: click.Context) -> Iterator[str]:
    for parameter in parameters:
        record = parameter.get_help_record(context)
        if record is not None:
            yield f".TP\n.B {_escaped(record[0])}\n{_escaped(record[1])}"


def _is_of_connection(parameter: click.Parameter) -> bool:
    return isinstance(parameter, ConnectionOption) or parameter.name == "profile"


def _connection_options() -> Iterator[str]:
    command = click.command()(connection_options()(lambda: None))
    with click.Context(command) as context:
        yield from _options((each for each in command.params), context)


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs; those that begin with a line of ``\\b`` keep their lines."""
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.split("\n")
        if lines[0].strip() == "\b":
            yield ".PP\n.nf"
            yield from (_escaped(line) for line in lines[1:])
            yield ".fi"
        else:
            yield ".PP\n" + _escaped(" ".join(line.strip() for line in lines))


def _escaped(text: str) -> str:
    """Return text that troff prints as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped

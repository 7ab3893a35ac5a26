"""The pages of the site that are made from the code: API, command line, classes of errors, reason codes."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from itertools import chain

import click

import mqembedded
import mqgroups
from mqembedded.cli.main import main as embedded_main
from mqgroups import aio, errors, operate, spark
from mqgroups.cli.connection import explained
from mqgroups.cli.main import main
from mqgroups.mqi import constants as mq
from mqgroups.mqi import reasons


def pages() -> dict[str, str]:
    """Return the text of each page, by its place in the site."""
    return {
        "reference/api.md": api(),
        "reference/api-aio.md": _api(
            "API for asyncio",
            "The classes and functions of `mqgroups.aio`. Methods with `async` before them are awaited. `connect`, "
            "`group_producer`, `group_consumer` and `group_pipe` are for `async with`, or awaited. Others are not.",
            {"": [f"mqgroups.aio.{name}" for name in aio.__all__]},
        ),
        "reference/api-operate.md": _api(
            "API for operators",
            "The functions of `mqgroups.operate`.",
            {"": [f"mqgroups.operate.{name}" for name in operate.__all__]},
        ),
        "reference/api-embedded.md": _api(
            "API of the embedded queue manager",
            "How an embedded queue manager is started and disturbed from Python.",
            {
                "": [f"mqembedded.{name}" for name in mqembedded.__all__],
                "For tests": [
                    "mqembedded.testing.under_test.QueueManagerUnderTest",
                    "mqembedded.testing.container.MQContainer",
                ],
            },
        ),
        "reference/api-spark.md": _api(
            "API for Spark",
            "The functions of `mqgroups.spark`, beside the format `ibmmq`.",
            {"": [f"mqgroups.spark.{name}" for name in spark.__all__]},
        ),
        "reference/command-line.md": command_line(),
        "reference/error-classes.md": error_classes(),
        "reference/reason-codes.md": reason_codes(),
    }


def subcommands(command: click.Command) -> list[tuple[str, click.Command]]:
    """Return the commands of a group by name; of a command that is no group, none."""
    if not isinstance(command, click.Group):
        return []
    with click.Context(command) as context:
        found = ((name, command.get_command(context, name)) for name in sorted(command.list_commands(context)))
        return [(name, each) for name, each in found if each is not None]


# The public names of mqgroups, in the order in which a reader meets them.
_API = {
    "Connecting": ["connect", "wrap", "QueueManager", "Secret"],
    "Putting": ["GroupProducer", "OutgoingGroup"],
    "Getting": ["GroupConsumer", "IncomingGroup", "Message"],
    "Getting and putting": ["GroupPipe", "PipedGroup"],
    "Stopping": ["stop_on_signals"],
    "Several groups at once": ["Workers", "WorkerStatus"],
    "Groups as files": ["FileSink"],
    "Progress": ["Progress", "ProgressBar"],
    "Objects as message data": ["codecs.json", "codecs.text"],
    "Values": ["Every", "Checkpoint", "Resumed", "InDoubt", "Persistence", "MsgFlag"],
}
_ALIASES = {
    "mqgroups.Checkpoint": "An application's own value: bytes, or what JSON returns unchanged. ``None`` means that there is none."
}
_ELSEWHERE = {"MQGroupsError", "codecs", "errors", "operate"}


def api() -> str:
    """Return the page of the public names. Those that have no section yet are under "More"."""
    known = {name for names in _API.values() for name in names}
    more = [name for name in mqgroups.__all__ if name not in known | _ELSEWHERE]
    sections = {
        title: [f"mqgroups.{name}" for name in names] for title, names in {**_API, "More": more}.items() if names
    }
    return _api("API", "The classes and functions of `mqgroups`.", sections)


def _api(title: str, what: str, sections: dict[str, list[str]]) -> str:
    parts = [f"# {title}", f"{what} This page is made from their docstrings."]
    for section, names in sections.items():
        parts += [f"## {section}"] if section else []
        parts += [f"```{{eval-rst}}\n{_directive(name)}\n```" for name in names]
    return "\n\n".join(parts) + "\n"


def _directive(name: str) -> str:
    module, _, attribute = name.rpartition(".")
    value = getattr(importlib.import_module(module), attribute)
    if inspect.isclass(value):
        return f".. autoclass:: {name}\n   :members:\n   :inherited-members: Exception, IntFlag, IntEnum, DockerContainer, int"
    if inspect.isfunction(value):
        return f".. autofunction:: {name}"
    # The docstring of a value is its class's, and autodoc would read a colon in it as a type.
    return f".. py:data:: {name}\n\n   {_ALIASES.get(name) or inspect.getdoc(type(value))}"


def command_line() -> str:
    """Return the help of every command."""
    parts = [
        "# Command line",
        "All commands and options, as their own help describes them.",
        'This package: `pip install "mqgroups[cli]"`; `demo` needs the extra `demo`.',
        _prose(main),
    ]
    contexts = [
        click.Context(main, info_name="mqgroups", show_default=True),
        click.Context(embedded_main, info_name="mqembedded"),
    ]
    of_connection = click.Context(explained, parent=contexts[0], info_name="COMMAND")
    for context in (*chain.from_iterable(map(_commands, contexts)), of_connection):
        parts.append(f"## {context.command_path}")
        parts.append(_prose(context.command))
        parts.append(f"    {context.command.get_usage(context).removeprefix('Usage: ')}")
        rows = [
            record
            for parameter in context.command.get_params(context)
            if (record := parameter.get_help_record(context))
        ]
        parts.append(
            "\n".join(
                ["| option | |", "|---|---|", *(f"| `{_cell(name)}` | {_marked(_cell(text))} |" for name, text in rows)]
            )
        )
    return "\n\n".join(parts) + "\n"


def _commands(context: click.Context) -> Iterator[click.Context]:
    """Yield each command that does something, in the order of their names."""
    command = context.command
    if not isinstance(command, click.Group):
        yield context
    for name, inner in subcommands(command):
        if not inner.hidden:
            yield from _commands(click.Context(inner, info_name=name, parent=context))


def _prose(command: click.Command) -> str:
    """Return a command's help as Markdown: what click leaves as it is written becomes code."""
    paragraphs = []
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b\n"):
            lines = paragraph.removeprefix("\b\n").splitlines()
            paragraphs.append("\n".join(f"    {line}" for line in lines))
        else:
            paragraphs.append(_marked(paragraph))
    return "\n\n".join(paragraphs)


def _marked(text: str) -> str:
    """Return text of a help with its options, variables and commands marked as code."""
    return re.sub(r"(?<![\w`-])(--[a-z][\w-]*|[A-Z]+_[A-Z_]+[A-Z]|\*+[A-Z]*)(?![\w`-])", r"`\1`", text)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def error_classes() -> str:
    """Return a page with each class of errors: where it is in the tree, what it says of itself, its attributes."""
    parts = [
        "# Classes of errors",
        "What each class means, and its attributes, from their docstrings. [Errors](errors.md) says who has to act.",
    ]
    for cls in _tree(errors.MQGroupsError):
        above = ", ".join(f"`{base.__name__}`" for base in cls.__bases__)
        parts += [f"## {cls.__name__}", f"A kind of {above}.", _docstring(cls)]
    return "\n\n".join(parts) + "\n"


def _tree(root: type[Exception]) -> Iterator[type[Exception]]:
    yield root
    for cls in sorted(root.__subclasses__(), key=lambda cls: inspect.getsourcelines(cls)[1]):
        if cls.__module__ == errors.__name__ and cls.__bases__[0] is root:
            yield from _tree(cls)


def _docstring(cls: type[Exception]) -> str:
    text = inspect.cleandoc(cls.__doc__ or "")
    prose, _, attributes = text.partition("\nAttributes:\n")
    rows = re.findall(r"^ {4}(\w[\w, ]*): (.*(?:\n {5,}.*)*)", attributes, re.MULTILINE)
    table = "\n".join(["| attribute | |", "|---|---|", *(f"| `{name}` | {_cell(what)} |" for name, what in rows)])
    return f"{prose.strip()}\n\n{table}" if rows else prose.strip()


def reason_codes() -> str:
    """Return the table of reason codes with an error class or a remedy of their own."""
    names = {value: name for name, value in vars(mq).items() if name.startswith("MQRC_")}
    rows = []
    for code in sorted(names):
        error, remedy = errors.class_of(code), reasons.REMEDIES.get(code, "")
        if error is not errors.MQIError or remedy:
            link = f"[`{error.__name__}`](error-classes.md#{error.__name__.lower()})"
            rows.append(f"| {code} | `{names[code]}` | {link} | {_cell(remedy)} |")
    unknown = ", ".join(f"{code} (`{names[code]}`)" for code in sorted(reasons.COMMIT_OUTCOME_UNKNOWN))
    table = "\n".join(["| code | name | error | remedy |", "|---|---|---|---|", *rows])
    return f"""# Reason codes

The error that the library raises for each reason code, and what you can do, from the library's tables.
Any other reason code is an `MQIError` without a remedy.

{table}

If MQCMIT ends with {unknown}, it may have committed:
[a commit without an answer](../explanation/message-groups.md#a-commit-without-an-answer).
"""

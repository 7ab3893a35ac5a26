"""The MQSC definitions that an installation needs, made from two template files with the names of the installation.

The templates are files that queue managers read (``docker/20-mqgroups.mqsc``, ``docker/roles.mqsc``), so tests can use
them without changes. This module replaces the names in the templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from textwrap import wrap

from mqgroups.core.to_copy import to_copy
from mqgroups.operate.rules.mqsc_text import MQSCCommand, broken, commands

# The names in the templates.
_QUEUE, _TARGET, _BACKOUT, _NAME = "ORDERS", "INVOICES", "ORDERS.BACKOUT", "ORDERS.LOADER"
_STATUS_MODEL = "MQGROUPS.STATUS.MODEL"
# The prefixes of the status queues that each role is allowed to open.
_OWN = {"loader": ("PUT",), "sink": ("GET",), "pipe": ("PUT", "GET")}
_SPARK_MODELS = ("MQGROUPS.SHARED.STATUS.MODEL", "MQGROUPS.CLAIM.MODEL")
# Commands that let a role ask the command server are comments in the template.
_ASK = "*ask "
# CSQINP2 and CSQUTIL on z/OS read columns 1 to 72.
_WIDTH = 72
# DEFINE takes other attributes from SYSTEM.DEFAULT.*, which a site may have altered (IBM MQ, "DEFINE QLOCAL"). So every
# definition has these attributes.
PINNED = "GET(ENABLED) PUT(ENABLED) NOTRIGGER USAGE(NORMAL) MAXMSGL(4194304) CUSTOM(' ') STREAMQ(' ') CAPEXPRY(NOLIMIT)"
_SUFFIX, _LONGEST = ".BACKOUT", 48
_VALUE = re.compile(r"\('([A-Z.]+)'\)")


@dataclass(frozen=True, slots=True)
class Names:
    """The names of an installation.

    Attributes:
        queue, target: the data queue, and the queue that a pipe puts to.
        name: the name of a producer or consumer; empty for none.
        users: the user of each role. If no users are given, each role's user has the name of the role.
        ask: whether roles are allowed to ask the command server.
    """

    queue: str = _QUEUE
    target: str = _TARGET
    name: str = ""
    users: Mapping[str, str] = field(default_factory=dict)
    ask: bool = False


def default_backout_queue(queue: str) -> str:
    """Return the queue's name followed by ``.BACKOUT``. A long name is shortened, with a digest to distinguish similar names."""
    if len(queue) > _LONGEST - len(_SUFFIX):
        digest = sha256(queue.encode()).hexdigest()[:6].upper()
        queue = f"{queue[: _LONGEST - len(_SUFFIX) - 7]}.{digest}"
    return queue + _SUFFIX


def status_definitions(template: str, names: Names) -> list[MQSCCommand]:
    """Return the commands that define the data queue, its backout queue, and the model and status queues of ``names.name``."""
    found = [
        _named(template, "QMODEL", _STATUS_MODEL),
        _renamed_queue(
            _named(template, "QLOCAL", _QUEUE), names, "A queue for groups; on z/OS with INDXTYPE(GROUPID) too"
        ),
        _renamed_queue(_named(template, "QLOCAL", _BACKOUT), names, "Its messages that cannot be processed"),
    ]
    return found + [
        MQSCCommand(
            to_copy("DEFINE QLOCAL({}) DEFPSIST(YES) NOSHARE DEFSOPT(EXCL) ", f"MQGROUPS.{role}.{names.name}")
            + f"MSGDLVSQ(FIFO) {PINNED} NOREPLACE",
            ("A predefined status queue, for users who may not make one from the model",),
        )
        for role in (("PUT", "GET") if names.name else ())
    ]


def spark_definitions(template: str) -> list[MQSCCommand]:
    """Return the models that the Spark sink needs."""
    return [_named(template, "QMODEL", name) for name in _SPARK_MODELS]


def role_definitions(template: str, names: Names) -> list[MQSCCommand]:
    """Return commands that grant authorities, also for ``names.name``'s status queues. ``names.users`` limits the roles."""
    text = template.replace(_ASK, "") if names.ask else template
    found = []
    for command in commands(text):
        role = command.attributes["PRINCIPAL"]
        if names.users and role not in names.users:
            continue
        given = names.users.get(role, role)
        line = command.text.replace(to_copy("PRINCIPAL({})", role), to_copy("PRINCIPAL({})", given))
        found.append(MQSCCommand(_renamed(line, names), command.comments))
        if names.name:
            found += [MQSCCommand(text) for text in _for_status_queues(role, line, names.name)]
    return found


def _for_status_queues(role: str, line: str, name: str) -> Iterator[str]:
    """Yield the commands for the status queues of ``name``. The template does not have these commands."""
    if f"'MQGROUPS.PUT.{_NAME}'" in line:
        yield line.replace(f"MQGROUPS.PUT.{_NAME}", f"MQGROUPS.GET.{name}")
    elif f"'{_STATUS_MODEL}'" in line:
        for side in _OWN[role]:
            yield line.replace(_STATUS_MODEL, f"MQGROUPS.{side}.{name}").replace("BROWSE,DSP,GET", "BROWSE,GET")


def roles(template: str) -> list[str]:
    """Return the roles in the template, in the order in which they occur there."""
    return list(dict.fromkeys(command.attributes["PRINCIPAL"] for command in commands(template)))


def _named(template: str, kind: str, name: str) -> MQSCCommand:
    return next(command for command in commands(template) if command.attributes.get(kind) == name)


def _renamed_queue(command: MQSCCommand, names: Names, comment: str) -> MQSCCommand:
    text = command.text.replace(to_copy("DESCR({}) ", command.attributes["DESCR"]), "")
    # NOREPLACE, because a queue that exists keeps the attributes that its administrator has chosen.
    return MQSCCommand(_renamed(text.replace(" REPLACE", " NOREPLACE"), names), (comment,))


def _renamed(line: str, names: Names) -> str:
    """Replace the names of the template with the names of the installation."""
    known = {
        _QUEUE: names.queue,
        _TARGET: names.target,
        _BACKOUT: default_backout_queue(names.queue),
        f"MQGROUPS.PUT.{_NAME}": f"MQGROUPS.PUT.{names.name or _NAME}",
    }
    return _VALUE.sub(lambda found: to_copy("({})", known.get(found[1], found[1])), line)


def as_text(found: Sequence[MQSCCommand]) -> Iterator[str]:
    """Yield the lines of an MQSC file, which fit into a narrow terminal."""
    for number, command in enumerate(found):
        if command.comments:
            if number:
                yield ""
            yield from (f"* {line}" for line in wrap(" ".join(command.comments), _WIDTH - len("* ")))
        yield from broken(command.text, _WIDTH, indent="       ")

"""MQSC: reading the command files that define the queue manager's objects.

It reads the subset that users of this library write: DEFINE, ALTER and DELETE of QLOCAL, QMODEL, QALIAS, QREMOTE, TOPIC, SUB,
NAMELIST and PROCESS, DEFINE and ALTER of CHANNEL of type SVRCONN and AUTHINFO of type IDPWOS, CLEAR QLOCAL, ALTER QMGR, REFRESH
CLUSTER, SET and
DELETE AUTHREC; and DISPLAY in commands whose output somebody reads. Other commands about security (SET CHLAUTH, REFRESH
SECURITY), listeners, and other types of channels and authentication information are read and ignored: IBM MQ needs them, and
the same file must serve both. Any other command is an error that names its line. Not here: carrying out commands
(``mqsc_commands.py``, ``commands/display.py``).

Syntax as in IBM MQ, topic "Building command scripts": a command continues on the next line after ``+`` (leading blanks of that
line are dropped) or ``-`` (they are kept); ``*`` in the first column starts a comment; names in quotes keep their case, others
are folded to upper case; ``;`` ends a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_VERBS = {"DEF": "DEFINE", "ALT": "ALTER", "DIS": "DISPLAY"}
_OBJECTS = {
    "QL": "QLOCAL",
    "QM": "QMODEL",
    "QA": "QALIAS",
    "QR": "QREMOTE",
    "QC": "QCLUSTER",
    "Q": "QUEUE",
    "QS": "QSTATUS",
    "CHL": "CHANNEL",
    "CHS": "CHSTATUS",
    "NL": "NAMELIST",
    "PRO": "PROCESS",
}
_SET_ASIDE = {
    ("SET", "CHLAUTH"),
    ("REFRESH", "SECURITY"),
    *((verb, "LISTENER") for verb in ("DEFINE", "ALTER", "DELETE", "START", "STOP")),
}
_CARRIED_OUT = {
    *((verb, kind) for verb in ("DEFINE", "ALTER", "DELETE") for kind in ("QLOCAL", "QMODEL", "QALIAS", "QREMOTE")),
    ("CLEAR", "QLOCAL"),
    *((verb, kind) for verb in ("DEFINE", "ALTER") for kind in ("CHANNEL", "AUTHINFO")),
    ("ALTER", "QMGR"),
    ("REFRESH", "CLUSTER"),
    *((verb, kind) for verb in ("DEFINE", "ALTER", "DELETE") for kind in ("NAMELIST", "PROCESS", "TOPIC", "SUB")),
    *(("DISPLAY", kind) for kind in ("QUEUE", "QLOCAL", "QMODEL", "QALIAS", "QREMOTE", "QSTATUS", "QMGR")),
    *(("DISPLAY", kind) for kind in ("QCLUSTER", "CLUSQMGR")),
    *(("DISPLAY", kind) for kind in ("CHANNEL", "CHSTATUS", "NAMELIST", "PROCESS", "CONN")),
    *((verb, "AUTHREC") for verb in ("SET", "DELETE", "DISPLAY")),
}
_NAMELESS = {"QMGR", "AUTHREC"}
# For each of these kinds only one type is supported.
_ONLY_TYPES = {"CHANNEL": ("CHLTYPE", "SVRCONN"), "AUTHINFO": ("AUTHTYPE", "IDPWOS")}
# A comma separates parameters like a blank.
_TOKEN = re.compile(r"[\s,]*(?:(?P<word>[A-Za-z0-9_$#%./*-]+)|(?P<open>\()|(?P<close>\)))")
# The text inside parentheses; further parentheses in it must be quoted.
_INSIDE = re.compile(r"(?:[^')]|'[^']*')*")
_ITEM = re.compile(r"\s*'(?:[^']|'')*'\s*|[^',]+")
_LIST = re.compile(rf"(?:{_ITEM.pattern})(?:,(?:{_ITEM.pattern}))*")
_OUTSIDE_QUOTES = re.compile(r"'[^']*'|[^']+")


class MQSCError(Exception):
    """A command that cannot be read or carried out; the message names the line."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``parameters`` maps keywords in upper case to their text, "" for a keyword without value."""

    verb: str
    kind: str
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    line: int = 0
    set_aside: bool = False


def parse(text: str) -> list[Command]:
    """Return the commands of a text, in order; raises MQSCError."""
    return [_command(line, statement) for line, statement in statements(text)]


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield every command as (number of its first line, text)."""
    gathered, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        if raw.startswith("*") or (not gathered and not raw.strip()):
            continue
        line = raw.rstrip()
        if not gathered:
            first = number
        more = line.endswith(("+", "-"))
        body = line[:-1] if more else line
        gathered += body.lstrip() if gathered.endswith("\0") else body
        if more:
            # A character that cannot be typed marks how the line ended: after + the leading blanks of the next line are
            # dropped.
            gathered += "\0" if line.endswith("+") else "\1"
            continue
        yield from ((first, part) for part in _split(gathered) if part.strip())
        gathered = ""
    if gathered:
        yield first, _plain(gathered)


def _plain(text: str) -> str:
    return text.replace("\0", "").replace("\1", "")


def _split(gathered: str) -> list[str]:
    """Split at semicolons outside quotes."""
    return re.split(r";(?=(?:[^']*'[^']*')*[^']*$)", _plain(gathered))


class _Reader:
    """Reads the tokens of one command."""

    def __init__(self, line: int, text: str) -> None:
        self.line, self.text, self.at = line, text, 0

    def error(self, what: str) -> MQSCError:
        return MQSCError(f"line {self.line}: {what} in {self.text.strip()[:80]!r}")

    def done(self) -> bool:
        return not self.text[self.at :].strip(" \t,")

    def word(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if not match or match["word"] is None:
            raise self.error(f"a word was expected at {self.text[self.at :].strip()[:20]!r}")
        self.at = match.end()
        return match["word"].upper()

    def value(self) -> str | None:
        """Return the text in the parentheses that follow, or None if there are none."""
        match = _TOKEN.match(self.text, self.at)
        if not match or match["open"] is None:
            return None
        self.at = match.end()
        inside = _INSIDE.match(self.text, self.at)
        assert inside is not None
        self.at = inside.end()
        match = _TOKEN.match(self.text, self.at)
        if not match or match["close"] is None:
            raise self.error("a parenthesis is not closed")
        self.at = match.end()
        return _unquoted(inside[0])


def _unquoted(inside: str) -> str:
    """Return the text inside parentheses: quoted text unchanged, other text in upper case, the items of a list with commas."""
    if _LIST.fullmatch(inside):
        items = (item[0].strip() for item in _ITEM.finditer(inside))
        return ",".join(i[1:-1].replace("''", "'") if i.startswith("'") else i.upper() for i in items)
    return _OUTSIDE_QUOTES.sub(lambda part: part[0] if part[0].startswith("'") else part[0].upper(), inside).strip()


def _is_of_another_type(kind: str, parameters: dict[str, str]) -> bool:
    """Whether a command is about a type of channel or authentication information that is not supported."""
    wanted = _ONLY_TYPES.get(kind)
    return wanted is not None and parameters.get(wanted[0]) != wanted[1]


def _command(line: int, text: str) -> Command:
    reader = _Reader(line, text)
    verb = reader.word()
    verb = _VERBS.get(verb, verb)
    kind = reader.word()
    kind = _OBJECTS.get(kind, kind)
    name = reader.value() or ""
    parameters: dict[str, str] = {}
    while not reader.done():
        keyword = reader.word()
        if keyword in parameters:
            raise reader.error(f"{keyword} is given twice")
        if "NO" + keyword in parameters or keyword.removeprefix("NO") in parameters:
            raise reader.error(f"{keyword} contradicts what is given before")
        parameters[keyword] = reader.value() or ""
    if (verb, kind) in _SET_ASIDE or (verb != "DISPLAY" and _is_of_another_type(kind, parameters)):
        return Command(verb, kind, name, parameters, line, set_aside=True)
    if (verb, kind) not in _CARRIED_OUT:
        raise reader.error(f"{verb} {kind} is not among the commands that the embedded queue manager knows")
    if not name and kind not in _NAMELESS:
        raise reader.error(f"{verb} {kind} needs a name")
    return Command(verb, kind, name, parameters, line)

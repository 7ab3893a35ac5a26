"""Reads MQSC commands, such as the files that define the queue manager's objects.

Tables list the commands that are carried out, and the commands that are read but have no effect. Commands without effect are for
example those for listeners, services, channel authentication records, and cluster channels. They are not errors, because the same
file must also work on IBM MQ. Any other command is an error, whose message names the line. Start-up files and the command
``mqembedded mqsc`` use the same syntax. ``mqsc_commands.py`` and ``commands/display.py`` carry out the commands.

The syntax is that of IBM MQ, "Building command scripts". ``+`` or ``-`` at the end of a line continues the command on the next
line. ``+`` drops that line's leading blanks, ``-`` keeps them. ``*`` in column 1 begins a comment. Quoted names keep their case.
Other names become upper case. ``;`` ends a command. END ends the text (IBM MQ, "Using MQSC commands interactively").
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_VERBS = {"DEF": "DEFINE", "ALT": "ALTER", "DIS": "DISPLAY", "STA": "START", "REF": "REFRESH"}
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
    "LSTR": "LISTENER",
    "SEC": "SECURITY",
    "SBS": "SBSTATUS",
    "TPS": "TPSTATUS",
}
_DEFINING = ("DEFINE", "ALTER", "DELETE")


def _each(verbs: str, kinds: str) -> set[tuple[str, str]]:
    return {(verb, kind) for verb in verbs.split() for kind in kinds.split()}


_SET_ASIDE = {
    *_each("SET", "CHLAUTH POLICY"),
    *_each("REFRESH", "SECURITY"),
    *_each("DEFINE ALTER DELETE", "LISTENER SERVICE COMMINFO"),
    *_each("START STOP", "LISTENER SERVICE"),
    *_each("START", "CHINIT CMDSERV"),
    *_each("PING RESET RESOLVE", "CHANNEL"),
}
_CARRIED_OUT = {
    *_each("DEFINE ALTER DELETE", "QLOCAL QMODEL QALIAS QREMOTE CHANNEL AUTHINFO NAMELIST PROCESS TOPIC SUB"),
    *_each("CLEAR", "QLOCAL"),
    *_each("ALTER PING", "QMGR"),
    *_each("REFRESH", "CLUSTER"),
    *_each("START STOP", "CHANNEL"),
    *_each("STOP", "CONN"),
    *_each("SET DELETE", "AUTHREC"),
}
# First the kinds of objects that exist here, then the kinds that do not.
_DISPLAYED = _each(
    "DISPLAY",
    "QUEUE QLOCAL QMODEL QALIAS QREMOTE QSTATUS QCLUSTER CLUSQMGR QMGR QMSTATUS CHANNEL CHSTATUS NAMELIST PROCESS CONN TOPIC SUB "
    "SBSTATUS TPSTATUS AUTHINFO AUTHREC",
) | _each("DISPLAY", "LISTENER LSSTATUS SERVICE SVSTATUS CHLAUTH COMMINFO POLICY")
_NAMELESS = {"QMGR", "QMSTATUS", "AUTHREC", "SECURITY", "CHINIT", "CMDSERV"}
# Of each kind, only the first type exists here. Commands for the other types have no effect.
_TYPES = {
    "CHANNEL": ("CHLTYPE", "SVRCONN", "SDR SVR RCVR RQSTR CLNTCONN CLUSSDR CLUSRCVR MQTT AMQP".split()),
    "AUTHINFO": ("AUTHTYPE", "IDPWOS", "IDPWLDAP CRLLDAP OCSP".split()),
}
# A comma separates parameters as a blank does.
_TOKEN = re.compile(r"[\s,]*(?:(?P<word>[A-Za-z0-9_$#%./*-]+)|(?P<open>\()|(?P<close>\)))")
_BETWEEN = re.compile(r"[ \t,]*")
# The text inside parentheses. Further parentheses in it must be quoted.
_INSIDE = re.compile(r"(?:[^')]|'[^']*')*")
_ITEM = re.compile(r"\s*'(?:[^']|'')*'\s*|[^',]+")
_LIST = re.compile(rf"(?:{_ITEM.pattern})(?:,(?:{_ITEM.pattern}))*")
# The values of attributes with passwords. Errors do not show them.
_SECRETS = re.compile(r"(?<=LDAPPWD|KEYRPWD|INITKEY|SSLCRYP|ASSWORD)\s*\(.*", re.IGNORECASE)
_OUTSIDE_QUOTES = re.compile(r"'[^']*'|[^']+")


class MQSCError(Exception):
    """A command cannot be read or carried out. The message names the line. ``why`` is the message without the line."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {why}" if line else why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Command:
    """An MQSC command. ``parameters`` maps upper-case keywords to their texts, or to "" for a keyword without a value."""

    verb: str
    kind: str
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    line: int = 0
    set_aside: bool = False

    @property
    def is_of_cluster(self) -> bool:
        """Whether the command concerns a cluster channel."""
        return self.parameters.get("CHLTYPE") in ("CLUSSDR", "CLUSRCVR")


def parse(text: str) -> list[Command]:
    """Return the commands that a text contains, first to last. Raises MQSCError."""
    return [_command(line, statement) for line, statement in statements(text)]


def decoded(raw: bytes) -> str:
    """Return the text of a UTF-8 file, with or without a byte order mark. Raises MQSCError."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise MQSCError("the text is UTF-16; convert it to UTF-8", 1)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise MQSCError(f"byte X'{raw[error.start]:02X}' is not UTF-8; convert the text to UTF-8", line) from error


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each command before END: the number of the command's first line, and the command's text."""
    for line, statement in _all_statements(text):
        if statement.strip().upper() == "END":
            return
        yield line, statement


def _all_statements(text: str) -> Iterator[tuple[int, str]]:
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
            # A character that cannot be typed marks the line end after +, so that the next line's leading blanks are dropped.
            gathered += "\0" if line.endswith("+") else "\1"
            continue
        yield from ((first, part) for part in _split(gathered) if part.strip())
        gathered = ""
    if gathered:
        yield first, _plain(gathered)


def _plain(text: str) -> str:
    return text.replace("\0", "").replace("\1", "")


def _split(gathered: str) -> list[str]:
    """Split a text at each semicolon outside quotes. (An even number of quotes follows such a semicolon.)"""
    between = _plain(gathered).split("'")
    between[::-2] = [text.replace(";", "\0") for text in between[::-2]]
    return "'".join(between).split("\0")


class _Reader:
    """A reader of the tokens in a command."""

    def __init__(self, line: int, text: str) -> None:
        self.line, self.text, self.at = line, text, 0

    def error(self, what: str) -> MQSCError:
        return MQSCError(f"{what} in {_SECRETS.sub('...', self.text.strip()[:80])!r}", self.line)

    def done(self) -> bool:
        rest = _BETWEEN.match(self.text, self.at)
        return rest is not None and rest.end() == len(self.text)

    def word(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if not match or match["word"] is None:
            raise self.error(f"a word was expected at {self.text[self.at :].strip()[:20]!r}")
        self.at = match.end()
        return match["word"].upper()

    def value(self) -> str | None:
        """Return the text in the parentheses that come next, or None if no parenthesis comes next."""
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
    """Return the value of the text in parentheses. Text outside quotes becomes upper case. Commas join the items of a list."""
    if _LIST.fullmatch(inside):
        items = (item[0].strip() for item in _ITEM.finditer(inside))
        return ",".join(i[1:-1].replace("''", "'") if i.startswith("'") else i.upper() for i in items)
    return _OUTSIDE_QUOTES.sub(lambda part: part[0] if part[0].startswith("'") else part[0].upper(), inside).strip()


def _is_of_another_type(reader: _Reader, verb: str, kind: str, parameters: dict[str, str]) -> bool:
    """Return whether a command concerns a type of channel or of authentication information that does not exist here."""
    if kind not in _TYPES or verb not in _DEFINING:
        return False
    keyword, here, others = _TYPES[kind]
    if verb == "DELETE" and keyword not in parameters:
        return parameters.get("CHLTABLE") == "CLNTTAB"
    given = parameters.get(keyword, "")
    if given not in (here, *others):
        raise reader.error(f"{keyword} is one of {', '.join([here, *others])}, not {given!r}")
    return given != here


def _command(line: int, text: str) -> Command:
    reader = _Reader(line, text)
    if text.lstrip().startswith("/*"):
        raise reader.error("MQSC has no comments like those of C: a comment is a line that begins with an asterisk")
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
            raise reader.error(f"{keyword} contradicts an earlier parameter")
        parameters[keyword] = reader.value() or ""
    is_set_aside = (verb, kind) in _SET_ASIDE or _is_of_another_type(reader, verb, kind, parameters)
    if not is_set_aside and (verb, kind) not in _CARRIED_OUT | _DISPLAYED:
        raise reader.error(f"{verb} {kind} is not among the commands that the embedded queue manager knows")
    if not name and kind not in _NAMELESS:
        raise reader.error(f"{verb} {kind} needs a name")
    return Command(verb, kind, name, parameters, line, is_set_aside)

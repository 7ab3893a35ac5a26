"""The rules for an installation's health check: a table of checks, and a function that makes findings from facts.

Facts are attributes by their MQSC names, as MQINQ or DISPLAY has returned them: numbers as ``int``, other values in MQSC's words.
A fact that could not be seen is omitted. A rule without its facts yields nothing, so the caller must report missing facts.

Not here: how facts are collected (``operate/doctor.py``, ``operate/machine.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby, zip_longest
from typing import Any, NamedTuple, Self, TypeAlias

from mqgroups.core.model import Role
from mqgroups.core.status_chain import MOST_BYTES, MOST_SEGMENTS
from mqgroups.core.to_copy import to_copy

Facts: TypeAlias = Mapping[str, "int | str"]


class Told(Enum):
    """An enum whose members are rows of a table. A row has the member's value, and then its annotated columns."""

    _value_: str

    def __new__(cls, text: str, *columns: object) -> Self:
        """Make a member. If its row has no value for a column, the column is ``None``."""
        self = object.__new__(cls)
        self._value_ = text
        for name, column in zip_longest(cls.__annotations__, columns):
            setattr(self, name, column)
        return self


class Severity(Enum):
    """How bad a finding is. ``UNSEEN`` means that a check was not possible. The finding then has the reason."""

    OK = "ok"
    UNSEEN = "not seen"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check."""

    subject: str
    """The object or setting that was checked."""
    severity: Severity
    found: str
    """What was found."""
    why: str = ""
    """Why it matters; empty if the subject is in order."""
    remedy: str = ""
    """What to do: a sentence, or one command in each line. You may have to replace ``...`` or a word in capitals. Empty if there
    is nothing to do.
    """
    mqsc: tuple[str, ...] = ()
    """MQSC commands that correct it as they are, and cannot break anything that works; empty if there are none."""


def ok(subject: str, found: str) -> Finding:
    """Return a finding that the subject is in order."""
    return Finding(subject, Severity.OK, found)


class _Rule(NamedTuple):
    """A row of the table. Rows about the same attribute are adjacent. The first of these rows that fails makes the finding.

    ``needs``: the facts that the rule checks. ``right``: returns whether they are right. ``mends``: the attributes to set, if it
    is always safe to set them. ``remedy``: what else to do. ``role``: the role that the rule matters for. Texts can show facts.
    """

    about: str
    needs: str
    right: Callable[..., bool]
    found: str
    why: str
    mends: str = ""
    remedy: str = ""
    severity: Severity = Severity.WARNING
    role: Role | None = None


def _has(
    attribute: str,
    right: str,
    why: str,
    mends: str = "",
    severity: Severity = Severity.WARNING,
    role: Role | None = None,
) -> _Rule:
    """Return the rule for an attribute that has one right value."""
    found, mends = f"{attribute}(%({attribute})s)", mends or f"{attribute}({right})"
    return _Rule(attribute, attribute, lambda value: value == right, found, why, mends, "", severity, role)


def _no_cap(severity: Severity, why: str) -> tuple[_Rule, _Rule]:
    """Return the rules against CAPEXPRY(n), and against CUSTOM('CAPEXPRY(n)'), which has priority (IBM MQ, "CAPEXPRY")."""
    text = "CUSTOM(%(CUSTOM)s)"
    custom = _Rule("CAPEXPRY", "CUSTOM", lambda it: "CAPEXPRY" not in it, text, why, "CUSTOM(' ')", "", severity)
    return custom, _has("CAPEXPRY", "NOLIMIT", why, severity=severity)


def _long_enough(why: str) -> _Rule:
    """Return the rule for the MAXMSGL of an object that a queue's messages pass through. 0 means no limit."""
    found = "MAXMSGL(%(MAXMSGL)s), and the queue's is %(Q.MAXMSGL)s"
    needs, mends = "MAXMSGL Q.MAXMSGL", "MAXMSGL(%(Q.MAXMSGL)s)"
    return _Rule("MAXMSGL", needs, lambda most, of: not most or of <= most, found, why, mends)


_ERROR = Severity.ERROR
_ZOS = "MQPL_ZOS"
# The status queues of a lost host stay open until its loss is noticed. This should take less than the 30 seconds for which
# another start waits. But a slow commit, without heartbeats if conversations are not shared, must not look like a loss.
_LEAST_HBINT_S, _MOST_HBINT_S = 10, 30
_SHORT_HBINT_S = 60
_FEW_BACKOUTS = 5
_NEEDS = "consumers with poison= or stalled= need PUT on %(BACKOUT)s\n"

# fmt: off
# This is not corrected automatically, because somebody may protect a restored queue, or rebuild its records.
_ENABLED = tuple(
    _has(each, "ENABLED", f"nobody can {role.value}; programs wait, and then fail", severity=_ERROR, role=role)._replace(
        mends="", remedy=f"unless somebody disabled it to protect the queue:\n%(ALTER)s {each}(ENABLED)")
    for role, each in ((Role.PUT, "PUT"), (Role.GET, "GET"))
)
_DATA_QUEUE = (
    *_ENABLED,
    _Rule("depth", "CURDEPTH MAXDEPTH Q.GROUP", lambda depth, most, group: not depth < most < depth + group,
          "%(CURDEPTH)s of MAXDEPTH(%(MAXDEPTH)s)",
          "it has no room for a group of its queue that has %(Q.GROUP)s messages, so that group cannot be moved there (2053)",
          "MAXDEPTH(%(ROOM)s)", severity=_ERROR),
    _Rule("depth", "CURDEPTH MAXDEPTH", lambda depth, most: depth < most, "%(CURDEPTH)s of MAXDEPTH(%(MAXDEPTH)s)",
          "it is full: producers wait, and a group that waits for room keeps its consumer waiting too",
          "MAXDEPTH(%(MAXDEPTH)s0)", severity=_ERROR),
    _Rule("depth", "CURDEPTH MAXDEPTH", lambda depth, most: depth <= 0.8 * most, "%(CURDEPTH)s of MAXDEPTH(%(MAXDEPTH)s)",
          "a group that does not fit can be neither completed nor consumed", "MAXDEPTH(%(MAXDEPTH)s0)"),
    _long_enough("longer messages of its queue are refused (2030)"),
    _Rule("INDXTYPE", "INDXTYPE PLATFORM", lambda index, platform: index == "GROUPID" or platform != _ZOS,
          "INDXTYPE(%(INDXTYPE)s)", "z/OS delivers groups in logical order only from a queue with this index (2394)",
          "INDXTYPE(GROUPID)", severity=_ERROR, role=Role.GET),
    # Not corrected automatically: with BOTHRESH alone, consumers with poison= do not start, and with both they need authorities.
    _Rule("BOTHRESH, BOQNAME", "BOTHRESH BOQNAME", lambda threshold, _: threshold > 0, "BOTHRESH(0)",
          "a message that fails every time is not recognised as poison, and stops its consumer again and again",
          remedy=f"{_NEEDS}%(ALTER)s BOTHRESH({_FEW_BACKOUTS}) %(TO_BACKOUT)s", role=Role.GET),
    _Rule("BOTHRESH, BOQNAME", "BOTHRESH BOQNAME", lambda _, backout: backout != "", "BOTHRESH(%(BOTHRESH)s) without BOQNAME",
          'poison="quarantine" has nowhere to move messages to', remedy=f"{_NEEDS}%(ALTER)s %(TO_BACKOUT)s", role=Role.GET),
    _Rule("BOTHRESH, BOQNAME", "BOTHRESH BOQNAME", lambda threshold, _: threshold >= _FEW_BACKOUTS,
          "BOTHRESH(%(BOTHRESH)s) BOQNAME(%(BOQNAME)s)",
          "lost connections and kills count too, so messages that are not to blame are processed alone, or even moved",
          remedy=f"%(ALTER)s BOTHRESH({_FEW_BACKOUTS})", role=Role.GET),
    _has("SHARE", "YES", "only one consumer at a time can open it", "SHARE", role=Role.GET),
    *_no_cap(Severity.WARNING,
             "messages of a group expire one by one, so the rest of a group can stay without its beginning"),
    _Rule("DEFBIND", "DEFBIND CLUSTER", lambda bind, cluster: not cluster or bind != "NOTFIXED", "DEFBIND(%(DEFBIND)s)",
          "a program that binds as the queue says would split its groups over the instances", "DEFBIND(GROUP)", role=Role.PUT),
)
_Q_MGR = (
    _Rule("TCPKEEP and RCVTIME", "PLATFORM", lambda platform: platform != _ZOS, "PLATFORM(%(PLATFORM)s)",
          "with the defaults, z/OS may never notice that a client's host is lost, whatever HBINT is; this is not checked",
          remedy="ALTER QMGR TCPKEEP(YES) RCVTTYPE(ADD) RCVTIME(60)", severity=Severity.UNSEEN),
    _Rule("MAXUMSGS", "MAXUMSGS", lambda most: most >= 1000, "MAXUMSGS(%(MAXUMSGS)s)",
          "units of work end after so many messages at most; more make it faster", "MAXUMSGS(10000)"),
    _long_enough("messages that fit the queue are refused (2031)"),
    _Rule("DEADQ", "DEADQ", bool, "DEADQ(%(DEADQ)s)",
          "in a cluster, one message that cannot be delivered stops its channel, and all groups behind it",
          remedy="ALTER QMGR DEADQ('...')"),
)
_CHANNEL = (
    _Rule("HBINT", "HBINT", lambda interval_s: not 0 < interval_s < _LEAST_HBINT_S, "HBINT(%(HBINT)s): %(NOTICED)s",
          "%(NOTICED)s, but so is a connection whose network or MQCMIT is slow", f"HBINT({_LEAST_HBINT_S})"),
    _Rule("HBINT", "HBINT", lambda interval_s: 0 < interval_s <= _MOST_HBINT_S, "HBINT(%(HBINT)s): %(NOTICED)s",
          "%(NOTICED)s; until then its name and its group stay locked", f"HBINT({_LEAST_HBINT_S})"),
    _Rule("HBINT of its connections", "HBINT CHS.HBINT", lambda own, negotiated: own == negotiated,
          "HBINT(%(CHS.HBINT)s) was negotiated",
          "the longer interval of both ends counts, and 0 of either end: %(CHS.NOTICED)s",
          remedy="lower HBINT of the program's MQCD or CLNTCONN channel; connections from before an ALTER keep theirs"),
    _Rule("SHARECNV", "SHARECNV", lambda sharing: sharing > 0, "SHARECNV(%(SHARECNV)s)",
          "heartbeats flow only while an MQGET waits, so the loss of a producer's host may never be noticed", "SHARECNV(1)"),
    _long_enough("messages that fit the queue cannot be put or got through this channel (2010)"),
)
_INHERITED = "%s. A definition that does not name it takes it from SYSTEM.DEFAULT.*"
_STATUS_QUEUE = (
    *_ENABLED,
    _Rule("CLUSTER", "CLUSTER", lambda cluster: not cluster, "CLUSTER(%(CLUSTER)s)",
          "its records could go to another instance", "CLUSTER(' ') CLUSNL(' ')", severity=_ERROR),
    *_no_cap(_ERROR, "a record expires, and then its group is put again from the beginning, or the rest of it never got"),
    _has("STREAMQ", "", _INHERITED % "records are put to another queue too, and may be refused there", "STREAMQ(' ')"),
    _has("TRIGGER", "NO", _INHERITED % "trigger messages are in the unit of work, and count in MAXUMSGS", "NOTRIGGER"),
    _has("USAGE", "NORMAL", _INHERITED % "a transmission queue needs other authorities, and channels empty it",
         severity=_ERROR),
    _Rule("MAXMSGL", "MAXMSGL", lambda longest: longest >= MOST_BYTES, "MAXMSGL(%(MAXMSGL)s)",
          f"a record with its checkpoint can be longer; segments of records may need {MOST_BYTES} bytes together",
          f"MAXMSGL({4_194_304})"),
    _Rule("MAXDEPTH", "MAXDEPTH", lambda most: most >= 2 * MOST_SEGMENTS, "MAXDEPTH(%(MAXDEPTH)s)",
          f"records and anchors can be {2 * MOST_SEGMENTS} messages; on a full queue starts and commits fail (2053)",
          "MAXDEPTH(5000)", severity=_ERROR),
    _has("MSGDLVSQ", "FIFO", "records are found in any order, but FIFO needs no sorting by priority"),
)
_GONE = "a status queue that is deleted with its connection loses its record"
_MADE = _has("DEFTYPE", "PERMDYN", _GONE, severity=_ERROR)
_NOT_TEMPORARY = _Rule("DEFTYPE", "DEFTYPE", lambda kind: kind != "TEMPDYN", "DEFTYPE(%(DEFTYPE)s)", _GONE,
                       remedy="make it from another model queue", severity=_ERROR)
# fmt: on


_KINDS: dict[str, tuple[str, str, Sequence[_Rule]]] = {
    "QLOCAL": ("queue", "ALTER QLOCAL({})", _DATA_QUEUE),
    "QALIAS": ("alias", "ALTER QALIAS({})", _ENABLED),
    "QMGR": ("queue manager", "ALTER QMGR", _Q_MGR),
    "CHANNEL": ("channel", "ALTER CHANNEL({}) CHLTYPE(SVRCONN)", _CHANNEL),
    "STATUS": ("status queue", "ALTER QLOCAL({})", (_NOT_TEMPORARY, *_STATUS_QUEUE)),
    "QMODEL": ("model queue", "ALTER QMODEL({})", (_MADE, *_STATUS_QUEUE)),
}


def findings(kind: str, name: str, facts: Facts, roles: Collection[Role] = tuple(Role)) -> Iterator[Finding]:
    """Yield findings on an object.

    Args:
        kind: the object's type in MQSC; ``STATUS`` for a status queue, ``QMODEL`` for the model of status queues.
        facts: the known attributes of the object, and more facts: PLATFORM; Q.MAXMSGL, the data queue's MAXMSGL; for a backout
            queue Q.GROUP, the number of messages of a group that may be moved there; for a channel CHS.HBINT, the longest HBINT
            that its connections have negotiated. An HBINT of 0 counts as the longest.
        roles: the roles of the programs that use the object.
    """
    called, alter, rules = _KINDS[kind]
    alter = to_copy(alter, *([name] if "{}" in alter else []))
    backout = str(facts.get("BOQNAME") or "QUEUE")
    said: dict[str, Any] = {"ALTER": alter, "BACKOUT": to_copy("{}", backout)}
    said["TO_BACKOUT"] = to_copy("BOQNAME({})", backout)
    if "Q.GROUP" in facts and "MAXDEPTH" in facts:
        said["ROOM"] = max(10 * int(facts["MAXDEPTH"]), int(facts.get("CURDEPTH", 0)) + int(facts["Q.GROUP"]))
    for of in ("", "CHS."):
        if isinstance(interval_s := facts.get(f"{of}HBINT"), int):
            said[f"{of}NOTICED"] = _noticed(interval_s)
    said |= facts
    known = (each for each in rules if each.role in (None, *roles) and facts.keys() >= set(each.needs.split()))
    for about, group in groupby(known, lambda each: each.about):
        rows = list(group)
        wrong = next((each for each in rows if not each.right(*map(facts.get, each.needs.split()))), None)
        if wrong is None:
            yield ok(f"{called} {name}: {about}", rows[-1].found % said)
        else:
            mqsc = (f"{alter} {wrong.mends % said}",) if wrong.mends else ()
            found, why, remedy = wrong.found % said, wrong.why % said, wrong.remedy % said
            yield Finding(f"{called} {name}: {about}", wrong.severity, found, why, remedy, mqsc)


def _noticed(interval_s: int) -> str:
    """Return in words when one end of a connection considers the other end dead, if both have negotiated this HBINT.

    Source: IBM MQ, "Receive timeout", and APAR IT26614.
    """
    after_s = 2 * interval_s if interval_s < _SHORT_HBINT_S else interval_s + 60
    return f"the loss of a client's host is noticed {f'after {after_s} s' if interval_s else 'only by TCP'}"

"""The rules of a health check of an installation: from facts to findings, each with its reason and its remedy.

Facts are attributes by their MQSC names, as MQINQ or DISPLAY returned them; a fact that could not be seen is not there. A rule
without its facts says nothing: whoever collects facts names what could not be seen.

Not here: how facts are collected (``operate/doctor.py``, ``operate/machine.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from mqgroups.core.model import Role
from mqgroups.core.status_chain import MOST_BYTES, MOST_SEGMENTS
from mqgroups.core.to_copy import to_copy

Facts: TypeAlias = Mapping[str, "int | str"]


class Severity(Enum):
    """How bad a finding is. ``UNSEEN``: something could not be checked, and the finding says for want of what."""

    OK = "ok"
    UNSEEN = "not seen"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        subject: what was looked at.
        severity: how bad it is.
        found: what was found.
        why: why it matters; empty if it is in order.
        remedy: what to do: a sentence, or a line for each command, in which the reader may have to replace ``...`` or a word in
            capitals; empty if nothing is to be done.
        mqsc: the MQSC commands that mend it as they are, and can break nothing that works; empty if none does.
    """

    subject: str
    severity: Severity
    found: str
    why: str = ""
    remedy: str = ""
    mqsc: tuple[str, ...] = ()


def ok(subject: str, found: str) -> Finding:
    """Return a finding that something is in order."""
    return Finding(subject, Severity.OK, found)


# A share of MAXDEPTH above which a queue is nearly full.
_NEARLY_FULL = 0.8
# Until a lost host is noticed, the status queues of its programs are open: sooner than the 30 seconds for which another start of
# them waits. But a commit must not be taken for a lost host; without shared conversations it has no heartbeats.
_LEAST_HBINT_S, _MOST_HBINT_S = 10, 30
_SHORT_HBINT_S = 60
_FEW_UNCOMMITTED = 1000
_ZOS = "MQPL_ZOS"
_FEW_BACKOUTS = 5
_USES = {
    "ANY": "go to all instances",
    "LOCAL": "go to the instance here only",
    "QMGR": "go to the instance here only if CLWLUSEQ of the queue manager is LOCAL",
}


@dataclass(frozen=True, slots=True)
class _Object:
    """An object of a queue manager, with its facts; ``alter``: the MQSC command that sets its attributes."""

    name: str
    alter: str
    facts: Facts

    def number(self, attribute: str) -> int | None:
        """Return an attribute that is a number; ``None`` if it was not seen."""
        value = self.facts.get(attribute)
        return value if isinstance(value, int) else None

    def wrong(
        self, about: str, severity: Severity, found: str, why: str, *mends: str, remedy: str = ""
    ) -> Iterator[Finding]:
        """Yield that something is wrong; ``mends``: the attributes to set."""
        mqsc = tuple(f"{self.alter} {each}" for each in mends)
        yield Finding(f"{self.name}: {about}", severity, found, why, remedy, mqsc)

    def right(self, about: str, found: str) -> Iterator[Finding]:
        """Yield that something is in order."""
        yield ok(f"{self.name}: {about}", found)

    def check(
        self, is_right: bool, about: str, found: str, why: str, *mends: str, remedy: str = "", right: str = ""
    ) -> Iterator[Finding]:
        """Yield a warning; or, if the attribute is right, that it is ``right``, by default ``found``."""
        if is_right:
            yield from self.right(about, right or found)
        else:
            yield from self.wrong(about, Severity.WARNING, found, why, *mends, remedy=remedy)

    def has(self, attribute: str, right: str, severity: Severity, why: str, mends: str = "") -> Iterator[Finding]:
        """Yield the finding on an attribute that has one right value, if it was seen; ``mends``: that in MQSC."""
        mends = mends or f"{attribute}({right})"
        if self.facts.get(attribute) == right:
            yield from self.right(attribute, mends)
        elif attribute in self.facts:
            yield from self.wrong(attribute, severity, f"{attribute}({self.facts[attribute]})", why, mends)

    def long_enough(self, why: str) -> Iterator[Finding]:
        """Yield the finding on MAXMSGL of what the messages of the queue pass; 0 is no limit."""
        longest, of_queue = self.number("MAXMSGL"), self.number("Q.MAXMSGL")
        if longest is None or of_queue is None:
            return
        found, is_right = f"MAXMSGL({longest})", not longest or of_queue <= longest
        said = f"{found}, and the queue's is {of_queue}"
        yield from self.check(is_right, "MAXMSGL", said, why, f"MAXMSGL({of_queue})", right=found)

    def enabled(self, roles: Collection[Role]) -> Iterator[Finding]:
        """Yield the findings on PUT and GET."""
        for role, attribute in ((Role.PUT, "PUT"), (Role.GET, "GET")):
            if role not in roles or attribute not in self.facts:
                continue
            if self.facts[attribute] == "ENABLED":
                yield from self.right(attribute, f"{attribute}(ENABLED)")
                continue
            why = f"nobody can {role.value}; programs wait, and then fail"
            # Not to be applied: it may protect a queue that was restored, or whose records are being rebuilt.
            remedy = f"unless somebody disabled it to protect the queue:\n{self.alter} {attribute}(ENABLED)"
            yield from self.wrong(attribute, Severity.ERROR, f"{attribute}(DISABLED)", why, remedy=remedy)

    def no_cap(self, severity: Severity, why: str) -> Iterator[Finding]:
        """Yield a finding on a limited expiry: by CUSTOM('CAPEXPRY(n)'), which comes first, or CAPEXPRY(n) (topic q097495)."""
        custom, cap = str(self.facts.get("CUSTOM", "")), self.facts.get("CAPEXPRY", "NOLIMIT")
        if "CAPEXPRY" in custom:
            yield from self.wrong("CAPEXPRY", severity, f"CUSTOM({custom})", why, "CUSTOM(' ')")
        elif cap != "NOLIMIT":
            yield from self.wrong("CAPEXPRY", severity, f"CAPEXPRY({cap})", why, "CAPEXPRY(NOLIMIT)")
        elif {"CAPEXPRY", "CUSTOM"} & set(self.facts):
            yield from self.right("CAPEXPRY", "no limit on the expiry of messages")


def data_queue_findings(name: str, facts: Facts, roles: Collection[Role]) -> Iterator[Finding]:
    """Yield findings on a data queue.

    Args:
        name: of the local queue.
        facts: CURDEPTH, MAXDEPTH, GET, PUT, BOTHRESH, BOQNAME, MSGDLVSQ, INDXTYPE, SHARE, DEFPSIST, PROPCTL, CLUSTER, DEFBIND,
            CLWLUSEQ, CAPEXPRY, CUSTOM; of the queue manager PLATFORM; of a backout queue MAXMSGL, and of the queue that it is for
            Q.MAXMSGL, and Q.GROUP, the messages of a group that may be moved; as words of MQSC, numbers as ``int``.
        roles: what the programs do with it: put, get, or both.
    """
    queue = _Object(f"queue {name}", to_copy("ALTER QLOCAL({})", name), facts)
    yield from queue.enabled(roles)
    yield from _depth(queue)
    yield from queue.long_enough("longer messages of its queue are refused (2030)")
    if Role.GET in roles:
        if facts.get("PLATFORM") == _ZOS:
            why = "z/OS delivers groups in logical order only from a queue with this index (2394)"
            yield from queue.has("INDXTYPE", "GROUPID", Severity.ERROR, why)
        yield from _backout(queue)
        yield from queue.has("SHARE", "YES", Severity.WARNING, "only one consumer at a time can open it", "SHARE")
    why = "messages of a group expire one by one, so the rest of a group can stay without its beginning"
    yield from queue.no_cap(Severity.WARNING, why)
    if "DEFPSIST" in facts:
        found = (
            f"DEFPSIST({facts['DEFPSIST']}) PROPCTL({facts.get('PROPCTL', '?')}) MSGDLVSQ({facts.get('MSGDLVSQ', '?')})"
        )
        does = "this package sets persistence and asks for properties itself, and gets in logical order"
        yield from queue.right("DEFPSIST, PROPCTL, MSGDLVSQ", f"{found}: {does}")
    if not facts.get("CLUSTER") or Role.PUT not in roles:
        return
    if bind := facts.get("DEFBIND"):
        why = "a program that binds as the queue says would split its groups over the instances"
        yield from queue.check(bind != "NOTFIXED", "DEFBIND", f"DEFBIND({bind})", why, "DEFBIND(GROUP)")
    if (use := str(facts.get("CLWLUSEQ"))) in _USES:
        said = f"CLWLUSEQ({use}): groups that are put at this queue manager {_USES[use]}"
        yield from queue.right("CLWLUSEQ", said)


def alias_findings(name: str, target: str, facts: Facts, roles: Collection[Role]) -> Iterator[Finding]:
    """Yield findings on an alias of the queue ``target``. Facts: GET, PUT."""
    yield ok(f"queue {name}", f"an alias of {target}")
    yield from _Object(f"alias {name}", to_copy("ALTER QALIAS({})", name), facts).enabled(roles)


def _depth(queue: _Object) -> Iterator[Finding]:
    depth, most = queue.number("CURDEPTH"), queue.number("MAXDEPTH")
    if depth is None or most is None:
        return
    group = queue.number("Q.GROUP") or 0
    found, deeper = f"{depth:,} of MAXDEPTH({most})", f"MAXDEPTH({max(10 * most, depth + group)})"
    if depth < most < depth + group:
        why = f"it has no room for a group of its queue that has {group:,} messages, so that group cannot be moved there (2053)"
        yield from queue.wrong("depth", Severity.ERROR, found, why, deeper)
    elif depth >= most:
        why = "it is full: producers wait, and a group that waits for room keeps its consumer waiting too"
        yield from queue.wrong("depth", Severity.ERROR, found, why, deeper)
    elif depth > _NEARLY_FULL * most:
        why = "a group that does not fit can be neither completed nor consumed"
        yield from queue.wrong("depth", Severity.WARNING, found, why, deeper)
    else:
        yield from queue.right("depth", found)


def _backout(queue: _Object) -> Iterator[Finding]:
    threshold, target = queue.number("BOTHRESH"), queue.facts.get("BOQNAME")
    if threshold is None or target is None:
        return
    about, found = "BOTHRESH, BOQNAME", f"BOTHRESH({threshold})"
    alter, backout = queue.alter, to_copy("BOQNAME({})", str(target or "QUEUE"))
    needs = to_copy("consumers with poison= or stalled= need PUT on {}\n", str(target or "QUEUE"))
    if not threshold:
        why = "a message that fails every time is not recognised as poison, and stops its consumer again and again"
        # Not to be applied: with BOTHRESH alone, consumers that may move messages do not start; with both, they need authorities.
        remedy = f"{needs}{alter} BOTHRESH({_FEW_BACKOUTS}) {backout}"
    elif not target:
        found += " without BOQNAME"
        why = 'poison="quarantine" has nowhere to move messages to'
        remedy = f"{needs}{alter} {backout}"
    elif threshold < _FEW_BACKOUTS:
        why = (
            "lost connections and kills count too, so messages that are not to blame are processed alone, or even moved"
        )
        remedy = f"{alter} BOTHRESH({_FEW_BACKOUTS})"
    else:
        yield from queue.right(about, f"{found} BOQNAME({target})")
        return
    yield from queue.wrong(about, Severity.WARNING, found, why, remedy=remedy)


def q_mgr_findings(name: str, facts: Facts) -> Iterator[Finding]:
    """Yield findings on a queue manager. Facts: MAXUMSGS, MAXMSGL, DEADQ, PLATFORM; of a data queue Q.MAXMSGL."""
    q_mgr = _Object(f"queue manager {name}", "ALTER QMGR", facts)
    if facts.get("PLATFORM") == _ZOS:
        why = "with the defaults z/OS may never notice that a client's host is lost, whatever HBINT is"
        remedy = "ALTER QMGR TCPKEEP(YES) RCVTTYPE(ADD) RCVTIME(60)"
        yield from q_mgr.wrong("TCPKEEP and RCVTIME", Severity.UNSEEN, "they are not looked at", why, remedy=remedy)
    if (most := q_mgr.number("MAXUMSGS")) is not None:
        found, why = f"MAXUMSGS({most})", "units of work end after so many messages at most; more make it faster"
        yield from q_mgr.check(most >= _FEW_UNCOMMITTED, "MAXUMSGS", found, why, "MAXUMSGS(10000)")
    yield from q_mgr.long_enough("messages that fit the queue are refused (2031)")
    if (dead := facts.get("DEADQ")) is not None:
        why = "in a cluster, one message that cannot be delivered stops its channel, and all groups behind it"
        found, remedy, right = "no dead-letter queue", "ALTER QMGR DEADQ('...')", f"DEADQ({dead})"
        yield from q_mgr.check(bool(dead), "DEADQ", found, why, remedy=remedy, right=right)


def noticed_after_s(interval_s: int) -> int:
    """Return after how many seconds of silence an end with this negotiated HBINT, not 0, takes the other one for dead.

    Source: IBM MQ, topic q015650, "Receive timeout", and APAR IT26614.
    """
    return 2 * interval_s if interval_s < _SHORT_HBINT_S else interval_s + 60


def channel_findings(name: str, facts: Facts) -> Iterator[Finding]:
    """Yield findings on a server-connection channel.

    Facts: HBINT, SHARECNV, MAXMSGL; of a data queue Q.MAXMSGL; of the channel's connections, as they were negotiated, the longest
    HBINT (0 is longer than any) as CHS.HBINT and the smallest CURSHCNV as CHS.CURSHCNV.
    """
    channel = _Object(f"channel {name}", to_copy("ALTER CHANNEL({}) CHLTYPE(SVRCONN)", name), facts)
    if (interval := channel.number("HBINT")) is not None:
        found, late = f"HBINT({interval})", _noticed(interval)
        too_short = f"{late}, but so is a connection whose network or MQCMIT is slow"
        too_long = f"{late}; until then its name and its group stay locked"
        why = too_short if 0 < interval < _LEAST_HBINT_S else too_long
        is_right, mends = _LEAST_HBINT_S <= interval <= _MOST_HBINT_S, f"HBINT({_LEAST_HBINT_S})"
        yield from channel.check(is_right, "HBINT", found, why, mends, right=f"{found}: {late}")
        if (negotiated := channel.number("CHS.HBINT")) not in (None, interval):
            found = f"HBINT({negotiated}) was negotiated"
            why = f"the longer interval of both ends counts, and 0 of either end: {_noticed(negotiated or 0)}"
            remedy = (
                "lower HBINT of the program's MQCD or CLNTCONN channel; connections from before an ALTER keep theirs"
            )
            yield from channel.wrong("HBINT of its connections", Severity.WARNING, found, why, remedy=remedy)
    if (sharing := channel.number("SHARECNV")) is not None:
        why = "heartbeats flow only while an MQGET waits, so the loss of a producer's host may never be noticed"
        yield from channel.check(sharing > 0, "SHARECNV", f"SHARECNV({sharing})", why, "SHARECNV(1)")
        if sharing > 0 and facts.get("CHS.CURSHCNV") == 0:
            found = "CURSHCNV(0): a program's MQCD is older than version 9"
            why = (
                "its connection has heartbeats only while an MQGET waits, so the loss of its host may never be noticed"
            )
            remedy = "connect with mqgroups, or pass an MQCD of version 9 or later"
            yield from channel.wrong("CURSHCNV of its connections", Severity.WARNING, found, why, remedy=remedy)
    yield from channel.long_enough("messages that fit the queue cannot be put or got through this channel (2010)")


def _noticed(interval_s: int) -> str:
    after = f"after {noticed_after_s(interval_s)} s" if interval_s else "only by TCP"
    return f"the loss of a client's host is noticed {after}"


# What a status queue may have from the site's default objects: attribute, right value, the MQSC of it, and why another matters.
_INHERITED = (
    ("STREAMQ", "", "STREAMQ(' ')", Severity.WARNING, "records are put to another queue too, and may be refused there"),
    ("TRIGGER", "NO", "NOTRIGGER", Severity.WARNING, "trigger messages are in the unit of work, and count in MAXUMSGS"),
    ("USAGE", "NORMAL", "", Severity.ERROR, "a transmission queue needs other authorities, and channels empty it"),
)


def status_queue_findings(name: str, kind: str, facts: Facts) -> Iterator[Finding]:
    """Yield findings on a status queue, or on the model of status queues.

    Args:
        name: of the queue.
        kind: ``"QLOCAL"`` or ``"QMODEL"``.
        facts: DEFTYPE, MAXMSGL, MAXDEPTH, CLUSTER, GET, PUT, MSGDLVSQ, CAPEXPRY, CUSTOM, STREAMQ, TRIGGER, USAGE.
    """
    called = "model queue" if kind == "QMODEL" else "status queue"
    queue = _Object(f"{called} {name}", to_copy(f"ALTER {kind}({{}})", name), facts)
    yield from queue.enabled((Role.PUT, Role.GET))
    if kind == "QMODEL":
        why = "a status queue made from it is deleted with its connection, and its record with it"
        yield from queue.has("DEFTYPE", "PERMDYN", Severity.ERROR, why)
    elif facts.get("DEFTYPE") == "TEMPDYN":
        why, remedy = "it is deleted with its connection, and its record with it", "make it from another model queue"
        yield from queue.wrong("DEFTYPE", Severity.ERROR, "a temporary dynamic queue", why, remedy=remedy)
    if facts.get("CLUSTER"):
        found, why = f"in cluster {facts['CLUSTER']}", "its records could go to another instance"
        yield from queue.wrong("CLUSTER", Severity.ERROR, found, why, "CLUSTER(' ') CLUSNL(' ')")
    why = "a record expires, and then its group is put again from the beginning, or the rest of it never got"
    yield from queue.no_cap(Severity.ERROR, why)
    for attribute, right, mends, severity, why in _INHERITED:
        inherited = f"{why}. A definition that does not name it takes it from SYSTEM.DEFAULT.*"
        yield from queue.has(attribute, right, severity, inherited, mends)
    if (longest := queue.number("MAXMSGL")) is not None:
        why = f"a record with its checkpoint can be longer; segments of records may need {MOST_BYTES} bytes together"
        mends = f"MAXMSGL({4_194_304})"
        yield from queue.check(longest >= MOST_BYTES, "MAXMSGL", f"MAXMSGL({longest})", why, mends)
    if (most := queue.number("MAXDEPTH")) is not None:
        found, least = f"MAXDEPTH({most})", 2 * MOST_SEGMENTS
        if most >= least:
            yield from queue.right("MAXDEPTH", found)
        else:
            why = f"records and anchors can be {least} messages; on a full queue starts and commits fail (2053)"
            yield from queue.wrong("MAXDEPTH", Severity.ERROR, found, why, "MAXDEPTH(5000)")
    why = "records are found in any order, but FIFO needs no sorting by priority"
    yield from queue.has("MSGDLVSQ", "FIFO", Severity.WARNING, why)


def client_file_findings(path: str, facts: Facts) -> Iterator[Finding]:
    """Yield findings on an mqclient.ini. Facts: DEFRECON."""
    subject, reconnects = f"{path}: DefRecon", facts.get("DEFRECON", "NO")
    if str(reconnects).upper() in ("NO", "DISABLED"):
        yield ok(subject, "no automatic reconnection by default")
        return
    why = (
        "on a reconnectable connection MQPUT in logical order is refused (2547). mqgroups.connect switches it off for its "
        "own connections; a connection that an application makes itself (mqgroups.wrap) needs MQCNO_RECONNECT_DISABLED"
    )
    remedy = "DefRecon=NO in the stanza Channels"
    yield Finding(subject, Severity.WARNING, f"DefRecon={reconnects}", why, remedy)


# What to do if MQCONNX fails, by reason code (IBM MQ, topics of the reason codes).
_CONNECT_REMEDIES = {
    2009: "the connection broke while it was made: look at the queue manager's and the channel's error logs",
    2035: "check user and password, CHLAUTH and CONNAUTH (the queue manager's error log says which), and "
    "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('...') AUTHADD(CONNECT,INQ)",
    2058: "the queue manager at this address has another name: check --q-mgr; without --conn-name, check MQSERVER",
    2059: "the queue manager does not run, or its listener does not: strmqm, START LISTENER",
    2063: "the password could not be checked: look at the queue manager's error log",
    2161: "the queue manager is being ended: wait until it is started again",
    2278: "the channel's definition is not valid: check --channel and --conn-name",
    2381: "the key repository is missing: check --key-repository",
    2393: "TLS failed: compare --cipher-spec with SSLCIPH of the channel, and check the certificates",
    2397: "TLS failed: the details are in the client's error log",
    2537: "the channel has no free instance, or it is stopped: MAXINST, MAXINSTC, START CHANNEL, MaxChannels in qm.ini",
    2538: "nothing listens at this address: check --conn-name, the network, and the listener",
    2539: "the channel refused the connection: compare its definition with the client's",
    2540: "there is no such server-connection channel: check --channel",
}


def connect_finding(reason: int, found: str) -> Finding:
    """Return the finding that MQCONNX has failed with ``reason``."""
    remedy = _CONNECT_REMEDIES.get(reason, "look the reason code up, and read the queue manager's error log")
    return Finding("connection", Severity.ERROR, found, "nothing works without a connection", remedy)

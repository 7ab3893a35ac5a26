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


def data_queue_findings(name: str, facts: Facts, roles: Collection[Role]) -> Iterator[Finding]:
    """Yield findings on a data queue.

    Args:
        name: of the local queue.
        facts: CURDEPTH, MAXDEPTH, GET, PUT, BOTHRESH, BOQNAME, MSGDLVSQ, INDXTYPE, SHARE, DEFPSIST, PROPCTL, CLUSTER, DEFBIND,
            CLWLUSEQ, CAPEXPRY, CUSTOM; of the queue manager PLATFORM; as words of MQSC, numbers as ``int``.
        roles: what the programs do with it: put, get, or both.
    """
    subject = f"queue {name}"
    alter = f"ALTER QLOCAL('{name}')"
    yield from _inhibition(subject, alter, facts, roles)
    yield from _depth(subject, alter, facts)
    if facts.get("PLATFORM") == _ZOS and Role.GET in roles:
        why = "z/OS delivers groups in logical order only from a queue with this index (2394)"
        yield from _attribute(subject, alter, facts, "INDXTYPE", "GROUPID", Severity.ERROR, why)
    if Role.GET in roles:
        yield from _backout(subject, alter, facts)
        why = "only one consumer at a time can open it"
        yield from _attribute(subject, alter, facts, "SHARE", "YES", Severity.WARNING, why, "SHARE")
    why = "messages of a group expire one by one, so the rest of a group can stay without its beginning"
    yield from _cap(subject, alter, facts, Severity.WARNING, why)
    if "DEFPSIST" in facts:
        yield ok(
            f"{subject}: DEFPSIST, PROPCTL, MSGDLVSQ",
            f"DEFPSIST({facts['DEFPSIST']}) PROPCTL({facts.get('PROPCTL', '?')}) MSGDLVSQ({facts.get('MSGDLVSQ', '?')}): this "
            "package sets persistence and asks for properties itself, and gets in logical order",
        )
    if facts.get("CLUSTER") and Role.PUT in roles and "DEFBIND" in facts:
        yield _check(
            facts["DEFBIND"] != "NOTFIXED",
            f"{subject}: DEFBIND",
            Severity.WARNING,
            "DEFBIND(NOTFIXED)",
            "a program that binds as the queue says would split its groups over the instances",
            f"{alter} DEFBIND(GROUP)",
            right=f"DEFBIND({facts['DEFBIND']})",
        )
    if facts.get("CLUSTER") and Role.PUT in roles and facts.get("CLWLUSEQ") in _USES:
        use = str(facts["CLWLUSEQ"])
        yield ok(f"{subject}: CLWLUSEQ", f"CLWLUSEQ({use}): groups that are put at this queue manager {_USES[use]}")


def alias_findings(name: str, target: str, facts: Facts, roles: Collection[Role]) -> Iterator[Finding]:
    """Yield findings on an alias of the queue ``target``. Facts: GET, PUT."""
    yield ok(f"queue {name}", f"an alias of {target}")
    yield from _inhibition(f"alias {name}", f"ALTER QALIAS('{name}')", facts, roles)


def _check(
    is_right: bool,
    subject: str,
    severity: Severity,
    found: str,
    why: str,
    *mqsc: str,
    remedy: str = "",
    right: str = "",
) -> Finding:
    """Return the finding; or, if the attribute is right, that it is ``right``, by default ``found``."""
    return ok(subject, right or found) if is_right else Finding(subject, severity, found, why, remedy, mqsc)


def _attribute(
    subject: str,
    alter: str,
    facts: Facts,
    attribute: str,
    right: str,
    severity: Severity,
    why: str,
    mends: str = "",
) -> Iterator[Finding]:
    """Yield the finding on an attribute that has one right value, if it was seen; ``mends``: that in MQSC."""
    mends = mends or f"{attribute}({right})"
    if attribute in facts:
        found = f"{attribute}({facts[attribute]})"
        about, is_right = f"{subject}: {attribute}", facts[attribute] == right
        yield _check(is_right, about, severity, found, why, f"{alter} {mends}", right=mends)


def _long_enough(subject: str, facts: Facts, why: str, alter: str) -> Iterator[Finding]:
    """Yield the finding on MAXMSGL of what the messages of the queue pass; 0 is no limit."""
    longest, of_queue = facts.get("MAXMSGL"), facts.get("Q.MAXMSGL")
    if isinstance(longest, int) and isinstance(of_queue, int):
        found, is_right = f"MAXMSGL({longest})", not longest or of_queue <= longest
        said = f"{found}, and the queue's is {of_queue}"
        mends = f"{alter} MAXMSGL({of_queue})"
        yield _check(is_right, f"{subject}: MAXMSGL", Severity.WARNING, said, why, mends, right=found)


def _inhibition(subject: str, alter: str, facts: Facts, roles: Collection[Role]) -> Iterator[Finding]:
    for role, attribute in ((Role.PUT, "PUT"), (Role.GET, "GET")):
        if role in roles and attribute in facts:
            yield _check(
                facts[attribute] == "ENABLED",
                f"{subject}: {attribute}",
                Severity.ERROR,
                f"{attribute}(DISABLED)",
                f"nobody can {role.value}; programs wait, and then fail",
                # Not to be applied: it may protect a queue that was restored, or whose records are being rebuilt.
                remedy=f"unless somebody disabled it to protect the queue:\n{alter} {attribute}(ENABLED)",
                right=f"{attribute}(ENABLED)",
            )


def _cap(subject: str, alter: str, facts: Facts, severity: Severity, why: str) -> Iterator[Finding]:
    """Yield a finding on a limited expiry: by CUSTOM('CAPEXPRY(n)'), which comes first, or CAPEXPRY(n) (topic q097495)."""
    if not {"CAPEXPRY", "CUSTOM"} & set(facts):
        return
    custom, cap = str(facts.get("CUSTOM", "")), facts.get("CAPEXPRY", "NOLIMIT")
    in_custom = "CAPEXPRY" in custom
    yield _check(
        not in_custom and cap == "NOLIMIT",
        f"{subject}: CAPEXPRY",
        severity,
        f"CUSTOM({custom})" if in_custom else f"CAPEXPRY({cap})",
        why,
        f"{alter} CUSTOM(' ')" if in_custom else f"{alter} CAPEXPRY(NOLIMIT)",
        right="no limit on the expiry of messages",
    )


def _depth(subject: str, alter: str, facts: Facts) -> Iterator[Finding]:
    depth, most = facts.get("CURDEPTH"), facts.get("MAXDEPTH")
    if not isinstance(depth, int) or not isinstance(most, int):
        return
    found = f"{depth:,} of MAXDEPTH({most})"
    about = f"{subject}: depth"
    if depth >= most:
        why = "it is full: producers wait, and a group that waits for room keeps its consumer waiting too"
        yield Finding(about, Severity.ERROR, found, why, mqsc=(f"{alter} MAXDEPTH({10 * most})",))
    elif depth > _NEARLY_FULL * most:
        why = "a group that does not fit can be neither completed nor consumed"
        yield Finding(about, Severity.WARNING, found, why, mqsc=(f"{alter} MAXDEPTH({10 * most})",))
    else:
        yield ok(about, found)


def _backout(subject: str, alter: str, facts: Facts) -> Iterator[Finding]:
    threshold, target = facts.get("BOTHRESH"), facts.get("BOQNAME")
    if threshold is None or target is None:
        return
    about, backout = f"{subject}: BOTHRESH, BOQNAME", target or "QUEUE"
    needs = f"consumers with poison= or stalled= need PUT on {backout}\n"
    if not threshold:
        why = "a message that fails every time is not recognised as poison, and stops its consumer again and again"
        # Not to be applied: with BOTHRESH alone, consumers that may move messages do not start; with both, they need authorities.
        remedy = f"{needs}{alter} BOTHRESH({_FEW_BACKOUTS}) BOQNAME('{backout}')"
        yield Finding(about, Severity.WARNING, "BOTHRESH(0)", why, remedy)
    elif not target:
        why = 'poison="skip" and poison="quarantine" have nowhere to move messages to'
        remedy = f"{needs}{alter} BOQNAME('{backout}')"
        yield Finding(about, Severity.WARNING, f"BOTHRESH({threshold}) without BOQNAME", why, remedy)
    elif isinstance(threshold, int) and threshold < _FEW_BACKOUTS:
        why = (
            "lost connections and kills count too, so messages that are not to blame are processed alone, or even moved"
        )
        yield Finding(about, Severity.WARNING, f"BOTHRESH({threshold})", why, f"{alter} BOTHRESH({_FEW_BACKOUTS})")
    else:
        yield ok(about, f"BOTHRESH({threshold}) BOQNAME({target})")


def q_mgr_findings(name: str, facts: Facts) -> Iterator[Finding]:
    """Yield findings on a queue manager. Facts: MAXUMSGS, MAXMSGL, DEADQ, PLATFORM; of a data queue Q.MAXMSGL."""
    if facts.get("PLATFORM") == _ZOS:
        yield Finding(
            f"queue manager {name}: TCPKEEP and RCVTIME",
            Severity.UNSEEN,
            "they are not looked at",
            "with the defaults z/OS may never notice that a client's host is lost, whatever HBINT is",
            "ALTER QMGR TCPKEEP(YES) RCVTTYPE(ADD) RCVTIME(60)",
        )
    if isinstance(most := facts.get("MAXUMSGS"), int):
        yield _check(
            most >= _FEW_UNCOMMITTED,
            f"queue manager {name}: MAXUMSGS",
            Severity.WARNING,
            f"MAXUMSGS({most})",
            "units of work end after so many messages at most; more make it faster",
            "ALTER QMGR MAXUMSGS(10000)",
        )
    yield from _long_enough(
        f"queue manager {name}", facts, "messages that fit the queue are refused (2031)", "ALTER QMGR"
    )
    if "DEADQ" in facts:
        yield _check(
            bool(facts["DEADQ"]),
            f"queue manager {name}: DEADQ",
            Severity.WARNING,
            "no dead-letter queue",
            "in a cluster, one message that cannot be delivered stops its channel, and all groups behind it",
            remedy="ALTER QMGR DEADQ('...')",
            right=f"DEADQ({facts['DEADQ']})",
        )


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
    alter = f"ALTER CHANNEL('{name}') CHLTYPE(SVRCONN)"
    interval = facts.get("HBINT")
    if isinstance(interval, int):
        late = _noticed(interval)
        yield _check(
            _LEAST_HBINT_S <= interval <= _MOST_HBINT_S,
            f"channel {name}: HBINT",
            Severity.WARNING,
            f"HBINT({interval})",
            f"{late}; until then its name and its group stay locked"
            if not 0 < interval < _LEAST_HBINT_S
            else f"{late}, but so is a connection whose network or MQCMIT is slow",
            f"{alter} HBINT({_LEAST_HBINT_S})",
            right=f"HBINT({interval}): {late}",
        )
        negotiated = facts.get("CHS.HBINT")
        if isinstance(negotiated, int) and negotiated != interval:
            yield Finding(
                f"channel {name}: HBINT of its connections",
                Severity.WARNING,
                f"HBINT({negotiated}) was negotiated",
                f"the longer interval of both ends counts, and 0 of either end: {_noticed(negotiated)}",
                "lower HBINT of the program's MQCD or CLNTCONN channel; connections from before an ALTER keep theirs",
            )
    if isinstance(sharing := facts.get("SHARECNV"), int):
        yield _check(
            sharing > 0,
            f"channel {name}: SHARECNV",
            Severity.WARNING,
            "SHARECNV(0)",
            "heartbeats flow only while an MQGET waits, so the loss of a producer's host may never be noticed",
            f"{alter} SHARECNV(1)",
            right=f"SHARECNV({sharing})",
        )
        if sharing > 0 and facts.get("CHS.CURSHCNV") == 0:
            yield Finding(
                f"channel {name}: CURSHCNV of its connections",
                Severity.WARNING,
                "CURSHCNV(0): a program's MQCD is older than version 9",
                "its connection has heartbeats only while an MQGET waits, so the loss of its host may never be noticed",
                "connect with mqgroups, or pass an MQCD of version 9 or later",
            )
    why = "messages that fit the queue cannot be put or got through this channel (2010)"
    yield from _long_enough(f"channel {name}", facts, why, alter)


def _noticed(interval_s: int) -> str:
    after = f"after {noticed_after_s(interval_s)} s" if interval_s else "only by TCP"
    return f"the loss of a client's host is noticed {after}"


# What a status queue may have from the site's default objects: attribute, right value, the MQSC of it, and why another matters.
_INHERITED = (
    ("STREAMQ", "", "STREAMQ(' ')", Severity.WARNING, "records are put to another queue too, and may be refused there"),
    ("TRIGGER", "NO", "NOTRIGGER", Severity.WARNING, "trigger messages are in the unit of work, and count in MAXUMSGS"),
    ("USAGE", "NORMAL", "", Severity.ERROR, "a transmission queue needs other authorities, and channels empty it"),
)


def status_queue_findings(name: str, kind: str, facts: Facts, *, shared: bool = False) -> Iterator[Finding]:
    """Yield findings on a status queue, or on the model of status queues.

    Args:
        name: of the queue.
        kind: ``"QLOCAL"`` or ``"QMODEL"``.
        facts: DEFTYPE, DEFPSIST, SHARE, MAXMSGL, MAXDEPTH, CLUSTER, GET, PUT, MSGDLVSQ, CAPEXPRY, CUSTOM, STREAMQ, TRIGGER,
            USAGE.
        shared: whether many owners share it.
    """
    subject = f"{'model queue' if kind == 'QMODEL' else 'status queue'} {name}"
    alter = f"ALTER {kind}('{name}')"
    yield from _inhibition(subject, alter, facts, (Role.PUT, Role.GET))
    if kind == "QMODEL":
        why = "a status queue made from it is deleted with its connection, and its record with it"
        yield from _attribute(subject, alter, facts, "DEFTYPE", "PERMDYN", Severity.ERROR, why)
    elif facts.get("DEFTYPE") == "TEMPDYN":
        why = "it is deleted with its connection, and its record with it"
        yield Finding(
            f"{subject}: DEFTYPE", Severity.ERROR, "a temporary dynamic queue", why, "make it from another model queue"
        )
    if facts.get("CLUSTER"):
        why = "its records could go to another instance"
        yield Finding(
            f"{subject}: CLUSTER",
            Severity.ERROR,
            f"in cluster {facts['CLUSTER']}",
            why,
            mqsc=(f"{alter} CLUSTER(' ') CLUSNL(' ')",),
        )
    why = "a record expires, and then its group is put again from the beginning, or the rest of it never got"
    yield from _cap(subject, alter, facts, Severity.ERROR, why)
    for attribute, right, mends, severity, why in _INHERITED:
        inherited = f"{why}. A definition that does not name it takes it from SYSTEM.DEFAULT.*"
        yield from _attribute(subject, alter, facts, attribute, right, severity, inherited, mends)
    if shared and facts.get("SHARE") == "NO":
        why = "many attempts have to open it at the same time"
        yield Finding(f"{subject}: SHARE", Severity.ERROR, "NOSHARE", why, mqsc=(f"{alter} SHARE",))
    if isinstance(longest := facts.get("MAXMSGL"), int):
        yield _check(
            longest >= MOST_BYTES,
            f"{subject}: MAXMSGL",
            Severity.WARNING,
            f"MAXMSGL({longest})",
            f"a record with its checkpoint can be longer; segments of records may need {MOST_BYTES} bytes together",
            f"{alter} MAXMSGL({4_194_304})",
        )
    if isinstance(most := facts.get("MAXDEPTH"), int):
        yield _check(
            most >= 2 * MOST_SEGMENTS,
            f"{subject}: MAXDEPTH",
            Severity.ERROR,
            f"MAXDEPTH({most})",
            f"records and anchors can be {2 * MOST_SEGMENTS} messages; on a full queue starts and commits fail (2053)",
            f"{alter} MAXDEPTH(5000)",
        )
    why = "records are found in any order, but FIFO needs no sorting by priority"
    yield from _attribute(subject, alter, facts, "MSGDLVSQ", "FIFO", Severity.WARNING, why)


def client_file_findings(path: str, facts: Facts) -> Iterator[Finding]:
    """Yield findings on an mqclient.ini. Facts: DEFRECON."""
    reconnects = str(facts.get("DEFRECON", "NO")).upper()
    yield _check(
        reconnects in ("NO", "DISABLED"),
        f"{path}: DefRecon",
        Severity.WARNING,
        f"DefRecon={facts.get('DEFRECON')}",
        "on a reconnectable connection MQPUT in logical order is refused (2547). mqgroups.connect switches it off for its "
        "own connections; a connection that an application makes itself (mqgroups.wrap) needs MQCNO_RECONNECT_DISABLED",
        remedy="DefRecon=NO in the stanza Channels",
        right="no automatic reconnection by default",
    )


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

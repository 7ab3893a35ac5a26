"""The rules of ``mqgroups doctor``: each attribute that breaks or slows groups is found, and the usual values are in order."""

from __future__ import annotations

from embedded_tests.tables import table
from mqembedded.admin.mqsc import parse
from mqgroups.core.model import Role
from mqgroups.operate.rules.findings import Severity, findings

OK, WARNING, ERROR, UNSEEN = Severity.OK, Severity.WARNING, Severity.ERROR, Severity.UNSEEN
# As DEFINE QLOCAL makes a queue, with a backout queue.
DATA: dict[str, int | str] = {
    "CURDEPTH": 0, "MAXDEPTH": 5000, "GET": "ENABLED", "PUT": "ENABLED", "BOTHRESH": 5, "BOQNAME": "B", "MSGDLVSQ": "PRIORITY",
    "SHARE": "YES", "DEFPSIST": "NO", "PROPCTL": "COMPAT", "CLUSTER": "", "DEFBIND": "OPEN", "PLATFORM": "MQPL_UNIX",
}  # fmt: skip
STATUS: dict[str, int | str] = {
    "DEFTYPE": "PERMDYN",
    "MAXMSGL": 4_194_304,
    "CLUSTER": "",
    "GET": "ENABLED",
    "PUT": "ENABLED",
    "MSGDLVSQ": "FIFO",
    "CAPEXPRY": "NOLIMIT",
    "CUSTOM": "",
    "STREAMQ": "",
    "TRIGGER": "NO",
    "USAGE": "NORMAL",
}
BOTH = (Role.PUT, Role.GET)


def wrong(found):
    """Return severity, attribute and first command of what is not in order."""
    return [
        (each.severity, each.subject.partition(": ")[2], each.mqsc[:1]) for each in found if each.severity is not OK
    ]


@table(
    ("change", "roles", "expected"),
    [
        ({}, BOTH, []),
        ({"PUT": "DISABLED"}, BOTH, [(ERROR, "PUT", ())]),
        ({"PUT": "DISABLED"}, (Role.GET,), []),
        ({"GET": "DISABLED"}, (Role.PUT,), []),
        ({"GET": "DISABLED"}, BOTH, [(ERROR, "GET", ())]),
        ({"CURDEPTH": 5000}, BOTH, [(ERROR, "depth", ("ALTER QLOCAL('Q') MAXDEPTH(50000)",))]),
        ({"CURDEPTH": 4001}, BOTH, [(WARNING, "depth", ("ALTER QLOCAL('Q') MAXDEPTH(50000)",))]),
        ({"Q.GROUP": 6000}, BOTH, [(ERROR, "depth", ("ALTER QLOCAL('Q') MAXDEPTH(50000)",))]),
        ({"CURDEPTH": 4000}, BOTH, []),
        ({"BOTHRESH": 0}, BOTH, [(WARNING, "BOTHRESH, BOQNAME", ())]),
        ({"BOTHRESH": 0}, (Role.PUT,), []),
        ({"BOTHRESH": 4}, BOTH, [(WARNING, "BOTHRESH, BOQNAME", ())]),
        ({"BOQNAME": ""}, BOTH, [(WARNING, "BOTHRESH, BOQNAME", ())]),
        ({"MAXMSGL": 4_194_304}, BOTH, []),
        # Of a backout queue: what its consumers move there.
        ({"MAXMSGL": 4_194_304, "Q.MAXMSGL": 4_194_304}, BOTH, []),
        (
            {"MAXMSGL": 1000, "Q.MAXMSGL": 4_194_304},
            (Role.PUT,),
            [(WARNING, "MAXMSGL", ("ALTER QLOCAL('Q') MAXMSGL(4194304)",))],
        ),
        ({"SHARE": "NO"}, BOTH, [(WARNING, "SHARE", ("ALTER QLOCAL('Q') SHARE",))]),
        ({"INDXTYPE": "NONE"}, BOTH, []),
        (
            {"INDXTYPE": "NONE", "PLATFORM": "MQPL_ZOS"},
            BOTH,
            [(ERROR, "INDXTYPE", ("ALTER QLOCAL('Q') INDXTYPE(GROUPID)",))],
        ),
        ({"INDXTYPE": "GROUPID", "PLATFORM": "MQPL_ZOS"}, BOTH, []),
        ({"CAPEXPRY": "NOLIMIT"}, BOTH, []),
        ({"CAPEXPRY": 600}, BOTH, [(WARNING, "CAPEXPRY", ("ALTER QLOCAL('Q') CAPEXPRY(NOLIMIT)",))]),
        # The word in CUSTOM comes before the attribute (IBM MQ, "CAPEXPRY").
        (
            {"CAPEXPRY": "NOLIMIT", "CUSTOM": "CAPEXPRY(600)"},
            BOTH,
            [(WARNING, "CAPEXPRY", ("ALTER QLOCAL('Q') CUSTOM(' ')",))],
        ),
        ({"DEFBIND": "NOTFIXED"}, BOTH, []),
        (
            {"DEFBIND": "NOTFIXED", "CLUSTER": "C"},
            BOTH,
            [(WARNING, "DEFBIND", ("ALTER QLOCAL('Q') DEFBIND(GROUP)",))],
        ),
    ],
)
def test_attributes_of_a_data_queue(change, roles, expected):
    assert wrong(findings("QLOCAL", "Q", {**DATA, **change}, roles)) == expected


@table(
    ("kind", "change", "expected"),
    [
        ("QMODEL", {}, []),
        ("STATUS", {"DEFTYPE": "PREDEFINED"}, []),
        ("QMODEL", {"DEFTYPE": "TEMPDYN"}, [(ERROR, "DEFTYPE", ("ALTER QMODEL('S') DEFTYPE(PERMDYN)",))]),
        ("STATUS", {"DEFTYPE": "TEMPDYN"}, [(ERROR, "DEFTYPE", ())]),
        ("STATUS", {"CLUSTER": "C"}, [(ERROR, "CLUSTER", ("ALTER QLOCAL('S') CLUSTER(' ') CLUSNL(' ')",))]),
        ("STATUS", {"PUT": "DISABLED"}, [(ERROR, "PUT", ())]),
        ("STATUS", {"MAXMSGL": 1000}, [(WARNING, "MAXMSGL", ("ALTER QLOCAL('S') MAXMSGL(4194304)",))]),
        ("STATUS", {"MAXDEPTH": 63}, [(ERROR, "MAXDEPTH", ("ALTER QLOCAL('S') MAXDEPTH(5000)",))]),
        ("QMODEL", {"MAXDEPTH": 64}, []),
        ("QMODEL", {"CAPEXPRY": 600}, [(ERROR, "CAPEXPRY", ("ALTER QMODEL('S') CAPEXPRY(NOLIMIT)",))]),
        ("STATUS", {"CUSTOM": "CAPEXPRY(600)"}, [(ERROR, "CAPEXPRY", ("ALTER QLOCAL('S') CUSTOM(' ')",))]),
        ("QMODEL", {"STREAMQ": "COPIES"}, [(WARNING, "STREAMQ", ("ALTER QMODEL('S') STREAMQ(' ')",))]),
        ("STATUS", {"TRIGGER": "YES"}, [(WARNING, "TRIGGER", ("ALTER QLOCAL('S') NOTRIGGER",))]),
        ("QMODEL", {"USAGE": "XMITQ"}, [(ERROR, "USAGE", ("ALTER QMODEL('S') USAGE(NORMAL)",))]),
        ("STATUS", {"MSGDLVSQ": "PRIORITY"}, [(WARNING, "MSGDLVSQ", ("ALTER QLOCAL('S') MSGDLVSQ(FIFO)",))]),
    ],
)
def test_attributes_of_a_status_queue(kind, change, expected):
    assert wrong(findings(kind, "S", {**STATUS, **change})) == expected


@table(
    ("facts", "expected"),
    [
        ({"HBINT": 10, "SHARECNV": 10, "MAXMSGL": 4_194_304, "Q.MAXMSGL": 4_194_304}, []),
        ({"HBINT": 30}, []),
        ({"HBINT": 0}, [(WARNING, "HBINT", ("ALTER CHANNEL('C') CHLTYPE(SVRCONN) HBINT(10)",))]),
        ({"HBINT": 9}, [(WARNING, "HBINT", ("ALTER CHANNEL('C') CHLTYPE(SVRCONN) HBINT(10)",))]),
        ({"HBINT": 31}, [(WARNING, "HBINT", ("ALTER CHANNEL('C') CHLTYPE(SVRCONN) HBINT(10)",))]),
        # What connections have negotiated: the channel is right, a program or its CCDT is not.
        ({"HBINT": 10, "CHS.HBINT": 10}, []),
        ({"HBINT": 10, "CHS.HBINT": 300}, [(WARNING, "HBINT of its connections", ())]),
        ({"SHARECNV": 0}, [(WARNING, "SHARECNV", ("ALTER CHANNEL('C') CHLTYPE(SVRCONN) SHARECNV(1)",))]),
        (
            {"MAXMSGL": 1000, "Q.MAXMSGL": 2000},
            [(WARNING, "MAXMSGL", ("ALTER CHANNEL('C') CHLTYPE(SVRCONN) MAXMSGL(2000)",))],
        ),
        # 0: as the queue manager's.
        ({"MAXMSGL": 0, "Q.MAXMSGL": 2000}, []),
    ],
)
def test_attributes_of_a_channel(facts, expected):
    assert wrong(findings("CHANNEL", "C", facts)) == expected


@table(("interval_s", "words"), [(10, "after 20 s"), (59, "after 118 s"), (60, "after 120 s"), (0, "by TCP")])
def test_a_lost_host_is_noticed_after_what_was_negotiated(interval_s, words):
    # IBM MQ, "Receive timeout": twice an interval below 60, else 60 seconds more
    (found,) = findings("CHANNEL", "C", {"HBINT": interval_s})
    assert words in f"{found.found} {found.why}"


def test_on_zos_the_queue_manager_has_to_look_for_lost_hosts_itself():
    assert wrong(findings("QMGR", "QM1", {"PLATFORM": "MQPL_ZOS"})) == [(UNSEEN, "TCPKEEP and RCVTIME", ())]


@table(
    ("facts", "expected"),
    [
        ({"MAXUMSGS": 10_000, "MAXMSGL": 4_194_304, "Q.MAXMSGL": 4_194_304, "DEADQ": "D"}, []),
        ({"MAXUMSGS": 100}, [(WARNING, "MAXUMSGS", ("ALTER QMGR MAXUMSGS(10000)",))]),
        ({"MAXMSGL": 100, "Q.MAXMSGL": 200}, [(WARNING, "MAXMSGL", ("ALTER QMGR MAXMSGL(200)",))]),
        ({"DEADQ": ""}, [(WARNING, "DEADQ", ())]),
    ],
)
def test_attributes_of_a_queue_manager(facts, expected):
    assert wrong(findings("QMGR", "QM1", facts)) == expected


def test_what_could_not_be_seen_is_no_finding():
    assert list(findings("QLOCAL", "Q", {}, BOTH)) == []
    assert list(findings("STATUS", "S", {})) == list(findings("CHANNEL", "C", {})) == []


def test_a_line_that_alters_is_a_command_as_it_stands():
    worse = ({"BOTHRESH": 0}, {"BOTHRESH": 4}, {"BOQNAME": ""}, {"PUT": "DISABLED", "GET": "DISABLED"})
    found = [each for change in worse for each in findings("QLOCAL", "Q", {**DATA, **change}, BOTH)]
    lines = [line for each in found for line in each.remedy.splitlines() if "ALTER" in line]
    assert lines[0].endswith(" BOTHRESH(5) BOQNAME('B')")
    assert len(lines) == 5
    for line in lines:
        (command,) = parse(line)
        assert command.parameters.keys() <= {"BOTHRESH", "BOQNAME", "PUT", "GET"}


def test_every_problem_has_a_reason_and_a_remedy():
    bad: dict[str, int | str] = {
        **DATA, "CURDEPTH": 5000, "GET": "DISABLED", "PUT": "DISABLED", "BOTHRESH": 0, "SHARE": "NO", "CLUSTER": "C",
        "DEFBIND": "NOTFIXED", "CAPEXPRY": 1, "INDXTYPE": "NONE", "PLATFORM": "MQPL_ZOS",
    }  # fmt: skip
    found = [each for each in findings("QLOCAL", "Q", bad, BOTH) if each.severity is not OK]
    assert len(found) == 8
    for each in found:
        assert each.why
        assert each.mqsc or each.remedy

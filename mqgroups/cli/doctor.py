"""The command ``mqgroups doctor``: shows what is wrong, from this machine to the messages on a queue, and how to correct it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

from mqgroups.cli.connection import connection_options, open_q_mgr, parted
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.groups import browsed
from mqgroups.cli.options import LOOK_S, NAME, QUEUE, STALLED_AFTER, own_status_queue_option
from mqgroups.cli.report import Report
from mqgroups.cli.table import COLOURS
from mqgroups.cli.words import put_time, tally
from mqgroups.core.model import Role
from mqgroups.errors import BindingMissing, CommandRefused, MQIError
from mqgroups.operate.doctor import examine, named_status_queues
from mqgroups.operate.machine import machine_findings
from mqgroups.operate.queues import QueueLook, look_at_queue
from mqgroups.operate.rules.findings import Finding, Severity, ok
from mqgroups.printable import printable

_FILE_WIDTH = 80
_LABEL = max(len(each.value) for each in Severity)


@click.command()
@click.option("--queue", type=QUEUE, help="A queue for groups, which is checked with its groups.")
@click.option("--name", type=NAME, help="A producer or consumer whose status queue is checked; needs --role.")
@click.option("--role", type=click.Choice(["put", "get"]), help="Producer (put) or consumer (get).")
@own_status_queue_option
@click.option(
    "--output",
    "-o",
    type=click.Choice(["table", "json", "mqsc"]),
    default="table",
    help="Text for people; JSON (docs/reference/json.md); or MQSC that corrects the findings, which are its comments.",
)
@connection_options(LOOK_S)
def doctor(output: str, **options: Any) -> None:
    """Check an installation: this machine, the connection, queues and their attributes, records, groups.

    Each finding shows what was found, why it matters, and how to correct it. The worst findings come first. Nothing is changed.

    To correct definitions, first read the output of -o mqsc, then run: mqgroups doctor --queue ORDERS -o mqsc | runmqsc QM1

    \b
    Exit codes:
      0  nothing is wrong, or there are only warnings
      1  there are errors, or it failed; standard error shows why
      3  no errors were found, but not all could be seen
    """
    asked, connection = parted(options)
    queue, name, role, status_queue = (asked[each] for each in ("queue", "name", "role", "status_queue"))
    if name is not None and role is None:
        raise click.UsageError("--name needs --role")
    if status_queue is not None and name is None and queue is None:
        raise click.UsageError("--status-queue needs --name or --queue")
    report = Report(output, q_mgr_name=connection["q_mgr_name"])
    found = list(machine_findings())
    try:
        q_mgr = open_q_mgr(**connection)
    except (MQIError, BindingMissing) as error:
        found.append(Finding("connection", Severity.ERROR, str(error), "nothing works without a connection"))
        _show(report, found, output)
        report.end()
    try:
        with q_mgr:
            found += _encryption(connection)
            look = QueueLook(queue or "")
            if queue is not None:
                named = named_status_queues(q_mgr, name, role and Role(role), status_queue)
                since = put_time(datetime.now(UTC) - STALLED_AFTER)
                look = look_at_queue(q_mgr, queue, browsed, named=named, quiet_since=since, name=name or "NAME")
            channel = connection["channel"] if connection["conn_name"] else None
            examined = examine(q_mgr, **asked, channel=channel, principal=connection["user"], group=look.largest())
            told = {f"status queue {each}" for each in look.deals_with()}
            found += (each for each in examined if each.subject not in told)
            # A finding on a status queue may be the reason why a group lacks a record.
            found += look.findings() if queue is not None else ()
    except (MQIError, CommandRefused) as error:
        _show(report, found, output)
        report.fail(ExitCode.FAILED, error)
    _show(report, found, output)
    report.end()


def _encryption(connection: dict[str, Any]) -> Iterator[Finding]:
    conn_name = connection["conn_name"] or ""
    local = not conn_name or conn_name.startswith(("localhost", "127.", "[::1]"))
    if connection["cipher_spec"] is None and connection["ccdt_url"] is None and not local:
        found = f"no CipherSpec to {conn_name}"
        why = "messages, user and password can be read on the network"
        yield Finding("TLS", Severity.WARNING, found, why, "--cipher-spec and --key-repository; SSLCIPH of the channel")
    else:
        unsaid = "as the CCDT says" if connection["ccdt_url"] else "none, on this machine"
        yield ok("TLS", connection["cipher_spec"] or unsaid)
    yield ok("user", connection["user"] or "the user of this process, without a password")


def _show(report: Report, found: Sequence[Finding], output: str) -> None:
    """Show the findings, the worst first. The text output only counts findings that are in order."""
    counts = Counter(each.severity for each in found)
    if counts[Severity.UNSEEN]:
        report.found(ExitCode.NOT_SEEN)
    if counts[Severity.ERROR]:
        report.found(ExitCode.FAILED)
    worst_first = sorted(found, key=lambda each: [*COLOURS].index(each.severity))
    report.values["findings"] = [{**asdict(each), "severity": each.severity.value} for each in worst_first]
    said = tally("check", Severity, counts)
    if output == "mqsc":
        # The commands are in the order in which they depend on each other.
        for each in found:
            _show_mqsc(report, each)
        said = f"* {said}"
    elif output == "table":
        for each in worst_first[: len(found) - counts[Severity.OK]]:
            _show_text(report, each)
    report.print(said)


def _show_text(report: Report, finding: Finding) -> None:
    from rich.text import Text

    severity = finding.severity
    found = printable(f"{finding.subject}: {finding.found}")
    report.print(Text.assemble((severity.value.ljust(_LABEL), COLOURS[severity]), f"  {found}"))
    indent = " " * (_LABEL + 2)
    report.print(*([f"{indent}why: {finding.why}"] if finding.why else []))
    report.print(*(f"{indent}do:  {each}" for each in (*finding.mqsc, *finding.remedy.splitlines())), wrap=False)


def _show_mqsc(report: Report, finding: Finding) -> None:
    if finding.severity is Severity.OK:
        return
    said = ": ".join(filter(None, (finding.severity.value, finding.subject, finding.found, finding.why)))
    for line in textwrap.wrap(said, _FILE_WIDTH - len("* "), break_on_hyphens=False):
        report.print(f"* {line}", wrap=False)
    report.print(*(f"* do: {line}" for line in finding.remedy.splitlines()), wrap=False)
    report.print(*finding.mqsc, wrap=False)

"""The command ``mqgroups recover``: reports an owner's status queue as text or JSON, and as an exit code.

It is meant to run before an application: as ``ExecStartPre=`` of a systemd unit, or in an init container. There exit code 0 must
mean "start the application". So an interrupted group is not a failure, because the start resumes it; only ``--check`` reports it
with a code of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import click

from mqgroups import operate
from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.groups import browsed
from mqgroups.cli.options import WAIT_S, adopt_options, name_option, output_option
from mqgroups.cli.report import Report, error_values, record_values
from mqgroups.cli.settings import setting_options
from mqgroups.cli.table import Output
from mqgroups.cli.words import number, put_time
from mqgroups.config import status_queue_name
from mqgroups.core.model import Role
from mqgroups.core.status import RecordState
from mqgroups.errors import ConnectionBroken, MQIError, RepairRefused, StatusError
from mqgroups.operate.adopt import Adoption
from mqgroups.operate.look import look_at_queue, pipe_findings
from mqgroups.operate.rules.findings import Finding
from mqgroups.operate.rules.judgement import Cause
from mqgroups.operate.rules.owner_state import AT_WORK, OwnerState, SeenOwner
from mqgroups.operate.takeover import Takeover
from mqgroups.printable import printable
from mqgroups.queue_manager import QueueManager
from mqgroups.settings import Owning

if TYPE_CHECKING:
    from rich.text import Text


@click.command()
@name_option
@click.option("--role", type=click.Choice(["put", "get"]), help="Producer (put) or consumer (get). Default: both.")
@click.option("--check", is_flag=True, help="Change nothing, and exit with 3 if a group is interrupted.")
@click.option(
    "--must-exist",
    is_flag=True,
    help="Exit with 7 if there is no status queue: nothing ever started under this name, or it is misspelt.",
)
@click.option(
    "--queue",
    metavar="QUEUE",
    help="The queue that it puts to or gets from, to compare with its status record. For a producer the queue is browsed, too.",
)
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(["no-record"]),
    help="no-record: groups on --queue without an end and without a record belong to other programs.",
)
@click.option(
    "--status-queue",
    metavar="QUEUE",
    help="Its status queue; needs --role. Default: MQGROUPS.PUT.NAME or MQGROUPS.GET.NAME.",
)
@setting_options(Owning, "status_model")
@click.option(
    "--takeover",
    metavar="OTHER",
    help="Give NAME the interrupted group of OTHER, which will not come back; needs --role. NAME's next start resumes it.",
)
@adopt_options
@connection_options()
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="How long to wait for the queue manager, and for another instance of this name to end. "
    f"Default: {WAIT_S:g}, or 0 with --check.",
)
@output_option
def recover(
    name: str,
    role: Literal["put", "get"] | None,
    check: bool,
    must_exist: bool,
    queue: str | None,
    accept: Sequence[str],
    status_queue: str | None,
    status_model: str,
    takeover: str | None,
    adopt_from: str | None,
    instance: tuple[str, str] | None,
    apply: bool,
    wait_s: float | None,
    output: Output,
    **connection: Any,
) -> None:
    """Inspect the status queue of a producer or consumer before it is started.

    An interrupted group is not changed: the start resumes it. A status record that is no longer needed (of no group, or of a
    completed group without a checkpoint) is removed, unless --check is given. Nothing else is changed. With --role, and if there
    is no status queue yet, the model queue is tested: a queue is made from it and deleted again.

    With --queue, a producer must not start if its record contradicts the messages, or if the queue has a group without an end
    that no record names: its record may be lost, and a start would put these messages a second time.

    With --takeover, the interrupted group of another name, whose program will not come back, is given to this name, in one unit
    of work.

    With --adopt-from, a record that was moved here from another queue manager is adopted; with --instance, one whose group's
    messages were moved to another instance of its queue. Without --apply, the command only says what it would do.

    \b
    Exit codes:
      0  the application may start; if a group is interrupted, that resumes it
      1  failed; standard error says why
      2  the command line is wrong
      3  with --check: a group is interrupted, and the next start resumes it
      4  another instance of this name is active, or not gone yet after --wait
      5  the status queue is in disarray, or messages could be put twice: look
      6  the queue manager cannot be connected to
      7  with --must-exist or --adopt-from: there is no status queue;
         with --takeover: of OTHER
    """
    if status_queue is not None and role is None:
        raise click.UsageError("--status-queue needs --role")
    if takeover is not None and role is None:
        raise click.UsageError("--takeover needs --role")
    moved = adopt_from is not None or instance is not None
    if moved and (takeover is not None or check):
        raise click.UsageError("--adopt-from and --instance cannot be combined with --takeover or --check")
    if apply and not moved:
        raise click.UsageError("--apply needs --adopt-from or --instance")
    if wait_s is None:
        wait_s = 0.0 if check else WAIT_S
    report = _Report(name, connection["q_mgr_name"], check=check, is_compared=queue is not None, output=output)
    with connected(report, wait_s, **connection) as q_mgr:
        if takeover is not None and role is not None:
            _take_over(q_mgr, report, takeover, name, role, queue, status_queue, status_model, wait_s, check=check)
        roles: Sequence[Literal["put", "get"]] = (role,) if role else ("put", "get")
        if moved:
            _adopt(q_mgr, report, name, roles, adopt_from, instance, queue, status_queue, wait_s, apply=apply)
        producer: SeenOwner | None = None
        for each in roles:
            try:
                status = operate.inspect_owner(
                    q_mgr,
                    name,
                    each,
                    queue=queue,
                    status_queue=status_queue,
                    # Without a model nothing is made, and a queue that is not there is told.
                    status_model=status_model if role and not must_exist else None,
                    wait_s=wait_s,
                    tidy=not check,
                )
            except StatusError as error:
                report.disarray(each, error)
            else:
                of_pipe = pipe_findings(producer, status) if producer is not None else ()
                report.found(status, [*_contradictions(q_mgr, report, status, queue, accept), *of_pipe])
                producer = status if each == "put" else None
        if must_exist:
            report.must_exist()
    report.end()


def _contradictions(
    q_mgr: QueueManager, report: _Report, status: SeenOwner, queue: str | None, accept: Sequence[str]
) -> Sequence[Finding]:
    """Return why a start of this producer could put messages a second time, as far as the queue shows it; nothing without one."""
    if queue is None or status.role != "put" or status.state in AT_WORK:
        return ()
    named = [] if status.state is OwnerState.UNKNOWN else [status.status_queue]
    try:
        look = look_at_queue(
            q_mgr,
            queue,
            browsed,
            named=named,
            quiet_since=put_time(datetime.now(UTC)),
            name=status.name,
            status_queue=status.status_queue,
        )
    except ConnectionBroken:
        raise
    except MQIError as error:
        report.note(f"not seen: whether a group on {queue} has lost its record: {error}")
        return ()
    if status.record is None and "no-record" not in accept and Cause.UNNAMED in look.first:
        report.note(f"not seen: whether a group on {queue} has lost its record: {'; '.join(look.unseen)}")
    return list(look.against_start(status, other_programs="no-record" in accept))


def _take_over(
    q_mgr: QueueManager,
    report: _Report,
    takeover: str,
    name: str,
    role: Literal["put", "get"],
    queue: str | None,
    status_queue: str | None,
    status_model: str,
    wait_s: float,
    *,
    check: bool,
) -> None:
    try:
        report.taken_over(
            operate.take_over(
                q_mgr,
                takeover,
                role,
                by=name,
                by_status_queue=status_queue,
                status_model=status_model,
                queue=queue,
                wait_s=wait_s,
                check=check,
            ),
            Role(role),
        )
    except StatusError as error:
        report.disarray(role, error)
        report.end()


def _adopt(
    q_mgr: QueueManager,
    report: _Report,
    name: str,
    roles: Sequence[Literal["put", "get"]],
    adopt_from: str | None,
    instance: tuple[str, str] | None,
    queue: str | None,
    status_queue: str | None,
    wait_s: float,
    *,
    apply: bool,
) -> None:
    """Adopt the records. Without ``apply``, or if something is wrong, the report ends: a start would be refused."""
    for role in roles:
        try:
            report.adopted(
                operate.adopt(
                    q_mgr,
                    name,
                    role,
                    adopt_from=adopt_from,
                    instance=instance,
                    queue=queue,
                    status_queue=status_queue,
                    wait_s=wait_s,
                    check=not apply,
                )
            )
        except StatusError as error:
            report.disarray(role, error)
            report.end()
    if not apply or report.code:
        report.end()


class _Report(Report):
    """The findings for each role; the exit code is that of the worst one."""

    def __init__(self, name: str, q_mgr_name: str, *, check: bool, is_compared: bool, output: Output) -> None:
        super().__init__(output, "owners", name=name, q_mgr_name=q_mgr_name, owners=[])
        self._check = check
        self._is_compared = is_compared

    def found(self, status: SeenOwner, contradictions: Sequence[Finding]) -> None:
        """Report the state of a status queue, and why the owner must not start although the status queue is in order."""
        if contradictions:
            self.at_least(ExitCode.DISARRAY)
        if status.state in AT_WORK:
            self.at_least(ExitCode.OWNER_ACTIVE)
        elif status.state is OwnerState.INTERRUPTED and self._check:
            self.at_least(ExitCode.INTERRUPTED)
        self.values["owners"].append(
            {
                "role": status.role,
                "status_queue": status.status_queue,
                "state": status.state.value,
                "taken_away": status.taken_away,
                "put_by": status.put_by,
                "record": record_values(status.record),
                "contradictions": [
                    {"found": each.found, "why": each.why, "remedy": each.remedy} for each in contradictions
                ],
            }
        )
        style, lines = _lines(status)
        for each in contradictions:
            style, lines[0] = "red", f"{status.role} {status.name}: do NOT start it yet: {each.found}"
            lines.append(f"why           {each.why}")
        if status.role == "put" and status.record is None and status.state not in AT_WORK and not self._is_compared:
            lines.append("messages      not compared: a lost record is found with --queue QUEUE only")
        self.print(_text(style, lines))
        self.print(*(f"  {line}" for each in contradictions for line in each.remedy.splitlines()), wrap=False)

    def must_exist(self) -> None:
        """Exit with MISSING if none of the roles has a status queue."""
        if all(owner["state"] == OwnerState.UNKNOWN.value for owner in self.values["owners"]):
            self.at_least(ExitCode.MISSING)

    def taken_over(self, done: Takeover, role: Role) -> None:
        """Report a takeover."""
        self.add(takeover={"from": done.name, "done": done.done, "record": record_values(done.record)})
        if done.unknown:
            self.at_least(ExitCode.MISSING)
            missing = f"there is no {status_queue_name(role, done.name, None)}"
            self.print(f"{done.name} was never started, or its status queue was deleted: {missing}")
            self.end()
        if done.record is None:
            self.print(f"{done.name} has no interrupted group, and no checkpoint")
            return
        tense = "took" if done.done else "would take"
        what = f"the checkpoint of {done.name}, which has no interrupted group"
        if done.record.state is RecordState.IN_GROUP:
            what = f"group {done.record.group_id.hex()} of {done.name}, at message {done.record.msg_seq_number}"
        self.print(f"{done.by} {tense} over {what}")

    def adopted(self, done: Adoption) -> None:
        """Report an adoption."""
        values = {"role": done.role, "status_queue": done.status_queue, "done": done.done}
        every = self.values.setdefault("adopted", [])
        every.append({**values, "unknown": done.unknown, "record": record_values(done.record)})
        self.code = ExitCode.MISSING if all(each["unknown"] for each in every) else ExitCode.DONE
        record = done.record
        if record is None:
            why = "there is no status queue" if done.unknown else "the start can use its status queue as it is"
            self.print(f"{done.role} {done.name}: nothing to adopt: {why}")
            return
        what = f"the record of {done.role} {done.name} on {done.status_queue}"
        rest = f"; the rest of its group goes to queue manager {record.resolved_q_mgr_name}"
        has_rest = record.state is RecordState.IN_GROUP and record.resolved_q_mgr_name
        self.print(f"{'adopted' if done.done else 'would adopt'} {what}{rest if has_rest else ''}")
        if not done.done:
            self.print("--apply does it")

    def disarray(self, role: str, error: StatusError) -> None:
        """Report the error of a status queue that cannot be used."""
        self.at_least(ExitCode.DISARRAY)
        self.values["owners"].append(
            {"role": role, "status_queue": error.status_queue, "state": "disarray", **error_values(error)}
        )
        what = "not taken over" if isinstance(error, RepairRefused) else "status queue in disarray"
        self.print(_text("red", [f"{role} {self.values['name']}: {what}", str(error)]))


def _text(style: str, lines: list[str]) -> Text:
    """Return the first line in bold and in colour, and the others below it."""
    from rich.text import Text

    first, *others = map(printable, lines)
    return Text.assemble((first, f"bold {style}"), *(f"\n  {each}" for each in others))


_SENTENCES = {
    OwnerState.UNKNOWN: (
        "yellow",
        "unknown: there is no status queue, so this name was never used or its status queue was deleted",
    ),
    OwnerState.INTERRUPTED: ("yellow", "a group is interrupted, and the next start resumes it"),
    OwnerState.ACTIVE: ("red", "another instance of this name is active, or not gone yet"),
    OwnerState.HIDDEN: (
        "red",
        "not gone yet: its status record is hidden by a unit of work, or lost; see mqgroups doctor",
    ),
    OwnerState.CHECKPOINT: ("green", "clean, with a checkpoint; no group is interrupted"),
}


def _lines(status: SeenOwner) -> tuple[str, list[str]]:
    """Return a colour and the lines to print."""
    record = status.record
    style, sentence = _SENTENCES.get(status.state, ("green", "clean, no group is interrupted"))
    lines = [f"{status.role} {status.name}: {sentence}", f"status queue  {status.status_queue}"]
    if record is not None:
        removed = ", removed" if status.taken_away else ""
        lines.append(
            f"record        {record.state.value}, unit of work {record.unit_of_work}, epoch {record.epoch}{removed}"
        )
    if status.put_by:
        lines.append(f"put by        user {status.put_by}")
    if record is not None and record.state is not RecordState.IDLE:
        inside = f" and {record.offset} bytes of the next" if record.offset else ""
        lines += [
            f"group         {record.group_id.hex()} on queue {record.queue}",
            f"committed     {number(record.msg_seq_number, 'message')}{inside}",
            f"checkpoint    {record.checkpoint!r}",
        ]
        lines += [f"property      {name} = {value!r}" for name, value in (record.properties or {}).items()]
    return style, lines

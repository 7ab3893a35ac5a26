"""What the campaign says at its end: a table by pattern, and whether it noticed what was taken out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from tests.faults.result import Result

_KINDS_SHOWN = 25


def print_report(
    console: Console, title: str, phases: Sequence[str], names: Sequence[str], results: Callable[[str, str], Result]
) -> None:
    """Print the figures of the patterns of these names; ``results`` sums those of a phase and a pattern, "" for all."""
    table = Table(title=title)
    for column in ("pattern", *phases, "starts", "in doubt", "verdicts", "right", "errors", "violations"):
        table.add_column(column, justify="left" if column == "pattern" else "right")
    for name in (*names, ""):
        one = results("", name)
        if not one.runs:
            continue
        counts = [results(phase, name).runs for phase in phases]
        right = f"{(one.verdicts - one.wrong_verdicts) / one.verdicts:.0%}" if one.verdicts else ""
        figures = (*counts, one.starts, one.in_doubt, one.verdicts)
        row = [name or "in all", *(f"{count:,}" for count in figures), right]
        table.add_row(*row, f"{sum(one.errors.values()):,}", str(len(one.wrong)), style="" if name else "bold")
    console.print(table)
    total = results("", "")
    errors = sorted(total.errors.items(), key=lambda item: -item[1])
    console.print(
        "Errors that reached an application: " + (", ".join(f"{what} {count:,}" for what, count in errors) or "none")
    )
    for phase in phases:
        _print_phase(console, phase, results(phase, ""))
    if total.places:
        at = ", ".join(f"{count:,} at {where.replace(' ', ' and ')}" for where, count in sorted(total.places.items()))
        console.print(f"Groups on cluster queues: {total.groups:,}, {total.split:,} of them split: {at}")


def _print_phase(console: Console, phase: str, result: Result) -> None:
    """Print how the cases of a phase ended, and the kinds of what is wrong."""
    if result.outcomes:
        console.print(f"{phase}: " + ", ".join(f"{what} {count:,}" for what, count in sorted(result.outcomes.items())))
    kinds = result.kinds()
    if kinds:
        failed = len({wrong.partition(": ")[0] for wrong in result.wrong})
        console.print(
            f"{phase}: {failed:,} of {result.runs:,} cases failed, {len(result.wrong):,} violations of these kinds:"
        )
        for kind, count in [*kinds.items()][:_KINDS_SHOWN]:
            console.print(f"  {count:6,}  {kind}", highlight=False, markup=False, soft_wrap=True)


@dataclass(frozen=True)
class TakenOut:
    """What came of the campaign without some safeties."""

    safeties: Sequence[str]
    total: Result

    @property
    def noticed(self) -> bool:
        """Whether it found what it had to: split groups, or the error of who compares and stops before that."""
        total = self.total
        found = total.split if "comparison" in self.safeties else total.errors.get("QueueManagerChanged", 0)
        return bool(found and total.wrong)

    def __str__(self) -> str:
        total = self.total
        failed = len({wrong.partition(":")[0] for wrong in total.wrong})
        stopped = total.errors.get("QueueManagerChanged", 0)
        return (
            f"Without the {' and the '.join(self.safeties)}: {failed:,} of {total.runs:,} cases failed, {total.split:,} of "
            f"{total.groups:,} groups split, {stopped:,} times QueueManagerChanged: "
            + ("as it has to be" if self.noticed else "NOT NOTICED")
        )

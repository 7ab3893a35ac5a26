"""The report as a picture: messages, latencies and rejected groups. It needs matplotlib (the extra ``mqgroups[report]``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mqgroups.spark.pipeline.records import BatchRecord
from mqgroups.spark.pipeline.report import Report, quantile

PNG_NAME = "report.png"
_PASSED, _REJECTED, _MEDIAN, _GREY = "#2a6f97", "#d1495b", "#edae49", "#666666"


def write_png(report: Report, records: Sequence[BatchRecord], folder: Path) -> Path:
    """Draw a report into a file in ``folder``; returns the file's path.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    # pyplot is not used, because it keeps state and looks for a display.
    figure = Figure(figsize=(10, 7.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    much, late, why = figure.subplots(3, 1, height_ratios=(3, 3, 1 + 0.4 * max(1, len(report.reasons))))
    numbers = [record.batch for record in records]

    refused = [sum(each.messages for each in record.rejected) for record in records]
    read = [record.messages - bad for record, bad in zip(records, refused, strict=True)]
    much.bar(numbers, read, color=_PASSED, label="groups that passed")
    much.bar(numbers, refused, bottom=read, color=_REJECTED, label="groups rejected")
    much.set_ylabel("messages")
    much.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))

    late_numbers = [record.batch for record in records for _ in record.latencies_s]
    latencies = [latency for record in records for latency in record.latencies_s]
    late.plot(late_numbers, latencies, "o", color=_PASSED, alpha=0.45, markersize=5, label="a group")
    medians = [(record.batch, quantile(sorted(record.latencies_s), 0.5)) for record in records if record.latencies_s]
    late.plot(
        *zip(*medians, strict=True) if medians else ([], []), "_", color=_MEDIAN, markersize=16, markeredgewidth=3
    )
    late.plot([], [], "_", color=_MEDIAN, markersize=10, markeredgewidth=3, label="median")
    late.set_ylabel("put to commit, s")
    late.set_ylim(0, 1.15 * max([1.0, *latencies]))
    late.set_xlabel("micro-batch")
    for axes in (much, late):
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False, ncols=2)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if numbers:
            axes.set_xlim(min(numbers) - 0.6, max(numbers) + 0.6)

    reasons = list(reversed(report.reasons.items()))
    bars = why.barh([reason for reason, _ in reasons], [count for _, count in reasons], color=_REJECTED, height=0.6)
    why.bar_label(bars, padding=4, color=_GREY)
    why.set_xlabel("groups rejected")
    why.xaxis.set_major_locator(MaxNLocator(integer=True))
    why.set_xlim(0, 1.1 * max([1, *report.reasons.values()]))
    if not reasons:
        why.text(0.5, 0.5, "none", ha="center", va="center", transform=why.transAxes, color=_GREY)
        why.set_yticks([])

    for axes in (much, late, why):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=_GREY)
    figure.suptitle(
        f"{report.pipeline}: {report.groups:,} groups, {report.messages:,} messages in {report.micro_batches:,} micro-batches, "
        f"{report.rate:,.0f} messages a second",
        fontsize=12,
    )
    path = folder / PNG_NAME
    figure.savefig(path)
    return path

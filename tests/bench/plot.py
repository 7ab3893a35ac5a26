"""The plot of the part ``latency``: messages a second by latency, as SVG. It needs matplotlib (the extra ``test``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt

# The way, its colour, and the style of its line.
Line = tuple[str, str, str]
_INK, _GRID = "#333333", "#dddddd"


def draw(
    path: Path, latencies_ms: Sequence[float], rates: Mapping[str, Sequence[float]], lines: Sequence[Line]
) -> None:
    """Write the plot.

    Args:
        path: of the SVG file.
        latencies_ms: the latencies in each direction, ascending; the first may be 0.
        rates: messages a second at each latency, by way.
        lines: which ways are shown, from the fastest to the slowest, each with colour and style.
    """
    # Texts stay texts, and the same figures make the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "mqgroups", "font.family": "sans-serif"}):
        figure, axes = plt.subplots(figsize=(8, 4.6))
        places = range(len(latencies_ms))
        for way, colour, style in lines:
            if way in rates:
                axes.plot(places, rates[way], style, color=colour, label=way, linewidth=1.8, markersize=5)
        axes.set_yscale("log")
        axes.set_xticks(list(places), [f"{latency:g}" for latency in latencies_ms])
        axes.set_xlabel("latency in each direction, ms", color=_INK)
        axes.set_ylabel("messages a second", color=_INK)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.grid(visible=True, which="major", color=_GRID, linewidth=0.8)
        axes.tick_params(colors=_INK, which="both")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(frameon=False, loc="lower left", fontsize=9)
        figure.tight_layout()
        figure.savefig(path, format="svg", facecolor="white", metadata={"Date": None})
        plt.close(figure)

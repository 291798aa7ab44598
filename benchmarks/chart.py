"""Draw a table's panels as an SVG. Runs under the peers' Python, the only one that has matplotlib.

Each panel has a scale of its own: what matters is how the engines compare within it.
"""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.clock import job, report

OURS, OTHERS = "#c2410c", "#94a3b8"


def draw(title: str, panels: list[dict[str, Any]], limit: float, path: str) -> None:
    """Write bars of seconds, an engine a bar, a panel a case; letters become shapes, so no font is needed."""
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "exactbpe", "font.size": 8})
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    rows = (len(panels) + 1) // 2
    most = max(len(panel["seconds"]) for panel in panels)
    figure, axes = pyplot.subplots(rows, 2, figsize=(8, rows * (0.5 + 0.19 * most) + 0.4), squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    for axis, panel in zip(axes.flat, panels, strict=False):
        names = list(panel["seconds"])
        values = [limit if s is None else s for s in panel["seconds"].values()]
        labels = [f"> {limit:g} s" if s is None else f"{s:.3g} s" for s in panel["seconds"].values()]
        bars = axis.barh(names, values, color=[OURS if name == "exactbpe" else OTHERS for name in names])
        axis.bar_label(bars, labels, padding=3)
        axis.set_title(panel["title"].replace("`", ""), fontsize=9, loc="left")
        axis.invert_yaxis()
        axis.set_xlim(0, max(values) * 1.25)
        axis.xaxis.set_visible(False)
        axis.tick_params(left=False)
        for side in ("top", "right", "bottom"):
            axis.spines[side].set_visible(False)
    figure.suptitle(title, fontsize=10)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    task = job()
    draw(task["title"], task["panels"], task["bar"], task["path"])
    report(0, 0, "")

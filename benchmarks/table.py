"""What a benchmark hands back, and how it is shown: Markdown on the terminal and in the README."""

from __future__ import annotations

import datetime
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import Options, Series
from benchmarks.peers import versions
from benchmarks.places import README


@dataclass
class Panel:
    """One part of a picture: what was done, and the seconds of each engine; ``None`` is a time-out."""

    title: str
    seconds: dict[str, float | None]


@dataclass
class Table:
    """A benchmark's result."""

    name: str
    title: str
    header: list[str]
    peers: list[str]  # distributions whose versions belong under the table
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)


def at_least(what: str, value: float, must: float, aim: float | None = None) -> str:
    """A goal for a number that should be high, and whether it is met."""
    return _goal(f"{what} {value:.2f}×", value >= must, f"≥ {must:g}×", None if aim is None else f"{aim:g}×")


def at_most(what: str, value: float, must: float, aim: float | None = None, unit: str = " s") -> str:
    """A goal for a number that should be low, and whether it is met."""
    wanted = None if aim is None else f"{aim:g}{unit}"
    return _goal(f"{what} {value:.3g}{unit}", value <= must, f"≤ {must:g}{unit}", wanted)


def _goal(shown: str, met: bool, must: str, aim: str | None) -> str:
    wanted = must if aim is None else f"{must}, aim {aim}"
    return f"{shown} {'✓' if met else '**missed**'} ({wanted})"


def cell(series: Series, *, memory: bool = True) -> str:
    """Time and peak memory, or why there is none."""
    if not series.ok:
        return series.failure.split(":")[0]
    return f"{span(series.time)}, {series.peak / 1e6:.0f} MB" if memory else span(series.time)


def span(seconds: float) -> str:
    """Seconds in the unit that reads best."""
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def markdown(table: Table, options: Options) -> str:
    """The table with machine, versions, date and the command that repeats it."""
    lines = [f"## {table.title}", "", _row(table.header), _row(["---"] * len(table.header))]
    lines += [_row(row) for row in table.rows]
    lines += ["", *(f"- {note}" for note in table.notes)]
    if not options.corpora.is_dir():
        lines.append(f"- There is no folder {options.corpora}, so the texts are generated ones.")
    quick = " --quick" if options.quick else ""
    lines += [
        f"- {machine()}; Python {platform.python_version()}; {versions(table.peers)}.",
        f"- {datetime.date.today().isoformat()}, median of {options.runs}; repeat with "
        f"`.venv/bin/python -m benchmarks {table.name}{quick} --runs {options.runs}`.",
    ]
    return "\n".join(lines) + "\n"


def write(table: Table, text: str) -> None:
    """Put ``text`` between the table's markers in the README."""
    start, end = f"<!-- {table.name}:start -->", f"<!-- {table.name}:end -->"
    page = README.read_text(encoding="utf-8")
    before, _, rest = page.partition(start)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{README} has no {start} ... {end}")
    README.write_text(f"{before}{start}\n{text}{end}{after}", encoding="utf-8")


def machine() -> str:
    """The processor, how many cores this process may use, and the system."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores, {platform.system()}"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

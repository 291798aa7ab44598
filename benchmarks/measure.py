"""Start one process a measurement, repeat, and sum up.

Competitors take turns within a run, so that a noisy minute of the machine hits all of them, and a ratio is
the median of the ratios within the runs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.places import ROOT


class MismatchError(Exception):
    """Two outputs that should be equal are not: no figure of that table is worth printing."""


# Seconds for all that is not measured: reading, loading a vocabulary, making answers comparable.
PATIENCE = 180


@dataclass(frozen=True)
class Options:
    """What the command line decides for all tables."""

    runs: int
    limit: float  # seconds a measurement may take
    quick: bool
    corpora: Path
    only: str = ""  # what a row's title must hold


@dataclass(frozen=True)
class Job:
    """One thing to measure: a module of this package, run by one of the two Pythons with JSON arguments."""

    engine: str
    threads: int
    python: Path
    module: str
    arguments: Mapping[str, object]
    title: str = ""  # tells jobs of one engine apart

    @property
    def key(self) -> tuple[str, int]:
        """Where its results are found."""
        return self.title or self.engine, self.threads


@dataclass
class Series:
    """The outcomes of one job, a run after the other."""

    seconds: list[float] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    reports: list[Any] = field(default_factory=list)
    failure: str = ""
    unfinished: float = 0.0  # after so many seconds it was stopped

    @property
    def ok(self) -> bool:
        """Whether there are figures."""
        return bool(self.seconds) and not self.failure

    @property
    def time(self) -> float:
        """The median of the seconds."""
        return median(self.seconds)

    @property
    def peak(self) -> float:
        """The median of the peak memory, in bytes."""
        return median(self.peaks)

    @property
    def digests(self) -> set[str]:
        """The fingerprints of the outputs; one if every run gave the same."""
        return {report["digest"] for report in self.reports}

    def times_faster_than(self, other: Series) -> float:
        """How many times faster this is than ``other``: the median over the runs."""
        return median(theirs / ours for ours, theirs in zip(self.seconds, other.seconds, strict=False))


Results = dict[tuple[str, int], Series]


def measure(jobs: Sequence[Job], options: Options) -> Results:
    """Run ``jobs`` in turn, ``options.runs`` times; what fails or runs out of time is not repeated."""
    results: Results = {job.key: Series() for job in jobs}
    for run in range(options.runs):
        for job in jobs:
            series = results[job.key]
            if not series.failure:
                print(
                    f"  run {run + 1}: {job.key[0]}, {job.threads} thread(s)",
                    end=" ",
                    file=sys.stderr,
                    flush=True,
                )
                _add(series, job, options.limit, first=run == 0)
                print(series.failure or f"{series.seconds[-1]:.4g} s", file=sys.stderr)
    return results


def once(job: Job, limit: float = 3600.0) -> Any:
    """The report of one run of ``job`` that must succeed."""
    series = Series()
    _add(series, job, limit, first=True)
    if series.failure:
        raise RuntimeError(f"{job.module} with {job.engine}: {series.failure}")
    return series.reports[0]


def _add(series: Series, job: Job, limit: float, *, first: bool) -> None:
    arguments = {
        **job.arguments,
        "engine": job.engine,
        "threads": job.threads,
        "limit": limit,
        "first": first,
    }
    try:
        done = subprocess.run(
            [job.python, "-m", job.module, json.dumps(arguments)],
            cwd=ROOT,
            env=_environment(job.threads),
            preexec_fn=lambda: _bind(job.threads),
            capture_output=True,
            timeout=limit + PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        series.failure = f"failed: not ready for work, or not done after it, within {PATIENCE} s"
        return
    if done.returncode == -signal.SIGALRM:
        series.failure = f"> {limit:g} s"
        series.unfinished = limit
    elif done.returncode != 0:
        errors = done.stderr.decode(errors="replace").strip().splitlines() or [
            f"exit status {done.returncode}"
        ]
        series.failure = f"failed: {errors[-1][:200]}"
    else:
        report = json.loads(done.stdout.splitlines()[-1])
        series.seconds.append(report["seconds"])
        series.peaks.append(report["peak"])
        series.reports.append(report)


def _environment(threads: int) -> dict[str, str]:
    """The peers take their number of threads from the environment."""
    parallel = "true" if threads > 1 else "false"
    return {**os.environ, "RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": parallel}


def _bind(threads: int) -> None:
    """Give the process as many cores as threads: some peers start a thread a core, whatever they are told."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[-threads:])

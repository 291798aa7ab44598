"""How far long work has come, on the terminal of who waits for it."""

from __future__ import annotations

import math
import os
import sys
import time

import click

from exactbpe.progress import Progress


class StageLine:
    """How far a stage has come, in one line on standard error if that is a terminal with room for it."""

    COLUMNS = 80

    def __init__(self, stage: str, total: int | None = None) -> None:
        self._latest: Progress | None = None
        self._earlier_files = 0
        self._bar = click.progressbar(
            iter(int, 1),  # endless: click asks for a length otherwise
            length=total,
            label=stage,
            file=sys.stderr,
            show_eta=False,
            item_show_func=lambda _: self._facts(),
            bar_template="%(label)s  [%(bar)s]  %(info)s",
            width=24,
            hidden=_terminal_columns() < self.COLUMNS,
        )

    def __enter__(self) -> StageLine:
        self._bar.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._bar.finish()
            self._bar.render_progress()
        self._bar.render_finish()

    def __call__(self, progress: Progress) -> None:
        self._latest = progress
        if progress.stage == "learn":  # only now it is known how many merges there can be
            self._bar.length = progress.total
        self._bar.update(self._earlier_files + progress.done - self._bar.pos)

    def next_file(self) -> None:
        self._earlier_files = self._bar.pos

    def _facts(self) -> str:
        if (now := self._latest) is None:
            return ""
        rate = f"{now.rate / 1e6:,.1f} MB/s" if now.stage == "count" else f"{now.rate:,.0f} merges/s"
        left = "" if self._bar.finished else self._time_left(now.stage)
        return f"{rate:>16}  {now.memory / 1e6:>6,.0f} MB  {left}"

    def _time_left(self, stage: str) -> str:
        done, total = self._bar.pos, self._bar.length
        if not total or not done:
            return ""
        share = done / total
        if stage == "learn":
            # About half the time goes with the merges, half with the occurrences of their pairs, of which
            # the n-th pair has about 1/n as many as the first.
            share = (share + math.log1p(done) / math.log1p(total)) / 2
        seconds = round((time.time() - self._bar.start) * (1 / share - 1))
        return f"{seconds // 60}:{seconds % 60:02} left"


def _terminal_columns() -> int:
    """The width of the terminal at standard error; 0 if there is none."""
    if sys.stderr is None or not sys.stderr.isatty():
        return 0
    return os.get_terminal_size(sys.stderr.fileno()).columns or StageLine.COLUMNS

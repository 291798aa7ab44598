"""What long work tells of itself on its way."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """How far a stage has come."""

    stage: str
    """``"count"`` or ``"learn"``."""
    done: int
    """Bytes counted, or merges learned."""
    total: int | None
    """What ``done`` will reach at most; ``None`` where nobody knows."""
    rate: float
    """``done`` a second, since the stage began."""
    memory: int
    """Bytes that the stage's own tables take now."""


ProgressCallback = Callable[[Progress], object]


class Reporter:
    """Calls back at most ten times a second, and once at the end."""

    def __init__(self, callback: ProgressCallback | None, stage: str, total: int | None) -> None:
        self._callback = callback
        self._stage = stage
        self._total = total
        self._start = self._last = time.monotonic()

    def report(self, done: int, memory: int, *, last: bool = False) -> None:
        now = time.monotonic()
        if self._callback is None or (now - self._last < 0.1 and not last):
            return
        self._last = now
        rate = done / max(now - self._start, 1e-9)
        self._callback(Progress(self._stage, done, self._total, rate, memory))

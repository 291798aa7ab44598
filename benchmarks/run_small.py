"""Small work, the size of one request: the median of many calls within one process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import exactbpe

from benchmarks.clock import digest, job, peak_memory, report

CALLS = {"solve": 50, "train": 5_000}
CORPUS = ["low lower lowest"]


def main() -> None:
    """Measure what the harness asked for; the first call is a figure of its own."""
    task = job()
    if task["what"] == "reference":
        answer = exactbpe.reference.solve(Path(task["request"]).read_text(encoding="utf-8"))
        report(0, 0, digest(answer), answers=_size(answer))
        return
    call: Callable[[], Any]
    if task["what"] == "solve":
        request = Path(task["request"]).read_text(encoding="utf-8")
        call = lambda: exactbpe.solve(request)  # noqa: E731
    else:
        call = lambda: exactbpe.train(CORPUS, 11)  # noqa: E731
    seconds = []
    for _ in range(CALLS[task["what"]]):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    fresh = exactbpe.reference.train(CORPUS, 11) if task["what"] == "train" else None
    report(
        median(seconds),
        peak_memory(),
        digest(result),
        first_call=seconds[0],
        equal=fresh is None or fresh == result,
    )


def _size(answer: str) -> int:
    """How many merges or tokens an answer holds."""
    return len(next(iter(json.loads(answer).values())))


if __name__ == "__main__":
    main()

"""Explain where two lists of merges part: recount both candidates at that point, and see whether they tie.

The recount shares nothing with the trainers: words are counted by Python, split by the merges that both
lists have in common, and neighbours are counted by NumPy. By SPEC 7 (5) that is the trainer's own state.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import exactbpe
import numpy as np

from benchmarks.clock import job, report

Pair = list[str]


def common_prefix(ours: list[Pair], theirs: list[Pair]) -> int:
    """How many merges the two lists share from the start."""
    for index, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        if mine != other:
            return index
    return min(len(ours), len(theirs))


def frequencies(text: Path, merges: list[Pair], candidates: list[Pair]) -> list[int]:
    """How often each of ``candidates`` stands in the words of ``text`` once ``merges`` have been applied."""
    counts: Counter[str] = Counter()
    with text.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            counts.update(line.split())
    words = list(counts)
    tokenizer = exactbpe.Tokenizer(merges, sorted(set().union(*words)))
    ids, offsets = tokenizer.encode_batch(words, threads=1)
    weights = np.repeat(np.array(list(counts.values()), dtype=np.int64), np.diff(offsets))
    inside = np.ones(len(ids), dtype=bool)  # the pair that starts here ends in the same word
    inside[offsets[1:] - 1] = False
    found = []
    for left, right in candidates:
        here = (
            (ids[:-1] == tokenizer.token_to_id(left))
            & (ids[1:] == tokenizer.token_to_id(right))
            & inside[:-1]
        )
        found.append(int(weights[:-1][here].sum()))
    return found


def main() -> None:
    """Report the common prefix, and the counts of the two candidates after it."""
    task = job()
    ours = json.loads(Path(task["ours"]).read_text(encoding="utf-8"))
    theirs = json.loads(Path(task["theirs"]).read_text(encoding="utf-8"))["merges"]
    merges = ours["merges"]
    prefix = common_prefix(merges, theirs)
    answer: dict[str, object] = {"prefix": prefix, "ours": len(merges), "theirs": len(theirs)}
    if prefix < min(len(merges), len(theirs)):
        candidates = [merges[prefix], theirs[prefix]]
        answer["candidates"] = candidates
        answer["counts"] = frequencies(Path(task["text"]), merges[:prefix], candidates)
        answer["frequency"] = ours["frequencies"][prefix]
    report(0, 0, "", **answer)


if __name__ == "__main__":
    main()
